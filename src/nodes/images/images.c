#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../arrivals/arrivals.h"
#include "../host/proc.h"
#include "../keeper/counting.h"
#include "../keeper/node.h"
#include "../recorder/recorder.h"
#include "../self_watch/self_watch.h"
#include "images.h"

#define SILENT_MS 1000		/* after this silence of its rings, an image is looked for */
#define FULL_LOOK_MS 8000	/* ... in its maps, at most this often */
#define JOIN_MS 1000		/* for taking the rings; a target waits 50 ms */
#define MODULES_MS 10000	/* between readings of a busy target's module table */
#define SCAN_MAX 1024		/* processes of the tree that a scan takes in */
#define NO_DATA_MAX 256		/* rows for them */
/* With --no-pairs each event counts, so each process must be found: */
#define SCAN_MS 100		/* between two scans then ... */
#define SCAN_SHARE 20		/* ... which take a twentieth of the time at most */
#define SETTLED_MS 500		/* a process this old would have said hello */
#define RING_NAME "memfd:" RING_AREA_NAME	/* in /proc/PID/maps */
#define UNSEEN_NAME "memfd:" RING_UNSEEN_NAME
#define UNSEEN_ROWS 64		/* that one look may add; others are counted */

_Static_assert(QUOTA_TARGETS >= 2 * NODE_TARGETS_MAX, "a place for each");

static void
join_live(struct keeper *k)
{
	TAILQ_INSERT_TAIL(&k->node->live, k, link);
	if (k->image.pid != 0 && k->life.state != WIRE_S_NO_DATA) {
		quota_count(k);
		self_watch_app(k->node, SELF_MEMB);
	}
	visits_join(k);
}

int
images_join(struct keeper *k, const char *name)
{
	struct node *node = k->node;
	int r;

	while ((r = dstrm_add(&node->dstrm, name, k, &k->index)) == -ENOSPC &&
	    images_make_room(node))
		continue;
	if (r < 0)
		return r;
	join_live(k);
	return 0;
}

static bool
reaps_for_us(const struct node *node, pid_t parent)
{
	return node->opts.argv != NULL && !node->command.unsupervised &&
	    parent == node->command.parent;
}

bool
images_is_reaped_for_us(const struct node *node, pid_t pid)
{
	pid_t parent;

	return proc_parent(pid, &parent) == 0 && reaps_for_us(node, parent);
}

static void
on_death_closed(uv_handle_t *handle)
{
	struct keeper *k = handle->data;

	free(handle);
	close(k->process.pidfd);
	k->process.pidfd = -1;
	keeper_unref(k);
}

static void
stop_watching(struct keeper *k)
{
	if (k->process.death == NULL) {
		if (k->process.pidfd >= 0)
			close(k->process.pidfd);
		k->process.pidfd = -1;
		return;
	}
	uv_close((uv_handle_t *)k->process.death, on_death_closed);
	k->process.death = NULL;
}

static void adopt_images_of(struct node *, pid_t);
static void check_ended(struct node *, pid_t, const struct proc_last *);

static void
on_death(uv_poll_t *death, int status, int events)
{
	struct keeper *k = death->data;
	struct node *node = k->node;
	pid_t pid = k->image.pid;
	struct proc_last last;
	bool there;

	(void)status;
	(void)events;
	/*
	 * Its next image may have arrived and ended.  Only images of this process
	 * are adopted: among many arrivals no end would ever be seen.
	 */
	adopt_images_of(node, pid);
	if (!keeper_is_live(k))
		return;
	there = proc_last(pid, &last) == 0;
	/* The supervisor will tell its status. */
	if (there && reaps_for_us(node, last.ppid)) {
		uv_poll_stop(death);
		return;
	}
	check_ended(node, pid, there ? &last : NULL);
	/* Ends that image, or the row of the program that replaced it. */
	images_reaped(node, pid, -1);
	node_check_done(node);
}

static void
watch_death(struct keeper *k)
{
	uv_poll_t *death;

	if (k->process.pidfd < 0)
		return;
	death = calloc(1, sizeof *death);
	if (death == NULL ||
	    uv_poll_init(k->node->loop, death, k->process.pidfd) < 0) {
		free(death);
		return;
	}
	death->data = k;
	k->process.death = death;
	keeper_ref(k);
	uv_poll_start(death, UV_READABLE, on_death);
}

