#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../base/base.h"
#include "../../../capture/moment.h"
#include "../../../stress/stress.h"
#include "../../batch/batch.h"
#include "../../cli/capture_target.h"
#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "../../debugdata/debugdata.h"
#include "../../documents/documents.h"
#include "../../stress/stress.h"
#include "stress.h"

#define CANNOT_RUN 126
#define NOT_FOUND 127

/* The counts between two samples, or all of one sample, since the boot. */
struct spent {
	const struct options *o;
	const char *kernel;
	const char *why;		/* stress_why() */
	const char *node;		/* that reads the counts; "" none */
	const char *group;		/* the control group of the charge */
	int64_t wall_ms;		/* of its end */
	int64_t ms;			/* how long; -1: since the boot, or not known */
	bool changed;			/* the source changed within it */
	struct stress_sample s;		/* numbers are those that were spent */
};

static bool
get_level(const void *row, size_t at, struct field_value *v)
{
	const struct stress_sample *s = &((const struct spent *)row)->s;

	v->n = s->level[at];
	return s->known[at];
}

static bool
get_exactness(const void *row, size_t at, struct field_value *v)
{
	v->text = stress_truths[stress_truth(&((const struct spent *)row)->s, at)];
	return true;
}

FIELD_GET(get_time, spent, i, r->wall_ms, true)
FIELD_GET(get_seconds, spent, share, (double)r->ms / 1000, r->ms >= 0)
FIELD_GET_TEXT(get_source, spent, stress_sources[r->s.source].name)
FIELD_GET_TEXT(get_kernel, spent, r->kernel)
FIELD_GET_TEXT(get_why, spent, r->why)
FIELD_GET_TEXT(get_node, spent, r->node)
FIELD_GET(get_requests, spent, n, r->s.requests, r->s.requests_known)
FIELD_GET(get_some, spent, n, r->s.some_us, r->s.pressure_known)
FIELD_GET(get_full, spent, n, r->s.full_us, r->s.pressure_known)
FIELD_GET(get_kswapd, spent, n, r->s.kswapd_runs > 0,
    r->s.kswapd_known && r->ms >= 0)
FIELD_GET(get_stolen, spent, n, r->s.stolen, r->s.source == STRESS_FILE)
FIELD_GET(get_missed, spent, n, r->s.missed,
    r->s.source == STRESS_FILE || r->s.source == STRESS_EBPF)
FIELD_GET(get_changed, spent, n, r->changed, true)
FIELD_GET(get_limit_kills, spent, n, r->s.limit_kills,
    r->s.source == STRESS_EVENTS || r->s.source == STRESS_VMSTAT)
FIELD_GET(get_failed, spent, n, r->s.failed[at], r->s.split_known)
FIELD_GET(get_charge, spent, n, r->s.charge.n[at], r->s.charge.known[at])
FIELD_GET_TEXT(get_group, spent, or_null(r->group))

void
stress_clock_text(int64_t wall_ms, bool utc, char out[FIELD_CELL])
{
	time_t t = (time_t)(wall_ms / 1000);
	struct tm tm;

	out[0] = '\0';
	if ((utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)) != NULL)
		strftime(out, FIELD_CELL, "%H:%M:%S", &tm);
}

static void
clock_cell(const void *row, char out[FIELD_CELL])
{
	const struct spent *r = row;

	stress_clock_text(r->wall_ms, r->o->page.utc, out);
}

#define CELL(n) \
	static void \
	cell_##n(const void *row, char out[FIELD_CELL]) \
	{ \
		stress_count_text(&((const struct spent *)row)->s, (n) - 1, \
		    out); \
	}

CELL(1) CELL(2) CELL(3) CELL(4) CELL(5) CELL(6)

#define COLUMN(name, cols) \
	{ .plain = true, .title = (name), .gap = 1, .width = (cols), .right = true }
#define LEVEL(n, cols) \
	{ .key = "level_" #n, .kind = FIELD_NUMBER, .get = get_level, .at = (n) - 1, \
	    .column = { .title = "LEVEL" #n, .gap = 1, .width = (cols), \
	    .right = true, .cell = cell_##n } }, \
	{ .key = "exactness_" #n, .kind = FIELD_TEXT, .get = get_exactness, \
	    .at = (n) - 1 }

#define FAILED(at_, key_) { .key = (key_), .kind = FIELD_NUMBER, .get = get_failed, \
	.at = (at_) }
#define CHARGE(at_, key_) { .key = (key_), .kind = FIELD_NUMBER, .get = get_charge, \
	.at = (at_) }

