/*
 * capturebench: what an event costs in a capture, in bytes and in time.
 *
 * Events are those of list_trace.h (mix, with -n live blocks), or of a program:
 * the text that `heaptrack --raw` writes, on standard input, with stacks of up
 * to 16 frames.  A line says
 *	B/event		bytes of the capture, all told
 *	copy		what an event costs whoever gives it to the writer
 *	write		and the writer's thread: list, columns, zstd, file
 *	read		million events a second as they are read
 *	replay		and as they change a list
 *	at		the list at a random moment, with opening the capture:
 *			median and longest of 21
 *	beyond		the longest without loading the state from which it begins
 *
 *	make microbench && build/bench/capturebench [-jp] [-e EVENTS] [-n LIVE]
 *	    [-r REPEAT] [-f FILE]
 *	heaptrack --raw -o h PROGRAM; zstd -dc h.raw.zst |
 *	    build/bench/capturebench -i
 *
 *	-j	print a line of JSON
 *	-p	plain, without zstd
 *	-e	millions of events of the trace; 10 unless told
 *	-r	the events so many times; all blocks are freed at the end of each
 *	-f	keep the capture there
 */
#include <getopt.h>
#include <stdio.h>
#include <time.h>

#include "../src/base/base.h"
#include "../src/capture/reader/reader.h"
#include "list_trace.h"

#define FRAMES 16
#define BATCH 4096
#define LOOKS 21
#define SLICE 100000	/* events of the trace that are made at once */

struct events {
	struct rec *rec;
	size_t n, cap;
	struct { uint64_t ip; uint32_t parent; } *node;	/* stacks, as a tree; from 1 */
	size_t nnodes, node_cap;
};

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "capturebench: %s\n", what);
	exit(EXIT_FAILURE);
}

static void
add(struct events *e, const struct rec *r)
{
	void *all = e->rec;

	need(base_grow(&all, &e->cap, e->n + 1, sizeof *e->rec) == 0, "memory");
	e->rec = all;
	e->rec[e->n++] = *r;
}

/* --- where events come from --------------------------------------------------- */

static void
add_node(struct events *e, const char *line)
{
	void *all = e->node;
	unsigned long long ip, parent;

	need(sscanf(line, "%llx %llx", &ip, &parent) == 2, "a trace");
	need(base_grow(&all, &e->node_cap, e->nnodes + 2, sizeof *e->node) == 0,
	    "memory");
	e->node = all;
	e->node[++e->nnodes].ip = ip;
	e->node[e->nnodes].parent = (uint32_t)parent;
}

static void
add_alloc(struct events *e, const char *line, uint32_t ms)
{
	unsigned long long size, site, addr;

	need(sscanf(line, "%llx %llx %llx", &size, &site, &addr) == 3,
	    "an allocation");
	add(e, &(struct rec){ {
	    rec_w0(addr, REC_FLAGS(REC_ALLOC, 1), TYPE_MALLOC),
	    rec_w1(size, 1), rec_w2(0, ms),
	    rec_w3(rec_site_caller((uint32_t)site), (unsigned)(size < 24 ? 24 -
		size : (-(size + 8)) & 15)) } });
}

/* heaptrack does not say who frees. */
static void
read_heaptrack(struct events *e)
{
	static char line[1 << 16];
	unsigned long long v;
	uint32_t ms = 1;

	while (fgets(line, sizeof line, stdin) != NULL) {
		if (line[0] == 't')
			add_node(e, line + 2);
		else if (line[0] == 'c' && sscanf(line + 2, "%llx", &v) == 1)
			ms = (uint32_t)v + 1;
		else if (line[0] == '+')
			add_alloc(e, line + 2, ms);
		else if (line[0] == '-' && sscanf(line + 2, "%llx", &v) == 1)
			add(e, &(struct rec){ { rec_w0(v, REC_FLAGS(REC_FREE, 0),
			    TYPE_FREE), rec_w1(0, 1), rec_w2(0, ms), 0 } });
	}
}

