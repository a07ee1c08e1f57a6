#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../keeper/node.h"
#include "recorder.h"

#define FINISH_MS 10000		/* for what waits when a recording ends */
#define ALONE_MS 1000		/* for an image that follows the last one */
#define KEEP_FREE 10		/* percent of the disk that a recording leaves */

static void
drop_offer(struct recorder_offer *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

/* A free place, or that of the user's oldest offer; NULL: all are others'. */
static struct recorder_offer *
offer_place(struct recorder *r, uid_t uid, int64_t now)
{
	struct recorder_offer *own = NULL, *place = NULL;

	for (unsigned i = 0; i < RECORDER_OFFERS; i++) {
		struct recorder_offer *o = &r->offer[i];

		if (o->fd >= 0 && now - o->at_ms > RECORDER_OFFER_MS)
			drop_offer(o);
		if (o->fd < 0)
			place = o;
		else if (o->uid == uid && (own == NULL || o->at_ms < own->at_ms))
			own = o;
	}
	return place != NULL ? place : own;
}

void
recorder_offer(struct node *node, int fd, uid_t uid,
    const struct file_offer *offer)
{
	struct recorder *r = node->recorder;
	int64_t now = mono_ms(mono_now());
	struct recorder_offer *o;

	pthread_mutex_lock(&r->lock);
	o = offer_place(r, uid, now);
	if (o != NULL) {
		drop_offer(o);
		*o = (struct recorder_offer){ .fd = fd, .uid = uid,
			.at_ms = now };
		memcpy(o->token, offer->token, sizeof o->token);
	}
	pthread_mutex_unlock(&r->lock);
	if (o == NULL)
		close(fd);
}

int
recorder_claim(struct node *node, const uint8_t *token, uid_t uid)
{
	struct recorder *r = node->recorder;
	int fd = -ENOENT;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < RECORDER_OFFERS && fd < 0; i++) {
		struct recorder_offer *o = &r->offer[i];

		if (o->fd < 0 || o->uid != uid ||
		    memcmp(o->token, token, sizeof o->token) != 0)
			continue;
		fd = o->fd;
		o->fd = -1;
	}
	pthread_mutex_unlock(&r->lock);
	return fd;
}

static struct recording *
find_recording(const struct node *node, uint64_t viewer)
{
	struct recording *r;

	TAILQ_FOREACH(r, &node->recorder->all, link)
		if (r->viewer == viewer && !r->gone)
			return r;
	return NULL;
}

static void
free_recording(struct recording *r)
{
	TAILQ_REMOVE(&r->node->recorder->all, r, link);
	r->node->recorder->n--;
	free(r);
}

static void
finish_writer(struct recording *r)
{
	int err = capture_writer_finish(r->writer, r->why, FINISH_MS,
	    &r->last);

	r->writer = NULL;
	if (err < 0) {
		r->last.stopped = err;
		snprintf(r->why, sizeof r->why,
		    "the last events are not in the file: %s", strerror(-err));
	}
}

static void
finish_work(uv_work_t *work)
{
	finish_writer(work->data);
}

static void
finished(uv_work_t *work, int status)
{
	struct recording *r = work->data;

	(void)status;
	r->state = r->last.stopped != 0 ? WIRE_RECORD_CUT : WIRE_RECORD_ENDED;
	if (r->gone)
		free_recording(r);
}

static void
write_sample(struct recording *r, const struct capture_stress *sample,
    const char *kernel, const char *why)
{
	capture_writer_stress(r->writer, &(struct capture_stress){
	    .ms = sample->ms, .sample = sample->sample, .kernel = kernel,
	    .why = why });
}

static int
take_early(struct recording *r, struct capture_stress *out)
{
	int err = stress_take(r->stress.early, &out->sample);

	out->ms = mono_ms(mono_now());
	return err;
}

static void
end_early(struct recording *r)
{
	stress_close(r->stress.early);
	r->stress.early = NULL;
	node_stress_end_wait(r->node, &r->stress.wait);
}

