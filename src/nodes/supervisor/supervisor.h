/*
 * supervisor: the process that starts the node's and starts it again.
 *
 * It does next to nothing, so that nothing can happen to it: it waits for its
 * child and holds the descriptors that this sends it, by the protocol of
 * systemd's file descriptor store (fdstore.h), over a socket that nobody else
 * has.  A child that dies is followed by another at once, which finds all of
 * them as LISTEN_FDS and LISTEN_FDNAMES; listening sockets among them take
 * connections meanwhile.  So does what the supervisor itself was passed.
 *
 * What it holds may be what the child dies of.  After SUPERVISOR_DEATHS of them
 * within SUPERVISOR_WINDOW_MS it lets go of all that the child has sent but its
 * report, and after as many again it gives up.
 */
#ifndef NODES_SUPERVISOR_H
#define NODES_SUPERVISOR_H

#define SUPERVISOR_DEATHS 5
#define SUPERVISOR_WINDOW_MS 10000

struct command;

/*
 * Runs `become` in a child, and in another one each time that it dies, with the
 * number of its socket to us; it does not return.  The child's environment is
 * as it is to be.  Returns the status to end with, all being said:
 * the child's own, if it ended by itself with 0, before it was ever ready, or
 * after SIGTERM or SIGINT, which are passed on to it as SIGHUP is; 128 and the
 * signal, where one had ended it all the same; 1 when it was given up.  A child
 * that is killed when it was to end is followed by one that is to end at once
 * and takes away what that has left.
 */
int supervisor_run(void (*become)(void *arg, int fd), void *arg);

/*
 * The same for a node that runs a command (reaper.h), and is over when its child
 * is, once no process of that is left; 125 stands for 1.  page: a page's
 * connection, of which the first child alone has the other end, as KEPT_PAGE;
 * -1 none.
 */
int supervisor_run_command(void (*become)(void *arg, int fd), void *arg,
    struct command *, int page);

#endif
