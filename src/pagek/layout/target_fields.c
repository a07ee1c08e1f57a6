#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "layout.h"
#include "fields.h"

static bool
get_exit(const void *row, size_t at, struct field_value *v)
{
	int32_t status = *(const int32_t *)row;

	(void)at;
	v->i = WEXITSTATUS(status);
	return WIFEXITED(status);
}

static bool
get_signal(const void *row, size_t at, struct field_value *v)
{
	int32_t status = *(const int32_t *)row;

	(void)at;
	v->i = WTERMSIG(status);
	return WIFSIGNALED(status);
}

static const struct field status_fields[] = {
	{ .key = "exit", .kind = FIELD_SIGNED, .get = get_exit,
	    .optional = true },
	{ .key = "signal", .kind = FIELD_SIGNED, .get = get_signal,
	    .optional = true },
};
static const struct field_table status_table = FIELD_TABLE(status_fields);

static bool
get_status(const void *row, size_t at, struct field_value *v)
{
	const int32_t *status = (const void *)((const char *)row + at);

	v->row = status;
	return *status >= 0 && (WIFEXITED(*status) || WIFSIGNALED(*status));
}

static bool
get_estimated(const void *row, size_t at, struct field_value *v)
{
	field_u64(row, at, v);
	v->n = v->n != 0;
	return true;
}

static bool
get_counter(const void *row, size_t at, struct field_value *v)
{
	const uint64_t *n = *(const uint64_t *const *)row;

	if (n != NULL)
		v->n = n[at];
	return n != NULL;
}