void
images_end_image(struct keeper *k, enum wire_state state, int32_t status,
    const char *reason)
{
	struct node *node = k->node;
	bool had_stream = k->life.state != WIRE_S_NO_DATA;
	bool stays = had_stream || k->missed;

	if (!keeper_is_live(k))
		return;
	stop_watching(k);
	quota_uncount(k);
	if (had_stream)
		keeper_end(k, state, status, reason);
	else
		keeper_end(k, WIRE_S_NO_DATA, status, NULL);
	TAILQ_REMOVE(&node->live, k, link);
	if (!stays) {
		images_forget_row(k);
		keeper_unref(k);
		return;
	}
	images_put_ended(k);
	images_shelve(k);
	if (k->image.pid != 0) {
		report_image(&node->images->report, k);
		takeover_node_ended(node);
	}
	images_trim(node);
}

static bool
is_dead(const struct keeper *k)
{
	struct pollfd p = { .fd = k->process.pidfd, .events = POLLIN };

	return k->process.pidfd >= 0 && poll(&p, 1, 0) > 0;
}

static struct keeper *
find_live(struct node *node, pid_t pid)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->image.pid == pid)
			return k;
	return NULL;
}

/* The last ended image of the process; or NULL. */
static struct keeper *
find_ended(struct node *node, pid_t pid)
{
	struct keeper *k;

	TAILQ_FOREACH_REVERSE(k, &node->images->ended, keepers, link)
		if (k->image.pid == pid)
			return k;
	return NULL;
}

void
images_reaped(struct node *node, pid_t pid, int32_t status)
{
	struct keeper *k = find_live(node, pid);

	if (k != NULL)
		images_end_image(k, WIRE_S_ENDED, status, NULL);
}

void
images_end_dead(struct node *node)
{
	struct keeper *k, *next;

	images_adopt_all(node);
	for (k = TAILQ_FIRST(&node->live); k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		if (is_dead(k))
			images_end_image(k, WIRE_S_ENDED, -1, NULL);
	}
}

void
images_end_all(struct node *node, bool gone)
{
	struct keeper *k;

	images_adopt_all(node);
	if (gone)
		executions_check(node, true);
	while ((k = TAILQ_FIRST(&node->live)) != NULL) {
		if (!gone && !is_dead(k))
			keeper_set_doubt(k, STREAM_DOUBT_CUT_SHORT);
		images_end_image(k, WIRE_S_ENDED, -1, gone ? NULL :
		    "the node was told to end");
	}
}

/* A target that records stacks sends its modules, so the table is read only on demand. */
static void
find_modules(struct keeper *k, struct keeper *parent)
{
	bool known = k->modules.table != NULL ||	/* read at its hello */
	    k->node->opts.stack != 0;

	/* If a worker holds the parent's table, the child reads its own. */
	if (!known && parent != NULL &&
	    pthread_mutex_trylock(&parent->modules.lock) == 0) {
		known = parent->modules.table != NULL &&
			symbol_modules_copy(
			    parent->modules.table, &k->modules.table) == 0;
		pthread_mutex_unlock(&parent->modules.lock);
	}
	if (!known)
		modules_refresh(k);
	k->visits.modules_ms = mono_ms(mono_now());
}

/*
 * The parent that a forked image names.  To protect the lists of others, both
 * must be of one user, or the kernel must confirm it for a parent that lives.
 */
static struct keeper *
parent_of(struct node *node, const struct keeper *k)
{
	struct keeper *parent = k->image.origin == IMAGE_FORKED &&
	    k->image.parent != 0 ? images_find(node, k->image.parent) : NULL;

	if (parent == NULL || parent == k ||
	    (parent->image.uid != k->image.uid &&
		(parent->image.pid != k->image.ppid ||
		    !keeper_is_live(parent) || is_dead(parent))))
		return NULL;
	return parent;
}

static bool
is_unjoined(const struct keeper *k)
{
	return keeper_is_live(k) && k->feed != NULL &&
	    !stream_feed_counts(k->feed)->joined;
}

/* A row with the reason replaces it: it is one image, and one line. */
static void
drop_unjoined(struct keeper *k)
{
	stop_watching(k);
	quota_uncount(k);
	keeper_end(k, WIRE_S_NO_DATA, -1, NULL);
	TAILQ_REMOVE(&k->node->live, k, link);
	images_forget_row(k);
	keeper_unref(k);
}

