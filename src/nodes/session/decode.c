/*
 * What replies are made of: records, blocks and their requesters, from the
 * bytes of the wire.  That the bytes are as many as the reply says has been
 * seen to before.
 */
#include <string.h>

#include "state.h"

unsigned
decode_record_size(const struct nodes_session *s)
{
	return s->look.classic ? REC_CLASSIC_SIZE : REC_WIDE_SIZE;
}

struct blklist_info
decode_info(const struct wire_info *in)
{
	struct blklist_info info = { .node = in->node };
	size_t len = in->name.len < sizeof info.name - 1 ? in->name.len :
	    sizeof info.name - 1;

	if (len > 0)
		memcpy(info.name, in->name.s, len);
	return info;
}

int
decode_block(const struct nodes_session *s, const uint8_t *p, struct blk *blk)
{
	unsigned size = decode_record_size(s);
	struct rec r;
	int64_t ms;
	int err;

	if (s->look.classic) {
		err = stream_classic_decode(p, &r, &ms);
		if (err < 0)
			return err;
	} else {
		stream_wide_decode(p, 1, &r);
	}
	*blk = (struct blk){
		.addr = rec_addr(&r),
		.size = rec_size(&r),
		.seq = base_get_le(p + size, 8),
		.ms = (int64_t)base_get_le(p + size + 8, 8),
		.caller = rec_caller(&r),
		.ticket = rec_ticket(&r),
		.thread = (uint16_t)rec_thread(&r),
		.overhead = (uint16_t)rec_overhead(&r),
		.flags = (uint8_t)rec_flags(&r),
		.type = (uint8_t)rec_type(&r),
	};
	return 0;
}

size_t
decode_batch(struct nodes_session *s, const struct wire_data *data,
    struct decoded *b)
{
	unsigned size = decode_record_size(s);
	bool merging = s->intake.merge.n > 0;
	size_t k = 0, bad = 0;
	uint64_t seq;
	int64_t ms = 0;
	struct rec r;
	uint32_t i;

	b->n = b->ninfo = 0;
	for (i = 0; i < data->count; i++) {
		seq = data->first + (data->offsets.len != 0 ?
		    base_get_le(data->offsets.p + 4 * (size_t)i, 4) : i);
		if (!s->look.classic)
			stream_wide_decode(data->records.p + (size_t)i * size,
			    1, &r);
		else if (stream_classic_decode(data->records.p +
		    (size_t)i * size, &r, &ms) < 0) {
			bad++;
			continue;
		}
		if (merging && !merge_admit(&s->intake.merge, &r, seq))
			continue;
		while (k < data->ninfo && data->info[k].at < i)
			k++;
		if (k < data->ninfo && data->info[k].at == i)
			b->info[b->ninfo++] = (struct blklist_batch_info){
				.at = b->n,
				.info = decode_info(&data->info[k]),
			};
		b->rec[b->n] = r;
		b->seq[b->n] = seq;
		b->ms[b->n++] = ms;
	}
	return bad;
}
