#include "symbol.h"

#include "../base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DELETED " (deleted)"

/* PROCMAP_QUERY of linux/fs.h, which older headers lack. */
struct query {
	uint64_t size;
	uint64_t flags;
	uint64_t addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define QUERY_EXECUTABLE 4
#define QUERY_THIS_OR_NEXT 16

static bool
take_number(char **at, int base, char end, uint64_t *n)
{
	static const char digits[] = "0123456789abcdef";
	char *after;

	if (**at == '\0' || strchr(digits, **at) == NULL)
		return false;
	*n = strtoull(*at, &after, base);
	if (*after != end)
		return false;
	*at = after + 1;
	return true;
}

/* Turns \012 into newlines. */
static void
unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static bool
cut_deleted(char *path)
{
	size_t len = strlen(path), tail = strlen(DELETED);

	if (len <= tail || strcmp(path + len - tail, DELETED) != 0)
		return false;
	path[len - tail] = '\0';
	return true;
}

int
maps_parse(char *line, struct maps_line *out)
{
	struct maps_line m = { .path = "" };
	uint64_t major, minor;
	char *at = line, *perms;

	line[strcspn(line, "\n")] = '\0';
	if (!take_number(&at, 16, '-', &m.start) ||
	    !take_number(&at, 16, ' ', &m.end) || m.start >= m.end)
		return -EBADMSG;
	perms = at;
	if (strlen(perms) < 5 || perms[4] != ' ')
		return -EBADMSG;
	m.readable = perms[0] == 'r';
	m.writable = perms[1] == 'w';
	m.executable = perms[2] == 'x';
	at = perms + 5;
	if (!take_number(&at, 16, ' ', &m.offset) ||
	    !take_number(&at, 16, ':', &major) ||
	    !take_number(&at, 16, ' ', &minor))
		return -EBADMSG;
	/* Without a path the line may end behind the inode. */
	if (at[strspn(at, "0123456789")] == '\0') {
		if (*at == '\0')
			return -EBADMSG;
		m.inode = strtoull(at, NULL, 10);
	} else {
		if (!take_number(&at, 10, ' ', &m.inode))
			return -EBADMSG;
		at += strspn(at, " ");
		m.deleted = cut_deleted(at);
		unescape(at);
		m.path = at;
	}
	*out = m;
	return 0;
}

int
maps_parse_first(char **text, struct maps_line *out)
{
	char *line = *text;

	*text += strcspn(line, "\n");
	*text += **text == '\n';
	return maps_parse(line, out);
}

int
maps_next_code(int fd, uint64_t from, char path[PATH_MAX],
    struct maps_line *out)
{
	struct query q = {
		.size = sizeof(q),
		.flags = QUERY_EXECUTABLE | QUERY_THIS_OR_NEXT,
		.addr = from,
		.name_size = PATH_MAX,
		.name = (uintptr_t)path,
	};

	if (ioctl(fd, QUERY, &q) < 0)
		return -errno;
	/* The name's length with its end; 0: none. */
	if (q.name_size == 0)
		path[0] = '\0';
	*out = (struct maps_line){
		.start = q.start,
		.end = q.end,
		.offset = q.offset,
		.inode = q.inode,
		.executable = true,
		.deleted = cut_deleted(path),
		.path = path,
	};
	return 0;
}

/* Longer than any path with the kernel's escapes. */
#define LINE_MAX_BYTES (4 * PATH_MAX + 256)
/* More mappings are not worth reading. */
#define LINES_MAX (1u << 20)
/* Code without a file must not crowd out modules. */
#define ANONYMOUS_MAX (SYMBOL_MODULES_MAX / 2)

struct module {
	uint64_t start, end;
	uint64_t offset;	/* in the file, of start */
	uint64_t inode;		/* 0: no file */
	int64_t seen_ns;	/* wall clock of the first reading that had it */
	char *path;
};

struct symbol_modules {
	pid_t pid;		/* last read; 0 before */
	struct module *module;
	size_t n;
};

static void
module_fini(struct module *m)
{
	free(m->path);
}

static void
modules_fini(struct module *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		module_fini(&m[i]);
	free(m);
}

int
symbol_modules_new(struct symbol_modules **out)
{
	struct symbol_modules *t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return -ENOMEM;
	*out = t;
	return 0;
}

void
symbol_modules_free(struct symbol_modules *t)
{
	if (t == NULL)
		return;
	modules_fini(t->module, t->n);
	free(t);
}

int
symbol_modules_copy(const struct symbol_modules *t,
    struct symbol_modules **out)
{
	struct symbol_modules *copy;