/* False: its image is not there any more, and has its line. */
static bool
replace_unmapped(struct node *node, const struct keeper *k)
{
	struct keeper *before;

	if (k->image.parent == 0)
		return true;
	before = images_find(node, k->image.parent);
	if (before == NULL || before->image.pid != k->image.pid ||
	    !is_unjoined(before))
		return false;
	drop_unjoined(before);
	return true;
}

static pid_t
starter_of(const struct keeper *k)
{
	return k->image.starter != 0 ? k->image.starter : k->image.ppid;
}

/*
 * A scan saw it before its hello, or it said that it needs no rings before it
 * used the API: it is one image, and one line.
 */
static void
forget_if_same(struct keeper *before, const struct keeper *k)
{
	bool asked_for_none = before->image.origin == IMAGE_UNMAPPED &&
	    before->image.parent == 0;

	if ((before->image.arrival == 0 || (asked_for_none && !k->missed)) &&
	    before->life.state == WIRE_S_NO_DATA &&
	    before->image.exe_dev == k->image.exe_dev &&
	    before->image.exe_ino == k->image.exe_ino)
		before->missed = false;
}

/* By now it may have ended, or its process may run the next image. */
static void
adopt_missed(struct node *node, struct keeper *k)
{
	bool here = k->image.origin != IMAGE_UNMAPPED ||
	    replace_unmapped(node, k);
	struct keeper *now = find_live(node, k->image.pid), *parent;
	const struct keeper *ended = find_ended(node, k->image.pid);
	char name[DSTRM_NAME];

	/*
	 * images_check_ended() has seen its end before its hello, and added a
	 * row.
	 */
	if (!here || (now == NULL && ended != NULL && ended->missed &&
	    ended->image.arrival == 0 && ended->life.seen_before_hello)) {
		keeper_unref(k);
		return;
	}
	/* The process is gone: a child's first name was its parent's. */
	parent = parent_of(node, k);
	if (parent != NULL && strcmp(k->image.comm, "?") == 0)
		memcpy(k->image.comm, parent->image.comm, sizeof k->image.comm);
	if (parent != NULL)
		k->image.starter = parent->image.pid;
	snprintf(name, sizeof name, "NODATA.%s.%d", k->image.comm,
	    (int)k->image.pid);
	if (now != NULL && now->image.arrival < k->image.arrival) {
		forget_if_same(now, k);
		images_end_image(now, WIRE_S_EXECED, -1, NULL);
		now = NULL;
	}
	if (images_join(k, name) < 0) {
		report_image(&node->images->report, k);
		keeper_unref(k);
	} else if (now != NULL || k->process.pidfd < 0 || is_dead(k)) {
		images_end_image(k, WIRE_S_NO_DATA, -1, NULL);
	} else {
		watch_death(k);
	}
}

/* The process may have ended by now; its id may be another's. */
static bool
is_same_process(const struct keeper *before, const struct keeper *k)
{
	return before->image.start != 0 && k->image.start != 0 ?
	    before->image.start == k->image.start : !is_dead(before);
}

static void
adopt(struct node *node, struct keeper *k)
{
	struct keeper *before = find_live(node, k->image.pid), *parent = NULL;
	struct keeper *origin = before;
	bool forked = k->image.origin == IMAGE_FORKED;
	bool rejoined = k->image.origin >= IMAGE_REJOINED_DORMANT;
	char name[DSTRM_NAME];
	pid_t starter = before != NULL && is_same_process(before, k) ?
	    starter_of(before) : 0;
	bool continues;

	if (!forked)
		executions_arrived(node, k->image.pid);
	if (k->missed) {
		adopt_missed(node, k);
		return;
	}
	if (before != NULL)
		forget_if_same(before, k);
	if (rejoined)
		arming_rejoin(k, before);
	if (before != NULL)
		images_end_image(before, rejoined ||
		    !is_same_process(before, k) ?
		    WIRE_S_ENDED : WIRE_S_EXECED, -1, rejoined ?
		    "it registered again before its rings were read" : NULL);
	snprintf(name, sizeof name, "ALLOCLOG.%s.%d", k->image.comm,
	    (int)k->image.pid);
	if (images_join(k, name) < 0) {
		/* Without a row nobody drains it: reported as not watched. */
		quota_uncount(k);
		k->missed = true;
		report_image(&node->images->report, k);
		keeper_unref(k);
		return;
	}
	if (node->opts.check_list && keeper_check_list(k) < 0)
		snprintf(k->life.reason, sizeof k->life.reason,
		    "out of memory for the literal list: not checked");
	if (forked)
		origin = parent = parent_of(node, k);
	/* By its hello, the process that started it may have ended. */
	if (starter == 0 && parent != NULL)
		starter = parent->image.pid;
	takeover_write_starter(k, starter);
	continues = !rejoined && arming_join(k, origin);
	if (forked && continues)
		images_inherit(k, parent);
	counting_welcome(k);
	recorder_follow(k);
	watch_death(k);
	find_modules(k, parent);
}

