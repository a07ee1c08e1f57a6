/*
 * fuzz_ring: any bytes as what a target does to its ring area, beside a feed
 * that reads it: events as a producer writes them and words as none does,
 * between passes and in the middle of them.  A claim that does not hold ends
 * the program; so does whatever a sanitizer finds.
 *
 * Claims: a pass and the end of a target end, with what they delivered or with
 * -EPROTO, which stays; no more is delivered than was published, and no ticket
 * twice; what is delivered is what a producer can write, of a thread and a
 * stack that there are, and not of the future; the counters say what the sink
 * was told.
 *
 * The bytes are a script: one for what is done, then what that takes.  See
 * steps[]; seed_ring writes such scripts.
 */
#include <errno.h>
#include <sys/mman.h>

#include "../../src/stream/feed/feed.h"
#include "fuzz.h"
#include "fuzz_ring.h"

#define AREA_SIZE RING_ALIGN(ring_area_size())
#define KEEPER_SIZE RING_ALIGN(sizeof(struct keeper_area))
#define PAGE 4096
#define TICKETS_SEEN (1u << 15)
#define THREADS 20

struct rig {
	struct stream_feed *feed;
	struct stream_sites *sites;
	struct ring_area *area;		/* as the target has it */
	const struct keeper_area *keeper;
	struct input in;
	int64_t now;
	uint32_t ticket[REC_SHARDS];	/* next to be drawn */
	uint32_t nsites, nframes, nmodules;
	uint64_t wrote_ranges;
	uint64_t guard[2];		/* addresses; 0: none */
	int err;			/* of the last pass, if it failed */
	bool ending;
	bool slept;			/* has been disarmed */
	/* what the sink was told */
	uint64_t records, controls, ranges, range_slots;
	uint64_t lost[STREAM_CAUSES];
	uint64_t seen[TICKETS_SEEN];	/* shard << 32 | ticket, plus 1; 0 empty */
	unsigned nseen;
};

static void between(struct rig *);

/* --- what a sink is told --------------------------------------------------- */

static bool
seen_before(struct rig *rig, uint64_t key)
{
	size_t i = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40);

	if (rig->nseen > TICKETS_SEEN / 2)
		return false;
	for (key++;; i++) {
		uint64_t *at = &rig->seen[i % TICKETS_SEEN];

		if (*at == key)
			return true;
		if (*at != 0)
			continue;
		*at = key;
		rig->nseen++;
		return false;
	}
}

static void
look_at_record(struct rig *rig, const struct rec *r)
{
	unsigned op = rec_op(r), level = rec_level(r);
	uint64_t set[RING_RANGE_WORDS];
	uint32_t now = (uint32_t)atomic_load(&rig->keeper->ms);
	struct stream_site site;

	claim(op == REC_ALLOC || op == REC_FREE || op == REC_UNDO ||
	    op == REC_RANGE, "a record that is delivered has an op");
	claim(level < REC_LEVEL_FAILED ||
	    (level == REC_LEVEL_FAILED && op == REC_ALLOC),
	    "a record that is delivered has a level");
	claim((int32_t)(now - rec_ms(r)) >= 0,
	    "a record that is delivered is not of the future");
	if (rec_is_site(rec_caller(r)))
		claim(stream_sites_get(rig->sites, rec_site(rec_caller(r)),
		    &site), "a record that is delivered has a stack");
	if (op == REC_RANGE) {
		claim(rec_size(r) > 0, "a range has a length");
		rig->ranges++;
		rig->range_slots += (ring_range_shards(rec_addr(r),
		    rec_size(r), set) + RING_RANGE_TICKETS - 1) /
		    RING_RANGE_TICKETS;
	} else if (level != REC_LEVEL_FAILED) {
		claim(!seen_before(rig, (uint64_t)rec_shard(rec_addr(r)) << 32 |
		    rec_ticket(r)), "no ticket is delivered twice");
	}
}

