/*
 * Blocks and records on their way from the link into the list.
 *
 * Loading: SNAP and READ run side by side, each sending its next request when
 * its reply is in; merge.h says which records apply.  Afterwards READs
 * leave out cancelled pairs.  Within a cycle they follow each other until the
 * reader has caught up or has worked for long enough.
 *
 * Where a READ ends is known only from its reply.  But a busy node takes its
 * time for an answer, so when replies come back full of records that do not
 * cancel, READ_WINDOW of them are sent ahead, each where its predecessor will
 * end if it is full again.  A reply that begins anywhere but at the cursor was
 * a wrong guess and is dropped; what it had is read again.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

/* --- lists ----------------------------------------------------------------- */

/*
 * The lists of a session: the one that is shown, and the one that is taken in
 * parts to come after it; how much they hold, and when one takes the other's
 * place.
 */

#define REMEMBERED (1u << 17)	/* blocks that have been freed: more than in a cycle */
#define MOVES (1u << 16)	/* likewise, of those that realloc has moved */

static enum blklist_kind
kind_of(const struct nodes_session *s)
{
	return s->opts.kind_given ? s->opts.kind :
	    s->look.classic ? BLKLIST_LITERAL : BLKLIST_INDEXED;
}

/*
 * Who wants the whole list takes all that the node's can hold: what is not used
 * costs nothing.  But a literal list has all its records at once, and walks them
 * for each block.
 */
static uint32_t
room_for(const struct nodes_session *s, uint64_t blocks)
{
	bool literal = kind_of(s) == BLKLIST_LITERAL;
	uint32_t most = literal ? NODES_MAX : BLKLIST_MAX;
	uint32_t room = s->look.classic ? NODES_MAX_CLASSIC : NODES_MAX;
	uint64_t node = s->keeper[WIRE_N_MAX];

	if (s->opts.max != 0)
		return s->opts.max;
	if (!s->opts.whole || node <= room || (literal && blocks <= room / 2))
		return room;
	return node < most ? (uint32_t)node : most;
}

static int
make(struct nodes_session *s, uint32_t max, struct blklist **out)
{
	const struct nodes_session_opts *o = &s->opts;
	int err;

	err = blklist_new_most(out, kind_of(s), max);
	if (err < 0)
		return err;
	blklist_set_legal(*out, s->types.legal);
	/* The nibble of a foreign node's records may look like a level. */
	blklist_set_opaque(*out, s->look.classic && !s->look.levels);
	blklist_set_since_click(*out, o->since_click ||
	    s->keeper[WIRE_N_EARLIER] > 0 || s->keeper[WIRE_N_ARMED_MS] != 0);
	blklist_sample(*out, s->look.sample);
	/* For who had an address before; without memory for it nobody knows. */
	blklist_remember(*out, REMEMBERED);
	return 0;
}

int
lists_new(struct nodes_session *s, uint64_t blocks, struct blklist **out)
{
	return make(s, room_for(s, blocks), out);
}

/*
 * The node's numbers come before the first part: for a list that is larger than
 * was thought there is another one, while nothing is in it.
 */
void
lists_make_room(struct nodes_session *s, uint64_t blocks)
{
	uint32_t room = room_for(s, blocks);
	struct blklist *list;

	if (room <= blklist_counts(s->intake.build)->aRecMax ||
	    make(s, room, &list) < 0)
		return;
	if (s->intake.build == s->intake.list) {
		s->intake.list = list;
		s->look.list = list;
	}
	blklist_free(s->intake.build);
	s->intake.build = list;
}

void
lists_drop_build(struct nodes_session *s)
{
	if (s->intake.build != s->intake.list)
		blklist_free(s->intake.build);
	s->intake.build = NULL;
}

/* Without memory for it what realloc moves is one block freed and one new. */
void
lists_follow(struct nodes_session *s)
{
	if (!s->look.classic)
		(void)blklist_follow_reallocs(s->intake.build, MOVES);
}

/*
 * The list that is taken in parts becomes the one that is shown.  Only from now
 * on all records apply, so that of a realloc there are both.
 */
