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

struct conversion;

struct piece {
	const struct conversion *conversion;	/* NULL: none */
	unsigned level;			/* of a levelled conversion; from 0 */
	const char *text;		/* in the format's own copy; NULL: the line ends */
	size_t len;
};

struct format {
	char *text;
	size_t n;
	struct piece piece[];
};

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

struct value {
	const struct event *e;
	const struct callers *callers;
	const struct format_style *style;
	unsigned level;
};

static const struct dump_thread *
thread_of(const struct event *e)
{
	return dump_thread(e->dump, e->at->thread);
}

static void
put_file(struct text_line *l, const struct named_caller *c)
{
	put_text(l, c != NULL ? c->file : NULL);
	if (c != NULL && c->file != NULL)
		base_append(l->text, sizeof l->text, &l->len, ":%" PRIu32,
		    c->line);
}

static void
put_source(struct text_line *l, const struct named_caller *c)
{
	if (c == NULL || c->source == NULL)
		return;
	put_safe(l, c->source, c->source_len);
	l->known++;
}

static void
put_mark(struct text_line *l, const char *text)
{
	base_append_text(l->text, sizeof l->text, &l->len, text);
	l->known++;
}

#define PUT(name, put, ...) \
	static void \
	name(struct text_line *l, const struct value *v) \
	{ \
		put(l, __VA_ARGS__); \
	}
#define CALLER(v) callers_get((v)->callers, (v)->e, (v)->level)
#define RETURN_ADDRESS(v) (v)->e->at->stack[(v)->level]

PUT(put_pointer, put_address, v->e->dump, v->e->block->address, true)
PUT(put_size, put_number, v->e->block->size, true)
PUT(put_actual, put_number, v->e->block->actual, v->e->block->actual != 0)
PUT(put_overhead, put_number, v->e->block->actual - v->e->block->size,
    v->e->block->actual != 0 && v->e->block->actual >= v->e->block->size)
PUT(put_seqno, put_number, v->e->at->seqno, true)
PUT(put_allocator, put_text, dump_function(v->e->at->function))
PUT(put_time, put_number, query_time(v->e->dump, v->e->at->time, v->style->ms),
    true)
PUT(put_thread, put_number, v->e->at->thread, v->e->at->thread != 0)
PUT(put_handle, put_address, v->e->dump,
    thread_of(v->e) != NULL ? thread_of(v->e)->handle : 0,
    thread_of(v->e) != NULL && !v->e->dump->source.live)
PUT(put_thread_name, put_text, thread_of(v->e) != NULL ?
    thread_of(v->e)->name : NULL)
PUT(put_freed, put_mark, v->e->kind == EVENT_FREED ? "(freed) " : "")
PUT(put_return_address, put_address, v->e->dump, RETURN_ADDRESS(v),
    RETURN_ADDRESS(v) != 0)
PUT(put_function, put_text, CALLER(v) != NULL ? CALLER(v)->function : NULL)
PUT(put_place, put_file, CALLER(v))
PUT(put_source_line, put_source, CALLER(v))

/*
 * The conversions.  A new field of the data is a row here, a row of
 * event_fields.c, and an item of ecosmdd(1).
 */
static const struct conversion {
	char letter;
	void (*put)(struct text_line *, const struct value *);
	unsigned option;		/* of the target, which collects it; 0: none */
	bool levelled;			/* a level follows: %b1 to %b8 */
	bool named;			/* it needs the executable */
} conversions[] = {
	{ 'p', put_pointer, 0, false, false },
	{ 'n', put_size, 0, false, false },
	{ 'm', put_actual, MDD_OPT_ACTUAL_SIZE, false, false },
	{ 'o', put_overhead, MDD_OPT_ACTUAL_SIZE, false, false },
	{ 's', put_seqno, 0, false, false },
	{ 'a', put_allocator, 0, false, false },
	{ 'T', put_time, MDD_OPT_TIMESTAMP, false, false },
	{ 't', put_thread, MDD_OPT_THREAD, false, false },
	{ 'h', put_handle, MDD_OPT_THREAD, false, false },
	{ 'N', put_thread_name, MDD_OPT_THREAD, false, false },
	{ 'F', put_freed, 0, false, false },
	{ 'b', put_return_address, MDD_OPT_BACKTRACE, true, false },
	{ 'f', put_function, MDD_OPT_BACKTRACE, true, true },
	{ 'w', put_place, MDD_OPT_BACKTRACE, true, true },
	{ 'l', put_source_line, MDD_OPT_BACKTRACE, true, true },
};

