/* Memory of the kernel itself, by the place that asked for it and by slab cache. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "stress.h"

#define FIRST_BYTES ((size_t)64 << 10)
/* A kernel has some 10,000 places. */
#define MOST_BYTES ((size_t)64 << 20)

/* Reads the whole of a file that has no size; *text is the caller's. */
static int
read_whole(const char *root, const char *name, char **text)
{
	size_t cap = 0, len = 0;
	char *buf = NULL;
	ssize_t n = 1;
	int fd = stress_open_file(root, name), err = 0;

	if (fd < 0)
		return fd;
	while (err == 0 && n != 0) {
		if (cap - len < 2) {
			err = len >= MOST_BYTES ? -EFBIG : base_grow(
			    (void **)&buf, &cap, cap + FIRST_BYTES, 1);
			if (err < 0)
				break;
		}
		n = read(fd, buf + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		else
			len += (size_t)n;
	}
	close(fd);
	if (err < 0) {
		free(buf);
		return err;
	}
	buf[len] = '\0';
	*text = buf;
	return 0;
}

static int
fail(int err, char why[STRESS_WHY], const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int
fail(int err, char why[STRESS_WHY], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, STRESS_WHY, fmt, ap);
	va_end(ap);
	return err;
}

static int
fail_to_read(int err, char why[STRESS_WHY], const char *name)
{
	return fail(err, why, "cannot read /%s: %s%s", name, strerror(-err),
	    err == -EACCES || err == -EPERM ? " (only root can)" : "");
}

/* The next word of a line; NULL at its end. */
static char *
next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t"), *end;

	if (*word == '\0')
		return NULL;
	end = word + strcspn(word, " \t");
	*rest = end + (*end != '\0');
	*end = '\0';
	return word;
}

static bool
take_unsigned(char **rest, uint64_t *n)
{
	const char *word = next_word(rest);

	return word != NULL && base_parse_count(word, UINT64_MAX, n) == 0;
}

/* --- call sites ------------------------------------------------------------------------ */

/* The kernel sums over processors, so a site's bytes may be below 0 for a moment. */
static bool
take_bytes(char **rest, int64_t *out)
{
	const char *word = next_word(rest);
	bool below = word != NULL && word[0] == '-';
	uint64_t n;

	if (word == NULL || base_parse_count(word + below, INT64_MAX, &n) < 0)
		return false;
	*out = below ? -(int64_t)n : (int64_t)n;
	return true;
}

/* "BYTES CALLS FILE:LINE [MODULE] func:NAME"; words of later versions follow. */
static bool
read_site(char *line, struct stress_site *out)
{
	static const char func[] = "func:", inexact[] = "accurate:no";
	struct stress_site s = { .accurate = true };
	char *word, *colon;

	if (!take_bytes(&line, &s.bytes) || !take_unsigned(&line, &s.calls))
		return false;
	word = next_word(&line);
	colon = word != NULL ? strrchr(word, ':') : NULL;
	if (colon == NULL || base_parse_count(colon + 1, UINT32_MAX,
	    &s.line) < 0)
		return false;
	*colon = '\0';
	s.file = word;
	while ((word = next_word(&line)) != NULL) {
		size_t len = strlen(word);

		if (word[0] == '[' && word[len - 1] == ']') {
			word[len - 1] = '\0';
			s.module = word + 1;
		} else if (strncmp(word, func, sizeof func - 1) == 0) {
			s.function = word + sizeof func - 1;
		} else if (strcmp(word, inexact) == 0) {
			s.accurate = false;
		}
	}
	if (s.function == NULL)
		return false;
	*out = s;
	return true;
}

static int
add_site(struct stress_sites *all, char *line)
{
	static const char head[] = "allocinfo - version: ";
	int err;

	if (strncmp(line, head, sizeof head - 1) == 0) {
		all->version = line + sizeof head - 1;
		return 0;
	}
	if (line[0] == '#' || line[0] == '\0')
		return 0;
	err = base_grow((void **)&all->site, &all->cap, all->n + 1,
	    sizeof all->site[0]);
	if (err < 0)
		return err;
	if (read_site(line, &all->site[all->n]))
		all->n++;
	else
		all->bad++;
	return 0;
}

/* Reading it would set the six counts to zero. */
static bool
is_six_counts(const char *root)
{
	static const char *const of_ours[] = { "sys/module/heapstress/parameters/name",
	    "sys/module/heapstress/parameters/missed" };
	int fd = stress_open_file(root, "proc/heapstress");

	if (fd >= 0 || fd == -EACCES) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (size_t i = 0; i < BASE_NELEM(of_ours); i++) {
		fd = stress_open_file(root, of_ours[i]);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || fd == -EACCES)
			return true;
	}
	return false;
}

