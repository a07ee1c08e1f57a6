/*
 * scene: a look built by hand around a real block list, for the tests of the
 * page.  The first scene is the 2004 note's six blocks, the second a 64-bit
 * target with threads, callers and names.
 */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../src/pagek/history/history.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/page/view.h"
#include "harness.h"

struct scene {
	struct nodes_look look;
	struct stream_types types;
	struct blklist *list;
	struct page_view view;
};

/* 07/13/04 13:30:39 of the note's node. */
#define SCENE_NOTE_MS INT64_C(1089725439000)

#define TARGET_MS INT64_C(1795186944000)	/* 2026-11-20 15:02:24 UTC */

/* --- stacks and words --------------------------------------------------- */

/* What every caller is called instead, for names with tricks in them. */
static const char *scene_symbol_override;
/* Frames whose words have not come yet, a bit each: SCENE_F_... */
static unsigned scene_late;
/* The node knows no stacks at all. */
static bool scene_deaf;

/* Code of the target with stacks; a frame's number in here is its bit above. */
enum {
	SCENE_F_ZMALLOC,
	SCENE_F_OBJECT,		/* with an inlined function in it */
	SCENE_F_DICT,
	SCENE_F_COMMAND,
	SCENE_F_MAIN,
	SCENE_F_FOO,		/* no symbol */
	SCENE_F_BAR,		/* another file of its name */
	SCENE_F_JIT,		/* in no file */
	SCENE_FRAMES
};

struct scene_code {
	const char *module;
	uint64_t offset;
	enum wire_known known;
	struct {
		const char *function, *file;
		uint32_t line;
	} line[2];
};

static const struct scene_code scene_code[SCENE_FRAMES] = {
	[SCENE_F_ZMALLOC] = { "/usr/bin/redis-server", 0x10a0, WIRE_K_LINE,
	    { { "zmalloc", "src/zmalloc.c", 112 } } },
	[SCENE_F_OBJECT] = { "/usr/bin/redis-server", 0x20b0, WIRE_K_LINE,
	    { { "robj::make(int)", "src/object.h", 12 },
	    { "createObject", "src/object.c", 45 } } },
	[SCENE_F_DICT] = { "/usr/bin/redis-server", 0x30c0, WIRE_K_LINE,
	    { { "dictAdd", "src/dict.c", 300 } } },
	[SCENE_F_COMMAND] = { "/usr/bin/redis-server", 0x40d0, WIRE_K_LINE,
	    { { "processCommand", "src/server.c", 2900 } } },
	[SCENE_F_MAIN] = { "/usr/bin/redis-server", 0x50e0, WIRE_K_NO_LINE,
	    { { "main", NULL, 0 } } },
	[SCENE_F_FOO] = { "/usr/lib/libfoo.so", 0x1f30, WIRE_K_NO_SYMBOL,
	    { { NULL, NULL, 0 } } },
	[SCENE_F_BAR] = { "/usr/lib/libbar.so.1", 0x77, WIRE_K_OTHER_FILE,
	    { { NULL, NULL, 0 } } },
	[SCENE_F_JIT] = { NULL, 0, WIRE_K_NO_MODULE,
	    { { NULL, NULL, 0 } } },
};

#define SCENE_PC(f) (UINT64_C(0x55d0c2a01000) + (f) * 0x100u)
#define SCENE_FRAME(f) frame_make(SCENE_PC(f), 1 + (f))

static const struct {
	unsigned depth;
	unsigned end;
	int f[6];
} scene_sites[] = {
	{ 0, 0, { 0 } },
	{ 4, RING_END_OUTERMOST, { SCENE_F_ZMALLOC, SCENE_F_OBJECT,
	    SCENE_F_COMMAND, SCENE_F_MAIN } },
	{ 4, RING_END_OUTERMOST, { SCENE_F_ZMALLOC, SCENE_F_DICT,
	    SCENE_F_COMMAND, SCENE_F_MAIN } },
	{ 3, RING_END_DEPTH, { SCENE_F_FOO, SCENE_F_COMMAND,
	    SCENE_F_MAIN } },
	{ 5, RING_END_OUTERMOST, { SCENE_F_ZMALLOC, SCENE_F_COMMAND,
	    SCENE_F_COMMAND, SCENE_F_COMMAND, SCENE_F_MAIN } },
	{ 3, RING_END_NO_TABLE, { SCENE_F_BAR, SCENE_F_JIT,
	    SCENE_F_FOO } },
};