static const struct field sample_fields[] = {
	{ .key = "time", .kind = FIELD_TIME, .get = get_time,
	    .column = { .title = "TIME", .width = 8, .cell = clock_cell } },
	{ .key = "seconds", .kind = FIELD_SHARE, .get = get_seconds },
	{ .key = "kernel", .kind = FIELD_TEXT, .get = get_kernel },
	{ .key = "source", .kind = FIELD_TEXT, .get = get_source },
	LEVEL(1, 13), LEVEL(2, 9), LEVEL(3, 8), LEVEL(4, 8), LEVEL(5, 6),
	LEVEL(6, 6),
	{ .key = "requests", .kind = FIELD_NUMBER, .get = get_requests },
	{ .key = "some_us", .kind = FIELD_NUMBER, .get = get_some,
	    .unit = FIELD_MICROSECONDS, .column = COLUMN("SOME us", 10) },
	{ .key = "full_us", .kind = FIELD_NUMBER, .get = get_full,
	    .unit = FIELD_MICROSECONDS, .column = COLUMN("FULL us", 10) },
	{ .key = "kswapd_ran", .kind = FIELD_BOOL, .get = get_kswapd },
	{ .key = "taken_by_others", .kind = FIELD_NUMBER, .get = get_stolen },
	{ .key = "missed", .kind = FIELD_NUMBER, .get = get_missed },
	{ .key = "source_changed", .kind = FIELD_BOOL, .get = get_changed },
	{ .key = "node", .kind = FIELD_TEXT, .get = get_node },
	{ .key = "why", .kind = FIELD_TEXT, .get = get_why },
	FAILED(STRESS_FAILED, "failed"),
	FAILED(STRESS_FAILED_LARGE, "failed_large"),
	FAILED(STRESS_FAILED_NO_WAIT, "failed_no_wait"),
	FAILED(STRESS_FAILED_NO_WAIT_LARGE, "failed_no_wait_large"),
	{ .key = "limit_kills", .kind = FIELD_NUMBER, .get = get_limit_kills },
	{ .key = "charge_group", .kind = FIELD_TEXT, .get = get_group },
	CHARGE(STRESS_CHARGE_HIGH, "charge_high"),
	CHARGE(STRESS_CHARGE_MAX, "charge_max"),
	CHARGE(STRESS_CHARGE_FAILCNT, "charge_failcnt"),
	CHARGE(STRESS_CHARGE_OOM, "charge_oom"),
	CHARGE(STRESS_CHARGE_OOM_KILL, "charge_oom_kill"),
	CHARGE(STRESS_CHARGE_SCANNED, "charge_pgscan_direct"),
	CHARGE(STRESS_CHARGE_STOLEN, "charge_pgsteal_direct"),
	CHARGE(STRESS_CHARGE_SOME, "charge_some_us"),
	CHARGE(STRESS_CHARGE_FULL, "charge_full_us"),
};
static const struct field_table samples = FIELD_TABLE(sample_fields);

FIELD_PRINT(name_cell, stress_level_row, "%s", r->name)
FIELD_PRINT(count_cell, stress_level_row, "%s", r->count)
FIELD_PRINT(share_cell, stress_level_row, "%s", r->share)
FIELD_PRINT(meaning_cell, stress_level_row, "%s", r->meaning)

static const struct field level_fields[] = {
	{ .column = { .title = "LEVEL", .width = 23, .cell = name_cell } },
	{ .column = { .title = "COUNT", .width = 15, .right = true, .gap = 1,
	    .cell = count_cell } },
	{ .column = { .title = "SHARE", .width = 6, .right = true, .gap = 1,
	    .cell = share_cell } },
	{ .column = { .title = "MEANING", .gap = 2, .cell = meaning_cell } },
};
static const struct field_table levels = FIELD_TABLE(level_fields);

void
stress_put_levels(FILE *out, const struct options *o,
    const struct stress_level_row *row, size_t n)
{
	struct output_table t = { .out = out, .fields = &levels,
		.ascii = o->page.ascii };

	for (size_t i = 0; i < n; i++)
		output_measure(&t, &row[i]);
	output_fit(&t, batch_terminal_columns(out));
	output_heading(&t);
	for (size_t i = 0; i < n; i++)
		output_row(&t, &row[i]);
}

