/*
 * The functions of a server that does not exist, and who calls whom.
 */
#include <string.h>

#include "../../base/base.h"
#include "server.h"

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

const struct server_asker server_askers[SERVER_ASKERS] = {
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

uint64_t
server_free_caller(void)
{
	return address_of(CLOSE);
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
		/* Code that was made at run time has no table. */
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

int
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

/* A line more, outwards. */
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

void
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
