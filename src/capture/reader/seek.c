#include <errno.h>
#include <stdlib.h>

#include "reader.h"

void
capture_rewind(struct capture *c)
{
	c->at = c->done = 0;
	c->only = 0;
	for (size_t i = 0; i < c->parts.n; i++) {
		struct reader_part *p = hashmap_item(&c->parts, i);

		p->next = reader_begin(c, p);
		p->known = false;
	}
}

void
capture_rewind_part(struct capture *c, uint32_t part)
{
	capture_rewind(c);
	c->only = part;
}

uint64_t
capture_position(const struct capture *c)
{
	uint64_t bytes = 0;

	/* Files of a ring are of one size, nearly. */
	if (c->at >= c->entries.n)
		return c->about.bytes;
	if (c->folder >= 0)
		bytes = c->about.bytes / c->files.n *
		    c->segments.at[c->entries.at[c->at].segment].file;
	return bytes + c->entries.at[c->at].offset;
}

static void
make_gap(struct capture_event *to, const struct reader_part *p, uint32_t no,
    unsigned cause, uint64_t first, uint64_t count)
{
	*to = (struct capture_event){ .seq = first, .ms = p->info.last_ms,
		.part = no, .what = CAPTURE_GAP,
		.rec = { { cause, count, 0, 0 } } };
}

/* So many of the part's numbers up to `next` are not in the file: a gap. */
static void
miss(struct capture_event *to, struct reader_part *p, uint64_t count,
    uint64_t next)
{
	make_gap(to, p, (uint32_t)p->no, 0, p->next, count);
	p->next = next;
	p->known = false;
}

static size_t
copy_events(struct capture *c, const struct entry *e,
    struct capture_event *out, size_t max)
{
	size_t n = e->count - c->done;

	if (n > max)
		n = max;
	for (size_t i = 0; i < n; i++) {
		size_t at = c->done + i;

		out[i] = (struct capture_event){ .seq = e->first + at,
			.ms = (int64_t)c->rec[at].w[2], .part = e->part,
			.what = CAPTURE_EVENT, .info = c->info[at],
			.rec = c->rec[at] };
		out[i].rec.w[2] = rec_w2(0, (uint32_t)out[i].ms);
	}
	c->done += n;
	return n;
}

/* Events of the block; a number that is not the next one is a gap before it. */
static int
next_events(struct capture *c, struct reader_part *p, const struct entry *e,
    struct capture_event *out, size_t max, size_t *n)
{
	int err;

	if (e->first > p->next) {
		miss(out, p, e->first - p->next, e->first);
		*n = 1;
		return 0;
	}
	/* The state before has what comes earlier. */
	if (c->done < p->next - e->first)
		c->done = p->next - e->first > e->count ? e->count :
		    (size_t)(p->next - e->first);
	err = reader_events(c, c->at);
	if (err < 0)
		return err;
	*n = copy_events(c, e, out, max);
	if (c->done < e->count)
		return 0;
	if (p->next < e->first + e->count)
		p->next = e->first + e->count;
	c->at++;
	c->done = 0;
	return 0;
}

/* In front of a state.  Its segment may have events from before it behind it. */
static uint64_t
missing_before(const struct capture *c, const struct reader_part *p, uint64_t seq)
{
	uint32_t no = (uint32_t)p->no;

	return seq <= p->next ? 0 : capture_missing(c, no, seq) -
	    capture_missing(c, no, p->next);
}

static int
next_of_entry(struct capture *c, struct capture_event *out, size_t max,
    size_t *n)
{
	const struct entry *e = &c->entries.at[c->at];
	struct reader_part *p = c->only == 0 || c->only == e->part ?
	    reader_part(c, e->part) : NULL;
	uint64_t missing;

	*n = 0;
	if (p != NULL && e->kind == FORMAT_EVENTS)
		return next_events(c, p, e, out, max, n);
	if (p != NULL && e->kind == FORMAT_GAP) {
		if (!reader_believes(c, c->at))
			return -EBADMSG;
		*n = 1;
		if (e->first > p->next) {
			miss(out, p, e->first - p->next, e->first);
			return 0;
		}
		make_gap(out, p, e->part, e->cause, e->first, e->lost);
		p->next = reader_end(e);
		p->known = p->known && e->cause != 0;
	} else if (p != NULL && e->begins &&
	    (missing = missing_before(c, p, e->first)) > 0) {
		miss(out, p, missing, e->first);
		*n = 1;
		return 0;
	} else if (p != NULL && e->begins && !p->known) {
		*out = (struct capture_event){ .seq = e->first, .ms = e->ms,
			.part = e->part, .what = CAPTURE_STATE };
		p->known = true;
		p->next = e->first;
		*n = 1;
	}
	c->at++;
	return 0;
}

