#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/base.h"
#include "../../base/hashmap.h"
#include "../page/calls.h"
#include "row_filter.h"

#define ORIGINS 512
#define ROOM_BEFORE 3		/* quarters of a line before the error */

struct origin {
	uint64_t caller;
	uint32_t pass;		/* 0: none */
	bool known;
	struct page_call call;
};

struct page_row_filter {
	const struct filter *filter;
	struct filter *own;	/* the same; NULL: it is borrowed */
	const struct page_view *v;	/* of the pass */
	uint32_t pass;
	const struct blk *b;		/* the current one */
	bool named, unsure;
	struct page_row_filter_sums sums;
	char text[PAGE_NAME_MAX];	/* a field that cannot be borrowed */
	struct origin origin[ORIGINS];
};

int
page_row_filter_new(struct page_row_filter **out, const char *expression,
    struct filter_error *e)
{
	struct filter *filter;
	int r = filter_new(&filter, expression, e);

	if (r < 0)
		return r;
	r = page_row_filter_borrow(out, filter);
	if (r < 0)
		filter_free(filter);
	else
		(*out)->own = filter;
	return r;
}

int
page_row_filter_borrow(struct page_row_filter **out, const struct filter *filter)
{
	struct page_row_filter *s = calloc(1, sizeof *s);

	if (s == NULL)
		return -ENOMEM;
	s->filter = filter;
	*out = s;
	return 0;
}

void
page_row_filter_free(struct page_row_filter *s)
{
	if (s == NULL)
		return;
	filter_free(s->own);
	free(s);
}

const char *
page_row_filter_text(const struct page_row_filter *s)
{
	return s != NULL ? filter_text(s->filter) : NULL;
}

bool
page_row_filter_wants_names(const struct page_row_filter *s)
{
	return s != NULL && (filter_wants(s->filter, FILTER_THREAD) ||
	    filter_wants(s->filter, FILTER_FUNCTION) ||
	    filter_wants(s->filter, FILTER_FILE) ||
	    filter_wants(s->filter, FILTER_LINE) ||
	    filter_wants(s->filter, FILTER_CTYPE) ||
	    filter_wants(s->filter, FILTER_CALLER) ||
	    filter_wants(s->filter, FILTER_STACK_END) ||
	    filter_wants(s->filter, FILTER_MODULE));
}

bool
page_row_filter_wants_requester(const struct page_row_filter *s)
{
	return s != NULL && (filter_wants(s->filter, FILTER_DESCR) ||
	    filter_wants(s->filter, FILTER_RNOD) ||
	    filter_wants(s->filter, FILTER_REQUESTER));
}

static const struct page_call *
origin_of(struct page_row_filter *s, uint64_t caller)
{
	struct origin *o = &s->origin[hash_of_key(caller) % ORIGINS];

	if (o->pass != s->pass || o->caller != caller) {
		o->known = page_calls_origin(s->v, caller, &o->call);
		o->caller = caller;
		o->pass = s->pass;
	}
	return o->known ? &o->call : NULL;
}

/* The line as text; "": not known. */
static void
line_text(const struct page_call *call, char *out, size_t cap)
{
	if (call->line != NULL && call->line->line != 0)
		snprintf(out, cap, "%u", (unsigned)call->line->line);
}

static const char *
name_of(struct page_row_filter *s, enum filter_field field)
{
	const struct page_call *call = origin_of(s, s->b->caller);

	s->named = true;
	s->text[0] = '\0';
	/* Without a caller there will never be a name. */
	if (s->b->caller != 0 && (call == NULL || call->words == NULL ||
	    call->words->fetching || call->words->known == WIRE_K_PENDING))
		s->unsure = true;
	if (call == NULL)
		return "";
	if (field == FILTER_FUNCTION)
		page_call_function(call, s->text, sizeof s->text);
	else if (field == FILTER_CTYPE)
		page_calls_type(s->v, s->b->caller, s->text, sizeof s->text);
	else if (field == FILTER_LINE)
		line_text(call, s->text, sizeof s->text);
	else if (field == FILTER_FILE)
		page_call_where(call, true, s->text, sizeof s->text);
	else if (call->words != NULL)
		page_text_copy(s->text, sizeof s->text, call->words->module);
	return s->text;
}

static const char *
thread_of(struct page_row_filter *s)
{
	const char *name = page_cell_thread(s->v, s->b);

	if (s->b->thread != 0 && name[0] == '\0')
		s->unsure = true;
	return name;
}

/* In decimal digits; "": its pages are not counted. */
static const char *
touch_of(struct page_row_filter *s, enum filter_field field)
{
	struct refcnt_touch t;

	s->text[0] = '\0';
	if (page_touch(s->v, s->b, &t))
		snprintf(s->text, sizeof s->text, "%" PRIu64,
		    field == FILTER_TOUCHES ? t.count : (uint64_t)t.idle_ms);
	return s->text;
}

static const char *
stack_of(struct page_row_filter *s, enum filter_field field)
{
	struct page_calls calls;

	s->text[0] = '\0';
	if (!page_calls_begin(&calls, s->v, s->b->caller)) {
		s->unsure |= s->b->caller != 0;
		return s->text;
	}
	if (field == FILTER_STACK_END)
		return calls.stack.end != 0 ? stream_end_text(calls.stack.end) : "";
	if (calls.stack.depth > 0)
		snprintf(s->text, sizeof s->text, "%" PRIu64,
		    frame_pc(calls.stack.frame[0]));
	return s->text;
}

static const char *
weight_of(struct page_row_filter *s)
{
	snprintf(s->text, sizeof s->text, "%.0f", page_view_weight(s->v, s->b));
	return s->text;
}

