#include <stdio.h>

#include "view.h"

void
page_view_init(struct page_view *v, const struct nodes_look *look)
{
	static const struct blklist_counts none;

	v->look = v->live = look;
	v->fetching = "";
	v->pending = 0;
	v->names_no = 0;
	v->gone = false;
	v->freed = NULL;
	v->wrappers = NULL;
	v->refcnt = NULL;
	v->units = PAGE_UNITS_EXACT;
	v->utc = false;
	v->counts = look->list != NULL ? blklist_counts(look->list) : &none;
	v->now = mono_now();
}

uint64_t
page_view_total(const struct page_view *v)
{
	return v->look->list != NULL ? v->counts->aRecActive : 0;
}

uint64_t
page_view_changes(const struct page_view *v)
{
	/* A merge of lists removes blocks without a record. */
	return v->counts->records + v->counts->inherited +
	    ((uint64_t)v->counts->aRecActive << 36);
}

bool
page_view_known(const struct page_view *v)
{
	return v->look->list != NULL && v->look->state != NODES_DORMANT &&
	    (v->look->settled || v->counts->aRecActive > 0);
}

bool
page_paints_little(const struct page *page)
{
	return page_is_on_screen(page) && page->opts.fps == 1;
}

bool
page_freeze_is_wanted(const struct page *page, const struct page_view *v)
{
	return page->freeze.held ||
	    mono_diff_ns(page->freeze.until, v->now) > 0;
}

void
page_refreeze(struct page *page)
{
	page->freeze.round++;
}

uint64_t
page_lost(const struct nodes_look *look)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < STREAM_CAUSES; i++)
		n += look->loss.lost[i];
	return n;
}

uint64_t
page_lost_for_good(const struct nodes_look *look)
{
	uint64_t lost = page_lost(look);

	return lost > look->loss.mended ? lost - look->loss.mended : 0;
}

struct nodes_errors
page_errors(const struct nodes_look *look, const struct blklist_counts *list)
{
	const struct nodes_errors *before = &look->loss.before;

	return (struct nodes_errors){
		.failed = before->failed + list->failed,
		.unknown_free = before->unknown_free + list->unknown_free,
		.earlier = before->earlier + list->earlier,
		.duplicate = before->duplicate + list->duplicate,
		.illegal_type = before->illegal_type + list->illegal_type,
	};
}

static const char *
live_thread(void *arg, uint16_t thread)
{
	return nodes_session_thread(arg, thread);
}

void
page_view_live(struct page_view *v, struct nodes_session *session)
{
	page_view_init(v, nodes_session_look(session));
	v->words = nodes_profile_words;
	v->words.arg = session;
	v->thread = live_thread;
	v->arg = session;
	v->fetching = nodes_session_fetching(session);
	v->pending = nodes_session_symbols_pending(session);
	v->names_no = nodes_session_names_no(session);
	v->typed = nodes_session_typed(session);
	v->freed = nodes_session_freed(session);
	v->lives = nodes_session_lives(session);
}

void
page_sample_text(uint64_t period, char out[PAGE_SAMPLE_TEXT])
{
	static const char units[] = "kMGT";
	uint64_t n = period;
	char unit[2] = "";
	size_t i;

	for (i = 0; units[i] != '\0' && n >= 1024 && n % 1024 == 0; i++) {
		n /= 1024;
		unit[0] = units[i];
	}
	snprintf(out, PAGE_SAMPLE_TEXT, "1/%llu%s", (unsigned long long)n,
	    unit);
}

const char *
page_about(uint64_t sample)
{
	return sample != 0 ? "~" : "";
}

uint64_t
page_view_blocks(const struct page_view *v)
{
	if (v->look->list == NULL)
		return 0;
	return v->look->sample != 0 ? v->counts->est_blocks :
	    v->counts->aRecActive;
}

double
page_view_weight(const struct page_view *v, const struct blk *b)
{
	return v->look->sample != 0 ? blklist_weight(v->look->list, b) : 1;
}

uint64_t
page_view_bytes(const struct page_view *v)
{
	return v->look->sample != 0 ? v->counts->est_bytes :
	    v->counts->live_bytes;
}
