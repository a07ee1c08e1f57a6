#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "listing.h"

#define OWN_NUMBER 0x0001	/* of a machine that its table does not name */

/* Without PAGER: more is on every machine. */
static const char default_pager[] =
	"if command -v less >/dev/null; then exec less; else exec more; fi";

void
listing_own_number(char out[5])
{
	const struct nodes_entry *local = NULL;
	struct nodes_table *table = NULL;

	if (nodes_table_load(&table, true, NULL, NULL) == 0)
		local = nodes_table_local(table);
	snprintf(out, 5, "%04X", local != NULL ? local->number : OWN_NUMBER);
	nodes_table_free(table);
}

static int
fail(char *why, size_t cap, const char *sentence)
{
	snprintf(why, cap, "%s", sentence);
	return -EINVAL;
}

/* "~/" is the home folder, as for a shell. */
static int
parse_path(struct listing_to *to, const char *word)
{
	const char *home = word[0] == '~' && word[1] == '/' ? getenv("HOME") :
	    NULL;
	int n;

	to->kind = LISTING_FILE;
	n = snprintf(to->text, sizeof to->text, "%s%s", home != NULL ? home :
	    "", word + (home != NULL));
	return n < 0 || (size_t)n >= sizeof to->text ? -ENAMETOOLONG : 0;
}

static int
parse_pager(struct listing_to *to, const char *command)
{
	to->kind = LISTING_PAGER;
	if (command == NULL || command[0] == '\0')
		command = default_pager;
	return (size_t)snprintf(to->text, sizeof to->text, "%s", command) >=
	    sizeof to->text ? -ENAMETOOLONG : 0;
}

static int
parse_node(struct listing_to *to, const struct nodes_table *table,
    const char *word, char *why, size_t cap)
{
	const struct nodes_entry *e, *near;
	uint16_t number = 0;
	bool numeric = nodes_parse_number(word, strlen(word), &number);

	snprintf(to->text, sizeof to->text, "%s", word);
	e = numeric ? nodes_table_number(table, number) :
	    nodes_table_name(table, word);
	if (e == NULL && strcmp(word, "local") == 0)
		e = nodes_table_local(table);
	if (e != NULL) {
		to->kind = LISTING_NODE;
		to->entry = *e;
		return 0;
	}
	/* Until the table gives this machine a number. */
	if (strcmp(word, "local") == 0 || (numeric && number == OWN_NUMBER &&
	    nodes_table_local(table) == NULL)) {
		to->kind = LISTING_NODE;
		to->entry = (struct nodes_entry){ .number = OWN_NUMBER,
			.name = "local", .at = NODES_AT_LOCAL };
		return 0;
	}
	near = nodes_table_nearest(table, word);
	if (near != NULL)
		snprintf(why, cap, "no node %.64s in the table: nearest is "
		    "%04X %s", word, near->number, near->name);
	else
		snprintf(why, cap, "no node %.64s in the table; 'pagek nodes' "
		    "prints it", word);
	return -EINVAL;
}

int
listing_to(struct listing_to *to, const char *word, char *why, size_t cap)
{
	struct nodes_table *table;
	int r;

	*to = (struct listing_to){ 0 };
	if (word == NULL || word[0] == '\0')
		return fail(why, cap, "*L<> is empty: it needs a node, a path "
		    "with a slash, or 'pager'");
	if (word[0] == '|') {
		word += 1 + strspn(word + 1, " \t");
		if (word[0] == '\0')
			return fail(why, cap, "*L<|> has no command after the "
			    "bar");
		r = parse_pager(to, word);
	} else if (strcmp(word, "pager") == 0) {
		r = parse_pager(to, getenv("PAGER"));
	} else if (strchr(word, '/') != NULL) {
		r = parse_path(to, word);
	} else {
		r = nodes_table_load(&table, true, NULL, NULL);
		if (r == 0) {
			r = parse_node(to, table, word, why, cap);
			nodes_table_free(table);
		}
		if (r == -EINVAL)
			return r;
	}
	if (r < 0) {
		snprintf(why, cap, "cannot take %.64s: %s", word,
		    strerror(-r));
		return -EINVAL;
	}
	return 0;
}
