/*
 * A keeper that another process takes up: what a commit knew is there, and what
 * it did not know is not.  The two processes are this test, one after the other.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../src/nodes/keeper/takeover_memory.h"
#include "../src/nodes/refcnt/refcnt.h"
#include "../src/nodes/takeover/takeover.h"
#include "../src/stream/ring.h"
#include "node_harness.h"

#define STREAM 7

static int kept_by;			/* the other end of the store */
static int fds[3];			/* of the target's areas */
static struct keeper *dead;

static void
setup(void)
{
	int store[2];

	node_up(&(struct node_opts){ .fd = -1, .daemon = true,
		.supervised = -1 });
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    store), 0);
	node.store.fds.fd = store[0];
	kept_by = store[1];
	ck_assert_int_eq(keeper_new(&dead, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, fds), 0);
	ck_assert_ptr_nonnull(dead->takeover.memory);
	dead->stream = STREAM;
	/* Which is the first commit. */
	ck_assert_int_eq(takeover_store(dead, fds), 0);
	takeover_assign(dead);
}

/* As after a kill of the process that had the dead one. */
static int
try_take_up(struct keeper **k)
{
	const int areas[2] = { fds[0], fds[2] };
	struct stream_sites *sites;
	struct takeover_memory *mem;
	struct takeover_sites *ks;
	int r;

	ck_assert_int_eq(
	    takeover_memory_open(&mem, dup(pmem_fd(dead->takeover.memory->pmem)),
		dead->takeover.memory->generation),
	    0);
	ck_assert_ptr_nonnull(takeover_valid_slot(mem));
	ck_assert_uint_eq(takeover_valid_slot(mem)->sites, STREAM);
	ck_assert_int_eq(takeover_sites_open(&ks, &node, STREAM,
	    dup(pmem_fd(dead->takeover.sites->pmem)), &sites), 0);
	r = keeper_resume(k, &node, mem, areas, ks, sites);
	if (r < 0) {
		stream_sites_unref(sites);
		takeover_sites_unref(ks);
	}
	return r;
}

static struct keeper *
take_up(void)
{
	struct keeper *k;

	ck_assert_int_eq(try_take_up(&k), 0);
	ck_assert_uint_eq(k->stream, STREAM);
	return k;
}

static void
teardown(void)
{
	keeper_unref(dead);
	for (size_t i = 0; i < BASE_NELEM(fds); i++)
		close(fds[i]);
	node_down();
	close(kept_by);
}

/* Mappings of the memory file. */
static unsigned
mappings_of(const struct pmem *memory)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long inode;
	char line[512];
	unsigned n = 0;
	struct stat st;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fstat(pmem_fd(memory), &st), 0);
	while (fgets(line, sizeof(line), f) != NULL)
		n += sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 &&
		    inode == st.st_ino;
	(void)fclose(f);
	return n;
}

CASE("mappings", .setup = setup, .teardown = teardown, .tags = TAG_KERNEL);

/* The first one told the node how much that is. */
TEST(memory_of_the_second_target_is_mapped_together)
{
	struct keeper *second;
	int its[3];

	ck_assert_int_eq(keeper_new(&second, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, its), 0);
	ck_assert_uint_gt(mappings_of(dead->takeover.memory->pmem), 2);
	ck_assert_uint_gt(mappings_of(dead->takeover.sites->pmem), 2);
	ck_assert_uint_eq(mappings_of(second->takeover.memory->pmem), 1);
	ck_assert_uint_eq(mappings_of(second->takeover.sites->pmem), 1);
	keeper_unref(second);
	for (size_t i = 0; i < BASE_NELEM(its); i++)
		close(its[i]);
}

static long
faults(void)
{
	struct rusage u;

	ck_assert_int_eq(getrusage(RUSAGE_THREAD, &u), 0);
	return u.ru_minflt;
}

/* Each is a page that was new: a target that has logged nothing needs few. */
TEST(what_is_made_for_a_target_and_not_used_takes_little_memory)
{
	struct keeper *k;
	long before;
	int its[3];

	for (unsigned i = 0; i < 3; i++) {
		before = faults();
		ck_assert_int_eq(keeper_new(&k, &node, &(struct keeper_opts){
		    .with_feed = true, .max = 4096 }, its), 0);
		k->stream = STREAM + 1 + i;
		ck_assert_int_eq(takeover_store(k, its), 0);
		takeover_assign(k);
		keeper_unref(k);
		for (size_t j = 0; j < BASE_NELEM(its); j++)
			close(its[j]);
	}
#ifndef SANITIZED
	ck_assert_int_lt(faults() - before, 64);
#else
	(void)before;
#endif
}

