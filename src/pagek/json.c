/*
 * JSON out of the session.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "../base/base.h"
#include "json.h"

/* --- the writer --------------------------------------------------------- */

static void
indent(struct json *j)
{
	fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

/* What goes before a key or an element. */
static void
separate(struct json *j)
{
	int top = j->depth - 1;

	if (j->keyed) {
		j->keyed = false;
		return;
	}
	if (top < 0)
		return;
	if (j->level[top].any)
		fputs(j->level[top].lines ? "," : ", ", j->out);
	if (j->level[top].lines)
		indent(j);
	j->level[top].any = true;
}

void
json_begin(struct json *j, char bracket, bool lines)
{
	separate(j);
	assert(j->depth < JSON_DEPTH);
	fputc(bracket, j->out);
	j->level[j->depth].close = bracket == '{' ? '}' : ']';
	j->level[j->depth].lines = lines;
	j->level[j->depth].any = false;
	j->depth++;
}

void
json_end(struct json *j)
{
	assert(j->depth > 0);
	j->depth--;
	if (j->level[j->depth].lines && j->level[j->depth].any)
		indent(j);
	fputc(j->level[j->depth].close, j->out);
	if (j->depth == 0)
		fputc('\n', j->out);
}

/* Controls, and characters that turn a line around or hide in it. */
static bool
is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad ||
	    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f) || c == 0x61c || c == 0xfeff;
}

/* As \uXXXX; beyond the first 65,536 characters a pair of surrogates. */
static void
put_escaped(struct json *j, uint32_t c)
{
	if (c >= 0x10000)
		fprintf(j->out, "\\u%04" PRIx32 "\\u%04" PRIx32,
		    0xd800 + ((c - 0x10000) >> 10),
		    0xdc00 + ((c - 0x10000) & 0x3ff));
	else
		fprintf(j->out, "\\u%04" PRIx32, c);
}

static void
put_string(struct json *j, const char *s)
{
	size_t left = strlen(s), n;
	uint32_t c;

	fputc('"', j->out);
	for (; left > 0; s += n, left -= n) {
		n = base_utf8_char(s, left, &c);
		if (n == 0) {
			n = 1;
			fputs("\\ufffd", j->out);
		} else if (c == '"' || c == '\\') {
			fprintf(j->out, "\\%c", (int)c);
		} else if (is_unsafe(c) || (j->ascii && c >= 0x80)) {
			put_escaped(j, c);
		} else {
			fwrite(s, 1, n, j->out);
		}
	}
	fputc('"', j->out);
}

void
json_key(struct json *j, const char *key)
{
	separate(j);
	put_string(j, key);
	fputs(": ", j->out);
	j->keyed = true;
}

void
json_text(struct json *j, const char *s)
{
	if (s == NULL) {
		json_null(j);
		return;
	}
	separate(j);
	put_string(j, s);
}

void
json_number(struct json *j, uint64_t n)
{
	separate(j);
	fprintf(j->out, "%" PRIu64, n);
}

void
json_signed(struct json *j, int64_t n)
{
	separate(j);
	fprintf(j->out, "%" PRId64, n);
}

void
json_bool(struct json *j, bool b)
{
	separate(j);
	fputs(b ? "true" : "false", j->out);
}

void
json_null(struct json *j)
{
	separate(j);
	fputs("null", j->out);
}

void
json_hex(struct json *j, uint64_t n)
{
	separate(j);
	fprintf(j->out, "\"0x%" PRIx64 "\"", n);
}

void
json_time(struct json *j, int64_t wall_ms)
{
	int64_t ms = wall_ms % 1000;
	time_t t = (time_t)(wall_ms / 1000);
	char text[32];
	struct tm tm;

	if (ms < 0) {
		ms += 1000;
		t--;
	}
	if (gmtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		json_null(j);
		return;
	}
	separate(j);
	fprintf(j->out, "\"%s.%03dZ\"", text, (int)ms);
}

/* --- the session -------------------------------------------------------- */

static const char *
or_null(const char *s)
{
	return s == NULL || s[0] == '\0' ? NULL : s;
}

/* {"exit": 3}, {"signal": 11} or null. */
static void
put_status(struct json *j, int32_t status)
{
	if (status < 0 || (!WIFEXITED(status) && !WIFSIGNALED(status))) {
		json_null(j);
		return;
	}
	json_begin(j, '{', false);
	json_key(j, WIFEXITED(status) ? "exit" : "signal");
	json_signed(j, WIFEXITED(status) ? WEXITSTATUS(status) :
	    WTERMSIG(status));
	json_end(j);
}