static void
sink_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	struct rig *rig = arg;

	(void)near_ms;
	for (size_t i = 0; i < n; i++)
		look_at_record(rig, &r[i]);
	rig->records += n;
	between(rig);
}

static void
sink_control(void *arg, const struct rec *r, int64_t near_ms)
{
	struct rig *rig = arg;

	(void)near_ms;
	claim(rec_op(r) == REC_CONTROL, "a control record is one");
	rig->controls++;
	between(rig);
}

static void
sink_lost(void *arg, unsigned cause, uint64_t count)
{
	struct rig *rig = arg;

	claim(cause > 0 && cause < STREAM_CAUSES && count > 0,
	    "a loss has a cause and a count");
	rig->lost[cause] += count;
	between(rig);
}

static const struct stream_sink sink = {
	.records = sink_records,
	.control = sink_control,
	.lost = sink_lost,
};

/* --- the target at work ---------------------------------------------------- */

static struct rec *
rec_at(struct rig *rig, unsigned ring, uint64_t n)
{
	size_t offset;
	uint32_t mask = ring_place(ring, &offset) - 1;

	return (struct rec *)((char *)rig->area + offset) + (n & mask);
}

static struct ring_slot *
slot_at(struct rig *rig, uint64_t n)
{
	return (struct ring_slot *)((char *)rig->area + RING_SLOTS_OFFSET) +
	    n % RING_COMMON_SLOTS;
}

static void *
area_at(struct rig *rig, size_t offset)
{
	return (char *)rig->area + offset;
}

/* The rings with which a script works: of each size, and neighbours. */
static unsigned
take_ring(struct input *in)
{
	static const uint8_t rings[] = {
		0, 1, 2, 8, 9, 16, 17, 40, 41, 159,
	};

	return rings[take8(in) % sizeof(rings)];
}

static uint64_t
slot_addr(unsigned slot)
{
	return UINT64_C(0x7f0000100000) + 16 * slot;
}

static uint32_t
draw(struct rig *rig, unsigned shard, unsigned how)
{
	uint32_t *next = &rig->ticket[shard];

	if (how & EVENT_SKIPS)
		(*next)++;
	if (how & EVENT_AGAIN)
		return *next - 1;
	return (*next)++;
}

static struct rec
take_event(struct rig *rig)
{
	unsigned flags = take8(&rig->in), slot = take8(&rig->in);
	unsigned how = take8(&rig->in);
	uint64_t addr = slot_addr(slot);
	bool ticket = flags >> 4 != REC_CONTROL &&
	    flags != REC_FLAGS(REC_ALLOC, REC_LEVEL_FAILED);
	unsigned type = how & EVENT_REALLOC ? TYPE_BY_REALLOC : TYPE_MALLOC;

	return (struct rec){ {
	    rec_w0(addr, flags, type),
	    rec_w1(16, how & EVENT_THREAD ? slot % THREADS : 1),
	    rec_w2(ticket ? draw(rig, rec_shard(addr), how) : 0,
		(uint32_t)atomic_load(&rig->keeper->ms)),
	    how & EVENT_SITE ? rec_site_caller(slot % 8) : 0,
	} };
}

/* An event in a ring, in one go; with EVENT_HIDDEN the head is left as it is. */
static void
do_event(struct rig *rig)
{
	unsigned ring = take_ring(&rig->in);
	struct ring_head *head = &rig->area->rings[ring];
	uint64_t at = atomic_load(&head->head);
	bool hidden = rig->in.left > 2 && rig->in.p[2] & EVENT_HIDDEN;

	*rec_at(rig, ring, at) = take_event(rig);
	atomic_store(&head->head, at + !hidden);
}

