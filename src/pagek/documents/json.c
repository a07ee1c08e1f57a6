#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "../../base/base.h"
#include "../cli/options.h"
#include "documents.h"

static void csv_value(struct json *, const char *key, const char *text);
static void csv_begin(struct json *);
static void csv_row(struct json *, const void *row);

void
json_open_format(struct json *j, FILE *out, enum text_format format, bool ascii)
{
	static const enum json_form forms[] = {
		[FORMAT_TEXT] = JSON_WHOLE,
		[FORMAT_JSON] = JSON_WHOLE,
		[FORMAT_NDJSON] = JSON_LINES,
		[FORMAT_CSV] = JSON_CSV,
	};

	assert(format < BASE_NELEM(forms));
	j->out = out;
	j->form = forms[format];
	j->ascii = ascii;
	j->chosen = NULL;
	j->depth = 0;
	j->csv.headed = false;
}

void
json_open(struct json *j, FILE *out, const struct options *o)
{
	json_open_format(j, out, o->format, o->page.ascii);
	/* With -b, each document is one line. */
	if (j->form == JSON_LINES && option_given(o, OPTION_BATCH))
		j->form = JSON_LINE;
	j->chosen = o->fields;
}

/* Nothing is written at once: CSV, and the head behind the rows of lines. */
static bool
is_mute(const struct json *j)
{
	return j->form == JSON_CSV || (j->form == JSON_LINES && j->over);
}

static void
indent(struct json *j)
{
	fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

/* The comma before a key or an element; a row that is a line has none. */
static void
separate(struct json *j)
{
	int top = j->depth - 1;

	if (top < 0 || (j->form == JSON_LINES && j->depth == j->rows))
		return;
	if (j->level[top].any)
		fputs(j->level[top].lines ? "," : ", ", j->out);
	if (j->level[top].lines)
		indent(j);
	j->level[top].any = true;
}

static void
push_level(struct json *j, char bracket, bool lines)
{
	assert(j->depth < JSON_DEPTH);
	j->level[j->depth].close = bracket == '{' ? '}' : ']';
	j->level[j->depth].lines = lines && j->form == JSON_WHOLE;
	j->level[j->depth].any = false;
	j->depth++;
}

/* Controls, and characters that turn a line around or hide in it. */
static bool
is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad ||
	    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f) || c == 0x61c || c == 0xfeff;
}

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

static void
put_key(struct json *j, const char *key)
{
	separate(j);
	if (key == NULL)
		return;
	put_string(j, key);
	fputs(": ", j->out);
}

void
json_begin(struct json *j, const char *key, char bracket, bool lines)
{
	if (!is_mute(j)) {
		put_key(j, key);
		fputc(bracket, j->out);
	}
	push_level(j, bracket, lines);
}

void
json_end(struct json *j)
{
	bool whole;

	assert(j->depth > 0);
	j->depth--;
	whole = j->depth == 0 ||
	    (j->form == JSON_LINES && j->depth == j->rows);
	if (is_mute(j))
		return;
	if (j->level[j->depth].lines && j->level[j->depth].any)
		indent(j);
	fputc(j->level[j->depth].close, j->out);
	if (whole)
		fputc('\n', j->out);
}

void
json_null(struct json *j, const char *key)
{
	if (is_mute(j))
		return;
	put_key(j, key);
	fputs("null", j->out);
}

void
json_text(struct json *j, const char *key, const char *s)
{
	if (s == NULL) {
		json_null(j, key);
	} else if (j->form == JSON_CSV) {
		csv_value(j, key, s);
	} else if (!is_mute(j)) {
		put_key(j, key);
		put_string(j, s);
	}
}

static void
put_value(struct json *j, const char *key, enum field_kind kind,
    const struct field_value *v)
{
	bool quoted = kind == FIELD_HEX || kind == FIELD_NODE ||
	    kind == FIELD_TIME;
	char text[FIELD_TEXT_MAX];

	field_text(kind, v, text);
	if (text[0] == '\0') {
		json_null(j, key);
	} else if (j->form == JSON_CSV) {
		csv_value(j, key, text);
	} else if (!is_mute(j)) {
		put_key(j, key);
		fprintf(j->out, quoted ? "\"%s\"" : "%s", text);
	}
}

void
json_number(struct json *j, const char *key, uint64_t n)
{
	put_value(j, key, FIELD_NUMBER, &(struct field_value){ .n = n });
}

