/*
 * All of it is done by the loop's thread.  Pieces are small, and on a disk of
 * this machine they go no further than the kernel's memory; with a folder
 * behind a network, a close may make the loop wait, as the manual says.  The
 * folder is read in turns, for there may be many files.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../keeper/node.h"
#include "../spool/spool.h"
#include "answer.h"

#define TURN_MS 2		/* of reading the folder: as of visits to targets */
#define REQUEST_TURNS 10	/* at once, for a request that needs it */

static void
on_idle(uv_idle_t *idle)
{
	struct listings *l = &((struct node *)idle->data)->serve->listings;

	if (l->spool != NULL)
		spool_turn(l->spool);
	if (l->spool == NULL || !spool_is_reading(l->spool))
		uv_idle_stop(idle);
}

static void
read_in_turns(struct node *node)
{
	struct listings *l = &node->serve->listings;

	if (l->spool == NULL || !spool_is_reading(l->spool))
		return;
	if (!l->has_idle) {
		uv_idle_init(node->loop, &l->idle);
		l->idle.data = node;
		l->has_idle = true;
	}
	uv_idle_start(&l->idle, on_idle);
}

/* Reads the folder on for a request, which most spools allow to the end. */
static bool
read_for_request(struct node *node)
{
	struct spool *s = node->serve->listings.spool;

	for (int i = 0; i < REQUEST_TURNS && !spool_is_known(s); i++) {
		spool_turn(s);
		visits_beat(node);
	}
	return spool_is_known(s);
}

/* Closes the spool of a folder that was removed; listings on their way are refused. */
static void
drop_removed(struct listings *l)
{
	if (l->spool == NULL || spool_is_there(l->spool))
		return;
	print_set_spool(l->print, NULL);
	l->refused += spool_arriving(l->spool);
	spool_close(l->spool);
	l->spool = NULL;
}

/* Negative errno with a sentence in why; with `existing` -ENOENT if none was made yet. */
static int
open_spool(struct node *node, bool existing, char *why, size_t cap)
{
	struct listings *l = &node->serve->listings;
	char path[SPOOL_PATH];
	struct spool_opts opts = { .existing = existing, .turn_ms = TURN_MS };
	int r = 0;

	drop_removed(l);
	if (l->spool != NULL)
		return 0;
	opts.path = node->opts.spool;
	if (opts.path == NULL) {
		r = spool_path(node->opts.system, path);
		opts.path = path;
	}
	if (r < 0) {
		snprintf(why, cap, "this node has no place for listings: %s",
		    r != -ENOENT ? strerror(-r) : "neither XDG_STATE_HOME nor "
		    "HOME is the path of a folder");
		return -EIO;
	}
	r = spool_open(&l->spool, &opts, why, cap);
	if (r < 0)
		return r;
	print_set_spool(l->print, l->spool);
	read_in_turns(node);
	return 0;
}

void
listings_begin(struct node *node)
{
	char why[SPOOL_PATH + 128];
	int r = open_spool(node, true, why, sizeof why);

	if (r < 0 && r != -ENOENT)
		fprintf(stderr, "pageknode: %s\n", why);
}

void
listings_second(struct node *node)
{
	if (node->serve->listings.spool != NULL)
		spool_second(node->serve->listings.spool);
	read_in_turns(node);
}

void
listings_conn_closed(struct conn *c)
{
	if (c->node->serve->listings.spool != NULL)
		spool_conn_closed(c->node->serve->listings.spool, c->page.id);
}

void
listings_count_refused(struct node *node)
{
	node->serve->listings.refused++;
}

void
listings_stat(struct node *node, struct wire_stats *st)
{
	st->n[WIRE_N_LISTINGS] = node->serve->listings.stored;
	st->n[WIRE_N_LISTINGS_REFUSED] = node->serve->listings.refused;
}

void
listings_close(struct node *node)
{
	struct listings *l = &node->serve->listings;

	print_close(l->print);
	spool_close(l->spool);
	l->print = NULL;
	l->spool = NULL;
	if (l->has_idle)
		uv_close((uv_handle_t *)&l->idle, NULL);
	l->has_idle = false;
}

static enum wire_error
code_of(int err)
{
	switch (err) {
	case -EDQUOT:
		return WIRE_E_QUOTA;
	case -EBUSY:
		return WIRE_E_BUSY;
	case -ENOENT:
		return WIRE_E_NAME;
	case -EBADMSG:
		return WIRE_E_FRAME;
	default:
		return WIRE_E_INTERNAL;
	}
}

static void
print_listing(struct node *node, const struct spool_entry *e)
{
	struct listings *l = &node->serve->listings;
	int r = 0;

	if (!node->opts.print.on)
		return;
	if (l->print == NULL)
		r = print_new(&l->print, node->loop, l->spool,
		    node->opts.print.printer);
	if (r < 0)
		fprintf(stderr, "pageknode: listing %s was not printed: %s\n",
		    base_shown(e->name), strerror(-r));
	else
		print_add(l->print, e);
}

