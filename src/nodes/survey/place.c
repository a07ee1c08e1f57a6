#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../base/base.h"
#include "../link/link.h"
#include "place.h"

#define NODE_INDEX UINT32_MAX

static bool
is_down(enum nodes_how how)
{
	return how >= NODES_HOW_NO_NODE;
}

/* While a connection is made: the former state, until that is late. */
static enum nodes_how
how_connecting(const struct survey_signs *s, enum nodes_how was)
{
	int64_t late = s->far ? SURVEY_LOGIN_MS : SURVEY_SLOW_MS;

	if (is_down(was))
		return was;
	if (s->waiting_ms >= late + SURVEY_SILENT_MS - SURVEY_SLOW_MS)
		return NODES_HOW_UNREACHABLE;
	if (s->waiting_ms >= late)
		return NODES_HOW_SLOW;
	return was == NODES_HOW_WAITING ? NODES_HOW_ASKED : was;
}

enum nodes_how
survey_how(const struct survey_signs *s, enum nodes_how was)
{
	if (!s->linked)
		return was;
	if (!s->welcomed)
		return how_connecting(s, was);
	if (s->refused)
		return NODES_HOW_DENIED;
	if (s->waiting_ms >= SURVEY_SILENT_MS)
		return NODES_HOW_UNREACHABLE;
	if (s->waiting_ms >= SURVEY_SLOW_MS || s->trip_ms >= SURVEY_SLOW_MS)
		return NODES_HOW_SLOW;
	return NODES_HOW_UP;
}

/* The time counts from when it went down, for whatever reason. */
static void
set_how(struct survey_place *p, enum nodes_how how, struct mono since)
{
	if (how != p->row.how && !(is_down(how) && is_down(p->row.how)))
		p->how_since = since;
	p->row.how = how;
}

static void
signs_of(const struct survey_place *p, struct survey_signs *s)
{
	*s = (struct survey_signs){
		.far = survey_is_far(p),
		.linked = p->link != NULL,
		.welcomed = p->welcomed,
		.refused = p->refused,
		.waiting_ms = !p->welcomed ? mono_ms_since(p->opened) :
		    p->stat_asked ? mono_ms_since(p->stat_at) : -1,
		.trip_ms = p->trip_us < 0 ? -1 : p->trip_us / 1000,
	};
}

static void
judge(struct survey_place *p)
{
	struct mono since = mono_now();
	struct survey_signs s;
	enum nodes_how how;

	signs_of(p, &s);
	how = survey_how(&s, p->row.how);
	if (how == NODES_HOW_UNREACHABLE && !is_down(p->row.how)) {
		since = p->welcomed ? p->stat_at : p->opened;
		snprintf(p->reason, sizeof p->reason, "it does not answer");
	} else if (!is_down(how)) {
		p->reason[0] = '\0';
	}
	set_how(p, how, since);
}

static void
wait_for_next_try(struct survey_place *p)
{
	bool far = survey_is_far(p);
	int64_t ms = far ? SURVEY_FAR_FIRST_MS : SURVEY_NEAR_FIRST_MS;
	int64_t most = far ? SURVEY_FAR_MOST_MS : SURVEY_NEAR_MOST_MS;

	for (unsigned i = 0; i < p->tries && ms < most; i++)
		ms *= 2;
	p->tries++;
	p->due = mono_ms(mono_now()) + (ms < most ? ms : most);
}

static void
forget_link(struct survey_place *p)
{
	nodes_link_close(p->link);
	p->link = NULL;
	p->welcomed = p->refused = false;
	p->stat_asked = p->targets_asked = false;
}

static void
go_down(struct survey_place *p, enum nodes_how how)
{
	set_how(p, how, mono_now());
	p->row.counted = p->row.rated = false;
	p->row.ntarget = 0;
	survey_count_restart(&p->count);
	wait_for_next_try(p);
}

