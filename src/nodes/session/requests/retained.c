/*
 * Earlier records that the node still has: its queue goes back beyond the
 * session's snapshot.  They are read beside the session's own READs, answer by
 * answer, and no pair is left out.
 */
#include <errno.h>
#include <string.h>

#include "../state.h"

static void
end_retained(struct nodes_session *s, int error)
{
	s->retained.told.pending = false;
	s->retained.told.error = error;
	s->news(s->arg);
}

/* A request that could not be sent is sent with a later cycle. */
static void
ask_retained(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_READ,
		.read = {
			.index = s->stream.index,
			.from = s->retained.cursor,
			.max = WIRE_READ_MAX,
			.whole = true,
		},
	};

	memcpy(msg.read.epoch, s->stream.epoch, WIRE_EPOCH);
	(void)session_ask(s, SESSION_ASK_RETAINED, &msg);
}

/* Numbers below the oldest one are missing, too. */
static uint64_t
count_missing(const struct session_retained *r, const struct wire_data *data)
{
	uint64_t n = r->cursor == 0 && data->first > 0 ? data->first - 1 : 0;

	for (unsigned cause = 0; cause < BASE_NELEM(data->lost); cause++)
		n += data->lost[cause].count;
	return n;
}

static int
take_records(struct nodes_session *s, const struct wire_data *data)
{
	struct session_retained *r = &s->retained;
	struct rec rec;
	uint64_t seq;
	int64_t ms;
	int e = 0;

	for (uint32_t i = 0; e == 0 && i < data->count; i++) {
		if (intake_decode_record(s, data, i, &rec, &seq, &ms) < 0)
			r->told.missing++;
		else if (seq <= r->upto)
			e = r->take(r->arg, &rec, seq, ms);
	}
	return e;
}

void
answered_retained(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_retained *r = &s->retained;
	const struct wire_data *data = &msg->data;
	int e;

	if (!r->told.pending)
		return;
	if (msg->type != WIRE_DATA || !intake_adds_up(s, data) ||
	    (r->cursor != 0 && data->first != r->cursor)) {
		end_retained(s, msg->type == WIRE_ERR &&
		    msg->err.code == WIRE_E_EPOCH ? -ESTALE : -EIO);
		return;
	}
	r->told.missing += count_missing(r, data);
	e = take_records(s, data);
	r->cursor = data->next;
	if (e < 0 || data->next > r->upto || data->next == data->first)
		end_retained(s, e);
	else
		ask_retained(s);
}

void
lost_retained(struct nodes_session *s, int err)
{
	end_retained(s, err);
}

void
retained_cycle(struct nodes_session *s)
{
	if (!s->retained.told.pending ||
	    session_in_flight(s, SESSION_ASK_RETAINED) > 0)
		return;
	if (s->look.stream_no != s->retained.stream_no)
		end_retained(s, -ESTALE);
	else if (s->reconnect.known)
		ask_retained(s);
}

int
nodes_session_retained(struct nodes_session *s, uint64_t upto,
    nodes_record_cb take, void *arg)
{
	if (s->step < SESSION_LOAD)
		return -ENOENT;
	if (s->retained.told.pending)
		return -EBUSY;
	s->retained = (struct session_retained){ .told.pending = true,
		.take = take, .arg = arg, .upto = upto,
		.stream_no = s->look.stream_no };
	ask_retained(s);
	return 0;
}

const struct nodes_retained *
nodes_session_retained_state(const struct nodes_session *s)
{
	return &s->retained.told;
}
