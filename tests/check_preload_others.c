/*
 * The preload beside other allocators and other runtimes: what it logs is what
 * the programs did, and they do what they would do without it.
 */
#include <stdint.h>
#include <stdlib.h>

#include "preload_rig.h"

/* --- other allocators, other runtimes ----------------------------------- */

static const char *const allocators[] = {
	"libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4",
	"libmimalloc.so.2",
};

#define ALLOCATORS (sizeof(allocators) / sizeof(allocators[0]))

static bool
installed(const char *lib, char *path, size_t cap)
{
	static const char *const dirs[] = { "/usr/lib/x86_64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib" };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, cap, "%s/%s", dirs[i], lib);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

CASE("others", .seconds = 60);

LOOP_TEST(another_allocator_behind_us_is_logged_whole, 0, ALLOCATORS)
{
	static const char *const targets[][2] = {
		{ "targets/exact_threads", "100000" },
		{ "targets/exact_realloc", "5000" },
		{ "targets/exact_operators" },
		{ "targets/forms" },
	};
	char lib[200];

	if (!installed(allocators[_i], lib, sizeof(lib)))
		return;
	for (size_t i = 0; i < 4; i++) {
		const char *argv[] = { built(targets[i][0]), targets[i][1],
			NULL };
		struct hello *h = hello_start(HELLO_SERVE);
		struct hello_result r, plain;
		const struct blklist_counts *c;

		hello_run(&plain, &(struct hello_how) { .plain = true,
		    .below = lib }, argv);
		hello_run(&r, &(struct hello_how) { .node = h->path,
		    .below = lib }, argv);
		hello_stop(h);
		/* An allocator that ends a target by itself: nothing to see. */
		if (!WIFEXITED(plain.status)) {
			hello_free(h);
			continue;
		}
		ck_assert_int_eq(r.status, plain.status);
		ck_assert_uint_eq(h->n, 1);
		ck_assert_int_eq(strncmp(h->images[0].hello.allocator,
		    allocators[_i], 12), 0);
		c = blklist_counts(h->images[0].list);
		ck_assert_uint_eq(h->images[0].lost, 0);
		ck_assert_uint_eq(c->unknown_free + c->duplicate, 0);
		ck_assert_int_ge((long)c->aRecActive, hello_value(&r, "kept"));
		hello_free(h);
	}
}

/* Compiles a text to h->folder/what with the flags. */
static void
compile(const struct hello *h, const char *compiler, const char *flags,
    const char *text, const char *suffix, char *out, size_t cap)
{
	char src[100], cmd[500];
	FILE *f;

	snprintf(src, sizeof(src), "%s/text%s", h->folder, suffix);
	snprintf(out, cap, "%s/text.out", h->folder);
	f = fopen(src, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "%s -w -fno-builtin %s -o %s %s", compiler,
	    flags, out, src);
	ck_assert_int_eq(system(cmd), 0);
	unlink(src);
}

TEST(program_with_a_malloc_of_its_own_says_that_and_has_rings_for_the_api_only)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	const char *argv[] = { built("targets/own_malloc"), NULL, NULL };

	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	ck_assert_str_eq(r.out, "own=1\n");
	argv[1] = "api";
	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	ck_assert_str_eq(r.out, "own=1\n");
	hello_stop(h);
	ck_assert_uint_eq(h->foreign, 2);
	ck_assert_uint_eq(h->n, 1);
	ck_assert_uint_eq(live_of(&h->images[0], 1, 0xc0), 1);
	ck_assert_uint_eq(blklist_counts(h->images[0].list)->records, 1);
	hello_free(h);
}

static const char address_text[] =
    "#include <stdlib.h>\n"
    "void *(*volatile fn)(size_t) = malloc;\n"
    "int main(void) { for (int i = 0; i < 9; i++) fn(10); return 5; }\n";

TEST(fixed_program_that_takes_the_address_of_malloc_is_watched)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	char path[100];
	const char *argv[] = { path, NULL };

	compile(h, "cc", "-no-pie -fno-pie", address_text, ".c", path,
	    sizeof(path));
	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	unlink(path);
	hello_stop(h);
	ck_assert_int_eq(WEXITSTATUS(r.status), 5);
	ck_assert_uint_eq(h->n, 1);
	ck_assert_uint_eq(blklist_counts(h->images[0].list)->allocs, 9);
	hello_free(h);
}

