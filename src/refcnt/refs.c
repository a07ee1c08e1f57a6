/*
 * A round reads the mappings and settles those all referenced or not at all;
 * the mixed ones are cut, and the next round begins.  It ends when nothing is
 * mixed, or can be cut.
 *
 * Advice: two parts beside each other must differ.  Two of the three in turn
 * are enough, but for the last part, which must differ from its right
 * neighbour too.  Without a neighbour outermost parts keep RING_NORMAL: the
 * kernel can merge them with memory added there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "refs.h"

#define FAN 32			/* parts of a long mixed range */
#define FAN_PAGES 64		/* a range of so many pages is cut at each */
#define DENSE_PAGES 1024	/* or of so many, if ... */
#define DENSE 8			/* ... one of so many is referenced */
#define ROUNDS 200		/* of one pass over the pages */
#define LATE_PASSES 4		/* after the first one */
#define REQUESTS 16		/* of cuts, after one reading of the mappings */
#define HUGE_PAGE (UINT64_C(2) << 20)
#define SHARE 4			/* cuts take one of so many mappings that are left */
#define MAPS_MAX 65530		/* where vm.max_map_count is not to be read */
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
#define PAGEMAP_BLOCK 512

enum page_state {
	PAGE_OPEN,
	PAGE_UNTOUCHED,
	PAGE_TOUCHED,
	PAGE_COARSE,
};

struct run {
	uint64_t from, to;
};

struct refs {
	int dir;			/* /proc/PID: also after the number is another's */
	int pagemap;			/* of one image: the next one has other pages */
	refs_cut *cut;
	void *arg;
	struct refs_sums sums;
	struct mappings maps;
	struct refcnt_range *range;	/* those of REFCNT_REFS */
	size_t nranges, ranges_cap;
	uint8_t *state;			/* enum page_state of their pages, in a row */
	size_t pages, states_cap;
	struct run run[RING_CUT_RANGES];	/* what has been cut and not undone */
	size_t nruns;
	struct ring_cut ask[RING_CUTS];
	size_t nask;
	size_t share, room;		/* mappings that may be made in all, and still */
	unsigned requests;		/* since the mappings were read */
	bool refused;			/* a cut had no room */
	bool stuck;			/* it has not answered: no more cuts for now */
	bool asked;			/* it has answered once */
	unsigned tries;			/* ends of epochs in vain since it last answered */
	bool files;			/* a range lies in memory of files */
};

static int
open_file(const struct refs *r, const char *name, int flags)
{
	int fd = openat(r->dir, name, flags | O_CLOEXEC);

	if (fd != -1)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

static int
read_maps(struct refs *r)
{
	int fd = open_file(r, "smaps", O_RDONLY), err;

	if (fd < 0)
		return fd;
	err = mappings_read(fd, &r->maps);
	r->sums.reads++;
	close(fd);
	/* The mappings that were read may be the next image's. */
	return err == 0 && !pagemap_has_image(r->pagemap) ? -ESRCH : err;
}

static uint64_t
maps_max(void)
{
	uint64_t n = MAPS_MAX;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long long got;

	if (f == NULL)
		return n;
	if (fscanf(f, "%llu", &got) == 1)
		n = got;
	fclose(f);
	return n;
}

int
refs_open(struct refs **out, pid_t pid, refs_cut *cut, void *arg)
{
	struct refs *r = calloc(1, sizeof *r);
	char path[32];

	if (r == NULL)
		return -ENOMEM;
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	r->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->dir == -1) {
		int err = errno == ENOENT ? -ESRCH : -errno;

		free(r);
		return err;
	}
	r->pagemap = open_file(r, "pagemap", O_RDONLY);
	if (r->pagemap < 0) {
		int err = r->pagemap;

		close(r->dir);
		free(r);
		return err;
	}
	r->cut = cut;
	r->arg = arg;
	*out = r;
	return 0;
}

void
refs_sums(const struct refs *r, struct refs_sums *out)
{
	*out = r->sums;
}

static int
tell(struct refs *r)
{
	int err = r->cut(r->arg, r->ask, r->nask);

	r->nask = 0;
	if (err == 0) {
		r->tries = 0;
		return 0;
	}
	r->sums.unanswered++;
	r->stuck = true;
	return err;
}

