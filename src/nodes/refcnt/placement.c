/*
 * The places of pages: the home node by move_pages(2), the frame by
 * /proc/PID/pagemap, which tells it to privileged readers alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../base/base.h"
#include "worker.h"

#define STEP 2048	/* pages of one step */
#define BATCH 128	/* pages of one call */
#define MOVE_OWN (1 << 1)	/* MPOL_MF_MOVE of <linux/mempolicy.h>: pages of this process alone */

#define ADDRESS_BITS_MOST 57	/* x86-64 with five levels of page tables, and one more */
#define ADDRESS_BITS_LEAST 36

#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_FRAME ((UINT64_C(1) << 55) - 1)

/*
 * A page below each power of two is tried, from the largest one on.  By syscall(2), for
 * the thread sanitizer ends a process that asks for such addresses by mmap(3).
 */
uint64_t
node_refcnt_address_end(void)
{
	static uint64_t end;		/* 0: not tried yet, or nothing is known */
	long page = sysconf(_SC_PAGESIZE);

	for (unsigned bits = ADDRESS_BITS_MOST; end == 0 &&
	    bits >= ADDRESS_BITS_LEAST && bits < sizeof(long) * 8; bits--) {
		long at = (1L << bits) - 2 * page;
		long got = syscall(SYS_mmap, at, page, PROT_NONE, MAP_PRIVATE |
		    MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1L, 0L);

		if (got == at || (got == -1 && errno == EEXIST))
			end = UINT64_C(1) << bits;
		if (got != -1)
			syscall(SYS_munmap, got, page);
	}
	return end;
}

struct placement {
	int pid;
	const struct refcnt_topology *topology;
	int pagemap;			/* -1: not to be read */
	bool frames;			/* it has told one */
	uint64_t at;			/* address to go on with */
	struct refcnt_page page[BATCH];
};

int
placement_new(struct placement **out, int pid,
    const struct refcnt_topology *topology)
{
	struct placement *p = calloc(1, sizeof *p);
	char path[64];

	if (p == NULL)
		return -ENOMEM;
	p->pid = pid;
	p->topology = topology;
	snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
	p->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	*out = p;
	return 0;
}

void
placement_free(struct placement *p)
{
	if (p == NULL)
		return;
	if (p->pagemap >= 0)
		close(p->pagemap);
	free(p);
}

/* Nodes of these pages; node NULL: tells where they are.  Untouched on failure. */
static int
move_pages(int pid, size_t n, uint64_t first, const struct refcnt_page *page,
    const int *node, int *status)
{
	void *at[BATCH];

	for (size_t i = 0; i < n; i++)
		at[i] = (void *)(uintptr_t)(page != NULL ? page[i].vaddr :
		    first + i * REFCNT_PAGE);
	return syscall(SYS_move_pages, pid, (unsigned long)n, at, node, status,
	    node == NULL ? 0 : MOVE_OWN) < 0 ? -errno : 0;
}

/* 0: not present, or not known. */
static uint64_t
read_entry(const struct placement *p, uint64_t vaddr)
{
	uint64_t entry, page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (p->pagemap < 0 || pread(p->pagemap, &entry, sizeof entry,
	    (off_t)(vaddr / page * sizeof entry)) != sizeof entry)
		return 0;
	return entry;
}

/*
 * move_pages(2) does not find a page whose access rights automatic NUMA balancing has
 * removed.  -1: the frame belongs to no slot of memory.
 */
static int32_t
home_of_frame(const struct refcnt_topology *t, uint64_t paddr)
{
	for (unsigned node = 0; paddr != 0 && node < t->nodes; node++)
		for (size_t i = 0; i < t->node[node].slots; i++)
			if (paddr - t->node[node].slot[i].base <
			    t->node[node].slot[i].size)
				return (int32_t)node;
	return -1;
}

static void
place(struct placement *p, struct refcnt *counts, const struct refcnt_page *page,
    int status)
{
	uint64_t entry = read_entry(p, page->vaddr);
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t frame = entry & ENTRY_FRAME, paddr = 0;
	bool present = (entry & ENTRY_PRESENT) != 0 ||
	    (p->pagemap < 0 && status >= 0);
	uint32_t flags = present ? 0 : REFCNT_NOT_PRESENT;

	if (present && frame != 0) {
		paddr = frame * size + page->vaddr % size;
		p->frames = true;
	} else {
		flags |= REFCNT_NO_PADDR;
	}
	refcnt_place(counts, page->vaddr, paddr, size, !present ? -1 :
	    status >= 0 ? refcnt_home_of(p->topology, status) :
	    home_of_frame(p->topology, paddr), flags);
}

bool
placement_has_frames(const struct placement *p)
{
	return p->frames;
}

void
placement_step(struct placement *p, struct refcnt *counts)
{
	int status[BATCH];
	size_t n = 0, sum;

	for (sum = 0; sum < STEP; sum += n) {
		n = refcnt_read(counts, p->at, UINT64_MAX, REFCNT_WIDE, p->page,
		    BATCH);
		if (n == 0)
			break;
		for (size_t i = 0; i < n; i++)
			status[i] = -ENOENT;
		(void)move_pages(p->pid, n, 0, p->page, NULL, status);
		for (size_t i = 0; i < n; i++)
			place(p, counts, &p->page[i], status[i]);
		p->at = p->page[n - 1].vaddr + REFCNT_PAGE;
	}
	if (n == 0)
		p->at = 0;
}

int
node_refcnt_move(int pid, uint64_t vaddr, uint64_t len, unsigned node,
    struct node_refcnt_moved *out)
{
	uint64_t at = vaddr / REFCNT_PAGE * REFCNT_PAGE;
	uint64_t left = (vaddr - at + (len - 1)) / REFCNT_PAGE + 1;
	int to[BATCH], status[BATCH], err;

	*out = (struct node_refcnt_moved){ .moved = 0 };
	if (left > NODE_REFCNT_PAGES)
		return -E2BIG;
	while (left > 0) {
		size_t n = left < BATCH ? left : BATCH;

		for (size_t i = 0; i < n; i++) {
			to[i] = (int)node;
			status[i] = -ENOENT;
		}
		err = move_pages(pid, n, at, NULL, to, status);
		if (err < 0)
			return err;
		for (size_t i = 0; i < n; i++) {
			bool there = status[i] == (int)node;

			out->moved += there;
			out->left += !there;
			if (!there && out->error == 0)
				out->error = status[i] < 0 ? status[i] : -EBUSY;
		}
		at += n * REFCNT_PAGE;
		left -= n;
	}
	return 0;
}
