#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/base.h"
#include "refs.h"
#include "writes.h"

/* Not in the headers of older kernels. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define WP_ASYNC (UINT64_C(1) << 15)	/* UFFD_FEATURE_WP_ASYNC */

struct scan_region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages,
	    category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN _IOWR('f', 16, struct scan)	/* PAGEMAP_SCAN */

enum {
	SCAN_PROTECT = 1,	/* PM_SCAN_WP_MATCHING */
	SCAN_REGISTERED = 1,	/* PAGE_IS_WPALLOWED */
	SCAN_WRITTEN = 2,	/* PAGE_IS_WRITTEN */
	SCAN_ZERO = 32,		/* PAGE_IS_PFNZERO: was only read */
	SCAN_HUGE = 64,		/* PAGE_IS_HUGE: the kernel has filled all of it at once */
};

#define REGIONS 256	/* of one call */

struct piece {
	uint64_t from, to;
};

struct pieces {
	struct piece *at;
	size_t n, cap;
};

struct writes {
	int fd;			/* the userfaultfd */
	int dir, pagemap;	/* of one image: the next one has other pages */
	struct mappings maps;
	struct refcnt_range *range;
	size_t ranges_cap;
	struct pieces armed;	/* the protected parts of ranges, by address */
	struct pieces now;
	uint64_t left_out;
};

static int
greet_kernel(int fd)
{
	struct uffdio_api api = { .api = UFFD_API, .features = WP_ASYNC };

	return ioctl(fd, UFFDIO_API, &api) == 0 ? 0 : -errno;
}

int
writes_supported(void)
{
	int fd, err;

	/* A filter may kill us for the call. */
	if (prctl(PR_GET_SECCOMP) != 0)
		return -EPERM;
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK |
	    UFFD_USER_MODE_ONLY);
	if (fd == -1)
		return errno == ENOSYS || errno == EINVAL ? -EOPNOTSUPP : -errno;
	err = greet_kernel(fd);
	close(fd);
	return err == -EINVAL ? -EOPNOTSUPP : err;
}

static int
protect(const struct writes *w, uint64_t from, uint64_t to, bool on)
{
	struct uffdio_writeprotect p = {
		.range = { .start = from, .len = to - from },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	int r;

	/* The mappings change meanwhile. */
	do
		r = ioctl(w->fd, UFFDIO_WRITEPROTECT, &p);
	while (r == -1 && errno == EAGAIN);
	return r == 0 ? 0 : -errno;
}

static int
enroll(const struct writes *w, const struct mapping *m)
{
	struct uffdio_register r = {
		.range = { .start = m->from, .len = m->to - m->from },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	return ioctl(w->fd, UFFDIO_REGISTER, &r) == 0 ? 0 : -errno;
}

/* The mapping at that address is registered with some descriptor. */
static bool
is_registered(const struct writes *w, uint64_t at)
{
	struct scan_region region;
	struct scan s = { .size = sizeof s, .start = at, .end = at + REFCNT_PAGE,
		.vec = (uintptr_t)&region, .vec_len = 1,
		.category_mask = SCAN_REGISTERED, .return_mask = SCAN_REGISTERED };

	return ioctl(w->pagemap, SCAN, &s) == 1;
}

/* Other descriptors would take our requests for theirs. */
static bool
is_userfaultfd(int fd)
{
	char path[64], name[64];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof name - 1);
	if (n < 0)
		return false;
	name[n] = '\0';
	return strcmp(name, "anon_inode:[userfaultfd]") == 0;
}

static int
open_process(struct writes *w, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	w->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->dir >= 0)
		w->pagemap = openat(w->dir, "pagemap", O_RDONLY | O_CLOEXEC);
	if (w->dir >= 0 && w->pagemap >= 0)
		return 0;
	return errno == ENOENT ? -ESRCH : -errno;
}

int
writes_open(struct writes **out, pid_t pid, int descriptor)
{
	struct writes *w = calloc(1, sizeof *w);
	int err;

	if (w == NULL) {
		close(descriptor);
		return -ENOMEM;
	}
	w->fd = descriptor;
	w->dir = w->pagemap = -1;
	err = is_userfaultfd(descriptor) && greet_kernel(descriptor) == 0 ?
	    open_process(w, pid) : -EBADF;
	if (err < 0) {
		writes_close(w);
		return err;
	}
	*out = w;
	return 0;
}

void
writes_close(struct writes *w)
{
	if (w == NULL)
		return;
	close(w->fd);
	if (w->pagemap >= 0)
		close(w->pagemap);
	if (w->dir >= 0)
		close(w->dir);
	free(w->maps.at);
	free(w->range);
	free(w->armed.at);
	free(w->now.at);
	free(w);
}

static int
read_maps(struct writes *w)
{
	int fd = openat(w->dir, "maps", O_RDONLY | O_CLOEXEC), err;

	if (fd == -1)
		return errno == ENOENT ? -ESRCH : -errno;
	err = mappings_read(fd, &w->maps);
	close(fd);
	/* The mappings that were read may be the next image's. */
	return err == 0 && !pagemap_has_image(w->pagemap) ? -ESRCH : err;
}

