#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../stream/feed/robust.h"
#include "../arrivals/arrivals.h"
#include "../host/host.h"
#include "../images/images.h"
#include "../keeper/node.h"
#include "../refcnt/refcnt.h"
#include "../self_watch/self_watch.h"
#include "../serve/serve.h"
#include "../supervisor/command.h"
#include "../takeover/takeover.h"
#include "pageknode.h"

#define PAGES_MODE 0660		/* of the system's sockets: the group's */
#define PAGES_MODE_ALONE 0600	/* ... where there is no such group */
#define TARGETS_MODE 0666	/* anybody's; what a target sees is its own */
#define LOCK ".lock"		/* after the path of the pages' socket */

#define STORED_LOCK FDSTORE_OURS "lock"

static int
find_place(const struct node *node, char path[NODE_PATH])
{
	char folder[NODE_PATH];
	int r;

	r = node->opts.system ? nodes_system_folder() :
	    nodes_folder(folder, sizeof folder);
	if (r < 0)
		return node->opts.system ? node_say(DAEMON_SYSTEM_FOLDER, r) :
		    node_say_folder(r);
	if (node->opts.system)
		strcpy(folder, DAEMON_SYSTEM_FOLDER);
	if ((size_t)snprintf(path, NODE_PATH, "%s/" DAEMON_SOCKET, folder) >=
	    NODE_PATH - strlen(DAEMON_HELLO))
		return node_say(folder, -ENAMETOOLONG);
	return 0;
}

/*
 * The lock protects both socket names.  It ends with the last of a node and its
 * supervisor, so what they have left can be removed.
 */
static int
lock_place(struct node *node, const char *path)
{
	char lock[NODE_PATH + sizeof LOCK];
	int fd = fdstore_take(&node->store.fds, STORED_LOCK);

	if (fd >= 0) {
		node->daemon->lock_fd = fd;
		return 0;
	}
	snprintf(lock, sizeof lock, "%s" LOCK, path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return node_say(lock, -errno);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int err = errno;

		close(fd);
		if (err != EWOULDBLOCK)
			return node_say(lock, -err);
		fprintf(stderr, "pageknode: a node runs at %s already\n",
		    base_shown(path));
		return -EADDRINUSE;
	}
	node->daemon->lock_fd = fd;
	fdstore_put(&node->store.fds, STORED_LOCK, fd);
	return 0;
}

static int
bind_place(const struct node *node, const char *path, int type, mode_t mode)
{
	if (!node->opts.system)
		return socket_bind(path, type);
	return socket_bind_for(path, type, mode, node->access.group);
}

/*
 * The socket of the process before, on which connections wait; -1 none.  If the
 * folder was removed and another node has the name by now, *stays is set: the
 * name is not ours to remove.
 */
static int
stored_socket(struct node *node, const char *name, const char *path,
    bool *stays)
{
	struct fdstore *store = &node->store.fds;
	const struct socket_file *file = takeover_node_socket(node, name);
	char was[SOCKET_PATH];
	int fd, is;

	while ((fd = fdstore_take(store, name)) >= 0) {
		is = file != NULL && file->ino != 0 ?
		    socket_is_there(path, file) :
		    access(path, F_OK) == 0 ? 1 : -ENOENT;
		if (inherited_path(fd, was) == 0 && strcmp(was, path) == 0 &&
		    is >= 0) {
			*stays = is == 0;
			return fd;
		}
		close(fd);
	}
	return -1;
}

static int
store_socket(struct node *node, const char *name, const char *path, int fd)
{
	struct fdstore *store = &node->store.fds;
	struct socket_file *file = takeover_node_socket(node, name);

	if (fd < 0)
		return fd;
	if (file != NULL)
		*file = socket_file(path);
	fdstore_remove(store, name);
	fdstore_put(store, name, fd);
	return fd;
}

static int
socket_at(struct node *node, const char *name, const char *path, int type,
    mode_t mode, bool *stays)
{
	int fd = stored_socket(node, name, path, stays);

	return fd >= 0 ? fd : store_socket(node, name, path,
	    bind_place(node, path, type, mode));
}

