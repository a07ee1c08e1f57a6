/*
 * CTF 1.8: a text that describes the trace (metadata), and its one stream of
 * packets.  A packet is a header, and events until it is full.  All numbers are
 * little-endian and begin at whole bytes.
 *
 * Events have the names and fields of LTTng's wrapper of libc where its fields are
 * known; the others, such as calloc without its two factors, are pagek:alloc.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "export.h"

#define PACKET_BYTES ((size_t)1 << 20)
#define HEAD_BYTES 48
#define MAGIC UINT32_C(0xc1fc1fc1)
#define NS_PER_MS 1000000
#define NS_PER_S INT64_C(1000000000)
#define NAME_BYTES 256
/* The longest event: numbers, a stack, and the texts of a module. */
#define EVENT_BYTES (80 + 8 * RING_STACK_MAX + 2 * NAME_BYTES + \
	2 * SYMBOL_BUILD_ID_MAX)

enum event_id {
	EVENT_MALLOC,
	EVENT_ALLOC,
	EVENT_FREE,
	EVENT_MODULE,
};

struct writer {
	const struct export_source *s;
	FILE *out;
	uint8_t *packet;
	size_t len;
	int64_t base_ms;	/* of the clock's 0, since 1970 */
	uint64_t begin_ns, last_ns;
	uint64_t lost;		/* events, so far */
	bool empty;		/* no event is in the packet */
};

static const char head[] =
	"/* CTF 1.8 */\n\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = 16; } "
	":= address_t;\n\n"
	"trace {\n"
	"\tmajor = 1;\n"
	"\tminor = 8;\n"
	"\tbyte_order = le;\n"
	"\tpacket.header := struct {\n"
	"\t\tuint32_t magic;\n"
	"\t\tuint32_t stream_id;\n"
	"\t};\n"
	"};\n\n";

static const char stream[] =
	"stream {\n"
	"\tid = 0;\n"
	"\tpacket.context := struct {\n"
	"\t\ttime_t timestamp_begin;\n"
	"\t\ttime_t timestamp_end;\n"
	"\t\tuint64_t content_size;\n"
	"\t\tuint64_t packet_size;\n"
	"\t\tuint64_t events_discarded;\n"
	"\t};\n"
	"\tevent.header := struct {\n"
	"\t\tuint16_t id;\n"
	"\t\ttime_t timestamp;\n"
	"\t};\n"
	"\tevent.context := struct {\n"
	"\t\tint32_t _vtid;\n"
	"\t};\n"
	"};\n\n";

/* The fields of blocks and frees behind those of LTTng. */
#define BLOCK_FIELDS \
	"\t\ttype_t _type;\n" \
	"\t\tuint16_t _thread;\n" \
	"\t\taddress_t _caller;\n" \
	"\t\tstring _function;\n" \
	"\t\tuint32_t __callstack_user_length;\n" \
	"\t\taddress_t _callstack_user[__callstack_user_length];\n"

static const struct event {
	const char *name, *fields;
} events[] = {
	[EVENT_MALLOC] = { "lttng_ust_libc:malloc",
	    "\t\tuint64_t _size;\n\t\taddress_t _ptr;\n" BLOCK_FIELDS },
	[EVENT_ALLOC] = { "pagek:alloc",
	    "\t\tuint64_t _size;\n\t\taddress_t _ptr;\n" BLOCK_FIELDS },
	[EVENT_FREE] = { "lttng_ust_libc:free",
	    "\t\taddress_t _ptr;\n" BLOCK_FIELDS },
	[EVENT_MODULE] = { "pagek:module",
	    "\t\taddress_t _start;\n\t\taddress_t _end;\n"
	    "\t\taddress_t _offset;\n\t\tstring _path;\n"
	    "\t\tstring _build_id;\n" },
};

static int
write_error(void)
{
	return errno != 0 ? -errno : -EIO;
}

