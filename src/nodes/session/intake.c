/*
 * Blocks and records, from the link into the list: while loading, SNAPs and
 * READs side by side; merge.h says which records apply.  Later READs leave out
 * pairs, and follow each other until caught up or worked long enough.
 *
 * While loading, SNAPs and READs run side by side, each followed by the next
 * when its reply is in; merge.h says which records apply. Later READs leave out
 * cancelled pairs. Within a cycle they follow each other until the reader has
 * caught up or has worked long enough.
 *
 * Only the reply says where a READ ends. But a busy node answers late, so while
 * replies come back full of records that do not cancel, READ_WINDOW of them are
 * sent ahead, each from where its predecessor ends if that is full again. A
 * reply that begins elsewhere than at the cursor is dropped and read again.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

unsigned
intake_record_size(const struct nodes_session *s)
{
	return s->look.classic ? REC_CLASSIC_SIZE : REC_WIDE_SIZE;
}

struct blklist_info
intake_decode_info(const struct wire_info *in)
{
	struct blklist_info info = { .node = in->node };
	size_t len = in->name.len < sizeof info.name - 1 ? in->name.len :
	    sizeof info.name - 1;

	if (len > 0)
		memcpy(info.name, in->name.s, len);
	return info;
}

int
intake_decode_block(const struct nodes_session *s, const uint8_t *p,
    struct blk *blk)
{
	unsigned size = intake_record_size(s);
	struct rec r;
	int64_t ms;
	int err;

	if (s->look.classic) {
		err = stream_classic_decode(p, &r, &ms);
		if (err < 0)
			return err;
	} else {
		stream_wide_decode(p, 1, &r);
	}
	*blk = blk_of_rec(&r, base_get_le(p + size, 8),
	    (int64_t)base_get_le(p + size + 8, 8));
	return 0;
}

struct decoded {
	struct rec rec[WIRE_READ_MAX];
	uint64_t seq[WIRE_READ_MAX];
	int64_t ms[WIRE_READ_MAX];	/* classic records only */
	struct blklist_batch_info info[WIRE_INFO_MAX];
	size_t n, ninfo;
};

int
intake_decode_record(const struct nodes_session *s, const struct wire_data *data,
    uint32_t i, struct rec *r, uint64_t *seq, int64_t *ms)
{
	const uint8_t *p = data->records.p + (size_t)i * intake_record_size(s);
	int err;

	*seq = data->first + (data->offsets.len != 0 ?
	    base_get_le(data->offsets.p + 4 * (size_t)i, 4) : i);
	if (s->look.classic) {
		err = stream_classic_decode(p, r, ms);
		return err < 0 ? err : 0;
	}
	stream_wide_decode(p, 1, r);
	*ms = rec_ms_near(r, data->now_ms);
	return 0;
}

/* Decodes the records that apply; returns the number of bad ones. */
static size_t
decode_batch(struct nodes_session *s, const struct wire_data *data,
    struct decoded *b)
{
	bool merging = s->intake.merge.n > 0;
	size_t k = 0, bad = 0;
	uint64_t seq;
	int64_t ms = 0;
	struct rec r;
	uint32_t i;

	b->n = b->ninfo = 0;
	for (i = 0; i < data->count; i++) {
		if (intake_decode_record(s, data, i, &r, &seq, &ms) < 0) {
			bad++;
			continue;
		}
		if (merging && !merge_admit(&s->intake.merge, &r, seq))
			continue;
		while (k < data->ninfo && data->info[k].at < i)
			k++;
		if (k < data->ninfo && data->info[k].at == i)
			b->info[b->ninfo++] = (struct blklist_batch_info){
				.at = b->n,
				.info = intake_decode_info(&data->info[k]),
			};
		b->rec[b->n] = r;
		b->seq[b->n] = seq;
		b->ms[b->n++] = ms;
	}
	return bad;
}

#define REMEMBERED (1u << 17)	/* freed blocks: more than in a cycle */
#define MOVES (1u << 16)	/* blocks moved by realloc, likewise */

static enum blklist_kind
kind_of(const struct nodes_session *s)
{
	return s->opts.kind_given ? s->opts.kind :
	    s->look.classic ? BLKLIST_LITERAL : BLKLIST_INDEXED;
}