static void
do_many(struct rig *rig)
{
	unsigned ring = take_ring(&rig->in), n = take8(&rig->in);
	struct ring_head *head = &rig->area->rings[ring];
	uint64_t at = atomic_load(&head->head);

	for (unsigned i = 0; i < n; i++) {
		uint64_t addr = slot_addr(i);

		*rec_at(rig, ring, at++) = (struct rec){ {
		    rec_w0(addr, REC_FLAGS(REC_ALLOC, 1), TYPE_MALLOC),
		    rec_w1(16, 1), rec_w2(draw(rig, rec_shard(addr), 0), 0),
		    0 } };
	}
	atomic_store(&head->head, at);
}

/* A range's tickets, in the slots that `to` names one after the other. */
static unsigned
write_tickets(struct rig *rig, const struct rec *r, struct rec *to)
{
	uint64_t set[RING_RANGE_WORDS];
	unsigned n = 0;

	ring_range_shards(rec_addr(r), rec_size(r), set);
	memset(to, 0, RING_RANGE_SLOTS * sizeof(*to));
	for (unsigned s = 0; s < REC_SHARDS; s++)
		if (set[s / 64] >> s % 64 & 1) {
			to[n / RING_RANGE_TICKETS].w[n / 2 % 4] |=
			    (uint64_t)draw(rig, s, 0) << n % 2 * 32;
			n++;
		}
	return (n + RING_RANGE_TICKETS - 1) / RING_RANGE_TICKETS;
}

static struct rec
take_range(struct rig *rig)
{
	unsigned slot = take8(&rig->in), len = take8(&rig->in);

	return (struct rec){ {
	    rec_w0(slot_addr(slot), REC_FLAGS(REC_RANGE, REC_LAYER_API), 0),
	    rec_w1(len == 255 ? REC_ADDR_MASK : 16 * (uint64_t)len + 1, 1),
	    rec_w2(0, (uint32_t)atomic_load(&rig->keeper->ms)), 0 } };
}

static void
do_range(struct rig *rig)
{
	unsigned ring = take_ring(&rig->in), n;
	struct ring_head *head = &rig->area->rings[ring];
	uint64_t at = atomic_load(&head->head);
	struct rec r = take_range(rig), more[RING_RANGE_SLOTS];

	n = write_tickets(rig, &r, more);
	rig->wrote_ranges++;
	*rec_at(rig, ring, at++) = r;
	for (unsigned k = 0; k < n; k++)
		*rec_at(rig, ring, at++) = more[k];
	atomic_store(&head->head, at);
}

static void
do_common(struct rig *rig)
{
	struct ring_head *head = &rig->area->rings[RING_COMMON];
	uint64_t n = atomic_fetch_add(&head->head, 1);
	bool hidden = rig->in.left > 2 && rig->in.p[2] & EVENT_HIDDEN;

	slot_at(rig, n)->rec = take_event(rig);
	if (!hidden)
		atomic_store(&slot_at(rig, n)->lap, n + 1);
}

static void
do_common_range(struct rig *rig)
{
	struct ring_head *head = &rig->area->rings[RING_COMMON];
	bool hidden = take8(&rig->in) & 1;
	struct rec r = take_range(rig), more[RING_RANGE_SLOTS];
	unsigned n = write_tickets(rig, &r, more);
	uint64_t at = atomic_fetch_add(&head->head, n + 1);

	rig->wrote_ranges++;
	slot_at(rig, at)->rec = r;
	for (unsigned k = 0; k < n; k++) {
		slot_at(rig, at + 1 + k)->rec = more[k];
		atomic_store(&slot_at(rig, at + 1 + k)->lap,
		    (at + 2 + k) | RING_LAP_MORE);
	}
	if (!hidden)
		atomic_store(&slot_at(rig, at)->lap, at + 1);
}

/* The lap of one of the first slots, of the first claim or of another. */
static void
do_lap(struct rig *rig)
{
	uint64_t n = take8(&rig->in);
	unsigned how = take8(&rig->in);
	uint64_t lap = how & LAP_NONE ? 0 : n + 1 +
	    (uint64_t)(how >> 4) * RING_COMMON_SLOTS;

	atomic_store(&slot_at(rig, n)->lap, lap |
	    (how & LAP_MORE ? RING_LAP_MORE : 0));
}

