/*
 * fuzz_mddcore: any bytes as a core file.
 *
 * Claims: no more is copied than the file has; areas are sorted and apart; each
 * failure and each problem has words; what is written can be read.
 */
#include <sys/mman.h>

#include "../../src/mdd/take/take.h"
#include "fuzz.h"

static void
check_areas(const struct take_areas *a, size_t len)
{
	uint64_t end = 0, bytes = 0;

	for (size_t i = 0; i < a->n; i++) {
		claim(a->at[i].address >= end, "areas are apart");
		end = a->at[i].address + a->at[i].bytes;
		bytes += a->at[i].bytes;
	}
	/* Segments of a core may share bytes of it. */
	claim(bytes <= (uint64_t)len * (len / 32 + 1), "areas are in the file");
}

static void
write_and_read(struct take *t)
{
	struct take_about about = { .maker = "fuzz_mddcore" };
	struct dump d;
	char *bytes = NULL;
	size_t len;
	FILE *out = open_memstream(&bytes, &len);

	claim(out != NULL, "memory");
	claim(take_write(t, out, &about) == 0, "memory takes the file");
	fclose(out);
	claim(dump_read(&d, "fuzz", (const uint8_t *)bytes, len) == 0,
	    "what is written can be read");
	dump_fini(&d);
	free(bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct take t;
	char path[64];
	int r;

	if (fd < 0)
		return 0;
	claim(write(fd, p, len) == (ssize_t)len, "memory has room");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	r = take_open_core(&t, path);
	if (r == 0)
		r = take_find_root(&t);
	if (r == 0)
		r = take_copy(&t);
	if (r == 0) {
		check_areas(&t.tables, len);
		for (size_t i = 0; i < t.problems.n && i < TAKE_PROBLEMS; i++)
			claim(t.problems.text[i][0] != '\0',
			    "a problem has words");
		(void)take_history_next(&t);
		write_and_read(&t);
	} else {
		claim(t.why[0] != '\0', "a failure has words");
	}
	take_close(&t);
	close(fd);
	return 0;
}
