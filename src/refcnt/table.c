/*
 * A file is as long as if all its pages were counted; memory is taken where
 * sets are written.  A store to a hole of a full file system would be a
 * signal, so write() fills a page before the first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/base.h"
#include "rcb.h"
#include "refcnt.h"

#define BATCH 64		/* pages read at once */
#define NAME "refcnt.node%u"

struct file {
	int fd;
	uint8_t *bytes;
	struct rcb_layout at;
	uint8_t *filled;	/* a bit for each page of the file */
	bool shown;		/* under its name; before it is hidden */
	struct refcnt_slot *slot;
	uint32_t *before;	/* sets of the slots before each */
	uint32_t slots, sets;
};

struct refcnt_table {
	struct refcnt_table_options o;
	char folder[PATH_MAX - 64];
	struct refcnt_range *range;	/* when the files were last written */
	size_t ranges;
	uint32_t counters, hw_max, periods;
	struct file *file[REFCNT_NODES];	/* by home */
	struct file *old[REFCNT_NODES];	/* of other ranges, until the new ones are written */
	struct refcnt_page page[REFCNT_PLANES][BATCH];
};

static int __attribute__((format(printf, 3, 4)))
fail(char *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, REFCNT_WHY, fmt, ap);
	va_end(ap);
	return err;
}

/* Takes memory of the file system for these bytes. */
static int
fill_file(struct file *f, uint64_t at, uint64_t len)
{
	for (uint64_t page = at / RCB_PAGE; page <= (at + len - 1) / RCB_PAGE;
	    page++) {
		if (f->filled[page / 8] >> page % 8 & 1)
			continue;
		if (pwrite(f->fd, "", 1, (off_t)(page * RCB_PAGE)) != 1)
			return errno > 0 ? -errno : -EIO;
		f->filled[page / 8] |= (uint8_t)(1u << page % 8);
	}
	return 0;
}

static int64_t
set_of(const struct file *f, uint64_t addr)
{
	uint32_t i;

	/* The last slot that begins at the address or before it. */
	BASE_FIND_FIRST(i, f->slots, f->slot[i].base > addr);
	if (i == 0 || addr - f->slot[i - 1].base >= f->slot[i - 1].size)
		return -1;
	return f->before[i - 1] +
	    (int64_t)((addr - f->slot[i - 1].base) / RCB_PAGE);
}

static uint8_t *
part_of(const struct file *f, enum rcb_part part, uint64_t n, uint64_t size)
{
	return f->bytes + f->at.at[part] + n * size;
}

static int
fill_set(struct file *f, uint32_t set, uint32_t counters)
{
	static const struct {
		enum rcb_part part;
		uint8_t size;
		bool counters;
	} parts[] = {
		{ RCB_SEQUENCES, 4, false }, { RCB_STATES, 4, false },
		{ RCB_CHECKS, 4, false }, { RCB_COUNTERS_PART, 4, true },
		{ RCB_HARDWARE, 4, true }, { RCB_WIDE, 8, true },
	};
	int err = 0;

	for (size_t i = 0; err == 0 && i < BASE_NELEM(parts); i++) {
		uint64_t len = (uint64_t)parts[i].size *
		    (parts[i].counters ? counters : 1);

		err = fill_file(f, f->at.at[parts[i].part] + set * len, len);
	}
	return err;
}

static void
store_set(struct file *f, uint32_t set, const struct rcb_set *s,
    uint32_t counters)
{
	uint8_t *sequence = part_of(f, RCB_SEQUENCES, set, 4);
	uint64_t first = (uint64_t)set * counters;
	uint32_t before = rcb_load(sequence);

	rcb_store(sequence, before | 1);
	for (uint32_t i = 0; i < counters; i++) {
		rcb_store(part_of(f, RCB_COUNTERS_PART, first + i, 4), s->ext[i]);
		rcb_store(part_of(f, RCB_HARDWARE, first + i, 4), s->hw[i]);
		rcb_store64(part_of(f, RCB_WIDE, first + i, 8), s->wide[i]);
	}
	rcb_store(part_of(f, RCB_STATES, set, 4), s->state);
	rcb_store(part_of(f, RCB_CHECKS, set, 4),
	    s->state == 0 ? 0 : rcb_check_of(set, s, counters));
	rcb_store(sequence, (before | 1) + 1);
}