static void
put_node(struct json *j, const struct nodes_look *look)
{
	char number[8];
	size_t len = 0;

	base_append(number, sizeof number, &len, "%04X", look->node_number);
	json_key(j, "node");
	json_begin(j, '{', false);
	json_key(j, "number");
	json_text(j, number);
	json_key(j, "name");
	json_text(j, or_null(look->node_name));
	json_end(j);

	json_key(j, "target");
	json_begin(j, '{', false);
	json_key(j, "name");
	json_text(j, or_null(look->target_name));
	json_key(j, "pid");
	if (look->pid > 0)
		json_signed(j, look->pid);
	else
		json_null(j);
	json_key(j, "state");
	json_text(j, page_state_name(look->state));
	json_key(j, "reason");
	json_text(j, or_null(look->reason));
	json_key(j, "status");
	put_status(j, look->status);
	json_key(j, "ended");
	if (look->ended_wall_ms != 0)
		json_time(j, look->ended_wall_ms);
	else
		json_null(j);
	json_end(j);
}

static void
put_lost(struct json *j, const struct nodes_look *look)
{
	static const char *const causes[STREAM_CAUSES] = {
		"before", "ring_full", "overwritten", "writer_died",
		"corrupt", "restart", "link",
	};
	unsigned i;

	json_key(j, "complete");
	json_bool(j, look->complete && look->settled);
	json_key(j, "lost");
	json_number(j, page_lost(look));
	json_key(j, "lost_by_cause");
	json_begin(j, '{', false);
	for (i = 0; i < STREAM_CAUSES; i++) {
		json_key(j, causes[i]);
		json_number(j, look->lost[i]);
	}
	json_end(j);
	json_key(j, "mended");
	json_number(j, look->mended);
}

static void
put_counts(struct json *j, const struct nodes_look *look)
{
	const struct blklist_counts *n = blklist_counts(look->list);
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{ "aRecActive", n->aRecActive },
		{ "aRecMax", n->aRecMax },
		{ "live_bytes", n->live_bytes },
		{ "bad_records", look->bad_records },
		{ "duplicate", n->duplicate },
		{ "unknown_free", n->unknown_free },
		{ "earlier", n->earlier },
		{ "illegal_type", n->illegal_type },
		{ "full", n->full },
	};
	static const struct {
		const char *name;
		enum wire_stat stat;
	} keeper[] = {
		{ "records", WIRE_N_RECORDS },
		{ "allocs", WIRE_N_ALLOCS },
		{ "frees", WIRE_N_FREES },
		{ "failed", WIRE_N_FAILED },
		{ "inherited", WIRE_N_INHERITED },
		{ "live_blocks", WIRE_N_LIVE_BLOCKS },
		{ "live_bytes", WIRE_N_LIVE_BYTES },
		{ "peak_bytes", WIRE_N_PEAK_BYTES },
		{ "lost", WIRE_N_LOST },
	};
	size_t i;

	json_key(j, "counts");
	json_begin(j, '{', false);
	for (i = 0; i < BASE_NELEM(counts); i++) {
		json_key(j, counts[i].name);
		json_number(j, counts[i].n);
	}
	json_end(j);
	/* Since the target's start, as its keeper counted. */
	json_key(j, "keeper");
	json_begin(j, '{', false);
	for (i = 0; i < BASE_NELEM(keeper); i++) {
		json_key(j, keeper[i].name);
		json_number(j, look->keeper[keeper[i].stat]);
	}
	json_end(j);
}

static void
put_requester(struct json *j, const struct nodes_look *look,
    const struct blk *b)
{
	const struct blklist_info *info = b->info != 0 ?
	    blklist_info_get(look->list, b->info) : NULL;
	char number[8];
	size_t len = 0;

	if (info == NULL) {
		json_null(j);
		return;
	}
	base_append(number, sizeof number, &len, "%04X", info->node);
	json_text(j, info->name[0] != '\0' ? info->name : number);
}

