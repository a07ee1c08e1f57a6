/* Which target has started which, and what each tree of them holds. */
#include <string.h>

#include "link.h"

#define TREE_MAX 4096		/* targets; of more, none has a parent */
#define CLOCK_SLACK_MS 2000	/* start and end are by two readings of the clock */

/* The i-th may have started the k-th; a pid may have been used again. */
static bool
may_have_started(const struct nodes_target *t, size_t i, size_t k)
{
	int64_t start = t[k].started_ms;

	if (i == k || t[i].pid == 0 || t[i].pid != t[k].starter)
		return false;
	if (t[i].started_ms == 0 || start == 0)
		return true;
	return t[i].started_ms <= start &&
	    (t[i].ended_ms < t[i].started_ms ||
	    t[i].state == WIRE_S_EXECED ||
	    t[i].ended_ms + CLOCK_SLACK_MS >= start);
}

/* The first image runs in a later process than the second, or after it. */
static bool
is_later(const struct nodes_target *x, const struct nodes_target *y)
{
	bool replaced = x->state == WIRE_S_EXECED;

	if (x->started_ms != y->started_ms)
		return x->started_ms > y->started_ms;
	if (replaced != (y->state == WIRE_S_EXECED))
		return !replaced;
	return x->ended_ms != y->ended_ms ?
	    x->ended_ms == 0 || (y->ended_ms != 0 &&
		x->ended_ms > y->ended_ms) :
	    x->index > y->index;
}

bool
nodes_target_is_newer(const struct nodes_target *x,
    const struct nodes_target *y)
{
	bool live = nodes_target_is_live(x);

	return live != nodes_target_is_live(y) ? live : is_later(x, y);
}

static size_t
find_parent(const struct nodes_target *t, size_t n, size_t k)
{
	size_t best = NODES_NO_PARENT;

	for (size_t i = 0; i < n; i++)
		if (may_have_started(t, i, k) && (best == NODES_NO_PARENT ||
		    is_later(&t[i], &t[best])))
			best = i;
	return best;
}

void
nodes_sum_add(struct nodes_sum *to, const struct nodes_sum *s)
{
	to->processes += s->processes;
	to->blocks += s->blocks;
	to->bytes += s->bytes;
	to->peaks += s->peaks;
	to->sampled |= s->sampled;
	to->incomplete += s->incomplete;
	to->unknown += s->unknown;
	to->ended += s->ended;
}

static bool
is_complete(const struct nodes_target *t)
{
	return t->n[WIRE_N_LOST] == 0 && t->n[WIRE_N_FULL] == 0 &&
	    t->n[WIRE_N_UNSURE] == 0;
}

void
nodes_sum_of(const struct nodes_target *t, struct nodes_sum *sum)
{
	*sum = (struct nodes_sum){ 0 };
	if (t->ended || t->state == WIRE_S_ENDED || t->state == WIRE_S_EXECED) {
		sum->ended = 1;
	} else if (t->state != WIRE_S_LIVE) {
		sum->unknown = 1;
	} else {
		sum->processes = 1;
		sum->blocks = t->n[WIRE_N_EST_BLOCKS];
		sum->bytes = t->n[WIRE_N_EST_BYTES];
		sum->sampled = t->n[WIRE_N_SAMPLE] != 0;
		sum->peaks = t->n[sum->sampled ? WIRE_N_EST_PEAK_BYTES :
		    WIRE_N_PEAK_BYTES];
		sum->incomplete = !is_complete(t);
	}
}

struct tree {
	const struct nodes_target *t;
	struct nodes_branch *branch;
	size_t branches;
};

/* The i-th comes before the k-th: it was started first. */
static bool
is_before(const struct nodes_target *t, size_t i, size_t k)
{
	if (t[i].started_ms != t[k].started_ms)
		return t[i].started_ms != 0 && (t[k].started_ms == 0 ||
		    t[i].started_ms < t[k].started_ms);
	return t[i].pid != t[k].pid ? t[i].pid < t[k].pid :
	    is_later(&t[k], &t[i]);
}

static void
sort_by_start(struct tree *tree)
{
	struct nodes_branch *b = tree->branch, moved;
	size_t i, k;

	/* Nearly sorted: the table is in the order of the hellos. */
	for (i = 1; i < tree->branches; i++) {
		for (k = i; k > 0 && is_before(tree->t, b[i].at, b[k - 1].at);
		    k--)
			continue;
		moved = b[i];
		memmove(b + k + 1, b + k, (i - k) * sizeof *b);
		b[k] = moved;
	}
}

/* The targets of branches ascend here. */
static const struct nodes_branch *
find_branch(const struct tree *tree, size_t at)
{
	size_t i;

	BASE_FIND_FIRST(i, tree->branches - 1, tree->branch[i].at >= at);
	return &tree->branch[i];
}

/* Parents are numbers of targets here. */
static void
break_circles(struct tree *tree)
{
	for (size_t i = 0; i < tree->branches; i++) {
		size_t up = tree->branch[i].parent, steps = 0;

		while (up != NODES_NO_PARENT && steps++ < tree->branches)
			up = find_branch(tree, up)->parent;
		if (up != NODES_NO_PARENT)
			tree->branch[i].parent = NODES_NO_PARENT;
	}
}

/*
 * Moves the branches below a target, from `at` on unplaced, to there; returns
 * the place after them.  The others keep their order.
 */
static size_t
place_below(struct tree *tree, size_t at, size_t target, size_t parent)
{
	struct nodes_branch *b = tree->branch, moved;
	size_t i = at;

	while (i < tree->branches) {
		if (b[i].parent != target) {
			i++;
			continue;
		}
		moved = b[i];
		memmove(b + at + 1, b + at, (i - at) * sizeof *b);
		moved.parent = parent;
		moved.depth = parent == NODES_NO_PARENT ? 0 :
		    b[parent].depth + 1;
		b[at] = moved;
		i = place_below(tree, at + 1, moved.at, at);
		b[at].below = i - at - 1;
		at = i;
	}
	return at;
}

size_t
nodes_tree(const struct nodes_target *t, size_t n, struct nodes_branch *branch)
{
	struct tree tree = { .t = t, .branch = branch };

	for (size_t i = 0; i < n; i++) {
		if (t[i].pid == 0)
			continue;
		branch[tree.branches] = (struct nodes_branch){ .at = i,
			.parent = n <= TREE_MAX ? find_parent(t, n, i) :
			NODES_NO_PARENT };
		nodes_sum_of(&t[i], &branch[tree.branches++].sum);
	}
	if (n > TREE_MAX)
		return tree.branches;
	break_circles(&tree);
	sort_by_start(&tree);
	place_below(&tree, 0, NODES_NO_PARENT, NODES_NO_PARENT);
	for (size_t i = tree.branches; i-- > 0; ) {
		const struct nodes_sum *sum = &branch[i].sum;

		if (branch[i].parent == NODES_NO_PARENT)
			continue;
		nodes_sum_add(&branch[branch[i].parent].sum, sum);
		branch[branch[i].parent].live_below |=
		    sum->processes + sum->unknown > 0;
	}
	return tree.branches;
}