/* Puts one there as keeper_take() does for the first requester of all. */
static void
tag(struct keeper *k, uint64_t seq, uint16_t info)
{
	k->threads.tag = k->takeover.memory->tag;
	k->threads.tag[seq % STREAM_QUEUE_RECORDS] = (struct keeper_tag){
		.seq = (uint32_t)seq, .info = info };
}

CASE("taken up", .setup = setup, .teardown = teardown);

TEST(a_requester_that_was_committed_is_there)
{
	uint64_t next = stream_queue_next(dead->queue.records);
	struct rec rec = { { 0 } };
	struct keeper *k;

	stream_queue_put(dead->queue.records, &rec, 1);
	tag(dead, next, 5);
	takeover_commit(dead, true);
	k = take_up();
	ck_assert_uint_eq(keeper_info(k, next), 5);
	keeper_unref(k);
}

/* With no requester before it, and with one. */
LOOP_TEST(a_requester_that_no_commit_knows_is_nobodys, 0, 2)
{
	uint64_t next = stream_queue_next(dead->queue.records);
	struct rec rec = { { 0 } };
	struct keeper *k;

	if (_i == 1) {
		stream_queue_put(dead->queue.records, &rec, 1);
		tag(dead, next++, 5);
		takeover_commit(dead, true);
	}
	tag(dead, next, 6);
	k = take_up();
	/* Another record has that number now, and another requester comes. */
	tag(k, next + 1, 7);
	ck_assert_uint_eq(keeper_info(k, next), 0);
	ck_assert_uint_eq(keeper_info(k, next + 1), 7);
	keeper_unref(k);
}

/* A page may read both records of that pair from the next process. */
TEST(commit_keeps_which_allocations_replaced_a_block)
{
	struct rec r[2] = { allocation(0x1000, 16), allocation(0x1000, 16) };
	uint64_t next = keeper_next(dead);
	struct keeper *k;

	keeper_take(dead, r, 2, 1000, NULL, NULL, 0);
	takeover_commit(dead, true);
	k = take_up();
	ck_assert_uint_eq(keeper_tag(k, next), 0);
	ck_assert_uint_eq(keeper_tag(k, next + 1), KEEPER_REPLACED);
	keeper_unref(k);
}

/* In both slots, whichever is the valid one then. */
LOOP_TEST(inherited_threads_that_were_committed_are_there, 0, 3)
{
	struct keeper *k, *parent = new_keeper("ALLOCLOG.parent.1", 0);
	uint16_t index[2];
	char name[32];

	index[0] = keeper_inherit_thread(dead, parent, 7);
	for (int i = 0; i < _i; i++)
		takeover_commit(dead, true);
	index[1] = keeper_inherit_thread(dead, parent, 8);
	takeover_commit(dead, true);
	k = take_up();
	for (unsigned i = 0; i < 2; i++) {
		keeper_thread_name(k, index[i], name, sizeof name);
		ck_assert_str_eq(name, i == 0 ? "^#7" : "^#8");
	}
	/* And for the process after that. */
	for (unsigned s = 0; s < 2; s++)
		takeover_commit(k, true);
	for (unsigned s = 0; s < 2; s++) {
		const struct takeover_memory *mem = k->takeover.memory;

		ck_assert_uint_eq(mem->slot[s].inherited, 2);
		ck_assert_uint_eq(mem->thread[s][index[1]].tid, 8);
	}
	keeper_unref(k);
}

