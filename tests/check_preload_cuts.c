/*
 * The preload when references are counted: it cuts mappings as its keeper asks, tells
 * what the program wants to be counted, and does no harm.
 */
#include "preload_rig.h"

static struct hello *h;
static struct hello_result result;
static bool locked;		/* the keeper has seen a sandbox */
static const char *below;	/* a layer below the library */

/* Cuts what the first image wants to be counted, and undoes it. */
static void
turn(struct hello *hello)
{
	static uint64_t asked;
	struct hello_image *im = hello->images;
	struct ring_cut cut;

	for (unsigned i = 0; i < hello->n; i++)
		stream_feed_sandbox(im[i].feed, locked ? RING_SANDBOX_LOCKED :
		    RING_SANDBOX_FREE, 9);
	if (hello->n == 0 || rec_size(&im->refcnt) == 0) {
		asked = UINT64_MAX;
		return;
	}
	if (asked == im->refcnt.w[2])
		return;
	cut = (struct ring_cut){
		.at = rec_addr(&im->refcnt) | RING_NORMAL | RING_RANDOM << 2 |
		    RING_NORMAL << 4 | RING_SEQUENTIAL << 6,
		.pages = (uint32_t)(rec_size(&im->refcnt) / RING_PAGE),
		.stripe = (im->refcnt.w[2] & rec_refcnt(0, true)) != 0,
	};
	if (stream_feed_cut(im->feed, &cut, 1) == 0)
		asked = im->refcnt.w[2];
}

static void
start(void)
{
	h = hello_start(HELLO_SERVE);
	h->turn = turn;
	locked = false;
	below = NULL;
}

static void
stop(void)
{
	hello_free(h);
}

static void
watch(const char *argument)
{
	const char *argv[] = { built("targets/cuts"), argument, NULL };

	hello_run(&result, &(struct hello_how) { .node = h->path,
	    .below = below }, argv);
	hello_stop(h);
	ck_assert_int_eq(result.status, 0);
	ck_assert_uint_eq(h->images[0].controls[REC_CTL_REFCNT], 2);
	ck_assert_uint_eq(h->images[0].lost, 0);
}

CASE("cuts", .setup = start, .teardown = stop, .seconds = 120);

TEST(pages_are_cut_and_a_child_and_the_end_undo_it)
{
	watch(NULL);
	ck_assert_int_eq(hello_value(&result, "cut"), 64);
	ck_assert_int_eq(hello_value(&result, "errno_kept"), 1);
	ck_assert_int_eq(hello_value(&result, "child"), 0);
	ck_assert_int_eq(hello_value(&result, "undone"), 1);
}

TEST(mremap_moves_memory_that_is_cut)
{
	watch("move");
	ck_assert_int_eq(hello_value(&result, "cut"), 64);
	ck_assert_int_eq(hello_value(&result, "moved"), 1);
}

/* The kernel refuses what is cut on the way, and a layer below sees the move. */
TEST(mremap_moves_memory_that_is_cut_meanwhile)
{
	below = built("libcut.so");
	watch("late");
	ck_assert_int_eq(hello_value(&result, "cut"), 64);
	ck_assert_int_eq(hello_value(&result, "moved"), 1);
}

TEST(a_process_in_a_sandbox_makes_no_system_call_for_it)
{
	locked = true;
	watch(NULL);
	ck_assert_int_eq(hello_value(&result, "cut"), 1);
	ck_assert_int_eq(hello_value(&result, "undone"), 1);
}
