/*
 * The session's side of the seam: what view.h asks for, taken from a session.
 */
#include "view.h"

static const char *
live_thread(void *arg, uint16_t thread)
{
	return nodes_session_thread(arg, thread);
}

void
page_view_live(struct page_view *v, struct nodes_session *session)
{
	page_view_init(v, nodes_session_look(session));
	v->words = profile_session_words;
	v->words.arg = session;
	v->thread = live_thread;
	v->arg = session;
	v->fetching = nodes_session_fetching(session);
	v->pending = nodes_session_symbols_pending(session);
	v->names_no = nodes_session_names_no(session);
	v->freed = nodes_session_freed(session);
	v->lives = nodes_session_lives(session);
}

void
page_view_shown(struct page_view *v, const struct page *page,
    struct nodes_session *session)
{
	page_view_live(v, session);
	page_view_frozen(v, page);
	v->units = page->units;
	v->utc = page->opts.utc;
	v->wrappers = page->opts.wrappers;
}

int
page_compose(struct page *page, struct nodes_session *session, int cols,
    int rows, struct page_picture *pic)
{
	struct page_view v;

	page_view_shown(&v, page, session);
	return page_compose_view(page, &v, cols, rows, pic);
}

void
page_row_text(const struct page *page, struct nodes_session *session,
    const struct blk *b, char *out, size_t cap)
{
	struct page_view v;

	page_view_live(&v, session);
	v.wrappers = page->opts.wrappers;
	page_row_text_view(page, &v, b, out, cap);
}
