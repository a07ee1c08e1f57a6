/*
 * fuzz_capture: any bytes as a capture.  The first byte says whether the checksums
 * are made right: then what they protect is hostile.
 *
 * Claims: what is refused has a sentence; numbers go on within a part but for
 * gaps; a list has as many rows as its totals say; the events of an export leave
 * the blocks of its moment; samples of heap stress are in the order of their times.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../src/capture/format.h"
#include "../../src/export/export.h"
#include "fuzz.h"

#define EVENTS_MOST 100000
#define PARTS_MOST 4

/* The block's length, or 0 if the rest is none. */
static size_t
seal_block(uint8_t *p, size_t len)
{
	size_t n;

	if (len < FORMAT_BLOCK_HEAD)
		return 0;
	n = (size_t)base_get_le(p + 4, 4);
	if (n > len - FORMAT_BLOCK_HEAD)
		return 0;
	base_put_le(p, FORMAT_BLOCK_MARK, 4);
	base_put_le(p + 40, format_crc32c(p + FORMAT_BLOCK_HEAD, n), 4);
	base_put_le(p + 44, format_crc32c(p, 44), 4);
	return FORMAT_BLOCK_HEAD + n;
}

static void
seal(uint8_t *p, size_t len)
{
	size_t n;

	for (size_t at = 0; at < len; at += n) {
		if (capture_magic(p + at, len - at) &&
		    len - at >= FORMAT_SEGMENT_HEAD) {
			base_put_le(p + at + 60, format_crc32c(p + at, 60), 4);
			n = FORMAT_SEGMENT_HEAD;
		} else if ((n = seal_block(p + at, len - at)) == 0) {
			return;
		}
	}
}

static void
use_events(struct capture *c)
{
	static struct capture_event e[1000];
	uint64_t next[PARTS_MOST] = { 0 };
	size_t n, all = 0;

	do {
		claim(capture_next(c, e, BASE_NELEM(e), &n) == 0, "it is read");
		for (size_t i = 0; i < n; i++) {
			uint64_t *want = &next[e[i].part % PARTS_MOST];

			if (e[i].part >= PARTS_MOST)
				continue;
			claim(e[i].what != CAPTURE_EVENT || *want == 0 ||
			    e[i].seq == *want, "numbers go on");
			*want = e[i].what == CAPTURE_EVENT ? e[i].seq + 1 : 0;
		}
		all += n;
	} while (n > 0 && all < EVENTS_MOST);
	claim(capture_position(c) <= UINT64_MAX / 2, "a position is in the file");
}

static void
use_list(struct capture *c, uint32_t part, const struct capture_when *when)
{
	const struct capture_totals *t;
	struct capture_list *l;
	int64_t ms;
	uint64_t seq;
	size_t n;

	if (capture_seek(c, part, when, &l) < 0)
		return;
	t = capture_list_totals(l);
	(void)capture_list_at(l, &seq, &ms);
	claim(capture_list_rows(l, &n) != NULL, "memory");
	claim(n == t->blocks, "totals have all rows");
	capture_list_free(l);
}

static void
use_numbers(struct capture *c, uint32_t part, uint64_t seq)
{
	static struct capture_event e[7];
	uint64_t state, from, all = 0;
	int64_t ms;
	size_t n;

	do {
		from = seq;
		state = capture_state_from(c, part, seq, &ms);
		claim(state >= seq, "a state is not before");
		claim(capture_read(c, part, &seq, e, BASE_NELEM(e), &n) == 0 &&
		    n <= BASE_NELEM(e), "it is read from a number on");
		for (size_t i = 0; i < n; i++)
			claim(e[i].seq == from + i, "numbers go on");
		all += n;
	} while (n > 0 && all < EVENTS_MOST);
}

struct held {
	struct hashmap places;
	uint64_t events;
};

static int
hold(void *arg, const struct export_event *e)
{
	struct held *h = arg;
	uint64_t place = e->address | (uint64_t)e->layer << 63;
	int64_t at = hashmap_find(&h->places, place);

	if (e->kind == EXPORT_FREE && at >= 0)
		hashmap_remove(&h->places, (size_t)at);
	if (e->kind == EXPORT_ALLOC && at < 0)
		claim(hashmap_put(&h->places, place, NULL) >= 0, "memory");
	return ++h->events < EVENTS_MOST ? 0 : -ECANCELED;
}

