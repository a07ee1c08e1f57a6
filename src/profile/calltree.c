/*
 * The call tree, and the same tree as folded lines.  The tree is built whole,
 * then its nodes are sorted so that siblings are adjacent; printing leaves out
 * small branches.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "profile_tables.h"

#define NO_NODE UINT32_MAX
#define NAME_MAX_BYTES 1024

struct node {
	uint64_t key;		/* parent, function, skipped: see node_key() */
	uint32_t parent, function;
	uint32_t child, children;	/* in tree.order */
	struct place place;
	struct sums total, self;
	unsigned end;
	uint64_t end_weight;	/* of the heaviest such stack */
	uint64_t value;
	bool skipped;
};

struct tree {
	struct profile *p;
	const struct profile_tree_opts *o;
	bool *match;		/* of each function, with a focus */
	struct hashmap nodes;
	uint32_t *order;	/* node indexes by parent, siblings sorted */
	uint32_t child, children;	/* those without a parent */
	uint64_t least;		/* of the measure */
};

static struct node *
node_at(const struct tree *t, size_t i)
{
	return hashmap_item(&t->nodes, i);
}

static uint64_t
node_key(uint32_t parent, uint32_t function, bool skipped)
{
	return (uint64_t)(parent + 1) << 32 | (uint64_t)function << 1 | skipped;
}

/* Adds to the child of `parent`; the node's index or -ENOMEM. */
static int64_t
add_to_child(struct tree *t, uint32_t parent, const struct line *l, bool skipped,
    const struct sums *sums)
{
	struct node *node;
	bool added;
	int64_t i;

	i = hashmap_put(&t->nodes, node_key(parent, l->function, skipped),
	    &added);
	if (i < 0)
		return i;
	node = node_at(t, (size_t)i);
	node->parent = parent;
	node->function = l->function;
	node->skipped = skipped;
	place_add(t->p, &node->place, l);
	sums_add(&node->total, sums);
	return i;
}

static void
note_end(struct tree *t, uint32_t at, unsigned end, uint64_t weight)
{
	struct node *node = node_at(t, at);

	if (end == RING_END_OUTERMOST || weight < node->end_weight)
		return;
	node->end = end;
	node->end_weight = weight;
}

static int
add_stack(struct tree *t, size_t caller, const uint32_t *lines, size_t n)
{
	const struct sums *sums = &profile_caller(t->p, caller)->sums;
	uint64_t weight = sums_measure(sums, t->o->measure, t->o->now_ms);
	size_t origin = profile_origin(t->p, lines, n);
	size_t many = t->o->reversed ? n - origin : n;
	uint32_t parent = NO_NODE, self = NO_NODE, outermost = NO_NODE;
	int64_t at;

	for (size_t k = 0; k < many; k++) {
		size_t i = t->o->reversed ? origin + k : n - 1 - k;

		at = add_to_child(t, parent, &t->p->line[lines[i]], i < origin, sums);
		if (at < 0)
			return -ENOMEM;
		parent = (uint32_t)at;
		if (i == n - 1)
			outermost = parent;
		if (t->o->reversed ? i == n - 1 : i == origin)
			self = parent;
	}
	sums_add(&node_at(t, self)->self, sums);
	note_end(t, outermost, t->p->stack[caller].end, weight);
	return 0;
}

static bool
is_focus(const struct tree *t, const uint32_t *lines, size_t n)
{
	if (t->match == NULL)
		return true;
	for (size_t i = 0; i < n; i++)
		if (t->match[t->p->line[lines[i]].function])
			return true;
	return false;
}

static int
find_matches(struct tree *t)
{
	char brief[NAME_MAX_BYTES];
	size_t n = t->p->functions.n;

	if (t->o->focus == NULL)
		return 0;
	t->match = calloc(n + 1, sizeof *t->match);
	if (t->match == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *name = profile_function(t->p, i)->name;

		symbol_short_name(name, brief, sizeof brief);
		t->match[i] = fnmatch(t->o->focus, brief, 0) == 0 ||
		    fnmatch(t->o->focus, name, 0) == 0;
	}
	return 0;
}

