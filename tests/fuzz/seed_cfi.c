/*
 * seed_cfi: writes the stored corpus of fuzz_cfi from the samples of the tests:
 * good- have a rule, refused- have none.  The corpus has real- tables too, cut
 * out of a program, a library and a vdso.
 *
 *	make corpus-seed
 */
#include "../cfi_samples.h"

static void
store_word(FILE *f, int32_t word)
{
	fwrite(&word, sizeof(word), 1, f);
}

static void
store(const char *folder, const char *kind, const struct cfi_sample *s)
{
	struct sample_table t;
	char path[512];
	FILE *f;

	sample_build(s, 0, &t);
	snprintf(path, sizeof(path), "%s/%s-%s", folder, kind, s->name);
	f = fopen(path, "wb");
	if (f == NULL) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	store_word(f, 0);
	store_word(f, SAMPLE_CODE + s->at);
	if (fwrite(t.bytes, 1, t.len, f) != t.len || fclose(f) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

int
main(int argc, char **argv)
{
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: seed_cfi FOLDER\n");
		return EXIT_FAILURE;
	}
	for (i = 0; i < CFI_GOOD; i++)
		store(argv[1], "good", &cfi_good[i]);
	for (i = 0; i < CFI_REFUSED; i++)
		store(argv[1], "refused", &cfi_refused[i]);
	return EXIT_SUCCESS;
}