int
daemon_listen_targets(struct node *node, const char *path)
{
	char hello[NODE_PATH + sizeof DAEMON_HELLO];
	bool stays = false;
	int r;

	snprintf(hello, sizeof hello, "%s" DAEMON_HELLO, path);
	r = socket_at(node, STORED_TARGETS, hello, SOCK_SEQPACKET,
	    TARGETS_MODE, &stays);
	if (r >= 0)
		r = hello_listen(node->hello, r, hello, stays);
	return r < 0 ? node_say(hello, r) : 0;
}

int
daemon_listen_pages(struct node *node, const char *path)
{
	bool stays = false;
	int r = socket_at(node, STORED_PAGES, path, SOCK_STREAM,
	    node->access.group != (gid_t)-1 ? PAGES_MODE : PAGES_MODE_ALONE,
	    &stays);

	if (r >= 0)
		r = serve_listen_fd(node, r, path, stays);
	return r < 0 ? node_say(path, r) : 0;
}

static int
listen_inherited(struct node *node, struct inherited *pages,
    struct inherited *targets)
{
	int r;

	if (pages->fd < 0 || targets->fd < 0) {
		fprintf(stderr, "pageknode: the passed sockets must be one "
		    "stream socket, for pages, and one sequential-packet "
		    "socket, for targets\n");
		if (pages->fd >= 0)
			close(pages->fd);
		if (targets->fd >= 0)
			close(targets->fd);
		return -EINVAL;
	}
	r = hello_listen(node->hello, targets->fd, targets->path, true);
	if (r < 0) {
		close(pages->fd);
		return node_say(targets->path, r);
	}
	r = serve_listen_fd(node, pages->fd, pages->path, true);
	return r < 0 ? node_say(pages->path, r) : 0;
}

static int
listen_somewhere(struct node *node, struct inherited *pages,
    struct inherited *targets)
{
	char path[NODE_PATH];
	int r;

	if (pages->fd >= 0 || targets->fd >= 0)
		return listen_inherited(node, pages, targets);
	r = find_place(node, path);
	if (r == 0)
		r = lock_place(node, path);
	/* Targets first: once pages can come, programs must be watched. */
	if (r == 0)
		r = daemon_listen_targets(node, path);
	return r < 0 ? r : daemon_listen_pages(node, path);
}

/* Pages may have half of the descriptors: targets and files need some, too. */
static void
limit_pages(struct node *node)
{
	struct rlimit limit;

	command_lift_limits(NULL);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur / 2 >= node->serve->max)
		return;
	node->serve->max = limit.rlim_cur >= 4 ?
	    (unsigned)(limit.rlim_cur / 2) : 2;
	fprintf(stderr, "pageknode: only %llu descriptors are allowed: at "
	    "most %u pages at a time\n",
	    (unsigned long long)limit.rlim_cur, node->serve->max);
}

static void
on_interrupt(uv_signal_t *sig, int signum)
{
	struct node *node = sig->data;

	(void)signum;
	images_end_all(node, false);
	uv_stop(node->loop);
}

static int
watch_signals(struct node *node)
{
	static const int ignored[] = { SIGHUP, SIGPIPE, SIGXFSZ };
	struct sigaction ign = { .sa_handler = SIG_IGN };
	int r;

	for (size_t i = 0; i < BASE_NELEM(ignored); i++)
		sigaction(ignored[i], &ign, NULL);
	r = run_watch(node);
	if (r < 0)
		return r;
	r = uv_signal_init(node->loop, &node->daemon->interrupt);
	if (r < 0)
		return r;
	node->daemon->interrupt.data = node;
	node->daemon->watching = true;
	return uv_signal_start(&node->daemon->interrupt, on_interrupt, SIGINT);
}

static int
own_stream(struct node *node)
{
	struct keeper *k;
	int r;

	r = keeper_new(&k, node, &(struct keeper_opts){ .classic = true },
	    NULL);
	if (r < 0)
		return r;
	snprintf(k->image.comm, sizeof k->image.comm, "pageknode");
	r = images_join(k, DAEMON_OWN_STREAM);
	if (r < 0) {
		keeper_unref(k);
		return r;
	}
	self_watch_join(node, k);
	return 0;
}

