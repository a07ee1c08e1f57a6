/*
 * A damaged target must not make us read too much: the slots of a shard are
 * limited to its own count of memory, and all of them to the mapped memory.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../base/base.h"
#include "take.h"

#define PIECE ((size_t)1 << 20)	/* read at once */
#define THREADS_MAX (1u << 22)
#define PROBE 28		/* bytes of a root before its options */
#define ROOM ((uint64_t)1 << 20)	/* for the growth of a copy */
#define MAPPED_SINCE (UINT64_C(64) << 20)

void
take_problem(struct take *t, const char *fmt, ...)
{
	va_list ap;

	if (t->problems.n < TAKE_PROBLEMS) {
		va_start(ap, fmt);
		vsnprintf(t->problems.text[t->problems.n], TAKE_PROBLEM, fmt,
		    ap);
		va_end(ap);
	}
	t->problems.n++;
}

int
take_fail(struct take *t, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->why, sizeof t->why, fmt, ap);
	va_end(ap);
	return error;
}

void
take_areas_clear(struct take_areas *a)
{
	if (a->copy != NULL)
		munmap(a->copy, a->copy_bytes);
	free(a->at);
	*a = (struct take_areas){ 0 };
}

static int
add_area(struct take_areas *a, uint64_t address, uint64_t bytes)
{
	void *array = a->at;
	int r;

	if (bytes == 0)
		return 0;
	r = base_grow(&array, &a->cap, a->n + 1, sizeof *a->at);
	if (r < 0)
		return r;
	a->at = array;
	a->at[a->n++] = (struct take_area){ .address = address,
		.bytes = bytes };
	return 0;
}

static int
by_address(const void *a, const void *b)
{
	const struct take_area *p = a, *q = b;

	return p->address < q->address ? -1 : p->address > q->address;
}

/*
 * The most bytes that all tables may have: those of the core file, or of a
 * process twice those of its writable mappings, for it may have mapped more
 * since.
 */
static uint64_t
table_limit(const struct take *t)
{
	uint64_t bytes = 0;

	if (t->core != NULL)
		return core_file_bytes(t->core);
	for (size_t i = 0; i < t->maps.n; i++)
		if (t->maps.at[i].writable)
			bytes += t->maps.at[i].hi - t->maps.at[i].lo;
	return 2 * bytes + MAPPED_SINCE;
}

static void
settle_areas(struct take *t, struct take_areas *a)
{
	uint64_t end = 0, limit = table_limit(t);
	size_t n = 0;

	if (a->n > 0)
		qsort(a->at, a->n, sizeof *a->at, by_address);
	a->bytes = 0;
	for (size_t i = 0; i < a->n; i++) {
		struct take_area area = a->at[i];
		uint64_t twice = end > area.address ? end - area.address : 0;

		if (twice > area.bytes)
			twice = area.bytes;
		if (twice > 0)
			take_problem(t, "memory at 0x%" PRIx64 ": %" PRIu64
			    " bytes belong to two tables", area.address, twice);
		area.address += twice;
		area.bytes -= twice;
		if (area.bytes > limit - a->bytes) {
			take_problem(t, "memory at 0x%" PRIx64 ": with %" PRIu64
			    " bytes there the tables are larger than the "
			    "target's memory", area.address, area.bytes);
			continue;
		}
		if (area.bytes == 0)
			continue;
		end = area.address + area.bytes;
		area.at = (size_t)a->bytes;
		a->bytes += area.bytes;
		a->at[n++] = area;
	}
	a->n = n;
}

/*
 * Reserves memory for the copy, and some more: the next plan of a running
 * process may be larger.  It uses the same pages, so they are present while the
 * process is stopped.
 */
static int
reserve(struct take_areas *a)
{
	uint64_t bytes = a->bytes + a->bytes / 4 + ROOM;
	void *copy;

	if (a->bytes <= a->copy_bytes)
		return 0;
	if (bytes > SIZE_MAX / 2)
		return -ENOMEM;
	copy = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		return -ENOMEM;
	if (a->copy != NULL)
		munmap(a->copy, a->copy_bytes);
	a->copy = copy;
	a->copy_bytes = (size_t)bytes;
	return 0;
}