static void
put_block(struct json *j, struct nodes_session *s,
    const struct nodes_look *look, const struct blk *b)
{
	const struct stream_type *type = &look->types->by_code[b->type];
	unsigned level = b->flags & REC_LEVEL_MASK;
	int64_t wall = look->node_wall_ms - (look->now_ms - b->ms);

	json_begin(j, '{', false);
	json_key(j, "address");
	json_hex(j, b->addr);
	json_key(j, "size");
	json_number(j, b->size);
	json_key(j, "overhead");
	if (look->classic)
		json_null(j);
	else
		json_number(j, (uint64_t)b->overhead * 16);
	json_key(j, "type");
	json_number(j, b->type);
	json_key(j, "type_name");
	json_text(j, or_null(type->name));
	json_key(j, "layer");
	json_text(j, (b->flags & REC_LAYER_API) != 0 && !look->classic ?
	    "api" : "heap");
	json_key(j, "level");
	if (look->levels && level != 0)
		json_number(j, level);
	else
		json_null(j);
	json_key(j, "thread");
	json_text(j, b->thread != 0 ?
	    or_null(nodes_session_thread(s, b->thread)) : NULL);
	json_key(j, "requester");
	put_requester(j, look, b);
	json_key(j, "age_ms");
	json_signed(j, look->now_ms > b->ms ? look->now_ms - b->ms : 0);
	json_key(j, "time");
	json_time(j, wall);
	json_key(j, "seq");
	json_number(j, b->seq);
	json_key(j, "caller");
	if (b->caller != 0)
		json_hex(j, b->caller);
	else
		json_null(j);
	json_key(j, "function");
	json_text(j, b->caller != 0 ?
	    or_null(nodes_session_symbol(s, b->caller)) : NULL);
	json_end(j);
}

void
json_blocks(FILE *out, struct nodes_session *s, const struct page_opts *opts,
    bool since_click, uint64_t limit)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct json j = { .out = out, .ascii = opts->ascii };
	struct blk rows[256];
	uint64_t offs = 0;
	size_t n, i;

	json_begin(&j, '{', true);
	json_key(&j, "schema");
	json_text(&j, "pagek.blocks/1");
	json_key(&j, "time");
	json_time(&j, base_wall_ms());
	put_node(&j, look);
	json_key(&j, "format");
	json_text(&j, look->classic ? "classic" : "wide");
	json_key(&j, "since");
	json_text(&j, since_click ? "click" : "start");
	json_key(&j, "order");
	json_text(&j, opts->order == BLKLIST_BY_AGE ? "age" : "address");
	json_key(&j, "reverse");
	json_bool(&j, opts->reverse);
	put_lost(&j, look);
	put_counts(&j, look);
	json_key(&j, "blocks");
	json_begin(&j, '[', true);
	while ((n = blklist_window(look->list, opts->order, opts->reverse,
	    offs, rows, BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n && (limit == 0 || offs < limit); i++, offs++)
			put_block(&j, s, look, &rows[i]);
		if (i < n || ferror(out))
			break;
	}
	json_end(&j);
	json_end(&j);
}

/* --- targets ------------------------------------------------------------ */

void
json_targets_begin(struct json *j, FILE *out, bool ascii)
{
	*j = (struct json){ .out = out, .ascii = ascii };
	json_begin(j, '{', true);
	json_key(j, "schema");
	json_text(j, "pagek.targets/1");
	json_key(j, "time");
	json_time(j, base_wall_ms());
	json_key(j, "targets");
	json_begin(j, '[', true);
}

void
json_targets_add(struct json *j, const char *socket,
    const struct nodes_target *t, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++, t++) {
		json_begin(j, '{', false);
		json_key(j, "pid");
		if (t->pid > 0)
			json_signed(j, t->pid);
		else
			json_null(j);
		json_key(j, "name");
		json_text(j, or_null(t->comm));
		json_key(j, "stream");
		json_text(j, or_null(t->name));
		json_key(j, "node");
		json_text(j, socket);
		json_key(j, "state");
		json_text(j, page_target_state(t->state));
		json_key(j, "reason");
		json_text(j, or_null(t->reason));
		json_key(j, "status");
		put_status(j, t->status);
		json_key(j, "live_blocks");
		json_number(j, t->n[WIRE_N_LIVE_BLOCKS]);
		json_key(j, "live_bytes");
		json_number(j, t->n[WIRE_N_LIVE_BYTES]);
		json_key(j, "records");
		json_number(j, t->n[WIRE_N_RECORDS]);
		json_key(j, "lost");
		json_number(j, t->n[WIRE_N_LOST]);
		json_end(j);
	}
}

void
json_targets_end(struct json *j)
{
	json_end(j);
	json_end(j);
}
