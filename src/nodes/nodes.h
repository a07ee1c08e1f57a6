/*
 * nodes: programs whose memory is watched, and the connection to them.
 *
 * Vocabulary
 *	node	a process (pageknode) that serves data streams; it has a
 *		16-bit number, a name and an address.
 *	DSTRM	the node's table of streams; ALLOCLOG.<comm>.<pid> is a
 *		target's, ALLOCLOG a classic node's own.
 *	table	nodes with number, name and place: see nodes(5).
 *	link	a page's connection to a node, made again when it is lost.
 *	session	one watched stream over a link, and its block list.
 *	cycle	one 15 Hz tick; the page calls it, the session reads in it.
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
 * The rooms, each with a header of its name; a room includes only rooms before
 * it in this list (../../tests/live/rooms.sh):
 *	both sides	host (sockets, processes, inherited descriptors),
 *			node_options, places (folder of sockets, table, words)
 *	the page's	link, session, survey, bridge (pageknode --stdio)
 *	the node's	keeper (a target's records; keeper/node.h is what all rooms
 *			of a node share), stress (counts of the kernel), refcnt
 *			(references to pages), self_watch (blocks of the node
 *			itself), recorder (writes captures), arrivals (new
 *			targets: hello.c answers them), images (fork, exec and
 *			end of processes), takeover (targets of the process before),
 *			replay (captures as targets), spool (listings as files), serve (requests of
 *			pages), demo, supervisor
 *	the program's	pageknode, which has both sides
 * This header includes what a page needs.
 *
 * A subject has a file of its name on each side: session/requests/marks.c asks,
 * serve/ or the keeper answers; in ../pagek, batch/marks.c waits for the answer in a
 * command, app/pages/ or app/marks_overlay.c has the keys.
 *
 * When a node is killed, its supervisor starts another process, whose takeover
 * takes over the targets. A target that no process takes over notices that in
 * alloclog/produce/keeper_watch.c and registers with the next node
 * (alloclog/attach.c). A session resumes its stream in session/reconnect.c.
 */
#ifndef NODES_H
#define NODES_H

#include "host/host.h"
#include "link/link.h"
#include "node_options/node_options.h"
#include "places/places.h"
#include "session/session.h"
#include "survey/survey.h"

#endif