static int
copy_area(struct take *t, struct take_areas *a, struct take_area *area,
    bool (*go_on)(struct take *))
{
	size_t done = 0, n, got;

	while (done < area->bytes) {
		if (go_on != NULL && !go_on(t))
			return -ECANCELED;
		n = area->bytes - done < PIECE ? (size_t)area->bytes - done :
		    PIECE;
		got = t->source.read(t->source.arg, area->address + done,
		    a->copy + area->at + done, n);
		done += got;
		if (got == n)
			continue;
		take_problem(t, "memory at 0x%" PRIx64 ": %zu of %" PRIu64
		    " bytes can be read", area->address, done, area->bytes);
		area->bytes = done;
	}
	return 0;
}

int
take_copy_areas(struct take *t, struct take_areas *a,
    bool (*go_on)(struct take *))
{
	int r = reserve(a);

	for (size_t i = 0; r == 0 && i < a->n; i++)
		r = copy_area(t, a, &a->at[i], go_on);
	return r;
}

size_t
take_copied(const struct take *t, uint64_t address, uint8_t *out, size_t n)
{
	const struct take_areas *a = &t->tables;

	for (size_t i = 0; i < a->n; i++) {
		const struct take_area *area = &a->at[i];
		uint64_t skip = address - area->address;

		if (address < area->address || skip >= area->bytes)
			continue;
		if (n > area->bytes - skip)
			n = (size_t)(area->bytes - skip);
		memcpy(out, a->copy + area->at + skip, n);
		return n;
	}
	return 0;
}

static uint32_t
number32(const uint8_t *p, bool big)
{
	uint32_t v = (uint32_t)base_get_le(p, 4);

	return big ? __builtin_bswap32(v) : v;
}

static uint64_t
number_word(const struct take_root *r, const uint8_t *p)
{
	if (r->word_bytes == 4)
		return number32(p, r->big_endian);
	return r->big_endian ? __builtin_bswap64(base_get_le(p, 8)) :
	    base_get_le(p, 8);
}

uint32_t
take_root_u32(const struct take *t, unsigned at)
{
	return number32(t->root.bytes + at, t->root.big_endian);
}

#define ROOT32(t, name) take_root_u32(t, (t)->root.at.root.name)
#define ROOT_ADDRESS(t, name) \
	number_word(&(t)->root, (t)->root.bytes + (t)->root.at.root.name)
#define SHARD32(t, p, name) \
	number32((p) + (t)->root.at.shard.name, (t)->root.big_endian)
#define SHARD_ADDRESS(t, p, name) \
	number_word(&(t)->root, (p) + (t)->root.at.shard.name)

static bool
read_all(const struct take_source *s, uint64_t address, void *out, size_t n)
{
	return s->read(s->arg, address, out, n) == n;
}

/* Checks the first words of a root.  NULL, or an error. */
static const char *
probe(const uint8_t *p, bool *big, unsigned *word_bytes)
{
	uint32_t order = number32(p + 8, false);

	if (memcmp(p, MDD_MAGIC, sizeof MDD_MAGIC - 1) != 0)
		return "no debug data is there";
	*big = order == __builtin_bswap32(MDD_ORDER);
	if (order != MDD_ORDER && !*big)
		return "its byte order is unknown";
	if (number32(p + 12, *big) != MDD_VERSION)
		return "its tables are of another version";
	*word_bytes = number32(p + 16, *big);
	if (*word_bytes != 4 && *word_bytes != 8)
		return "its word size is neither 4 nor 8";
	return NULL;
}