/* The requests that are counted; "": all. */
static const char *
scope(const struct options *o)
{
	return o->stress.only == NULL ? "" : o->argv != NULL ? " of the command" :
	    " of the process";
}

static void
put_period(FILE *out, const struct spent *p)
{
	if (p->ms >= 0)
		fprintf(out, "  %.1f s\n", (double)p->ms / 1000);
	else if (p->s.source == STRESS_NONE)
		fputc('\n', out);
	else if (p->s.source == STRESS_EVENTS || p->s.source == STRESS_EBPF)
		fputs("  since the node opened its counters\n", out);
	else
		fprintf(out, "  %s\n", stress_sources[p->s.source].since_boot &&
		    p->s.changes == 0 ? "since boot" : p->node[0] != '\0' ?
		    "since the node reads it" : "since the file was last read");
}

static void
put_doubts(FILE *out, const struct spent *p)
{
	const struct page_stress_spent spent = { .s = p->s, .changed = p->changed };
	char text[STRESS_TEXT];
	size_t at = 0;

	while (stress_doubt(&spent, &at, text))
		fprintf(out, "%s\n", text);
}

static void
put_line_of(FILE *out, const char *text)
{
	if (text[0] != '\0')
		fprintf(out, "%s\n", text);
}

static void
put_charge(FILE *out, const struct spent *p)
{
	char text[STRESS_GROUP + 512], kills[STRESS_TEXT];
	bool any;

	stress_charge_text(&p->s, p->group, p->o->page.ascii, text, sizeof text,
	    &any);
	stress_kills_text(&p->s, kills);
	put_line_of(out, text);
	put_line_of(out, kills);
}

static void
put_notes(FILE *out, const struct spent *p)
{
	const struct stress_sample *s = &p->s;
	const char *legend = stress_legend(s);
	char failures[512];

	stress_failures_text(s, failures, sizeof failures);
	put_line_of(out, failures);
	if (s->pressure_known)
		fprintf(out, "waited for memory: at least one task %s us, all tasks %s us\n",
		    base_digits(s->some_us).text, base_digits(s->full_us).text);
	if (legend != NULL)
		fprintf(out, "%s\n", legend);
	put_charge(out, p);
	if (stress_watch_ratio(s))
		fputs("level 2 is above a tenth of level 1: kswapd may not keep up\n",
		    out);
	put_doubts(out, p);
	if (p->node[0] != '\0')
		fprintf(out, "read by the node %s\n", base_shown(p->node));
	if (p->why[0] != '\0')
		fprintf(out, "%s\n", p->why);
}

static void
put_levels(FILE *out, const struct spent *p)
{
	struct stress_level_row row[STRESS_LEVELS];

	for (unsigned i = 0; i < STRESS_LEVELS; i++) {
		snprintf(row[i].name, sizeof row[i].name, "%u %s", i + 1,
		    stress_levels[i].name);
		row[i].meaning = stress_levels[i].meaning;
		stress_count_text(&p->s, i, row[i].count);
		stress_share_text(&p->s, i, row[i].share);
	}
	fprintf(out, "HEAP STRESS%s  %s  %s", scope(p->o), p->kernel,
	    stress_sources[p->s.source].text);
	put_period(out, p);
	stress_put_levels(out, p->o, row, STRESS_LEVELS);
	put_notes(out, p);
}

static void
put_line(FILE *out, const struct spent *p)
{
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (p->s.known[i])
			fprintf(out, "%s%" PRIu64, i > 0 ? " " : "",
			    p->s.level[i]);
		else
			fprintf(out, "%sn/a", i > 0 ? " " : "");
	fputc('\n', out);
}

static void
put_label(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "",
		    *text);
}