void
json_signed(struct json *j, const char *key, int64_t n)
{
	put_value(j, key, FIELD_SIGNED, &(struct field_value){ .i = n });
}

void
json_bool(struct json *j, const char *key, bool b)
{
	put_value(j, key, FIELD_BOOL, &(struct field_value){ .n = b });
}

void
json_known(struct json *j, const char *key, bool known, uint64_t n)
{
	if (known)
		json_number(j, key, n);
	else
		json_null(j, key);
}

void
json_share(struct json *j, const char *key, double part, double whole)
{
	if (whole > 0)
		put_value(j, key, FIELD_SHARE,
		    &(struct field_value){ .share = part / whole });
	else
		json_null(j, key);
}

void
json_time(struct json *j, const char *key, int64_t wall_ms)
{
	put_value(j, key, FIELD_TIME, &(struct field_value){ .i = wall_ms });
}

static void put_fields(struct json *, const struct field_table *,
    unsigned subset, const char *chosen, const void *row);

static void
put_list(struct json *j, const struct field *f, const struct field_value *v)
{
	const char *row = v->list.row;

	json_begin(j, f->key, '[', f->lines);
	for (size_t i = 0; i < v->list.rows; i++, row += v->list.size) {
		json_begin(j, NULL, '{', false);
		put_fields(j, f->sub, 0, NULL, row);
		json_end(j);
	}
	json_end(j);
}

static void
put_field(struct json *j, const struct field *f, const void *row)
{
	struct field_value v;
	bool known = field_value(f, row, &v);

	if (!known && f->optional)
		return;
	if (!known) {
		json_null(j, f->key);
	} else if (f->kind == FIELD_TEXT) {
		json_text(j, f->key, v.text);
	} else if (f->kind == FIELD_LIST) {
		put_list(j, f, &v);
	} else if (f->kind == FIELD_OBJECT) {
		json_begin(j, f->key, '{', false);
		put_fields(j, f->sub, 0, NULL, v.row);
		json_end(j);
	} else {
		put_value(j, f->key, f->kind, &v);
	}
}

static int
put_rank(struct json *j, const struct field_table *t, unsigned subset,
    const char *chosen, const void *row, int rank)
{
	struct field_value v;
	int next = INT_MAX;

	for (const struct field *f = t->field; f < t->field + t->n; f++) {
		if (f->rank > rank && f->rank < next)
			next = f->rank;
		if (f->rank != rank || f->kind == FIELD_HEAD ||
		    !field_belongs(f, subset))
			continue;
		if (f->kind == FIELD_INCLUDE) {
			if (field_value(f, row, &v))
				put_fields(j, f->sub, subset, chosen, v.row);
		} else if (f->key != NULL &&
		    (chosen == NULL || field_chosen(t, chosen, f->key))) {
			put_field(j, f, row);
		}
	}
	return next;
}

static void
put_fields(struct json *j, const struct field_table *t, unsigned subset,
    const char *chosen, const void *row)
{
	for (int rank = 0; rank != INT_MAX;)
		rank = put_rank(j, t, subset, chosen, row, rank);
}

void
json_put(struct json *j, const struct field_table *t, const void *row)
{
	put_fields(j, t, 0, NULL, row);
}

void
json_row(struct json *j, const void *row, unsigned subset)
{
	if (j->form == JSON_CSV) {
		j->csv.row_subset = subset;
		csv_row(j, row);
		return;
	}
	json_begin(j, NULL, '{', false);
	put_fields(j, j->table, subset, j->chosen, row);
	json_end(j);
}

void
json_document(struct json *j, const char *schema, const struct field_table *t,
    unsigned subset)
{
	assert(j->depth == 0);
	j->rows = 0;
	j->over = false;
	j->table = t;
	j->subset = subset;
	if (j->form == JSON_CSV)
		csv_begin(j);
	json_begin(j, NULL, '{', true);
	json_text(j, "schema", schema);
}

void
json_rows(struct json *j, const char *key)
{
	if (j->form == JSON_WHOLE || j->form == JSON_LINE) {
		json_begin(j, key, '[', true);
		return;
	}
	if (j->form == JSON_LINES)
		fputs("}\n", j->out);
	push_level(j, '[', false);
	j->rows = j->depth;
}

