#include <string.h>
#include <time.h>

#include "../picture/picture.h"
#include "calls.h"

#define SIZE_COLUMNS 12		/* of `pagek list` */
#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const struct blklist_info *
requester(const struct nodes_look *look, const struct blk *b)
{
	if (look->list == NULL || b->info == 0)
		return NULL;
	return blklist_info_get(look->list, b->info);
}

const char *
page_descr(const struct nodes_look *look, const struct blk *b)
{
	const struct blklist_info *info = requester(look, b);
	const char *name;

	if (info != NULL && info->name[0] != '\0')
		return info->name;
	if (look->types == NULL)
		return "?";
	name = look->types->by_code[b->type].name;
	return name[0] != '\0' ? name : "?";
}

void
page_cell_rnod(char out[8], const struct nodes_look *look,
    const struct blk *b)
{
	const struct blklist_info *info = requester(look, b);
	size_t len = 0;

	out[0] = '\0';
	if (info != NULL && info->name[0] == '\0')
		base_append(out, 8, &len, "%04X", info->node);
}

const char *
page_requester(char room[PAGE_REQUESTER_TEXT], const struct nodes_look *look,
    const struct blk *b)
{
	const struct blklist_info *info = requester(look, b);

	if (info != NULL && info->name[0] != '\0')
		return info->name;
	page_cell_rnod(room, look, b);
	return room;
}

uint64_t
page_cell_seconds(const struct nodes_look *look, const struct blk *b)
{
	return look->now_ms > b->ms ? (uint64_t)(look->now_ms - b->ms) / 1000 :
	    0;
}

void
page_cell_age(char out[8], uint64_t s)
{
	size_t len = 0;

	if (s >= 10000ull * DAY)
		base_append(out, 8, &len, "*");
	else if (s >= 10 * DAY)
		base_append(out, 8, &len, "%ud", (unsigned)(s / DAY));
	else if (s >= DAY)
		base_append(out, 8, &len, "%ud%02uh", (unsigned)(s / DAY),
		    (unsigned)(s % DAY / HOUR));
	else if (s >= 10 * HOUR)
		base_append(out, 8, &len, "%uh", (unsigned)(s / HOUR));
	else if (s >= HOUR)
		base_append(out, 8, &len, "%uh%02um", (unsigned)(s / HOUR),
		    (unsigned)(s % HOUR / MINUTE));
	else if (s >= 10 * MINUTE)
		base_append(out, 8, &len, "%um", (unsigned)(s / MINUTE));
	else if (s >= MINUTE)
		base_append(out, 8, &len, "%um%02us", (unsigned)(s / MINUTE),
		    (unsigned)(s % MINUTE));
	else
		base_append(out, 8, &len, "%us", (unsigned)s);
}

static const unsigned age_from[] = { 0, 1, 10, MINUTE, 10 * MINUTE, HOUR };
static const char age_glyphs[] = ".:-=+#";

_Static_assert(PAGE_AGE + BASE_NELEM(age_from) - 1 == PAGE_AGE_LAST &&
    BASE_NELEM(age_from) == sizeof age_glyphs - 1,
    "each step has a mark and a glyph");

static size_t
age_step(uint64_t s)
{
	size_t i = 0;

	while (i + 1 < BASE_NELEM(age_from) && s >= age_from[i + 1])
		i++;
	return i;
}

char
page_cell_age_glyph(uint64_t s)
{
	return age_glyphs[age_step(s)];
}

enum page_mark
page_cell_age_mark(uint64_t s)
{
	return (enum page_mark)(PAGE_AGE + age_step(s));
}

void
page_cell_function(const struct page_view *v, const struct blk *b, int gap,
    int width, struct page_picture *pic)
{
	const struct wire_region *region;
	struct page_call call;

	if (page_is_free(b)) {
		region = page_free_region(v->look, b->addr);
		if (region != NULL && region->name[0] != '\0') {
			picture_printf(pic, "%*sin ", gap, "");
			picture_text(pic, region->name, width - 3,
			    PICTURE_FREE);
		}
		return;
	}
	if (!page_calls_origin(v, b->caller, &call))
		return;
	picture_printf(pic, "%*s", gap, "");
	page_put_call(&call, width, pic);
}

const char *
page_cell_thread(const struct page_view *v, const struct blk *b)
{
	return b->thread != 0 ? v->thread(v->arg, b->thread) : "";
}