int
refs_begin(struct refs *r)
{
	/* 2: anonymous memory alone. */
	const char *what = r->files || r->sums.epochs == 0 ? "1" : "2";
	int fd = open_file(r, "clear_refs", O_WRONLY), err = 0;

	if (fd < 0)
		return fd;
	if (write(fd, what, 1) != 1)
		err = -errno;
	close(fd);
	if (err != 0 || r->cut == NULL)
		return err;
	r->nask = 0;
	/* The cuts of a keeper before us. */
	if (!r->asked)
		r->ask[r->nask++] = (struct ring_cut){ 0, 0, 0 };
	r->ask[r->nask++] = (struct ring_cut){ 0, 0, RING_CUT_FLUSH };
	r->asked |= tell(r) == 0;
	return 0;
}

/* Reads the ranges; all of their pages are open. */
static int
begin_pages(struct refs *r, const struct refcnt *counted)
{
	size_t want = refcnt_ranges(counted, NULL, 0), n;
	int err;

	if ((err = base_grow((void **)&r->range, &r->ranges_cap, want + 1,
	    sizeof *r->range)) != 0)
		return err;
	n = refcnt_ranges(counted, r->range, r->ranges_cap);
	if (n > r->ranges_cap)
		n = r->ranges_cap;
	r->nranges = r->pages = 0;
	for (size_t i = 0; i < n; i++)
		if (r->range[i].source == REFCNT_REFS) {
			r->range[r->nranges++] = r->range[i];
			r->pages += r->range[i].len / REFCNT_PAGE;
		}
	if ((err = base_grow((void **)&r->state, &r->states_cap, r->pages + 1,
	    1)) != 0)
		return err;
	memset(r->state, PAGE_OPEN, r->pages);
	return 0;
}

/* The part of a mapping that lies in a range. */
struct overlap {
	const struct mapping *map;
	size_t map_no;
	uint64_t from, to;
	uint8_t *state;		/* of its first page */
};

/* Calls f for each overlap, by address, until it fails. */
static int
each_overlap(struct refs *r, int (*f)(struct refs *, const struct overlap *))
{
	uint8_t *state = r->state;
	size_t m = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < r->nranges; i++) {
		uint64_t from = r->range[i].vaddr, to = from + r->range[i].len;

		while (m < r->maps.n && r->maps.at[m].to <= from)
			m++;
		for (size_t k = m; err == 0 && k < r->maps.n &&
		    r->maps.at[k].from < to; k++) {
			const struct mapping *map = &r->maps.at[k];
			struct overlap o = {
				.map = map,
				.map_no = k,
				.from = map->from > from ? map->from : from,
				.to = map->to < to ? map->to : to,
			};

			o.state = state + (o.from - from) / REFCNT_PAGE;
			err = f(r, &o);
		}
		state += (to - from) / REFCNT_PAGE;
	}
	return err;
}

static void
set_open(const struct overlap *o, enum page_state what)
{
	for (size_t i = 0; i < (o->to - o->from) / REFCNT_PAGE; i++)
		if (o->state[i] == PAGE_OPEN)
			o->state[i] = (uint8_t)what;
}

static bool
is_open(const struct overlap *o)
{
	return memchr(o->state, PAGE_OPEN, (o->to - o->from) / REFCNT_PAGE) !=
	    NULL;
}

/* Sets what is open of an overlap; pages that are not in memory are untouched. */
static void
set_present(struct refs *r, const struct overlap *o, enum page_state what)
{
	uint64_t entry[PAGEMAP_BLOCK];
	size_t n = (o->to - o->from) / REFCNT_PAGE, some;
	ssize_t got;

	if (o->map->present == o->map->to - o->map->from)
		set_open(o, what);
	for (size_t i = 0; i < n && is_open(o); i += some) {
		some = n - i < PAGEMAP_BLOCK ? n - i : PAGEMAP_BLOCK;
		got = pread(r->pagemap, entry, some * sizeof entry[0],
		    (off_t)((o->from / REFCNT_PAGE + i) * sizeof entry[0]));
		if (got < (ssize_t)sizeof entry[0])
			break;
		some = (size_t)got / sizeof entry[0];
		for (size_t k = 0; k < some; k++)
			if (o->state[i + k] == PAGE_OPEN &&
			    (entry[k] & PAGEMAP_PRESENT) != 0)
				o->state[i + k] = (uint8_t)what;
	}
	set_open(o, PAGE_UNTOUCHED);
}