	if (symbol_modules_new(&copy) < 0)
		return -ENOMEM;
	copy->pid = t->pid;
	copy->module = calloc(t->n + 1, sizeof(*copy->module));
	if (copy->module == NULL)
		goto fail;
	for (size_t i = 0; i < t->n; i++) {
		struct module *m = &copy->module[i];

		*m = t->module[i];
		m->path = strdup(m->path);
		copy->n++;
		if (m->path == NULL)
			goto fail;
	}
	*out = copy;
	return 0;
fail:
	symbol_modules_free(copy);
	return -ENOMEM;
}

struct reading {
	struct module *module;
	size_t n, cap;
	size_t anonymous;
	int64_t now_ns;
};

/* Adjacent anonymous code is one module. */
static bool
extends_anonymous(const struct module *last, const struct maps_line *line)
{
	return line->path[0] == '\0' && last->inode == 0 &&
	    last->end == line->start && strcmp(last->path, "[anon]") == 0;
}

static int
note_code(struct reading *r, const struct maps_line *line)
{
	bool anonymous = line->path[0] == '\0';
	void *module = r->module;
	struct module *m;
	int error;

	if (r->n > 0 && extends_anonymous(&r->module[r->n - 1], line)) {
		r->module[r->n - 1].end = line->end;
		return 0;
	}
	/* The kernel sorts them. */
	if (r->n == SYMBOL_MODULES_MAX ||
	    (anonymous && r->anonymous == ANONYMOUS_MAX) ||
	    (r->n > 0 && line->start < r->module[r->n - 1].end))
		return 0;
	error = base_grow(&module, &r->cap, r->n + 1, sizeof(*m));
	if (error < 0)
		return error;
	r->module = module;
	m = &r->module[r->n];
	*m = (struct module) {
		.start = line->start,
		.end = line->end,
		.offset = line->offset,
		.inode = line->inode,
		.seen_ns = r->now_ns,
		.path = strdup(anonymous ? "[anon]" : line->path),
	};
	if (m->path == NULL)
		return -ENOMEM;
	r->n++;
	r->anonymous += anonymous;
	return 0;
}

static bool
get_line(FILE *f, char *line, size_t cap)
{
	int c;

	if (fgets(line, (int)cap, f) == NULL)
		return false;
	if (strchr(line, '\n') == NULL) {
		while ((c = getc(f)) != EOF && c != '\n')
			continue;
	}
	return true;
}

/* -ESRCH: nothing to read, the process has no memory. */
static int
read_lines(FILE *f, struct reading *r)
{
	char line[LINE_MAX_BYTES];
	unsigned lines = 0;
	int error = 0;

	while (error == 0 && lines < LINES_MAX &&
	    get_line(f, line, sizeof(line))) {
		struct maps_line map;

		lines++;
		if (maps_parse(line, &map) < 0)
			continue;
		if (map.executable)
			error = note_code(r, &map);
	}
	if (error == 0 && ferror(f))
		return -ESRCH;
	if (error == 0 && lines == 0)
		return -ESRCH;
	return error;
}

/* -ENOTTY when the kernel cannot be asked. */
static int
read_range(int fd, struct reading *r)
{
	struct maps_line map = { .end = 0 };
	char path[PATH_MAX];
	int error = 0;

	for (unsigned n = 0; error == 0 && n < LINES_MAX &&
	    r->n < SYMBOL_MODULES_MAX; n++) {
		error = maps_next_code(fd, map.end, path, &map);
		if (error == 0)
			error = note_code(r, &map);
	}
	return error == -ENOENT ? 0 : error;
}

static int
read_maps(pid_t pid, struct reading *r)
{
	char path[64];
	int fd, error;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%jd/maps", (intmax_t)pid);
	fd = base_proc_is_ours() ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return errno == ENOENT || !base_proc_is_ours() ? -ESRCH : -errno;
	error = read_range(fd, r);
	if (error == 0 || error == -ENOMEM || error == -ESRCH) {
		close(fd);
		return error;
	}
	/* The text has what it answered. */
	modules_fini(r->module, r->n);
	*r = (struct reading){ .now_ns = r->now_ns };
	f = fdopen(fd, "r");
	if (f == NULL) {
		close(fd);
		return -ENOMEM;
	}
	error = read_lines(f, r);
	fclose(f);
	return error;
}

/* Unlinked or not: the file was read while it had a name. */
static bool
is_same_module(const struct module *a, const struct module *b)
{
	return a->start == b->start && a->end == b->end &&
	    a->offset == b->offset && a->inode == b->inode &&
	    strcmp(a->path, b->path) == 0;
}

/*
 * Joins two sorted tables; new modules replace old ones where they overlap or
 * there is no room.  Equal ones stay, with the time when they were first seen.
 * Takes all modules of both into `out`, which has room.
 */
static size_t
join_tables(struct module *old, size_t nold, struct module *new, size_t nnew,
    struct module *out)
{
	size_t i = 0, j = 0, n = 0;

