/*
 * Keys that do nothing where they are pressed: each says why, in a sentence
 * that a narrow screen has whole.
 */
#include "app_rig.h"

#define COLS 40
#define LINES_SEEN 24

static const int known[] = {
#define GROUP(...)
#define KEY(action, names, bar, rank, help, ...) __VA_ARGS__,
#include "../src/pagek/picture/keys.def"
#undef KEY
#undef GROUP
};

#define NKNOWN (sizeof known / sizeof *known)

static void
nowhere(void)
{
}

static void
at_strict(void)
{
	rig_page.layout = rig_page.opts.layout = PAGE_CLASSIC_STRICT;
}

static void
at_nodes(void)
{
	rig_key('6');
}

static void
at_diff(void)
{
	rig_key('m');
	rig_cycle();
	rig_key('d');
}

static void
at_help(void)
{
	rig_key('?');
}

static void
at_costs(void)
{
	rig_key('i');
}

static void
at_detail(void)
{
	rig_key('\r');
}

static void
at_picker(void)
{
	rig_key('s');
}

static void
at_groups(void)
{
	rig_key('b');
}

static void
at_pause(void)
{
	rig_key(' ');
}

static void (*const places[])(void) = {
	nowhere, at_strict, at_nodes, at_diff, at_help, at_costs, at_detail,
	at_picker, at_groups, at_pause,
};

#define NPLACES (sizeof places / sizeof *places)

/* All that can be seen, but for what is said in the last lines. */
static char seen[2][LINES_SEEN * (COLS * 4 + 1) + 1];

static void
see(char *out)
{
	char said[sizeof rig_page.message];
	size_t len = 0;
	int i, k;

	memcpy(said, rig_page.message, sizeof said);
	rig_page.message[0] = '\0';
	out[0] = '\0';
	rig_compose(COLS, LINES_SEEN, false);
	if (app_panel_top(&rig) != APP_PAGE_K)
		app_panel_compose(&rig, &rig_pic);
	/* Costs and clocks go on. */
	for (i = 2; i < rig_pic.rows - 2; i++) {
		base_append(out, sizeof seen[0], &len, "%s\n",
		    rig_pic.line[i].text);
		for (k = 0; k < rig_pic.line[i].nspan; k++)
			base_append(out, sizeof seen[0], &len, "%d,",
			    (int)rig_pic.line[i].span[k].mark);
	}
	memcpy(rig_page.message, said, sizeof said);
}

/* What a key has done that is seen nowhere in the rows. */
static bool
did_something(const struct app *was)
{
	return app_panel_top(&rig) != app_panel_top(was) || rig.mode != was->mode ||
	    rig.over || rig.requests.suspend || rig.requests.repaint || rig.waits.pause ||
	    rig.panels.n != was->panels.n || rig.page->prompt.text != NULL;
}

static void
assert_says(int code, size_t place)
{
	struct app was;
	bool changed;
	char name[16];

	rig_cycle();
	see(seen[0]);
	was = rig;
	rig_page.message[0] = '\0';
	rig_key(code);
	see(seen[1]);
	changed = did_something(&was) || strcmp(seen[0], seen[1]) != 0;
	page_key_name(code, name);
	/* At the end, moving is seen to go no further; the rest is in line 1. */
	if (page_key_moves(page_key_action(code)) || code == ' ' ||
	    code == 'c')
		return;
	ck_assert_msg(changed || rig_page.message[0] != '\0',
	    "%s does nothing and says nothing in place %zu", name, place);
	/* What is found out or done may take more words. */
	ck_assert_msg(changed || rig_page.message[0] == '\0' ||
	    strlen(rig_page.message) <= COLS ||
	    strchr("eulDmMxFz", code) != NULL, "%s says in place %zu: %s",
	    name, place, rig_page.message);
}

CASE("keys", .seconds = 60);

/* A page of its own for each place, but no process: to make one takes longer. */
LOOP_TEST(key_that_does_nothing_says_why, 0, (int)NKNOWN)
{
	int code = known[_i];

	for (size_t i = 0; code != PAGE_KEY_NONE && i < NPLACES; i++) {
		rig_up();
		places[i]();
		assert_says(code, i);
		rig_down();
	}
}
