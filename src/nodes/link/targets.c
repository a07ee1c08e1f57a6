/* NAME and STAT of each entry of the table, WINDOW in flight at a time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../../base/base.h"
#include "link.h"

#define ENTRIES_GUESS 32	/* until the first reply says how many there are */
#define ENTRIES_MAX 65536
#define WINDOW 16
#define TREE_DEPTH 256

struct enquiry {
	struct nodes_link *link;
	const void *owner;
	nodes_targets_cb cb;
	void *arg;
	uint32_t entries;		/* in the table */
	uint32_t next;			/* index to request next */
	unsigned waiting;		/* entries in flight */
	int err;
	struct nodes_target *found;
	size_t n, cap;
};

/* An entry in flight. */
struct entry {
	struct enquiry *enquiry;
	struct nodes_target target;
};

static int
by_index(const void *a, const void *b)
{
	const struct nodes_target *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

static void
end_enquiry(struct enquiry *q)
{
	if (q->err != -ECANCELED) {
		if (q->n > 1)
			qsort(q->found, q->n, sizeof *q->found, by_index);
		q->cb(q->arg, q->err, q->found, q->err == 0 ? q->n : 0);
	}
	free(q->found);
	free(q);
}

static void ask_more(struct enquiry *);

static void
end_entry(struct entry *e)
{
	struct enquiry *q = e->enquiry;

	free(e);
	q->waiting--;
	ask_more(q);
}

static void
on_stats(void *arg, int err, const struct wire_msg *msg)
{
	struct entry *e = arg;
	struct enquiry *q = e->enquiry;
	struct nodes_target *t = &e->target;
	void *array = q->found;

	if (err < 0) {
		q->err = err;
	} else if (msg->type == WIRE_STATS) {
		t->pid = (pid_t)msg->stats.pid;
		t->ppid = (pid_t)msg->stats.ppid;
		t->starter = msg->stats.starter != 0 ?
		    (pid_t)msg->stats.starter : t->ppid;
		t->state = msg->stats.state;
		t->status = msg->stats.status;
		t->started_ms = msg->stats.started_ms;
		t->ended_ms = msg->stats.ended_ms;
		t->ended = msg->stats.ended_ms != 0;
		link_text(t->comm, sizeof t->comm, msg->stats.comm);
		link_text(t->reason, sizeof t->reason, msg->stats.reason);
		memcpy(t->n, msg->stats.n, sizeof t->n);
		if (base_grow(&array, &q->cap, q->n + 1,
		    sizeof *q->found) == 0) {
			q->found = array;
			q->found[q->n++] = *t;
		} else {
			q->err = -ENOMEM;
		}
	}
	end_entry(e);
}

static void
on_named(void *arg, int err, const struct wire_msg *msg)
{
	struct entry *e = arg;
	struct enquiry *q = e->enquiry;
	struct wire_msg stat = { .type = WIRE_STAT };

	if (err < 0) {
		q->err = err;
	} else if (msg->type == WIRE_NAMED) {
		q->entries = msg->named.entries < ENTRIES_MAX ?
		    msg->named.entries : ENTRIES_MAX;
		e->target.index = msg->named.index;
		link_text(e->target.name, sizeof e->target.name,
		    msg->named.name);
		stat.stat.index = msg->named.index;
		err = link_ask(q->link, &stat, q->owner, on_stats, e);
		if (err == 0)
			return;
		q->err = err;
	}
	end_entry(e);
}

static int
ask_entry(struct enquiry *q, uint32_t index)
{
	struct wire_msg msg = {
		.type = WIRE_NAME,
		.name = { .table = wire_text("DSTRM"), .index = index },
	};
	struct entry *e;
	int err;

	e = calloc(1, sizeof *e);
	if (e == NULL)
		return -ENOMEM;
	e->enquiry = q;
	err = link_ask(q->link, &msg, q->owner, on_named, e);
	if (err < 0)
		free(e);
	return err;
}

/* Fills the window; ends the enquiry if nothing is in flight. */
static void
ask_more(struct enquiry *q)
{
	int err;

	while (q->err == 0 && q->next < q->entries && q->waiting < WINDOW) {
		err = ask_entry(q, q->next);
		if (err < 0) {
			q->err = err;
			break;
		}
		q->next++;
		q->waiting++;
	}
	if (q->waiting == 0)
		end_enquiry(q);
}

int
targets_ask(struct nodes_link *link, const void *owner, nodes_targets_cb cb,
    void *arg)
{
	struct enquiry *q;
	int err;

	q = calloc(1, sizeof *q);
	if (q == NULL)
		return -ENOMEM;
	*q = (struct enquiry){ .link = link, .cb = cb, .arg = arg,
	    .owner = owner != NULL ? owner : q, .entries = ENTRIES_GUESS };
	/* The first request alone: it fails at once if the link is lost. */
	err = ask_entry(q, q->next);
	if (err < 0) {
		free(q);
		return err;
	}
	q->next++;
	q->waiting++;
	return 0;
}

int
nodes_targets(struct nodes_link *link, nodes_targets_cb cb, void *arg)
{
	return targets_ask(link, NULL, cb, arg);
}

static bool
is_alloclog(const struct nodes_target *t)
{
	return strcmp(t->name, "ALLOCLOG") == 0 ||
	    strncmp(t->name, "ALLOCLOG.", 9) == 0;
}

static unsigned
rank(const struct nodes_target *t)
{
	static const uint8_t by_state[] = {
		[WIRE_S_LIVE] = 6,
		[WIRE_S_DORMANT] = 5,
		[WIRE_S_ENDED] = 4,
		[WIRE_S_CORRUPT] = 3,
		[WIRE_S_EXECED] = 2,
		[WIRE_S_NO_DATA] = 1,
	};

	/* The node itself comes last. */
	if (t->pid == 0)
		return 0;
	return t->state < BASE_NELEM(by_state) ? by_state[t->state] : 0;
}

const char *
nodes_death_advice(int32_t status)
{
	return status >= 0 && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGSYS ? "SIGSYS: its seccomp filter forbids a "
	    "system call, perhaps one of pagek's: see seccomp in alloclog(3)" :
	    "";
}

bool
nodes_target_is_live(const struct nodes_target *t)
{
	return t->state == WIRE_S_LIVE || t->state == WIRE_S_DORMANT;
}

bool
nodes_target_is_command(const struct nodes_target *t, const char *name)
{
	char comm[4 * sizeof t->comm];

	/* As the kernel cuts it, and the node escapes it. */
	base_safe_text(comm, sizeof comm, name,
	    strnlen(name, sizeof t->comm - 1), false);
	return t->pid != 0 &&
	    strncmp(t->comm, comm, sizeof t->comm - 1) == 0;
}

/* An image whose process runs another program by now, or was never watched. */
static bool
is_replaced(const struct nodes_target *t, const struct nodes_target *list,
    size_t n)
{
	if (t->state != WIRE_S_ENDED)
		return true;
	for (size_t i = 0; i < n; i++)
		if (list[i].pid == t->pid && nodes_target_is_live(&list[i]))
			return true;
	return false;
}

const struct nodes_target *
nodes_target_of_command(const struct nodes_target *t, size_t n,
    const char *name)
{
	const struct nodes_target *best = NULL;

	for (size_t i = 0; i < n; i++)
		if (nodes_target_is_command(&t[i], name) &&
		    (nodes_target_is_live(&t[i]) ||
		    !is_replaced(&t[i], t, n)) &&
		    (best == NULL || nodes_target_is_newer(&t[i], best)))
			best = &t[i];
	return best;
}

bool
nodes_target_take_newest(struct nodes_target *best,
    const struct nodes_target *list, size_t n, const char *name)
{
	const struct nodes_target *t = nodes_target_of_command(list, n, name);

	if (t == NULL || (best->pid != 0 && !nodes_target_is_newer(t, best)))
		return false;
	*best = *t;
	return true;
}

const struct nodes_target *
nodes_target_ended_command(const struct nodes_target *t, size_t n,
    const char *name)
{
	const struct nodes_target *last = NULL;

	for (size_t i = 0; i < n; i++)
		if (nodes_target_is_command(&t[i], name) &&
		    !nodes_target_is_live(&t[i]) && !is_replaced(&t[i], t, n) &&
		    (last == NULL || t[i].ended_ms >= last->ended_ms))
			last = &t[i];
	return last;
}

#define COMMANDS_NAMED 5

void
nodes_target_commands(const struct nodes_target *t, size_t n, char *out,
    size_t cap)
{
	const char *name[COMMANDS_NAMED];
	size_t names = 0, len = 0, i, k;
	bool others = false;

	for (i = 0; i < n; i++) {
		if (t[i].pid == 0 || !nodes_target_is_live(&t[i]))
			continue;
		for (k = 0; k < names && strcmp(name[k], t[i].comm) != 0; k++)
			continue;
		if (k < names)
			continue;
		if (names < COMMANDS_NAMED)
			name[names++] = t[i].comm;
		else
			others = true;
	}
	out[0] = '\0';
	for (i = 0; i < names; i++)
		base_append(out, cap, &len, "%s%s", i == 0 ? "" :
		    i + 1 < names || others ? ", " : " and ", name[i]);
	if (others)
		base_append(out, cap, &len, " and others");
}

bool
nodes_target_of_run(const struct nodes_target *t, size_t n, size_t i,
    const struct nodes_link *run)
{
	pid_t top = link_child(run), pid = t[i].ppid;

	for (unsigned depth = 0; pid > 1 && depth < TREE_DEPTH; depth++) {
		if (pid == top)
			return true;
		/* The last image of a pid. */
		for (i = n; i-- > 0 && t[i].pid != pid; )
			continue;
		if (i == SIZE_MAX)
			return false;
		pid = t[i].ppid;
	}
	return false;
}

const struct nodes_target *
targets_best(const struct nodes_target *t, size_t n, pid_t pid,
    const struct nodes_link *run)
{
	const struct nodes_target *best = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!is_alloclog(&t[i]) || (pid != 0 && t[i].pid != pid) ||
		    (pid == 0 && run != NULL &&
		    !nodes_target_of_run(t, n, i, run)))
			continue;
		if (best == NULL || rank(&t[i]) > rank(best) ||
		    (rank(&t[i]) == rank(best) && t[i].n[WIRE_N_LIVE_BYTES] >
		    best->n[WIRE_N_LIVE_BYTES]))
			best = &t[i];
	}
	return best;
}
