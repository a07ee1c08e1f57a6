/*
 * golden: pictures that are wanted as they are, in tests/golden.  With
 * PAGEK_GOLDEN=write they are written anew, to be read before they are kept.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/pagek/page/page.h"
#include "harness.h"

static inline void
assert_golden(const struct page_picture *p, const char *name)
{
	const char *mode = getenv("PAGEK_GOLDEN");
	char path[128], want[PAGE_COLS_MAX * 4 + 2];
	FILE *f;
	int i;

	snprintf(path, sizeof path, "tests/golden/%s.ok", name);
	if (mode != NULL && strcmp(mode, "write") == 0) {
		f = fopen(path, "w");
		ck_assert_ptr_nonnull(f);
		for (i = 0; i < p->rows; i++)
			fprintf(f, "%s\n", p->line[i].text);
		fclose(f);
		return;
	}
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s is missing", path);
	for (i = 0; i < p->rows; i++) {
		ck_assert_msg(fgets(want, sizeof want, f) != NULL,
		    "%s has but %d lines", path, i);
		want[strcspn(want, "\n")] = '\0';
		ck_assert_str_eq(p->line[i].text, want);
	}
	ck_assert_msg(fgets(want, sizeof want, f) == NULL,
	    "%s has more than %d lines", path, i);
	fclose(f);
}

#endif
