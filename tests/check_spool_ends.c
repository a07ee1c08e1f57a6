/*
 * What is left in the spool of a listing that did not come to its end, and of
 * a node that did.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "spool_rig.h"

/* --- disks that are full -------------------------------------------------- */

/* Nothing is left but what was there, and what fits is still taken. */
static void
check_full(void)
{
	char name[SPOOL_NAME];

	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL), 0);
	ck_assert_int_lt(put(&anna, piece("", 1, 1, 0, 100, 500000), NULL),
	    0);
	ck_assert_ptr_nonnull(strstr(why, "the node cannot store it: "));
	ck_assert_uint_eq(files(), 1);
	/* The second part does not fit: the first is no listing either. */
	ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 100, 100), name), 0);
	ck_assert_int_lt(put(&anna, piece(name, 2, 2, 0, 500000, 500000),
	    NULL), 0);
	ck_assert_uint_eq(files(), 1);
	ck_assert_uint_eq(entries(), 1);
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL), 0);
}

CASE("full disks", .setup = up, .teardown = down, .tags = TAG_KERNEL);

TEST(a_full_disk_leaves_no_half_listing)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", folder, "tmpfs", 0, "size=128k,mode=0700") < 0) {
		fprintf(stderr, "a_full_disk_leaves_no_half_listing: skipped, "
		    "a tmpfs cannot be mounted: %s\n", strerror(errno));
		return;
	}
	reopen((struct spool_opts){ 0 });
	check_full();
	spool_close(spool);
	spool = NULL;
	umount(folder);
}

/* The same where files may not grow: met at a write, not before. */
TEST(a_file_that_may_not_grow_leaves_no_half_listing)
{
	struct rlimit limit = { 65536, 65536 };
	char name[SPOOL_NAME];

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 100, 500000), name),
	    0);
	ck_assert_int_eq(put(&anna, piece(name, 1, 1, 100, 499900, 500000),
	    NULL), -EIO);
	ck_assert_ptr_nonnull(strstr(why, strerror(EFBIG)));
	ck_assert_uint_eq(files(), 0);
	ck_assert_uint_eq(entries(), 0);
}

/* --- senders that go ------------------------------------------------------ */

static void
wait_until_empty(void)
{
	while (entries() > 0) {
		spool_second(spool);
		usleep(10000);
	}
}

CASE("senders that go", .setup = up, .teardown = down);

TEST(what_is_not_whole_stays_for_a_while_and_gives_its_room_back)
{
	char name[SPOOL_NAME];

	reopen((struct spool_opts){ .peer_max = 4 * WIRE_LISTING_PART,
	    .patience_s = 1 });
	ck_assert_int_eq(put(&anna, piece("", 1, 4, 0, WIRE_LISTING_PART,
	    WIRE_LISTING_PART), name), 0);
	ck_assert_int_eq(put(&anna, piece(name, 2, 4, 0, 10,
	    WIRE_LISTING_PART), NULL), 0);
	spool_conn_closed(spool, anna.conn);
	ck_assert_uint_eq(entries(), 1);
	ck_assert(!spool_is_whole(first()));
	ck_assert_uint_eq(first()->bytes, WIRE_LISTING_PART);
	ck_assert_int_eq(put(&anna, piece("", 1, 4, 0, 10, WIRE_LISTING_PART),
	    NULL), -EDQUOT);
	wait_until_empty();
	ck_assert_uint_eq(files(), 0);
	ck_assert_int_eq(put(&anna, piece("", 1, 4, 0, 10, WIRE_LISTING_PART),
	    NULL), 0);
}

TEST(who_sends_nothing_more_is_not_waited_for)
{
	reopen((struct spool_opts){ .patience_s = 1 });
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 100), NULL), 0);
	wait_until_empty();
	ck_assert_uint_eq(files(), 0);
}

TEST(what_a_node_left_behind_is_found_by_the_next)
{
	char whole[SPOOL_NAME], half[SPOOL_NAME];
	const struct spool_entry *e;

	reopen((struct spool_opts){ .patience_s = 1 });
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), whole), 0);
	ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 10, 10), half), 0);
	ck_assert_int_eq(put(&anna, piece(half, 2, 2, 0, 5, 10), NULL), 0);
	reopen((struct spool_opts){ .patience_s = 1 });
	ck_assert_uint_eq(entries(), 2);
	e = spool_find(spool, whole, strlen(whole));
	ck_assert(e != NULL && spool_is_whole(e));
	ck_assert_str_eq(e->title, "a title");
	ck_assert_str_eq(e->origin, "anna");
	ck_assert_uint_eq(e->uid, 1000);
	e = spool_find(spool, half, strlen(half));
	ck_assert(e != NULL && !spool_is_whole(e));
	while (entries() > 1) {
		spool_second(spool);
		usleep(10000);
	}
	ck_assert_uint_eq(files(), 1);
	ck_assert_str_eq(first()->name, whole);
}

TEST(two_nodes_may_store_in_one_folder)
{
	struct spool *mine = spool, *other;
	char name[2][SPOOL_NAME];
	const struct spool_entry *e;

	ck_assert_int_eq(open_with((struct spool_opts){ 0 }), 0);
	other = spool;
	for (int i = 0; i < 20; i++) {
		spool = i % 2 == 0 ? mine : other;
		ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10),
		    name[i % 2]), 0);
	}
	ck_assert_uint_eq(files(), 20);
	do {
		usleep(10000);
		spool_refresh(mine);
		e = spool_find(mine, name[1], strlen(name[1]));
	} while (e == NULL);
	ck_assert(spool_is_whole(e));
	spool_close(other);
	spool = mine;
	ck_assert_uint_eq(entries(), 20);
}

