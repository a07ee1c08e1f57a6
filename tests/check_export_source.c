/*
 * Exports: a profile as a source, whatever is known of its frames, and what is
 * written of it.
 */
#include <errno.h>

#include "../src/export/export.h"
#include "profile_rig.h"

static struct export_source *s;
static struct blk blocks[64];
static size_t nblocks;

/* All blocks of a profile are of blocks[], in its order. */
static void
hold(unsigned site, unsigned n, uint64_t bytes)
{
	put(site, n, bytes);
	for (unsigned i = 0; i < n; i++, nblocks++)
		blocks[nblocks] = (struct blk){ .addr = 0x1000 * nblocks + 16,
			.size = bytes, .caller = rec_site_caller(site),
			.ms = NOW - 1000 + (int64_t)nblocks, .thread = 3,
			.type = 0x80 };
}

static void
end(void)
{
	export_free(s);
	s = NULL;
	nblocks = 0;
	teardown();
}

static void
take(void)
{
	export_free(s);
	s = NULL;
	ck_assert_int_ge(profile_resolve(p, &words), 0);
	ck_assert_int_eq(export_of_profile(&s, &(struct export_live){
	    .profile = p, .block = blocks, .blocks = nblocks, .now_ms = NOW,
	    .wall_ms = 5 * NOW, .target = "prog\n[1]", .note = "" }), 0);
}

/* The stack as "inner<inlined in;outer": a frame without a symbol is "?". */
static const char *
stack_text(size_t no)
{
	static char out[1024];
	size_t len = 0;

	ck_assert_uint_lt(no, s->stacks);
	out[0] = '\0';
	for (uint32_t d = 0; d < s->stack[no].depth; d++) {
		const struct export_frame *f = &s->frame[s->frame_of[
		    s->stack[no].first + d]];

		base_append(out, sizeof out, &len, "%s%s", d > 0 ? ";" : "",
		    f->lines == 0 ? "?" : "");
		for (uint32_t i = 0; i < f->lines; i++)
			base_append(out, sizeof out, &len, "%s%s", i > 0 ?
			    "<" : "", s->function[s->line[f->first +
			    i].function].name);
	}
	return out;
}

CASE("export source", .setup = setup, .teardown = end, .seconds = 60);

TEST(its_sums_are_the_profile_s)
{
	struct profile_sum total;
	uint64_t n = 0, bytes = 0;

	put_all();
	take();
	total = profile_total(p);
	for (size_t i = 0; i < s->stacks; i++) {
		n += s->stack[i].live_blocks;
		bytes += s->stack[i].live_bytes;
	}
	ck_assert_uint_eq(n, total.blocks);
	ck_assert_uint_eq(bytes, total.bytes);
	ck_assert(!s->counts_all);
}

TEST(stacks_begin_at_the_function_that_asked)
{
	put(1, 1, 100);
	put(3, 1, 100);
	take();
	ck_assert_str_eq(stack_text(0), "parse<handle;serve;main");
	ck_assert_str_eq(stack_text(1), "cache;serve;main");
	ck_assert_str_eq(s->target, "prog\\x0A[1]");
}

TEST(a_function_that_is_skipped_is_taken_out_of_its_frame)
{
	ck_assert_int_eq(symbol_wrappers_add(wrappers, "parse"), 0);
	put(1, 1, 100);
	take();
	ck_assert_str_eq(stack_text(0), "handle;serve;main");
}

TEST(equal_frames_functions_and_modules_are_one)
{
	put(1, 1, 100);
	put(2, 1, 100);
	put(11, 1, 100);
	take();
	ck_assert_uint_eq(s->modules, 1);
	ck_assert_uint_eq(s->frames, 5);	/* parse, serve, main, cache, walk */
	ck_assert_uint_eq(s->functions, 6);
}

