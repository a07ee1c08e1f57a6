#include <errno.h>
#include <stdlib.h>

#include "../reader/reader.h"
#include "recording.h"

#define FLUSH_MS 100		/* an event waits no longer for its block */
#define SYNC_MS 1000
#define SYNC_BYTES ((uint64_t)4 << 20)
#define CHECKPOINT_EVENTS ((uint64_t)4 << 20)
#define CHECKPOINT_BYTES ((uint64_t)4 << 20)
#define RETRY_MS 10000
#define DEFINITION_BYTES ((size_t)64 << 10)	/* small ones share a block */
#define ROW_BYTES 12		/* of a state, before there has been one */
#define RING_SHARE 4		/* a checkpoint in each quarter of a ring */
#define FIRST_EVENTS 256
#define EVENT_BYTES 16		/* at most, about: a small segment has small blocks */

struct checkpoint {
	struct bytes *portion;
	uint32_t *rows;
	uint32_t n, written;
	uint64_t seq;
	int64_t ms;
	struct bytes closing;	/* totals, and frees that may be undone */
};

struct recording_part {
	struct capture_list *list;
	struct capture_list *coming;	/* rows that await capture_writer_state() */
	bool bad_coming;		/* some found no memory */
	bool ended;
	uint64_t ended_in;		/* segment */
	/* Events that wait for their block. */
	struct rec *rec;
	uint16_t *info;
	size_t n, cap;
	uint64_t first;			/* number of the first of them */
	int64_t ms;			/* before it */
	bool has_info;
	struct recording_info *coming_info;
	size_t ncoming, coming_at;
	struct intern requesters;	/* number + 1 is an info */
	struct hashmap threads;		/* struct known_thread by index */
	uint32_t store;			/* the part that has its sites */
	unsigned sharers;		/* live parts that have their sites here */
	uint16_t *of_row;		/* infos by those of rows; NULL: none */
	uint64_t events, bytes;		/* since the last checkpoint */
	uint64_t row_bytes;		/* of the last state */
	uint64_t in_segment;		/* of the last checkpoint */
	struct checkpoint check;
	bool missing;			/* events from `absent` on are not in the file */
	uint64_t absent;
	int64_t absent_ms;		/* when the first of them was; INT64_MIN: not known yet */
};

/* The last definition of a thread. */
struct known_thread {
	uint64_t index;		/* the key */
	struct bytes row;
};

/* NULL also for one that found no memory. */
static struct recording_part *
part_at(struct capture_recording *r, uint32_t no)
{
	return no == 0 || no > r->nparts || r->part[no - 1].list == NULL ? NULL :
	    &r->part[no - 1];
}

/*
 * A ring keeps all definitions except threads, which are in a table.  Those of an
 * ended part are kept until the segment is dropped in which the last part that uses
 * them ended.  One file keeps its parts, so that a lost segment does not make the
 * others unreadable.
 */
static bool
is_kept(struct capture_recording *r, const struct definition *d)
{
	const struct recording_part *p = part_at(r, d->head.part);
	bool ended = p != NULL && p->ended && p->sharers == 0;

	if (r->out.folder >= 0 && (d->head.kind != FORMAT_THREADS ||
	    !d->written))
		return !ended || p->ended_in >= r->out.oldest;
	return !d->written || (d->head.kind == FORMAT_PART && !ended);
}

/* On a full disk only parts and their ends; the others are many. */
static void
write_definitions(struct capture_recording *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->ndefines; i++) {
		struct definition *d = &r->define[i];

		if (!d->written && (!r->out.last || d->head.kind ==
		    FORMAT_PART || d->head.kind == FORMAT_END))
			d->written = segments_block(&r->out, &d->head,
			    &d->payload) == 0;
		if (is_kept(r, d))
			r->define[kept++] = *d;
		else
			bytes_fini(&d->payload);
	}
	r->ndefines = kept;
}

