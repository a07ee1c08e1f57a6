/*
 * self_watch: the node watches itself.  Requests of pages and the node's local
 * applications are blocks of AllocP(), and each block is a record of the node's
 * own ALLOCLOG: so page K shows who asked for what.
 *
 * Vocabulary
 *	request	a page that reads one stream: by READ, SNAP or WINDOW of an
 *		index.  A connection has one at most; another index ends it and
 *		begins another one.  STAT, NAME and TYPES are none.
 *	local	said of a page that is on this node.  Its request is one
 *		block, LOCREQ.
 *	remote	on another node: the request is an ACREQ, described by the
 *		requester's friendly number, an INTPTRS and an AHDRMSG, of one
 *		age.
 *	lapse	a request's end because nothing was asked for OWN_LAPSE_MS.
 *		Its connection stays, and asks anew with its next question.
 *	local application
 *		a part of the node that has a LASTAT, described by its name,
 *		from its first use to the node's end.  LATBL is the table of
 *		those that have one.
 *
 * Sizes of blocks are the note's; a request's state is in them and nowhere
 * else.  Where there is no room for them the page is served all the same: the
 * record then says that the request for memory failed.
 *
 * The clock of these records is this node's own time of day when it began,
 * and runs on steadily from there: ages stay right when the machine's clock is
 * set, or when summer time ends.
 *
 * Example
 *	self_watch_init(node);				before anybody is served
 *	self_watch_join(node, keeper);			a node with an ALLOCLOG of its own
 *	answering a READ:	self_watch_asked(node, page, k);
 *	each second:		self_watch_second(node, mono_ms(mono_now()));
 *	a page leaves:		self_watch_gone(node, page);
 */
#ifndef NODES_SELF_WATCH_H
#define NODES_SELF_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "../../stream/wire/wire.h"

#define OWN_LAPSE_MS 30000
#define OWN_AGAIN_MS 1000		/* after a request for memory failed */
#define OWN_REGION_1 (16u << 10)	/* some 80 remote requests ... */
#define OWN_REGION_2 (64u << 10)	/* ... and as many more as there can be pages */

struct allocp;
struct keeper;
struct node;

/* A page, as its request needs it; request and again_ms are this file's. */
struct self_watch_page {
	TAILQ_ENTRY(self_watch_page) link;	/* in own->pages, with a request */
	struct own_request *request;	/* for data, in blocks of self_watch.c; NULL none */
	int64_t again_ms;		/* not before, for there was no room for it */
	uint64_t id;			/* of its connection, never used again */
	pid_t pid;
	uint16_t from;			/* number of the node that the page is on; 0 unknown */
	bool away;			/* its bytes come from another machine */
};

enum self_watch_app {
	OWN_MEMB,			/* keeps the lists of targets */
	OWN_SYMB,			/* finds what lies at frames */
	OWN_LIST,			/* stores listings */
	OWN_APPS
};

struct self_watch {
	struct allocp *memory;		/* NULL: there was none to be had */
	int64_t clock_ms;		/* what its clock is ahead of the monotonic one */
	uint16_t requester;		/* of the block that is being made; 0 none */
	const char *name;		/* ... or the name that describes it; NULL none */
	struct own_lastat *app[OWN_APPS];	/* NULL: not begun */
	TAILQ_HEAD(, self_watch_page) pages;	/* with a request */
	unsigned requests;		/* that are served now */
	uint64_t lapsed;
	uint64_t told;			/* damaged headers that its stream's reason tells */
};

/* Never fails: a node without such memory serves its pages too, and says so. */
void self_watch_init(struct node *);
void self_watch_fini(struct node *);
/* The keeper is the node's own: it gets the records from here on. */
void self_watch_join(struct node *, struct keeper *);

/*
 * The page asks for data of k's stream.  Called before the answer is made, so
 * that the answer has the record of its own request.
 */
void self_watch_asked(struct node *, struct self_watch_page *, const struct keeper *);
/* It asks no more: its request, if it has one, ends. */
void self_watch_gone(struct node *, struct self_watch_page *);
/* Requests that have lapsed. */
void self_watch_second(struct node *, int64_t mono_ms);

/* The application does something: its first time begins it. */
void self_watch_app(struct node *, enum self_watch_app);
/* LATBL: its index by its name, -ENOENT; its name by the index, NULL. */
int self_watch_app_find(const struct node *, const char *name, size_t len,
    uint32_t *index);
const char *self_watch_app_name(const struct node *, uint32_t index);

/* Its numbers of STATS, of the node alone. */
void self_watch_stat(const struct node *, uint64_t n[WIRE_STATS_COUNT]);

/*
 * The memory of the node's own stream of which every block is in it, in address
 * order.  How many of max there are.
 */
size_t self_watch_regions(const struct node *, struct wire_region *, size_t max);

#endif