static inline bool
scene_stack(void *arg, uint64_t caller, struct stream_site *out)
{
	static uint64_t frame[64][6];
	static unsigned next;
	uint64_t *to = frame[next++ % 64];
	unsigned i, site;

	(void)arg;
	if (scene_deaf)
		return false;
	to[0] = caller;
	*out = (struct stream_site){ .frame = to, .depth = 1,
		.end = RING_END_DEPTH };
	if (!rec_is_site(caller))
		return true;
	site = rec_site(caller);
	if (site == 0 || site >= BASE_NELEM(scene_sites))
		return false;
	out->depth = scene_sites[site].depth;
	out->end = scene_sites[site].end;
	for (i = 0; i < out->depth; i++)
		to[i] = SCENE_FRAME((unsigned)scene_sites[site].f[i]);
	return true;
}

/* Plain return addresses of the target without stacks. */
static inline bool
scene_plain_words(uint64_t pc, struct wire_words *w)
{
	static const struct {
		const char *function, *file;
		uint32_t line;
	} names[] = {
		{ "zmalloc", "/src/zmalloc.c", 112 },
		{ "Conn::accept", "conn.cc", 88 },
		{ "parse_msg", "msg.cc", 88 },
		{ "ring_grow", "../lib/ring.c", 214 },
		{ "std::__cxx11::basic_string<char, std::char_traits<char>, "
		    "std::allocator<char> >::_M_create(unsigned long&, "
		    "unsigned long)", NULL, 0 },
	};
	size_t i = pc % BASE_NELEM(names);

	if (pc == 0x41b2c0)
		return false;
	w->known = WIRE_K_LINE;
	w->n = 1;
	w->line[0].function = (struct wire_text){ names[i].function,
		strlen(names[i].function) };
	if (names[i].file != NULL)
		w->line[0].file = wire_text(names[i].file);
	w->line[0].line = names[i].line;
	return true;
}

static inline const struct wire_words *
scene_words(void *arg, uint64_t frame)
{
	static struct wire_words ring[64];
	static unsigned next;
	struct wire_words *w = &ring[next++ % 64];
	unsigned f = frame_module(frame) - 1;
	const struct scene_code *c;

	(void)arg;
	*w = (struct wire_words){ .frame = frame };
	if (scene_symbol_override != NULL) {
		w->known = WIRE_K_NO_LINE;
		w->n = 1;
		w->module = wire_text("/lib/\033[2Jx.so");
		w->line[0].function = (struct wire_text){
			scene_symbol_override, strlen(scene_symbol_override) };
		return w;
	}
	if (f >= SCENE_FRAMES)
		return scene_plain_words(frame_pc(frame), w) ? w : NULL;
	c = &scene_code[f];
	if (c->module != NULL)
		w->module = wire_text(c->module);
	w->offset = c->offset;
	if ((scene_late >> f & 1) != 0)
		return NULL;
	w->known = c->known;
	while (w->n < 2 && c->line[w->n].function != NULL) {
		w->line[w->n].function = wire_text(c->line[w->n].function);
		if (c->line[w->n].file != NULL)
			w->line[w->n].file = wire_text(c->line[w->n].file);
		w->line[w->n].line = c->line[w->n].line;
		w->n++;
	}
	return w;
}

static inline const char *
scene_thread(void *arg, uint16_t index)
{
	static const char *const names[] = { "", "main", "rx-0", "rx-1",
		"bio_lazy_free" };

	(void)arg;
	return names[index % BASE_NELEM(names)];
}

/* The list has changed: takes its counters anew. */
static inline void
scene_refresh(struct scene *s)
{
	const struct symbol_wrappers *wrappers = s->view.wrappers;
	const struct nodes_freed *freed = s->view.freed;
	const struct nodes_lives *lives = s->view.lives;
	const struct refcnt_copy *touches = s->view.refcnt;

	page_view_init(&s->view, &s->look);
	s->view.refcnt = touches;
	s->view.wrappers = wrappers;
	s->view.freed = freed;
	s->view.lives = lives;
	s->view.now = (struct mono){ .ns = 1000000000 };
	s->view.words = (struct profile_words){ .stack = scene_stack,
		.words = scene_words };
	s->view.thread = scene_thread;
}

#define SCENE_MOVES 1024	/* that its list remembers */