#define LEVEL(n) \
	{ .name = "level " #n, .help = "allocations that tell this level", \
	    .get = get_counter, .at = WIRE_N_LEVEL_##n }

static const struct field keeper_counters[] = {
	{ .key = "records", .name = "records",
	    .help = "counted by the node since the target's start",
	    .get = get_counter, .at = WIRE_N_RECORDS },
	{ .key = "allocs", .name = "allocs", .help = "that succeeded",
	    .get = get_counter, .at = WIRE_N_ALLOCS },
	{ .key = "frees", .name = "frees", .help = "less those undone",
	    .get = get_counter, .at = WIRE_N_FREES },
	{ .key = "failed", .name = "failed", .help = "requests that failed",
	    .get = get_counter, .at = WIRE_N_FAILED },
	LEVEL(1), LEVEL(2), LEVEL(3), LEVEL(4), LEVEL(5),
	{ .key = "inherited", .name = "inherited",
	    .help = "blocks taken over from a parent at fork",
	    .get = get_counter, .at = WIRE_N_INHERITED },
	{ .key = "live_blocks", .name = "live blocks",
	    .help = "in the node's list", .get = get_counter,
	    .at = WIRE_N_LIVE_BLOCKS, .gauge = true },
	{ .key = "live_bytes", .name = "live bytes",
	    .help = "in the node's list", .get = get_counter,
	    .at = WIRE_N_LIVE_BYTES, .gauge = true, .unit = FIELD_BYTES },
	{ .key = "peak_bytes", .name = "peak bytes",
	    .help = "the highest so far", .get = get_counter,
	    .at = WIRE_N_PEAK_BYTES, .unit = FIELD_BYTES },
	{ .name = "at most", .help = "no more was held at once, by threads",
	    .get = get_counter, .at = WIRE_N_PEAK_MOST, .unit = FIELD_BYTES },
	{ .name = "room for blocks", .help = "aRecMax of the node's list",
	    .get = get_counter, .at = WIRE_N_MAX, .gauge = true },
	{ .key = "lost", .name = "lost",
	    .help = "records lost before they reached the node",
	    .get = get_counter, .at = WIRE_N_LOST, .rank = 2 },
	{ .name = "lost before",
	    .help = "of a capture: before the list that it goes on from",
	    .get = get_counter, .at = WIRE_N_LOST_BEFORE, .rank = 3 },
	{ .name = "duplicate",
	    .help = "allocations of a listed address: replaced",
	    .get = get_counter, .at = WIRE_N_DUPLICATE },
	{ .key = "unknown_free", .name = "unknown free",
	    .help = "of addresses that are not listed", .get = get_counter,
	    .at = WIRE_N_UNKNOWN_FREE, .rank = 3 },
	{ .key = "earlier", .name = "earlier",
	    .help = "frees of blocks older than the list", .get = get_counter,
	    .at = WIRE_N_EARLIER, .rank = 3 },
	{ .name = "illegal type", .help = "records of an unknown type",
	    .get = get_counter, .at = WIRE_N_ILLEGAL_TYPE },
	{ .key = "full", .name = "full",
	    .help = "allocations not inserted: the list was full",
	    .get = get_counter, .at = WIRE_N_FULL, .rank = 2 },
	{ .name = "bad records", .help = "skipped: malformed",
	    .get = get_counter, .at = WIRE_N_BAD },
	{ .name = "last pass", .help = "of the node over the rings",
	    .get = get_counter, .at = WIRE_N_CYCLE_US, .gauge = true,
	    .unit = FIELD_MICROSECONDS },
	{ .name = "held back", .help = "records that wait for an earlier one",
	    .get = get_counter, .at = WIRE_N_HELD, .gauge = true },
	{ .key = "sites_full", .name = "sites full",
	    .help = "events whose stack found no room", .get = get_counter,
	    .at = WIRE_N_SITES_FULL, .rank = 3 },
	{ .key = "walks", .name = "walks",
	    .help = "events whose stack the target had to walk",
	    .get = get_counter, .at = WIRE_N_WALKS, .rank = 3 },
	{ .key = "pairs", .name = "pairs",
	    .help = "allocations and frees in one record", .get = get_counter,
	    .at = WIRE_N_PAIRS, .rank = 3 },
	{ .name = "not sure",
	    .help = "not 0: the list may be wrong; line 1 says why",
	    .get = get_counter, .at = WIRE_N_UNSURE, .gauge = true },
	{ .key = "unfinished", .name = "unfinished",
	    .help = "calls of the allocator whose end is not known",
	    .get = get_counter, .at = WIRE_N_UNFINISHED, .rank = 3 },
	{ .name = "recordings", .help = "captures that get its events",
	    .get = get_counter, .at = WIRE_N_RECORDINGS, .gauge = true },
	{ .name = "usage rows",
	    .help = "counted by caller, type and size; 0: no page asks",
	    .get = get_counter, .at = WIRE_N_USAGE_ROWS, .gauge = true },
	{ .name = "usage memory", .help = "of the node, for these rows",
	    .get = get_counter, .at = WIRE_N_USAGE_BYTES, .gauge = true,
	    .unit = FIELD_BYTES },
	{ .name = "sample period",
	    .help = "mean bytes between samples; 0: every event",
	    .get = get_counter, .at = WIRE_N_SAMPLE, .gauge = true },
	{ .key = "est_blocks", .name = "est blocks",
	    .help = "live, as estimated from a sample", .get = get_counter,
	    .at = WIRE_N_EST_BLOCKS, .gauge = true, .rank = 1 },
	{ .key = "est_bytes", .name = "est bytes",
	    .help = "live, as estimated from a sample", .get = get_counter,
	    .at = WIRE_N_EST_BYTES, .gauge = true, .unit = FIELD_BYTES,
	    .rank = 1 },
	{ .name = "armed at",
	    .help = "ms since 1970; 0: logged since its start",
	    .get = get_counter, .at = WIRE_N_ARMED_MS, .gauge = true },
	{ .key = "est_peak_bytes", .name = "est peak bytes",
	    .help = "the highest estimate", .get = get_counter,
	    .at = WIRE_N_EST_PEAK_BYTES, .unit = FIELD_BYTES, .rank = 1 },
	{ .name = "stayed",
	    .help = "records not cancelled within their batch",
	    .get = get_counter, .at = WIRE_N_STAY },
	{ .name = "skipped bytes", .help = "of a device, in no record",
	    .get = get_counter, .at = WIRE_N_SKIPPED, .unit = FIELD_BYTES },
};
const struct field_table page_keeper_counters = FIELD_TABLE(keeper_counters);

static const struct field node_counters[] = {
	{ .name = "numbers known", .help = "of nodes: found in the cache",
	    .get = get_counter, .at = WIRE_N_FRIENDLY_HITS },
	{ .name = "numbers asked", .help = "of nodes: looked up",
	    .get = get_counter, .at = WIRE_N_FRIENDLY_MISSES },
	{ .name = "numbers unknown", .help = "not found: shown raw",
	    .get = get_counter, .at = WIRE_N_FRIENDLY_UNKNOWN },
	{ .name = "oldest number",
	    .help = "seconds since the oldest was looked up",
	    .get = get_counter, .at = WIRE_N_FRIENDLY_OLDEST_S,
	    .gauge = true },
	{ .name = "requests", .help = "for data, being served",
	    .get = get_counter, .at = WIRE_N_REQUESTS },
	{ .name = "requests lapsed", .help = "not renewed in time",
	    .get = get_counter, .at = WIRE_N_REQUESTS_LAPSED },
	{ .name = "listings", .help = "stored there", .get = get_counter,
	    .at = WIRE_N_LISTINGS },
	{ .name = "listings refused", .help = "not stored",
	    .get = get_counter, .at = WIRE_N_LISTINGS_REFUSED },
	{ .name = "recordings", .help = "captures that it writes",
	    .get = get_counter, .at = WIRE_N_RECORDINGS, .gauge = true },
	{ .name = "recording queue", .help = "waits to be written for them",
	    .get = get_counter, .at = WIRE_N_RECORDING_BYTES, .gauge = true,
	    .unit = FIELD_BYTES },
	{ .name = "up for", .help = "seconds since the node was started",
	    .get = get_counter, .at = WIRE_N_UP_S, .gauge = true },
	{ .name = "images gone", .help = "ended, without a row by now",
	    .get = get_counter, .at = WIRE_N_GONE },
	{ .name = "peak of those", .help = "the most that one of them held",
	    .get = get_counter, .at = WIRE_N_GONE_PEAK, .unit = FIELD_BYTES },
	{ .name = "at most", .help = "none of those held more at once",
	    .get = get_counter, .at = WIRE_N_GONE_PEAK_MOST,
	    .unit = FIELD_BYTES },
	{ .name = "lost of those", .help = "their records",
	    .get = get_counter, .at = WIRE_N_GONE_LOST },
	{ .name = "full of those", .help = "blocks that their lists refused",
	    .get = get_counter, .at = WIRE_N_GONE_FULL },
	{ .name = "missed of those", .help = "they had no stream",
	    .get = get_counter, .at = WIRE_N_GONE_MISSED },
};
const struct field_table page_node_counters = FIELD_TABLE(node_counters);

#define LOOK(member) offsetof(struct nodes_look, member)

const char *
page_look_lack(const struct nodes_look *look)
{
	return look->complete ? "" : stream_lack_text(page_lost(look),
	    look->loss.full, look->loss.doubt);
}

FIELD_GET(get_node_number, nodes_look, n, r->node.number, true)
FIELD_GET(get_look_pid, nodes_look, i, r->target.pid, r->target.pid > 0)
FIELD_GET_TEXT(get_look_state, nodes_look, page_look_state(r))
FIELD_GET(get_look_complete, nodes_look, n, r->complete && r->listed, true)
FIELD_GET(get_look_lost, nodes_look, n, page_lost(r) + r->loss.before_list,
    true)
FIELD_GET_TEXT(get_look_lack, nodes_look, page_look_lack(r))

static const struct field look_node[] = {
	{ .key = "number", .kind = FIELD_NODE, .get = get_node_number },
	{ .key = "name", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = LOOK(node.name) },
};
static const struct field_table look_node_table = FIELD_TABLE(look_node);

static const struct field look_process[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = LOOK(target.name) },
	{ .key = "pid", .kind = FIELD_SIGNED, .get = get_look_pid },
	{ .key = "state", .kind = FIELD_TEXT, .get = get_look_state },
	{ .key = "reason", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = LOOK(reason) },
	{ .key = "status", .kind = FIELD_OBJECT, .get = get_status,
	    .at = LOOK(target.status), .sub = &status_table },
	{ .key = "ended", .kind = FIELD_TIME, .get = field_i64_known,
	    .at = LOOK(target.ended_wall_ms) },
};
static const struct field_table look_process_table = FIELD_TABLE(look_process);

