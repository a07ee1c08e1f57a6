/*
 * app_rig: the program without a terminal, over a session of one stream with 200
 * blocks: keys go in, and what they say and show comes out.
 */
#ifndef TESTS_APP_RIG_H
#define TESTS_APP_RIG_H

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/pagek/app/app.h"
#include "../src/pagek/cli/options.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/page/view.h"
#include "harness.h"
#include "session_one.h"

#define RIG_BLOCKS 200

static struct page rig_page;
static struct page_watch rig_watch;
static struct app rig;
static struct page_picture rig_pic;
static struct config rig_config;
static struct options rig_options;
static char rig_home[32];

/* Nothing of the user's own is read, and nothing written there. */
static inline void
rig_go_home(void)
{
	static const char *const vars[] = { "HOME", "XDG_CONFIG_HOME",
		"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_DIRS" };
	size_t i;

	strcpy(rig_home, "/tmp/rig.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(rig_home));
	for (i = 0; i < sizeof vars / sizeof *vars; i++)
		setenv(vars[i], rig_home, 1);
	unsetenv("PAGEK_CONFIG");
	unsetenv("PAGEK_TARGET");
	ck_assert_int_eq(chdir(rig_home), 0);
}

/* What the screen does once a cycle. */
static inline void
rig_cycle(void)
{
	nodes_session_cycle(rig.session);
	peer_serve(&peer);
	app_tick(&rig);
}

/* The page, or what lies over it where that is asked for. */
static inline void
rig_compose(int cols, int rows, bool over)
{
	rig.cols = cols;
	rig.rows = rows;
	ck_assert_int_eq(page_compose(&rig_page, rig.session, cols, rows,
	    &rig_pic), 0);
	app_request_blocks(&rig);
	if (over)
		ck_assert(app_panel_compose(&rig, &rig_pic));
}

static inline void
rig_key(int code)
{
	app_key(&rig, code);
}

static inline void
rig_type(const char *text)
{
	for (; *text != '\0'; text++)
		app_key(&rig, (unsigned char)*text);
}

/* Overlays. */
static inline void
rig_open_help(void)
{
	rig_key('?');
}

static inline void
rig_open_costs(void)
{
	rig_key('i');
}

static inline void
rig_open_sort(void)
{
	rig_key('s');
}

static inline void
rig_open_detail(void)
{
	rig_key('\r');
}

static inline void
rig_open_settings(void)
{
	rig_type(":set\r");
}

static inline void
rig_up(void)
{
	const struct page_opts opts = { .listing = "0509", .fps = 15 };
	uint64_t i;

	setlocale(LC_ALL, "C.UTF-8");
	setenv("TZ", "UTC", 1);
	rig_go_home();
	one_up();
	for (i = 0; i < RIG_BLOCKS; i++)
		model_alloc(&model, 0x7f3c04000000 + i * 0x100, 16 + i * 3);
	one_open(&(struct nodes_session_opts){ 0 }, 3);
	page_init(&rig_page, &opts);
	memset(&rig_config, 0, sizeof rig_config);
	rig_options = (struct options){ .config.values = &rig_config };
	rig_watch = (struct page_watch){ .session = session,
		.link = peer.link, .keep_open = true, .options = &rig_options };
	ck_assert_int_eq(app_init(&rig, &rig_page, &rig_watch, &peer.loop), 0);
	rig_compose(80, 24, false);
}

static inline void
rig_down(void)
{
	char command[64];

	app_fini(&rig);
	page_fini(&rig_page);
	page_picture_fini(&rig_pic);
	one_down();
	snprintf(command, sizeof command, "rm -rf %s", rig_home);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(system(command), 0);
}

#endif
