/*
 * A scripted node for tests of the page's half: it sits at the other end of a
 * socketpair, on the same loop and thread, speaks real frames, and answers
 * only when the test says so.
 *
 * Vocabulary
 *	model	one stream of the scripted node, as its keeper would have it:
 *		all records ever written, and the block list of them.
 *	asked	requests that came in and are not answered yet, oldest first.
 *
 * Example
 *	model_init(&m, "pid:4711", 4711);
 *	model_alloc(&m, 0x1000, 64);
 *	peer_open(&p);
 *	nodes_session_open(&s, p.link, &opts, on_news, NULL);
 *	peer_turn(&p);				frames go both ways
 *	peer_answer(&p, 0);			the oldest request
 */
#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../src/blklist/blklist.h"
#include "../src/nodes/nodes.h"
#include "harness.h"
#include "wire_copy.h"

/* --- a stream -------------------------------------------------------------- */

#ifndef MODEL_RECORDS
#define MODEL_RECORDS 8192
#endif

struct model {
	char name[64];
	char comm[16];
	char reason[80];
	uint8_t epoch[WIRE_EPOCH];
	pid_t pid;
	int64_t started_ms;
	uint32_t state;
	bool gone;			/* no such entry */
	struct rec log[MODEL_RECORDS];	/* log[i] has sequence number i + 1 */
	size_t n;
	uint64_t overwritten;		/* no longer readable up to here */
	uint64_t lost_at;		/* this sequence number was lost; 0 none */
	unsigned lost_cause;		/* enum stream_cause, or 0: none that a page knows */
	uint64_t live_bytes;		/* as STATS tells it */
	uint64_t lost, records;
	uint64_t full, unsure;		/* likewise */
	struct nodes_errors errors;	/* likewise */
	uint64_t max;			/* aRecMax, as STATS tells it; 0: it does not say */
	uint64_t sample, armed_ms;
	uint64_t stay;			/* as ROWS tells it */
	uint64_t unseen;		/* blocks that it says it has besides */
	struct blklist *list;		/* of all records */
	struct stream_types types;
	struct wire_region region[WIRE_REGIONS_MAX];
	size_t regions;
	const char *regions_why;	/* NULL: nothing is said */
	struct wire_named_mark mark[WIRE_MARKS_MAX];
	size_t marks;
	struct usage_row *usage;	/* rows of USED */
	uint32_t usages, usage_no;	/* how many; number of the copy */
	unsigned usage_ends;
	struct refcnt_page *touch;	/* rows of TOUCHED */
	uint32_t touches, touch_rows;	/* how many; in a portion */
	uint64_t touch_no;		/* periods */
	unsigned touch_anew;		/* portions of another period than the first */
	uint64_t touch_off;		/* from that page on there is a range less; 0: never */
	bool touch_less;
	uint64_t touch_len;		/* bytes of a range; 0: 4096 */
	struct wire_count counted;	/* the last COUNT */
	enum wire_error count_error;	/* the answer to COUNT; 0: COUNTED */
	unsigned usage_anew;		/* portions that are of another copy than the first */
	uint32_t part_max, read_max;
};

static inline void
model_init(struct model *m, const char *name, pid_t pid)
{
	memset(m, 0, sizeof *m);
	strcpy(m->name, name);
	strcpy(m->comm, "model");
	memset(m->epoch, 0x5a, sizeof m->epoch);
	m->pid = pid;
	m->state = WIRE_S_LIVE;
	m->part_max = m->read_max = WIRE_READ_MAX;
	ck_assert_int_eq(blklist_new(&m->list, BLKLIST_LITERAL, 4096), 0);
	stream_types_init(&m->types);
}

static inline void
model_fini(struct model *m)
{
	blklist_free(m->list);
}

/* The keeper's side of one record: log and list in one step. */
static void
model_write(struct model *m, const struct rec *r)
{
	struct blklist_batch b = { .rec = r, .n = 1, .seq = m->n + 1,
	    .near_ms = 1000000 };

	ck_assert_uint_lt(m->n, MODEL_RECORDS);
	m->log[m->n++] = *r;
	blklist_apply(m->list, &b);
}

static inline struct rec
make_rec(enum rec_op op, unsigned low, unsigned type, uint64_t addr,
    uint64_t size)
{
	static uint32_t ticket;

	return (struct rec){ { rec_w0(addr, REC_FLAGS(op, low), type),
	    rec_w1(size, 1), rec_w2(++ticket, 1000), rec_w3(0x401000, 0) } };
}

static inline void
model_alloc(struct model *m, uint64_t addr, uint64_t size)
{
	struct rec r = make_rec(REC_ALLOC, 1, TYPE_MALLOC, addr, size);

	model_write(m, &r);
}

static inline void
model_release(struct model *m, uint64_t addr)
{
	struct rec r = make_rec(REC_FREE, 0, TYPE_FREE, addr, 0);

	model_write(m, &r);
}

static inline void
model_arm(struct model *m, bool armed)
{
	static uint64_t wall = 1700000000000;

	m->epoch[0]++;
	m->n = 0;
	blklist_clear(m->list);
	m->state = armed ? WIRE_S_LIVE : WIRE_S_DORMANT;
	m->armed_ms = armed ? ++wall : 0;
}

