/*
 * refcnt: counters of the references to memory pages, by page and by the node that
 * refers to it, as in "Memory Reference Counters", refcnt(5) of IRIX.
 *
 *	model.c		the counted ranges and the counters of their pages; pages on
 *			the wire
 *	attribution.h	which counts belong to which blocks
 *	topology.c	the machine's nodes: their memory and processors
 *	table.c		the files refcnt.nodeN, for other programs to map
 *	rcb.h		the layout of such a file
 *	pk_refcnt.h	the library that reads them, for other programs
 *	import.h	exact counts from valgrind's or QEMU's text
 *	refs.h		a process's accessed bits, in epochs; mappings.c reads smaps
 *	writes.h	the pages that a process writes to, in epochs
 *	guard/		first touches of closed pages, or each, by read or write and node
 *	hint/		samples of automatic NUMA balancing
 *
 * This room has the model and its sources.  ../nodes/refcnt counts targets with them,
 * ../pagek/refcnt is page R, ../pagek/commands/refcnt and stale are the commands.
 *
 * Vocabulary
 *	page		REFCNT_PAGE bytes, a "hardware page" of the note.
 *	set		the counters of one page: one for each node, or one for each 8
 *			nodes where there are more than 64.
 *	hardware	the plane of counters of 11 or 19 bits that peg at their
 *			maximum.  At a threshold near it an interrupt is pending.
 *	extended	the plane of 32-bit counters behind them: the interrupt adds
 *			the whole set to it, and sets the hardware's counters to zero.
 *			It lags by the hardware's maximum at most.
 *	wide		the plane of 64-bit counters that miss nothing.
 *	node		a memory node, or a group of processors in its place.
 *	source		how references are noticed; it has a unit.
 *	range		pages that somebody asked to count.  No other page is counted,
 *			and no other page has a counter.
 *	home		the node on which a page lies.
 *	period		the time that a source counts at once.
 *	heat		digits of a page, one for each period: 9 the hottest page of
 *			that period, 0 not referenced (refcnt_period()).
 *
 * Counters are kept by virtual page, for a frame is not known without privilege.
 * With physical addresses in place of virtual ones another struct refcnt counts
 * frames: then the counts stay with the frame when a page moves, as in the note.
 *
 * Functions of the model may be called by any thread at any time between
 * refcnt_new() and refcnt_free(), also the const ones: a lock inside is held for one
 * call.  So a worker counts while others read.  A refcnt_read() copies counts of one
 * moment; two calls do not.  Short calls: only refcnt_enable() takes memory, and
 * only it, refcnt_period() and a refcnt_read() of many pages take milliseconds.
 *
 * Example
 *	refcnt_new(&r, 2, REFCNT_STANDARD);
 *	refcnt_enable(r, vaddr, len, REFCNT_REFS, now_ms);
 *	for each page that was referenced:
 *		refcnt_count(r, page, node, 1, 0, now_ms);
 *	refcnt_period(r, now_ms);
 *	for (at = 0; (n = refcnt_read(r, at, UINT64_MAX, REFCNT_WIDE, page, 64)) > 0;
 *	    at = page[n - 1].vaddr + REFCNT_PAGE)
 *		show(page, n);
 *	refcnt_free(r);
 */
#ifndef REFCNT_H
#define REFCNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REFCNT_PAGE 4096
#define REFCNT_NODES 512	/* at most */
#define REFCNT_COUNTERS 64	/* of a set, at most */
#define REFCNT_PAGES_MAX (UINT32_C(1) << 20)	/* counted at once */
#define REFCNT_HEAT 16		/* digits */

/* Width of the hardware's counters: 11 or 19 bits; with more than 16 nodes 19. */
enum refcnt_memory {
	REFCNT_STANDARD,
	REFCNT_PREMIUM,
};

enum refcnt_source {
	REFCNT_IMPORT,		/* a trace of another program */
	REFCNT_REFS,		/* accessed bits of the page tables: clear_refs, smaps */
	REFCNT_GUARD,		/* first touch of a protected page */
	REFCNT_WP,		/* writes to write-protected pages */
	REFCNT_EXACT,		/* single steps over protected pages */
	REFCNT_HINT,		/* faults of automatic NUMA balancing */
	REFCNT_SOURCES,
};

struct refcnt_source_row {
	const char *name;	/* "refs", for options and data */
	const char *text;	/* for people */
	const char *unit;	/* "references", "samples", "epochs" */
	bool node;		/* tells which node */
	bool write;		/* tells writes from reads */
	bool read;		/* notices reads; else a page may be used without a count */
};

extern const struct refcnt_source_row refcnt_sources[REFCNT_SOURCES];

enum refcnt_plane {
	REFCNT_HW,
	REFCNT_EXT,
	REFCNT_WIDE,
	REFCNT_PLANES,
};

extern const char *const refcnt_planes[REFCNT_PLANES];	/* "hw", "ext", "wide" */

