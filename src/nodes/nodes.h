/*
 * nodes: the places whose memory is watched, and the way to them.
 *
 * Vocabulary
 *	node	a process (pageknode) that serves data streams; it has a
 *		16-bit number, a name and an address.
 *	DSTRM	the node's table of streams; ALLOCLOG.<comm>.<pid> is one
 *		target's, ALLOCLOG a classic node's own.
 *	table	the nodes that have a number and a name here, and where they
 *		are: see nodes(5).
 *	link	a page's connection to a node, made again when it is lost.
 *	session	one watched stream over a link: resolves its index by name,
 *		takes a snapshot if it comes late, reads from its cursor, keeps
 *		the block list.  It joins stream and list, which know nothing
 *		of each other.
 *	cycle	one 15 Hz tick; the page makes it, the session reads in it.
 *
 * Example: a page
 *	struct nodes_link *link;
 *	struct nodes_session *s;
 *	nodes_start(&link, loop, &(struct node_opts){ NODE_OPTS_NONE,
 *	    .argv = cmd, ... });
 *	nodes_session_open(&s, link, &(struct nodes_session_opts){ 0 }, on_news, me);
 *	each cycle:	nodes_session_cycle(s);
 *	on_news:	draw nodes_session_look(s);
 *	at the end:	nodes_session_close(s); nodes_link_close(link);
 *
 * Everything runs on one uv loop and thread; no call here waits.
 *
 * The rooms, each with the door of its name; an arrow points down only:
 *	both sides	host (what the kernel gives: sockets, processes, kept
 *			descriptors), node_options (what a node can be told),
 *			places (sockets of nodes, table, words)
 *	the page's	link, session, survey, bridge (pageknode --stdio)
 *	the node's	keeper (a target's records), self_watch (blocks of the
 *			node itself), arrivals (targets that come in), images
 *			(processes that fork, exec and end), takeover (targets
 *			of the process before), spool (listings as files), serve
 *			(requests of pages), demo, supervisor, pageknode (the
 *			program)
 * This header has what a page needs of them.
 *
 * When a node is killed, its supervisor starts another process, whose takeover
 * takes up the targets.  A target that nobody takes up finds that out in
 * alloclog/produce/keeper_watch.c and says hello to the next node (alloclog/attach.c).
 * A session goes on with its stream in session/resume.c.
 */
#ifndef NODES_H
#define NODES_H

#include "host/workers.h"
#include "link/link.h"
#include "node_options/node_options.h"
#include "places/places.h"
#include "session/session.h"
#include "survey/survey.h"

#endif