static void
put_metrics(FILE *out, const struct spent *p)
{
	const struct stress_sample *s = &p->s;

	fputs("# HELP pagek_stress_info The kernel and the source of the counts.\n"
	    "# TYPE pagek_stress_info gauge\npagek_stress_info{kernel=\"", out);
	put_label(out, p->kernel);
	fprintf(out, "\",source=\"%s\"} 1\n"
	    "# HELP pagek_stress_requests_total Requests of the kernel's page "
	    "allocator by the stage that satisfied them.\n"
	    "# TYPE pagek_stress_requests_total counter\n",
	    stress_sources[s->source].name);
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (s->known[i])
			fprintf(out, "pagek_stress_requests_total{level=\"%zu\","
			    "exactness=\"%s\"} %" PRIu64 "\n", i + 1,
			    stress_truths[stress_truth(s, i)],
			    s->level[i]);
	if (!s->pressure_known)
		return;
	fprintf(out, "# HELP pagek_stress_waited_microseconds_total Time for which "
	    "tasks waited for memory.\n"
	    "# TYPE pagek_stress_waited_microseconds_total counter\n"
	    "pagek_stress_waited_microseconds_total{tasks=\"some\"} %" PRIu64 "\n"
	    "pagek_stress_waited_microseconds_total{tasks=\"all\"} %" PRIu64 "\n",
	    s->some_us, s->full_us);
}

struct look {
	const struct options *o;
	struct batch_stress *stress;
	FILE *out;
	struct json json;
	bool begun;			/* json is a document */
	struct stress_sample base;	/* differences are to it */
	struct mono base_at;
	uint64_t lines;
	char kernel[STRESS_KERNEL];	/* of the last line */
	bool none;			/* the last sample had no source */
	int status;			/* of the last sample */
	pid_t pid;			/* of --only=PID; 0: none */
};

/* fresh: not from before this call. */
static bool
take_sample(struct look *l, bool fresh, struct stress_sample *s)
{
	l->status = batch_stress_take(l->stress, fresh, s);
	return l->status == PAGEK_OK;
}

bool
stress_repeats(const struct options *o)
{
	return option_given(o, OPTION_INTERVAL) || option_given(o, OPTION_COUNT) ||
	    option_given(o, OPTION_DURATION);
}

static void
put_source(struct look *l, const struct spent *p, struct output_table *lines)
{
	if (l->lines++ > 0 && strcmp(l->kernel, p->kernel) != 0)
		fprintf(l->out, "the kernel is another one: " STRESS_CAUTION "\n");
	fprintf(l->out, "HEAP STRESS%s  %s  %s\n", scope(l->o), p->kernel,
	    stress_sources[p->s.source].text);
	if (p->node[0] != '\0')
		fprintf(l->out, "read by the node %s\n", base_shown(p->node));
	output_heading(lines);
	snprintf(l->kernel, sizeof l->kernel, "%s", p->kernel);
}

static void
put_form(struct look *l, const struct spent *p)
{
	struct output_table lines = { .out = l->out, .fields = &samples,
		.ascii = l->o->page.ascii };

	if (l->o->format == FORMAT_PROM) {
		put_metrics(l->out, p);
	} else if (options_as_data(l->o)) {
		json_row(&l->json, p, 0);
	} else if (option_given(l->o, OPTION_READ_ZERO)) {
		put_line(l->out, p);
	} else if (stress_repeats(l->o)) {
		if (l->lines == 0 || strcmp(l->kernel, p->kernel) != 0)
			put_source(l, p, &lines);
		output_row(&lines, p);
		put_doubts(l->out, p);
	} else {
		put_levels(l->out, p);
	}
}

/* Writes what was spent since the base; false: no sample. */
static bool
put_spent(struct look *l, const struct stress_sample *base)
{
	struct spent p = { .o = l->o,
		.ms = base != NULL ? mono_ms_since(l->base_at) : -1,
		.wall_ms = base_wall_ms() };
	struct stress_sample now;

	if (!take_sample(l, l->o->argv != NULL, &now))
		return false;
	p.kernel = batch_stress_kernel(l->stress);
	p.why = batch_stress_why(l->stress);
	p.node = batch_stress_node(l->stress);
	p.group = batch_stress_group(l->stress);
	p.s = now;
	if (base != NULL) {
		stress_spent(&p.s, &now, base);
		p.changed = p.s.changes > 0;
	}
	put_form(l, &p);
	l->none = now.source == STRESS_NONE;
	l->base = now;
	l->base_at = mono_now();
	return true;
}

/*
 * Writes what was spent since the sample in the file of --baseline; without such a
 * file, the totals.
 */