static const struct conversion *
find_conversion(char letter)
{
	for (size_t i = 0; i < BASE_NELEM(conversions); i++)
		if (conversions[i].letter == letter)
			return &conversions[i];
	return NULL;
}

static void
refuse_letter(char letter, char why[DEBUGDATA_WHY])
{
	size_t len = 0;

	base_append(why, DEBUGDATA_WHY, &len, "-f: unknown conversion '%%%s': "
	    "there are", base_shown((const char[]){ letter, '\0' }));
	for (size_t i = 0; i < BASE_NELEM(conversions); i++) {
		const struct conversion *c = &conversions[i];

		base_append(why, DEBUGDATA_WHY, &len, " %%%c", c->letter);
		if (c->levelled)
			base_append(why, DEBUGDATA_WHY, &len, "1 to %%%c%d",
			    c->letter, MDD_LEVELS);
	}
	base_append(why, DEBUGDATA_WHY, &len, " and %%%%");
}

/* Parses a conversion behind its '%'.  Returns its length; 0: an error. */
static size_t
take_conversion(const char *s, struct piece *out, char why[DEBUGDATA_WHY])
{
	const struct conversion *c = find_conversion(*s);

	*out = (struct piece){ .conversion = c };
	if (*s == '%') {
		*out = (struct piece){ .text = s, .len = 1 };
		return 1;
	}
	if (*s == '\0')
		snprintf(why, DEBUGDATA_WHY, "-f: the string ends with a '%%'; "
		    "%%%% is a single one");
	else if (c == NULL)
		refuse_letter(*s, why);
	if (c == NULL || !c->levelled)
		return c != NULL;
	if (s[1] >= '1' && s[1] < '1' + MDD_LEVELS) {
		out->level = (unsigned)(s[1] - '1');
		return 2;
	}
	snprintf(why, DEBUGDATA_WHY, "-f: %%%c needs a level from 1 to %d, as in "
	    "%%%c1", *s, MDD_LEVELS, *s);
	return 0;
}

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
			*p = (struct piece){ .text = NULL };
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

/* True if a node does not know the value; why says where it is. */
static bool
node_lacks(const struct conversion *c, const struct subject *s, const char *what,
    char why[DEBUGDATA_WHY])
{
	if (c->letter != 'h' || !s->live)
		return false;
	snprintf(why, DEBUGDATA_WHY, "%s: a node knows no handles of threads; a "
	    "dump of a target with PAGEK_DEBUGDATA=on has them, as 'pagek "
	    "mdd-dump pid:N' makes it", what);
	return true;
}

static bool
lacks_level(const struct piece *p, const struct subject *s, const char *what,
    char why[DEBUGDATA_WHY])
{
	for (size_t i = 0; p->conversion->levelled && i < s->n; i++) {
		const struct dump_source *from = &s->dump[i].source;

		if (!from->known || p->level < from->levels)
			continue;
		snprintf(why, DEBUGDATA_WHY, "%s: %s has %u levels of "
		    "backtrace; BACKTRACE=%u collects more", what,
		    base_shown(s->dump[i].name), from->levels, p->level + 1);
		return true;
	}
	return false;
}

int
format_check(const struct format *f, const struct subject *s, bool named,
    char why[DEBUGDATA_WHY])
{
	char what[4] = "";

	for (const struct piece *p = f->piece; p < f->piece + f->n; p++) {
		const struct conversion *c = p->conversion;

		if (c == NULL)
			continue;
		what[0] = '%';
		what[1] = c->letter;
		what[2] = c->levelled ? (char)('1' + p->level) : '\0';
		if ((c->option != 0 && subject_lacks(s, c->option, what, why)) ||
		    node_lacks(c, s, what, why) || lacks_level(p, s, what, why))
			return PAGEK_USAGE;
		if (c->named && !named) {
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
		if (p->conversion != NULL && p->conversion->levelled &&
		    p->level >= levels)
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
		if (p->conversion != NULL) {
			l.values++;
			p->conversion->put(&l, &(struct value){ e, callers, style,
			    p->level });
		} else if (p->text != NULL) {
			base_append(l.text, sizeof l.text, &l.len, "%.*s",
			    (int)p->len, p->text);
		} else {
			end_line(&l, first, out);
			first = false;
		}
	}
	end_line(&l, first, out);
}
