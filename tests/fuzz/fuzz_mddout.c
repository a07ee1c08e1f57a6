/*
 * fuzz_mddout: any bytes as an mddout file.  The first byte says which checksums
 * are made right: then the tables are what is hostile.
 *
 * Claims: no more records than the file has bytes for; tables are in their
 * order; each problem is kept or counted; history, difference and formats take
 * what was read.
 */
#include "../../src/pagek/debugdata/debugdata.h"
#include "fuzz.h"

#define RECORD_LEAST 16

static uint32_t
crc_of(const uint8_t *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static void
seal(uint8_t *p, size_t len)
{
	for (size_t at = 16; at + 16 <= len;) {
		uint64_t n = base_get_le(p + at + 8, 8);

		if (n > len - at - 16)
			return;
		base_put_le(p + at + 4, crc_of(p + at + 16, (size_t)n), 4);
		at += 16 + (size_t)n;
	}
}

static void
print(const struct dump *d, const struct events *e)
{
	static const struct format_style style = { .ms = true };
	char text[FORMAT_STANDARD], why[DEBUGDATA_WHY];
	FILE *out = fopen("/dev/null", "w");
	struct format *f;

	claim(out != NULL, "/dev/null");
	format_standard(text, d, true, true);
	claim(format_new(&f, text, why) == 0, "the usual format is one");
	for (size_t i = 0; i < e->n && i < 1000; i++)
		format_print(f, &e->row[i], NULL, &style, out);
	format_free(f);
	fclose(out);
}

static void
use(const struct dump *d, size_t len)
{
	struct events e = { .n = 0 }, added = { .n = 0 }, freed = { .n = 0 };
	struct dump_totals t;
	bool complete;

	claim(d->nrecords <= len / RECORD_LEAST, "records have bytes");
	claim(d->npast <= len / RECORD_LEAST, "past records have bytes");
	claim(d->nthreads <= len, "threads have bytes");
	for (size_t i = 1; i < d->nrecords; i++)
		claim(d->record[i - 1].address <= d->record[i].address,
		    "records are in their order");
	for (size_t i = 0; i < d->nproblems && i < DUMP_PROBLEMS; i++)
		claim(d->problem[i][0] != '\0', "a problem has words");
	dump_sum(d, &t);
	claim(t.blocks == d->nrecords, "totals have all records");
	claim(events_of_history(&e, d, 1, &complete) == 0, "memory");
	for (size_t i = 1; i < e.n; i++)
		claim(e.row[i - 1].position < e.row[i].position ||
		    (e.row[i - 1].position == e.row[i].position &&
			e.row[i - 1].block->address < e.row[i].block->address),
		    "events are in their order");
	print(d, &e);
	claim(events_of_diff(&added, &freed, d, d) == 0, "memory");
	claim(added.n == 0 && freed.n == 0, "a dump is the same as itself");
	events_fini(&e);
	events_fini(&added);
	events_fini(&freed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct dump d;
	uint8_t *copy;

	if (len == 0 || (copy = malloc(len)) == NULL)
		return 0;
	memcpy(copy, p + 1, len - 1);
	if (p[0] & 1)
		seal(copy, len - 1);
	if (dump_read(&d, "fuzz", copy, len - 1) == 0)
		use(&d, len);
	dump_fini(&d);
	free(copy);
	return 0;
}