static size_t
miss_last(struct capture *c, struct capture_event *out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; n < max && i < c->parts.n; i++) {
		struct reader_part *p = hashmap_item(&c->parts, i);

		if ((c->only == 0 || c->only == p->no) &&
		    p->next < p->info.next)
			miss(&out[n++], p, p->info.next - p->next,
			    p->info.next);
	}
	return n;
}

int
capture_next(struct capture *c, struct capture_event *out, size_t max,
    size_t *n)
{
	size_t got = 0, more;

	while (got < max && c->at < c->entries.n) {
		int err = next_of_entry(c, out + got, max - got, &more);

		if (err == -EBADMSG) {
			c->at++;
			c->done = 0;
			continue;
		}
		if (err < 0)
			return err;
		got += more;
	}
	if (c->at >= c->entries.n)
		got += miss_last(c, out + got, max - got);
	*n = got;
	return 0;
}

static bool
is_after(const struct capture_when *w, uint64_t seq, int64_t ms)
{
	return w->at == CAPTURE_AT_MS ? ms > w->ms :
	    w->at == CAPTURE_AT_SEQ && seq > w->seq;
}

static int
load_rows(struct capture *c, const struct reader_part *p, size_t check,
    struct capture_list *l)
{
	const struct entry *e = &c->entries.at[p->checks.at[check]];
	struct blk *row = malloc(FORMAT_ROWS_MAX * sizeof *row);
	struct cursor in;
	size_t at = 0;
	int err = row == NULL ? -ENOMEM : 0;

	while (at < p->states.n && p->states.at[at] < p->checks.at[check])
		at++;
	for (uint32_t i = 0; err == 0 && i < e->count; i++) {
		size_t entry = p->states.at[at - e->count + i];
		uint32_t n = c->entries.at[entry].count;

		err = reader_payload(c, entry, &in);
		if (err == 0 && cursor_varint(&in) != i)
			err = -EBADMSG;
		if (err == 0)
			err = rows_decode(&in, row, n);
		for (uint32_t k = 0; err == 0 && k < n; k++)
			err = list_put(l, &row[k]);
		if (err == -EEXIST)
			err = -EBADMSG;
	}
	free(row);
	return err;
}

static int
load_checkpoint(struct capture *c, struct reader_part *p, size_t check,
    struct capture_list **out)
{
	const struct entry *e = &c->entries.at[p->checks.at[check]];
	struct capture_totals t;
	struct capture_list *l;
	struct cursor in;
	int err = reader_payload(c, p->checks.at[check], &in);

	if (err < 0)
		return err;
	err = capture_list_new(&l, p->info.part.options);
	if (err < 0)
		return err;
	read_totals(&in, &t);
	t.lost[0] = capture_missing(c, (uint32_t)p->no, e->first);
	err = list_decode_undo(l, &in);
	if (err == 0)
		err = load_rows(c, p, check, l);
	if (err == 0 && (l->n != t.blocks || l->t.bytes != t.bytes))
		err = -EBADMSG;
	if (err < 0) {
		capture_list_free(l);
		return err;
	}
	l->t = t;
	l->seq = e->first;
	l->ms = e->ms;
	l->known = true;
	*out = l;
	return 0;
}

static uint64_t
end_of(const struct entry *e)
{
	return e->first + (e->kind == FORMAT_EVENTS ? e->count : 1);
}

static size_t
block_of(const struct capture *c, const struct reader_part *p, uint64_t seq)
{
	size_t i;

	BASE_FIND_FIRST(i, p->events.n, end_of(&c->entries.at[p->events.at[i]]) > seq);
	return i;
}

/*
 * Replaces the list by the last checkpoint not after that moment, if that is
 * later than the list, or the list is not known and it is no earlier.  A damaged
 * one is passed over.
 */
