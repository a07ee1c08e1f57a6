/*
 * layout: where the fields of a target's tables lie, by its word size, and how
 * large a table may be.
 */
#ifndef MDD_DUMP_LAYOUT_H
#define MDD_DUMP_LAYOUT_H

#include "../target/target.h"

#define LAYOUT_ROOT_MAX 1024	/* bytes of a root, and of a shard, at most */
#define LAYOUT_SHARDS_MAX 65536
#define LAYOUT_FIRST_MAX (1u << 24)	/* records of a first slab */
#define LAYOUT_HEAD_BYTES 4096	/* of each mapped ELF file, that a dump has */

struct layout {
	struct {
#define ROOT_U32(name) unsigned name;
#define ROOT_WORD(name) unsigned name;
#define ROOT_WORDS(name, n) unsigned name;
#include "../target/layout.def"
		unsigned bytes;
	} root;
	struct {
#define SHARD_U32(name) unsigned name;
#define SHARD_WORD(name) unsigned name;
#define SHARD_WORDS(name, n) unsigned name;
#include "../target/layout.def"
		unsigned bytes;
	} shard;
	struct {
#define THREAD_U32(name) unsigned name;
#define THREAD_WORD(name) unsigned name;
#define THREAD_TEXT(name, n) unsigned name;
#include "../target/layout.def"
		unsigned bytes;
	} thread;
};

static inline void
lay_out(struct layout *l, unsigned word)
{
	unsigned at = sizeof MDD_MAGIC - 1;

#define ROOT_U32(name) l->root.name = at; at += 4;
#define ROOT_WORD(name) l->root.name = at; at += word;
#define ROOT_WORDS(name, n) l->root.name = at; at += word * (n);
#include "../target/layout.def"
	l->root.bytes = at;
	at = 0;
#define SHARD_U32(name) l->shard.name = at; at += 4;
#define SHARD_WORD(name) l->shard.name = at; at += word;
#define SHARD_WORDS(name, n) l->shard.name = at; at += word * (n);
#include "../target/layout.def"
	l->shard.bytes = at;
	at = 0;
#define THREAD_U32(name) l->thread.name = at; at += 4;
#define THREAD_WORD(name) l->thread.name = at; at += word;
#define THREAD_TEXT(name, n) l->thread.name = at; at += (n);
#include "../target/layout.def"
	l->thread.bytes = at;
}

/* Bytes of what both an allocation and a free have. */
static inline unsigned
layout_moment_bytes(unsigned options, unsigned levels, unsigned word)
{
	return (options & MDD_OPT_TIMESTAMP ? 8 : 0) +
	    (options & MDD_OPT_THREAD ? word : 0) + levels * word;
}

/* Bytes of an allocation; a history record has 8 and a moment more. */
static inline unsigned
layout_record_bytes(unsigned options, unsigned levels, unsigned word)
{
	return 2 * word + 8 + layout_moment_bytes(options, levels, word) +
	    (options & MDD_OPT_ACTUAL_SIZE ? word : 0);
}

#endif