/* In both slots, whichever is the valid one then. */
LOOP_TEST(regions_that_were_committed_are_there_and_no_others, 0, 3)
{
	struct wire_region region[WIRE_REGIONS_MAX];
	struct keeper *k;
	struct rec rec = { { rec_w0(0x10000, REC_FLAGS(REC_CONTROL, 0),
	    REC_CTL_REGION), rec_w1(0x1000, 1), rec_region_shape(16, 8, 1) } };

	for (int i = 0; i < _i; i++)
		takeover_commit(dead, true);
	keeper_control(dead, &rec);
	takeover_commit(dead, true);
	rec.w[0] = rec_w0(0x20000, REC_FLAGS(REC_CONTROL, 0), REC_CTL_REGION);
	rec.w[2] = rec_region_shape(16, 8, 2);
	keeper_control(dead, &rec);
	k = take_up();
	ck_assert_uint_eq(region_set_get(&k->declared.regions, region), 1);
	ck_assert_uint_eq(region[0].base, 0x10000);
	/* It is said again, from the rings. */
	keeper_control(k, &rec);
	ck_assert_uint_eq(region_set_get(&k->declared.regions, region), 2);
	takeover_commit(dead, true);
	takeover_commit(dead, true);
	ck_assert_uint_eq(
	    region_set_get(&dead->takeover.memory->slot[0].regions, region), 2);
	ck_assert_uint_eq(
	    region_set_get(&dead->takeover.memory->slot[1].regions, region), 2);
	keeper_unref(k);
}

static unsigned
marks_of(const struct keeper *k)
{
	return k->marks != NULL ? k->marks->n : 0;
}

/* In both slots, whichever is the valid one then. */
LOOP_TEST(marks_that_were_committed_are_there_and_no_others, 0, 3)
{
	struct mark_effect effect;
	struct keeper *k;

	for (int i = 0; i < _i; i++)
		takeover_commit(dead, true);
	ck_assert_int_eq(keeper_set_mark(dead, "deploy-42", 9, "anna", false,
	    &effect), 0);
	takeover_commit(dead, true);
	ck_assert_int_eq(keeper_set_mark(dead, "later", 5, "anna", false,
	    &effect), 0);
	k = take_up();
	ck_assert_uint_eq(marks_of(k), 1);
	ck_assert_str_eq(k->marks->at[0].name, "deploy-42");
	ck_assert_str_eq(k->marks->at[0].who, "anna");
	ck_assert_uint_eq(k->marks->at[0].seq, dead->marks->at[0].seq);
	/* And for the process after that. */
	for (unsigned s = 0; s < 2; s++)
		takeover_commit(k, true);
	for (unsigned s = 0; s < 2; s++) {
		ck_assert(k->takeover.memory->slot[s].has_marks);
		ck_assert_uint_eq(k->takeover.memory->slot[s].marks.n, 1);
	}
	keeper_unref(k);
}

/* An idle target has no other reason for a commit, and the feed may be busy. */
TEST(a_mark_alone_is_committed_with_the_next_pass)
{
	struct mark_effect effect;
	struct keeper *k;

	takeover_commit(dead, false);
	ck_assert_int_eq(keeper_set_mark(dead, "a", 1, "", false, &effect), 0);
	takeover_commit(dead, false);
	k = take_up();
	ck_assert_uint_eq(marks_of(k), 1);
	keeper_unref(k);
}

/* --- memory that something has spoilt -------------------------------------- */

static void
no_end(char *text, size_t cap)
{
	memset(text, 'x', cap);
}

static void
spoil(struct takeover_image *i, struct takeover_slot *slot, int what)
{
	switch (what) {
	case 0:
		slot->threads = KEEPER_THREADS_MAX + 2;
		break;
	case 1:
		slot->life.state = 0;
		break;
	case 2:
		slot->life.state = WIRE_S_DORMANT + 1;
		break;
	case 3:
		no_end(slot->name, sizeof slot->name);
		break;
	case 4:
		no_end(slot->life.reason, sizeof slot->life.reason);
		break;
	case 5:
		no_end(i->image.comm, sizeof i->image.comm);
		break;
	case 6:
		no_end(i->exe, sizeof i->exe);
		break;
	case 7:
		slot->regions.n = REGION_SET_MAX + 1;
		break;
	case 8:
		slot->life.ended_ms = 1;
		break;
	case 9:
		slot->arming = ARMING_HELD + 1;
		break;
	case 10:
		slot->inherited = KEEPER_INHERITED_MAX + 1;
		break;
	case 11:
		slot->has_marks = true;
		slot->marks.n = WIRE_MARKS_MAX + 1;
		break;
	case 12:
		slot->has_marks = true;
		slot->marks.n = 1;
		no_end(slot->marks.at[0].name, sizeof slot->marks.at[0].name);
		break;
	default:
		no_end(i->cwd, sizeof i->cwd);
		break;
	}
}

