/*
 * Captures for tests: events of a program that allocates at random, in a folder
 * of their own, beside a block list that has had the same events.
 */
#ifndef TESTS_CAPTURE_RIG_H
#define TESTS_CAPTURE_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/capture/capture.h"
#include "chance.h"

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))
#define RIG_LIVE 512
#define RIG_MS 5000		/* when the first event is */

static char rig_dir[64], rig_path[96];

static inline void
rig_begin(void)
{
	strcpy(rig_dir, "/tmp/pagek-capture-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(rig_dir));
	snprintf(rig_path, sizeof rig_path, "%s/c", rig_dir);
	chance_begin(1);
}

static inline void
rig_end(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", rig_dir);
	ck_assert_int_eq(system(command), 0);
}

/* Bytes of this process, for a limit that leaves it so much more. */
static inline size_t
rig_address_space(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%zu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static inline int
rig_fd(void)
{
	int fd = open(rig_path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* --- a program ---------------------------------------------------------- */

struct program {
	struct {
		uint64_t addr;
		unsigned api;
	} live[RIG_LIVE];
	unsigned n;
	int64_t ms;
	uint64_t freed;		/* by realloc last, of thread 1 */
};

static inline struct rec
rig_rec(const struct program *p, unsigned op, unsigned low, unsigned type,
    uint64_t addr, uint64_t size)
{
	return (struct rec){ {
	    rec_w0(addr, REC_FLAGS(op, low), type),
	    rec_w1(size, any(9) == 0 ? any(65536) : 1 + any(4)),
	    rec_w2(any(1000), (uint32_t)p->ms),
	    rec_w3(any(8) == 0 ? (uint64_t)any(1u << 30) << 14 :
		rec_site_caller(1 + any(40)), any(5) == 0 ? any(65536) : 1),
	} };
}

static inline struct rec
rig_alloc(struct program *p)
{
	unsigned api = any(20) == 0, level = any(30) == 0 ? 2 : 1;
	uint64_t addr = UINT64_C(0x555500000000) + (uint64_t)any(4096) * 16;
	struct rec r;

	if (any(40) == 0)
		return rig_rec(p, REC_ALLOC, REC_LEVEL_FAILED, TYPE_MALLOC, 0,
		    any(1u << 30));
	if (any(50) == 0)
		addr = any(1u << 31);
	r = rig_rec(p, REC_ALLOC, (api ? REC_LAYER_API : 0) | level,
	    api ? TYPE_API_FIRST + any(4) : TYPE_MALLOC + any(4), addr,
	    any(4) == 0 ? any(100000) : 16 * any(8));
	if (p->n < RIG_LIVE) {
		p->live[p->n].addr = addr;
		p->live[p->n++].api = api;
	}
	return r;
}

static inline struct rec
rig_free(struct program *p)
{
	unsigned i = any(p->n), api = p->live[i].api;
	uint64_t addr = p->live[i].addr;
	struct rec r;

	p->live[i] = p->live[--p->n];
	if (any(6) != 0 || api)
		return rig_rec(p, REC_FREE, api ? REC_LAYER_API : 0, TYPE_FREE,
		    addr, 0);
	r = rig_rec(p, REC_FREE, 0, TYPE_BY_REALLOC, addr, rec_told(any(5000)));
	r.w[1] = rec_w1(rec_size(&r), 1);
	p->freed = addr;
	return r;
}

static inline struct rec
rig_event(struct program *p)
{
	unsigned what = any(100);
	struct rec r;

	if (any(50) == 0)
		p->ms += any(40);
	if (any(500) == 0)
		p->ms -= any(3);
	if (what == 0) {
		r = rig_rec(p, REC_UNDO, 0, TYPE_BY_REALLOC, p->freed, 0);
		r.w[1] = rec_w1(0, 1);
		return r;
	}
	if (what == 1)
		return rig_rec(p, REC_FREE, 0, TYPE_FREE, any(1u << 31), 0);
	if (what == 2 && any(10) == 0)
		return rig_rec(p, REC_RANGE, REC_LAYER_API, TYPE_API_FIRST,
		    UINT64_C(0x555500000000) + (uint64_t)any(4096) * 16, 4096);
	return p->n == 0 || (p->n < RIG_LIVE && any(2) == 0) ? rig_alloc(p) :
	    rig_free(p);
}

/* n events; times are as of rec_ms_near(), which they never exceed. */
static inline struct rec *
rig_events(size_t n, int64_t *last_ms)
{
	struct program p = { .ms = RIG_MS };
	struct rec *all = malloc(n * sizeof *all);

	ck_assert_ptr_nonnull(all);
	for (size_t i = 0; i < n; i++) {
		all[i] = rig_event(&p);
		if (p.ms > *last_ms)
			*last_ms = p.ms;
	}
	return all;
}

/* --- writing ------------------------------------------------------------ */

static inline struct capture_writer *
rig_writer(const struct capture_opts *opts)
{
	struct capture_writer *w;

	ck_assert_int_eq(capture_writer_new(&w, opts), 0);
	return w;
}

/* A part whose list is empty. */
static inline uint32_t
rig_part(struct capture_writer *w, const char *comm)
{
	struct capture_part part = { .stream = "4711", .comm = comm, .pid = 4711,
		.began = CAPTURE_EXECUTED, .first = 1, .ms = RIG_MS - 10,
		.wall_ns = INT64_C(1800000000) * 1000000000 };
	uint32_t no;

	ck_assert_int_eq(capture_writer_part(w, &part, &no), 0);
	ck_assert_int_eq(capture_writer_state(w, no, 1, RIG_MS - 10, NULL), 0);
	return no;
}

/* In batches of some hundred; all must find room. */
static inline void
rig_put(struct capture_writer *w, uint32_t part, const struct rec *all,
    size_t n, uint64_t seq, int64_t near_ms)
{
	struct capture_progress look;

	for (size_t at = 0, m; at < n; at += m) {
		struct blklist_batch b = { .rec = all + at, .seq = seq + at,
			.near_ms = near_ms };

		m = b.n = n - at < 700 ? n - at : 700;
		/* The writer must get the lock that a look takes, too. */
		for (capture_writer_look(w, &look); look.waiting > (16u << 20);
		     capture_writer_look(w, &look))
			usleep(1000);
		ck_assert_int_eq(capture_writer_records(w, part, &b), 0);
	}
}

static inline void
rig_finish(struct capture_writer *w)
{
	ck_assert_int_eq(capture_writer_finish(w, "the test is over", 30000,
	    NULL), 0);
}

static inline struct capture *
rig_open(const char *path)
{
	char why[CAPTURE_WHY] = "";
	struct capture *c;

	ck_assert_msg(capture_open(&c, path, why) == 0, "%s", why);
	return c;
}

/* --- the oracle --------------------------------------------------------- */

static inline struct blklist *
rig_oracle(void)
{
	struct blklist *l;

	ck_assert_int_eq(blklist_new(&l, BLKLIST_LITERAL, 1u << 16), 0);
	return l;
}

/* Applies n events from the number seq on, without their tickets. */
static inline void
rig_apply(struct blklist *l, const struct rec *all, size_t n, uint64_t seq,
    int64_t near_ms)
{
	for (size_t i = 0; i < n; i++) {
		struct rec r = all[i];
		struct blklist_batch b = { .rec = &r, .n = 1, .seq = seq + i,
			.near_ms = near_ms };

		r.w[2] = rec_w2(0, rec_ms(&r));
		blklist_apply(l, &b);
	}
}

static inline void
rig_same_list(struct capture_list *got, const struct blklist *want)
{
	const struct blklist_counts *k = blklist_counts(want);
	const struct capture_totals *t = capture_list_totals(got);
	struct blk *row = malloc((k->aRecActive + 1) * sizeof *row);
	const struct blk *mine;
	size_t n;

	ck_assert_ptr_nonnull(row);
	ck_assert_uint_eq(t->allocs, k->allocs);
	ck_assert_uint_eq(t->frees, k->frees);
	ck_assert_uint_eq(t->failed, k->failed);
	ck_assert_uint_eq(t->unknown_free, k->unknown_free);
	ck_assert_uint_eq(t->unknown_undo, k->unknown_undo);
	ck_assert_uint_eq(t->duplicate, k->duplicate);
	ck_assert_uint_eq(t->blocks, k->aRecActive);
	ck_assert_uint_eq(t->bytes, k->live_bytes);
	ck_assert_uint_eq(t->peak_bytes, k->peak_bytes);
	mine = capture_list_rows(got, &n);
	ck_assert_uint_eq(n, k->aRecActive);
	ck_assert_uint_eq(blklist_window(want, BLKLIST_BY_AGE, false, 0, row, n),
	    n);
	for (size_t i = 0; i < n; i++)
		ck_assert_mem_eq(&mine[i], &row[i], sizeof *row);
	free(row);
}

#endif