void
answer_lput(struct conn *c, const struct wire_msg *m)
{
	struct node *node = c->node;
	char why[SPOOL_PATH + 128], origin[SERVE_ORIGIN_MAX];
	struct spool_sender who = { .conn = c->page.id, .uid = c->peer.uid };
	struct wire_msg reply = { .type = WIRE_LACK, .id = m->id };
	struct spool_ack ack;
	int r;

	self_watch_app(node, SELF_LIST);
	/* Only for the first piece: this reads the file of users. */
	if (m->lput.name.len == 0)
		who.origin = conn_origin(c, origin, sizeof origin);
	r = open_spool(node, false, why, sizeof why);
	if (r < 0) {
		r = -EIO;
	} else {
		(void)read_for_request(node);
		r = spool_put(node->serve->listings.spool, &who, &m->lput,
		    &ack, why, sizeof why);
	}
	if (r < 0) {
		node->serve->listings.refused += r != -ENOENT;
		conn_error(c, m->id, code_of(r), why);
		return;
	}
	reply.lack.name = wire_text(ack.entry->name);
	reply.lack.part = m->lput.part;
	reply.lack.stored = ack.stored;
	conn_reply(c, &reply);
	if (!ack.whole)
		return;
	node->serve->listings.stored++;
	print_listing(node, ack.entry);
}

static bool
is_for(const void *arg, const struct spool_entry *e)
{
	const struct conn *c = arg;

	return access_reads(&c->node->access, &c->peer, e->uid);
}

/* False after an error was sent.  *s is NULL if nothing was ever stored. */
static bool
find_spool(struct conn *c, const struct wire_msg *m, struct spool **s)
{
	char why[SPOOL_PATH + 128];
	int r = open_spool(c->node, true, why, sizeof why);

	*s = c->node->serve->listings.spool;
	if (*s != NULL && !read_for_request(c->node)) {
		conn_error(c, m->id, WIRE_E_BUSY, "the node is still reading "
		    "its spool: try again in a moment");
		return false;
	}
	if (r == 0 || r == -ENOENT)
		return true;
	conn_error(c, m->id, WIRE_E_INTERNAL, why);
	return false;
}

void
answer_listings(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_LISTED, .id = m->id };
	const struct spool_entry *e = NULL;
	struct spool *s;

	if (!find_spool(c, m, &s))
		return;
	if (s != NULL && m->listings.after.len == 0)
		spool_refresh(s);
	read_in_turns(c->node);
	if (s != NULL)
		e = spool_after(s, m->listings.after.s, m->listings.after.len,
		    is_for, c);
	if (e != NULL) {
		reply.listed.name = wire_text(e->name);
		reply.listed.origin = wire_text(e->origin);
		reply.listed.title = wire_text(e->title);
		reply.listed.parts = e->parts;
		reply.listed.bytes = e->bytes;
		reply.listed.wall_ms = e->wall_ms;
		reply.listed.whole = spool_is_whole(e);
	}
	conn_reply(c, &reply);
}

void
answer_lget(struct conn *c, const struct wire_msg *m)
{
	static uint8_t bytes[WIRE_LISTING_BYTES];
	struct wire_msg reply = { .type = WIRE_LGOT, .id = m->id };
	const struct spool_entry *e = NULL;
	struct spool_part of;
	size_t max = m->lget.max != 0 ? m->lget.max : sizeof bytes;
	struct spool *s;
	ssize_t n;

	if (!find_spool(c, m, &s))
		return;
	if (s != NULL)
		e = spool_find(s, m->lget.name.s, m->lget.name.len);
	if (e == NULL || !is_for(c, e)) {
		conn_error(c, m->id, WIRE_E_NAME, "no such listing");
		return;
	}
	n = spool_read(s, e, m->lget.part, m->lget.at, bytes,
	    max < sizeof bytes ? max : sizeof bytes, &of);
	if (n == -ENOENT) {
		conn_error(c, m->id, WIRE_E_NAME,
		    "this part of the listing is not there");
		return;
	}
	if (n == -EBADMSG) {
		conn_error(c, m->id, WIRE_E_DAMAGED,
		    "the file of a part is damaged");
		return;
	}
	if (n < 0) {
		conn_error(c, m->id, WIRE_E_INTERNAL, strerror((int)-n));
		return;
	}
	reply.lgot.at = m->lget.at;
	reply.lgot.size = of.size;
	reply.lgot.bytes = (struct wire_bytes){ bytes, (size_t)n };
	if (m->lget.at + (uint64_t)n == of.size)
		reply.lgot.sha256 = (struct wire_bytes){ of.sum,
			sizeof of.sum };
	conn_reply(c, &reply);
}
