/*
 * The preload on real programs: what it logs is what they did, and they do
 * what they would do without it.
 */
#include <stdint.h>
#include <stdlib.h>

#include "harness.h"
#include "hello.h"

static const char *
built(const char *name)
{
	static char path[4][700];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/tests/%s", hello_build(), name);
	return p;
}

/* --- exact -------------------------------------------------------------- */

static const struct target {
	const char *argv[4];
	unsigned images;
} exact[] = {
	{ { "targets/exact_family" }, 1 },
	{ { "targets/exact_operators" }, 1 },
	{ { "targets/exact_threads", "200000", "8", "512" }, 1 },
	{ { "targets/exact_threads", "60000", "16", "7" }, 1 },
	{ { "targets/exact_churn", "3", "160" }, 1 },
	{ { "targets/exact_realloc", "5000" }, 1 },
	{ { "targets/exact_forks" }, 9 },
	{ { "targets/exact_exec", "5" }, 6 },
	{ { "targets/exact_daemon" }, 1 },
};

#define EXACT (sizeof(exact) / sizeof(exact[0]))

/* What the second counting layer wrote about the nth image of a pid. */
struct counted {
	char magic[8];
	uint64_t allocs, frees, failed, inherited, live_blocks, live_bytes;
	uint64_t strange;
};

static void
read_counted(const char *dir, pid_t pid, unsigned nth, struct counted *c)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/%d.%u", dir, (int)pid, nth);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd != -1, "%s: an image that only one has seen", path);
	ck_assert_int_eq(read(fd, c, sizeof(*c)), (ssize_t)sizeof(*c));
	close(fd);
	unlink(path);
	ck_assert_str_eq(c->magic, "COUNT1");
}

static void
compare(const struct hello_image *im, const struct counted *want)
{
	const struct blklist_counts *c = blklist_counts(im->list);

	ck_assert_uint_eq(c->allocs, want->allocs);
	ck_assert_uint_eq(c->frees, want->frees);
	ck_assert_uint_eq(c->failed, want->failed);
	ck_assert_uint_eq(c->inherited, want->inherited);
	ck_assert_uint_eq(c->aRecActive, want->live_blocks);
	ck_assert_uint_eq(c->live_bytes, want->live_bytes);
	ck_assert_uint_eq(c->unknown_free + c->unknown_undo, 0);
	ck_assert_uint_eq(c->duplicate, 0);
	ck_assert_uint_eq(c->late, 0);
	ck_assert_uint_eq(im->lost, 0);
}

static void
compare_all(const struct hello *h, const char *dir)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct counted want;
		unsigned nth = 0;

		for (unsigned k = 0; k < i; k++)
			nth += h->images[k].pid == h->images[i].pid;
		read_counted(dir, h->images[i].pid, nth, &want);
		compare(&h->images[i], &want);
	}
	/* Nothing is left that was counted and did not say hello. */
	ck_assert_int_eq(rmdir(dir), 0);
}

START_TEST(every_image_is_counted_as_by_the_layer_below)
{
	const struct target *t = &exact[_i];
	const char *argv[5] = { built(t->argv[0]), t->argv[1], t->argv[2],
		t->argv[3], NULL };
	char dir[] = "/tmp/pagek-count.XXXXXX";
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	hello_run(&r, &(struct hello_how) { .node = h->path,
	    .below = built("libcount.so"), .count_dir = dir }, argv);
	hello_stop(h);
	ck_assert_uint_eq(h->n, t->images);
	compare_all(h, dir);
	hello_free(h);
}
END_TEST

