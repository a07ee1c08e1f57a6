/*
 * pagek [TARGET]: the page.
 */
#include <string.h>

#include "commands.h"
#include "pump.h"

static int
on_screen(uv_loop_t *loop, struct nodes_session *s, struct nodes_link *link,
    struct page *page)
{
	struct page_result result = { .end = PAGE_QUIT };
	int err;

	err = page_screen_run(loop, s, link, page, &result);
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
	struct nodes_session_opts opts = { 0 };
	struct nodes_session *s = NULL;
	struct nodes_link *link = NULL;
	int status, err;
	char why[512];
	struct page page;

	err = text ? 0 : page_screen_check();
	if (err < 0)
		return tty_refuse(err);
	options_session(o, &opts);
	status = target_open(o, loop, &link, &opts, why, sizeof why);
	if (status != PAGEK_OK) {
		complain("%s", why);
		return status;
	}
	page_init(&page, &o->page);
	page.opts.session = opts;
	err = nodes_session_open(&s, link, &opts, page_news, &page);
	if (err < 0) {
		complain("cannot watch: %s", strerror(-err));
		status = PAGEK_FAILED;
	} else if (text) {
		status = batch_top(o, loop, s);
	} else {
		status = on_screen(loop, s, link, &page);
	}
	pump_down(loop, s, link);
	return status;
}