static void on_begun(struct node *, struct node_stress_wait *);

static void
await_source(struct recording *r)
{
	r->stress.wait = (struct node_stress_wait){ .arg = r, .done = on_begun };
	node_stress_begin_wait(r->node, &r->stress.wait, NODE_STRESS_BEGIN_MS);
}

static void
on_begun(struct node *node, struct node_stress_wait *w)
{
	struct recording *r = w->arg;
	struct node_stress_sample k;
	int err = node_stress_sample(node, &k);

	r->stress.ready = err == 0;
	if (err == 0)
		r->stress.first = (struct capture_stress){ .ms = k.ms,
			.sample = k.sample };
	else if (err == -EAGAIN)
		await_source(r);
}

/*
 * Some sources begin late and have no counts of a short recording.  Until such a source
 * has begun, totals since the boot from another source replace it.
 */
static void
begin_stress(struct recording *r)
{
	const char *root = r->node->opts.root;
	struct node_stress_sample k;
	int err;

	node_stress_view(r->node);
	r->stress.sees = true;
	err = node_stress_sample(r->node, &k);
	if (err == 0)
		write_sample(r, &(struct capture_stress){ .ms = k.ms,
		    .sample = k.sample }, k.release, k.why);
	if (err != -EAGAIN ||
	    stress_open(&r->stress.early, root != NULL ? root : "/") < 0)
		return;
	stress_want_boot(r->stress.early);
	if (take_early(r, &r->stress.early_first) < 0)
		end_early(r);
	else
		await_source(r);
}

static void
tell_stress(struct recording *r)
{
	struct node_stress_sample k;

	if (node_stress_sample(r->node, &k) < 0)
		return;
	if (r->stress.ready)
		write_sample(r, &r->stress.first, k.release, k.why);
	r->stress.ready = false;
	end_early(r);
	write_sample(r, &(struct capture_stress){ .ms = k.ms,
	    .sample = k.sample }, k.release, k.why);
}

static void
end_stress(struct recording *r)
{
	const struct stress *s = r->stress.early;
	struct capture_stress last;

	if (!r->stress.sees)
		return;
	if (s == NULL) {
		tell_stress(r);
	} else if (take_early(r, &last) == 0) {
		write_sample(r, &r->stress.early_first, stress_kernel(s),
		    stress_why(s));
		write_sample(r, &last, stress_kernel(s), stress_why(s));
	}
	end_early(r);
	node_stress_leave(r->node);
	r->stress.sees = false;
}

/* The disk may be slow: a worker waits for it. */
static void
end_recording(struct recording *r, const char *why)
{
	if (r->state >= WIRE_RECORD_ENDING)
		return;
	end_stress(r);
	tap_end_all(r, why);
	snprintf(r->why, sizeof r->why, "%s", why);
	r->state = WIRE_RECORD_ENDING;
	r->work.data = r;
	if (nodes_queue_work(r->node->loop, &r->work, finish_work,
	    finished) == 0)
		return;
	finish_writer(r);
	finished(&r->work, 0);
}

static const char *
why_not(int err)
{
	switch (err) {
	case -EINVAL:
		return "a recording needs a regular file, or with a ring a "
		    "folder, that is open for writing";
	case -EEXIST:
		return "the file or folder for the recording has something else";
	case -EFBIG:
		return "the capture is too large to go on with";
	case -EACCES:
		return "the node may not read the capture to go on with it";
	case -EPERM:
		return "the folder for the recording is another user's";
	case -EALREADY:
		return "another recording of this node writes that file or folder";
	case -ENOSPC:
		return "there is no room on the disk of the recording";
	case -EBUSY:
		return "the node writes its maximum of recordings";
	default:
		return "the node has no memory or threads for a recording";
	}
}

/* Live images that the file has already. */
static void
go_on(struct recording *r)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &r->node->live, link)
		if (r->viewer == 0 || access_reads(&r->node->access, &r->peer,
		    k->image.uid)) {
			tap_go_on(r, k);
			visits_beat(r->node);
		}
}

