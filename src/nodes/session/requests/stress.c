/*
 * Heap stress of the node's machine.  Its totals go on when the node is started
 * again.
 */
#include <errno.h>
#include <string.h>

#include "../state.h"

static void
fail(struct session_stress *t, int err, const char *why)
{
	t->told.error = err;
	t->told.woken = false;
	base_copy_text(t->error_why, sizeof t->error_why, why);
}

static void
set_text(char *out, size_t cap, struct wire_text t)
{
	base_safe_text(out, cap, t.s, t.len, false);
}

/* Joins sentences as stress_why() has them. */
static void
take_sentences(struct session_stress *t, const struct wire_stressed *m)
{
	char text[NODES_STRESS_WHY];
	size_t len = 0;

	t->why[0] = '\0';
	for (size_t i = 0; i < m->nwhy; i++) {
		set_text(text, sizeof text, m->why[i]);
		base_append(t->why, sizeof t->why, &len, "%s%s",
		    i > 0 ? "; " : "", text);
	}
}

static void
take_sample(struct session_stress *t, const struct wire_stressed *m)
{
	struct stress_sample s;
	int err = stress_get(&s, m->sample.p, m->sample.len);

	if (err == -ENOTSUP)
		fail(t, -EPROTO, "the node counts by a source that this version "
		    "does not know; use a newer pagek");
	else if (err < 0)
		fail(t, -EIO, "the node's counts are not valid");
	if (err < 0)
		return;
	stress_continue(&t->series, &s, m->reader);
	t->told.sample = s;
	t->told.at_ms = m->taken_ms;
	t->told.now_ms = m->now_ms;
	t->told.reader = m->reader;
	t->told.woken = m->woken;
	t->told.no++;
	t->told.error = 0;
	t->error_why[0] = '\0';
	set_text(t->kernel, sizeof t->kernel, m->kernel);
	take_sentences(t, m);
}

void
answered_stress(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_stress *t = &s->stress;

	if (msg->type == WIRE_STRESSED) {
		take_sample(t, &msg->stressed);
	} else if (msg->type == WIRE_ERR && msg->err.code == WIRE_E_FRAME) {
		fail(t, -ENOTSUP, "the node is older and does not read the "
		    "kernel's counts; start it again with this version");
	} else if (msg->type == WIRE_ERR) {
		fail(t, msg->err.code == WIRE_E_AUTH ? -EPERM :
		    msg->err.code == WIRE_E_BUSY ? -EBUSY : -EIO, "");
		set_text(t->error_why, sizeof t->error_why, msg->err.text);
	} else {
		fail(t, -EIO, "the node's answer is not valid");
	}
	s->news(s->arg);
}

void
lost_stress(struct nodes_session *s, int err)
{
	fail(&s->stress, err == -ECANCELED ? -EAGAIN : err,
	    err == -ECANCELED ? "" : "the link to the node is lost");
}

const struct nodes_stress *
nodes_session_stress(struct nodes_session *s)
{
	struct session_stress *t = &s->stress;

	t->told.pending = session_in_flight(s, SESSION_ASK_STRESS) > 0;
	t->told.kernel = t->kernel;
	t->told.why = t->why;
	t->told.error_why = t->error_why;
	return &t->told;
}

int
nodes_session_ask_stress(struct nodes_session *s, uint32_t wait_ms)
{
	struct wire_msg msg = { .type = WIRE_STRESS,
		.stress.wait_ms = wait_ms };

	if (session_in_flight(s, SESSION_ASK_STRESS) > 0)
		return -EBUSY;
	return session_ask(s, SESSION_ASK_STRESS, &msg);
}
