/*
 * Wholly known memory, requested once a second and when a list has just become
 * whole.
 *
 * Regions describe the node's list. Our list has none while it lacks blocks,
 * which would be shown as free, nor if its parts are of different moments, nor
 * in a window. The look has the reason.
 */
#include <stdio.h>
#include <string.h>

#include "../state.h"

/* A region past the last address, or one that overlaps the one before. */
static bool
is_wrong(const struct wire_region *r, const struct wire_region *before)
{
	return r->size == 0 || r->size > UINT64_MAX - r->base ||
	    (before != NULL && r->base - before->base < before->size) ||
	    (before != NULL && r->base < before->base);
}

static void
take_regions(struct session_regions *rs, const struct wire_regioned *msg)
{
	size_t n = msg->regions.len / WIRE_REGION_SIZE;

	rs->n = 0;
	base_safe_text(rs->why, sizeof rs->why, msg->why.s, msg->why.len,
	    false);
	for (size_t i = 0; i < n && i < WIRE_REGIONS_MAX; i++) {
		struct wire_region *r = &rs->at[i];

		wire_region_get(r, msg->regions.p + i * WIRE_REGION_SIZE);
		if (is_wrong(r, i > 0 ? r - 1 : NULL)) {
			snprintf(rs->why, sizeof rs->why, "the node's answer "
			    "about its regions is not valid");
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
		take_regions(rs, &msg->regioned);
		rs->known = rs->known || rs->whole;
	} else if (msg->type == WIRE_ERR) {
		/* An older node never has any; others have none now. */
		rs->refused = msg->err.code == WIRE_E_FRAME;
		rs->n = 0;
		rs->why[0] = '\0';
		rs->known = true;
	}
	s->news(s->arg);
}

static void
ask_regions(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_REGIONS,
		.regions = { .index = s->stream.index },
	};

	memcpy(msg.regions.epoch, s->stream.epoch, WIRE_EPOCH);
	session_ask(s, SESSION_ASK_REGIONS, &msg);
	s->regions.whole = s->look.settled && !s->look.window;
}

void
regions_cycle(struct nodes_session *s, bool due)
{
	struct session_regions *rs = &s->regions;
	bool whole = s->look.settled && !s->look.window;

	if (s->opts.since_click || rs->refused) {
		rs->known = true;
		return;
	}
	if (!whole)
		rs->known = false;
	if (session_in_flight(s, SESSION_ASK_REGIONS) == 0 &&
	    (due || (whole && !rs->known)))
		ask_regions(s);
}

void
regions_reset(struct nodes_session *s)
{
	s->regions.n = 0;
	s->regions.why[0] = '\0';
	s->regions.refused = s->regions.known = s->regions.torn = false;
}

/* Reason why the shown list lacks blocks; "" none. */
static const char *
why_incomplete(const struct nodes_session *s)
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
		return "records were skipped, and the list is read again";
	return s->losses.lossy || look->loss.unsure ? "records were lost" : "";
}

void
regions_look(struct nodes_session *s)
{
	struct session_regions *rs = &s->regions;
	struct nodes_look *look = &s->look;
	const char *why = why_incomplete(s);
	bool all = why[0] == '\0';

	look->regions.at = rs->at;
	look->regions.n = all ? rs->n : 0;
	look->regions.known = rs->known;
	base_copy_text(look->regions.why, sizeof look->regions.why,
	    look->regions.n > 0 ? "" : all ? rs->why : why);
}
