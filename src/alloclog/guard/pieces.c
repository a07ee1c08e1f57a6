/*
 * Only private anonymous memory with read and write access is guarded, so that the
 * access of a page is known when it is opened.  The library's own memory is left out:
 * it grows down, or a fork wipes it.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "guard.h"

#ifdef GUARD_BUILT

#define BUFFER 8192
#define SPARE 4		/* the guard takes at most one in SPARE of the mappings that are left */

struct reader {
	int fd;
	size_t at, n;
	char bytes[BUFFER];
};

/* The mapping whose lines are being read. */
struct region {
	uintptr_t lo, hi;
	bool fits;
	bool of_kernel;		/* the kernel has requests of the program through it */
};

static int
next_byte(struct reader *r)
{
	long n;

	if (r->at == r->n) {
		n = CALL(SYS_read, r->fd, (long)r->bytes, sizeof(r->bytes));
		if (n <= 0)
			return -1;
		r->at = 0;
		r->n = (size_t)n;
	}
	return (unsigned char)r->bytes[r->at++];
}

/* Cuts a line that is too long.  False: there is no further line. */
static bool
next_line(struct reader *r, char *line, size_t size)
{
	size_t n = 0;
	int c;

	while ((c = next_byte(r)) != -1 && c != '\n')
		if (n + 1 < size)
			line[n++] = (char)c;
	line[n] = '\0';
	return c != -1;
}

static uintptr_t
read_hex(const char **at)
{
	uintptr_t n = 0;

	for (;; ++*at) {
		unsigned c = (unsigned char)**at;

		if (c - '0' < 10)
			n = n << 4 | (c - '0');
		else if (c - 'a' < 6)
			n = n << 4 | (c - 'a' + 10);
		else
			return n;
	}
}

static const char *
after_word(const char *at)
{
	while (*at != '\0' && *at != ' ')
		at++;
	while (*at == ' ')
		at++;
	return at;
}

static bool
begins(const char *text, const char *with)
{
	while (*with != '\0')
		if (*text++ != *with++)
			return false;
	return true;
}

/* Reads a line "lo-hi perms offset device inode name"; false: it is another one. */
static bool
read_region(const char *line, struct region *m)
{
	const char *at = line, *perms, *inode, *name;
	uintptr_t lo = read_hex(&at);

	if (at == line || *at++ != '-')
		return false;
	m->lo = lo;
	m->hi = read_hex(&at);
	perms = after_word(at);
	inode = after_word(after_word(after_word(perms)));
	name = after_word(inode);
	m->fits = begins(perms, "rw-p ") && inode[0] == '0' &&
	    (name[0] == '\0' || begins(name, "[heap]") || begins(name, "[anon"));
	m->of_kernel = begins(name, "anon_inode:[io_uring]") || begins(name, "/[aio]");
	return true;
}

static bool
has_flag(const char *line, const char *flag)
{
	for (; *line != '\0'; line++)
		if (line[0] == ' ' && line[1] == flag[0] && line[2] == flag[1])
			return true;
	return false;
}

static void
add_piece(struct pieces *p, uintptr_t lo, uintptr_t hi, uint32_t first)
{
	struct piece *last = p->n > 0 ? &p->at[p->n - 1] : NULL;

	if (last != NULL && last->hi == lo &&
	    last->first + (lo - last->lo) / GUARD_PAGE == first) {
		last->hi = hi;
	} else if (p->n < GUARD_PIECES) {
		p->at[p->n++] = (struct piece){ lo, hi, first };
	} else {
		return;
	}
	if (p->hi == 0 || lo < p->lo)
		p->lo = lo;
	if (hi > p->hi)
		p->hi = hi;
}

static void
add_region(struct guard *g, const struct region *m)
{
	for (uint32_t i = 0; i < g->ranges; i++) {
		const struct guard_range *r = &g->range[i];
		uintptr_t lo = r->at, hi = lo + (uintptr_t)r->pages * GUARD_PAGE;

		lo = lo > m->lo ? lo : m->lo;
		hi = hi < m->hi ? hi : m->hi;
		if (lo < hi)
			add_piece(&g->pieces, lo, hi, r->first +
			    (uint32_t)((lo - r->at) / GUARD_PAGE));
	}
}

static uint64_t
mappings_allowed(void)
{
	char text[32];
	uint64_t n = 0;

	if (guard_read_file("/proc/sys/vm/max_map_count", text, sizeof(text)) < 0)
		return 0;
	for (const char *at = text; *at >= '0' && *at <= '9'; at++)
		n = n * 10 + (uint64_t)(*at - '0');
	return n;
}

static uint32_t
pages_of(const struct pieces *p)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < p->n; i++)
		n += (uint32_t)((p->at[i].hi - p->at[i].lo) / GUARD_PAGE);
	return n;
}

static uint64_t
read_regions(struct guard *g, struct reader *r, bool *kernel_uses, bool *keys)
{
	struct region m = { 0 };
	uint64_t mappings = 0;
	char line[256];

	while (next_line(r, line, sizeof(line)))
		if (read_region(line, &m)) {
			mappings++;
			*kernel_uses |= m.of_kernel;
		} else if (begins(line, "ProtectionKey:")) {
			*keys |= after_word(line)[0] != '0';
		} else if (begins(line, "VmFlags:") && m.fits &&
		    !has_flag(line, "gd") && !has_flag(line, "wf") &&
		    !has_flag(line, "um") && !has_flag(line, "uw") &&
		    !has_flag(line, "ht")) {
			add_region(g, &m);
		}
	return mappings;
}

/* The kernel counts no closed page as data, so opening one may exceed the limit. */
static bool
has_data_limit(void)
{
	struct rlimit r = { 0 };

	return CALL(SYS_prlimit64, 0, RLIMIT_DATA, 0, (long)&r) == 0 &&
	    r.rlim_cur != RLIM_INFINITY;
}

static bool
refuse(struct guard *g, enum guard_why why, uint32_t detail)
{
	g->pieces.n = 0;
	guard_say(g, why, detail);
	return false;
}

bool
pieces_make(struct guard *g)
{
	struct reader r = { .fd = (int)CALL(SYS_openat, AT_FDCWD,
	    (long)"/proc/self/smaps", O_RDONLY | O_CLOEXEC) };
	uint64_t mappings, allowed = mappings_allowed();
	uint32_t asked = 0, pages;
	bool kernel_uses = false, keys = false;

	g->pieces.n = 0;
	g->pieces.lo = g->pieces.hi = 0;
	g->pieces.columns = g->columns;
	g->pieces.bank = g->bank;
	if (r.fd < 0)
		return refuse(g, GUARD_PROC, (uint32_t)-r.fd);
	mappings = read_regions(g, &r, &kernel_uses, &keys);
	(void)CALL(SYS_close, r.fd);
	for (uint32_t i = 0; i < g->ranges; i++)
		asked += g->range[i].pages;
	pages = pages_of(&g->pieces);
	atomic_store(&g->area->left_out, asked - pages);
	/* In the worst case, each page becomes a mapping of its own. */
	if (allowed < mappings || (allowed - mappings) / SPARE < pages)
		return refuse(g, GUARD_MEMORY, 0);
	if (kernel_uses)
		return refuse(g, GUARD_KERNEL_USES, 0);
	if (keys)
		return refuse(g, GUARD_KEYS, 0);
	if (has_data_limit())
		return refuse(g, GUARD_LIMIT, 0);
	return pages > 0 || refuse(g, GUARD_RANGE, 0);
}

#endif
