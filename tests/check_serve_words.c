/*
 * SITE and FRAME: what a node says of stacks, and how it waits for the reader
 * of symbols.  The reader is the test's own: the linker takes symbols_look()
 * from here, so a test sees what it is asked and decides when it answers.
 */
#include <stdio.h>

#include "../src/symbol/symbol.h"
#include "node_harness.h"

/* --- a reader that does as it is told ----------------------------------- */

struct symbols {
	uv_sem_t begun, go;
	bool held;			/* a look waits for a word of the test */
	unsigned slow_ms;		/* of one look */
	bool wordy;			/* everything as long as it can be */
	uint32_t fetch_kb;
	unsigned looks;
	size_t places;
	struct symbol_place last;
	char path[64];			/* of last */
	bool freed;
};

/* One for each user, in the order in which they are made. */
static struct symbols readers[LOOKUP_READERS + 2];
static unsigned made;

int
symbols_new(struct symbols **out, const struct symbols_opts *opts)
{
	ck_assert_str_eq(opts->reader, "reader");
	ck_assert_uint_lt(made, BASE_NELEM(readers));
	*out = &readers[made++];
	return 0;
}

#define reader readers[0]

void
symbols_stop(struct symbols *s)
{
	(void)s;
}

void
symbols_free(struct symbols *s)
{
	ck_assert(s >= readers && s < readers + made && !s->freed);
	s->freed = true;
}

/* "xxxf1234" with `pad` of x. */
static char *
text_of(size_t pad, char first, uint64_t n)
{
	char *text = malloc(pad + 20);

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', pad);
	snprintf(text + pad, 20, "%c%llx", first, (unsigned long long)n);
	return text;
}

void
symbols_look(struct symbols *s, const struct symbol_place *place, size_t n,
    struct symbol_words *words)
{
	if (s->held) {
		uv_sem_post(&s->begun);
		uv_sem_wait(&s->go);
	}
	usleep(s->slow_ms * 1000);
	s->looks++;
	for (size_t i = 0; i < n; i++) {
		struct symbol_words *w = &words[i];
		size_t pad = s->wordy ? 300 : 0;

		s->places++;
		s->last = place[i];
		snprintf(s->path, sizeof s->path, "%s", place[i].path);
		*w = (struct symbol_words){ .known = SYMBOL_LINE,
			.fetching = s->fetch_kb > 0,
			.address = place[i].address,
			.n = s->wordy ? SYMBOL_INLINES_MAX : 1 };
		for (unsigned k = 0; k < w->n; k++)
			w->line[k] = (struct symbol_line){
				.function = text_of(pad, 'f',
				    place[i].address),
				.file = text_of(pad, '/', place[i].address),
				.line = 7 };
	}
}

void
symbol_words_fini(struct symbol_words *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		free(w->line[i].function);
		free(w->line[i].file);
	}
}

bool
symbols_fetching(struct symbols *s, struct symbols_fetch *f)
{
	*f = (struct symbols_fetch){ .kb = s->fetch_kb, .of_kb = 4096 };
	strcpy(f->module, "/lib/fetched.so");
	return s->fetch_kb > 0;
}

/* --- a node with a target of two modules and a stack -------------------- */

#define BIAS UINT64_C(0x7f0000400000)

static struct keeper *keeper;
static struct page page;
static uint32_t site;
static unsigned with_id, without_id;

static void
setup(void)
{
	struct stream_module m = { .start = BIAS, .end = BIAS + 0x10000,
		.bias = BIAS, .build_id_len = 3, .build_id = "abc",
		.path = "/lib/a.so" };
	uint64_t frame[2];

	memset(readers, 0, sizeof readers);
	made = 0;
	for (size_t i = 0; i < BASE_NELEM(readers); i++) {
		uv_sem_init(&readers[i].begun, 0);
		uv_sem_init(&readers[i].go, 0);
	}
	node_up(NULL);
	strcpy(node.serve->lookup.program, "reader");
	keeper = new_keeper("ALLOCLOG", 0);
	ck_assert_int_eq(stream_sites_put_module(keeper->sites, &m,
	    &with_id), 0);
	m.build_id_len = 0;
	m.seen_ns = 4711;
	m.path = "/lib/b.so";
	ck_assert_int_eq(stream_sites_put_module(keeper->sites, &m,
	    &without_id), 0);
	frame[0] = frame_make(BIAS + 0x1234, with_id);
	frame[1] = frame_make(BIAS + 0x5678, without_id);
	ck_assert_int_eq(stream_sites_put(keeper->sites, frame, 2,
	    RING_END_NO_TABLE, &site), 0);
	page_open(&page);
	page_greet(&page, WIRE_ROLE_READ);
}

