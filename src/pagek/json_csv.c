/*
 * Documents as CSV (RFC 4180): a heading, then the rows.
 *
 * The writer says every value of a document; a column takes the one that its
 * schema's table has it for, from the row or from the head.  What no column
 * has is left out, and no column is called like what stands in a list within a
 * row: that has no key.  A value that is not known is
 * an empty cell.  Numbers are as in JSON, with a point, in every locale.
 */
#include <assert.h>
#include <string.h>

#include "../base/base.h"
#include "json.h"

#define NAME 64

/* The keys that lead to where the writer stands, from that depth on. */
static void
path_of(const struct json *j, int from, char out[NAME])
{
	size_t len = 0;

	out[0] = '\0';
	for (int d = from; d < j->depth; d++)
		base_append(out, NAME, &len, "%s%s", d > from ? "_" : "",
		    j->level[d].key != NULL ? j->level[d].key : "");
}

static int
find(const struct json *j, const char *name, bool head)
{
	for (size_t i = 0; i < j->columns; i++) {
		const struct json_column *c = &j->column[i];
		const char *own = head ? c->head : c->head == NULL ?
		    c->name : NULL;

		if (own != NULL && strcmp(own, name) == 0)
			return (int)i;
	}
	return -1;
}

void
json_csv_value(struct json *j, const char *text)
{
	bool head = j->rows == 0;
	char name[NAME];
	size_t left;
	int i;

	if (j->over || text == NULL)
		return;
	path_of(j, head ? 0 : j->rows, name);
	i = find(j, name, head);
	left = sizeof j->text - j->used;
	if (i < 0 || left < 2)
		return;
	j->cell[i] = (uint16_t)(j->used + 1);
	j->used += base_safe_text(j->text + j->used, left, text, strlen(text),
	    j->ascii) + 1;
	if (head)
		j->kept = j->used;
}

/* Safe text has no line in it that could end. */
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

void
json_csv_heading(struct json *j)
{
	for (size_t i = 0; i < j->columns && !j->headed; i++)
		fprintf(j->out, "%s%s", i == 0 ? "" : ",", j->column[i].name);
	if (!j->headed)
		fputs("\r\n", j->out);
	j->headed = true;
}

void
json_csv_row(struct json *j)
{
	static_assert(JSON_CELLS <= UINT16_MAX, "a cell begins at 16 bits");

	for (size_t i = 0; i < j->columns; i++) {
		if (i > 0)
			fputc(',', j->out);
		if (j->cell[i] != 0)
			put_cell(j->out, j->text + j->cell[i] - 1);
		/* What the head has said goes for the next row too. */
		if (j->column[i].head == NULL)
			j->cell[i] = 0;
	}
	fputs("\r\n", j->out);
	j->used = j->kept;
}