static void
append_definition(struct capture_recording *r, enum format_kind kind, uint32_t part,
    uint64_t first, int64_t ms, const void *payload, size_t len)
{
	struct definition *d = r->ndefines > 0 ? &r->define[r->ndefines - 1] :
	    NULL;
	void *all = r->define;

	if (d == NULL || d->written || d->head.kind != kind ||
	    d->head.part != part || kind == FORMAT_PART ||
	    kind == FORMAT_MARK || kind == FORMAT_END ||
	    d->payload.n + len > DEFINITION_BYTES) {
		if (base_grow(&all, &r->define_cap, r->ndefines + 1,
		    sizeof *d) < 0)
			return;
		r->define = all;
		d = &r->define[r->ndefines++];
		*d = (struct definition){ .head = { .kind = (uint16_t)kind,
			.part = part, .first = first, .ms = ms } };
	}
	bytes_put(&d->payload, payload, len);
	d->head.count++;
	r->waiting = true;
}

/* Keeps the thread's row for the next file of a ring.  True if it has changed. */
static bool
note_thread(struct recording_part *p, const void *row, size_t len)
{
	struct cursor c = { .p = row, .end = (const uint8_t *)row + len };
	struct known_thread *t;

	t = p == NULL ? NULL : hashmap_add(&p->threads, cursor_varint(&c));
	if (t == NULL)
		return true;
	if (t->row.n == len && memcmp(t->row.p, row, len) == 0)
		return false;
	t->row.n = 0;
	bytes_put(&t->row, row, len);
	return true;
}

static void
forget_threads(struct recording_part *p)
{
	for (size_t i = 0; i < p->threads.n; i++)
		bytes_fini(&((struct known_thread *)hashmap_item(&p->threads,
		    i))->row);
	hashmap_fini(&p->threads);
}

void
recording_define(struct capture_recording *r, enum format_kind kind, uint32_t part,
    uint64_t first, int64_t ms, const void *payload, size_t len)
{
	if (kind != FORMAT_THREADS ||
	    note_thread(part_at(r, part), payload, len))
		append_definition(r, kind, part, first, ms, payload, len);
}

static void
define_threads(struct capture_recording *r, uint32_t no)
{
	const struct recording_part *p = &r->part[no - 1];

	for (size_t i = 0; i < p->threads.n; i++) {
		const struct known_thread *t = hashmap_item(&p->threads, i);

		append_definition(r, FORMAT_THREADS, no, 0, 0, t->row.p,
		    t->row.n);
	}
}

static void
drop_checkpoint(struct checkpoint *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		bytes_fini(&c->portion[i]);
	free(c->portion);
	free(c->rows);
	bytes_fini(&c->closing);
	*c = (struct checkpoint){ .n = 0 };
}

static bool
is_checking(const struct recording_part *p)
{
	return p->check.portion != NULL;
}

static void
step_checkpoint(struct capture_recording *r, struct recording_part *p)
{
	struct checkpoint *c = &p->check;
	struct block_head head = { .kind = FORMAT_STATE,
		.part = (uint32_t)(p - r->part) + 1, .first = c->seq,
		.ms = c->ms };

	if (!is_checking(p))
		return;
	if (c->written < c->n) {
		head.count = c->rows[c->written];
		segments_block(&r->out, &head, &c->portion[c->written]);
		bytes_fini(&c->portion[c->written++]);
	} else {
		head.kind = FORMAT_CHECKPOINT;
		head.count = c->n;
		segments_block(&r->out, &head, &c->closing);
		drop_checkpoint(c);
	}
	if (r->out.stopped != 0)
		drop_checkpoint(c);
}

/*
 * Encodes the present state, and writes its first portion.  Without memory nothing
 * is written.
 */
