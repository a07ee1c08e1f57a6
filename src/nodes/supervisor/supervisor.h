/*
 * supervisor: the process that starts the node's process and starts it again.
 *
 *	supervisor.c	the process
 *	reaper.c	the process tree of the node's command (command.h)
 *	command.c	the command
 *
 * It does little: it waits for its child and stores the descriptors that the
 * child sends by the protocol of systemd's file descriptor store
 * (host/fdstore.h).  A dead child is followed by another, which gets all of
 * them as LISTEN_FDS and LISTEN_FDNAMES, and what was passed to the
 * supervisor; listening sockets take connections meanwhile.
 *
 * Stored data may crash the child: after SUPERVISOR_DEATHS deaths within
 * SUPERVISOR_WINDOW_MS all but its report is dropped; after as many again the
 * supervisor gives up.  Targets whose memory is dropped are told, so that
 * dormant ones look for another node.
 */
#ifndef NODES_SUPERVISOR_H
#define NODES_SUPERVISOR_H

#define SUPERVISOR_DEATHS 5
#define SUPERVISOR_WINDOW_MS 10000

struct command;

/*
 * Runs `become` in a child, again each time it dies, with its socket to us.
 * The status, after a message: the child's if it ended with 0, before it was
 * ready, or after SIGTERM or SIGINT; 128 and the signal if it then ended by
 * one; 1: given up.  SIGTERM, SIGINT and SIGHUP are passed on.  If a child
 * that is to end is killed, another one removes what was left.
 */
int supervisor_run(void (*become)(void *arg, int fd), void *arg);

/*
 * For a node with a command.  Returns when its child and the command's
 * processes have ended, with 125 in place of 1.  SIGTERM is meant for the
 * living command, and passed on without a page. page: a page's connection, for
 * the first child, STORED_PAGE; recording: a recording's file, for each,
 * STORED_RECORDING; -1: none.
 */
int supervisor_run_command(void (*become)(void *arg, int fd), void *arg,
    struct command *, int page, int recording);

#endif