static bool
is_mixed(const struct mapping *m)
{
	return m->referenced != 0 && m->referenced < m->present;
}

/* Settles what is not mixed. */
static int
settle(struct refs *r, const struct overlap *o)
{
	const struct mapping *m = o->map;

	r->files |= !m->anonymous;
	if (!is_open(o) || is_mixed(m))
		return 0;
	if (m->referenced == 0)
		set_open(o, PAGE_UNTOUCHED);
	else
		set_present(r, o, m->huge != 0 ? PAGE_COARSE : PAGE_TOUCHED);
	return 0;
}

/* For a mapping that is still mixed in the end. */
static int
settle_coarsely(struct refs *r, const struct overlap *o)
{
	if (is_open(o))
		set_present(r, o, PAGE_COARSE);
	return 0;
}

static bool
is_cut(const struct refs *r, uint64_t at)
{
	for (size_t i = 0; i < r->nruns; i++)
		if (r->run[i].from <= at && at < r->run[i].to)
			return true;
	return false;
}

/* Counts what the cuts have made of the mappings, and how many more there may be. */
static void
count_room(struct refs *r)
{
	uint64_t max = maps_max(), others;

	r->sums.cuts = 0;
	for (size_t i = 0; i < r->maps.n; i++)
		r->sums.cuts += is_cut(r, r->maps.at[i].from);
	others = r->maps.n - r->sums.cuts;
	r->share = max > others ? (max - others) / SHARE : 0;
	r->room = r->share > r->sums.cuts ? r->share - r->sums.cuts : 0;
}

static enum ring_advice
other_than(int a, int b)
{
	for (int i = RING_NORMAL; ; i++)
		if (i != a && i != b)
			return (enum ring_advice)i;
}

/*
 * Of n parts, the first with `even`, before a neighbour of advice `right`, -1:
 * none.  As in ring_cut_advice().
 */
static uint64_t
advise_parts(int even, int right, uint32_t n)
{
	int odd = (int)other_than(even, -1);
	int last = n % 2 != 0 ? even : odd, before = n % 2 != 0 ? odd : even;
	int third = last;

	if (right == -1 && last != RING_NORMAL && n >= 3) {
		if (before == RING_NORMAL)
			before = (int)other_than(third, RING_NORMAL);
		last = RING_NORMAL;
	} else if (last == right) {
		last = (int)other_than(n >= 2 ? before : -1, right);
	}
	return (uint64_t)even | (uint64_t)odd << 2 | (uint64_t)before << 4 |
	    (uint64_t)last << 6;
}

/*
 * A mapping's first part keeps its advice, other than that of the mapping
 * before, also if that is cut.
 */
static uint64_t
advise_cut(const struct refs *r, const struct overlap *o,
    const struct ring_cut *cut)
{
	const struct mapping *m = o->map;
	uint64_t to = cut->at + (uint64_t)cut->pages * REFCNT_PAGE;
	uint32_t parts = ring_cut_parts(cut);
	int even = m->advice, right = m->advice;

	if (to == m->to)
		right = o->map_no + 1 < r->maps.n && m[1].from == to &&
		    m[1].anonymous ? m[1].advice : -1;
	if (cut->at != m->from || parts == 1)
		even = (int)other_than(m->advice, right);
	return advise_parts(even, right, parts);
}

static uint32_t
choose_stripe(const struct mapping *m, uint64_t pages)
{
	bool dense = pages <= DENSE_PAGES &&
	    m->referenced / REFCNT_PAGE * DENSE >= pages;
	uint64_t stripe = pages <= FAN_PAGES || dense ? 1 :
	    (pages + FAN - 1) / FAN;
	uint64_t huge = HUGE_PAGE / REFCNT_PAGE;

	/* Huge pages stay whole. */
	if (m->huge != 0)
		stripe = (stripe + huge - 1) / huge * huge;
	return (uint32_t)stripe;
}