START_TEST(output_and_status_are_as_without_us)
{
	const struct target *t = &exact[_i];
	const char *argv[5] = { built(t->argv[0]), t->argv[1], t->argv[2],
		t->argv[3], NULL };
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result ours, plain;

	hello_run(&plain, &(struct hello_how) { .plain = true }, argv);
	hello_run(&ours, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
	ck_assert_int_eq(ours.status, plain.status);
	/* The interleaving of threads is nobody's promise. */
	if (strstr(argv[0], "threads") == NULL)
		ck_assert_str_eq(ours.out, plain.out);
	hello_free(h);
}
END_TEST

/* --- what is logged, and under which name ------------------------------- */

static void
watch(struct hello *h, struct hello_result *r, const char *target,
    const char *arg)
{
	const char *argv[] = { built(target), arg, NULL };

	hello_run(r, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
}

static unsigned
live_of(const struct hello_image *im, unsigned layer, unsigned type)
{
	struct blk b;
	bool start = true;
	unsigned n = 0, at = 0;
	uint64_t addr = 0;

	while (blklist_after(im->list, start, at, addr, &b, 1) == 1) {
		start = false;
		at = (b.flags & REC_LAYER_API) != 0;
		addr = b.addr;
		n += at == layer && (type == 0 || b.type == type);
	}
	return n;
}

START_TEST(each_operator_goes_by_its_own_type_once)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	const struct hello_image *im = &h->images[0];

	watch(h, &r, "targets/exact_operators", NULL);
	ck_assert_uint_eq(h->n, 1);
	/* Twice every_form(): two of each nothrow form, without failures. */
	ck_assert_uint_eq(im->by_type[REC_ALLOC][TYPE_NEW_NOTHROW], 2 * 2 + 3);
	ck_assert_uint_eq(im->by_type[REC_ALLOC][TYPE_NEW_ARRAY_NOTHROW],
	    2 * 2 + 3);
	/* All arrays end by delete[]; three requests for one have failed. */
	ck_assert_uint_eq(im->by_type[REC_ALLOC][TYPE_NEW_ARRAY] - 3 + 2 * 2,
	    im->by_type[REC_FREE][TYPE_DELETE_ARRAY]);
	ck_assert_uint_eq(live_of(im, 0, TYPE_NEW_ARRAY), 0);
	ck_assert_uint_eq(live_of(im, 0, TYPE_NEW_NOTHROW), 0);
	ck_assert_uint_ge(live_of(im, 0, TYPE_NEW), 22);
	hello_free(h);
}
END_TEST

START_TEST(blocks_of_the_api_are_a_layer_of_their_own)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	const struct hello_image *im = &h->images[0];

	watch(h, &r, "targets/named", NULL);
	ck_assert_uint_eq(h->n, 1);
	ck_assert_int_eq(hello_value(&r, "errno_kept"), 1);
	ck_assert_uint_eq(live_of(im, 1, 0), 2);
	ck_assert_int_eq(hello_value(&r, "named"), 2);
	ck_assert_uint_eq(im->by_type[REC_ALLOC][0xc4], 5);
	ck_assert_uint_eq(im->by_type[REC_RANGE][0], 1);
	ck_assert_uint_eq(im->controls[REC_CTL_TYPE], 1);
	ck_assert_uint_eq(im->controls[REC_CTL_TYPE_TEXT], 3);
	ck_assert_uint_eq(im->controls[REC_CTL_REQUESTER], 2);
	ck_assert_uint_eq(im->controls[REC_CTL_MARK], 1);
	ck_assert_uint_eq(im->controls[REC_CTL_STOP], 1);
	ck_assert_uint_eq(im->controls[REC_CTL_START], 1);
	/* Of what is no region nothing is said. */
	ck_assert_uint_eq(im->controls[REC_CTL_REGION], 1);
	ck_assert_uint_eq(im->controls[REC_CTL_REGION_END], 1);
	ck_assert_uint_eq(im->marks, 0x666c6168);	/* "half" */
	ck_assert_uint_eq(blklist_counts(im->list)->unknown_free, 0);
	hello_free(h);
}
END_TEST