void
page_cell_classic(const struct page_view *v, const struct blk *b,
    int addr_cols, struct page_picture *pic)
{
	char size[5], rnod[8], age[4];

	base_format_size(size, 4, b->size);
	if (addr_cols > 8)
		picture_printf(pic, "%0*llX", addr_cols,
		    (unsigned long long)b->addr);
	else
		picture_printf(pic, "%08X", (unsigned)b->addr);
	if (page_is_free(b)) {
		picture_printf(pic, " %s    %-16s", size, PAGE_FREE_WORD);
		return;
	}
	page_cell_rnod(rnod, v->look, b);
	base_format_age(age, 3, page_cell_seconds(v->look, b));
	picture_printf(pic, " %s %02X ", size, b->type);
	picture_clip(pic, page_descr(v->look, b), 7, PICTURE_LEFT);
	picture_printf(pic, " %4s %3s", rnod, v->gone ? "-" : age);
}

bool
page_touch(const struct page_view *v, const struct blk *b,
    struct refcnt_touch *t)
{
	return v->refcnt != NULL && !page_is_free(b) &&
	    refcnt_touch_of(v->refcnt, b->addr, b->size, b->ms, t);
}

/* A list of the visible rows alone does not tell how many blocks share a page. */
static void
sharers_text(const struct page_view *v, const struct blk *b, char out[5])
{
	size_t n = v->look->window || v->look->list == NULL ? 0 :
	    refcnt_sharers(v->look->list, b), len = 0;

	if (n == 1)
		base_append(out, 5, &len, "=");
	else if (n == 0)
		base_append(out, 5, &len, "/?");
	else
		base_append(out, 5, &len, n > 999 ? "/+++" : "/%zu", n);
}

void
page_cell_touch(const struct page_view *v, const struct blk *b,
    char out[PAGE_TOUCH_COLS + 1])
{
	char age[8], count[8], by[5] = "=";
	struct refcnt_touch t;
	size_t len = 0;

	out[0] = '\0';
	if (!page_touch(v, b, &t))
		return;
	page_cell_age(age, (uint64_t)t.idle_ms / 1000);
	base_format_grouped(count, 5, t.count);
	if (t.coarse || t.edge)
		snprintf(by, sizeof by, "~");
	else if (!t.exact)
		sharers_text(v, b, by);
	base_append(out, PAGE_TOUCH_COLS + 1, &len, "%*s%s%s %s%s",
	    5 - (int)strlen(age) + !t.never, "", t.never ? ">" : "", age, count,
	    by);
}

static void
wall(bool utc, const struct nodes_look *look, int64_t ms, struct tm *tm)
{
	time_t t = (time_t)(ms / 1000);

	if (look->classic || utc)
		gmtime_r(&t, tm);
	else
		localtime_r(&t, tm);
}

void
page_wall(const struct page *page, const struct nodes_look *look, int64_t ms,
    struct tm *tm)
{
	wall(page->opts.utc, look, ms, tm);
}

void
page_clock(const struct page *page, const struct nodes_look *look, int64_t ms,
    char out[PAGE_CLOCK])
{
	struct tm tm;

	page_wall(page, look, ms, &tm);
	if (strftime(out, PAGE_CLOCK, "%H:%M:%S", &tm) == 0)
		out[0] = '\0';
}

bool
page_time_known(const struct nodes_look *look)
{
	return look->now_ms != 0 && look->node_wall_ms != 0;
}

int64_t
page_wall_ms(const struct nodes_look *look, int64_t ms)
{
	return look->node_wall_ms - look->now_ms + ms;
}

#define DAY_MS (DAY * INT64_C(1000))

void
page_cell_allocated(const struct page_view *v, const struct blk *b,
    char out[PAGE_CLOCK_TEXT])
{
	int64_t ms = page_wall_ms(v->look, b->ms);
	size_t len = 0;
	struct tm tm;

	out[0] = '\0';
	if (!page_time_known(v->look) || b->ms == 0 || ms < 0)
		return;
	wall(v->utc, v->look, ms, &tm);
	if (v->look->now_ms - b->ms < DAY_MS)
		base_append(out, PAGE_CLOCK_TEXT, &len, "%02d:%02d:%02d.%03d",
		    tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms % 1000));
	else
		base_append(out, PAGE_CLOCK_TEXT, &len, "%02d-%02d %02d:%02d",
		    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min);
}

