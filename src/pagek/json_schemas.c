/*
 * What is written as JSON: a target's blocks, and the targets of nodes.
 */
#include <sys/wait.h>

#include "../base/base.h"
#include "../page/choice.h"
#include "../page/free.h"
#include "../page/order.h"
#include "commands.h"
#include "json.h"
#include "options.h"

/* --- blocks -------------------------------------------------------------- */

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

void
json_target(struct json *j, const struct nodes_look *look)
{
	json_key(j, "node");
	json_begin(j, '{', false);
	json_key(j, "number");
	json_node(j, look->node_number);
	json_key(j, "name");
	json_text(j, or_null(look->node_name));
	json_end(j);

	json_key(j, "target");
	json_begin(j, '{', false);
	json_key(j, "name");
	json_text(j, or_null(look->target_name));
	json_key(j, "pid");
	json_known(j, look->pid > 0, (uint64_t)look->pid);
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

void
json_node(struct json *j, uint16_t number)
{
	char digits[8];

	snprintf(digits, sizeof digits, "%04X", number);
	json_text(j, digits);
}

void
json_stream(struct json *j, int64_t pid, const char *comm, const char *stream)
{
	json_key(j, "pid");
	json_known(j, pid > 0, (uint64_t)pid);
	json_key(j, "name");
	json_text(j, or_null(comm));
	json_key(j, "stream");
	json_text(j, or_null(stream));
}

/* When it was armed: null when it logs since its start. */
static void
put_armed(struct json *j, int64_t wall_ms)
{
	json_key(j, "armed");
	if (wall_ms != 0)
		json_time(j, wall_ms);
	else
		json_null(j);
}

void
json_sample(struct json *j, uint64_t period)
{
	json_key(j, "estimated");
	json_bool(j, period != 0);
	json_key(j, "sample_period");
	json_known(j, period != 0, period);
}

void
json_stats(struct json *j, const struct json_stat *stat, size_t count,
    const uint64_t n[WIRE_STATS_COUNT], bool known)
{
	for (size_t i = 0; i < count; i++) {
		json_key(j, stat[i].key);
		json_known(j, known, n[stat[i].stat]);
	}
}

void
json_modes(struct json *j, const struct nodes_look *look)
{
	put_armed(j, look->armed_wall_ms);
	json_sample(j, look->sample);
}

void
json_lost(struct json *j, const struct nodes_look *look)
{
	static const char *const causes[STREAM_CAUSES] = {
		"before", "ring_full", "overwritten", "writer_died",
		"corrupt", "restart", "link", "sample_full", "other",
	};
	unsigned i;

	json_key(j, "complete");
	json_bool(j, look->complete && look->listed);
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
put_counts(struct json *j, const struct nodes_look *look,
    const struct blklist_counts *n)
{
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{ "aRecActive", n->aRecActive },
		{ "aRecMax", n->aRecMax },
		{ "live_bytes", n->live_bytes },
		{ "est_blocks", n->est_blocks },
		{ "est_bytes", n->est_bytes },
		{ "bad_records", look->bad_records },
		{ "duplicate", n->duplicate },
		{ "unknown_free", n->unknown_free },
		{ "earlier", n->earlier },
		{ "illegal_type", n->illegal_type },
		{ "full", look->full },
	};
	static const struct {
		const char *name;
		enum wire_number stat;
	} keeper[] = {
		{ "records", WIRE_N_RECORDS },
		{ "allocs", WIRE_N_ALLOCS },
		{ "frees", WIRE_N_FREES },
		{ "failed", WIRE_N_FAILED },
		{ "inherited", WIRE_N_INHERITED },
		{ "live_blocks", WIRE_N_LIVE_BLOCKS },
		{ "live_bytes", WIRE_N_LIVE_BYTES },
		{ "peak_bytes", WIRE_N_PEAK_BYTES },
		{ "est_blocks", WIRE_N_EST_BLOCKS },
		{ "est_bytes", WIRE_N_EST_BYTES },
		{ "est_peak_bytes", WIRE_N_EST_PEAK_BYTES },
		{ "lost", WIRE_N_LOST },
		{ "full", WIRE_N_FULL },
		{ "unknown_free", WIRE_N_UNKNOWN_FREE },
		{ "earlier", WIRE_N_EARLIER },
		{ "sites_full", WIRE_N_SITES_FULL },
		{ "walks", WIRE_N_WALKS },
		{ "pairs", WIRE_N_PAIRS },
	};
	bool told = look->keeper != NULL;
	size_t i;

	json_key(j, "counts");
	json_begin(j, '{', false);
	for (i = 0; i < BASE_NELEM(counts); i++) {
		json_key(j, counts[i].name);
		json_number(j, counts[i].n);
	}
	json_key(j, "skipped_bytes");
	json_known(j, told, told ? look->keeper[WIRE_N_SKIPPED] : 0);
	json_end(j);
	/*
	 * Since the target's start, as its keeper counted: of a moment before a
	 * pause nobody has that.
	 */
	json_key(j, "keeper");
	json_begin(j, '{', false);
	for (i = 0; i < BASE_NELEM(keeper); i++) {
		json_key(j, keeper[i].name);
		json_known(j, told, told ? look->keeper[keeper[i].stat] : 0);
	}
	json_end(j);
}

static void
put_requester(struct json *j, const struct nodes_look *look,
    const struct blk *b)
{
	const struct blklist_info *info = b->info != 0 ?
	    blklist_info_get(look->list, b->info) : NULL;

	if (info == NULL)
		json_null(j);
	else if (info->name[0] != '\0')
		json_text(j, info->name);
	else
		json_node(j, info->node);
}

/* --- stacks --------------------------------------------------------------- */

static void
hex_or_null(struct json *j, uint64_t n)
{
	if (n != 0)
		json_hex(j, n);
	else
		json_null(j);
}

static void
put_line(struct json *j, const struct profile_line *l)
{
	json_begin(j, '{', false);
	json_key(j, "address");
	hex_or_null(j, l->address);
	json_key(j, "module");
	json_text(j, or_null(l->module));
	json_key(j, "offset");
	hex_or_null(j, l->offset);
	json_key(j, "function");
	json_text(j, or_null(l->function));
	json_key(j, "file");
	json_text(j, or_null(l->file));
	json_key(j, "line");
	json_known(j, l->line != 0, l->line);
	json_key(j, "skipped");
	json_bool(j, l->skipped);
	json_key(j, "inlined");
	json_bool(j, l->inlined);
	json_end(j);
}

/* A site says nothing to anybody else: the caller is its innermost frame. */
static void
put_stack(struct json *j, struct profile *p, uint64_t caller)
{
	struct profile_line line[PROFILE_LINES_MAX];
	size_t n = 0, origin = 0, i;
	unsigned end = 0;

	if (caller == 0 || profile_stack(p, caller, line, PROFILE_LINES_MAX,
	    &n, &origin, &end) < 0)
		n = 0;
	json_key(j, "caller");
	hex_or_null(j, n > 0 ? line[0].address : 0);
	json_key(j, "function");
	json_text(j, n > 0 && line[origin].address != 0 ?
	    line[origin].name : NULL);
	json_key(j, "stack");
	if (n > 0 && end != 0) {
		json_begin(j, '[', false);
		for (i = 0; i < n; i++)
			put_line(j, &line[i]);
		json_end(j);
	} else {
		json_null(j);
	}
	json_key(j, "stack_end");
	json_text(j, end != 0 ? stream_end_text(end) : NULL);
}

void
json_block(struct json *j, const struct page_view *v, struct profile *p,
    const struct blk *b, bool kind)
{
	const struct nodes_look *look = v->look;
	const struct stream_type *type = &look->types->by_code[b->type];
	unsigned level = b->flags & REC_LEVEL_MASK;
	int64_t wall = look->node_wall_ms - (look->now_ms - b->ms);

	json_begin(j, '{', false);
	if (kind) {
		json_key(j, "kind");
		json_text(j, "block");
	}
	json_key(j, "address");
	json_hex(j, b->addr);
	json_key(j, "size");
	json_number(j, b->size);
	/* How many blocks of its kind and size it stands for. */
	json_key(j, "weight");
	json_share(j, blklist_weight(look->list, b), 1);
	json_key(j, "overhead");
	json_known(j, !look->classic, (uint64_t)b->overhead * 16);
	json_key(j, "type");
	json_number(j, b->type);
	json_key(j, "type_name");
	json_text(j, or_null(type->name));
	json_key(j, "layer");
	json_text(j, (b->flags & REC_LAYER_API) != 0 && !look->classic ?
	    "api" : "heap");
	json_key(j, "level");
	json_known(j, look->levels && level != 0, level);
	json_key(j, "thread");
	json_text(j, b->thread != 0 ?
	    or_null(v->thread(v->arg, b->thread)) : NULL);
	json_key(j, "requester");
	put_requester(j, look, b);
	json_key(j, "age_ms");
	json_signed(j, look->now_ms > b->ms ? look->now_ms - b->ms : 0);
	json_key(j, "time");
	json_time(j, wall);
	json_key(j, "seq");
	json_number(j, b->seq);
	put_stack(j, p, b->caller);
	json_end(j);
}

/* What is free has a place and a size, and nothing that a block has. */
static void
put_free(struct json *j, const struct nodes_look *look, const struct blk *b)
{
	const struct wire_region *r = page_free_region(look, b->addr);

	json_begin(j, '{', false);
	json_key(j, "kind");
	json_text(j, "free");
	json_key(j, "address");
	json_hex(j, b->addr);
	json_key(j, "size");
	json_number(j, b->size);
	json_key(j, "region");
	json_text(j, r != NULL ? or_null(r->name) : NULL);
	json_end(j);
}

static void
put_regions(struct json *j, const struct page *page, const struct page_view *v)
{
	struct page_free f;

	json_key(j, "regions");
	json_begin(j, '[', true);
	for (size_t i = 0; i < v->look->regions; i++) {
		const struct wire_region *r = &v->look->region[i];

		page_free_sum(page, v, i, &f);
		json_begin(j, '{', false);
		json_key(j, "name");
		json_text(j, or_null(r->name));
		json_key(j, "address");
		json_hex(j, r->base);
		json_key(j, "size");
		json_number(j, r->size);
		json_key(j, "head");
		json_number(j, r->head);
		json_key(j, "align");
		json_number(j, r->align);
		json_key(j, "free_blocks");
		json_number(j, f.blocks);
		json_key(j, "free_bytes");
		json_number(j, f.bytes);
		json_key(j, "largest");
		json_number(j, f.largest);
		json_end(j);
	}
	json_end(j);
}

void
json_filter(struct json *j, const char *expression,
    const struct page_caught *caught, uint64_t of)
{
	const struct {
		const char *name;
		uint64_t n;
	} numbers[] = {
		{ "matched", caught->blocks },
		{ "matched_of", of },
		{ "matched_bytes", caught->bytes },
		{ "matched_est_blocks", (uint64_t)(caught->est_blocks + 0.5) },
		{ "matched_est_bytes", (uint64_t)(caught->est_bytes + 0.5) },
		{ "matched_unsure", caught->unsure },
	};

	json_key(j, "filter");
	json_text(j, expression);
	for (size_t i = 0; i < BASE_NELEM(numbers); i++) {
		json_key(j, numbers[i].name);
		json_known(j, expression != NULL, numbers[i].n);
	}
}

static void
put_rows(struct json *j, const struct page *page, const struct page_view *v,
    struct profile *p, struct page_sieve *sieve, uint64_t limit)
{
	bool free = page->opts.free;
	struct blk rows[256];
	uint64_t offs = 0, row_no = 0;
	size_t n, i;

	page_sieve_begin(sieve, v);
	if (free)
		put_regions(j, page, v);
	json_rows(j, "blocks");
	while ((n = page_choice_text(page, v, offs, rows,
	    BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n && (limit == 0 || row_no < limit); i++) {
			if (!page_sieve_lets(sieve, &rows[i]))
				continue;
			row_no++;
			if (page_is_free(&rows[i]))
				put_free(j, v->look, &rows[i]);
			else
				json_block(j, v, p, &rows[i], free);
		}
		offs += n;
		if (i < n || !output_going(j->out))
			break;
	}
	json_rows_end(j);
}

/* The first two are there where free memory is listed too. */
static const struct json_column block_columns[] = {
	{ "kind", NULL }, { "region", NULL },
	{ "address", NULL }, { "size", NULL }, { "weight", NULL },
	{ "overhead", NULL }, { "type", NULL }, { "type_name", NULL },
	{ "layer", NULL }, { "level", NULL }, { "thread", NULL },
	{ "requester", NULL }, { "age_ms", NULL }, { "time", NULL },
	{ "seq", NULL }, { "caller", NULL }, { "function", NULL },
	{ "stack_end", NULL },
	{ "complete", "complete" }, { "lost", "lost" }, { "taken", "time" },
};

bool
json_blocks_fields(const struct options *o, char *why, size_t cap)
{
	size_t from = o->page.free ? 0 : 2;

	/* A list within a row has no column. */
	return o->fields == NULL || json_fields_good(o->fields,
	    block_columns + from, BASE_NELEM(block_columns) - from,
	    o->format != FORMAT_CSV ? "stack" : NULL, why, cap);
}

/* What stands on the screen is of its moment, and not of the one it is written at. */
void
json_taken(struct json *j, const struct page_view *v)
{
	bool paused = v->look != v->live && v->look->node_wall_ms != 0;

	json_key(j, "time");
	json_time(j, paused ? v->look->node_wall_ms : base_wall_ms());
}

void
json_blocks_head(struct json *j, const struct page_view *v,
    const struct page_opts *opts, bool since_click, const char *filter,
    const struct page_caught *caught)
{
	const struct nodes_look *look = v->look;
	size_t from = opts->free ? 0 : 2;
	bool reverse;

	json_document(j, "pagek.blocks/1", block_columns + from,
	    BASE_NELEM(block_columns) - from);
	json_taken(j, v);
	json_target(j, look);
	json_key(j, "format");
	json_text(j, look->classic ? "classic" : "wide");
	json_key(j, "since");
	json_text(j, since_click ? "click" : look->armed_wall_ms != 0 ?
	    "arming" : "start");
	json_modes(j, look);
	json_key(j, "order");
	json_text(j, page_sort_rows[page_sorting_first(opts,
	    &reverse)].word);
	json_key(j, "reverse");
	json_bool(j, reverse);
	json_lost(j, look);
	put_counts(j, look, v->counts);
	json_filter(j, filter, caught, v->counts->aRecActive);
}

void
json_blocks(struct json *j, const struct page *page,
    const struct page_view *v, struct profile *p, struct page_sieve *sieve,
    bool since_click, uint64_t limit)
{
	struct page_caught caught = page_sieve_caught(sieve);

	json_blocks_head(j, v, &page->opts, since_click,
	    page_sieve_text(sieve), &caught);
	put_rows(j, page, v, p, sieve, limit);
	json_end(j);
}

/* --- targets ------------------------------------------------------------ */

static const struct json_column target_columns[] = {
	{ "pid", NULL }, { "name", NULL }, { "stream", NULL },
	{ "node", NULL }, { "state", NULL }, { "reason", NULL },
	{ "status_exit", NULL }, { "status_signal", NULL },
	{ "armed", NULL }, { "estimated", NULL }, { "sample_period", NULL },
	{ "live_blocks", NULL }, { "live_bytes", NULL },
	{ "est_blocks", NULL }, { "est_bytes", NULL }, { "records", NULL },
	{ "complete", NULL }, { "lost", NULL }, { "full", NULL },
	{ "taken", "time" },
};

void
json_targets_begin(struct json *j)
{
	json_document(j, "pagek.targets/1", target_columns,
	    BASE_NELEM(target_columns));
	json_key(j, "time");
	json_time(j, base_wall_ms());
	json_rows(j, "targets");
}

static void
put_target(struct json *j, const char *socket, const struct nodes_target *t)
{
	static const struct json_stat numbers[] = {
		{ "live_blocks", WIRE_N_LIVE_BLOCKS },
		{ "live_bytes", WIRE_N_LIVE_BYTES },
		{ "est_blocks", WIRE_N_EST_BLOCKS },
		{ "est_bytes", WIRE_N_EST_BYTES },
		{ "records", WIRE_N_RECORDS },
		{ "lost", WIRE_N_LOST },
		{ "full", WIRE_N_FULL },
	};

	json_begin(j, '{', false);
	json_stream(j, t->pid, t->comm, t->name);
	json_key(j, "node");
	json_text(j, socket);
	json_key(j, "state");
	json_text(j, page_target_state(t->state));
	json_key(j, "reason");
	json_text(j, or_null(t->reason));
	json_key(j, "status");
	put_status(j, t->status);
	put_armed(j, (int64_t)t->n[WIRE_N_ARMED_MS]);
	json_sample(j, t->n[WIRE_N_SAMPLE]);
	/* A dormant one holds blocks, and nobody knows which. */
	json_stats(j, numbers, BASE_NELEM(numbers), t->n,
	    t->state != WIRE_S_DORMANT);
	json_key(j, "complete");
	if (t->state == WIRE_S_DORMANT || t->state == WIRE_S_NO_DATA)
		json_null(j);
	else
		json_bool(j, page_target_is_complete(t));
	json_end(j);
}

void
json_targets_add(struct json *j, const char *socket,
    const struct nodes_target *t, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		put_target(j, socket, &t[i]);
}

void
json_targets_end(struct json *j)
{
	json_rows_end(j);
	json_end(j);
}
