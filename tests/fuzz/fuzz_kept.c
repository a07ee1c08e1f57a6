/*
 * fuzz_kept: any bytes over what the process of a node has left for the next
 * one: its block list, its queue, its stacks, or the state of a feed beside its
 * target's rings.  It may have died of having spoilt them.  The first byte says
 * which, the second how much had happened, and each group of bytes after that
 * which word becomes what.
 *
 * Claims: it is taken up or refused with an error that the door names, and
 * whoever goes on with what was taken up comes to no harm: a list has all its
 * invariants then and after more records, a queue reads to its end and what it
 * says of a read adds up, stacks have frames, a feed ends or says -EPROTO.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../src/base/pmem.h"
#include "../../src/blklist/blklist.h"
#include "../../src/stream/feed/feed.h"
#include "fuzz.h"

#define BLOCKS 512		/* aRecMax */
#define REMEMBERED 128
#define RECORDS 1024		/* of a queue */
#define ADDRESSES 96
#define BATCH 16
#define PAGE 4096
#define PAGES_MOST 256		/* of a memory file that are looked at */
#define PATCHES_MOST 64

/* --- memory that a process has left --------------------------------------- */

/* Pages of the file that hold something, for a hole holds nothing to spoil. */
static size_t
find_pages(int fd, off_t page[PAGES_MOST])
{
	off_t at = 0, end;
	size_t n = 0;

	while (n < PAGES_MOST && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
		end = lseek(fd, at, SEEK_HOLE);
		for (; at < end && n < PAGES_MOST; at += PAGE)
			page[n++] = at;
	}
	return n;
}

static uint64_t
spoilt(struct input *in, uint64_t was)
{
	switch (take8(in) % 6) {
	case 0:
		return take64(in);
	case 1:
		return was ^ UINT64_C(1) << take8(in) % 64;
	case 2:
		return was + (uint64_t)(int8_t)take8(in);
	case 3:
		return (was & ~UINT64_C(0xffffffff)) | take16(in);
	case 4:
		return (was & UINT64_C(0xffffffff)) |
		    (uint64_t)take16(in) << 32;
	default:
		return take8(in) & 1 ? UINT64_MAX : 0;
	}
}

static void
spoil_file(struct input *in, int fd)
{
	off_t page[PAGES_MOST];
	size_t n = find_pages(fd, page);

	for (unsigned i = 0; i < PATCHES_MOST && in->left > 0 && n > 0; i++) {
		off_t at = page[take8(in) % n];
		uint64_t word;

		at += (off_t)(take16(in) % (PAGE / sizeof(word))) *
		    (off_t)sizeof(word);
		claim(pread(fd, &word, sizeof(word), at) == sizeof(word),
		    "a word of the file is read");
		word = spoilt(in, word);
		claim(pwrite(fd, &word, sizeof(word), at) == sizeof(word),
		    "a word of the file is written");
	}
}

static struct pmem *
make(void)
{
	struct pmem *kept;

	claim(pmem_new(&kept, "fuzz", 0) == 0, "there is memory");
	return kept;
}

/* The process is dead: what it mapped is gone, the file is not. */
static int
left_by(struct pmem *kept)
{
	int fd = dup(pmem_fd(kept));

	claim(fd >= 0, "there are descriptors");
	pmem_free(kept);
	return fd;
}

static struct pmem *
open_spoilt(struct input *in, int fd)
{
	struct pmem *kept;
	int r;

	spoil_file(in, fd);
	r = pmem_open(&kept, fd);
	claim(r == 0 || r == -EINVAL, "memory is opened, or is none");
	return r == 0 ? kept : NULL;
}

/* --- the list -------------------------------------------------------------- */

static void
apply(struct blklist *l, unsigned from, unsigned n)
{
	struct rec rec[BATCH];

	for (unsigned i = 0; i < n; i++) {
		unsigned k = from + i, slot = k * 7 % ADDRESSES;
		bool frees = k / ADDRESSES % 2 == 1;

		rec[i] = (struct rec){ {
		    rec_w0(0x7f0000001000 + 64 * slot, REC_FLAGS(frees ?
			REC_FREE : REC_ALLOC, k % 5 == 0 ? REC_LAYER_API : 0),
			frees && k % 3 == 0 ? TYPE_BY_REALLOC : TYPE_MALLOC),
		    rec_w1(k * 16, k % 6), rec_w2(k, k), rec_w3(k, 1) } };
	}
	blklist_apply(l, &(struct blklist_batch){ .rec = rec, .n = n,
	    .seq = from + 1, .near_ms = from, .cancel = false });
}