static void
teardown(void)
{
	page_close(&page);
	node_down();
	for (size_t i = 0; i < BASE_NELEM(readers); i++) {
		ck_assert(i >= made || readers[i].freed);
		uv_sem_destroy(&readers[i].begun);
		uv_sem_destroy(&readers[i].go);
	}
}

static struct wire_msg
site_request(uint32_t number)
{
	struct wire_msg m = { .type = WIRE_SITE, .site = { .n = 1,
		.site = { number } } };

	memcpy(m.site.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	return m;
}

/* n frames of module a. */
static struct wire_msg
frame_request(size_t n)
{
	struct wire_msg m = { .type = WIRE_FRAME, .frame = { .n = n } };

	memcpy(m.frame.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	for (size_t i = 0; i < n; i++)
		m.frame.frame[i] = frame_make(BIAS + 0x1000 + i, with_id);
	return m;
}

/* What the one frame of a FRAME is said to be; texts are borrowed from r. */
static struct wire_words
words_of(uint64_t frame, struct wire_msg *r)
{
	struct wire_msg m = frame_request(1);
	struct wire_words w;
	size_t at = 0;

	m.frame.frame[0] = frame;
	page_ask(&page, &m, r);
	ck_assert_uint_eq(r->type, WIRE_FRAMED);
	ck_assert_uint_eq(r->framed.n, 1);
	ck_assert_int_eq(wire_framed_next(r->framed.words, &at, &w), 1);
	ck_assert_uint_eq(w.frame, frame);
	return w;
}

static bool
is_text(struct wire_text t, const char *text)
{
	return t.len == strlen(text) && memcmp(t.s, text, t.len) == 0;
}

/* --- SITE --------------------------------------------------------------- */

CASE("SITE", .setup = setup, .teardown = teardown);

TEST(a_site_has_its_frames)
{
	struct wire_msg r, m = site_request(site);
	struct wire_stack st;
	size_t at = 0;

	m.site.site[1] = site + 1;
	m.site.site[2] = 0;
	m.site.n = 3;
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_SITED);
	ck_assert_uint_eq(r.sited.n, 3);
	ck_assert_int_eq(wire_sited_next(r.sited.sites, &at, &st), 1);
	ck_assert_uint_eq(st.site, site);
	ck_assert_uint_eq(st.depth, 2);
	ck_assert_uint_eq(st.end, RING_END_NO_TABLE);
	ck_assert_uint_eq(st.frame[0], frame_make(BIAS + 0x1234, with_id));
	ck_assert_uint_eq(st.frame[1], frame_make(BIAS + 0x5678, without_id));
	/* There are no such sites. */
	for (size_t i = 1; i < 3; i++) {
		ck_assert_int_eq(wire_sited_next(r.sited.sites, &at, &st), 1);
		ck_assert_uint_eq(st.site, m.site.site[i]);
		ck_assert_uint_eq(st.depth, 0);
	}
}

TEST(sixty_four_of_the_deepest_stacks_fit_one_answer)
{
	struct wire_msg r, m = site_request(1);
	uint64_t frame[RING_STACK_MAX];

	for (uint32_t i = 0; i < WIRE_SYMS_MAX; i++) {
		for (size_t k = 0; k < RING_STACK_MAX; k++)
			frame[k] = frame_make(BIAS + i * 100 + k, with_id);
		ck_assert_int_eq(stream_sites_put(keeper->sites, frame,
		    RING_STACK_MAX, RING_END_DEPTH, &m.site.site[i]), 0);
	}
	m.site.n = WIRE_SYMS_MAX;
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(r.sited.n, WIRE_SYMS_MAX);
}

TEST(another_epoch_is_another_stream)
{
	struct wire_msg r, m = site_request(site), f = frame_request(1);

	m.site.epoch[0]++;
	page_ask(&page, &m, &r);
	expect_error(&r, WIRE_E_EPOCH);
	f.frame.epoch[0]++;
	page_ask(&page, &f, &r);
	expect_error(&r, WIRE_E_EPOCH);
	f.frame.index = 9;
	page_ask(&page, &f, &r);
	expect_error(&r, WIRE_E_NAME);
}

/* --- FRAME -------------------------------------------------------------- */

CASE("FRAME", .setup = setup, .teardown = teardown);

TEST(a_frame_is_looked_up_in_its_module)
{
	struct wire_msg r;
	struct wire_words w = words_of(frame_make(BIAS + 0x1234, with_id), &r);

	ck_assert_uint_eq(w.known, WIRE_K_LINE);
	ck_assert_uint_eq(w.offset, 0x1234);
	ck_assert(is_text(w.module, "/lib/a.so"));
	ck_assert_uint_eq(w.n, 1);
	ck_assert(is_text(w.line[0].function, "f1234"));
	ck_assert(is_text(w.line[0].file, "/1234"));
	ck_assert_uint_eq(w.line[0].line, 7);
	ck_assert_uint_eq(r.framed.fetch.len, 0);
	ck_assert_str_eq(reader.path, "/lib/a.so");
	ck_assert_uint_eq(reader.last.address, 0x1234);
	ck_assert(!reader.last.by_offset);
	ck_assert_uint_eq(reader.last.build_id_len, 3);
	ck_assert_mem_eq(reader.last.build_id, "abc", 3);
	words_of(frame_make(BIAS + 0x5678, without_id), &r);
	ck_assert_str_eq(reader.path, "/lib/b.so");
	ck_assert_uint_eq(reader.last.build_id_len, 0);
}

/* It is in no table of what the process has mapped: it was unloaded. */
TEST(a_module_without_a_build_id_says_when_it_was_seen)
{
	struct wire_msg r;

	words_of(frame_make(BIAS + 0x5678, without_id), &r);
	ck_assert_int_eq(reader.last.build_id_len, 0);
	ck_assert_int_eq(reader.last.mapped_ns, 4711);
}

/* One module in that place is the one; of two nobody knows which. */
TEST(what_lies_where_plugins_took_turns_is_not_named)
{
	uint64_t here = (uint64_t)(uintptr_t)&words_of;
	struct stream_module m = { .start = here - 16, .end = here + 16,
		.path = "/lib/first.so" };
	struct wire_words w;
	struct wire_msg r;
	unsigned no;

	ck_assert_int_eq(symbol_modules_new(&keeper->modules.table), 0);
	ck_assert_int_eq(
	    symbol_modules_read(keeper->modules.table, getpid()), 0);
	ck_assert_int_eq(stream_sites_put_module(keeper->sites, &m, &no), 0);
	w = words_of(here, &r);
	ck_assert_uint_eq(w.known, WIRE_K_LINE);
	m.path = "/lib/second.so";
	ck_assert_int_eq(stream_sites_put_module(keeper->sites, &m, &no), 0);
	w = words_of(here, &r);
	ck_assert_uint_eq(w.known, WIRE_K_NO_MODULE);
	ck_assert_uint_eq(w.n, 0);
}

TEST(what_lies_in_no_file_is_not_looked_for)
{
	struct wire_msg r;
	struct wire_words w;

	/* A number that no module has, and an address that nobody mapped. */
	w = words_of(frame_make(BIAS + 0x1234, 4000), &r);
	ck_assert_uint_eq(w.known, WIRE_K_NO_MODULE);
	ck_assert_uint_eq(w.module.len, 0);
	ck_assert_uint_eq(w.n, 0);
	w = words_of(0x1234, &r);
	ck_assert_uint_eq(w.known, WIRE_K_NO_MODULE);
	ck_assert_uint_eq(reader.looks, 0);
}

TEST(an_ended_target_keeps_its_names)
{
	struct wire_msg r, m = site_request(site);
	struct wire_words w;

	images_end_image(keeper, WIRE_S_ENDED, 0, NULL);
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(r.sited.n, 1);
	w = words_of(frame_make(BIAS + 0x1234, with_id), &r);
	ck_assert(is_text(w.line[0].function, "f1234"));
	ck_assert_int_eq(reader.last.pid, 0);
}

TEST(without_a_reader_the_module_is_known)
{
	struct wire_msg r;
	struct wire_words w;

	node.serve->lookup.program[0] = '\0';
	w = words_of(frame_make(BIAS + 0x1234, with_id), &r);
	ck_assert_uint_eq(w.known, WIRE_K_NO_READER);
	ck_assert(is_text(w.module, "/lib/a.so"));
	ck_assert_uint_eq(w.offset, 0x1234);
}

TEST(a_fetch_is_told)
{
	struct wire_msg r;
	struct wire_words w;

	reader.fetch_kb = 812;
	w = words_of(frame_make(BIAS + 0x1234, with_id), &r);
	ck_assert(w.fetching);
	ck_assert_uint_eq(r.framed.fetched_kb, 812);
	ck_assert_uint_eq(r.framed.fetch_kb, 4096);
	ck_assert(is_text(r.framed.fetch, "/lib/fetched.so"));
}

TEST(long_paths_keep_their_ends)
{
	char path[600];
	struct stream_module m = { .start = BIAS, .end = BIAS + 1,
		.bias = BIAS, .path = path };
	struct wire_msg r;
	struct wire_words w;
	unsigned no;

	memset(path, 'd', sizeof path);
	strcpy(path + 500, "/the.so");
	path[0] = '/';
	/* The cut falls into this character: it goes as a whole. */
	memcpy(path + 507 - WIRE_TEXT_MAX - 1, "\xc3\xa9", 2);
	ck_assert_int_eq(stream_sites_put_module(keeper->sites, &m, &no), 0);
	w = words_of(frame_make(BIAS, no), &r);
	ck_assert_uint_eq(w.module.len, WIRE_TEXT_MAX - 1);
	ck_assert_mem_eq(w.module.s + w.module.len - 7, "/the.so", 7);
}

/* Frames of r, which must be the first ones asked for. */
static uint32_t
in_order(const struct wire_msg *m, const struct wire_msg *r)
{
	struct wire_words w;
	uint32_t n = 0;
	size_t at = 0;

	ck_assert_uint_eq(r->type, WIRE_FRAMED);
	while (wire_framed_next(r->framed.words, &at, &w) == 1)
		ck_assert_uint_eq(w.frame, m->frame.frame[n++]);
	ck_assert_uint_eq(n, r->framed.n);
	return n;
}

TEST(an_answer_holds_what_fits)
{
	struct wire_msg r, m = frame_request(WIRE_SYMS_MAX);
	uint32_t n;

	reader.wordy = true;
	page_ask(&page, &m, &r);
	n = in_order(&m, &r);
	ck_assert_uint_ge(n, 6);
	ck_assert_uint_lt(n, WIRE_SYMS_MAX);
	reader.wordy = false;
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(in_order(&m, &r), WIRE_SYMS_MAX);
}

TEST(a_slow_reader_answers_with_what_it_has)
{
	struct wire_msg r, m = frame_request(WIRE_SYMS_MAX);

	reader.slow_ms = 250;
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(reader.looks, 1);
	ck_assert_uint_eq(in_order(&m, &r), reader.places);
	ck_assert_uint_lt(reader.places, WIRE_SYMS_MAX);
}

/* --- while the reader reads --------------------------------------------- */

/*
 * The page's FRAME, about two files, is being worked on; returns the request's
 * number.
 */
static uint32_t
hold(struct page *p)
{
	struct wire_msg m = frame_request(2);

	m.frame.frame[1] = frame_make(BIAS + 0x5678, without_id);
	reader.held = true;
	page_send(p, &m);
	while (uv_sem_trywait(&reader.begun) != 0)
		uv_run(&loop, UV_RUN_NOWAIT);
	return p->id;
}

static void
let_go(void)
{
	reader.held = false;
	uv_sem_post(&reader.go);
}

CASE("waiting", .setup = setup, .teardown = teardown);

TEST(nothing_else_waits_for_the_reader)
{
	struct wire_msg r, threads = { .type = WIRE_SYM, .sym = {
		.kind = WIRE_SYM_THREAD, .addr = { 1 }, .n = 1 } };
	struct wire_msg sites = site_request(site);
	struct wire_msg stat = { .type = WIRE_STAT };
	struct page other;
	uint32_t held = hold(&page);

	/* The same page and another one. */
	page_open(&other);
	page_greet(&other, WIRE_ROLE_READ);
	page_ask(&page, &threads, &r);
	ck_assert_uint_eq(r.type, WIRE_SYMS);
	page_ask(&page, &sites, &r);
	ck_assert_uint_eq(r.type, WIRE_SITED);
	page_ask(&other, &stat, &r);
	ck_assert_uint_eq(r.type, WIRE_STATS);
	let_go();
	ck_assert(page_receive(&page, &r));
	ck_assert_uint_eq(r.type, WIRE_FRAMED);
	ck_assert_uint_eq(r.id, held);
	page_close(&other);
}

TEST(a_page_has_one_question_about_frames_at_a_time)
{
	struct wire_msg r, m = frame_request(2);
	uint32_t held = hold(&page);

	page_ask(&page, &m, &r);
	expect_error(&r, WIRE_E_BUSY);
	ck_assert_uint_gt(r.err.retry_ms, 0);
	let_go();
	ck_assert(page_receive(&page, &r));
	ck_assert_uint_eq(r.id, held);
	page_ask(&page, &m, &r);
	ck_assert_uint_eq(in_order(&m, &r), 2);
}

TEST(pages_have_their_turns_and_may_leave)
{
	struct wire_msg r, m = frame_request(1);
	struct page second, third;

	page_open(&second);
	page_greet(&second, WIRE_ROLE_READ);
	page_open(&third);
	page_greet(&third, WIRE_ROLE_READ);
	hold(&page);
	page_send(&second, &m);
	page_send(&third, &m);
	/* The one that is worked for goes, and one that waits. */
	page_close(&page);
	page_close(&second);
	while (node.serve->count > 1)
		uv_run(&loop, UV_RUN_NOWAIT);
	let_go();
	ck_assert(page_receive(&third, &r));
	ck_assert_uint_eq(r.type, WIRE_FRAMED);
	page_close(&third);
	page_open(&page);
}

TEST(a_node_goes_although_pages_wait_for_words)
{
	struct wire_msg m = frame_request(WIRE_SYMS_MAX);
	struct page second;

	page_open(&second);
	page_greet(&second, WIRE_ROLE_READ);
	hold(&page);
	page_send(&second, &m);
	while (TAILQ_EMPTY(&node.serve->lookup.queue))
		uv_run(&loop, UV_RUN_NOWAIT);
	node_close(&node);
	let_go();
	uv_run(&loop, UV_RUN_DEFAULT);
	node_fini(&node);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
	/* The file that was being looked at, and no other. */
	ck_assert_uint_eq(reader.looks, 1);
	page_close(&second);
	page_close(&page);
	setup();
}

/* --- several users -------------------------------------------------------- */

#define USERS LOOKUP_READERS	/* whose files are read at once */

/* A target of that user in row 1, 2, ... of the table, with module a. */
static struct keeper *
target_of(uid_t uid)
{
	char name[] = "ALLOCLOG.x";
	struct stream_module m = { .start = BIAS, .end = BIAS + 0x10000,
		.bias = BIAS, .build_id_len = 3, .build_id = "abc",
		.path = "/lib/a.so" };
	unsigned no;
	struct keeper *k;

	name[sizeof name - 2] = (char)('0' + uid % 10);
	k = new_keeper(name, 0);
	k->image.uid = uid;
	ck_assert_int_eq(stream_sites_put_module(k->sites, &m, &no), 0);
	ck_assert_uint_eq(no, with_id);
	return k;
}

static struct wire_msg
frame_request_of(const struct keeper *k)
{
	struct wire_msg m = frame_request(1);

	m.frame.index = k->index;
	memcpy(m.frame.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	return m;
}

/* A page of that user, for all that the node knows of it. */
static void
page_of(struct page *p, uid_t uid)
{
	page_open(p);
	serve_find(&node, node.serve->last_id)->peer.uid = uid;
	page_greet(p, WIRE_ROLE_READ);
}

/* A target of the user is asked about, and its reader, the n-th, takes its time. */
static struct keeper *
hold_reader_of(struct page *p, uid_t uid, unsigned n)
{
	struct keeper *k = target_of(uid);
	struct wire_msg m = frame_request_of(k);

	readers[n].held = true;
	page_of(p, uid);
	page_send(p, &m);
	while (uv_sem_trywait(&readers[n].begun) != 0)
		uv_run(&loop, UV_RUN_NOWAIT);
	return k;
}

static void
let_reader_go(struct page *p, unsigned n)
{
	struct wire_msg r;

	readers[n].held = false;
	uv_sem_post(&readers[n].go);
	ck_assert(page_receive(p, &r));
	ck_assert_uint_eq(r.type, WIRE_FRAMED);
}

static unsigned
count_asking(void)
{
	const struct conn *c;
	unsigned n = 0;

	TAILQ_FOREACH(c, &node.serve->conns, link)
		n += c->looking;
	return n;
}

CASE("users", .setup = setup, .teardown = teardown);

/* Both files have the same path and build id, but users share no results. */
TEST(a_slow_file_of_one_user_delays_no_other)
{
	struct page slow, other;
	struct wire_msg r, m;

	hold_reader_of(&slow, 1001, 0);
	page_of(&other, 1002);
	m = frame_request_of(target_of(1002));
	page_ask(&other, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_FRAMED);
	ck_assert_uint_eq(r.framed.n, 1);
	ck_assert_uint_eq(readers[0].looks, 0);
	ck_assert_uint_eq(readers[1].looks, 1);
	let_reader_go(&slow, 0);
	ck_assert_uint_eq(readers[0].looks, 1);
	page_close(&slow);
	page_close(&other);
}

/* The reader is that of the target's user, whoever asks. */
TEST(a_slow_file_of_one_user_delays_no_other_when_root_asks)
{
	struct page slow, first, second;
	struct wire_msg r, m;
	struct keeper *k = hold_reader_of(&slow, 1001, 0);

	page_of(&first, 0);
	page_of(&second, 0);
	m = frame_request_of(k);
	page_send(&first, &m);
	m = frame_request_of(target_of(1002));
	page_ask(&second, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_FRAMED);
	ck_assert_uint_eq(readers[0].looks, 0);
	let_reader_go(&slow, 0);
	ck_assert(page_receive(&first, &r));
	ck_assert_uint_eq(r.type, WIRE_FRAMED);
	ck_assert_uint_eq(readers[0].looks, 2);
	page_close(&slow);
	page_close(&first);
	page_close(&second);
}

/* All ask about one user's target: the asking users take turns. */
TEST(user_with_many_requests_has_one_turn_as_a_user_with_one)
{
	struct page busy, many[5], one;
	struct wire_msg r, m;

	m = frame_request_of(hold_reader_of(&busy, 1001, 0));
	for (size_t i = 0; i < BASE_NELEM(many); i++) {
		page_of(&many[i], 1001);
		page_send(&many[i], &m);
	}
	page_of(&one, 0);
	page_send(&one, &m);
	while (count_asking() < BASE_NELEM(many) + 2)
		uv_run(&loop, UV_RUN_NOWAIT);
	let_reader_go(&busy, 0);
	ck_assert(page_receive(&one, &r));
	/* The busy one had the first. */
	ck_assert_uint_eq(access_last_turn(&node.serve->lookup.turns, 0), 2);
	for (size_t i = 0; i < BASE_NELEM(many); i++) {
		ck_assert(page_receive(&many[i], &r));
		page_close(&many[i]);
	}
	page_close(&busy);
	page_close(&one);
}

/* With more users than readers, one waits for the first idle reader. */
TEST(user_without_a_reader_gets_the_next_that_is_idle)
{
	struct page held[USERS], more;
	struct wire_msg r, m;

	for (unsigned i = 0; i < USERS; i++)
		hold_reader_of(&held[i], 1001 + i, i);
	page_of(&more, 1001 + USERS);
	m = frame_request_of(target_of(1001 + USERS));
	page_send(&more, &m);
	while (TAILQ_EMPTY(&node.serve->lookup.queue))
		uv_run(&loop, UV_RUN_NOWAIT);
	ck_assert_uint_eq(made, USERS);
	let_reader_go(&held[1], 1);
	ck_assert(page_receive(&more, &r));
	ck_assert_uint_eq(r.type, WIRE_FRAMED);
	/* Not the reader of the other user's files. */
	ck_assert_uint_eq(made, USERS + 1);
	ck_assert(readers[1].freed);
	ck_assert_uint_eq(readers[USERS].looks, 1);
	for (unsigned i = 0; i < USERS; i++) {
		if (i != 1)
			let_reader_go(&held[i], i);
		page_close(&held[i]);
	}
	page_close(&more);
}

/* --- what this version does not know ------------------------------------ */

CASE("SITE");

TEST(an_unknown_request_is_refused_by_its_number)
{
	/* {0: 99, 1: 4711} */
	static const char later[] = "\0\0\0\x08\xa2\x00\x18\x63\x01\x19\x12\x67";
	struct wire_msg r, m = { .type = WIRE_SYM, .sym = { .n = 1 } };

	page_send_raw(&page, later, sizeof later - 1);
	ck_assert(page_receive(&page, &r));
	expect_error(&r, WIRE_E_FRAME);
	ck_assert_uint_eq(r.id, 4711);
	/* Kind 0, return addresses, was of an earlier one. */
	page_ask(&page, &m, &r);
	expect_error(&r, WIRE_E_NAME);
}