static const char *
text_of(void *arg, enum filter_field field)
{
	struct page_row_filter *s = arg;
	const struct nodes_look *look = s->v->look;

	switch (field) {
	case FILTER_TOUCHED:
	case FILTER_TOUCHES:
		return touch_of(s, field);
	case FILTER_WEIGHT:
		return weight_of(s);
	case FILTER_CALLER:
	case FILTER_STACK_END:
		return stack_of(s, field);
	case FILTER_TYPE:
		return look->types != NULL ?
		    look->types->by_code[s->b->type].name : "";
	case FILTER_DESCR:
		return page_descr(look, s->b);
	case FILTER_REQUESTER:
		return page_requester(s->text, look, s->b);
	case FILTER_THREAD:
		return thread_of(s);
	case FILTER_RNOD:
		page_cell_rnod(s->text, look, s->b);
		return s->text;
	default:
		return name_of(s, field);
	}
}

/* A classic node's clock has no zone: the user means what it shows. */
static uint64_t
wall_ms(const struct nodes_look *look, const struct blk *b)
{
	int64_t ms = page_wall_ms(look, b->ms);
	time_t second = (time_t)(ms / 1000);
	struct tm tm;

	if (!page_time_known(look) || b->ms == 0 || ms <= 0)
		return 0;
	if (look->classic && localtime_r(&second, &tm) != NULL)
		ms -= (int64_t)tm.tm_gmtoff * 1000;
	return (uint64_t)ms;
}

static void
fill_numbers(const struct nodes_look *look, const struct blk *b, int64_t now_ms,
    uint64_t number[FILTER_NUMBERS])
{
	number[FILTER_SIZE] = b->size;
	number[FILTER_USED] = blk_used(b);
	number[FILTER_OVERHEAD] = rec_overhead_bytes(b->overhead);
	number[FILTER_ADDRESS] = b->addr;
	number[FILTER_AGE] = now_ms > b->ms ? (uint64_t)(now_ms - b->ms) : 0;
	number[FILTER_TIME] = wall_ms(look, b);
	number[FILTER_SEQ] = b->seq;
	number[FILTER_TYPE] = b->type;
	number[FILTER_LAYER] = blk_layer(b) && !look->classic;
	number[FILTER_TID] = b->thread;
	number[FILTER_LEVEL] = look->levels ? b->flags & REC_LEVEL_MASK : 0;
}

void
page_row_filter_begin(struct page_row_filter *s, const struct page_view *v)
{
	if (s == NULL)
		return;
	s->v = v;
	s->sums = (struct page_row_filter_sums){ 0 };
	/* After a wrap the cached passes would look valid. */
	if (++s->pass == 0) {
		memset(s->origin, 0, sizeof s->origin);
		s->pass = 1;
	}
}

bool
page_row_filter_matches(struct page_row_filter *s, const struct blk *b)
{
	return s == NULL ||
	    page_row_filter_matches_at(s, b, s->v->look->now_ms);
}

bool
page_row_filter_matches_at(struct page_row_filter *s, const struct blk *b,
    int64_t now_ms)
{
	struct filter_block asked = { .text = text_of, .arg = s };
	double weight;
	bool let;

	if (s == NULL)
		return true;
	s->named = s->unsure = false;
	if (page_is_free(b))
		return false;
	s->b = b;
	fill_numbers(s->v->look, b, now_ms, asked.number);
	let = filter_matches(s->filter, &asked);
	s->sums.unsure += s->unsure;
	if (!let)
		return false;
	weight = s->v->look->list != NULL ?
	    blklist_weight(s->v->look->list, b) : 1;
	s->sums.blocks++;
	s->sums.bytes += b->size;
	s->sums.est_blocks += weight;
	s->sums.est_bytes += weight * (double)b->size;
	return true;
}

bool
page_row_filter_used_name(const struct page_row_filter *s)
{
	return s != NULL && s->named;
}

struct page_row_filter_sums
page_row_filter_sums(const struct page_row_filter *s)
{
	return s != NULL ? s->sums : (struct page_row_filter_sums){ 0 };
}

size_t
page_filter_error_column(const char *expression, size_t at)
{
	size_t column = 1;

	for (size_t i = 0; i < at && expression[i] != '\0'; i++)
		column += (expression[i] & 0xc0) != 0x80;
	return column;
}

static size_t
char_len(const char *s)
{
	size_t n = base_utf8_char(s, strlen(s), NULL);

	return n > 0 ? n : 1;
}

static int
cols_of(const char *s, size_t len, bool ascii)
{
	char safe[4 * FILTER_MAX + 4];

	base_safe_text(safe, sizeof safe, s, len, ascii);
	return picture_width(safe, ascii);
}

void
page_filter_error_lines(const char *expression, size_t at, int cols, bool ascii,
    char *lines, size_t cap)
{
	size_t len = strnlen(expression, FILTER_MAX), from = 0, to, n = 0;
	char safe[4 * FILTER_MAX + 4];
	int before;

	lines[0] = '\0';
	if (at > len)
		at = len;
	/* A long expression is cut on both sides. */
	while ((before = cols_of(expression + from, at - from, ascii)) >
	    cols * ROOM_BEFORE / 4)
		from += char_len(expression + from);
	for (to = at; to < len; to += char_len(expression + to))
		if (cols_of(expression + from, to - from +
		    char_len(expression + to), ascii) > cols)
			break;
	base_safe_text(safe, sizeof safe, expression + from,
	    (to < len ? to : len) - from, ascii);
	base_append(lines, cap, &n, "%s\n%*s^\n", safe, before, "");
}
