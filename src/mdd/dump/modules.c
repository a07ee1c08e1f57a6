#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "layout.h"
#include "tables.h"

#define HEAD_BACK 64		/* mappings from a file's start to its code */
#define HEAPS_MAX 4096
#define HEAP_NEAR (UINT64_C(2) << 30)	/* the break begins no further behind the program */
#define ARENA_ALIGNED (UINT64_C(64) << 20)	/* of glibc's arenas for threads */

/* Paths are borrowed from the text. */
struct mappings {
	struct maps_line *at;
	size_t n, cap;
};

static int
parse_mappings(struct dump *d, char *text, struct mappings *out)
{
	struct maps_line m;
	unsigned no = 0;
	void *array;
	int e;

	while (text != NULL && *text != '\0') {
		no++;
		if (maps_parse_first(&text, &m) < 0) {
			dump_problem(d, "line %u of the mappings cannot be parsed", no);
			continue;
		}
		array = out->at;
		e = base_grow(&array, &out->cap, out->n + 1, sizeof m);
		if (e < 0)
			return e;
		out->at = array;
		out->at[out->n++] = m;
	}
	return 0;
}

static int
by_address(const void *a, const void *b)
{
	const struct dump_module *p = a, *q = b;

	return p->lo < q->lo ? -1 : p->lo > q->lo;
}

static const struct maps_line *
head_of(const struct mappings *maps, size_t i)
{
	const char *path = maps->at[i].path;

	for (size_t k = i + 1; k-- > 0 && i - k < HEAD_BACK &&
	    strcmp(maps->at[k].path, path) == 0;)
		if (maps->at[k].offset == 0)
			return &maps->at[k];
	return NULL;
}

static int
add_module(struct dump *d, struct memory *m, const struct mappings *maps,
    size_t i)
{
	const struct maps_line *line = &maps->at[i];
	const struct maps_line *head = head_of(maps, i);
	struct dump_module *out = &d->module[d->nmodules];
	uint8_t bytes[LAYOUT_HEAD_BYTES];
	struct elf_head elf;

	*out = (struct dump_module){ .lo = line->start, .hi = line->end,
		.offset = line->offset, .inode = line->inode,
		.bias = line->start - line->offset,
		.path = strdup(line->path) };
	if (out->path == NULL)
		return -ENOMEM;
	d->nmodules++;
	if (head == NULL || elf_head_parse(&elf, bytes, memory_read(m,
	    head->start, bytes, sizeof bytes)) < 0)
		return 0;
	out->bias = head->start - elf.base;
	out->machine = elf.machine;
	out->build_id_len = elf.build_id_len;
	memcpy(out->build_id, elf.build_id, elf.build_id_len);
	return 0;
}

static int
take_modules(struct dump *d, struct memory *m, const struct mappings *maps)
{
	int e = 0;

	d->module = calloc(SYMBOL_MODULES_MAX, sizeof *d->module);
	if (d->module == NULL)
		return -ENOMEM;
	for (size_t i = 0; e == 0 && i < maps->n &&
	    d->nmodules < SYMBOL_MODULES_MAX; i++)
		if (maps->at[i].executable && maps->at[i].path[0] != '\0')
			e = add_module(d, m, maps, i);
	qsort(d->module, d->nmodules, sizeof *d->module, by_address);
	return e;
}

/*
 * Firmware is one module without addresses; a piece of memory may be its note.
 */
static int
take_firmware(struct dump *d, const struct memory *m)
{
	struct elf_head elf = { .build_id_len = 0 };

	for (size_t i = 0; elf.build_id_len == 0 && i < m->n; i++)
		elf_head_of_notes(&elf, m->piece[i].bytes, m->piece[i].len,
		    m->big_endian);
	if (elf.build_id_len == 0)
		return 0;
	d->module[0] = (struct dump_module){
		.path = strdup(d->info.program),
		.build_id_len = elf.build_id_len };
	memcpy(d->module[0].build_id, elf.build_id, elf.build_id_len);
	if (d->module[0].path == NULL)
		return -ENOMEM;
	d->nmodules = 1;
	return 0;
}

/* Records are in the order of addresses. */
static bool
has_record(const struct dump *d, const struct maps_line *line)
{
	size_t i;

	BASE_FIND_FIRST(i, d->nrecords, d->record[i].address >= line->start);
	return i < d->nrecords && d->record[i].address < line->end;
}

/* "[heap]"; and arenas of threads, which begin at a multiple of their size. */
static bool
is_heap(const struct dump *d, const struct maps_line *m)
{
	if (strcmp(m->path, "[heap]") == 0)
		return true;
	return m->readable && m->writable && m->start % ARENA_ALIGNED == 0 &&
	    m->inode == 0 && d->source.word_bytes == 8 &&
	    (m->path[0] == '\0' || strncmp(m->path, "[anon", 5) == 0) &&
	    has_record(d, m);
}

/* True for a core: it lacks the kernel's own names, such as "[stack]". */
static bool
is_unnamed(const struct mappings *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->at[i].path[0] == '[')
			return false;
	return true;
}

/* The end of the program's last mapping; else of the first file's; 0: none. */
static uint64_t
program_end(const struct dump *d, const struct mappings *maps)
{
	const char *path = d->info.program;
	uint64_t end = 0;

	for (size_t i = 0; i < maps->n; i++) {
		const struct maps_line *l = &maps->at[i];

		if (path[0] == '\0' && l->path[0] == '/')
			path = l->path;
		if (l->path[0] != '\0' && strcmp(l->path, path) == 0)
			end = l->end;
	}
	return end;
}

static bool
is_anonymous(const struct maps_line *m)
{
	return m->readable && m->writable && m->path[0] == '\0';
}

/*
 * Names a heap without a name: the first anonymous mapping behind the program that
 * has a block, and those that adjoin it.
 */
static void
name_heap(const struct dump *d, struct mappings *maps)
{
	static char heap[] = "[heap]";
	uint64_t end = is_unnamed(maps) ? program_end(d, maps) : 0;
	size_t i = 0;

	while (i < maps->n && (maps->at[i].start < end ||
	    !is_anonymous(&maps->at[i]) || !has_record(d, &maps->at[i])))
		i++;
	if (end == 0 || i == maps->n ||
	    maps->at[i].start - end > HEAP_NEAR)
		return;
	do {
		end = maps->at[i].end;
		maps->at[i++].path = heap;
	} while (i < maps->n && maps->at[i].start == end &&
	    is_anonymous(&maps->at[i]));
}

/* For targets that do not know their heap. */
static int
take_heap(struct dump *d, struct mappings *maps)
{
	size_t i;

	if (d->nheap > 0)
		return 0;
	d->heap = calloc(HEAPS_MAX, sizeof *d->heap);
	if (d->heap == NULL)
		return -ENOMEM;
	name_heap(d, maps);
	for (i = 0; i < maps->n && d->nheap < HEAPS_MAX; i++)
		if (is_heap(d, &maps->at[i]))
			d->heap[d->nheap++] = (struct dump_range){
				maps->at[i].start, maps->at[i].end };
	return 0;
}

int
modules_read(struct dump *d, struct memory *m, char *text)
{
	struct mappings maps = { .n = 0 };
	int e;

	e = parse_mappings(d, text, &maps);
	if (e == 0)
		e = take_modules(d, m, &maps);
	if (e == 0 && d->firmware)
		e = take_firmware(d, m);
	if (e == 0)
		e = take_heap(d, &maps);
	free(maps.at);
	return e;
}
