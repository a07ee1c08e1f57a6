/* STRESS: the kernel's counts, as the node has read them for all pages. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../keeper/node.h"
#include "../stress/stress.h"
#include "../replay/replay.h"
#include "answer.h"

/* Until a source is asked again that has not begun. */
#define BEGIN_MS 50

_Static_assert(WIRE_STRESS_SIZE == STRESS_PACKED_MAX, "a sample fits");

/* The sentences of stress_why(). */
static size_t
put_sentences(struct wire_text out[WIRE_STRESS_WHY], const char *why)
{
	size_t n = 0;

	while (*why != '\0' && n < WIRE_STRESS_WHY) {
		const char *end = strstr(why, "; ");
		size_t len = end != NULL ? (size_t)(end - why) : strlen(why);

		out[n] = wire_text(why);
		if (out[n].len > len)
			out[n].len = len;
		n++;
		why += end != NULL ? len + 2 : len;
	}
	return n;
}

static void send_sample(struct conn *, uint32_t id, bool woken);

static void
on_waited(struct node *node, struct node_stress_wait *w)
{
	(void)node;
	send_sample(w->arg, w->id, w->woken);
}

static void
begin_wait(struct conn *c, uint32_t id, uint32_t ms)
{
	c->stress = (struct node_stress_wait){ .arg = c, .id = id,
		.done = on_waited };
	node_stress_begin_wait(c->node, &c->stress, ms);
}

/* Sends the sample of this machine, or of the moment that the node replays. */
static void
send_sample(struct conn *c, uint32_t id, bool woken)
{
	struct wire_msg reply = { .type = WIRE_STRESSED, .id = id };
	uint8_t packed[STRESS_PACKED_MAX];
	struct node_stress_sample k;
	char text[128];
	int r = c->node->replay != NULL ? replay_stress(c->node, &k) :
	    node_stress_sample(c->node, false, &k);

	if (r == -ENODATA) {
		conn_error(c, id, WIRE_E_NAME, "the capture has no samples of "
		    "heap stress: an older node has written it");
		return;
	}
	if (r == -EAGAIN && !c->stress.waits) {
		begin_wait(c, id, BEGIN_MS);
		return;
	}
	if (r < 0) {
		snprintf(text, sizeof text, "the node cannot read the kernel's "
		    "counters now: %s", strerror(-r));
		conn_error(c, id, WIRE_E_BUSY, text);
		return;
	}
	reply.stressed = (struct wire_stressed){
		.kernel = wire_text(k.release),
		.reader = k.reader,
		.sample = { .p = packed, .len = stress_put(packed, &k.sample) },
		.taken_ms = k.ms,
		.now_ms = k.now_ms,
		.woken = woken,
	};
	reply.stressed.nwhy = put_sentences(reply.stressed.why, k.why);
	conn_reply(c, &reply);
}

/* The moment of a replay does not wait. */
void
answer_stress(struct conn *c, const struct wire_msg *m)
{
	bool live = c->node->replay == NULL;
	bool waited = c->stress.waits;

	if (live && !c->sees_kernel) {
		node_stress_view(c->node);
		c->sees_kernel = true;
	}
	node_stress_end_wait(c->node, &c->stress);
	if (waited)
		send_sample(c, c->stress.id, false);
	if (waited || !live || m->stress.wait_ms == 0) {
		send_sample(c, m->id, false);
		return;
	}
	begin_wait(c, m->id, m->stress.wait_ms);
}