/* --- the node's end of the line --------------------------------------------- */

#define PEER_ASKED 256
#define PEER_MODELS 4

#define PEER_MS 1000000

struct peer {
	uv_loop_t loop;
	struct nodes_link *link;
	int fd;
	struct wire_frames in;
	struct wire_msg asked[PEER_ASKED];
	size_t n;
	struct model *model[PEER_MODELS];
	size_t models;
	/* The node itself. */
	pid_t root_pid;
	int32_t root_status;
	int64_t ended_ms;
	uint8_t boot;			/* counts up when it is started anew */
	int64_t passed_ms;		/* its clock was PEER_MS */
	/* How it answers SITE and FRAME. */
	size_t answer_max;		/* entries of one answer */
	uint32_t known;
	uint32_t fetch_kb;
	/* What was seen. */
	unsigned whole, not_whole, snaps, names_asked, types_asked;
	unsigned sites_asked, frames_asked, windows;
	struct wire_window window;	/* the last one asked for */
	bool has_no_window;		/* it is of an earlier version */
	/* REGIONS is not among what is asked: it is answered with whatever is. */
	struct wire_msg regions[8];
	size_t nregions;
	unsigned regions_asked;
	bool has_no_regions;		/* likewise */
	bool has_no_marks;		/* likewise */
	bool has_no_usage;		/* likewise */
	/* Heap stress of its machine. */
	bool has_no_stress;		/* likewise */
	struct stress_sample stress;
	uint64_t stress_reader;
	const char *stress_why[WIRE_STRESS_WHY];
	unsigned stress_asked;
	uint32_t stress_wait_ms;	/* of the last question */
	bool stress_woken;
	struct wire_bytes stress_bytes;	/* in place of the sample; len 0: that */
	const char *kernel_lines[STRESS_TABLES];	/* of KERNEL_ROWS; NULL: sends an error */
	uint64_t kernel_rows;		/* number of rows in KERNEL_ROWS */
	bool has_no_kernel_memory;	/* true: it plays an older node */
	bool has_no_touches;		/* likewise */
	bool holds_regions;		/* not answered until that is over */
	unsigned armed[WIRE_ARM_HOLD + 1];	/* by what ARM asked for */
	bool may_not_arm;
};

