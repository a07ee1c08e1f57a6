/*
 * detail: blocks of a target with stacks, opened one by one in the overlay that
 * tells one in full.  Shared by the tests of what lies over the page.
 */
#ifndef TESTS_DETAIL_RIG_H
#define TESTS_DETAIL_RIG_H

#include "../src/pagek/panels/detail.h"
#include "harness.h"
#include "scene.h"

static struct symbol_wrappers *wrappers;
static struct page_detail detail;
static struct page_source source;

static inline void
setup_detail(void)
{
	setup_stacks();
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	scene.view.wrappers = page.opts.wrappers = wrappers;
	page.medium = PAGE_SCREEN;
}

static inline void
teardown_detail(void)
{
	teardown();
	symbol_wrappers_free(wrappers);
}

/* The oldest block of the site. */
static inline void
open_site(unsigned site)
{
	struct blk b;

	ck_assert_int_eq(blklist_get(scene.list, 0,
	    UINT64_C(0x7f3c04001040) + (site - 1) * 0x1000, &b), 0);
	ck_assert_uint_eq(b.caller, rec_site_caller(site));
	page_detail_open(&detail, &scene.view, &b);
}

static inline void
look(int cols, int rows)
{
	ck_assert_int_eq(page_detail_compose(&detail, &page, &scene.view,
	    &source, cols, rows, &pic), 0);
	assert_fits(cols, 0);
	ck_assert_int_le(pic.rows, rows > 2 ? rows : 2);
}

#endif
