/*
 * Profiles: call trees and folded lines.
 */
#include <errno.h>

#include "profile_rig.h"

/* --- trees ---------------------------------------------------------------- */

#define NODES_SEEN 256

static struct seen {
	struct profile_node node;
	char name[64];
	struct profile_sum inside;	/* of its nodes, less the skipped */
} seen[NODES_SEEN];
static size_t nseen;
static struct profile_sum top;

static void
add_sum(struct profile_sum *to, const struct profile_sum *s)
{
	to->blocks += s->blocks;
	to->bytes += s->bytes;
}

static int
see(void *arg, const struct profile_node *node)
{
	size_t i = nseen;

	(void)arg;
	ck_assert_uint_lt(nseen, NODES_SEEN);
	seen[nseen].node = *node;
	seen[nseen].inside = (struct profile_sum){ 0 };
	snprintf(seen[nseen++].name, sizeof seen->name, "%s", node->function);
	if (node->skipped)
		return 0;
	if (node->depth == 0) {
		add_sum(&top, &node->total);
		return 0;
	}
	while (seen[--i].node.depth != node->depth - 1 ||
	    seen[i].node.omitted != 0)
		ck_assert_uint_gt(i, 0);
	add_sum(&seen[i].inside, &node->total);
	return 0;
}

static void
tree(struct profile_tree_opts o)
{
	nseen = 0;
	memset(&top, 0, sizeof top);
	o.now_ms = NOW;
	ck_assert_int_eq(profile_tree(p, &o, see, NULL), 0);
}

static const struct seen *
node(const char *name)
{
	for (size_t i = 0; i < nseen; i++)
		if (strcmp(seen[i].name, name) == 0)
			return &seen[i];
	ck_abort_msg("no node is called %s", name);
	return NULL;
}

static void
assert_adds_up(void)
{
	for (size_t i = 0; i < nseen; i++) {
		const struct profile_node *n = &seen[i].node;

		if (n->omitted != 0 || n->skipped)
			continue;
		ck_assert_msg(n->total.bytes == n->self.bytes +
		    seen[i].inside.bytes, "bytes of %s", seen[i].name);
		ck_assert_msg(n->total.blocks == n->self.blocks +
		    seen[i].inside.blocks, "blocks of %s", seen[i].name);
	}
}

static const struct profile_tree_opts trees[] = {
	{ .measure = PROFILE_BYTES },
	{ .measure = PROFILE_BLOCKS, .reversed = true },
	{ .measure = PROFILE_AGE },
	{ .measure = PROFILE_BYTES, .least = 0.1 },
	{ .measure = PROFILE_BYTES, .least = 0.5, .reversed = true },
	{ .measure = PROFILE_BYTES, .depth = 2 },
	{ .measure = PROFILE_BYTES, .depth = 1, .reversed = true },
};

CASE("trees", .setup = setup, .teardown = teardown);

LOOP_TEST(nodes_and_self_make_up_the_node_above, 0, BASE_NELEM(trees))
{
	put_all();
	profile_resolve(p, &words);
	tree(trees[_i]);
	assert_adds_up();
	ck_assert_uint_eq(top.bytes, profile_total(p).bytes);
	ck_assert_uint_eq(top.blocks, profile_total(p).blocks);
	/* With or without depth, the last of a row is said to be it. */
	for (size_t i = 0, k; i < nseen; i++) {
		unsigned depth = seen[i].node.depth;

		for (k = i + 1; k < nseen && seen[k].node.depth > depth; k++)
			continue;
		ck_assert_int_eq(seen[i].node.last,
		    k == nseen || seen[k].node.depth < depth);
		ck_assert(trees[_i].depth == 0 || depth < trees[_i].depth ||
		    seen[i].node.omitted != 0);
	}
}

/* Names of what main called, one behind the other. */
static void
assert_called_by_main(const char *want)
{
	char have[512] = "";
	size_t len = 0;

	ck_assert_str_eq(seen[0].name, "main");
	for (size_t i = 1; i < nseen; i++)
		if (seen[i].node.depth == 1)
			base_append(have, sizeof have, &len, "%s %llu,",
			    seen[i].name, (unsigned long long)
			    seen[i].node.total.bytes);
	ck_assert_str_eq(have, want);
}

