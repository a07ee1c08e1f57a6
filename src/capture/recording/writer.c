/*
 * Messages are copied under the lock, and the thread takes the whole queue at
 * once.  Records without room are counted, and become a gap before the next
 * ones.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../reader/reader.h"
#include "recording.h"

#define NS_PER_S 1000000000L
#define NS_PER_MS 1000000L
#define QUEUE_BYTES ((size_t)64 << 20)
#define CHUNK 2048		/* records of a message */
#define FREE_CHUNKS 256		/* kept for the next records */
#define SOON_MS 200
#define WAKE_BYTES ((size_t)1 << 20)	/* so much is written at once */

enum message_op {
	SAY_PART,		/* number: options, store << 32 */
	SAY_DEFINITION,		/* number: kind */
	SAY_BLOCKS,
	SAY_STATE,
	SAY_INFOS,
	SAY_RECORDS,
	SAY_REQUESTER,		/* number: its info */
	SAY_LOST,		/* number: cause */
	SAY_CLOCK,		/* seq: wall clock */
	SAY_STRESS,
	SAY_END,		/* number: status */
	SAY_RESUME,		/* data: a pointer */
};

struct message {
	struct message *next;
	enum message_op op;
	uint32_t part;
	uint64_t seq;
	int64_t ms;
	int64_t number;
	size_t n;		/* bytes of data; of records: how many */
	size_t takes;		/* bytes of memory */
	uint64_t data[];
};

/* The callers' side of a part. */
struct gate {
	uint64_t first, count;	/* events that found no room; count 0: none */
	int64_t ms;		/* of the first of them */
	bool incomplete;	/* the list has to be written again */
	bool resumed;		/* the thread knows it from the file */
};

struct capture_writer {
	pthread_mutex_t lock;	/* of all down to `stop` */
	pthread_cond_t wake, done;
	struct message *head, **tail;
	struct message *last;	/* NULL, or records that may be added to */
	struct message *free;
	size_t nfree;
	size_t bytes, most;
	struct gate *gate;	/* of part 1 on */
	size_t ngates, gate_cap;
	struct capture_progress look;
	uint64_t absent;	/* events that a full disk has cost so far */
	bool awake;		/* the thread has been told */
	bool idle;		/* it does not look by itself soon */
	bool stop;		/* write what waits, then end */
	bool drop;		/* end at once: nobody waits, and the thread frees it */
	bool ended;
	char reason[CAPTURE_WHY];
	struct capture_recording r;	/* the thread's */
};

static void
wake_thread(struct capture_writer *w)
{
	if (w->awake)
		return;
	w->awake = true;
	pthread_cond_signal(&w->wake);
}

static void
enqueue(struct capture_writer *w, struct message *m)
{
	m->next = NULL;
	*w->tail = m;
	w->tail = &m->next;
	w->last = m->op == SAY_RECORDS ? m : NULL;
	w->bytes += m->takes;
	if (w->idle || w->bytes > WAKE_BYTES)
		wake_thread(w);
}

static struct message *
message_new(enum message_op op, uint32_t part, const void *data, size_t n)
{
	struct message *m = malloc(sizeof *m + n);

	if (m == NULL)
		return NULL;
	*m = (struct message){ .op = op, .part = part, .n = n,
		.takes = sizeof *m + n };
	if (n > 0)
		memcpy(m->data, data, n);
	return m;
}

