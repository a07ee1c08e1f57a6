/*
 * Writes mddout files as a target of any word size and byte order would be
 * dumped, from the table of the target's layout.
 *
 *	struct rig *r = rig_new(4, true, MDD_OPT_THREAD, 0);
 *	rig_thread(r, "main", 0x1000);
 *	rig_block(r, &(struct dump_record){ .address = 0x2000, ... });
 *	rig_end(r);
 *	dump_read(&d, "mddout.0", r->bytes, r->len);
 */
#ifndef TESTS_DUMP_RIG_H
#define TESTS_DUMP_RIG_H

#include <string.h>

#include "../src/base/base.h"
#include "../src/mdd/dump/dump.h"
#include "harness.h"

#define RIG_ROOT UINT64_C(0x20000000)
#define RIG_SHARD UINT64_C(0x20010000)
#define RIG_SLABS UINT64_C(0x21000000)
#define RIG_HISTORY UINT64_C(0x22000000)
#define RIG_THREADS UINT64_C(0x23000000)
#define RIG_MAX 400		/* blocks, past records */
#define RIG_FIRST 4		/* records in the first slab */

struct rig {
	unsigned word;
	bool big;
	unsigned options, levels;
	/* Fields of the root and the shard that are not as they come out. */
	uint32_t seqno, history_records, history_start, history_lost;
	uint32_t run, missed, version, order, busy, threads_told;
	uint64_t allocs, frees;
	bool counted;			/* allocs and frees are given */
	bool same_slab;			/* each slab lies where the first does */
	const char *info, *maps;	/* NULL: no such chunk */

	struct dump_record block[RIG_MAX];
	struct dump_past past[RIG_MAX];
	char thread[16][MDD_NAME + 1];
	uint64_t handle[16];
	size_t blocks, pasts, threads;

	uint8_t bytes[1 << 20];
	size_t len;
	size_t chunk;			/* offset of the open one */
	uint32_t chunks;
	size_t root_at, shard_at, slab_at;	/* offsets of their bytes in the file */
};

static inline struct rig *
rig_new(unsigned word, bool big, unsigned options, unsigned levels)
{
	struct rig *r = calloc(1, sizeof *r);

	ck_assert_ptr_nonnull(r);
	r->word = word;
	r->big = big;
	r->options = options | (levels > 0 ? MDD_OPT_BACKTRACE : 0u);
	r->levels = levels;
	r->history_records = 16;
	r->run = 7;
	r->version = MDD_VERSION;
	r->order = MDD_ORDER;
	return r;
}

static inline struct dump_record *
rig_block(struct rig *r, const struct dump_record *b)
{
	ck_assert_uint_lt(r->blocks, RIG_MAX);
	r->block[r->blocks] = *b;
	return &r->block[r->blocks++];
}

static inline void
rig_past(struct rig *r, const struct dump_record *b,
    const struct dump_moment *free_)
{
	ck_assert_uint_lt(r->pasts, RIG_MAX);
	r->past[r->pasts++] = (struct dump_past){ *b, *free_ };
}

static inline void
rig_thread(struct rig *r, const char *name, uint64_t handle)
{
	snprintf(r->thread[r->threads], sizeof r->thread[0], "%s", name);
	r->handle[r->threads++] = handle;
}

/* --- bytes ---------------------------------------------------------------- */

static inline void
rig_number(struct rig *r, uint64_t v, unsigned n, bool big)
{
	ck_assert_uint_le(r->len + n, sizeof r->bytes);
	for (unsigned i = 0; i < n; i++) {
		unsigned at = big ? n - 1 - i : i;

		r->bytes[r->len++] = at < 8 ? (uint8_t)(v >> 8 * at) : 0;
	}
}

static inline void
rig_u32(struct rig *r, uint32_t v)
{
	rig_number(r, v, 4, r->big);
}

static inline void
rig_word(struct rig *r, uint64_t v)
{
	rig_number(r, v, r->word, r->big);
}

static inline void
rig_put(struct rig *r, const void *p, size_t n)
{
	ck_assert_uint_le(r->len + n, sizeof r->bytes);
	memcpy(r->bytes + r->len, p, n);
	r->len += n;
}

