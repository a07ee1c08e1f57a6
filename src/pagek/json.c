/*
 * The writer: brackets, commas, and text that is safe anywhere.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "../base/base.h"
#include "json.h"
#include "options.h"

void
json_open_form(struct json *j, FILE *out, enum json_form form, bool ascii)
{
	j->out = out;
	j->form = form;
	j->depth = 0;
	j->keyed = false;
	j->ascii = ascii;
	j->headed = false;
	j->fields = NULL;
	j->fields_at = 0;
	j->unwanted = false;
}

void
json_open(struct json *j, FILE *out, const struct options *o)
{
	static const enum json_form forms[] = {
		[FORMAT_TEXT] = JSON_WHOLE,
		[FORMAT_JSON] = JSON_WHOLE,
		[FORMAT_NDJSON] = JSON_LINES,
		[FORMAT_CSV] = JSON_CSV,
	};

	assert(o->format < BASE_NELEM(forms));
	json_open_form(j, out, forms[o->format], o->page.ascii);
	/* Of documents that come again and again each has a line. */
	if (j->form == JSON_LINES && option_given(o, OPTION_BATCH))
		j->form = JSON_LINE;
	j->fields = o->fields;
}

/* Nothing is written as it comes: CSV, and behind the rows of lines. */
static bool
is_mute(const struct json *j)
{
	return j->form == JSON_CSV || (j->form == JSON_LINES && j->over) ||
	    j->unwanted;
}

static void
indent(struct json *j)
{
	fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

/* What goes before a key or an element. */
static void
separate(struct json *j)
{
	int top = j->depth - 1;

	if (j->keyed) {
		j->keyed = false;
		return;
	}
	/* A row that is a line stands alone. */
	if (top < 0 || (j->form == JSON_LINES && j->depth == j->rows))
		return;
	if (j->level[top].any)
		fputs(j->level[top].lines ? "," : ", ", j->out);
	if (j->level[top].lines)
		indent(j);
	j->level[top].any = true;
}

static void
push(struct json *j, char bracket, bool lines)
{
	assert(j->depth < JSON_DEPTH);
	j->level[j->depth].close = bracket == '{' ? '}' : ']';
	j->level[j->depth].lines = lines && j->form == JSON_WHOLE;
	j->level[j->depth].any = false;
	j->level[j->depth].key = NULL;
	j->depth++;
}

void
json_begin(struct json *j, char bracket, bool lines)
{
	if (!is_mute(j)) {
		separate(j);
		fputc(bracket, j->out);
	}
	push(j, bracket, lines);
}

void
json_end(struct json *j)
{
	bool whole;

	assert(j->depth > 0);
	if (j->depth == j->fields_at)
		j->unwanted = false;
	j->depth--;
	whole = j->depth == 0 ||
	    (j->form == JSON_LINES && j->depth == j->rows);
	if (j->form == JSON_CSV && j->depth == j->rows && j->depth > 0)
		json_csv_row(j);
	if (is_mute(j))
		return;
	if (j->level[j->depth].lines && j->level[j->depth].any)
		indent(j);
	fputc(j->level[j->depth].close, j->out);
	if (whole)
		fputc('\n', j->out);
}

/* --- documents ------------------------------------------------------------ */

void
json_document(struct json *j, const char *schema,
    const struct json_column *column, size_t n)
{
	assert(j->depth == 0 && n <= JSON_COLUMNS);
	j->rows = 0;
	j->over = false;
	j->column = column;
	j->columns = n;
	if (j->fields != NULL) {
		j->columns = json_fields_take(j->fields, column, n, j->own);
		j->column = j->own;
	}
	j->fields_at = 0;
	j->used = j->kept = 0;
	memset(j->cell, 0, sizeof j->cell);
	json_begin(j, '{', true);
	json_key(j, "schema");
	json_text(j, schema);
}

void
json_rows(struct json *j, const char *key)
{
	if (j->form == JSON_WHOLE || j->form == JSON_LINE) {
		json_key(j, key);
		json_begin(j, '[', true);
		j->fields_at = j->fields != NULL ? j->depth + 1 : 0;
		return;
	}
	if (j->form == JSON_LINES)
		fputs("}\n", j->out);
	else
		json_csv_heading(j);
	push(j, '[', false);
	j->rows = j->depth;
	j->fields_at = j->fields != NULL ? j->depth + 1 : 0;
}

void
json_rows_end(struct json *j)
{
	j->fields_at = 0;
	if (j->form == JSON_WHOLE || j->form == JSON_LINE) {
		json_end(j);
		return;
	}
	j->depth--;
	j->rows = 0;
	j->over = true;
}

/* --- values --------------------------------------------------------------- */

/* Controls, and characters that turn a line around or hide in it. */
static bool
is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad ||
	    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f) || c == 0x61c || c == 0xfeff;
}

