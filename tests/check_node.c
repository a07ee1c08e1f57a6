/*
 * The node's table of streams, its generators and its report.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "node_harness.h"

/* --- DSTRM -------------------------------------------------------------- */

CASE("DSTRM", .seconds = 60);

TEST(name_lookup_gives_index_and_epoch)
{
	struct page p;
	struct wire_msg r;

	demo_up(&p, "note", "39s", NULL);
	page_name(&p, "DSTRM", "ALLOCLOG", &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.format, WIRE_CLASSIC);
	ck_assert_uint_eq(r.named.record_size, 16);
	ck_assert_uint_eq(r.named.levels, 0);
	ck_assert_uint_eq(r.named.address_bits, 32);
	ck_assert_uint_eq(r.named.entries, 1);
	ck_assert_uint_eq(r.named.oldest, 1);
	ck_assert_uint_eq(r.named.next, 7);
	page_close(&p);
	node_down();
}

TEST(the_lookup_is_generic_over_tables)
{
	struct page p;
	struct wire_msg r;

	demo_up(&p, "note", "39s", NULL);
	page_name(&p, "types", "LOCREQ", &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.index, TYPE_LOCREQ);
	page_name(&p, "LATBL", "MEMB", &r);
	expect_error(&r, WIRE_E_NAME);
	page_name(&p, "NOTABLE", "ALLOCLOG", &r);
	expect_error(&r, WIRE_E_NAME);
	page_close(&p);
	node_down();
}

TEST(an_empty_name_looks_up_by_index)
{
	struct page p;
	struct wire_msg r, m = { .type = WIRE_NAME, .name = {
		.table = wire_text("DSTRM"), .index = 0 } };

	demo_up(&p, "note", "39s", "BLOCKS");
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.name.len, 6);
	ck_assert_mem_eq(r.named.name.s, "BLOCKS", 6);
	m.name.index = 1;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	page_close(&p);
	node_down();
}

TEST(an_index_of_a_renewed_list_is_stale)
{
	struct wire_msg r, read = { .type = WIRE_READ };
	uint8_t old[WIRE_EPOCH];
	struct page p;

	demo_up(&p, "note", "39s", NULL);
	page_name(&p, "DSTRM", "ALLOCLOG", &r);
	memcpy(old, r.named.epoch, sizeof old);
	memcpy(read.read.epoch, old, sizeof old);
	dstrm_renew(&node.dstrm, 0);
	page_ask(&p, &read, &r);
	expect_error(&r, WIRE_E_EPOCH);
	ck_assert_mem_ne(r.err.epoch, old, sizeof old);
	ck_assert_mem_eq(r.err.epoch, node.dstrm.row[0].epoch, sizeof old);
	page_close(&p);
	node_down();
}

TEST(of_two_rows_with_a_name_the_live_one_is_found)
{
	struct keeper *a, *b;
	uint32_t index;

	node_up(NULL);
	a = new_keeper("ALLOCLOG.x.7", 0);
	b = new_keeper("ALLOCLOG.x.7", 0);
	ck_assert_int_eq(dstrm_find(&node.dstrm, "ALLOCLOG.x.7", 12, &index),
	    0);
	ck_assert_uint_eq(index, b->index);
	images_end_image(b, WIRE_S_ENDED, 0, NULL);
	ck_assert_int_eq(dstrm_find(&node.dstrm, "ALLOCLOG.x.7", 12, &index),
	    0);
	ck_assert_uint_eq(index, a->index);
	node_down();
}

TEST(a_full_table_gives_up_the_row_that_ended_first)
{
	uint8_t epoch[WIRE_EPOCH];
	struct keeper *k = NULL, *found;

	node_up(NULL);
	for (int i = 0; i < DSTRM_ROWS; i++) {
		k = new_keeper("S", 0);
		if (i == 5)
			memcpy(epoch, node.dstrm.row[k->index].epoch,
			    sizeof epoch);
		images_end_image(k, WIRE_S_ENDED, 0, NULL);
		images_drop(k);
	}
	for (int i = 0; i < 6; i++)
		k = new_keeper("NEW", 0);
	ck_assert_uint_eq(k->index, 5);
	ck_assert_uint_eq(node.dstrm.entries, DSTRM_ROWS);
	ck_assert_int_eq(dstrm_get(&node.dstrm, 5, epoch, &found), -ESTALE);
	node_down();
}

