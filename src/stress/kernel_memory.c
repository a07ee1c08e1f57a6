#include <errno.h>
#include <inttypes.h>
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
read_site(char *line, uint64_t page, void *out)
{
	static const char func[] = "func:", inexact[] = "accurate:no";
	struct stress_site s = { .accurate = true };
	char *word, *colon;

	(void)page;
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
	*(struct stress_site *)out = s;
	return true;
}

static int
print_site(const void *row, char *out, size_t cap)
{
	const struct stress_site *s = row;

	return snprintf(out, cap, " %" PRId64 " %" PRIu64 " %s:%" PRIu64 "%s%s%s func:%s%s\n",
	    s->bytes, s->calls, s->file, s->line, s->module != NULL ? " [" : "",
	    s->module != NULL ? s->module : "", s->module != NULL ? "]" : "",
	    s->function, s->accurate ? "" : " accurate:no");
}

static uint64_t
site_bytes(const void *row)
{
	int64_t bytes = ((const struct stress_site *)row)->bytes;

	return bytes > 0 ? (uint64_t)bytes : 0;
}

static int
by_place(const struct stress_site *a, const struct stress_site *b)
{
	int r = strcmp(a->file, b->file);

	return r != 0 ? r : (a->line > b->line) - (a->line < b->line);
}

static int
site_by_bytes(const void *x, const void *y)
{
	const struct stress_site *a = x, *b = y;
	int r = (a->bytes < b->bytes) - (a->bytes > b->bytes);

	return r != 0 ? r : by_place(a, b);
}

static int
site_by_calls(const void *x, const void *y)
{
	const struct stress_site *a = x, *b = y;
	int r = (a->calls < b->calls) - (a->calls > b->calls);

	return r != 0 ? r : by_place(a, b);
}

static int
site_by_name(const void *x, const void *y)
{
	const struct stress_site *a = x, *b = y;
	int r = strcmp(a->function, b->function);

	return r != 0 ? r : by_place(a, b);
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

/*
 * "NAME ACTIVE ALL SIZE PER_SLAB PAGES : tunables ... : slabdata ACTIVE SLABS SHARED"
 */
static bool
read_slab(char *line, uint64_t page, void *out)
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
	*(struct stress_slab *)out = s;
	return true;
}

/* Pages of one byte.  The blank protects a name that begins with '#'. */
static int
print_slab(const void *row, char *out, size_t cap)
{
	const struct stress_slab *s = row;

	return snprintf(out, cap, " %s %" PRIu64 " %" PRIu64 " %" PRIu64 " 0 %" PRIu64
	    " : slabdata 0 %" PRIu64 "\n", s->name, s->active, s->objects, s->size,
	    s->slabs > 0 ? s->bytes / s->slabs : 0, s->slabs);
}

static uint64_t
slab_bytes(const void *row)
{
	return ((const struct stress_slab *)row)->bytes;
}

static int
slab_by_name(const void *x, const void *y)
{
	const struct stress_slab *a = x, *b = y;

	return strcmp(a->name, b->name);
}

static int
slab_by_bytes(const void *x, const void *y)
{
	const struct stress_slab *a = x, *b = y;
	int r = (a->bytes < b->bytes) - (a->bytes > b->bytes);

	return r != 0 ? r : slab_by_name(a, b);
}

static int
slab_by_objects(const void *x, const void *y)
{
	const struct stress_slab *a = x, *b = y;
	int r = (a->objects < b->objects) - (a->objects > b->objects);

	return r != 0 ? r : slab_by_name(a, b);
}

static const struct {
	size_t size;			/* of a row */
	/* page: bytes of a page. */
	bool (*read)(char *line, uint64_t page, void *row);
	int (*print)(const void *row, char *out, size_t cap);
	uint64_t (*bytes)(const void *row);
	int (*compare[STRESS_ORDERS])(const void *, const void *);
} tables[STRESS_TABLES] = {
	[STRESS_BY_SITE] = { sizeof(struct stress_site), read_site, print_site,
	    site_bytes, { site_by_bytes, site_by_calls, site_by_name } },
	[STRESS_BY_CACHE] = { sizeof(struct stress_slab), read_slab, print_slab,
	    slab_bytes, { slab_by_bytes, slab_by_objects, slab_by_name } },
};

static int
add_row(struct stress_memory *m, char *line, uint64_t page)
{
	void *row;
	int err;

	if (line[0] == '#' || line[0] == '\0')
		return 0;
	err = base_grow(&m->row, &m->cap, m->n + 1, m->size);
	if (err < 0)
		return err;
	row = (char *)m->row + m->n * m->size;
	if (tables[m->table].read(line, page, row)) {
		m->n++;
		if (__builtin_add_overflow(m->bytes, tables[m->table].bytes(row),
		    &m->bytes))
			m->bytes = UINT64_MAX;
	} else {
		m->bad++;
	}
	return 0;
}

static int
add_rows(struct stress_memory *m, char *rest, uint64_t page)
{
	char *line;
	int err = 0;

	while (err == 0 && (line = strsep(&rest, "\n")) != NULL)
		err = add_row(m, line, page);
	m->rows = m->n;
	return err;
}