static int
build_nodes(struct tree *t)
{
	uint32_t lines[PROFILE_LINES_MAX];
	int r = profile_prepare(t->p);

	if (r == 0)
		r = find_matches(t);
	for (size_t i = 0; i < t->p->callers.n && r == 0; i++) {
		size_t n;

		if (profile_caller(t->p, i)->sums.blocks == 0)
			continue;
		n = profile_lines(t->p, i, lines);
		if (is_focus(t, lines, n))
			r = add_stack(t, i, lines, n);
	}
	return r;
}

/* Skipped ones of a name come first; no two nodes are equal. */
static int
by_name(const struct tree *t, const struct node *a, const struct node *b)
{
	const struct function *fa = profile_function(t->p, a->function);
	const struct function *fb = profile_function(t->p, b->function);
	int c = strcmp(fa->name, fb->name);

	if (c == 0)
		c = strcmp(fa->module, fb->module);
	if (c != 0)
		return c;
	if (a->skipped != b->skipped)
		return a->skipped ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int
compare(const void *va, const void *vb, void *arg)
{
	const struct tree *t = arg;
	const struct node *a = node_at(t, *(const uint32_t *)va);
	const struct node *b = node_at(t, *(const uint32_t *)vb);

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return by_name(t, a, b);
}

static int
compare_names(const void *va, const void *vb, void *arg)
{
	const struct tree *t = arg;
	const struct node *a = node_at(t, *(const uint32_t *)va);
	const struct node *b = node_at(t, *(const uint32_t *)vb);

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return by_name(t, a, b);
}

static int
sort_nodes(struct tree *t, int (*how)(const void *, const void *, void *))
{
	uint32_t n = (uint32_t)t->nodes.n;

	t->order = calloc((size_t)n + 1, sizeof *t->order);
	if (t->order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		t->order[i] = i;
		node_at(t, i)->value = sums_measure(&node_at(t, i)->total,
		    t->o->measure, t->o->now_ms);
	}
	qsort_r(t->order, n, sizeof *t->order, how, t);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t parent = node_at(t, t->order[i])->parent;
		uint32_t *child = parent == NO_NODE ? &t->child :
		    &node_at(t, parent)->child;
		uint32_t *children = parent == NO_NODE ? &t->children :
		    &node_at(t, parent)->children;

		if ((*children)++ == 0)
			*child = i;
	}
	return 0;
}

static int
tree_make(struct tree *t, int (*how)(const void *, const void *, void *))
{
	int r = build_nodes(t);

	return r == 0 ? sort_nodes(t, how) : r;
}

static void
tree_fini(struct tree *t)
{
	hashmap_fini(&t->nodes);
	free(t->order);
	free(t->match);
}

struct printer {
	struct tree *t;
	int (*print)(void *arg, const struct profile_node *);
	void *arg;
};

static bool
is_shown(const struct tree *t, const struct node *node, unsigned depth)
{
	return node->value >= t->least &&
	    (t->o->depth == 0 || depth < t->o->depth);
}

static int
print_node(const struct printer *pr, const struct node *node, unsigned depth,
    bool last)
{
	struct profile_node out = {
		.depth = depth,
		.function = profile_function(pr->t->p, node->function)->name,
		.file = node->place.file,
		.module = node->place.module,
		.line = node->place.line,
		.skipped = node->skipped,
		.last = last,
		.total = sums_out(&node->total),
		.self = sums_out(&node->self),
		.end = node->end,
	};
	int r;

	r = place_where(pr->t->p, &node->place, &out.where);
	return r < 0 ? r : pr->print(pr->arg, &out);
}

static int
print_omitted(const struct printer *pr, unsigned depth, uint32_t n,
    const struct sums *sums)
{
	struct profile_node out = {
		.depth = depth,
		.function = "", .where = "", .file = "", .module = "",
		.last = true,
		.omitted = n,
		.total = sums_out(sums),
	};

	return pr->print(pr->arg, &out);
}

