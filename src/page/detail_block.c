/*
 * The lines of the detail that its record fills, and what has become of it.
 */
#include <stdio.h>
#include <time.h>

#include "detail_parts.h"
#include "marked.h"

void
detail_put_label(const char *label, struct page_picture *pic)
{
	picture_line(pic);
	picture_printf(pic, "  %-*s", LABEL_COLS - 2, label);
	picture_fold(pic, LABEL_COLS);
}

static const char *
age_of(const struct page_view *v, int64_t ms, char out[8])
{
	page_cell_age(out, v->look->now_ms > ms ?
	    (uint64_t)(v->look->now_ms - ms) / 1000 : 0);
	return out;
}

/* By what and in which thread, when its record was seen. */
void
detail_put_end(const struct page_view *v, const struct nodes_freed *how,
    struct page_picture *pic)
{
	static const struct {
		enum rec_type type;
		const char *by;
	} ways[] = {
		{ TYPE_FREE, "free" }, { TYPE_DELETE, "delete" },
		{ TYPE_DELETE_ARRAY, "delete[]" },
		{ TYPE_BY_REALLOC, "realloc" },
	};
	const char *thread;
	size_t i;

	for (i = 0; i < BASE_NELEM(ways); i++)
		if (how->type == ways[i].type)
			picture_printf(pic, " by %s", ways[i].by);
	if (how->thread == 0)
		return;
	thread = v->thread(v->arg, how->thread);
	picture_put(pic, " in thread ");
	if (thread[0] != '\0')
		picture_text(pic, thread, 16, PICTURE_FREE);
	else
		picture_printf(pic, "%u", how->thread);
}

static void
put_freed(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char age[8];

	if (v->freed != NULL) {
		picture_printf(pic, "freed %s ago", age_of(v, v->freed->ms,
		    age));
		detail_put_end(v, v->freed, pic);
	} else {
		picture_printf(pic, "freed, seen %s ago", age_of(v,
		    d->freed_ms, age));
	}
	if (d->again)
		picture_put(pic, "; its address is in use again");
}

static void
put_state(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	bool again;

	detail_put_label("state", pic);
	if (d->stream_no != v->look->stream_no) {
		picture_put(pic, "another stream is watched by now");
	} else if (d->freed) {
		put_freed(d, v, pic);
	} else if (v->live != v->look && !detail_is_listed(d, v->live, &again)) {
		picture_put(pic, "live in the paused picture, freed since");
	} else {
		picture_put(pic, "live");
		return;
	}
	picture_mark(pic, LABEL_COLS, picture_col(pic), PAGE_WARN);
}

uint64_t
detail_used(const struct nodes_look *look, const struct blk *b)
{
	return look->classic ? b->size : b->size +
	    (uint64_t)b->overhead * 16;
}

/* Of a sample each block is there for many. */
static void
put_weight(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char blocks[32], bytes[24], period[PAGE_SAMPLE_TEXT];
	double weight;

	if (v->look->sample == 0 || v->look->list == NULL)
		return;
	weight = blklist_weight(v->look->list, &d->blk);
	base_group_digits(blocks, sizeof blocks, (uint64_t)(weight + 0.5));
	base_human_bytes(bytes, sizeof bytes,
	    (uint64_t)(weight * (double)d->blk.size + 0.5));
	page_sample_text(v->look->sample, period);
	detail_put_label("sample", pic);
	picture_printf(pic, "stands for ~%s blocks, ~%s; sample %s", blocks,
	    bytes, period);
}

/* By its own number, whoever has had its address. */
static void
put_since(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	const struct page_moment *m;
	char at[12];

	if (!page_is_marked(page) || d->stream_no != v->look->stream_no)
		return;
	m = &page->marked->mark;
	page_moment_text(page, v, m, at);
	detail_put_label("mark", pic);
	picture_printf(pic, page_moment_is_new(m, &d->blk) ?
	    "new since %s" : "there before %s", at);
}

static void
put_size(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	char asked[32], used[32];

	detail_put_label("size", pic);
	base_group_digits(asked, sizeof asked, d->blk.size);
	base_group_digits(used, sizeof used, detail_used(v->look, &d->blk));
	if (v->look->classic)
		picture_printf(pic, "%s asked", asked);
	else
		picture_printf(pic, "%s asked, %s %s used", asked,
		    d->blk.overhead == UINT16_MAX ? "at least" : "about", used);
}

