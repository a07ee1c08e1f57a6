/*
 * fuzz_history: any bytes as the file of what was typed before, and what is
 * typed now.  A byte says how many of those behind it are a line, and of which
 * prompt; the rest is the file.
 *
 * Claims: what is brought back is text that can have been typed, no line is
 * there twice, and never are there too many; each prompt gets its own lines; and
 * what is saved comes back as it was.
 */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "../../src/base/base.h"
#include "../../src/pagek/app/typed_history.h"
#include "fuzz.h"

#define TYPED_MOST 8

static const char *const kinds[] = { "command", "find", "filter", "com" };
static char folder[64], path[PATH_MAX];

static void
remove_folder(void)
{
	char state[80];

	unlink(path);
	snprintf(state, sizeof state, "%s/pagek", folder);
	rmdir(state);
	rmdir(folder);
}

/* In memory where there is some: a file is written twice for each input. */
static void
make_folder(void)
{
	struct stat st;

	if (folder[0] != '\0')
		return;
	snprintf(folder, sizeof folder, "%s/fuzz_history.XXXXXX",
	    stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
	claim(mkdtemp(folder) != NULL, "there is a folder");
	setenv("XDG_STATE_HOME", folder, 1);
	claim(history_path(path) == 0 && base_folders_above(path) == 0,
	    "there is a place for the file");
	atexit(remove_folder);
}

static void
write_file(const uint8_t *p, size_t len)
{
	FILE *f = fopen(path, "wb");

	claim(f != NULL && fwrite(p, 1, len, f) == len && fclose(f) == 0,
	    "the file can be written");
}

static void
look_at(const struct history *h)
{
	const char *text;
	size_t at;

	claim(h->n <= HISTORY_MAX, "lines are counted");
	for (size_t i = 0; i < h->n; i++) {
		text = h->line[i].text;
		claim(strlen(text) <= BASE_LINE_MAX, "a line has an end");
		claim(text[0] != ' ' && strchr(text, ' ') != NULL,
		    "a line has a kind");
		for (size_t k = 0; text[k] != '\0'; k++)
			claim((unsigned char)text[k] >= ' ' || text[k] == '\t',
			    "no control character is in it");
		for (size_t k = 0; k < i; k++)
			claim(strcmp(text, h->line[k].text) != 0,
			    "no line is there twice");
	}
	for (size_t k = 0; k < BASE_NELEM(kinds); k++)
		for (at = h->n; (text = history_find(h, kinds[k], "s",
		    true, &at)) != NULL;) {
			claim(at < h->n && text[0] == 's', "it begins so");
			claim(text == h->line[at].text + strlen(kinds[k]) + 1 &&
			    strncmp(h->line[at].text, kinds[k],
			    strlen(kinds[k])) == 0,
			    "each prompt gets its own lines");
		}
}

static void
type(struct history *h, struct input *in)
{
	char text[256];
	unsigned what = take8(in);
	size_t len = what / BASE_NELEM(kinds), i;

	for (i = 0; i < len; i++)
		text[i] = (char)(' ' + take8(in) % 95);
	text[len] = '\0';
	history_add(h, kinds[what % BASE_NELEM(kinds)], text);
	if (text[strspn(text, " ")] != '\0')
		claim(h->n > 0 && strcmp(strchr(h->line[h->n - 1].text, ' ') +
		    1, text) == 0, "what was typed is the last");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct input in = { p, len };
	struct history h = { 0 }, again = { 0 };
	unsigned typed = take8(&in) % (TYPED_MOST + 1), i;
	struct history fresh = { 0 };

	make_folder();
	for (i = 0; i < typed; i++)
		type(&fresh, &in);
	look_at(&fresh);
	write_file(in.p, in.left);
	claim(history_load(&h) == 0, "memory is all that can be lacking");
	look_at(&h);
	claim(history_save(&fresh) == 0, "it can be saved");
	claim(history_load(&again) == 0, "and read");
	look_at(&again);
	claim(again.n >= fresh.n && again.n <= h.n + fresh.n,
	    "there are the lines of both");
	for (i = 0; i < fresh.n; i++)
		claim(strcmp(again.line[again.n - fresh.n + i].text,
		    fresh.line[i].text) == 0, "what was typed comes last");
	history_fini(&fresh);
	history_fini(&h);
	history_fini(&again);
	return 0;
}