/* A literal of TSDL; the text is safe for a terminal already. */
static void
put_quoted(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void
put_env(const struct export_source *s, FILE *out)
{
	fputs("env {\n\tdomain = \"ust\";\n\ttracer_name = \"pagek\";\n"
	    "\ttarget = ", out);
	put_quoted(out, s->target);
	if (s->note[0] != '\0') {
		fputs(";\n\tnote = ", out);
		put_quoted(out, s->note);
	}
	fputs(";\n};\n\n", out);
}

static void
put_clock(const struct writer *w)
{
	fprintf(w->out, "clock {\n\tname = wall;\n"
	    "\tdescription = \"wall clock of the node\";\n"
	    "\tfreq = 1000000000;\n\tprecision = %d;\n"
	    "\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n};\n\n"
	    "typealias integer { size = 64; align = 8; signed = false; "
	    "map = clock.wall.value; } := time_t;\n\n", NS_PER_MS,
	    w->base_ms / 1000, w->base_ms % 1000 * NS_PER_MS);
}

static void
put_types(FILE *out)
{
	struct stream_types types;
	const char *comma = "";

	stream_types_init(&types);
	fputs("typealias enum : uint8_t {", out);
	for (unsigned i = 0; i < BASE_NELEM(types.by_code); i++) {
		if (types.by_code[i].name[0] == '\0')
			continue;
		fprintf(out, "%s\n\t", comma);
		put_quoted(out, types.by_code[i].name);
		fprintf(out, " = %u", i);
		comma = ",";
	}
	fprintf(out, ",\n\t\"free\" = %u,\n\t\"delete\" = %u,\n\t\"delete[]\" = "
	    "%u,\n\t\"free by realloc\" = %u\n} := type_t;\n\n", TYPE_FREE,
	    TYPE_DELETE, TYPE_DELETE_ARRAY, TYPE_BY_REALLOC);
}

static int
put_metadata(const struct writer *w)
{
	fputs(head, w->out);
	put_env(w->s, w->out);
	put_clock(w);
	put_types(w->out);
	fputs(stream, w->out);
	for (unsigned i = 0; i < BASE_NELEM(events); i++)
		fprintf(w->out, "event {\n\tname = \"%s\";\n\tid = %u;\n"
		    "\tstream_id = 0;\n\tfields := struct {\n%s\t};\n};\n",
		    events[i].name, i, events[i].fields);
	return fflush(w->out) != 0 || ferror(w->out) ? write_error() : 0;
}

static void
put_number(struct writer *w, uint64_t v, size_t bytes)
{
	base_put_le(w->packet + w->len, v, bytes);
	w->len += bytes;
}

/* With its NUL, clipped. */
static void
put_string(struct writer *w, const char *text)
{
	char *to = (char *)w->packet + w->len;

	base_copy_text(to, NAME_BYTES, text);
	w->len += strlen(to) + 1;
}

static void
begin_packet(struct writer *w)
{
	w->len = HEAD_BYTES;
	w->begin_ns = w->last_ns;
	w->empty = true;
}

static int
end_packet(struct writer *w)
{
	size_t len = w->len;

	w->len = 0;
	put_number(w, MAGIC, 4);
	put_number(w, 0, 4);
	put_number(w, w->begin_ns, 8);
	put_number(w, w->last_ns, 8);
	put_number(w, 8 * (uint64_t)len, 8);
	put_number(w, 8 * (uint64_t)len, 8);
	put_number(w, w->lost, 8);
	if (fwrite(w->packet, 1, len, w->out) < len)
		return write_error();
	begin_packet(w);
	return 0;
}

/* Threads may differ by a little; for a reader time does not go back. */
static int
put_head(struct writer *w, enum event_id id, int64_t wall_ms, uint32_t tid)
{
	uint64_t ns = wall_ms <= w->base_ms ? 0 :
	    (uint64_t)(wall_ms - w->base_ms) * NS_PER_MS;
	int r = w->len + EVENT_BYTES > PACKET_BYTES ? end_packet(w) : 0;

	if (ns > w->last_ns)
		w->last_ns = ns;
	if (w->empty)
		w->begin_ns = w->last_ns;
	w->empty = false;
	put_number(w, id, 2);
	put_number(w, w->last_ns, 8);
	put_number(w, tid, 4);
	return r;
}

static const char *
function_of(const struct export_source *s, const struct export_stack *st)
{
	const struct export_frame *f;

	if (st->depth == 0)
		return "";
	f = &s->frame[s->frame_of[st->first]];
	return f->lines > 0 ? s->function[s->line[f->first].function].name : "";
}

/* Frames whose address is not known are none. */
static void
put_stack(struct writer *w, uint32_t no)
{
	static const struct export_stack unknown = { .depth = 0 };
	const struct export_source *s = w->s;
	const struct export_stack *st = no == EXPORT_NONE ? &unknown :
	    &s->stack[no];
	uint64_t address[RING_STACK_MAX];
	unsigned n = 0;

	for (uint32_t d = 0; d < st->depth && n < RING_STACK_MAX; d++) {
		address[n] = s->frame[s->frame_of[st->first + d]].address;
		n += address[n] != 0;
	}
	put_number(w, n > 0 ? address[0] : 0, 8);
	put_string(w, function_of(s, st));
	put_number(w, n, 4);
	for (unsigned i = 0; i < n; i++)
		put_number(w, address[i], 8);
}

static enum event_id
id_of(const struct export_event *e)
{
	if (e->kind == EXPORT_FREE)
		return EVENT_FREE;
	switch (e->type) {
	case TYPE_MALLOC:
	case TYPE_NEW:
	case TYPE_NEW_ARRAY:
	case TYPE_NEW_NOTHROW:
	case TYPE_NEW_ARRAY_NOTHROW:
		return EVENT_MALLOC;
	default:
		return EVENT_ALLOC;
	}
}

static int
put_event(void *arg, const struct export_event *e)
{
	struct writer *w = arg;
	enum event_id id = id_of(e);
	int r;

	/* For a reader they are before the end of a packet. */
	if (e->kind == EXPORT_LOST) {
		w->lost += e->size;
		return w->empty ? 0 : end_packet(w);
	}
	r = put_head(w, id, e->wall_ms, e->tid);
	if (r < 0)
		return r;
	if (id != EVENT_FREE)
		put_number(w, e->size, 8);
	put_number(w, e->address, 8);
	put_number(w, e->type, 1);
	put_number(w, e->thread, 2);
	put_stack(w, e->stack);
	return 0;
}

/* A reader finds the file and the offset of an address with these. */
static int
put_module(struct writer *w, const struct export_module *m)
{
	char hex[2 * SYMBOL_BUILD_ID_MAX + 1] = "";
	int r = m->end == 0 ? 0 : put_head(w, EVENT_MODULE, w->base_ms, 0);

	if (r < 0 || m->end == 0)
		return r;
	for (unsigned i = 0; i < m->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", m->build_id[i]);
	put_number(w, m->start, 8);
	put_number(w, m->end, 8);
	put_number(w, m->offset, 8);
	put_string(w, m->path);
	put_string(w, hex);
	return 0;
}

static int
put_stream(struct writer *w)
{
	const struct export_source *s = w->s;
	int r = 0;

	begin_packet(w);
	for (size_t i = 0; i < s->modules && r == 0; i++)
		r = put_module(w, &s->module[i]);
	if (r == 0)
		r = s->events(s, put_event, w);
	if (r == 0)
		r = end_packet(w);
	return r == 0 && fflush(w->out) != 0 ? write_error() : r;
}

static int
take_first(void *arg, const struct export_event *e)
{
	struct writer *w = arg;

	if (e->kind == EXPORT_LOST)
		return 0;
	w->base_ms = e->wall_ms > 0 ? e->wall_ms : 0;
	return -ECANCELED;
}

int
export_ctf(const struct export_source *s, FILE *metadata, FILE *events_out)
{
	struct writer w = { .s = s, .out = metadata,
	    .base_ms = s->wall_ms > 0 ? s->wall_ms : 0 };
	int r = s->events(s, take_first, &w);

	if (r < 0 && r != -ECANCELED)
		return r;
	w.packet = malloc(PACKET_BYTES);
	r = w.packet == NULL ? -ENOMEM : put_metadata(&w);
	w.out = events_out;
	if (r == 0)
		r = put_stream(&w);
	free(w.packet);
	return r;
}