static const struct field look_target[] = {
	{ .key = "node", .kind = FIELD_OBJECT, .get = field_member,
	    .sub = &look_node_table },
	{ .key = "target", .kind = FIELD_OBJECT, .get = field_member,
	    .sub = &look_process_table },
};
const struct field_table page_look_target = FIELD_TABLE(look_target);

static const struct field look_modes[] = {
	{ .key = "armed", .kind = FIELD_TIME, .get = field_i64_known,
	    .at = LOOK(arming.since_wall_ms) },
	{ .key = "estimated", .kind = FIELD_BOOL, .get = get_estimated,
	    .at = LOOK(sample) },
	{ .key = "sample_period", .get = field_u64_known, .at = LOOK(sample) },
};
const struct field_table page_look_modes = FIELD_TABLE(look_modes);

/* By enum stream_cause; 0: lost by the keeper before this session. */
#define CAUSE(i) ((i) * sizeof(uint64_t))

static const struct field causes[STREAM_CAUSES] = {
	{ .key = "before", .get = field_u64, .at = CAUSE(0) },
	{ .key = "ring_full", .get = field_u64, .at = CAUSE(STREAM_RING_FULL) },
	{ .key = "overwritten", .get = field_u64,
	    .at = CAUSE(STREAM_OVERWRITTEN) },
	{ .key = "writer_died", .get = field_u64,
	    .at = CAUSE(STREAM_WRITER_DIED) },
	{ .key = "corrupt", .get = field_u64, .at = CAUSE(STREAM_CORRUPT) },
	{ .key = "restart", .get = field_u64, .at = CAUSE(STREAM_RESTART) },
	{ .key = "link", .get = field_u64, .at = CAUSE(STREAM_LINK) },
	{ .key = "sample_full", .get = field_u64,
	    .at = CAUSE(STREAM_SAMPLE_FULL) },
	{ .key = "other", .get = field_u64, .at = CAUSE(STREAM_OTHER) },
};
static const struct field_table cause_table = FIELD_TABLE(causes);