static bool
put_compared(struct look *l)
{
	const char *path = l->o->check.baseline;
	struct stress_baseline base, now = { .wall_ms = base_wall_ms() };
	struct spent p = { .o = l->o, .ms = -1, .wall_ms = now.wall_ms,
		.kernel = now.kernel, .node = now.node };
	bool there, whole = true;

	l->status = stress_baseline_read(path, &base, &there);
	if (l->status != PAGEK_OK || !take_sample(l, true, &now.sample))
		return false;
	now.reader = batch_stress_reader(l->stress);
	base_copy_text(now.kernel, sizeof now.kernel,
	    batch_stress_kernel(l->stress));
	base_copy_text(now.node, sizeof now.node, batch_stress_node(l->stress));
	p.why = batch_stress_why(l->stress);
	p.group = batch_stress_group(l->stress);
	p.s = now.sample;
	if (there) {
		p.ms = now.wall_ms > base.wall_ms ? now.wall_ms - base.wall_ms : 0;
		whole = !stress_baseline_spent(&base, &now, &p.s);
		p.changed = base.sample.source != now.sample.source;
	}
	put_form(l, &p);
	l->none = now.sample.source == STRESS_NONE;
	if (there && whole && now.sample.source != STRESS_FILE)
		notice("the counts have begun anew since '%s' was written: these "
		    "are all of them", path);
	if (there && strcmp(base.kernel, now.kernel) != 0)
		notice("'%s' is of the kernel %s: " STRESS_CAUTION, path,
		    base_shown(base.kernel));
	if (!there || option_given(l->o, OPTION_SAVE_BASELINE))
		l->status = stress_baseline_write(path, &now);
	return l->status == PAGEK_OK;
}

static bool
from_boot(const struct options *o)
{
	return option_given(o, OPTION_SINCE);
}

static bool
has_ended(const struct look *l)
{
	return l->pid != 0 && kill(l->pid, 0) < 0 && errno == ESRCH;
}

static bool
put_repeatedly(struct look *l, uv_loop_t *loop)
{
	bool good = from_boot(l->o) || take_sample(l, false, &l->base);
	struct pace pace;

	l->base_at = mono_now();
	pace_begin(&pace, l->o);
	if (from_boot(l->o) && good) {
		good = put_spent(l, NULL);
		pace.n++;
	}
	while (good && output_flush(l->out) && !has_ended(l) &&
	    pace_wait(&pace, loop, NULL, NULL, NULL)) {
		good = put_spent(l, from_boot(l->o) ? NULL : &l->base);
		pace.n++;
	}
	/* If --duration is shorter than a line's period, print one line. */
	return good && pace.n == 0 && output_going(l->out) ?
	    put_spent(l, &l->base) : good;
}

static void
begin_document(struct look *l, const char *kernel)
{
	if (l->o->format == FORMAT_PROM || !options_as_data(l->o))
		return;
	json_open(&l->json, l->out, l->o);
	json_document(&l->json, "pagek.stress/1", &samples, 0);
	json_text(&l->json, "kernel", or_null(kernel));
	json_rows(&l->json, "samples");
	l->begun = true;
}

static void
end_document(struct look *l)
{
	if (!l->begun)
		return;
	json_rows_end(&l->json);
	json_end(&l->json);
}

static _Noreturn void
execute(char *const *argv, int gate)
{
	char go;
	int err;

	if (read(gate, &go, 1) != 1)
		_exit(CANNOT_RUN);
	execvp(argv[0], argv);
	err = errno;
	complain("cannot run '%s': %s", base_shown(argv[0]), strerror(err));
	_exit(err == ENOENT ? NOT_FOUND : CANNOT_RUN);
}

struct child {
	pid_t pid;
	int gate;			/* the child waits until a byte is written */
};

static int
start_command(struct child *c, char *const *argv)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	c->pid = fork();
	err = -errno;
	if (c->pid == 0) {
		close(ends[1]);
		execute(argv, ends[0]);
	}
	close(ends[0]);
	c->gate = ends[1];
	if (c->pid > 0)
		return 0;
	close(c->gate);
	return err;
}

/* The command that runs, for signals. */
static volatile sig_atomic_t command;

static void
pass_on(int sig)
{
	int err = errno;

	kill((pid_t)command, sig);
	errno = err;
}

/* The terminal sends the first two to the command as well. */
static const struct {
	int sig;
	void (*handler)(int);
} signals[] = {
	{ SIGINT, SIG_IGN },
	{ SIGQUIT, SIG_IGN },
	{ SIGTERM, pass_on },
	{ SIGHUP, pass_on },
};

