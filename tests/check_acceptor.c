/*
 * Connections to the acceptor that say nothing, or no valid hello.
 */
#include "target_rig.h"

static const struct {
	uint32_t magic;
	size_t len;
} strangers[] = {
	{ 0, sizeof(struct ring_hello) },
	{ RING_HELLO_MAGIC, 4 },
	{ 0x47455420, 8 },
};

CASE("strangers", .seconds = 60);

LOOP_TEST(strangers_are_hung_up_on, 0, BASE_NELEM(strangers))
{
	struct target t;
	int status;

	up();
	if (begin(&t)) {
		struct ring_hello h = { .magic = strangers[_i].magic,
			.version = RING_VERSION };
		struct ring_welcome w;
		int fds[2];

		_exit(say_hello(&h, strangers[_i].len, &w, fds) == 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(t.pid, &status, 0), t.pid);
	ck_assert_int_eq(status, 0);
	images_adopt_all(&node);
	ck_assert_uint_eq(node.dstrm.entries, 0);
	down();
}

TEST(one_that_connects_and_says_nothing_holds_nobody_up)
{
	struct target mute, t;
	struct producer p;

	up();
	if (begin(&mute)) {
		connect_node();
		stop_here(&mute);
		_exit(0);
	}
	until_stop(&mute);
	if (begin(&t)) {
		attach(false, &p);
		stop_here(&t);
		_exit(0);
	}
	until_stop(&t);
	ck_assert_ptr_nonnull(keeper_of(t.pid));
	ck_assert_ptr_null(keeper_of(mute.pid));
	end(&t);
	end(&mute);
	down();
}

#define CROWD_MS 200	/* more than anybody may be silent where all places are taken */

static void
run_for(int64_t ms)
{
	int64_t until = mono_ms(mono_now()) + ms;

	while (mono_ms(mono_now()) < until)
		uv_run(&loop, UV_RUN_NOWAIT);
}

/* In the target: as another user, more than there are places. */
static void
crowd_in(void)
{
	if (setuid(65534) != 0)
		_exit(105);
	for (int i = 0; i < 200; i++)
		connect_node();
}

TEST(a_crowd_of_one_user_that_says_nothing_takes_no_place_of_others)
{
	struct ring_hello h = { .magic = RING_HELLO_MAGIC,
		.version = RING_VERSION };
	struct ring_welcome w;
	struct target slow, crowd;

	/* Who is not root cannot be two. */
	if (getuid() != 0)
		return;
	up_for_all();
	if (begin(&slow)) {
		int fd = connect_node();

		stop_here(&slow);
		if (send(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
		    recv(fd, &w, sizeof w, 0) != (ssize_t)sizeof w)
			_exit(103);
		stop_here(&slow);
		_exit(0);
	}
	until_stop(&slow);
	if (begin(&crowd)) {
		crowd_in();
		stop_here(&crowd);
		_exit(0);
	}
	until_stop(&crowd);
	run_for(CROWD_MS);
	go_on(&slow);
	until_stop(&slow);
	ck_assert_ptr_nonnull(keeper_of(slow.pid));
	end(&slow);
	end(&crowd);
	down();
}
