/*
 * Functions, lines and source of return addresses, from pagek-symbols, which
 * reads ELF files of any machine, or from PREFIX-objdump.
 *
 * The mappings of a dump give the file of an address.  A dump without mappings
 * is firmware's: its addresses are those in the executable.
 */
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../base/hashmap.h"
#include "../../nodes/nodes.h"
#include "debugdata.h"

#define BATCH 1024		/* places in one look-up */
#define SOURCES 64		/* files in the cache */
#define SOURCE_MAX ((size_t)8 << 20)

struct source {
	char *path;
	char *bytes;			/* NULL: it could not be read */
	size_t len;
};

struct callers {
	const struct subject *subject;
	const char *ignore;		/* lines of such files are skipped; NULL */
	const char *prefix;		/* of objdump; NULL: none */
	struct symbols *symbols;
	struct hashmap *of;		/* of each dump: struct named_caller by address */
	size_t dumps;
	size_t failed;			/* addresses whose look-up failed */
	bool told;
	struct source source[SOURCES];
	size_t sources;
};

int
callers_new_live(struct callers **out, const struct subject *s, size_t dumps,
    const struct options *o)
{
	struct callers *c = calloc(1, sizeof *c);

	if (c == NULL || (c->of = calloc(dumps, sizeof *c->of)) == NULL) {
		free(c);
		return -ENOMEM;
	}
	for (size_t i = 0; i < dumps; i++)
		c->of[i].size = sizeof(struct named_caller);
	c->dumps = dumps;
	c->subject = s;
	c->prefix = o->events.arch;
	c->ignore = option_given(o, OPTION_NO_IGNORE) ? NULL :
	    o->events.ignore;
	*out = c;
	return 0;
}

struct symbols_opts
callers_reader(char program[PATH_MAX])
{
	if (nodes_program("pagek-symbols", program, PATH_MAX) < 0)
		program[0] = '\0';
	return (struct symbols_opts){ .reader = program,
		.path = secure_getenv("PAGEK_SYMBOL_PATH") };
}

void
callers_report_unread(size_t n)
{
	notice("names of %zu return addresses could not be read: their files "
	    "are damaged, missing or changed, or pagek-symbols is missing",
	    n);
}

int
callers_new(struct callers **out, const struct subject *s,
    const struct options *o)
{
	char program[PATH_MAX];
	struct symbols_opts opts;
	int e;

	*out = NULL;
	if (s->program == NULL && !option_given(o, OPTION_SYMBOLS))
		return PAGEK_OK;
	opts = callers_reader(program);
	e = callers_new_live(out, s, s->n, o);
	if (e == 0)
		e = symbols_new(&(*out)->symbols, &opts);
	if (e == 0)
		return PAGEK_OK;
	complain("cannot look names up: %s", strerror(-e));
	return PAGEK_FAILED;
}

void
callers_free(struct callers *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->dumps; i++) {
		for (size_t k = 0; k < c->of[i].n; k++) {
			struct named_caller *w = hashmap_item(&c->of[i], k);

			free(w->function);
			free(w->file);
		}
		hashmap_fini(&c->of[i]);
	}
	for (size_t i = 0; i < c->sources; i++) {
		free(c->source[i].path);
		free(c->source[i].bytes);
	}
	symbols_free(c->symbols);
	free(c->of);
	free(c);
}

static const struct source *
find_source(struct callers *c, const char *path)
{
	struct source *s;

	for (size_t i = 0; i < c->sources; i++)
		if (strcmp(c->source[i].path, path) == 0)
			return &c->source[i];
	if (c->sources == SOURCES)
		return NULL;
	s = &c->source[c->sources];
	s->path = strdup(path);
	if (s->path == NULL)
		return NULL;
	c->sources++;
	if (base_file_read(path, SOURCE_MAX, &s->bytes, &s->len) < 0)
		s->bytes = NULL;
	return s;
}

static void
find_line(struct callers *c, struct named_caller *w)
{
	const struct source *s = w->file != NULL && w->line > 0 ?
	    find_source(c, w->file) : NULL;
	const char *at, *end, *next;

	if (s == NULL || s->bytes == NULL)
		return;
	at = s->bytes;
	end = at + s->len;
	for (uint32_t line = 1; at < end; line++, at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (next == NULL)
			next = end;
		if (line != w->line)
			continue;
		w->source = at;
		w->source_len = (size_t)(next - at) - (next > at &&
		    next[-1] == '\r');
		return;
	}
}

/* A path without its folder matches as if it began with a slash. */
static bool
is_ignored(const struct callers *c, const char *file)
{
	char path[PATH_MAX];

	if (c->ignore == NULL || fnmatch(c->ignore, file, 0) == 0)
		return c->ignore != NULL;
	snprintf(path, sizeof path, "/%s", file);
	return file[0] != '/' && fnmatch(c->ignore, path, 0) == 0;
}