LOOP_TEST(what_no_kill_leaves_is_not_taken_up, 0, 14)
{
	struct takeover_memory *mem = dead->takeover.memory;
	struct keeper *k;

	spoil(mem->image, &mem->slot[mem->image->committed & 1], _i);
	ck_assert_int_eq(try_take_up(&k), -EINVAL);
}

/* Who was welcomed before whom is known by it, and a parent was before its child. */
TEST(the_number_of_its_connection_is_kept)
{
	struct keeper *k;

	dead->image.arrival = 7;
	takeover_assign(dead);
	k = take_up();
	ck_assert_uint_eq(k->image.arrival, 7);
	keeper_unref(k);
}

/* The dead one's target is this process, found free at its hello. */
static void
be_the_target(void)
{
	dead->image.pid = getpid();
	sandbox_begin(dead, false);
	ck_assert(dead->sandbox.known);
	takeover_assign(dead);
}

/* Else a child of his would be let through for whom a filter kills. */
TEST(who_was_found_locked_in_stays_it)
{
	struct keeper *k;

	be_the_target();
	dead->sandbox.at_hello++;
	sandbox_look(dead);
	ck_assert(dead->sandbox.locked);
	k = take_up();
	ck_assert(k->sandbox.locked);
	keeper_unref(k);
}

TEST(looks_at_a_target_are_counted_on)
{
	struct keeper *k;

	be_the_target();
	for (unsigned i = 0; i < 3; i++)
		sandbox_look(dead);
	ck_assert_uint_eq(dead->sandbox.looks, 3);
	k = take_up();
	sandbox_look(k);
	ck_assert_uint_eq(k->sandbox.looks, 4);
	ck_assert(!k->sandbox.locked);
	keeper_unref(k);
}

static void *
stay(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

/* More threads than one look takes in: it is one when all were looked at. */
TEST(a_look_that_has_not_seen_all_threads_is_none)
{
	pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread[2 * SANDBOX_THREADS];

	be_the_target();
	pthread_mutex_lock(&held);
	for (size_t i = 0; i < BASE_NELEM(thread); i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, stay, &held),
		    0);
	sandbox_look(dead);
	sandbox_look(dead);
	ck_assert_uint_eq(dead->sandbox.looks, 0);
	sandbox_look(dead);
	ck_assert_uint_eq(dead->sandbox.looks, 1);
	pthread_mutex_unlock(&held);
	for (size_t i = 0; i < BASE_NELEM(thread); i++)
		pthread_join(thread[i], NULL);
}

/* Without a descriptor left nothing is seen. */
TEST(a_look_that_could_not_be_had_is_none)
{
	struct rlimit had, none;

	be_the_target();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &had), 0);
	none = (struct rlimit){ 0, had.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	sandbox_look(dead);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &had), 0);
	ck_assert_uint_eq(dead->sandbox.looks, 0);
	sandbox_look(dead);
	ck_assert_uint_eq(dead->sandbox.looks, 1);
}

/* --- what is in the store -------------------------------------------------- */

/* The next message to whoever keeps, "" for none; how many descriptors it has. */
static const char *
next_message(size_t *nfds)
{
	static char text[FDSTORE_MESSAGE + 1];
	char control[CMSG_SPACE(FDSTORE_FDS * sizeof(int))];
	struct iovec iov = { .iov_base = text, .iov_len = FDSTORE_MESSAGE };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof control };
	ssize_t n = recvmsg(kept_by, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);
	int fd;

	*nfds = c == NULL ? 0 : (c->cmsg_len - CMSG_LEN(0)) / sizeof fd;
	for (size_t i = 0; i < *nfds; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		close(fd);
	}
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void
expect_put(const char *name, size_t nfds)
{
	char expected[FDSTORE_MESSAGE];
	size_t n;

	snprintf(expected, sizeof expected, "FDSTORE=1\nFDNAME=%s\nFDPOLL=0",
	    name);
	ck_assert_str_eq(next_message(&n), expected);
	ck_assert_uint_eq(n, nfds);
}

