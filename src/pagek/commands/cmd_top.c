#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../app/pages.h"
#include "../cli/capture_target.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../layout/layout.h"
#include "../tui/tui.h"

static int
show_on_terminal(uv_loop_t *loop, struct page_watch *watch, struct page *page)
{
	struct page_result result = { .end = PAGE_QUIT };
	int err;

	err = page_screen_run(loop, watch, page, &result);
	if (err < 0)
		return output_refuse_terminal(err);
	return result.end == PAGE_INTERRUPTED ? BY_SIGNAL(result.signal) :
	    PAGEK_OK;
}

static int
check_page(struct parse *p)
{
	const struct page_row *page = &pages[p->o->page.first];
	const struct page_text_ops *text = &page->ops->text;
	char why[64];

	if (p->o->target_given && (page->ops->needs & PAGE_NEEDS_TARGET) == 0)
		return option_fail(p, "page %s shows %s, and as text it takes "
		    "no TARGET", page->letter, page->title);
	snprintf(why, sizeof why, "is for page K, not for page %s",
	    page->letter);
	return option_none_of(p, text->refuse, text->nrefuse, why);
}

static int
check_once(struct parse *p)
{
	static const enum option_id again[] = { OPTION_COUNT, OPTION_DURATION,
		OPTION_INTERVAL };
	bool waits = (pages[p->o->page.first].ops->needs &
	    PAGE_NEEDS_INTERVAL) != 0;
	int r;

	waits = waits && p->o->page.mark == NULL;
	r = option_none_of(p, again, BASE_NELEM(again) - waits,
	    p->o->page.mark != NULL ? "has no meaning with --once and --mark" :
	    "has no meaning with --once");
	if (r != 0)
		return r;
	if (option_given(p->o, OPTION_LOOK_ONLY))
		return option_fail(p, "--look-only has no meaning with --once, "
		    "which arms nothing");
	return check_page(p);
}

int
cmd_top_check(struct parse *p)
{
	static const enum option_id text[] = { OPTION_OUTPUT, OPTION_FORMAT,
		OPTION_STRICT, OPTION_TIMEOUT, OPTION_INTERVAL, OPTION_COUNT };

	if (p->o->page.mark != NULL && p->o->page.first != PAGE_H)
		return option_fail(p, "--mark is for page H: give --page=H "
		    "too");
	if (p->o->page.mark != NULL &&
	    !wire_is_mark_name(p->o->page.mark, strlen(p->o->page.mark)))
		return option_fail(p, "--mark '%.64s': " WIRE_MARK_RULE,
		    base_shown(p->o->page.mark));
	if (option_given(p->o, OPTION_ONCE))
		return check_once(p);
	if (!option_given(p->o, OPTION_BATCH))
		return option_none_of(p, text, BASE_NELEM(text),
		    "is for text: give --once or --batch too");
	if (p->o->format == FORMAT_JSON)
		return option_fail(p, "--format=json is one object, and "
		    "--batch writes many: use --format=ndjson, or --once");
	return check_page(p);
}

int
cmd_replay_check(struct parse *p)
{
	if (!p->o->target_given)
		return option_fail(p, "a capture is missing: give the file that 'pagek "
		    "record' wrote");
	return cmd_top_check(p);
}

int
cmd_top(const struct options *o, uv_loop_t *loop)
{
	bool text = option_given(o, OPTION_ONCE) ||
	    option_given(o, OPTION_BATCH);
	const struct page_ops *ops = pages[o->page.first].ops;
	bool aims = (ops->needs & PAGE_NEEDS_TARGET) != 0;
	/* A node of our own ends with its last page. */
	struct page_watch w = { .target = &o->target, .remote = o->remote,
		.options = o, .keep_open = target_is_own(&o->target) };
	struct nodes_session_opts opts = { 0 };
	const char *damage;
	int status, err;
	char why[512];
	struct page page;

	if (text && !aims) {
		status = batch_top(o, loop, NULL, &ops->text, ops->needs);
		pump_down(loop, NULL, NULL);
		return status;
	}
	err = text ? 0 : page_screen_check();
	/* Reports a mistyped command rather than a missing terminal. */
	if (err < 0 && o->target.kind != TARGET_COMMAND)
		return output_refuse_terminal(err);
	options_session(o, &opts);
	status = target_open(o, loop, &w.link, &opts, why, sizeof why);
	if (status == PAGEK_OK && err < 0) {
		status = output_refuse_terminal(err);
		pump_down(loop, NULL, w.link);
		return status;
	}
	if (status == PAGEK_NO_TARGET && !aims && !o->target_given &&
	    nodes_connect_later(&w.link, loop) == 0) {
		status = PAGEK_OK;
		why[0] = '\0';
	}
	if (status != PAGEK_OK) {
		complain("%s", why);
		return status;
	}
	page_init(&page, &o->page);
	page.opts.session = opts;
	if (why[0] != '\0' && text)
		notice("%s", why);
	else
		base_copy_text(page.message, sizeof page.message, why);
	err = nodes_session_open(&w.session, w.link, &opts, page_news,
	    &page);
	if (err < 0) {
		complain("cannot watch: %s", strerror(-err));
		status = PAGEK_FAILED;
	} else if (text) {
		status = batch_top(o, loop, w.session, &ops->text,
		    ops->needs);
	} else {
		status = show_on_terminal(loop, &w, &page);
		damage = capture_target_damage(nodes_session_look(w.session));
		if (status == PAGEK_OK && damage[0] != '\0') {
			complain("the capture is damaged: %s", damage);
			status = PAGEK_FORMAT;
		}
	}
	pump_down(loop, w.session, w.link);
	return status;
}
