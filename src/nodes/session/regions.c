/*
 * Which memory of the stream is wholly known: asked for once a second, and
 * when a list has just become whole.
 *
 * What the node says is of its own list.  A list of ours that lacks blocks has
 * no regions, for what it lacks would be shown as free.  Nor has one whose parts
 * are of several moments, and the window that comes in its place: a page that
 * wants the whole list for them would get such a one again.
 *
 * Why there are none is said, for a page without free rows looks the same where
 * the program has no pools.
 */
#include <stdio.h>
#include <string.h>

#include "state.h"

/* A region that ends behind the last address, or lies over the one before. */
static bool
is_wrong(const struct wire_region *r, const struct wire_region *before)
{
	return r->size == 0 || r->size > UINT64_MAX - r->base ||
	    (before != NULL && r->base - before->base < before->size) ||
	    (before != NULL && r->base < before->base);
}

static void
take(struct session_regions *rs, const struct wire_regioned *msg)
{
	size_t n = msg->regions.len / WIRE_REGION_SIZE;

	rs->n = 0;
	base_safe_text(rs->why, sizeof rs->why, msg->why.s, msg->why.len,
	    false);
	for (size_t i = 0; i < n && i < WIRE_REGIONS_MAX; i++) {
		struct wire_region *r = &rs->at[i];

		wire_region_get(r, msg->regions.p + i * WIRE_REGION_SIZE);
		if (is_wrong(r, i > 0 ? r - 1 : NULL)) {
			snprintf(rs->why, sizeof rs->why, "what the node says "
			    "of its regions makes no sense");
			rs->n = 0;
			return;
		}
		rs->n++;
	}
}

void
answered_regions(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_regions *rs = &s->regions;

	if (msg->type == WIRE_REGIONED) {
		take(rs, &msg->regioned);
		rs->in = rs->in || rs->whole;
	} else if (msg->type == WIRE_ERR) {
		/*
		 * A node of before there were regions has none; others have
		 * none now.
		 */
		rs->refused = msg->err.code == WIRE_E_FRAME;
		rs->n = 0;
		rs->why[0] = '\0';
		rs->in = true;
	}
	s->news(s->arg);
}

static void
ask(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_REGIONS,
		.regions = { .index = s->index },
	};

	memcpy(msg.regions.epoch, s->epoch, WIRE_EPOCH);
	session_ask(s, SESSION_ASK_REGIONS, &msg);
	s->regions.whole = s->look.settled && !s->look.window;
}

void
regions_cycle(struct nodes_session *s, bool due)
{
	struct session_regions *rs = &s->regions;
	bool whole = s->look.settled && !s->look.window;

	if (s->opts.since_click || rs->refused) {
		rs->in = true;
		return;
	}
	if (!whole)
		rs->in = false;
	if (session_waits(s, SESSION_ASK_REGIONS) == 0 && (due || (whole && !rs->in)))
		ask(s);
}

void
regions_reset(struct nodes_session *s)
{
	s->regions.n = 0;
	s->regions.why[0] = '\0';
	s->regions.refused = s->regions.in = s->regions.torn = false;
}

/* What the list that is shown lacks; "" nothing. */
static const char *
lack_of(const struct nodes_session *s)
{
	const struct nodes_look *look = &s->look;

	if (s->opts.since_click)
		return "blocks of before the click are not listed";
	if (look->sample != 0)
		return "only a sample of it is logged";
	if (look->list == NULL || !look->listed)
		return "the list is being taken";
	if (blklist_counts(look->list)->full != 0)
		return "the page's list was full";
	if (s->regions.torn)
		return "the list's parts are of several moments";
	if (look->behind)
		return "records were skipped, and the list is taken anew";
	return s->losses.lossy || look->unsure ? "records were lost" : "";
}

void
regions_look(struct nodes_session *s)
{
	struct session_regions *rs = &s->regions;
	struct nodes_look *look = &s->look;
	const char *why = lack_of(s);
	bool all = why[0] == '\0';

	look->region = rs->at;
	look->regions = all ? rs->n : 0;
	look->regions_in = rs->in;
	base_copy_text(look->regions_why, sizeof look->regions_why,
	    look->regions > 0 ? "" : all ? rs->why : why);
}
