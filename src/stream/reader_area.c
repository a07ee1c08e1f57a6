/*
 * The two areas themselves: made, mapped, left to the next keeper, taken over.
 *
 * A target must not move a tail or fake a heartbeat.  An area that ends with
 * its keeper is sealed so that nobody can map it writable any more.  The next
 * keeper could not either, so an area that outlives its keeper goes without
 * that seal, and three things stand for it: the target is given a descriptor
 * that can only read, of which the system makes no writable mapping; the file
 * cannot be opened for writing anew but by a process that may change its mode,
 * which is one of the keeper's own user or root, and those could trace the
 * keeper as well; and the keeper reads nothing back while it drains, so who
 * goes that far has spoilt his own stream.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/base.h"
#include "reader.h"

#define AREA_SIZE RING_ALIGN(ring_area_size())
#define KEEPER_SIZE RING_ALIGN(sizeof(struct keeper_area))

/* What all areas of ours have: their size stays, and so do their seals. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static uint8_t
class_of(unsigned flags)
{
	unsigned level = flags & REC_LEVEL_MASK;

	switch (flags >> 4) {
	case REC_LOSS:
		return level == READER_LEVEL_VOID ? CLASS_VOID : CLASS_BAD;
	case REC_ALLOC:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_TICKET;
		if (level > REC_LEVEL_FAILED)
			return CLASS_BAD;
		return level == REC_LEVEL_FAILED ? CLASS_PLAIN : CLASS_TICKET;
	case REC_FREE:
	case REC_UNDO:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_TICKET;
		return level < REC_LEVEL_FAILED ? CLASS_TICKET : CLASS_BAD;
	case REC_RANGE:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_RANGE;
		return level < REC_LEVEL_FAILED ? CLASS_RANGE : CLASS_BAD;
	case REC_PAIR:
	case REC_PAIR + 1:
	case REC_PAIR_LAST:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_PAIR;
		return level < REC_LEVEL_FAILED && !(flags & REC_LAYER_API) ?
		    CLASS_PAIR : CLASS_BAD;
	case REC_CONTROL:
		return CLASS_CONTROL;
	default:
		return CLASS_BAD;
	}
}

/* --- making them --------------------------------------------------------- */

/* A memfd of `size` bytes, mapped with `prot`, then sealed with `seals`. */
static int
area_make(const char *name, size_t size, int prot, int seals, void **map)
{
	void *p = MAP_FAILED;
	int fd, err;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) != 0)
		goto fail;
	p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		goto fail;
	if (fcntl(fd, F_ADD_SEALS, seals) != 0)
		goto fail;
	madvise(p, size, MADV_DONTDUMP);
	*map = p;
	return fd;
fail:
	err = -errno;
	if (p != MAP_FAILED)
		munmap(p, size);
	close(fd);
	return err;
}

