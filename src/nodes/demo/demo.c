#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../stream/stream.h"
#include "../../stream/wire/wire.h"
#include "../images/images.h"
#include "../keeper/node.h"
#include "demo.h"

/*
 * The program that demo:1 pretends to watch: what it asks memory for, from where,
 * and the words for that.
 *
 * Vocabulary
 *	asker	a function that asks for blocks of one kind.
 *	spot	a place in the code that a return address points to.
 *	chain	spots from the innermost outwards: the call chain of an asker.
 */

#define SERVER_DEPTH 7		/* spots of a chain; NONE ends a shorter one */
#define SERVER_WAYS 2		/* chains of an asker at most */
#define SERVER_ASKERS 17
#define SERVER_POOL (SERVER_ASKERS - 1)	/* the last asker: it has blocks of the API */

struct server_asker {
	uint8_t type;
	uint16_t min, max;	/* sizes; big blocks are 64 times as large */
	uint8_t chain[SERVER_WAYS][SERVER_DEPTH];	/* the second may be empty */
};

enum module {
	ANON,			/* code in no file */
	SERVER,
	LIBC,
	LIBSTDCXX,
	LIBCRYPTO,
	MODULES,
};

static const struct {
	uint64_t bias;
	const char *path;
} modules[MODULES] = {
	[ANON] = { UINT64_C(0x7f3cf0000000), "" },
	[SERVER] = { UINT64_C(0x55d0c2a00000), "/usr/local/sbin/server" },
	[LIBC] = { UINT64_C(0x7f3d10200000),
	    "/usr/lib/x86_64-linux-gnu/libc.so.6" },
	[LIBSTDCXX] = { UINT64_C(0x7f3d10600000),
	    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6" },
	[LIBCRYPTO] = { UINT64_C(0x7f3d10a00000),
	    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3" },
};

#define MODULE_SIZE UINT64_C(0x400000)

enum spot {
	NONE,
	MAIN, CALL_MAIN, LIBC_START, CLONE, START_THREAD, WORKER, LOOP,
	ACCEPT, LISTENER, READ, READABLE, WRITE, WRITABLE, CLOSE, XMALLOC,
	XCALLOC, XREALLOC, FEED, HEADER, BODY, MAKE_REQUEST,
	REQUEST, REPLY, HANDLE, STRING, APPEND, GROW, INSERT_ROW, CACHE_PUT,
	CACHE_KEY, CACHE_GET, TIMER, REARM, LOG, LOG_WORKER, DNS, RESOLVE,
	SCRIPT, TLS, TLS_READ, CRYPTO, CRYPTO_INIT, POOL, SPOTS,
};

/* `inlined` lies in `function` there, and is the inner of the two. */
static const struct {
	enum module module;
	uint32_t offset;	/* in its file; 0: a place is found for it */
	const char *function, *file;
	uint32_t line;
	const char *inlined, *inlined_file;
	uint32_t inlined_line;
} spots[SPOTS] = {
#define CODE(module_, function_, file_, line_) \
	.module = (module_), .function = (function_), .file = (file_), \
	.line = (line_)
#define INLINED(function_, file_, line_) \
	.inlined = (function_), .inlined_file = (file_), \
	.inlined_line = (line_)
#define EXPORTED(module_, offset_, function_) \
	.module = (module_), .offset = (offset_), .function = (function_)
	[MAIN] = { CODE(SERVER, "main", "src/main.c", 57) },
	[CALL_MAIN] = { EXPORTED(LIBC, 0x271c9, "__libc_start_call_main") },
	[LIBC_START] = { EXPORTED(LIBC, 0x27284, "__libc_start_main") },
	[CLONE] = { EXPORTED(LIBC, 0x10931b, "clone3") },
	[START_THREAD] = { EXPORTED(LIBC, 0x89143, "start_thread") },
	[WORKER] = { CODE(SERVER, "worker_main", "src/worker.c", 33) },
	[LOOP] = { CODE(SERVER, "loop_run", "src/loop.c", 120) },
	[ACCEPT] = { CODE(SERVER, "conn_accept", "src/net/conn.c", 88) },
	[LISTENER] = { CODE(SERVER, "listener_ready", "src/net/listen.c", 41) },
	[READ] = { CODE(SERVER, "conn_read", "src/net/conn.c", 131) },
	[READABLE] = { CODE(SERVER, "conn_readable", "src/net/conn.c", 204),
	    INLINED("on_bytes", "src/net/conn.h", 61) },
	[WRITE] = { CODE(SERVER, "conn_write", "src/net/conn.c", 166) },
	[WRITABLE] = { CODE(SERVER, "conn_writable", "src/net/conn.c", 219) },
	[CLOSE] = { CODE(SERVER, "conn_close", "src/net/conn.c", 240) },
	[XMALLOC] = { CODE(SERVER, "xmalloc", "src/util/xmalloc.c", 22) },
	[XCALLOC] = { CODE(SERVER, "xcalloc", "src/util/xmalloc.c", 35) },
	[XREALLOC] = { CODE(SERVER, "xrealloc", "src/util/xmalloc.c", 48) },
	[FEED] = { CODE(SERVER, "request_feed", "src/http/request.c", 90) },
	[HEADER] = { CODE(SERVER, "parse_header", "src/http/parse.c", 64) },
	[BODY] = { CODE(SERVER, "parse_body", "src/http/parse.c", 152),
	    INLINED("room_for", "src/http/parse.c", 17) },
	[MAKE_REQUEST] = { CODE(SERVER, "Server::open(Conn&)",
	    "src/server.cc", 118),
	    INLINED("std::make_unique<Request, Conn&>(Conn&)",
	    "/usr/include/c++/12/bits/unique_ptr.h", 1065) },
	[REQUEST] = { CODE(SERVER, "Request::Request()", "src/request.cc",
	    14) },
	[REPLY] = { CODE(SERVER, "Reply::Reply(Request const&)",
	    "src/reply.cc", 21) },
	[HANDLE] = { CODE(SERVER, "Server::handle(Request const&)",
	    "src/server.cc", 143) },
	[STRING] = { EXPORTED(LIBSTDCXX, 0x14dd81,
	    "std::__cxx11::basic_string<char, std::char_traits<char>, "
	    "std::allocator<char> >::_M_create(unsigned long&, "
	    "unsigned long)") },
	[APPEND] = { CODE(SERVER, "Reply::append(std::basic_string_view<char, "
	    "std::char_traits<char> >)", "src/reply.cc", 58) },
	[GROW] = { CODE(SERVER, "Table::grow(unsigned long)",
	    "src/table.cc", 77),
	    INLINED("std::__new_allocator<Row>::allocate(unsigned long, "
	    "void const*)", "/usr/include/c++/12/bits/new_allocator.h", 137) },
	[INSERT_ROW] = { CODE(SERVER, "Table::insert(Row&&)", "src/table.cc",
	    103) },
	[CACHE_PUT] = { CODE(SERVER, "cache_insert", "src/cache.c", 201) },
	[CACHE_KEY] = { CODE(SERVER, "cache_key", "src/cache.c", 55) },
	[CACHE_GET] = { CODE(SERVER, "cache_get", "src/cache.c", 174) },
	[TIMER] = { CODE(SERVER, "timer_add", "src/timer.c", 39) },
	[REARM] = { CODE(SERVER, "conn_rearm", "src/net/conn.c", 259) },
	[LOG] = { CODE(SERVER, "log_line", "src/log.c", 72) },
	[LOG_WORKER] = { CODE(SERVER, "log_main", "src/log.c", 130) },
	[DNS] = { CODE(SERVER, "dns_query", "src/net/dns.c", 96) },
	[RESOLVE] = { CODE(SERVER, "script_resolve", "src/script.c", 311) },
	[SCRIPT] = { EXPORTED(ANON, 0x4a8c, NULL) },
	[TLS] = { CODE(SERVER, "tls_record", "src/net/tls.c", 184) },
	[TLS_READ] = { CODE(SERVER, "tls_read", "src/net/tls.c", 233) },
	[CRYPTO] = { EXPORTED(LIBCRYPTO, 0x1a5f30, NULL) },
	[CRYPTO_INIT] = { EXPORTED(LIBCRYPTO, 0x1a6c12, NULL) },
	[POOL] = { CODE(SERVER, "pool_take", "src/pool.c", 44) },
};

#define OF_MAIN LOOP, MAIN, CALL_MAIN, LIBC_START
#define OF_WORKER WORKER, START_THREAD, CLONE

static const struct server_asker server_askers[SERVER_ASKERS] = {
	{ TYPE_CALLOC, 96, 160, { { XCALLOC, ACCEPT, LISTENER, OF_MAIN } } },
	{ TYPE_MALLOC, 64, 512, { { XMALLOC, READ, READABLE, OF_WORKER },
		{ XMALLOC, READ, TLS_READ, READABLE, OF_WORKER } } },
	{ TYPE_MALLOC, 64, 512, { { XMALLOC, WRITE, WRITABLE, OF_WORKER } } },
	{ TYPE_MALLOC, 16, 96, { { XMALLOC, HEADER, FEED, READ, OF_WORKER } } },
	{ TYPE_REALLOC, 32, 640, { { XREALLOC, BODY, FEED, READ,
		OF_WORKER } } },
	{ TYPE_NEW, 120, 120, { { MAKE_REQUEST, READABLE, OF_WORKER },
		{ REQUEST, MAKE_REQUEST, READABLE, OF_WORKER } } },
	{ TYPE_NEW, 88, 88, { { REPLY, HANDLE, READABLE, OF_WORKER } } },
	{ TYPE_NEW, 24, 200, { { STRING, APPEND, HANDLE, OF_WORKER } } },
	{ TYPE_NEW_ARRAY, 128, 640, { { GROW, INSERT_ROW, HANDLE,
		OF_WORKER } } },
	{ TYPE_MALLOC, 48, 320, { { XMALLOC, CACHE_PUT, HANDLE, OF_WORKER } } },
	{ TYPE_MALLOC, 16, 48, { { XMALLOC, CACHE_KEY, CACHE_PUT, HANDLE,
		OF_WORKER }, { CACHE_KEY, CACHE_GET, HANDLE, OF_WORKER } } },
	{ TYPE_CALLOC, 56, 56, { { XCALLOC, TIMER, REARM, OF_MAIN } } },
	{ TYPE_MALLOC, 80, 256, { { LOG, HANDLE, OF_WORKER },
		{ LOG, LOG_WORKER, START_THREAD, CLONE } } },
	{ TYPE_MALLOC, 40, 120, { { DNS, RESOLVE, SCRIPT } } },
	{ TYPE_ALIGNED, 64, 640, { { TLS, TLS_READ, READABLE, OF_WORKER } } },
	{ TYPE_MALLOC, 16, 128, { { CRYPTO, CRYPTO_INIT, TLS, OF_WORKER } } },
	{ TYPE_API_FIRST, 64, 64, { { POOL, ACCEPT, LISTENER, OF_MAIN } } },
};

static uint32_t
offset_of(enum spot s)
{
	return spots[s].offset != 0 ? spots[s].offset : 0x11c0 + s * 0xb5;
}

static uint64_t
address_of(enum spot s)
{
	return modules[spots[s].module].bias + offset_of(s);
}

static int
put_chain(struct stream_sites *sites, const uint8_t chain[SERVER_DEPTH],
    const unsigned numbers[MODULES], uint64_t *caller)
{
	enum ring_end end = RING_END_OUTERMOST;
	uint64_t frame[SERVER_DEPTH];
	unsigned depth = 0;
	uint32_t no;
	int r;

	for (; depth < SERVER_DEPTH && chain[depth] != NONE; depth++) {
		enum spot s = chain[depth];

		frame[depth] = frame_make(address_of(s),
		    numbers[spots[s].module]);
		/* Generated code has no unwind table. */
		if (spots[s].module == ANON)
			end = RING_END_NO_TABLE;
	}
	if (depth == 0)
		return 0;
	r = stream_sites_put(sites, frame, depth, end, &no);
	if (r == 0)
		*caller = rec_site_caller(no);
	return r;
}

/* Puts modules and chains; sets the callers of records, by asker and way. */
static int
server_put(struct stream_sites *sites,
    uint64_t caller[SERVER_ASKERS][SERVER_WAYS])
{
	unsigned numbers[MODULES] = { 0 };
	int r = 0;

	for (size_t m = SERVER; m < MODULES && r == 0; m++)
		r = stream_sites_put_module(sites, &(struct stream_module){
			.start = modules[m].bias,
			.end = modules[m].bias + MODULE_SIZE,
			.bias = modules[m].bias,
			.path = modules[m].path }, &numbers[m]);
	for (size_t a = 0; a < SERVER_ASKERS && r == 0; a++) {
		r = put_chain(sites, server_askers[a].chain[0], numbers,
		    &caller[a][0]);
		caller[a][1] = caller[a][0];
		if (r == 0)
			r = put_chain(sites, server_askers[a].chain[1],
			    numbers, &caller[a][1]);
	}
	return r;
}

static void
add_line(struct wire_words *w, const char *function, const char *file,
    uint32_t line)
{
	if (function == NULL)
		return;
	w->line[w->n++] = (struct wire_inline){
		.function = wire_text(function), .file = wire_text(file),
		.line = line };
}

static void
server_words(uint64_t frame, struct wire_words *w)
{
	enum spot s = MAIN;

	while (s < SPOTS && address_of(s) != frame_pc(frame))
		s++;
	*w = (struct wire_words){ .frame = frame, .known = WIRE_K_NO_MODULE,
		.offset = frame_pc(frame) };
	if (s == SPOTS || spots[s].module == ANON)
		return;
	w->module = wire_text(modules[spots[s].module].path);
	w->offset = offset_of(s);
	w->known = spots[s].file != NULL ? WIRE_K_LINE :
	    spots[s].function != NULL ? WIRE_K_NO_LINE : WIRE_K_NO_SYMBOL;
	add_line(w, spots[s].inlined, spots[s].inlined_file,
	    spots[s].inlined_line);
	add_line(w, spots[s].function, spots[s].file, spots[s].line);
}

/* Its clock stands until a page stays: a single picture is always the same. */

#define SLOTS 8192		/* places where blocks can be */
#define AT_START 3500		/* blocks there before the clock runs */
#define SPAN_MS (3 * 3600 * 1000)	/* over which they came */
#define STEP_EVENTS 400		/* of one cycle */
#define BATCH 1024
#define FIRST_ADDR UINT64_C(0x7f3c04001040)
#define STRIDE UINT64_C(0x2a0)
#define BIG_ADDR UINT64_C(0x7f3c40000010)
#define BIG_STRIDE UINT64_C(0x40000)
#define BIG_EVERY 64		/* one slot in so many holds big blocks */
#define BUSY_SLOTS 256		/* the first ones: four events of five */
#define LASTING_EVERY 4		/* one slot in so many of the others is never freed */
#define PATIENT_READS NODES_HZ	/* a second of a page's reads */
#define FLOOD_STEPS (3 * NODES_HZ)	/* between two floods */
#define FLOOD_EVENTS (STREAM_QUEUE_RECORDS + 40000)

enum manner {
	USUAL,			/* a few slots are busy, most keep what they have */
	GROWING,		/* allocations alone */
	/* Few frees have their allocation in the same batch: the queue overflows. */
	FLOODING,
};

static const char *const thread_names[] = { "main", "rx-0", "rx-1", "w-0",
	"w-1", "w-2", "log" };

struct busy {
	uint64_t random;
	uint32_t tickets[REC_SHARDS];
	bool used[SLOTS];
	unsigned live;
	int64_t begun_ms;		/* its clock at step 0 */
	uint64_t step;
	unsigned patient;		/* reads up to the end in a row */
	bool running, flood;
	uint64_t caller[SERVER_ASKERS][SERVER_WAYS];
	struct rec rec[BATCH];
	int64_t ms[BATCH];
	struct blklist_batch_info info[BATCH];
	size_t n, ninfo;
};

static uint64_t
draw(struct busy *b, uint64_t below)
{
	b->random ^= b->random >> 12;
	b->random ^= b->random << 25;
	b->random ^= b->random >> 27;
	return ((b->random * UINT64_C(2685821657736338717)) >> 33) % below;
}

static uint64_t
addr_of(unsigned slot)
{
	return slot % BIG_EVERY == 0 ?
	    BIG_ADDR + slot / BIG_EVERY * BIG_STRIDE :
	    FIRST_ADDR + slot * STRIDE;
}

static void
take_batch(struct keeper *k, struct busy *b)
{
	keeper_take(
	    k, b->rec, b->n, k->source.now_ms, b->ms, b->info, b->ninfo);
	b->n = b->ninfo = 0;
}

static void
add_record(struct keeper *k, struct busy *b, unsigned op, unsigned slot,
    unsigned type, uint64_t size, unsigned thread, uint64_t caller,
    int64_t ms)
{
	uint64_t addr = addr_of(slot);
	unsigned low = type >= TYPE_API_FIRST || (op == REC_FREE &&
	    slot % 251 == 0) ? REC_LAYER_API : 0;
	unsigned shard = rec_shard(addr);

	if (b->n == BATCH)
		take_batch(k, b);
	/* rx-0 works for another node: its blocks carry that requester. */
	if (op == REC_ALLOC && thread == 2)
		b->info[b->ninfo++] = (struct blklist_batch_info){
			.at = b->n, .info = { .node = 0xab86 } };
	b->ms[b->n] = ms;
	b->rec[b->n++] = (struct rec){ .w = {
		rec_w0(addr, REC_FLAGS(op, low), type),
		rec_w1(size, thread),
		rec_w2(b->tickets[shard]++, (uint32_t)ms),
		rec_w3(caller, 16) } };
}

/* Without lasting blocks, none would get older than a minute. */
static unsigned
draw_slot(struct busy *b, enum manner manner)
{
	unsigned slot = (unsigned)(draw(b, 5) != 0 && manner == USUAL ?
	    draw(b, BUSY_SLOTS) : draw(b, SLOTS));
	bool lasting = slot >= BUSY_SLOTS && slot % LASTING_EVERY == 1;

	return lasting && manner != GROWING ? slot + 1 : slot;
}

static void
make_event(struct keeper *k, struct busy *b, int64_t ms, enum manner manner)
{
	unsigned slot = draw_slot(b, manner);
	unsigned thread = 1 +
	    (unsigned)draw(b, BASE_NELEM(thread_names));
	size_t which = draw(b, SERVER_POOL);
	const struct server_asker *asker;
	uint64_t size;

	if (slot % 251 == 0)
		which = SERVER_POOL;
	asker = &server_askers[which];
	if (b->used[slot]) {
		if (manner == GROWING)
			return;
		b->used[slot] = false;
		b->live--;
		add_record(k, b, REC_FREE, slot, TYPE_FREE, 0, thread,
		    address_of(CLOSE), ms);
		return;
	}
	size = asker->min + draw(b, (uint64_t)(asker->max - asker->min) + 1);
	if (slot % BIG_EVERY == 0)
		size *= 64;
	b->used[slot] = true;
	b->live++;
	add_record(k, b, REC_ALLOC, slot, asker->type, size, thread,
	    b->caller[which][slot % SERVER_WAYS], ms);
}

static void
busy_source(struct keeper *k, int64_t mono)
{
	struct busy *b = k->source.arg;

	(void)mono;
	if (!b->running)
		return;
	b->step++;
	k->source.now_ms = b->begun_ms + (int64_t)(b->step * 1000 / NODES_HZ);
	for (int i = 0; i < STEP_EVENTS; i++)
		make_event(k, b, k->source.now_ms, USUAL);
	if (b->flood && b->step % FLOOD_STEPS == FLOOD_STEPS / 2)
		for (unsigned i = 0; i < FLOOD_EVENTS; i++)
			make_event(k, b, k->source.now_ms, FLOODING);
	take_batch(k, b);
}

static void
busy_read(struct keeper *k, bool caught_up)
{
	struct busy *b = k->source.arg;

	if (caught_up && ++b->patient >= PATIENT_READS)
		b->running = true;
}

static int
name_threads(struct keeper *k)
{
	size_t n = BASE_NELEM(thread_names) + 1;

	k->threads.at = calloc(n, sizeof *k->threads.at);
	if (k->threads.at == NULL)
		return -ENOMEM;
	k->threads.n = k->threads.cap = n;
	for (size_t i = 1; i < n; i++)
		strcpy(k->threads.at[i].name, thread_names[i - 1]);
	return 0;
}

static int
busy_start(struct node *node, struct keeper *k)
{
	struct busy *b;
	int r;

	if (node->opts.demo.at != NULL)
		return -EINVAL;		/* its clock is its own */
	b = calloc(1, sizeof *b);
	if (b == NULL)
		return -ENOMEM;
	k->source.arg = b;
	r = name_threads(k);
	if (r == 0)
		r = server_put(k->sites, b->caller);
	if (r < 0)
		return r;
	stream_types_name(k->declared.types, TYPE_API_FIRST, "CONN",
	    "connection of the pool");
	keeper_types_changed(k);
	b->random = UINT64_C(0x9e3779b97f4a7c15);
	/* More records at once than the queue retains, now and then. */
	b->flood = strcmp(node->opts.demo.name, "flood") == 0;
	b->begun_ms = mono_ms(mono_now());
	/* Ever more often towards now, as in a program that grows. */
	while (b->live < AT_START) {
		int64_t left = SPAN_MS;

		for (int halvings = (int)(b->live * 8 / AT_START);
		    halvings > 0; halvings--)
			left /= 2;
		k->source.now_ms = b->begun_ms - left + left / 2 *
		    (int64_t)(b->live % (AT_START / 8 + 1)) / (AT_START / 8);
		make_event(k, b, k->source.now_ms, GROWING);
	}
	k->source.now_ms = b->begun_ms;
	take_batch(k, b);
	k->source.make = busy_source;
	k->source.on_read = busy_read;
	k->source.words = server_words;
	return 0;
}

/* 2004-07-13 13:30:00 of a clock without a zone, as milliseconds since 1970. */
#define NOTE_BEGAN_MS INT64_C(1089725400000)
#define NOTE_SHOWN_S 39		/* age of the oldest block in the note's picture */
#define NOTE_NODE 0x0590

struct note_block {
	uint32_t at_s;			/* after the clock's begin */
	uint32_t addr;
	uint16_t size;
	uint8_t type;
	uint16_t requester;		/* friendly node number; 0 none */
};

static const struct note_block note_blocks[] = {
	{ 0, 0x008e6628, 0x30, TYPE_LOCREQ, 0 },
	{ 26, 0x008e65d0, 0x50, TYPE_AHDRMSG, 0 },
	{ 26, 0x008e6698, 0x18, TYPE_INTPTRS, 0 },
	{ 26, 0x008e66b8, 0x48, TYPE_ACREQ, 0xab86 },
	{ 39, 0x008e6588, 0x40, TYPE_AHDRMSG, 0 },
	{ 39, 0x008e6660, 0x30, TYPE_LOCREQ, 0 },
};

struct note {
	size_t written;			/* of note_blocks */
	int64_t clock_ms;		/* since NOTE_BEGAN_MS, when begun */
	int64_t begun_mono_ms;
	bool stopped;			/* the clock stands */
};

static void
write_block(struct keeper *k, const struct note_block *b)
{
	struct blklist_info requester = { .node = b->requester };
	struct rec rec = { .w = {
		rec_w0(b->addr, REC_FLAGS(REC_ALLOC, 0), b->type),
		rec_w1(b->size, 0), 0, 0 } };
	uint8_t raw[REC_CLASSIC_SIZE];

	if (stream_classic_encode(&rec, NOTE_BEGAN_MS + b->at_s * 1000,
	    raw) == 0)
		keeper_take_classic(k, raw,
		    b->requester != 0 ? &requester : NULL);
}

static void
note_source(struct keeper *k, int64_t mono)
{
	struct note *n = k->source.arg;
	int64_t clock = n->clock_ms;

	if (!n->stopped)
		clock += mono - n->begun_mono_ms;
	while (n->written < BASE_NELEM(note_blocks) &&
	    note_blocks[n->written].at_s * 1000 <= clock)
		write_block(k, &note_blocks[n->written++]);
	k->source.now_ms = NOTE_BEGAN_MS + clock;
}

static int
parse_time(const char *text, int64_t *ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = {
		{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 },
		{ "h", 3600000 },
	};
	unsigned long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno != 0 || n > 1000000)
		return -EINVAL;
	for (size_t i = 0; i < BASE_NELEM(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		*ms = (int64_t)n * units[i].ms;
		return 0;
	}
	return -EINVAL;
}

static int
note_start(struct node *node, struct keeper *k)
{
	struct note *n = calloc(1, sizeof *n);
	int r = 0;

	if (n == NULL)
		return -ENOMEM;
	k->source.arg = n;
	k->source.make = note_source;
	n->clock_ms = NOTE_SHOWN_S * 1000;
	n->begun_mono_ms = mono_ms(mono_now());
	if (node->opts.demo.at != NULL) {
		r = parse_time(node->opts.demo.at, &n->clock_ms);
		n->stopped = true;
	}
	node->number = NOTE_NODE;
	strcpy(node->name, "0590");
	return r;
}

static const struct demo {
	const char *name;
	const char *comm;
	bool classic;
	int (*start)(struct node *, struct keeper *);
} demos[] = {
	{ "note", "", true, note_start },
	{ "1", "demo-1", false, busy_start },
	{ "flood", "demo-flood", false, busy_start },
};

int
demo_start(struct node *node)
{
	const struct demo *d = NULL;
	const char *name = node->opts.demo.stream;
	struct keeper_opts o = { .max = node->opts.max };
	struct keeper *k;
	int r;

	for (size_t i = 0; i < BASE_NELEM(demos); i++)
		if (strcmp(demos[i].name, node->opts.demo.name) == 0)
			d = &demos[i];
	if (d == NULL)
		return -ENOENT;
	o.classic = d->classic;
	r = keeper_new(&k, node, &o, NULL);
	if (r < 0)
		return r;
	strcpy(k->image.comm, d->comm);
	r = d->start(node, k);
	if (r == 0)
		r = images_join(k, name != NULL ? name : "ALLOCLOG");
	if (r < 0) {
		keeper_unref(k);
		return r;
	}
	/* The first picture is there before a page can ask. */
	keeper_pass(k, mono_ms(mono_now()));
	return 0;
}