enum {
	REFCNT_VALID = 1,	/* the page is counted */
	REFCNT_SAMPLED = 2,	/* the unit is not references */
	REFCNT_NO_PADDR = 4,	/* its physical address is not known */
	REFCNT_NOT_PRESENT = 8,	/* it is not in memory */
	REFCNT_MOVED = 16,	/* it was in another frame or on another node before */
	REFCNT_SATURATED = 32,	/* a counter of this plane is at its maximum */
	REFCNT_COARSE = 64,	/* counts may be of pages around it */
	REFCNT_GROUPED = 128,	/* a counter is of 8 nodes */
	REFCNT_NO_NODE = 256,	/* the source tells no node: counter 0 has all of it */
};

struct refcnt;

/* 1 to REFCNT_NODES nodes.  -EINVAL, -ENOMEM. */
int refcnt_new(struct refcnt **, unsigned nodes, enum refcnt_memory);
void refcnt_free(struct refcnt *);

/*
 * Counts a range, widened to whole pages, from zero; pages of the same source
 * go on.  All or nothing: -EINVAL: zero bytes, an end beyond 2^64, no such
 * source; -EBUSY: another source's; -E2BIG: over REFCNT_PAGES_MAX; -ENOMEM.
 */
int refcnt_enable(struct refcnt *, uint64_t vaddr, uint64_t len,
    enum refcnt_source, int64_t now_ms);
/* Forgets the counters of these pages; others have none.  -EINVAL as above. */
int refcnt_disable(struct refcnt *, uint64_t vaddr, uint64_t len);
bool refcnt_counts(const struct refcnt *, uint64_t vaddr);
/* How many pages of a range are counted; 0 for a bad one. */
uint64_t refcnt_counted(const struct refcnt *, uint64_t vaddr, uint64_t len);

/*
 * Adds references from a node.  False: the page is not counted, or no such
 * node; nothing is added.  Sources without nodes give any, those without
 * writes give all as reads.
 */
bool refcnt_count(struct refcnt *, uint64_t vaddr, unsigned node, uint64_t reads,
    uint64_t writes, int64_t now_ms);

/*
 * cnodeid: the home, -1 unknown. flags: NO_PADDR (paddr 0), NOT_PRESENT,
 * COARSE: counts may be others'; COARSE and MOVED stay until disabled.
 */
void refcnt_place(struct refcnt *, uint64_t vaddr, uint64_t paddr,
    uint64_t page_size, int32_t cnodeid, uint32_t flags);
/* Marks the counts of a page as COARSE. */
void refcnt_coarse(struct refcnt *, uint64_t vaddr);

/* A source tells a page that was touched in an epoch, or one of its neighbours was. */
typedef void refcnt_touched(void *arg, uint64_t vaddr, bool coarse);

/* Ends a period: the heat of each page moves on by one digit. */
void refcnt_period(struct refcnt *, int64_t now_ms);

struct refcnt_page {
	uint64_t vaddr;
	uint64_t paddr;		/* 0 with NO_PADDR */
	uint64_t page_size;	/* bytes of the page that maps it */
	uint64_t heat;		/* REFCNT_HEAT nibbles 0 to 9, the last period lowest */
	uint64_t reads, writes;	/* of all nodes, since counting began */
	uint64_t counter[REFCNT_COUNTERS];
	int64_t since_ms;	/* counting of this page began */
	int64_t last_ms;	/* last reference since then; -1: none */
	int32_t cnodeid;	/* home, -1: not known */
	uint32_t flags;
	uint8_t counters;	/* of the set */
	uint8_t source;		/* enum refcnt_source */
};

/* A digit of the heat; period 0 is the last one.  9: the hottest page; 0: none. */
static inline unsigned
refcnt_heat(uint64_t heat, unsigned period)
{
	return (unsigned)(heat >> 4 * period) & 15;
}

/* The page of that address.  False: it is not counted, a set of zeros without VALID. */
bool refcnt_page(const struct refcnt *, uint64_t vaddr, enum refcnt_plane,
    struct refcnt_page *);
/* The first max counted pages from..to - 1, by address; returns how many. */
size_t refcnt_read(const struct refcnt *, uint64_t from, uint64_t to,
    enum refcnt_plane, struct refcnt_page *, size_t max);

struct refcnt_range {
	uint64_t vaddr, len;	/* whole pages */
	enum refcnt_source source;
	int64_t since_ms;	/* all of it is counted since then at least */
};

/* The ranges by address; neighbours of one source are one.  Returns how many there are. */
size_t refcnt_ranges(const struct refcnt *, struct refcnt_range *, size_t max);
bool refcnt_has(const struct refcnt *, enum refcnt_source);
/* How many, where all are of one source; unlike the above it looks at no page. */
size_t refcnt_spans(const struct refcnt *);

struct refcnt_sums {
	unsigned nodes;
	unsigned counters;	/* of a set */
	uint32_t hw_max;	/* 0x7ff or 0x7ffff */
	unsigned hw_bits;	/* 11 or 19 */
	size_t pages;		/* counted now */
	size_t memory;		/* bytes for them */
	uint64_t periods;	/* ended so far */
	int64_t period_ms;	/* when the last one ended; 0: none has */
};

void refcnt_sums(const struct refcnt *, struct refcnt_sums *);