static void
adopt_images_of(struct node *node, pid_t pid)
{
	struct keeper *k;

	while ((k = hello_take_image(node->hello, pid)) != NULL)
		adopt(node, k);
}

int
images_rejoin(struct keeper *k, uint32_t index, const char *name,
    const uint8_t epoch[WIRE_EPOCH])
{
	int r = dstrm_restore(&k->node->dstrm, index, name, epoch, k);

	if (r < 0) {
		keeper_unref(k);
		return r;
	}
	k->index = index;
	counting_welcome(k);
	join_live(k);
	if (k->arming.mode != ARMING_DORMANT)
		atomic_store(&k->node->life.awake, true);
	watch_death(k);
	if (k->process.pidfd >= 0)
		find_modules(k, NULL);
	return 0;
}

void
images_end_lost(struct node *node)
{
	struct keeper *k, *next;

	for (k = TAILQ_FIRST(&node->live); k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		if (k->feed != NULL && k->process.pidfd < 0)
			images_end_image(k, WIRE_S_ENDED, -1,
			    "it ended while the node restarted");
	}
}

static void adopt_unseen(struct node *);

void
images_adopt_all(struct node *node)
{
	uint64_t n = hello_waiting(node->hello);
	struct keeper *k;
	const char *why;

	/* Later arrivals wait for the next call, so that ended images get their turn. */
	while (n-- > 0 && (k = hello_take(node->hello)) != NULL) {
		adopt(node, k);
		visits_beat(node);
	}
	n = hello_take_missed(node->hello, &why);
	images_count_missed(node, n, why);
	adopt_unseen(node);
}

struct keeper *
images_find(struct node *node, uint64_t stream)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->stream == stream)
			return k;
	TAILQ_FOREACH(k, &node->images->ended, link)
		if (k->stream == stream)
			return k;
	return NULL;
}

unsigned
images_live(const struct node *node)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &node->live, link)
		n += k != node->own_stream;
	return n;
}

void
images_fini(struct node *node)
{
	struct keepers *lists[] = { &node->live, &node->images->ended };
	struct keeper *k;

	for (size_t i = 0; i < BASE_NELEM(lists); i++) {
		while ((k = TAILQ_FIRST(lists[i])) != NULL) {
			TAILQ_REMOVE(lists[i], k, link);
			images_unshelve(k);
			images_forget_row(k);
			keeper_unref(k);
		}
	}
}

/*
 * An exec of a program that takes no preload ends the image, and no hello
 * follows.  One call for /proc/PID/exe tells most cases; the same file run again
 * without our environment shows in its maps.
 */
static void
check_image(struct keeper *k, int64_t now)
{
	struct proc_image image;
	uint64_t dev, ino;

	if (k->image.pid == 0 || k->life.state == WIRE_S_NO_DATA ||
	    now - k->visits.silent_since_ms < SILENT_MS)
		return;
	if (proc_exe(k->image.pid, &dev, &ino) == 0 &&
	    dev == k->image.exe_dev && ino == k->image.exe_ino &&
	    now - k->visits.looked_ms < FULL_LOOK_MS)
		return;
	k->visits.looked_ms = now;
	/* A process without a program is ending or in exec(2). */
	if (proc_image(k->image.pid, &image) < 0 || image.program == 0 ||
	    proc_maps_has(k->image.pid, RING_NAME) != 0 ||
	    !proc_image_stays(k->image.pid, &image) || is_dead(k))
		return;
	images_end_image(k, WIRE_S_EXECED, -1,
	    "it has executed a program without a stream");
}

static void
refresh_modules(struct keeper *k, int64_t now)
{
	if (k->feed == NULL ||
	    k->visits.silent_since_ms <= k->visits.modules_ms)
		return;
	/* Often after its start, when libraries are loaded, and seldom later. */
	if (now - k->visits.modules_ms < MODULES_MS &&
	    now - k->visits.joined_ms > 3000)
		return;
	k->visits.modules_ms = now;
	modules_refresh(k);
}

struct known {
	pid_t pid;
	bool has_stream;
	uint64_t arrival, exe_dev, exe_ino;
};