static void
expect_removed(const char *name)
{
	char expected[FDSTORE_MESSAGE];
	size_t n;

	snprintf(expected, sizeof expected, "FDSTOREREMOVE=1\nFDNAME=%s", name);
	ck_assert_str_eq(next_message(&n), expected);
}

static void
expect_no_more(void)
{
	size_t n;

	ck_assert_str_eq(next_message(&n), "");
}

static void
expect_stored(const char *stream)
{
	char name[FDSTORE_NAME];

	snprintf(name, sizeof name, "pagek.s.%s", stream);
	expect_put(name, 1);
	snprintf(name, sizeof name, "pagek.t.%s", stream);
	expect_put(name, 3);
}

/* Of each of them whoever keeps is woken. */
TEST(a_target_comes_and_goes_with_a_message_and_so_do_its_stacks)
{
	expect_stored("0000000000000007");
	takeover_forget(dead);
	expect_removed("pagek.t.0000000000000007");
	expect_no_more();
	images_drop(dead);
	expect_removed("pagek.s.0000000000000007");
	expect_no_more();
}

TEST(stacks_stay_for_those_who_outlive_their_image)
{
	struct keeper *child;
	int its[3];

	expect_stored("0000000000000007");
	ck_assert_int_eq(keeper_new(&child, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, its), 0);
	child->stream = STREAM + 1;
	ck_assert_int_eq(takeover_store(child, its), 0);
	expect_stored("0000000000000008");
	keeper_share_sites(child, dead);
	takeover_commit(child, true);
	expect_removed("pagek.s.0000000000000008");
	images_drop(dead);
	expect_removed("pagek.t.0000000000000007");
	expect_no_more();
	keeper_unref(child);
	expect_removed("pagek.t.0000000000000008");
	expect_removed("pagek.s.0000000000000007");
	expect_no_more();
	for (size_t i = 0; i < BASE_NELEM(its); i++)
		close(its[i]);
}

/* The first one's file is with the target in the store until that has ended. */
TEST(a_list_that_begins_anew_leaves_no_memory_in_the_store)
{
	struct takeover_image *image;
	struct rec rec = { { 0 } };
	struct stat before, after;
	int memory = dup(pmem_fd(dead->takeover.memory->pmem));

	expect_stored("0000000000000007");
	for (int i = 0; i < 1000; i++)
		stream_queue_put(dead->queue.records, &rec, 1);
	ck_assert_int_eq(fstat(memory, &before), 0);
	ck_assert_int_eq(keeper_restart_list(dead), 0);
	expect_put("pagek.t.0000000000000007.kept.2", 1);
	expect_no_more();
	ck_assert_int_eq(fstat(memory, &after), 0);
	/* Its head, and the image that says that it is void. */
	ck_assert_int_gt(before.st_blocks, 16 * 8);
	ck_assert_int_le(after.st_blocks, 8 * 8);
	image = mmap(NULL, sizeof *image, PROT_READ, MAP_SHARED, memory, 4096);
	ck_assert_ptr_ne(image, MAP_FAILED);
	ck_assert_uint_ne(image->is_void, 0);
	ck_assert_uint_eq(image->stream, STREAM);
	munmap(image, sizeof *image);
	close(memory);
	ck_assert_int_eq(keeper_restart_list(dead), 0);
	expect_put("pagek.t.0000000000000007.kept.3", 1);
	expect_removed("pagek.t.0000000000000007.kept.2");
	takeover_forget(dead);
	expect_removed("pagek.t.0000000000000007.kept.3");
	expect_removed("pagek.t.0000000000000007");
	expect_no_more();
}

static struct keeper *
another(uint64_t stream, int its[3])
{
	struct keeper *k;

	ck_assert_int_eq(keeper_new(&k, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, its), 0);
	k->stream = stream;
	ck_assert_int_eq(takeover_store(k, its), 0);
	takeover_assign(k);
	return k;
}

static void
close_all(const int its[3])
{
	for (size_t i = 0; i < 3; i++)
		close(its[i]);
}

static struct takeover_image *
image_of(const struct keeper *k)
{
	struct takeover_image *image = mmap(NULL, sizeof *image, PROT_READ,
	    MAP_SHARED, pmem_fd(k->takeover.memory->pmem), 4096);

	ck_assert_ptr_ne(image, MAP_FAILED);
	return image;
}

