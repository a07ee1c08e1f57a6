/*
 * Page H as text: what comes and goes from its first moment on.  There is no
 * key to set a mark with, so the list is marked as soon as it is whole, and the
 * first page comes an interval later.
 */
#include <errno.h>
#include <string.h>

#include "../page/since.h"
#include "commands.h"
#include "export.h"
#include "pump.h"

/* The mark is set, or never will be; for pump(). */
struct marking {
	struct page *page;
	struct nodes_session *session;
	int err;
};

static bool
is_marked(void *arg)
{
	struct marking *m = arg;
	struct page_view v;

	page_view_shown(&v, m->page, m->session);
	m->err = page_mark_set(m->page, &v);
	return m->err != -EAGAIN;
}

int
batch_since_begin(const struct options *o, uv_loop_t *loop, struct page *page,
    struct nodes_session *s)
{
	struct marking m = { .page = page, .session = s };
	struct page_view v;

	if (!is_marked(&m))
		pump(loop, s, o->timeout_ms, is_marked, &m);
	if (m.err < 0)
		return m.err;
	page_view_shown(&v, page, s);
	return page_since_take(page, &v);
}

/* The last comparison, with the names that come in time. */
static int
take(const struct options *o, uv_loop_t *loop, struct page *page,
    struct nodes_session *s, int names_ms)
{
	struct page_since *since;
	struct page_view v;
	size_t lacking = 0;
	int r;

	page_view_shown(&v, page, s);
	r = page_since_take(page, &v);
	since = page_since_get(page);
	if (r < 0 || since == NULL)
		return r;
	r = batch_words(loop, s, since->profile, names_ms, &lacking);
	if (r < 0)
		return r == -ESTALE ? 0 : r;
	if (option_given(o, OPTION_ONCE))
		batch_tell_lacking(o, s, lacking,
		    profile_callers(since->profile));
	page_view_shown(&v, page, s);
	return page_since_name(page, &v);
}

static int
print_data(struct page *page, const struct page_view *v,
    const struct page_diff *diff, struct json *j)
{
	struct page_export_sums sums = { 0 };
	int r = page_export_diff(page, v, diff, EXPORT_NDJSON, j->out, j, &sums);

	/* What cannot be said in rows is said in words. */
	if (r == -EAGAIN)
		complain("the list is not whole: nothing can be compared");
	else if (r == -ENODATA)
		complain("the mark is lost: the list has begun anew");
	return r == -EAGAIN || r == -ENODATA ? 0 : r;
}

int
batch_since_print(const struct options *o, uv_loop_t *loop, struct page *page,
    struct nodes_session *s, int names_ms, struct json *j)
{
	struct page_diff diff = { 0 };
	struct page_view v;
	int r;

	r = take(o, loop, page, s, names_ms);
	if (r < 0 && r != -EAGAIN && r != -ENODATA)
		return r;
	page_view_shown(&v, page, s);
	r = o->json ? print_data(page, &v, &diff, j) :
	    page_export_diff_text(page, &v, &diff, batch_columns(j->out),
	    j->out);
	if (r < 0 || page_is_marked(page))
		return r;
	/* From here on, then; who reads it has been told. */
	r = page_mark_set(page, &v);
	return r == -EAGAIN || r == -ENOENT ? 0 : r;
}
