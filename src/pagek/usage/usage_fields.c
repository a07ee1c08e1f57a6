#include <stdio.h>
#include <string.h>

#include "../picture/picture.h"
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

/* Columns that a name keeps beside columns of that rank. */
#define NAME_MIN(rank) ((rank) == 0 ? 8 : (rank) < 7 ? 12 : 24)

#define COUNT(name, width, member) \
	FIELD_PUT(name, usage_line, picture_grouped(pic, r->member, width))

static void
put_signed(int64_t n, int width, struct page_picture *pic)
{
	char text[24];
	size_t sign;

	if (n >= 0) {
		picture_grouped(pic, (uint64_t)n, width);
		return;
	}
	base_format_grouped(text, width - 1, 0 - (uint64_t)n);
	sign = strspn(text, " ");
	picture_printf(pic, "%*s-%s", (int)sign, "", text + sign);
}

static void
put_sum(uint64_t bytes, bool known, int width, struct page_picture *pic)
{
	char text[24] = "-";

	if (known)
		base_human_bytes(text, sizeof text, bytes);
	picture_text(pic, text, width, PICTURE_RIGHT);
}

COUNT(put_allocated, width, allocated)
COUNT(put_freed, width, freed)
COUNT(put_max, width, max)
COUNT(put_short, width, short_lived)
FIELD_PUT(put_live, usage_line, put_signed(r->live, width, pic))
FIELD_PUT(put_bytes, usage_line, put_sum(r->bytes, r->known & USAGE_KNOWS_BYTES,
    width, pic))
FIELD_PUT(put_churn, usage_line, put_sum(r->allocated_bytes, r->known &
    USAGE_KNOWS_BYTES, width, pic))
FIELD_PUT(put_then, usage_line, put_sum(r->then_bytes, r->known &
    USAGE_KNOWS_THEN, width, pic))

static void
put_num(const void *row, int width, struct page_picture *pic)
{
	const struct usage_line *r = row;

	if (r->no_num)
		picture_text(pic, "*", width, PICTURE_RIGHT);
	else
		put_signed(r->num, width, pic);
}

/* A letter, as on page K; none for an address or an allocator. */
static void
put_named_by(const void *row, int width, struct page_picture *pic)
{
	static const char *const letters[][2] = { { "template", "T" },
		{ "call", "C" }, { "symbol", "S" }, { "new", "N" },
		{ "program", "P" }, { "function", "F" } };
	const struct usage_line *r = row;
	const char *letter = "";

	for (size_t i = 0; r->named_by != NULL && i < BASE_NELEM(letters); i++)
		if (strcmp(r->named_by, letters[i][0]) == 0)
			letter = letters[i][1];
	picture_text(pic, letter, width, PICTURE_RIGHT);
}

static void
put_trend(const void *row, int width, struct page_picture *pic)
{
	const struct usage_line *r = row;

	if (r->trend == NULL)
		picture_blanks(pic, width);
	else
		picture_spark(pic, r->trend->bytes + USAGE_TREND - r->trend->n,
		    r->trend->n, 0, width);
}

#define COLUMN(title_, width_, rank_, put_) .column = { .title = title_, \
	    .gap = 1, .width = width_, .right = true, .rank = rank_, \
	    .keep = NAME_MIN(rank_), .put = put_ }

#define AT(member) .at = offsetof(struct usage_line, member)

static const struct field fields[] = {
	{ .key = "type", .kind = FIELD_TEXT, .get = get_type },
	{ .key = "named_by", .kind = FIELD_TEXT, .get = field_pointer,
	    AT(named_by), COLUMN("B", 1, 6, put_named_by) },
	{ .key = "num", .kind = FIELD_SIGNED, .get = get_num,
	    COLUMN("NUM", 7, 5, put_num) },
	{ .key = "allocated", .get = field_u64, AT(allocated),
	    COLUMN("ALLOCD", 11, 3, put_allocated),
	    .metric = { "usage_allocated_total", NULL, "counter",
	    "Objects that were allocated, by type and number.", FIELD_SAME } },
	{ .key = "freed", .get = field_u64, AT(freed),
	    COLUMN("FREED", 11, 4, put_freed),
	    .metric = { "usage_freed_total", NULL, "counter",
	    "Objects that were freed, by type and number.", FIELD_SAME } },
	{ .key = "live", .kind = FIELD_SIGNED, .get = field_i64, AT(live),
	    COLUMN("LIVE", 9, 0, put_live),
	    .metric = { "usage_live", NULL, "gauge",
	    "Objects in use, by type and number.", FIELD_SAME } },
	{ .key = "max", .get = field_u64, AT(max),
	    COLUMN("MAX", 9, 2, put_max),
	    .metric = { "usage_max", NULL, "gauge",
	    "Objects that were in use at most, by type and number.",
	    FIELD_SAME } },
	{ .key = "bytes", .get = get_bytes,
	    COLUMN("BYTES", 10, 1, put_bytes),
	    .metric = { "usage_live_bytes", NULL, "gauge",
	    "Bytes in use, by type and number.", FIELD_SAME } },
	{ .key = "allocated_bytes", .get = get_allocated_bytes,
	    COLUMN("CHURN", 10, 7, put_churn),
	    .metric = { "usage_allocated_bytes_total", NULL, "counter",
	    "Bytes that were allocated, by type and number.", FIELD_SAME } },
	{ .key = "short_lived", .get = get_short_lived,
	    COLUMN("SHORT", 10, 8, put_short),
	    .metric = { "usage_short_lived_total", NULL, "counter",
	    "Objects that lived less than a cycle, by type and number.",
	    FIELD_SAME } },
	{ .key = "held_before", .get = field_u64, AT(held_before) },
	{ .key = "then", .get = get_then },
	{ .key = "then_bytes", .get = get_then_bytes,
	    COLUMN("THEN", 10, 10, put_then) },
	{ COLUMN("LAST 12 s", USAGE_TREND, 9, put_trend) },
	{ .key = "rows", .get = field_u32, AT(rows) },
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