static const struct field look_loss[] = {
	{ .key = "complete", .kind = FIELD_BOOL, .get = get_look_complete },
	{ .key = "reason", .kind = FIELD_TEXT, .get = get_look_lack },
	{ .key = "lost", .get = get_look_lost },
	{ .key = "lost_by_cause", .kind = FIELD_OBJECT, .get = field_member,
	    .at = LOOK(loss.lost), .sub = &cause_table },
	{ .key = "mended", .get = field_u64, .at = LOOK(loss.mended) },
};
const struct field_table page_look_loss = FIELD_TABLE(look_loss);

#define COUNTS(member) .via = FIELD_VIA(page_counts_row, counts), \
	    .at = offsetof(struct blklist_counts, member)
#define SEEN(member) .via = FIELD_VIA(page_counts_row, look), \
	    .at = LOOK(member)

FIELD_GET(get_skipped, page_counts_row, n, r->look->keeper[WIRE_N_SKIPPED],
    r->look->keeper != NULL)

#define ERRORS(member) offsetof(struct nodes_errors, member)

static bool
get_error(const void *row, size_t at, struct field_value *v)
{
	const struct page_counts_row *r = row;
	struct nodes_errors errors = page_errors(r->look, r->counts);

	return field_u64(&errors, at, v);
}

static const struct field counts_fields[] = {
	{ .key = "aRecActive", .get = field_u32, COUNTS(aRecActive) },
	{ .key = "aRecMax", .get = field_u32, COUNTS(aRecMax) },
	{ .key = "live_bytes", .get = field_u64, COUNTS(live_bytes) },
	{ .key = "est_blocks", .get = field_u64, COUNTS(est_blocks) },
	{ .key = "est_bytes", .get = field_u64, COUNTS(est_bytes) },
	{ .key = "bad_records", .get = field_u64, SEEN(loss.bad_records) },
	{ .key = "duplicate", .get = get_error, .at = ERRORS(duplicate) },
	{ .key = "unknown_free", .get = get_error, .at = ERRORS(unknown_free) },
	{ .key = "earlier", .get = get_error, .at = ERRORS(earlier) },
	{ .key = "illegal_type", .get = get_error, .at = ERRORS(illegal_type) },
	{ .key = "full", .get = field_u64, SEEN(loss.full) },
	{ .key = "skipped_bytes", .get = get_skipped },
};
static const struct field_table counts_table = FIELD_TABLE(counts_fields);

