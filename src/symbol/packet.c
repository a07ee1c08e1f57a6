#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "packet.h"
#include "symbol.h"

/* Either program refuses other versions. */
#define VERSION 2

static void
put_bytes(struct packet_out *o, const void *bytes, size_t n)
{
	void *array = o->byte;

	if (o->failed || n == 0)
		return;
	if (n > PACKET_MAX || o->len + n > PACKET_MAX ||
	    base_grow(&array, &o->cap, o->len + n, 1) < 0) {
		o->failed = true;
		return;
	}
	o->byte = array;
	memcpy(o->byte + o->len, bytes, n);
	o->len += n;
}

static void
put_u8(struct packet_out *o, unsigned n)
{
	uint8_t byte = (uint8_t)n;

	put_bytes(o, &byte, sizeof(byte));
}

static void
put_u32(struct packet_out *o, uint32_t n)
{
	put_bytes(o, &n, sizeof(n));
}

static void
put_u64(struct packet_out *o, uint64_t n)
{
	put_bytes(o, &n, sizeof(n));
}

/* The NUL goes along, so that the text can be used in place. */
static void
put_text(struct packet_out *o, const char *text, size_t max)
{
	size_t len = text == NULL ? 0 : strnlen(text, max);

	put_u32(o, (uint32_t)len);
	put_bytes(o, text, len);
	put_u8(o, 0);
}

static void
put_build_id(struct packet_out *o, const uint8_t *id, unsigned len)
{
	put_u8(o, len);
	put_bytes(o, id, len);
}

static void
begin_packet(struct packet_out *o)
{
	o->len = 0;
	o->failed = false;
	put_u32(o, 0);
	put_u8(o, VERSION);
}

static int
end_packet(struct packet_out *o)
{
	uint32_t len = (uint32_t)(o->len - sizeof(len));

	if (o->failed)
		return -ENOMEM;
	memcpy(o->byte, &len, sizeof(len));
	return 0;
}

int
packet_put_request(struct packet_out *o, const struct packet_request *r)
{
	const struct symbol_place *p = &r->place;

	/* A clipped path would be another file's. */
	if (strlen(p->path) > PACKET_PATH_MAX ||
	    (r->debug != NULL && strlen(r->debug) > PACKET_PATH_MAX) ||
	    p->build_id_len > SYMBOL_BUILD_ID_MAX)
		return -EMSGSIZE;
	begin_packet(o);
	put_text(o, p->path, PACKET_PATH_MAX);
	put_text(o, r->debug, PACKET_PATH_MAX);
	put_u32(o, (uint32_t)p->pid);
	put_u8(o, p->by_offset);
	put_build_id(o, p->build_id, p->build_id_len);
	put_u64(o, p->inode);
	put_u64(o, (uint64_t)p->mapped_ns);
	put_u32(o, r->n);
	for (unsigned i = 0; i < r->n; i++)
		put_u64(o, r->address[i]);
	return end_packet(o);
}

int
packet_put_answer(struct packet_out *o, const struct packet_answer *a)
{
	begin_packet(o);
	put_u8(o, a->file);
	put_u8(o, a->bare);
	put_build_id(o, a->build_id, a->build_id_len);
	put_u32(o, a->n);
	for (unsigned i = 0; i < a->n; i++) {
		const struct symbol_words *w = &a->words[i];

		put_u8(o, w->known);
		put_u64(o, w->address);
		put_u8(o, w->n);
		for (unsigned k = 0; k < w->n; k++) {
			put_text(o, w->line[k].function, PACKET_TEXT_MAX);
			put_text(o, w->line[k].file, PACKET_TEXT_MAX);
			put_u32(o, w->line[k].line);
		}
		put_text(o, w->type, PACKET_TEXT_MAX);
		put_u8(o, w->type_from);
	}
	return end_packet(o);
}

void
packet_out_fini(struct packet_out *o)
{
	free(o->byte);
	*o = (struct packet_out) { 0 };
}

/* Once a getter has failed all do, and return zeros. */
struct in {
	const uint8_t *at, *end;
	bool failed;
};

static void
get_bytes(struct in *in, void *to, size_t n)
{
	if (in->failed || (size_t)(in->end - in->at) < n) {
		in->failed = true;
		memset(to, 0, n);
		return;
	}
	memcpy(to, in->at, n);
	in->at += n;
}

static uint8_t
get_u8(struct in *in)
{
	uint8_t n;

	get_bytes(in, &n, sizeof(n));
	return n;
}

static uint32_t
get_u32(struct in *in)
{
	uint32_t n;

	get_bytes(in, &n, sizeof(n));
	return n;
}

