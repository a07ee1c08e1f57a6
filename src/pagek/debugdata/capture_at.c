#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../base/base.h"
#include "../../capture/moment.h"
#include "../page/view.h"
#include "debugdata.h"

#define NS_PER_MS INT64_C(1000000)
#define LISTED 10		/* process images of one name */

static void
list_parts(const struct capture *c, const char *text, unsigned found)
{
	struct capture_part_info p;
	unsigned n = 0;

	for (uint32_t i = 1; n < found && n < LISTED; i++) {
		if (!capture_part(c, i, &p) || !moment_means(&p.part, text))
			continue;
		n++;
		notice("--part=%u: process %lld, %s events, %s", i,
		    (long long)p.part.pid, base_digits(p.events).text,
		    base_shown(p.part.comm));
	}
	if (found > LISTED)
		notice("and %u more; 'pagek stats' lists all images",
		    found - LISTED);
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
	if (text != NULL)
		list_parts(c, text, found);
}

int
capture_choose(const struct capture *c, const char *path, const char *text,
    bool quiet, uint32_t *no)
{
	unsigned found;

	if (moment_part(c, text, no, &found) == 0) {
		if (found > 1 && !quiet)
			report_part(c, path, text, *no, found);
		return PAGEK_OK;
	}
	if (text == NULL) {
		complain("'%s' has no process image: it ends before the first one",
		    path);
		return PAGEK_FORMAT;
	}
	complain("--part=%s: '%s' has no image with that number, process id or "
	    "name; 'pagek stats' lists its images", base_shown(text), path);
	return PAGEK_USAGE;
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

static int
refuse_moment(const struct capture *c, const char *path, const char *text)
{
	char from[CAPTURE_DATE], to[CAPTURE_DATE];
	int64_t begin, end;
	uint64_t span;

	moment_span(c, &begin, &end);
	span = (uint64_t)end - (uint64_t)begin;
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
	int r;

	*w = (struct capture_when){ .at = CAPTURE_AT_END };
	r = text != NULL ? moment_parse(c, no, text, w) : 0;
	if (r == -EINVAL)
		complain("--at=%s: " MOMENT_NONE, base_shown(text));
	if (r == -ERANGE)
		return refuse_moment(c, path, text);
	return r < 0 ? PAGEK_USAGE : PAGEK_OK;
}
