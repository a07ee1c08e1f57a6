#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "stress.h"

static const char *const keys[STRESS_KEYS] = {
	[STRESS_KEY_LEVEL] = "heap_stress_1",
	[STRESS_KEY_LEVEL + 1] = "heap_stress_2",
	[STRESS_KEY_LEVEL + 2] = "heap_stress_3",
	[STRESS_KEY_LEVEL + 3] = "heap_stress_4",
	[STRESS_KEY_LEVEL + 4] = "heap_stress_5",
	[STRESS_KEY_LEVEL + 5] = "heap_stress_6",
	[STRESS_KEY_HIT] = "numa_hit",
	[STRESS_KEY_MISS] = "numa_miss",
	[STRESS_KEY_ALLOCSTALL] = "allocstall",
	[STRESS_KEY_COMPACT_STALL] = "compact_stall",
	[STRESS_KEY_OOM_KILL] = "oom_kill",
	[STRESS_KEY_PAGEOUTRUN] = "pageoutrun",
};

int
stress_open_file(const char *root, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/%s", root, name), fd;

	if (n < 0 || n >= (int)sizeof path)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int
stress_read_file(const char *root, const char *name, char *buf, size_t cap,
    size_t *len)
{
	int fd = stress_open_file(root, name), err = 0;
	size_t at = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while (at < cap && (n = read(fd, buf + at, cap - at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			break;
		}
		at += (size_t)n;
	}
	close(fd);
	if (err == 0)
		*len = at;
	return err;
}

bool
stress_take_number(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	uint64_t n = 0;

	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*at = p;
	*out = n;
	return true;
}

static uint64_t
sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* STRESS_KEYS: another key.  Older kernels have one allocstall for all zones. */
static unsigned
key_of(const char *name, size_t len)
{
	static const char stall[] = "allocstall_";
	unsigned key;

	for (key = 0; key < STRESS_KEYS; key++)
		if (strlen(keys[key]) == len && memcmp(keys[key], name, len) == 0)
			return key;
	return len > sizeof stall - 1 &&
	    memcmp(name, stall, sizeof stall - 1) == 0 ?
	    STRESS_KEY_ALLOCSTALL : STRESS_KEYS;
}

static void
take_line(const char *line, const char *end, struct stress_vmstat *v)
{
	const char *blank = memchr(line, ' ', (size_t)(end - line)), *at;
	uint64_t n;
	unsigned key;

	if (blank == NULL)
		return;
	key = key_of(line, (size_t)(blank - line));
	at = blank + 1;
	if (key == STRESS_KEYS || !stress_take_number(&at, end, &n) || at != end)
		return;
	v->n[key] = key == STRESS_KEY_ALLOCSTALL ? sum(v->n[key], n) : n;
	v->known[key] = true;
}

void
stress_read_vmstat(const char *text, size_t len, struct stress_vmstat *out)
{
	const char *end = text + len, *line = text, *newline;

	*out = (struct stress_vmstat){ 0 };
	for (; line < end && (newline = memchr(line, '\n',
	    (size_t)(end - line))) != NULL; line = newline + 1)
		take_line(line, newline, out);
}

bool
stress_read_key(const char *text, size_t len, const char *key, uint64_t *n)
{
	const char *end = text + len, *line = text, *newline, *at;
	size_t skip = strlen(key);
	uint64_t number;

	for (; line < end && (newline = memchr(line, '\n',
	    (size_t)(end - line))) != NULL; line = newline + 1) {
		if ((size_t)(newline - line) <= skip ||
		    memcmp(line, key, skip) != 0 ||
		    (skip > 0 && line[skip] != ' '))
			continue;
		at = line + skip + (skip > 0);
		if (!stress_take_number(&at, newline, &number) || at != newline)
			return false;
		*n = number;
		return true;
	}
	return false;
}

/* "allocinfo - version: 1.0", or without it "bytes calls file:line ...". */
static bool
is_of_sites(const char *text, size_t len)
{
	static const char head[] = "allocinfo - version";

	return (len >= sizeof head - 1 &&
	    memcmp(text, head, sizeof head - 1) == 0) ||
	    memchr(text, ':', len) != NULL;
}

enum stress_shape
stress_read_six(const char *text, size_t len, uint64_t n[STRESS_LEVELS])
{
	const char *at = text, *end = text + len;
	uint64_t got[STRESS_LEVELS];

	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		while (at < end && *at == ' ')
			at++;
		if (!stress_take_number(&at, end, &got[i]))
			return is_of_sites(text, len) ? STRESS_SITES :
			    STRESS_OTHER;
		if (at == end || (*at != ' ' && *at != '\n'))
			return is_of_sites(text, len) ? STRESS_SITES :
			    STRESS_OTHER;
	}
	while (at < end && *at == ' ')
		at++;
	if (end - at != 1 || *at != '\n')
		return STRESS_OTHER;
	memcpy(n, got, sizeof got);
	return STRESS_SIX;
}