FIELD_GET(get_keeper, page_counts_row, row, &r->look->keeper, true)

static const struct field page_counts[] = {
	{ .key = "counts", .kind = FIELD_OBJECT, .get = field_member,
	    .sub = &counts_table },
	{ .key = "keeper", .kind = FIELD_OBJECT, .get = get_keeper,
	    .sub = &page_keeper_counters },
};
const struct field_table page_counts_fields = FIELD_TABLE(page_counts);

#define ROW(member) offsetof(struct page_target_row, member)

FIELD_GET(get_pid, page_target_row, i, r->pid, r->pid > 0)

static bool
get_counted(const void *row, size_t at, struct field_value *v)
{
	const struct page_target_row *r = row;

	return get_counter(&r->n, at, v);
}

FIELD_GET(get_complete, page_target_row, n, r->complete, r->judged)

/* Losses of a dormant target are not known. */
static bool
get_loss(const void *row, size_t at, struct field_value *v)
{
	const struct page_target_row *r = row;

	return field_u64(row, at, v) && r->n != NULL;
}

static uint64_t
peak_of(const struct page_target_row *r)
{
	return r->n[r->sample != 0 ? WIRE_N_EST_PEAK_BYTES :
	    WIRE_N_PEAK_BYTES];
}

FIELD_GET(get_peak, page_target_row, n, peak_of(r), true)

static bool
get_logged(const void *row, size_t at, struct field_value *v)
{
	const struct page_target_row *r = row;

	return field_u64(row, at, v) && r->ms > 0;
}

static uint64_t
per_second(const struct page_target_row *r, uint64_t n)
{
	return r->ms > 0 ? (n * 1000 + (uint64_t)r->ms / 2) / (uint64_t)r->ms :
	    0;
}

static bool
get_rate(const void *row, size_t at, struct field_value *v)
{
	const struct page_target_row *r = row;

	field_u64(row, at, v);
	v->n = per_second(r, v->n);
	return r->ms > 0;
}

FIELD_GET(get_records_rate, page_target_row, n,
    per_second(r, r->allocs + r->frees), r->ms > 0)

static void
clock_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;
	time_t second = (time_t)(r->wall_ms / 1000);
	struct tm tm;

	if ((r->utc ? gmtime_r(&second, &tm) : localtime_r(&second, &tm)) ==
	    NULL || strftime(out, FIELD_CELL, "%H:%M:%S", &tm) == 0)
		out[0] = '\0';
}

static void
clock_ms_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;
	size_t len;

	clock_cell(row, out);
	len = strlen(out);
	base_append(out, FIELD_CELL, &len, ".%03d", (int)(r->wall_ms % 1000));
}

static void
pid_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;

	if (r->pid > 0)
		snprintf(out, FIELD_CELL, "pid:%lld", (long long)r->pid);
	else
		snprintf(out, FIELD_CELL, "-");
}

FIELD_PRINT(state_cell, page_target_row,
    "%s", r->state != NULL ? r->state : "?")

static void
digits_cell(const char *about, uint64_t n, char out[FIELD_CELL])
{
	char digits[32];

	base_group_digits(digits, sizeof digits, n);
	snprintf(out, FIELD_CELL, "%s%s", about, digits);
}

static void
bytes_cell(const char *about, uint64_t n, char out[FIELD_CELL])
{
	char bytes[32];

	base_human_bytes(bytes, sizeof bytes, n);
	snprintf(out, FIELD_CELL, "%s%s", about, bytes);
}

static bool
is_counted(const struct page_target_row *r)
{
	return r->n != NULL && r->judged;
}

static void
held_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;

	snprintf(out, FIELD_CELL, "-");
	if (is_counted(r))
		digits_cell(page_about(r->sample), r->n[WIRE_N_EST_BLOCKS],
		    out);
}

static void
held_bytes_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;

	snprintf(out, FIELD_CELL, "-");
	if (is_counted(r))
		bytes_cell(page_about(r->sample), r->n[WIRE_N_EST_BYTES],
		    out);
}

static void
peak_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;

	bytes_cell(page_about(r->sample), peak_of(r), out);
}

static void
state_and_complete_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;
	bool told = !r->live && r->state != NULL;

	snprintf(out, FIELD_CELL, "%s%s%s", told ? r->state : "",
	    told && !r->complete ? "  " : "", r->complete ? "" :
	    "INCOMPLETE");
}