static const char *const sanitizers[] = { "address", "thread", "leak",
	"address -static-libasan" };

static const char sanitised_text[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "int main(void) { free(malloc(10)); puts(\"here\"); return 7; }\n";

LOOP_TEST(sanitised_program_runs_undisturbed_and_says_nothing, 0, 4)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	char path[100], flags[100];
	const char *argv[] = { path, NULL };

	snprintf(flags, sizeof(flags), "-fsanitize=%s", sanitizers[_i]);
	compile(h, "gcc", flags, sanitised_text, ".c", path, sizeof(path));
	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	unlink(path);
	hello_stop(h);
	ck_assert_str_eq(r.out, "here\n");
	ck_assert_int_eq(WEXITSTATUS(r.status), 7);
	ck_assert_uint_eq(h->met, 0);
	hello_free(h);
}

static const char plugin_text[] =
    "#include <new>\n"
    "#include <string>\n"
    "#include <vector>\n"
    "extern \"C\" int run(void)\n"
    "{\n"
    "	std::vector<std::string> v;\n"
    "	for (int i = 0; i < 10; i++)\n"
    "		v.push_back(std::string(100 + i, 'p'));\n"
    "	static char *volatile p;\n"
    "	try { p = new char[(size_t)1 << 60]; }\n"
    "	catch (const std::bad_alloc &) { return (int)v.size(); }\n"
    "	return -1;\n"
    "}\n";

static const char *const runtimes[] = { "", "-static-libstdc++ -static-libgcc" };

LOOP_TEST(plugin_that_brings_its_own_runtime_is_counted_exactly, 0, 2)
{
	struct hello *h = hello_start(HELLO_SERVE);
	char lib[100], flags[100], dir[] = "/tmp/pagek-count.XXXXXX";
	const char *argv[] = { built("targets/plugin"), lib, NULL };
	struct hello_result r;

	snprintf(flags, sizeof(flags), "-O1 -fPIC -shared %s", runtimes[_i]);
	compile(h, "c++", flags, plugin_text, ".cc", lib, sizeof(lib));
	ck_assert_ptr_nonnull(mkdtemp(dir));
	hello_run(&r, &(struct hello_how) { .node = h->path,
	    .below = built("libcount.so"), .count_dir = dir }, argv);
	hello_stop(h);
	unlink(lib);
	ck_assert_str_eq(r.out, "run=10\nclean=1\n");
	ck_assert_uint_eq(h->n, 1);
	compare_all(h, dir);
	ck_assert_uint_eq(h->images[0].by_type[REC_ALLOC][TYPE_NEW], 0);
	hello_free(h);
}

/* --- calls that bind to libc or another allocator ------------------------- */

CASE("bound", .seconds = 60);

/* "plugins/host" refers to dlsym(3), so the tables are changed at the start. */
static const char *const hosts[] = { "plugins/host", "plugins/told_host" };

/* What a plugin does that is loaded in the usual way is what both must do. */
LOOP_TEST(plugin_with_deepbind_is_logged_like_any_other, 0, 2)
{
	struct blklist_counts seen[2];

	for (int deep = 0; deep < 2; deep++) {
		struct hello *h = hello_start(HELLO_SERVE);
		const char *argv[] = { built(hosts[_i]),
			deep ? "deep" : "open", built("plugins/deep.so"), NULL };
		struct hello_result r;

		hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
		hello_stop(h);
		ck_assert_str_eq(r.out, "run=6\n");
		ck_assert_uint_eq(h->n, 1);
		seen[deep] = *blklist_counts(h->images[0].list);
		ck_assert_uint_eq(live_like(&h->images[0], 0, 7001, 0), 6);
		hello_free(h);
	}
	ck_assert_uint_gt(seen[0].allocs, 1500);
	ck_assert_uint_eq(seen[1].allocs, seen[0].allocs);
	ck_assert_uint_eq(seen[1].frees, seen[0].frees);
	ck_assert_uint_eq(seen[1].aRecActive, seen[0].aRecActive);
	ck_assert_uint_eq(seen[1].live_bytes, seen[0].live_bytes);
	ck_assert_uint_eq(seen[1].duplicate + seen[1].unknown_free, 0);
}