static inline void
scene_init(struct scene *s, enum blklist_kind kind, uint32_t aRecMax)
{
	int r;

	*s = (struct scene){
		.look = {
			.state = NODES_LIVE,
			.node.name = "",
			.target.name = "",
			.reason = "",
			.command.output = "",
			.node.socket = "",
			.node.missed = "",
			.target.status = -1,
			.command.status = -1,
			.settled = true,
			.complete = true,
		},
	};
	r = blklist_new(&s->list, kind, aRecMax);
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(blklist_follow_reallocs(s->list, SCENE_MOVES), 0);
	s->look.list = s->list;
	s->look.types = &s->types;
}

static inline void
scene_fini(struct scene *s)
{
	blklist_free(s->list);
}

static inline void
scene_apply(struct scene *s, const struct rec *rec, int64_t ms,
    const struct blklist_batch_info *info)
{
	struct blklist_batch batch = {
		.rec = rec,
		.n = 1,
		.seq = ++s->look.work.total_records,
		.near_ms = ms,
		.ms = &ms,
		.info = info,
		.ninfo = info != NULL,
	};

	blklist_apply(s->list, &batch);
}

static inline void
scene_alloc(struct scene *s, uint64_t addr, uint64_t size, unsigned type,
    unsigned thread_index, uint64_t caller, int64_t ms)
{
	struct rec rec = { .w = {
		rec_w0(addr, REC_FLAGS(REC_ALLOC, 1), type),
		rec_w1(size, thread_index),
		rec_w2(0, (uint32_t)ms),
		rec_w3(caller, 16),
	} };

	scene_apply(s, &rec, ms, NULL);
}

static inline void
scene_free(struct scene *s, uint64_t addr)
{
	struct rec rec = { .w = {
		rec_w0(addr, REC_FLAGS(REC_FREE, 0), TYPE_FREE),
	} };

	scene_apply(s, &rec, s->look.now_ms, NULL);
}

static inline void
scene_note(struct scene *s)
{
	static const struct {
		uint32_t addr;
		uint16_t size;
		uint8_t type;
		uint16_t requester;
		int age;
	} blocks[] = {
		{ 0x008e6628, 0x30, TYPE_LOCREQ, 0, 39 },
		{ 0x008e65d0, 0x50, TYPE_AHDRMSG, 0, 13 },
		{ 0x008e6698, 0x18, TYPE_INTPTRS, 0, 13 },
		{ 0x008e66b8, 0x48, TYPE_ACREQ, 0xab86, 13 },
		{ 0x008e6588, 0x40, TYPE_AHDRMSG, 0, 0 },
		{ 0x008e6660, 0x30, TYPE_LOCREQ, 0, 0 },
	};
	struct blklist_batch_info info;
	struct rec rec;
	size_t i;

	scene_init(s, BLKLIST_LITERAL, 2048);
	stream_types_init_classic(&s->types);
	s->look.classic = true;
	s->look.node.number = 0x0590;
	s->look.node.name = "0590";
	s->look.now_ms = s->look.node_wall_ms = SCENE_NOTE_MS;
	s->look.work.cycle_records = 9;
	s->look.work.cycle_us = 82;
	for (i = 0; i < BASE_NELEM(blocks); i++) {
		rec = (struct rec){ .w = {
			rec_w0(blocks[i].addr, REC_FLAGS(REC_ALLOC, 0),
			    blocks[i].type),
			rec_w1(blocks[i].size, 0),
		} };
		info = (struct blklist_batch_info){
			.info = { .node = blocks[i].requester },
		};
		scene_apply(s, &rec, SCENE_NOTE_MS - blocks[i].age * 1000,
		    blocks[i].requester != 0 ? &info : NULL);
	}
	scene_refresh(s);
}

static inline void
scene_target(struct scene *s, unsigned blocks)
{
	static const unsigned types[] = { TYPE_MALLOC, TYPE_NEW,
		TYPE_CALLOC, TYPE_REALLOC };
	static const int64_t ages[] = { 277200000, 4380000, 127000, 44000,
		13000, 9000, 500 };
	int64_t ms;
	unsigned i;

	scene_init(s, BLKLIST_LITERAL, 2048);
	stream_types_init(&s->types);
	s->look.levels = true;
	s->look.node.number = 0x0590;
	s->look.node.name = "linac-a";
	s->look.target.name = "redis-server";
	s->look.target.pid = 4711;
	s->look.now_ms = 400000000;
	s->look.node_wall_ms = TARGET_MS;
	s->look.work.cycle_records = 1067;
	s->look.work.cycle_us = 82;
	s->look.work.cycle_us_max = 1100;
	for (i = 0; i < blocks; i++) {
		ms = s->look.now_ms - ages[i * BASE_NELEM(ages) / blocks];
		scene_alloc(s, UINT64_C(0x7f3c04001040) + i * 0x10020ul,
		    i % 7 == 0 ? 65536 : 120 + i * 17, types[i % 4],
		    1 + i % 4, 0x401000 + i, ms);
	}
	scene_refresh(s);
}

