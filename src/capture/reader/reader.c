#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"

#define DAMAGES_MAX 1000	/* sentences that are kept */
#define HEADS_MS 500		/* a node waits no longer for a capture that goes on */
#define SEARCH_BYTES 65536	/* read at once when a segment is searched */
/*
 * Definitions may take so much memory, and so many bytes for each one of the files.
 * Those of a program take some three; compressed hostile ones could take thousands.
 */
#define DEFINED_LEAST ((uint64_t)256 << 20)
#define DEFINED_SHARE 32
#define ITEM_BYTES 16		/* of a hashmap beside the item */

static int
say_damage(struct capture *c, size_t file, uint64_t offset, const char *what)
{
	void *all = c->damages.at;
	size_t len = 0;
	char *text;

	if (c->damages.n == DAMAGES_MAX)
		return 0;
	if (base_grow(&all, &c->damages.cap, c->damages.n + 1,
	    sizeof *c->damages.at) < 0)
		return -ENOMEM;
	c->damages.at = all;
	text = c->damages.at[c->damages.n++];
	text[0] = '\0';
	base_append(text, CAPTURE_WHY, &len, "%s: offset %llu: %s",
	    base_shown(c->files.at[file]), (unsigned long long)offset, what);
	return 0;
}

size_t
capture_damages(const struct capture *c)
{
	return c->damages.n;
}

const char *
capture_damage(const struct capture *c, size_t i)
{
	return c->damages.at[i];
}

bool
reader_believes(const struct capture *c, size_t entry)
{
	return entry < c->segments.at[c->entries.at[entry].segment].bad;
}

static struct {
	void (*tell)(void *arg, unsigned percent);
	void *arg;
} watcher;

void
capture_watch(void (*tell)(void *arg, unsigned percent), void *arg)
{
	watcher.tell = tell;
	watcher.arg = arg;
}

/* Files of a ring are of one size, nearly. */
static void
tell_place(const struct capture *c, size_t file, uint64_t at, uint64_t size)
{
	double part = size > at ? (double)at / (double)size : 1;

	if (watcher.tell != NULL)
		watcher.tell(watcher.arg, (unsigned)(100 * ((double)file +
		    part) / (double)c->files.n));
}