/* False: there is no room to note it. */
static bool
note_run(struct refs *r, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < r->nruns; i++)
		if (r->run[i].from <= from && to <= r->run[i].to)
			return true;
	if (r->nruns == RING_CUT_RANGES)
		return false;
	r->run[r->nruns++] = (struct run){ from, to };
	return true;
}

/*
 * With its neighbours' advice.  Cuts that others must follow take half of the
 * room: else the first would be in vain.
 */
static bool
has_room(const struct refs *r, const struct ring_cut *cut, uint32_t parts)
{
	size_t spare = cut->stripe > 1 && r->nruns > 0 ? r->share / 2 : 0;

	return parts + 2 + spare <= r->room;
}

static void
ask_now(struct refs *r)
{
	r->requests++;
	(void)tell(r);
}

static void
ask_for(struct refs *r, const struct overlap *o, uint64_t from, uint64_t to)
{
	uint64_t pages = (to - from) / REFCNT_PAGE;
	struct ring_cut cut = { .at = from, .pages = (uint32_t)pages };
	uint32_t parts;

	cut.stripe = choose_stripe(o->map, pages);
	parts = ring_cut_parts(&cut);
	if (r->stuck || (from == o->map->from && to == o->map->to && parts < 2))
		return;
	if (r->requests == REQUESTS || !has_room(r, &cut, parts) ||
	    !note_run(r, from, to)) {
		r->refused = true;
		return;
	}
	cut.at |= advise_cut(r, o, &cut);
	r->ask[r->nask++] = cut;
	r->room -= parts + 2;
	if (r->nask == RING_CUTS)
		ask_now(r);
}

static uint64_t
huge_up(uint64_t at)
{
	return (at + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

/* Asks for cuts of the open pages of a mixed mapping, from the first to the last. */
static int
cut_mixed(struct refs *r, const struct overlap *o)
{
	const struct mapping *m = o->map;
	size_t n = (o->to - o->from) / REFCNT_PAGE, first, last;
	uint64_t from, to;

	if (!m->anonymous || !is_mixed(m) || !is_open(o) ||
	    (m->advice != RING_NORMAL && !is_cut(r, m->from)))
		return 0;
	for (first = 0; o->state[first] != PAGE_OPEN; first++)
		continue;
	for (last = n - 1; o->state[last] != PAGE_OPEN; last--)
		continue;
	from = o->from + first * REFCNT_PAGE;
	to = o->from + (last + 1) * REFCNT_PAGE;
	/* Huge pages stay whole, also those that reach out of the range. */
	if (m->huge != 0) {
		from &= ~(HUGE_PAGE - 1);
		from = from < m->from ? huge_up(m->from) : from;
		to = huge_up(to);
		to = to > m->to ? m->to & ~(HUGE_PAGE - 1) : to;
	}
	if (from < to && (to - from) / REFCNT_PAGE <= UINT32_MAX)
		ask_for(r, o, from, to);
	return 0;
}

/* Only in memory that may be advised: a range may be another mapping's. */
static void
undo_cuts(struct refs *r)
{
	r->nask = 0;
	for (size_t i = 0; i < r->maps.n; i++) {
		const struct mapping *m = &r->maps.at[i];
		struct ring_cut *last = &r->ask[r->nask > 0 ? r->nask - 1 : 0];
		uint32_t pages = (uint32_t)((m->to - m->from) / REFCNT_PAGE);

		if (!m->anonymous || !is_cut(r, m->from))
			continue;
		if (r->nask > 0 && last->at + (uint64_t)last->pages *
		    REFCNT_PAGE == m->from)
			last->pages += pages;
		else if (r->nask < RING_CUTS)
			r->ask[r->nask++] = (struct ring_cut){ m->from, pages, 0 };
	}
	if (r->nask == 0 || tell(r) == 0)
		r->nruns = 0;
}

static uint64_t
count_state(const struct refs *r, enum page_state state)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->pages; i++)
		n += r->state[i] == state;
	return n;
}

/*
 * *done: nothing is left. *before: mappings and open pages at the beginning,
 * of which one changes unless cuts are in vain.
 */