static void
begin_rows(struct stress_memory *m, enum stress_table table)
{
	*m = (struct stress_memory){ .table = table, .size = tables[table].size };
}

static const char site_heading[] = "allocinfo - version: ";
static const char slab_heading[] = "slabinfo - version: 2.";

/* Skips the heading of call sites, which some kernels do not write. */
static char *
take_heading(struct stress_memory *m)
{
	char *rest = m->text, *line;

	if (strncmp(rest, site_heading, sizeof site_heading - 1) != 0)
		return rest;
	line = strsep(&rest, "\n");
	m->version = line + sizeof site_heading - 1;
	return rest != NULL ? rest : line + strlen(line);
}

static int
take_file(struct stress_memory *m, const char *name, char why[STRESS_WHY])
{
	uint64_t six[STRESS_LEVELS];
	char *rest = m->text;
	int err;

	if (m->table == STRESS_BY_SITE &&
	    stress_read_six(m->text, strlen(m->text), six) == STRESS_SIX)
		return fail(-EEXIST, why, "/%s has the six counts of "
		    "heapstress(4), which were reset by this reading", name);
	if (m->table == STRESS_BY_SITE)
		rest = take_heading(m);
	else if (strncmp(rest, slab_heading, sizeof slab_heading - 1) == 0)
		strsep(&rest, "\n");
	else
		return fail(-EBADMSG, why, "/%s is not of version 2", name);
	err = add_rows(m, rest, (uint64_t)sysconf(_SC_PAGESIZE));
	if (err < 0)
		return fail_to_read(err, why, name);
	if (m->table == STRESS_BY_SITE && m->n == 0)
		return fail(-EBADMSG, why, "/%s has no call sites", name);
	return 0;
}

int
stress_read_memory(struct stress_memory *out, enum stress_table table, const char *root,
    char why[STRESS_WHY])
{
	static const char *const names[STRESS_TABLES] = { "proc/allocinfo",
	    "proc/slabinfo" };
	const char *name = names[table];
	struct stress_memory m;
	int err;

	if (table == STRESS_BY_SITE && is_six_counts(root))
		return fail(-EEXIST, why, "/%s has the six counts of "
		    "heapstress(4), and reading it would reset them", name);
	begin_rows(&m, table);
	err = read_whole(root, name, &m.text);
	if (err == -ENOENT && table == STRESS_BY_SITE)
		return fail(err, why, "this kernel has no /%s: it needs "
		    "CONFIG_MEM_ALLOC_PROFILING, of Linux 6.10 or newer, and the "
		    "boot parameter sysctl.vm.mem_profiling=1", name);
	if (err < 0)
		return fail_to_read(err, why, name);
	err = take_file(&m, name, why);
	if (err < 0) {
		stress_free_memory(&m);
		return err;
	}
	*out = m;
	return 0;
}

void
stress_sort_memory(struct stress_memory *m, enum stress_order order)
{
	if (m->n > 0)
		qsort(m->row, m->n, m->size, tables[m->table].compare[order]);
}

size_t
stress_print_memory(const struct stress_memory *m, char *out, size_t cap)
{
	size_t len = 0;

	if (m->version != NULL)
		base_append(out, cap, &len, "%s%s\n", site_heading, m->version);
	for (size_t i = 0; i < m->n; i++) {
		int n = tables[m->table].print((const char *)m->row + i * m->size,
		    out + len, cap - len);

		if (n < 0 || (size_t)n >= cap - len)
			break;
		len += (size_t)n;
	}
	return len;
}

int
stress_parse_memory(struct stress_memory *out, enum stress_table table,
    const char *text, size_t len)
{
	struct stress_memory m;
	int err;

	begin_rows(&m, table);
	if (len > 0 && memchr(text, '\0', len) != NULL)
		return -EBADMSG;
	m.text = malloc(len + 1);
	if (m.text == NULL)
		return -ENOMEM;
	if (len > 0)
		memcpy(m.text, text, len);
	m.text[len] = '\0';
	err = add_rows(&m, table == STRESS_BY_SITE ? take_heading(&m) : m.text, 1);
	if (err < 0) {
		stress_free_memory(&m);
		return err;
	}
	*out = m;
	return 0;
}

static bool
is_same(enum stress_table table, const void *a, const void *b)
{
	const struct stress_site *s = a, *t = b;

	return table == STRESS_BY_CACHE ? slab_by_name(a, b) == 0 :
	    s->line == t->line && strcmp(s->file, t->file) == 0 &&
	    strcmp(s->function, t->function) == 0;
}

const void *
stress_find_memory(const struct stress_memory *m, const void *row)
{
	for (size_t i = 0; i < m->n; i++) {
		const void *own = (const char *)m->row + i * m->size;

		if (is_same(m->table, own, row))
			return own;
	}
	return NULL;
}

void
stress_free_memory(struct stress_memory *m)
{
	free(m->row);
	free(m->text);
	*m = (struct stress_memory){ .table = m->table };
}