TEST(a_frame_without_a_symbol_has_its_module)
{
	const struct export_frame *f;

	put(6, 1, 100);
	take();
	ck_assert_str_eq(stack_text(0), "?;main");
	f = &s->frame[s->frame_of[s->stack[0].first]];
	ck_assert_uint_eq(f->address, 0x17);
	ck_assert_str_eq(s->module[f->module].path, "/lib/libfoo.so");
	ck_assert_uint_eq(s->module[f->module].end, 0);
}

TEST(an_unknown_stack_is_one_frame_that_says_so)
{
	const struct export_frame *f;

	fake.no_stacks = true;
	put(1, 2, 100);
	take();
	ck_assert_uint_eq(s->stacks, 1);
	ck_assert_uint_eq(s->stack[0].live_blocks, 2);
	ck_assert_uint_eq(s->stack[0].depth, 1);
	f = &s->frame[s->frame_of[s->stack[0].first]];
	ck_assert_uint_eq(f->address, 0);
	ck_assert_uint_eq(f->module, EXPORT_NONE);
	ck_assert_uint_eq(f->lines, 1);
}

TEST(names_and_paths_are_safe)
{
	put(9, 1, 100);
	take();
	ck_assert_str_eq(stack_text(0), "evil;name\\x0A\\x1B[2J\\xFF;;main");
	for (size_t i = 0; i < s->functions; i++)
		ck_assert_ptr_null(strchr(s->function[i].file, '\n'));
}

static int
check_event(void *arg, const struct export_event *e)
{
	size_t *at = arg;
	const struct blk *b = &blocks[*at];

	ck_assert_int_eq(e->kind, EXPORT_ALLOC);
	ck_assert_uint_eq(e->address, b->addr);
	ck_assert_uint_eq(e->size, b->size);
	ck_assert_int_eq(e->wall_ms, 5 * NOW - (NOW - b->ms));
	ck_assert_uint_eq(e->thread, 3);
	ck_assert_uint_lt(e->stack, s->stacks);
	ck_assert_uint_eq(s->stack[e->stack].live_bytes % e->size, 0);
	return ++*at == 5 ? -EIO : 0;
}

TEST(events_are_the_blocks_in_their_order_until_one_fails)
{
	size_t at = 0;

	hold(1, 2, 70);
	hold(6, 2, 110);
	take();
	ck_assert_int_eq(s->events(s, check_event, &at), 0);
	ck_assert_uint_eq(at, 4);
	hold(1, 2, 70);
	take();
	at = 0;
	ck_assert_int_eq(s->events(s, check_event, &at), -EIO);
	ck_assert_uint_eq(at, 5);
}

/* --- heaptrack's text ----------------------------------------------------- */

static char *written;
static size_t written_len;

/* Blocks that come and go, one of a stack that is not known. */
static int
come_and_go(const struct export_source *from, int (*take_one)(void *,
    const struct export_event *), void *arg)
{
	static const struct export_event all[] = {
		{ .wall_ms = 1000, .address = 16, .size = 64, .stack = 0 },
		{ .wall_ms = 1005, .address = 32, .size = 64, .stack = 0 },
		{ .wall_ms = 1003, .address = 48, .size = 80,
		    .stack = EXPORT_NONE },
		{ .kind = EXPORT_FREE, .wall_ms = 1020, .address = 16 },
		{ .kind = EXPORT_FREE, .wall_ms = 1020, .address = 16 },
		{ .wall_ms = 1020, .address = 16, .size = 80,
		    .stack = EXPORT_NONE, .tid = 4711 },
		{ .kind = EXPORT_LOST, .size = 7 },
		/* Another layer's address, and one that has a block. */
		{ .wall_ms = 1020, .address = 16, .size = 64, .layer = 1 },
		{ .wall_ms = 1020, .address = 16, .size = 64 },
	};
	int r = 0;

	(void)from;
	for (size_t i = 0; i < BASE_NELEM(all) && r == 0; i++)
		r = take_one(arg, &all[i]);
	return r;
}

