/*
 * write_capture FILE EVENTS [large|gap]: writes a capture for the live tests, and its
 * events as text:
 *
 *	PART SEQ MS alloc|free|realloc|undo|failed ADDRESS SIZE THREAD
 *
 * Part 1 is parent[100], part 2 child[200], which begins half a second later, and
 * part 3 child[201] with fewer events.  Few addresses are used, again and again.
 * large: sizes and callers are at random, so that nothing shrinks; no text.
 * gap: the events of part 1 from 0.4 s to 0.6 s are missing; then its list is empty.
 */
#include <inttypes.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/capture/capture.h"

#define SLOTS 200
#define BATCH 500
#define BEGIN_MS 5000
#define BEGIN_NS (INT64_C(1800000000) * 1000000000)	/* 2027-01-15 08:00:00 UTC */

struct part {
	uint32_t no;
	uint64_t seq;
	bool live[SLOTS];
	unsigned undo;			/* slot + 1, of the realloc that fails next */
	bool large;
};

static uint64_t seed = 1;

static unsigned
any(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

static struct rec
make(const struct part *p, unsigned op, unsigned type, uint64_t address,
    uint64_t size, int64_t ms)
{
	uint64_t caller = p->large ? (uint64_t)any(1u << 31) << 16 :
	    rec_site_caller(1 + any(3));

	return (struct rec){ { rec_w0(address, REC_FLAGS(op, 0), type),
	    rec_w1(size, 1 + any(2)), rec_w2(0, (uint32_t)ms),
	    rec_w3(caller, 0) } };
}

static struct rec
next(struct part *p, int64_t ms, const char **what)
{
	unsigned slot = p->undo > 0 ? p->undo - 1 : any(SLOTS);
	uint64_t address = 0x555500000000 + (uint64_t)slot * 64;
	struct rec r;

	if (p->undo > 0) {
		*what = "undo";
		p->undo = 0;
		p->live[slot] = true;
		r = make(p, REC_UNDO, TYPE_BY_REALLOC, address, 0, ms);
	} else if (!p->live[slot]) {
		*what = any(100) == 0 ? "failed" : "alloc";
		p->live[slot] = **what == 'a';
		r = make(p, REC_ALLOC, TYPE_MALLOC, p->live[slot] ? address : 0,
		    1 + any(p->large ? 1u << 30 : 5000), ms);
		if (!p->live[slot])
			r.w[0] = rec_w0(0, REC_FLAGS(REC_ALLOC,
			    REC_LEVEL_FAILED), TYPE_MALLOC);
	} else {
		*what = any(50) == 0 ? "realloc" : "free";
		p->live[slot] = false;
		p->undo = **what == 'r' ? slot + 1 : 0;
		r = make(p, REC_FREE, p->undo > 0 ? TYPE_BY_REALLOC : TYPE_FREE,
		    address, 0, ms);
	}
	/* The thread that frees is the one that undoes. */
	if (**what == 'r' || **what == 'u')
		r.w[1] = rec_w1(rec_size(&r), 1);
	return r;
}

static void
put(struct capture_writer *w, struct part *p, size_t n, int64_t ms)
{
	struct capture_progress look;
	struct rec all[BATCH];
	struct blklist_batch b = { .rec = all, .n = n, .seq = p->seq,
		.near_ms = ms };
	const char *what;

	for (size_t i = 0; i < n; i++, p->seq++) {
		all[i] = next(p, ms, &what);
		if (!p->large)
			printf("%" PRIu32 " %" PRIu64 " %" PRId64 " %s %" PRIu64
			    " %" PRIu64 " %u\n", p->no, p->seq, ms, what,
			    (uint64_t)rec_addr(&all[i]),
			    (uint64_t)rec_size(&all[i]),
			    (unsigned)rec_thread(&all[i]));
	}
	/* A full queue is a gap: the writer gets time. */
	do
		capture_writer_look(w, &look);
	while (look.waiting > (8u << 20));
	if (capture_writer_records(w, p->no, &b) < 0)
		exit(EXIT_FAILURE);
}

static void
begin(struct capture_writer *w, struct part *p, const char *comm, int64_t pid,
    int64_t ms)
{
	static uint64_t frame[3] = { 0x401000, 0x402000, 0x403000 };
	struct capture_part part = { .stream = comm, .comm = comm, .pid = pid,
		.began = CAPTURE_EXECUTED, .first = 1, .ms = ms,
		.exe = "/bin/program", .word_bytes = 8,
		.options = CAPTURE_STACKS,
		.wall_ns = BEGIN_NS + (ms - BEGIN_MS) * 1000000 };

	if (capture_writer_part(w, &part, &p->no) < 0 ||
	    capture_writer_state(w, p->no, 1, ms, NULL) < 0)
		exit(EXIT_FAILURE);
	p->seq = 1;
	for (uint32_t i = 1; i <= 3; i++)
		capture_writer_site(w, p->no, i, &(struct stream_site){
		    .frame = frame, .depth = (uint8_t)i,
		    .end = RING_END_DEPTH });
	capture_writer_thread(w, p->no, 1, 4711, "main");
	capture_writer_thread(w, p->no, 2, 4712, "worker");
}

/* True while the part's events are missing; then they are a gap. */
static bool
misses(struct capture_writer *w, struct part *p, size_t n, int64_t ms)
{
	static uint64_t first;

	if (ms < BEGIN_MS + 400 || ms > BEGIN_MS + 600)
		return false;
	if (first == 0)
		first = p->seq;
	if (ms < BEGIN_MS + 600) {
		p->seq += n;
		return true;
	}
	capture_writer_lost(w, p->no, first, 0, p->seq - first);
	memset(p->live, 0, sizeof p->live);
	p->undo = 0;
	if (capture_writer_state(w, p->no, p->seq, ms, NULL) < 0)
		exit(EXIT_FAILURE);
	return false;
}

int
main(int argc, char **argv)
{
	struct part part[3] = { { .no = 0 } };
	unsigned long events = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	bool gap = argc > 3 && strcmp(argv[3], "gap") == 0;
	bool large = argc > 3 && !gap;
	struct capture_opts opts = { .plain = large,
		.checkpoint_events = large ? 500000 : 700 };
	struct capture_writer *w;
	int64_t ms = BEGIN_MS;
	size_t n;

	opts.fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC |
	    O_CLOEXEC, 0600) : -1;
	if (opts.fd < 0 || capture_writer_new(&w, &opts) < 0)
		return EXIT_FAILURE;
	part[0].large = large;
	begin(w, &part[0], "parent", 100, ms);
	for (unsigned long done = 0; done < events; done += n, ms += 10) {
		n = large ? BATCH : 1 + any(40);
		if (!gap || !misses(w, &part[0], n, ms))
			put(w, &part[0], n, ms);
		capture_writer_clock(w, ms, BEGIN_NS + (ms - BEGIN_MS) *
		    1000000);
		if (!large && ms == BEGIN_MS + 500) {
			begin(w, &part[1], "child", 200, ms);
			begin(w, &part[2], "child", 201, ms);
			capture_writer_mark(w, part[0].no, part[0].seq, ms,
			    "loaded");
		}
		if (!large && ms > BEGIN_MS + 500) {
			put(w, &part[1], 5, ms);
			put(w, &part[2], 1, ms);
		}
	}
	for (unsigned i = 0; i < 3 && part[i].no > 0; i++)
		capture_writer_end_part(w, part[i].no, ms, 0, "exited");
	return capture_writer_finish(w, "the test is over", 60000, NULL) < 0;
}
