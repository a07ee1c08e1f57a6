#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "refs.h"

#define BUFFER 65536	/* longer lines are not read */

/* A hexadecimal number; false: none, or too large. */
static bool
take_hex(const char **at, uint64_t *out)
{
	const char *p = *at;
	uint64_t n = 0;

	for (;; p++) {
		unsigned c = (unsigned char)*p, digit;

		digit = c - '0' < 10u ? c - '0' : c - 'a' < 6u ? c - 'a' + 10 : 16;
		if (digit == 16)
			break;
		if (n >> 60 != 0)
			return false;
		n = n << 4 | digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*out = n;
	return true;
}

/* The n-th word of a line, from 0; "" if there are fewer. */
static const char *
word_at(const char *line, unsigned n)
{
	const char *p = line + strspn(line, " ");

	for (; n > 0 && *p != '\0'; n--) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return p;
}

/* "FROM-TO rw-p OFFSET DEVICE INODE  NAME" */
static bool
read_head(const char *line, struct mapping *m)
{
	const char *at = line, *inode, *name;
	struct mapping new = { .advice = RING_NORMAL };

	if (!take_hex(&at, &new.from) || *at++ != '-' || !take_hex(&at, &new.to) ||
	    *at++ != ' ' || strlen(at) < 4 || new.from >= new.to ||
	    ((new.from | new.to) & (REFCNT_PAGE - 1)) != 0)
		return false;
	inode = word_at(line, 4);
	name = word_at(line, 5);
	new.anonymous = at[3] == 'p' && strspn(inode, "0") == 1 &&
	    (inode[1] == ' ' || inode[1] == '\0') &&
	    (*name == '\0' || strcmp(name, "[heap]") == 0);
	*m = new;
	return true;
}

/* "Name:   123 kB", of that name, as bytes. */
static bool
read_kb(const char *line, const char *name, uint64_t *bytes)
{
	size_t len = strlen(name);
	char *end;
	unsigned long long n;

	if (strncmp(line, name, len) != 0)
		return false;
	errno = 0;
	n = strtoull(line + len, &end, 10);
	if (end == line + len || errno != 0 || n > UINT64_MAX / 1024 ||
	    strcmp(end, " kB") != 0)
		return false;
	*bytes = n * 1024;
	return true;
}

static bool
has_flag(const char *flags, const char *flag)
{
	for (unsigned i = 1; ; i++) {
		const char *at = word_at(flags, i);

		if (*at == '\0')
			return false;
		if (strncmp(at, flag, 2) == 0)
			return true;
	}
}

/* Flags of mappings that are left alone: stacks, devices, huge pages, userfaultfd. */
static void
read_flags(const char *line, struct mapping *m)
{
	static const char *const special[] = { "gd", "io", "pf", "mm", "ht", "um",
		"uw", "ui" };

	if (has_flag(line, "rr"))
		m->advice = RING_RANDOM;
	else if (has_flag(line, "sr"))
		m->advice = RING_SEQUENTIAL;
	for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
		m->anonymous &= !has_flag(line, special[i]);
}

static int
add_mapping(struct mappings *all, const struct mapping *m)
{
	int r;

	if (all->n > 0 && m->from < all->at[all->n - 1].to)
		return -EBADMSG;
	if ((r = base_grow((void **)&all->at, &all->cap, all->n + 1,
	    sizeof *all->at)) != 0)
		return r;
	all->at[all->n++] = *m;
	return 0;
}

static int
read_line(struct mappings *all, const char *line)
{
	struct mapping m, *last;

	if (read_head(line, &m))
		return add_mapping(all, &m);
	if (all->n == 0)
		return 0;
	last = &all->at[all->n - 1];
	if (strncmp(line, "VmFlags:", 8) == 0)
		read_flags(line, last);
	else if (!read_kb(line, "Rss:", &last->present) &&
	    !read_kb(line, "Referenced:", &last->referenced))
		(void)read_kb(line, "AnonHugePages:", &last->huge);
	return 0;
}

/* The lines that are whole; *used: their bytes. */
static int
read_lines(struct mappings *all, char *text, size_t len, size_t *used)
{
	char *end;
	int r = 0;

	*used = 0;
	while (r == 0 && (end = memchr(text + *used, '\n', len - *used)) != NULL) {
		*end = '\0';
		r = read_line(all, text + *used);
		*used = (size_t)(end - text) + 1;
	}
	return r;
}

int
mappings_read(int fd, struct mappings *all)
{
	char *text = malloc(BUFFER);
	size_t have = 0, used;
	ssize_t n;
	int r = text == NULL ? -ENOMEM : 0;

	all->n = 0;
	while (r == 0) {
		if ((n = read(fd, text + have, BUFFER - have)) < 0)
			r = -errno;
		if (n <= 0)
			break;
		have += (size_t)n;
		r = read_lines(all, text, have, &used);
		/* A line that is too long is dropped with what comes of it. */
		if (used == 0 && have == BUFFER)
			used = have;
		have -= used;
		memmove(text, text + used, have);
	}
	free(text);
	return r;
}

bool
pagemap_has_image(int fd)
{
	uint64_t entry;

	return pread(fd, &entry, sizeof entry, 0) == sizeof entry;
}
