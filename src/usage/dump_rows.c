#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "dump_rows.h"

static int
hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' :
	    isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* The byte that "%3A" stands for, or -1: a '%' that is itself. */
static int
coded_byte(const char *s)
{
	int high, low, c;

	if (s[0] != '%' || (high = hex_digit(s[1])) < 0 ||
	    (low = hex_digit(s[2])) < 0)
		return -1;
	c = high << 4 | low;
	return (c > 0 && c < ' ') || c >= 0x7f || c == ':' || c == '%' ? c : -1;
}

/* In place; returns the new length. */
static size_t
decode_name(char *name)
{
	char *out = name;
	int c;

	for (const char *s = name; *s != '\0'; s += c >= 0 ? 3 : 1) {
		c = coded_byte(s);
		*out++ = c >= 0 ? (char)c : *s;
	}
	*out = '\0';
	return (size_t)(out - name);
}

/* Bytes of the character, if a terminal shows it as it is, else 0. */
static size_t
plain_char(const char *s)
{
	size_t len = base_utf8_char(s, strnlen(s, 4), NULL);
	char safe[16];

	if (len <= 1)
		return *s >= ' ' && *s < 0x7f && *s != ':' && coded_byte(s) < 0;
	return base_safe_text(safe, sizeof safe, s, len, false) == len &&
	    memcmp(safe, s, len) == 0 ? len : 0;
}

static void
put_name(FILE *fp, const char *name)
{
	for (size_t len; *name != '\0'; name += len > 0 ? len : 1) {
		len = plain_char(name);
		if (len > 0)
			fwrite(name, 1, len, fp);
		else
			fprintf(fp, "%%%02X", (unsigned char)*name);
	}
}

void
usage_dump_put(FILE *fp, const struct usage_dump_row *r)
{
	put_name(fp, r->name);
	fprintf(fp, ":%" PRId64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64 "\n", r->num,
	    r->allocated, r->freed, r->max);
}

static bool
parse_signed(const char *text, int64_t *out)
{
	bool negative = *text == '-';
	uint64_t n;

	if (base_parse_count(text + negative, (uint64_t)INT64_MAX + negative,
	    &n) < 0)
		return false;
	*out = negative ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

enum { NUM, ALLOCATED, FREED, MAX, NUMBERS };

static const char *const number_names[NUMBERS] = {
	"num", "the number of allocations", "the number of frees", "max",
};

/*
 * Splits the line at its last four colons; NULL, with a sentence in why: it
 * has fewer.
 */
static char *
split_line(char *line, char *number[NUMBERS], char why[USAGE_DUMP_WHY])
{
	for (int i = NUMBERS - 1; i >= 0; i--) {
		char *colon = strrchr(line, ':');

		if (colon == NULL) {
			snprintf(why, USAGE_DUMP_WHY, "not of the form "
			    "type:num:allocated:freed:max");
			return NULL;
		}
		*colon = '\0';
		number[i] = colon + 1;
	}
	return line;
}

static bool
parse_line(char *line, struct usage_dump_row *r, char why[USAGE_DUMP_WHY])
{
	char *number[NUMBERS];
	uint64_t *n[NUMBERS] = { NULL, &r->allocated, &r->freed, &r->max };

	r->name = split_line(line, number, why);
	if (r->name == NULL)
		return false;
	for (int i = NUM; i < NUMBERS; i++) {
		if (i == NUM ? parse_signed(number[i], &r->num) :
		    base_parse_count(number[i], UINT64_MAX, n[i]) == 0)
			continue;
		snprintf(why, USAGE_DUMP_WHY, "%s is not a number: '%s'",
		    number_names[i], base_shown(number[i]));
		return false;
	}
	return true;
}

/* -ENOMEM */
static int
append_row(struct usage_dump *d, struct usage_dump_row *r, char *name)
{
	void *array = d->row;
	int64_t no;

	if (base_grow(&array, &d->cap, d->n + 1, sizeof *d->row) < 0)
		return -ENOMEM;
	d->row = array;
	no = intern_put(&d->names, name, decode_name(name));
	if (no < 0)
		return -ENOMEM;
	r->name = intern_text(&d->names, (uint32_t)no);
	d->row[d->n++] = *r;
	return 0;
}

struct line {
	char *text;			/* with its NUL, without the end of the line */
	size_t len;
	uint64_t number;
	bool ended;			/* by '\n'; else by the file */
	bool cut;			/* it was longer */
	bool zero;			/* it has a byte of 0 */
};

/* False: the file has no more. */
static bool
read_line(FILE *fp, struct line *l)
{
	int c;

	l->len = 0;
	l->ended = l->cut = l->zero = false;
	while ((c = getc(fp)) != EOF && c != '\n') {
		l->zero |= c == '\0';
		if (l->len < USAGE_DUMP_LINE)
			l->text[l->len++] = (char)c;
		else
			l->cut = true;
	}
	l->ended = c == '\n';
	if (l->ended && l->len > 0 && !l->cut && l->text[l->len - 1] == '\r')
		l->len--;
	l->text[l->len] = '\0';
	l->number++;
	return l->ended || l->len > 0;
}

static int
take_line(struct usage_dump *d, struct line *l, usage_dump_bad bad, void *arg)
{
	struct usage_dump_row r;
	char why[USAGE_DUMP_WHY] = "";
	int err = 0;

	if (l->cut)
		snprintf(why, sizeof why, "longer than %u KiB",
		    USAGE_DUMP_LINE >> 10);
	else if (l->zero)
		snprintf(why, sizeof why, "it has a byte of 0");
	else if (d->n == USAGE_DUMP_ROWS)
		snprintf(why, sizeof why, "more than %u rows",
		    (unsigned)USAGE_DUMP_ROWS);
	else if (parse_line(l->text, &r, why))
		err = append_row(d, &r, l->text);
	if (err == 0 && why[0] == '\0' && !l->ended)
		snprintf(why, sizeof why, "the last line has no end, so the "
		    "file may be cut");
	if (why[0] != '\0') {
		d->bad++;
		bad(arg, l->number, why);
	}
	return err;
}

int
usage_dump_read(struct usage_dump *d, FILE *fp, usage_dump_bad bad, void *arg)
{
	struct line l = { .text = malloc(USAGE_DUMP_LINE + 1) };
	int err = l.text != NULL ? 0 : -ENOMEM;

	errno = 0;
	while (err == 0 && read_line(fp, &l))
		err = take_line(d, &l, bad, arg);
	if (err == 0 && ferror(fp))
		err = errno != 0 ? -errno : -EIO;
	free(l.text);
	return err;
}

void
usage_dump_fini(struct usage_dump *d)
{
	free(d->row);
	intern_fini(&d->names);
	*d = (struct usage_dump){ 0 };
}