TEST(siblings_are_in_order_of_weight_and_then_of_their_names)
{
	const struct profile_tree_opts by_bytes = { .measure = PROFILE_BYTES };

	/* libfoo's init, libbar's, a function without a name, and serve. */
	put(7, 1, 10);
	put(8, 1, 10);
	put(6, 1, 30);
	put(2, 1, 10);
	profile_resolve(p, &words);
	tree(by_bytes);
	assert_called_by_main("libfoo.so+0x1017 30,init 10,init 10,serve 10,");
	ck_assert_str_eq(node("init")->node.module, "/lib/libbar.so");
	put(2, 1, 1);
	tree(by_bytes);
	assert_called_by_main("libfoo.so+0x1017 30,serve 11,init 10,init 10,");
}

TEST(tree_goes_from_the_outermost_inwards_or_from_the_origin_outwards)
{
	put(1, 1, 10);
	profile_resolve(p, &words);
	tree((struct profile_tree_opts){ 0 });
	ck_assert_uint_eq(nseen, 5);
	ck_assert_str_eq(seen[0].name, "main");
	ck_assert_str_eq(seen[3].name, "parse");
	ck_assert_uint_eq(seen[3].node.self.bytes, 10);
	ck_assert_str_eq(seen[4].name, "zmalloc");
	ck_assert(seen[4].node.skipped);
	ck_assert_uint_eq(seen[4].node.self.bytes, 0);
	tree((struct profile_tree_opts){ .reversed = true });
	ck_assert_uint_eq(nseen, 4);
	ck_assert_str_eq(seen[0].name, "parse");
	ck_assert_str_eq(seen[0].node.where, "parse.c:118");
	ck_assert_str_eq(seen[3].name, "main");
	ck_assert_uint_eq(seen[3].node.self.bytes, 10);
}

TEST(stack_that_was_cut_says_why)
{
	put_all();
	profile_resolve(p, &words);
	tree((struct profile_tree_opts){ 0 });
	ck_assert_uint_eq(node("xmalloc")->node.end, RING_END_DEPTH);
	ck_assert_uint_eq(node("serve")->node.end, 0);
	ck_assert_uint_eq(node("main")->node.end, RING_END_NO_TABLE);
	tree((struct profile_tree_opts){ .reversed = true });
	ck_assert_uint_eq(node("xmalloc")->node.end, RING_END_DEPTH);
	ck_assert_uint_eq(node("parse")->node.end, 0);
	profile_restart(p);
	put(1, 1, 10);
	tree((struct profile_tree_opts){ 0 });
	ck_assert_uint_eq(node("main")->node.end, 0);
}

TEST(ends_sum_up)
{
	struct profile_sum ends[RING_ENDS];
	uint64_t blocks = 0;

	put_all();
	fake.no_stacks = true;
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_ends(p, ends), 0);
	ck_assert_uint_eq(ends[0].blocks, 66);
	fake.no_stacks = false;
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_ends(p, ends), 0);
	ck_assert_uint_eq(ends[RING_END_DEPTH].blocks, 5);
	ck_assert_uint_eq(ends[RING_END_NO_TABLE].blocks, 8);
	for (unsigned e = 0; e < RING_ENDS; e++)
		blocks += ends[e].blocks;
	ck_assert_uint_eq(blocks, 66);
}

TEST(focus_leaves_stacks_without_the_function_out)
{
	put_all();
	profile_resolve(p, &words);
	tree((struct profile_tree_opts){ .focus = "ca?he" });
	assert_adds_up();
	ck_assert_uint_eq(top.bytes, 200 + 300 + 1100);
	tree((struct profile_tree_opts){ .focus = "zmalloc" });
	ck_assert_uint_eq(top.bytes, 100 + 300 + 500);
	tree((struct profile_tree_opts){ .focus = "nobody" });
	ck_assert_uint_eq(nseen, 0);
}

static int
refuse(void *arg, const struct profile_node *n)
{
	(void)n;
	return ++*(int *)arg == 3 ? -ECANCELED : 0;
}

TEST(printing_ends_where_the_printer_wants)
{
	int calls = 0;

	put_all();
	profile_resolve(p, &words);
	ck_assert_int_eq(profile_tree(p, &(struct profile_tree_opts){ 0 },
	    refuse, &calls), -ECANCELED);
	ck_assert_int_eq(calls, 3);
}

/* --- folded lines --------------------------------------------------------- */

static char folded[64][512];
static size_t nfolded;

static int
keep(void *arg, const char *line)
{
	(void)arg;
	ck_assert_uint_lt(nfolded, BASE_NELEM(folded));
	snprintf(folded[nfolded++], sizeof folded[0], "%s", line);
	return 0;
}