static void
begin_checkpoint(struct capture_recording *r, struct recording_part *p)
{
	struct checkpoint c = { .seq = p->list->seq, .ms = p->list->ms };
	size_t left = 0, n, bytes = 0;
	const struct blk **row = list_by_age(p->list, &left);

	p->events = p->bytes = 0;
	p->in_segment = r->out.number;
	define_totals(&c.closing, &p->list->t);
	list_encode_undo(p->list, &c.closing);
	c.n = (uint32_t)(left / FORMAT_ROWS_MAX + 1);
	c.portion = calloc(c.n, sizeof *c.portion);
	c.rows = calloc(c.n, sizeof *c.rows);
	for (uint32_t i = 0; row != NULL && c.portion != NULL &&
	    c.rows != NULL && i < c.n; i++, left -= n) {
		n = left < FORMAT_ROWS_MAX ? left : FORMAT_ROWS_MAX;
		c.rows[i] = (uint32_t)n;
		bytes_varint(&c.portion[i], i);
		rows_encode(&c.portion[i], row + i * FORMAT_ROWS_MAX, n);
		bytes += c.portion[i].n;
	}
	if (row != NULL && c.portion != NULL && c.rows != NULL)
		p->check = c;
	else
		drop_checkpoint(&c);
	p->row_bytes = bytes;
	free(row);
	step_checkpoint(r, p);
}

static bool
checkpoint_is_due(const struct capture_recording *r, const struct recording_part *p)
{
	uint64_t state = p->row_bytes != 0 ? p->row_bytes :
	    p->list->n * ROW_BYTES;

	if (is_checking(p) || !p->list->known)
		return false;
	return p->events >= r->checkpoint_events ||
	    (p->bytes >= r->checkpoint_bytes && p->bytes >= state);
}

static void
write_gap(struct capture_recording *r, uint32_t no, uint64_t first, uint64_t count,
    unsigned cause, int64_t ms)
{
	struct block_head head = { .kind = FORMAT_GAP, .part = no,
		.first = first, .ms = ms };

	r->payload.n = 0;
	bytes_varint(&r->payload, cause);
	bytes_varint(&r->payload, count);
	segments_block(&r->out, &head, &r->payload);
}

static int64_t
later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * Notes that events from `seq` on are not in the file, and when the first of them
 * was; INT64_MIN: it has not come.
 */
static void
note_absent(struct recording_part *p, uint64_t seq, int64_t ms)
{
	if (!p->missing) {
		p->absent = seq;
		p->absent_ms = INT64_MIN;
	}
	if (p->absent_ms == INT64_MIN)
		p->absent_ms = ms;
	p->missing = true;
}

static int64_t
time_of_block(const struct recording_part *p)
{
	return p->n == 0 ? INT64_MIN :
	    later_of(p->ms, (int64_t)p->rec[0].w[2]);
}

static void
fill_absence(struct capture_recording *r, uint32_t no)
{
	struct recording_part *p = &r->part[no - 1];

	if (p->list->seq > p->absent)
		write_gap(r, no, p->absent, p->list->seq - p->absent, 0,
		    p->absent_ms != INT64_MIN ? p->absent_ms : p->list->ms);
	if (r->out.stopped != 0)
		return;
	p->list->t.lost[0] += p->list->seq - p->absent;
	r->absent += p->list->seq - p->absent;
	p->missing = false;
	if (p->ended || !p->list->known)
		return;
	drop_checkpoint(&p->check);
	begin_checkpoint(r, p);
	while (is_checking(p))
		step_checkpoint(r, p);
}

uint64_t
recording_absent(const struct capture_recording *r)
{
	uint64_t n = r->absent;

	for (size_t i = 0; i < r->nparts && r->out.stopped != 0; i++)
		if (r->part[i].missing)
			n += r->part[i].list->seq - r->part[i].absent;
	return n;
}

static void
note_stop(struct capture_recording *r)
{
	r->stopped_at = mono_now();
	for (size_t i = 0; i < r->nparts; i++) {
		struct recording_part *p = &r->part[i];

		drop_checkpoint(&p->check);
		if (!p->ended)
			note_absent(p, p->n > 0 ? p->first : p->list->seq,
			    time_of_block(p));
	}
}