struct found {
	pid_t pid, ppid, starter;
	uint64_t start;		/* of the process; 0: not known */
	uint64_t arrival;	/* of its image that has ended; 0: it had no row */
	bool unseen;		/* it has left a word, or was counted */
	char comm[16];
	char why[128];
};

struct scan {
	uv_work_t work;
	struct node *node;
	pid_t top;			/* the parent of the command */
	uint64_t top_program;		/* 0: not known */
	struct mono begun;
	int64_t begun_ms;		/* by the wall clock */
	struct known known[SCAN_MAX];	/* those with a row, ascending */
	size_t nknown;
	struct found found[NO_DATA_MAX];
	size_t n;
};

static int
by_pid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static bool
is_settled(uint64_t start_ticks)
{
	struct timespec now;
	uint64_t ms;

	clock_gettime(CLOCK_BOOTTIME, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	return start_ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK) +
	    SETTLED_MS < ms;
}

static bool
runs_another_file(pid_t pid, const struct known *known)
{
	uint64_t dev, ino;

	return known->has_stream && proc_exe(pid, &dev, &ino) == 0 &&
	    (dev != known->exe_dev || ino != known->exe_ino);
}

/* True for a child of the supervisor that has not executed the command yet. */
static bool
is_before_command(const struct scan *s, const struct proc_image *image)
{
	return image->ppid == s->top && !image->execed &&
	    image->program == s->top_program;
}

/*
 * Finds a program that cannot say hello, or that had time for it and did not.  A process
 * in exec(2), or one that is ending, looks like such a program.
 */
static void
check_process(struct scan *s, pid_t pid)
{
	const struct known *known = bsearch(&pid, s->known, s->nknown,
	    sizeof s->known[0], by_pid);
	struct found *f = &s->found[s->n];
	struct proc_image image;

	if (known != NULL && !runs_another_file(pid, known))
		return;
	if (proc_image(pid, &image) < 0 || is_before_command(s, &image) ||
	    ((known != NULL || !is_settled(image.start)) &&
	    !proc_takes_no_preload(pid)))
		return;
	/* A forked child with its parent's mapping; it says hello at its first event. */
	if (proc_maps_has(pid, RING_NAME) > 0)
		return;
	*f = (struct found){ .pid = pid, .ppid = image.ppid,
		.start = image.start,
		.arrival = known != NULL ? known->arrival : 0,
		.unseen = proc_maps_has(pid, UNSEEN_NAME) > 0 };
	memcpy(f->comm, image.comm, sizeof f->comm);
	proc_why_no_data(pid, f->why, sizeof f->why);
	if (proc_image_stays(pid, &image))
		s->n++;
}

static void
scan_work(uv_work_t *work)
{
	struct scan *s = work->data;
	pid_t queue[SCAN_MAX], self = getpid();
	struct proc_image top;
	size_t head = 0, tail = 0;

	if (proc_image(s->top, &top) == 0)
		s->top_program = top.program;
	queue[tail++] = s->top;
	while (head < tail && s->n < NO_DATA_MAX) {
		pid_t pid = queue[head++];

		if (pid == self)
			continue;
		if (pid != s->top)
			check_process(s, pid);
		tail += proc_children(pid, queue + tail, SCAN_MAX - tail);
	}
}

static struct keeper *
add_no_data(struct node *node, const struct found *f)
{
	struct keeper *k;
	char name[DSTRM_NAME];

	executions_arrived(node, f->pid);
	if (keeper_new(&k, node, &(struct keeper_opts){ .no_list = true },
	    NULL) < 0)
		return NULL;
	k->image.pid = f->pid;
	k->image.ppid = f->ppid;
	k->image.starter = f->starter;
	k->image.start = f->start;
	k->missed = true;
	proc_uid(k->image.pid, &k->image.uid);
	proc_exe(k->image.pid, &k->image.exe_dev, &k->image.exe_ino);
	base_safe_text(k->image.comm, sizeof k->image.comm, f->comm,
	    strlen(f->comm), false);
	snprintf(k->life.reason, sizeof k->life.reason, "%s", f->why);
	snprintf(name, sizeof name, "NODATA.%s.%d", k->image.comm,
	    (int)k->image.pid);
	if (images_join(k, name) < 0) {
		keeper_unref(k);
		return NULL;
	}
	return k;
}

