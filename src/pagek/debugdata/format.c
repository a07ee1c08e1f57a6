/*
 * Format strings.  Text is copied, a conversion is a value of the row.  A line
 * after the first is omitted if it has conversions and all their values are
 * unknown.  Else an unknown value is "??", and an unknown source line is empty.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "debugdata.h"

#define LINE_BYTES 16384
#define UNKNOWN "??"

/* A piece of text, or a conversion. */
struct piece {
	char letter;			/* 0: text; '\n': the line ends */
	unsigned level;			/* of b, f, w, l; from 0 */
	const char *text;		/* in the format's own copy */
	size_t len;
};

struct format {
	char *text;
	size_t n;
	struct piece piece[];
};

#define LETTERS "pnmosaTthNF"
#define LEVELLED "bfwl"

/* Parses a conversion behind its '%'.  Returns its length; 0: an error. */
static size_t
take_conversion(const char *s, struct piece *out, char why[DEBUGDATA_WHY])
{
	*out = (struct piece){ .letter = *s };
	if (*s == '%') {
		*out = (struct piece){ .text = s, .len = 1 };
		return 1;
	}
	if (*s != '\0' && strchr(LETTERS, *s) != NULL)
		return 1;
	if (*s != '\0' && strchr(LEVELLED, *s) != NULL) {
		if (s[1] >= '1' && s[1] < '1' + MDD_LEVELS) {
			out->level = (unsigned)(s[1] - '1');
			return 2;
		}
		snprintf(why, DEBUGDATA_WHY, "-f: %%%c needs a level from 1 to "
		    "%d, as in %%%c1", *s, MDD_LEVELS, *s);
		return 0;
	}
	if (*s == '\0')
		snprintf(why, DEBUGDATA_WHY, "-f: the string ends with a '%%'; "
		    "%%%% is a single one");
	else
		snprintf(why, DEBUGDATA_WHY, "-f: unknown conversion '%%%s': "
		    "there are %%p %%n %%m %%o %%s %%a %%T %%t %%h %%N %%F %%b1 "
		    "to %%b8 %%f1 to %%f8 %%w1 to %%w8 %%l1 to %%l8 and %%%%",
		    base_shown((const char[]){ *s, '\0' }));
	return 0;
}

/* Replaces \n, \t, \" and \\. */
static void
unescape(char *s)
{
	static const char from[] = "nt\"\\", to[] = "\n\t\"\\";
	char *out = s;

	for (; *s != '\0'; s++) {
		const char *at = *s == '\\' && s[1] != '\0' ?
		    strchr(from, s[1]) : NULL;

		*out++ = at != NULL ? to[at - from] : *s;
		s += at != NULL;
	}
	*out = '\0';
}

int
format_new(struct format **out, const char *text, char why[DEBUGDATA_WHY])
{
	size_t len = strlen(text), n;
	struct format *f = calloc(1, sizeof *f + (len + 1) *
	    sizeof f->piece[0]);

	if (f == NULL || (f->text = strdup(text)) == NULL) {
		free(f);
		return -ENOMEM;
	}
	unescape(f->text);
	for (const char *s = f->text; *s != '\0'; s += n) {
		struct piece *p = &f->piece[f->n++];

		n = strcspn(s, "%\n");
		if (n > 0) {
			*p = (struct piece){ .text = s, .len = n };
		} else if (*s == '\n') {
			*p = (struct piece){ .letter = '\n' };
			n = 1;
		} else {
			n = take_conversion(s + 1, p, why);
			if (n == 0) {
				format_free(f);
				return -EINVAL;
			}
			n++;
		}
	}
	*out = f;
	return 0;
}

void
format_free(struct format *f)
{
	if (f == NULL)
		return;
	free(f->text);
	free(f);
}

/* --- what is collected ---------------------------------------------------------- */

static unsigned
option_of(char letter)
{
	switch (letter) {
	case 'm':
	case 'o':
		return MDD_OPT_ACTUAL_SIZE;
	case 'T':
		return MDD_OPT_TIMESTAMP;
	case 't':
	case 'h':
	case 'N':
		return MDD_OPT_THREAD;
	case 'b':
	case 'f':
	case 'w':
	case 'l':
		return MDD_OPT_BACKTRACE;
	}
	return 0;
}

static bool
is_levelled(const struct piece *p)
{
	return p->letter != 0 && strchr(LEVELLED, p->letter) != NULL;
}

