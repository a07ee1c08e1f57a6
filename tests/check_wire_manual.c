/*
 * pagek-protocol(7) is true to wire.def: each message with its role and its
 * answer, and each of its keys with the kind and the bounds of its value,
 * stands in the manual, and nothing else does.
 *
 * In the manual a message begins with ".Ss NAME (NUMBER)"; "Role read." and
 * "Answered with NAME" stand each at the beginning of a line.  A key of it is
 * ".It KEY Ta VALUE Ta meaning", the key with a question mark when it is
 * optional.  A failure prints the lines that are missing.
 */
#include "harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/stream/wire/table.h"

#define MANUAL "man/pagek-protocol.7"
#define TYPES 256		/* numbers looked at: more than are used */
#define COMMON TYPES		/* of what all messages have */
#define LINES 400
#define LINE 128

/*
 * Lines "NAME (NUMBER) | LINE" of one of the two, LINE as in the manual up to
 * the meaning of a key; without LINE, the message itself.
 */
struct lines {
	char line[LINES][LINE];
	size_t n;
};

static struct lines program, manual;

static void
add(struct lines *l, const char *message, const char *line)
{
	ck_assert_uint_lt(l->n, LINES);
	ck_assert_int_lt(snprintf(l->line[l->n++], LINE, "%s | %s", message,
	    line), LINE);
}

static void
add_key(struct lines *l, const char *message, const char *key,
    const char *value)
{
	char line[LINE];

	ck_assert_int_lt(snprintf(line, sizeof line, ".It %s Ta %s Ta", key,
	    value), LINE);
	add(l, message, line);
}

static bool
has(const struct lines *l, const char *line)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->line[i], line) == 0)
			return true;
	return false;
}

/* --- the tables ----------------------------------------------------------- */

/* Unsigned of `size` bytes, or less where the table says so. */
static void
number_text(const struct wire_field *f, char *out, size_t cap)
{
	uint64_t fits = f->size >= 8 ? UINT64_MAX :
	    (UINT64_C(1) << 8 * f->size) - 1;

	if (f->max < fits && f->kind != WIRE_V_UINTS && f->kind != WIRE_V_LIST)
		snprintf(out, cap, "to %" PRIu64, f->max);
	else
		snprintf(out, cap, "u%u", 8 * (unsigned)f->size);
}

/* The words of the manual's MESSAGES for what a field takes. */
static void
value_text(const struct wire_field *f, char *out, size_t cap)
{
	char number[32];

	number_text(f, number, sizeof number);
	switch (f->kind) {
	case WIRE_V_UINT:
		snprintf(out, cap, "%s", number);
		return;
	case WIRE_V_INT:
		snprintf(out, cap, "i%u", 8 * (unsigned)f->size);
		return;
	case WIRE_V_BOOL:
		snprintf(out, cap, "bool");
		return;
	case WIRE_V_TEXT:
		ck_assert_uint_eq(f->max, WIRE_TEXT_MAX);
		snprintf(out, cap, "text");
		return;
	case WIRE_V_BYTES:
		snprintf(out, cap, "bytes to %" PRIu64, f->max);
		return;
	case WIRE_V_ID:
		snprintf(out, cap, "%u bytes", (unsigned)f->size);
		return;
	case WIRE_V_UINTS:
		if (f->least < f->n)
			snprintf(out, cap, "[%u of %s, %u at least]", f->n,
			    number, f->least);
		else
			snprintf(out, cap, "[%u of %s]", f->n, number);
		return;
	case WIRE_V_LIST:
		snprintf(out, cap, "[to %u of %s]", f->n, number);
		return;
	case WIRE_V_TEXTS:
		snprintf(out, cap, "[to %u of text]", f->n);
		return;
	case WIRE_V_INFO:
		ck_assert_uint_eq(f->n, 128);	/* said of requesters */
		snprintf(out, cap, "requesters");
		return;
	case WIRE_V_LOST:
		snprintf(out, cap, "losses");
		return;
	case WIRE_V_OR_LAST:
		snprintf(out, cap, "%s or null", number);
		return;
	}
	ck_abort_msg("%s is of no known kind", f->name);
}

static const struct wire_layout *
layout_of(unsigned type)
{
	return type == COMMON ? &wire_common : wire_layout(type);
}

