/*
 * The preload on real programs: what it logs is what they did, and they do
 * what they would do without it.
 */
#include <stdint.h>
#include <stdlib.h>

#include "preload_rig.h"

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

CASE("exact", .seconds = 60);

LOOP_TEST(every_image_is_counted_as_by_the_layer_below, 0, EXACT)
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

LOOP_TEST(output_and_status_are_as_without_us, 0, EXACT)
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

/* --- what is logged, and under which name ------------------------------- */

static void
watch(struct hello *h, struct hello_result *r, const char *target,
    const char *arg)
{
	const char *argv[] = { built(target), arg, NULL };

	hello_run(r, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
}

CASE("names", .seconds = 60);

TEST(each_operator_goes_by_its_own_type_once)
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

TEST(blocks_of_the_api_are_a_layer_of_their_own)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	const struct hello_image *im = &h->images[0];

	watch(h, &r, "targets/named", NULL);
	ck_assert_uint_eq(h->n, 1);
	ck_assert_int_eq(hello_value(&r, "errno_kept"), 1);
	ck_assert_uint_eq(live_of(im, 1, 0), 2);
	ck_assert_int_eq(hello_value(&r, "named"), 2);
	ck_assert_uint_eq(im->by_type[REC_ALLOC][0xc4], 5 + 2);
	ck_assert_uint_eq(blklist_counts(im->list)->failed, 2);
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

/* Threads end each other's blocks: ranges that meet may be torn into pieces. */
TEST(ranges_end_each_block_once)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;
	const struct hello_image *im = &h->images[0];
	const struct blklist_counts *counts;

	watch(h, &r, "targets/ranges", NULL);
	ck_assert_uint_eq(h->n, 1);
	counts = blklist_counts(im->list);
	ck_assert_int_eq(hello_value(&r, "blocks"),
	    (long)im->by_type[REC_ALLOC][0xc5]);
	ck_assert_int_le(hello_value(&r, "ranges"),
	    (long)im->by_type[REC_RANGE][0]);
	ck_assert_uint_eq(im->lost, 0);
	ck_assert_uint_eq(live_of(im, 1, 0), 2);
	ck_assert_uint_eq(counts->unknown_free, 0);
	ck_assert_uint_eq(counts->duplicate, 0);
	ck_assert_uint_eq(counts->allocs, counts->frees + counts->aRecActive);
	hello_free(h);
}

/* Also those of which the parent thinks otherwise by then. */
TEST(forked_children_tell_the_regions_that_they_have)
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

TEST(handler_that_meets_the_hooks_in_the_middle_loses_nothing)
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

TEST(first_allocation_may_come_before_all_constructors)
{
	expect_events("targets/first", "early", 1, 10);
}

TEST(thread_whose_own_storage_is_zeros_is_logged)
{
	expect_events("targets/bare", "made", 1000, 1000);
}

TEST(thread_that_begins_is_named_by_its_tid)
{
	struct hello *h = hello_start(HELLO_SERVE);
	struct hello_result r;

	watch(h, &r, "targets/exact_churn", "1");
	ck_assert_int_eq(hello_value(&r, "threads"), 160);
	/* main and all the others, with a ring or without. */
	ck_assert_uint_eq(h->images[0].controls[REC_CTL_THREAD], 161);
	hello_free(h);
}

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

CASE("alone", .seconds = 60);

TEST(without_a_node_named_it_is_inert)
{
	same_without_us(&(struct hello_how) { .node = NULL });
	same_without_us(&(struct hello_how) { .node = "" });
	same_without_us(&(struct hello_how) { .node = "/no/such/node" });
	same_without_us(&(struct hello_how) { .node =
	    "/a/path/that/is/far/too/long/for/the/address/of/a/socket/in/the/"
	    "file/system/which/has/room/for/a/hundred/and/eight/bytes/only" });
}

LOOP_TEST(node_that_does_not_do_its_part_is_left_alone, HELLO_MUTE,
    HELLO_MANNERS)
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

TEST(children_of_an_inert_process_do_not_call_again)
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

TEST(program_of_other_rights_than_its_caller_is_left_alone)
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

TEST(child_of_a_sandboxed_process_is_not_killed_for_us)
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

/* The node reads a word in any case, and would count the child twice. */
TEST(child_that_reported_missing_rings_once_does_not_report_again)
{
	struct hello *h = hello_start(HELLO_SERVE);
	const char *argv[] = { built("targets/cramped"), NULL };
	const struct ring_unseen *page;
	struct hello_result r;

	h->unseen = memfd_create(RING_UNSEEN_NAME,
	    MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(h->unseen, sizeof(*page)), 0);
	ck_assert_int_eq(fcntl(h->unseen, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, h->unseen, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	hello_run(&r, &(struct hello_how) { .node = h->path }, argv);
	hello_stop(h);
	ck_assert_int_eq(r.status, 0);
	ck_assert_uint_eq(h->n, 2);
	ck_assert_uint_eq(h->unmapped, 1);
	ck_assert_uint_eq(atomic_load(&page->changes), 0);
	munmap((void *)(uintptr_t)page, sizeof(*page));
	close(h->unseen);
	hello_free(h);
}

/* --- descriptors -------------------------------------------------------- */

CASE("descriptors", .seconds = 60);

TEST(no_descriptor_of_ours_is_left)
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
	    RING_HELLO_UNSEEN | RING_HELLO_FORKED | RING_HELLO_FREE);
	ck_assert_uint_eq(h->images[1].lost, 0);
	ck_assert_uint_eq(blklist_counts(h->images[1].list)->unknown_free, 0);
	hello_free(h);
}

TEST(descriptors_stay_as_the_program_was_given_them)
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