bool
take_root_fits(const struct take_source *s, uint64_t address)
{
	uint8_t p[LAYOUT_ROOT_MAX];
	unsigned word_bytes;
	struct layout at;
	bool big;

	if (!read_all(s, address, p, PROBE) ||
	    probe(p, &big, &word_bytes) != NULL)
		return false;
	lay_out(&at, word_bytes);
	return read_all(s, address, p, at.root.bytes) &&
	    number32(p + at.root.shard_bytes, big) == at.shard.bytes &&
	    number32(p + at.root.slabs, big) == MDD_SLABS;
}

/* False, with a problem: the size does not fit the options. */
static bool
has_size(struct take *t, const char *what, uint32_t bytes, uint32_t expected)
{
	if (bytes == expected)
		return true;
	take_problem(t, "root at 0x%" PRIx64 ": %s of %" PRIu32 " bytes, and "
	    "its options make %" PRIu32, t->root.address, what, bytes,
	    expected);
	return false;
}

static bool
check_root(struct take *t)
{
	struct take_root *r = &t->root;
	uint32_t options = ROOT32(t, options), levels = ROOT32(t, levels);
	uint32_t first = ROOT32(t, slab_first);

	if (levels > MDD_LEVELS || ROOT32(t, slabs) != MDD_SLABS ||
	    first == 0 || first > LAYOUT_FIRST_MAX) {
		take_problem(t, "root at 0x%" PRIx64 ": %" PRIu32 " levels, %"
		    PRIu32 " slabs, the first of %" PRIu32 " records",
		    r->address, levels, ROOT32(t, slabs), first);
		return false;
	}
	r->record_bytes = layout_record_bytes(options, levels, r->word_bytes);
	r->past_bytes = r->record_bytes + 8 +
	    layout_moment_bytes(options, levels, r->word_bytes);
	return has_size(t, "records", ROOT32(t, record_bytes),
	    r->record_bytes) && has_size(t, "shards", ROOT32(t, shard_bytes),
	    r->at.shard.bytes);
}

/* False, with a problem: only the root itself is copied. */
static bool
read_root(struct take *t)
{
	struct take_root *r = &t->root;
	const char *wrong = NULL;

	lay_out(&r->at, 8);
	memset(r->bytes, 0, sizeof r->bytes);
	if (!read_all(&t->source, r->address, r->bytes, PROBE))
		wrong = "it cannot be read";
	else
		wrong = probe(r->bytes, &r->big_endian, &r->word_bytes);
	if (wrong == NULL) {
		lay_out(&r->at, r->word_bytes);
		if (!read_all(&t->source, r->address, r->bytes,
		    r->at.root.bytes))
			wrong = "its end cannot be read";
	}
	if (wrong != NULL) {
		take_problem(t, "root at 0x%" PRIx64 ": %s", r->address, wrong);
		return false;
	}
	return check_root(t);
}

static int
plan_slabs(struct take *t, uint32_t i, const uint8_t *p, uint64_t limit)
{
	const struct take_root *r = &t->root;
	uint64_t shard = ROOT_ADDRESS(t, shard) + (uint64_t)i * r->at.shard.bytes;
	uint64_t has = SHARD_ADDRESS(t, p, dynamic_bytes), need, address;
	uint64_t n = ROOT32(t, slab_first), first = 0, slots;
	uint32_t used = SHARD32(t, p, used);
	int e = 0;

	if (has > limit)
		has = limit;
	for (unsigned k = 0; e == 0 && k < MDD_SLABS && first < used;
	    k++, first += n, n *= 2) {
		need = n * r->record_bytes;
		slots = used - first < n ? used - first : n;
		address = number_word(r, p + r->at.shard.slab +
		    k * r->word_bytes);
		if (need > has || address == 0) {
			take_problem(t, "shard %" PRIu32 " at 0x%" PRIx64 ": it "
			    "counts %" PRIu32 " slots, and has memory for %"
			    PRIu64, i, shard, used, first);
			return 0;
		}
		has -= need;
		e = add_area(&t->tables, address, slots * r->record_bytes);
	}
	if (e == 0 && first < used)
		take_problem(t, "shard %" PRIu32 " at 0x%" PRIx64 ": it counts %"
		    PRIu32 " slots, more than all slabs have", i, shard, used);
	return e;
}

