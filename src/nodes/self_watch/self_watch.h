/*
 * self_watch: the node watches itself.  Requests of pages and the node's local
 * applications are blocks of AllocP(), and each block is a record of the node's
 * own ALLOCLOG: so page K shows who asked for what.
 *
 * request a page that reads one stream: READ, SNAP or WINDOW of an index.  One
 * for⏎               each connection; another index begins another.  STAT,
 * NAME, TYPES are none.
 *	request	a page that reads one stream: by READ, SNAP or WINDOW of an
 *		index.  A connection has one at most; another index ends it and
 *		begins another one.  STAT, NAME and TYPES are none.
 *	local	a page on this node.  Its request is one block, LOCREQ.
 *	remote	a page on another node.  Its request is three blocks of one age: an
 *		ACREQ, whose DESCR is the requester's friendly number, an INTPTRS
 *		and an AHDRMSG.
 *	lapse	a request's end because nothing was asked for SELF_LAPSE_MS.
 *		The connection stays, and its next question begins another one.
 *	local application
 *		a part of the node that has a LASTAT, described by its name,
 *		from its first use to the node's end.  LATBL is the table of
 *		those that have one.
 *
 * Sizes of blocks are the note's, and a request's state is in them only.  If
 * there is no memory for them, the page is served all the same, and the record
 * says that the allocation failed.
 *
 * The clock of these records is this node's time of day when it started, and
 * runs on steadily from there: ages stay right when the machine's clock is set.
 *
 * Example
 *	self_watch_init(node);				before any page is served
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

#define SELF_LAPSE_MS 30000
#define SELF_RETRY_MS 1000		/* after an allocation failed */
#define SELF_REGION_1 (16u << 10)	/* some 80 remote requests ... */
#define SELF_REGION_2 (64u << 10)	/* ... and as many more as there can be pages */

struct allocp;
struct keeper;
struct node;

/* A page.  self_watch.c sets request and retry_ms. */
struct self_watch_page {
	TAILQ_ENTRY(self_watch_page) link;	/* among those with a request */
	struct self_request *request;	/* in AllocP() memory; NULL none */
	int64_t retry_ms;		/* no earlier request: there was no memory */
	uint64_t id;			/* of its connection, never used again */
	pid_t pid;
	uint16_t from;			/* number of the node that the page is on; 0 unknown */
	bool away;			/* on another machine */
};

enum self_watch_app {
	SELF_MEMB,			/* has the lists of targets */
	SELF_SYMB,			/* names frames */
	SELF_LIST,			/* stores listings */
	SELF_APPS
};

struct self_watch {
	struct allocp *memory;		/* NULL: there was none */
	int64_t clock_ms;		/* its clock minus the monotonic one */
	uint16_t requester;		/* of the block that is being allocated; 0 none */
	const char *name;		/* ... or the name that describes it; NULL none */
	struct self_lastat *app[SELF_APPS];	/* NULL: not begun */
	TAILQ_HEAD(, self_watch_page) pages;	/* with a request */
	unsigned requests;
	uint64_t lapsed;
	uint64_t damaged;		/* headers that its stream's reason reports */
};

/* Never fails: without memory pages are served, too, and the reason says so. */
void self_watch_init(struct node *);
void self_watch_fini(struct node *);
/* The keeper is of the node itself: it gets the records from now on. */
void self_watch_join(struct node *, struct keeper *);

/* The page asks for data of k's stream.  Before the answer is made, which has it. */
void self_watch_asked(struct node *, struct self_watch_page *,
    const struct keeper *);
/* Ends the page's request, if it has one. */
void self_watch_gone(struct node *, struct self_watch_page *);
void self_watch_second(struct node *, int64_t mono_ms);

void self_watch_app(struct node *, enum self_watch_app);
/* LATBL: index by name, -ENOENT; name by index, NULL. */
int self_watch_app_find(const struct node *, const char *name, size_t len,
    uint32_t *index);
const char *self_watch_app_name(const struct node *, uint32_t index);

/* Fills in the node's numbers of STATS. */
void self_watch_stat(const struct node *, uint64_t n[WIRE_STATS_COUNT]);

/* The regions that its blocks lie in, in address order; returns how many. */
size_t self_watch_regions(const struct node *, struct wire_region *,
    size_t max);

#endif