static void
apply_all(struct blklist *l, unsigned from, unsigned to)
{
	for (; from < to; from += BATCH)
		apply(l, from, to - from < BATCH ? to - from : BATCH);
}

static void
look_at_list(const struct blklist *l)
{
	static struct blk row[BLOCKS + 1];
	const struct blklist_counts *c = blklist_counts(l);
	char why[256] = "";

	if (blklist_check(l, why, sizeof(why)) != 0)
		claim(false, why);
	for (unsigned order = 0; order < 2; order++)
		claim(blklist_window(l, (enum blklist_order)order, false, 0,
		    row, BLOCKS + 1) == c->aRecActive, "all rows are there");
	for (uint32_t i = 0; i < c->aRecActive; i++) {
		blklist_weight(l, &row[i]);
		(void)blklist_info_get(l, row[i].info);
	}
	for (uint32_t i = 0; i < REMEMBERED; i++)
		(void)blklist_removed((struct blklist *)(uintptr_t)l, i);
}

static void
fuzz_list(struct input *in, unsigned many)
{
	static const struct blklist_info info = { .name = "RX" };
	struct pmem *kept = make();
	struct blklist *l;
	unsigned at = 3 * many, more = take8(in) % 100, slot = many & 1;
	int r;

	claim(blklist_new_persistent(&l, BLOCKS, kept) == 0 &&
	    blklist_remember(l, REMEMBERED) == 0, "a list is made");
	apply_all(l, 0, at / 2);
	blklist_info_intern(l, &info);
	blklist_commit(l, slot ^ 1);
	apply_all(l, at / 2, at);
	blklist_commit(l, slot);
	apply_all(l, at, at + more);
	blklist_free(l);
	kept = open_spoilt(in, left_by(kept));
	if (kept == NULL)
		return;
	r = blklist_resume(&l, BLOCKS, REMEMBERED, kept, slot, at + 1);
	claim(r == 0 || r == -ESTALE || r == -ENOMEM || r == -EINVAL,
	    "a list is taken up, or refused");
	if (r == 0) {
		look_at_list(l);
		apply_all(l, at, at + 300);
		blklist_commit(l, slot ^ 1);
		look_at_list(l);
		blklist_clear(l);
		look_at_list(l);
		blklist_free(l);
	}
	pmem_free(kept);
}

/* --- the queue --------------------------------------------------------------- */

static void
fill_queue(struct stream_queue *q, unsigned many)
{
	struct rec rec[BATCH] = { 0 };

	for (unsigned i = 0; i < many; i++) {
		stream_queue_put(q, rec, 1 + i % BATCH);
		if (i % 9 == 0)
			stream_queue_lose(q, STREAM_RING_FULL, 1 + i);
	}
}

static void
read_queue(const struct stream_queue *q)
{
	static struct rec rec[RECORDS];
	uint64_t from = 0, next = stream_queue_next(q);

	for (unsigned i = 0; from < next && i < 8 * STREAM_QUEUE_LOSSES; i++) {
		struct stream_range range;
		size_t n = stream_queue_read(q, from, rec, NULL,
		    RECORDS, &range);
		uint64_t sum = n;

		for (unsigned c = 0; c < STREAM_CAUSES; c++)
			sum += range.lost[c];
		claim(n <= RECORDS && range.next - range.from == sum,
		    "what is read adds up");
		claim(range.next > from, "a read goes on");
		from = range.next;
	}
	claim(from >= next, "a queue is read to its end");
}