void
recorder_go_on(struct node *node)
{
	struct recording *r;

	TAILQ_FOREACH(r, &node->recorder->all, link)
		go_on(r);
}

/*
 * A descriptor gives no right to files in its folder, and the node may have more.  The
 * writer of a recording whose connection has gone may be at work yet.
 */
static int
check_place(const struct node *node, const struct recorder_opts *o, struct stat *st)
{
	const struct recording *r;

	if (fstat(o->fd, st) < 0)
		return -errno;
	if (o->viewer != 0 && o->ring != 0 &&
	    !access_controls(&node->access, &o->peer, st->st_uid))
		return -EPERM;
	TAILQ_FOREACH(r, &node->recorder->all, link)
		if (r->state <= WIRE_RECORD_ENDING && r->ino == st->st_ino &&
		    r->dev == st->st_dev)
			return -EALREADY;
	return 0;
}

int
recorder_begin(struct node *node, struct keeper *k,
    const struct recorder_opts *o, const char **why)
{
	struct recorder *all = node->recorder;
	struct recording *r = all->n < RECORDER_MAX ? calloc(1, sizeof *r) :
	    NULL;
	int err = r != NULL ? 0 : all->n < RECORDER_MAX ? -ENOMEM : -EBUSY;
	struct stat st;

	if (err == 0)
		err = check_place(node, o, &st);
	if (err == 0)
		err = capture_writer_new(&r->writer, &(struct capture_opts){
		    .fd = o->fd, .ring = o->ring, .node = node->number,
		    .keep_free = KEEP_FREE });
	if (err < 0) {
		close(o->fd);
		free(r);
		*why = why_not(err);
		return err;
	}
	r->node = node;
	r->viewer = o->viewer;
	r->peer = o->peer;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	r->state = WIRE_RECORD_ON;
	TAILQ_INIT(&r->taps);
	TAILQ_INIT(&r->stores);
	r->images = capture_writer_parts(r->writer);
	TAILQ_INSERT_TAIL(&all->all, r, link);
	all->n++;
	begin_stress(r);
	if (r->images > 0)
		go_on(r);
	err = k != NULL && !tap_is_of(r, k) ?
	    tap_begin(r, k, CAPTURE_JOINED) : 0;
	if (err < 0) {
		*why = why_not(-ENOMEM);
		r->gone = true;
		end_recording(r, *why);
	}
	return err;
}

void
recorder_look(struct node *node, uint64_t viewer, struct wire_recorded *out)
{
	struct recording *r = find_recording(node, viewer);
	struct capture_progress now;

	*out = (struct wire_recorded){ .state = WIRE_RECORD_NONE };
	if (r == NULL)
		return;
	if (r->state < WIRE_RECORD_ENDING) {
		capture_writer_look(r->writer, &now);
		r->state = now.stopped != 0 ? WIRE_RECORD_STOPPED :
		    WIRE_RECORD_ON;
		snprintf(r->why, sizeof r->why, "%s", now.stopped != 0 ?
		    now.why : "");
	}
	out->state = r->state;
	out->why = wire_text(r->state == WIRE_RECORD_ENDING ? "" : r->why);
	out->images = r->images;
	out->live = r->live;
	/* A worker has the writer while it ends. */
	if (r->state == WIRE_RECORD_ENDING)
		return;
	if (r->state > WIRE_RECORD_ENDING)
		now = r->last;
	out->events = now.events;
	out->bytes = now.bytes;
	out->synced = now.synced;
	out->gaps = now.gaps;
	out->lost = now.lost + r->lost;
}

void
recorder_end(struct node *node, uint64_t viewer, const char *why)
{
	struct recording *r = find_recording(node, viewer);

	if (r != NULL)
		end_recording(r, why);
}