/* Writes all kept definitions and, in a ring, a state for each part that needs one. */
static void
begin_segment(struct capture_recording *r)
{
	uint64_t share = r->out.segment_bytes == 0 ? 1 :
	    r->out.ring / r->out.segment_bytes / RING_SHARE;

	for (size_t i = 0; i < r->ndefines; i++)
		r->define[i].written = false;
	for (size_t i = 0; r->out.folder >= 0 && i < r->nparts; i++)
		define_threads(r, (uint32_t)i + 1);
	write_definitions(r);
	for (size_t i = 0; r->out.folder >= 0 && i < r->nparts; i++) {
		struct recording_part *p = &r->part[i];

		if (!p->ended && p->list->known &&
		    p->in_segment + share <= r->out.number)
			begin_checkpoint(r, p);
	}
}

/* Between two blocks; a state is not cut in two. */
static void
next_segment(struct capture_recording *r)
{
	if (r->out.stopped != 0 || !segments_is_full(&r->out))
		return;
	for (size_t i = 0; i < r->nparts; i++)
		if (is_checking(&r->part[i]))
			return;
	if (segments_segment(&r->out) == 0)
		begin_segment(r);
}

static void flush_part(struct capture_recording *, struct recording_part *);

static void
resume(struct capture_recording *r)
{
	for (size_t i = 0; i < r->nparts; i++)
		flush_part(r, &r->part[i]);
	if (segments_resume(&r->out) < 0) {
		r->stopped_at = mono_now();
		return;
	}
	begin_segment(r);
	for (size_t i = 0; i < r->nparts; i++)
		if (r->part[i].missing)
			fill_absence(r, (uint32_t)i + 1);
	if (r->out.stopped != 0)
		note_stop(r);
}

static void
flush_part(struct capture_recording *r, struct recording_part *p)
{
	struct block_head head = { .kind = FORMAT_EVENTS,
		.part = (uint32_t)(p - r->part) + 1, .count = (uint32_t)p->n,
		.first = p->first, .ms = p->ms };
	uint64_t before;

	if (p->n == 0)
		return;
	next_segment(r);
	write_definitions(r);
	r->payload.n = 0;
	events_encode(r->coder, &r->payload, p->rec, p->has_info ? p->info :
	    NULL, p->n, p->ms);
	before = r->out.bytes;
	if (r->out.stopped != 0) {
		note_absent(p, p->first, time_of_block(p));
	} else if (segments_block(&r->out, &head, &r->payload) == 0) {
		r->events += p->n;
		p->events += p->n;
		p->bytes += r->out.bytes - before;
	} else {
		note_stop(r);
	}
	p->n = 0;
	p->has_info = false;
	if (r->out.stopped == 0 && checkpoint_is_due(r, p))
		begin_checkpoint(r, p);
	step_checkpoint(r, p);
}

static bool
room_for_events(struct recording_part *p, size_t more)
{
	size_t cap = p->cap == 0 ? FIRST_EVENTS : p->cap;
	void *rec, *info;

	if (p->n + more <= p->cap)
		return true;
	while (cap < p->n + more)
		cap *= 2;
	rec = realloc(p->rec, cap * sizeof *p->rec);
	if (rec == NULL)
		return false;
	p->rec = rec;
	info = realloc(p->info, cap * sizeof *p->info);
	if (info == NULL)
		return false;
	p->info = info;
	p->cap = cap;
	return true;
}

/* The number of the requester in this part; 0: none, or no room. */
static uint16_t
number_requester(struct capture_recording *r, uint32_t no,
    const struct blklist_info *given)
{
	struct recording_part *p = &r->part[no - 1];
	struct blklist_info i;
	struct bytes b = { .n = 0 };
	size_t before = p->requesters.n;
	int64_t at;

	memset(&i, 0, sizeof i);	/* what is between the fields, too */
	base_copy_text(i.name, sizeof i.name, given->name);
	if (i.name[0] == '\0')
		i.node = given->node;
	if (before >= UINT16_MAX || (i.name[0] == '\0' && i.node == 0))
		return 0;
	at = intern_put(&p->requesters, (const char *)&i, sizeof i);
	if (at < 0)
		return 0;
	if (p->requesters.n > before) {
		define_requester(&b, (uint32_t)at + 1, &i);
		recording_define(r, FORMAT_REQUESTERS, no, 0, 0, b.p, b.n);
		bytes_fini(&b);
	}
	return (uint16_t)(at + 1);
}