/* True: a node does not know it; why says where it is. */
static bool
node_lacks(const struct piece *p, const struct subject *s, const char *what,
    char why[DEBUGDATA_WHY])
{
	if (p->letter != 'h' || !s->live)
		return false;
	snprintf(why, DEBUGDATA_WHY, "%s: a node knows no handles of threads; a "
	    "dump of a target with PAGEK_DEBUGDATA=on has them, as 'pagek "
	    "mdd-dump pid:N' makes it", what);
	return true;
}

int
format_check(const struct format *f, const struct subject *s, bool named,
    char why[DEBUGDATA_WHY])
{
	char what[8];

	for (const struct piece *p = f->piece; p < f->piece + f->n; p++) {
		if (is_levelled(p))
			snprintf(what, sizeof what, "%%%c%u", p->letter,
			    p->level + 1);
		else
			snprintf(what, sizeof what, "%%%c", p->letter);
		if ((option_of(p->letter) != 0 &&
		    subject_lacks(s, option_of(p->letter), what, why)) ||
		    node_lacks(p, s, what, why))
			return PAGEK_USAGE;
		for (size_t i = 0; is_levelled(p) && i < s->n; i++)
			if (s->dump[i].source.known &&
			    p->level >= s->dump[i].source.levels) {
				snprintf(why, DEBUGDATA_WHY, "%s: %s has %u "
				    "levels of backtrace; BACKTRACE=%u collects "
				    "more", what, base_shown(s->dump[i].name),
				    s->dump[i].source.levels, p->level + 1);
				return PAGEK_USAGE;
			}
		if (is_levelled(p) && p->letter != 'b' && !named) {
			snprintf(why, DEBUGDATA_WHY, "%s needs the executable, "
			    "as the word before the first dump, or --symbols",
			    what);
			return PAGEK_USAGE;
		}
	}
	return PAGEK_OK;
}

unsigned
format_levels(const struct format *f)
{
	unsigned levels = 0;

	for (const struct piece *p = f->piece; p < f->piece + f->n; p++)
		if (is_levelled(p) && p->level >= levels)
			levels = p->level + 1;
	return levels;
}

void
format_standard(char out[FORMAT_STANDARD], const struct dump *d, bool history,
    bool named)
{
	unsigned options = d->source.options;
	size_t len = 0;

	base_append(out, FORMAT_STANDARD, &len, history ?
	    "%%a %%n bytes: %%p %%F" : "%%p : %%a %%n bytes");
	if (options & MDD_OPT_ACTUAL_SIZE)
		base_append(out, FORMAT_STANDARD, &len,
		    ", actual size %%m (+%%o)");
	base_append(out, FORMAT_STANDARD, &len, ", seqno %%s");
	if (options & MDD_OPT_TIMESTAMP)
		base_append(out, FORMAT_STANDARD, &len, ", time %%T");
	if (options & MDD_OPT_THREAD)
		base_append(out, FORMAT_STANDARD, &len,
		    "\n  By thread %%t, %%h %%N");
	for (unsigned i = 1; i <= d->source.levels; i++)
		base_append(out, FORMAT_STANDARD, &len, named ? "\n  %u) "
		    "backtrace %%b%u function %%f%u\n     %%w%u\n     "
		    "\"%%l%u\"" : "\n  %u) backtrace return address %%b%u", i, i,
		    i, i, i);
}

void
format_write(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"')
			fputs("\\\"", out);
		else
			fputc(*text, out);
	}
	fputc('\n', out);
}

/* --- rows ---------------------------------------------------------------------------- */

void
address_text(char out[ADDRESS_TEXT], const struct dump *d, uint64_t address)
{
	snprintf(out, ADDRESS_TEXT, "0x%0*" PRIx64,
	    d->source.word_bytes == 4 ? 8 : 12, address);
}

struct text_line {
	char text[LINE_BYTES];
	size_t len;
	bool ascii;
	unsigned values, known;
};

static void
put_number(struct text_line *l, uint64_t n, bool known)
{
	if (known)
		base_append(l->text, sizeof l->text, &l->len, "%" PRIu64, n);
	else
		base_append_text(l->text, sizeof l->text, &l->len, UNKNOWN);
	l->known += known;
}