FIELD_PRINT(full_cell, page_target_row,
    "%s", r->full > 0 ? ", the list was full" : "")

/* '?' marks a sum of processes that are not all known. */
static void
tree_bytes_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;

	out[0] = '\0';
	if (r->tree == NULL)
		return;
	bytes_cell(page_about(r->tree->sampled), r->tree->bytes, out);
	strcat(out, page_sum_is_complete(r->tree) ? " " : "?");
}

static void
tree_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_target_row *r = row;

	out[0] = '\0';
	if (r->tree != NULL)
		digits_cell(page_about(r->tree->sampled), r->tree->blocks, out);
}

FIELD_GET(get_sum_complete, nodes_sum, n, page_sum_is_complete(r), true)
FIELD_GET(get_starter, page_target_row, i, r->starter, r->starter > 0)

#define SUM(member) offsetof(struct nodes_sum, member)

static const struct field tree_fields[] = {
	{ .key = "processes", .get = field_u64, .at = SUM(processes) },
	{ .key = "blocks", .get = field_u64, .at = SUM(blocks) },
	{ .key = "bytes", .get = field_u64, .at = SUM(bytes) },
	{ .key = "sum_of_peaks", .get = field_u64, .at = SUM(peaks) },
	{ .key = "estimated", .kind = FIELD_BOOL, .get = field_flag,
	    .at = SUM(sampled) },
	{ .key = "complete", .kind = FIELD_BOOL, .get = get_sum_complete },
	{ .key = "incomplete", .get = field_u64, .at = SUM(incomplete) },
	{ .key = "without_data", .get = field_u64, .at = SUM(unknown) },
	{ .key = "ended", .get = field_u64, .at = SUM(ended) },
};
static const struct field_table tree_table = FIELD_TABLE(tree_fields);

#define LISTED PAGE_TARGET_LISTED
#define WATCHED PAGE_TARGET_WATCHED
#define MEASURED PAGE_TARGET_MEASURED