static int
open_file(struct capture *c, size_t file)
{
	int fd;

	if (c->fd >= 0 && c->open == file)
		return 0;
	if (c->fd >= 0)
		close(c->fd);
	fd = openat(c->folder >= 0 ? c->folder : AT_FDCWD, c->files.at[file],
	    O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	c->fd = fd;
	c->open = file;
	return fd < 0 ? -errno : 0;
}

/* How many bytes there were, up to len; or an error of read(). */
static ssize_t
read_at(struct capture *c, uint64_t at, void *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(c->fd, (char *)to + done, len - done,
		    (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* The payload as it is in the file.  -EBADMSG: its checksum is another. */
static int
read_raw(struct capture *c, const struct entry *e)
{
	ssize_t n;

	c->raw.n = 0;
	if (!bytes_room(&c->raw, e->len + 1)) {
		c->raw.failed = false;
		return -ENOMEM;
	}
	n = read_at(c, e->offset + FORMAT_BLOCK_HEAD, c->raw.p, e->len);
	if (n < 0)
		return (int)n;
	return (size_t)n != e->len || format_crc32c(c->raw.p, e->len) != e->crc ?
	    -EBADMSG : 0;
}

static int
read_payload(struct capture *c, const struct entry *e)
{
	int err = read_raw(c, e);

	if (err < 0)
		return err;
	if (!(e->flags & FORMAT_ZSTD))
		return e->len == e->decoded ? 0 : -EBADMSG;
	c->decoded.n = 0;
	if (!bytes_room(&c->decoded, e->decoded + 1)) {
		c->decoded.failed = false;
		return -ENOMEM;
	}
	return pack_expand(c->pack, c->decoded.p, e->decoded, c->raw.p,
	    e->len) ? 0 : -EBADMSG;
}

static void
payload_cursor(const struct capture *c, const struct entry *e,
    struct cursor *to)
{
	const uint8_t *p = e->flags & FORMAT_ZSTD ? c->decoded.p : c->raw.p;

	*to = (struct cursor){ .p = p, .end = p + e->decoded };
}

static int
disbelieve(struct capture *c, size_t entry)
{
	const struct entry *e = &c->entries.at[entry];
	struct segment *s = &c->segments.at[e->segment];

	if (s->bad != SIZE_MAX)
		return -EBADMSG;
	s->bad = entry;
	return say_damage(c, s->file, e->offset, "the block is damaged; "
	    "reading goes on at the next segment") < 0 ? -ENOMEM : -EBADMSG;
}

int
reader_payload(struct capture *c, size_t entry, struct cursor *to)
{
	const struct entry *e = &c->entries.at[entry];
	int err;

	if (!reader_believes(c, entry))
		return -EBADMSG;
	tell_place(c, c->segments.at[e->segment].file, e->offset,
	    c->about.bytes / c->files.n);
	err = open_file(c, c->segments.at[e->segment].file);
	if (err == 0)
		err = read_payload(c, e);
	if (err == -EBADMSG || err == -ENOENT)
		return disbelieve(c, entry);
	if (err == 0)
		payload_cursor(c, e, to);
	return err;
}

int
reader_events(struct capture *c, size_t entry)
{
	const struct entry *e = &c->entries.at[entry];
	struct cursor in;
	int err;

	if (c->held == entry)
		return 0;
	c->held = SIZE_MAX;
	err = reader_payload(c, entry, &in);
	if (err < 0)
		return err;
	if (events_decode(c->coder, in.p, e->decoded, c->rec, c->info,
	    e->count, e->ms) < 0)
		return disbelieve(c, entry);
	c->held = entry;
	return 0;
}

struct reader_part *
reader_part(const struct capture *c, uint32_t no)
{
	return hashmap_get(&c->parts, no);
}

static bool
is_too_much(const struct capture *c)
{
	return c->defined > DEFINED_LEAST + DEFINED_SHARE * c->about.bytes;
}

/* The definition of that number, with zeros if it is new, and `more` bytes beside it. */
static int
define(struct capture *c, struct hashmap *map, uint64_t no, size_t more,
    void *out)
{
	bool added;
	int64_t at;
	void *item;

	if (is_too_much(c))
		return -EBADMSG;
	at = hashmap_put(map, no, &added);
	if (at < 0)
		return -ENOMEM;
	c->defined += more + (added ? map->size + ITEM_BYTES : 0);
	item = hashmap_item(map, (size_t)at);
	memcpy(out, &item, sizeof item);
	return 0;
}

/* Makes the table at *table reach up to `no`, with zeros.  -ENOMEM. */
static int
reach(void *table, size_t *n, size_t *cap, size_t no, size_t size)
{
	void *all;

	if (no < *n)
		return 0;
	memcpy(&all, table, sizeof all);
	if (base_grow(&all, cap, no + 1, size) < 0)
		return -ENOMEM;
	memset((char *)all + *n * size, 0, (no + 1 - *n) * size);
	memcpy(table, &all, sizeof all);
	*n = no + 1;
	return 0;
}

#define REACH(p, table, no) \
	reach(&(p)->table.at, &(p)->table.n, &(p)->table.cap, no, \
	    sizeof *(p)->table.at)

static int
add_clock(struct capture *c, int64_t ms, int64_t wall_ns)
{
	if (c->clocks.n > 0 && ms <= c->clocks.at[c->clocks.n - 1].ms)
		return 0;
	if (REACH(c, clocks, c->clocks.n) < 0)
		return -ENOMEM;
	c->clocks.at[c->clocks.n - 1] = (struct clock){ ms, wall_ns };
	return 0;
}

static int
take_part(struct capture *c, const struct entry *e, struct cursor *in)
{
	struct capture_part part;
	struct reader_part *p;
	int err = 0;

	if (e->part == 0 || e->part > CAPTURE_PARTS_MAX || e->first == 0)
		return -EBADMSG;
	if (reader_part(c, e->part) != NULL)
		return 0;
	err = read_part(in, &part);
	if (err == 0)
		err = define(c, &c->parts, e->part, e->decoded, &p);
	if (err < 0) {
		undefine_part(&part);
		return err;
	}
	part.first = e->first;
	part.ms = e->ms;
	p->sites.size = sizeof(struct defined_site);
	p->modules.size = sizeof(struct defined_module);
	p->threads.size = sizeof(struct defined_thread);
	p->requesters.size = sizeof(struct defined_requester);
	if (e->part > c->about.parts)
		c->about.parts = e->part;
	p->info = (struct capture_part_info){ .part = part, .next = e->first,
		.last_ms = e->ms, .complete_ms = INT64_MAX, .status = -1 };
	return add_clock(c, e->ms, part.wall_ns);
}

static int
take_clock(struct capture *c, const struct entry *e, struct cursor *in)
{
	return add_clock(c, e->ms, (int64_t)cursor_zigzag(in));
}

/* The texts of a sample are mostly those of the one before. */
static int
add_stress(struct capture *c, struct capture_stress *s, const char *kernel,
    const char *why)
{
	int64_t k = intern_put(&c->stress_texts, kernel, strlen(kernel));
	int64_t w = intern_put(&c->stress_texts, why, strlen(why));

	if (k < 0 || w < 0 || REACH(c, stress, c->stress.n) < 0)
		return -ENOMEM;
	s->kernel = intern_text(&c->stress_texts, (size_t)k);
	s->why = intern_text(&c->stress_texts, (size_t)w);
	c->stress.at[c->stress.n - 1] = *s;
	return 0;
}

/* Times of samples are subtracted.  No node runs for a century. */
#define STRESS_MS_MAX (INT64_C(100) * 366 * 86400 * 1000)

static int
take_stress(struct capture *c, const struct entry *e, struct cursor *in)
{
	struct capture_stress s = { .ms = e->ms };
	char *kernel, *why;
	int err = e->ms < 0 || e->ms > STRESS_MS_MAX ? -ENOTSUP :
	    read_stress(in, &s.sample, &kernel, &why);

	if (err == -ENOTSUP) {
		c->about.unknown++;
		return 0;
	}
	if (err < 0)
		return err;
	if (c->stress.n == 0 || s.ms >= c->stress.at[c->stress.n - 1].ms)
		err = add_stress(c, &s, kernel, why);
	free(kernel);
	free(why);
	return err;
}

/* A later definition takes the place of an earlier one, in its room if it fits. */
static int
take_site(struct capture *c, struct reader_part *p, struct cursor *in)
{
	uint64_t frame[RING_STACK_MAX];
	struct defined_site *to;
	struct stream_site s;
	uint32_t no;
	int err;

	if (!read_site(in, &no, frame, &s) || no > STREAM_SITES_MAX)
		return -EBADMSG;
	err = define(c, &p->sites, no, 0, &to);
	if (err < 0)
		return err;
	if (s.depth > to->room) {
		if (REACH(p, frames, p->frames.n + s.depth - 1) < 0)
			return -ENOMEM;
		c->defined += s.depth * sizeof *frame;
		to->at = p->frames.n - s.depth;
		to->room = (uint8_t)s.depth;
	}
	to->depth = (uint8_t)s.depth;
	to->end = (uint8_t)s.end;
	memcpy(&p->frames.at[to->at], frame, s.depth * sizeof *frame);
	if (no > p->last_site)
		p->last_site = no;
	return 0;
}

static void
free_path(struct stream_module *m)
{
	union {
		const char *c;
		char *own;
	} u = { .c = m->path };

	free(u.own);
	m->path = NULL;
}

static int
take_module(struct capture *c, struct reader_part *p, struct cursor *in)
{
	struct defined_module *to;
	struct stream_module m;
	unsigned no;
	int err;

	if (!read_module(in, &no, &m))
		return in->bad ? -EBADMSG : -ENOMEM;
	err = no > UINT16_MAX ? -EBADMSG : define(c, &p->modules, no,
	    strlen(m.path), &to);
	if (err < 0) {
		free_path(&m);
		return err;
	}
	free_path(&to->m);
	to->m = m;
	if (no > p->last_module)
		p->last_module = no;
	return 0;
}

static int
take_thread(struct capture *c, struct reader_part *p, struct cursor *in)
{
	struct defined_thread *to;
	uint32_t no, tid;
	char *name;
	int err = read_thread(in, &no, &tid, &name);

	if (err < 0)
		return err;
	err = no > UINT16_MAX ? -EBADMSG : define(c, &p->threads, no,
	    strlen(name), &to);
	if (err < 0) {
		free(name);
		return err;
	}
	free(to->name);
	to->name = name;
	to->tid = tid;
	return 0;
}

static int
take_type(struct capture *c, struct reader_part *p, struct cursor *in)
{
	struct stream_type t;

	if (!read_type(in, &t) || is_too_much(c))
		return -EBADMSG;
	if (p->types == NULL) {
		c->defined += sizeof *p->types;
		p->types = calloc(1, sizeof *p->types);
		if (p->types == NULL)
			return -ENOMEM;
		stream_types_init(p->types);
	}
	p->types->by_code[t.code] = t;
	return 0;
}

static int
take_requester(struct capture *c, struct reader_part *p, struct cursor *in)
{
	struct defined_requester *to;
	struct blklist_info info;
	uint32_t no;
	int err = read_requester(in, &no, &info);

	if (err == 0)
		err = no > UINT16_MAX ? -EBADMSG : define(c, &p->requesters, no,
		    0, &to);
	if (err == 0)
		to->info = info;
	return err;
}

/* Each segment of a ring has all marks again. */
static int
take_mark(struct capture *c, const struct entry *e, struct cursor *in)
{
	size_t before = c->marks_seen.n;
	struct bytes key = { .n = 0 };
	char *text = cursor_text(in);
	int64_t no = -ENOMEM;

	if (text != NULL) {
		bytes_varint(&key, e->part);
		bytes_varint(&key, e->first);
		bytes_varint(&key, (uint64_t)e->ms);
		bytes_text(&key, text);
	}
	if (text != NULL && !key.failed)
		no = intern_put(&c->marks_seen, key.p, key.n);
	bytes_fini(&key);
	if (no < 0 || c->marks_seen.n == before) {
		free(text);
		return in->bad ? -EBADMSG : no < 0 ? -ENOMEM : 0;
	}
	if (REACH(c, marks, c->marks.n) < 0) {
		free(text);
		return -ENOMEM;
	}
	c->marks.at[c->marks.n - 1] = (struct capture_mark){ .part = e->part,
		.seq = e->first, .ms = e->ms, .text = text };
	return 0;
}

static int
take_end(struct capture *c, const struct entry *e, struct cursor *in)
{
	struct reader_part *p = reader_part(c, e->part);
	int64_t status = 0;
	char *text;

	if (e->part != 0)
		status = (int64_t)cursor_zigzag(in);
	text = cursor_text(in);
	if (text == NULL)
		return in->bad ? -EBADMSG : -ENOMEM;
	if (e->part == 0) {
		free(c->reason);
		c->about.reason = c->reason = text;
		c->about.ended = true;
		return 0;
	}
	if (p == NULL) {
		free(text);
		return 0;
	}
	free(p->reason);
	p->info.reason = p->reason = text;
	p->info.ended = true;
	p->info.status = (int)status;
	p->info.end_ms = e->ms;
	return 0;
}

static int
push(struct places *t, size_t value)
{
	void *all = t->at;

	if (base_grow(&all, &t->cap, t->n + 1, sizeof *t->at) < 0)
		return -ENOMEM;
	t->at = all;
	t->at[t->n++] = value;
	return 0;
}

static int
index_events(struct capture *c, struct reader_part *p, struct entry *e)
{
	if (e->count > FORMAT_EVENTS_MAX || e->count == 0)
		return -EBADMSG;
	p->info.events += e->count;
	c->about.events += e->count;
	if (e->first + e->count > p->info.next)
		p->info.next = e->first + e->count;
	return push(&p->events, c->entries.n - 1);
}

static int
index_gap(struct capture *c, struct reader_part *p, struct entry *e)
{
	struct cursor in;
	uint64_t cause;
	int err = read_payload(c, e);

	if (err < 0)
		return err;
	payload_cursor(c, e, &in);
	cause = cursor_varint(&in);
	e->lost = cursor_varint(&in);
	if (!cursor_done(&in) || cause >= STREAM_CAUSES)
		return -EBADMSG;
	e->cause = (uint8_t)cause;
	c->about.gaps++;
	c->about.lost += e->lost;
	return push(&p->events, c->entries.n - 1);
}

/* A state counts if its portions are there, the last ones before it. */
static int
index_checkpoint(struct capture *c, struct reader_part *p, struct entry *e)
{
	size_t n = e->count;
	int err;

	if (n == 0 || n > p->states.n - p->used)
		return 0;
	for (size_t i = p->states.n - n; i < p->states.n; i++)
		if (c->entries.at[p->states.at[i]].first != e->first)
			return 0;
	err = push(&p->checks, c->entries.n - 1);
	if (err < 0)
		return err;
	p->used = p->states.n;
	c->entries.at[p->states.at[p->states.n - n]].begins = true;
	if (p->info.complete_ms == INT64_MAX) {
		p->info.complete_ms = e->ms;
		p->info.complete_seq = e->first;
	}
	return 0;
}

static int
index_state(struct capture *c, struct reader_part *p, struct entry *e)
{
	return e->count > FORMAT_ROWS_MAX ? -EBADMSG :
	    push(&p->states, c->entries.n - 1);
}

/* Its head is whole, so the next block is found, and its events are counted. */
static int
pass_damaged(struct capture *c, struct reader_part *p, struct entry *e)
{
	char what[96] = "the block is damaged; no event is lost";

	if (e->kind == FORMAT_GAP)
		snprintf(what, sizeof what, "the block is damaged; it told of "
		    "lost events");
	if (e->kind == FORMAT_EVENTS && (e->count > FORMAT_EVENTS_MAX ||
	    e->count == 0))
		return -EBADMSG;
	if (e->kind == FORMAT_EVENTS) {
		snprintf(what, sizeof what, "the block is damaged; its %s "
		    "events are lost", base_digits(e->count).text);
		if (reader_end(e) > p->info.next)
			p->info.next = reader_end(e);
	}
	e->kind = 0;
	return say_damage(c, c->segments.at[e->segment].file, e->offset, what);
}

/*
 * The actions for a block of each kind when a capture is opened.  A further kind is a row
 * of enum format_kind, a row here, and an item of pagek-capture(5).
 */
static const struct {
	/* Of a part, whose last time may be later now. */
	int (*index)(struct capture *, struct reader_part *, struct entry *);
	/* A definition. */
	int (*take)(struct capture *, const struct entry *, struct cursor *);
	/* One of the rows of definitions of a part. */
	int (*row)(struct capture *, struct reader_part *, struct cursor *);
} kinds[FORMAT_KINDS] = {
	[FORMAT_PART] = { .take = take_part },
	[FORMAT_MODULES] = { .row = take_module },
	[FORMAT_SITES] = { .row = take_site },
	[FORMAT_THREADS] = { .row = take_thread },
	[FORMAT_TYPES] = { .row = take_type },
	[FORMAT_EVENTS] = { .index = index_events },
	[FORMAT_STATE] = { .index = index_state },
	[FORMAT_CHECKPOINT] = { .index = index_checkpoint },
	[FORMAT_GAP] = { .index = index_gap },
	[FORMAT_MARK] = { .take = take_mark },
	[FORMAT_END] = { .take = take_end },
	[FORMAT_CLOCK] = { .take = take_clock },
	[FORMAT_REQUESTERS] = { .row = take_requester },
	[FORMAT_STRESS] = { .take = take_stress },
};

static int
take_definition(struct capture *c, const struct entry *e)
{
	struct reader_part *p = reader_part(c, e->part);
	struct cursor in;
	int err = read_payload(c, e);

	if (err < 0)
		return err;
	payload_cursor(c, e, &in);
	if (kinds[e->kind].take != NULL)
		return kinds[e->kind].take(c, e, &in);
	for (uint32_t i = 0; i < e->count && err == 0; i++)
		err = p == NULL ? -EBADMSG : kinds[e->kind].row(c, p, &in);
	return err;
}

static int
index_block(struct capture *c, struct entry *e)
{
	struct reader_part *p = reader_part(c, e->part);
	int err;

	c->about.blocks++;
	if (e->kind == 0 || e->kind >= FORMAT_KINDS || e->flags > FORMAT_ZSTD) {
		c->about.unknown++;
		return 0;
	}
	if (e->flags != 0 && !pack_is_there())
		return -ENOTSUP;
	if (kinds[e->kind].index == NULL)
		return take_definition(c, e);
	if (p == NULL)
		return -EBADMSG;
	if (e->ms > p->info.last_ms)
		p->info.last_ms = e->ms;
	err = c->scan.heads ? 0 : read_raw(c, e);
	if (err == -EBADMSG)
		return pass_damaged(c, p, e);
	return err < 0 ? err : kinds[e->kind].index(c, p, e);
}

static int
add_segment(struct capture *c, size_t file, const struct segment_head *s)
{
	if (c->segments.n == 0) {
		c->about.id = s->id;
		c->about.node = s->node;
		c->about.oldest = s->number;
		c->about.wall_ns = s->wall_ns;
	} else if (c->folder >= 0 && !c->vanished && s->number >
	    c->segments.at[c->segments.n - 1].number + 1 &&
	    say_damage(c, file, 0, "the segment before it is missing") < 0)
		return -ENOMEM;
	c->vanished = false;
	if (REACH(c, segments, c->segments.n) < 0)
		return -ENOMEM;
	c->segments.at[c->segments.n - 1] = (struct segment){ .file = (uint32_t)file,
		.number = s->number, .bad = SIZE_MAX };
	return 0;
}

/* The offset of the capture's next segment from `from` on; `size` if there is none. */
static uint64_t
search_segment(struct capture *c, uint64_t from, uint64_t size)
{
	uint8_t buf[SEARCH_BYTES], head[FORMAT_SEGMENT_HEAD];
	struct segment_head s;

	while (from + FORMAT_SEGMENT_HEAD <= size) {
		ssize_t n = read_at(c, from, buf, sizeof buf);
		const uint8_t *p = n < (ssize_t)FORMAT_SEGMENT_HEAD ? NULL :
		    memmem(buf, (size_t)n, FORMAT_MAGIC, 8);

		for (; p != NULL; p = memmem(p + 1, (size_t)(buf + n - p) - 1,
			FORMAT_MAGIC, 8)) {
			uint64_t at = from + (uint64_t)(p - buf);

			if (read_at(c, at, head, sizeof head) == sizeof head &&
			    format_get_segment(head, &s) == 0 &&
			    (c->segments.n == 0 || s.id == c->about.id))
				return at;
		}
		if (n < (ssize_t)sizeof buf)
			return size;
		from += sizeof buf - 7;
	}
	return size;
}

/*
 * A block at *at: 0 with *at behind it; -EBADMSG, with a reason, where the
 * segment is damaged.
 */
static int
scan_block(struct capture *c, uint64_t size, uint64_t *at, const char **why)
{
	uint8_t head[FORMAT_BLOCK_HEAD];
	ssize_t n = read_at(c, *at, head, sizeof head);
	struct block_head b;
	struct entry *e;
	int err;

	if (n < 0)
		return (int)n;
	*why = "the last block is cut off";
	if ((size_t)n < sizeof head)
		return -EBADMSG;
	if (!format_get_block(head, &b)) {
		*why = "the block is damaged";
		return -EBADMSG;
	}
	if (b.len > size - *at - sizeof head)
		return -EBADMSG;
	*why = "the block is damaged";
	if (REACH(c, entries, c->entries.n) < 0)
		return -ENOMEM;
	e = &c->entries.at[c->entries.n - 1];
	*e = (struct entry){ .offset = *at, .first = b.first, .ms = b.ms,
		.segment = (uint32_t)c->segments.n - 1, .len = b.len,
		.decoded = b.decoded, .crc = b.crc, .part = b.part,
		.count = b.count, .kind = b.kind, .flags = b.flags };
	err = index_block(c, e);
	if (err < 0) {
		c->entries.n--;
		if (is_too_much(c))
			*why = "its definitions would take more memory than a "
			    "file of this size can need";
		else if (e->kind == FORMAT_PART && e->first == 0)
			*why = "the first event of a process has the number 0; "
			    "numbers begin at 1";
		return err;
	}
	*at += sizeof head + b.len;
	return 0;
}

static int
scan_segment_head(struct capture *c, size_t file, uint64_t *at)
{
	uint8_t head[FORMAT_SEGMENT_HEAD];
	struct segment_head s;
	ssize_t n = read_at(c, *at, head, sizeof head);
	int err;

	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof head)
		return -EBADMSG;
	err = format_get_segment(head, &s);
	if (c->segments.n > 0 && (err < 0 || s.id != c->about.id))
		return -EBADMSG;
	if (err < 0)
		return err;
	*at += sizeof head;
	return add_segment(c, file, &s);
}

static bool
is_segment(struct capture *c, uint64_t at)
{
	uint8_t magic[8];

	return read_at(c, at, magic, sizeof magic) == sizeof magic &&
	    capture_magic(magic, sizeof magic);
}

static int
scan_file(struct capture *c, size_t file)
{
	uint64_t at = 0, size;
	const char *why;
	struct stat st;
	int err = open_file(c, file);

	if (err < 0)
		return err;
	if (fstat(c->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTSUP;
	size = (uint64_t)st.st_size;
	c->about.bytes += size;
	c->scan.whole = 0;
	while (at < size) {
		if (c->scan.heads && mono_ms(mono_now()) > c->scan.until_ms)
			return -EFBIG;
		tell_place(c, file, at, size);
		if (at == 0 || is_segment(c, at)) {
			why = "the segment's head is damaged";
			err = scan_segment_head(c, file, &at);
		} else {
			err = scan_block(c, size, &at, &why);
		}
		if (err == 0) {
			c->scan.whole = at;
			continue;
		}
		if (err != -EBADMSG || c->segments.n == 0)
			return err;
		/* Only a kill is expected, which tears the last block. */
		if (c->scan.heads)
			return size - at < FORMAT_BLOCK_HEAD +
			    FORMAT_BLOCK_MAX && file + 1 == c->files.n ? 0 :
			    -EBADMSG;
		if (say_damage(c, file, at, why) < 0)
			return -ENOMEM;
		at = search_segment(c, at + 1, size);
	}
	return c->segments.n == 0 ? -EBADMSG : 0;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
add_file(struct capture *c, const char *name)
{
	char *copy = strdup(name);

	if (copy == NULL || REACH(c, files, c->files.n) < 0) {
		free(copy);
		return -ENOMEM;
	}
	c->files.at[c->files.n - 1] = copy;
	return 0;
}

static bool
is_segment_name(const char *name)
{
	size_t n = strspn(name, "0123456789");

	return n >= 8 && strcmp(name + n, FORMAT_SUFFIX) == 0;
}

static int
list_folder(struct capture *c)
{
	DIR *d = opendir(c->path);
	const struct dirent *e;
	int err = 0;

	if (d == NULL)
		return -errno;
	c->folder = dup(dirfd(d));
	if (c->folder < 0)
		err = -errno;
	while (err == 0 && (e = readdir(d)) != NULL)
		if (is_segment_name(e->d_name))
			err = add_file(c, e->d_name);
	closedir(d);
	if (err == 0 && c->files.n == 0)
		err = -EBADMSG;
	if (err == 0)
		qsort(c->files.at, c->files.n, sizeof *c->files.at, compare_names);
	return err;
}

/* A file that the recorder drops meanwhile is none. */
static int
scan(struct capture *c)
{
	struct stat st;
	int err;

	if (stat(c->path, &st) < 0)
		return -errno;
	err = S_ISDIR(st.st_mode) ? list_folder(c) : add_file(c, c->path);
	for (size_t i = 0; err == 0 && i < c->files.n; i++) {
		err = scan_file(c, i);
		if (c->folder >= 0 && err == -ENOENT) {
			c->vanished = true;
			err = 0;
		}
		if (c->folder >= 0 && err == -EBADMSG)
			err = say_damage(c, i, 0, "no segment");
	}
	return err == 0 && c->segments.n == 0 ? -EBADMSG : err;
}

static void
say_why(char why[CAPTURE_WHY], const char *path, int err)
{
	struct stat st = { .st_mode = 0 };
	size_t len = 0;

	why[0] = '\0';
	if (err == -EBADMSG && stat(path, &st) == 0 &&
	    (S_ISDIR(st.st_mode) || st.st_size == 0))
		base_append(why, CAPTURE_WHY, &len, "%s: not a capture: %s",
		    base_shown(path), S_ISDIR(st.st_mode) ?
		    "a folder without segments" : "the file is empty");
	else if (err == -EBADMSG)
		base_append(why, CAPTURE_WHY, &len, "%s: not a capture, or its "
		    "first 64 bytes are damaged", base_shown(path));
	else if (err == -ENOTSUP)
		base_append(why, CAPTURE_WHY, &len, "%s: a capture of another "
		    "version, or one that this program cannot expand%s",
		    base_shown(path), pack_is_there() ? "" :
		    " (it was built without zstd)");
	else
		base_append(why, CAPTURE_WHY, &len, "%s: %s", base_shown(path),
		    base_file_words(err));
}

static int
prepare(struct capture *c, const char *path)
{
	c->folder = c->fd = -1;
	c->parts.size = sizeof(struct reader_part);
	c->held = SIZE_MAX;
	c->about.reason = "";
	c->path = strdup(path);
	c->rec = malloc(FORMAT_EVENTS_MAX * sizeof *c->rec);
	c->info = malloc(FORMAT_EVENTS_MAX * sizeof *c->info);
	if (c->path == NULL || c->rec == NULL || c->info == NULL)
		return -ENOMEM;
	if (pack_new(&c->pack) < 0)
		return -ENOMEM;
	return events_coder_new(&c->coder);
}

bool
capture_magic(const void *bytes, size_t len)
{
	return len >= 8 && memcmp(bytes, FORMAT_MAGIC, 8) == 0;
}

bool
capture_is_own(const void *bytes, size_t len)
{
	struct segment_head s;

	return len >= FORMAT_SEGMENT_HEAD && format_get_segment(bytes, &s) == 0;
}

static bool
has_segments(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	bool found = false;

	while (!found && dir != NULL && (e = readdir(dir)) != NULL)
		found = is_segment_name(e->d_name);
	if (dir != NULL)
		closedir(dir);
	return found;
}

bool
capture_match(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char magic[8];
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) ? has_segments(path) :
	    S_ISREG(st.st_mode) && read(fd, magic, sizeof magic) ==
	    sizeof magic && capture_magic(magic, sizeof magic));
	close(fd);
	return is;
}

/* The head of a block has the time of its first event. */
static int
find_last_ms(struct capture *c, struct reader_part *p)
{
	size_t last = p->events.n > 0 ? p->events.at[p->events.n - 1] : 0;
	int err;

	if (p->events.n == 0 || c->entries.at[last].kind != FORMAT_EVENTS)
		return 0;
	err = reader_events(c, last);
	for (uint32_t i = 0; err == 0 && i < c->entries.at[last].count; i++)
		if ((int64_t)c->rec[i].w[2] > p->info.last_ms)
			p->info.last_ms = (int64_t)c->rec[i].w[2];
	return err == -EBADMSG ? 0 : err;
}

static int
open_reader(struct capture **out, const char *path, bool heads,
    char why[CAPTURE_WHY])
{
	struct capture *c = calloc(1, sizeof *c);
	int err = c == NULL ? -ENOMEM : prepare(c, path);

	if (err == 0) {
		c->scan.heads = heads;
		c->scan.until_ms = mono_ms(mono_now()) + HEADS_MS;
		err = scan(c);
	}
	for (size_t i = 0; err == 0 && i < c->parts.n; i++)
		err = find_last_ms(c, hashmap_item(&c->parts, i));
	if (err < 0) {
		say_why(why, path, err);
		capture_close(c);
		return err;
	}
	c->about.segments = c->segments.n;
	capture_rewind(c);
	*out = c;
	return 0;
}

int
capture_open(struct capture **out, const char *path, char why[CAPTURE_WHY])
{
	return open_reader(out, path, false, why);
}

int
reader_open_heads(struct capture **out, const char *path, char why[CAPTURE_WHY])
{
	return open_reader(out, path, true, why);
}

static void
free_part(struct reader_part *p)
{
	undefine_part(&p->info.part);
	free(p->reason);
	free(p->events.at);
	free(p->checks.at);
	free(p->states.at);
	free(p->frames.at);
	for (size_t i = 0; i < p->modules.n; i++)
		free_path(&((struct defined_module *)hashmap_item(&p->modules,
		    i))->m);
	for (size_t i = 0; i < p->threads.n; i++)
		free(((struct defined_thread *)hashmap_item(&p->threads,
		    i))->name);
	hashmap_fini(&p->sites);
	hashmap_fini(&p->modules);
	hashmap_fini(&p->threads);
	hashmap_fini(&p->requesters);
	free(p->types);
}

static void
free_mark(struct capture_mark *m)
{
	union {
		const char *c;
		char *own;
	} u = { .c = m->text };

	free(u.own);
}

void
capture_close(struct capture *c)
{
	if (c == NULL)
		return;
	if (c->fd >= 0)
		close(c->fd);
	if (c->folder >= 0)
		close(c->folder);
	for (size_t i = 0; i < c->parts.n; i++)
		free_part(hashmap_item(&c->parts, i));
	hashmap_fini(&c->parts);
	for (size_t i = 0; i < c->marks.n; i++)
		free_mark(&c->marks.at[i]);
	free(c->marks.at);
	intern_fini(&c->marks_seen);
	for (size_t i = 0; i < c->files.n; i++)
		free(c->files.at[i]);
	free(c->files.at);
	free(c->path);
	free(c->segments.at);
	free(c->entries.at);
	free(c->clocks.at);
	free(c->stress.at);
	intern_fini(&c->stress_texts);
	free(c->damages.at);
	free(c->reason);
	pack_free(c->pack);
	bytes_fini(&c->raw);
	bytes_fini(&c->decoded);
	events_coder_free(c->coder);
	free(c->rec);
	free(c->info);
	free(c);
}

void
capture_about(const struct capture *c, struct capture_about *out)
{
	*out = c->about;
	out->first_ms = INT64_MAX;
	out->last_ms = INT64_MIN;
	for (size_t i = 0; i < c->parts.n; i++) {
		const struct capture_part_info *p = &((struct reader_part *)
		    hashmap_item(&c->parts, i))->info;

		if (p->part.ms < out->first_ms)
			out->first_ms = p->part.ms;
		if (p->last_ms > out->last_ms)
			out->last_ms = p->last_ms;
	}
}

static uint64_t
count_dropped(const struct capture *c, const struct reader_part *p)
{
	uint64_t from = p->info.next;

	if (p->events.n > 0 && c->entries.at[p->events.at[0]].first < from)
		from = c->entries.at[p->events.at[0]].first;
	if (p->checks.n > 0 && p->info.complete_seq < from)
		from = p->info.complete_seq;
	return c->about.oldest > 1 && from > p->info.part.first ?
	    from - p->info.part.first : 0;
}

uint64_t
reader_begin(const struct capture *c, const struct reader_part *p)
{
	return p->info.part.first + count_dropped(c, p);
}

uint64_t
reader_end(const struct entry *e)
{
	return e->first + (e->kind == FORMAT_EVENTS ? e->count : e->lost);
}

bool
capture_part(const struct capture *c, uint32_t no,
    struct capture_part_info *out)
{
	const struct reader_part *p = reader_part(c, no);

	if (p == NULL)
		return false;
	*out = p->info;
	out->dropped = count_dropped(c, p);
	if (out->reason == NULL)
		out->reason = "";
	return true;
}

static const struct reader_part *
store_of(const struct capture *c, uint32_t no)
{
	const struct reader_part *p = reader_part(c, no);

	if (p != NULL && p->info.part.store != 0)
		p = reader_part(c, p->info.part.store);
	return p;
}

bool
capture_site(const struct capture *c, uint32_t part, uint32_t no,
    struct stream_site *s)
{
	const struct reader_part *p = store_of(c, part);
	const struct defined_site *site = p == NULL ? NULL :
	    hashmap_get(&p->sites, no);

	if (site == NULL)
		return false;
	*s = (struct stream_site){ .frame = &p->frames.at[site->at],
		.depth = site->depth, .end = (enum ring_end)site->end };
	return true;
}

bool
capture_module(const struct capture *c, uint32_t part, unsigned no,
    struct stream_module *m)
{
	const struct reader_part *p = store_of(c, part);
	const struct defined_module *module = p == NULL ? NULL :
	    hashmap_get(&p->modules, no);

	if (module != NULL)
		*m = module->m;
	return module != NULL;
}

uint32_t
capture_sites(const struct capture *c, uint32_t part)
{
	const struct reader_part *p = store_of(c, part);

	return p == NULL ? 0 : p->last_site;
}

unsigned
capture_modules(const struct capture *c, uint32_t part)
{
	const struct reader_part *p = store_of(c, part);

	return p == NULL ? 0 : p->last_module;
}

bool
capture_thread(const struct capture *c, uint32_t part, unsigned index,
    uint32_t *tid, const char **name)
{
	const struct reader_part *p = reader_part(c, part);
	const struct defined_thread *thread = p == NULL ? NULL :
	    hashmap_get(&p->threads, index);

	if (thread == NULL)
		return false;
	*tid = thread->tid;
	*name = thread->name;
	return true;
}

bool
capture_requester(const struct capture *c, uint32_t part, uint16_t info,
    struct blklist_info *out)
{
	const struct reader_part *p = reader_part(c, part);
	const struct defined_requester *r = p == NULL || info == 0 ? NULL :
	    hashmap_get(&p->requesters, info);

	if (r != NULL)
		*out = r->info;
	return r != NULL;
}

void
capture_types(const struct capture *c, uint32_t part,
    struct stream_types *out)
{
	const struct reader_part *p = reader_part(c, part);

	if (p != NULL && p->types != NULL)
		*out = *p->types;
	else
		stream_types_init(out);
}

size_t
capture_marks(const struct capture *c)
{
	return c->marks.n;
}

const struct capture_mark *
capture_mark(const struct capture *c, size_t i)
{
	return &c->marks.at[i];
}

size_t
capture_stresses(const struct capture *c)
{
	return c->stress.n;
}

const struct capture_stress *
capture_stress(const struct capture *c, size_t i)
{
	return &c->stress.at[i];
}

const struct capture_stress *
capture_stress_at(const struct capture *c, int64_t ms)
{
	size_t i;

	if (c->stress.n == 0)
		return NULL;
	BASE_FIND_FIRST(i, c->stress.n, c->stress.at[i].ms > ms);
	return &c->stress.at[i > 0 ? i - 1 : 0];
}

#define NS_PER_MS INT64_C(1000000)

/* The last clock before; they ascend by ms, and mostly by the wall clock. */
static const struct clock *
clock_before(const struct capture *c, int64_t at, bool wall)
{
	size_t lo = 0, hi = c->clocks.n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if ((wall ? c->clocks.at[mid].wall_ns : c->clocks.at[mid].ms) <= at)
			lo = mid;
		else
			hi = mid;
	}
	return &c->clocks.at[lo];
}

/* Bad data may lie far apart: unsigned differences wrap and do no harm. */
int64_t
capture_wall_ns(const struct capture *c, int64_t ms)
{
	const struct clock *k;

	if (c->clocks.n == 0)
		return c->about.wall_ns;
	k = clock_before(c, ms, false);
	return (int64_t)((uint64_t)k->wall_ns +
	    ((uint64_t)ms - (uint64_t)k->ms) * (uint64_t)NS_PER_MS);
}

int64_t
capture_ms(const struct capture *c, int64_t wall_ns)
{
	const struct clock *k;
	int64_t by;

	if (c->clocks.n == 0)
		return 0;
	k = clock_before(c, wall_ns, true);
	by = (int64_t)((uint64_t)wall_ns - (uint64_t)k->wall_ns) / NS_PER_MS;
	return (int64_t)((uint64_t)k->ms + (uint64_t)by);
}