static int
plan_shards(struct take *t)
{
	struct take_root *r = &t->root;
	uint64_t address = ROOT_ADDRESS(t, shard), limit = table_limit(t);
	uint32_t n = ROOT32(t, shards);
	size_t got;
	int e;

	if (n == 0 || n > LAYOUT_SHARDS_MAX) {
		take_problem(t, "root at 0x%" PRIx64 ": %" PRIu32 " shards",
		    r->address, n);
		n = n == 0 ? 0 : 1;
	}
	r->shards_bytes = (size_t)n * r->at.shard.bytes;
	free(r->shards);
	r->shards = calloc(1, r->shards_bytes + 1);
	if (r->shards == NULL)
		return -ENOMEM;
	got = t->source.read(t->source.arg, address, r->shards,
	    r->shards_bytes);
	if (got < r->shards_bytes)
		take_problem(t, "shards at 0x%" PRIx64 ": %zu of %zu bytes can "
		    "be read", address, got, r->shards_bytes);
	e = add_area(&t->tables, address, got);
	r->busy = 0;
	for (uint32_t i = 0; e == 0 && i < got / r->at.shard.bytes; i++) {
		const uint8_t *p = r->shards + (size_t)i * r->at.shard.bytes;

		if (SHARD32(t, p, busy) != 0 && r->busy++ == 0)
			r->first_busy = i;
		e = plan_slabs(t, i, p, limit);
	}
	return e;
}

static int
plan_threads(struct take *t)
{
	const struct take_root *r = &t->root;
	uint64_t n = ROOT32(t, slab_first), first = 0, address;
	uint32_t threads = ROOT32(t, threads);
	int e = 0;

	if (!has_size(t, "threads", ROOT32(t, thread_bytes),
	    r->at.thread.bytes))
		return 0;
	if (threads > THREADS_MAX) {
		take_problem(t, "root at 0x%" PRIx64 ": %" PRIu32 " threads; %u "
		    "are taken", r->address, threads, THREADS_MAX);
		threads = THREADS_MAX;
	}
	for (unsigned k = 0; e == 0 && k < MDD_SLABS && first < threads;
	    k++, first += n, n *= 2) {
		address = number_word(r, r->bytes + r->at.root.thread_slab +
		    k * r->word_bytes);
		if (address == 0) {
			take_problem(t, "root at 0x%" PRIx64 ": %" PRIu32
			    " threads, and memory for %" PRIu64, r->address,
			    threads, first);
			break;
		}
		e = add_area(&t->tables, address, (threads - first < n ?
		    threads - first : n) * r->at.thread.bytes);
	}
	return e;
}

static int
plan_history(struct take *t)
{
	struct take_root *r = &t->root;
	uint32_t records = ROOT32(t, history_records), place, run;
	uint32_t at = ROOT32(t, history_start), left;
	uint64_t base = ROOT_ADDRESS(t, history);
	int e = 0;

	r->history_next = ROOT32(t, history_next);
	r->history_start = at;
	left = r->history_next - at;
	if (base == 0 || records == 0 ||
	    (uint64_t)records * r->past_bytes > ROOT_ADDRESS(t, static_bytes)) {
		take_problem(t, "root at 0x%" PRIx64 ": a history of %" PRIu32
		    " records at 0x%" PRIx64 " is larger than its memory",
		    r->address, records, base);
		return 0;
	}
	if (!has_size(t, "history records", ROOT32(t, event_bytes),
	    r->past_bytes))
		return 0;
	r->history = base;
	r->history_records = records;
	if (left > records) {
		at += left - records;
		left = records;
	}
	/* Runs end at the buffer's end, and where indexes wrap around. */
	for (; e == 0 && left > 0; at += run, left -= run) {
		place = at % records;
		run = left < records - place ? left : records - place;
		if (run - 1 > UINT32_MAX - at)
			run = UINT32_MAX - at + 1;
		e = add_area(&t->tables, base + (uint64_t)place *
		    r->past_bytes, (uint64_t)run * r->past_bytes);
	}
	return e;
}

