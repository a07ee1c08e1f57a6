/* COUNT, TOUCHES and MEMORY: references to pages, of which none are counted here. */
#include "../keeper/keeper.h"
#include "../keeper/node.h"
#include "answer.h"

void
answer_count(struct conn *c, const struct wire_msg *q)
{
	struct wire_msg reply = { .type = WIRE_COUNTED, .id = q->id,
		.counted = { .index = q->count.index,
		    .why = wire_text("nothing of this target was counted") } };
	struct keeper *k;

	k = answer_keeper(c, q, q->count.index, q->count.epoch, false);
	if (k == NULL || !answer_may_control(c, q, k))
		return;
	if (q->count.action == WIRE_COUNT_OFF)
		conn_reply(c, &reply);
	else
		conn_error(c, q->id, WIRE_E_NAME,
		    "this node cannot count or move pages");
}

void
answer_touches(struct conn *c, const struct wire_msg *q)
{
	struct wire_msg reply = { .type = WIRE_TOUCHED, .id = q->id,
		.touched.index = q->touches.index };
	struct keeper *k;

	k = answer_keeper(c, q, q->touches.index, q->touches.epoch, false);
	if (k == NULL)
		return;
	reply.touched.now_ms = keeper_now_ms(k);
	conn_reply(c, &reply);
}

void
answer_memory(struct conn *c, const struct wire_msg *q)
{
	conn_error(c, q->id, WIRE_E_INTERNAL,
	    "this node does not know the memory of its machine");
}