/* --- the note, end to end ----------------------------------------------- */

struct expected {
	uint32_t addr;
	uint16_t size;
	uint8_t type;
	int age_s;
};

/* As the note prints them: by address. */
static const struct expected note_rows[] = {
	{ 0x008e6588, 0x40, 0x09, 0 },
	{ 0x008e65d0, 0x50, 0x09, 13 },
	{ 0x008e6628, 0x30, 0x01, 39 },
	{ 0x008e6660, 0x30, 0x01, 0 },
	{ 0x008e6698, 0x18, 0x0e, 13 },
	{ 0x008e66b8, 0x48, 0x0c, 13 },
};

CASE("note");

TEST(the_notes_six_blocks_are_in_the_snapshot)
{
	struct wire_msg r, snap = { .type = WIRE_SNAP,
		.snap = { .from_start = true, .max = 1024 } };
	struct page p;

	demo_up(&p, "note", "39s", NULL);
	page_name(&p, "DSTRM", "ALLOCLOG", &r);
	memcpy(snap.snap.epoch, r.named.epoch, WIRE_EPOCH);
	page_ask(&p, &snap, &r);
	ck_assert_uint_eq(r.type, WIRE_PART);
	ck_assert_uint_eq(r.part.count, 6);
	ck_assert_uint_eq(r.part.total, 6);
	ck_assert_uint_eq(r.part.as_of, 6);
	ck_assert(r.part.last);
	ck_assert_uint_eq(r.part.since, WIRE_SINCE_START);
	ck_assert_int_eq(r.part.now_ms, INT64_C(1089725400000) + 39000);
	ck_assert_uint_eq(r.part.blocks.len, 6 * (16 + WIRE_BLOCK_TAIL));
	for (size_t i = 0; i < BASE_NELEM(note_rows); i++) {
		struct rec rec;
		int64_t ms;

		ck_assert_int_eq(stream_classic_decode(r.part.blocks.p +
		    i * (16 + WIRE_BLOCK_TAIL), &rec, &ms), 0);
		ck_assert_uint_eq(rec_addr(&rec), note_rows[i].addr);
		ck_assert_uint_eq(rec_size(&rec), note_rows[i].size);
		ck_assert_uint_eq(rec_type(&rec), note_rows[i].type);
		ck_assert_int_eq((r.part.now_ms - ms) / 1000,
		    note_rows[i].age_s);
	}
	ck_assert_uint_eq(r.part.ninfo, 1);
	ck_assert_uint_eq(r.part.info[0].at, 5);
	ck_assert_uint_eq(r.part.info[0].node, 0xab86);
	page_close(&p);
	node_down();
}

TEST(the_notes_records_are_read_as_they_were_written)
{
	struct wire_msg r, read = { .type = WIRE_READ,
		.read = { .from = 1, .max = 1024 } };
	struct page p;
	struct rec rec;
	int64_t ms;

	demo_up(&p, "note", "26s", NULL);
	page_name(&p, "DSTRM", "ALLOCLOG", &r);
	memcpy(read.read.epoch, r.named.epoch, WIRE_EPOCH);
	page_ask(&p, &read, &r);
	ck_assert_uint_eq(r.type, WIRE_DATA);
	/* The clock stands at 26 s: the last two have not come yet. */
	ck_assert_uint_eq(r.data.first, 1);
	ck_assert_uint_eq(r.data.count, 4);
	ck_assert_uint_eq(r.data.next, 5);
	ck_assert_uint_eq(r.data.records.len, 64);
	ck_assert_uint_eq(r.data.offsets.len, 0);
	ck_assert_int_eq(stream_classic_decode(r.data.records.p, &rec, &ms),
	    0);
	ck_assert_uint_eq(rec_addr(&rec), 0x008e6628);
	ck_assert_int_eq(ms, INT64_C(1089725400000));
	ck_assert_uint_eq(r.data.ninfo, 1);
	ck_assert_uint_eq(r.data.info[0].at, 3);
	ck_assert_uint_eq(r.data.info[0].node, 0xab86);
	page_close(&p);
	node_down();
}