int
take_plan(struct take *t)
{
	struct take_root *r = &t->root;
	int e = 0;

	t->tables.n = 0;
	t->problems.n = t->opened_problems;
	r->busy = 0;
	r->history_records = 0;
	if (!read_root(t)) {
		e = add_area(&t->tables, r->address, r->at.root.bytes);
	} else {
		e = add_area(&t->tables, r->address, r->at.root.bytes);
		if (e == 0)
			e = plan_shards(t);
		if (e == 0 && (ROOT32(t, options) & MDD_OPT_THREAD) != 0)
			e = plan_threads(t);
		if (e == 0 && (ROOT32(t, options) & MDD_OPT_HISTORY) != 0)
			e = plan_history(t);
	}
	settle_areas(t, &t->tables);
	return e < 0 ? take_fail(t, e, "there is not enough memory") : 0;
}

int
take_plan_heads(struct take *t)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < t->maps.n; i++) {
		const struct take_mapping *m = &t->maps.at[i];
		char magic[SELFMAG];

		if (m->offset == 0 && m->path[0] == '/' &&
		    read_all(&t->source, m->lo, magic, SELFMAG) &&
		    memcmp(magic, ELFMAG, SELFMAG) == 0)
			e = add_area(&t->heads, m->lo,
			    m->hi - m->lo < LAYOUT_HEAD_BYTES ?
			    m->hi - m->lo : LAYOUT_HEAD_BYTES);
	}
	settle_areas(t, &t->heads);
	if (e == 0)
		e = take_copy_areas(t, &t->heads, NULL);
	return e < 0 ? take_fail(t, e, "there is not enough memory") : 0;
}

uint64_t
take_shards(const struct take *t)
{
	return ROOT_ADDRESS(t, shard);
}

int
take_copy(struct take *t)
{
	int r = take_plan_heads(t);

	if (r == 0 && t->process != NULL)
		return process_copy(t);
	if (r == 0)
		r = take_plan(t);
	if (r == 0)
		r = take_copy_areas(t, &t->tables, NULL);
	return r;
}

void
take_close(struct take *t)
{
	process_close(t->process);
	core_file_close(t->core);
	take_maps_fini(&t->maps);
	take_areas_clear(&t->heads);
	take_areas_clear(&t->tables);
	free(t->maps_text);
	free(t->root.shards);
	*t = (struct take){ 0 };
}

/*
 * Records that are not yet written belong to the next dump, for their threads
 * may be delayed.  In the oldest eighth they are given up, so that the history
 * gets room.
 */
uint32_t
take_history_next(const struct take *t)
{
	const struct take_root *r = &t->root;
	uint32_t left = r->history_next - r->history_start, i, link;
	uint8_t p[8 + 8 + 4];

	if (left > r->history_records)
		left = r->history_records;
	if (left > r->history_records - r->history_records / 8)
		left = r->history_records - r->history_records / 8;
	for (; left > 0; left--) {
		i = r->history_next - left;
		if (take_copied(t, r->history + (uint64_t)(i %
		    r->history_records) * r->past_bytes, p,
		    2 * r->word_bytes + 4) < 2 * r->word_bytes + 4)
			return i;
		link = number32(p + 2 * r->word_bytes, r->big_endian) >>
		    MDD_FUNCTION_BITS;
		if (number_word(r, p) == 0 || link != ((i + 1) & MDD_LINK_MASK))
			return i;
	}
	return r->history_next;
}

int
take_reset(struct take *t)
{
	struct take_root *r = &t->root;
	uint32_t start = take_history_next(t);
	int e;

	if (r->big_endian)
		start = __builtin_bswap32(start);
	e = process_write(t, r->address + r->at.root.history_start, &start,
	    sizeof start);
	return e < 0 ? take_fail(t, e, "the history cannot be emptied: %s",
	    strerror(-e)) : 0;
}