static void
on_above_closed(uv_handle_t *handle)
{
	free(handle);
}

/* Messages of the supervisor are about a command; an end of file is its end. */
static void
on_above(uv_poll_t *above, int status, int events)
{
	struct node *node = above->data;
	char text[FDSTORE_MESSAGE];
	ssize_t n = recv(node->store.fds.fd, text, sizeof text - 1,
	    MSG_DONTWAIT);

	(void)status;
	(void)events;
	if (n > 0) {
		text[n] = '\0';
		run_message(node, text);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	node->store.fds.gone = true;
	node->daemon->above = NULL;
	/* By now the kernel has told the dormant targets. */
	if (robust_begin() == 0)
		arming_owner_changed(node);
	uv_close((uv_handle_t *)above, on_above_closed);
	fprintf(stderr, "pageknode: the supervisor is gone; the node goes on, "
	    "but is not restarted if it dies\n");
	run_lost_supervisor(node);
}

/* If that fails, the next message that cannot be sent shows that it is gone. */
static void
watch_supervisor(struct node *node)
{
	uv_poll_t *above;

	if (node->opts.supervised < 0)
		return;
	above = malloc(sizeof *above);
	if (above == NULL || uv_poll_init(node->loop, above,
	    node->store.fds.fd) < 0) {
		free(above);
		return;
	}
	above->data = node;
	node->daemon->above = above;
	uv_poll_start(above, UV_READABLE | UV_DISCONNECT, on_above);
}

void
daemon_open_store(struct node *node)
{
	fdstore_open(&node->store.fds, node->opts.supervised);
	if (node->opts.supervised >= 0)
		robust_set_owner(getppid());
	else
		(void)robust_begin();
	watch_supervisor(node);
}

/*
 * Only with a supervisor: the report may be the standard output, which we have
 * released by then.  If systemd starts us again, the file is opened by its name.
 */
void
daemon_share_report(struct node *node)
{
	struct fdstore *store = &node->store.fds;
	int fd;

	if (node->opts.supervised < 0)
		return;
	fd = fdstore_take(store, STORED_REPORT);
	if (fd >= 0)
		report_replace(&node->images->report, fd);
	else if (node->images->report.fd >= 0)
		fdstore_put(store, STORED_REPORT, node->images->report.fd);
}

int
daemon_begin(struct node *node)
{
	struct inherited pages, targets;
	int r;

	umask(077);
	node_refcnt_remove_dead(node->refcnt);
	daemon_open_store(node);
	limit_pages(node);
	r = inherited_take(&pages, &targets, fdstore_inherit,
	    &node->store.fds);
	if (r < 0)
		return node_say("the sockets that were passed", r);
	daemon_share_report(node);
	takeover_node_begin(node);
	r = own_stream(node);
	if (r < 0)
		return node_say(DAEMON_OWN_STREAM, r);
	r = listen_somewhere(node, &pages, &targets);
	if (r < 0)
		return r;
	r = watch_signals(node);
	if (r < 0)
		return node_say("signals", r);
	listings_begin(node);
	takeover_targets(node);
	r = hello_start(node->hello);
	if (r < 0)
		return node_say("the thread that answers targets", r);
	if (geteuid() == 0)
		fprintf(stderr, "pageknode: root is not needed; any user can "
		    "run it\n");
	fprintf(stderr, "pageknode: listening at %s\n",
	    base_shown(node->serve->path));
	fdstore_insist(&node->store.fds, "READY=1");
	return 0;
}

void
daemon_close(struct node *node)
{
	struct daemon *d = node->daemon;

	/* A second ^C must not interrupt our end. */
	if (d->watching) {
		uv_close((uv_handle_t *)&d->interrupt, NULL);
		signal(SIGINT, SIG_IGN);
	}
	if (d->above != NULL) {
		uv_poll_stop(d->above);
		uv_close((uv_handle_t *)d->above, on_above_closed);
	}
	d->above = NULL;
	d->watching = false;
	node->own_stream = NULL;
	/* The lock file stays: it could be another node's by now. */
	if (d->lock_fd > 0)
		close(d->lock_fd);
	d->lock_fd = 0;
}