/* Lets the command run to its end: its counts are printed after any signal. */
static int
run_command(const struct child *c)
{
	struct sigaction old[BASE_NELEM(signals)];
	siginfo_t end;
	int err = 0;

	command = c->pid;
	for (size_t i = 0; i < BASE_NELEM(signals); i++) {
		struct sigaction a = { .sa_handler = signals[i].handler };

		sigaction(signals[i].sig, NULL, &old[i]);
		if (old[i].sa_handler != SIG_IGN)
			sigaction(signals[i].sig, &a, NULL);
	}
	/* A child that was killed meanwhile is waited for all the same. */
	if (write(c->gate, "", 1) < 0 && errno != EPIPE)
		err = -errno;
	/* It stays a zombie, so that no other process has its number. */
	while (err == 0 && waitid(P_PID, (id_t)c->pid, &end, WEXITED | WNOWAIT) < 0)
		if (errno != EINTR)
			err = -errno;
	for (size_t i = 0; i < BASE_NELEM(signals); i++)
		sigaction(signals[i].sig, &old[i], NULL);
	return err;
}

/* Without `go` the child ends. */
static int
await_command(struct child *c, bool go, int *status)
{
	int how, err = go ? run_command(c) : 0;

	close(c->gate);
	while (waitpid(c->pid, &how, 0) < 0)
		if (errno != EINTR)
			return err < 0 ? err : -errno;
	if (err == 0)
		*status = WIFEXITED(how) ? WEXITSTATUS(how) :
		    128 + WTERMSIG(how);
	return err;
}

static bool
attach(struct look *l, pid_t pid, bool on_exec)
{
	l->status = batch_stress_of_process(l->stress, pid, on_exec);
	return l->status == PAGEK_OK;
}

static bool
put_command(struct look *l, int *status)
{
	struct child c = { .gate = -1 };
	int err = start_command(&c, l->o->argv);
	bool good;

	if (err < 0) {
		complain("cannot start the command: %s", strerror(-err));
		return false;
	}
	good = (l->o->stress.only == NULL || attach(l, c.pid, true)) &&
	    take_sample(l, true, &l->base);
	l->base_at = mono_now();
	err = await_command(&c, good, status);
	if (err < 0)
		complain("cannot wait for the command: %s", strerror(-err));
	if (!good || err < 0)
		return false;
	begin_document(l, batch_stress_kernel(l->stress));
	return put_spent(l, &l->base);
}

struct span {
	struct capture *c;
	const char *path;
	int64_t begin, end;		/* of the samples that are wanted */
};

int
stress_capture_time(struct capture *c, const char *path, uint32_t part,
    const char *text, int64_t *ms)
{
	struct capture_list *list;
	struct capture_when w;
	uint64_t seq;
	int status = capture_moment(c, path, part, text, &w);

	if (status != PAGEK_OK)
		return status;
	if (w.at == CAPTURE_AT_MS) {
		*ms = w.ms;
		return PAGEK_OK;
	}
	status = captures_seek(c, part, &w, path, true, &list);
	if (status != PAGEK_OK)
		return status;
	capture_list_at(list, &seq, ms);
	capture_list_free(list);
	return PAGEK_OK;
}

static int
find_time(const struct span *s, const char *text, int64_t *ms)
{
	uint32_t part;
	int status = capture_choose(s->c, s->path, NULL, true, &part);

	return status != PAGEK_OK ? status :
	    stress_capture_time(s->c, s->path, part, text, ms);
}

static int
find_span(struct span *s, const struct options *o)
{
	size_t n = capture_stresses(s->c);
	int status = PAGEK_OK;

	if (n == 0) {
		complain("'%s' has no samples of heap stress: it was written by an "
		    "older node", s->path);
		return PAGEK_FORMAT;
	}
	s->begin = capture_stress(s->c, 0)->ms;
	s->end = capture_stress(s->c, n - 1)->ms;
	if (o->events.ats > 1)
		status = find_time(s, o->events.at[0], &s->begin);
	if (status == PAGEK_OK && o->events.ats > 0)
		status = find_time(s, o->events.at[o->events.ats - 1], &s->end);
	if (status == PAGEK_OK && s->end < s->begin && o->events.ats > 1) {
		complain("--at=%s is before the other --at",
		    base_shown(o->events.at[o->events.ats - 1]));
		return PAGEK_USAGE;
	}
	/* An end before the first sample, which follows the first event a little later. */
	if (s->end < s->begin)
		s->begin = s->end;
	return status;
}

