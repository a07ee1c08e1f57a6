/*
 * pagek completion: the script of a shell, and what such a script asks for
 * while somebody waits for it: the targets that there are.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "commands.h"
#include "completion.h"
#include "pump.h"
#include "target_words.h"

#define PATIENCE_MS 300		/* for all nodes together: somebody has pressed a key */

/* A name that any shell takes for one word, whatever else is in the table. */
static bool
is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return name[0] != '\0' && name[0] != '-' &&
	    name[strspn(name, plain)] == '\0';
}

static void
put(FILE *out, const char *word, const char *what)
{
	char safe[512];

	base_safe_text(safe, sizeof safe, what, strlen(what), false);
	fprintf(out, "%s\t%s\n", word, safe);
}

/* As their files say: no node is asked. */
static void
put_nodes(FILE *out)
{
	struct nodes_table *t;
	char where[sizeof t->entry->place + 8], number[8];

	if (nodes_table_load(&t, true, NULL, NULL) < 0)
		return;
	for (size_t i = 0; i < t->n; i++) {
		const struct nodes_entry *e = &t->entry[i];

		nodes_entry_where(e, where, sizeof where);
		snprintf(number, sizeof number, "%04X", e->number);
		put(out, number, e->name);
		if (is_plain(e->name))
			put(out, e->name, where);
	}
	nodes_table_free(t);
}

static void
put_live(FILE *out, const struct nodes_target *t, size_t n)
{
	char word[24];

	for (size_t i = 0; i < n; i++) {
		if (t[i].pid <= 0 || t[i].ended ||
		    (t[i].state != WIRE_S_LIVE && t[i].state != WIRE_S_DORMANT))
			continue;
		snprintf(word, sizeof word, "pid:%ld", (long)t[i].pid);
		put(out, word, t[i].comm);
	}
}

/* Of this user's nodes those that answer at once. */
static void
put_pids(FILE *out, uv_loop_t *loop)
{
	struct mono begun = mono_now();
	char **paths = NULL;
	size_t n = 0, i;

	if (nodes_find(&paths, &n) < 0)
		return;
	for (i = 0; i < n; i++) {
		int64_t left = PATIENCE_MS - mono_ms_since(begun);
		struct nodes_target *list = NULL;
		struct nodes_link *link;
		size_t got = 0;

		if (left <= 0)
			break;
		if (nodes_connect(&link, loop, paths[i]) < 0)
			continue;
		if (target_enquire(loop, link, (int)left, &list, &got) == 0)
			put_live(out, list, got);
		nodes_link_close(link);
		free(list);
	}
	free(paths);
}

static void
put_targets(FILE *out, uv_loop_t *loop)
{
	const char *word, *what;

	for (size_t k = 0; (word = words_fixed(k, &what)) != NULL; k++)
		put(out, word, what);
	put_nodes(out);
	put_pids(out, loop);
}

int
cmd_completion(const struct options *o, uv_loop_t *loop)
{
	if (strcmp(o->shell, "bash") == 0)
		completion_bash(stdout);
	else if (strcmp(o->shell, "zsh") == 0)
		completion_zsh(stdout);
	else if (strcmp(o->shell, "fish") == 0)
		completion_fish(stdout);
	else
		put_targets(stdout, loop);
	/* What failed is known now, and not once something else has. */
	(void)output_going(stdout);
	pump_down(loop, NULL, NULL);
	return output_close(stdout, NULL, PAGEK_OK);
}