static void
do_module(struct rig *rig)
{
	unsigned no = 1 + rig->nmodules++ % (RING_MODULES - 1);
	struct ring_module *m = (struct ring_module *)
	    area_at(rig, ring_modules_offset()) + no;

	m->start = (uint64_t)take8(&rig->in) << 20;
	m->end = m->start + ((uint64_t)take8(&rig->in) << 12);
	m->build_id_len = take8(&rig->in);
	memset(m->path, take8(&rig->in), sizeof(m->path));
	atomic_store(&m->valid, 1);
}

static void
do_site(struct rig *rig)
{
	unsigned no = 1 + rig->nsites++ % 255, depth = take8(&rig->in);
	unsigned end = take8(&rig->in), modules = take8(&rig->in);
	uint64_t *frames = area_at(rig, ring_frames_offset());
	struct ring_site *sites = area_at(rig, ring_sites_offset());
	uint32_t at = 1 + rig->nframes;

	for (unsigned i = 0; i < depth; i++)
		frames[at + i] = frame_make(0x1000 * no + i,
		    modules == 0 ? 0 : i % modules);
	rig->nframes = (rig->nframes + depth) % 4096;
	atomic_store(&sites[no].word, ring_site_word(at, depth, end));
}

/* One ring goes on where another has come to, or is said to have. */
static void
do_follow(struct rig *rig)
{
	unsigned ring = take_ring(&rig->in), leader = take_ring(&rig->in);
	int ahead = (int8_t)take8(&rig->in), from = (int8_t)take8(&rig->in);
	struct ring_head *head = &rig->area->rings[ring];

	atomic_store(&head->from, atomic_load(&head->head) + (uint64_t)from);
	atomic_store(&head->after, ring_after(leader,
	    atomic_load(&rig->area->rings[leader].head) + (uint64_t)ahead));
}

static void
do_inflight(struct rig *rig)
{
	unsigned ring = take_ring(&rig->in), slot = take8(&rig->in);

	atomic_store(&rig->area->rings[ring].inflight, slot == 255 ? 0 :
	    slot == 254 ? RING_INFLIGHT_ALL : rec_shard(slot_addr(slot)) + 1);
}

static uint64_t *
take_word(struct rig *rig)
{
	struct input *in = &rig->in;
	size_t at = 0;

	switch (take8(in) % 8) {
	case 0:
		at = take8(in) * 8 % offsetof(struct ring_area, rings);
		break;
	case 1:
		at = offsetof(struct ring_area, rings) +
		    take_ring(in) * sizeof(struct ring_head) +
		    take8(in) % 8 * 8;
		break;
	case 2:
		at = offsetof(struct ring_area, rings) +
		    RING_COMMON * sizeof(struct ring_head) + take8(in) % 8 * 8;
		break;
	case 3:
		at = RING_SLOTS_OFFSET + take16(in) % (RING_COMMON_SLOTS * 8) *
		    (size_t)8;
		break;
	case 4:
		(void)ring_place(take_ring(in), &at);
		at += take16(in) % (RING_SMALL * 4) * (size_t)8;
		break;
	case 5:
		at = ring_sites_offset() + take16(in) * (size_t)8;
		break;
	case 6:
		at = ring_frames_offset() + take16(in) * (size_t)8;
		break;
	default:
		at = ring_modules_offset() + take16(in) %
		    (RING_MODULES * sizeof(struct ring_module) / 8) * (size_t)8;
		break;
	}
	return area_at(rig, at);
}