static int
print_children(const struct printer *pr, uint32_t child, uint32_t children,
    unsigned depth)
{
	const struct tree *t = pr->t;
	struct sums left = { 0 };
	uint32_t omitted = 0, shown = 0, k;
	int r = 0;

	for (k = 0; k < children; k++) {
		const struct node *node = node_at(t, t->order[child + k]);

		if (is_shown(t, node, depth)) {
			shown++;
		} else if (!node->skipped) {
			omitted++;
			sums_add(&left, &node->total);
		}
	}
	for (k = 0; k < children && r == 0; k++) {
		const struct node *node = node_at(t, t->order[child + k]);

		if (!is_shown(t, node, depth))
			continue;
		r = print_node(pr, node, depth, --shown == 0 && omitted == 0);
		if (r == 0 && node->children > 0)
			r = print_children(pr, node->child, node->children,
			    depth + 1);
	}
	return r == 0 && omitted > 0 ?
	    print_omitted(pr, depth, omitted, &left) : r;
}

int
profile_tree(struct profile *p, const struct profile_tree_opts *o,
    int (*print)(void *arg, const struct profile_node *), void *arg)
{
	struct tree t = { .p = p, .o = o,
		.nodes.size = sizeof(struct node) };
	struct printer pr = { .t = &t, .print = print, .arg = arg };
	double least = o->least * (double)sums_measure(&p->total, o->measure,
	    o->now_ms);
	int r;

	t.least = least > 0 ? (uint64_t)least : 0;
	r = tree_make(&t, compare);
	if (r == 0)
		r = print_children(&pr, t.child, t.children, 0);
	tree_fini(&t);
	return r;
}

struct folder {
	struct tree *t;
	int (*put)(void *arg, const char *line);
	void *arg;
	void *line;
	size_t len, cap;
};

static int
push_name(struct folder *f, const char *name, bool first)
{
	char safe[NAME_MAX_BYTES], *c;
	size_t n;

	n = base_safe_text(safe, sizeof safe, name, strlen(name), false);
	for (c = strchr(safe, ';'); c != NULL; c = strchr(c, ';'))
		*c = ':';
	/* Room for the separator, and for the measure that may follow. */
	if (base_grow(&f->line, &f->cap, f->len + n + 32, 1) < 0)
		return -ENOMEM;
	if (!first)
		((char *)f->line)[f->len++] = ';';
	memcpy((char *)f->line + f->len, safe, n);
	f->len += n;
	return 0;
}

static uint64_t
weight_of(const struct tree *t, const struct sums *self)
{
	return t->o->measure == PROFILE_AGE ?
	    sums_age(t->p, self, t->o->now_ms) :
	    sums_whole(sums_measure(self, t->o->measure, t->o->now_ms));
}

static int
fold_children(struct folder *f, uint32_t child, uint32_t children, bool first)
{
	size_t len = f->len;
	int r = 0;

	for (uint32_t k = 0; k < children && r == 0; k++) {
		const struct node *node = node_at(f->t,
		    f->t->order[child + k]);
		uint64_t weight = weight_of(f->t, &node->self);

		if (node->skipped)
			continue;
		r = push_name(f, profile_function(f->t->p,
		    node->function)->name, first);
		if (r == 0 && weight > 0) {
			snprintf((char *)f->line + f->len, 24, " %llu",
			    (unsigned long long)weight);
			r = f->put(f->arg, f->line);
		}
		if (r == 0)
			r = fold_children(f, node->child, node->children, false);
		f->len = len;
	}
	return r;
}

int
profile_folded(struct profile *p, enum profile_measure measure,
    int64_t now_ms, int (*put)(void *arg, const char *line), void *arg)
{
	struct profile_tree_opts o = { .measure = measure, .now_ms = now_ms };
	struct tree t = { .p = p, .o = &o,
		.nodes.size = sizeof(struct node) };
	struct folder f = { .t = &t, .put = put, .arg = arg };
	int r;

	r = tree_make(&t, compare_names);
	if (r == 0)
		r = fold_children(&f, t.child, t.children, true);
	tree_fini(&t);
	free(f.line);
	return r;
}
