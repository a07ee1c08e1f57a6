/* Stands alone: it becomes a library. */
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
#include <time.h>
#include <unistd.h>

#include "pk_refcnt.h"
#include "rcb.h"

#define WHY 512
#define SPINS 1000		/* while a set is being written; then a sleep for each */
#define TRIES (SPINS + 1000)
#define FILES 512
#define SEARCHES 100		/* while files are being replaced */

struct pk_rcb {
	const uint8_t *bytes;
	uint64_t len;
	int fd;
	char *path;
	struct rcb_layout at;
	pk_rcb_info_t info;
	uint64_t started;
	pk_rcb_slot_t *slot;
	uint32_t *before;	/* sets of the slots before each */
};

struct pk_target {
	pid_t pid;
	bool folder;		/* there is one */
	int files;
	pk_rcb *file[FILES];
};

static _Thread_local char why[WHY];

static int __attribute__((format(printf, 2, 3)))
fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return err;
}

const char *
pk_refcnt_why(void)
{
	return why;
}

static void
read_head(pk_rcb *r)
{
	const uint8_t *b = r->bytes;

	r->info = (pk_rcb_info_t){
		.rcb_len = rcb_load64(b + RCB_AT_LEN),
		.rcb_sw_sets = (int32_t)rcb_load(b + RCB_AT_SETS),
		.rcb_sw_counters_per_set =
		    (int32_t)rcb_load(b + RCB_AT_COUNTERS_PER_SET),
		.rcb_sw_counter_size = (int32_t)rcb_load(b + RCB_AT_COUNTER_SIZE),
		.rcb_base_pages = (int32_t)rcb_load(b + RCB_AT_BASE_PAGES),
		.rcb_base_page_size =
		    (int32_t)rcb_load(b + RCB_AT_BASE_PAGE_SIZE),
		.rcb_base_paddr = rcb_load64(b + RCB_AT_BASE_PADDR),
		.rcb_cnodeid = (int32_t)rcb_load(b + RCB_AT_CNODEID),
		.rcb_granularity = (int32_t)rcb_load(b + RCB_AT_GRANULARITY),
		.rcb_hw_counter_max = rcb_load(b + RCB_AT_HW_MAX),
		.rcb_diff_threshold = (int32_t)rcb_load(b + RCB_AT_DIFF),
		.rcb_abs_threshold = (int32_t)rcb_load(b + RCB_AT_ABS),
		.rcb_num_slots = (int32_t)rcb_load(b + RCB_AT_SLOTS),
		.nodes = rcb_load(b + RCB_AT_NODES),
		.pid = (pid_t)rcb_load(b + RCB_AT_PID),
	};
	r->started = rcb_load64(b + RCB_AT_STARTED);
}

static int
damaged(const pk_rcb *r, const char *what)
{
	return fail(-EBADMSG, "%s is damaged: %s", r->path, what);
}

/* The head says what it must, and the length and each part follow from it. */
static int
check_head(pk_rcb *r)
{
	const pk_rcb_info_t *i = &r->info;
	uint32_t counters = i->nodes <= RCB_COUNTERS ? i->nodes :
	    (i->nodes + 7) / 8;

	if (i->nodes == 0 || i->nodes > RCB_NODES ||
	    (uint32_t)i->rcb_sw_counters_per_set != counters)
		return damaged(r, "the number of nodes or counters is wrong");
	if (i->rcb_sw_counter_size != 4 || i->rcb_granularity != RCB_PAGE ||
	    (i->rcb_hw_counter_max != 0x7ff && i->rcb_hw_counter_max != 0x7ffff))
		return damaged(r, "the size of counters or pages is wrong");
	if (i->rcb_cnodeid < 0 || (uint32_t)i->rcb_cnodeid >= i->nodes ||
	    i->pid < 0)
		return damaged(r, "the node or process is wrong");
	if (i->rcb_sw_sets < 0 || i->rcb_num_slots < 0)
		return damaged(r, "the number of sets or slots is wrong");
	r->at = rcb_lay_out((uint32_t)i->rcb_sw_sets, counters,
	    (uint32_t)i->rcb_num_slots);
	if (i->rcb_len != r->at.len || r->len < r->at.len)
		return damaged(r, "it has another length than it says");
	for (int k = 0; k < RCB_PARTS; k++)
		if (rcb_load64(r->bytes + RCB_AT_PARTS + 8 * k) != r->at.at[k])
			return damaged(r, "its parts are elsewhere");
	if (rcb_load(r->bytes + RCB_AT_CHECK) !=
	    rcb_head_check(r->bytes, (uint32_t)i->rcb_num_slots))
		return damaged(r, "its checksum is wrong");
	return 0;
}