static void
fuzz_queue(struct input *in, unsigned many)
{
	struct pmem *kept = make();
	struct stream_queue *q;
	unsigned slot = many & 1;
	int r;

	claim(stream_queue_new_persistent(&q, RECORDS, kept) == 0, "one is made");
	fill_queue(q, many);
	stream_queue_commit(q, slot);
	fill_queue(q, take8(in) % 64);
	stream_queue_free(q);
	kept = open_spoilt(in, left_by(kept));
	if (kept == NULL)
		return;
	r = stream_queue_resume(&q, RECORDS, kept, slot);
	claim(r == 0 || r == -EINVAL || r == -ENOMEM,
	    "a queue is taken up, or refused");
	if (r == 0) {
		read_queue(q);
		fill_queue(q, 20);
		stream_queue_commit(q, slot ^ 1);
		read_queue(q);
		stream_queue_free(q);
	}
	pmem_free(kept);
}

/* --- stacks -------------------------------------------------------------------- */

static void
fill_sites(struct stream_sites *s, unsigned from, unsigned n)
{
	for (unsigned k = from; k < from + n; k++) {
		uint64_t frame[8];
		uint32_t no;

		for (unsigned i = 0; i < 8; i++)
			frame[i] = frame_make(0x1000 * (k + 1) + i, k % 3);
		(void)stream_sites_put(s, frame, 1 + k % 8, RING_END_OUTERMOST,
		    &no);
	}
}

static void
fill_modules(struct stream_sites *s)
{
	unsigned no;

	for (unsigned k = 0; k < 3; k++)
		(void)stream_sites_put_module(s, &(struct stream_module){
		    .start = (uint64_t)k << 24, .end = (uint64_t)(k + 1) << 24,
		    .path = "/lib/libx.so" }, &no);
}

static void
look_at_sites(const struct stream_sites *s)
{
	for (uint32_t no = 0; no <= 2048; no++) {
		struct stream_site site;
		volatile uint64_t seen;

		if (!stream_sites_get(s, no, &site))
			continue;
		claim(site.depth >= 1 && site.depth <= RING_STACK_MAX,
		    "a stack has frames");
		for (unsigned i = 0; i < site.depth; i++)
			seen = site.frame[i];
		(void)seen;
	}
	for (unsigned no = 0; no <= stream_sites_modules(s); no++) {
		struct stream_module m;

		if (stream_sites_get_module(s, no, &m))
			claim(strlen(m.path) < PAGE && m.build_id_len <=
			    sizeof(m.build_id), "a module has a name");
	}
}

static void
fuzz_sites(struct input *in, unsigned many)
{
	struct pmem *kept = make();
	struct stream_sites *s;
	int r;

	claim(stream_sites_new_persistent(&s, kept) == 0, "one is made");
	fill_modules(s);
	fill_sites(s, 0, many);
	stream_sites_unref(s);
	kept = open_spoilt(in, left_by(kept));
	if (kept == NULL)
		return;
	r = stream_sites_resume(&s, kept);
	claim(r == 0 || r == -EINVAL || r == -ENOMEM,
	    "stacks are taken up, or refused");
	if (r == 0) {
		look_at_sites(s);
		fill_sites(s, many / 2, 300);
		look_at_sites(s);
		stream_sites_unref(s);
	}
	pmem_free(kept);
}

/* --- a feed ---------------------------------------------------------------------- */

static void
no_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)arg;
	(void)near_ms;
	for (size_t i = 0; i < n; i++)
		claim(rec_op(&r[i]) == REC_ALLOC || rec_op(&r[i]) == REC_FREE ||
		    rec_op(&r[i]) == REC_UNDO || rec_op(&r[i]) == REC_RANGE,
		    "a record that is delivered has an op");
}

static void
no_control(void *arg, const struct rec *r, int64_t near_ms)
{
	(void)arg;
	(void)near_ms;
	claim(rec_op(r) == REC_CONTROL, "a control record is one");
}

static void
no_loss(void *arg, unsigned cause, uint64_t count)
{
	(void)arg;
	claim(cause > 0 && cause < STREAM_CAUSES && count > 0,
	    "a loss has a cause and a count");
}

static const struct stream_sink sink = {
	.records = no_records,
	.control = no_control,
	.lost = no_loss,
};