static void
put_between(struct look *l, const struct span *s, int64_t begin, int64_t end)
{
	const struct capture_stress *from = capture_stress_at(s->c, begin);
	const struct capture_stress *to = capture_stress_at(s->c, end);
	struct spent p = { .o = l->o, .kernel = to->kernel, .why = to->why,
		.node = "", .group = "", .ms = to->ms - from->ms,
		.wall_ms = capture_wall_ns(s->c, to->ms) / 1000000 };

	stress_spent(&p.s, &to->sample, &from->sample);
	p.changed = p.s.changes > 0;
	put_form(l, &p);
}

static void
put_span(struct look *l, const struct span *s)
{
	int64_t each = stress_repeats(l->o) ? l->o->repeat.interval_ms : s->end - s->begin;
	uint64_t n = 0;

	for (int64_t at = s->begin; output_going(l->out); at += each) {
		int64_t end = at < s->end - each ? at + each : s->end;

		put_between(l, s, at, end);
		if (end == s->end || ++n == l->o->repeat.count)
			break;
	}
}

static int
print_capture(struct look *l)
{
	struct span s = { .path = l->o->target.name };
	char why[CAPTURE_WHY];
	int status, err = capture_open(&s.c, s.path, why);

	if (err < 0) {
		complain("%s", why);
		return capture_file_status(err);
	}
	status = find_span(&s, l->o);
	if (status == PAGEK_OK) {
		l->out = output_open(l->o->output);
		status = l->out == NULL ? PAGEK_FAILED : PAGEK_OK;
	}
	if (status == PAGEK_OK) {
		begin_document(l, capture_stress(s.c, 0)->kernel);
		put_span(l, &s);
		end_document(l);
		status = output_close(l->out, l->o->output,
		    captures_complain(s.c, s.path));
	}
	capture_close(s.c);
	return status;
}

static int
check_only(struct parse *p)
{
	const struct options *o = p->o;
	uint64_t pid;

	if (o->stress.only == NULL)
		return 0;
	if (o->target_given)
		return option_fail(p, "--only counts on this machine: it takes no "
		    "TARGET");
	if (o->stress.root != NULL)
		return option_fail(p, "--only counts on this machine: it takes no "
		    "--root");
	if (from_boot(o))
		return option_fail(p, "--only counts from now on: it takes no "
		    "--since");
	if (strcmp(o->stress.only, "command") == 0)
		return o->argv != NULL ? 0 : option_fail(p, "--only=command needs "
		    "a command, as in 'pagek stress --only=command -- make'");
	if (base_parse_count(o->stress.only, INT_MAX, &pid) < 0 || pid == 0)
		return option_fail(p, "--only: '%s' is neither 'command' nor a "
		    "process id", base_shown(o->stress.only));
	if (o->argv != NULL)
		return option_fail(p, "--only=%s is of a running process: a "
		    "command takes --only=command", base_shown(o->stress.only));
	return stress_repeats(o) ? 0 : option_fail(p, "--only=%s counts from now on: "
	    "give --interval, --count or --duration too", base_shown(o->stress.only));
}

static int
check_allocators(struct parse *p)
{
	const struct options *o = p->o;

	bool capture = o->target.kind == TARGET_FILE;

	if (o->argv != NULL)
		return option_fail(p, "--allocators takes a target or a capture, no "
		    "command");
	if (!capture && (o->events.ats > 0 || o->events.part != NULL))
		return option_fail(p, "--at and --part need a capture: give the "
		    "file that 'pagek record' wrote");
	if (capture && option_given(o, OPTION_DURATION))
		return option_fail(p, "--duration does not apply to a capture");
	if (from_boot(o) || o->stress.root != NULL || o->format == FORMAT_PROM ||
	    o->stress.only != NULL || stress_is_table(o))
		return option_fail(p, "--allocators takes no --since, --root, --only, "
		    "--sites, --slab or --format=prom");
	return 0;
}