/* In order of address, whole pages, as many as sets. */
static int
check_slots(pk_rcb *r)
{
	size_t slots = (size_t)r->info.rcb_num_slots;
	uint64_t sets = 0, from = 0;

	r->slot = calloc(slots + 1, sizeof *r->slot);
	r->before = calloc(slots + 1, sizeof *r->before);
	if (r->slot == NULL || r->before == NULL)
		return fail(-ENOMEM, "no memory for the slots of %s", r->path);
	for (size_t i = 0; i < slots; i++) {
		const uint8_t *at = r->bytes + r->at.at[RCB_SLOTS] + 16 * i;
		pk_rcb_slot_t *s = &r->slot[i];

		s->base = rcb_load64(at);
		s->size = rcb_load64(at + 8);
		if (s->size == 0 || (s->base | s->size) % RCB_PAGE != 0 ||
		    s->base < from || s->size - 1 > UINT64_MAX - s->base)
			return damaged(r, "a slot is wrong");
		from = s->base + (s->size - 1);
		r->before[i] = (uint32_t)sets;
		sets += s->size / RCB_PAGE;
		if (sets > (uint64_t)r->info.rcb_sw_sets)
			break;
	}
	if (sets != (uint64_t)r->info.rcb_sw_sets)
		return damaged(r, "it has other slots than sets");
	return 0;
}

static int
check_file(pk_rcb *r)
{
	int err;

	if (r->len < RCB_PAGE || memcmp(r->bytes, RCB_MAGIC, 8) != 0)
		return fail(-EBADMSG, "%s is not a file of reference counters",
		    r->path);
	if (rcb_load(r->bytes + RCB_AT_ENDIAN) != RCB_ENDIAN)
		return damaged(r, "its byte order is wrong");
	if (rcb_load(r->bytes + RCB_AT_VERSION) != RCB_VERSION)
		return fail(-EBADMSG, "%s has version %u of the format, and this "
		    "library knows %u: install the same pagek for both", r->path,
		    rcb_load(r->bytes + RCB_AT_VERSION), RCB_VERSION);
	read_head(r);
	err = check_head(r);
	return err < 0 ? err : check_slots(r);
}