	while (i < nold || j < nnew) {
		if (j == nnew || (i < nold && old[i].end <= new[j].start)) {
			if (n + (nnew - j) < SYMBOL_MODULES_MAX)
				out[n++] = old[i++];
			else
				module_fini(&old[i++]);
		} else if (i == nold || new[j].end <= old[i].start) {
			out[n++] = new[j++];
		} else if (is_same_module(&old[i], &new[j])) {
			module_fini(&new[j++]);
			out[n++] = old[i++];
		} else {
			module_fini(&old[i++]);
		}
	}
	return n;
}

int
symbol_modules_read(struct symbol_modules *t, pid_t pid)
{
	struct reading r = { .now_ns = base_wall_ns() };
	struct module *joined;
	int error;

	error = read_maps(pid, &r);
	if (error < 0)
		goto fail;

	joined = calloc(t->n + r.n + 1, sizeof(*joined));
	if (joined == NULL) {
		error = -ENOMEM;
		goto fail;
	}
	t->n = join_tables(t->module, t->n, r.module, r.n, joined);
	free(t->module);
	free(r.module);
	t->module = joined;
	t->pid = pid;
	return 0;
fail:
	modules_fini(r.module, r.n);
	return error;
}

/* The module of the call that returns to addr, which may be its end. */
static const struct module *
find_module(const struct symbol_modules *t, uint64_t addr)
{
	size_t i;

	BASE_FIND_FIRST(i, t->n, t->module[i].end >= addr);
	return i < t->n && t->module[i].start < addr ? &t->module[i] : NULL;
}

bool
symbol_modules_covers(const struct symbol_modules *t, uint64_t addr)
{
	return find_module(t, addr) != NULL;
}

void
symbol_modules_place(const struct symbol_modules *t, uint64_t addr,
    struct symbol_place *out)
{
	const struct module *m = find_module(t, addr);

	if (m == NULL) {
		*out = (struct symbol_place) { .address = addr };
		return;
	}
	*out = (struct symbol_place) {
		.path = m->path,
		.pid = t->pid,
		.by_offset = true,
		.address = addr - m->start + m->offset,
		.inode = m->inode,
		.mapped_ns = m->seen_ns,
	};
}