static void
put_type(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const struct stream_type *t = v->look->types != NULL ?
	    &v->look->types->by_code[d->blk.type] : NULL;

	detail_put_label("type", pic);
	picture_printf(pic, "%02X ", d->blk.type);
	if (t == NULL || t->name[0] == '\0') {
		picture_put(pic, "not a type of this stream");
		return;
	}
	picture_text(pic, t->name, 8, PICTURE_FREE);
	if (t->text[0] == '\0')
		return;
	picture_put(pic, ", ");
	picture_text(pic, t->text, pic->cols, PICTURE_FREE);
}

static void
put_thread(const struct page_detail *d, const struct page_view *v,
    struct page_picture *pic)
{
	const char *name = page_cell_thread(v, &d->blk);

	detail_put_label("thread", pic);
	if (d->blk.thread == 0) {
		picture_put(pic, "not known");
		return;
	}
	if (name[0] != '\0') {
		picture_text(pic, name, 32, PICTURE_FREE);
		picture_put(pic, ", ");
	}
	picture_printf(pic, "index %u", d->blk.thread);
}

void
detail_clock(const struct page *page, const struct nodes_look *look,
    int64_t ms, char out[DETAIL_CLOCK])
{
	int64_t wall = look->node_wall_ms - (look->now_ms - ms);
	char age[8];
	size_t len = 0;
	struct tm tm;

	out[0] = '\0';
	if (look->node_wall_ms == 0 || wall < 0) {
		page_cell_age(age, look->now_ms > ms ?
		    (uint64_t)(look->now_ms - ms) / 1000 : 0);
		base_append(out, DETAIL_CLOCK, &len, "%s ago", age);
		return;
	}
	page_wall(page, look, wall, &tm);
	base_append(out, DETAIL_CLOCK, &len, "%02d:%02d:%02d.%03d",
	    tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall % 1000));
}

static void
put_time(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	const struct nodes_look *look = v->look;
	int64_t wall = look->node_wall_ms - (look->now_ms - d->blk.ms), end;
	char age[8], when[32] = "";
	struct tm tm;

	detail_put_label("age", pic);
	if (d->freed) {
		end = v->freed != NULL ? v->freed->ms : d->freed_ms;
		page_cell_age(age, end > d->blk.ms ?
		    (uint64_t)(end - d->blk.ms) / 1000 : 0);
		picture_printf(pic, "lived %s", age);
	} else {
		page_cell_age(age, page_cell_seconds(look, &d->blk));
		picture_put(pic, age);
	}
	if (look->node_wall_ms == 0 || wall < 0)
		return;
	page_wall(page, look, wall, &tm);
	if (strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) > 0)
		picture_printf(pic, ", since %s.%03d", when,
		    (int)(wall % 1000));
}

void
detail_put_block(const struct page_detail *d, const struct page *page,
    const struct page_view *v, struct page_picture *pic)
{
	unsigned level = d->blk.flags & REC_LEVEL_MASK;
	char seq[32];

	detail_put_label("address", pic);
	picture_printf(pic, "%0*llx", v->look->classic ? 8 : 12,
	    (unsigned long long)d->blk.addr);
	if (d->layer != 0)
		picture_put(pic, ", named through the API");
	put_state(d, v, pic);
	put_size(d, v, pic);
	put_weight(d, v, pic);
	put_type(d, v, pic);
	put_thread(d, v, pic);
	detail_put_label("requester", pic);
	picture_text(pic, d->info[0] != '\0' ? d->info : "none", 16,
	    PICTURE_FREE);
	put_time(d, page, v, pic);
	put_since(d, page, v, pic);
	base_group_digits(seq, sizeof seq, d->blk.seq);
	detail_put_label("sequence", pic);
	picture_put(pic, seq);
	if (!v->look->levels) {
		picture_printf(pic, ", flags %X", d->blk.flags & 0xf);
	} else if (level != 0) {
		picture_printf(pic, ", level %u", level);
	}
}
