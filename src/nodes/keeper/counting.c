#include <errno.h>
#include <stdlib.h>

#include "../../base/base.h"
#include "../host/proc.h"
#include "counting.h"
#include "node.h"

#define KEPT_MS 10000	/* after its last asker */

struct asker {
	uint64_t conn;			/* 0: none */
	unsigned no;			/* usage_ask() */
	struct counting_copy copy;
};

struct counting {
	struct usage *usage;		/* NULL: there is no list */
	int64_t since_ms;
	bool from_start;
	bool always;			/* asked or not */
	bool may_slow;			/* an asker controls the target */
	int64_t left_ms;		/* the last asker has gone then; 0: there is one */
	uint64_t lost, full;		/* of the keeper, when counting began */
	uint32_t copies;
	struct asker asker[USAGE_ASKERS];
};

static void
beat(void *keeper)
{
	visits_beat(((struct keeper *)keeper)->node);
}

static int
begin(struct keeper *k, struct counting *c)
{
	const struct blklist_counts *n = keeper_counts(k);
	struct usage *u;
	int err;

	if (k->list == NULL)
		return -ENODATA;
	err = usage_new(&u, USAGE_ROWS);
	if (err < 0)
		return err;
	c->since_ms = keeper_now_ms(k);
	c->from_start = n->allocs == 0 && n->frees == 0 &&
	    k->arming.wall_ms == 0 && !k->trust.since_click;
	c->lost = keeper_lost(k);
	c->full = n->full;
	c->usage = u;
	/* Nobody else watches it. */
	return usage_watch(u, k->list, beat, k);
}

/* NULL: out of memory, or there is no list. */
static struct counting *
get_counting(struct keeper *k, int *err)
{
	struct counting *c = k->queue.counting;

	*err = 0;
	if (c == NULL)
		c = calloc(1, sizeof *c);
	if (c == NULL) {
		*err = -ENOMEM;
		return NULL;
	}
	if (c->usage == NULL)
		*err = begin(k, c);
	if (*err < 0 && k->queue.counting == NULL) {
		free(c);
		return NULL;
	}
	k->queue.counting = c;
	return *err < 0 ? NULL : c;
}

void
counting_welcome(struct keeper *k)
{
	struct counting *c;
	int err;

	if (!k->node->opts.usage || k->list == NULL)
		return;
	c = get_counting(k, &err);
	if (c != NULL)
		c->always = true;
	keeper_settle_pairs(k);
}

bool
counting_is_on(const struct keeper *k)
{
	return k->queue.counting != NULL;
}

void
counting_set_from_start(struct keeper *k)
{
	if (k->queue.counting != NULL)
		k->queue.counting->from_start = true;
}

bool
counting_slows(const struct keeper *k)
{
	const struct counting *c = k->queue.counting;

	return c != NULL && (c->always || c->may_slow);
}

static struct asker *
find_asker(struct counting *c, uint64_t conn)
{
	for (unsigned i = 0; i < USAGE_ASKERS; i++)
		if (c->asker[i].conn == conn)
			return &c->asker[i];
	return NULL;
}

static void
free_asker(struct counting *c, struct asker *a)
{
	if (c->usage != NULL)
		usage_unask(c->usage, a->no);
	free(a->copy.row);
	*a = (struct asker){ 0 };
}

static bool
is_asked(const struct counting *c)
{
	bool asked = c->always;

	for (unsigned i = 0; i < USAGE_ASKERS; i++)
		asked |= c->asker[i].conn != 0;
	return asked;
}

static int
add_asker(struct keeper *k, struct counting *c, uint64_t conn,
    struct asker **out)
{
	struct asker *a = find_asker(c, conn);
	int err;

	if (a == NULL) {
		counting_forget_asker(k->node, conn);
		a = find_asker(c, 0);
		if (a == NULL)
			return -EBUSY;
		err = usage_ask(c->usage, &a->no);
		if (err < 0)
			return err;
		a->conn = conn;
		c->left_ms = 0;
	}
	*out = a;
	return 0;
}

static int
make_copy(struct keeper *k, struct counting *c, struct asker *a)
{
	size_t n = usage_rows(c->usage), from = 0;
	struct usage_row *row = malloc((n + 1) * sizeof *row);

	if (row == NULL)
		return -ENOMEM;
	free(a->copy.row);
	a->copy = (struct counting_copy){ .no = ++c->copies, .row = row,
		.now_ms = keeper_now_ms(k) };
	a->copy.n = usage_read(c->usage, &from, a->no, row, n);
	usage_sums(c->usage, a->copy.now_ms, &a->copy.totals);
	if (k->image.pid != 0 && keeper_is_live(k))
		(void)proc_resident(k->image.pid, &a->copy.rss);
	return 0;
}