static struct keeper *
watch_no_data(struct node *node, const struct found *f)
{
	int pidfd = (int)syscall(SYS_pidfd_open, f->pid, 0);
	struct keeper *k = pidfd >= 0 ? add_no_data(node, f) : NULL;

	if (k == NULL) {
		if (pidfd >= 0)
			close(pidfd);
		return NULL;
	}
	k->process.pidfd = pidfd;
	watch_death(k);
	return k;
}

/* Adds a row for an ended image, or counts the image if there is no room for a row. */
static void
add_ended(struct node *node, const struct found *f)
{
	struct keeper *k = add_no_data(node, f);

	if (k != NULL)
		images_end_image(k, WIRE_S_NO_DATA, -1, NULL);
	else
		images_count_missed(node, 1, f->why);
}

/* It was welcomed and has not told why its rings are not mapped. */
static void
check_joined(struct keeper *k, int64_t now)
{
	struct node *node = k->node;
	struct found f = { .pid = k->image.pid, .ppid = k->image.ppid,
		.why = "it did not map its rings; why is not known" };

	/* on_death() adds the line of a dead process. */
	if (!is_unjoined(k) || is_dead(k) ||
	    now - k->visits.joined_ms <= JOIN_MS)
		return;
	snprintf(f.comm, sizeof f.comm, "%.15s", k->image.comm);
	drop_unjoined(k);
	if (watch_no_data(node, &f) == NULL)
		add_ended(node, &f);
}

/*
 * Adds a row for a child that could not say hello.  If the child has ended, or
 * runs another program that could say hello, the row ends at once.
 */
static void
add_unseen(struct node *node, const struct unseen_process *u)
{
	struct found f = { .pid = u->pid, .ppid = u->ppid };
	struct keeper *now = find_live(node, u->pid), *k;
	const struct keeper *parent = find_live(node, u->ppid);
	bool stays;

	/* The process could not map its rings and could not connect again to report that. */
	if (now != NULL && now->image.origin == IMAGE_FORKED) {
		keeper_pass(now, mono_ms(mono_now()));
		if (is_unjoined(now)) {
			drop_unjoined(now);
			now = NULL;
		}
	}
	stays = now == NULL && (proc_maps_has(u->pid, UNSEEN_NAME) > 0 ||
	    images_is_reaped_for_us(node, u->pid));

	if (parent == NULL)
		parent = find_ended(node, u->ppid);
	/* The process is gone: a child's first name was its parent's. */
	if (!stays || proc_comm(u->pid, f.comm) < 0)
		snprintf(f.comm, sizeof f.comm, "%.15s",
		    parent != NULL ? parent->image.comm : "?");
	snprintf(f.why, sizeof f.why, "%s", u->why);
	k = add_no_data(node, &f);
	if (k == NULL) {
		images_count_missed(node, 1, f.why);
		return;
	}
	/* It is no program that was seen before its hello. */
	k->image.exe_dev = k->image.exe_ino = 0;
	if (stays)
		k->process.pidfd = (int)syscall(SYS_pidfd_open, u->pid, 0);
	if (k->process.pidfd >= 0)
		watch_death(k);
	else
		images_end_image(k, WIRE_S_NO_DATA, -1, NULL);
}

static void
adopt_unseen(struct node *node)
{
	struct unseen *unseen = &node->hello->unseen;
	struct unseen_process u;

	if (!unseen_changed(unseen))
		return;
	for (unsigned n = 0; unseen_take(unseen, &u); n++) {
		if (n < UNSEEN_ROWS)
			add_unseen(node, &u);
		else
			images_count_missed(node, 1, u.why);
	}
}

/*
 * True if an image of the process has ended since the scan began.  It is the image that
 * the scan has found, unless that one came after an image with a stream.
 */
static bool
has_ended_row(struct node *node, const struct scan *s, const struct found *f)
{
	const struct keeper *ended = find_ended(node, f->pid);

	return ended != NULL && ended->life.ended_ms >= s->begun_ms &&
	    (f->arrival == 0 || ended->image.arrival != f->arrival);
}

/*
 * A process that was only counted has a row from now on; unseen_pair() stops
 * counting it.
 */
static void
add_found(struct node *node, const struct found *f)
{
	struct keeper *k = watch_no_data(node, f);
	bool gone = k == NULL;
	const char *why;

	if (gone)
		k = add_no_data(node, f);
	if (k == NULL) {
		images_count_missed(node, 1, f->why);
		return;
	}
	why = f->unseen ? unseen_pair(&node->hello->unseen) : NULL;
	if (why != NULL)
		snprintf(k->life.reason, sizeof k->life.reason, "%s", why);
	if (gone)
		images_end_image(k, WIRE_S_NO_DATA, -1, NULL);
}

