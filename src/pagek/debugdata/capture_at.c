/* Which part of a capture, and which moment: --part and --at. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../base/base.h"
#include "../../mdd/capture/capture.h"
#include "../page/view.h"
#include "debugdata.h"

#define NS_PER_MS INT64_C(1000000)
#define DAY_S (24 * 60 * 60)

/* --- parts ----------------------------------------------------------------- */

/* The part of that number, else those of that process or name. */
struct wanted {
	const char *text;		/* NULL: all */
	uint64_t number;
	bool is_number;
};

static bool
is_wanted(const struct wanted *w, const struct capture_part *p)
{
	if (w->text == NULL)
		return true;
	return w->is_number ? p->pid >= 0 && (uint64_t)p->pid == w->number :
	    strcmp(w->text, p->comm) == 0;
}

/* Of the wanted parts, the one that has most events, and how many there are. */
static uint32_t
find_largest(const struct capture *c, uint32_t parts, const struct wanted *w,
    unsigned *found)
{
	struct capture_part_info p;
	uint64_t most = 0;
	uint32_t no = 0;

	*found = 0;
	for (uint32_t i = 1; i <= parts; i++) {
		if (!capture_part(c, i, &p) || !is_wanted(w, &p.part))
			continue;
		if (++*found == 1 || p.events > most) {
			most = p.events;
			no = i;
		}
	}
	return no;
}

static void
report_part(const struct capture *c, const char *path, const char *text,
    uint32_t no, unsigned found)
{
	struct capture_part_info p;
	char which[160] = "";

	capture_part(c, no, &p);
	if (text != NULL)
		snprintf(which, sizeof which, " of --part=%s", base_shown(text));
	notice("'%s' has %u process images%s; this is image %u, %s[%lld], "
	    "which had most events", path, found, which, no,
	    base_shown(p.part.comm), (long long)p.part.pid);
}

int
capture_choose(const struct capture *c, const char *path, const char *text,
    bool quiet, uint32_t *no)
{
	struct wanted w = { .text = text };
	struct capture_part_info p;
	struct capture_about about;
	unsigned found;

	capture_about(c, &about);
	w.is_number = text != NULL && base_parse_count(text, INT64_MAX,
	    &w.number) == 0;
	if (w.is_number && w.number <= about.parts &&
	    capture_part(c, (uint32_t)w.number, &p)) {
		*no = (uint32_t)w.number;
		return PAGEK_OK;
	}
	*no = find_largest(c, about.parts, &w, &found);
	if (found > 1 && !quiet)
		report_part(c, path, text, *no, found);
	if (found > 0)
		return PAGEK_OK;
	if (text == NULL) {
		complain("'%s' has no process image: it was cut off at once",
		    path);
		return PAGEK_FORMAT;
	}
	complain("--part=%s: '%s' has no image with that number, process id or "
	    "name; 'pagek stats' lists its images", base_shown(text), path);
	return PAGEK_USAGE;
}

/* --- moments --------------------------------------------------------------- */

/* The first and the last millisecond of the capture. */
static void
find_span(const struct capture *c, int64_t *begin, int64_t *end)
{
	struct capture_part_info p;
	struct capture_about about;

	capture_about(c, &about);
	*begin = about.first_ms;
	*end = about.last_ms;
	for (uint32_t i = 1; i <= about.parts; i++)
		if (capture_part(c, i, &p) && p.ended && p.end_ms > *end)
			*end = p.end_ms;
	for (size_t i = 0; i < capture_marks(c); i++)
		if (capture_mark(c, i)->ms > *end)
			*end = capture_mark(c, i)->ms;
}

void
capture_date(const struct capture *c, int64_t ms, char out[CAPTURE_DATE])
{
	int64_t wall = capture_wall_ns(c, ms) / NS_PER_MS;
	size_t len;

	page_cell_date(wall, false, out);
	len = strlen(out);
	base_append(out, CAPTURE_DATE, &len, ".%03d", (int)((wall % 1000 +
	    1000) % 1000));
}