/* So many blocks of a plain target: sizes 0 to 99, fifty callers, one thread. */
static inline void
scene_many(struct scene *s, unsigned blocks)
{
	unsigned i;

	scene_init(s, BLKLIST_INDEXED, 1u << 20);
	stream_types_init(&s->types);
	s->look.now_ms = 400000000;
	for (i = 0; i < blocks; i++)
		scene_alloc(s, 0x100000 + i * 32ul, i % 100, TYPE_MALLOC, 1,
		    0x401000 + i % 50, s->look.now_ms - 1000);
	scene_refresh(s);
}

/* The same target with stacks: 40 blocks, 8 of each site. */
static inline void
scene_stacks(struct scene *s, unsigned blocks)
{
	unsigned i, site;

	scene_target(s, 0);
	for (i = 0; i < blocks; i++) {
		site = 1 + i % (BASE_NELEM(scene_sites) - 1);
		scene_alloc(s, UINT64_C(0x7f3c04001040) + i * 0x1000ul,
		    site * 100, TYPE_MALLOC, 1 + i % 4,
		    rec_site_caller(site),
		    s->look.now_ms - (int64_t)(blocks - i) * 7000);
	}
	scene_refresh(s);
}

/* --- a page over a scene, for each test --------------------------------- */

static struct scene scene;
static struct page page;
static struct page_picture pic;

/* So much later that groups may be taken again, whatever the last take cost. */
static inline void
later(void)
{
	int64_t ns = scene.view.now.ns + INT64_C(1000000000000);

	scene_refresh(&scene);
	scene.view.now.ns = ns;
}

static inline void
setup(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setenv("TZ", "UTC", 1);
	scene.view.wrappers = NULL;
	scene.view.freed = NULL;
	scene.view.lives = NULL;
	scene_symbol_override = NULL;
	scene_late = 0;
	scene_deaf = false;
	pic = (struct page_picture){ 0 };
	page_init(&page, &(struct page_opts){ .listing = "0509" });
}

static inline void
teardown(void)
{
	page_fini(&page);
	page_picture_fini(&pic);
	scene_fini(&scene);
}

static inline void
setup_note(void)
{
	setup();
	scene_note(&scene);
}

static inline void
setup_target(void)
{
	setup();
	scene_target(&scene, 60);
}

static inline void
setup_stacks(void)
{
	setup();
	scene_stacks(&scene, 40);
}

static inline void
compose(int cols, int rows)
{
	ck_assert_int_eq(page_compose_view(&page, &scene.view, cols, rows,
	    &pic), 0);
}

/* On a machine that is busy even a small list takes more than one turn. */
static inline void
pause_now(void)
{
	int r;

	do
		r = page_pause(&page, &scene.view);
	while (r == -EAGAIN);
	ck_assert_int_eq(r, 0);
}

/* Columns of a line as the terminal counts them; -1 for what it cannot show. */
static inline int
columns_of(const char *text)
{
	wchar_t wide[4096];
	size_t n = mbstowcs(wide, text, BASE_NELEM(wide));

	return n == (size_t)-1 ? -1 : wcswidth(wide, n);
}

static inline void
assert_fits(int cols, int rows)
{
	int i, w;

	if (rows > 0)
		ck_assert_int_eq(pic.rows, rows);
	for (i = 0; i < pic.rows; i++) {
		w = columns_of(pic.line[i].text);
		ck_assert_msg(w >= 0 && w <= cols, "%d of %d columns: %s", w,
		    cols, pic.line[i].text);
	}
}

static inline bool
shows(const char *text)
{
	int i;

	for (i = 0; i < pic.rows; i++)
		if (strstr(pic.line[i].text, text) != NULL)
			return true;
	return false;
}

static inline bool
marked(int row, enum page_mark mark)
{
	int i;

	for (i = 0; i < pic.line[row].nspan; i++)
		if (pic.line[row].span[i].mark == mark)
			return true;
	return false;
}

#endif