static void
put_address(struct text_line *l, const struct dump *d, uint64_t address, bool known)
{
	char text[ADDRESS_TEXT];

	address_text(text, d, address);
	base_append_text(l->text, sizeof l->text, &l->len, known ? text :
	    UNKNOWN);
	l->known += known;
}

/* Tabs stay tabs. */
static void
put_safe(struct text_line *l, const char *text, size_t len)
{
	size_t n;

	for (; len > 0; text += n, len -= n) {
		if (*text == '\t') {
			base_append_text(l->text, sizeof l->text, &l->len, "\t");
			n = 1;
			continue;
		}
		for (n = 0; n < len && text[n] != '\t'; n++)
			continue;
		l->len += base_safe_text(l->text + l->len,
		    sizeof l->text - l->len, text, n, l->ascii);
	}
}

static void
put_text(struct text_line *l, const char *text)
{
	bool known = text != NULL && text[0] != '\0';

	put_safe(l, known ? text : UNKNOWN, strlen(known ? text : UNKNOWN));
	l->known += known;
}

static void
put_caller(struct text_line *l, const struct event *e, const struct callers *callers,
    const struct piece *p)
{
	const struct caller *c = callers_get(callers, e, p->level);

	if (p->letter == 'b') {
		put_address(l, e->dump, e->at->stack[p->level],
		    e->at->stack[p->level] != 0);
	} else if (p->letter == 'f') {
		put_text(l, c != NULL ? c->function : NULL);
	} else if (p->letter == 'w') {
		put_text(l, c != NULL ? c->file : NULL);
		if (c != NULL && c->file != NULL)
			base_append(l->text, sizeof l->text, &l->len,
			    ":%" PRIu32, c->line);
	} else if (c != NULL && c->source != NULL) {
		put_safe(l, c->source, c->source_len);
		l->known++;
	}
}

static void
put_thread(struct text_line *l, const struct event *e, char letter)
{
	const struct dump_thread *t = dump_thread(e->dump, e->at->thread);

	if (letter == 't')
		put_number(l, e->at->thread, e->at->thread != 0);
	else if (letter == 'h')
		put_address(l, e->dump, t != NULL ? t->handle : 0,
		    t != NULL && !e->dump->source.live);
	else
		put_text(l, t != NULL ? t->name : NULL);
}

static void
put_value(struct text_line *l, const struct piece *p, const struct event *e,
    const struct callers *callers, const struct format_style *style)
{
	const struct dump_record *b = e->block;

	l->values++;
	switch (p->letter) {
	case 'p':
		put_address(l, e->dump, b->address, true);
		break;
	case 'n':
		put_number(l, b->size, true);
		break;
	case 'm':
		put_number(l, b->actual, b->actual != 0);
		break;
	case 'o':
		put_number(l, b->actual - b->size, b->actual != 0 &&
		    b->actual >= b->size);
		break;
	case 's':
		put_number(l, e->at->seqno, true);
		break;
	case 'a':
		put_text(l, dump_function(e->at->function));
		break;
	case 'T':
		put_number(l, query_time(e->dump, e->at->time, style->ms),
		    true);
		break;
	case 'F':
		base_append_text(l->text, sizeof l->text, &l->len,
		    e->kind == EVENT_FREED ? "(freed) " : "");
		l->known++;
		break;
	case 't':
	case 'h':
	case 'N':
		put_thread(l, e, p->letter);
		break;
	default:
		put_caller(l, e, callers, p);
	}
}

static void
begin_line(struct text_line *l)
{
	l->len = l->values = l->known = 0;
	l->text[0] = '\0';
}

static void
end_line(struct text_line *l, bool first, FILE *out)
{
	if (first || l->values == 0 || l->known > 0)
		fprintf(out, "%s\n", l->text);
	begin_line(l);
}

void
format_print(const struct format *f, const struct event *e,
    const struct callers *callers, const struct format_style *style, FILE *out)
{
	bool first = true;
	struct text_line l;

	l.ascii = style->ascii;
	begin_line(&l);
	for (const struct piece *p = f->piece; p < f->piece + f->n; p++) {
		if (p->letter == '\n') {
			end_line(&l, first, out);
			first = false;
		} else if (p->letter == 0) {
			base_append(l.text, sizeof l.text, &l.len, "%.*s",
			    (int)p->len, p->text);
		} else {
			put_value(&l, p, e, callers, style);
		}
	}
	end_line(&l, first, out);
}
