/*
 * What the fuzz targets share: a claim that ends the program, bytes taken one
 * after the other, and with REPLAY a main() that takes files as arguments.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static inline void
claim(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* --- bytes as numbers; beyond the end they are all 0 ---------------------- */

struct input {
	const uint8_t *p;
	size_t left;
};

static inline uint8_t
take8(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->p++;
}

static inline uint16_t
take16(struct input *in)
{
	unsigned low = take8(in);

	return (uint16_t)(low | (unsigned)take8(in) << 8);
}

static inline uint64_t
take64(struct input *in)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < 64; i += 8)
		n |= (uint64_t)take8(in) << i;
	return n;
}

#ifdef REPLAY
#define FUZZ_HANG_S 120	/* no figure: what takes so long does not end */

static void
replay(const char *path)
{
	static uint8_t buf[1 << 20];
	uint8_t *exact;
	size_t len;
	FILE *f = fopen(path, "rb");

	claim(f != NULL, path);
	len = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	/* A sanitizer sees a byte read beyond it only at the end of a block. */
	exact = malloc(len > 0 ? len : 1);
	claim(exact != NULL, path);
	memcpy(exact, buf, len);
	alarm(FUZZ_HANG_S);
	LLVMFuzzerTestOneInput(exact, len);
	alarm(0);
	free(exact);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%s: %d files\n", argv[0], argc - 1);
	return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif

#endif