TEST(a_bad_classic_record_is_counted_and_skipped)
{
	static const uint8_t bad[16] = { 0, 0x8e, 0x65, 0x88, 0, 0x40, 0xb0 };
	struct page p;
	struct wire_msg r, stat = { .type = WIRE_STAT };

	demo_up(&p, "note", "39s", NULL);
	keeper_take_classic(node.dstrm.row[0].keeper, bad, NULL);
	page_ask(&p, &stat, &r);
	ck_assert_uint_eq(r.type, WIRE_STATS);
	ck_assert_uint_eq(r.stats.n[WIRE_N_BAD], 1);
	ck_assert_uint_eq(r.stats.n[WIRE_N_LIVE_BLOCKS], 6);
	ck_assert_uint_eq(r.stats.n[WIRE_N_MAX], 2048);
	ck_assert_uint_eq(r.stats.n[WIRE_N_RECORDS], 6);
	page_close(&p);
	node_down();
}

TEST(the_notes_stream_has_the_notes_types_and_no_more)
{
	struct page p;
	struct wire_msg r, types = { .type = WIRE_TYPES };

	demo_up(&p, "note", "39s", NULL);
	page_ask(&p, &types, &r);
	ck_assert_uint_eq(r.type, WIRE_TYPED);
	ck_assert_uint_eq(r.typed.types.len, 4 * 50);
	ck_assert_uint_eq(r.typed.types.p[0], TYPE_LOCREQ);
	ck_assert_str_eq((const char *)r.typed.types.p + 1, "LOCREQ");
	page_close(&p);
	node_down();
}

LOOP_TEST(times_of_a_generator_are_checked, 0, 7)
{
	static const char *const bad[] = { "", "s", "-1s", "39x", "1e3",
		"99999999999999999999s", "39s " };
	struct node_opts opts = demo_opts("note", bad[_i], NULL);

	node_up(&opts);
	ck_assert_int_eq(demo_start(&node), -EINVAL);
	ck_assert_uint_eq(node.dstrm.entries, 0);
	node_down();
}

/* --- demo:1 ------------------------------------------------------------- */

CASE("demo:1");

TEST(the_busy_generator_is_the_same_in_every_run)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	uint8_t first[32 * 1024];
	size_t len = 0;

	for (int run = 0; run < 2; run++) {
		struct page p;

		demo_up(&p, "1", NULL, NULL);
		memcpy(m.snap.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.part.total, 3500);
		ck_assert_uint_gt(r.part.count, 500);
		for (size_t i = 0; i < r.part.count; i++) {
			/* Times count from the run's own begin. */
			const uint8_t *at = r.part.blocks.p +
			    i * (32 + WIRE_BLOCK_TAIL);

			if (run == 0)
				memcpy(first + len, at, 20), len += 20;
			else
				ck_assert_mem_eq(first + i * 20, at, 20);
		}
		page_close(&p);
		node_down();
	}
}

TEST(threads_of_the_busy_generator_have_names)
{
	struct wire_msg r, m = { .type = WIRE_SYM, .sym = {
		.kind = WIRE_SYM_THREAD, .addr = { 1, 2, 999 }, .n = 3 } };
	struct page p;

	demo_up(&p, "1", NULL, NULL);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_SYMS);
	ck_assert_uint_eq(r.syms.n, 3);
	ck_assert_mem_eq(r.syms.name[0].s, "main", 4);
	ck_assert_mem_eq(r.syms.name[1].s, "rx-0", 4);
	ck_assert_uint_eq(r.syms.name[2].len, 0);
	page_close(&p);
	node_down();
}