static int
jump(struct capture *c, struct reader_part *p, struct capture_list *l,
    const struct capture_when *w)
{
	for (size_t i = p->checks.n; i-- > 0;) {
		const struct entry *e = &c->entries.at[p->checks.at[i]];
		struct capture_list *found = NULL;
		int err;

		if (is_after(w, e->first, e->ms))
			continue;
		if (l->known ? e->first <= l->seq : e->first < l->seq)
			return 0;
		err = load_checkpoint(c, p, i, &found);
		if (err == -EBADMSG)
			continue;
		if (err < 0)
			return err;
		found->part = l->part;
		found->block = block_of(c, p, found->seq);
		list_fini(l);
		*l = *found;
		free(found);
		return 0;
	}
	return 0;
}

static size_t
events_before(const struct capture *c, const struct entry *e, size_t from,
    const struct capture_when *w)
{
	size_t n = from;

	if (w->at == CAPTURE_AT_SEQ)
		return w->seq >= e->first + e->count ? e->count :
		    w->seq < e->first + from ? from : (size_t)(w->seq - e->first);
	if (w->at != CAPTURE_AT_MS)
		return e->count;
	while (n < e->count && (int64_t)c->rec[n].w[2] <= w->ms)
		n++;
	return n;
}

/* `count` numbers from l->seq on are missing, since `ms`. */
static void
pass_gap(struct capture_list *l, unsigned cause, uint64_t count, int64_t ms)
{
	if (ms < l->ms)
		ms = l->ms;
	if (cause == 0 && l->known) {
		l->known = false;
		l->since_ms = ms;
	}
	l->t.lost[cause] += count;
	l->seq += count;
	/* Losses of the target alone leave the list as it was at the node. */
	if (cause == 0 || l->gap > 0)
		l->gap += count;
}

static int
step_gap(struct capture *c, size_t entry, struct capture_list *l)
{
	const struct entry *e = &c->entries.at[entry];

	if (!reader_believes(c, entry))
		return -EBADMSG;
	/* The checkpoint that the list comes from may be behind it. */
	if (reader_end(e) <= l->seq)
		return 0;
	l->seq = e->first;
	pass_gap(l, e->cause, e->lost, e->ms);
	return 0;
}

/* 1: the moment is within this block; 0: the block is done; or an error. */
static int
step_block(struct capture *c, size_t entry, struct capture_list *l,
    const struct capture_when *w)
{
	const struct entry *e = &c->entries.at[entry];
	size_t from, to;
	int err = reader_events(c, entry);

	if (err < 0)
		return err;
	from = (size_t)(l->seq - e->first);
	if (from >= e->count)
		return 0;
	to = events_before(c, e, from, w);
	if (to > from)
		l->gap = 0;
	err = list_apply_recs(l, c->rec + from, c->info + from, to - from);
	return err < 0 ? err : to < e->count;
}

static int
go_forward(struct capture *c, struct reader_part *p, struct capture_list *l,
    const struct capture_when *w)
{
	int err = 0;

	for (; l->block < p->events.n; l->block++) {
		size_t entry = p->events.at[l->block];
		const struct entry *e = &c->entries.at[entry];

		if (w->at == CAPTURE_AT_SEQ && w->seq <= l->seq)
			return 0;
		/* Numbers that the file does not have may be of any time from here on. */
		if (e->first > l->seq)
			pass_gap(l, 0, e->first - l->seq, l->ms);
		if (is_after(w, e->first, e->ms))
			return 0;
		err = e->kind == FORMAT_GAP ? step_gap(c, entry, l) :
		    step_block(c, entry, l, w);
		/* Its numbers are missing before the next block. */
		if (err == -EBADMSG)
			continue;
		if (err != 0)
			return err < 0 ? err : 0;
	}
	if (l->seq < p->info.next && !(w->at == CAPTURE_AT_SEQ &&
	    w->seq <= l->seq))
		pass_gap(l, 0, p->info.next - l->seq, l->ms);
	return 0;
}

static int
find_peak(struct capture *c, struct reader_part *p, uint64_t *seq)
{
	const struct capture_when end = { .at = CAPTURE_AT_END };
	struct capture_list *l;
	int err = capture_list_new(&l, p->info.part.options);

	if (err < 0)
		return err;
	l->seq = p->info.part.first;
	err = jump(c, p, l, &end);
	if (err == 0)
		err = go_forward(c, p, l, &end);
	*seq = l->t.peak_seq + 1;
	capture_list_free(l);
	return err;
}