static void
free_blocks(struct events *e)
{
	size_t events = e->n, n;
	struct capture_list *l;
	const struct blk *row;
	uint64_t ms = events == 0 ? 0 : rec_ms(&e->rec[events - 1]);

	need(capture_list_new(&l, 0) == 0, "list");
	for (size_t i = 0; i < events; i++)
		need(capture_list_apply(l, &(struct capture_event){
		    .seq = i + 1, .what = CAPTURE_EVENT, .rec = e->rec[i] }) == 0,
		    "apply");
	row = capture_list_rows(l, &n);
	need(row != NULL, "rows");
	for (size_t i = 0; i < n; i++)
		add(e, &(struct rec){ { rec_w0(row[i].addr,
		    REC_FLAGS(REC_FREE, 0), TYPE_FREE), rec_w1(0, 1),
		    rec_w2(0, (uint32_t)ms), 0 } });
	capture_list_free(l);
}

static void
make_trace(struct events *e, uint64_t live, uint64_t n)
{
	const struct trace *t = trace_make("mix", live, n, NULL);
	static struct rec rec[SLICE];

	need(t != NULL, "trace");
	for (uint64_t at = 0, m; at < t->n; at += m) {
		m = t->n - at < SLICE ? t->n - at : SLICE;
		trace_records(t, at, (size_t)m, rec);
		for (uint64_t i = 0; i < m; i++) {
			rec[i].w[2] = rec_w2(0, (uint32_t)((at + i) / 1000 + 1));
			add(e, &rec[i]);
		}
	}
	trace_drop(t, n);
}

/* --- written ----------------------------------------------------------------------- */

static void
write_sites(struct capture_writer *w, const struct events *e)
{
	uint64_t frame[FRAMES];

	for (size_t i = 1; i <= e->nnodes; i++) {
		unsigned depth = 0;

		for (size_t at = i; at != 0 && at <= e->nnodes && depth < FRAMES;
		    at = e->node[at].parent)
			frame[depth++] = frame_make(e->node[at].ip, 1);
		capture_writer_site(w, 1, (uint32_t)i, &(struct stream_site){
		    .frame = frame, .depth = depth, .end = RING_END_DEPTH });
	}
}

struct costs {
	double copy, write;	/* ns an event */
	uint64_t bytes, events;
};

static struct costs
write_capture(const struct events *e, const char *path, bool plain,
    unsigned repeat)
{
	struct capture_opts opts = { .plain = plain,
		.fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600) };
	struct capture_part part = { .comm = "bench", .first = 1, .ms = 0 };
	uint64_t cpu, copied = 0, seq = 1, t;
	struct capture_progress look;
	struct capture_writer *w;
	struct stat st;
	uint32_t no;

	need(capture_writer_new(&w, &opts) == 0, path);
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - now_ns(CLOCK_THREAD_CPUTIME_ID);
	need(capture_writer_part(w, &part, &no) == 0, "part");
	capture_writer_state(w, no, 1, 0, NULL);
	write_sites(w, e);
	for (unsigned k = 0; k < repeat; k++)
		for (size_t at = 0, m; at < e->n; at += m, seq += m) {
			struct blklist_batch b = { .rec = e->rec + at,
				.seq = seq, .near_ms = UINT32_MAX >> 1 };

			m = b.n = e->n - at < BATCH ? e->n - at : BATCH;
			for (;;) {
				capture_writer_look(w, &look);
				if (look.waiting < 32u << 20)
					break;
				nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
			}
			t = now_ns(CLOCK_THREAD_CPUTIME_ID);
			need(capture_writer_records(w, no, &b) == 0, "room");
			copied += now_ns(CLOCK_THREAD_CPUTIME_ID) - t;
		}
	need(capture_writer_finish(w, "done", 600000, NULL) == 0, "finish");
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) -
	    now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	need(stat(path, &st) == 0, path);
	return (struct costs){ .copy = (double)copied / (double)(seq - 1),
		.write = (double)cpu / (double)(seq - 1),
		.bytes = (uint64_t)st.st_size, .events = seq - 1 };
}

/* --- and read ------------------------------------------------------------------------ */

static double
read_capture(struct capture *c)
{
	static struct capture_event ev[BATCH];
	uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID), n = 0;
	size_t got;

	do {
		need(capture_next(c, ev, BATCH, &got) == 0, "next");
		n += got;
	} while (got > 0);
	return (double)n * 1000 /
	    (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
}

/* In ns. */
static uint64_t
seek(struct capture *c, const struct capture_when *when,
    struct capture_list **l)
{
	uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);

	need(capture_seek(c, 1, when, l) == 0, "seek");
	return now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static double