/* A clock without a date: when the capture's clock showed that first. */
static int
find_clock(const struct capture *c, const char *text, int64_t begin,
    uint64_t *wall)
{
	int64_t from = capture_wall_ns(c, begin) / NS_PER_MS;
	char dated[128], date[16];
	struct tm tm;

	for (int day = -1; day <= 2; day++) {
		time_t at = (time_t)(from / 1000) + day * DAY_S;

		localtime_r(&at, &tm);
		strftime(date, sizeof date, "%Y-%m-%d", &tm);
		snprintf(dated, sizeof dated, "%s %s", date, text);
		if (filter_time(dated, wall) == 0 && (int64_t)*wall >= from)
			return 0;
	}
	return -EINVAL;
}

static int
read_time(const struct capture *c, const char *text, int64_t begin, int64_t *ms)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t wall;
	int e = filter_time(text, &wall);

	if (e == 0 && text[digits] == ':')
		e = find_clock(c, text, begin, &wall);
	if (e == 0 && wall > INT64_MAX / NS_PER_MS)
		e = -EINVAL;
	if (e == 0)
		*ms = capture_ms(c, (int64_t)wall * NS_PER_MS);
	return e;
}

/* "+90s", "1h": from the beginning on. */
static int
read_duration(const char *text, int64_t begin, int64_t *ms)
{
	uint64_t n;

	return filter_age(text + (text[0] == '+'), &n) < 0 ||
	    n > INT64_MAX / 2 ||
	    __builtin_add_overflow(begin, (int64_t)n, ms) ? -EINVAL : 0;
}

/* The last mark of that name. */
static const struct capture_mark *
find_mark(const struct capture *c, const char *text)
{
	for (size_t i = capture_marks(c); i-- > 0;)
		if (strcmp(capture_mark(c, i)->text, text) == 0)
			return capture_mark(c, i);
	return NULL;
}

static int
refuse_moment(const struct capture *c, const char *path, const char *text,
    int64_t begin, int64_t end)
{
	char from[CAPTURE_DATE], to[CAPTURE_DATE];
	uint64_t span = (uint64_t)end - (uint64_t)begin;

	capture_date(c, begin, from);
	capture_date(c, end, to);
	complain("--at=%s is not in '%s', which goes from %s to %s, %llu.%03llu "
	    "s later", base_shown(text), path, from, to,
	    (unsigned long long)span / 1000, (unsigned long long)span % 1000);
	return PAGEK_USAGE;
}

int
capture_moment(const struct capture *c, const char *path, uint32_t no,
    const char *text, struct capture_when *w)
{
	const struct capture_mark *mark;
	int64_t begin, end;

	*w = (struct capture_when){ .at = text == NULL ? CAPTURE_AT_END :
	    CAPTURE_AT_PEAK };
	if (text == NULL || strcmp(text, "peak") == 0)
		return PAGEK_OK;
	find_span(c, &begin, &end);
	w->at = CAPTURE_AT_MS;
	if (read_duration(text, begin, &w->ms) < 0 &&
	    read_time(c, text, begin, &w->ms) < 0) {
		mark = find_mark(c, text);
		if (mark == NULL) {
			complain("--at=%s: no time such as 14:05:30, no "
			    "duration from the beginning such as +90s, not "
			    "'peak', and no mark of '%s'", base_shown(text),
			    path);
			return PAGEK_USAGE;
		}
		/* The mark of another part is a time only. */
		*w = (struct capture_when){ .at = mark->part == no ?
		    CAPTURE_AT_SEQ : CAPTURE_AT_MS, .seq = mark->seq,
		    .ms = mark->ms };
		return PAGEK_OK;
	}
	return w->ms < begin || w->ms > end ?
	    refuse_moment(c, path, text, begin, end) : PAGEK_OK;
}