static uint16_t
requester_of(struct capture_recording *r, uint32_t no, uint64_t seq)
{
	struct recording_part *p = &r->part[no - 1];

	while (p->coming_at < p->ncoming &&
	    p->coming_info[p->coming_at].seq < seq)
		p->coming_at++;
	if (p->coming_at == p->ncoming ||
	    p->coming_info[p->coming_at].seq != seq)
		return 0;
	return number_requester(r, no, &p->coming_info[p->coming_at].info);
}

/* Events [seq, seq + n) found no memory: a gap, and the list is unknown. */
static void
lose_events(struct capture_recording *r, uint32_t no, uint64_t seq, size_t n)
{
	struct recording_part *p = &r->part[no - 1];

	if (p->n > 0 && seq < p->first + p->n)
		p->n = (size_t)(seq - p->first);
	recording_lost(r, no, seq, p->list->ms, 0, n);
}

static void
begin_block(struct recording_part *p, uint64_t seq, const struct rec *rec)
{
	p->first = seq;
	p->ms = p->list->ms;
	if (p->ms == INT64_MIN)
		p->ms = (int64_t)rec->w[2];
}

/* Adds as many events as the block has room for.  Returns their number. */
static size_t
take_events(struct capture_recording *r, uint32_t no, uint64_t seq,
    const struct rec *rec, size_t n)
{
	struct recording_part *p = &r->part[no - 1];
	uint16_t *info;

	if (n > r->block_events - p->n)
		n = r->block_events - p->n;
	if (!room_for_events(p, n)) {
		lose_events(r, no, seq, n);
		return n;
	}
	if (p->n == 0)
		begin_block(p, seq, rec);
	memcpy(&p->rec[p->n], rec, n * sizeof *rec);
	info = &p->info[p->n];
	memset(info, 0, n * sizeof *info);
	for (size_t i = 0; i < n && p->ncoming > 0; i++) {
		info[i] = requester_of(r, no, seq + i);
		p->has_info |= info[i] != 0;
	}
	p->n += n;
	if (list_apply_recs(p->list, rec, info, n) < 0)
		lose_events(r, no, p->list->seq, n - (size_t)(p->list->seq - seq));
	else if (p->n == r->block_events)
		flush_part(r, p);
	return n;
}

void
recording_records(struct capture_recording *r, uint32_t no, uint64_t seq,
    const struct rec *rec, size_t n)
{
	struct recording_part *p = part_at(r, no);

	if (p == NULL)
		r->absent += n;
	if (p == NULL || p->ended)
		return;
	if (seq != p->list->seq) {
		flush_part(r, p);
		p->list->seq = seq;
	}
	for (size_t done = 0; done < n;)
		done += take_events(r, no, seq + done, rec + done, n - done);
	p->ncoming = p->coming_at = 0;
	r->waiting = true;
}

void
recording_infos(struct capture_recording *r, uint32_t no,
    const struct recording_info *info, size_t n)
{
	struct recording_part *p = part_at(r, no);
	void *all = p == NULL ? NULL : realloc(p->coming_info, n * sizeof *info);

	if (all == NULL)
		return;
	p->coming_info = all;
	memcpy(all, info, n * sizeof *info);
	p->ncoming = n;
	p->coming_at = 0;
}

void
recording_lost(struct capture_recording *r, uint32_t no, uint64_t seq, int64_t ms,
    unsigned cause, uint64_t count)
{
	struct recording_part *p = part_at(r, no);

	if (p == NULL || p->ended || cause >= STREAM_CAUSES)
		return;
	flush_part(r, p);
	p->list->t.lost[cause] += count;
	p->list->seq = seq + count;
	if (cause == 0)
		p->list->known = false;
	ms = later_of(ms, p->list->ms);
	if (r->out.stopped != 0)
		note_absent(p, seq, ms);
	else
		write_gap(r, no, seq, count, cause, ms);
}

