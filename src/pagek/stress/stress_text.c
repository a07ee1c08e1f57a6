#include <stdio.h>
#include <string.h>

#include "../../base/base.h"
#include "stress.h"

const char stress_watch_words[] = "watch: 2/1 ratio over 10%";
const char stress_caution[] = "Kernels differ in what they do at each stage: do not "
    "compare counts of different kernels or sources without studying the difference.";

/* '\0' with a count that is exact, or at most 0. */
char
stress_mark_of(const struct stress_sample *s, size_t level)
{
	static const char mark[] = {
		[STRESS_EXACT] = '\0',
		[STRESS_CLOSE] = '~',
		[STRESS_FAR_UNDER] = '>',
		[STRESS_FAR_OVER] = '<',
	};
	enum stress_truth truth = stress_truth(s, level);

	return s->level[level] > 0 || truth == STRESS_FAR_UNDER ? mark[truth] :
	    '\0';
}

void
stress_count_text(const struct stress_sample *s, size_t level,
    char out[STRESS_TEXT])
{
	char mark[2] = { stress_mark_of(s, level), '\0' };

	if (s->known[level])
		snprintf(out, STRESS_TEXT, "%s%s", mark,
		    base_digits(s->level[level]).text);
	else
		snprintf(out, STRESS_TEXT, "n/a");
}

static uint64_t
all_requests(const struct stress_sample *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (s->known[i])
			sum += s->level[i];
	return sum;
}

void
stress_percent_text(double share, char out[STRESS_TEXT])
{
	if (!(share > 0))
		snprintf(out, STRESS_TEXT, "-");
	else if (share < 0.001)
		snprintf(out, STRESS_TEXT, "<0.1%%");
	else
		snprintf(out, STRESS_TEXT, "%.1f%%", 100 * share);
}

void
stress_share_text(const struct stress_sample *s, size_t level,
    char out[STRESS_TEXT])
{
	uint64_t all = all_requests(s);

	stress_percent_text(stress_truth(s, level) == STRESS_EXACT && all > 0 ?
	    (double)s->level[level] / (double)all : 0, out);
}

bool
stress_watch_ratio(const struct stress_sample *s)
{
	return s->known[0] && s->known[1] && s->level[1] > s->level[0] / 10;
}

static bool
doubt_stolen(const struct page_stress_spent *p, char out[STRESS_TEXT])
{
	if (p->s.stolen > 0)
		snprintf(out, STRESS_TEXT, "another program has read %s of the "
		    "counts: these are too low", base_digits(p->s.stolen).text);
	return p->s.stolen > 0;
}

static bool
doubt_missed(const struct page_stress_spent *p, char out[STRESS_TEXT])
{
	if (p->s.missed > 0)
		snprintf(out, STRESS_TEXT, "%s has not followed %s requests: they "
		    "count as level 1", p->s.source == STRESS_EBPF ? "eBPF" :
		    "the module", base_digits(p->s.missed).text);
	return p->s.missed > 0;
}

static bool
doubt_changed(const struct page_stress_spent *p, char out[STRESS_TEXT])
{
	if (p->changed && p->s.source == STRESS_NONE)
		snprintf(out, STRESS_TEXT, "there is no source any more");
	else if (p->changed)
		snprintf(out, STRESS_TEXT, "the source is now %s: these are too "
		    "low; " STRESS_CAUTION, stress_sources[p->s.source].text);
	return p->changed;
}

static bool (*const doubts[])(const struct page_stress_spent *, char *) = {
	doubt_stolen,
	doubt_missed,
	doubt_changed,
};

bool
stress_doubt(const struct page_stress_spent *p, size_t *at, char out[STRESS_TEXT])
{
	while (*at < BASE_NELEM(doubts))
		if (doubts[(*at)++](p, out))
			return true;
	return false;
}

/* Those that are 0 are left out. */
void
stress_failures_text(const struct stress_sample *s, char *out, size_t cap)
{
	const char *between = "failed: ";
	size_t len = 0;

	out[0] = '\0';
	if (!s->split_known || s->level[5] == 0)
		return;
	for (size_t i = 0; i < STRESS_FAILURES; i++) {
		if (s->failed[i] == 0)
			continue;
		base_append(out, cap, &len, "%s%s %s", between,
		    base_digits(s->failed[i]).text, stress_failures[i].text);
		between = "; ";
	}
}

void
stress_charge_text(const struct stress_sample *s, const char *group, bool ascii,
    char *out, size_t cap, bool *any)
{
	const struct stress_charge *c = &s->charge;
	const char *between = "  ";
	char name[STRESS_GROUP];
	size_t len = 0;

	*any = false;
	out[0] = '\0';
	base_safe_text(name, sizeof name, group, strlen(group), ascii);
	for (size_t i = 0; i < STRESS_CHARGES; i++) {
		if (!c->known[i])
			continue;
		if (len == 0)
			base_append(out, cap, &len, "CHARGE %s", name[0] != '\0' ?
			    name : "of the node's group");
		base_append(out, cap, &len, "%s%s %s", between,
		    base_digits(c->n[i]).text, stress_charges[i].text);
		between = ", ";
		*any |= c->n[i] > 0;
	}
}

void
stress_kills_text(const struct stress_sample *s, char out[STRESS_TEXT])
{
	out[0] = '\0';
	if (s->limit_kills > 0)
		snprintf(out, STRESS_TEXT, "limits of control groups killed %s "
		    "processes: they are not in level 5",
		    base_digits(s->limit_kills).text);
}

const char *
stress_legend(const struct stress_sample *s)
{
	if (s->source == STRESS_EBPF)
		return s->known[1] ? "~ close   > at least: more requests may have "
		    "waited for the same OOM kill" :
		    "~ close   > at least   n/a the kernel does not say where its "
		    "zones are";
	if (s->source == STRESS_EVENTS)
		return "~ estimate   < at most: reclaims, many by one request   "
		    "> at least: wakes of kswapd";
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (s->source != STRESS_NONE &&
		    stress_truth(s, i) != STRESS_EXACT)
			return "~ estimate   < at most: a request may reclaim "
			    "many times   n/a not known from this source";
	return NULL;
}
