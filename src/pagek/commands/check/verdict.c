#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../documents/documents.h"
#include "../../layout/fields.h"
#include "check.h"

static const char *const limits[] = {
	[BUDGET_LIVE] = "max-live",
	[BUDGET_BLOCKS] = "max-blocks",
	[BUDGET_GROWTH] = "max-growth",
	[BUDGET_AGE] = "max-age",
};

static const char *
verdict_name(enum check_verdict v)
{
	static const char *const names[] = {
		[CHECK_WITHIN] = "within",
		[CHECK_NOT_KNOWN] = "not known",
		[CHECK_EXCEEDED] = "exceeded",
	};

	return names[v];
}

#define AMOUNT 48

static const char *
amount(double n, bool bytes, bool exact, char out[AMOUNT])
{
	char text[32];
	uint64_t whole = (uint64_t)(fabs(n) + 0.5);

	if (bytes && !exact)
		base_human_bytes(text, sizeof text, whole);
	else
		base_group_digits(text, sizeof text, whole);
	snprintf(out, AMOUNT, "%s%s%s", n < 0 ? "-" : "", text,
	    bytes && exact ? " bytes" : "");
	return out;
}

/* As "50.0 MiB"; written out if both would read the same. */
static void
amounts(const struct finding *f, bool bytes, char most[AMOUNT],
    char was[AMOUNT])
{
	amount(f->most, bytes, false, most);
	amount(f->worst, bytes, false, was);
	if (!bytes || strcmp(most, was) != 0)
		return;
	amount(f->most, bytes, true, most);
	amount(f->worst, bytes, true, was);
}

static void
put_subject(FILE *out, const struct finding *f, const char *most)
{
	const struct budget *b = f->budget;
	char safe[4 * FILTER_MAX];

	fprintf(out, "pagek check: %s %s", limits[b->kind], most);
	if (b->kind == BUDGET_GROWTH) {
		fputs("/min", out);
	} else if (b->kind == BUDGET_AGE) {
		fprintf(out, " older than %.*s", (int)strcspn(b->text, ":"),
		    b->text);
	} else if (b->kind == BUDGET_BLOCKS && b->expression > 0) {
		base_safe_text(safe, sizeof safe, b->text, b->expression,
		    false);
		fprintf(out, " of %s", safe);
	}
	fputs(": ", out);
}

static void
put_when(FILE *out, const struct judge *j, const struct finding *f)
{
	char safe[4 * CHECK_NAME];

	if (f->at_ms >= 0)
		fprintf(out, " at %.1f s", (double)f->at_ms / 1000);
	if (j->processes > 1 && f->pid > 0) {
		base_safe_text(safe, sizeof safe, f->comm, strlen(f->comm),
		    false);
		fprintf(out, " by %s[%ld]", safe, (long)f->pid);
	}
}

static void
put_finding(FILE *out, const struct judge *j, const struct finding *f)
{
	bool bytes = f->budget->kind == BUDGET_LIVE ||
	    f->budget->kind == BUDGET_GROWTH;
	const char *about = page_about(j->sample_period);
	char most[AMOUNT], was[AMOUNT];

	amounts(f, bytes, most, was);
	put_subject(out, f, most);
	if (!f->seen) {
		fprintf(out, "not known: %s\n", f->why);
		return;
	}
	switch (f->budget->kind) {
	case BUDGET_LIVE:
		fprintf(out, "was %s%s", about, was);
		put_when(out, j, f);
		break;
	case BUDGET_GROWTH:
		fprintf(out, "was %s%s/min over %.1f s", about, was,
		    (double)j->ms / 1000);
		break;
	case BUDGET_BLOCKS:
	case BUDGET_AGE:
		fprintf(out, "were %s%s", about, was);
		put_when(out, j, f);
		break;
	}
	fprintf(out, ": %s%s%s\n", verdict_name(f->verdict),
	    f->verdict == CHECK_NOT_KNOWN ? ": " : "",
	    f->verdict == CHECK_NOT_KNOWN ? f->why : "");
}

