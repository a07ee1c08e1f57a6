#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../host/host.h"
#include "link.h"

/* A request, and the NAME before it that brings the stream's epoch. */
struct asking {
	struct nodes_link *link;
	nodes_recording_cb cb;
	void *arg;
	struct wire_msg msg;
	uint8_t token[WIRE_EPOCH];
};

int
nodes_offer_file(const char *path, const uint8_t token[WIRE_EPOCH], int fd)
{
	struct file_offer offer = { .magic = FILE_OFFER_MAGIC, .version = 1 };
	char hello[SOCKET_PATH + sizeof DAEMON_HELLO];

	_Static_assert(FILE_OFFER_TOKEN == WIRE_EPOCH, "one token");
	memcpy(offer.token, token, sizeof offer.token);
	snprintf(hello, sizeof hello, "%s" DAEMON_HELLO, path);
	return socket_offer_file(hello, &offer, fd);
}

static void
end_asking(struct asking *a, int err, const char *why,
    const struct nodes_recording *r)
{
	if (err != -ECANCELED)
		a->cb(a->arg, err, why, r);
	free(a);
}

static void
safe_text(char out[WIRE_TEXT_MAX + 1], struct wire_text text)
{
	char raw[WIRE_TEXT_MAX + 1];

	link_text(raw, sizeof raw, text);
	base_safe_text(out, WIRE_TEXT_MAX + 1, raw, strlen(raw), false);
}

static void
take_error(struct asking *a, int err, const struct wire_msg *msg)
{
	char why[WIRE_TEXT_MAX + 1] = "the node does not answer";

	if (err == 0 && msg->type == WIRE_ERR) {
		safe_text(why, msg->err.text);
		err = msg->err.code == WIRE_E_AUTH ? -EPERM :
		    msg->err.code == WIRE_E_BUSY ? -EAGAIN :
		    msg->err.code == WIRE_E_FRAME ? -ENOTSUP : -EIO;
	} else if (err == 0) {
		err = -EPROTO;
	}
	end_asking(a, err, why, NULL);
}

static void
on_recorded(void *arg, int err, const struct wire_msg *msg)
{
	const struct wire_recorded *m;
	struct nodes_recording r;

	if (err < 0 || msg->type != WIRE_RECORDED) {
		take_error(arg, err, msg);
		return;
	}
	m = &msg->recorded;
	r = (struct nodes_recording){
		.state = (enum wire_record_state)m->state,
		.events = m->events,
		.bytes = m->bytes,
		.synced = m->synced,
		.lost = m->lost,
		.gaps = m->gaps,
		.images = m->images,
		.live = m->live,
	};
	safe_text(r.why, m->why);
	end_asking(arg, 0, "", &r);
}

static void
on_named(void *arg, int err, const struct wire_msg *msg)
{
	struct asking *a = arg;

	if (err < 0 || msg->type != WIRE_NAMED) {
		take_error(a, err, msg);
		return;
	}
	a->msg.record.index = msg->named.index;
	memcpy(a->msg.record.epoch, msg->named.epoch, WIRE_EPOCH);
	a->msg.record.token = (struct wire_bytes){ .p = a->token,
		.len = sizeof a->token };
	err = link_ask(a->link, &a->msg, a, on_recorded, a);
	if (err < 0)
		end_asking(a, err, "the node does not answer", NULL);
}

static struct asking *
new_asking(struct nodes_link *link, enum wire_record_action action,
    nodes_recording_cb cb, void *arg)
{
	struct asking *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	*a = (struct asking){ .link = link, .cb = cb, .arg = arg };
	a->msg.type = WIRE_RECORD;
	a->msg.record.action = action;
	return a;
}

int
nodes_record(struct nodes_link *link, uint32_t index,
    const uint8_t token[WIRE_EPOCH], uint64_t ring, nodes_recording_cb cb,
    void *arg)
{
	struct asking *a = new_asking(link, WIRE_RECORD_BEGIN, cb, arg);
	struct wire_msg name = { .type = WIRE_NAME, .name = {
		.table = wire_text("DSTRM"), .index = index } };
	int err;

	if (a == NULL)
		return -ENOMEM;
	a->msg.record.ring = ring;
	memcpy(a->token, token, sizeof a->token);
	err = link_ask(link, &name, a, on_named, a);
	if (err < 0)
		free(a);
	return err;
}

int
nodes_recording_ask(struct nodes_link *link, bool own,
    enum wire_record_action action, nodes_recording_cb cb, void *arg)
{
	struct asking *a = new_asking(link, action, cb, arg);
	int err;

	if (a == NULL)
		return -ENOMEM;
	a->msg.record.index = own ? UINT32_MAX : 0;
	err = link_ask(link, &a->msg, a, on_recorded, a);
	if (err < 0)
		free(a);
	return err;
}
