/*
 * JudyL beside the block list: the library of Debian's that keeps addresses in
 * order and counts them.  Each has a record as the list's, which a stack of
 * free ones gives; it keeps no order of age and no counters, so it does less.
 */
#ifndef BENCH_LIST_JUDY_H
#define BENCH_LIST_JUDY_H

#ifdef HAVE_JUDY

#include <Judy.h>

struct judy_node {
	struct rec rec;
	uint64_t seq;
	uint64_t next;		/* while free */
};

struct judy {
	Pvoid_t array;
	struct judy_node *node;
	uint64_t max, fresh, free;
};

static inline void
judy_open(struct judy *j, uint64_t max)
{
	*j = (struct judy){ .max = max };
	j->node = mmap(NULL, max * sizeof(*j->node), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (j->node == MAP_FAILED)
		abort();
}

static inline void
judy_close(struct judy *j)
{
	Word_t freed;

	JLFA(freed, j->array);
	(void)freed;
	munmap(j->node, j->max * sizeof(*j->node));
}

static inline void
judy_apply(struct judy *j, const struct blklist_batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct rec *r = &b->rec[i];
		Word_t *value, index;
		int done;

		if (rec_op(r) == REC_ALLOC) {
			index = j->free != 0 ? j->free : ++j->fresh;
			if (j->free != 0)
				j->free = j->node[index - 1].next;
			j->node[index - 1].rec = *r;
			j->node[index - 1].seq = b->seq + i;
			JLI(value, j->array, rec_addr(r));
			*value = index;
		} else {
			JLG(value, j->array, rec_addr(r));
			if (value == NULL)
				abort();
			index = *value;
			JLD(done, j->array, rec_addr(r));
			(void)done;
			j->node[index - 1].next = j->free;
			j->free = index;
		}
	}
}

static inline size_t
judy_window(const struct judy *j, uint64_t offs, struct blk *out, size_t n)
{
	Word_t *value, addr;
	size_t i = 0;

	JLBC(value, j->array, offs + 1, addr);
	for (; i < n && value != NULL; i++) {
		const struct judy_node *node = &j->node[*value - 1];

		out[i] = (struct blk){ .addr = addr,
			.size = rec_size(&node->rec), .seq = node->seq,
			.ms = rec_ms(&node->rec),
			.caller = rec_caller(&node->rec) };
		JLN(value, j->array, addr);
	}
	return i;
}

static inline uint64_t
judy_live(const struct judy *j)
{
	Word_t n;

	JLC(n, j->array, 0, -1);
	return n;
}

static inline size_t
judy_memory(const struct judy *j)
{
	Word_t bytes;

	JLMU(bytes, j->array);
	return bytes + j->fresh * sizeof(*j->node);
}

#endif
#endif