static void
use_export(struct capture *c, uint32_t part)
{
	struct captured_opts o = { .c = c, .part = part, .target = "" };
	struct held h = { .places.size = sizeof(uint64_t) };
	struct capture_list *l;
	struct captured *x;
	const struct export_source *s;
	int r;

	if (capture_seek(c, part, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &l) < 0)
		return;
	(void)capture_list_at(l, &o.to, &o.ms);
	o.row = capture_list_rows(l, &o.rows);
	claim(o.row != NULL && capture_names_new(&o.names, c, part,
	    &(struct symbols_opts){ .reader = "" }) == 0, "memory");
	claim(captured_new(&x, &o) == 0, "it is read again");
	s = captured_source(x);
	r = s->events(s, hold, &h);
	claim(r == -ECANCELED || (r == 0 && h.places.n == o.rows),
	    "events leave the blocks of the moment");
	hashmap_fini(&h.places);
	captured_free(x);
	capture_names_free(o.names);
	capture_list_free(l);
}

static void
use_definitions(const struct capture *c, uint32_t part)
{
	struct blklist_info who;
	struct stream_module m;
	struct stream_types t;
	struct stream_site s;
	const char *name;
	uint32_t tid;

	for (uint32_t i = 0; i <= capture_sites(c, part) && i < 1000; i++)
		if (capture_site(c, part, i, &s))
			claim(s.depth >= 1 && s.depth <= RING_STACK_MAX &&
			    s.frame[s.depth - 1] <= UINT64_MAX, "frames");
	for (unsigned i = 0; i <= capture_modules(c, part); i++)
		if (capture_module(c, part, i, &m))
			claim(strlen(m.path) < CAPTURE_TEXT_MAX, "paths");
	for (unsigned i = 0; i < 100; i++) {
		if (capture_thread(c, part, i, &tid, &name))
			claim(strlen(name) < CAPTURE_TEXT_MAX, "names");
		(void)capture_requester(c, part, (uint16_t)i, &who);
	}
	capture_types(c, part, &t);
}

static void
use_stress(const struct capture *c)
{
	size_t n = capture_stresses(c);

	for (size_t i = 0; i < n; i++) {
		const struct capture_stress *s = capture_stress(c, i);

		claim(i == 0 || s[-1].ms <= s->ms, "time goes on");
		claim(strlen(s->kernel) < CAPTURE_TEXT_MAX &&
		    strlen(s->why) < CAPTURE_TEXT_MAX &&
		    s->sample.source <= STRESS_NONE, "a sample");
		claim(capture_stress_at(c, s->ms)->ms == s->ms, "it is found");
	}
}

static void
use(struct capture *c)
{
	struct capture_about a;
	struct capture_part_info p;

	capture_about(c, &a);
	use_events(c);
	for (uint32_t no = 1; no <= a.parts && no < PARTS_MOST; no++) {
		if (!capture_part(c, no, &p))
			continue;
		use_definitions(c, no);
		use_export(c, no);
		use_numbers(c, no, p.part.first);
		use_numbers(c, no, p.complete_seq + 5);
		use_list(c, no, &(struct capture_when){ .at = CAPTURE_AT_PEAK });
		use_list(c, no, &(struct capture_when){ .at = CAPTURE_AT_MS,
		    .ms = p.last_ms / 2 + p.part.ms / 2 });
		use_list(c, no, &(struct capture_when){ .at = CAPTURE_AT_SEQ,
		    .seq = p.complete_seq + 5 });
	}
	use_stress(c);
	for (size_t i = 0; i < capture_marks(c); i++)
		claim(capture_mark(c, i)->text != NULL, "marks have texts");
	for (size_t i = 0; i < capture_damages(c); i++)
		claim(capture_damage(c, i)[0] != '\0', "damage has words");
	(void)capture_ms(c, capture_wall_ns(c, a.last_ms));
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	char path[40], why[CAPTURE_WHY] = "";
	struct capture *c;
	uint8_t *copy;
	int fd;

	if (len == 0 || (copy = malloc(len)) == NULL)
		return 0;
	memcpy(copy, p + 1, len - 1);
	if (p[0] & 1)
		seal(copy, len - 1);
	fd = (int)syscall(SYS_memfd_create, "capture", 0);
	claim(fd >= 0 && write(fd, copy, len - 1) == (ssize_t)(len - 1), "file");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (capture_open(&c, path, why) == 0) {
		use(c);
		capture_close(c);
	} else {
		claim(why[0] != '\0', "a refusal has a sentence");
	}
	close(fd);
	free(copy);
	return 0;
}
