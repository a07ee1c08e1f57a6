/*
 * fuzz_saved: any bytes as a list that pagek list has written.  The first byte
 * says where they are cut into two lists.
 *
 * Claims: what is refused has a sentence; the sums of a list that is read are those
 * of its blocks; and the difference of two lists is what one has and the other has
 * not.
 */
#include <errno.h>

#include "../../src/base/base.h"
#include "../../src/pagek/difference/saved_list.h"
#include "fuzz.h"

static bool
read_one(struct saved_diff *d, enum saved_side side, const uint8_t *bytes,
    size_t len)
{
	char why[128] = "";
	int r = saved_list_read(d, side, (const char *)bytes, len, why,
	    sizeof why);

	claim(r == 0 || r == -EINVAL || r == -ENOMEM, "the result is one of three");
	claim(r != -EINVAL || why[0] != '\0', "there is a sentence");
	return r == 0;
}

static double
blocks_of(const struct saved_diff *d, enum saved_side side)
{
	double sum = 0;

	for (size_t i = 0; i < d->list[side].n; i++) {
		claim(d->list[side].blk[i].function < d->functions.n,
		    "a block's function is there");
		sum += d->list[side].blk[i].weight;
	}
	return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct saved_diff d;
	size_t cut;

	if (len == 0)
		return 0;
	cut = bytes[0] == 0 ? len - 1 : (len - 1) * bytes[0] / 256;
	saved_diff_init(&d);
	if (read_one(&d, SAVED_OLD, bytes + 1, cut) &&
	    (bytes[0] == 0 || read_one(&d, SAVED_NEW, bytes + 1 + cut,
		len - 1 - cut))) {
		for (enum saved_side s = SAVED_OLD; s < SAVED_SIDES; s++)
			claim(blocks_of(&d, s) == d.list[s].blocks,
			    "the sum is that of the blocks");
		if (saved_diff_compare(&d) == 0)
			claim(d.same <= d.list[SAVED_OLD].n &&
			    d.same <= d.list[SAVED_NEW].n &&
			    d.n <= d.functions.n, "no more is the same than is there");
	}
	saved_diff_fini(&d);
	return 0;
}