/* The checksum by its definition, not by a table. */
static inline uint32_t
rig_crc(const uint8_t *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= p[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static inline void
rig_chunk(struct rig *r, const char *type)
{
	r->chunk = r->len;
	rig_put(r, type, 4);
	rig_number(r, 0, 12, false);
}

static inline void
rig_chunk_end(struct rig *r)
{
	size_t from = r->chunk + 16, n = r->len - from;

	base_put_le(r->bytes + r->chunk + 4, rig_crc(r->bytes + from, n), 4);
	base_put_le(r->bytes + r->chunk + 8, n, 8);
	r->chunks++;
}

static inline size_t
rig_memory(struct rig *r, uint64_t address)
{
	rig_chunk(r, "MEMO");
	rig_number(r, address, 8, false);
	return r->len;
}

/* Makes all checksums right again, after bytes were changed. */
static inline void
rig_seal(struct rig *r)
{
	for (size_t at = 16; at + 16 <= r->len;) {
		size_t n = (size_t)base_get_le(r->bytes + at + 8, 8);

		if (n > r->len - at - 16)
			return;
		base_put_le(r->bytes + at + 4, rig_crc(r->bytes + at + 16, n),
		    4);
		at += 16 + n;
	}
}

/* --- records ---------------------------------------------------------------- */

static inline void
rig_moment(struct rig *r, const struct dump_moment *m)
{
	if (r->options & MDD_OPT_TIMESTAMP) {
		rig_u32(r, (uint32_t)m->time);
		rig_u32(r, (uint32_t)(m->time >> 32));
	}
	if (r->options & MDD_OPT_THREAD) {
		rig_u32(r, m->thread);
		if (r->word == 8)
			rig_u32(r, 0);
	}
	for (unsigned i = 0; i < r->levels; i++)
		rig_word(r, m->stack[i]);
}

static inline void
rig_record(struct rig *r, const struct dump_record *b, uint32_t link)
{
	rig_word(r, b->address);
	rig_word(r, b->size);
	rig_u32(r, link << MDD_FUNCTION_BITS | b->alloc.function);
	rig_u32(r, b->alloc.seqno);
	if (r->options & MDD_OPT_ACTUAL_SIZE)
		rig_word(r, b->actual);
	rig_moment(r, &b->alloc);
}

static inline void
rig_past_record(struct rig *r, const struct dump_past *p, uint32_t index)
{
	rig_record(r, &p->block, (index + 1) & MDD_LINK_MASK);
	rig_u32(r, p->free.seqno);
	rig_u32(r, p->free.function);
	rig_moment(r, &p->free);
}

/* Bytes of a record, and of a past one. */
static inline unsigned
rig_bytes(const struct rig *r, bool past)
{
	unsigned moment = (r->options & MDD_OPT_TIMESTAMP ? 8 : 0) +
	    (r->options & MDD_OPT_THREAD ? r->word : 0) + r->levels * r->word;
	unsigned n = 2 * r->word + 8 + moment +
	    (r->options & MDD_OPT_ACTUAL_SIZE ? r->word : 0);

	return past ? n + 8 + moment : n;
}

/* --- tables ------------------------------------------------------------------- */

struct rig_values {
	struct {
#define ROOT_U32(name) uint64_t name;
#define ROOT_WORD(name) uint64_t name;
#define ROOT_WORDS(name, n) uint64_t name[n];
#include "../src/mdd/target/layout.def"
	} root;
	struct {
#define SHARD_U32(name) uint64_t name;
#define SHARD_WORD(name) uint64_t name;
#define SHARD_WORDS(name, n) uint64_t name[n];
#include "../src/mdd/target/layout.def"
	} shard;
};

static inline void
rig_root(struct rig *r, const struct rig_values *v)
{
	rig_put(r, MDD_MAGIC, 8);
#define ROOT_U32(name) rig_u32(r, (uint32_t)v->root.name);
#define ROOT_WORD(name) rig_word(r, v->root.name);
#define ROOT_WORDS(name, n) \
	for (unsigned i = 0; i < (n); i++) \
		rig_word(r, v->root.name[i]);
#include "../src/mdd/target/layout.def"
}

static inline void
rig_shard(struct rig *r, const struct rig_values *v)
{
#define SHARD_U32(name) rig_u32(r, (uint32_t)v->shard.name);
#define SHARD_WORD(name) rig_word(r, v->shard.name);
#define SHARD_WORDS(name, n) \
	for (unsigned i = 0; i < (n); i++) \
		rig_word(r, v->shard.name[i]);
#include "../src/mdd/target/layout.def"
}

static inline void
rig_one_thread(struct rig *r, size_t no)
{
	uint32_t number = (uint32_t)no + 100, ended = 0;
	uint64_t handle = r->handle[no];
	const char *name = r->thread[no];

#define THREAD_U32(field) rig_u32(r, field);
#define THREAD_WORD(field) rig_word(r, field);
#define THREAD_TEXT(field, n) rig_put(r, field, n);
#include "../src/mdd/target/layout.def"
}

static inline unsigned
rig_struct_bytes(struct rig *r, void (*put)(struct rig *, size_t))
{
	size_t before = r->len;

	put(r, 0);
	before = r->len - before;
	r->len -= before;
	return (unsigned)before;
}

static inline void
rig_empty_shard(struct rig *r, size_t no)
{
	static const struct rig_values none;

	(void)no;
	rig_shard(r, &none);
}

static inline void
rig_put_slabs(struct rig *r, struct rig_values *v)
{
	uint64_t at = RIG_SLABS;
	size_t done = 0, n;

	for (unsigned k = 0; done < r->blocks; k++, done += n) {
		n = (size_t)RIG_FIRST << k;
		v->shard.slab[k] = r->same_slab ? RIG_SLABS : at;
		at = v->shard.slab[k];
		n = n < r->blocks - done ? n : r->blocks - done;
		if (!r->same_slab || k == 0) {
			size_t from = rig_memory(r, at);

			r->slab_at = k == 0 ? from : r->slab_at;
			for (size_t i = 0; i < n; i++)
				rig_record(r, &r->block[done + i], 0);
			rig_chunk_end(r);
		}
		at += n * rig_bytes(r, false) + 128;
	}
}

static inline void
rig_put_history(struct rig *r)
{
	static const struct dump_past none;
	uint32_t records = r->history_records;

	rig_memory(r, RIG_HISTORY);
	for (uint32_t slot = 0; slot < records; slot++) {
		const struct dump_past *p = &none;
		uint32_t index = 0;

		for (size_t i = 0; i < r->pasts; i++)
			if ((r->history_start + i) % records == slot) {
				p = &r->past[i];
				index = r->history_start + (uint32_t)i;
			}
		rig_past_record(r, p, index);
	}
	rig_chunk_end(r);
}

static inline void
rig_put_threads(struct rig *r, struct rig_values *v)
{
	uint64_t at = RIG_THREADS;
	size_t done = 0, n;

	for (unsigned k = 0; done < r->threads; k++, done += n) {
		n = (size_t)RIG_FIRST << k;
		n = n < r->threads - done ? n : r->threads - done;
		v->root.thread_slab[k] = at;
		rig_memory(r, at);
		for (size_t i = 0; i < n; i++)
			rig_one_thread(r, done + i);
		rig_chunk_end(r);
		at += 4096;
	}
}

static inline void
rig_text(struct rig *r, const char *type, const char *text)
{
	if (text == NULL)
		return;
	rig_chunk(r, type);
	rig_put(r, text, strlen(text));
	rig_chunk_end(r);
}

/* Memory of the target's besides its tables; before rig_end(). */
static inline void
rig_begin(struct rig *r)
{
	rig_put(r, "\177MDDOUT\n\1\0\0\0\0\0\0\0", 16);
	rig_text(r, "INFO", r->info);
	rig_text(r, "MAPS", r->maps);
}

static inline void
rig_end(struct rig *r)
{
	struct rig_values v = { .root = { .order = r->order,
		.version = r->version, .word_bytes = r->word, .run = r->run,
		.process = 42, .options = r->options, .levels = r->levels,
		.tick_hz = 100, .shards = 1, .slabs = MDD_SLABS,
		.slab_first = RIG_FIRST, .history_records = r->history_records,
		.seqno = r->seqno, .missed = r->missed,
		.history_start = r->history_start,
		.history_next = r->history_start + (uint32_t)r->pasts +
		    r->history_lost,
		.threads = r->threads_told != 0 ? r->threads_told :
		    (uint32_t)r->threads, .static_bytes = 5000,
		.shard = RIG_SHARD, .history = RIG_HISTORY } };

	if (r->len == 0)
		rig_begin(r);
	v.root.record_bytes = rig_bytes(r, false);
	v.root.event_bytes = rig_bytes(r, true);
	v.root.shard_bytes = rig_struct_bytes(r, rig_empty_shard);
	v.root.thread_bytes = rig_struct_bytes(r, rig_one_thread);
	v.shard.used = r->blocks;
	for (size_t i = 0; i < r->blocks; i++)
		v.shard.current += r->block[i].address != 0;
	v.shard.busy = r->busy;
	v.shard.allocs = r->counted ? r->allocs : r->blocks + r->pasts;
	v.shard.frees = r->counted ? r->frees : r->pasts;
	v.shard.dynamic_bytes = 3000;
	rig_put_slabs(r, &v);
	rig_put_threads(r, &v);
	if (r->options & MDD_OPT_HISTORY)
		rig_put_history(r);
	r->shard_at = rig_memory(r, RIG_SHARD);
	rig_shard(r, &v);
	rig_chunk_end(r);
	r->root_at = rig_memory(r, RIG_ROOT);
	rig_root(r, &v);
	rig_chunk_end(r);
	rig_chunk(r, "ROOT");
	rig_number(r, RIG_ROOT, 8, false);
	rig_chunk_end(r);
	rig_chunk(r, "ENDF");
	rig_number(r, r->chunks, 4, false);
	rig_chunk_end(r);
}

#endif
