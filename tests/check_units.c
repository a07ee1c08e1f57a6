/*
 * Sizes in each unit.
 */
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/picture/picture.h"
#include "harness.h"
#include "scene.h"

CASE("sizes", .setup = setup_target, .teardown = teardown);

LOOP_TEST(size_is_written_in_its_unit, 0, 12)
{
	static const struct {
		enum page_units units;
		uint64_t bytes;
		int width;
		const char *text;
	} sizes[] = {
		{ PAGE_UNITS_EXACT, 65536, 7, " 65,536" },
		{ PAGE_UNITS_K, 0, 7, "      0" },
		{ PAGE_UNITS_K, 65536, 7, "  64.0K" },
		{ PAGE_UNITS_K, 1023, 7, "   1023" },
		{ PAGE_UNITS_K, 1048575, 7, "1023.9K" },
		{ PAGE_UNITS_K, 1048576, 7, "   1.0M" },
		{ PAGE_UNITS_K, 1048575, 6, " 1023K" },
		{ PAGE_UNITS_K, UINT64_MAX, 7, "  15.9E" },
		{ PAGE_UNITS_HEX, 0, 7, "      0" },
		{ PAGE_UNITS_HEX, 65535, 7, "   FFFF" },
		{ PAGE_UNITS_HEX, 0xfffffff, 7, "FFFFFFF" },
		{ PAGE_UNITS_HEX, 0x10000000, 7, " 256.0M" },
	};
	char out[PAGE_SIZE_TEXT];

	page_size_text(sizes[_i].units, sizes[_i].bytes, sizes[_i].width, out);
	ck_assert_str_eq(out, sizes[_i].text);
}

TEST(no_size_is_wider_than_its_column)
{
	char out[PAGE_SIZE_TEXT];
	int bits, width, u;

	for (u = 0; u < PAGE_UNITS; u++)
		for (bits = 0; bits < 64; bits++)
			for (width = 5; width < 14; width++) {
				page_size_text((enum page_units)u,
				    UINT64_MAX >> bits, width, out);
				ck_assert_int_eq((int)strlen(out), width);
			}
}

TEST(page_begins_with_the_units_of_its_options)
{
	struct page_opts opts = { .units = PAGE_UNITS_HEX };
	struct page other;

	page_init(&other, &opts);
	ck_assert_int_eq(other.units, PAGE_UNITS_HEX);
	page_fini(&other);
}

TEST(rows_have_the_units_of_the_page)
{
	compose(100, 24);
	ck_assert(shows("65,536"));
	scene.view.units = PAGE_UNITS_HEX;
	page.round++;
	compose(100, 24);
	ck_assert(!shows("65,536"));
	ck_assert(shows("  10000 "));
}