static int
map_file(pk_rcb *r)
{
	struct stat st;
	void *p;

	r->fd = open(r->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return fail(-errno, "cannot open %s: %s", r->path,
		    strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size < RCB_PAGE)
		return fail(-EBADMSG, "%s is not a file of reference counters",
		    r->path);
	r->len = (uint64_t)st.st_size;
	if (r->len > SIZE_MAX)
		return fail(-EFBIG, "%s is larger than the address space of this "
		    "program", r->path);
	p = mmap(NULL, (size_t)r->len, PROT_READ, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED)
		return fail(-errno, "cannot map %s: %s", r->path,
		    strerror(errno));
	r->bytes = p;
	return check_file(r);
}

int
pk_rcb_map(pk_rcb **out, const char *path)
{
	pk_rcb *r = calloc(1, sizeof *r);
	int err;

	if (r == NULL)
		return fail(-ENOMEM, "no memory to open %s", path);
	r->fd = -1;
	r->path = strdup(path);
	err = r->path == NULL ? fail(-ENOMEM, "no memory to open %s", path) :
	    map_file(r);
	if (err < 0)
		pk_rcb_unmap(r);
	else
		*out = r;
	return err;
}

void
pk_rcb_unmap(pk_rcb *r)
{
	if (r == NULL)
		return;
	if (r->bytes != NULL)
		munmap((void *)(uintptr_t)r->bytes, (size_t)r->len);
	if (r->fd >= 0)
		close(r->fd);
	free(r->slot);
	free(r->before);
	free(r->path);
	free(r);
}

int
pk_rcb_slot(const pk_rcb *r, int slot, pk_rcb_slot_t *out)
{
	if (slot < 0 || slot >= r->info.rcb_num_slots)
		return fail(-EINVAL, "%s has no slot %d", r->path, slot);
	*out = r->slot[slot];
	return 0;
}

int
pk_rcb_index(const pk_rcb *r, uint64_t addr)
{
	int from = 0, to = r->info.rcb_num_slots;

	/* The last slot that begins at the address or before it. */
	while (from < to) {
		int middle = from + (to - from) / 2;

		if (r->slot[middle].base <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0 || addr - r->slot[from - 1].base >= r->slot[from - 1].size)
		return -1;
	return (int)(r->before[from - 1] +
	    (addr - r->slot[from - 1].base) / RCB_PAGE);
}

uint64_t
pk_rcb_addr(const pk_rcb *r, int set)
{
	int slot = 0;

	if (set < 0 || set >= r->info.rcb_sw_sets)
		return 0;
	for (int to = r->info.rcb_num_slots; to - slot > 1; ) {
		int middle = slot + (to - slot) / 2;

		if (r->before[middle] <= (uint32_t)set)
			slot = middle;
		else
			to = middle;
	}
	return r->slot[slot].base +
	    ((uint32_t)set - r->before[slot]) * (uint64_t)RCB_PAGE;
}

static const uint8_t *
word_of(const pk_rcb *r, enum rcb_part part, int set)
{
	return r->bytes + r->at.at[part] + 4 * (uint64_t)(uint32_t)set;
}

/* The first set from this one on whose state lies in no hole: reading one fills it. */
static int
skip_hole(const pk_rcb *r, int set)
{
	uint64_t from = r->at.at[RCB_STATES];
	off_t at = (off_t)(from + 4 * (uint64_t)(uint32_t)set);
	off_t data = lseek(r->fd, at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? r->info.rcb_sw_sets : set;
	if ((uint64_t)data >= from + 4 * (uint64_t)(uint32_t)r->info.rcb_sw_sets)
		return r->info.rcb_sw_sets;
	return data > at ? (int)(((uint64_t)data - from) / 4) : set;
}

int
pk_rcb_next(const pk_rcb *r, int set)
{
	if (set < 0)
		set = 0;
	for (bool first = true; set < r->info.rcb_sw_sets; set++) {
		if (first || set % (int)(RCB_PAGE / 4) == 0)
			set = skip_hole(r, set);
		first = false;
		if (set < r->info.rcb_sw_sets &&
		    rcb_load(word_of(r, RCB_STATES, set)) != 0)
			return set;
	}
	return -1;
}

static void
load_set(const pk_rcb *r, int set, struct rcb_set *s)
{
	uint32_t counters = (uint32_t)r->info.rcb_sw_counters_per_set;
	uint64_t first = (uint64_t)(uint32_t)set * counters;

	s->state = rcb_load(word_of(r, RCB_STATES, set));
	if (s->state == 0)
		return;
	for (uint32_t i = 0; i < counters; i++) {
		s->ext[i] = rcb_load(r->bytes + r->at.at[RCB_COUNTERS_PART] +
		    4 * (first + i));
		s->hw[i] = rcb_load(r->bytes + r->at.at[RCB_HARDWARE] +
		    4 * (first + i));
		s->wide[i] = rcb_load64(r->bytes + r->at.at[RCB_WIDE] +
		    8 * (first + i));
	}
}

/* True for a set as writers make it: its checksum, and each plane in its bounds. */
static bool
is_whole(const pk_rcb *r, int set, const struct rcb_set *s, uint32_t check)
{
	uint32_t counters = (uint32_t)r->info.rcb_sw_counters_per_set;

	if (s->state == 0)
		return check == 0;
	if ((s->state & RCB_VALID) == 0 || check != rcb_check_of((uint32_t)set, s,
	    counters))
		return false;
	for (uint32_t i = 0; i < counters; i++)
		if (s->hw[i] > r->info.rcb_hw_counter_max ||
		    (uint64_t)s->hw[i] + s->ext[i] > s->wide[i])
			return false;
	return true;
}

/* A writer holds a lock on its file, so nobody has to guess whether it lives. */
static bool
is_written(const pk_rcb *r)
{
	if (rcb_load(r->bytes + RCB_AT_ENDED) != 0)
		return false;
	if (flock(r->fd, LOCK_SH | LOCK_NB) < 0)
		return true;
	flock(r->fd, LOCK_UN);
	return false;
}

void
pk_rcb_info(const pk_rcb *r, pk_rcb_info_t *info)
{
	*info = r->info;
	info->periods = rcb_load(r->bytes + RCB_AT_PERIODS);
	info->ended = !is_written(r);
}

/* 0: read the set again, for its writer may have been off its processor. */
static int
wait_for_writer(const pk_rcb *r, int tries)
{
	if (tries < SPINS)
		return 0;
	if (!is_written(r))
		return fail(-EAGAIN, "a set of %s was never finished: its node "
		    "has died", r->path);
	if (tries + 1 == TRIES)
		return fail(-EAGAIN, "a set of %s is being written for more than "
		    "a second", r->path);
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return 0;
}

/* A set of one moment.  The state is 0 if the page is not counted. */
static int
read_set(const pk_rcb *r, int set, struct rcb_set *s)
{
	uint32_t before, check;
	struct stat st;
	int err = 0;

	if (set < 0 || set >= r->info.rcb_sw_sets)
		return fail(-EINVAL, "%s has no set %d", r->path, set);
	if (fstat(r->fd, &st) < 0 || (uint64_t)st.st_size < r->at.len)
		return damaged(r, "it was cut while it was mapped");
	for (int tries = 0; err == 0; tries++) {
		before = rcb_load(word_of(r, RCB_SEQUENCES, set));
		if ((before & 1) == 0) {
			load_set(r, set, s);
			check = rcb_load(word_of(r, RCB_CHECKS, set));
			if (rcb_load(word_of(r, RCB_SEQUENCES, set)) == before)
				return is_whole(r, set, s, check) ? 0 :
				    damaged(r, "a set is not as its checksum "
				    "says");
		}
		err = wait_for_writer(r, tries);
	}
	return err;
}

static uint64_t
flags_of(const pk_rcb *r, const struct rcb_set *s)
{
	if (s->state == 0)
		return r->info.pid != 0 ? RCB_NO_PADDR : 0;
	return s->state & RCB_FLAGS & ~RCB_SATURATED;
}

static int
check_plane(int plane)
{
	return plane == PK_REFCNT_HW || plane == PK_REFCNT_EXT ? 0 :
	    fail(-EINVAL, "there is no plane %d of counters", plane);
}

int
pk_rcb_get(const pk_rcb *r, int set, int plane, pk_refcnt_buf_t *buf)
{
	uint32_t most = plane == PK_REFCNT_HW ? r->info.rcb_hw_counter_max :
	    UINT32_MAX;
	struct rcb_set s;
	int err = check_plane(plane);

	if (err == 0)
		err = read_set(r, set, &s);
	if (err < 0)
		return err;
	memset(buf, 0, sizeof *buf);
	buf->refcnt_set.flags = flags_of(r, &s);
	buf->page_size = s.state == 0 ? RCB_PAGE :
	    UINT64_C(1) << (s.state >> 24 & 63);
	buf->cnodeid = s.state & RCB_NO_HOME || (s.state == 0 &&
	    r->info.pid != 0) ? -1 : r->info.rcb_cnodeid;
	if (r->info.pid == 0)
		buf->paddr = pk_rcb_addr(r, set);
	for (int i = 0; s.state != 0 && i < r->info.rcb_sw_counters_per_set;
	    i++) {
		buf->refcnt_set.refcnt[i] = plane == PK_REFCNT_HW ? s.hw[i] :
		    s.ext[i];
		if (buf->refcnt_set.refcnt[i] == most)
			buf->refcnt_set.flags |= RCB_SATURATED;
	}
	return 0;
}

int
pk_rcb_get_wide(const pk_rcb *r, int set, pk_refcnt_wide_t *buf)
{
	struct rcb_set s;
	int err = read_set(r, set, &s);

	if (err < 0)
		return err;
	memset(buf, 0, sizeof *buf);
	buf->flags = flags_of(r, &s);
	for (int i = 0; s.state != 0 && i < r->info.rcb_sw_counters_per_set;
	    i++) {
		buf->refcnt[i] = s.wide[i];
		if (s.wide[i] == UINT64_MAX)
			buf->flags |= RCB_SATURATED;
	}
	return 0;
}

/* Clock ticks from the boot to the start of the process; 0: not known. */
static uint64_t
process_started(pid_t pid)
{
	char path[64], text[1024], *at;
	unsigned long long started = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	at = strrchr(text, ')');	/* a name may have any other character */
	if (at == NULL || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
	    "%*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &started) != 1)
		return 0;
	return started;
}

static void
drop_files(pk_target *t)
{
	for (int i = 0; i < t->files; i++)
		pk_rcb_unmap(t->file[i]);
	t->files = 0;
}

/* One file of the folder, if it is of this process and written. */
static int
add_file(pk_target *t, const char *folder, const char *name)
{
	char path[PATH_MAX];
	uint64_t started;
	pk_rcb *r;
	int err;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	err = pk_rcb_map(&r, path);
	if (err < 0)
		return err == -ENOENT ? 0 : err;
	started = process_started(t->pid);
	if (r->info.pid != t->pid)
		err = fail(-EBADMSG, "%s is of another process, %ld", path,
		    (long)r->info.pid);
	else if (!is_written(r) || (started != 0 && r->started != 0 &&
	    started != r->started) || t->files == FILES)
		pk_rcb_unmap(r);
	else
		t->file[t->files++] = r;
	if (err < 0)
		pk_rcb_unmap(r);
	return err;
}

static int
add_folder(pk_target *t, const char *above)
{
	char folder[PATH_MAX - 300];
	struct dirent *e;
	struct stat st;
	int err = 0;
	DIR *dir;

	snprintf(folder, sizeof folder, "%s/refcnt/%ld", above, (long)t->pid);
	dir = opendir(folder);
	if (dir == NULL)
		return errno == ENOENT || errno == ENOTDIR ? 0 :
		    fail(-errno, "cannot read %s: %s", folder, strerror(errno));
	t->folder = true;
	if (fstat(dirfd(dir), &st) == 0 && st.st_uid != geteuid() &&
	    st.st_uid != 0)
		err = fail(-EPERM, "%s belongs to another user", folder);
	while (err == 0 && (e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, "refcnt.node", 11) == 0)
			err = add_file(t, folder, e->d_name);
	closedir(dir);
	return err;
}

/* The folders of a user's nodes, and that of the machine's node. */
static int
add_folders(pk_target *t)
{
	const char *run = secure_getenv("XDG_RUNTIME_DIR");
	char above[PATH_MAX - 400];
	int err = 0;

	if (run != NULL && run[0] == '/') {
		snprintf(above, sizeof above, "%s/pagek", run);
		err = add_folder(t, above);
	}
	if (err == 0 && t->files == 0) {
		snprintf(above, sizeof above, "/tmp/pagek-%lu",
		    (unsigned long)geteuid());
		err = add_folder(t, above);
	}
	if (err == 0 && t->files == 0)
		err = add_folder(t, "/run/pagek");
	return err;
}

static int
find_files(pk_target *t)
{
	int err = 0;

	drop_files(t);
	if (kill(t->pid, 0) < 0 && errno == ESRCH)
		return fail(-ESRCH, "process %ld is not running", (long)t->pid);
	for (int i = 0; i < SEARCHES && err == 0 && t->files == 0; i++) {
		t->folder = false;
		err = add_folders(t);
		if (!t->folder)
			break;
	}
	if (err == 0 && t->files == 0)
		err = fail(-ENOENT, "nothing of process %ld is counted: "
		    "'pagek refcnt --enable pid:%ld ADDRESS LENGTH' starts it",
		    (long)t->pid, (long)t->pid);
	if (err < 0)
		drop_files(t);
	return err;
}

int
pk_refcnt_open(pk_target **out, pid_t pid)
{
	pk_target *t;
	int err;

	if (pid <= 0)
		return fail(-EINVAL, "%ld is not a process id", (long)pid);
	t = calloc(1, sizeof *t);
	if (t == NULL)
		return fail(-ENOMEM, "no memory for a target");
	t->pid = pid;
	err = find_files(t);
	if (err < 0)
		free(t);
	else
		*out = t;
	return err;
}

void
pk_refcnt_close(pk_target *t)
{
	if (t == NULL)
		return;
	drop_files(t);
	free(t);
}

/* Files are replaced when other ranges are counted. */
static int
follow_files(pk_target *t)
{
	for (int i = 0; i < t->files; i++)
		if (!is_written(t->file[i]))
			return find_files(t);
	return t->files > 0 ? 0 : find_files(t);
}

/* Pages of the range, or an error. */
static int
count_pages(uint64_t vaddr, long len, const void *buf)
{
	uint64_t pages;

	if (len == 0)
		return 0;
	if (len < 0 || buf == NULL ||
	    (unsigned long)len - 1 > UINTPTR_MAX - vaddr)
		return fail(-EINVAL, "%ld bytes from 0x%llx are no range", len,
		    (unsigned long long)vaddr);
	pages = (vaddr + (unsigned long)(len - 1)) / RCB_PAGE - vaddr / RCB_PAGE +
	    1;
	if (pages > INT_MAX)
		return fail(-E2BIG, "%ld bytes are too many pages at once", len);
	return (int)pages;
}

/* The file that counts the page, and its set; a page has one home at a time. */
static int
find_set(const pk_target *t, uint64_t vaddr, const pk_rcb **file)
{
	int set, found = -1;

	for (int i = 0; i < t->files; i++) {
		set = pk_rcb_index(t->file[i], vaddr);
		if (set < 0)
			continue;
		*file = t->file[i];
		found = set;
		if (rcb_load(word_of(t->file[i], RCB_STATES, set)) & RCB_VALID)
			break;
	}
	return found;
}

/* True if the kernel says that the page is not in memory. */
static bool
is_absent(int pagemap, uint64_t vaddr)
{
	uint64_t entry;

	return pagemap >= 0 && pread(pagemap, &entry, sizeof entry,
	    (off_t)(vaddr / (uint64_t)sysconf(_SC_PAGESIZE) * 8)) ==
	    (ssize_t)sizeof entry && entry >> 63 == 0;
}

static int
open_pagemap(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%ld/pagemap", (long)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int
pk_refcnt_get(pk_target *t, int plane, pk_refcnt_args_t *args)
{
	uint64_t vaddr = (uintptr_t)args->vaddr & ~(uint64_t)(RCB_PAGE - 1);
	int pages = count_pages((uintptr_t)args->vaddr, args->len, args->buf);
	int pagemap, err = check_plane(plane);

	if (err == 0)
		err = pages <= 0 ? pages : follow_files(t);
	if (pages <= 0 || err < 0)
		return err;
	pagemap = open_pagemap(t->pid);
	for (int i = 0; i < pages && err == 0; i++, vaddr += RCB_PAGE) {
		pk_refcnt_buf_t *b = &args->buf[i];
		const pk_rcb *file;
		int set = find_set(t, vaddr, &file);

		if (set >= 0)
			err = pk_rcb_get(file, set, plane, b);
		else
			*b = (pk_refcnt_buf_t){ .page_size = RCB_PAGE,
			    .refcnt_set.flags = RCB_NO_PADDR, .cnodeid = -1 };
		if (err == 0 && (b->refcnt_set.flags & RCB_VALID) == 0 &&
		    is_absent(pagemap, vaddr))
			b->refcnt_set.flags |= PK_REFCNT_NOT_PRESENT;
	}
	if (pagemap >= 0)
		close(pagemap);
	return err < 0 ? err : pages;
}

int
pk_refcnt_get_wide(pk_target *t, const void *start, long len,
    pk_refcnt_wide_t *buf)
{
	uint64_t vaddr = (uintptr_t)start & ~(uint64_t)(RCB_PAGE - 1);
	int pages = count_pages((uintptr_t)start, len, buf);
	int pagemap, err = pages <= 0 ? pages : follow_files(t);

	if (pages <= 0 || err < 0)
		return err;
	pagemap = open_pagemap(t->pid);
	for (int i = 0; i < pages && err == 0; i++, vaddr += RCB_PAGE) {
		const pk_rcb *file;
		int set = find_set(t, vaddr, &file);

		if (set >= 0)
			err = pk_rcb_get_wide(file, set, &buf[i]);
		else
			buf[i] = (pk_refcnt_wide_t){ .flags = RCB_NO_PADDR };
		if (err == 0 && (buf[i].flags & RCB_VALID) == 0 &&
		    is_absent(pagemap, vaddr))
			buf[i].flags |= PK_REFCNT_NOT_PRESENT;
	}
	if (pagemap >= 0)
		close(pagemap);
	return err < 0 ? err : pages;
}