/* Queues a message.  Call it without the lock.  -ENOMEM. */
static int
say(struct capture_writer *w, struct message *m)
{
	if (m == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&w->lock);
	enqueue(w, m);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static struct gate *
gate_of(const struct capture_writer *w, uint32_t part)
{
	return part == 0 || part > w->ngates ? NULL : &w->gate[part - 1];
}

static struct message *
chunk_new(struct capture_writer *w, uint32_t part, uint64_t seq)
{
	size_t takes = sizeof(struct message) + CHUNK * sizeof(struct rec);
	struct message *m = w->free;

	if (m != NULL) {
		w->free = m->next;
		w->nfree--;
	} else if ((m = malloc(takes)) == NULL) {
		return NULL;
	}
	*m = (struct message){ .op = SAY_RECORDS, .part = part, .seq = seq,
		.takes = takes };
	return m;
}

static int64_t
ms_of(const struct blklist_batch *b, size_t i)
{
	return b->ms != NULL ? b->ms[i] : rec_ms_near(&b->rec[i], b->near_ms);
}

static void
copy_records(struct message *m, const struct blklist_batch *b, size_t at,
    size_t n)
{
	struct rec *to = (struct rec *)(void *)m->data + m->n;

	for (size_t i = 0; i < n; i++) {
		to[i] = b->rec[at + i];
		to[i].w[2] = (uint64_t)ms_of(b, at + i);
	}
	m->n += n;
}

/* With the lock held. */
static int
put_records(struct capture_writer *w, uint32_t part,
    const struct blklist_batch *b)
{
	for (size_t done = 0, n; done < b->n; done += n) {
		struct message *m = w->last;

		if (m == NULL || m->part != part || m->n == CHUNK ||
		    m->seq + m->n != b->seq + done) {
			m = chunk_new(w, part, b->seq + done);
			if (m == NULL)
				return (int)done;
			enqueue(w, m);
		}
		n = CHUNK - m->n;
		if (n > b->n - done)
			n = b->n - done;
		copy_records(m, b, done, n);
	}
	return (int)b->n;
}

static void
note_lost(struct capture_writer *w, struct gate *g,
    const struct blklist_batch *b, size_t at)
{
	size_t n = b->n - at;

	if (n == 0)
		return;
	if (g->count == 0) {
		g->first = b->seq + at;
		g->ms = ms_of(b, at);
		w->look.gaps++;
	}
	g->count += n;
	g->incomplete = true;
	w->look.lost += n;
}

/* Queues the gap before the next records.  Call it with the lock. */
static int
close_gap(struct capture_writer *w, uint32_t part, struct gate *g)
{
	struct message *m;

	if (g->count == 0)
		return 0;
	m = message_new(SAY_LOST, part, &g->count, sizeof g->count);
	if (m == NULL)
		return -ENOMEM;
	m->seq = g->first;
	m->ms = g->ms;
	enqueue(w, m);
	g->count = 0;
	return 0;
}

static struct message *
infos_new(uint32_t part, const struct blklist_batch *b)
{
	struct recording_info *to;
	size_t n = b->ninfo * sizeof *to;
	struct message *m = malloc(sizeof *m + n);

	if (m == NULL)
		return NULL;
	*m = (struct message){ .op = SAY_INFOS, .part = part, .n = b->ninfo,
		.takes = sizeof *m + n };
	to = (struct recording_info *)(void *)m->data;
	for (size_t i = 0; i < b->ninfo; i++)
		to[i] = (struct recording_info){
			.seq = b->seq + b->info[i].at, .info = b->info[i].info };
	return m;
}

int
capture_writer_records(struct capture_writer *w, uint32_t part,
    const struct blklist_batch *b)
{
	size_t takes = b->n * sizeof(struct rec), done = 0;
	struct message *infos = NULL;
	struct gate *g;

	pthread_mutex_lock(&w->lock);
	g = gate_of(w, part);
	/* After a gap there has to be some room before it goes on. */
	if (g != NULL && w->bytes + takes <= w->most &&
	    (g->count == 0 || w->bytes <= w->most / 2) &&
	    close_gap(w, part, g) == 0) {
		if (b->ninfo > 0 && (infos = infos_new(part, b)) != NULL)
			enqueue(w, infos);
		done = (size_t)put_records(w, part, b);
	}
	if (g != NULL)
		note_lost(w, g, b, done);
	pthread_mutex_unlock(&w->lock);
	return done == b->n ? 0 : -ENOBUFS;
}

void
capture_writer_lost(struct capture_writer *w, uint32_t part, uint64_t seq,
    unsigned cause, uint64_t count)
{
	struct message *m = message_new(SAY_LOST, part, &count, sizeof count);
	struct gate *g;

	if (m == NULL)
		return;
	m->seq = seq;
	m->ms = INT64_MIN;
	m->number = cause;
	pthread_mutex_lock(&w->lock);
	g = gate_of(w, part);
	if (g != NULL && close_gap(w, part, g) == 0)
		enqueue(w, m);
	else
		free(m);
	pthread_mutex_unlock(&w->lock);
}

int
capture_writer_part(struct capture_writer *w, const struct capture_part *part,
    uint32_t *no)
{
	struct bytes b = { .n = 0 };
	struct message *m = NULL;
	void *gates;
	int err = -ENOMEM;

	define_part(&b, part);
	if (!b.failed)
		m = message_new(SAY_PART, 0, b.p, b.n);
	bytes_fini(&b);
	if (m == NULL)
		return -ENOMEM;
	m->seq = part->first;
	m->ms = part->ms;
	m->number = part->options | (int64_t)part->store << 32;
	pthread_mutex_lock(&w->lock);
	gates = w->gate;
	if (w->ngates == CAPTURE_PARTS_MAX)
		err = -ENOSPC;
	else if (base_grow(&gates, &w->gate_cap, w->ngates + 1,
	    sizeof *w->gate) == 0) {
		w->gate = gates;
		w->gate[w->ngates++] = (struct gate){ .incomplete = true };
		*no = m->part = (uint32_t)w->ngates;
		enqueue(w, m);
		m = NULL;
		err = 0;
	}
	pthread_mutex_unlock(&w->lock);
	free(m);
	return err;
}

static int
say_resume(struct capture_writer *w, uint32_t no, struct resumed_part *p)
{
	int err = say(w, message_new(SAY_RESUME, no, &p, sizeof p));

	if (err < 0)
		resume_part_free(p);
	return err;
}

/* Its sites are another part's, which is not said to go on. */
static int
resume_store(struct capture_writer *w, uint32_t no)
{
	struct resumed_part *p;
	int err;

	if (no == 0 || no > w->ngates || w->gate[no - 1].resumed)
		return 0;
	err = resume_part(w->r.before, no, false, &p);
	return err < 0 ? err : say_resume(w, no, p);
}

/* The numbers from `next` up to the part's next event are missing. */
static void
say_missing(struct capture_writer *w, uint32_t no, uint64_t next, uint64_t first)
{
	struct gate *g;

	pthread_mutex_lock(&w->lock);
	g = gate_of(w, no);
	g->resumed = g->incomplete = true;
	g->first = next;
	g->count = first > next ? first - next : 0;
	g->ms = INT64_MIN;
	w->look.gaps += g->count > 0;
	w->look.lost += g->count;
	pthread_mutex_unlock(&w->lock);
}

int
capture_writer_resume(struct capture_writer *w, const struct capture_part *part,
    uint32_t *no, uint32_t *store)
{
	struct resumed_part *p;
	uint64_t next;
	uint32_t at, of;
	int err = w->r.before == NULL ? -ENOENT :
	    resume_find(w->r.before, part, &at, &p);

	if (err < 0)
		return err;
	next = p->next;
	of = p->store != 0 ? p->store : at;
	err = of != at ? resume_store(w, of) : 0;
	if (err < 0) {
		resume_part_free(p);
		return err;
	}
	err = say_resume(w, at, p);
	if (err < 0)
		return err;
	say_missing(w, at, next, part->first);
	if (part->first < next) {
		capture_writer_end_part(w, at, part->ms, -1, "the node was "
		    "killed; the last events are in the next part, too");
		return -ENOENT;
	}
	*no = at;
	*store = of;
	return 0;
}

uint32_t
capture_writer_parts(const struct capture_writer *w)
{
	return w->r.before == NULL ? 0 : w->r.before->about.parts;
}

int
capture_writer_blocks(struct capture_writer *w, uint32_t part,
    const struct blk *b, size_t n)
{
	return say(w, message_new(SAY_BLOCKS, part, b, n * sizeof *b));
}

int
capture_writer_state(struct capture_writer *w, uint32_t part, uint64_t seq,
    int64_t ms, const struct capture_totals *t)
{
	struct message *m = message_new(SAY_STATE, part, t,
	    t != NULL ? sizeof *t : 0);
	struct gate *g;
	int err = -ENOMEM;

	if (m == NULL)
		return -ENOMEM;
	m->seq = seq;
	m->ms = ms;
	pthread_mutex_lock(&w->lock);
	g = gate_of(w, part);
	if (g != NULL && close_gap(w, part, g) == 0) {
		g->incomplete = false;
		enqueue(w, m);
		m = NULL;
		err = 0;
	}
	pthread_mutex_unlock(&w->lock);
	free(m);
	return err;
}

bool
capture_writer_wants_state(const struct capture_writer *cw, uint32_t part)
{
	union {
		const struct capture_writer *c;
		struct capture_writer *w;
	} u = { .c = cw };
	const struct gate *g;
	bool wants;

	pthread_mutex_lock(&u.w->lock);
	g = gate_of(u.w, part);
	wants = g != NULL && g->incomplete && u.w->bytes <= u.w->most / 2;
	pthread_mutex_unlock(&u.w->lock);
	return wants;
}

void
capture_writer_end_part(struct capture_writer *w, uint32_t part, int64_t ms,
    int status, const char *reason)
{
	struct bytes b = { .n = 0 };
	struct message *m = NULL;
	struct gate *g;

	bytes_text(&b, reason);
	if (!b.failed)
		m = message_new(SAY_END, part, b.p, b.n);
	bytes_fini(&b);
	if (m == NULL)
		return;
	m->ms = ms;
	m->number = status;
	pthread_mutex_lock(&w->lock);
	g = gate_of(w, part);
	if (g != NULL) {
		(void)close_gap(w, part, g);
		g->incomplete = false;
		enqueue(w, m);
		m = NULL;
	}
	pthread_mutex_unlock(&w->lock);
	free(m);
}

static void
say_definition(struct capture_writer *w, enum format_kind kind, uint32_t part,
    uint64_t seq, int64_t ms, struct bytes *b)
{
	struct message *m = b->failed ? NULL :
	    message_new(SAY_DEFINITION, part, b->p, b->n);

	bytes_fini(b);
	if (m == NULL)
		return;
	m->number = kind;
	m->seq = seq;
	m->ms = ms;
	say(w, m);
}

void
capture_writer_site(struct capture_writer *w, uint32_t part, uint32_t no,
    const struct stream_site *s)
{
	struct bytes b = { .n = 0 };

	define_site(&b, no, s);
	say_definition(w, FORMAT_SITES, part, 0, 0, &b);
}

void
capture_writer_module(struct capture_writer *w, uint32_t part, unsigned no,
    const struct stream_module *m)
{
	struct bytes b = { .n = 0 };

	define_module(&b, no, m);
	say_definition(w, FORMAT_MODULES, part, 0, 0, &b);
}

void
capture_writer_thread(struct capture_writer *w, uint32_t part, unsigned index,
    uint32_t tid, const char *name)
{
	struct bytes b = { .n = 0 };

	define_thread(&b, index, tid, name);
	say_definition(w, FORMAT_THREADS, part, 0, 0, &b);
}

void
capture_writer_type(struct capture_writer *w, uint32_t part,
    const struct stream_type *t)
{
	struct bytes b = { .n = 0 };

	define_type(&b, t);
	say_definition(w, FORMAT_TYPES, part, 0, 0, &b);
}

void
capture_writer_requester(struct capture_writer *w, uint32_t part,
    uint16_t info, const struct blklist_info *i)
{
	struct message *m = message_new(SAY_REQUESTER, part, i, sizeof *i);

	if (m == NULL)
		return;
	m->number = info;
	say(w, m);
}

void
capture_writer_mark(struct capture_writer *w, uint32_t part, uint64_t seq,
    int64_t ms, const char *text)
{
	struct bytes b = { .n = 0 };

	bytes_text(&b, text);
	say_definition(w, FORMAT_MARK, part, seq, ms, &b);
}

void
capture_writer_clock(struct capture_writer *w, int64_t ms, int64_t wall_ns)
{
	struct message *m = message_new(SAY_CLOCK, 0, NULL, 0);

	if (m == NULL)
		return;
	m->ms = ms;
	m->seq = (uint64_t)wall_ns;
	say(w, m);
}

void
capture_writer_stress(struct capture_writer *w, const struct capture_stress *s)
{
	struct bytes b = { .n = 0 };
	struct message *m;

	define_stress(&b, s);
	m = b.failed ? NULL : message_new(SAY_STRESS, 0, b.p, b.n);
	bytes_fini(&b);
	if (m == NULL)
		return;
	m->ms = s->ms;
	say(w, m);
}

static struct resumed_part *
resumed_of(const struct message *m)
{
	struct resumed_part *p;

	memcpy(&p, m->data, sizeof p);
	return p;
}

static void
hear(struct capture_recording *r, const struct message *m)
{
	const void *data = m->data;

	switch (m->op) {
	case SAY_PART:
		recording_part(r, m->part, m->seq, m->ms,
		    (uint32_t)m->number, (uint32_t)(m->number >> 32), data,
		    m->n);
		break;
	case SAY_DEFINITION:
		recording_define(r, (enum format_kind)m->number, m->part,
		    m->seq, m->ms, data, m->n);
		break;
	case SAY_BLOCKS:
		recording_blocks(r, m->part, data, m->n / sizeof(struct blk));
		break;
	case SAY_STATE:
		recording_state(r, m->part, m->seq, m->ms, m->n > 0 ? data :
		    NULL);
		break;
	case SAY_INFOS:
		recording_infos(r, m->part, data, m->n);
		break;
	case SAY_RECORDS:
		recording_records(r, m->part, m->seq, data, m->n);
		break;
	case SAY_REQUESTER:
		recording_requester(r, m->part, (uint16_t)m->number, data);
		break;
	case SAY_LOST:
		recording_lost(r, m->part, m->seq, m->ms, (unsigned)m->number,
		    m->data[0]);
		break;
	case SAY_CLOCK:
		recording_clock(r, m->ms, (int64_t)m->seq);
		break;
	case SAY_STRESS:
		recording_stress(r, m->ms, data, m->n);
		break;
	case SAY_END:
		recording_end_part(r, m->part, m->ms, (int)m->number, data,
		    m->n);
		break;
	case SAY_RESUME:
		recording_resume(r, m->part, resumed_of(m));
		break;
	}
}

static void
forget(struct capture_writer *w, struct message *m)
{
	pthread_mutex_lock(&w->lock);
	w->bytes -= m->takes;
	if (m->op == SAY_RECORDS && w->nfree < FREE_CHUNKS) {
		m->next = w->free;
		w->free = m;
		w->nfree++;
		m = NULL;
	}
	pthread_mutex_unlock(&w->lock);
	free(m);
}

static struct timespec
in_ms(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ms % 1000 * NS_PER_MS;
	t.tv_sec += ms / 1000 + t.tv_nsec / NS_PER_S;
	t.tv_nsec %= NS_PER_S;
	return t;
}

static struct message *
take_queue(struct capture_writer *w, int due_ms, bool *stop)
{
	struct message *all;
	struct timespec until = in_ms(due_ms);

	pthread_mutex_lock(&w->lock);
	w->idle = due_ms < 0 || due_ms > SOON_MS;
	if (w->idle && w->head != NULL)
		w->awake = true;
	while (!w->stop && !w->awake) {
		if (due_ms < 0)
			pthread_cond_wait(&w->wake, &w->lock);
		else if (pthread_cond_timedwait(&w->wake, &w->lock, &until) != 0)
			break;
	}
	w->awake = w->idle = false;
	all = w->drop ? NULL : w->head;
	if (!w->drop) {
		w->head = w->last = NULL;
		w->tail = &w->head;
	}
	*stop = w->drop || (w->stop && all == NULL);
	pthread_mutex_unlock(&w->lock);
	return all;
}

static void
show_progress(struct capture_writer *w)
{
	const struct segments *o = &w->r.out;
	uint64_t absent = recording_absent(&w->r);

	pthread_mutex_lock(&w->lock);
	w->absent = absent;
	w->look.bytes = o->bytes;
	w->look.events = w->r.events;
	if (o->unsynced == 0)
		w->look.synced = w->r.events;
	w->look.stopped = o->stopped;
	memcpy(w->look.why, o->stopped != 0 ? o->why : "",
	    o->stopped != 0 ? sizeof w->look.why : 1);
	pthread_mutex_unlock(&w->lock);
}

static void
free_messages(struct message *m)
{
	for (struct message *next; m != NULL; m = next) {
		next = m->next;
		if (m->op == SAY_RESUME)
			resume_part_free(resumed_of(m));
		free(m);
	}
}

static void
free_writer(struct capture_writer *w)
{
	free_messages(w->head);
	free_messages(w->free);
	free(w->gate);
	pthread_cond_destroy(&w->wake);
	pthread_cond_destroy(&w->done);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void *
write_all(void *arg)
{
	struct capture_writer *w = arg;
	bool stop = false, drop;

	while (!stop) {
		struct message *m = take_queue(w, recording_due(&w->r), &stop);

		for (struct message *next; m != NULL; m = next) {
			next = m->next;
			hear(&w->r, m);
			forget(w, m);
		}
		recording_flush(&w->r);
		show_progress(w);
	}
	recording_end(&w->r, w->reason);
	show_progress(w);
	recording_close(&w->r);
	pthread_mutex_lock(&w->lock);
	w->ended = true;
	drop = w->drop;
	pthread_cond_signal(&w->done);
	pthread_mutex_unlock(&w->lock);
	if (drop)
		free_writer(w);
	return NULL;
}

/* The numbers of a killed node's parts are taken. */
static int
take_before(struct capture_writer *w)
{
	const struct capture *c = w->r.before;
	struct capture_about about;
	void *gates = NULL;

	if (c == NULL)
		return 0;
	capture_about(c, &about);
	if (about.parts > 0 && base_grow(&gates, &w->gate_cap, about.parts,
	    sizeof *w->gate) < 0)
		return -ENOMEM;
	w->gate = gates;
	w->ngates = about.parts;
	if (w->gate != NULL)
		memset(w->gate, 0, w->ngates * sizeof *w->gate);
	w->look.gaps = about.gaps;
	w->look.lost = about.lost;
	w->look.events = about.events;
	return 0;
}

int
capture_writer_new(struct capture_writer **out, const struct capture_opts *opts)
{
	struct capture_writer *w = calloc(1, sizeof *w);
	pthread_condattr_t attr;
	int err;

	if (w == NULL)
		return -ENOMEM;
	w->tail = &w->head;
	w->most = opts->queue_bytes != 0 ? opts->queue_bytes : QUEUE_BYTES;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_cond_init(&w->done, &attr);
	pthread_condattr_destroy(&attr);
	err = recording_open(&w->r, opts);
	if (err < 0) {
		free_writer(w);
		return err;
	}
	err = take_before(w);
	if (err == 0)
		err = base_thread_start(write_all, w);
	if (err < 0) {
		recording_abandon(&w->r);
		free_writer(w);
		return err;
	}
	*out = w;
	return 0;
}

static void
get_progress(const struct capture_writer *w, struct capture_progress *p)
{
	*p = w->look;
	p->waiting = w->bytes;
	p->filling = w->bytes > w->most / 2;
	p->lost += w->absent;
	p->disk_ms = segments_call_ms(&w->r.out);
}

int
capture_writer_finish(struct capture_writer *w, const char *reason,
    int wait_ms, struct capture_progress *last)
{
	struct timespec until = in_ms(wait_ms);
	bool ended;
	int err = 0;

	pthread_mutex_lock(&w->lock);
	base_copy_text(w->reason, sizeof w->reason, reason);
	for (uint32_t i = 1; i <= w->ngates; i++)
		(void)close_gap(w, i, &w->gate[i - 1]);
	w->stop = true;
	wake_thread(w);
	while (!w->ended && err == 0)
		err = -pthread_cond_timedwait(&w->done, &w->lock, &until);
	ended = w->ended;
	w->drop = !ended;
	err = ended ? w->look.stopped : -ETIMEDOUT;
	if (last != NULL)
		get_progress(w, last);
	pthread_mutex_unlock(&w->lock);
	if (ended)
		free_writer(w);
	return err;
}

void
capture_writer_look(const struct capture_writer *cw, struct capture_progress *p)
{
	union {
		const struct capture_writer *c;
		struct capture_writer *w;
	} u = { .c = cw };

	pthread_mutex_lock(&u.w->lock);
	get_progress(u.w, p);
	pthread_mutex_unlock(&u.w->lock);
}