/* As \uXXXX; beyond the first 65,536 characters a pair of surrogates. */
static void
put_escaped(struct json *j, uint32_t c)
{
	if (c >= 0x10000)
		fprintf(j->out, "\\u%04" PRIx32 "\\u%04" PRIx32,
		    0xd800 + ((c - 0x10000) >> 10),
		    0xdc00 + ((c - 0x10000) & 0x3ff));
	else
		fprintf(j->out, "\\u%04" PRIx32, c);
}

/* Bytes at s that stand for themselves: nearly all there are. */
static size_t
plain_run(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void
put_string(struct json *j, const char *s)
{
	size_t left = strlen(s), n;
	uint32_t c;

	fputc('"', j->out);
	for (; left > 0; s += n, left -= n) {
		n = plain_run(s);
		if (n > 0) {
			fwrite(s, 1, n, j->out);
			continue;
		}
		n = base_utf8_char(s, left, &c);
		if (n == 0) {
			n = 1;
			fputs("\\ufffd", j->out);
		} else if (c == '"' || c == '\\') {
			fprintf(j->out, "\\%c", (int)c);
		} else if (is_unsafe(c) || (j->ascii && c >= 0x80)) {
			put_escaped(j, c);
		} else {
			fwrite(s, 1, n, j->out);
		}
	}
	fputc('"', j->out);
}

void
json_key(struct json *j, const char *key)
{
	assert(j->depth > 0);
	j->level[j->depth - 1].key = key;
	if (j->depth == j->fields_at)
		j->unwanted = !json_field_wanted(j->fields, key);
	if (is_mute(j))
		return;
	separate(j);
	put_string(j, key);
	fputs(": ", j->out);
	j->keyed = true;
}

/* A value that is written as it stands, but perhaps between quotes. */
static void
put_plain(struct json *j, const char *text, bool quoted)
{
	if (j->form == JSON_CSV) {
		json_csv_value(j, text);
		return;
	}
	if (is_mute(j))
		return;
	separate(j);
	fprintf(j->out, quoted ? "\"%s\"" : "%s", text);
}

void
json_text(struct json *j, const char *s)
{
	if (s == NULL) {
		json_null(j);
	} else if (j->form == JSON_CSV) {
		json_csv_value(j, s);
	} else if (!is_mute(j)) {
		separate(j);
		put_string(j, s);
	}
}

void
json_number(struct json *j, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, n);
	put_plain(j, text, false);
}

void
json_signed(struct json *j, int64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRId64, n);
	put_plain(j, text, false);
}

void
json_bool(struct json *j, bool b)
{
	put_plain(j, b ? "true" : "false", false);
}

void
json_null(struct json *j)
{
	if (j->form == JSON_CSV)
		json_csv_value(j, NULL);
	else
		put_plain(j, "null", false);
}

void
json_known(struct json *j, bool known, uint64_t n)
{
	if (known)
		json_number(j, n);
	else
		json_null(j);
}

void
json_hex(struct json *j, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "0x%" PRIx64, n);
	put_plain(j, text, true);
}

/* The decimal point is a point in every locale. */
void
json_share(struct json *j, double part, double whole)
{
	char text[48];
	uint64_t millionths;

	if (!(whole > 0)) {
		json_null(j);
		return;
	}
	millionths = (uint64_t)(part / whole * 1e6 + 0.5);
	snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64,
	    millionths / 1000000, millionths % 1000000);
	put_plain(j, text, false);
}

void
json_time(struct json *j, int64_t wall_ms)
{
	int64_t ms = wall_ms % 1000;
	time_t t = (time_t)(wall_ms / 1000);
	char text[32], whole[48];
	struct tm tm;

	if (ms < 0) {
		ms += 1000;
		t--;
	}
	if (gmtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		json_null(j);
		return;
	}
	snprintf(whole, sizeof whole, "%s.%03dZ", text, (int)ms);
	put_plain(j, whole, true);
}