/* aRecMax: with opts.whole the node's, but a literal list is kept small. */
static uint32_t
room_for(const struct nodes_session *s, uint64_t blocks)
{
	bool literal = kind_of(s) == BLKLIST_LITERAL;
	uint32_t most = literal ? NODES_MAX : BLKLIST_MAX;
	uint32_t room = s->look.classic ? NODES_MAX_CLASSIC : NODES_MAX;
	uint64_t node = s->counters.keeper[WIRE_N_MAX];

	if (s->opts.max != 0)
		return s->opts.max;
	if (!s->opts.whole || node <= room || (literal && blocks <= room / 2))
		return room;
	return node < most ? (uint32_t)node : most;
}

static int
new_list_of(struct nodes_session *s, uint32_t max, struct blklist **out)
{
	const struct nodes_session_opts *o = &s->opts;
	int err;

	err = blklist_new_most(out, kind_of(s), max);
	if (err < 0)
		return err;
	blklist_set_legal(*out, s->types.legal);
	/* The nibble of other nodes' records may look like a level. */
	blklist_set_opaque(*out, s->look.classic && !s->look.levels);
	blklist_set_since_click(*out, o->since_click ||
	    s->counters.keeper[WIRE_N_EARLIER] > 0 || s->counters.keeper[WIRE_N_ARMED_MS] != 0);
	blklist_sample(*out, s->look.sample);
	/* For the earlier blocks at an address; works without memory too. */
	blklist_remember(*out, REMEMBERED);
	return 0;
}

static int
new_list(struct nodes_session *s, uint64_t blocks, struct blklist **out)
{
	return new_list_of(s, room_for(s, blocks), out);
}

/* Before the first part: a larger list if the node's counters ask for it. */
static void
make_room(struct nodes_session *s, uint64_t blocks)
{
	uint32_t room = room_for(s, blocks);
	struct blklist *list;

	if (room <= blklist_counts(s->intake.build)->aRecMax ||
	    new_list_of(s, room, &list) < 0)
		return;
	if (s->intake.build == s->intake.list) {
		s->intake.list = list;
		s->look.list = list;
	}
	blklist_free(s->intake.build);
	s->intake.build = list;
}

static void
drop_build(struct nodes_session *s)
{
	if (s->intake.build != s->intake.list)
		blklist_free(s->intake.build);
	s->intake.build = NULL;
}

/* Without memory a realloc that moves is a free and a new block. */
void
intake_follow(struct nodes_session *s)
{
	if (!s->look.classic)
		(void)blklist_follow_reallocs(s->intake.build, MOVES);
}

/* From now on all records apply, so that both of a realloc's are seen. */
static void
publish_build(struct nodes_session *s)
{
	intake_follow(s);
	if (s->intake.build != s->intake.list) {
		blklist_free(s->intake.list);
		s->intake.list = s->intake.build;
		s->look.list = s->intake.list;
	}
	s->intake.put_full = s->intake.build_full;
	s->step = SESSION_FLOW;
	s->look.listed = true;
	s->look.settled = true;
	s->look.window = false;
	s->regions.torn = s->losses.torn;
	reconnect_set_fresh(s);
	merge_reset(&s->intake.merge);
}

/* A shorter reply has caught up: a busy stream must not be read for ever. */
#define FULL_RECORDS (WIRE_READ_MAX / 2)
#define FULL_LENGTH 65536
#define READS_PER_CYCLE 1024
#define READ_WINDOW 16
#define WORK_PER_CYCLE_NS 45000000	/* of a cycle's 66.7 ms */
#define ORDER_PER_CYCLE_NS 6000000	/* beside all else in a cycle */
#define ORDER_PART 65536

static void ask_part(struct nodes_session *, bool from_start, uint64_t after);

/*
 * Records between the parts were lost. The parts are shown without reading on,
 * which would keep blocks that were freed in the gap.
 */
static void
settle_torn(struct nodes_session *s)
{
	publish_build(s);
	s->intake.retake = true;
	session_say(s, SESSION_TORN);
}

static void
settle(struct nodes_session *s)
{
	char count[32];

	publish_build(s);
	s->look.behind = false;
	if (!s->losses.mending)
		return;
	s->losses.mending = false;
	s->look.loss.mended += s->losses.mended;
	base_group_digits(count, sizeof count, s->losses.mended);
	session_say(s, "%s records lost on the way to this page: list read "
	    "again, nothing is missing", count);
	s->losses.mended = 0;
}

