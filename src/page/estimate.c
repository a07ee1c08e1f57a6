/*
 * What is known from a sample only: totals are estimates then, and look so.
 */
#include <stdio.h>

#include "view.h"

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
