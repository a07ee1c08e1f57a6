/*
 * pk_refcnt: counters of references to memory pages, as in refcnt(5) of IRIX,
 * under types of Linux.  See refcnt(3) and refcnt(5).
 *
 *	cc prog.c $(pkg-config --cflags --libs pagek-refcnt)
 *
 * Functions return a negative errno; pk_refcnt_why() has a sentence.  They
 * read a node's files and stop nothing.
 *
 * Example
 *	pk_refcnt_buf_t buf[4];
 *	pk_refcnt_args_t args = { address, 4 * PK_REFCNT_PAGE, buf };
 *	pk_target *t;
 *
 *	if (pk_refcnt_open(&t, pid) < 0)
 *		errx(1, "%s", pk_refcnt_why());
 *	n = pk_refcnt_get(t, PK_REFCNT_EXT, &args);
 *	pk_refcnt_close(t);
 */
#ifndef PK_REFCNT_H
#define PK_REFCNT_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PK_REFCNT_PAGE 4096
#define PK_REFCNT_MAX_COUNTERS 64

/* Planes: hardware counters of 11 or 19 bits, and 32-bit ones behind them. */
#define PK_REFCNT_HW 0
#define PK_REFCNT_EXT 1

/* Flags of a set. */
#define PK_REFCNT_VALID 1	/* the page is counted */
#define PK_REFCNT_SAMPLED 2	/* the unit is not references, but samples or epochs */
#define PK_REFCNT_NO_PADDR 4	/* the physical address is not known */
#define PK_REFCNT_NOT_PRESENT 8	/* the page is not mapped, or not in memory */
#define PK_REFCNT_MOVED 16	/* it was in another frame or on another node before */
#define PK_REFCNT_SATURATED 32	/* a counter is at its maximum */
#define PK_REFCNT_COARSE 64	/* counts may be of pages around it */
#define PK_REFCNT_GROUPED 128	/* a counter is of 8 nodes */
#define PK_REFCNT_NO_NODE 256	/* the source tells no node: counter 0 has all of it */

typedef uint32_t pk_refcnt_t;

typedef struct pk_refcnt_set {
	pk_refcnt_t refcnt[PK_REFCNT_MAX_COUNTERS];
	uint64_t flags;
} pk_refcnt_set_t;

typedef struct pk_refcnt_buf {
	pk_refcnt_set_t refcnt_set;
	uint64_t paddr;		/* 0 with PK_REFCNT_NO_PADDR */
	uint64_t page_size;	/* of the page that maps it */
	int32_t cnodeid;	/* home node, -1: not known */
} pk_refcnt_buf_t;

typedef struct pk_refcnt_args {
	void *vaddr;
	long len;
	pk_refcnt_buf_t *buf;	/* one for each page of 4 KiB */
} pk_refcnt_args_t;

/* The same in 64 bits. */
typedef struct pk_refcnt_wide {
	uint64_t refcnt[PK_REFCNT_MAX_COUNTERS];
	uint64_t flags;
} pk_refcnt_wide_t;

typedef struct pk_target pk_target;

/*
 * -ESRCH: no process; -ENOENT: nothing is counted; -EINVAL; -EBADMSG: damaged
 * or foreign file; errors of open(), mmap(), malloc().
 */
int pk_refcnt_open(pk_target **, pid_t);
void pk_refcnt_close(pk_target *);

/*
 * An element for each page from vaddr's to that of vaddr + len - 1; their
 * number, 0 for no bytes.  An uncounted page is a set of zeros without
 * PK_REFCNT_VALID.  -EINVAL: len is negative, or it wraps; -EAGAIN: a set is
 * unfinished after a second; and as above.
 */
int pk_refcnt_get(pk_target *, int plane, pk_refcnt_args_t *);
int pk_refcnt_get_wide(pk_target *, const void *vaddr, long len,
    pk_refcnt_wide_t *buf);

/* The last failure of this thread as a sentence.  Borrowed until its next call. */
const char *pk_refcnt_why(void);

typedef struct pk_rcb_slot {
	uint64_t base;		/* physical address; with pid != 0 a virtual one */
	uint64_t size;		/* bytes */
} pk_rcb_slot_t;

/* The beginning of the file, in the machine's byte order here. */
typedef struct pk_rcb_info {
	uint64_t rcb_len;	/* total length in bytes */
	int32_t rcb_sw_sets;
	int32_t rcb_sw_counters_per_set;
	int32_t rcb_sw_counter_size;
	int32_t rcb_base_pages;
	int32_t rcb_base_page_size;
	uint64_t rcb_base_paddr;
	int32_t rcb_cnodeid;
	int32_t rcb_granularity;	/* bytes of a page of one set */
	uint32_t rcb_hw_counter_max;
	int32_t rcb_diff_threshold;
	int32_t rcb_abs_threshold;
	int32_t rcb_num_slots;
	uint32_t nodes;		/* of the machine */
	pid_t pid;		/* whose virtual addresses; 0: physical ones */
	uint32_t periods;	/* that were written so far */
	int ended;		/* not 0: nobody writes the file any more */
} pk_rcb_info_t;

typedef struct pk_rcb pk_rcb;

/* Maps a file refcnt.nodeN.  Errors as of pk_refcnt_open(). */
int pk_rcb_map(pk_rcb **, const char *path);
void pk_rcb_unmap(pk_rcb *);
void pk_rcb_info(const pk_rcb *, pk_rcb_info_t *);
/* 0, or -EINVAL. */
int pk_rcb_slot(const pk_rcb *, int slot, pk_rcb_slot_t *);

/* The set of that address, or -1; and the address of a set's page. */
int pk_rcb_index(const pk_rcb *, uint64_t addr);
uint64_t pk_rcb_addr(const pk_rcb *, int set);
/* The first counted set from this one on, or -1.  Skips the holes of the file. */
int pk_rcb_next(const pk_rcb *, int set);
/* 0, -EINVAL, -EAGAIN or -EBADMSG as above. */
int pk_rcb_get(const pk_rcb *, int set, int plane, pk_refcnt_buf_t *);
int pk_rcb_get_wide(const pk_rcb *, int set, pk_refcnt_wide_t *);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