void
lists_publish(struct nodes_session *s)
{
	lists_follow(s);
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

/*
 * A reply with fewer records that moves the cursor by less was not cut short by
 * the node and has caught up: one that is being written to all the time would
 * otherwise be read without a pause.
 */
#define FULL_RECORDS (WIRE_READ_MAX / 2)
#define FULL_LENGTH 65536
#define READS_PER_CYCLE 1024
#define READ_WINDOW 16
#define WORK_PER_CYCLE_NS 45000000	/* of a cycle's 66.7 ms */
#define ORDER_PER_CYCLE_NS 6000000	/* beside all else in a cycle */
#define ORDER_PART 65536

static void ask_part(struct nodes_session *, bool from_start, uint64_t after);

/* --- a list that is whole ------------------------------------------------ */

/*
 * All parts are in, but records between their moments are gone: the node is
 * written to faster than this page can read.  Each part is exact as of its own
 * moment, which is shown until the next snapshot takes its place; to read on
 * from here would leave blocks that were freed in the gap.
 */
static void
settle_torn(struct nodes_session *s)
{
	lists_publish(s);
	s->intake.again = true;
	session_say(s, SESSION_TORN);
}

static void
settle(struct nodes_session *s)
{
	char count[32];

	lists_publish(s);
	s->look.behind = false;
	if (!s->losses.mending)
		return;
	s->losses.mending = false;
	s->look.mended += s->losses.mended;
	base_group_digits(count, sizeof count, s->losses.mended);
	session_say(s, "%s records lost on the way to this page: list taken "
	    "anew, nothing is missing", count);
	s->losses.mended = 0;
}

/*
 * What came by address is put into the order of age before it is shown: at once
 * that would hold up a cycle, and as long as it is not, there is another list
 * to be seen.
 */
static bool
is_in_order(struct nodes_session *s)
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

/* Every part is in, and what records have done since the first one. */
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
	if (!is_taken(s) || !is_in_order(s))
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
	if (!s->intake.again)
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
	/* They are told again and again, mostly the same; it is all bytes. */
	if (memcmp(&s->types.table, &were, sizeof were) != 0)
		s->look.types_no++;
	if (s->intake.list != NULL)
		blklist_set_legal(s->intake.list, s->types.legal);
	if (s->intake.build != NULL && s->intake.build != s->intake.list)
		blklist_set_legal(s->intake.build, s->types.legal);
}

/*
 * Mostly the numbers come before the first block does.  Else the list is taken
 * anew, for what is listed was counted as what it was.
 */
void
intake_sample(struct nodes_session *s, uint64_t period)
{
	if (period == s->look.sample)
		return;
	/* Rows come with theirs. */
	if (s->look.window)
		return;
	s->look.sample = period;
	if (s->intake.build != NULL && s->intake.build == s->intake.list &&
	    blklist_counts(s->intake.build)->aRecActive == 0)
		blklist_sample(s->intake.build, period);
	else
		s->intake.again = true;
}

/* --- the snapshot ------------------------------------------------------- */

/* Blocks of one part into the list being built. */
static void
put_blocks(struct nodes_session *s, const struct wire_part *part)
{
	unsigned stride = decode_record_size(s) + WIRE_BLOCK_TAIL;
	size_t i, k = 0, n = part->blocks.len / stride;
	struct blklist_info info;
	struct blk blk;

	for (i = 0; i < n; i++) {
		if (decode_block(s, part->blocks.p + i * stride, &blk) < 0) {
			s->losses.bad++;
			continue;
		}
		while (k < part->ninfo && part->info[k].at < i)
			k++;
		if (k < part->ninfo && part->info[k].at == i) {
			info = decode_info(&part->info[k]);
			blk.info = blklist_info_intern(s->intake.build, &info);
		}
		/* Younger than the click, or all of them: seq is from 1. */
		if (blk.seq >= s->click &&
		    blklist_put(s->intake.build, &blk) == -ENOSPC)
			s->intake.build_full++;
	}
	if (s->intake.build == s->intake.list)
		s->intake.put_full = s->intake.build_full;
}

static void
take_part(struct nodes_session *s, const struct wire_part *part)
{
	unsigned stride = decode_record_size(s) + WIRE_BLOCK_TAIL;
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
		s->intake.again = true;
		return;
	}
	if (first) {
		lists_make_room(s, part->total);
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
		s->intake.again = true;
	else
		take_part(s, &msg->part);
	s->clock.cycle_ns += mono_diff_ns(mono_now(), begin);
	/* Otherwise the READ beside it tells. */
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
			.index = s->index,
			.from_start = from_start,
			.after_layer = (unsigned)(after >> REC_ADDR_BITS),
			.after = after & REC_ADDR_MASK,
			.max = WIRE_READ_MAX,
		},
	};

	memcpy(msg.snap.epoch, s->epoch, WIRE_EPOCH);
	if (session_ask(s, SESSION_ASK_PART, &msg) < 0)
		s->intake.again = true;
}

