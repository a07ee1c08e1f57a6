/* The fields of counts by type, in every format. */
#include <string.h>

#include "usage.h"

FIELD_GET(get_num, usage_line, i, r->num, !r->no_num)
FIELD_GET(get_bytes, usage_line, n, r->bytes, r->known & USAGE_KNOWS_BYTES)
FIELD_GET(get_allocated_bytes, usage_line, n, r->allocated_bytes,
    r->known & USAGE_KNOWS_BYTES)
FIELD_GET(get_short_lived, usage_line, n, r->short_lived,
    r->known & USAGE_KNOWS_LIVES)
FIELD_GET(get_then, usage_line, n, r->then, r->known & USAGE_KNOWS_THEN)
FIELD_GET(get_then_bytes, usage_line, n, r->then_bytes,
    r->known & USAGE_KNOWS_THEN)

/* "" is a name. */
FIELD_GET(get_type, usage_line, text, r->type, r->type != NULL)

#define AT(member) .at = offsetof(struct usage_line, member)

static const struct field fields[] = {
	{ .key = "type", .kind = FIELD_TEXT, .get = get_type },
	{ .key = "num", .kind = FIELD_SIGNED, .get = get_num },
	{ .key = "allocated", .get = field_u64, AT(allocated),
	    .metric = { "usage_allocated_total", NULL, "counter",
	    "Objects that were allocated, by type and number.", FIELD_SAME } },
	{ .key = "freed", .get = field_u64, AT(freed),
	    .metric = { "usage_freed_total", NULL, "counter",
	    "Objects that were freed, by type and number.", FIELD_SAME } },
	{ .key = "live", .kind = FIELD_SIGNED, .get = field_i64, AT(live),
	    .metric = { "usage_live", NULL, "gauge",
	    "Objects in use, by type and number.", FIELD_SAME } },
	{ .key = "max", .get = field_u64, AT(max),
	    .metric = { "usage_max", NULL, "gauge",
	    "Objects that were in use at most, by type and number.",
	    FIELD_SAME } },
	{ .key = "bytes", .get = get_bytes,
	    .metric = { "usage_live_bytes", NULL, "gauge",
	    "Bytes in use, by type and number.", FIELD_SAME } },
	{ .key = "allocated_bytes", .get = get_allocated_bytes,
	    .metric = { "usage_allocated_bytes_total", NULL, "counter",
	    "Bytes that were allocated, by type and number.", FIELD_SAME } },
	{ .key = "short_lived", .get = get_short_lived,
	    .metric = { "usage_short_lived_total", NULL, "counter",
	    "Objects that lived less than a cycle, by type and number.",
	    FIELD_SAME } },
	{ .key = "held_before", .get = field_u64, AT(held_before) },
	{ .key = "then", .get = get_then },
	{ .key = "then_bytes", .get = get_then_bytes },
	{ .key = "rows", .get = field_u32, AT(rows) },
	{ .key = "named_by", .kind = FIELD_TEXT, .get = field_pointer,
	    AT(named_by) },
	{ .key = "function", .kind = FIELD_TEXT, .get = field_pointer,
	    AT(function) },
	{ .key = "module", .kind = FIELD_TEXT, .get = field_pointer, AT(module) },
	{ .key = "file", .kind = FIELD_TEXT, .get = field_pointer, AT(file) },
	{ .key = "line", .get = field_u32_known, AT(line) },
	{ .key = "complete", .kind = FIELD_HEAD, .head = "complete" },
	{ .key = "since", .kind = FIELD_HEAD, .head = "since" },
};

static const char *
called(const char *word)
{
	static const char *const names[][2] = {
		{ "name", "type" }, { "n", "num" }, { "allocd", "allocated" },
		{ "allocs", "allocated" }, { "frees", "freed" }, { "peak", "max" },
		{ "live_bytes", "bytes" }, { "churn", "allocated_bytes" },
		{ "brief", "short_lived" }, { "func", "function" },
		{ "fn", "function" }, { "mod", "module" }, { "lib", "module" },
		{ "source", "file" },
	};

	for (size_t i = 0; i < BASE_NELEM(names); i++)
		if (strcmp(word, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

const struct field_table usage_fields = { .field = fields,
	.n = BASE_NELEM(fields), .called = called };