/* The role that a request needs, and its answer. */
static void
add_request(const char *message, const struct wire_layout *l)
{
	static const char *const roles[] = {
		[WIRE_ROLE_READ] = "Role read.",
		[WIRE_ROLE_LIST_PUT] = "Role list-put.",
		[WIRE_ROLE_CONTROL] = "Role control.",
	};
	char line[LINE];

	if (l->role != WIRE_ROLE_NONE)
		add(&program, message, roles[l->role]);
	if (l->answer == WIRE_NO_ANSWER)
		return;
	snprintf(line, sizeof line, "Answered with %s",
	    wire_layout(l->answer)->name);
	add(&program, message, line);
}

static void
read_tables(void)
{
	for (unsigned type = 0; type <= COMMON; type++) {
		const struct wire_layout *l = layout_of(type);
		char message[64] = "All messages", key[8], value[64];

		if (l == NULL)
			continue;
		if (type != COMMON)
			snprintf(message, sizeof message, "%s (%u)",
			    l->name, type);
		add(&program, message, "");
		if (l->request)
			add_request(message, l);
		for (size_t i = 0; i < l->nfields; i++) {
			const struct wire_field *f = &l->fields[i];

			snprintf(key, sizeof key, "%u%s", f->key,
			    f->must ? "" : "?");
			value_text(f, value, sizeof value);
			add_key(&program, message, key, value);
		}
	}
}

/* --- the manual ----------------------------------------------------------- */

/* A row of a message's keys: its first column is a number. */
static void
read_row(const char *message, const char *line)
{
	char key[8], value[64];

	if (sscanf(line, ".It %7[0-9?] Ta %63[^\n]", key, value) != 2)
		return;
	ck_assert_msg(strstr(value, " Ta ") != NULL, "no meaning: %s", line);
	*strstr(value, " Ta ") = '\0';
	add_key(&manual, message, key, value);
}

/* What needs a role, or has an answer, says so. */
static void
read_request(const char *message, const char *line)
{
	char name[32], answer[LINE];

	if (strncmp(line, "Role ", 5) == 0) {
		snprintf(answer, sizeof answer, "%.*s",
		    (int)strcspn(line, "\n"), line);
		add(&manual, message, answer);
	} else if (sscanf(line, "Answered with %31[A-Z_]", name) == 1) {
		snprintf(answer, sizeof answer, "Answered with %s", name);
		add(&manual, message, answer);
	}
}

/* Other tables of this part have no row that begins with a key and a value. */
static bool
is_keys(const char *line)
{
	return strcmp(line, ".It Sy key Ta Sy value Ta Sy meaning\n") == 0;
}

static void
read_manual(void)
{
	char line[1024], message[64] = "";
	bool messages = false, keys = false;
	FILE *f = fopen(MANUAL, "r");

	ck_assert_msg(f != NULL, "no " MANUAL " where this runs");
	while (fgets(line, sizeof line, f) != NULL) {
		if (strncmp(line, ".Sh ", 4) == 0)
			messages = strcmp(line, ".Sh MESSAGES\n") == 0;
		if (!messages)
			continue;
		if (sscanf(line, ".Ss %63[^\n]", message) == 1 &&
		    strcmp(message, "Numbers not in use") != 0)
			add(&manual, message, "");
		read_request(message, line);
		keys = (keys || is_keys(line)) && strcmp(line, ".El\n") != 0;
		if (keys)
			read_row(message, line);
	}
	fclose(f);
}

static void
read_both(void)
{
	memset(&program, 0, sizeof program);
	memset(&manual, 0, sizeof manual);
	read_tables();
	read_manual();
}

/* --- rules ---------------------------------------------------------------- */

/* Prints the lines that one has and the other does not; how many there are. */
static size_t
print_missing(const char *where, const struct lines *in,
    const struct lines *from)
{
	size_t i, n = 0;

	for (i = 0; i < from->n; i++) {
		if (has(in, from->line[i]))
			continue;
		n++;
		fprintf(stderr, "not in %s: %s\n", where, from->line[i]);
	}
	return n;
}

CASE("manual", .setup = read_both);

TEST(each_message_and_key_stands_in_the_manual)
{
	ck_assert_uint_gt(program.n, 100);
	ck_assert_uint_eq(print_missing(MANUAL, &manual, &program), 0);
}

TEST(the_manual_has_no_message_or_key_that_is_none)
{
	ck_assert_uint_eq(print_missing("wire.def", &program, &manual), 0);
	ck_assert_uint_eq(manual.n, program.n);
}