static void
set_not_opened(struct survey_place *p, int err)
{
	char *why = p->reason;
	size_t cap = sizeof p->reason;
	enum nodes_how how = NODES_HOW_UNREACHABLE;
	struct nodes_ssh ssh = { .host = p->entry.place,
		.program = p->entry.remote[0] != '\0' ? p->entry.remote :
		NULL };

	if (survey_is_far(p)) {
		if (err == -ENOENT)
			snprintf(why, cap, "cannot start ssh: is it "
			    "installed?");
		else if (err == -EINVAL && nodes_ssh_check(&ssh) != NULL)
			snprintf(why, cap, "%s", nodes_ssh_check(&ssh));
		else
			snprintf(why, cap, "cannot start ssh: %s",
			    strerror(-err));
	} else if (err == -ENOENT || err == -ECONNREFUSED) {
		how = NODES_HOW_NO_NODE;
		snprintf(why, cap, "%s%s", p->entry.at == NODES_AT_LOCAL ?
		    "no node of this user runs here" : "no node listens at ",
		    p->entry.place);
	} else if (err == -EAGAIN) {
		snprintf(why, cap, "it does not answer: too many wait for it "
		    "already");
	} else {
		snprintf(why, cap, "%s", strerror(-err));
		if (err == -EACCES || err == -EPERM)
			how = NODES_HOW_DENIED;
	}
	go_down(p, how);
}

/* The connection was lost, or the try failed. */
static void
set_lost(struct survey_place *p, enum nodes_state state, const char *reason)
{
	static const enum nodes_how how[] = {
		[NODES_UNREACHABLE] = NODES_HOW_UNREACHABLE,
		[NODES_DENIED] = NODES_HOW_DENIED,
		[NODES_VERSION] = NODES_HOW_VERSION,
	};
	enum nodes_how h = (size_t)state < BASE_NELEM(how) ? how[state] : 0;

	/* The bridge of another machine says so by its message only. */
	if (strstr(reason, BRIDGE_SAYS_NO_NODE) != NULL)
		h = NODES_HOW_NO_NODE;
	snprintf(p->reason, sizeof p->reason, "%s", reason);
	if (p->welcomed && mono_ms_since(p->opened) >= SURVEY_SILENT_MS)
		p->tries = 0;
	forget_link(p);
	go_down(p, is_down(h) ? h : NODES_HOW_UNREACHABLE);
}

void
survey_place_open(struct survey_place *p)
{
	int r = nodes_connect_entry(&p->link, p->loop, &p->entry);

	if (r < 0) {
		p->link = NULL;
		set_not_opened(p, r);
		return;
	}
	p->opened = mono_now();
	p->trip_us = -1;
	judge(p);
}

static void
on_stat(void *arg, int err, const struct wire_msg *msg)
{
	struct survey_place *p = arg;

	if (err < 0)
		return;
	p->stat_asked = false;
	p->seen_at = mono_now();
	p->seen = true;
	p->trip_us = mono_diff_ns(p->seen_at, p->stat_at) / 1000;
	p->refused = msg->type == WIRE_ERR && msg->err.code == WIRE_E_AUTH;
	if (p->refused)
		link_text(p->reason, sizeof p->reason, msg->err.text);
	if (msg->type == WIRE_STATS)
		p->up_s = msg->stats.n[WIRE_N_UP_S];
	judge(p);
}

static void
on_targets(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct survey_place *p = arg;
	struct mono now = mono_now();
	int64_t took = mono_diff_ns(now, p->targets_at) / 1000000;

	p->targets_asked = false;
	if (err < 0)
		return;
	p->targets_due = mono_ms(p->targets_at) + p->every_ms;
	if (took * SURVEY_SHARE > p->every_ms)
		p->targets_due = mono_ms(now) + took * SURVEY_SHARE;
	survey_count(&p->count, &p->row, t, n, now);
}

