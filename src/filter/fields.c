#include <assert.h>
#include <string.h>
#include <strings.h>

#include "../base/base.h"
#include "expr.h"

const struct expr_field expr_fields[FILTER_FIELDS] = {
	[FILTER_SIZE] = { "size", { "bytes" }, EXPR_SIZE, "1k",
	    "bytes requested, as in 12, 0x40, 1k or 1.5M" },
	[FILTER_USED] = { "used", { "usable" }, EXPR_SIZE, "1k",
	    "usable bytes: size and what the allocator added" },
	[FILTER_OVERHEAD] = { "overhead", { NULL }, EXPR_SIZE, "16",
	    "what was added: used less size" },
	[FILTER_ADDRESS] = { "address", { "addr" }, EXPR_ADDRESS, "7f12a0",
	    "address in hex" },
	[FILTER_AGE] = { "age", { "age_ms" }, EXPR_AGE, "10s",
	    "time since it was allocated, as in 10s, 5m, 1h30m or 2d" },
	[FILTER_TIME] = { "time", { "born", "allocated" }, EXPR_TIME, "12:00",
	    "when it was allocated, as in 12:00 or 2026-11-20 15:04" },
	[FILTER_SEQ] = { "seq", { "sequence" }, EXPR_NUMBER, "4711",
	    "sequence number of its record" },
	[FILTER_TYPE] = { "type", { "ty", "type_name" }, EXPR_TYPE, "malloc",
	    "type, by its name or its code in hex, as in malloc or 80" },
	[FILTER_LAYER] = { "layer", { NULL }, EXPR_LAYER, "api",
	    "heap, or api for blocks that a program logs" },
	[FILTER_TID] = { "tid", { "threadno" }, EXPR_NUMBER, "2",
	    "number of its thread in the stream; 0 if unknown" },
	[FILTER_LEVEL] = { "level", { NULL }, EXPR_NUMBER, "2",
	    "level that satisfied its request; 0 if unknown" },
	[FILTER_DESCR] = { "descr", { "desc", "description" }, EXPR_TEXT,
	    "malloc", "description: name of its requester or type" },
	[FILTER_THREAD] = { "thread", { "thr" }, EXPR_TEXT, "main",
	    "name of the thread that allocated it" },
	[FILTER_RNOD] = { "rnod", { "node" }, EXPR_TEXT, "AB86",
	    "friendly number of the requesting node" },
	[FILTER_FUNCTION] = { "function", { "func", "fn" }, EXPR_TEXT, "parse*",
	    "function that allocated it" },
	[FILTER_FILE] = { "file", { "source" }, EXPR_PATH, "main.c",
	    "source file of the function, as in main.c or main.c:42" },
	[FILTER_MODULE] = { "module", { "mod", "lib" }, EXPR_PATH,
	    "libssl.so*", "program or library that has the function" },
	[FILTER_REQUESTER] = { "requester", { NULL }, EXPR_TEXT, "ACREQ",
	    "its requester, by name or else by number" },
	[FILTER_LINE] = { "line", { NULL }, EXPR_NUMBER, "42",
	    "line of the source file" },
	[FILTER_CTYPE] = { "ctype", { NULL }, EXPR_TEXT, "app::*",
	    "type of the objects in it, by debug information or a symbol" },
	[FILTER_TOUCHED] = { "touched", { "touched_ms" }, EXPR_AGE, "10m",
	    "time since its pages were referenced, if that is counted" },
	[FILTER_TOUCHES] = { "touches", { NULL }, EXPR_NUMBER, "0",
	    "references to its pages, if they are counted" },
	[FILTER_WEIGHT] = { "weight", { NULL }, EXPR_NUMBER, "100",
	    "blocks that it stands for in a sample, to whole ones; else 1" },
	[FILTER_CALLER] = { "caller", { NULL }, EXPR_ADDRESS, "4012b6",
	    "innermost return address in hex" },
	[FILTER_STACK_END] = { "stack_end", { NULL }, EXPR_TEXT, "*depth*",
	    "why its stack ends" },
};

