#include <inttypes.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../documents/documents.h"
#include "dumps.h"

static void
put_size(FILE *out, uint64_t bytes)
{
	fprintf(out, "%" PRIu64 "K (%" PRIu64 " bytes)", bytes / 1024, bytes);
}

static void
put_heap(FILE *out, const struct dump *d, const struct dump_totals *t)
{
	char lo[ADDRESS_TEXT], hi[ADDRESS_TEXT];

	for (size_t i = 0; i < d->nheap; i++) {
		address_text(lo, d, d->heap[i].lo);
		address_text(hi, d, d->heap[i].hi - 1);
		fprintf(out, "%-10s: %s to %s, size ", i == 0 ? "Heap" : "", lo,
		    hi);
		put_size(out, d->heap[i].hi - d->heap[i].lo);
		fputc('\n', out);
	}
	if (d->nheap == 0)
		fputs("Heap      : not known\n", out);
	if (t->mapped == 0)
		return;
	fputs("          : ", out);
	put_size(out, t->mapped_bytes);
	fprintf(out, " in %" PRIu64 " blocks outside of it\n", t->mapped);
}

static void
put_sums(FILE *out, const struct dump *d, const struct dump_totals *t)
{
	uint64_t overhead = t->actual - t->bytes;

	fprintf(out, "History   : %" PRIu64 " memory allocations, %" PRIu64
	    " frees\nCurrent   : ", d->counts.allocs, d->counts.frees);
	put_size(out, t->bytes);
	fprintf(out, " used in %" PRIu64 " allocations\n", t->blocks);
	if (d->source.options & MDD_OPT_ACTUAL_SIZE) {
		fputs("Actual    : approximately ", out);
		put_size(out, t->actual);
		fputs("\nOverhead  : approximately ", out);
		put_size(out, overhead);
		fprintf(out, ", %" PRIu64 "%%\n", t->actual == 0 ? 0 :
		    (uint64_t)(100.0 * (double)overhead / (double)t->actual));
	}
	if (d->source.live)
		return;
	fputs("Debugdata : approximately ", out);
	put_size(out, d->counts.static_bytes);
	fputs(" static, ", out);
	put_size(out, d->counts.dynamic_bytes);
	fputs(" dynamic\n          : (debug data is in addition to other "
	    "overheads)\n", out);
}

/* The most frequent first, ties by number. */
static void
put_allocators(FILE *out, const struct dump_totals *t)
{
	uint64_t left[DUMP_FUNCTIONS];

	memcpy(left, t->by_function, sizeof left);
	fputs("Allocators:\n", out);
	for (;;) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < DUMP_FUNCTIONS; i++)
			if (left[i] > left[most])
				most = i;
		if (left[most] == 0)
			return;
		fprintf(out, "            %s %" PRIu64 "\n",
		    dump_function(most), left[most]);
		left[most] = 0;
	}
}

/* A node numbers the threads that a fork has inherited from the highest down. */
static bool
is_thread(const struct dump *d, const struct dump_thread *t)
{
	return !d->source.live || t->name[0] != '\0';
}

static void
put_threads(FILE *out, const struct dump *d)
{
	char handle[ADDRESS_TEXT], name[4 * MDD_NAME + 1];

	if ((d->source.options & MDD_OPT_THREAD) == 0)
		return;
	fputs("Threads   :\n", out);
	for (size_t i = 0; i < d->nthreads; i++) {
		const struct dump_thread *th = &d->thread[i];

		if (!is_thread(d, th))
			continue;
		address_text(handle, d, th->handle);
		base_safe_text(name, sizeof name, th->name, strlen(th->name),
		    false);
		/* A live target's node does not know handles. */
		fprintf(out, "%9zu : handle %s, %s\n", i + 1, d->source.live ?
		    "unknown" : handle, name);
	}
}

static const char *
able(const struct dump *d, unsigned option)
{
	return d->source.options & option ? "enabled" : "disabled";
}

static void
put_options(FILE *out, const struct dump *d)
{
	fprintf(out, "Options   : actual_size %s, time stamps %s, thread info "
	    "%s\n          : backtrace %s", able(d, MDD_OPT_ACTUAL_SIZE),
	    able(d, MDD_OPT_TIMESTAMP), able(d, MDD_OPT_THREAD),
	    able(d, MDD_OPT_BACKTRACE));
	if (d->source.options & MDD_OPT_BACKTRACE)
		fprintf(out, ", %u levels", d->source.levels);
	fprintf(out, "\n          : history %s", able(d, MDD_OPT_HISTORY));
	if (d->source.options & MDD_OPT_HISTORY)
		fprintf(out, ", %" PRIu32 " records max",
		    d->source.history_records);
	fputc('\n', out);
}