/* A second descriptor of the file, which can only read. */
static int
open_to_read(int fd)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
	int again;

	if (fchmod(fd, S_IRUSR) != 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* What the reader knows of two mapped areas when nothing has happened yet. */
static void
begin(struct reader *r, const void *area, void *keeper)
{
	memset(r, 0, sizeof(*r));
	r->area = area;
	r->slots = (const struct ring_slot *)((const char *)area +
	    RING_SLOTS_OFFSET);
	r->keeper = keeper;
	for (unsigned i = 0; i < RING_COUNT; i++) {
		struct reader_ring *ring = &r->rings[i];
		size_t offset;

		ring->mask = ring_place(i, &offset) - 1;
		ring->give = ring->mask / 4;
		ring->recs = (const struct rec *)((const char *)area + offset);
	}
	r->rings[RING_COMMON].mask = RING_COMMON_SLOTS - 1;
	for (unsigned flags = 0; flags < 256; flags++)
		r->class[flags] = class_of(flags);
}

static void
publish_state(struct reader *r)
{
	atomic_store_explicit(&r->keeper->state,
	    r->no_wait ? RING_KEEPER_NO_WAIT : RING_KEEPER_READY,
	    memory_order_release);
}

static int
make_both(struct reader *r, int fds[2], bool no_wait, int keeper_seals)
{
	void *area, *keeper;
	int ring_fd, keeper_fd;

	ring_fd = area_make(RING_AREA_NAME, AREA_SIZE, PROT_READ, SEALS, &area);
	if (ring_fd < 0)
		return ring_fd;
	keeper_fd = area_make("pagek-keeper", KEEPER_SIZE,
	    PROT_READ | PROT_WRITE, keeper_seals, &keeper);
	if (keeper_fd < 0) {
		munmap(area, AREA_SIZE);
		close(ring_fd);
		return keeper_fd;
	}
	begin(r, area, keeper);
	r->no_wait = no_wait;
	atomic_store_explicit(&r->keeper->magic, RING_MAGIC,
	    memory_order_relaxed);
	/* A target may log before the first pass. */
	(void)reader_beat(r, mono_ms(mono_now()));
	atomic_store_explicit(&r->keeper->armed, RING_ARMED,
	    memory_order_relaxed);
	publish_state(r);
	fds[0] = ring_fd;
	fds[1] = keeper_fd;
	return 0;
}

int
reader_open(struct reader *r, int fds[2], bool no_wait)
{
	return make_both(r, fds, no_wait, SEALS | F_SEAL_FUTURE_WRITE);
}

int
reader_open_kept(struct reader *r, int fds[3], bool no_wait)
{
	int made[2], read_fd, err;

	err = make_both(r, made, no_wait, SEALS);
	if (err != 0)
		return err;
	read_fd = open_to_read(made[1]);
	if (read_fd < 0) {
		reader_leave(r);
		close(made[0]);
		close(made[1]);
		return read_fd;
	}
	fds[0] = made[0];
	fds[1] = read_fd;
	fds[2] = made[1];
	return 0;
}

void
reader_leave(struct reader *r)
{
	if (r->area == NULL)
		return;
	munmap((void *)(uintptr_t)r->area, AREA_SIZE);
	munmap(r->keeper, KEEPER_SIZE);
	r->area = NULL;
	r->keeper = NULL;
}

void
reader_close(struct reader *r)
{
	if (r->area == NULL)
		return;
	reader_gone(r);
	reader_leave(r);
}

/* --- outliving a keeper -------------------------------------------------- */

void
reader_hold(struct reader *r)
{
	r->hold = true;
	for (unsigned i = 0; i < RING_COUNT; i++)
		r->rings[i].give = UINT64_MAX;
}

static void
save_ring(struct reader *r, struct reader_state *s, unsigned i)
{
	struct reader_ring *ring = &r->rings[i];

	ring->saved = i == RING_COMMON ? ring->pos : ring->done;
	ring->pairs_saved = ring->pairs;
	s->rings[i] = (struct ring_state){
		.pos = ring->pos,
		.done = ring->saved,
		.seen = ring->seen,
		.after = ring->after,
		.from = ring->from,
		.end = ring->end,
		.dropped = ring->dropped,
		.not_before = ring->not_before,
		.leader = ring->leader,
		.follows = ring->follows,
		.born_from = ring->born_from,
	};
	memcpy(s->rings[i].born, ring->born, sizeof(ring->born));
}

void
reader_save(struct reader *r, struct reader_state *s)
{
	s->dropped = r->dropped;
	s->far_addresses = r->far_addresses;
	s->sites_full = r->sites_full;
	s->walks = r->walks;
	s->sample_full = r->sample_full;
	s->marks_untold = r->marks_untold;
	s->armings = r->armings;
	s->latest = r->latest;
	s->armed_at = r->armed_at;
	s->nrings = r->nrings;
	s->threads = r->threads;
	s->now = r->now;
	s->joined = r->joined;
	s->dormant = r->dormant;
	s->no_wait = r->no_wait;
	for (unsigned i = 0; i < r->nrings; i++)
		save_ring(r, s, i);
	save_ring(r, s, RING_COMMON);
}

/* Bytes of what is sealed as we do it; 0: it is not. */
static size_t
sealed_size(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &st) == 0 ?
	    (size_t)st.st_size : 0;
}

int
reader_which(int fd)
{
	size_t size = sealed_size(fd);

	return size == AREA_SIZE ? 0 : size == KEEPER_SIZE ? 1 : -EINVAL;
}

/* Maps it when it is as we make them. */
static int
area_map(int fd, size_t size, int prot, void **map)
{
	void *p;

	if (sealed_size(fd) != size)
		return -EINVAL;
	p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return errno == ENOMEM ? -ENOMEM : -EINVAL;
	madvise(p, size, MADV_DONTDUMP);
	*map = p;
	return 0;
}

