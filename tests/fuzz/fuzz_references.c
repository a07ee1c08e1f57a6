/*
 * fuzz_references: any bytes as a trace of references, and as a smaps file.
 *
 * Claims: all that is counted is of pages that are counted; lines are good or bad; a
 * line without an end counts nothing; mappings are whole pages, in order.
 */
#include <errno.h>
#include <sys/mman.h>

#include "../../src/refcnt/import.h"
#include "../../src/refcnt/refs.h"
#include "fuzz.h"

static struct refcnt_imported
import(const uint8_t *bytes, size_t len, struct refcnt *counted)
{
	struct refcnt_import how = { .all = true };
	struct refcnt_imported sums = { 0 };
	FILE *f = fmemopen((void *)(uintptr_t)bytes, len, "r");

	claim(f != NULL && refcnt_import_from(counted, f, &how, &sums) == 0,
	    "any text is read");
	fclose(f);
	return sums;
}

static uint64_t
count_all(const struct refcnt *counted)
{
	struct refcnt_page page[16];
	uint64_t at = 0, sum = 0;
	size_t n;

	while ((n = refcnt_read(counted, at, UINT64_MAX, REFCNT_WIDE, page,
	    16)) > 0) {
		for (size_t i = 0; i < n; i++)
			sum += page[i].reads + page[i].writes;
		at = page[n - 1].vaddr + REFCNT_PAGE;
	}
	return sum;
}

static void
trace(const uint8_t *bytes, size_t len)
{
	const uint8_t *end = memrchr(bytes, '\n', len);
	size_t whole = end == NULL ? 0 : (size_t)(end - bytes) + 1;
	struct refcnt *counted = NULL, *again = NULL;
	struct refcnt_imported sums, first;

	claim(refcnt_new(&counted, 2, REFCNT_STANDARD) == 0 &&
	    refcnt_new(&again, 2, REFCNT_STANDARD) == 0, "there is memory");
	sums = import(bytes, len, counted);
	claim(sums.bad <= sums.lines && (sums.bad == 0) == (sums.first_bad == 0),
	    "a line is good or bad");
	claim(sums.references == UINT64_MAX ||
	    count_all(counted) == sums.references, "what is counted is there");
	if (whole > 0 && whole < len) {
		first = import(bytes, whole, again);
		claim(first.references == sums.references &&
		    first.outside == sums.outside, "a cut line counts nothing");
	}
	refcnt_free(counted);
	refcnt_free(again);
}

static void
smaps(const uint8_t *bytes, size_t len)
{
	struct mappings all = { 0 };
	int fd = memfd_create("smaps", 0), err;

	claim(fd >= 0 && write(fd, bytes, len) == (ssize_t)len &&
	    lseek(fd, 0, SEEK_SET) == 0, "a file");
	err = mappings_read(fd, &all);
	claim(err == 0 || err == -EBADMSG, "any text is read");
	for (size_t i = 0; i < all.n; i++)
		claim(all.at[i].from < all.at[i].to &&
		    (all.at[i].from | all.at[i].to) % REFCNT_PAGE == 0 &&
		    (i == 0 || all.at[i - 1].to <= all.at[i].from) &&
		    all.at[i].advice <= RING_SEQUENTIAL,
		    "mappings are whole pages, in order");
	free(all.at);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (len == 0)
		return 0;
	trace(bytes, len);
	smaps(bytes, len);
	return 0;
}