void
json_rows_end(struct json *j)
{
	if (j->form == JSON_WHOLE || j->form == JSON_LINE) {
		json_end(j);
		return;
	}
	j->depth--;
	j->rows = 0;
	j->over = true;
}

static void
put_leaf(struct json *j, size_t leaf, const char *text)
{
	struct json_csv *c = &j->csv;
	size_t left = sizeof c->text - c->used;

	if (left < 2)
		return;
	c->leaf[leaf].cell = (uint32_t)(c->used + 1);
	c->used += base_safe_text(c->text + c->used, left, text, strlen(text),
	    j->ascii) + 1;
}

/* A value of the head, which some columns show. */
static void
csv_value(struct json *j, const char *key, const char *text)
{
	struct json_csv *c = &j->csv;

	if (j->depth != 1 || key == NULL || j->over)
		return;
	for (size_t i = 0; i < c->leaves; i++)
		if (c->leaf[i].head != NULL &&
		    strcmp(c->leaf[i].head, key) == 0)
			put_leaf(j, i, text);
	c->head_used = c->used;
}

struct heading {
	struct json *j;
	char name[FIELD_LEAVES][FIELD_NAME];
};

static void
add_leaf(void *arg, const struct field *f, const char *name, const void *row)
{
	struct heading *h = arg;
	struct json_csv *c = &h->j->csv;
	const char *chosen = h->j->chosen;

	(void)row;
	assert(c->leaves < FIELD_LEAVES);
	snprintf(h->name[c->leaves], FIELD_NAME, "%s", name);
	c->leaf[c->leaves].head = f->kind == FIELD_HEAD ? f->head : NULL;
	c->leaf[c->leaves].wanted = chosen == NULL ||
	    field_chosen(h->j->table, chosen, name);
	c->leaf[c->leaves++].cell = 0;
}

static void
choose_columns(struct json *j, const struct heading *h)
{
	struct json_csv *c = &j->csv;
	const char *list = j->chosen;
	char name[FIELD_NAME];

	c->columns = 0;
	for (size_t i = 0; i < c->leaves && list == NULL; i++)
		c->column[c->columns++] = (uint8_t)i;
	while (list != NULL && c->columns < c->leaves &&
	    (list = field_next(j->table, list, name)) != NULL)
		for (size_t i = 0; i < c->leaves; i++)
			if (strcmp(h->name[i], name) == 0)
				c->column[c->columns++] = (uint8_t)i;
}

static void
csv_begin(struct json *j)
{
	struct json_csv *c = &j->csv;
	struct heading h = { .j = j };

	c->used = c->head_used = c->leaves = 0;
	field_walk(j->table, j->subset, NULL, add_leaf, &h);
	choose_columns(j, &h);
	if (c->headed)
		return;
	for (size_t i = 0; i < c->columns; i++)
		fprintf(j->out, "%s%s", i == 0 ? "" : ",",
		    h.name[c->column[i]]);
	fputs("\r\n", j->out);
	c->headed = true;
}

/* Safe text has no newline. */
static void
put_cell(FILE *out, const char *text)
{
	if (text[strcspn(text, "\",")] == '\0') {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void
fill_leaf(void *arg, const struct field *f, const char *name, const void *row)
{
	struct json *j = arg;
	struct json_csv *c = &j->csv;
	size_t leaf = c->leaves++;
	char text[FIELD_TEXT_MAX];
	struct field_value v;

	(void)name;
	if (f->kind == FIELD_HEAD)
		return;
	c->leaf[leaf].cell = 0;
	if (row == NULL || !c->leaf[leaf].wanted ||
	    !field_belongs(f, c->row_subset) || !field_value(f, row, &v))
		return;
	if (f->kind == FIELD_TEXT) {
		put_leaf(j, leaf, v.text);
		return;
	}
	field_text(f->kind, &v, text);
	put_leaf(j, leaf, text);
}

static void
csv_row(struct json *j, const void *row)
{
	struct json_csv *c = &j->csv;
	uint32_t cell;

	c->used = c->head_used;
	c->leaves = 0;
	field_walk(j->table, j->subset, row, fill_leaf, j);
	for (size_t i = 0; i < c->columns; i++) {
		if (i > 0)
			fputc(',', j->out);
		cell = c->leaf[c->column[i]].cell;
		if (cell != 0)
			put_cell(j->out, c->text + cell - 1);
	}
	fputs("\r\n", j->out);
}