/* What is known of all frames of a stack, a bit for each way. */
static unsigned
words_of(struct page *p, const struct wire_stack *st, size_t *inlined)
{
	struct wire_msg r, m = { .type = WIRE_FRAME, .frame = {
		.n = st->depth } };
	struct wire_words w;
	unsigned known = 0;
	size_t at = 0;

	memcpy(m.frame.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	memcpy(m.frame.frame, st->frame, st->depth * sizeof st->frame[0]);
	page_ask(p, &m, &r);
	ck_assert_uint_eq(r.framed.n, st->depth);
	while (wire_framed_next(r.framed.words, &at, &w) == 1) {
		known |= 1u << w.known;
		ck_assert_int_eq(w.known == WIRE_K_LINE,
		    w.n > 0 && w.line[0].line > 0);
		ck_assert_int_eq(w.known == WIRE_K_NO_MODULE,
		    w.module.len == 0);
		*inlined += w.n > 1;
	}
	return known;
}

TEST(stacks_of_the_busy_generator_have_words)
{
	struct wire_msg r, m = { .type = WIRE_SITE };
	struct page p;
	struct wire_stack st;
	size_t at = 0, inlined = 0;
	unsigned known = 0, ends = 0;

	demo_up(&p, "1", NULL, NULL);
	memcpy(m.site.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	m.site.n = stream_sites_count(TAILQ_FIRST(&node.live)->sites);
	ck_assert_uint_ge(m.site.n, 17);
	ck_assert_uint_le(m.site.n, WIRE_SYMS_MAX);
	for (uint32_t i = 0; i < m.site.n; i++)
		m.site.site[i] = i + 1;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.sited.n, m.site.n);
	while (wire_sited_next(r.sited.sites, &at, &st) == 1) {
		ck_assert_uint_ge(st.depth, 3);
		ends |= 1u << st.end;
		known |= words_of(&p, &st, &inlined);
	}
	ck_assert_uint_eq(ends, 1u << RING_END_OUTERMOST |
	    1u << RING_END_NO_TABLE);
	ck_assert_uint_eq(known, 1u << WIRE_K_LINE | 1u << WIRE_K_NO_LINE |
	    1u << WIRE_K_NO_SYMBOL | 1u << WIRE_K_NO_MODULE);
	ck_assert_uint_ge(inlined, 3);
	page_close(&p);
	node_down();
}

/* --- the report --------------------------------------------------------- */

static size_t
read_report(const char *path, char *out, size_t cap)
{
	FILE *f = fopen(path, "r");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(out, 1, cap - 1, f);
	fclose(f);
	out[n] = '\0';
	return n;
}

/* A node whose report is a new file. */
static void
node_up_reporting(char path[static 24], struct node_opts opts)
{
	int fd;

	strcpy(path, "/tmp/check_node.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	opts.fd = -1;
	opts.report = path;
	node_up(&opts);
}

/* Ends it, and reads its report. */
static void
node_down_report(const char *path, char *out, size_t cap)
{
	node_down();
	read_report(path, out, cap);
	unlink(path);
}

CASE("ends");

TEST(an_ended_image_is_one_line_of_the_report)
{
	char path[24], text[4096];
	struct keeper *k;

	node_up_reporting(path, (struct node_opts){ 0 });
	k = new_keeper("ALLOCLOG.a.41", 41);
	strcpy(k->image.comm, "a\"b\\c");
	take(k, allocation(0x1000, 10));
	take(k, allocation(0x2000, 20));
	take(k, freeing(0x1000));
	take(k, freeing(0x5000));
	take(k, record(REC_ALLOC, 0x2000, 0x55, 7));
	k->numbers.sites_full = 5;
	k->numbers.walks = 9;
	keeper_control(k, &(struct rec){ .w = {
	    rec_w0(0, REC_FLAGS(REC_CONTROL, 0), REC_CTL_MARK) } });
	keeper_control(k, &(struct rec){ .w = {
	    rec_w0(0, REC_FLAGS(REC_CONTROL, 0), REC_CTL_MARK) } });
	k->numbers.marks_untold = 3;
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	k = new_keeper("ALLOCLOG.b.42", 42);
	/* Armed in the middle: whose block that was is not known. */
	blklist_set_since_click(k->list, true);
	take(k, freeing(0x5000));
	keeper_lose(k, STREAM_RING_FULL, 12);
	node_down_report(path, text, sizeof text);
	ck_assert_str_eq(text,
	    "{\"pid\": 41, \"comm\": \"a\\\"b\\\\c\", \"allocs\": 3, "
	    "\"frees\": 2, \"failed\": 0, \"inherited_blocks\": 0, "
	    "\"live_blocks\": 1, \"live_bytes\": 7, "
	    "\"peak_bytes\": 30, \"lost\": 0, "
	    "\"duplicate\": 1, \"unknown_free\": 1, \"earlier\": 0, "
	    "\"illegal_type\": 1, "
	    "\"full\": 0, \"sites_full\": 5, \"walks\": 9, \"pairs\": 0, "
	    "\"unfinished\": 0, "
	    "\"est_blocks\": 1, \"est_bytes\": 7, \"est_peak_bytes\": 30, "
	    "\"marks\": 2, \"marks_untold\": 3, "
	    "\"estimated\": false, \"sample_period\": null, "
	    "\"dormant\": false, \"armed_ms\": null, "
	    "\"complete\": false, \"reason\": "
	    "\"calls of malloc or free went past the library\"}\n"
	    "{\"pid\": 42, \"comm\": \"target\", \"allocs\": 0, "
	    "\"frees\": 1, \"failed\": 0, \"inherited_blocks\": 0, "
	    "\"live_blocks\": 0, \"live_bytes\": 0, "
	    "\"peak_bytes\": 0, \"lost\": 12, "
	    "\"duplicate\": 0, \"unknown_free\": 0, \"earlier\": 1, "
	    "\"illegal_type\": 0, "
	    "\"full\": 0, \"sites_full\": 0, \"walks\": 0, \"pairs\": 0, "
	    "\"unfinished\": 0, "
	    "\"est_blocks\": 0, \"est_bytes\": 0, \"est_peak_bytes\": 0, "
	    "\"marks\": 0, \"marks_untold\": 0, "
	    "\"estimated\": false, \"sample_period\": null, "
	    "\"dormant\": false, \"armed_ms\": null, "
	    "\"complete\": false, "
	    "\"reason\": \"records were lost\"}\n");
}

/* More lines than a pipe takes, and nobody reads: the node goes on. */
TEST(lines_of_the_report_wait_for_a_reader_that_has_stopped)
{
	enum { IMAGES = 300 };
	char folder[] = "/tmp/check_node.XXXXXX", path[64], text[4096];
	struct node_opts opts = { .fd = -1, .report = path };
	size_t lines = 0;
	ssize_t n;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/pipe", folder);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	ck_assert_int_ge(fd, 0);
	node_up(&opts);
	for (int i = 1; i <= IMAGES; i++)
		images_end_image(
		    new_keeper("ALLOCLOG.a.41", 41), WIRE_S_ENDED, 0, NULL);
	ck_assert(report_waits(&node.images->report));
	/* Every line comes once, whole and in order, when it is read. */
	while (lines < IMAGES) {
		n = read(fd, text, sizeof text);
		ck_assert_int_gt(n, 0);
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
		report_flush(&node.images->report);
	}
	ck_assert(!report_waits(&node.images->report));
	ck_assert_int_eq(node.images->report.error, 0);
	/* Who has gone for good is not waited for. */
	for (int i = 1; i <= IMAGES; i++)
		images_end_image(
		    new_keeper("ALLOCLOG.a.41", 41), WIRE_S_ENDED, 0, NULL);
	close(fd);
	report_flush(&node.images->report);
	ck_assert(!report_waits(&node.images->report));
	ck_assert_int_eq(node.images->report.error, EPIPE);
	node_down();
	unlink(path);
	rmdir(folder);
}

TEST(calls_that_a_fork_or_a_jump_cut_are_in_the_report)
{
	char path[24], text[4096];
	struct keeper *k;

	node_up_reporting(path, (struct node_opts){ 0 });
	k = new_keeper("ALLOCLOG.a.41", 41);
	keeper_count_unfinished(k, STREAM_DOUBT_FORK, 0);
	ck_assert(keeper_complete(k));
	keeper_count_unfinished(k, STREAM_DOUBT_FORK, 2);
	keeper_count_unfinished(k, STREAM_DOUBT_UNFINISHED, 1);
	ck_assert(!keeper_complete(k));
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	node_down_report(path, text, sizeof text);
	ck_assert_ptr_nonnull(strstr(text, "\"unfinished\": 3, "));
	ck_assert_ptr_nonnull(strstr(text, "\"complete\": false, "
	    "\"reason\": \"other threads were inside the allocator at its "
	    "fork\"}"));
}

TEST(what_a_dormant_image_did_is_null_in_the_report)
{
	char path[24], text[4096];
	struct keeper *k;

	node_up_reporting(path, (struct node_opts){ 0 });
	k = new_keeper("ALLOCLOG.a.41", 41);
	k->arming.mode = ARMING_DORMANT;
	k->numbers.marks_untold = 1;
	images_end_image(k, WIRE_S_EXECED, 0, NULL);
	k = new_keeper("ALLOCLOG.b.42", 42);
	k->arming.wall_ms = 1700000000123;
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	node_down_report(path, text, sizeof text);
	ck_assert_ptr_nonnull(strstr(text, "\"allocs\": null"));
	ck_assert_ptr_nonnull(strstr(text, "\"marks\": 0, "
	    "\"marks_untold\": 1, "));
	ck_assert_ptr_nonnull(strstr(text, "\"dormant\": true, "
	    "\"armed_ms\": null, \"complete\": false"));
	ck_assert_ptr_nonnull(strstr(text, "\"dormant\": false, "
	    "\"armed_ms\": 1700000000123, \"complete\": true"));
}

TEST(estimates_of_a_sampled_image_are_named_in_the_report)
{
	char path[24], text[4096];
	const uint32_t magic = RING_MAGIC;
	struct keeper *k;
	int fds[2];

	node_up_reporting(path, (struct node_opts){ .sample = 1024 });
	ck_assert_int_eq(keeper_new(&k, &node, &(struct keeper_opts){
	    .with_feed = true, .max = 4096 }, fds), 0);
	/* It takes its rings. */
	ck_assert_int_eq(pwrite(fds[0], &magic, sizeof magic,
	    offsetof(struct ring_area, magic)), sizeof magic);
	close(fds[0]);
	close(fds[1]);
	k->image.pid = 41;
	ck_assert_int_eq(images_join(k, "ALLOCLOG.a.41"), 0);
	take(k, allocation(0x1000, 1024));
	take(k, freeing(0x1000));
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	node_down_report(path, text, sizeof text);
	ck_assert_ptr_nonnull(strstr(text, "\"peak_bytes\": 1024, "));
	ck_assert_ptr_nonnull(strstr(text, "\"est_bytes\": 0, "
	    "\"est_peak_bytes\": 1620, "));
	ck_assert_ptr_nonnull(strstr(text, "\"estimated\": true, "
	    "\"sample_period\": 1024, "));
}

TEST(lists_of_the_last_ended_images_are_kept_and_no_more)
{
	struct keeper *k[NODE_LISTS_SHELVED + 3];
	size_t kept = 0;

	node_up(NULL);
	for (size_t i = 0; i < BASE_NELEM(k); i++) {
		k[i] = new_keeper("S", 0);
		k[i]->visits.read_ms = -1000000;
		take(k[i], allocation(0x1000, 10));
		images_end_image(k[i], WIRE_S_ENDED, 0, NULL);
	}
	for (size_t i = 0; i < BASE_NELEM(k); i++)
		kept += k[i]->list != NULL;
	ck_assert_uint_eq(kept, NODE_LISTS_SHELVED);
	ck_assert_ptr_null(k[0]->list);
	ck_assert_ptr_nonnull(k[BASE_NELEM(k) - 1]->list);
	/* What was counted stays. */
	ck_assert_uint_eq(keeper_counts(k[0])->aRecActive, 1);
	ck_assert_uint_eq(keeper_next(k[0]), 2);
	node_down();
}
