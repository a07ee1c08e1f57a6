/*
 * pagek-levels has the capabilities, so that its reader needs none.  It is
 * killed when the counts are closed; where the kernel takes its time to end
 * it, it is reaped the next time.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/base.h"
#include "ebpf/ebpf.h"
#include "stress.h"

/*
 * For a reader that does not wait, which has other sources; and for one that waits.  It
 * usually takes some tenths of a second, and minutes on an emulated machine that is
 * starved.
 */
#define LOAD_MS 10000
#define WAIT_MS 300000
#define PROCESSORS_MAX 8192
/* The file of a folder with copies. */
#define COPY "ebpf/counts"

_Static_assert(EBPF_LEVELS == STRESS_LEVELS && EBPF_FAILURES == STRESS_FAILURES,
    "the same levels and failures");

struct stress_ebpf {
	const char *root;		/* the caller's; "": this machine */
	pid_t child;			/* 0: none */
	int socket;			/* to it, or -1 */
	struct mono begun;
	size_t processors, zones;
	struct ebpf_counts *counts;	/* NULL: it has not answered */
	size_t bytes;
};

static int
start(struct stress_ebpf *e, const char *program)
{
	char name[PATH_MAX], *argv[] = { name, NULL }, *env[] = { NULL };
	int ends[2], err;

	snprintf(name, sizeof name, "%s", program);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	err = base_spawn(&e->child, argv, env, ends[1], -1);
	close(ends[1]);
	if (err < 0) {
		e->child = 0;
		close(ends[0]);
		return err;
	}
	e->socket = ends[0];
	return 0;
}

/* Returns the descriptor that came with the message, or -1. */
static int
descriptor_of(struct msghdr *m)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
	    c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof fd))
			memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

static int
receive(int socket, struct ebpf_reply *reply, int *fd)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof *fd)];
	} control = { 0 };
	struct iovec data = { reply, sizeof *reply };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof control };
	ssize_t n;

	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*fd = descriptor_of(&m);
	if (n != (ssize_t)sizeof *reply) {
		if (*fd >= 0)
			close(*fd);
		return -EPIPE;
	}
	reply->why[sizeof reply->why - 1] = '\0';
	return 0;
}

static int
map_counts(struct stress_ebpf *e, const struct ebpf_reply *reply, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *counts;

	if (fd < 0 || reply->processors == 0 ||
	    reply->processors > PROCESSORS_MAX)
		return -EBADMSG;
	e->processors = reply->processors;
	e->zones = reply->zones;
	e->bytes = (e->processors * sizeof e->counts[0] + page - 1) / page * page;
	counts = mmap(NULL, e->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return -errno;
	e->counts = counts;
	return 0;
}

static void
say_refusal(const char *text, char why[STRESS_WHY])
{
	base_safe_text(why, STRESS_WHY, text, strlen(text), true);
}

/* 0: it counts; -EAGAIN: it loads its programs. */
static int
take_answer(struct stress_ebpf *e, bool wait, char why[STRESS_WHY])
{
	struct pollfd p = { .fd = e->socket, .events = POLLIN };
	struct ebpf_reply reply;
	int fd = -1, r, err;
	int64_t left;

	do {
		left = (wait ? WAIT_MS : LOAD_MS) - mono_ms_since(e->begun);
		r = poll(&p, 1, wait && left > 0 ? (int)left : 0);
	} while (r < 0 && errno == EINTR && left > 0);
	if (r < 0)
		return -errno;
	if (r == 0 && left > 0 && !wait)
		return -EAGAIN;
	err = r == 0 ? -ETIMEDOUT : receive(e->socket, &reply, &fd);
	if (err < 0) {
		snprintf(why, STRESS_WHY, "no eBPF: pagek-levels: %s",
		    err == -EPIPE ? "it ended" : strerror(-err));
		return err;
	}
	err = map_counts(e, &reply, fd);
	if (fd >= 0)
		close(fd);
	if (err < 0)
		say_refusal(reply.why[0] != '\0' ? reply.why : strerror(-err), why);
	return err;
}

/* Lines "level_N count" and "failed_N count", N from 1. */
static int
read_copy(const struct stress_ebpf *e, struct stress_ebpf_counts *out)
{
	char text[1024], key[16];
	size_t len;
	int err = stress_read_file(e->root, COPY, text, sizeof text, &len);

	if (err < 0)
		return err;
	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		snprintf(key, sizeof key, "level_%zu", i + 1);
		out->known[i] = stress_read_key(text, len, key, &out->level[i]);
	}
	for (size_t i = 0; i < STRESS_FAILURES; i++) {
		snprintf(key, sizeof key, "failed_%zu", i + 1);
		(void)stress_read_key(text, len, key, &out->failed[i]);
	}
	(void)stress_read_key(text, len, "missed", &out->missed);
	return 0;
}

int
stress_ebpf_open(struct stress_ebpf **out, const char *root, const char *program,
    char why[STRESS_WHY])
{
	struct stress_ebpf *e = calloc(1, sizeof *e);
	struct stress_ebpf_counts none;
	int err;

	if (e == NULL)
		return -ENOMEM;
	e->root = root;
	e->socket = -1;
	e->begun = mono_now();
	base_reap(0);
	err = root[0] != '\0' ? read_copy(e, &none) : program == NULL ? -ENOENT :
	    start(e, program);
	if (err < 0) {
		snprintf(why, STRESS_WHY, root[0] != '\0' ?
		    "no eBPF: cannot read %s/" COPY ": %s" :
		    "no eBPF: cannot run %s: %s", root[0] != '\0' ? root :
		    program == NULL ? "pagek-levels" : program, strerror(-err));
		free(e);
		return err;
	}
	*out = e;
	return 0;
}

int
stress_ebpf_read(struct stress_ebpf *e, bool wait, struct stress_ebpf_counts *out,
    char why[STRESS_WHY])
{
	struct pollfd end = { .fd = e->socket, .events = POLLIN };
	int err = 0;

	*out = (struct stress_ebpf_counts){ 0 };
	if (e->root[0] != '\0') {
		err = read_copy(e, out);
	} else if (e->counts == NULL) {
		err = take_answer(e, wait, why);
		if (err < 0)
			return err;
	} else if (poll(&end, 1, 0) > 0) {
		err = -EPIPE;
	}
	if (err < 0) {
		snprintf(why, STRESS_WHY, "no eBPF any more: %s", err == -EPIPE ?
		    "pagek-levels has ended" : strerror(-err));
		return err;
	}
	for (size_t i = 0; i < e->processors; i++) {
		for (size_t k = 0; k < STRESS_LEVELS; k++)
			out->level[k] += __atomic_load_n(
			    &e->counts[i].level[k], __ATOMIC_RELAXED);
		for (size_t k = 0; k < STRESS_FAILURES; k++)
			out->failed[k] += __atomic_load_n(
			    &e->counts[i].failed[k], __ATOMIC_RELAXED);
		out->missed += __atomic_load_n(&e->counts[i].missed,
		    __ATOMIC_RELAXED);
	}
	for (size_t k = 0; k < STRESS_LEVELS && e->counts != NULL; k++)
		out->known[k] = e->zones > 0 || (k != 1 && k != 2);
	return 0;
}

void
stress_ebpf_close(struct stress_ebpf *e)
{
	if (e == NULL)
		return;
	if (e->socket >= 0)
		close(e->socket);
	if (e->counts != NULL)
		munmap(e->counts, e->bytes);
	if (e->child != 0) {
		kill(e->child, SIGKILL);
		base_reap(e->child);
	}
	free(e);
}