static ino_t
file_of(const struct keeper *k)
{
	struct stat st;

	ck_assert_int_eq(fstat(pmem_fd(k->takeover.memory->pmem), &st), 0);
	return st.st_ino;
}

/* Maps the areas and joins, like a target. */
static struct ring_area *
join(struct keeper *k, int its[3])
{
	struct ring_area *area = mmap(NULL, RING_ALIGN(ring_area_size()),
	    PROT_READ | PROT_WRITE, MAP_SHARED, its[0], 0);

	ck_assert_ptr_ne(area, MAP_FAILED);
	atomic_store(&area->magic, RING_MAGIC);
	takeover_give_areas(k, its);
	k->sandbox.known = true;
	k->visits.joined_ms = mono_ms(mono_now());
	keeper_pass(k, k->visits.joined_ms);
	return area;
}

static void
leave(struct ring_area *area)
{
	munmap(area, RING_ALIGN(ring_area_size()));
}

/* A successor that has the file all the same finds no target in it. */
TEST(memory_of_an_ended_target_stays_stored_and_is_reused_empty)
{
	struct keeper *k;
	struct takeover_image *image;
	struct ring_area *area;
	int its[3];
	ino_t file;

	zeros_keep();
	expect_stored("0000000000000007");
	k = another(STREAM + 1, its);
	expect_stored("0000000000000008");
	image = image_of(k);
	file = file_of(k);
	leave(join(k, its));
	ck_assert_uint_ne(image->committed, 0);
	keeper_end(k, WIRE_S_ENDED, 0, NULL);
	ck_assert_uint_ne(image->is_void, 0);
	keeper_unref(k);
	close_all(its);
	ck_assert_uint_eq(image->stream, 0);
	ck_assert_uint_eq(image->committed, 0);
	ck_assert_int_eq(keeper_new(&k, &node, &(struct keeper_opts){
	    .with_feed = true, .again = true, .max = 4096 }, its), 0);
	k->stream = STREAM + 2;
	ck_assert_int_eq(takeover_store(k, its), 0);
	ck_assert_uint_eq(image->image.pid, 0);
	k->image.pid = getpid();
	takeover_assign(k);
	ck_assert_uint_eq(file_of(k), file);
	ck_assert_uint_eq(image->stream, STREAM + 2);
	ck_assert_uint_eq(image->place, STREAM + 1);
	ck_assert_uint_eq(image->is_void, 0);
	ck_assert_ptr_nonnull(takeover_valid_slot(k->takeover.memory));
	area = mmap(NULL, RING_ALIGN(ring_area_size()), PROT_READ, MAP_SHARED,
	    its[0], 0);
	ck_assert_ptr_ne(area, MAP_FAILED);
	ck_assert_uint_eq(area->magic, 0);
	leave(area);
	expect_no_more();
	keeper_unref(k);
	expect_removed("pagek.t.0000000000000008");
	close_all(its);
	munmap(image, sizeof *image);
}

/* Reasons: a mapping that remains, the way it ended, another user, a sandbox. */
LOOP_TEST(areas_that_a_process_may_still_write_are_not_reused, 0, 4)
{
	struct ring_area *area;
	struct keeper *k;
	int its[3];

	zeros_keep();
	expect_stored("0000000000000007");
	k = another(STREAM + 1, its);
	expect_stored("0000000000000008");
	area = join(k, its);
	if (_i != 0)
		leave(area);
	if (_i == 2)
		k->image.uid++;
	if (_i == 3)
		k->sandbox.locked = true;
	keeper_end(k, WIRE_S_ENDED, 0, _i == 1 ? "not seen" : NULL);
	expect_removed("pagek.t.0000000000000008");
	keeper_unref(k);
	ck_assert(!takeover_has_idle(&node));
	if (_i == 0)
		leave(area);
	close_all(its);
}

/* --- references to pages ---------------------------------------------------- */

CASE("counts", .setup = setup, .teardown = teardown);

