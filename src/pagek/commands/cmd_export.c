/* pagek export: what is held, for other programs, as folded stacks. */
#include <errno.h>

#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../layout/layout.h"
#include "snapshot.h"

static int
put_line(void *arg, const char *line)
{
	FILE *out = arg;

	fprintf(out, "%s\n", line);
	return output_going(out) ? 0 : -EPIPE;
}

static int
put_folded(FILE *out, const struct options *o, const struct snapshot *m)
{
	char sample[PAGE_SAMPLE_TEXT], lack[PAGE_LACK_TEXT];
	int r;

	/* Folded stacks have no place for notices. */
	page_lack_text(&m->look, lack);
	if (!m->look.complete)
		notice("INCOMPLETE: %s", lack);
	if (m->look.sample != 0) {
		page_sample_text(m->look.sample, sample);
		notice("sampled %s: the figures are estimates", sample);
	}
	r = profile_folded(m->profile, o->tree.measure, m->look.now_ms, put_line,
	    out);
	return r == -EPIPE ? 0 : r;
}

static int
export_folded(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	return snapshot_report(o, loop, s, put_folded);
}

int
cmd_export_check(struct parse *p)
{
	if (!option_given(p->o, OPTION_FOLDED))
		return option_fail(p, "'pagek export' needs --folded, its only "
		    "format");
	if (p->o->tree.by_group)
		return option_fail(p, "folded stacks are by bytes, blocks or "
		    "age");
	return 0;
}

int
cmd_export(const struct options *o, uv_loop_t *loop)
{
	return batch_watch(o, loop, export_folded);
}