/*
 * The function is the outer one, which has the code; the line is that of the
 * innermost inlined function whose file is not ignored.
 */
static void
take_lines(struct callers *c, struct named_caller *w, const struct symbol_line *line,
    unsigned n)
{
	const struct symbol_line *best = NULL;

	for (unsigned i = 0; i < n; i++) {
		const struct symbol_line *l = &line[i];

		if (l->file != NULL && (best == NULL ||
		    (is_ignored(c, best->file) && !is_ignored(c, l->file))))
			best = l;
	}
	if (n > 0 && line[n - 1].function != NULL)
		w->function = strdup(line[n - 1].function);
	if (best != NULL) {
		w->file = strdup(best->file);
		w->line = best->line;
	}
	find_line(c, w);
}

static bool
is_program(const struct subject *s, const struct dump_module *m)
{
	const struct elf_head *h = &s->head;

	if (s->program == NULL)
		return false;
	if (h->build_id_len > 0 && m->build_id_len > 0)
		return h->build_id_len == m->build_id_len &&
		    memcmp(h->build_id, m->build_id, h->build_id_len) == 0;
	return strcmp(m->path, s->program) == 0 ||
	    strcmp(strrchr(m->path, '/') != NULL ? strrchr(m->path, '/') + 1 :
	    m->path, strrchr(s->program, '/') != NULL ?
	    strrchr(s->program, '/') + 1 : s->program) == 0;
}

/* In Thumb code the lowest bit is a flag, not part of the address. */
static uint64_t
code_address(unsigned machine, uint64_t address)
{
	return machine == EM_ARM ? address & ~UINT64_C(1) : address;
}

/* False: the file of the address is unknown. */
static bool
place_of(const struct callers *c, const struct dump *d, uint64_t address,
    struct symbol_place *out)
{
	const struct subject *s = c->subject;
	const struct dump_module *m;

	*out = (struct symbol_place){ .path = s->program_path };
	if (d->firmware) {
		out->address = code_address(s->head.machine, address);
		return s->program != NULL;
	}
	m = dump_module(d, address - 1);
	if (m == NULL)
		return false;
	/* A capture's modules have no offset; their bias is that of their tables. */
	out->by_offset = d->source.run == 0;
	out->address = code_address(m->machine, address) - (out->by_offset ?
	    m->lo - m->offset : m->bias);
	if (is_program(s, m))
		return true;
	/* The file at that path may be another one now. */
	if (m->build_id_len == 0)
		return false;
	out->path = m->path;
	out->build_id_len = m->build_id_len;
	memcpy(out->build_id, m->build_id, m->build_id_len);
	return true;
}

/* A file without a name for the address is no failure. */
static bool
is_failure(enum symbol_known known)
{
	return known == SYMBOL_PENDING || known == SYMBOL_DAMAGED ||
	    known == SYMBOL_NO_READER || known == SYMBOL_OTHER_FILE ||
	    known == SYMBOL_NO_FILE;
}

struct batch_of {
	size_t index[BATCH];
	struct symbol_place place[BATCH];
	struct symbol_words words[BATCH];
	size_t n;
};

static void
look_batch(struct callers *c, struct hashmap *of, struct batch_of *b)
{
	if (b->n > 0)
		symbols_look(c->symbols, b->place, b->n, b->words);
	for (size_t i = 0; i < b->n; i++) {
		c->failed += is_failure(b->words[i].known);
		take_lines(c, hashmap_item(of, b->index[i]), b->words[i].line,
		    b->words[i].n);
		symbol_words_fini(&b->words[i]);
	}
	b->n = 0;
}

static int
look_new(struct callers *c, const struct dump *d, struct hashmap *of,
    size_t from)
{
	struct batch_of *b = malloc(sizeof *b);

	if (b == NULL)
		return -ENOMEM;
	b->n = 0;
	for (size_t i = from; i < of->n; i++) {
		const struct named_caller *w = hashmap_item(of, i);

		b->index[b->n] = i;
		b->n += place_of(c, d, w->address, &b->place[b->n]);
		if (b->n == BATCH)
			look_batch(c, of, b);
	}
	look_batch(c, of, b);
	free(b);
	return 0;
}

/* The address of the call in the executable's tables. */
struct want {
	uint64_t address;
	struct named_caller *w;
};

static int
by_table_address(const void *a, const void *b)
{
	const struct want *p = a, *q = b;

	return p->address < q->address ? -1 : p->address > q->address;
}