/* --- topology (topology.c) ---------------------------------------------------- */

#define REFCNT_NAME 128		/* bytes of a node's name */
#define REFCNT_WHY 256		/* bytes of a sentence */

/* Physical memory without a hole. */
struct refcnt_slot {
	uint64_t base, size;	/* bytes */
};

struct refcnt_node {
	char name[REFCNT_NAME];	/* "node0", "cpus 0-1,4" */
	uint64_t bytes;		/* of its slots, or without slots as the kernel has it */
	struct refcnt_slot *slot;	/* by address */
	size_t slots;		/* 0: not known, or no memory */
};

/*
 * By cnodeid: the kernel's online nodes, by number; or groups of processors.
 * A group has the memory of the nodes whose first processor it has.
 */
struct refcnt_topology {
	unsigned nodes;
	struct refcnt_node node[REFCNT_NODES];
	bool groups;		/* of processors, in place of nodes */
	unsigned cpus;
	int32_t *cpu;		/* a processor's node, -1: not known */
	unsigned homes;
	int32_t *home;		/* cnodeid of the kernel's node, -1: there is none */
	uint32_t base_page;	/* bytes of the kernel's page */
};

/*
 * root: "/", or a folder with copies.  Without the kernel's nodes all is one.
 * groups: NULL: the kernel's; "cpu": a node a processor; or lists with '/'
 * between, "0-1,4/2,3", and the rest is the last node.  -EINVAL: bad groups;
 * -E2BIG: too many; -EBADMSG: damaged files; -ENOMEM; errors of open(), with a
 * sentence in why, if not NULL.
 */
int refcnt_topology_read(struct refcnt_topology **, const char *root,
    const char *groups, char why[REFCNT_WHY]);
void refcnt_topology_free(struct refcnt_topology *);

/* The node of a processor, or -1. */
int32_t refcnt_node_of_cpu(const struct refcnt_topology *, unsigned cpu);
/* The cnodeid of the kernel's node, or -1. */
int32_t refcnt_home_of(const struct refcnt_topology *, int node);

/* A line of the note's table of memory configuration. */
struct refcnt_config {
	const char *name;	/* borrowed from the topology */
	uint64_t bytes, hw_pages, sets, counters, base_pages;
	size_t slots;
	unsigned cpus;
};

void refcnt_config_of(const struct refcnt_topology *, unsigned node,
    struct refcnt_config *);

/* --- mapped files (table.c) ---------------------------------------------------- */

/*
 * Files FOLDER/refcnt.nodeN, one for each home, for other programs: refcnt(5),
 * refcnt(3).  FOLDER/PID has a target's, whose slots are its ranges; FOLDER
 * the machine's, whose slots are physical memory.  The writer locks each file,
 * so readers know that it lives; neither stops the other.  One thread.
 */
struct refcnt_table_options {
	const char *folder;	/* "/run/user/1000/pagek/refcnt"; made if need be */
	const struct refcnt_topology *topology;	/* outlives the table */
	long pid;		/* 0: physical addresses */
	uint64_t started;	/* of the process, in the ticks of /proc/PID/stat; 0: not known */
	int32_t diff_threshold, abs_threshold;
};

struct refcnt_table;

/* Writes nothing yet.  -ENOMEM, -ENAMETOOLONG. */
int refcnt_table_new(struct refcnt_table **,
    const struct refcnt_table_options *);
/*
 * Writes all counted pages, at a period's end.  Files are made as needed, and
 * replaced when ranges change.  -EBUSY: another writer of the machine's files;
 * -E2BIG; errors of open(), write() and mmap(), as -ENOSPC: a later call goes
 * on; a sentence in why.
 */
int refcnt_table_write(struct refcnt_table *, const struct refcnt *,
    char why[REFCNT_WHY]);
/* Marks the files as ended and removes them. */
void refcnt_table_free(struct refcnt_table *);
/* The files of a target whose writer was killed. */
struct refcnt_dead {
	long pid;
	uint64_t started;	/* as above */
	int64_t wall_ms;	/* the last period */
};
/*
 * Removes files of writers that were killed, and folders of targets that are empty then.
 * Calls `found`, unless it is NULL, for each file of a target.
 */
void refcnt_table_remove_dead(const char *folder,
    void (*found)(void *arg, const struct refcnt_dead *), void *arg);

/* A page on the wire: so many bytes, and 8 for each of its counters. */
#define REFCNT_ROW_SIZE(counters) (74 + 8 * (size_t)(counters))
void refcnt_row_put(uint8_t *out, const struct refcnt_page *);
/* -EINVAL: it has another number of counters, or no such source. */
int refcnt_row_get(struct refcnt_page *, const uint8_t *in, unsigned counters);

/*
 * References between threshold and interrupt, lost when a counter pegs; 0
 * unless set.
 */
void refcnt_set_latency(struct refcnt *, uint32_t references);

/* As refcnt_read(), of all planes at one moment: page[plane][i] is page i. */
size_t refcnt_read_planes(const struct refcnt *, uint64_t from, uint64_t to,
    struct refcnt_page *const page[REFCNT_PLANES], size_t max);

#endif