/* Also those of which the parent thinks otherwise by then. */
START_TEST(forked_children_tell_the_regions_that_they_have)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	watch(h, &r, "targets/regions", NULL);
	ck_assert_int_eq(hello_value(&r, "errno_kept"), 1);
	ck_assert_uint_eq(h->n, 3);
	for (unsigned i = 0; i < h->n; i++) {
		const struct hello_image *im = &h->images[i];
		bool parent = (im->hello.flags & RING_HELLO_FORKED) == 0;

		ck_assert_uint_eq(im->lost, 0);
		ck_assert_uint_eq(im->controls[REC_CTL_REGION],
		    parent ? 3 : 2);
		ck_assert_uint_eq(im->controls[REC_CTL_REGION_END],
		    parent ? 3 : 1);
	}
	hello_free(h);
}
END_TEST

START_TEST(handler_that_meets_the_hooks_in_the_middle_loses_nothing)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	const struct hello_image *im = &h->images[0];
	const struct blklist_counts *c;

	watch(h, &r, "targets/signals", "2000");
	ck_assert_uint_eq(h->n, 1);
	c = blklist_counts(im->list);
	ck_assert_uint_eq(im->lost, 0);
	ck_assert_uint_eq(c->unknown_free + c->duplicate, 0);
	ck_assert_int_eq(live_of(im, 1, 0), hello_value(&r, "named"));
	ck_assert_int_eq(im->by_type[REC_ALLOC][0xc1], hello_value(&r, "hits"));
	hello_free(h);
}
END_TEST

/* It prints `text`=is, and so many events of each kind are those that it has. */
static void
expect_events(const char *target, const char *text, int is, uint64_t events)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	const struct blklist_counts *c;

	watch(h, &r, target, NULL);
	ck_assert_int_eq(r.status, 0);
	ck_assert_int_eq(hello_value(&r, text), is);
	ck_assert_uint_eq(h->n, 1);
	c = blklist_counts(h->images[0].list);
	ck_assert_uint_eq(c->allocs, events);
	ck_assert_uint_eq(c->frees, events);
	hello_free(h);
}

START_TEST(first_allocation_may_come_before_all_constructors)
{
	expect_events("targets/first", "early", 1, 10);
}
END_TEST

START_TEST(thread_whose_own_storage_is_zeros_is_logged)
{
	expect_events("targets/bare", "made", 1000, 1000);
}
END_TEST

START_TEST(thread_that_begins_is_named_by_its_tid)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	watch(h, &r, "targets/exact_churn", "1");
	ck_assert_int_eq(hello_value(&r, "threads"), 160);
	/* main and all the others, with a ring or without. */
	ck_assert_uint_eq(h->images[0].controls[REC_CTL_THREAD], 161);
	hello_free(h);
}
END_TEST

/* --- nobody, or nobody of use, listens ---------------------------------- */

static const char *const family[] = { "targets/exact_family", NULL };

static void
same_without_us(const struct hello_how *how)
{
	const char *argv[] = { built(family[0]), NULL };
	struct hello_result ours, plain;

	hello_run(&plain, &(struct hello_how) { .plain = true }, argv);
	hello_run(&ours, how, argv);
	ck_assert_int_eq(ours.status, plain.status);
	ck_assert_str_eq(ours.out, plain.out);
}

START_TEST(without_a_node_named_it_is_inert)
{
	same_without_us(&(struct hello_how) { .node = NULL });
	same_without_us(&(struct hello_how) { .node = "" });
	same_without_us(&(struct hello_how) { .node = "/no/such/node" });
	same_without_us(&(struct hello_how) { .node =
	    "/a/path/that/is/far/too/long/for/the/address/of/a/socket/in/the/"
	    "file/system/which/has/room/for/a/hundred/and/eight/bytes/only" });
}
END_TEST

START_TEST(node_that_does_not_do_its_part_is_left_alone)
{
	struct hello *h = hello_start((enum hello_manner)_i);
	uint32_t magic = 0;

	same_without_us(&(struct hello_how) { .node = h->path });
	hello_stop(h);
	if (h->bad != -1)
		ck_assert_int_eq(pread(h->bad, &magic, sizeof(magic), 0),
		    sizeof(magic));
	ck_assert_uint_eq(magic, 0);
	ck_assert_uint_eq(h->n, 0);
	ck_assert_uint_eq(h->met, h->manner == HELLO_ABSENT ? 0 : 1);
	hello_free(h);
}
END_TEST