/* Counters that are 0 in a sound dump.  A full history is normal. */
static void
put_losses(FILE *out, const struct dump *d)
{
	const struct dump_counts *n = &d->counts;
	const struct {
		uint64_t n;
		const char *what;
	} losses[] = {
		{ n->missed, "events are missing" },
		{ n->unknown, "frees of blocks that were not listed" },
		{ n->replaced, "blocks were replaced at their address" },
		{ n->pending, "events waited to be recorded" },
		{ n->in_flight, "records were being updated" },
	};
	bool first = true;

	for (size_t i = 0; i < BASE_NELEM(losses); i++)
		if (losses[i].n > 0) {
			fprintf(out, "%-10s: %" PRIu64 " %s\n", first ?
			    "Losses" : "", losses[i].n, losses[i].what);
			first = false;
		}
}

static const struct capture_image *
shown_image(const struct subject *s)
{
	for (size_t i = 0; i < s->images; i++)
		if (s->image[i].shown)
			return &s->image[i];
	return NULL;
}

/* For a ring, whose totals also count the events that it has dropped. */
static void
put_dropped(FILE *out, const struct subject *s)
{
	const struct capture_image *m = shown_image(s);

	if (m == NULL || m->dropped == 0)
		return;
	fprintf(out, "Ring      : %" PRIu64 " older events were dropped; the "
	    "blocks of each moment %s%s\n", m->dropped, m->known[0] != '\0' ?
	    "are known since " : "are not known", m->known);
}

static void
put_images(FILE *out, const struct subject *s)
{
	char name[4 * sizeof s->image->name + 1];

	if (s->images < 2)
		return;
	fputs("Images    :\n", out);
	for (size_t i = 0; i < s->images; i++) {
		const struct capture_image *m = &s->image[i];

		base_safe_text(name, sizeof name, m->name, strlen(m->name),
		    false);
		fprintf(out, "%9" PRIu32 " : process %" PRId64 ", %" PRIu64
		    " events, %s%s\n", m->part, m->pid, m->events, name,
		    m->shown ? " (shown)" : "");
	}
}

static void
print_stats(FILE *out, const struct subject *s, const struct dump_totals *t)
{
	const struct dump *d = &s->dump[0];
	char name[1024];

	base_safe_text(name, sizeof name, d->name, strlen(d->name), false);
	fprintf(out, "%s: statistics\n", name);
	if (!d->source.known)
		return;
	/* A live target's node knows neither heap nor costs. */
	if (!d->source.live)
		put_heap(out, d, t);
	put_sums(out, d, t);
	put_allocators(out, t);
	put_threads(out, d);
	put_options(out, d);
	put_losses(out, d);
	put_dropped(out, s);
	put_images(out, s);
}

FIELD_GET(get_number, dump_thread, n, r->number, r->number != 0)

static const struct field thread_fields[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_array,
	    .at = offsetof(struct dump_thread, name) },
	{ .key = "handle", .kind = FIELD_HEX, .get = field_u64,
	    .at = offsetof(struct dump_thread, handle) },
	{ .key = "tid", .get = get_number },
	{ .key = "ended", .kind = FIELD_BOOL, .get = field_flag,
	    .at = offsetof(struct dump_thread, ended) },
};
static const struct field_table thread_table = FIELD_TABLE(thread_fields);

static void
put_numbers(struct json *j, const struct dump *d, const struct dump_totals *t)
{
	const struct dump_source *s = &d->source;
	const struct dump_counts *n = &d->counts;
	bool actual = (s->options & MDD_OPT_ACTUAL_SIZE) != 0;

	json_text(j, "dump", d->name);
	json_text(j, "program", or_null(d->info.program));
	json_text(j, "dumped", or_null(d->info.time));
	/* A capture knows what its damage has cost before this moment. */
	json_bool(j, "complete", n->missed == 0 && (s->live ||
	    d->nproblems == 0));
	json_known(j, "allocations", s->known, n->allocs);
	json_known(j, "frees", s->known, n->frees);
	json_number(j, "current_blocks", t->blocks);
	json_number(j, "current_bytes", t->bytes);
	json_known(j, "actual_bytes", actual, t->actual);
	json_known(j, "overhead_bytes", actual, t->actual - t->bytes);
	json_known(j, "static_bytes", s->known && !s->live, n->static_bytes);
	json_known(j, "dynamic_bytes", s->known && !s->live, n->dynamic_bytes);
	json_known(j, "missed", s->known, n->missed);
	json_known(j, "unknown_frees", s->known, n->unknown);
	json_known(j, "replaced", s->known, n->replaced);
	json_known(j, "pending", s->known, n->pending);
	json_known(j, "in_change", s->known, n->in_flight);
}