LOOP_TEST(plugin_finds_the_operators_of_its_own_library, 0, 2)
{
	struct hello *h = hello_start(HELLO_SERVE);
	const char *argv[] = { built(hosts[_i]), "open",
		built("plugins/plain.so"), NULL };
	struct hello_result r;

	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
	ck_assert_str_eq(r.out, "run=1\n");
	ck_assert_uint_eq(h->n, 1);
	ck_assert_uint_eq(h->images[0].by_type[REC_ALLOC][TYPE_NEW], 0);
	hello_free(h);
}

/* A layer below gets libc's functions by dlsym(3): one event must not be two. */
TEST(plugin_with_deepbind_goes_past_a_layer_below_as_without_us)
{
	struct hello *h = hello_start(HELLO_SERVE);
	char dir[] = "/tmp/pagek-count.XXXXXX";
	const char *argv[] = { built("plugins/host"), "deep",
		built("plugins/deep.so"), NULL };
	struct hello_result r;
	struct counted want;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	hello_run(&r, &(struct hello_how) { .node = h->path,
	    .below = built("libcount.so"), .count_dir = dir }, argv);
	hello_stop(h);
	ck_assert_str_eq(r.out, "run=6\n");
	ck_assert_uint_eq(h->n, 1);
	read_counted(dir, h->images[0].pid, 0, &want);
	ck_assert_uint_eq(blklist_counts(h->images[0].list)->allocs,
	    want.allocs);
	ck_assert_uint_eq(live_like(&h->images[0], 0, 7001, 0), 0);
	/* By these the list is known to be incomplete. */
	ck_assert_uint_gt(
	    blklist_counts(h->images[0].list)->unknown_free +
	    blklist_counts(h->images[0].list)->duplicate, 0);
	rmdir(dir);
	hello_free(h);
}

/* The C library tells of it since glibc 2.35. */
TEST(plugin_in_a_namespace_of_its_own_is_reported)
{
	static const char *const ways[] = { "apart", "deep" };

	for (int way = 0; way < 2; way++) {
		struct hello *h = hello_start(HELLO_SERVE);
		const char *argv[] = { built("plugins/host"), ways[way],
			built("plugins/deep.so"), NULL };
		struct hello_result r;

		hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
		hello_stop(h);
		ck_assert_str_eq(r.out, "run=6\n");
		ck_assert_uint_eq(h->n, 1);
		ck_assert_uint_eq(
		    stream_feed_counts(h->images[0].feed)->past,
		    way == 0 ? RING_PAST_NAMESPACE : 0);
		hello_free(h);
	}
}

LOOP_TEST(functions_that_only_one_allocator_has_are_logged, 0, 2)
{
	struct hello *h = hello_start(HELLO_SERVE);
	const char *argv[] = { built("targets/sized"), NULL };
	const struct blklist_counts *c;
	struct hello_result r;
	char lib[200];

	/* Without jemalloc: weak references that were bound to us. */
	if (_i == 0 && !installed("libjemalloc.so.2", lib, sizeof(lib)))
		return;
	hello_run(&r, &(struct hello_how) { .node = h->path,
	    .below = _i == 0 ? lib : NULL }, argv);
	hello_stop(h);
	ck_assert_int_eq(r.status, 0);
	ck_assert_uint_eq(h->n, 1);
	c = blklist_counts(h->images[0].list);
	ck_assert_uint_eq(c->unknown_free + c->duplicate, 0);
	ck_assert_int_eq(hello_value(&r, "allocs"), 4000);
	ck_assert_uint_ge(c->allocs, 4000);
	ck_assert_uint_eq(live_like(&h->images[0], 0, 5003, 0),
	    (unsigned)hello_value(&r, "kept"));
	ck_assert_int_eq(hello_value(&r, "grown"), 5);
	ck_assert_int_eq(hello_value(&r, "more"), 5);
	ck_assert_uint_eq(live_like(&h->images[0], 0, 5007, 0),
	    (unsigned)hello_value(&r, "grown"));
	ck_assert_uint_eq(live_like(&h->images[0], 0, 5010, 0),
	    (unsigned)hello_value(&r, "more"));
	ck_assert_uint_eq(live_like(&h->images[0], 0, 5001, 0), 0);
	ck_assert_uint_eq(live_like(&h->images[0], 0, 5002, 0), 0);
	hello_free(h);
}
