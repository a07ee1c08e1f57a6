#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../base/base.h"
#include "../filter/filter.h"
#include "moment.h"

#define NS_PER_MS INT64_C(1000000)
#define DAY_S (24 * 60 * 60)

bool
moment_means(const struct capture_part *p, const char *word)
{
	uint64_t number;

	if (word == NULL)
		return true;
	return base_parse_count(word, INT64_MAX, &number) == 0 ? p->pid >= 0 &&
	    (uint64_t)p->pid == number : strcmp(word, p->comm) == 0;
}

int
moment_part(const struct capture *c, const char *word, uint32_t *no,
    unsigned *found)
{
	struct capture_part_info p;
	struct capture_about about;
	uint64_t number, most = 0;
	bool numeric = word != NULL && base_parse_count(word, INT64_MAX,
	    &number) == 0;

	capture_about(c, &about);
	*found = 0;
	if (numeric && number <= about.parts &&
	    capture_part(c, (uint32_t)number, &p)) {
		*no = (uint32_t)number;
		*found = 1;
		return 0;
	}
	for (uint32_t i = 1; i <= about.parts; i++) {
		if (!capture_part(c, i, &p) || !moment_means(&p.part, word))
			continue;
		if (++*found > 1 && p.events <= most)
			continue;
		most = p.events;
		*no = i;
	}
	return *found > 0 ? 0 : -ENOENT;
}

void
moment_span(const struct capture *c, int64_t *begin, int64_t *end)
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

/* The last mark of that name.  The mark of another part is a time only. */
static int
find_mark(const struct capture *c, uint32_t part, const char *text,
    struct capture_when *w)
{
	const struct capture_mark *m;

	for (size_t i = capture_marks(c); i-- > 0;) {
		m = capture_mark(c, i);
		if (strcmp(m->text, text) != 0)
			continue;
		*w = (struct capture_when){ .at = m->part == part ?
		    CAPTURE_AT_SEQ : CAPTURE_AT_MS, .seq = m->seq, .ms = m->ms };
		return 0;
	}
	return -EINVAL;
}

int
moment_parse(const struct capture *c, uint32_t part, const char *word,
    struct capture_when *w)
{
	int64_t begin, end, ms = 0;

	if (strcmp(word, "peak") == 0) {
		*w = (struct capture_when){ .at = CAPTURE_AT_PEAK };
		return 0;
	}
	moment_span(c, &begin, &end);
	if (strcmp(word, "end") == 0) {
		*w = (struct capture_when){ .at = CAPTURE_AT_END };
		return 0;
	}
	if (strcmp(word, "begin") == 0) {
		*w = (struct capture_when){ .at = CAPTURE_AT_MS, .ms = begin };
		return 0;
	}
	if (read_duration(word, begin, &ms) < 0 &&
	    read_time(c, word, begin, &ms) < 0)
		return find_mark(c, part, word, w);
	*w = (struct capture_when){ .at = ms > end ? CAPTURE_AT_END :
	    CAPTURE_AT_MS, .ms = ms < begin ? begin : ms };
	return ms < begin || ms > end ? -ERANGE : 0;
}