static inline void
peer_open(struct peer *p)
{
	int fds[2];

	memset(p, 0, sizeof *p);
	p->root_status = -1;
	p->answer_max = WIRE_SYMS_MAX;
	p->known = WIRE_K_LINE;
	ck_assert_int_eq(uv_loop_init(&p->loop), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	p->fd = fds[1];
	ck_assert_int_eq(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(wire_frames_init(&p->in, WIRE_REQUEST_MAX), 0);
	ck_assert_int_eq(nodes_link_open(&p->link, &p->loop, fds[0]), 0);
}

/* What has been asked for comes in; true if anything did. */
static bool
peer_listen(struct peer *p)
{
	const uint8_t *map;
	size_t room, len;
	uint8_t *space;
	ssize_t n;
	bool any = false;

	space = wire_frames_space(&p->in, 65536, &room);
	ck_assert_ptr_nonnull(space);
	n = p->fd >= 0 ? read(p->fd, space, room) : 0;
	if (n <= 0)
		return false;
	wire_frames_add(&p->in, (size_t)n);
	while (wire_frames_next(&p->in, &map, &len) == 1) {
		ck_assert_uint_lt(p->n, PEER_ASKED);
		ck_assert_int_eq(wire_decode_copy(map, len,
		    &p->asked[p->n]), 0);
		any = true;
		if (p->asked[p->n].type != WIRE_REGIONS) {
			p->n++;
			continue;
		}
		ck_assert_uint_lt(p->nregions, 8);
		p->regions[p->nregions++] = p->asked[p->n];
	}
	return any;
}

/* Lets both sides take what lies in the socket. */
static void
peer_turn(struct peer *p)
{
	int quiet = 0;

	while (quiet < 2) {
		uv_run(&p->loop, UV_RUN_NOWAIT);
		quiet = peer_listen(p) ? 0 : quiet + 1;
	}
}

static void
peer_send(struct peer *p, const struct wire_msg *msg)
{
	static uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REPLY_MAX];
	size_t len, done = 0;
	ssize_t n;

	ck_assert_int_eq(wire_encode(msg, frame, sizeof frame, &len), 0);
	while (done < len) {
		n = write(p->fd, frame + done, len - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			uv_run(&p->loop, UV_RUN_NOWAIT);
		else
			return;
	}
}

static void
peer_error(struct peer *p, uint32_t id, enum wire_error code)
{
	struct wire_msg msg = {
		.type = WIRE_ERR,
		.id = id,
		.err = { .code = code, .text = wire_text("no") },
	};

	peer_send(p, &msg);
}

/* --- answers ----------------------------------------------------------------- */

static struct model *
peer_model(struct peer *p, uint32_t index)
{
	return index < p->models && !p->model[index]->gone ?
	    p->model[index] : NULL;
}

static void
put_le(uint8_t *out, uint64_t v, size_t n)
{
	while (n-- > 0) {
		*out++ = (uint8_t)v;
		v >>= 8;
	}
}

static void
answer_name(struct peer *p, const struct wire_msg *q)
{
	struct wire_msg msg = { .type = WIRE_NAMED, .id = q->id };
	struct model *m = NULL;
	uint32_t i;

	p->names_asked++;
	for (i = 0; i < p->models && m == NULL; i++) {
		m = peer_model(p, i);
		if (m != NULL && (q->name.name.len == 0 ?
		    q->name.index != i : strlen(m->name) != q->name.name.len ||
		    memcmp(m->name, q->name.name.s, q->name.name.len) != 0))
			m = NULL;
	}
	if (m == NULL) {
		peer_error(p, q->id, WIRE_E_NAME);
		return;
	}
	msg.named = (struct wire_named){
		.index = i - 1,
		.format = WIRE_WIDE,
		.record_size = REC_WIDE_SIZE,
		.oldest = 1,
		.next = m->n + 1,
		.address_bits = 48,
		.state = m->state,
		.name = wire_text(m->name),
		.entries = (uint32_t)p->models,
		.levels = 1,
	};
	memcpy(msg.named.epoch, m->epoch, WIRE_EPOCH);
	peer_send(p, &msg);
}

static void
put_blk(uint8_t *out, const struct blk *b)
{
	struct rec r = { {
	    rec_w0(b->addr, b->flags, b->type),
	    rec_w1(b->size, b->thread),
	    rec_w2(b->ticket, (uint32_t)b->ms),
	    rec_w3(b->caller, b->overhead) } };

	stream_wide_encode(&r, 1, out);
	put_le(out + 32, b->seq, 8);
	put_le(out + 40, (uint64_t)b->ms, 8);
}

static void
answer_snap(struct peer *p, const struct wire_msg *q, struct model *m)
{
	static uint8_t bytes[WIRE_READ_MAX * (REC_WIDE_SIZE + 16)];
	struct wire_msg msg = { .type = WIRE_PART, .id = q->id };
	struct blk blk[WIRE_READ_MAX];
	uint8_t *out = bytes;
	size_t n, i;

	p->snaps += q->snap.from_start;
	n = blklist_after(m->list, q->snap.from_start, q->snap.after_layer,
	    q->snap.after, blk, m->part_max);
	for (i = 0; i < n; i++) {
		put_blk(out, &blk[i]);
		out += 48;
	}
	msg.part = (struct wire_part){
		.snapshot = 1,
		.as_of = m->n,
		.count = (uint32_t)n,
		.blocks = { bytes, n * 48 },
		.last = n < m->part_max,
		.total = blklist_counts(m->list)->aRecActive + m->unseen,
		.since = m->lost + m->full + m->unsure > 0 ?
		    WIRE_SINCE_UNKNOWN : WIRE_SINCE_START,
		.now_ms = PEER_MS + p->passed_ms,
	};
	if (n > 0) {
		msg.part.next = blk[n - 1].addr;
		msg.part.next_layer = (blk[n - 1].flags & REC_LAYER_API) != 0;
	}
	peer_send(p, &msg);
}

/* Requesters: node 7 has asked for each block of an address with bit 4. */
static void
answer_window(struct peer *p, const struct wire_msg *q, struct model *m)
{
	static uint8_t bytes[WIRE_WINDOW_MAX * (REC_WIDE_SIZE + 16)];
	static uint8_t who[WIRE_WINDOW_MAX];
	const struct wire_window *w = &q->window;
	const struct blklist_counts *n = blklist_counts(m->list);
	enum blklist_order order = w->order == WIRE_BY_AGE ? BLKLIST_BY_AGE :
	    BLKLIST_BY_ADDRESS;
	struct wire_msg msg = { .type = WIRE_ROWS, .id = q->id };
	struct wire_rows *r = &msg.rows;
	struct blk blk[WIRE_WINDOW_MAX], b;
	size_t i;

	p->windows++;
	p->window = *w;
	if (p->has_no_window) {
		peer_error(p, q->id, WIRE_E_FRAME);
		return;
	}
	r->offset = w->offset;
	if (w->seq != 0 && blklist_get(m->list, w->layer, w->addr, &b) == 0 &&
	    b.seq == w->seq) {
		r->offset = (uint64_t)blklist_rank(m->list, order, w->layer,
		    w->addr);
		if (w->reverse)
			r->offset = n->aRecActive - 1 - r->offset;
		r->offset -= r->offset < w->before ? r->offset : w->before;
	}
	if (r->offset + w->max > n->aRecActive)
		r->offset = n->aRecActive > w->max ? n->aRecActive - w->max :
		    0;
	r->count = (uint32_t)blklist_window(m->list, order, w->reverse,
	    r->offset, blk, w->max);
	for (i = 0; i < r->count; i++) {
		put_blk(bytes + 48 * i, &blk[i]);
		who[i] = (blk[i].addr & 16) != 0;
		if (who[i] != 0 && r->ninfo == 0)
			r->info[r->ninfo++] = (struct wire_info){
			    .at = (uint32_t)i, .node = 7 };
	}
	r->blocks = (struct wire_bytes){ bytes, 48 * (size_t)r->count };
	if (r->ninfo > 0)
		r->who = (struct wire_bytes){ who, r->count };
	r->as_of = m->n;
	r->n[WIRE_N_RECORDS] = n->records;
	r->n[WIRE_N_LIVE_BLOCKS] = n->aRecActive + m->unseen;
	r->n[WIRE_N_LIVE_BYTES] = n->live_bytes;
	r->n[WIRE_N_PEAK_BYTES] = n->peak_bytes;
	r->n[WIRE_N_EST_PEAK_BYTES] = n->est_peak_bytes;
	r->n[WIRE_N_MAX] = n->aRecMax;
	r->n[WIRE_N_UNKNOWN_FREE] = n->unknown_free;
	r->n[WIRE_N_LOST] = m->lost;
	r->n[WIRE_N_FULL] = m->full;
	r->n[WIRE_N_UNSURE] = m->unsure;
	r->n[WIRE_N_SAMPLE] = m->sample;
	r->n[WIRE_N_STAY] = m->stay;
	r->lost[STREAM_RING_FULL] = (struct wire_lost){ m->lost, true };
	r->now_ms = PEER_MS + p->passed_ms;
	r->state = m->state;
	peer_send(p, &msg);
}

/* An allocation whose free lies in the same reply, or that free. */
static bool
cancels(const struct model *m, size_t i, size_t from, size_t upto)
{
	const struct rec *r = &m->log[i];
	size_t k;

	if (rec_op(r) == REC_ALLOC) {
		for (k = i + 1; k < upto; k++)
			if (rec_addr(&m->log[k]) == rec_addr(r) &&
			    rec_layer(&m->log[k]) == rec_layer(r))
				return rec_op(&m->log[k]) == REC_FREE;
		return false;
	}
	if (rec_op(r) != REC_FREE)
		return false;
	for (k = i; k-- > from;)
		if (rec_addr(&m->log[k]) == rec_addr(r) &&
		    rec_layer(&m->log[k]) == rec_layer(r))
			return rec_op(&m->log[k]) == REC_ALLOC;
	return false;
}

static void
answer_read(struct peer *p, const struct wire_msg *q, struct model *m)
{
	static uint8_t bytes[WIRE_READ_MAX * REC_WIDE_SIZE];
	static uint8_t offsets[WIRE_READ_MAX * 4];
	struct wire_msg msg = { .type = WIRE_DATA, .id = q->id };
	struct wire_data *d = &msg.data;
	uint64_t seq = q->read.from;
	size_t upto;

	if (q->read.whole)
		p->whole++;
	else
		p->not_whole++;
	if (seq > m->n + 1)
		seq = m->n + 1;
	d->first = seq;
	if (seq <= m->overwritten) {
		d->lost[STREAM_OVERWRITTEN] = (struct wire_lost){
		    m->overwritten + 1 - seq, true };
		seq = m->overwritten + 1;
	}
	upto = seq - 1 + m->read_max < m->n ? seq - 1 + m->read_max : m->n;
	for (; seq <= upto; seq++) {
		if (seq == m->lost_at) {
			d->lost[m->lost_cause] = (struct wire_lost){ 1,
			    true };
			continue;
		}
		if (!q->read.whole && cancels(m, seq - 1, d->first - 1, upto)) {
			d->cancelled++;
			continue;
		}
		stream_wide_encode(&m->log[seq - 1], 1, bytes + 32 * d->count);
		put_le(offsets + 4 * d->count, seq - d->first, 4);
		d->count++;
	}
	d->next = seq;
	d->records = (struct wire_bytes){ bytes, 32 * (size_t)d->count };
	d->offsets = (struct wire_bytes){ offsets, 4 * (size_t)d->count };
	d->oldest = m->overwritten + 1;
	d->now_ms = PEER_MS + p->passed_ms;
	d->state = m->state;
	peer_send(p, &msg);
}

static void
answer_stat(struct peer *p, const struct wire_msg *q)
{
	struct wire_msg msg = { .type = WIRE_STATS, .id = q->id };
	struct wire_stats *st = &msg.stats;
	struct model *m = peer_model(p, q->stat.index);

	st->index = q->stat.index;
	st->status = -1;
	if (q->stat.index == UINT32_MAX) {
		st->pid = (uint32_t)p->root_pid;
		st->comm = wire_text(p->root_pid != 0 ? "command" : "");
		st->state = WIRE_S_LIVE;
		st->status = p->root_status;
		st->ended_ms = p->ended_ms;
	} else if (m != NULL) {
		st->pid = (uint32_t)m->pid;
		st->comm = wire_text(m->comm);
		st->started_ms = m->started_ms;
		st->reason = wire_text(m->reason);
		st->state = m->state;
		st->n[WIRE_N_LIVE_BYTES] = m->live_bytes;
		st->n[WIRE_N_LOST] = m->lost;
		st->n[WIRE_N_FULL] = m->full;
		st->n[WIRE_N_UNSURE] = m->unsure;
		st->n[WIRE_N_MAX] = m->max;
		st->n[WIRE_N_RECORDS] = m->records;
		st->n[WIRE_N_SAMPLE] = m->sample;
		st->n[WIRE_N_ARMED_MS] = m->armed_ms;
		st->n[WIRE_N_FAILED] = m->errors.failed;
		st->n[WIRE_N_UNKNOWN_FREE] = m->errors.unknown_free;
		st->n[WIRE_N_EARLIER] = m->errors.earlier;
		st->n[WIRE_N_DUPLICATE] = m->errors.duplicate;
		st->n[WIRE_N_ILLEGAL_TYPE] = m->errors.illegal_type;
	} else {
		peer_error(p, q->id, WIRE_E_NAME);
		return;
	}
	peer_send(p, &msg);
}

static void
answer_types(struct peer *p, const struct wire_msg *q, struct model *m)
{
	uint8_t bytes[256 * 50], *out = bytes;
	struct wire_msg msg = { .type = WIRE_TYPED, .id = q->id };
	unsigned code;

	p->types_asked++;
	for (code = 0; code < 256; code++) {
		const struct stream_type *t = &m->types.by_code[code];

		if (t->name[0] == '\0')
			continue;
		*out = (uint8_t)code;
		memcpy(out + 1, t->name, 8);
		memcpy(out + 9, t->text, 41);
		out += 50;
	}
	msg.typed.index = q->types.index;
	msg.typed.types = (struct wire_bytes){ bytes, (size_t)(out - bytes) };
	peer_send(p, &msg);
}

static void
answer_sym(struct peer *p, const struct wire_msg *q)
{
	static char text[WIRE_SYMS_MAX][32];
	struct wire_msg msg = { .type = WIRE_SYMS, .id = q->id };
	size_t i;

	msg.syms.index = q->sym.index;
	msg.syms.kind = q->sym.kind;
	msg.syms.n = q->sym.n;
	for (i = 0; i < q->sym.n; i++) {
		snprintf(text[i], sizeof text[i], "t%llx",
		    (unsigned long long)q->sym.addr[i]);
		msg.syms.name[i] = wire_text(text[i]);
	}
	peer_send(p, &msg);
}

/* Site s has s % 5 frames (none: there is no such site), from s << 12 on. */
static void
answer_site(struct peer *p, const struct wire_msg *q)
{
	static uint8_t packed[WIRE_PACKED_MAX];
	struct wire_msg msg = { .type = WIRE_SITED, .id = q->id };
	size_t i, len = 0;

	p->sites_asked++;
	for (i = 0; i < q->site.n && i < p->answer_max; i++) {
		struct wire_stack st = { .site = q->site.site[i],
		    .depth = q->site.site[i] % 5, .end = RING_END_OUTERMOST };

		for (unsigned f = 0; f < st.depth; f++)
			st.frame[f] = frame_make(
			    (uint64_t)st.site << 12 | f, 1);
		ck_assert(wire_sited_put(packed, sizeof packed, &len, &st));
	}
	msg.sited.index = q->site.index;
	msg.sited.n = (uint32_t)i;
	msg.sited.sites = (struct wire_bytes){ packed, len };
	peer_send(p, &msg);
}

/*
 * At address a lies function "f<a>", in "lib.so" at its low twelve bits; what
 * the test has to say of all frames (peer.known, peer.fetch_kb) comes first.
 */
static void
answer_frame(struct peer *p, const struct wire_msg *q)
{
	static uint8_t packed[WIRE_PACKED_MAX];
	struct wire_msg msg = { .type = WIRE_FRAMED, .id = q->id };
	size_t i, len = 0;
	char text[32];

	p->frames_asked++;
	for (i = 0; i < q->frame.n && i < p->answer_max; i++) {
		uint64_t pc = frame_pc(q->frame.frame[i]);
		struct wire_words w = { .frame = q->frame.frame[i],
		    .known = p->known, .fetching = p->fetch_kb > 0,
		    .offset = pc & 0xfff, .module = wire_text("/usr/lib.so"),
		    .n = p->known == WIRE_K_LINE };

		snprintf(text, sizeof text, "f%llx", (unsigned long long)pc);
		w.line[0].function = wire_text(text);
		w.line[0].file = wire_text("lib.c");
		w.line[0].line = (uint32_t)(pc & 0xfff);
		ck_assert(wire_framed_put(packed, sizeof packed, &len, &w));
	}
	msg.framed.index = q->frame.index;
	msg.framed.n = (uint32_t)i;
	msg.framed.words = (struct wire_bytes){ packed, len };
	if (p->fetch_kb > 0) {
		msg.framed.fetch = wire_text("/usr/lib.so");
		msg.framed.fetched_kb = p->fetch_kb;
		msg.framed.fetch_kb = 4096;
	}
	peer_send(p, &msg);
}

static void
answer_hello(struct peer *p, const struct wire_msg *q)
{
	struct wire_msg msg = {
		.type = WIRE_WELCOME,
		.id = q->id,
		.welcome = {
			.version = WIRE_VERSION,
			.node_name = wire_text("testnode"),
			.node_number = 0x0590,
			.roles = WIRE_ROLE_READ,
			.boot = { p->boot, 1 },
		},
	};

	peer_send(p, &msg);
}

/* Index, epoch and entry must agree, or this answers as a node does. */
static struct model *
meant(struct peer *p, uint32_t id, uint32_t index, const uint8_t *epoch)
{
	struct model *m = peer_model(p, index);

	if (m == NULL) {
		peer_error(p, id, WIRE_E_NAME);
	} else if (epoch != NULL && memcmp(epoch, m->epoch, WIRE_EPOCH) != 0) {
		peer_error(p, id, WIRE_E_EPOCH);
		m = NULL;
	}
	return m;
}

/* Takes the k-th request out of the queue. */
static struct wire_msg
peer_take(struct peer *p, size_t k)
{
	struct wire_msg q = p->asked[k];

	ck_assert_uint_lt(k, p->n);
	p->n--;
	memmove(&p->asked[k], &p->asked[k + 1], (p->n - k) * sizeof q);
	return q;
}

/* The stream begins anew. */
static void
answer_arm(struct peer *p, const struct wire_msg *q, struct model *m)
{
	bool armed = q->arm.arming != WIRE_ARM_OFF;

	p->armed[q->arm.arming]++;
	if (p->may_not_arm) {
		peer_error(p, q->id, WIRE_E_AUTH);
		return;
	}
	if ((m->state == WIRE_S_LIVE) != armed)
		model_arm(m, armed);
	peer_send(p, &(struct wire_msg){ .type = WIRE_ARMED, .id = q->id });
}

/* Its clock says nothing, and the other numbers are those of the last record. */
static void
answer_marked(struct peer *p, const struct wire_msg *q, struct model *m)
{
	static uint8_t packed[WIRE_MARKS_MAX * WIRE_MARK_SIZE];
	struct wire_msg msg = { .type = WIRE_MARKED, .id = q->id };
	struct wire_named_mark *mark = &m->mark[m->marks];

	if (q->type == WIRE_MARK) {
		*mark = (struct wire_named_mark){ .seq = m->n, .ms = 1000,
			.wall_ms = 1100000000000, .who = "anna",
			.blocks = blklist_counts(m->list)->aRecActive,
			.bytes = blklist_counts(m->list)->live_bytes };
		mark->est_blocks = mark->blocks;
		mark->est_bytes = mark->bytes;
		memcpy(mark->name, q->mark.name.s, q->mark.name.len);
		m->marks++;
	}
	for (size_t i = 0; i < m->marks; i++)
		wire_named_mark_put(packed + i * WIRE_MARK_SIZE, &m->mark[i]);
	msg.marked.marks = (struct wire_bytes){ .p = packed,
		.len = m->marks * WIRE_MARK_SIZE };
	peer_send(p, &msg);
}

static void
answer_used(struct peer *p, const struct wire_msg *q, struct model *m)
{
	static uint8_t packed[WIRE_USAGE_ROWS * WIRE_USAGE_SIZE];
	struct wire_msg msg = { .type = WIRE_USED, .id = q->id };
	uint32_t from = q->usage.from, n = 0;

	m->usage_ends += q->usage.end;
	if (from == 0)
		m->usage_no++;
	else if (m->usage_anew > 0 && m->usage_anew--)
		m->usage_no++;
	for (; !q->usage.end && from < m->usages && n < WIRE_USAGE_ROWS;
	    from++, n++)
		usage_row_put(packed + n * WIRE_USAGE_SIZE, &m->usage[from]);
	msg.used.no = m->usage_no;
	msg.used.nrows = m->usages;
	msg.used.next = from < m->usages ? from : 0;
	msg.used.rows = (struct wire_bytes){ .p = packed,
		.len = n * WIRE_USAGE_SIZE };
	msg.used.total[WIRE_U_ALLOCS] = 4711;
	msg.used.ntotals = 1;		/* an earlier node has fewer */
	msg.used.since_ms = 900;
	msg.used.now_ms = 1000;
	msg.used.lost = 5;
	msg.used.lacks = wire_text("5 records were \033 lost");
	peer_send(p, &msg);
}

static void
answer_kernel(struct peer *p, const struct wire_msg *q)
{
	const char *lines = p->kernel_lines[q->kernel_memory.table];
	struct wire_msg msg = { .type = WIRE_KERNEL_ROWS, .id = q->id,
		.kernel_rows = { .table = q->kernel_memory.table,
		    .rows = p->kernel_rows, .bytes = 4711 } };

	if (p->has_no_kernel_memory || lines == NULL) {
		peer_error(p, q->id, p->has_no_kernel_memory ? WIRE_E_FRAME :
		    WIRE_E_NAME);
		return;
	}
	msg.kernel_rows.lines = (struct wire_bytes){ .p = (const uint8_t *)lines,
		.len = strlen(lines) };
	peer_send(p, &msg);
}

static void
answer_stressed(struct peer *p, const struct wire_msg *q)
{
	struct wire_msg msg = { .type = WIRE_STRESSED, .id = q->id };
	uint8_t packed[STRESS_PACKED_MAX];
	struct wire_stressed *s = &msg.stressed;

	p->stress_asked++;
	p->stress_wait_ms = q->stress.wait_ms;
	s->woken = p->stress_woken;
	s->kernel = wire_text("6.1.0-test");
	s->reader = p->stress_reader;
	s->sample = (struct wire_bytes){ .p = packed,
		.len = stress_put(packed, &p->stress) };
	if (p->stress_bytes.len > 0)
		s->sample = p->stress_bytes;
	for (; p->stress_why[s->nwhy] != NULL; s->nwhy++)
		s->why[s->nwhy] = wire_text(p->stress_why[s->nwhy]);
	s->taken_ms = PEER_MS + p->passed_ms;
	s->now_ms = s->taken_ms + 3;
	peer_send(p, &msg);
}

static void
answer_touched(struct peer *p, const struct wire_msg *q, struct model *m)
{
	static uint8_t rows[WIRE_TOUCH_BYTES], ranges[2 * WIRE_TOUCH_RANGE];
	struct wire_msg msg = { .type = WIRE_TOUCHED, .id = q->id };
	struct wire_touched *t = &msg.touched;
	uint32_t i = 0, n = 0;

	while (i < m->touches && m->touch[i].vaddr < q->touches.from)
		i++;
	if (i > 0 && m->touch_anew > 0 && m->touch_anew--)
		m->touch_no++;
	t->counters = m->touches > 0 ? m->touch[0].counters : 0;
	for (; i < m->touches && n < m->touch_rows; i++, n++)
		refcnt_row_put(rows + n * WIRE_TOUCH_ROW(t->counters),
		    &m->touch[i]);
	t->rows = (struct wire_bytes){ .p = rows,
		.len = n * WIRE_TOUCH_ROW(t->counters) };
	t->next = i < m->touches ? m->touch[i].vaddr : 0;
	t->no = m->touch_no;
	t->nodes = 2;
	t->period_ms = 1000;
	t->since_ms = 900;
	t->now_ms = 5000;
	t->why = wire_text(m->touches > 0 ? "a \033 reason" : "");
	/* One range at a time. */
	m->touch_less |= m->touch_off != 0 && q->touches.from >= m->touch_off;
	t->nranges = m->touches == 0 ? 0 : m->touch_less ? 1 : 2;
	t->pages = m->touches;
	if (q->touches.range < t->nranges) {
		wire_touch_range_put(ranges, &(struct wire_touch_range){
		    .vaddr = 0x10000 * (q->touches.range + 1),
		    .len = m->touch_len != 0 ? m->touch_len : 4096, .since_ms = 900, .source = REFCNT_REFS });
		t->ranges = (struct wire_bytes){ .p = ranges,
			.len = WIRE_TOUCH_RANGE };
	}
	peer_send(p, &msg);
}

static void
answer_count(struct peer *p, const struct wire_msg *q, struct model *m)
{
	struct wire_msg msg = { .type = WIRE_COUNTED, .id = q->id };

	m->counted = q->count;
	if (m->count_error != 0) {
		peer_error(p, q->id, m->count_error);
		return;
	}
	msg.counted.why = wire_text("none of it is mapped");
	msg.counted.pages = 7;
	msg.counted.moved = 3;
	msg.counted.left = 1;
	peer_send(p, &msg);
}

static void
answer_memory(struct peer *p, const struct wire_msg *q)
{
	static uint8_t rows[2 * WIRE_MEMORY_SIZE];
	struct wire_msg msg = { .type = WIRE_MEMORIES, .id = q->id };

	for (uint32_t i = 0; i < 2; i++)
		wire_memory_node_put(rows + i * WIRE_MEMORY_SIZE,
		    &(struct wire_memory_node){ .node = i, .bytes = 1 << 20,
		    .pages = 256, .sets = 256, .counters = 512,
		    .base_pages = 256, .slots = 1, .cpus = 1,
		    .name = "n\033de" });
	msg.memories.counters = 2;
	msg.memories.bits = 11;
	msg.memories.rows = (struct wire_bytes){ rows, sizeof rows };
	if (q->memory.nodes.len > 3)
		peer_error(p, q->id, WIRE_E_NAME);
	else
		peer_send(p, &msg);
}

static void
answer_regions(struct peer *p, const struct wire_msg *q)
{
	struct model *m = meant(p, q->id, q->regions.index, q->regions.epoch);
	uint8_t packed[WIRE_REGIONS_MAX * WIRE_REGION_SIZE];
	struct wire_msg msg = { .type = WIRE_REGIONED, .id = q->id };

	p->regions_asked++;
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->regions; i++)
		wire_region_put(packed + i * WIRE_REGION_SIZE, &m->region[i]);
	msg.regioned.index = q->regions.index;
	msg.regioned.why = wire_text(m->regions_why);
	msg.regioned.regions = (struct wire_bytes){ .p = packed,
		.len = m->regions * WIRE_REGION_SIZE };
	peer_send(p, &msg);
}

static void
peer_regions(struct peer *p)
{
	if (p->holds_regions)
		return;
	for (size_t i = 0; i < p->nregions; i++)
		if (p->has_no_regions)
			peer_error(p, p->regions[i].id, WIRE_E_FRAME);
		else
			answer_regions(p, &p->regions[i]);
	p->nregions = 0;
}

/* Answers the k-th of the waiting requests as a good node would. */
static void
peer_answer(struct peer *p, size_t k)
{
	struct wire_msg q = peer_take(p, k);
	struct model *m;

	peer_regions(p);
	switch (q.type) {
	case WIRE_HELLO:
		answer_hello(p, &q);
		break;
	case WIRE_NAME:
		answer_name(p, &q);
		break;
	case WIRE_SNAP:
		m = meant(p, q.id, q.snap.index, q.snap.epoch);
		if (m != NULL)
			answer_snap(p, &q, m);
		break;
	case WIRE_READ:
		m = meant(p, q.id, q.read.index, q.read.epoch);
		if (m != NULL)
			answer_read(p, &q, m);
		break;
	case WIRE_WINDOW:
		m = meant(p, q.id, q.window.index, q.window.epoch);
		if (m != NULL)
			answer_window(p, &q, m);
		break;
	case WIRE_STAT:
		answer_stat(p, &q);
		break;
	case WIRE_TYPES:
		m = meant(p, q.id, q.types.index, NULL);
		if (m != NULL)
			answer_types(p, &q, m);
		break;
	case WIRE_SYM:
		answer_sym(p, &q);
		break;
	case WIRE_SITE:
		m = meant(p, q.id, q.site.index, q.site.epoch);
		if (m != NULL)
			answer_site(p, &q);
		break;
	case WIRE_FRAME:
		m = meant(p, q.id, q.frame.index, q.frame.epoch);
		if (m != NULL)
			answer_frame(p, &q);
		break;
	case WIRE_MARKS:
	case WIRE_MARK:
		m = meant(p, q.id, q.type == WIRE_MARK ? q.mark.index :
		    q.marks.index, q.type == WIRE_MARK ? q.mark.epoch :
		    q.marks.epoch);
		if (m != NULL && p->has_no_marks)
			peer_error(p, q.id, WIRE_E_FRAME);
		else if (m != NULL)
			answer_marked(p, &q, m);
		break;
	case WIRE_USAGE:
		m = meant(p, q.id, q.usage.index, q.usage.epoch);
		if (m != NULL && p->has_no_usage)
			peer_error(p, q.id, WIRE_E_FRAME);
		else if (m != NULL)
			answer_used(p, &q, m);
		break;
	case WIRE_STRESS:
		if (p->has_no_stress)
			peer_error(p, q.id, WIRE_E_FRAME);
		else
			answer_stressed(p, &q);
		break;
	case WIRE_KERNEL_MEMORY:
		answer_kernel(p, &q);
		break;
	case WIRE_TOUCHES:
	case WIRE_COUNT:
		m = meant(p, q.id, q.type == WIRE_COUNT ? q.count.index :
		    q.touches.index, q.type == WIRE_COUNT ? q.count.epoch :
		    q.touches.epoch);
		if (m != NULL && p->has_no_touches)
			peer_error(p, q.id, WIRE_E_FRAME);
		else if (m != NULL && q.type == WIRE_COUNT)
			answer_count(p, &q, m);
		else if (m != NULL)
			answer_touched(p, &q, m);
		break;
	case WIRE_MEMORY:
		if (p->has_no_touches)
			peer_error(p, q.id, WIRE_E_FRAME);
		else
			answer_memory(p, &q);
		break;
	case WIRE_ARM:
		m = meant(p, q.id, q.arm.index, q.arm.epoch);
		if (m != NULL)
			answer_arm(p, &q, m);
		break;
	default:
		peer_error(p, q.id, WIRE_E_INTERNAL);
		break;
	}
}

/* Answers all there is until nobody asks any more. */
static void
peer_serve(struct peer *p)
{
	peer_turn(p);
	while (p->n > 0 || (p->nregions > 0 && !p->holds_regions)) {
		if (p->n > 0)
			peer_answer(p, 0);
		else
			peer_regions(p);
		peer_turn(p);
	}
}

/* n cycles of the page, each answered in full. */
static inline void
peer_cycles(struct peer *p, struct nodes_session *s, unsigned n)
{
	while (n-- > 0) {
		nodes_session_cycle(s);
		peer_serve(p);
	}
}

/* Position of the oldest waiting request of that type, or -1. */
static inline int
peer_find(const struct peer *p, enum wire_type type)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->asked[i].type == type)
			return (int)i;
	return -1;
}

static void
peer_hang_up(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* The loop must have nothing left: every handle was closed. */
static inline void
peer_close(struct peer *p)
{
	nodes_link_close(p->link);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	ck_assert_int_eq(uv_loop_close(&p->loop), 0);
	while (p->n > 0)
		(void)peer_take(p, 0);
	wire_frames_fini(&p->in);
	peer_hang_up(p);
}

#endif
