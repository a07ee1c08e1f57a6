/* See rest.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "find.h"
#include "followed.h"
#include "free.h"
#include "marked.h"
#include "rest.h"
#include "still.h"

/* Of all that is said by the session; with more there is no rest. */
#define TEXT_MAX 4096

/* Of the page that is what may be in a picture. */
#define SHOWN offsetof(struct page, rest)

struct page_rest {
	bool stands;		/* a picture was made of what follows */
	struct page_holds holds;
	int64_t from[PAGE_CLOCKS];
	int64_t wall_ahead;
	int cols, rows;
	uint64_t names_no;
	char page[SHOWN];
	struct nodes_look look;
	struct blklist_counts counts;
	uint64_t keeper[WIRE_STATS_COUNT];
	char text[TEXT_MAX];
	size_t len;
};

void
page_rest_free(struct page_rest *r)
{
	free(r);
}

/*
 * All that it is made of is compared.  What is not, keeps things of its own that
 * change from picture to picture, or is rarely looked at.
 */
static bool
is_plain(const struct page *page, const struct page_view *v)
{
	const struct nodes_look *look = v->look;
	char follow[PAGE_FOLLOWED_TEXT];

	if (look != v->live || look->list == NULL ||
	    !nodes_has_list(look->state) || !look->settled || look->behind ||
	    look->window || v->pending > 0 || v->fetching[0] != '\0' ||
	    !page->on_screen || page->frozen != NULL ||
	    page->freezing != NULL || page->group != 0 || page->opened ||
	    page->prompt != NULL || page->line != NULL)
		return false;
	page_followed_text(page, follow);
	return follow[0] == '\0' && !page_choice_on(page) &&
	    !page_find_is_on(page) && !page_still_wants_all(page) &&
	    !page_is_marked(page) && !page_is_draining(page) &&
	    !page_free_wanted(page, look);
}

/* --- what the session says ------------------------------------------------ */

/* Those that it tells of time, and of its own work, are asked otherwise. */
static void
blank(struct nodes_look *look)
{
	look->now_ms = look->node_wall_ms = look->stale_ms = 0;
	look->cycle_us = look->cycle_us_max = 0;
}

/* False: it is longer than can be kept. */
static bool
add_text(char text[TEXT_MAX], size_t *len, const char *s)
{
	char *end;

	if (s == NULL)
		s = "";
	end = memccpy(text + *len, s, '\0', TEXT_MAX - *len);
	if (end == NULL)
		return false;
	*len = (size_t)(end - text);
	return true;
}

static bool
add_texts(char text[TEXT_MAX], size_t *len, const struct page_view *v)
{
	const struct nodes_look *look = v->look;
	const char *const said[] = { look->node_name, look->target_name,
		look->reason, look->trouble, look->output, look->socket };
	size_t i;

	*len = 0;
	for (i = 0; i < BASE_NELEM(said); i++)
		if (!add_text(text, len, said[i]))
			return false;
	return true;
}

static bool
same_session(const struct page_rest *r, const struct page_view *v)
{
	struct nodes_look look;
	char text[TEXT_MAX];
	size_t len;

	memcpy(&look, v->look, sizeof look);
	blank(&look);
	return memcmp(&look, &r->look, sizeof look) == 0 &&
	    memcmp(v->counts, &r->counts, sizeof r->counts) == 0 &&
	    (look.keeper == NULL || memcmp(look.keeper, r->keeper,
	    sizeof r->keeper) == 0) &&
	    v->names_no == r->names_no && add_texts(text, &len, v) &&
	    len == r->len && memcmp(text, r->text, len) == 0;
}

/* --- what time it is ------------------------------------------------------ */

/* Who sets a clock back has another picture, too. */
static bool
same_time(const struct page_rest *r, const struct page_view *v)
{
	enum page_clock c;
	int64_t now;

	for (c = 0; c < PAGE_CLOCKS; c++) {
		now = page_clock_of(v, c);
		if (now >= r->holds.until[c] ||
		    (c != PAGE_CLOCK_STALE && now < r->from[c]))
			return false;
	}
	return page_time_wall_ahead(v) == r->wall_ahead;
}

/* --- pictures ------------------------------------------------------------- */

bool
page_rests_view(struct page *page, const struct page_view *v, int cols,
    int rows)
{
	const struct page_rest *r = page->rest;

	return r != NULL && r->stands && r->cols == cols && r->rows == rows &&
	    same_time(r, v) && memcmp(page, r->page, SHOWN) == 0 &&
	    same_session(r, v) && is_plain(page, v) &&
	    !page_sample_differs(page, v);
}

void
page_rest_begin(struct page *page, const struct page_view *v, int cols,
    int rows)
{
	struct page_rest *r = page->rest;
	enum page_clock c;

	if (r != NULL)
		r->stands = false;
	if (!is_plain(page, v))
		return;
	if (r == NULL)
		r = page->rest = calloc(1, sizeof *r);
	if (r == NULL || !add_texts(r->text, &r->len, v))
		return;
	for (c = 0; c < PAGE_CLOCKS; c++)
		r->from[c] = page_clock_of(v, c);
	r->wall_ahead = page_time_wall_ahead(v);
	r->cols = cols;
	r->rows = rows;
	r->names_no = v->names_no;
	memcpy(r->page, page, SHOWN);
	memcpy(&r->look, v->look, sizeof r->look);
	blank(&r->look);
	r->counts = *v->counts;
	if (r->look.keeper != NULL)
		memcpy(r->keeper, r->look.keeper, sizeof r->keeper);
	r->stands = true;
}

void
page_rest_end(struct page *page, const struct page_holds *holds)
{
	if (page->rest == NULL || !page->rest->stands)
		return;
	page->rest->stands = holds != NULL;
	if (holds != NULL)
		page->rest->holds = *holds;
}