static const struct expr_field usage_fields[FILTER_U_FIELDS] = {
	[FILTER_U_TYPE] = { "type", { "name" }, EXPR_TEXT, "char",
	    "name of the type, or of the function that asked" },
	[FILTER_U_NUM] = { "num", { "n" }, EXPR_SIGNED, "12",
	    "number of elements, or bytes if the type's size is unknown" },
	[FILTER_U_ALLOCATED] = { "allocated", { "allocd", "allocs" },
	    EXPR_NUMBER, "1000", "how often it was allocated" },
	[FILTER_U_FREED] = { "freed", { "frees" }, EXPR_NUMBER, "1000",
	    "how often it was freed" },
	[FILTER_U_LIVE] = { "live", { NULL }, EXPR_SIGNED, "0",
	    "how many are in use: allocated less freed" },
	[FILTER_U_MAX] = { "max", { "peak" }, EXPR_NUMBER, "90",
	    "most that were in use at once" },
	[FILTER_U_BYTES] = { "bytes", { "live_bytes" }, EXPR_SIZE, "1k",
	    "bytes in use, as in 12, 1k or 1.5M" },
	[FILTER_U_ALLOCATED_BYTES] = { "allocated_bytes", { "churn" },
	    EXPR_SIZE, "1M", "bytes allocated in all, freed ones included" },
	[FILTER_U_SHORT_LIVED] = { "short_lived", { "brief" }, EXPR_NUMBER,
	    "100", "how many were freed within 1/15 s, not by realloc" },
	[FILTER_U_FUNCTION] = { "function", { "func", "fn" }, EXPR_TEXT,
	    "parse*", "function that allocated it" },
	[FILTER_U_FILE] = { "file", { "source" }, EXPR_PATH, "main.c",
	    "source file of the function, as in main.c or main.c:42" },
	[FILTER_U_MODULE] = { "module", { "mod", "lib" }, EXPR_PATH,
	    "libssl.so*", "program or library that has the function" },
};

static const struct expr_field refcnt_fields[FILTER_R_FIELDS] = {
	[FILTER_R_PAGE] = { "page", { "address", "addr" }, EXPR_ADDRESS, "7f12a0",
	    "address of the page in hex" },
	[FILTER_R_PAGES] = { "pages", { NULL }, EXPR_NUMBER, "1",
	    "pages of the run" },
	[FILTER_R_HOME] = { "home", { "node" }, EXPR_NUMBER, "0",
	    "number of the node that it lies on" },
	[FILTER_R_COUNT] = { "count", { "total", "touches" }, EXPR_NUMBER, "1000",
	    "references from all nodes, in the unit of the source" },
	[FILTER_R_READS] = { "reads", { NULL }, EXPR_NUMBER, "1000",
	    "references that are no writes, as far as the source knows" },
	[FILTER_R_WRITES] = { "writes", { NULL }, EXPR_NUMBER, "0",
	    "writes, if the source knows them" },
	[FILTER_R_TOUCHED] = { "touched", { "touched_ms" }, EXPR_AGE, "10m",
	    "time since the last reference, or since counting began" },
	[FILTER_R_HEAT] = { "heat", { NULL }, EXPR_NUMBER, "0",
	    "digit of the last period: 9 hottest, 0 not referenced" },
	[FILTER_R_HINT] = { "hint", { "move" }, EXPR_TEXT, "n1",
	    "node that it should move to, as in '-> n1', or home" },
	[FILTER_R_SOURCE] = { "source", { NULL }, EXPR_TEXT, "refs",
	    "what notices references: refs, import, guard, ..." },
	[FILTER_R_FLAGS] = { "flags", { NULL }, EXPR_TEXT, "coarse",
	    "notes, such as coarse, moved, no_paddr or saturated" },
};

#define BIT(field) (1u << (field))

const struct filter_table filter_blocks = {
	.field = expr_fields, .n = FILTER_FIELDS, .numbers = FILTER_NUMBERS,
	.any = BIT(FILTER_DESCR) | BIT(FILTER_THREAD) | BIT(FILTER_RNOD) |
	    BIT(FILTER_FUNCTION) | BIT(FILTER_FILE),
};

const struct filter_table filter_usage = {
	.field = usage_fields, .n = FILTER_U_FIELDS, .numbers = 0,
	.any = BIT(FILTER_U_TYPE) | BIT(FILTER_U_FUNCTION) |
	    BIT(FILTER_U_FILE) | BIT(FILTER_U_MODULE),
};

const struct filter_table filter_refcnt = {
	.field = refcnt_fields, .n = FILTER_R_FIELDS, .numbers = 0,
	.any = BIT(FILTER_R_HINT) | BIT(FILTER_R_SOURCE) | BIT(FILTER_R_FLAGS),
};

/* A sign stands behind those that begin with it. */
static const struct expr_sign signs[] = {
	{ "!=", EXPR_NE, false },
	{ "!~", EXPR_HAS_NOT, false },
	{ "<=", EXPR_LE, false },
	{ ">=", EXPR_GE, false },
	{ "==", EXPR_EQ, false },
	{ "=~", EXPR_HAS, true },
	{ "=>", EXPR_GE, true },
	{ "=<", EXPR_LE, true },
	{ "=!", EXPR_NE, true },
	{ "<>", EXPR_NE, true },
	{ "~=", EXPR_HAS, true },
	{ "=", EXPR_EQ, false },
	{ "<", EXPR_LT, false },
	{ ">", EXPR_GT, false },
	{ "~", EXPR_HAS, false },
};

