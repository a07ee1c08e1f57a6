#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/base.h"
#include "take.h"

#define CHUNK_BYTES ((size_t)1 << 20)	/* of memory in a chunk, at most */

static void
put_line_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		putc(*text == '\n' ? '?' : *text, out);
}

/* Heap; NULL: no memory. */
static char *
info_text(const struct take *t, const struct take_about *about)
{
	time_t now = time(NULL);
	char *text = NULL, stamp[32];
	struct tm tm;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ",
	    gmtime_r(&now, &tm));
	fprintf(out, "maker %s\n", about->maker);
	if (t->pid != 0)
		fprintf(out, "pid %" PRIu32 "\n", t->pid);
	if (t->program[0] != '\0') {
		fputs("program ", out);
		put_line_text(out, t->program);
		putc('\n', out);
	}
	fprintf(out, "time %s\nreset %s\nfrom %s\n", stamp,
	    about->reset ? "yes" : "no", t->process != NULL ? "live" : "core");
	if (t->moved)
		fputs("moved yes\n", out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void
put_areas(struct dump_writer *w, const struct take_areas *a)
{
	for (size_t i = 0; i < a->n; i++)
		for (uint64_t done = 0, n; done < a->at[i].bytes; done += n) {
			n = a->at[i].bytes - done < CHUNK_BYTES ?
			    a->at[i].bytes - done : CHUNK_BYTES;
			dump_write_memory(w, a->at[i].address + done,
			    a->copy + a->at[i].at + done, (size_t)n);
		}
}

int
take_write(const struct take *t, FILE *out, const struct take_about *about)
{
	char *info = info_text(t, about);
	struct dump_writer w;

	if (info == NULL)
		return -ENOMEM;
	dump_write_begin(&w, out);
	dump_write_text(&w, "INFO", info);
	if (t->maps_text != NULL && t->maps_text[0] != '\0')
		dump_write_text(&w, "MAPS", t->maps_text);
	dump_write_root(&w, t->root.address);
	put_areas(&w, &t->heads);
	put_areas(&w, &t->tables);
	free(info);
	return dump_write_end(&w);
}
