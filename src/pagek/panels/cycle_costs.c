/* See cycle_costs.h. */
#include <string.h>

#include "../layout/layout.h"
#include "../picture/picture.h"
#include "../blocks/free_blocks.h"
#include "cycle_costs.h"

/* Up to COST_STEPS each microsecond has a bucket, then they double in width. */
static size_t
bucket_of(uint64_t us)
{
	unsigned power;
	size_t i;

	if (us < COST_STEPS)
		return (size_t)us;
	power = 63 - (unsigned)__builtin_clzll(us);
	i = (power - 3) * COST_STEPS + (size_t)(us >> (power - 4)) -
	    COST_STEPS;
	return i < COST_BUCKETS ? i : COST_BUCKETS - 1;
}

/* The highest value that falls into it. */
static uint64_t
bucket_top(size_t i)
{
	unsigned shift;

	if (i < COST_STEPS)
		return i;
	shift = (unsigned)(i / COST_STEPS) - 1;
	return ((uint64_t)(COST_STEPS + i % COST_STEPS + 1) << shift) - 1;
}

void
cost_add(struct cost *c, uint64_t us)
{
	c->n++;
	c->bucket[bucket_of(us)]++;
	if (us > c->worst_us)
		c->worst_us = us;
}

uint64_t
cost_at(const struct cost *c, unsigned per_mille)
{
	/* Rounded up: the worst of few is among those that are meant. */
	uint64_t rank = (c->n * per_mille + 999) / 1000, seen = 0, top;
	size_t i;

	if (c->n == 0)
		return 0;
	for (i = 0; i + 1 < COST_BUCKETS; i++) {
		seen += c->bucket[i];
		if (seen >= rank && seen > 0)
			break;
	}
	top = bucket_top(i);
	return top < c->worst_us ? top : c->worst_us;
}

void
page_costs_begin(struct page_costs *c, struct page *page,
    const struct nodes_look *look)
{
	memset(c, 0, sizeof *c);
	c->since = mono_now();
	c->missed = page->numbers.missed + look->missed_cycles;
	page->numbers.cost_max_us = 0;
	page->numbers.session_max_us = look->cycle_us_max;
}

/* --- the panel ---------------------------------------------------------- */

#define WHAT_AT 33	/* behind the three numbers */
#define FOLD_AT 4	/* where what has no room beside them goes on */
#define ROOMY_COLS 60	/* has room for it */

static void
put_cost(const char *name, const struct cost *c, const char *what,
    struct page_picture *pic)
{
	char median[12], p99[12], worst[12];

	page_cost_text(median, cost_at(c, 500));
	page_cost_text(p99, cost_at(c, 990));
	page_cost_text(worst, c->worst_us);
	picture_line(pic);
	picture_printf(pic, "  %-8s %6s %6s %6s  ", name, median, p99, worst);
	picture_fold(pic, FOLD_AT);
	picture_put(pic, what);
}

/* Of the node, as it told last. */
static void
put_keeper(const struct nodes_look *look, struct page_picture *pic)
{
	char pass[12], held[32];

	if (look->keeper == NULL)
		return;
	page_cost_text(pass, look->keeper[WIRE_N_CYCLE_US]);
	base_group_digits(held, sizeof held, look->keeper[WIRE_N_HELD]);
	picture_line(pic);
	picture_printf(pic, "  keeper   %6s  ", pass);
	if (pic->cols >= ROOMY_COLS)
		picture_to(pic, WHAT_AT);
	picture_fold(pic, FOLD_AT);
	picture_printf(pic, "its last pass; %s records wait for their turn",
	    held);
}

/* No fault of the page's, but what somebody looks for here who misses it. */
static void
put_no_free(const char *why, struct page_picture *pic)
{
	if (why[0] == '\0')
		return;
	picture_line(pic);
	picture_put(pic, "  free     ");
	picture_fold(pic, FOLD_AT);
	picture_printf(pic, "not shown: %s", why);
}

void
page_costs_put(const struct page_costs *c, const struct page *page,
    const struct nodes_look *look, struct page_picture *pic)
{
	static const char *const names[COST_KINDS][2] = {
		[COST_SESSION] = { "session", "taking records and blocks in" },
		[COST_PICTURE] = { "picture", "making and painting it" },
		[COST_CYCLE] = { "cycle", "all that the page does" },
	};
	char cycles[32], painted[32], missed[32];
	int i;

	picture_line(pic);
	picture_put(pic, "DIAGNOSTICS");
	page_overlay_title("j k move  x count anew  Esc close", pic);
	base_group_digits(cycles, sizeof cycles, c->of[COST_CYCLE].n);
	base_group_digits(painted, sizeof painted, c->of[COST_PICTURE].n);
	base_group_digits(missed, sizeof missed, page->numbers.missed +
	    look->missed_cycles - c->missed);
	picture_line(pic);
	picture_printf(pic, "  %s cycles in %lld s, %s painted, %s missed",
	    cycles, (long long)(mono_ms_since(c->since) / 1000), painted,
	    missed);
	picture_line(pic);
	picture_put(pic, "           median    p99  worst");
	for (i = 0; i < COST_KINDS; i++)
		put_cost(names[i][0], &c->of[i], names[i][1], pic);
	put_keeper(look, pic);
	put_no_free(page_free_why(page, look), pic);
}