void
recorder_viewer_gone(struct node *node, uint64_t viewer)
{
	struct recording *r = find_recording(node, viewer);

	if (r == NULL)
		return;
	r->gone = true;
	if (r->state > WIRE_RECORD_ENDING)
		free_recording(r);
	else
		end_recording(r, "its viewer has gone");
}

static bool
is_wanted(const struct recording *r, const struct keeper *k)
{
	if (r->state >= WIRE_RECORD_ENDING)
		return false;
	return r->viewer == 0 || (tap_has_origin(r, k) &&
	    access_reads(&k->node->access, &r->peer, k->image.uid));
}

void
recorder_welcome(struct keeper *k)
{
	if (atomic_load(&k->node->recorder->n) > 0)
		stream_feed_forbid_pairs(k->feed, true);
}

void
recorder_follow(struct keeper *k)
{
	static const enum capture_began began[] = {
		[IMAGE_EXECUTED] = CAPTURE_EXECUTED,
		[IMAGE_FORKED] = CAPTURE_FORKED,
		[IMAGE_REJOINED_DORMANT] = CAPTURE_JOINED,
		[IMAGE_REJOINED_ARMED] = CAPTURE_JOINED,
	};
	struct recording *r;

	if (k->list == NULL)
		return;
	TAILQ_FOREACH(r, &k->node->recorder->all, link)
		if (is_wanted(r, k) &&
		    tap_begin(r, k, began[k->image.origin]) < 0)
			r->lost++;
	keeper_settle_pairs(k);
}

void
recorder_second(struct node *node)
{
	int64_t now = mono_ms(mono_now());
	struct recorder *all = node->recorder;
	struct recording *r, *next;

	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < RECORDER_OFFERS; i++)
		if (now - all->offer[i].at_ms > RECORDER_OFFER_MS)
			drop_offer(&all->offer[i]);
	pthread_mutex_unlock(&all->lock);
	for (r = TAILQ_FIRST(&all->all); r != NULL; r = next) {
		next = TAILQ_NEXT(r, link);
		if (r->state >= WIRE_RECORD_ENDING)
			continue;
		tap_second(r);
		tell_stress(r);
		if (r->viewer != 0 && r->live == 0 &&
		    now - r->alone_ms >= ALONE_MS)
			end_recording(r, "the target has ended");
	}
}

void
recorder_stat(const struct node *node, uint64_t n[WIRE_STATS_COUNT])
{
	const struct recording *r;
	struct capture_progress p;

	TAILQ_FOREACH(r, &node->recorder->all, link) {
		if (r->state >= WIRE_RECORD_ENDING)
			continue;
		capture_writer_look(r->writer, &p);
		n[WIRE_N_RECORDINGS]++;
		n[WIRE_N_RECORDING_BYTES] += p.waiting;
	}
}

unsigned
recorder_count(const struct keeper *k)
{
	const struct keeper_tap *tap;
	unsigned n = 0;

	SLIST_FOREACH(tap, &k->queue.taps, link)
		n++;
	return n;
}

void
recorder_init(struct node *node)
{
	struct recorder *r = node->recorder;

	pthread_mutex_init(&r->lock, NULL);
	TAILQ_INIT(&r->all);
	for (unsigned i = 0; i < RECORDER_OFFERS; i++)
		r->offer[i].fd = -1;
}

void
recorder_close(struct node *node)
{
	struct recording *r, *next;

	for (r = TAILQ_FIRST(&node->recorder->all); r != NULL; r = next) {
		next = TAILQ_NEXT(r, link);
		end_recording(r, node->opts.argv != NULL &&
		    node->command.ended ? "the command has ended" :
		    "the node was told to end");
	}
}

void
recorder_fini(struct node *node)
{
	struct recorder *r = node->recorder;

	while (!TAILQ_EMPTY(&r->all))
		free_recording(TAILQ_FIRST(&r->all));
	for (unsigned i = 0; i < RECORDER_OFFERS; i++)
		drop_offer(&r->offer[i]);
	pthread_mutex_destroy(&r->lock);
}
