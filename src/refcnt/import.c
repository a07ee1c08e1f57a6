#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"

#define LINE 256
#define ACCESS_MAX REFCNT_PAGE	/* bytes of one access */

struct importer {
	struct refcnt *counted;
	const struct refcnt_import *how;
	struct refcnt_imported sums;
	int error;
};

/* A number in that base, digits alone; false: none, or too large. */
static bool
take_number(const char **at, int base, uint64_t *out)
{
	char *end;
	unsigned long long n;
	unsigned char c = (unsigned char)**at;

	/* strtoull(3) takes blanks, signs and 0x too. */
	if (!(c >= '0' && c <= '9') && !(base == 16 && c >= 'a' && c <= 'f'))
		return false;
	errno = 0;
	n = strtoull(*at, &end, base);
	if (errno != 0 || memchr(*at, 'x', (size_t)(end - *at)) != NULL)
		return false;
	*at = end;
	*out = n;
	return true;
}

static bool
take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	++*at;
	return true;
}

static uint64_t
sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void
count(struct importer *i, uint64_t page, unsigned cpu, uint64_t reads,
    uint64_t writes)
{
	const struct refcnt_import *how = i->how;
	uint64_t n = sum(reads, writes);
	unsigned node = how->node_of != NULL ? how->node_of(how->arg, cpu) : 0;
	int err;

	if (n == 0)
		return;
	if (how->all && !refcnt_counts(i->counted, page)) {
		err = refcnt_enable(i->counted, page, REFCNT_PAGE, REFCNT_IMPORT,
		    how->now_ms);
		if (err == -ENOMEM)
			i->error = err;
	}
	if (refcnt_count(i->counted, page, node, reads, writes, how->now_ms))
		i->sums.references = sum(i->sums.references, n);
	else
		i->sums.outside = sum(i->sums.outside, n);
}

/* "L 1ffeffe7a0,8" behind the blank that all but fetches have. */
static bool
read_access(struct importer *i, const char *at)
{
	char what = *at;
	uint64_t addr, size, last;

	if ((what != 'L' && what != 'S' && what != 'M') || at[1] != ' ')
		return false;
	at += 2;
	if (!take_number(&at, 16, &addr) || !take_char(&at, ',') ||
	    !take_number(&at, 10, &size) || *at != '\0' || size == 0 ||
	    size > ACCESS_MAX || addr > UINT64_MAX - (size - 1))
		return false;
	last = (addr + size - 1) / REFCNT_PAGE;
	for (uint64_t page = addr / REFCNT_PAGE; page <= last; page++)
		count(i, page * REFCNT_PAGE, 0, what != 'S', what != 'L');
	return true;
}

static bool
is_fetch(const char *line)
{
	const char *at = line + 3;
	uint64_t addr, size;

	return strncmp(line, "I  ", 3) == 0 && take_number(&at, 16, &addr) &&
	    take_char(&at, ',') && take_number(&at, 10, &size) && *at == '\0';
}

/* "401000 0 1000 101" */
static bool
read_sums(struct importer *i, const char *at)
{
	uint64_t page, cpu, reads, writes;

	if (!take_number(&at, 16, &page) || !take_char(&at, ' ') ||
	    !take_number(&at, 10, &cpu) || !take_char(&at, ' ') ||
	    !take_number(&at, 10, &reads) || !take_char(&at, ' ') ||
	    !take_number(&at, 10, &writes) || *at != '\0' || cpu > UINT_MAX ||
	    page % REFCNT_PAGE != 0)
		return false;
	count(i, page, (unsigned)cpu, reads, writes);
	return true;
}

static bool
means_nothing(const char *line)
{
	return *line == '\0' || *line == '#' || strncmp(line, "==", 2) == 0 ||
	    strncmp(line, "--", 2) == 0;
}

static bool
read_line(struct importer *i, const char *line)
{
	if (means_nothing(line) || is_fetch(line))
		return true;
	return *line == ' ' ? read_access(i, line + 1) : read_sums(i, line);
}

/*
 * False at the file's end. *good: whole, fits, no zero byte. *blind: bytes
 * since the last good line.
 */
static bool
next_line(FILE *f, char line[LINE], bool *good, uint64_t *blind)
{
	size_t n = 0;
	int c;

	*good = true;
	while ((c = getc_unlocked(f)) != EOF &&
	    ++*blind < REFCNT_IMPORT_BLIND && c != '\n') {
		if (c == '\0' || n == LINE - 1)
			*good = false;
		else
			line[n++] = (char)c;
	}
	line[n] = '\0';
	if (c == EOF && n == 0 && *good)
		return false;
	*good = *good && c == '\n';
	return true;
}

int
refcnt_import_from(struct refcnt *counted, FILE *f,
    const struct refcnt_import *how, struct refcnt_imported *out)
{
	struct importer i = { .counted = counted, .how = how };
	char line[LINE];
	uint64_t blind = 0;
	bool good;

	while (i.error == 0 && blind < REFCNT_IMPORT_BLIND &&
	    next_line(f, line, &good, &blind)) {
		i.sums.lines++;
		if (good && read_line(&i, line)) {
			if (!means_nothing(line))
				blind = 0;
			continue;
		}
		if (i.sums.bad++ == 0)
			i.sums.first_bad = i.sums.lines;
	}
	if (i.error == 0 && blind >= REFCNT_IMPORT_BLIND)
		i.error = -EBADMSG;
	if (i.error == 0 && ferror(f))
		i.error = errno != 0 ? -errno : -EIO;
	*out = i.sums;
	return i.error;
}

int
refcnt_import(struct refcnt *counted, const char *path,
    const struct refcnt_import *how, struct refcnt_imported *out)
{
	FILE *f;
	int err;

	if (strcmp(path, "-") == 0)
		return refcnt_import_from(counted, stdin, how, out);
	f = fopen(path, "re");
	if (f == NULL)
		return -errno;
	err = refcnt_import_from(counted, f, how, out);
	fclose(f);
	return err;
}