/* Its state and its widest counters say whether a set is as it was. */
static bool
is_stored(const struct file *f, uint32_t set, const struct rcb_set *s,
    uint32_t counters)
{
	uint64_t first = (uint64_t)set * counters;

	if (rcb_load(part_of(f, RCB_STATES, set, 4)) != s->state)
		return false;
	for (uint32_t i = 0; i < counters; i++)
		if (rcb_load64(part_of(f, RCB_WIDE, first + i, 8)) != s->wide[i] ||
		    rcb_load(part_of(f, RCB_HARDWARE, first + i, 4)) != s->hw[i] ||
		    rcb_load(part_of(f, RCB_COUNTERS_PART, first + i, 4)) !=
		    s->ext[i])
			return false;
	return true;
}

static int
write_set(struct file *f, uint32_t set, const struct rcb_set *s,
    uint32_t counters)
{
	int err = fill_set(f, set, counters);

	if (err == 0 && !is_stored(f, set, s, counters))
		store_set(f, set, s, counters);
	return err;
}

/* A page that is not counted here, or not any more. */
static void
clear_set(struct file *f, uint32_t set, uint32_t counters)
{
	static const struct rcb_set zeros;
	uint64_t page = (f->at.at[RCB_STATES] + 4 * (uint64_t)set) / RCB_PAGE;

	if ((f->filled[page / 8] >> page % 8 & 1) != 0 &&
	    rcb_load(part_of(f, RCB_STATES, set, 4)) != 0 &&
	    fill_set(f, set, counters) == 0)
		store_set(f, set, &zeros, counters);
}

static void
write_head(const struct refcnt_table *t, struct file *f, unsigned node)
{
	const struct refcnt_topology *topology = t->o.topology;
	uint8_t *b = f->bytes;
	uint64_t bytes = topology->node[node].bytes / topology->base_page;

	memcpy(b + RCB_AT_MAGIC, RCB_MAGIC, 8);
	rcb_store(b + RCB_AT_ENDIAN, RCB_ENDIAN);
	rcb_store(b + RCB_AT_VERSION, RCB_VERSION);
	rcb_store64(b + RCB_AT_LEN, f->at.len);
	rcb_store(b + RCB_AT_SETS, f->sets);
	rcb_store(b + RCB_AT_COUNTERS_PER_SET, t->counters);
	rcb_store(b + RCB_AT_COUNTER_SIZE, 4);
	rcb_store(b + RCB_AT_BASE_PAGES,
	    bytes > INT32_MAX ? INT32_MAX : (uint32_t)bytes);
	rcb_store(b + RCB_AT_BASE_PAGE_SIZE, topology->base_page);
	rcb_store(b + RCB_AT_CNODEID, node);
	rcb_store64(b + RCB_AT_BASE_PADDR,
	    t->o.pid == 0 && f->slots > 0 ? f->slot[0].base : 0);
	rcb_store(b + RCB_AT_GRANULARITY, REFCNT_PAGE);
	rcb_store(b + RCB_AT_HW_MAX, t->hw_max);
	rcb_store(b + RCB_AT_DIFF, (uint32_t)t->o.diff_threshold);
	rcb_store(b + RCB_AT_ABS, (uint32_t)t->o.abs_threshold);
	rcb_store(b + RCB_AT_SLOTS, f->slots);
	rcb_store(b + RCB_AT_NODES, topology->nodes);
	rcb_store(b + RCB_AT_PID, (uint32_t)t->o.pid);
	rcb_store64(b + RCB_AT_STARTED, t->o.started);
	for (int i = 0; i < RCB_PARTS; i++)
		rcb_store64(b + RCB_AT_PARTS + 8 * i, f->at.at[i]);
	for (uint32_t i = 0; i < f->slots; i++) {
		rcb_store64(part_of(f, RCB_SLOTS, i, 16), f->slot[i].base);
		rcb_store64(part_of(f, RCB_SLOTS, i, 16) + 8, f->slot[i].size);
	}
	rcb_store(b + RCB_AT_CHECK, rcb_head_check(b, f->slots));
}