START_TEST(children_of_an_inert_process_do_not_call_again)
{
	struct hello *h = hello_start(HELLO_CLOSE);
	const char *argv[] = { built("targets/exact_daemon"), "/dev/null",
		NULL };
	struct hello_result r;

	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
	ck_assert_uint_eq(h->met, 1);
	hello_free(h);
}
END_TEST

/* A copy that runs with the group of nobody, which is what AT_SECURE is for. */
static void
copy_setgid(const char *from, const char *to)
{
	char buf[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t n;

	ck_assert(in != -1 && out != -1);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		ck_assert_int_eq(write(out, buf, (size_t)n), n);
	ck_assert_int_eq(fchown(out, 0, 65534), 0);
	ck_assert_int_eq(fchmod(out, 02755), 0);
	close(in);
	close(out);
}

START_TEST(program_of_other_rights_than_its_caller_is_left_alone)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	char lib[600], copy[100];
	const char *argv[] = { built("targets/secure"), lib, NULL };
	const struct hello_how how = { .plain = true, .node = h->path };

	snprintf(lib, sizeof(lib), "%s/liballoclog.so", hello_build());
	hello_run(&r, &how, argv);
	ck_assert_str_eq(r.out, "secure=0\nloaded=1\n");
	if (geteuid() == 0) {
		snprintf(copy, sizeof(copy), "%s/secure", h->folder);
		copy_setgid(argv[0], copy);
		argv[0] = copy;
		hello_run(&r, &how, argv);
		unlink(copy);
		ck_assert_str_eq(r.out, "secure=1\nloaded=1\n");
	}
	hello_stop(h);
	ck_assert_uint_eq(h->met, 1);
	hello_free(h);
}
END_TEST

START_TEST(child_of_a_sandboxed_process_is_not_killed_for_us)
{
	struct hello *h = hello_start(HELLO_SERVE);
	const char *argv[] = { built("targets/sandbox"), NULL };
	struct hello_result r;

	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
	ck_assert_str_eq(r.out, "child=9\n");
	ck_assert_uint_eq(h->met, 1);
	hello_free(h);
}
END_TEST

/* --- descriptors -------------------------------------------------------- */

START_TEST(no_descriptor_of_ours_is_left)
{
	struct hello *h = hello_start(HELLO_SERVE);
	char file[100];
	const char *argv[] = { built("targets/exact_daemon"), file, NULL };
	struct hello_result r;
	char line[16] = "";
	int fd;

	snprintf(file, sizeof(file), "%s/daemon", h->folder);
	hello_run(&r, &(struct hello_how) { .node = h->path, .closed = true },
	    argv);
	hello_stop(h);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_gt(read(fd, line, sizeof(line) - 1), 0);
	close(fd);
	unlink(file);
	ck_assert_str_eq(line, "fd=0\n");
	/* The command and the daemon that it became. */
	ck_assert_uint_eq(h->n, 2);
	ck_assert_uint_eq(h->images[1].hello.flags,
	    RING_HELLO_FORKED | RING_HELLO_FREE);
	ck_assert_uint_eq(h->images[1].lost, 0);
	ck_assert_uint_eq(blklist_counts(h->images[1].list)->unknown_free, 0);
	hello_free(h);
}
END_TEST