static int
resume_ring(struct reader *r, const struct reader_state *state, unsigned i)
{
	const struct ring_state *s = &state->rings[i];
	struct reader_ring *ring = &r->rings[i];

	if (s->done > s->pos || s->pos > s->seen ||
	    s->seen - s->done > (uint64_t)ring->mask + 1 ||
	    (s->after != 0 && (s->leader >= RING_COUNT || s->leader == i)) ||
	    (s->after == 0 && (s->leader != 0 || s->follows != 0)))
		return -EINVAL;
	ring->pos = s->done;
	ring->done = ring->saved = s->done;
	ring->seen = s->seen;
	ring->after = s->after;
	ring->from = s->from;
	ring->end = s->end;
	ring->dropped = s->dropped;
	ring->not_before = s->not_before;
	ring->leader = s->leader;
	ring->follows = s->follows != 0;
	/* Records from `done` on are taken anew, as what they are by then. */
	ring->born_from = s->born_from < s->done ? s->born_from : s->done;
	memcpy(ring->born, s->born, sizeof(ring->born));
	return 0;
}

/* Whether what is to be read again is still there: of each ring from `done` on. */
static bool
room_was_given(const struct reader *r)
{
	for (unsigned i = 0; i <= RING_COUNT; i++)
		if (atomic_load_explicit(&r->keeper->tails[i].tail,
			memory_order_relaxed) > r->rings[i].done)
			return true;
	return false;
}

/*
 * What the dead keeper did after it had saved is undone, but two things: a
 * millisecond that it has published stays published, and a change of `armed`
 * has had its effect.  After one the target is asleep.
 */
static void
resume_arming(struct reader *r, const struct reader_state *s)
{
	uint64_t ms = atomic_load_explicit(&r->keeper->ms,
	    memory_order_relaxed);
	uint64_t armings = atomic_load_explicit(&r->keeper->armings,
	    memory_order_relaxed);

	r->latest = s->latest;
	if (ms - (uint64_t)s->latest < (uint64_t)READER_MS_NEAR)
		r->latest = (int64_t)ms;
	r->armed_at = s->armed_at;
	r->dormant = s->dormant != 0 || armings != s->armings;
	r->armings = armings;
}

static int
resume_state(struct reader *r, const struct reader_state *s)
{
	int err;

	if (s->nrings > RING_COUNT || s->threads > UINT16_MAX ||
	    s->latest < 0 || s->latest > INT64_MAX / 2 || s->armed_at < 0 ||
	    s->armed_at > INT64_MAX / 2)
		return -EINVAL;
	for (unsigned i = 0; i < s->nrings; i++)
		if ((err = resume_ring(r, s, i)) != 0)
			return err;
	if ((err = resume_ring(r, s, RING_COMMON)) != 0)
		return err;
	if (room_was_given(r))
		return -ESTALE;
	r->dropped = s->dropped;
	r->far_addresses = s->far_addresses;
	r->sites_full = s->sites_full;
	r->walks = s->walks;
	r->sample_full = s->sample_full;
	r->marks_untold = s->marks_untold;
	r->nrings = s->nrings;
	r->threads = s->threads;
	r->now = s->now;
	r->joined = s->joined != 0;
	r->no_wait = s->no_wait != 0;
	resume_arming(r, s);
	return 0;
}

static int
take_over(struct reader *r, const int fds[2])
{
	void *area, *keeper;
	int err;

	err = area_map(fds[0], AREA_SIZE, PROT_READ, &area);
	if (err != 0)
		return err;
	err = area_map(fds[1], KEEPER_SIZE, PROT_READ | PROT_WRITE, &keeper);
	if (err != 0) {
		munmap(area, AREA_SIZE);
		return err;
	}
	begin(r, area, keeper);
	if (atomic_load_explicit(&r->keeper->magic, memory_order_relaxed) ==
	    RING_MAGIC)
		return 0;
	reader_leave(r);
	return -EINVAL;
}

int
reader_resume(struct reader *r, const int fds[2], const struct reader_state *s)
{
	int err = take_over(r, fds);

	if (err != 0)
		return err;
	if ((err = resume_state(r, s)) != 0) {
		reader_leave(r);
		return err;
	}
	r->beat = r->latest;
	reader_hold(r);
	return 0;
}

int
reader_abandon(const int fds[2])
{
	struct reader r;
	int err = take_over(&r, fds);

	if (err != 0)
		return err;
	reader_close(&r);
	return 0;
}

void
reader_resumed(struct reader *r)
{
	/* All tails are written, and whoever waits for one is woken. */
	for (unsigned i = 0; i < r->nrings; i++)
		r->rings[i].released = ~r->rings[i].saved;
	r->rings[RING_COMMON].released = ~r->rings[RING_COMMON].saved;
	reader_commit(r);
	atomic_store_explicit(&r->keeper->armed,
	    r->dormant ? RING_DORMANT : RING_ARMED, memory_order_release);
	publish_state(r);
}