static void
free_file(struct file *f)
{
	if (f == NULL)
		return;
	if (f->bytes != NULL) {
		if (f->filled != NULL && f->filled[0] & 1)
			rcb_store(f->bytes + RCB_AT_ENDED, 1);
		munmap(f->bytes, (size_t)f->at.len);
	}
	if (f->fd >= 0)
		close(f->fd);
	free(f->filled);
	free(f->slot);
	free(f->before);
	free(f);
}

/* The slots of a node's memory, or of a target's ranges. */
static int
take_slots(const struct refcnt_table *t, struct file *f, unsigned node)
{
	const struct refcnt_node *n = &t->o.topology->node[node];
	size_t slots = t->o.pid == 0 ? n->slots : t->ranges;
	uint64_t sets = 0;

	f->slot = calloc(slots + 1, sizeof *f->slot);
	f->before = calloc(slots + 1, sizeof *f->before);
	if (f->slot == NULL || f->before == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < slots; i++) {
		f->slot[i] = t->o.pid == 0 ? n->slot[i] : (struct refcnt_slot){
		    t->range[i].vaddr, t->range[i].len };
		f->before[i] = (uint32_t)sets;
		sets += f->slot[i].size / REFCNT_PAGE;
		if (sets > INT32_MAX)
			return -E2BIG;
	}
	f->slots = (uint32_t)slots;
	f->sets = (uint32_t)sets;
	f->at = rcb_lay_out(f->sets, t->counters, f->slots);
	return f->at.len > SIZE_MAX || f->at.len > INT64_MAX ? -E2BIG : 0;
}

/* Makes the file under another name: nobody sees one that is not whole. */
static int
make_file(struct refcnt_table *t, struct file *f, unsigned node,
    const char *hidden)
{
	void *p;
	int err;

	f->fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    0400);
	if (f->fd < 0 || flock(f->fd, LOCK_EX | LOCK_NB) < 0 ||
	    ftruncate(f->fd, (off_t)f->at.len) < 0)
		return -errno;
	f->filled = calloc(1, (size_t)(f->at.len / RCB_PAGE / 8 + 1));
	if (f->filled == NULL)
		return -ENOMEM;
	p = mmap(NULL, (size_t)f->at.len, PROT_READ | PROT_WRITE, MAP_SHARED,
	    f->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	f->bytes = p;
	err = fill_file(f, 0, RCB_PAGE);
	if (err == 0 && f->slots > 0)
		err = fill_file(f, f->at.at[RCB_SLOTS], (uint64_t)f->slots * 16);
	if (err == 0)
		write_head(t, f, node);
	return err;
}

static void
file_name(const struct refcnt_table *t, unsigned node, const char *before,
    char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s" NAME, t->folder, before, node);
}

/* The machine's file of another node that lives. */
static bool
is_taken(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	bool taken = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return taken;
}

static int
add_file(struct refcnt_table *t, unsigned node, char *why)
{
	char path[PATH_MAX], hidden[PATH_MAX];
	struct file *f = calloc(1, sizeof *f);
	int err = f == NULL ? -ENOMEM : 0;

	file_name(t, node, "", path);
	file_name(t, node, ".", hidden);
	if (err == 0) {
		f->fd = -1;
		err = take_slots(t, f, node);
	}
	if (err == 0 && t->o.pid == 0 && is_taken(path))
		err = -EBUSY;
	if (err == 0) {
		err = base_folders_above(path);
		unlink(hidden);		/* of a node that was killed */
	}
	if (err == 0)
		err = make_file(t, f, node, hidden);
	if (err == 0) {
		t->file[node] = f;
		return 0;
	}
	free_file(f);
	unlink(hidden);
	return fail(why, err, err == -EBUSY ? "%s is written by another node: %s" :
	    "cannot write %s: %s", path, strerror(-err));
}