/* Sorts by age, a portion each cycle; meanwhile the former list is shown. */
static bool
sort_portion(struct nodes_session *s)
{
	struct mono begin;
	bool done = s->intake.build == s->intake.list;

	while (!done && s->clock.order_ns < ORDER_PER_CYCLE_NS) {
		begin = mono_now();
		done = blklist_restore_order(s->intake.build, ORDER_PART);
		s->clock.order_ns += mono_diff_ns(mono_now(), begin);
	}
	return done || blklist_restore_order(s->intake.build, 0);
}

/* All parts are in, and all records since the first one. */
static bool
is_taken(const struct nodes_session *s)
{
	return s->step == SESSION_LOAD &&
	       (s->losses.torn
		       ? merge_complete(&s->intake.merge)
		       : merge_settled(&s->intake.merge, s->intake.cursor));
}

static void
settle_taken(struct nodes_session *s)
{
	if (!is_taken(s) || !sort_portion(s))
		return;
	if (s->losses.torn)
		settle_torn(s);
	else
		settle(s);
}

void
intake_cycle(struct nodes_session *s)
{
	s->clock.order_ns = 0;
	if (!s->intake.retake)
		settle_taken(s);
}

static void
set_legal(struct nodes_session *s, unsigned code)
{
	s->types.legal[code / 8] |= (uint8_t)(1u << code % 8);
}

void
intake_types(struct nodes_session *s, const struct wire_typed *typed)
{
	const uint8_t *entry = typed->types.p;
	struct stream_types were = s->types.table;
	struct stream_type *type;
	size_t i, n = typed->types.len / WIRE_TYPED_SIZE;

	memset(&s->types.table, 0, sizeof s->types.table);
	memset(s->types.legal, 0, sizeof s->types.legal);
	for (i = 0; i < n; i++, entry += WIRE_TYPED_SIZE) {
		type = &s->types.table.by_code[entry[0]];
		type->code = entry[0];
		memcpy(type->name, entry + 1, sizeof type->name - 1);
		memcpy(type->text, entry + 9, sizeof type->text - 1);
		if (type->name[0] != '\0')
			set_legal(s, entry[0]);
	}
	/* Mostly the same as before; the table has no padding. */
	if (memcmp(&s->types.table, &were, sizeof were) != 0)
		s->look.types_no++;
	if (s->intake.list != NULL)
		blklist_set_legal(s->intake.list, s->types.legal);
	if (s->intake.build != NULL && s->intake.build != s->intake.list)
		blklist_set_legal(s->intake.build, s->types.legal);
}

/* A list that was counted with another period is taken anew. */
void
intake_sample(struct nodes_session *s, uint64_t period)
{
	if (period == s->look.sample)
		return;
	/* ROWS tell the period themselves. */
	if (s->look.window)
		return;
	s->look.sample = period;
	if (s->intake.build != NULL && s->intake.build == s->intake.list &&
	    blklist_counts(s->intake.build)->aRecActive == 0)
		blklist_sample(s->intake.build, period);
	else
		s->intake.retake = true;
}

static void
put_blocks(struct nodes_session *s, const struct wire_part *part)
{
	unsigned stride = intake_record_size(s) + WIRE_BLOCK_TAIL;
	size_t i, k = 0, n = part->blocks.len / stride;
	struct blklist_info info;
	struct blk blk;

	for (i = 0; i < n; i++) {
		if (intake_decode_block(s, part->blocks.p + i * stride, &blk) < 0) {
			s->losses.bad++;
			continue;
		}
		while (k < part->ninfo && part->info[k].at < i)
			k++;
		if (k < part->ninfo && part->info[k].at == i) {
			info = intake_decode_info(&part->info[k]);
			blk.info = blklist_info_intern(s->intake.build, &info);
		}
		/* Without a click that is 0, and all are taken. */
		if (blk.seq >= s->stream.click &&
		    blklist_put(s->intake.build, &blk) == -ENOSPC)
			s->intake.build_full++;
	}
	if (s->intake.build == s->intake.list)
		s->intake.put_full = s->intake.build_full;
}