static void
free_part(struct recording_part *p)
{
	capture_list_free(p->list);
	capture_list_free(p->coming);
	free(p->rec);
	free(p->info);
	free(p->coming_info);
	free(p->of_row);
	intern_fini(&p->requesters);
	forget_threads(p);
	drop_checkpoint(&p->check);
}

/* Parts keep their numbers where one has found no memory. */
static int
room_for_part(struct capture_recording *r, uint32_t no)
{
	void *all = r->part;

	if (base_grow(&all, &r->part_cap, no, sizeof *r->part) < 0)
		return -ENOMEM;
	r->part = all;
	while (r->nparts < no)
		r->part[r->nparts++] = (struct recording_part){ .ended = true };
	return 0;
}

int
recording_part(struct capture_recording *r, uint32_t no, uint64_t first, int64_t ms,
    unsigned options, uint32_t store, const void *definition, size_t len)
{
	struct recording_part p = { .in_segment = r->out.number,
		.store = store, .threads = { .size = sizeof(struct known_thread) } };
	struct recording_part *owner;
	int err = room_for_part(r, no);

	if (err == 0)
		err = capture_list_new(&p.list, options);
	if (err < 0)
		return err;
	p.list->seq = first;
	p.list->ms = ms;
	owner = part_at(r, store);
	if (owner != NULL)
		owner->sharers++;
	r->part[no - 1] = p;
	recording_define(r, FORMAT_PART, no, first, ms, definition, len);
	if (r->out.stopped != 0)
		note_absent(&r->part[no - 1], first, INT64_MIN);
	return 0;
}

void
recording_resume(struct capture_recording *r, uint32_t no, struct resumed_part *from)
{
	struct recording_part *p, *owner;
	unsigned sharers = 0;

	if (room_for_part(r, no) < 0) {
		resume_part_free(from);
		return;
	}
	p = &r->part[no - 1];
	if (p->list != NULL) {
		sharers = p->sharers;
		free_part(p);
	}
	*p = (struct recording_part){ .list = from->list, .sharers = sharers,
		.in_segment = r->out.number, .ended_in = r->out.number,
		.ended = !from->lives, .store = from->store,
		.threads = { .size = sizeof(struct known_thread) } };
	from->list = NULL;
	for (size_t i = 0; i < from->nrequesters; i++) {
		struct blklist_info info;

		memset(&info, 0, sizeof info);
		base_copy_text(info.name, sizeof info.name,
		    from->requester[i].name);
		info.node = from->requester[i].node;
		(void)intern_put(&p->requesters, (const char *)&info,
		    sizeof info);
	}
	owner = from->lives ? part_at(r, from->store) : NULL;
	if (owner != NULL)
		owner->sharers++;
	recording_define(r, FORMAT_PART, no, from->first, from->ms,
	    from->definition.p, from->definition.n);
	if (r->out.stopped != 0)
		note_absent(p, from->next, INT64_MIN);
	resume_part_free(from);
}

static int
list_like(const struct capture_list *l, struct capture_list **out)
{
	return capture_list_new(out, l->opaque ? CAPTURE_CLASSIC : 0);
}

void
recording_blocks(struct capture_recording *r, uint32_t no, const struct blk *b,
    size_t n)
{
	struct recording_part *p = part_at(r, no);

	if (p == NULL || p->ended)
		return;
	if (p->coming == NULL && list_like(p->list, &p->coming) < 0) {
		p->bad_coming = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		struct blk row = b[i];

		row.info = p->of_row != NULL ? p->of_row[row.info] : 0;
		p->bad_coming |= list_put(p->coming, &row) == -ENOMEM;
	}
}