static int
do_round(struct refs *r, uint64_t *before, bool *done)
{
	int err = read_maps(r);
	uint64_t now;

	*done = true;
	if (err != 0)
		return err;
	count_room(r);
	(void)each_overlap(r, settle);
	now = count_state(r, PAGE_OPEN) << 24 | r->maps.n;
	if (now >> 24 == 0 || r->cut == NULL || r->stuck || now == *before)
		return 0;
	*before = now;
	r->refused = false;
	r->requests = 0;
	(void)each_overlap(r, cut_mixed);
	if (r->nask > 0)
		ask_now(r);
	if (r->requests == 0 && r->refused && r->nruns > 0)
		undo_cuts(r);
	else if (r->requests == 0)
		return 0;
	*done = r->stuck;
	return 0;
}

static int
settle_all(struct refs *r)
{
	uint64_t before = 0;
	bool done = false;
	int err = 0;

	for (unsigned i = 0; err == 0 && !done && i < ROUNDS; i++)
		err = do_round(r, &before, &done);
	return err;
}

/* Pages that were not referenced may have been meanwhile, where a mapping now says so. */
static int
reopen(struct refs *r, const struct overlap *o)
{
	(void)r;
	if (o->map->referenced == 0)
		return 0;
	for (size_t i = 0; i < (o->to - o->from) / REFCNT_PAGE; i++)
		if (o->state[i] == PAGE_UNTOUCHED)
			o->state[i] = PAGE_OPEN;
	return 0;
}

/*
 * Many readings take seconds, and a page that is first referenced meanwhile would be in
 * no epoch, for the next one begins with clearing all bits.  So it is looked for again
 * until a pass takes no more than one reading.
 */
static int
look_again(struct refs *r)
{
	uint64_t touched = count_state(r, PAGE_TOUCHED), now;
	uint64_t open = count_state(r, PAGE_OPEN);
	unsigned reads;
	int err = 0;

	for (unsigned i = 0; err == 0 && i < LATE_PASSES && !r->stuck; i++) {
		reads = r->sums.reads;
		err = read_maps(r);
		if (err != 0)
			break;
		(void)each_overlap(r, reopen);
		(void)each_overlap(r, settle);
		/* Of some mappings it stays unknown. */
		if (count_state(r, PAGE_OPEN) > open)
			err = settle_all(r);
		now = count_state(r, PAGE_TOUCHED);
		if (r->sums.reads - reads == 1 || now == touched)
			break;
		touched = now;
	}
	return err;
}

static int
do_rounds(struct refs *r)
{
	int err;

	r->stuck = r->files = false;
	r->sums.reads = 0;
	err = settle_all(r);
	if (err == 0 && r->sums.reads > 1)
		err = look_again(r);
	if (err == 0 && r->stuck && r->tries < REFS_TRIES && count_state(r, PAGE_OPEN) > 0) {
		r->tries++;
		err = -EAGAIN;
	}
	if (err == 0)
		(void)each_overlap(r, settle_coarsely);
	return err;
}

int
refs_end(struct refs *r, const struct refcnt *counted, refcnt_touched *touched,
    void *arg)
{
	int err = begin_pages(r, counted);
	const uint8_t *state;

	if (err != 0 || (err = do_rounds(r)) != 0)
		return err;
	r->sums.epochs++;
	r->sums.touched = r->sums.coarse = 0;
	state = r->state;
	for (size_t i = 0; i < r->nranges; i++)
		for (uint64_t at = r->range[i].vaddr, end = at + r->range[i].len;
		    at != end; at += REFCNT_PAGE, state++) {
			if (*state != PAGE_TOUCHED && *state != PAGE_COARSE)
				continue;
			r->sums.touched++;
			r->sums.coarse += *state == PAGE_COARSE;
			touched(arg, at, *state == PAGE_COARSE);
		}
	return 0;
}

void
refs_close(struct refs *r)
{
	if (r == NULL)
		return;
	if (r->nruns > 0 && r->cut != NULL && read_maps(r) == 0)
		undo_cuts(r);
	close(r->pagemap);
	close(r->dir);
	free(r->maps.at);
	free(r->range);
	free(r->state);
	free(r);
}
