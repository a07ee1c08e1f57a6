/*
 * The writer: brackets, commas, and text that is safe anywhere.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "../base/base.h"
#include "json.h"

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
	if (top < 0)
		return;
	if (j->level[top].any)
		fputs(j->level[top].lines ? "," : ", ", j->out);
	if (j->level[top].lines)
		indent(j);
	j->level[top].any = true;
}

void
json_begin(struct json *j, char bracket, bool lines)
{
	separate(j);
	assert(j->depth < JSON_DEPTH);
	fputc(bracket, j->out);
	j->level[j->depth].close = bracket == '{' ? '}' : ']';
	j->level[j->depth].lines = lines;
	j->level[j->depth].any = false;
	j->depth++;
}

void
json_end(struct json *j)
{
	assert(j->depth > 0);
	j->depth--;
	if (j->level[j->depth].lines && j->level[j->depth].any)
		indent(j);
	fputc(j->level[j->depth].close, j->out);
	if (j->depth == 0)
		fputc('\n', j->out);
}

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
	separate(j);
	put_string(j, key);
	fputs(": ", j->out);
	j->keyed = true;
}

void
json_text(struct json *j, const char *s)
{
	if (s == NULL) {
		json_null(j);
		return;
	}
	separate(j);
	put_string(j, s);
}

void
json_number(struct json *j, uint64_t n)
{
	separate(j);
	fprintf(j->out, "%" PRIu64, n);
}

void
json_signed(struct json *j, int64_t n)
{
	separate(j);
	fprintf(j->out, "%" PRId64, n);
}

void
json_bool(struct json *j, bool b)
{
	separate(j);
	fputs(b ? "true" : "false", j->out);
}

void
json_null(struct json *j)
{
	separate(j);
	fputs("null", j->out);
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
	separate(j);
	fprintf(j->out, "\"0x%" PRIx64 "\"", n);
}

/* The decimal point is a point in every locale. */
void
json_share(struct json *j, double part, double whole)
{
	uint64_t millionths;

	if (!(whole > 0)) {
		json_null(j);
		return;
	}
	millionths = (uint64_t)(part / whole * 1e6 + 0.5);
	separate(j);
	fprintf(j->out, "%" PRIu64 ".%06" PRIu64, millionths / 1000000,
	    millionths % 1000000);
}

void
json_time(struct json *j, int64_t wall_ms)
{
	int64_t ms = wall_ms % 1000;
	time_t t = (time_t)(wall_ms / 1000);
	char text[32];
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
	separate(j);
	fprintf(j->out, "\"%s.%03dZ\"", text, (int)ms);
}
