/*
 * :set and :save: settings of this page, and of later ones. Some settings take
 * effect at once; the others from the file that :save writes.
 */
#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/config.h"
#include "app.h"

/* Options that settings files may not have are no settings. */
static unsigned
find_setting(const char *key)
{
	unsigned id = config_find(key);

	return id < OPTIONS && config_has(id) ? id : OPTIONS;
}

static void
say_unknown(struct app *app, const char *key)
{
	const char *near = config_nearest(key);

	if (near != NULL)
		app_say(app, "there is no setting '%.64s'; did you mean "
		    "'%s'?", key, near);
	else
		app_say(app, "there is no setting '%.64s'; :set lists them",
		    key);
}

struct config_value
app_setting(const struct app *app, unsigned id)
{
	const struct options *o = app->watch->options;

	if (app->set[id] != NULL)
		return (struct config_value){ .text = app->set[id],
		    .origin = CONFIG_PAGE };
	return config_value(o->config, o, id);
}

/* --- what holds at once --------------------------------------------------- */

static void
obey_command(struct app *app, const char *command, const char *arg)
{
	char line[LINE_TEXT];

	snprintf(line, sizeof line, "%s %.900s", command, arg);
	app_command(app, line);
}

/* Without a layout, the width of the page decides. */
static void
obey_layout(struct app *app, const struct page_opts *opts)
{
	app->page->opts.layout = app->page->layout = opts->layout;
}