static void
tell_trust(struct keeper *k, const struct counting *c, struct counting_copy *copy)
{
	copy->since_ms = c->since_ms;
	copy->from_start = c->from_start;
	copy->lost = keeper_lost(k) - c->lost;
	copy->lacks = k->life.state == WIRE_S_CORRUPT ? k->life.reason :
	    stream_lack_text(copy->lost, keeper_counts(k)->full - c->full,
	    keeper_doubt(k));
	if (copy->lacks[0] == '\0' && !counting_slows(k))
		copy->lacks = "how many blocks were brief is an estimate: "
		    "its user or root must ask for it to be exact";
}

int
counting_copy(struct keeper *k, uint64_t conn, bool may_slow,
    const struct counting_copy **out)
{
	struct asker *a = NULL;
	struct counting *c;
	int err;

	c = get_counting(k, &err);
	if (c == NULL)
		return err;
	err = add_asker(k, c, conn, &a);
	if (err == 0 && may_slow && !c->may_slow) {
		c->may_slow = true;
		keeper_settle_pairs(k);
	}
	if (err == 0)
		err = make_copy(k, c, a);
	if (err < 0) {
		counting_end(k, conn);
		return err;
	}
	tell_trust(k, c, &a->copy);
	*out = &a->copy;
	return 0;
}

const struct counting_copy *
counting_look(struct keeper *k, uint64_t conn)
{
	struct asker *a = k->queue.counting != NULL ?
	    find_asker(k->queue.counting, conn) : NULL;

	return a != NULL ? &a->copy : NULL;
}

void
counting_end(struct keeper *k, uint64_t conn)
{
	struct counting *c = k->queue.counting;
	struct asker *a;

	if (c == NULL)
		return;
	a = find_asker(c, conn);
	if (a != NULL)
		free_asker(c, a);
	if (!is_asked(c) && c->left_ms == 0)
		c->left_ms = mono_ms(mono_now());
}

void
counting_expire(struct node *node, int64_t now_ms)
{
	const struct dstrm_row *row;
	const struct counting *c;

	for (uint32_t i = 0; i < node->dstrm.entries; i++) {
		row = dstrm_at(&node->dstrm, i);
		c = row != NULL ? row->keeper->queue.counting : NULL;
		if (c != NULL && c->left_ms != 0 &&
		    now_ms - c->left_ms >= KEPT_MS)
			counting_free(row->keeper);
	}
}

void
counting_forget_asker(struct node *node, uint64_t conn)
{
	const struct dstrm_row *row;

	for (uint32_t i = 0; i < node->dstrm.entries; i++) {
		row = dstrm_at(&node->dstrm, i);
		if (row != NULL && counting_look(row->keeper, conn) != NULL)
			counting_end(row->keeper, conn);
	}
}

void
counting_cost(const struct keeper *k, uint64_t *rows, uint64_t *bytes)
{
	const struct counting *c = k->queue.counting;

	*rows = *bytes = 0;
	if (c == NULL || c->usage == NULL)
		return;
	*rows = usage_rows(c->usage);
	*bytes = usage_memory(c->usage);
	for (unsigned i = 0; i < USAGE_ASKERS; i++)
		*bytes += c->asker[i].copy.n * sizeof(struct usage_row);
}

void
counting_leave(struct keeper *k)
{
	struct counting *c = k->queue.counting;

	if (c == NULL)
		return;
	usage_free(c->usage);
	c->usage = NULL;
}

/* Askers stay, and have no copy. */
void
counting_again(struct keeper *k)
{
	struct counting *c = k->queue.counting;
	int err;

	if (c == NULL)
		return;
	err = begin(k, c);
	/* The program has run before. */
	c->from_start = false;
	for (unsigned i = 0; i < USAGE_ASKERS; i++) {
		struct asker *a = &c->asker[i];

		if (a->conn == 0)
			continue;
		free(a->copy.row);
		a->copy = (struct counting_copy){ 0 };
		if (err < 0 || usage_ask(c->usage, &a->no) < 0)
			a->conn = 0;
	}
}

void
counting_past_lost(struct keeper *k)
{
	if (k->queue.counting != NULL)
		k->queue.counting->lost = keeper_lost(k);
}

void
counting_free(struct keeper *k)
{
	struct counting *c = k->queue.counting;

	if (c == NULL)
		return;
	for (unsigned i = 0; i < USAGE_ASKERS; i++)
		if (c->asker[i].conn != 0)
			free_asker(c, &c->asker[i]);
	usage_free(c->usage);
	free(c);
	k->queue.counting = NULL;
	keeper_settle_pairs(k);
}