static void
put_parts(struct json *j, const struct dump *d, const struct dump_totals *t)
{
	const struct dump_source *s = &d->source;

	json_begin(j, "heap", '[', false);
	for (size_t i = 0; i < d->nheap; i++) {
		json_begin(j, NULL, '{', false);
		json_number(j, "address", d->heap[i].lo);
		json_number(j, "size", d->heap[i].hi - d->heap[i].lo);
		json_end(j);
	}
	json_end(j);
	json_begin(j, "allocators", '{', false);
	for (uint32_t i = 0; i < DUMP_FUNCTIONS; i++)
		if (t->by_function[i] > 0)
			json_number(j, dump_function(i), t->by_function[i]);
	json_end(j);
	json_begin(j, "options", '{', false);
	json_bool(j, "actual_size", (s->options & MDD_OPT_ACTUAL_SIZE) != 0);
	json_bool(j, "timestamp", (s->options & MDD_OPT_TIMESTAMP) != 0);
	json_bool(j, "thread", (s->options & MDD_OPT_THREAD) != 0);
	json_number(j, "backtrace", s->levels);
	json_number(j, "history", s->options & MDD_OPT_HISTORY ?
	    s->history_records : 0);
	json_end(j);
}

static void
put_captured(struct json *j, const struct subject *s)
{
	json_begin(j, "images", '[', false);
	for (size_t i = 0; i < s->images; i++) {
		const struct capture_image *m = &s->image[i];

		json_begin(j, NULL, '{', false);
		json_number(j, "part", m->part);
		json_number(j, "pid", (uint64_t)m->pid);
		json_text(j, "name", m->name);
		json_number(j, "events", m->events);
		json_number(j, "dropped", m->dropped);
		json_text(j, "known_since", or_null(m->known));
		json_bool(j, "shown", m->shown);
		json_end(j);
	}
	json_end(j);
}

static void
write_stats(FILE *out, const struct options *o, const struct subject *s,
    const struct dump_totals *t)
{
	const struct dump *d = &s->dump[0];
	struct json j;

	json_open(&j, out, o);
	json_document(&j, "pagek.stats/1", &thread_table, 0);
	put_numbers(&j, d, t);
	put_parts(&j, d, t);
	put_captured(&j, s);
	json_rows(&j, "threads");
	for (size_t i = 0; i < d->nthreads; i++)
		if (is_thread(d, &d->thread[i]))
			json_row(&j, &d->thread[i], 0);
	json_rows_end(&j);
	json_end(&j);
}

static int
put_stats(const struct options *o, const struct subject *s)
{
	const struct dump *d = &s->dump[0];
	FILE *out = output_open(o->output);
	struct dump_totals totals;
	int status;

	if (out == NULL)
		return PAGEK_FAILED;
	dump_sum(d, &totals);
	if (options_as_data(o))
		write_stats(out, o, s, &totals);
	else
		print_stats(out, s, &totals);
	status = output_close(out, o->output, PAGEK_OK);
	return status == PAGEK_OK ? subject_report(s) : status;
}

static int
run_live(const struct options *o, uv_loop_t *loop, struct nodes_session *session)
{
	struct callers *callers = NULL;
	struct subject s;
	int status, e = subject_open_live(&s, 1);

	if (e == 0)
		e = callers_new_live(&callers, &s, 1, o);
	if (e == 0)
		e = live_dump(o, loop, session, &s, callers);
	if (e < 0)
		complain("cannot read the target: %s", strerror(-e));
	status = e < 0 ? PAGEK_FAILED : put_stats(o, &s);
	callers_free(callers);
	subject_close(&s);
	batch_report_end(nodes_session_look(session));
	return status != PAGEK_OK ? status :
	    batch_status(o, nodes_session_look(session));
}

int
cmd_stats_check(struct parse *p)
{
	return captures_check(p);
}

int
cmd_stats(const struct options *o, uv_loop_t *loop)
{
	struct subject s;
	int status;

	if (o->target_given)
		return batch_watch(o, loop, run_live);
	status = subject_open(&s, o, 1, 1);
	if (status == PAGEK_OK)
		status = put_stats(o, &s);
	subject_close(&s);
	return status;
}
