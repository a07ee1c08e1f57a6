/*
 * The digest: circular arrays of entries and of batches, by sequence number.
 * A batch is dropped before its entries are overwritten.
 */
#include <errno.h>

#include "../base/base.h"
#include "stream.h"

#define RECORDS STREAM_DIGEST_RECORDS
#define BATCHES STREAM_DIGEST_BATCHES

struct stream_digest {
	uint64_t entries;	/* ever put */
	uint64_t batches;	/* ever put */
	uint64_t first;		/* oldest batch still held */
	struct stream_digest_batch batch[BATCHES];
	struct stream_digest_entry entry[RECORDS];
};

_Static_assert((RECORDS & (RECORDS - 1)) == 0 && (BATCHES & (BATCHES - 1)) == 0,
    "both are addressed by masks");

int
stream_digest_new(struct stream_digest **out)
{
	/* Reserved whole, taken page by page as it fills. */
	struct stream_digest *d = zeros_map(sizeof(*d), ZEROS_SMALL);

	if (d == NULL)
		return -ENOMEM;
	*out = d;
	return 0;
}

void
stream_digest_free(struct stream_digest *d)
{
	zeros_unmap(d, sizeof(*d), ZEROS_SMALL);
}

static const struct stream_digest_batch *
batch_at(const struct stream_digest *d, uint64_t i)
{
	return &d->batch[i & (BATCHES - 1)];
}

static size_t
count_kept(const uint64_t *left_out, size_t n)
{
	size_t left = n;

	for (size_t i = 0; i < (n + 63) / 64; i++)
		left -= (size_t)__builtin_popcountll(left_out[i]);
	return left;
}

static void
make_room(struct stream_digest *d, size_t n)
{
	while (d->first < d->batches &&
	    (d->batches - d->first == BATCHES ||
	    d->entries + n - batch_at(d, d->first)->entry > RECORDS))
		d->first++;
}

void
stream_digest_put(struct stream_digest *d, uint64_t seq, const struct rec *recs,
    size_t n, const uint64_t *left_out,
    uint32_t (*tag)(const void *arg, uint64_t seq), const void *arg)
{
	size_t left = count_kept(left_out, n);

	if (n == 0 || left > STREAM_DIGEST_MOST ||
	    (left > n / 2 && left > STREAM_DIGEST_FEW))
		return;
	make_room(d, left);
	d->batch[d->batches++ & (BATCHES - 1)] = (struct stream_digest_batch){
		.seq = seq,
		.end = seq + n,
		.entry = d->entries,
		.n = (unsigned)left,
	};
	for (size_t word = 0; word < (n + 63) / 64; word++) {
		uint64_t keep = ~left_out[word];

		if (n - word * 64 < 64)
			keep &= (UINT64_C(1) << n % 64) - 1;
		for (; keep != 0; keep &= keep - 1) {
			size_t i = word * 64 +
			    (size_t)__builtin_ctzll(keep);

			d->entry[d->entries++ & (RECORDS - 1)] =
			    (struct stream_digest_entry){
				.rec = recs[i],
				.seq = seq + i,
				.tag = tag != NULL ? tag(arg, seq + i) : 0,
			};
		}
	}
}

bool
stream_digest_find(const struct stream_digest *d, uint64_t from,
    struct stream_digest_batch *out)
{
	uint64_t low = d->first, high = d->batches;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (batch_at(d, mid)->seq < from)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == d->batches)
		return false;
	*out = *batch_at(d, low);
	return true;
}

const struct stream_digest_entry *
stream_digest_at(const struct stream_digest *d,
    const struct stream_digest_batch *b, unsigned i)
{
	return &d->entry[(b->entry + i) & (RECORDS - 1)];
}
