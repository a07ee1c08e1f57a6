/* See units.h. */
#include <stdio.h>
#include <string.h>

#include "../../base/base.h"
#include "units.h"

static void
in_k(uint64_t bytes, int width, char out[PAGE_SIZE_TEXT])
{
	static const char letters[] = "KMGTPE";
	uint64_t whole = bytes, tenths;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(out, PAGE_SIZE_TEXT, "%u", (unsigned)bytes);
		return;
	}
	/* Rounded down, so that nothing looks as if it had reached its limit. */
	while (i + 2 < sizeof letters && whole >= UINT64_C(1024) * 1024) {
		whole /= 1024;
		i++;
	}
	tenths = whole % 1024 * 10 / 1024;
	snprintf(out, PAGE_SIZE_TEXT, "%llu.%u%c",
	    (unsigned long long)(whole / 1024), (unsigned)tenths, letters[i]);
	if ((int)strlen(out) > width)
		snprintf(out, PAGE_SIZE_TEXT, "%llu%c",
		    (unsigned long long)(whole / 1024), letters[i]);
}

void
page_size_text(enum page_units units, uint64_t bytes, int width,
    char out[PAGE_SIZE_TEXT])
{
	char text[PAGE_SIZE_TEXT];

	if (units == PAGE_UNITS_EXACT) {
		base_fit_bytes(out, width, bytes);
		return;
	}
	snprintf(text, sizeof text, "%llX", (unsigned long long)bytes);
	if (units == PAGE_UNITS_K || (int)strlen(text) > width)
		in_k(bytes, width, text);
	snprintf(out, PAGE_SIZE_TEXT, "%*s", width, text);
}

const char *
page_units_name(enum page_units units)
{
	return units == PAGE_UNITS_EXACT ? "exact" :
	    units == PAGE_UNITS_K ? "in K, M and G" : "in hex";
}