int
cmd_stress_check(struct parse *p)
{
	const struct options *o = p->o;
	int r;

	if (option_given(o, OPTION_READ_ZERO) && options_as_data(o))
		return option_fail(p, "--read-zero takes no --format: it is a line of text");
	if (option_given(o, OPTION_SAVE_BASELINE) && o->check.baseline == NULL)
		return option_fail(p, "--save-baseline needs --baseline=FILE");
	if (o->check.baseline != NULL && (stress_repeats(o) || from_boot(o) ||
	    o->argv != NULL || o->target.kind == TARGET_FILE ||
	    o->format == FORMAT_PROM || o->stress.only != NULL || stress_is_table(o) ||
	    option_given(o, OPTION_ALLOCATORS)))
		return option_fail(p, "--baseline is compared with one sample of a "
		    "machine: no --interval, --count, --duration, --since, "
		    "--allocators, --only, --sites, --slab, --format=prom, command "
		    "or capture");
	if (option_given(o, OPTION_ALLOCATORS))
		return check_allocators(p);
	if (o->events.part != NULL)
		return option_fail(p, "--part needs --allocators: the kernel counts "
		    "for the whole machine");
	if (o->target.kind == TARGET_DEMO || o->target.kind == TARGET_RAW)
		return option_fail(p, "'pagek stress' counts for a whole machine: "
		    "'%s' has none; give a node, or no TARGET for this machine",
		    base_shown(o->target.word));
	if (o->events.ats > 0 && o->target.kind != TARGET_FILE)
		return option_fail(p, "--at is a moment of a capture: give the "
		    "file that 'pagek record' wrote");
	if (o->target.kind == TARGET_FILE && (from_boot(o) ||
	    o->format == FORMAT_PROM || option_given(o, OPTION_DURATION)))
		return option_fail(p, "a capture has an end: it takes --at, "
		    "--interval and --count, not --since, --duration or "
		    "--format=prom");
	if (o->stress.root != NULL && o->stress.root[0] == '\0')
		return option_fail(p, "--root= needs a folder");
	if (o->stress.root != NULL && o->target.kind != TARGET_LOCAL)
		return option_fail(p, "--root reads files here: it takes no TARGET");
	if (o->argv != NULL && (stress_repeats(o) || from_boot(o)))
		return option_fail(p, "a command is one period: it takes no "
		    "--interval, --count, --duration or --since");
	if (o->format == FORMAT_PROM && (stress_repeats(o) || o->argv != NULL))
		return option_fail(p, "--format=prom is for totals: a collector "
		    "takes the differences");
	r = check_only(p);
	return r != 0 ? r : stress_tables_check(p);
}

/* Beside a command's own output ours is on standard error. */
static FILE *
open_output(const struct options *o)
{
	return o->argv != NULL && o->output == NULL ? stderr :
	    output_open(o->output);
}

static bool
put_all(struct look *l, uv_loop_t *loop, int *status)
{
	const struct options *o = l->o;

	if (o->argv != NULL)
		return put_command(l, status);
	if (l->pid != 0 && !attach(l, l->pid, false))
		return false;
	begin_document(l, batch_stress_kernel(l->stress));
	if (o->check.baseline != NULL)
		return put_compared(l);
	return stress_repeats(o) ? put_repeatedly(l, loop) : put_spent(l, NULL);
}

int
cmd_stress(const struct options *o, uv_loop_t *loop)
{
	struct look l = { .o = o };
	int status = PAGEK_OK, r;
	bool good;

	if (stress_is_table(o))
		return stress_tables(o, loop);
	if (option_given(o, OPTION_ALLOCATORS))
		return stress_allocators(o, loop);
	if (o->target.kind == TARGET_FILE) {
		r = print_capture(&l);
		pump_down(loop, NULL, NULL);
		return r;
	}
	l.status = batch_stress_open(o, loop, &l.stress);
	if (l.status != PAGEK_OK) {
		pump_down(loop, NULL, NULL);
		return l.status;
	}
	l.out = open_output(o);
	if (l.out == NULL) {
		batch_stress_close(l.stress);
		return PAGEK_FAILED;
	}
	if (o->argv == NULL && o->stress.only != NULL)
		l.pid = (pid_t)strtol(o->stress.only, NULL, 10);
	good = put_all(&l, loop, &status);
	end_document(&l);
	if (good && l.none && status == PAGEK_OK) {
		complain("no source of counts: %s", batch_stress_why(l.stress));
		good = false;
	}
	r = output_close(l.out, o->output, good ? status :
	    l.status != PAGEK_OK ? l.status : PAGEK_FAILED);
	batch_stress_close(l.stress);
	return r;
}