struct wants {
	struct want *at;
	size_t n, cap, next;
	struct callers *c;
	char *function, *file;		/* of the previous instruction */
	uint32_t line;
	bool has_before;
};

static int
add_wants(struct wants *all, const struct dump *d, struct hashmap *of)
{
	for (size_t i = 0; i < of->n; i++) {
		struct named_caller *w = hashmap_item(of, i);
		const struct subject *s = all->c->subject;
		const struct dump_module *m = d->firmware ? NULL :
		    dump_module(d, w->address - 1);
		void *array = all->at;
		int e;

		if (w->function != NULL || (!d->firmware && (m == NULL ||
		    !is_program(s, m))))
			continue;
		e = base_grow(&array, &all->cap, all->n + 1, sizeof *all->at);
		if (e < 0)
			return e;
		all->at = array;
		all->at[all->n++] = (struct want){ code_address(
		    s->head.machine, w->address) - (m != NULL ? m->bias : 0) -
		    1, w };
	}
	return 0;
}

/* The call is the previous instruction, whose words were kept. */
static int
take_instruction(void *arg, uint64_t address, const char *function,
    const char *file, uint32_t line)
{
	struct wants *all = arg;
	bool is_new;

	for (; all->next < all->n && all->at[all->next].address < address;
	    all->next++) {
		struct named_caller *w = all->at[all->next].w;

		if (!all->has_before || w->function != NULL ||
		    all->function == NULL)
			continue;
		w->function = strdup(all->function);
		w->file = all->file != NULL ? strdup(all->file) : NULL;
		w->line = all->line;
		find_line(all->c, w);
	}
	is_new = function == NULL || all->function == NULL ||
	    strcmp(function, all->function) != 0;
	free(all->function);
	all->function = function != NULL ? strdup(function) : NULL;
	/* A line of an ignored file does not replace a better one. */
	if (is_new || file == NULL || all->file == NULL ||
	    !is_ignored(all->c, file)) {
		free(all->file);
		all->file = file != NULL ? strdup(file) : NULL;
		all->line = line;
	}
	all->has_before = true;
	return 0;
}

static int
disassemble(struct callers *c)
{
	struct wants all = { .c = c };
	char why[DEBUGDATA_WHY];
	int e = 0;

	for (size_t i = 0; e == 0 && i < c->subject->n; i++)
		e = add_wants(&all, &c->subject->dump[i], &c->of[i]);
	if (e == 0 && all.n > 0) {
		qsort(all.at, all.n, sizeof *all.at, by_table_address);
		e = objdump_read(c->prefix, c->subject->program,
		    take_instruction, &all, why);
		if (e == 0)
			take_instruction(&all, UINT64_MAX, NULL, NULL, 0);
		else
			complain("%s", why);
	}
	free(all.function);
	free(all.file);
	free(all.at);
	return e == -ENOMEM ? e : 0;
}

static struct hashmap *
map_of(const struct callers *c, const struct dump *d)
{
	return &c->of[d - c->subject->dump];
}

int
callers_put(struct callers *c, const struct dump *d, uint64_t address,
    const struct symbol_line *line, unsigned n)
{
	struct named_caller *w = hashmap_add(map_of(c, d), address);

	if (w == NULL)
		return -ENOMEM;
	if (w->function == NULL)
		take_lines(c, w, line, n);
	return 0;
}

int
callers_look(struct callers *c, const struct events *events)
{
	bool grown = false;
	size_t *from;
	int e = 0;

	if (c == NULL || c->subject->live)
		return 0;
	from = calloc(c->subject->n, sizeof *from);
	if (from == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->subject->n; i++)
		from[i] = c->of[i].n;
	for (size_t i = 0; e == 0 && i < events->n; i++) {
		const struct event *row = &events->row[i];

		for (unsigned k = 0; k < MDD_LEVELS; k++)
			if (row->at->stack[k] != 0 &&
			    hashmap_add(map_of(c, row->dump),
			    row->at->stack[k]) == NULL)
				e = -ENOMEM;
	}
	for (size_t i = 0; e == 0 && i < c->subject->n; i++) {
		grown |= c->of[i].n > from[i];
		e = look_new(c, &c->subject->dump[i], &c->of[i], from[i]);
	}
	free(from);
	if (c->failed > 0 && !c->told) {
		c->told = true;
		callers_report_unread(c->failed);
	}
	if (e == 0 && grown && c->prefix != NULL && c->subject->program != NULL)
		e = disassemble(c);
	return e;
}

const struct named_caller *
callers_get(const struct callers *c, const struct event *row, unsigned level)
{
	return c != NULL && row->at->stack[level] != 0 ?
	    hashmap_get(map_of(c, row->dump), row->at->stack[level]) : NULL;
}
