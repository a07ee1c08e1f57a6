/*
 * A stream as its keeper would have it, for nodes that are scripted.
 *
 * Vocabulary
 *	model	one stream: all records ever written, and the block list of
 *		them.
 *
 * Example
 *	model_init(&m, "pid:4711", 4711);
 *	model_alloc(&m, 0x1000, 64);
 *	model_release(&m, 0x1000);
 *	...
 *	model_fini(&m);
 */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <string.h>

#include "../src/blklist/blklist.h"
#include "../src/nodes/nodes.h"
#include "harness.h"

#ifndef MODEL_RECORDS
#define MODEL_RECORDS 8192
#endif

struct model {
	char name[64];
	char comm[16];
	char reason[80];
	uint8_t epoch[WIRE_EPOCH];
	pid_t pid;
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
	uint64_t max;			/* aRecMax, as STATS tells it; 0: it does not say */
	uint64_t sample, armed_ms;
	uint64_t stay;			/* as ROWS tells it */
	uint64_t unseen;		/* blocks that it says it has besides */
	struct blklist *list;		/* of all records */
	struct stream_types types;
	struct wire_region region[WIRE_REGIONS_MAX];
	size_t regions;
	const char *regions_why;	/* NULL: nothing is said */
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

#endif
