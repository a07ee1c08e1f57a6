/*
 * seed_wire: writes the stored corpus of fuzz_wire from the samples of the
 * tests.  One file for each: good- and edge- decode, wrong- and bomb- are
 * refused, unknown- are of a type to come, frames- are for the splitter and
 * packed- for what takes SITED and FRAMED apart.
 *
 *	make corpus-seed
 *
 * A good- file that changes says that the format has changed.  Files that are
 * not written here, such as good-ordinary-05, are messages as they were sent
 * and mistakes as they were found; they stay.
 */
#include <stdlib.h>

#include "../wire_samples.h"

static const char *folder;

static void
store(const char *kind, const char *name, const uint8_t *p, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s-%s", folder, kind, name);
	f = fopen(path, "wb");
	if (f == NULL || fwrite(p, 1, len, f) != len || fclose(f) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void
store_message(const char *kind, const struct wire_msg *m)
{
	uint8_t buf[2048];
	char name[32];
	size_t len;

	if (wire_encode(m, buf, sizeof buf, &len) != 0)
		abort();
	snprintf(name, sizeof name, "%s-%02u", kind, (unsigned)m->type);
	store("good", name, buf + 4, len - 4);
}

/* One frame of each type behind the other, for the splitter. */
static void
store_frames(void)
{
	uint8_t buf[16384];
	struct wire_msg m;
	size_t i, n, len = 0;

	for (i = 0; i < SAMPLE_TYPES; i++, len += n) {
		sample_get_some(sample_types[i], &m);
		if (wire_encode(&m, buf + len, sizeof buf - len, &n) != 0)
			abort();
	}
	store("frames", "some", buf, len);
}

/* What a length can say: too much, nothing, and what never comes. */
static void
store_lengths(void)
{
	static const struct {
		const char *name;
		uint8_t bytes[12];
	} lengths[] = {
		{ "length-4-gib", { 255, 255, 255, 255, 0, 0, 0, 0 } },
		{ "length-2-gib", { 128, 0, 0, 0, 0xa0, 0, 0, 0 } },
		{ "length-1-too-many", { 0, 0, 16, 1, 0xa0, 0, 0, 0 } },
		{ "length-of-a-reply", { 0, 1, 0, 0, 0xa0, 0, 0, 0 } },
		{ "length-that-never-comes", { 0, 0, 16, 0, 0xa0, 0, 0, 0 } },
		{ "lengths-of-nothing", { 0 } },
		{ "length-good-then-huge", { 0, 0, 0, 1, 0xa0, 255, 255, 255,
		    255, 0, 0, 0 } },
		{ "length-cut-short", { 0, 0, 0, 2, 0xa1, 0, 0, 0, 0, 0, 0 } },
	};
	size_t i;

	for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		store("frames", lengths[i].name, lengths[i].bytes,
		    sizeof lengths[i].bytes);
}

static void
store_raws(const char *kind, const struct sample_raw *raws, size_t n)
{
	uint8_t buf[8192];
	size_t i;

	for (i = 0; i < n; i++)
		store(kind, raws[i].name, buf,
		    sample_raw_get(&raws[i], buf));
}

#define STORE_ALL(kind, table) \
	store_raws(kind, table, sizeof table / sizeof table[0])

int
main(int argc, char **argv)
{
	struct wire_msg m;
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: seed_wire FOLDER\n");
		return EXIT_FAILURE;
	}
	folder = argv[1];
	for (i = 0; i < SAMPLE_TYPES; i++) {
		sample_get_some(sample_types[i], &m);
		store_message("some", &m);
		store_message("zero", &(struct wire_msg) {
			.type = sample_types[i] });
	}
	store_frames();
	store_lengths();
	sample_get_some(WIRE_SITED, &m);
	store("packed", "some-stacks", m.sited.sites.p, m.sited.sites.len);
	sample_get_some(WIRE_FRAMED, &m);
	store("packed", "some-words", m.framed.words.p, m.framed.words.len);
	store("packed", "some-types", m.framed.types.p, m.framed.types.len);
	STORE_ALL("bomb", sample_bombs);
	STORE_ALL("edge", sample_edges);
	STORE_ALL("wrong", sample_wrong);
	STORE_ALL("unknown", sample_unknown);
	return EXIT_SUCCESS;
}
