/*
 * supervisor: the process that starts the node's process and starts it again.
 *
 *	supervisor.c	the process
 *	reaper.c	the process tree of the node's command (command.h)
 *	command.c	the command
 *
 * It does little, so that little can go wrong: it waits for its child and stores
 * the descriptors that the child sends over a socket of their own, by the protocol
 * of systemd's file descriptor store (host/fdstore.h).
 * A child that dies is followed by another at once, which gets all of them as
 * LISTEN_FDS and LISTEN_FDNAMES; listening sockets among them take connections
 * meanwhile.  The child also gets what was passed to the supervisor itself.
 *
 * Stored data may make the child crash.  After SUPERVISOR_DEATHS deaths within
 * SUPERVISOR_WINDOW_MS all that the child has sent is dropped, except its report;
 * after as many again the supervisor gives up.  Targets whose memory is dropped
 * are told, so that dormant ones look for another node.
 */
#ifndef NODES_SUPERVISOR_H
#define NODES_SUPERVISOR_H

#define SUPERVISOR_DEATHS 5
#define SUPERVISOR_WINDOW_MS 10000

struct command;

/*
 * Runs `become` in a child, and in another one each time that it dies, with the
 * number of its socket to us and the environment as it is.  Returns the status to
 * end with, after a message: the child's own if it ended with 0, before it was
 * ever ready, or after SIGTERM or SIGINT; 128 and the signal if it ended by one
 * then; 1 if it was given up.  SIGTERM, SIGINT and SIGHUP are passed on to the
 * child.  If it is killed while it is to end, another one is started that ends at
 * once and removes what was left.
 */
int supervisor_run(void (*become)(void *arg, int fd), void *arg);

/*
 * The same for a node that runs a command.  It returns when its child has ended and
 * no process of the command is left, with 125 in place of 1.  While the command
 * lives, SIGTERM does not end the node: it is meant for the command, and is passed
 * on if there was no page. page: the connection of a page, passed to the first child
 * only, as STORED_PAGE; recording: the file of a recording, passed to each, as
 * STORED_RECORDING; -1: none.
 */
int supervisor_run_command(void (*become)(void *arg, int fd), void *arg,
    struct command *, int page, int recording);

#endif