replay(struct capture *c, uint64_t events)
{
	struct capture_list *l;
	uint64_t ns = seek(c, &(struct capture_when){ .at = CAPTURE_AT_SEQ,
	    .seq = 1 }, &l), begin = now_ns(CLOCK_THREAD_CPUTIME_ID);

	for (uint64_t seq = 1; seq <= events; seq += BATCH)
		need(capture_forward(c, l, &(struct capture_when){
		    .at = CAPTURE_AT_SEQ, .seq = seq }) == 0, "forward");
	ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	capture_list_free(l);
	return (double)events * 1000 / (double)ns;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct looks {
	double at[LOOKS], beyond;	/* ms */
};

/* The number before which the list is in the file, the last one up to seq. */
static uint64_t
state_before(const struct capture *c, uint64_t seq)
{
	const struct reader_part *p = reader_part(c, 1);
	uint64_t first = 1;

	for (size_t i = 0; i < p->checks.n; i++)
		if (c->entries.at[p->checks.at[i]].first <= seq)
			first = c->entries.at[p->checks.at[i]].first;
	return first;
}

static void
look_at(const char *path, uint64_t events, struct looks *to)
{
	struct capture_when when = { .at = CAPTURE_AT_SEQ };
	char why[CAPTURE_WHY];
	struct capture_list *l;
	struct capture *c;
	uint64_t begin, ns;

	to->beyond = 0;
	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t seq = 1 + trace_rng() % events;

		begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
		need(capture_open(&c, path, why) == 0, why);
		when.seq = seq;
		seek(c, &when, &l);
		ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		to->at[i] = (double)ns / 1e6;
		capture_list_free(l);
		when.seq = state_before(c, seq);
		ns -= seek(c, &when, &l);
		if ((double)(int64_t)ns / 1e6 > to->beyond)
			to->beyond = (double)(int64_t)ns / 1e6;
		capture_list_free(l);
		capture_close(c);
	}
	qsort(to->at, LOOKS, sizeof *to->at, compare);
}

#define TEXT "%llu events: %.2f B/event, copy %.0f ns, write %.0f ns, read " \
	"%.1f M/s, replay %.1f M/s, at %.0f ms (%.0f), beyond %.0f ms\n"
#define JSON "{\"events\": %llu, \"bytes\": %.2f, \"copy_ns\": %.1f, " \
	"\"write_ns\": %.1f, \"read\": %.1f, \"replay\": %.1f, " \
	"\"at_median\": %.0f, \"at_most\": %.0f, \"at\": %.0f}\n"

int
main(int argc, char **argv)
{
	struct events e = { .n = 0 };
	uint64_t live = 100000, million = 10;
	const char *path = NULL;
	char temp[] = "/tmp/capturebench-XXXXXX", why[CAPTURE_WHY];
	bool plain = false, heaptrack = false, json = false;
	unsigned repeat = 1;
	struct looks looks;
	struct capture *c;
	struct costs k;
	double read;
	int o;

	while ((o = getopt(argc, argv, "jpie:n:r:f:")) != -1)
		switch (o) {
		case 'j': json = true; break;
		case 'p': plain = true; break;
		case 'i': heaptrack = true; break;
		case 'e': million = strtoull(optarg, NULL, 10); break;
		case 'n': live = strtoull(optarg, NULL, 10); break;
		case 'r': repeat = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'f': path = optarg; break;
		default: return EXIT_FAILURE;
		}
	if (heaptrack)
		read_heaptrack(&e);
	else
		make_trace(&e, live, million * 1000000);
	need(e.n > 0, "no events");
	free_blocks(&e);
	if (path == NULL) {
		need(mkstemp(temp) >= 0, temp);
		path = temp;
	}
	k = write_capture(&e, path, plain, repeat);
	need(capture_open(&c, path, why) == 0, why);
	read = read_capture(c);
	look_at(path, k.events, &looks);
	printf(json ? JSON : TEXT, (unsigned long long)k.events, (double)k.bytes /
	    (double)k.events, k.copy, k.write, read, replay(c, k.events),
	    looks.at[LOOKS / 2], looks.at[LOOKS - 1], looks.beyond);
	capture_close(c);
	if (path == temp)
		unlink(temp);
	free(e.rec);
	free(e.node);
	return EXIT_SUCCESS;
}