static uint64_t
fold_by(enum profile_measure measure)
{
	uint64_t sum = 0;

	nfolded = 0;
	ck_assert_int_eq(profile_folded(p, measure, NOW, keep, NULL), 0);
	for (size_t i = 0; i < nfolded; i++) {
		char *blank = strrchr(folded[i], ' '), *end;

		ck_assert_ptr_nonnull(blank);
		sum += strtoull(blank + 1, &end, 10);
		ck_assert_int_eq(*end, '\0');
		ck_assert(end > blank + 1);
		if (i > 0)
			ck_assert_int_ne(strcmp(folded[i], folded[i - 1]), 0);
	}
	return sum;
}

CASE("folded", .setup = setup, .teardown = teardown);

TEST(folded_lines_sum_to_the_total)
{
	uint64_t age = 0;

	put_all();
	profile_resolve(p, &words);
	ck_assert_uint_eq(fold_by(PROFILE_BYTES), 6600);
	ck_assert_uint_eq(fold_by(PROFILE_BLOCKS), 66);
	for (unsigned n = 1; n < BASE_NELEM(sites); n++)
		age += n * 1000 * n + n * (n - 1) / 2;
	ck_assert_uint_eq(fold_by(PROFILE_AGE), age);
}

TEST(folded_line_goes_from_the_outermost_to_the_origin)
{
	put(1, 1, 10);
	put(3, 2, 10);
	put(2, 1, 5);
	profile_resolve(p, &words);
	fold_by(PROFILE_BYTES);
	ck_assert_uint_eq(nfolded, 2);
	ck_assert_str_eq(folded[0], "main;serve;cache 25");
	ck_assert_str_eq(folded[1], "main;serve;handle;parse 10");
	profile_set_wrappers(p, NULL);
	fold_by(PROFILE_BYTES);
	ck_assert_str_eq(folded[1], "main;serve;cache;zmalloc 20");
}

TEST(hostile_names_break_no_line)
{
	put(9, 1, 10);
	profile_resolve(p, &words);
	fold_by(PROFILE_BYTES);
	ck_assert_uint_eq(nfolded, 1);
	ck_assert_ptr_null(strpbrk(folded[0], "\n\033\xff"));
	ck_assert_ptr_nonnull(strstr(folded[0], "main;evil:name"));
	ck_assert_ptr_eq(strchr(folded[0], ';'), strrchr(folded[0], ';'));
}

TEST(block_newer_than_now_has_no_age)
{
	ck_assert_int_eq(profile_add(p, 0x17, 10, NOW + 5000), 0);
	ck_assert_int_eq(profile_add(p, 0x17, 10, NOW + 5000), 0);
	profile_resolve(p, &words);
	ck_assert_uint_eq(fold_by(PROFILE_AGE), 0);
	ck_assert_uint_eq(fold_by(PROFILE_BYTES), 20);
}

/* --- many ----------------------------------------------------------------- */

static bool
deep_stack(void *arg, uint64_t caller, struct stream_site *out)
{
	static uint64_t frame[200];

	(void)arg;
	for (unsigned i = 0; i < BASE_NELEM(frame); i++)
		frame[i] = 0x100000 + (i == 0 ? caller % 5000 : i);
	*out = (struct stream_site){ frame, BASE_NELEM(frame),
		RING_END_DEPTH };
	return true;
}

static const struct wire_words *
deep_words(void *arg, uint64_t frame)
{
	static char name[64];
	static struct wire_words w;

	(void)arg;
	/* Names that others begin with. */
	snprintf(name, sizeof name, "f%llu",
	    (unsigned long long)frame - 0x100000);
	w = (struct wire_words){ .frame = frame, .known = WIRE_K_NO_LINE,
		.n = 40 };
	for (size_t i = 0; i < WIRE_INLINES_MAX; i++)
		w.line[i].function = text(name, strlen(name));
	return &w;
}

TEST(more_than_fits_is_cut)
{
	static const struct profile_words deep = { deep_stack, deep_words,
		NULL };
	struct profile_tree_opts o = { .least = 0.5 };
	uint64_t weight = 0;

	for (unsigned i = 0; i < 20000; i++)
		ck_assert_int_eq(profile_add(p, 10000 - i % 5000, 1, i), 0);
	ck_assert_int_eq(profile_resolve(p, &deep), 0);
	group(PROFILE_MODULE, PROFILE_BYTES);
	ck_assert_uint_eq(rows[0].stacks, 5000);
	groups = group_rows(PROFILE_FUNCTION, PROFILE_BYTES, 0, NULL, 0, &got);
	ck_assert_uint_eq(groups, 5000);
	nseen = 0;
	ck_assert_int_eq(profile_tree(p, &o, refuse, &(int){ 10 }), 0);
	ck_assert_int_eq(profile_folded(p, PROFILE_BYTES, NOW, weigh, &weight),
	    0);
	ck_assert_uint_eq(weight, 20000);
}