TEST(heaptrack_s_text_has_each_block_and_each_free_once)
{
	FILE *out = open_memstream(&written, &written_len);

	put(6, 1, 100);
	take();
	s->events = come_and_go;
	s->has_frees = true;
	s->wall_ms = 1030;
	s->note = "a note";
	ck_assert_int_eq(export_heaptrack(s, out), 0);
	fclose(out);
	ck_assert_str_eq(written, "v 10400 3\n"
	    "X prog\\x0A[1]\n"
	    "# a note\n"
	    "s e /lib/libfoo.so\n"
	    "s 9 /bin/prog\n"
	    "s 4 main\n"
	    "s b /src/main.c\n"
	    "i 17 1\n"
	    "i 10 2 3 4 74\n"
	    "t 2 0\n"
	    "t 1 1\n"
	    "a 40 2\n"
	    "+ 0\n"
	    "c 5\n"
	    "+ 0\n"
	    "a 50 0\n"
	    "+ 1\n"
	    "c 14\n"
	    "- 0\n"
	    "+ 1\n"
	    "+ 0\n"
	    "- 1\n"
	    "+ 0\n"
	    "c 1e\n");
	free(written);
}

/* --- CTF -------------------------------------------------------------------- */

#define PACKET_HEAD 48

TEST(a_trace_s_packet_says_its_times_and_its_size)
{
	char *text = NULL;
	uint8_t *bytes;
	size_t text_len, len;
	FILE *metadata = open_memstream(&text, &text_len);
	FILE *stream = open_memstream(&written, &written_len);

	put(6, 1, 100);
	take();
	s->events = come_and_go;
	s->note = "a \"note\" \\";
	ck_assert_int_eq(export_ctf(s, metadata, stream), 0);
	fclose(metadata);
	fclose(stream);
	ck_assert_ptr_nonnull(strstr(text, "note = \"a \\\"note\\\" \\\\\";"));
	ck_assert_ptr_nonnull(strstr(text, "offset_s = 1;\n\toffset = 0;"));
	bytes = (uint8_t *)written;
	ck_assert_uint_eq(base_get_le(bytes, 4), 0xc1fc1fc1);
	ck_assert_uint_eq(base_get_le(bytes + 8, 8), 0);
	ck_assert_uint_eq(base_get_le(bytes + 16, 8), 20000000);
	len = (size_t)base_get_le(bytes + 32, 8) / 8;
	ck_assert_uint_eq(base_get_le(bytes + 24, 8), 8 * len);
	/* Lost events are those before the end of a packet. */
	ck_assert_uint_eq(base_get_le(bytes + 40, 8), 7);
	ck_assert_uint_eq(base_get_le(bytes + len, 4), 0xc1fc1fc1);
	ck_assert_uint_eq(base_get_le(bytes + len + 24, 8),
	    8 * (written_len - len));
	ck_assert_uint_eq(base_get_le(bytes + len + 40, 8), 7);
	/* The first block: of pagek:alloc, for its type is not known. */
	ck_assert_uint_eq(base_get_le(bytes + PACKET_HEAD, 2), 1);
	ck_assert_uint_eq(base_get_le(bytes + PACKET_HEAD + 10, 4), 0);
	ck_assert_uint_eq(base_get_le(bytes + PACKET_HEAD + 14, 8), 64);
	ck_assert_uint_eq(base_get_le(bytes + PACKET_HEAD + 22, 8), 16);
	free(text);
	free(written);
}

TEST(an_error_of_writing_ends_it)
{
	FILE *metadata = fopen("/dev/null", "w");
	FILE *out = fopen("/dev/full", "w");

	put_all();
	take();
	ck_assert_ptr_nonnull(out);
	setvbuf(out, NULL, _IONBF, 0);
	ck_assert_int_eq(export_heaptrack(s, out), -ENOSPC);
	ck_assert_int_eq(export_ctf(s, out, out), -ENOSPC);
	ck_assert_int_eq(export_ctf(s, metadata, out), -ENOSPC);
	fclose(metadata);
	fclose(out);
}
