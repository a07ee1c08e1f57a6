/*
 * counted keeper RECORDS | list RECORDS LIVE: the keeper's and the list's work
 * on so many records and nothing of the clock, for callgrind to count its
 * instructions (tests/instructions): inside keeper_pass() and blklist_apply(),
 * so that making the records is left out.
 *
 *	keeper	64 live blocks, one of them freed and allocated again each time;
 *		by way of a real ring, feed, order, queue and list
 *	list	LIVE blocks; four of five records are of 256 young ones, the
 *		others of any; pairs are not looked for
 *
 * Every run makes the same records at the same addresses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../src/alloclog/produce/produce.h"
#include "../src/nodes/keeper/keeper.h"
#include "../src/nodes/keeper/node.h"
#include "../src/nodes/pageknode/pageknode.h"

#define BATCH 4096
#define FEW 64
#define SPARE 256
#define YOUNG 256

static uint32_t seed = 1;

static uint32_t
draw(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static uint64_t
address(unsigned i)
{
	return UINT64_C(0x555555560000) + (uint64_t)i * 112;
}

/* --- keeper --------------------------------------------------------------- */

static int
count_keeper(uint64_t records)
{
	static _Alignas(64) struct producer p;
	static struct node node;
	static uv_loop_t loop;
	struct node_opts none = { .fd = -1 };
	struct keeper_opts opts = { .with_feed = true, .max = 1 << 16 };
	struct keeper *k;
	void *area, *shared;
	int fds[2];

	if (uv_loop_init(&loop) != 0 || node_init(&node, &loop, &none) != 0 ||
	    keeper_new(&k, &node, &opts, fds) != 0)
		return 1;
	area = mmap(NULL, RING_ALIGN(ring_area_size()), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fds[0], 0);
	shared = mmap(NULL, RING_ALIGN(sizeof(struct keeper_area)), PROT_READ,
	    MAP_SHARED, fds[1], 0);
	if (area == MAP_FAILED || shared == MAP_FAILED)
		return 1;
	produce_attach(area, shared, 1);
	produce_open(&p, 1);
	for (unsigned i = 0; i < FEW; i++)
		produce_alloc(&p, address(i), 100, 104, TYPE_MALLOC, 0, 0x1234);
	for (uint64_t n = 0; n < records; n += BATCH) {
		for (unsigned i = 0; i < BATCH / 2; i++) {
			uint64_t addr = address(draw() % FEW);

			produce_free(&p, addr, TYPE_FREE, 0, 0x1234);
			produce_alloc(&p, addr, 100, 104, TYPE_MALLOC, 0,
			    0x1234);
		}
		keeper_pass(k, (int64_t)(n / BATCH));
	}
	if (keeper_lost(k) != 0 || keeper_counts(k)->records < records) {
		fprintf(stderr, "counted: records were lost\n");
		return 1;
	}
	return 0;
}

/* --- list ----------------------------------------------------------------- */

struct heap {
	uint32_t *slot;			/* where the live blocks are */
	uint32_t spare[SPARE];		/* where the next ones may be */
	uint32_t live;
	uint32_t ticket;
};

static struct rec
record(struct heap *h, unsigned op, uint32_t slot)
{
	return (struct rec){ .w = {
		rec_w0(address(slot), REC_FLAGS(op, 0),
		    op == REC_ALLOC ? TYPE_MALLOC : TYPE_FREE),
		rec_w1(100, 1), rec_w2(h->ticket++, 1), rec_w3(0x1234, 0) } };
}

static void
replace(struct heap *h, struct rec *r)
{
	uint32_t any = draw();
	uint32_t *block = &h->slot[any % 5 == 0 ? draw() % h->live :
	    draw() % (h->live < YOUNG ? h->live : YOUNG)];
	uint32_t *spare = &h->spare[draw() % SPARE], was = *block;

	r[0] = record(h, REC_FREE, was);
	r[1] = record(h, REC_ALLOC, *spare);
	*block = *spare;
	*spare = was;
}

static void
apply(struct blklist *list, const struct rec *r, size_t n, uint64_t seq)
{
	blklist_apply(list, &(struct blklist_batch){ .rec = r, .n = n,
		.seq = seq, .near_ms = 1 });
}

static int
count_list(uint64_t records, uint32_t live)
{
	static struct rec r[BATCH];
	struct heap h = { .live = live };
	struct blklist *list;
	const struct blklist_counts *c;
	uint64_t seq = 0;

	h.slot = calloc(live, sizeof(*h.slot));
	if (h.slot == NULL || blklist_new(&list, BLKLIST_INDEXED, 1 << 20) != 0)
		return 1;
	for (uint32_t i = 0; i < live; i++) {
		h.slot[i] = i;
		r[0] = record(&h, REC_ALLOC, i);
		apply(list, r, 1, seq++);
	}
	for (uint32_t i = 0; i < SPARE; i++)
		h.spare[i] = live + i;
	for (uint64_t n = 0; n < records; n += BATCH, seq += BATCH) {
		for (unsigned i = 0; i < BATCH; i += 2)
			replace(&h, &r[i]);
		apply(list, r, BATCH, seq);
	}
	c = blklist_counts(list);
	if (c->aRecActive != live || c->unknown_free != 0 ||
	    c->duplicate != 0) {
		fprintf(stderr, "counted: the list is wrong\n");
		return 1;
	}
	free(h.slot);
	blklist_free(list);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "keeper") == 0)
		return count_keeper(strtoull(argv[2], NULL, 10));
	if (argc == 4 && strcmp(argv[1], "list") == 0 && atoi(argv[3]) > 0)
		return count_list(strtoull(argv[2], NULL, 10),
		    (uint32_t)atoi(argv[3]));
	fprintf(stderr, "usage: counted keeper RECORDS | list RECORDS LIVE\n");
	return 2;
}
