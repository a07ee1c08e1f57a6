/*
 * See row_filter.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../base/hashmap.h"
#include "../page/calls.h"
#include "free_blocks.h"
#include "row_filter.h"

#define ORIGINS 512
#define ROOM_BEFORE 3		/* parts of four of a line that go before the place */

/* Who asked, for blocks of one caller come again and again. */
struct origin {
	uint64_t caller;
	uint32_t pass;		/* 0: none */
	bool known;
	struct page_call call;
};

struct page_sieve {
	const struct filter *filter;
	struct filter *own;	/* that one; NULL: it is borrowed */
	const struct page_view *v;	/* of the pass */
	uint32_t pass;
	const struct blk *b;		/* that is looked at */
	bool named, unsure;
	struct page_caught caught;
	char text[PAGE_NAME_MAX];	/* one that is made, not borrowed */
	struct origin origin[ORIGINS];
};

int
page_sieve_new(struct page_sieve **out, const char *expression,
    struct filter_error *e)
{
	struct filter *filter;
	int r = filter_new(&filter, expression, e);

	if (r < 0)
		return r;
	r = page_sieve_of(out, filter);
	if (r < 0)
		filter_free(filter);
	else
		(*out)->own = filter;
	return r;
}

int
page_sieve_of(struct page_sieve **out, const struct filter *filter)
{
	struct page_sieve *s = calloc(1, sizeof *s);

	if (s == NULL)
		return -ENOMEM;
	s->filter = filter;
	*out = s;
	return 0;
}

void
page_sieve_free(struct page_sieve *s)
{
	if (s == NULL)
		return;
	filter_free(s->own);
	free(s);
}

const char *
page_sieve_text(const struct page_sieve *s)
{
	return s != NULL ? filter_text(s->filter) : NULL;
}

bool
page_sieve_wants_names(const struct page_sieve *s)
{
	return s != NULL && (filter_wants(s->filter, FILTER_THREAD) ||
	    filter_wants(s->filter, FILTER_FUNCTION) ||
	    filter_wants(s->filter, FILTER_FILE) ||
	    filter_wants(s->filter, FILTER_MODULE));
}

bool
page_sieve_wants_requester(const struct page_sieve *s)
{
	return s != NULL && (filter_wants(s->filter, FILTER_DESCR) ||
	    filter_wants(s->filter, FILTER_RNOD));
}

/* --- what is known of a block -------------------------------------------- */

static const struct page_call *
origin_of(struct page_sieve *s, uint64_t caller)
{
	struct origin *o = &s->origin[hash_of_key(caller) % ORIGINS];

	if (o->pass != s->pass || o->caller != caller) {
		o->known = page_calls_origin(s->v, caller, &o->call);
		o->caller = caller;
		o->pass = s->pass;
	}
	return o->known ? &o->call : NULL;
}

static const char *
name_of(struct page_sieve *s, enum filter_field field)
{
	const struct page_call *call = origin_of(s, s->b->caller);

	s->named = true;
	s->text[0] = '\0';
	/* A block without a caller has no name that could come. */
	if (s->b->caller != 0 && (call == NULL || call->words == NULL ||
	    call->words->fetching || call->words->known == WIRE_K_PENDING))
		s->unsure = true;
	if (call == NULL)
		return "";
	if (field == FILTER_FUNCTION)
		page_call_function(call, s->text, sizeof s->text);
	else if (field == FILTER_FILE)
		page_call_where(call, true, s->text, sizeof s->text);
	else if (call->words != NULL)
		page_text_copy(s->text, sizeof s->text, call->words->module);
	return s->text;
}

static const char *
thread_of(struct page_sieve *s)
{
	const char *name = page_cell_thread(s->v, s->b);

	if (s->b->thread != 0 && name[0] == '\0')
		s->unsure = true;
	return name;
}