START_TEST(descriptors_stay_as_the_program_was_given_them)
{
	struct hello *h = hello_start(HELLO_SERVE);
	const char *argv[] = { "/bin/ls", "/proc/self/fd", NULL };
	struct hello_result ours, plain;

	hello_run(&plain, &(struct hello_how) { .plain = true }, argv);
	hello_run(&ours, &(struct hello_how) { .node = h->path }, argv);
	ck_assert_str_eq(ours.out, plain.out);
	hello_run(&plain, &(struct hello_how) { .plain = true, .closed = true },
	    argv);
	hello_run(&ours, &(struct hello_how) { .node = h->path,
	    .closed = true }, argv);
	ck_assert_str_eq(ours.out, plain.out);
	hello_stop(h);
	ck_assert_uint_eq(h->n, 2);
	hello_free(h);
}
END_TEST

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

START_TEST(another_allocator_behind_us_is_logged_whole)
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
END_TEST

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

START_TEST(program_with_a_malloc_of_its_own_says_hello_for_the_api_only)
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
	ck_assert_uint_eq(h->n, 1);
	ck_assert_uint_eq(live_of(&h->images[0], 1, 0xc0), 1);
	ck_assert_uint_eq(blklist_counts(h->images[0].list)->records, 1);
	hello_free(h);
}
END_TEST

static const char address_text[] =
    "#include <stdlib.h>\n"
    "void *(*volatile fn)(size_t) = malloc;\n"
    "int main(void) { for (int i = 0; i < 9; i++) fn(10); return 5; }\n";

START_TEST(fixed_program_that_takes_the_address_of_malloc_is_watched)
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
END_TEST

static const char *const sanitizers[] = { "address", "thread", "leak",
	"address -static-libasan" };

static const char sanitised_text[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "int main(void) { free(malloc(10)); puts(\"here\"); return 7; }\n";

START_TEST(sanitised_program_runs_undisturbed_and_says_nothing)
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
END_TEST

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

START_TEST(plugin_that_brings_its_own_runtime_is_counted_exactly)
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
END_TEST

static Suite *
preload_suite(void)
{
	Suite *s = suite_create("preload");
	TCase *t = tcase_create("exact");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, every_image_is_counted_as_by_the_layer_below, 0,
	    EXACT);
	tcase_add_loop_test(t, output_and_status_are_as_without_us, 0, EXACT);
	suite_add_tcase(s, t);

	t = tcase_create("names");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, each_operator_goes_by_its_own_type_once);
	tcase_add_test(t, blocks_of_the_api_are_a_layer_of_their_own);
	tcase_add_test(t, forked_children_tell_the_regions_that_they_have);
	tcase_add_test(t,
	    handler_that_meets_the_hooks_in_the_middle_loses_nothing);
	tcase_add_test(t, first_allocation_may_come_before_all_constructors);
	tcase_add_test(t, thread_whose_own_storage_is_zeros_is_logged);
	tcase_add_test(t, thread_that_begins_is_named_by_its_tid);
	suite_add_tcase(s, t);

	t = tcase_create("alone");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, without_a_node_named_it_is_inert);
	tcase_add_loop_test(t, node_that_does_not_do_its_part_is_left_alone,
	    HELLO_MUTE, HELLO_MANNERS);
	tcase_add_test(t, children_of_an_inert_process_do_not_call_again);
	tcase_add_test(t, program_of_other_rights_than_its_caller_is_left_alone);
	tcase_add_test(t, child_of_a_sandboxed_process_is_not_killed_for_us);
	suite_add_tcase(s, t);

	t = tcase_create("descriptors");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, no_descriptor_of_ours_is_left);
	tcase_add_test(t, descriptors_stay_as_the_program_was_given_them);
	suite_add_tcase(s, t);

	t = tcase_create("others");
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, another_allocator_behind_us_is_logged_whole, 0,
	    ALLOCATORS);
	tcase_add_test(t,
	    program_with_a_malloc_of_its_own_says_hello_for_the_api_only);
	tcase_add_test(t,
	    fixed_program_that_takes_the_address_of_malloc_is_watched);
	tcase_add_loop_test(t,
	    sanitised_program_runs_undisturbed_and_says_nothing, 0, 4);
	tcase_add_loop_test(t,
	    plugin_that_brings_its_own_runtime_is_counted_exactly, 0, 2);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(preload_suite)