void
page_cell_date(int64_t wall_ms, bool utc, char out[PAGE_DATE_TEXT])
{
	time_t second = (time_t)(wall_ms / 1000);
	struct tm tm = { 0 };

	if (utc)
		gmtime_r(&second, &tm);
	else
		localtime_r(&second, &tm);
	if (strftime(out, PAGE_DATE_TEXT, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		out[0] = '\0';
}

static const char *
zone_name(const struct tm *tm)
{
	static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+-";
	const char *zone = tm->tm_zone;

	return zone != NULL && zone[strspn(zone, word)] == '\0' ? zone : "";
}

void
page_date(const struct page *page, const struct page_view *v, char out[20])
{
	struct tm tm;
	size_t len = 0;

	out[0] = '\0';
	if (!page_time_known(v->look)) {
		base_append(out, 20, &len, "--/--/-- ----");
		return;
	}
	page_wall(page, v->look, v->look->node_wall_ms, &tm);
	base_append(out, 20, &len, "%02d/%02d/%02d %02d%02d", tm.tm_mon + 1,
	    tm.tm_mday, tm.tm_year % 100, tm.tm_hour, tm.tm_min);
}

void
page_date_full(const struct page *page, const struct page_view *v, bool zone,
    char out[40])
{
	struct tm tm;
	size_t len = 0;

	out[0] = '\0';
	if (!page_time_known(v->look)) {
		base_append(out, 40, &len, "---------- --:--:--");
		return;
	}
	page_wall(page, v->look, v->look->node_wall_ms, &tm);
	len = strftime(out, 40, "%Y-%m-%d %H:%M:%S", &tm);
	if (v->look->classic || !zone)
		return;
	base_append_text(out, 40, &len, " ");
	/* Eight letters of the zone's name at most. */
	base_append_text(out, len + 9, &len, page->opts.utc ? "UTC" :
	    zone_name(&tm));
}

void
page_node_text(const struct nodes_look *look, char out[PAGE_NODE_TEXT])
{
	snprintf(out, PAGE_NODE_TEXT, "%04X %.50s", look->node.number,
	    look->node.name);
}

void
page_target_text(const struct nodes_look *look, char out[PAGE_TARGET_TEXT])
{
	size_t len = 0;

	out[0] = '\0';
	if (look->target.name[0] == '\0')
		return;
	base_append_text(out, PAGE_TARGET_TEXT, &len, look->target.name);
	if (look->target.pid > 0)
		base_append(out, PAGE_TARGET_TEXT, &len, "[%d]",
		    (int)look->target.pid);
}

static bool
classic_text(const struct page *page)
{
	return page->layout == PAGE_CLASSIC ||
	    page->layout == PAGE_CLASSIC_STRICT;
}

void
page_row_heading(const struct page *page, char *out, size_t cap)
{
	const struct refcnt_copy *touches = page->opts.refcnt;
	size_t len = 0;

	base_append(out, cap, &len, "%s", classic_text(page) ?
	    "  ADDRESS SIZE TY DESCR  RNOD AGE" :
	    "ADDRESS              SIZE TY DESCR    THREAD           RNOD"
	    "   AGE");
	if (!classic_text(page))
		base_append(out, cap, &len, "%s  FUNCTION", touches != NULL &&
		    touches->ranges > 0 ? " TOUCH           " : "");
}

static void
append_name(const struct page *page, char *out, size_t cap, size_t *len,
    const char *name, int cols)
{
	char safe[1024];
	int width = picture_width(name, page->opts.ascii);

	base_safe_text(safe, sizeof safe, name, strlen(name),
	    page->opts.ascii);
	base_append(out, cap, len, "%s%*s", safe,
	    cols > width ? cols - width : 0, "");
}

static void
classic_row_text(const struct page *page, const struct page_view *v,
    const struct blk *b, char *out, size_t cap)
{
	struct page_picture pic = { 0 };
	size_t len = 0;

	picture_begin(&pic, PAGE_MIN_COLS, page->opts.ascii);
	picture_line(&pic);
	page_cell_classic(v, b, 8, &pic);
	if (picture_end(&pic) == 0)
		base_append(out, cap, &len, "%s", pic.line[0].text);
	page_picture_fini(&pic);
}

static void
put_address(const struct nodes_look *look, const struct blk *b, char *out,
    size_t cap, size_t *len)
{
	base_append(out, cap, len, look->classic ? "%08llx    " : "%012llx",
	    (unsigned long long)b->addr);
}

static void
put_size(enum page_units units, uint64_t size, char *out, size_t cap,
    size_t *len)
{
	char text[PAGE_SIZE_TEXT];

	page_size_text(units, size, SIZE_COLUMNS, text);
	base_append(out, cap, len, " %*s", SIZE_COLUMNS, text);
}

static void
free_row_text(const struct page *page, const struct page_view *v,
    const struct blk *b, char *out, size_t cap)
{
	const struct wire_region *region = page_free_region(v->look, b->addr);
	size_t len = 0;

	put_address(v->look, b, out, cap, &len);
	put_size(v->units, b->size, out, cap, &len);
	base_append(out, cap, &len, "    %-8s", PAGE_FREE_WORD);
	if (region == NULL || region->name[0] == '\0')
		return;
	base_append(out, cap, &len, "%*sin ", 30, "");
	append_name(page, out, cap, &len, region->name, 0);
}

void
page_row_descr(const struct page *page, const struct nodes_look *look,
    const struct blk *b, char *out, size_t cap)
{
	size_t len = 0;

	out[0] = '\0';
	append_name(page, out, cap, &len, page_descr(look, b), 8);
}

void
page_row_thread(const struct page *page, const char *name, char *out,
    size_t cap)
{
	size_t len = 0;

	out[0] = '\0';
	append_name(page, out, cap, &len, name, 16);
}

bool
page_row_call(const struct page *page, const struct page_view *v,
    uint64_t caller, char *out, size_t cap)
{
	char name[PAGE_NAME_MAX];
	struct page_call call;
	size_t len = 0;

	out[0] = '\0';
	if (!page_calls_origin(v, caller, &call))
		return false;
	page_call_function(&call, name, sizeof name);
	base_append(out, cap, &len, "  ");
	append_name(page, out, cap, &len, name, 0);
	page_call_where(&call, false, name, sizeof name);
	if (name[0] != '\0') {
		base_append(out, cap, &len, "  ");
		append_name(page, out, cap, &len, name, 0);
	}
	return call.words == NULL || !call.words->fetching;
}

void
page_row_put(const struct nodes_look *look, const struct blk *b,
    const struct page_row_names *names, char *out, size_t cap)
{
	char rnod[8], age[8];
	size_t len = 0;

	page_cell_rnod(rnod, look, b);
	page_cell_age(age, page_cell_seconds(look, b));
	put_address(look, b, out, cap, &len);
	put_size(names->units, b->size, out, cap, &len);
	base_append(out, cap, &len, " %02X %s %s %4s %5s", b->type,
	    names->descr, names->thread, rnod, age);
	if (names->touch != NULL)
		base_append(out, cap, &len, " %-*s", PAGE_TOUCH_COLS,
		    names->touch);
	base_append(out, cap, &len, "%s", names->call);
}

void
page_row_text_view(const struct page *page, const struct page_view *v,
    const struct blk *b, char *out, size_t cap)
{
	char descr[1024], thread[1024], call[2 * PAGE_NAME_MAX];
	char touch[PAGE_TOUCH_COLS + 1];
	bool counted = v->refcnt != NULL && v->refcnt->ranges > 0;

	if (cap == 0)
		return;
	out[0] = '\0';
	if (classic_text(page)) {
		classic_row_text(page, v, b, out, cap);
		return;
	}
	if (page_is_free(b)) {
		free_row_text(page, v, b, out, cap);
		return;
	}
	page_row_descr(page, v->look, b, descr, sizeof descr);
	page_row_thread(page, page_cell_thread(v, b), thread, sizeof thread);
	page_row_call(page, v, b->caller, call, sizeof call);
	page_cell_touch(v, b, touch);
	page_row_put(v->look, b, &(struct page_row_names){ .descr = descr,
	    .thread = thread, .call = call, .units = v->units,
	    .touch = counted ? touch : NULL }, out, cap);
}

const struct wire_region *
page_free_region(const struct nodes_look *look, uint64_t addr)
{
	for (size_t i = 0; i < look->regions.n; i++)
		if (addr >= look->regions.at[i].base &&
		    addr - look->regions.at[i].base < look->regions.at[i].size)
			return &look->regions.at[i];
	return NULL;
}