void
images_add_gone(struct node *node, pid_t pid, const char *comm, const char *why)
{
	struct found f = { .pid = pid };

	snprintf(f.comm, sizeof f.comm, "%.15s", comm);
	snprintf(f.why, sizeof f.why, "%s", why);
	add_ended(node, &f);
}

static const char NO_STREAM[] =
    "it has executed a program without a stream";
static const char ENDED_AS_OTHER[] =
    "it ran as another user, who cannot reach the node, and ended before it "
    "was seen";

static const char ENDED_UNHEARD[] =
    "it did not register: perhaps the node did not answer it within 50 ms";

static const char ENDED_RENAMED[] =
    "it ended under another name: perhaps a program that did not register";

static const char ENDED_REAPED[] =
    "its parent reaped it before its end was seen: perhaps a program that did "
    "not register";

/*
 * For a process without a live image.  One that only forked, and said no hello,
 * had no blocks of its own.
 */
static const char *
why_not_seen(struct node *node, pid_t pid, const struct proc_last *last)
{
	const struct keeper *k = find_ended(node, pid);

	/* The processes register with another node. */
	if (node->opts.hello != NULL)
		return NULL;
	if (k != NULL && k->image.start != 0 && k->image.start != last->start)
		k = NULL;
	if (k != NULL ? k->life.state != WIRE_S_EXECED : !last->execed)
		return NULL;
	if (k == NULL && pid == node->command.root)
		return node->command.takes_none != NULL ?
		    node->command.takes_none : ENDED_UNHEARD;
	return IMAGES_NOT_SEEN;
}

/*
 * Returns why it ran another program after this image, or NULL if it did not.
 * The kernel tells that of a forked image.  Of other images only name and user
 * are left: if both differ, it ran another program.  If only the name differs
 * and the image has not called exit(3), it may have run another program, which
 * counts if each process must be found.
 */
static const char *
why_ran_another(const struct keeper *k, const struct proc_last *last)
{
	char comm[KEEPER_TEXT];
	uid_t uid;

	if (k->life.state == WIRE_S_NO_DATA ||
	    (k->image.origin == IMAGE_FORKED && !last->execed))
		return NULL;
	base_safe_text(comm, sizeof comm, last->comm, strlen(last->comm), false);
	if (strcmp(comm, k->image.comm) != 0 &&
	    proc_uid(k->image.pid, &uid) == 0 && uid != k->image.uid)
		return ENDED_AS_OTHER;
	if (k->image.origin == IMAGE_FORKED)
		return IMAGES_NOT_SEEN;
	return k->node->opts.no_pairs && strcmp(comm, k->image.comm) != 0 &&
	    (k->feed == NULL || !stream_feed_has_exited(k->feed)) ?
	    ENDED_RENAMED : NULL;
}

/* False also if the kernel does not tell. */
static bool
has_called_exit(const struct keeper *k)
{
	int status;

	return proc_reaped_status(k->process.pidfd, &status) == 0 &&
	    WIFEXITED(status);
}

/*
 * Its parent has reaped it already.  A forked image may have run a program that
 * cannot register.  An image that exec(2) made is believed to have ended if it was
 * killed, as many are, and one in a sandbox always, for it does not tell of its
 * _exit(2).
 */
static void
check_reaped(struct keeper *k)
{
	struct node *node = k->node;
	struct found f = { .pid = k->image.pid, .ppid = k->image.ppid };

	if (!node->opts.no_pairs ||
	    (k->image.origin != IMAGE_FORKED && !has_called_exit(k)) ||
	    k->life.state == WIRE_S_NO_DATA || k->feed == NULL ||
	    stream_feed_has_exited(k->feed) || !k->sandbox.known ||
	    k->sandbox.at_hello != 0 || k->sandbox.locked)
		return;
	/* A pass finds out if it has mapped its rings. */
	keeper_pass(k, mono_ms(mono_now()));
	if (k->feed == NULL || is_unjoined(k))
		return;
	snprintf(f.comm, sizeof f.comm, "%.15s", k->image.comm);
	snprintf(f.why, sizeof f.why, "%s", ENDED_REAPED);
	images_end_image(k, WIRE_S_ENDED, -1, NULL);
	if (add_no_data(node, &f) == NULL)
		images_count_missed(node, 1, f.why);
}