/*
 * One node sees the listing while the other one still writes it, and looks at
 * it again when it should have been whole for long.
 */
TEST(what_another_node_has_finished_is_not_removed)
{
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct spool *writer, *reader;
	char name[SPOOL_NAME], path[256];
	const struct spool_entry *e;

	reopen((struct spool_opts){ .patience_s = 1 });
	writer = spool;
	ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 10, 10), name), 0);
	ck_assert_int_eq(put(&anna, piece(name, 2, 2, 0, 5, 10), NULL), 0);
	ck_assert_int_eq(open_with((struct spool_opts){ .patience_s = 1 }),
	    0);
	reader = spool;
	ck_assert(!spool_is_whole(first()));
	spool = writer;
	ck_assert_int_eq(put(&anna, piece(name, 2, 2, 5, 5, 10), NULL), 0);
	ck_assert(spool_is_whole(first()));
	for (unsigned part = 1; part <= 2; part++) {
		snprintf(path, sizeof path, "%s/%s.%u", folder, name, part);
		ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
	}
	/* Nothing but its due time tells the reader to look again. */
	do {
		usleep(10000);
		spool_second(reader);
		e = spool_find(reader, name, strlen(name));
	} while (e != NULL && e->due_ms != 0);
	ck_assert_ptr_nonnull(e);
	ck_assert(spool_is_whole(e));
	ck_assert_uint_eq(files(), 2);
	spool_close(reader);
	spool = writer;
}

/* Its sender may be slow, and knows nothing of the one that looks on. */
TEST(what_another_node_still_writes_is_not_removed)
{
	struct spool *writer, *reader;
	char name[SPOOL_NAME], path[256];
	const struct spool_entry *e;
	int64_t due;

	reopen((struct spool_opts){ .patience_s = 1 });
	writer = spool;
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 100), name), 0);
	ck_assert_int_eq(open_with((struct spool_opts){ .patience_s = 1 }),
	    0);
	reader = spool;
	ck_assert_uint_eq(entries(), 1);
	due = first()->due_ms;
	snprintf(path, sizeof path, "%s/%s.1~", folder, name);
	do {
		usleep(10000);
		ck_assert_int_eq(utimensat(AT_FDCWD, path, NULL, 0), 0);
		spool_second(reader);
		e = spool_find(reader, name, strlen(name));
		ck_assert_ptr_nonnull(e);
	} while (e->due_ms == due);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, NULL, 0), 0);
	spool = writer;
	ck_assert_int_eq(put(&anna, piece(name, 1, 1, 10, 90, 100), NULL), 0);
	spool = reader;
	while (!spool_is_whole(first())) {
		usleep(10000);
		spool_refresh(reader);
	}
	/* What it takes was counted before. */
	ck_assert_uint_eq(first()->room, SPOOL_UNIT);
	spool_close(reader);
	spool = writer;
}

/* --- folders with many files ----------------------------------------------- */

#define MANY 800		/* not read within a millisecond */

static unsigned
turns(void)
{
	unsigned n = 0;

	for (; spool_is_reading(spool); n++)
		spool_turn(spool);
	return n;
}

static void
fill_folder(void)
{
	for (unsigned i = 0; i < MANY; i++)
		ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL),
		    0);
	ck_assert(!spool_is_reading(spool));
}

CASE("many files", .setup = up, .teardown = down, .seconds = 60);

TEST(many_files_are_read_in_turns)
{
	fill_folder();
	reopen((struct spool_opts){ .turn_ms = 1 });
	ck_assert(spool_is_reading(spool));
	ck_assert(!spool_is_known(spool));
	ck_assert_uint_lt(entries(), MANY);
	/* Neither a quota nor a name can be told. */
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL), -EBUSY);
	ck_assert_uint_ge(turns(), 1);
	ck_assert(spool_is_known(spool));
	ck_assert_uint_eq(entries(), MANY);
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL), 0);
}

/* Some are passed over while they come, and are there when the rest is read. */
LOOP_TEST(what_becomes_whole_while_the_folder_is_read_stays_known, 1, 3)
{
	char name[SPOOL_ARRIVALS][SPOOL_NAME];
	struct spool_sender who = anna;
	unsigned parts = (unsigned)_i;
	struct spool *mine;

	reopen((struct spool_opts){ .turn_ms = 1,
	    .peer_max = 2 * SPOOL_ARRIVALS * WIRE_LISTING_PART });
	mine = spool;
	for (unsigned i = 0; i < SPOOL_ARRIVALS; i++) {
		who.conn = i / SPOOL_CONN_ARRIVALS;
		strcpy(name[i], "");
		for (unsigned part = 1; part <= parts; part++)
			ck_assert_int_eq(put(&who, piece(name[i], part, parts,
			    0, 5, part < parts ? 5 : 10), name[i]), 0);
	}
	/* Much to read, which another node has left. */
	ck_assert_int_eq(open_with((struct spool_opts){ 0 }), 0);
	fill_folder();
	spool_close(spool);
	spool = mine;
	while (!spool_is_reading(spool)) {
		usleep(10000);
		spool_refresh(spool);
	}
	/* All but the first. */
	for (unsigned i = 1; i < SPOOL_ARRIVALS; i++) {
		who.conn = i / SPOOL_CONN_ARRIVALS;
		ck_assert_int_eq(put(&who, piece(name[i], parts, parts, 5, 5,
		    10), NULL), 0);
	}
	ck_assert(spool_is_reading(spool));
	(void)turns();
	ck_assert_uint_eq(entries(), MANY + SPOOL_ARRIVALS);
	who.conn = 0;
	ck_assert_int_eq(put(&who, piece(name[0], parts, parts, 5, 5, 10),
	    NULL), 0);
}