int
capture_forward(struct capture *c, struct capture_list *l,
    const struct capture_when *when)
{
	struct reader_part *p = reader_part(c, l->part);
	struct capture_when w = *when;
	int err;

	if (p == NULL)
		return -ENOENT;
	if (w.at == CAPTURE_AT_PEAK) {
		w.at = CAPTURE_AT_SEQ;
		err = find_peak(c, p, &w.seq);
		if (err < 0)
			return err;
	}
	if (is_after(&w, l->seq, l->ms))
		return -EINVAL;
	err = jump(c, p, l, &w);
	if (err == 0)
		err = go_forward(c, p, l, &w);
	if (w.at == CAPTURE_AT_END || (w.at == CAPTURE_AT_SEQ &&
	    w.seq >= l->seq))
		l->gap = 0;
	return err;
}

int
capture_seek(struct capture *c, uint32_t part, const struct capture_when *when,
    struct capture_list **out)
{
	struct reader_part *p = reader_part(c, part);
	struct capture_list *l;
	int err;

	if (p == NULL)
		return -ENOENT;
	err = capture_list_new(&l, p->info.part.options);
	if (err < 0)
		return err;
	l->part = part;
	l->seq = p->info.part.first;
	err = capture_forward(c, l, when);
	if (err == -EINVAL || (err == 0 && l->ms == INT64_MIN))
		err = -ENOENT;
	if (err < 0) {
		capture_list_free(l);
		return err;
	}
	*out = l;
	return 0;
}

/* The numbers [*seq, end), which the file does not have. */
static void
skip_numbers(struct capture_event *to, const struct reader_part *p,
    uint32_t part, unsigned cause, uint64_t *seq, uint64_t end)
{
	make_gap(to, p, part, cause, *seq, end - *seq);
	to->ms = INT64_MIN;
	*seq = end;
}

int
capture_read(struct capture *c, uint32_t part, uint64_t *seq,
    struct capture_event *out, size_t max, size_t *n)
{
	struct reader_part *p = reader_part(c, part);
	const struct entry *e;
	int err;

	*n = 0;
	if (p == NULL)
		return -ENOENT;
	for (size_t i = block_of(c, p, *seq); i < p->events.n; i++) {
		e = &c->entries.at[p->events.at[i]];
		err = e->kind != FORMAT_GAP ?
		    reader_events(c, p->events.at[i]) :
		    reader_believes(c, p->events.at[i]) ? 0 : -EBADMSG;
		if (err == -EBADMSG)
			continue;
		if (err < 0)
			return err;
		if (e->first > *seq) {
			skip_numbers(&out[(*n)++], p, part, 0, seq, e->first);
			return 0;
		}
		if (e->kind == FORMAT_GAP) {
			if (reader_end(e) <= *seq)
				continue;
			skip_numbers(out, p, part, e->cause, seq,
			    reader_end(e));
			out->ms = e->ms;
			*n = 1;
			return 0;
		}
		/* Numbers of a hostile file may go back. */
		if (*seq - e->first >= e->count)
			continue;
		c->done = (size_t)(*seq - e->first);
		*n = copy_events(c, e, out, max);
		c->done = 0;
		*seq += *n;
		return 0;
	}
	if (*seq < p->info.next) {
		skip_numbers(out, p, part, 0, seq, p->info.next);
		*n = 1;
	}
	return 0;
}

uint64_t
capture_state_from(const struct capture *c, uint32_t part, uint64_t seq,
    int64_t *ms)
{
	const struct reader_part *p = reader_part(c, part);

	for (size_t i = 0; p != NULL && i < p->checks.n; i++) {
		const struct entry *e = &c->entries.at[p->checks.at[i]];

		if (e->first < seq || !reader_believes(c, p->checks.at[i]))
			continue;
		*ms = e->ms;
		return e->first;
	}
	return UINT64_MAX;
}

uint64_t
capture_missing(const struct capture *c, uint32_t part, uint64_t seq)
{
	const struct reader_part *p = reader_part(c, part);
	uint64_t next = p == NULL ? seq : reader_begin(c, p), missing = 0;

	for (size_t i = 0; next < seq && i < p->events.n; i++) {
		const struct entry *e = &c->entries.at[p->events.at[i]];
		uint64_t from = next, end = reader_end(e);

		if (end <= next)
			continue;
		if (e->first > next)
			from = e->first < seq ? e->first : seq;
		missing += from - next;
		next = end < seq ? end : seq;
		if (e->kind == FORMAT_GAP && e->cause == 0)
			missing += next - from;
	}
	return missing + (next < seq ? seq - next : 0);
}