/* last: NULL if it has been reaped. */
static void
check_ended(struct node *node, pid_t pid, const struct proc_last *last)
{
	struct keeper *k = find_live(node, pid);
	struct found f = { .pid = pid };
	const char *why;

	if (last == NULL) {
		if (k != NULL)
			check_reaped(k);
		return;
	}
	why = k != NULL ? why_ran_another(k, last) :
	    why_not_seen(node, pid, last);
	if (why == NULL)
		return;
	f.ppid = last->ppid;
	f.starter = k != NULL ? starter_of(k) : 0;
	f.start = last->start;
	if (k != NULL)
		images_end_image(k, WIRE_S_EXECED, -1, NO_STREAM);
	memcpy(f.comm, last->comm, sizeof f.comm);
	snprintf(f.why, sizeof f.why, "%s", why);
	k = add_no_data(node, &f);
	if (k != NULL)
		k->life.seen_before_hello = true;
	else
		images_count_missed(node, 1, why);
}

void
images_check_ended(struct node *node, pid_t pid)
{
	struct proc_last last;

	check_ended(node, pid, proc_last(pid, &last) == 0 ? &last : NULL);
}

/* The live row may be that of the image that has ended. */
static void
take_found(struct node *node, const struct scan *s, const struct found *f)
{
	struct keeper *now = find_live(node, f->pid);
	struct found another = *f;

	if (now != NULL && f->arrival != 0 && now->image.arrival == f->arrival) {
		another.starter = starter_of(now);
		images_end_image(now, WIRE_S_EXECED, -1, NO_STREAM);
		now = NULL;
	}
	if (now == NULL && !has_ended_row(node, s, f))
		add_found(node, &another);
}

static void on_scan(uv_timer_t *);

static void
scan_done(uv_work_t *work, int status)
{
	struct scan *s = work->data;
	struct node *node = s->node;
	uint64_t took = (uint64_t)mono_ms_since(s->begun);

	node->images->scanning = false;
	if (status == 0 && !node->life.closing) {
		images_adopt_all(node);
		for (size_t i = 0; i < s->n; i++)
			take_found(node, s, &s->found[i]);
		executions_check(node, false);
		if (node->opts.no_pairs)
			uv_timer_start(&node->images->scan, on_scan,
			    took * SCAN_SHARE > SCAN_MS ? took * SCAN_SHARE :
			    SCAN_MS, 0);
	}
	free(s);
}

static void
scan_start(struct node *node)
{
	struct scan *s;
	struct keeper *k;

	if (node->images->scanning || node->opts.argv == NULL ||
	    node->command.ended || node->command.unsupervised)
		return;
	s = calloc(1, sizeof *s);
	if (s == NULL)
		return;
	s->node = node;
	s->begun = mono_now();
	s->begun_ms = base_wall_ms();
	s->top = node->command.parent;
	s->work.data = s;
	TAILQ_FOREACH(k, &node->live, link)
		if (s->nknown < SCAN_MAX)
			s->known[s->nknown++] = (struct known){
				.pid = k->image.pid,
				.has_stream = k->life.state != WIRE_S_NO_DATA,
				.arrival = k->image.arrival,
				.exe_dev = k->image.exe_dev,
				.exe_ino = k->image.exe_ino };
	qsort(s->known, s->nknown, sizeof s->known[0], by_pid);
	node->images->scanning = uv_queue_work(node->loop, &s->work, scan_work,
	    scan_done) == 0;
	if (!node->images->scanning)
		free(s);
}

static void
on_scan(uv_timer_t *timer)
{
	scan_start(timer->data);
}

void
images_begin(struct node *node)
{
	node->images->scan.data = node;
	uv_timer_init(node->loop, &node->images->scan);
	if (node->opts.no_pairs)
		uv_timer_start(&node->images->scan, on_scan, SCAN_MS, 0);
}

void
images_close(struct node *node)
{
	uv_close((uv_handle_t *)&node->images->scan, NULL);
	executions_close(node);
}

void
images_second(struct node *node)
{
	int64_t now = mono_ms(mono_now());
	struct keeper *k, *next;

	for (k = TAILQ_FIRST(&node->live); k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		refresh_modules(k, now);
		sandbox_look(k);
		check_image(k, now);
		if (keeper_is_live(k))
			check_joined(k, now);
	}
	arming_second(node, now);
	images_forget_old(node);
	scan_start(node);
}
