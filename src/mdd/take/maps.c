#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "take.h"

int
take_maps_add(struct take_maps *maps, const struct take_mapping *m,
    const char *path)
{
	void *array = maps->at;
	int r = base_grow(&array, &maps->cap, maps->n + 1, sizeof *maps->at);
	char *copy;

	if (r < 0)
		return r;
	maps->at = array;
	copy = strdup(path);
	if (copy == NULL)
		return -ENOMEM;
	maps->at[maps->n] = *m;
	maps->at[maps->n++].path = copy;
	return 0;
}

static int
by_address(const void *a, const void *b)
{
	const struct take_mapping *p = a, *q = b;

	return p->lo < q->lo ? -1 : p->lo > q->lo;
}

void
take_maps_sort(struct take_maps *maps)
{
	if (maps->n > 0)
		qsort(maps->at, maps->n, sizeof *maps->at, by_address);
}

void
take_maps_fini(struct take_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free(maps->at[i].path);
	free(maps->at);
	*maps = (struct take_maps){ 0 };
}

int
take_maps_parse(struct take_maps *maps, const char *text)
{
	char *copy = strdup(text), *rest = copy;
	struct maps_line l;
	int r = copy == NULL ? -ENOMEM : 0;

	while (r == 0 && *rest != '\0')
		if (maps_parse_first(&rest, &l) == 0)
			r = take_maps_add(maps, &(struct take_mapping){
				.lo = l.start, .hi = l.end,
				.offset = l.offset, .readable = l.readable,
				.writable = l.writable,
				.executable = l.executable }, l.path);
	free(copy);
	take_maps_sort(maps);
	return r;
}

/* Writes a newline as the kernel does. */
static void
put_path(FILE *out, const char *path)
{
	for (; *path != '\0'; path++)
		if (*path == '\n')
			fputs("\\012", out);
		else
			putc(*path, out);
}

char *
take_maps_text(const struct take_maps *maps)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < maps->n; i++) {
		const struct take_mapping *m = &maps->at[i];

		fprintf(out, "%08" PRIx64 "-%08" PRIx64 " %c%c%cp %08" PRIx64
		    " 00:00 0 ", m->lo, m->hi, m->readable ? 'r' : '-',
		    m->writable ? 'w' : '-', m->executable ? 'x' : '-',
		    m->offset);
		put_path(out, m->path);
		putc('\n', out);
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

const struct take_mapping *
take_mapping_at(const struct take_maps *maps, uint64_t address)
{
	size_t i;

	BASE_FIND_FIRST(i, maps->n, maps->at[i].lo > address);
	return i > 0 && address < maps->at[i - 1].hi ? &maps->at[i - 1] : NULL;
}