void
recording_state(struct capture_recording *r, uint32_t no, uint64_t seq, int64_t ms,
    const struct capture_totals *t)
{
	struct recording_part *p = part_at(r, no);
	uint64_t blocks, bytes;

	if (p == NULL || p->ended)
		return;
	flush_part(r, p);
	if (p->coming == NULL && !p->bad_coming &&
	    list_like(p->list, &p->coming) < 0)
		p->bad_coming = true;
	if (p->bad_coming) {
		capture_list_free(p->coming);
		p->coming = NULL;
		p->bad_coming = false;
		return;
	}
	blocks = p->coming->n;
	bytes = p->coming->t.bytes;
	p->coming->t = t != NULL ? *t : p->list->t;
	p->coming->t.lost[0] = p->list->t.lost[0];
	p->coming->t.blocks = blocks;
	p->coming->t.bytes = bytes;
	if (p->coming->t.peak_bytes < bytes) {
		p->coming->t.peak_bytes = bytes;
		p->coming->t.peak_seq = seq - 1;
		p->coming->t.peak_ms = ms;
	}
	p->coming->seq = seq;
	p->coming->ms = ms > p->list->ms ? ms : p->list->ms;
	p->coming->known = true;
	capture_list_free(p->list);
	p->list = p->coming;
	p->coming = NULL;
	drop_checkpoint(&p->check);
	if (r->out.stopped != 0)
		return;
	write_definitions(r);
	begin_checkpoint(r, p);
	r->waiting = true;
}

void
recording_requester(struct capture_recording *r, uint32_t no, uint16_t info,
    const struct blklist_info *given)
{
	struct recording_part *p = part_at(r, no);

	if (p == NULL || info == 0)
		return;
	if (p->of_row == NULL)
		p->of_row = calloc(UINT16_MAX + 1, sizeof *p->of_row);
	if (p->of_row != NULL)
		p->of_row[info] = number_requester(r, no, given);
}

void
recording_end_part(struct capture_recording *r, uint32_t no, int64_t ms, int status,
    const void *reason, size_t len)
{
	struct recording_part *p = part_at(r, no), *owner;
	struct bytes b = { .n = 0 };
	struct capture_list *last;

	if (p == NULL || p->ended)
		return;
	flush_part(r, p);
	while (is_checking(p))
		step_checkpoint(r, p);
	bytes_varint(&b, zigzag((uint64_t)(int64_t)status));
	bytes_put(&b, reason, len);
	define_totals(&b, &p->list->t);
	recording_define(r, FORMAT_END, no, p->list->seq, ms, b.p, b.n);
	bytes_fini(&b);
	p->ended = true;
	p->ended_in = r->out.number;
	owner = part_at(r, p->store);
	if (owner != NULL && owner->sharers > 0) {
		owner->sharers--;
		owner->ended_in = r->out.number;
	}
	/* A gap needs only the list's place. */
	if (list_like(p->list, &last) < 0)
		return;
	last->seq = p->list->seq;
	last->ms = p->list->ms;
	last->t = p->list->t;
	free_part(p);
	*p = (struct recording_part){ .list = last, .ended = true,
		.ended_in = p->ended_in, .sharers = p->sharers,
		.missing = p->missing, .absent = p->absent,
		.absent_ms = p->absent_ms };
}

void
recording_clock(struct capture_recording *r, int64_t ms, int64_t wall_ns)
{
	struct block_head head = { .kind = FORMAT_CLOCK, .ms = ms };

	r->payload.n = 0;
	bytes_varint(&r->payload, zigzag((uint64_t)wall_ns));
	segments_block(&r->out, &head, &r->payload);
	r->waiting = true;
}

void
recording_stress(struct capture_recording *r, int64_t ms, const void *sample,
    size_t len)
{
	struct block_head head = { .kind = FORMAT_STRESS, .ms = ms };

	r->payload.n = 0;
	bytes_put(&r->payload, sample, len);
	segments_block(&r->out, &head, &r->payload);
	r->waiting = true;
}

static bool
has_checkpoint(const struct capture_recording *r)
{
	for (size_t i = 0; i < r->nparts; i++)
		if (is_checking(&r->part[i]))
			return true;
	return false;
}