static const char *const op_texts[EXPR_OPS] = {
	[EXPR_EQ] = "=",
	[EXPR_NE] = "!=",
	[EXPR_LT] = "<",
	[EXPR_LE] = "<=",
	[EXPR_GT] = ">",
	[EXPR_GE] = ">=",
	[EXPR_HAS] = "~",
	[EXPR_HAS_NOT] = "!~",
};

static const char *const layers[] = { "heap", "api" };

static bool
is_name(const char *name, const char *typed, size_t len)
{
	return name != NULL && strlen(name) == len &&
	    strncasecmp(name, typed, len) == 0;
}

int
expr_field_find(const struct filter_table *t, const char *name, size_t len)
{
	for (unsigned f = 0; f < t->n; f++) {
		if (is_name(t->field[f].name, name, len))
			return (int)f;
		for (size_t i = 0; i < EXPR_ALIASES; i++)
			if (is_name(t->field[f].alias[i], name, len))
				return (int)f;
	}
	return -1;
}

/* Case counts, unlike in a filter: letters of a sort key differ by it. */
const char *
filter_name(const char *word)
{
	for (int f = 0; f < FILTER_FIELDS; f++) {
		const struct expr_field *field = &expr_fields[f];

		if (strcmp(field->name, word) == 0)
			return field->name;
		for (size_t i = 0; i < EXPR_ALIASES; i++)
			if (field->alias[i] != NULL &&
			    strcmp(field->alias[i], word) == 0)
				return field->name;
	}
	return NULL;
}

const char *
filter_field_name(enum filter_field field)
{
	return expr_fields[field].name;
}

enum expr_kind
expr_field_kind(const struct expr_field *field, const char *name, size_t len)
{
	enum expr_kind kind = field->kind;

	if (kind == EXPR_AGE && len > 3 &&
	    strncasecmp(name + len - 3, "_ms", 3) == 0)
		return EXPR_MILLISECONDS;
	return kind;
}

const char *
expr_field_near(const struct filter_table *t, const char *name, size_t len)
{
	const char *names[FILTER_FIELDS * (1 + EXPR_ALIASES)];
	char word[32];
	size_t n = 0;

	if (len >= sizeof word)
		return NULL;
	memcpy(word, name, len);
	word[len] = '\0';
	static_assert((int)FILTER_U_FIELDS <= (int)FILTER_FIELDS &&
	    (int)FILTER_R_FIELDS <= (int)FILTER_FIELDS, "names fit");
	for (size_t f = 0; f < t->n; f++)
		names[n++] = t->field[f].name;
	for (size_t f = 0; f < t->n; f++)
		for (size_t i = 0; i < EXPR_ALIASES; i++)
			if (t->field[f].alias[i] != NULL)
				names[n++] = t->field[f].alias[i];
	return base_nearest(word, names, n);
}

const char *
expr_kind_word(enum expr_kind kind, size_t k)
{
	return kind == EXPR_LAYER && k < BASE_NELEM(layers) ? layers[k] : NULL;
}

const struct expr_sign *
expr_sign_at(const char *s)
{
	for (size_t i = 0; i < BASE_NELEM(signs); i++)
		if (strncmp(s, signs[i].text, strlen(signs[i].text)) == 0)
			return &signs[i];
	return NULL;
}

const char *
expr_op_text(enum expr_op op)
{
	return op_texts[op];
}

bool
expr_kind_takes(enum expr_kind kind, enum expr_op op)
{
	bool text = op == EXPR_HAS || op == EXPR_HAS_NOT;

	if (op == EXPR_EQ || op == EXPR_NE || kind == EXPR_TYPE)
		return true;
	return (kind == EXPR_TEXT || kind == EXPR_PATH) == text;
}

const char *
expr_kind_ops(enum expr_kind kind)
{
	if (kind == EXPR_TYPE)
		return "= != ~ !~ < <= > >=";
	return kind == EXPR_TEXT || kind == EXPR_PATH ? "= != ~ !~" :
	    "= != < <= > >=";
}

const char *
filter_help(const struct filter_table *t, size_t k)
{
	static char line[3][FILTER_FIELDS][96];
	bool usage = t == &filter_usage;
	char *text;
	size_t len = 0;

	if (k >= t->n)
		return NULL;
	text = line[usage ? 1 : t == &filter_refcnt ? 2 : 0][k];
	if (text[0] == '\0')
		base_append(text, sizeof line[0][k], &len, "%-*s %s",
		    usage ? 15 : 9, t->field[k].name,
		    t->field[k].help);
	return text;
}