int
stress_read_sites(struct stress_sites *out, const char *root,
    char why[STRESS_WHY])
{
	static const char name[] = "proc/allocinfo";
	struct stress_sites all = { .version = NULL };
	uint64_t six[STRESS_LEVELS];
	char *line, *rest;
	int err;

	if (is_six_counts(root))
		return fail(-EEXIST, why, "/%s has the six counts of "
		    "heapstress(4), and reading it would reset them", name);
	err = read_whole(root, name, &all.text);
	if (err == -ENOENT)
		return fail(err, why, "this kernel has no /%s: it needs "
		    "CONFIG_MEM_ALLOC_PROFILING, of Linux 6.10 or newer, and the "
		    "boot parameter sysctl.vm.mem_profiling=1", name);
	if (err < 0)
		return fail_to_read(err, why, name);
	if (stress_read_six(all.text, strlen(all.text), six) == STRESS_SIX) {
		free(all.text);
		return fail(-EEXIST, why, "/%s has the six counts of "
		    "heapstress(4), which were reset by this reading", name);
	}
	for (rest = all.text; err == 0 && (line = strsep(&rest, "\n")) != NULL;)
		err = add_site(&all, line);
	if (err == 0 && all.n == 0)
		err = fail(-EBADMSG, why, "/%s has no call sites", name);
	else if (err < 0)
		fail_to_read(err, why, name);
	if (err < 0) {
		stress_free_sites(&all);
		return err;
	}
	*out = all;
	return 0;
}

void
stress_free_sites(struct stress_sites *s)
{
	free(s->site);
	free(s->text);
}

/* --- slab caches -------------------------------------------------------------------------- */

/*
 * "NAME ACTIVE ALL SIZE PER_SLAB PAGES : tunables ... : slabdata ACTIVE SLABS SHARED"
 */
static bool
read_slab(char *line, uint64_t page, struct stress_slab *out)
{
	static const char data[] = ": slabdata ";
	char *tail = strstr(line, data);
	struct stress_slab s = { .name = NULL };
	uint64_t per_slab, pages, active;

	if (tail == NULL)
		return false;
	*tail = '\0';
	tail += sizeof data - 1;
	s.name = next_word(&line);
	if (s.name == NULL || !take_unsigned(&line, &s.active) ||
	    !take_unsigned(&line, &s.objects) ||
	    !take_unsigned(&line, &s.size) ||
	    !take_unsigned(&line, &per_slab) || !take_unsigned(&line, &pages) ||
	    !take_unsigned(&tail, &active) || !take_unsigned(&tail, &s.slabs))
		return false;
	if (__builtin_mul_overflow(pages, page, &s.bytes) ||
	    __builtin_mul_overflow(s.bytes, s.slabs, &s.bytes) ||
	    __builtin_mul_overflow(s.active, s.size, &s.used))
		return false;
	*out = s;
	return true;
}

static int
add_slab(struct stress_slabs *all, char *line, uint64_t page)
{
	int err;

	if (line[0] == '#' || line[0] == '\0')
		return 0;
	err = base_grow((void **)&all->slab, &all->cap, all->n + 1,
	    sizeof all->slab[0]);
	if (err < 0)
		return err;
	if (read_slab(line, page, &all->slab[all->n]))
		all->n++;
	else
		all->bad++;
	return 0;
}

int
stress_read_slabs(struct stress_slabs *out, const char *root,
    char why[STRESS_WHY])
{
	static const char name[] = "proc/slabinfo", head[] = "slabinfo - version: 2.";
	struct stress_slabs all = { .slab = NULL };
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char *line, *rest;
	int err = read_whole(root, name, &all.text);

	if (err < 0)
		return fail_to_read(err, why, name);
	rest = all.text;
	line = strsep(&rest, "\n");
	if (strncmp(line, head, sizeof head - 1) != 0)
		err = fail(-EBADMSG, why, "/%s is not of version 2", name);
	while (err == 0 && (line = strsep(&rest, "\n")) != NULL) {
		err = add_slab(&all, line, page);
		if (err < 0)
			fail_to_read(err, why, name);
	}
	if (err < 0) {
		stress_free_slabs(&all);
		return err;
	}
	*out = all;
	return 0;
}

void
stress_free_slabs(struct stress_slabs *s)
{
	free(s->slab);
	free(s->text);
}