static void
write_ring(struct ring_area *area, unsigned ring, unsigned n,
    uint32_t ticket[REC_SHARDS], unsigned skip)
{
	struct ring_head *head = &area->rings[ring];
	uint64_t at = atomic_load(&head->head);
	size_t offset;
	uint32_t mask = ring_place(ring, &offset) - 1;
	struct rec *rec = (struct rec *)((char *)area + offset);

	for (unsigned i = 0; i < n; i++) {
		uint64_t addr = 0x7f0000001000 + 16 * (uint64_t)(i % 8);
		uint32_t *t = &ticket[rec_shard(addr)];

		*t += skip != 0 && i % skip == 0;
		rec[at++ & mask] = (struct rec){ {
		    rec_w0(addr, REC_FLAGS(i & 8 ? REC_FREE : REC_ALLOC, 1),
			TYPE_MALLOC),
		    rec_w1(16, 1), rec_w2((*t)++, 0), 0 } };
	}
	atomic_store(&head->head, at);
}

/* Words of the state, as those of a file. */
static void
spoil_state(struct input *in, void *state, size_t size)
{
	unsigned n = take8(in) % PATCHES_MOST;

	for (unsigned i = 0; i < n && in->left > 0; i++) {
		size_t at = (take16(in) + (size_t)take8(in) * 4096) %
		    (size / 8) * 8;
		uint64_t word;

		memcpy(&word, (char *)state + at, sizeof(word));
		word = spoilt(in, word);
		memcpy((char *)state + at, &word, sizeof(word));
	}
}

static void
pass_some(struct stream_feed *feed)
{
	for (int64_t ms = 2000; ms < 4000; ms += 500) {
		int r = stream_feed_pass(feed, ms, UINT64_MAX);

		claim(r >= 0 || r == -EPROTO, "a pass ends");
		if (r < 0)
			return;
	}
	(void)stream_feed_finish(feed, 4000);
}

static void
fuzz_feed(struct input *in, unsigned many)
{
	static uint32_t ticket[REC_SHARDS];
	size_t size = stream_feed_state_size();
	void *state = calloc(1, size);
	struct ring_area *area;
	struct stream_feed *feed = NULL;
	int fds[3], r;

	memset(ticket, 0, sizeof(ticket));
	claim(state != NULL && stream_feed_new_persistent(&feed, fds, false, &sink,
	    NULL) == 0, "a feed is made");
	stream_feed_hold(feed);
	area = mmap(NULL, RING_ALIGN(ring_area_size()), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fds[0], 0);
	claim(area != MAP_FAILED, "there is memory");
	atomic_store(&area->threads, 4);
	atomic_store(&area->next_ring, 3);
	atomic_store(&area->version, RING_VERSION);
	atomic_store(&area->magic, RING_MAGIC);
	write_ring(area, 0, many, ticket, 0);
	write_ring(area, 1, many / 2, ticket, 7);
	(void)stream_feed_pass(feed, 1000, UINT64_MAX);
	write_ring(area, 2, many / 3, ticket, 5);
	(void)stream_feed_pass(feed, 1500, UINT64_MAX);
	if (stream_feed_save(feed, state))
		stream_feed_commit(feed);
	stream_feed_detach(feed);
	spoil_state(in, state, size);
	spoil_file(in, fds[0]);
	r = stream_feed_resume(&feed, (const int[]){ fds[0], fds[2] }, state,
	    &sink, NULL);
	claim(r == 0 || r == -EINVAL || r == -ESTALE || r == -EPROTO ||
	    r == -ENOMEM, "a feed goes on, or is refused");
	if (r == 0) {
		write_ring(area, 0, 30, ticket, 0);
		pass_some(feed);
		stream_feed_free(feed);
	} else {
		(void)stream_feed_abandon((const int[]){ fds[0], fds[2] });
	}
	munmap(area, RING_ALIGN(ring_area_size()));
	for (unsigned i = 0; i < 3; i++)
		close(fds[i]);
	free(state);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static void (*const parts[])(struct input *, unsigned) = {
		fuzz_list, fuzz_queue, fuzz_sites, fuzz_feed,
	};
	struct input in = { p, len };
	unsigned part = take8(&in) % 4, many = take8(&in);

	parts[part](&in, many);
	return 0;
}