static uint64_t
get_u64(struct in *in)
{
	uint64_t n;

	get_bytes(in, &n, sizeof(n));
	return n;
}

static unsigned
get_count(struct in *in, uint32_t n, uint32_t max)
{
	if (n > max)
		in->failed = true;
	return in->failed ? 0 : n;
}

static bool
get_bool(struct in *in)
{
	return get_count(in, get_u8(in), 1) == 1;
}

/* In place, with its NUL and no other; "" on failure. */
static const char *
get_text(struct in *in, size_t max)
{
	size_t len = get_count(in, get_u32(in), (uint32_t)max);
	const char *text = (const char *)in->at;

	if (in->failed || (size_t)(in->end - in->at) <= len ||
	    strnlen(text, len + 1) != len) {
		in->failed = true;
		return "";
	}
	in->at += len + 1;
	return text;
}

static void
get_build_id(struct in *in, uint8_t *id, unsigned *len)
{
	*len = get_count(in, get_u8(in), SYMBOL_BUILD_ID_MAX);
	get_bytes(in, id, *len);
}

static struct in
open_packet(const uint8_t *bytes, size_t len)
{
	struct in in = { bytes, bytes + len, false };

	if (get_u8(&in) != VERSION)
		in.failed = true;
	return in;
}

int
packet_get_request(const uint8_t *bytes, size_t len,
    struct packet_request *out)
{
	struct in in = open_packet(bytes, len);
	struct packet_request r = { .n = 0 };

	r.place.path = get_text(&in, PACKET_PATH_MAX);
	r.debug = get_text(&in, PACKET_PATH_MAX);
	if (r.debug[0] == '\0')
		r.debug = NULL;
	r.place.pid = (pid_t)get_u32(&in);
	r.place.by_offset = get_bool(&in);
	get_build_id(&in, r.place.build_id, &r.place.build_id_len);
	r.place.inode = get_u64(&in);
	r.place.mapped_ns = (int64_t)get_u64(&in);
	r.n = get_count(&in, get_u32(&in), PACKET_ADDRESSES_MAX);
	for (unsigned i = 0; i < r.n; i++)
		r.address[i] = get_u64(&in);
	if (in.failed || in.at != in.end || r.place.pid < 0)
		return -EBADMSG;
	*out = r;
	return 0;
}

static char *
copy_text(struct in *in)
{
	char *copy = strdup(get_text(in, PACKET_TEXT_MAX));

	if (copy == NULL)
		in->failed = true;
	return copy;
}

/* NULL for "". */
static char *
copy_known_text(struct in *in)
{
	char *copy = copy_text(in);

	if (copy != NULL && copy[0] == '\0') {
		free(copy);
		copy = NULL;
	}
	return copy;
}

static void
get_words(struct in *in, struct symbol_words *w)
{
	unsigned n;

	w->known = get_count(in, get_u8(in), SYMBOL_NO_READER);
	w->address = get_u64(in);
	n = get_count(in, get_u8(in), SYMBOL_INLINES_MAX);
	for (unsigned k = 0; k < n && !in->failed; k++) {
		w->line[k].function = copy_text(in);
		w->line[k].file = copy_known_text(in);
		w->line[k].line = get_u32(in);
		w->n++;
	}
	w->type = copy_known_text(in);
	w->type_from = get_count(in, get_u8(in), SYMBOL_TYPE_NEW);
	if ((w->type != NULL) != (w->type_from != SYMBOL_TYPE_UNKNOWN))
		in->failed = true;
}

int
packet_get_answer(const uint8_t *bytes, size_t len, struct packet_answer *out)
{
	struct in in = open_packet(bytes, len);

	memset(out, 0, sizeof(*out));
	out->file = get_count(&in, get_u8(&in), SYMBOL_NO_READER);
	out->bare = get_bool(&in);
	get_build_id(&in, out->build_id, &out->build_id_len);
	out->n = get_count(&in, get_u32(&in), PACKET_ADDRESSES_MAX);
	for (unsigned i = 0; i < out->n && !in.failed; i++)
		get_words(&in, &out->words[i]);
	if (in.failed || in.at != in.end) {
		packet_answer_fini(out);
		return -EBADMSG;
	}
	return 0;
}

void
packet_answer_fini(struct packet_answer *a)
{
	for (unsigned i = 0; i < PACKET_ADDRESSES_MAX; i++)
		symbol_words_fini(&a->words[i]);
	a->n = 0;
}

void
symbol_words_fini(struct symbol_words *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		free(w->line[i].function);
		free(w->line[i].file);
	}
	free(w->type);
	memset(w, 0, sizeof(*w));
}