static const struct field targets[] = {
	{ .key = "time", .kind = FIELD_TIME, .get = field_i64,
	    .at = ROW(wall_ms), .subset = WATCHED,
	    .column = { .title = "TIME", .subset = PAGE_TARGET_SECONDS,
	    .width = 8, .cell = clock_cell } },
	{ .subset = PAGE_TARGET_MS, .column = { .title = "TIME", .width = 12,
	    .cell = clock_ms_cell } },
	{ .key = "pid", .kind = FIELD_SIGNED, .get = get_pid,
	    .subset = LISTED | WATCHED,
	    .column = { .title = "TARGET", .subset = LISTED, .width = 14,
	    .cell = pid_cell } },
	{ .key = "name", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(name), .subset = LISTED | WATCHED,
	    .column = { .title = "NAME", .subset = PAGE_TARGET_ALONE,
	    .gap = 1, .width = 16, .plain = true } },
	{ .kind = FIELD_TEXT, .get = field_pointer, .at = ROW(indented),
	    .subset = PAGE_TARGET_BRANCH,
	    .column = { .title = "NAME", .gap = 1, .width = 20,
	    .plain = true } },
	{ .key = "stream", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(stream), .subset = LISTED },
	{ .key = "node", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(node), .subset = LISTED },
	{ .key = "state", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(state), .subset = LISTED | WATCHED,
	    .column = { .title = "STATE", .subset = LISTED, .gap = 1,
	    .width = 8, .cell = state_cell } },
	{ .key = "reason", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(reason), .subset = LISTED },
	{ .kind = FIELD_TEXT, .get = field_pointer, .at = ROW(remarks),
	    .subset = LISTED,
	    .column = { .gap = 2, .place = 1, .plain = true } },
	{ .key = "status", .kind = FIELD_OBJECT, .get = get_status,
	    .at = ROW(status), .sub = &status_table, .subset = LISTED },
	{ .key = "armed", .kind = FIELD_TIME, .get = field_i64_known,
	    .at = ROW(armed_wall_ms), .subset = LISTED },
	/* A listed target has the period before its sums, a watched one after. */
	{ .key = "estimated", .kind = FIELD_BOOL, .get = get_estimated,
	    .at = ROW(sample), .subset = LISTED },
	{ .key = "sample_period", .get = field_u64_known, .at = ROW(sample),
	    .subset = LISTED },
	{ .key = "live_blocks", .get = get_counted, .at = WIRE_N_LIVE_BLOCKS,
	    .subset = LISTED | WATCHED },
	{ .key = "live_bytes", .get = get_counted, .at = WIRE_N_LIVE_BYTES,
	    .subset = LISTED | WATCHED },
	{ .key = "est_blocks", .get = get_counted, .at = WIRE_N_EST_BLOCKS,
	    .column = { .title = "BLOCKS", .gap = 1, .width = 12,
	    .right = true, .cell = held_cell },
	    .metric = { "est_blocks", "live_blocks", "gauge",
	    "Blocks that the target holds.", FIELD_ESTIMATE } },
	{ .key = "est_bytes", .get = get_counted, .at = WIRE_N_EST_BYTES,
	    .column = { .title = "BYTES", .subset = LISTED, .gap = 1,
	    .width = 12, .right = true, .cell = held_bytes_cell },
	    .metric = { "est_bytes", "live_bytes", "gauge",
	    "Bytes that it holds, as requested.", FIELD_ESTIMATE } },
	{ .subset = PAGE_TARGET_BRANCH,
	    .column = { .title = "TREE-BLOCKS", .gap = 1, .width = 11,
	    .right = true, .cell = tree_cell } },
	{ .subset = PAGE_TARGET_BRANCH,
	    .column = { .title = "TREE-BYTES", .gap = 1, .width = 11,
	    .right = true, .cell = tree_bytes_cell } },
	{ .subset = WATCHED,
	    .column = { .title = "BYTES", .gap = 1, .width = 11,
	    .right = true, .cell = held_bytes_cell } },
	{ .key = "peak_bytes", .get = get_counted, .at = WIRE_N_PEAK_BYTES,
	    .subset = WATCHED },
	{ .key = "est_peak_bytes", .get = get_counted,
	    .at = WIRE_N_EST_PEAK_BYTES, .subset = WATCHED },
	{ .key = "estimated", .kind = FIELD_BOOL, .get = get_estimated,
	    .at = ROW(sample), .subset = WATCHED },
	{ .key = "sample_period", .get = field_u64_known, .at = ROW(sample),
	    .subset = WATCHED },
	{ .key = "records", .get = get_counted, .at = WIRE_N_RECORDS,
	    .subset = LISTED | MEASURED,
	    .metric = { "records_total", NULL, "counter",
	    "Events that it has logged.", FIELD_SAMPLED } },
	{ .key = "interval_ms", .get = get_logged, .at = ROW(ms),
	    .subset = WATCHED },
	/* These are of the sample: there is no size to scale them by. */
	{ .key = "allocs", .get = get_logged, .at = ROW(allocs),
	    .subset = WATCHED,
	    .column = { .title = "ALLOCS", .sampled = "SMP-ALLOCS", .gap = 1,
	    .width = 10, .right = true, .plain = true } },
	{ .key = "frees", .get = get_logged, .at = ROW(frees),
	    .subset = WATCHED,
	    .column = { .title = "FREES", .sampled = "SMP-FREES", .gap = 1,
	    .width = 10, .right = true, .plain = true } },
	{ .get = get_records_rate, .subset = WATCHED,
	    .column = { .title = "REC/S", .sampled = "SMP-REC/S", .gap = 1,
	    .width = 10, .right = true, .plain = true } },
	{ .key = "allocs_per_second", .get = get_rate, .at = ROW(allocs),
	    .subset = WATCHED },
	{ .key = "frees_per_second", .get = get_rate, .at = ROW(frees),
	    .subset = WATCHED },
	{ .get = get_counted, .at = WIRE_N_ALLOCS, .subset = MEASURED,
	    .metric = { "allocs_total", NULL, "counter",
	    "Allocations that it has logged.", FIELD_SAMPLED } },
	{ .get = get_counted, .at = WIRE_N_FREES, .subset = MEASURED,
	    .metric = { "frees_total", NULL, "counter",
	    "Frees that it has logged.", FIELD_SAMPLED } },
	{ .get = get_counted, .at = WIRE_N_FAILED, .subset = MEASURED,
	    .metric = { "failed_total", NULL, "counter",
	    "Allocations that have failed.", FIELD_SAME } },
	{ .get = get_counted, .at = WIRE_N_UNKNOWN_FREE, .subset = MEASURED,
	    .metric = { "unknown_free_total", "unknown_frees_total", "counter",
	    "Frees of unknown addresses.", FIELD_SAMPLED } },
	{ .get = get_peak, .subset = WATCHED | MEASURED,
	    .column = { .title = "PEAK", .gap = 1, .width = 11,
	    .right = true, .cell = peak_cell },
	    .metric = { "est_peak_bytes", "peak_bytes", "gauge",
	    "Most bytes that it ever held.", FIELD_ESTIMATE } },
	/* The last field of a listed target in JSON. */
	{ .key = "complete", .kind = FIELD_BOOL, .get = get_complete,
	    .subset = LISTED, .rank = 1 },
	{ .key = "complete", .kind = FIELD_BOOL, .get = get_complete,
	    .subset = WATCHED,
	    .column = { .gap = 2, .brief = true, .place = 1,
	    .cell = state_and_complete_cell } },
	{ .key = "reason", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(reason), .subset = WATCHED },
	{ .key = "lost", .get = get_loss, .at = ROW(lost),
	    .column = { .title = "LOST", .subset = WATCHED, .gap = 1,
	    .width = 8, .right = true, .plain = true },
	    .metric = { "lost_total", "lost_records_total", "counter",
	    "Records that were lost on their way.", FIELD_SAMPLED } },
	{ .key = "full", .get = get_loss, .at = ROW(full),
	    .column = { .subset = WATCHED, .place = 1, .cell = full_cell },
	    .metric = { "full_total", "unlisted_blocks_total", "counter",
	    "Blocks that a full list had no room for.", FIELD_SAMPLED } },
	{ .get = get_complete, .subset = MEASURED,
	    .metric = { "complete", NULL, "gauge",
	    "1 while nothing is missing, else 0.", FIELD_SAME } },
	{ .get = field_u64, .at = ROW(sample), .subset = PAGE_TARGET_SAMPLED,
	    .metric = { "sample_period_bytes", NULL, "gauge",
	    "Mean bytes between samples: blocks and bytes are estimates.",
	    FIELD_SAME } },
	{ .key = "started_by", .kind = FIELD_SIGNED, .get = get_starter,
	    .subset = LISTED },
	{ .key = "started", .kind = FIELD_TIME, .get = field_i64_known,
	    .at = ROW(started_wall_ms), .subset = LISTED },
	{ .key = "tree", .kind = FIELD_OBJECT, .get = field_row,
	    .at = ROW(tree), .sub = &tree_table, .subset = LISTED },
	{ .key = "taken", .kind = FIELD_HEAD, .head = "time",
	    .subset = LISTED },
};
const struct field_table page_target_fields = FIELD_TABLE(targets);

