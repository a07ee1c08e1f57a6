/*
 * Calls that would fail because of what the library maps and cuts: mlockall(2), and
 * mremap(2) of memory whose references are counted.
 *
 * mlockall(2) within RLIMIT_MEMLOCK.  The kernel counts all mapped addresses,
 * ours too, so the call could fail only because of ours.  Then the program's
 * own mappings are locked one by one.  If the kernel locks all, ours are
 * unlocked, and later ones too (call_map_private()).
 *
 * A program without such a limit usually needs real time: then ours stay locked
 * too.
 *
 * /proc/self/smaps tells which mappings are ours: they grow down, or lie in an
 * area.  A mapping that another thread makes meanwhile is locked if it would be
 * without the library.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "hooks.h"
#include "produce/keeper_watch.h"
#include "unwind/syscalls.h"

#define BUFFER 65536	/* more than a line */
#define MOVES 100	/* that mremap(2) tries */

struct mapping {
	uintptr_t lo, hi;
	bool ours;
	bool stack;		/* the program's, which grows down as well */
};

struct walk {
	bool ours;		/* our mappings, or the program's */
	bool lock;
	unsigned flags;		/* of mlock2(2) */
	uint64_t bytes;
};

static uintptr_t
read_hex(const char **at)
{
	uintptr_t n = 0;

	for (;; ++*at) {
		unsigned c = (unsigned char)**at, digit;

		digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 16;
		if (digit == 16)
			return n;
		n = n << 4 | digit;
	}
}

static bool
has_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	for (; *line != '\0'; line++)
		if (strncmp(line, word, len) == 0)
			return true;
	return false;
}

/* The first line of a mapping; other lines have no hyphen after a number. */
static bool
read_range(const char *line, struct mapping *m)
{
	const char *at = line;
	struct mapping new = { .lo = read_hex(&at) };

	if (at == line || *at++ != '-')
		return false;
	new.hi = read_hex(&at);
	new.stack = has_word(at, "[stack]");
	new.ours = produce_was_parents(new.lo) || range_has(&real.self, new.lo) ||
	    has_word(at, "/memfd:pagek-");
	*m = new;
	return true;
}

/* Errors are the kernel's with mlockall(2) too: memory that cannot be had. */
static void
end_mapping(const struct mapping *m, struct walk *w)
{
	if (m->ours != w->ours)
		return;
	w->bytes += m->hi - m->lo;
	if (w->lock)
		(void)syscall(SYS_mlock2, m->lo, m->hi - m->lo, w->flags);
	else if (w->ours)
		(void)syscall(SYS_munlock, m->lo, m->hi - m->lo);
}

static void
read_line(const char *line, struct mapping *m, struct walk *w)
{
	if (read_range(line, m) || strncmp(line, "VmFlags:", 8) != 0)
		return;
	m->ours |= !m->stack && has_word(line, " gd");
	end_mapping(m, w);
}

/*
 * Walks all mappings; locks or unlocks those that *w selects.  False: they are
 * not known.
 */
static bool
walk_mappings(char *buffer, struct walk *w)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/smaps",
	    O_RDONLY | O_CLOEXEC);
	struct mapping m = { 0 };
	size_t have = 0, from;
	ssize_t n;

	if (fd == -1)
		return false;
	w->bytes = 0;
	while ((n = syscall(SYS_read, fd, buffer + have, BUFFER - have)) > 0) {
		have += (size_t)n;
		from = 0;
		for (size_t i = have - (size_t)n; i < have; i++) {
			if (buffer[i] != '\n')
				continue;
			buffer[i] = '\0';
			read_line(buffer + from, &m, w);
			from = i + 1;
		}
		have -= from;
		memmove(buffer, buffer + from, have);
	}
	call_close(fd);
	return n == 0 && w->bytes != 0;
}

static bool
lock_theirs(int flags, uint64_t limit, char *buffer)
{
	struct walk w = { .flags = (flags & MCL_ONFAULT) != 0 ? 1 : 0 };

	if (!walk_mappings(buffer, &w) || w.bytes > limit)
		return false;
	if ((flags & MCL_FUTURE) != 0 &&
	    syscall(SYS_mlockall, flags & ~MCL_CURRENT) != 0)
		return false;
	w.lock = true;
	return walk_mappings(buffer, &w);
}

/* rc and errno are those of the kernel's mlockall(2). */
static COLD int
lock_within(int flags, uint64_t limit, int rc)
{
	struct walk ours = { .ours = true };
	int error = errno;
	char *buffer;

	if (rc != 0 && (error != ENOMEM || (flags & MCL_CURRENT) == 0))
		return rc;
	buffer = call_map_private(BUFFER);
	if (buffer == NULL)
		return rc;
	if (rc == 0 && (flags & MCL_CURRENT) != 0)
		(void)walk_mappings(buffer, &ours);
	else if (rc != 0 && lock_theirs(flags, limit, buffer))
		rc = 0;
	call_unmap_private(buffer, BUFFER);
	if (rc == 0 && (flags & MCL_FUTURE) != 0)
		atomic_store(&libc_unlocks, true);
	errno = error;
	return rc;
}

/*
 * False too if the kernel has locked more than the limit, which root may
 * exceed.
 */
static bool
has_limit(int flags, int rc, uint64_t *bytes)
{
	struct rlimit limit;
	int saved = errno;
	bool has = syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY;

	errno = saved;
	*bytes = limit.rlim_cur;
	return has && (rc != 0 || (flags & MCL_CURRENT) == 0 ||
	    *bytes >= ring_area_size());
}

EXPORT int
mlockall(int flags)
{
	int rc = (int)syscall(SYS_mlockall, flags);
	uint64_t limit;

	if (!keeper_watch_allows_calls() || !has_limit(flags, rc, &limit))
		return rc;
	return lock_within(flags, limit, rc);
}

/* Calls the next mremap(): other libraries follow moved memory. */
static void *
move(void *old, size_t old_len, size_t new_len, int flags, void *at)
{
	if (real_known() && real.mremap != NULL)
		return real.mremap(old, old_len, new_len, flags, at);
	return (void *)syscall(SYS_mremap, old, old_len, new_len, flags, at);
}

/*
 * With cuts (produce/cuts.c) the kernel sees several mappings: EFAULT.  Another
 * thread may cut them at any time, but not for long.
 */
EXPORT void *
mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	int saved = errno;
	void *at, *r = MAP_FAILED;
	va_list ap;

	/* As in libc: whatever the registers hold goes to the kernel. */
	va_start(ap, flags);
	at = va_arg(ap, void *);
	va_end(ap);
	(void)produce_undo_cuts(old, old_len);
	for (int i = 0; i < MOVES; i++) {
		r = move(old, old_len, new_len, flags, at);
		if (r != MAP_FAILED || errno != EFAULT ||
		    !produce_undo_cuts(old, old_len))
			break;
	}
	if (r != MAP_FAILED)
		errno = saved;
	return r;
}