static void
obey_ascii(struct app *app, const struct page_opts *opts)
{
	app->page->opts.ascii = opts->ascii ||
	    strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static void
obey_utc(struct app *app, const struct page_opts *opts)
{
	app->page->opts.utc = opts->utc;
}

static void
obey_color(struct app *app, const struct page_opts *opts)
{
	app->page->opts.color = opts->color;
	app->asks.restyle = true;
}

static void
obey_mouse(struct app *app, const struct page_opts *opts)
{
	app->page->opts.mouse = opts->mouse;
}

static void
obey_clipboard(struct app *app, const struct page_opts *opts)
{
	app->page->opts.clipboard = opts->clipboard;
}

static void
obey_fps(struct app *app, const struct page_opts *opts)
{
	app->page->opts.fps = opts->fps;
}

static void
obey_units(struct app *app, const struct page_opts *opts)
{
	app->page->opts.units = app->page->units = opts->units;
}

static void
obey_listing(struct app *app, const struct page_opts *opts)
{
	struct page_fields *f = &app->page->fields;

	snprintf(f->listing, sizeof f->listing, "%s", opts->listing);
	app->page->opts.listing = f->listing;
}

static void (*const obeyed[OPTIONS])(struct app *,
    const struct page_opts *) = {
	[OPTION_CLASSIC] = obey_layout,
	[OPTION_WIDE] = obey_layout,
	[OPTION_ASCII] = obey_ascii,
	[OPTION_UTC] = obey_utc,
	[OPTION_COLOR] = obey_color,
	[OPTION_FPS] = obey_fps,
	[OPTION_UNITS] = obey_units,
	[OPTION_MOUSE] = obey_mouse,
	[OPTION_CLIPBOARD] = obey_clipboard,
	[OPTION_LISTING] = obey_listing,
};

static const char *const commanded[OPTIONS] = {
	[OPTION_SORT] = "sort",
	[OPTION_SKIP] = "skip",
};

/* Applies the setting to options that have no other. */
static void
obey(struct app *app, unsigned id, const char *value)
{
	struct options o = { 0 };
	char why[256];

	app_say(app, "%s = %.128s%s", option_name(id), value,
	    obeyed[id] != NULL || commanded[id] != NULL ? "" :
	    ": for what is begun later; :save keeps it");
	o.page.listing = "";
	options_set(&o, id, value, why, sizeof why);
	if (obeyed[id] != NULL)
		obeyed[id](app, &o.page);
	else if (commanded[id] != NULL)
		obey_command(app, commanded[id], value);
	app->page->round++;
	app->asks.repaint = true;
}

/* --- :set ----------------------------------------------------------------- */

static int
keep_value(struct app *app, unsigned id, const char *value)
{
	char *copy = strdup(value);

	if (copy == NULL)
		return -ENOMEM;
	free(app->set[id]);
	app->set[id] = copy;
	return 0;
}

static bool
is_off(const char *value)
{
	return value == NULL || option_switch(value) == 0;
}

/* Of two layouts, the last one in the file would win. */
static int
set_aside(struct app *app, unsigned id, const char *value)
{
	unsigned other = id == OPTION_WIDE ? OPTION_CLASSIC : OPTION_WIDE;

	if ((id != OPTION_WIDE && id != OPTION_CLASSIC) || is_off(value) ||
	    is_off(app_setting(app, other).text))
		return 0;
	return keep_value(app, other, "no");
}

static void
set(struct app *app, unsigned id, const char *value)
{
	struct options scratch = { 0 };
	char why[256];
	int r;

	scratch.page.listing = "";
	if (options_set(&scratch, id, value, why, sizeof why) != 0) {
		app_say(app, "%s", why + 2 * (strncmp(why, "--", 2) == 0));
		return;
	}
	if (!config_can_hold(value)) {
		app_say(app, "'%.64s' could not stand in a file: it is too "
		    "long, or a '#' begins a comment there", value);
		return;
	}
	r = keep_value(app, id, value);
	if (r == 0)
		r = set_aside(app, id, value);
	if (r < 0)
		app_say(app, "cannot set %s: %s", option_name(id),
		    strerror(-r));
	else
		obey(app, id, app->set[id]);
}

static void
say_setting(struct app *app, unsigned id)
{
	struct config_value v = app_setting(app, id);
	char text[CONFIG_SHOW_TEXT];

	config_show(text, option_name(id), option_argument(id), &v);
	app_say(app, "%s", text);
}

/* "KEY VALUE", "KEY=VALUE" or "KEY = VALUE". */
void
app_set(struct app *app, const char *arg)
{
	size_t n = strcspn(arg, " =");
	char key[64];
	unsigned id;

	if (app->watch->options == NULL) {
		app_say(app, "this page has no settings");
		return;
	}
	if (arg[0] == '\0') {
		app_panel_open(app, APP_SETTINGS);
		return;
	}
	snprintf(key, sizeof key, "%.*s", (int)(n < 60 ? n : 60), arg);
	arg += n;
	arg += strspn(arg, " ");
	if (*arg == '=')
		arg++;
	arg += strspn(arg, " ");
	id = find_setting(key);
	if (id == OPTIONS)
		say_unknown(app, key);
	else if (*arg == '\0')
		say_setting(app, id);
	else
		set(app, id, arg);
}

void
app_set_complete(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	size_t n = strcspn(arg, " =");
	char key[64];
	unsigned id;

	(void)app;
	app_words_from(words, before, arg);
	if (arg[n] == '\0') {
		for (id = 0; id < OPTIONS; id++)
			if (config_has(id))
				line_words_add(words, option_name(id));
		return;
	}
	snprintf(key, sizeof key, "%.*s", (int)(n < 60 ? n : 60), arg);
	id = find_setting(key);
	arg += n;
	arg += strspn(arg, " =");
	app_words_from(words, before, arg);
	if (id == OPTIONS)
		return;
	app_words_of(words, option_argument(id) != NULL &&
	    option_argument(id)[0] != '[' ? option_argument(id) :
	    id == OPTION_CLASSIC ? "yes|no|strict" : "yes|no");
}

/* --- :save ---------------------------------------------------------------- */

void
app_save_settings(struct app *app)
{
	const char *value[OPTIONS];
	char path[PATH_MAX];
	unsigned id, n = 0;
	int r;

	for (id = 0; id < OPTIONS; id++) {
		value[id] = app->set[id];
		n += value[id] != NULL;
	}
	if (n == 0) {
		app_say(app, "nothing has been :set, and no file is touched");
		return;
	}
	r = config_user_path(app->watch->options->config, path);
	if (r == 0)
		r = config_save(path, value);
	if (r == -EINVAL)
		app_say(app, "a line of %.128s would hide what was set: mend "
		    "it first", path);
	else if (r < 0)
		app_say(app, "cannot save the settings: %s",
		    base_file_words(r));
	else
		app_say(app, "%u setting%s saved in %.200s", n,
		    n == 1 ? " is" : "s are", path);
}

void
app_settings_fini(struct app *app)
{
	unsigned id;

	for (id = 0; id < OPTIONS; id++)
		free(app->set[id]);
	memset(app->set, 0, sizeof app->set);
}

/* --- the list of them ----------------------------------------------------- */

/* On narrow screens, moves the origin close to the value. */
static void
close_up(char text[CONFIG_SHOW_TEXT])
{
	char *end = strstr(text, "  "), *origin;

	if (end == NULL)
		return;
	origin = end + strspn(end, " ");
	memmove(end + 2, origin, strlen(origin) + 1);
}

static int
settings_compose(struct app *app, int rows, struct page_picture *pic)
{
	char text[CONFIG_SHOW_TEXT];
	struct config_value v;
	unsigned id;
	int r;

	picture_line(pic);
	picture_printf(pic, "SETTINGS");
	page_overlay_title(":set KEY VALUE  :save  Esc close", pic);
	for (id = 0; id < OPTIONS; id++) {
		if (!config_has(id))
			continue;
		v = app_setting(app, id);
		/* There is no room for the path of the file. */
		if (v.line > 0)
			v.from = NULL;
		config_show(text, option_name(id),
		    option_argument(id), &v);
		if (picture_cols(pic, text) > pic->cols)
			close_up(text);
		picture_line(pic);
		picture_text(pic, text, pic->cols, PICTURE_FREE);
		if (v.origin == CONFIG_PAGE)
			picture_mark_line(pic, PAGE_NEW);
		else if (v.origin == CONFIG_BUILT_IN)
			picture_mark_line(pic, PAGE_STALE);
	}
	r = picture_end(pic);
	if (r == 0)
		page_scroll_cut(&app->panels.scroll, pic, rows - 1);
	return r;
}

static const struct panel_key settings_keys[] = {
	{ .action = PAGE_DO_COMMAND, .run = app_command_open },
};

const struct panel_ops overlay_settings = {
	.keys = settings_keys,
	.nkeys = BASE_NELEM(settings_keys),
	.compose = settings_compose,
	.move = app_panel_scroll,
	.window = app_panel_scroll_window,
	.enter = app_panel_close,
};