static void
ask_stat(struct survey_place *p, int64_t now)
{
	struct wire_msg msg = { .type = WIRE_STAT,
		.stat = { .index = NODE_INDEX } };

	if (link_ask(p->link, &msg, p, on_stat, p) < 0)
		return;
	p->stat_asked = true;
	p->stat_at = mono_now();
	p->due = now + p->every_ms;
}

static void
ask_targets(struct survey_place *p)
{
	p->targets_at = mono_now();
	p->targets_asked = targets_ask(p->link, p, on_targets, p) == 0;
}

static void
set_welcomed(struct survey_place *p)
{
	p->welcomed = true;
	p->up_since = mono_now();
	p->up_s = 0;
	p->due = p->targets_due = 0;
	if (!p->own)
		return;
	snprintf(p->row.name, sizeof p->row.name, "%s",
	    link_called(p->link, &p->row.number));
}

void
survey_place_step(struct survey_place *p)
{
	int64_t now = mono_ms(mono_now());
	enum nodes_state state;
	const char *reason;

	if (p->link == NULL)
		return;
	state = nodes_link_state(p->link, &reason);
	if (state != NODES_LIVE && state != NODES_CONNECTING) {
		set_lost(p, state, reason);
		return;
	}
	if (state == NODES_LIVE && !p->welcomed)
		set_welcomed(p);
	if (p->welcomed && !p->stat_asked && now >= p->due)
		ask_stat(p, now);
	if (p->welcomed && !p->targets_asked && now >= p->targets_due)
		ask_targets(p);
	judge(p);
}

void
survey_place_pause(struct survey_place *p)
{
	forget_link(p);
	survey_count_restart(&p->count);
	p->due = mono_ms(mono_now());
}

void
survey_place_retry(struct survey_place *p)
{
	if (p->link != NULL && !is_down(p->row.how))
		return;
	if (p->link != NULL)
		forget_link(p);
	p->tries = 0;
	p->due = 0;
}

void
survey_place_name(struct survey_place *p, const struct nodes_entry *e)
{
	p->entry = *e;
	p->row.number = e->number;
	memcpy(p->row.name, e->name, sizeof p->row.name);
}

void
survey_place_init(struct survey_place *p, uv_loop_t *loop,
    const struct nodes_entry *e, bool own, uint32_t every_ms)
{
	*p = (struct survey_place){
		.own = own,
		.loop = loop,
		.every_ms = every_ms != 0 ? every_ms :
		    e->at == NODES_AT_SSH ? SURVEY_FAR_MS : SURVEY_EVERY_MS,
		.how_since = mono_now(),
		.trip_us = -1,
	};
	survey_place_name(p, e);
	nodes_entry_where(e, p->row.where, sizeof p->row.where);
	if (own)
		snprintf(p->row.word, sizeof p->row.word, "local");
	else
		snprintf(p->row.word, sizeof p->row.word, "%04X", e->number);
}

void
survey_place_fini(struct survey_place *p)
{
	forget_link(p);
	survey_count_fini(&p->count);
}

static int64_t
how_ms(const struct survey_place *p)
{
	struct survey_signs s;

	if (p->row.how == NODES_HOW_UP)
		return p->up_s > 0 ? (int64_t)p->up_s * 1000 +
		    mono_ms_since(p->seen_at) : mono_ms_since(p->up_since);
	if (p->row.how != NODES_HOW_SLOW)
		return mono_ms_since(p->how_since);
	signs_of(p, &s);
	return s.waiting_ms > s.trip_ms ? s.waiting_ms : s.trip_ms;
}

const struct nodes_surveyed *
survey_place_look(struct survey_place *p)
{
	p->row.how_ms = how_ms(p);
	p->row.seen_ms = p->seen ? mono_ms_since(p->seen_at) : -1;
	p->row.trip_us = p->trip_us;
	p->row.reason = p->reason;
	return &p->row;
}

bool
survey_place_settled(const struct survey_place *p)
{
	if (is_down(p->row.how))
		return true;
	return p->row.counted && (p->row.rated || p->count.many);
}