static void
switch_page(bool on)
{
	static char page;
	const struct node_refcnt_ask ask = { .vaddr = (uintptr_t)&page, .len = 1,
		.source = REFCNT_REFS };
	char why[NODE_REFCNT_WHY];

	dead->image.pid = getpid();
	ck_assert_int_eq(on ? node_refcnt_enable(dead, &ask, why) :
	    node_refcnt_disable(dead, &ask, why), 0);
}

/* With a dead one that has ended its counting, or never began. */
LOOP_TEST(counting_that_a_kill_ended_is_told_with_its_time, 0, 3)
{
	struct node_refcnt_look look;
	struct keeper *k, *next;

	if (_i > 0)
		switch_page(true);
	if (_i == 1)
		switch_page(false);
	k = take_up();
	node_refcnt_look(k, &look);
	ck_assert_ptr_null(look.counts);
	if (_i < 2) {
		ck_assert_str_eq(look.why, "");
	} else {
		ck_assert_ptr_nonnull(strstr(look.why, "node's process at 20"));
		/* And again, if that process is killed as well. */
		next = dead;
		dead = k;
		takeover_write_counted(dead);
		ck_assert_int_ne(atomic_load(
		    &dead->takeover.memory->image->counted_ms), 0);
		dead = next;
	}
	keeper_unref(k);
}

static const struct ring_cuts *
cuts_of(int fd)
{
	const struct keeper_area *area = mmap(NULL, sizeof *area, PROT_READ,
	    MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(area, MAP_FAILED);
	return &area->cuts;
}

/* The target answers what the dead one has asked for last, if it did not before. */
LOOP_TEST(the_target_is_asked_to_undo_its_cuts, 0, 2)
{
	static const struct ring_cut cut = { REFCNT_PAGE, 4, 1 };
	const struct ring_cuts *cuts = cuts_of(fds[2]);
	struct ring_area *area = mmap(NULL, sizeof *area,
	    PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	struct keeper *k;

	ck_assert_ptr_ne(area, MAP_FAILED);
	ck_assert_int_eq(stream_feed_cut(dead->feed, &cut, 1), 0);
	if (_i == 0)
		atomic_store(&area->cuts, cuts->number);
	k = take_up();
	TAILQ_INSERT_TAIL(&node.live, k, link);
	node_refcnt_second(&node);
	if (_i == 1) {
		ck_assert_uint_eq(cuts->cut[0].pages, 4);
		atomic_store(&area->cuts, cuts->number);
		node_refcnt_second(&node);
	}
	ck_assert_uint_eq(cuts->number, 2);
	ck_assert_uint_eq(cuts->n, 1);
	ck_assert_uint_eq(cuts->cut[0].pages, 0);
	ck_assert_uint_eq(cuts->cut[0].stripe, 0);
	/* Once. */
	atomic_store(&area->cuts, cuts->number);
	node_refcnt_second(&node);
	ck_assert_uint_eq(cuts->number, 2);
	TAILQ_REMOVE(&node.live, k, link);
	keeper_unref(k);
	munmap(area, sizeof *area);
}

/* --- a process that follows ------------------------------------------------ */

static void
pass_on(const char *name, int fd)
{
	ck_assert(fdstore_inherit(&node.store.fds, name, dup(fd)));
}

static void
pass_on_target(struct keeper *k, const int its[3])
{
	char name[FDSTORE_NAME];

	takeover_name_target(name, k->stream);
	pass_on(name, its[0]);
	pass_on(name, its[2]);
	pass_on(name, pmem_fd(k->takeover.memory->pmem));
}

static struct keeper *
taken_over(uint64_t stream)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &node.live, link)
		if (k->stream == stream)
			return k;
	return NULL;
}

static bool
was_removed(const char *name)
{
	char expected[FDSTORE_MESSAGE];
	const char *text;
	size_t n;

	snprintf(expected, sizeof expected, "FDSTOREREMOVE=1\nFDNAME=%s", name);
	while (*(text = next_message(&n)) != '\0')
		if (strcmp(text, expected) == 0)
			return true;
	return false;
}