void
intake_again(struct nodes_session *s)
{
	s->intake.again = s->losses.torn = false;
	/* A window is all that it says it is. */
	s->look.settled = s->look.window;
	merge_reset(&s->intake.merge);
	lists_drop_build(s);
	s->intake.build_full = 0;
	if (!s->look.listed) {
		/* Nothing whole to show: what comes may be seen coming. */
		blklist_clear(s->intake.list);
		blklist_sample(s->intake.list, s->look.sample);
		s->intake.build = s->intake.list;
		s->intake.put_full = 0;
	} else if (lists_new(s, s->keeper[WIRE_N_LIVE_BLOCKS],
	    &s->intake.build) < 0) {
		s->intake.build = NULL;
		s->intake.again = true;
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
	err = lists_new(s, 0, &list);
	if (err < 0)
		return err;
	lists_drop_build(s);
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
	s->intake.again = s->losses.torn = false;
	merge_reset(&s->intake.merge);
	lists_drop_build(s);
	s->intake.build = s->intake.list;
}

void
intake_fini(struct nodes_session *s)
{
	lists_drop_build(s);
	blklist_free(s->intake.list);
	s->intake.list = NULL;
	merge_fini(&s->intake.merge);
}

/* --- records ------------------------------------------------------------ */

/*
 * Type codes that are not in the table and were not asked about yet.  They
 * count as asked about from here on, so that each costs one question only.
 */
static bool
has_new_type(struct nodes_session *s, const struct wire_data *data)
{
	unsigned size = decode_record_size(s);
	/* The type is the last byte of the first eight in either format. */
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
	static struct decoded b;	/* 60 kB; one thread, and done with on return */
	struct blklist_batch batch = {
		.rec = b.rec,
		.seqs = b.seq,
		.near_ms = data->now_ms,
		.info = b.info,
		/* The node has left pairs out already, unless we said no. */
		.cancel = s->intake.merge.n > 0,
	};
	size_t bad;

	bad = decode_batch(s, data, &b);
	batch.n = b.n;
	batch.seq = b.n > 0 ? b.seq[0] : data->first;
	batch.ninfo = b.ninfo;
	if (s->look.classic)
		batch.ms = b.ms;
	/* Where in the answer they were lost is not told. */
	batch.gaps = is_lossy(data) || bad > 0;
	watch_data(s, &batch, data);
	blklist_apply(s->intake.build, &batch);
	s->losses.bad += bad;
	if (s->look.bad_records < s->losses.bad)
		s->look.bad_records = s->losses.bad;
}

/* Losses of a reply, by what they mean.  True when the list is to be mended. */
static bool
take_losses(struct nodes_session *s, const struct wire_data *data)
{
	uint64_t before = 0, after = 0;
	unsigned cause;

	_Static_assert(BASE_NELEM(data->lost) == STREAM_CAUSES,
	    "what is decoded is what is counted");

	for (cause = 0; cause < STREAM_CAUSES; cause++) {
		/* The wire's 0 is not this page's, which is of before it came. */
		s->look.lost[cause != 0 ? cause : STREAM_OTHER] +=
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

/* next - from == count + cancelled + lost, or the reply is worth nothing. */
static bool
adds_up(const struct nodes_session *s, const struct wire_data *data)
{
	uint64_t sum = (uint64_t)data->count + data->cancelled;
	bool exact = true;
	unsigned cause;

	for (cause = 0; cause < BASE_NELEM(data->lost); cause++) {
		sum += data->lost[cause].count;
		if (data->lost[cause].count > 0 && !data->lost[cause].exact)
			exact = false;
	}
	return data->first == s->intake.cursor && data->next >= data->first &&
	    (data->next - data->first == sum || !exact) &&
	    data->count <= WIRE_READ_MAX &&
	    data->records.len == (size_t)data->count * decode_record_size(s) &&
	    (data->offsets.len == 0 ||
	    data->offsets.len == 4 * (size_t)data->count);
}

/* Some were overwritten before we asked for them. */
static bool
is_behind(const struct wire_data *data)
{
	return data->lost[STREAM_OVERWRITTEN].count > 0 ||
	    data->lost[STREAM_LINK].count > 0;
}

/* Full of records that stay: the next replies are likely to be the same. */
static bool
is_dense(const struct wire_data *data)
{
	return data->count == WIRE_READ_MAX &&
	    data->cancelled < WIRE_READ_MAX / 4;
}

static void
take_data(struct nodes_session *s, const struct wire_data *data, bool sure)
{
	uint64_t undo;
	bool ended, caught_up;

	if (data->first != s->intake.cursor && !sure)
		return;
	if (!adds_up(s, data)) {
		session_say(s, "the node's answer did not add up: the list is "
		    "taken anew");
		s->intake.again = true;
		return;
	}
	if (has_new_type(s, data)) {
		/* Its name may have just been given: ask, then read this again. */
		s->types.doubt = true;
		numbers_ask_types(s);
		return;
	}
	/* The node's list has them, and is what is looked at next. */
	if (is_behind(data) && window_overrun(s))
		return;
	s->clock.cycle_records += data->count + data->cancelled;
	s->look.total_records += data->count + data->cancelled;
	s->stream_state = data->state;
	if (take_losses(s, data)) {
		s->intake.cursor = data->next;
		s->losses.torn = s->step == SESSION_LOAD;
		s->look.behind = true;
		if (!s->losses.torn)
			s->intake.again = true;
		else
			settle_taken(s);
		return;
	}
	apply(s, data);
	reconnect_set_heard(s, data->now_ms);
	s->intake.cursor = data->next;
	s->intake.dense = is_dense(data);
	if (window_read(s, data->count))
		return;
	undo = blklist_counts(s->intake.build)->unknown_undo;
	if (undo > s->intake.undo_seen && !s->opts.since_click) {
		/* The snapshot fell between a realloc's free and its undoing. */
		s->intake.undo_seen = undo;
		s->intake.again = true;
	}
	settle_taken(s);
	caught_up = data->next - data->first < FULL_LENGTH &&
	    data->count < FULL_RECORDS;
	ended = !session_flows(s) && data->next == data->first;
	if (ended && s->step == SESSION_FLOW)
		session_drained(s);
	else if (!caught_up || (!session_flows(s) && !is_taken(s)))
		intake_read(s);
}

void
answered_data(struct nodes_session *s, const struct wire_msg *msg)
{
	struct mono begin = mono_now();
	bool sure = s->intake.sure;

	/* Only the first of a row was sent from a cursor that was known. */
	s->intake.sure = false;
	if (s->intake.again || s->window.due || s->step < SESSION_LOAD ||
	    s->step == SESSION_WINDOW)
		;	/* all of this is read once more, or no longer wanted */
	else if (msg->type == WIRE_ERR)
		session_refused(s, &msg->err);
	else if (msg->type != WIRE_DATA)
		s->intake.again = true;
	else
		take_data(s, &msg->data, sure);
	/* The guesses are used up: on from where they have led. */
	if (session_waits(s, SESSION_ASK_DATA) == 0 && s->intake.dense)
		intake_read(s);
	s->clock.cycle_ns += mono_diff_ns(mono_now(), begin);
	if (session_waits(s, SESSION_ASK_DATA) > 0)
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
			.index = s->index,
			.from = from,
			.max = WIRE_READ_MAX,
			.whole = s->step == SESSION_LOAD || s->intake.dense,
		},
	};

	memcpy(msg.read.epoch, s->epoch, WIRE_EPOCH);
	if (session_ask(s, SESSION_ASK_DATA, &msg) < 0)
		return false;
	s->intake.reads++;
	return true;
}

void
intake_read(struct nodes_session *s)
{
	unsigned window = s->intake.dense ? READ_WINDOW : 1;

	if (s->intake.again || s->types.doubt || s->losses.torn ||
	    s->window.due ||
	    (s->step != SESSION_FLOW && s->intake.merge.n == 0))
		return;
	if (session_waits(s, SESSION_ASK_DATA) == 0) {
		s->intake.ahead = s->intake.cursor;
		s->intake.sure = true;
	}
	while (session_waits(s, SESSION_ASK_DATA) < window &&
	       s->intake.reads < READS_PER_CYCLE &&
	       s->clock.cycle_ns <= WORK_PER_CYCLE_NS) {
		if (!ask_read(s, s->intake.ahead))
			return;
		s->intake.ahead += WIRE_READ_MAX;
	}
}