/* Any word that a keeper reads, to anything. */
static void
do_poke(struct rig *rig)
{
	uint64_t *word = take_word(rig);
	unsigned how = take8(&rig->in);

	switch (how % 4) {
	case 0:
		*word = take64(&rig->in);
		break;
	case 1:
		*word += (uint64_t)(int8_t)take8(&rig->in);
		break;
	case 2:
		*word ^= UINT64_C(1) << how / 4;
		break;
	default:
		*word = take16(&rig->in);
		break;
	}
}

/* --- the keeper at work ---------------------------------------------------- */

/* Not before what a pass that took long has published meanwhile. */
static int64_t
tick(struct rig *rig)
{
	int64_t ms = (int64_t)atomic_load(&rig->keeper->ms);

	if (ms > rig->now)
		rig->now = ms;
	return ++rig->now;
}

static void
passed(struct rig *rig, int r)
{
	claim(r >= 0 || r == -EPROTO, "a pass ends in one of two ways");
	claim(rig->err == 0 || r == rig->err, "a feed that is dead stays so");
	rig->err = r < 0 ? r : 0;
	claim(stream_feed_counts(rig->feed)->records == rig->records,
	    "what is counted has been delivered");
	claim(memcmp(stream_feed_counts(rig->feed)->lost, rig->lost,
	    sizeof(rig->lost)) == 0, "what is lost has been told");
}

static void
do_pass(struct rig *rig)
{
	passed(rig, stream_feed_pass(rig->feed, tick(rig), UINT64_MAX));
}

static void
do_pass_some(struct rig *rig)
{
	unsigned max = take8(&rig->in) + 1;

	passed(rig, stream_feed_pass(rig->feed, tick(rig), max));
}

static void
do_arm(struct rig *rig)
{
	bool armed = take8(&rig->in) & 1;

	rig->slept |= !armed;
	stream_feed_arm(rig->feed, armed, tick(rig));
}

static void
do_time(struct rig *rig)
{
	rig->now += take16(&rig->in);
}

static void
do_start_at(struct rig *rig)
{
	uint32_t at = (uint32_t)-(int)take8(&rig->in);

	if (rig->records + rig->controls != 0 || rig->nseen != 0 ||
	    stream_feed_counts(rig->feed)->joined)
		return;
	for (unsigned s = 0; s < REC_SHARDS; s++)
		rig->ticket[s] = at;
	stream_feed_start_at(rig->feed, rig->ticket);
}

static void
do_nothing(struct rig *rig)
{
	(void)rig;
}

/* What a script's bytes do; the target's part of it can also be within. */
static const struct {
	void (*run)(struct rig *);
	bool target;
} steps[RING_STEPS] = {
	[STEP_POKE] = { do_poke, true },
	[STEP_EVENT] = { do_event, true },
	[STEP_MANY] = { do_many, true },
	[STEP_RANGE] = { do_range, true },
	[STEP_COMMON] = { do_common, true },
	[STEP_COMMON_RANGE] = { do_common_range, true },
	[STEP_LAP] = { do_lap, true },
	[STEP_MODULE] = { do_module, true },
	[STEP_SITE] = { do_site, true },
	[STEP_FOLLOW] = { do_follow, true },
	[STEP_INFLIGHT] = { do_inflight, true },
	[STEP_WITHIN] = { do_nothing, false },
	[STEP_PASS] = { do_pass, false },
	[STEP_PASS_SOME] = { do_pass_some, false },
	[STEP_ARM] = { do_arm, false },
	[STEP_TIME] = { do_time, false },
	[STEP_START_AT] = { do_start_at, false },
};

/* In the middle of a pass: the target's step behind each STEP_WITHIN. */
static void
between(struct rig *rig)
{
	struct input *in = &rig->in;

	while (!rig->ending && in->left >= 2 &&
	    in->p[0] % RING_STEPS == STEP_WITHIN &&
	    steps[in->p[1] % RING_STEPS].target) {
		(void)take8(in);
		steps[take8(in) % RING_STEPS].run(rig);
	}
}

/* --- a rig ----------------------------------------------------------------- */

