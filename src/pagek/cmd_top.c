/*
 * pagek [TARGET]: the page.
 */
#include <string.h>

#include "commands.h"
#include "pump.h"

static int
on_screen(uv_loop_t *loop, struct page_watch *watch, struct page *page)
{
	struct page_result result = { .end = PAGE_QUIT };
	int err;

	err = page_screen_run(loop, watch, page, &result);
	if (err < 0)
		return tty_refuse(err);
	if (result.end == PAGE_INTERRUPTED)
		return BY_SIGNAL(result.signal);
	return result.end == PAGE_FAILED ? PAGEK_FAILED : PAGEK_OK;
}

int
cmd_top(const struct options *o, uv_loop_t *loop)
{
	bool text = option_given(o, OPTION_ONCE) ||
	    option_given(o, OPTION_BATCH);
	/* A node of our own ends when nobody looks at it any more. */
	struct page_watch w = { .target = &o->target, .remote = o->remote, .options = o,
		.kept = o->target.kind == TARGET_DEMO ||
		    o->target.kind == TARGET_RAW };
	struct nodes_session_opts opts = { 0 };
	int status, err;
	char why[512];
	struct page page;

	if (text && o->page.first == PAGE_G)
		return ask_page(o, loop);
	err = text ? 0 : page_screen_check();
	if (err < 0)
		return tty_refuse(err);
	options_session(o, &opts);
	status = target_open(o, loop, &w.link, &opts, why, sizeof why);
	/* Who looks for nodes elsewhere needs none here. */
	if (status == PAGEK_NO_TARGET && o->page.first == PAGE_G && !o->aimed &&
	    nodes_connect_later(&w.link, loop) == 0)
		status = PAGEK_OK;
	if (status != PAGEK_OK) {
		complain("%s", why);
		return status;
	}
	page_init(&page, &o->page);
	page.opts.session = opts;
	err = nodes_session_open(&w.session, w.link, &opts, page_news,
	    &page);
	if (err < 0) {
		complain("cannot watch: %s", strerror(-err));
		status = PAGEK_FAILED;
	} else if (text) {
		status = batch_top(o, loop, w.session);
	} else {
		status = on_screen(loop, &w, &page);
	}
	pump_down(loop, w.session, w.link);
	return status;
}
