/*
 * fuzz_usage: any bytes as counts by type, as dump_usage_xmemory() prints them.
 *
 * Claims: each line is a row, or reported with its number and a sentence; and what is
 * written of the rows is read as the same rows, without an error.
 */
#include <errno.h>

#include "../../src/usage/dump_rows.h"
#include "fuzz.h"

static uint64_t last_line;

static void
hear(void *arg, uint64_t line, const char *why)
{
	uint64_t *heard = arg;

	claim(line > last_line, "lines are reported in their order, each once");
	claim(why[0] != '\0' && strlen(why) < USAGE_DUMP_WHY,
	    "there is a sentence");
	last_line = line;
	++*heard;
}

static uint64_t
read_rows(struct usage_dump *d, const void *bytes, size_t len)
{
	FILE *fp = fmemopen((void *)(uintptr_t)bytes, len, "r");
	uint64_t heard = 0;

	claim(fp != NULL, "there is memory");
	last_line = 0;
	claim(usage_dump_read(d, fp, hear, &heard) == 0, "any bytes are read");
	fclose(fp);
	claim(heard == d->bad, "what is reported is counted");
	return heard;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct usage_dump d = { 0 }, again = { 0 };
	size_t lines = 0, written;
	char *text = NULL;
	FILE *fp;

	if (len == 0)
		return 0;
	for (size_t i = 0; i < len; i++)
		lines += bytes[i] == '\n' || i + 1 == len;
	read_rows(&d, bytes, len);
	/* A last line without its end is a row, and reported. */
	claim(d.n + d.bad <= lines + 1, "a line is one row");
	fp = open_memstream(&text, &written);
	claim(fp != NULL, "there is memory");
	for (size_t i = 0; i < d.n; i++)
		usage_dump_put(fp, &d.row[i]);
	fclose(fp);
	if (written > 0)
		claim(read_rows(&again, text, written) == 0 && again.n == d.n,
		    "what is written is read");
	for (size_t i = 0; i < again.n; i++)
		claim(strcmp(d.row[i].name, again.row[i].name) == 0 &&
		    d.row[i].num == again.row[i].num &&
		    d.row[i].allocated == again.row[i].allocated &&
		    d.row[i].freed == again.row[i].freed &&
		    d.row[i].max == again.row[i].max, "rows are the same");
	free(text);
	usage_dump_fini(&again);
	usage_dump_fini(&d);
	return 0;
}