void
recording_flush(struct capture_recording *r)
{
	if (r->out.stopped != 0 && mono_ms_since(r->stopped_at) >= r->retry_ms)
		resume(r);
	if (mono_ms_since(r->flushed) >= FLUSH_MS) {
		r->flushed = mono_now();
		r->waiting = false;
		for (size_t i = 0; i < r->nparts; i++)
			flush_part(r, &r->part[i]);
		write_definitions(r);
	}
	for (size_t i = 0; i < r->nparts; i++)
		step_checkpoint(r, &r->part[i]);
	if (r->out.unsynced >= SYNC_BYTES || (r->out.unsynced > 0 &&
	    mono_ms_since(r->out.synced) >= SYNC_MS)) {
		segments_sync(&r->out);
		if (r->out.stopped != 0)
			note_stop(r);
	}
}

int
recording_due(const struct capture_recording *r)
{
	if (has_checkpoint(r))
		return 0;
	if (r->waiting)
		return FLUSH_MS;
	if (r->out.stopped != 0)
		return (int)r->retry_ms;
	return r->out.unsynced > 0 ? SYNC_MS : -1;
}

/* The gaps of a disk that is still full, in the room that is kept for that. */
static int
write_last_gaps(struct capture_recording *r)
{
	int err = r->out.stopped;

	segments_resume_last(&r->out);
	write_definitions(r);
	for (size_t i = 0; i < r->nparts; i++)
		if (r->part[i].missing) {
			r->part[i].list->known = false;
			fill_absence(r, (uint32_t)i + 1);
		}
	return err;
}

void
recording_end(struct capture_recording *r, const char *reason)
{
	struct block_head head = { .kind = FORMAT_END };
	int err = 0;

	if (r->out.stopped != 0)
		resume(r);
	if (r->out.stopped != 0)
		err = write_last_gaps(r);
	for (size_t i = 0; i < r->nparts; i++) {
		flush_part(r, &r->part[i]);
		while (is_checking(&r->part[i]))
			step_checkpoint(r, &r->part[i]);
	}
	write_definitions(r);
	r->payload.n = 0;
	bytes_text(&r->payload, reason);
	segments_block(&r->out, &head, &r->payload);
	segments_sync(&r->out);
	/* Events are missing at the end. */
	if (err != 0)
		r->out.stopped = err;
}

int
recording_open(struct capture_recording *r, const struct capture_opts *opts)
{
	int err;

	*r = (struct capture_recording){ .flushed = mono_now(),
		.checkpoint_events = opts->checkpoint_events != 0 ?
		    opts->checkpoint_events : CHECKPOINT_EVENTS,
		.checkpoint_bytes = opts->checkpoint_bytes != 0 ?
		    opts->checkpoint_bytes : CHECKPOINT_BYTES,
		.retry_ms = opts->retry_ms != 0 ? opts->retry_ms : RETRY_MS };
	err = events_coder_new(&r->coder);
	if (err == 0)
		err = segments_open(&r->out, opts, &r->before);
	if (err < 0) {
		events_coder_free(r->coder);
		return err;
	}
	if (r->before != NULL)
		r->events = r->before->about.events;
	r->block_events = (size_t)(r->out.segment_bytes / EVENT_BYTES);
	if (r->block_events > FORMAT_EVENTS_MAX)
		r->block_events = FORMAT_EVENTS_MAX;
	if (r->block_events < FIRST_EVENTS)
		r->block_events = FIRST_EVENTS;
	return 0;
}

static void
free_recording(struct capture_recording *r)
{
	for (size_t i = 0; i < r->nparts; i++)
		free_part(&r->part[i]);
	free(r->part);
	for (size_t i = 0; i < r->ndefines; i++)
		bytes_fini(&r->define[i].payload);
	free(r->define);
	bytes_fini(&r->payload);
	events_coder_free(r->coder);
	capture_close(r->before);
}

void
recording_close(struct capture_recording *r)
{
	free_recording(r);
	segments_close(&r->out);
}

void
recording_abandon(struct capture_recording *r)
{
	free_recording(r);
	segments_abandon(&r->out);
}