/* Memory right before and behind the keeper's view must not be touched. */
static void
guard(struct rig *rig)
{
	unsigned long start = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps != NULL && start == 0 &&
	    fgets(line, sizeof(line), maps) != NULL)
		if (strstr(line, RING_AREA_NAME) != NULL &&
		    strstr(line, "r--s") != NULL)
			start = strtoul(line, NULL, 16);
	claim(start != 0, "the keeper has mapped the area");
	fclose(maps);
	rig->guard[0] = start - PAGE;
	rig->guard[1] = start + AREA_SIZE;
	for (int i = 0; i < 2; i++)
		if (mmap((void *)(uintptr_t)rig->guard[i], PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		    0) == MAP_FAILED)
			rig->guard[i] = 0;
}

static void
rig_init(struct rig *rig)
{
	int fds[2];

	claim(stream_feed_new(&rig->feed, fds, true, &sink, rig) == 0 &&
	    stream_sites_new(&rig->sites) == 0, "there is memory");
	stream_feed_sites(rig->feed, rig->sites);
	guard(rig);
	rig->area = mmap(NULL, AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fds[0], 0);
	rig->keeper = mmap(NULL, KEEPER_SIZE, PROT_READ, MAP_SHARED, fds[1],
	    0);
	claim(rig->area != MAP_FAILED && rig->keeper != MAP_FAILED,
	    "there is room");
	close(fds[0]);
	close(fds[1]);
	rig->now = (int64_t)1 << 33;
	atomic_store(&rig->area->magic, RING_MAGIC);
	atomic_store(&rig->area->version, RING_VERSION);
	atomic_store(&rig->area->threads, THREADS);
	atomic_store(&rig->area->next_ring, RING_COUNT);
}

static void
rig_fini(struct rig *rig)
{
	stream_feed_free(rig->feed);
	stream_sites_unref(rig->sites);
	munmap(rig->area, AREA_SIZE);
	munmap((void *)(uintptr_t)rig->keeper, KEEPER_SIZE);
	for (int i = 0; i < 2; i++)
		if (rig->guard[i] != 0)
			munmap((void *)(uintptr_t)rig->guard[i], PAGE);
}

/* Records that the target has published, as its own heads say. */
static uint64_t
published(const struct rig *rig)
{
	uint64_t n = atomic_load(&rig->area->rings[RING_COMMON].head);
	uint32_t rings = atomic_load(&rig->area->next_ring);

	for (unsigned i = 0; i < RING_COUNT && i < rings; i++)
		n += atomic_load(&rig->area->rings[i].head);
	return n;
}

/* All that was published has been delivered, or is counted as it is. */
static void
settle(struct rig *rig)
{
	/* A pair is two records in one slot. */
	uint64_t all = published(rig) + stream_feed_counts(rig->feed)->pairs;
	uint64_t got = rig->records + rig->controls + rig->range_slots +
	    rig->lost[STREAM_CORRUPT];

	if (rig->err != 0 || atomic_load(&rig->area->magic) != RING_MAGIC)
		return;
	/* Records may pass a range, which is delivered in pieces then. */
	if (rig->ranges > rig->wrote_ranges) {
		got -= rig->ranges + rig->range_slots;
		rig->slept = true;
	}
	claim(got <= all, "no more is delivered than was published");
	if (rig->slept || rig->lost[STREAM_CORRUPT] != 0 ||
	    atomic_load(&rig->area->rings[RING_COMMON].head) != 0)
		return;
	claim(got == all, "all that was published is delivered or counted");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct rig rig;

	memset(&rig, 0, sizeof(rig));
	rig.in = (struct input){ p, len };
	rig_init(&rig);
	while (rig.in.left > 0)
		steps[take8(&rig.in) % RING_STEPS].run(&rig);
	rig.ending = true;
	passed(&rig, stream_feed_finish(rig.feed, tick(&rig)));
	settle(&rig);
	rig_fini(&rig);
	return 0;
}