static const char *
listed_reason(const struct nodes_target *t)
{
	const char *lack = stream_lack_text(t->n[WIRE_N_LOST],
	    t->n[WIRE_N_FULL], t->n[WIRE_N_UNSURE]);

	return lack[0] != '\0' && t->state != WIRE_S_CORRUPT &&
	    t->state != WIRE_S_NO_DATA ? lack : t->reason;
}

void
page_target_listed(const struct nodes_target *t, const char *node,
    struct page_target_row *row)
{
	bool dormant = t->state == WIRE_S_DORMANT;

	*row = (struct page_target_row){
		.pid = t->pid,
		.starter = t->starter,
		.started_wall_ms = t->started_ms,
		.name = t->comm,
		.stream = t->name,
		.node = node,
		.state = page_target_state(t->state),
		.reason = listed_reason(t),
		.status = t->status,
		.armed_wall_ms = (int64_t)t->n[WIRE_N_ARMED_MS],
		.sample = t->n[WIRE_N_SAMPLE],
		.n = dormant ? NULL : t->n,
		.judged = !dormant && t->state != WIRE_S_NO_DATA,
		.complete = page_target_is_complete(t),
		.lost = t->n[WIRE_N_LOST],
		.full = t->n[WIRE_N_FULL],
		.remarks = "",
	};
}