static void
take_part(struct nodes_session *s, const struct wire_part *part)
{
	unsigned stride = intake_record_size(s) + WIRE_BLOCK_TAIL;
	uint64_t upto = merge_key(part->next_layer, part->next);
	bool first = s->intake.merge.n == 0;
	int err;

	if (window_large(s, part->total))
		return;
	if (part->blocks.len != (size_t)part->count * stride)
		err = -EPROTO;
	else
		err = merge_part(&s->intake.merge, upto, part->as_of,
		    part->last, s->intake.cursor);
	if (err < 0) {
		s->intake.retake = true;
		return;
	}
	if (first) {
		make_room(s, part->total);
		s->losses.partial = false;
	}
	s->losses.partial =
	    s->losses.partial || part->since != WIRE_SINCE_START;
	put_blocks(s, part);
	reconnect_set_heard(s, part->now_ms);
	if (first && s->intake.counting)
		window_pass(s, part->as_of + 1, 0);
	else if (first)
		s->intake.cursor = part->as_of + 1;
	s->intake.counting = true;
	if (!part->last)
		ask_part(s, false, upto);
	else
		settle_taken(s);
	intake_read(s);
}

void
answered_part(struct nodes_session *s, const struct wire_msg *msg)
{
	struct mono begin = mono_now();

	if (s->window.due)
		;
	else if (msg->type == WIRE_ERR)
		session_refused(s, &msg->err);
	else if (msg->type != WIRE_PART || s->step != SESSION_LOAD)
		s->intake.retake = true;
	else
		take_part(s, &msg->part);
	s->clock.cycle_ns += mono_diff_ns(mono_now(), begin);
	/* Otherwise the READ beside it sends the news. */
	if (!s->losses.torn || !s->look.settled)
		return;
	session_measure(s);
	s->news(s->arg);
}

static void
ask_part(struct nodes_session *s, bool from_start, uint64_t after)
{
	struct wire_msg msg = {
		.type = WIRE_SNAP,
		.snap = {
			.index = s->stream.index,
			.from_start = from_start,
			.after_layer = (unsigned)(after >> REC_ADDR_BITS),
			.after = after & REC_ADDR_MASK,
			.max = WIRE_READ_MAX,
		},
	};

	memcpy(msg.snap.epoch, s->stream.epoch, WIRE_EPOCH);
	if (session_ask(s, SESSION_ASK_PART, &msg) < 0)
		s->intake.retake = true;
}

void
intake_retake(struct nodes_session *s)
{
	s->intake.retake = s->losses.torn = false;
	/* A window is whole by definition. */
	s->look.settled = s->look.window;
	merge_reset(&s->intake.merge);
	drop_build(s);
	s->intake.build_full = 0;
	if (!s->look.listed) {
		/* There is no whole list: the blocks are shown as they come. */
		blklist_clear(s->intake.list);
		blklist_sample(s->intake.list, s->look.sample);
		s->intake.build = s->intake.list;
		s->intake.put_full = 0;
	} else if (new_list(s, s->counters.keeper[WIRE_N_LIVE_BLOCKS],
	    &s->intake.build) < 0) {
		s->intake.build = NULL;
		s->intake.retake = true;
		return;
	}
	s->step = SESSION_LOAD;
	s->intake.undo_seen = 0;
	ask_part(s, true, 0);
}

int
intake_begin(struct nodes_session *s, bool classic)
{
	struct blklist *list;
	int err;

	s->look.classic = classic;
	s->look.types_no++;
	memset(s->types.asked, 0, sizeof s->types.asked);
	if (classic)
		stream_types_init_classic(&s->types.table);
	else
		stream_types_init(&s->types.table);
	memset(s->types.legal, 0, sizeof s->types.legal);
	for (unsigned code = 0; code < 256; code++)
		if (s->types.table.by_code[code].name[0] != '\0')
			set_legal(s, code);
	err = new_list(s, 0, &list);
	if (err < 0)
		return err;
	drop_build(s);
	s->intake.put_full = s->intake.build_full = 0;
	blklist_free(s->intake.list);
	s->intake.list = s->intake.build = list;
	s->look.list = list;
	s->look.listed = s->look.window = false;
	s->intake.undo_seen = 0;
	merge_reset(&s->intake.merge);
	return 0;
}

void
intake_stop(struct nodes_session *s)
{
	s->intake.retake = s->losses.torn = false;
	merge_reset(&s->intake.merge);
	drop_build(s);
	s->intake.build = s->intake.list;
}