static void
put_difference(FILE *out, const struct judge *j, const struct finding *f)
{
	char most[AMOUNT], was[AMOUNT], base[AMOUNT], safe[8 * CHECK_NAME];

	amounts(f, f->bytes, most, was);
	amount(f->base, f->bytes, false, base);
	base_safe_text(safe, sizeof safe, f->name, strlen(f->name),
	    j->o->page.ascii);
	fprintf(out, "pagek check: baseline %s%s%s: %s%s, of which the "
	    "baseline has %s and allows %s: exceeded\n", f->what,
	    safe[0] != '\0' ? " " : "", safe, was, f->bytes ? "" : " blocks",
	    base, most);
}

static void
put_baseline(FILE *out, const struct judge *j)
{
	char path[1024];

	if (j->o->check.baseline == NULL)
		return;
	base_safe_text(path, sizeof path, j->o->check.baseline,
	    strlen(j->o->check.baseline), j->o->page.ascii);
	for (size_t i = 0; i < j->baseline.rows; i++)
		put_difference(out, j, &j->baseline.row[i]);
	if (j->baseline.why[0] != '\0')
		fprintf(out, "pagek check: baseline %s: not known%s: %s\n",
		    path, j->baseline.state == BASELINE_COMPARED ? "" :
		    ", and not written", j->baseline.why);
	else if (j->baseline.state == BASELINE_SAVED)
		fprintf(out, "pagek check: baseline %s: written\n", path);
	else if (j->baseline.rows == 0)
		fprintf(out, "pagek check: baseline %s: %s sums compared: "
		    "within\n", path, base_digits(j->baseline.compared).text);
}

static void
put_text(FILE *out, const struct judge *j, const struct nodes_look *look)
{
	char target[PAGE_TARGET_TEXT], safe[4 * PAGE_TARGET_TEXT];

	for (unsigned i = 0; i < j->findings; i++)
		put_finding(out, j, &j->finding[i]);
	put_baseline(out, j);
	page_target_text(look, target);
	base_safe_text(safe, sizeof safe, target, strlen(target),
	    j->o->page.ascii);
	fprintf(out, "pagek check: %s%s%s, judged for %.1f s%s\n", safe,
	    safe[0] != '\0' ? ": " : "", verdict_name(j->verdict),
	    (double)j->ms / 1000, j->complete || !j->watched ? "" :
	    ", INCOMPLETE");
	if (j->advised.pid == 0)
		return;
	base_safe_text(safe, sizeof safe, j->advised.comm,
	    strlen(j->advised.comm), j->o->page.ascii);
	fprintf(out, "pagek check: %s[%ld] was ended by %s\n", safe,
	    (long)j->advised.pid, nodes_death_advice(j->advised.status));
}

struct limit_row {
	const struct finding *f;
	const char *file;		/* of the baseline */
};

#define FINDING(member) .via = FIELD_VIA(limit_row, f), \
	    .at = offsetof(struct finding, member)

FIELD_GET(get_limit, limit_row, text,
    r->f->budget != NULL ? limits[r->f->budget->kind] : "baseline", true)
FIELD_GET_TEXT(get_given, limit_row,
    r->f->budget != NULL ? r->f->budget->text : r->file)

static bool
get_unit(const void *row, size_t at, struct field_value *v)
{
	const struct limit_row *r = row;
	const struct budget *b = r->f->budget;
	bool bytes = b != NULL ? b->kind == BUDGET_LIVE : r->f->bytes;

	(void)at;
	v->text = b != NULL && b->kind == BUDGET_GROWTH ? "bytes/min" :
	    bytes ? "bytes" : "blocks";
	return true;
}

