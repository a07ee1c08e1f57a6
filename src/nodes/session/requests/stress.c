/*
 * Heap stress of the node's machine, whose totals continue after a restart of the node,
 * and tables of the kernel's own memory.
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

static void
fail_memory(struct session_kernel_memory *k, int err, const char *why)
{
	k->told.error = err;
	base_copy_text(k->why, sizeof k->why, why);
}

static void
take_memory(struct session_kernel_memory *k, const struct wire_kernel_rows *m)
{
	struct stress_memory memory;
	int err = stress_parse_memory(&memory, m->table, (const char *)m->lines.p,
	    m->lines.len);

	if (err < 0) {
		fail_memory(k, err == -ENOMEM ? err : -EIO, err == -ENOMEM ? "" :
		    "the node's table is not valid");
		return;
	}
	if (k->told.ready)
		stress_free_memory(&k->memory);
	if (m->rows > memory.n)
		memory.rows = m->rows;
	memory.bytes = m->bytes;
	memory.bad = m->bad > UINT64_MAX - memory.bad ? UINT64_MAX :
	    memory.bad + m->bad;
	k->memory = memory;
	k->told.ready = true;
	fail_memory(k, 0, "");
}

void
answered_kernel_memory(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_kernel_memory *k = &s->stress.memory;

	if (msg->type == WIRE_KERNEL_ROWS) {
		take_memory(k, &msg->kernel_rows);
	} else if (msg->type == WIRE_ERR && msg->err.code == WIRE_E_FRAME) {
		fail_memory(k, -ENOTSUP, "the node is older and does not read the "
		    "kernel's own memory; start it again with this version");
	} else if (msg->type == WIRE_ERR) {
		fail_memory(k, msg->err.code == WIRE_E_AUTH ? -EPERM :
		    msg->err.code == WIRE_E_BUSY ? -EBUSY : -EIO, "");
		set_text(k->why, sizeof k->why, msg->err.text);
	} else {
		fail_memory(k, -EIO, "the node's answer is not valid");
	}
	s->news(s->arg);
}

void
lost_kernel_memory(struct nodes_session *s, int err)
{
	fail_memory(&s->stress.memory, err == -ECANCELED ? -EAGAIN : err,
	    err == -ECANCELED ? "" : "the link to the node is lost");
}

const struct nodes_kernel_memory *
nodes_session_kernel_memory(struct nodes_session *s)
{
	struct session_kernel_memory *k = &s->stress.memory;

	k->told.pending = session_in_flight(s, SESSION_ASK_KERNEL_MEMORY) > 0;
	k->told.error_why = k->why;
	return &k->told;
}

int
nodes_session_ask_kernel_memory(struct nodes_session *s, enum stress_table table)
{
	struct wire_msg msg = { .type = WIRE_KERNEL_MEMORY,
		.kernel_memory.table = table };

	if (session_in_flight(s, SESSION_ASK_KERNEL_MEMORY) > 0)
		return -EBUSY;
	s->stress.memory.told.table = table;
	s->stress.memory.told.error = -EAGAIN;
	return session_ask(s, SESSION_ASK_KERNEL_MEMORY, &msg);
}

bool
nodes_session_take_kernel_memory(struct nodes_session *s, struct stress_memory *out)
{
	struct session_kernel_memory *k = &s->stress.memory;

	if (!k->told.ready)
		return false;
	*out = k->memory;
	k->memory = (struct stress_memory){ .table = out->table };
	k->told.ready = false;
	return true;
}