void
intake_fini(struct nodes_session *s)
{
	drop_build(s);
	blklist_free(s->intake.list);
	s->intake.list = NULL;
	merge_fini(&s->intake.merge);
}

/* Notes type codes that are neither in the table nor requested before. */
static bool
has_new_type(struct nodes_session *s, const struct wire_data *data)
{
	unsigned size = intake_record_size(s);
	/* The type is byte 7 in either format. */
	const uint8_t *p = data->records.p + 7;
	bool found = false;
	uint32_t i;

	for (i = 0; i < data->count; i++, p += size) {
		if (((s->types.legal[*p / 8] | s->types.asked[*p / 8]) >>
			    *p % 8 &
			1) != 0)
			continue;
		s->types.asked[*p / 8] |= (uint8_t)(1u << *p % 8);
		found = true;
	}
	return found;
}

static bool
is_lossy(const struct wire_data *data)
{
	unsigned cause;

	for (cause = 0; cause < BASE_NELEM(data->lost); cause++)
		if (data->lost[cause].count > 0)
			return true;
	return false;
}

static void
apply(struct nodes_session *s, const struct wire_data *data)
{
	static struct decoded b;	/* 60 kB; single thread, free on return */
	struct blklist_batch batch = {
		.rec = b.rec,
		.seqs = b.seq,
		.near_ms = data->now_ms,
		.info = b.info,
		/* Otherwise the node has cancelled pairs already. */
		.cancel = s->intake.merge.n > 0,
	};
	size_t bad;

	bad = decode_batch(s, data, &b);
	batch.n = b.n;
	batch.seq = b.n > 0 ? b.seq[0] : data->first;
	batch.ninfo = b.ninfo;
	if (s->look.classic)
		batch.ms = b.ms;
	/* Where they were lost within the reply is unknown. */
	batch.gaps = is_lossy(data) || bad > 0;
	watch_data(s, &batch, data);
	blklist_apply(s->intake.build, &batch);
	s->losses.bad += bad;
	if (s->look.loss.bad_records < s->losses.bad)
		s->look.loss.bad_records = s->losses.bad;
}

/* Counts the losses of a reply. True: the list must be taken anew. */
static bool
take_losses(struct nodes_session *s, const struct wire_data *data)
{
	uint64_t before = 0, after = 0;
	unsigned cause;

	_Static_assert(BASE_NELEM(data->lost) == STREAM_CAUSES,
	    "one counter for each cause");

	for (cause = 0; cause < STREAM_CAUSES; cause++) {
		/* look.lost[0] has those of before this session. */
		s->look.loss.lost[cause != 0 ? cause : STREAM_OTHER] +=
		    data->lost[cause].count;
		if (cause == STREAM_OVERWRITTEN || cause == STREAM_LINK)
			after += data->lost[cause].count;
		else
			before += data->lost[cause].count;
	}
	if (before > 0) {
		s->losses.seen += before;
		numbers_set_lost(s);
	}
	if (after == 0)
		return false;
	s->losses.mended += after;
	s->losses.mending = true;
	return true;
}

bool
intake_adds_up(const struct nodes_session *s, const struct wire_data *data)
{
	uint64_t sum = (uint64_t)data->count + data->cancelled;
	bool exact = true;
	unsigned cause;

	for (cause = 0; cause < BASE_NELEM(data->lost); cause++) {
		sum += data->lost[cause].count;
		if (data->lost[cause].count > 0 && !data->lost[cause].exact)
			exact = false;
	}
	return data->next >= data->first &&
	    (data->next - data->first == sum || !exact) &&
	    data->count <= WIRE_READ_MAX &&
	    data->records.len == (size_t)data->count * intake_record_size(s) &&
	    (data->offsets.len == 0 ||
	    data->offsets.len == 4 * (size_t)data->count);
}

static bool
is_behind(const struct wire_data *data)
{
	return data->lost[STREAM_OVERWRITTEN].count > 0 ||
	    data->lost[STREAM_LINK].count > 0;
}

/* Full of records that do not cancel: the next replies are likely to be. */
static bool
is_dense(const struct wire_data *data)
{
	return data->count == WIRE_READ_MAX &&
	    data->cancelled < WIRE_READ_MAX / 4;
}