/* The one whose image they were made for, before the other and after it. */
LOOP_TEST(who_cannot_be_taken_up_leaves_the_stacks_to_the_family, 0, 2)
{
	struct keeper *child, *k;
	int its[3];

	ck_assert_int_eq(keeper_new(&child, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, its), 0);
	child->stream = STREAM + 1;
	child->image.pid = dead->image.pid = getpid();
	ck_assert_int_eq(proc_stat(child->image.pid, &child->image.ppid,
			     &child->image.start),
	    0);
	ck_assert_int_eq(takeover_store(child, its), 0);
	keeper_share_sites(child, dead);
	takeover_assign(child);
	takeover_assign(dead);
	dead->takeover.memory->slot[dead->takeover.memory->image->committed & 1]
	    .threads = KEEPER_THREADS_MAX + 2;
	if (_i == 0)
		pass_on_target(dead, fds);
	pass_on_target(child, its);
	if (_i == 1)
		pass_on_target(dead, fds);
	pass_on("pagek.s.0000000000000007",
	    pmem_fd(dead->takeover.sites->pmem));
	takeover_targets(&node);
	ck_assert_ptr_null(taken_over(STREAM));
	k = taken_over(STREAM + 1);
	ck_assert_ptr_nonnull(k);
	ck_assert_uint_eq(k->takeover.sites->id, STREAM);
	ck_assert(was_removed("pagek.t.0000000000000007"));
	ck_assert(!was_removed("pagek.s.0000000000000007"));
	keeper_unref(child);
	for (size_t i = 0; i < BASE_NELEM(its); i++)
		close(its[i]);
}

static uint32_t
keeper_state(int fd)
{
	const struct keeper_area *area = mmap(NULL, sizeof *area, PROT_READ,
	    MAP_SHARED, fd, 0);
	uint32_t state;

	ck_assert_ptr_ne(area, MAP_FAILED);
	state = atomic_load(&area->state);
	munmap((void *)(uintptr_t)area, sizeof *area);
	return state;
}

/* As a store that was full has them, or another build's names. */
LOOP_TEST(what_has_no_memory_is_dropped_and_its_target_told, 0, 2)
{
	static const char *const names[2][2] = {
		{ "pagek.t.0000000000000007", "pagek.t.0000000000000007" },
		{ "pagek.t.0000000000000007.ring",
		    "pagek.t.0000000000000007.keeper" },
	};

	if (_i == 1)
		pass_on("pagek.t.0000000000000007.kept.1", kept_by);
	pass_on(names[_i][0], fds[0]);
	pass_on(names[_i][1], fds[2]);
	takeover_targets(&node);
	ck_assert_ptr_null(taken_over(STREAM));
	ck_assert_uint_eq(keeper_state(fds[2]), RING_KEEPER_GONE);
	ck_assert(was_removed(names[_i][0]));
}

TEST(names_in_the_store_are_read_as_they_are_written)
{
	char name[FDSTORE_NAME];
	unsigned generation;
	uint64_t stream;

	takeover_name_target(name, UINT64_MAX - 5);
	ck_assert(takeover_name_parse(name, &stream, &generation));
	ck_assert_uint_eq(stream, UINT64_MAX - 5);
	ck_assert_uint_eq(generation, 1);
	takeover_name_memory(name, 12, 34);
	ck_assert(takeover_name_parse(name, &stream, &generation));
	ck_assert_uint_eq(stream, 12);
	ck_assert_uint_eq(generation, 34);
	takeover_name_sites(name, 12);
	ck_assert(!takeover_name_parse(name, &stream, &generation));
	ck_assert(!takeover_name_parse("pagek.t.000000000000000c.ring", &stream,
	    &generation));
	ck_assert(!takeover_name_parse("pagek.t.000000000000000c.kept.",
	    &stream, &generation));
	ck_assert(!takeover_name_parse("pagek.t.000000000000000c.kept.2x",
	    &stream, &generation));
	ck_assert(!takeover_name_parse("pagek.t.", &stream, &generation));
	ck_assert(!takeover_name_parse("pagek.node", &stream, &generation));
	takeover_name_target(name, 12);
	ck_assert(takeover_name_is_of(name, name));
	ck_assert(!takeover_name_is_of("pagek.t.000000000000000d", name));
	/* As another build may have named its own. */
	ck_assert(takeover_name_is_of("pagek.t.000000000000000c.ring", name));
	ck_assert(!takeover_name_is_of("pagek.t.000000000000000cd", name));
	ck_assert(!takeover_name_is_of("pagek.s.000000000000000c", name));
}
