/*
 * saved_list: lists of blocks that `pagek list` has written, read again, and what
 * two of them differ in, by function.
 *
 * Vocabulary
 *	list	the blocks of pagek.blocks/1 or /2, from JSON, NDJSON or CSV.  Only
 *		their address, size, weight, number and function are kept.
 *	same	blocks with one number, address and size.  A target that was
 *		started anew has none of the earlier blocks, and its functions
 *		can be compared all the same.
 *
 * The files are outside data: anyone may have written them.
 *
 * Example
 *	saved_diff_init(&d);
 *	if (saved_list_read(&d, SAVED_OLD, bytes, len, why, cap) == 0 &&
 *	    saved_list_read(&d, SAVED_NEW, ...) == 0 && saved_diff_compare(&d) == 0)
 *		for (i = 0; i < d.n; i++)
 *			printf("%s %+.0f\n", d.row[i].name, saved_net(&d.row[i]));
 *	saved_diff_fini(&d);
 */
#ifndef PAGEK_SAVED_LIST_H
#define PAGEK_SAVED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/hashmap.h"

enum saved_side { SAVED_OLD, SAVED_NEW, SAVED_SIDES };

struct saved_block {
	uint64_t seq, addr, size;
	double weight;			/* blocks that it stands for */
	uint32_t function;		/* place in `functions` */
};

struct saved_list {
	struct saved_block *blk;
	size_t n, cap;
	char time[40];			/* when it was taken, as the file says; "" not known */
	bool incomplete, ended;		/* as the file says */
	char filter[256];		/* that its blocks match; "": none */
	bool total_known;		/* the file says how many it should have: */
	uint64_t total;
	double blocks, bytes;
};

/* The sums of a function.  The hash of its name comes first. */
struct saved_function {
	uint64_t key;
	char *name;			/* safe text, owned; "": not known */
	double blocks[SAVED_SIDES], bytes[SAVED_SIDES];
	double new_blocks, new_bytes, freed_blocks, freed_bytes;
};

struct saved_diff {
	struct saved_list list[SAVED_SIDES];
	struct hashmap functions;	/* of struct saved_function */
	double new_blocks, freed_blocks;
	uint64_t same;			/* blocks of both */
	struct saved_function **row;	/* that have changed, by net, the highest first */
	size_t n;
};

void saved_diff_init(struct saved_diff *);
void saved_diff_fini(struct saved_diff *);

/*
 * Adds the blocks of a document.  -EINVAL, with a sentence in why: pagek list did
 * not write it, or it is damaged.  -ENOMEM.
 */
int saved_list_read(struct saved_diff *, enum saved_side, const char *bytes,
    size_t len, char *why, size_t cap);

/* Fills in the sums and the rows.  -ENOMEM. */
int saved_diff_compare(struct saved_diff *);
double saved_net(const struct saved_function *);

#endif