static void
take_data(struct nodes_session *s, const struct wire_data *data, bool first)
{
	uint64_t undo;
	bool ended, caught_up;

	if (data->first != s->intake.cursor && !first)
		return;
	if (data->first != s->intake.cursor || !intake_adds_up(s, data)) {
		session_say(s, "the node's answer was inconsistent: the list "
		    "is read again");
		s->intake.retake = true;
		return;
	}
	if (has_new_type(s, data)) {
		/* It may be new in the table: request that, then read again. */
		s->types.doubt = true;
		numbers_ask_types(s);
		return;
	}
	/* The node's list has them: show a window of it. */
	if (is_behind(data) && window_overrun(s))
		return;
	s->clock.cycle_records += data->count + data->cancelled;
	s->look.work.total_records += data->count + data->cancelled;
	s->stream.state = data->state;
	if (take_losses(s, data)) {
		s->intake.cursor = data->next;
		s->losses.torn = s->step == SESSION_LOAD;
		s->look.behind = true;
		if (!s->losses.torn)
			s->intake.retake = true;
		else
			settle_taken(s);
		return;
	}
	apply(s, data);
	/* The reason shown may be older than these records. */
	if (data->count > 0 && s->texts.device[0] != '\0')
		nodes_session_ask(s);
	reconnect_set_heard(s, data->now_ms);
	s->intake.cursor = data->next;
	s->intake.dense = is_dense(data);
	if (window_read(s, data->count))
		return;
	undo = blklist_counts(s->intake.build)->unknown_undo;
	if (undo > s->intake.undo_seen && !s->opts.since_click) {
		/* The snapshot was between a realloc's free and its undo. */
		s->intake.undo_seen = undo;
		s->intake.retake = true;
	}
	settle_taken(s);
	caught_up = data->next - data->first < FULL_LENGTH &&
	    data->count < FULL_RECORDS;
	ended = !session_is_live(s) && data->next == data->first;
	if (ended && s->step == SESSION_FLOW)
		session_drained(s);
	else if (!caught_up || (!session_is_live(s) && !is_taken(s)))
		intake_read(s);
}

void
answered_data(struct nodes_session *s, const struct wire_msg *msg)
{
	struct mono begin = mono_now();
	bool first = s->intake.at_cursor;

	s->intake.at_cursor = false;
	if (s->intake.retake || s->window.due || s->step < SESSION_LOAD ||
	    s->step == SESSION_WINDOW)
		;	/* read again, or not wanted */
	else if (msg->type == WIRE_ERR)
		session_refused(s, &msg->err);
	else if (msg->type != WIRE_DATA)
		s->intake.retake = true;
	else
		take_data(s, &msg->data, first);
	/* All that was sent ahead is answered. */
	if (session_in_flight(s, SESSION_ASK_DATA) == 0 && s->intake.dense)
		intake_read(s);
	s->clock.cycle_ns += mono_diff_ns(mono_now(), begin);
	if (session_in_flight(s, SESSION_ASK_DATA) > 0)
		return;
	session_measure(s);
	s->news(s->arg);
}

static bool
ask_read(struct nodes_session *s, uint64_t from)
{
	struct wire_msg msg = {
		.type = WIRE_READ,
		.read = {
			.index = s->stream.index,
			.from = from,
			.max = WIRE_READ_MAX,
			.whole = s->step == SESSION_LOAD || s->intake.dense,
		},
	};

	memcpy(msg.read.epoch, s->stream.epoch, WIRE_EPOCH);
	if (session_ask(s, SESSION_ASK_DATA, &msg) < 0)
		return false;
	s->intake.reads++;
	return true;
}

void
intake_read(struct nodes_session *s)
{
	unsigned window = s->intake.dense ? READ_WINDOW : 1;

	if (s->intake.retake || s->types.doubt || s->losses.torn ||
	    s->window.due ||
	    (s->step != SESSION_FLOW && s->intake.merge.n == 0))
		return;
	if (session_in_flight(s, SESSION_ASK_DATA) == 0) {
		s->intake.ahead = s->intake.cursor;
		s->intake.at_cursor = true;
	}
	while (session_in_flight(s, SESSION_ASK_DATA) < window &&
	       s->intake.reads < READS_PER_CYCLE &&
	       s->clock.cycle_ns <= WORK_PER_CYCLE_NS) {
		if (!ask_read(s, s->intake.ahead))
			return;
		s->intake.ahead += WIRE_READ_MAX;
	}
}