/* The next image of a process has files of the same names. */
static bool
has_name(const struct file *f, const char *path)
{
	struct stat own, other;

	return fstat(f->fd, &own) == 0 && lstat(path, &other) == 0 &&
	    own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static void
drop_file(struct refcnt_table *t, struct file **f, unsigned node)
{
	char path[PATH_MAX];

	if (*f == NULL)
		return;
	file_name(t, node, (*f)->shown ? "" : ".", path);
	if (has_name(*f, path))
		unlink(path);
	free_file(*f);
	*f = NULL;
}

/*
 * Shows new files once written, and ends the old after that: a reader finds
 * one or the other.  After an error there is none.
 */
static int
show_files(struct refcnt_table *t, int err, char *why)
{
	char path[PATH_MAX], hidden[PATH_MAX];

	for (unsigned node = 0; node < REFCNT_NODES; node++) {
		struct file *f = t->file[node];

		file_name(t, node, "", path);
		file_name(t, node, ".", hidden);
		if (err == 0 && f != NULL && !f->shown) {
			if (rename(hidden, path) < 0)
				err = fail(why, -errno, "cannot write %s: %s",
				    path, strerror(errno));
			f->shown = err == 0;
		}
		if (f != NULL && f->shown && t->old[node] != NULL) {
			free_file(t->old[node]);
			t->old[node] = NULL;
		}
		drop_file(t, &t->old[node], node);
	}
	return err;
}

int
refcnt_table_new(struct refcnt_table **out,
    const struct refcnt_table_options *o)
{
	struct refcnt_table *t = calloc(1, sizeof *t);
	int n;

	if (t == NULL)
		return -ENOMEM;
	t->o = *o;
	n = o->pid == 0 ?
	    snprintf(t->folder, sizeof t->folder, "%s", o->folder) :
	    snprintf(t->folder, sizeof t->folder, "%s/%ld", o->folder, o->pid);
	if (n < 0 || (size_t)n >= sizeof t->folder) {
		free(t);
		return -ENAMETOOLONG;
	}
	t->o.folder = NULL;
	*out = t;
	return 0;
}

void
refcnt_table_free(struct refcnt_table *t)
{
	if (t == NULL)
		return;
	for (unsigned node = 0; node < REFCNT_NODES; node++)
		drop_file(t, &t->file[node], node);
	if (t->o.pid != 0)
		rmdir(t->folder);
	free(t->range);
	free(t);
}

static bool
same_ranges(const struct refcnt_table *t, const struct refcnt_range *range,
    size_t n)
{
	if (n != t->ranges)
		return false;
	for (size_t i = 0; i < n; i++)
		if (range[i].vaddr != t->range[i].vaddr ||
		    range[i].len != t->range[i].len)
			return false;
	return true;
}

/* Frames that are not counted any more. */
static void
clear_frames(struct refcnt_table *t, const struct refcnt *r)
{
	for (size_t i = 0; i < t->ranges; i++)
		for (uint64_t at = 0; at < t->range[i].len; at += REFCNT_PAGE) {
			uint64_t addr = t->range[i].vaddr + at;

			if (refcnt_counts(r, addr))
				continue;
			for (unsigned node = 0; node < REFCNT_NODES; node++) {
				int64_t set = t->file[node] == NULL ? -1 :
				    set_of(t->file[node], addr);

				if (set >= 0)
					clear_set(t->file[node], (uint32_t)set,
					    t->counters);
			}
		}
}

/* A target's files are made anew when its ranges change. */
static int
follow_ranges(struct refcnt_table *t, const struct refcnt *r)
{
	size_t n = refcnt_ranges(r, NULL, 0), again;
	struct refcnt_range *range = calloc(n + 1, sizeof *range);

	if (range == NULL)
		return -ENOMEM;
	again = refcnt_ranges(r, range, n);
	n = again < n ? again : n;
	if (same_ranges(t, range, n)) {
		free(range);
		return 0;
	}
	for (unsigned node = 0; node < REFCNT_NODES && t->o.pid != 0; node++) {
		if (t->file[node] != NULL && t->file[node]->shown)
			t->old[node] = t->file[node];
		else
			drop_file(t, &t->file[node], node);
		t->file[node] = NULL;
	}
	if (t->o.pid == 0)
		clear_frames(t, r);
	free(t->range);
	t->range = range;
	t->ranges = n;
	return 0;
}

/* The home's file: by its number, or by the slot that has the physical address. */
static unsigned
node_of(const struct refcnt_table *t, const struct refcnt_page *p)
{
	if (t->o.pid != 0)
		return p->cnodeid >= 0 &&
		    (unsigned)p->cnodeid < t->o.topology->nodes ?
		    (unsigned)p->cnodeid : 0;
	for (unsigned node = 0; node < t->o.topology->nodes; node++)
		for (size_t i = 0; i < t->o.topology->node[node].slots; i++) {
			const struct refcnt_slot *s =
			    &t->o.topology->node[node].slot[i];

			if (p->vaddr - s->base < s->size)
				return node;
		}
	return REFCNT_NODES;
}

static void
make_set(const struct refcnt_table *t, size_t i, struct rcb_set *s)
{
	const struct refcnt_page *p = &t->page[REFCNT_EXT][i];
	uint32_t shift = p->page_size == 0 ? 12 :
	    63 - (uint32_t)__builtin_clzll(p->page_size);

	s->state = (p->flags & RCB_FLAGS & ~RCB_SATURATED) |
	    (uint32_t)p->source << 16 | shift << 24;
	if (t->o.pid == 0)
		s->state &= ~RCB_NO_PADDR;
	else if (p->cnodeid < 0 || (p->flags & REFCNT_NOT_PRESENT) != 0)
		s->state |= RCB_NO_HOME;
	if (t->o.pid != 0)
		s->state |= RCB_NO_PADDR;
	for (uint32_t k = 0; k < t->counters; k++) {
		s->ext[k] = (uint32_t)p->counter[k];
		s->hw[k] = (uint32_t)t->page[REFCNT_HW][i].counter[k];
		s->wide[k] = t->page[REFCNT_WIDE][i].counter[k];
	}
}

static int
write_page(struct refcnt_table *t, size_t i, char *why)
{
	const struct refcnt_page *p = &t->page[REFCNT_EXT][i];
	unsigned home = node_of(t, p);
	struct rcb_set s;
	int64_t set;
	int err = 0;

	if (home == REFCNT_NODES)	/* no memory of this machine */
		return 0;
	if (t->file[home] == NULL)
		err = add_file(t, home, why);
	if (err < 0)
		return err;
	for (unsigned node = 0; node < t->o.topology->nodes && t->o.pid != 0;
	    node++)
		if (node != home && t->file[node] != NULL && (set =
		    set_of(t->file[node], p->vaddr)) >= 0)
			clear_set(t->file[node], (uint32_t)set, t->counters);
	set = set_of(t->file[home], p->vaddr);
	if (set < 0)	/* enabled meanwhile: in the next period's files */
		return 0;
	make_set(t, i, &s);
	err = write_set(t->file[home], (uint32_t)set, &s, t->counters);
	return err == 0 ? 0 : fail(why, err, "cannot write %s/" NAME ": %s",
	    t->folder, home, strerror(-err));
}

int
refcnt_table_write(struct refcnt_table *t, const struct refcnt *r,
    char why[REFCNT_WHY])
{
	struct refcnt_page *const page[REFCNT_PLANES] = {
		t->page[REFCNT_HW], t->page[REFCNT_EXT], t->page[REFCNT_WIDE] };
	struct refcnt_sums sums;
	uint64_t at = 0;
	size_t n;
	int err;

	refcnt_sums(r, &sums);
	t->counters = sums.counters;
	t->hw_max = sums.hw_max;
	if (sums.nodes != t->o.topology->nodes)
		return fail(why, -EINVAL, "the counters have other nodes than the "
		    "machine");
	err = follow_ranges(t, r);
	if (err < 0)
		return fail(why, err, "no memory for the ranges");
	while (err == 0 && (n = refcnt_read_planes(r, at, UINT64_MAX, page,
	    BATCH)) > 0) {
		for (size_t i = 0; err == 0 && i < n; i++)
			err = write_page(t, i, why);
		at = page[0][n - 1].vaddr + REFCNT_PAGE;
		if (at == 0)
			break;
	}
	t->periods++;
	for (unsigned node = 0; node < REFCNT_NODES; node++)
		if (t->file[node] != NULL) {
			rcb_store(t->file[node]->bytes + RCB_AT_PERIODS,
			    t->periods);
			/* Stores to a mapping may leave it as it was. */
			(void)futimens(t->file[node]->fd, NULL);
		}
	return show_files(t, err, why);
}

static bool
is_number(const char *text)
{
	return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

struct dead_files {
	void (*found)(void *, const struct refcnt_dead *);
	void *arg;
};

/* A file that is another one's, or damaged, tells nothing. */
static void
report_dead(const struct dead_files *d, int fd, const struct stat *st)
{
	union {
		uint8_t bytes[RCB_HEAD];
		uint64_t aligned;
	} head;
	const uint8_t *b = head.bytes;

	if (d->found == NULL || pread(fd, head.bytes, RCB_HEAD, 0) != RCB_HEAD ||
	    memcmp(b + RCB_AT_MAGIC, RCB_MAGIC, 8) != 0 ||
	    rcb_load(b + RCB_AT_ENDIAN) != RCB_ENDIAN ||
	    rcb_load(b + RCB_AT_VERSION) != RCB_VERSION ||
	    rcb_load(b + RCB_AT_ENDED) != 0 || rcb_load(b + RCB_AT_PID) == 0)
		return;
	d->found(d->arg, &(struct refcnt_dead){
	    .pid = (long)rcb_load(b + RCB_AT_PID),
	    .started = rcb_load64(b + RCB_AT_STARTED),
	    .wall_ms = st->st_mtim.tv_sec * INT64_C(1000) +
	    st->st_mtim.tv_nsec / 1000000 });
}

/* Nobody holds its lock, and the name is still that of this file. */
static bool
is_dead(const struct dead_files *d, int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	struct stat own, other;
	bool dead = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 &&
	    fstat(fd, &own) == 0 &&
	    fstatat(dir, name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
	    own.st_dev == other.st_dev && own.st_ino == other.st_ino;

	if (dead)
		report_dead(d, fd, &own);
	if (fd >= 0)
		close(fd);
	return dead;
}

static DIR *
open_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (dir == NULL && fd >= 0)
		close(fd);
	return dir;
}

/*
 * hidden: also files never shown.  A live process's may be about to be: made,
 * its lock not yet held.
 */
static void
remove_dead_files(const struct dead_files *d, DIR *dir, bool hidden)
{
	static const char prefix[] = "refcnt.node";
	const struct dirent *e;
	const char *name;

	while ((e = readdir(dir)) != NULL) {
		name = e->d_name + (hidden && e->d_name[0] == '.');
		if (strncmp(name, prefix, sizeof prefix - 1) == 0 &&
		    is_number(name + sizeof prefix - 1) &&
		    is_dead(d, dirfd(dir), e->d_name))
			unlinkat(dirfd(dir), e->d_name, 0);
	}
}

void
refcnt_table_remove_dead(const char *folder,
    void (*found)(void *, const struct refcnt_dead *), void *arg)
{
	const struct dead_files d = { found, arg };
	DIR *all = open_folder(AT_FDCWD, folder), *dir;
	const struct dirent *e;

	if (all == NULL)
		return;
	remove_dead_files(&d, all, false);
	rewinddir(all);
	while ((e = readdir(all)) != NULL) {
		if (!is_number(e->d_name) ||
		    (dir = open_folder(dirfd(all), e->d_name)) == NULL)
			continue;
		remove_dead_files(&d, dir, kill((pid_t)atol(e->d_name), 0) < 0 &&
		    errno == ESRCH);
		closedir(dir);
		/* Fails if a file is left. */
		unlinkat(dirfd(all), e->d_name, AT_REMOVEDIR);
	}
	closedir(all);
}
