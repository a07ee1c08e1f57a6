#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "../run/run.h"
#include "check.h"

#define NODE_ANSWER_MS 3000	/* for what the node should know at once */
#define ASK_MS 1000

int
check_failed(const struct options *o)
{
	return o->argv != NULL ? PAGEK_RUN_FAILED : PAGEK_FAILED;
}

/* An exceeded limit goes before an error of pagek, that before the command's. */
static int
status_of(const struct judge *j, int trouble, int status)
{
	if (j->verdict == CHECK_EXCEEDED)
		return PAGEK_EXCEEDED;
	if (trouble != 0)
		return trouble;
	if (j->verdict == CHECK_NOT_KNOWN && option_on(j->o, OPTION_STRICT))
		return PAGEK_INCOMPLETE;
	/* A check that saw nothing has not passed. */
	if (status == PAGEK_OK && !j->watched)
		return check_failed(j->o);
	return status;
}

static void
ask_processes(struct judge *j, uv_loop_t *loop, struct nodes_link *link)
{
	struct nodes_target *list = NULL;
	size_t n = 0;

	if (target_enquire(loop, link, NODE_ANSWER_MS, &list, &n) < 0) {
		complain("the node does not answer: the command's other "
		    "processes are not known");
		j->complete = false;
		return;
	}
	judge_processes(j, list, n);
	free(list);
}

static int
report_verdict(struct judge *j, uv_loop_t *loop, struct nodes_link *run, FILE *out,
    int status)
{
	int r;

	r = judge_last(j, loop);
	if (r < 0) {
		complain("cannot judge: %s", strerror(-r));
		return check_failed(j->o);
	}
	judge_death(j, j->look->target.pid, j->look->target.name,
	    j->look->target.status);
	if (run != NULL)
		ask_processes(j, loop, run);
	r = baseline_check(j, loop);
	judge_end(j);
	status = status_of(j, r, status);
	check_report(out, j, j->look, status);
	return status;
}

static FILE *
open_output(const struct options *o)
{
	/* A command's standard output is its own. */
	return o->output == NULL && o->argv != NULL ? stderr :
	    output_open(o->output);
}

static int
judge_command(struct judge *j, uv_loop_t *loop, struct nodes_link *link,
    FILE *out)
{
	const struct nodes_look *look = j->look;
	int status;

	while (!pump(loop, j->session, ASK_MS, run_forwards, j->session))
		tell_target(j->o, look);
	forward_close();
	pump(loop, j->session, NODE_ANSWER_MS, run_is_read, j->session);
	status = run_tell_end(look, j->o->argv[0]);
	/* If the node is lost, the values until then are judged. */
	if (look->command.not_run || (!look->link.up && !j->watched))
		return status;
	return report_verdict(j, loop, link, out, status);
}

static int
check_command(const struct options *o, uv_loop_t *loop, struct judge *j,
    FILE *out)
{
	struct node_opts start = o->node;
	struct nodes_session_opts opts = { 0 };
	struct nodes_session *s = NULL;
	struct nodes_link *link = NULL;
	int status, err;

	options_session(o, &opts);
	start.argv = o->argv;
	/* A pair of records does not say what was held in between. */
	start.no_pairs = option_given(o, OPTION_MAX_LIVE);
	/* Before the command starts: a signal may come at once. */
	if (forward_open(loop) < 0)
		complain("signals will not be passed on to the command");
	tell_own_node();
	err = nodes_start(&link, loop, &start);
	if (err == 0)
		err = nodes_session_open(&s, link, &opts, judge_news, j);
	if (err < 0) {
		complain("cannot start pageknode: %s", strerror(-err));
		status = PAGEK_RUN_FAILED;
	} else {
		judge_watch(j, s);
		status = judge_command(j, loop, link, out);
	}
	forward_close();
	pump_down(loop, s, link);
	return status;
}

static bool
is_over(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->state == NODES_ENDED || look->state == NODES_CORRUPT ||
	    (!look->link.up && !look->link.returns);
}

static int
judge_target(const struct options *o, uv_loop_t *loop, struct judge *j,
    struct nodes_session *s, FILE *out)
{
	if (!options_as_data(o))
		batch_report_end(nodes_session_look(s));
	judge_watch(j, s);
	j->begun = mono_now();
	judge_news(j);
	/* A file is judged to its end, as it is listed. */
	pump(loop, s, target_is_read_to_its_end(o) ? o->timeout_ms :
	    o->repeat.duration_ms, is_over, s);
	pump_counters(loop, s, o->timeout_ms);
	return report_verdict(j, loop, NULL, out, PAGEK_OK);
}

static int
check_target(const struct options *o, uv_loop_t *loop, struct judge *j,
    FILE *out)
{
	const struct nodes_look *look;
	struct nodes_session *s;
	struct nodes_link *link;
	int status;

	status = batch_open(o, loop, judge_news, j, &link, &s);
	if (status != PAGEK_OK)
		return status;
	look = nodes_session_look(s);
	status = batch_has_list(look) ? judge_target(o, loop, j, s, out) :
	    batch_status(o, look);
	pump_down(loop, s, link);
	return status;
}

static int
check_limits(struct parse *p)
{
	const struct options *o = p->o;

	if (o->argv != NULL && o->target_given)
		return option_fail(p, "'pagek check' takes a TARGET or a "
		    "command, not both");
	if (o->check.budgets == 0 && o->check.baseline == NULL)
		return option_fail(p, "'pagek check' needs a limit, such as "
		    "--max-live=50M, or --baseline");
	return 0;
}

int
cmd_check_check(struct parse *p)
{
	static const enum option_id compared[] = { OPTION_TOLERANCE,
		OPTION_SAVE_BASELINE };
	static const enum option_id started[] = { OPTION_NO_WAIT, OPTION_STACK,
		OPTION_SAMPLE };
	const struct options *o = p->o;
	int r = check_limits(p);

	if (r == 0 && o->check.baseline == NULL)
		r = option_none_of(p, compared, BASE_NELEM(compared),
		    "needs --baseline");
	if (r != 0)
		return r;
	if (o->argv == NULL)
		return option_none_of(p, started, BASE_NELEM(started),
		    "is for a command that is started");
	if (o->repeat.duration_ms != 0)
		return option_fail(p, "--duration is for a TARGET: a command "
		    "is judged to its end");
	return 0;
}

int
cmd_check(const struct options *o, uv_loop_t *loop)
{
	struct judge j;
	FILE *out;
	int status, err;

	status = baseline_prepare(o);
	if (status != 0)
		return status;
	err = judge_init(&j, o);
	if (err < 0) {
		complain("cannot judge: %s", strerror(-err));
		return check_failed(o);
	}
	out = open_output(o);
	if (out == NULL) {
		judge_fini(&j);
		return check_failed(o);
	}
	status = o->argv != NULL ? check_command(o, loop, &j, out) :
	    check_target(o, loop, &j, out);
	judge_fini(&j);
	/* An error of writing does not hide the verdict. */
	if (output_close(out, o->output, PAGEK_OK) != PAGEK_OK &&
	    status == PAGEK_OK)
		status = check_failed(o);
	return status;
}