static int
add_piece(struct pieces *all, uint64_t from, uint64_t to)
{
	int err = base_grow((void **)&all->at, &all->cap, all->n + 1,
	    sizeof *all->at);

	if (err == 0)
		all->at[all->n++] = (struct piece){ from, to };
	return err;
}

/* Protects the parts of from..to that no piece of `but` has, or no longer. */
static int
protect_rest(const struct writes *w, uint64_t from, uint64_t to,
    const struct pieces *but, bool on)
{
	int err = 0;

	for (size_t i = 0; i < but->n && from < to && err == 0; i++) {
		const struct piece *p = &but->at[i];

		if (p->to <= from)
			continue;
		if (p->from >= to)
			break;
		if (p->from > from)
			err = protect(w, from, p->from, on);
		from = p->to;
	}
	return from < to && err == 0 ? protect(w, from, to, on) : err;
}

static bool
is_final(int err)
{
	return err == -ENOMEM || err == -ESRCH;
}

/* Protects the part of a range that lies in a mapping. */
static int
arm(struct writes *w, const struct mapping *m, uint64_t from, uint64_t to)
{
	static const struct pieces none = { 0 };
	bool ours = is_registered(w, from);
	int err = enroll(w, m);

	if (err == 0)
		err = protect_rest(w, from, to, ours ? &w->armed : &none, true);
	if (err == 0)
		return add_piece(&w->now, from, to);
	/* Nobody can write there; or it has just been unmapped. */
	if (err != -EPERM && err != -ENOENT && !is_final(err))
		w->left_out += (to - from) / REFCNT_PAGE;
	return is_final(err) ? err : 0;
}

static int
arm_range(struct writes *w, const struct refcnt_range *r, size_t *m)
{
	uint64_t end = r->vaddr + r->len;
	int err = 0;

	while (*m < w->maps.n && w->maps.at[*m].to <= r->vaddr)
		++*m;
	for (size_t k = *m; err == 0 && k < w->maps.n && w->maps.at[k].from < end;
	    k++) {
		const struct mapping *map = &w->maps.at[k];

		err = arm(w, map, map->from > r->vaddr ? map->from : r->vaddr,
		    map->to < end ? map->to : end);
	}
	return err;
}

int
writes_begin(struct writes *w, const struct refcnt *counted)
{
	size_t n = refcnt_ranges(counted, NULL, 0), m = 0;
	struct pieces before;
	int err = base_grow((void **)&w->range, &w->ranges_cap, n + 1,
	    sizeof *w->range);

	if (err != 0 || (err = read_maps(w)) != 0)
		return err;
	n = refcnt_ranges(counted, w->range, w->ranges_cap);
	n = n < w->ranges_cap ? n : w->ranges_cap;
	w->now.n = w->left_out = 0;
	for (size_t i = 0; err == 0 && i < n; i++)
		if (w->range[i].source == REFCNT_WP)
			err = arm_range(w, &w->range[i], &m);
	/* Also what an error has left half done is known as it is. */
	before = w->armed;
	w->armed = w->now;
	w->now = before;
	for (size_t i = 0; err == 0 && i < before.n; i++)
		(void)protect_rest(w, before.at[i].from, before.at[i].to,
		    &w->armed, false);
	return err;
}

uint64_t
writes_left_out(const struct writes *w)
{
	return w->left_out;
}

static void
tell(const struct scan_region *r, refcnt_touched *wrote, void *arg)
{
	if ((r->categories & SCAN_ZERO) != 0)
		return;
	for (uint64_t at = r->start; at < r->end; at += REFCNT_PAGE)
		wrote(arg, at, (r->categories & SCAN_HUGE) != 0);
}

static int
scan(const struct writes *w, const struct piece *p,
    refcnt_touched *wrote, void *arg)
{
	struct scan_region region[REGIONS];
	struct scan s = { .size = sizeof s, .flags = SCAN_PROTECT,
		.start = p->from, .end = p->to, .vec = (uintptr_t)region,
		.vec_len = REGIONS, .category_mask = SCAN_WRITTEN,
		.return_mask = SCAN_WRITTEN | SCAN_ZERO | SCAN_HUGE };
	int n;

	while (s.start < p->to) {
		s.walk_end = 0;
		n = ioctl(w->pagemap, SCAN, &s);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -errno;
		for (int i = 0; i < n; i++)
			tell(&region[i], wrote, arg);
		if (s.walk_end <= s.start)
			break;
		s.start = s.walk_end;
	}
	return 0;
}

int
writes_end(struct writes *w, refcnt_touched *wrote, void *arg)
{
	int err = pagemap_has_image(w->pagemap) ? 0 : -ESRCH;

	for (size_t i = 0; err == 0 && i < w->armed.n; i++)
		err = scan(w, &w->armed.at[i], wrote, arg);
	return err;
}
