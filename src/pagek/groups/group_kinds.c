#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "siblings.h"
#include "group_kinds.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

static uint64_t
type_of(const struct page_view *v, int64_t now_ms, const struct blk *b)
{
	(void)v;
	(void)now_ms;
	return b->type;
}

static void
say_type(const struct page *page, const struct page_view *v,
    const struct profile_group *g, struct page_group_words *out)
{
	const char *name = v->look->types != NULL ?
	    v->look->types->by_code[g->tag & 0xff].name : "";

	(void)page;
	snprintf(out->name, sizeof out->name, "%s", name[0] != '\0' ? name :
	    "?");
	snprintf(out->where, sizeof out->where, "%02X",
	    (unsigned)(g->tag & 0xff));
}

static uint64_t
thread_of(const struct page_view *v, int64_t now_ms, const struct blk *b)
{
	(void)v;
	(void)now_ms;
	return b->thread;
}

static void
name_thread(const struct page_view *v, unsigned thread, char *out, size_t cap)
{
	const char *name = thread != 0 ? v->thread(v->arg, (uint16_t)thread) :
	    "";

	if (thread == 0)
		snprintf(out, cap, "(thread not known)");
	else if (name[0] != '\0')
		snprintf(out, cap, "%s", name);
	else
		snprintf(out, cap, "thread %u", thread);
}

static void
say_thread(const struct page *page, const struct page_view *v,
    const struct profile_group *g, struct page_group_words *out)
{
	(void)page;
	name_thread(v, (unsigned)g->tag, out->name, sizeof out->name);
}

static const struct {
	int64_t below_ms;
	const char *name;
} bands[] = {
	{ SECOND, "below 1 s" },
	{ 10 * SECOND, "1 s to 10 s" },
	{ MINUTE, "10 s to 1 min" },
	{ 10 * MINUTE, "1 min to 10 min" },
	{ HOUR, "10 min to 1 h" },
	{ INT64_MAX, "1 h and older" },
};

/* The oldest have the lowest tag: sorted by name they come first. */
static uint64_t
age_band(const struct page_view *v, int64_t now_ms, const struct blk *b)
{
	int64_t ms = now_ms > b->ms ? now_ms - b->ms : 0;
	size_t i = 0;

	(void)v;
	while (i < BASE_NELEM(bands) - 1 && ms >= bands[i].below_ms)
		i++;
	return BASE_NELEM(bands) - 1 - i;
}

static void
say_age(const struct page *page, const struct page_view *v,
    const struct profile_group *g, struct page_group_words *out)
{
	(void)page;
	(void)v;
	snprintf(out->name, sizeof out->name, "%s",
	    bands[BASE_NELEM(bands) - 1 - g->tag % BASE_NELEM(bands)].name);
}

static uint64_t
born_of(const struct page_view *v, int64_t now_ms, const struct blk *b)
{
	(void)v;
	(void)now_ms;
	return page_sibling_key(b);
}

static void
say_born(const struct page *page, const struct page_view *v,
    const struct profile_group *g, struct page_group_words *out)
{
	const struct nodes_look *look = v->look;
	int64_t ms = look->node_wall_ms - (look->now_ms - g->total.oldest_ms);
	char function[PAGE_NAME_MAX] = "", thread[64];
	struct page_call call;
	struct tm tm;
	size_t len = 0;

	if (page_calls_origin(v, g->caller, &call)) {
		page_call_function(&call, function, sizeof function);
		page_call_where(&call, false, out->where, sizeof out->where);
	}
	page_wall(page, look, ms, &tm);
	base_append(out->name, sizeof out->name, &len, "%02d:%02d:%02d.%d",
	    tm.tm_hour, tm.tm_min, tm.tm_sec,
	    (int)(ms % SECOND < 0 ? 0 : ms % SECOND / 100));
	if (g->thread > 0) {
		name_thread(v, (unsigned)g->thread, thread, sizeof thread);
		base_append(out->name, sizeof out->name, &len, " %s", thread);
	}
	base_append(out->name, sizeof out->name, &len, "%s%s",
	    function[0] != '\0' ? " " : "", function);
}

static const struct page_group_kind kinds[] = {
	{ "none", "none", NULL, NULL, PROFILE_SITE, NULL, NULL, false, false },
	{ "function", "function", "FUNCTION", "function", PROFILE_FUNCTION,
	    NULL, NULL, false, false },
	{ "site", "site", "SITE", "stack", PROFILE_SITE, NULL, NULL, false,
	    false },
	{ "line", "line", "LINE", "line", PROFILE_LINE, NULL, NULL, false,
	    false },
	{ "module", "module", "MODULE", "module", PROFILE_MODULE, NULL, NULL,
	    false, false },
	{ "frame", "any frame", "FRAME", "function", PROFILE_FRAME, NULL, NULL,
	    false, false },
	{ "type", "type", "TYPE", "type", PROFILE_TAG, type_of, say_type, false,
	    false },
	{ "ctype", "type of the objects", "CTYPE", "type", PROFILE_CTYPE, NULL,
	    NULL, false, false },
	{ "thread", "thread", "THREAD", "thread", PROFILE_TAG, thread_of,
	    say_thread, false, false },
	{ "age", "age", "AGED", "age", PROFILE_TAG, age_band, say_age, true,
	    true },
	{ "born", "born together", "BORN", "born", PROFILE_TAG, born_of,
	    say_born, false, true },
};

const struct page_group_kind *
page_group_kind(unsigned kind)
{
	return kind > 0 && kind < BASE_NELEM(kinds) ? &kinds[kind] : NULL;
}

static int
find_kind(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < BASE_NELEM(kinds); i++)
		if (strlen(kinds[i].word) == len &&
		    memcmp(kinds[i].word, word, len) == 0)
			return (int)i;
	return -1;
}

unsigned
page_group_kind_called(const char *word)
{
	int kind = find_kind(word, strlen(word));

	return kind > 0 ? (unsigned)kind : 0;
}

int
page_group_kinds_parse(const char *text, unsigned *kind, unsigned *below)
{
	size_t len = strcspn(text, ">");
	int first = find_kind(text, len), second = 0;

	if (text[len] == '>')
		second = find_kind(text + len + 1, strlen(text + len + 1));
	/* Without groups there is no second level. */
	if (first < 0 || second < 0 || (first == 0 && second > 0))
		return -EINVAL;
	*kind = (unsigned)first;
	*below = (unsigned)second;
	return 0;
}

void
page_group_kinds_list(char *out, size_t cap)
{
	size_t i, len = 0;

	for (i = 1; i < BASE_NELEM(kinds); i++)
		base_append(out, cap, &len, "%s%s", i == 1 ? "" :
		    i + 1 < BASE_NELEM(kinds) ? ", " : " and ",
		    kinds[i].word);
}

void
page_group_join(struct page_group_words *w)
{
	size_t len = strlen(w->name);

	if (w->where[0] != '\0')
		base_append(w->name, sizeof w->name, &len, "  %s", w->where);
	w->where[0] = '\0';
}

void
page_group_say(const struct page *page, const struct page_view *v,
    const struct page_group_kind *k, const struct profile_group *g,
    struct page_group_words *out)
{
	out->name[0] = out->where[0] = '\0';
	if (k->say != NULL) {
		k->say(page, v, g, out);
		return;
	}
	snprintf(out->name, sizeof out->name, "%s", g->name);
	snprintf(out->where, sizeof out->where, "%s", g->where);
}