static const char *
text_of(void *arg, enum filter_field field)
{
	struct page_sieve *s = arg;
	const struct nodes_look *look = s->v->look;

	switch (field) {
	case FILTER_TYPE:
		return look->types != NULL ?
		    look->types->by_code[s->b->type].name : "";
	case FILTER_DESCR:
		return page_descr(look, s->b);
	case FILTER_THREAD:
		return thread_of(s);
	case FILTER_RNOD:
		page_cell_rnod(s->text, look, s->b);
		return s->text;
	default:
		return name_of(s, field);
	}
}

static void
fill_numbers(const struct nodes_look *look, const struct blk *b,
    uint64_t number[FILTER_NUMBERS])
{
	number[FILTER_SIZE] = b->size;
	number[FILTER_USED] = b->size + (uint64_t)b->overhead * 16;
	number[FILTER_ADDR] = b->addr;
	number[FILTER_AGE] = look->now_ms > b->ms ?
	    (uint64_t)(look->now_ms - b->ms) : 0;
	number[FILTER_SEQ] = b->seq;
	number[FILTER_TYPE] = b->type;
	number[FILTER_LAYER] = blk_layer(b) && !look->classic;
	number[FILTER_TID] = b->thread;
}

/* --- a pass -------------------------------------------------------------- */

void
page_sieve_begin(struct page_sieve *s, const struct page_view *v)
{
	if (s == NULL)
		return;
	s->v = v;
	s->caught = (struct page_caught){ 0 };
	/* Passes from long ago must not come back. */
	if (++s->pass == 0) {
		memset(s->origin, 0, sizeof s->origin);
		s->pass = 1;
	}
}

bool
page_sieve_lets(struct page_sieve *s, const struct blk *b)
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
	fill_numbers(s->v->look, b, asked.number);
	let = filter_matches(s->filter, &asked);
	s->caught.unsure += s->unsure;
	if (!let)
		return false;
	weight = s->v->look->list != NULL ?
	    blklist_weight(s->v->look->list, b) : 1;
	s->caught.blocks++;
	s->caught.bytes += b->size;
	s->caught.est_blocks += weight;
	s->caught.est_bytes += weight * (double)b->size;
	return true;
}

bool
page_sieve_named(const struct page_sieve *s)
{
	return s != NULL && s->named;
}

struct page_caught
page_sieve_caught(const struct page_sieve *s)
{
	return s != NULL ? s->caught : (struct page_caught){ 0 };
}

/* --- where an expression is wrong ----------------------------------------- */

size_t
page_sieve_column(const char *expression, size_t at)
{
	size_t column = 1;

	for (size_t i = 0; i < at && expression[i] != '\0'; i++)
		column += (expression[i] & 0xc0) != 0x80;
	return column;
}

static size_t
character(const char *s)
{
	size_t n = base_utf8_char(s, strlen(s), NULL);

	return n > 0 ? n : 1;
}

/* Columns of so many bytes of text, made safe. */
static int
cols_of(const char *s, size_t len, bool ascii)
{
	char safe[4 * FILTER_MAX + 4];

	base_safe_text(safe, sizeof safe, s, len, ascii);
	return picture_width(safe, ascii);
}

void
page_sieve_point(const char *expression, size_t at, int cols, bool ascii,
    char *lines, size_t cap)
{
	size_t len = strnlen(expression, FILTER_MAX), from = 0, to, n = 0;
	char safe[4 * FILTER_MAX + 4];
	int before;

	lines[0] = '\0';
	if (at > len)
		at = len;
	/* A long one is cut on both sides of the place. */
	while ((before = cols_of(expression + from, at - from, ascii)) >
	    cols * ROOM_BEFORE / 4)
		from += character(expression + from);
	for (to = at; to < len; to += character(expression + to))
		if (cols_of(expression + from, to - from +
		    character(expression + to), ascii) > cols)
			break;
	base_safe_text(safe, sizeof safe, expression + from,
	    (to < len ? to : len) - from, ascii);
	base_append(lines, cap, &n, "%s\n%*s^\n", safe, before, "");
}