static int64_t
rounded(double n)
{
	return (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
}

FIELD_GET(get_baseline, limit_row, i, rounded(r->f->base),
    r->f->budget == NULL && r->f->seen)
FIELD_GET(get_most, limit_row, i, rounded(r->f->most),
    r->f->budget != NULL || r->f->seen)
FIELD_GET(get_was, limit_row, i, rounded(r->f->worst), r->f->seen)
FIELD_GET(get_at, limit_row, i, r->f->at_ms, r->f->seen && r->f->at_ms >= 0)
FIELD_GET(get_exceeded_at, limit_row, i, r->f->over_ms, r->f->over_ms >= 0)
FIELD_GET(get_pid, limit_row, i, r->f->pid, r->f->pid > 0)
FIELD_GET(get_verdict, limit_row, text, verdict_name(r->f->verdict),
    true)

FIELD_GET_TEXT(get_reason, limit_row,
    r->f->verdict == CHECK_NOT_KNOWN ? r->f->why : NULL)

static const struct field limit_fields[] = {
	{ .key = "limit", .kind = FIELD_TEXT, .get = get_limit },
	{ .key = "given", .kind = FIELD_TEXT, .get = get_given },
	{ .key = "what", .kind = FIELD_TEXT, .get = field_pointer,
	    FINDING(what) },
	{ .key = "of", .kind = FIELD_TEXT, .get = field_array,
	    FINDING(name) },
	{ .key = "unit", .kind = FIELD_TEXT, .get = get_unit },
	{ .key = "baseline", .kind = FIELD_SIGNED, .get = get_baseline },
	{ .key = "most", .kind = FIELD_SIGNED, .get = get_most },
	{ .key = "was", .kind = FIELD_SIGNED, .get = get_was },
	{ .key = "at_ms", .kind = FIELD_SIGNED, .get = get_at },
	{ .key = "exceeded_at_ms", .kind = FIELD_SIGNED,
	    .get = get_exceeded_at },
	{ .key = "pid", .kind = FIELD_SIGNED, .get = get_pid },
	{ .key = "name", .kind = FIELD_TEXT, .get = field_array,
	    FINDING(comm) },
	{ .key = "verdict", .kind = FIELD_TEXT, .get = get_verdict },
	{ .key = "reason", .kind = FIELD_TEXT, .get = get_reason },
	FIELD_LOSS_COLUMNS,
};
static const struct field_table limit_table = FIELD_TABLE(limit_fields);

static void
put_row(struct json *j, const struct finding *f, const char *file)
{
	struct limit_row row = { .f = f, .file = file };

	json_row(j, &row, 0);
}

static void
put_baseline_head(struct json *j, const struct judge *judge)
{
	static const char *const words[] = {
		[BASELINE_NONE] = NULL,
		[BASELINE_SAVED] = "written",
		[BASELINE_COMPARED] = "compared",
	};

	json_text(j, "baseline", judge->o->check.baseline);
	json_text(j, "baseline_was", words[judge->baseline.state]);
	json_text(j, "baseline_reason", or_null(judge->baseline.why));
}

static void
put_baseline_rows(struct json *j, const struct judge *judge)
{
	struct finding all = { .what = "all", .over_ms = -1 };

	if (judge->o->check.baseline == NULL)
		return;
	all.verdict = judge->baseline.rows > 0 ? CHECK_EXCEEDED :
	    judge->baseline.why[0] != '\0' ? CHECK_NOT_KNOWN : CHECK_WITHIN;
	snprintf(all.why, sizeof all.why, "%s", judge->baseline.why);
	put_row(j, &all, judge->o->check.baseline);
	for (size_t i = 0; i < judge->baseline.rows; i++)
		put_row(j, &judge->baseline.row[i], judge->o->check.baseline);
}

static void
put_data(FILE *out, const struct judge *judge, const struct nodes_look *look,
    int status)
{
	struct json j;

	json_open(&j, out, judge->o);
	json_document(&j, "pagek.check/1", &limit_table, 0);
	json_time(&j, "time", base_wall_ms());
	json_put(&j, &page_look_target, look);
	json_put(&j, &page_look_modes, look);
	json_text(&j, "verdict", verdict_name(judge->verdict));
	json_signed(&j, "exit", status);
	json_signed(&j, "judged_ms", judge->ms);
	json_number(&j, "looks", judge->looks);
	json_known(&j, "processes", judge->o->argv != NULL, judge->processes);
	json_known(&j, "unwatched", judge->o->argv != NULL, judge->unwatched);
	json_bool(&j, "complete", judge->complete);
	json_number(&j, "lost", judge->lost);
	json_number(&j, "full", judge->full);
	put_baseline_head(&j, judge);
	json_rows(&j, "limits");
	for (unsigned i = 0; i < judge->findings; i++)
		put_row(&j, &judge->finding[i], NULL);
	put_baseline_rows(&j, judge);
	json_rows_end(&j);
	json_end(&j);
}

void
check_report(FILE *out, const struct judge *j, const struct nodes_look *look,
    int status)
{
	if (options_as_data(j->o))
		put_data(out, j, look, status);
	else
		put_text(out, j, look);
}
