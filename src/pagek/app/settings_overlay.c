#include <errno.h>
#include <langinfo.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cli/config.h"
#include "app.h"

/* OPTIONS: there is no such setting. */
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

/* Borrowed until the value is set again. */
static struct config_value
get_setting(const struct app *app, unsigned id)
{
	const struct options *o = app->watch->options;

	if (app->set[id] != NULL)
		return (struct config_value){ .text = app->set[id],
		    .origin = CONFIG_PAGE };
	return config_value(o->config.values, o, id);
}

static void
run_command(struct app *app, const char *command, const char *arg)
{
	char line[LINE_TEXT];

	snprintf(line, sizeof line, "%s %.900s", command, arg);
	app_command(app, line);
}

static void
follow_layout(struct app *app)
{
	app->page->layout = app->page->opts.layout;
}

static void
follow_units(struct app *app)
{
	app->page->units = app->page->opts.units;
}

static void
check_ascii(struct app *app)
{
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		app->page->opts.ascii = true;
}

static void
request_restyle(struct app *app)
{
	app->requests.restyle = true;
}

/* The option's text may end before the page. */
static void
copy_listing(struct app *app)
{
	struct page_fields *f = &app->page->fields;

	snprintf(f->listing, sizeof f->listing, "%s",
	    app->page->opts.listing);
	app->page->opts.listing = f->listing;
}

#define MEMBER(name) .at = offsetof(struct page_opts, name), \
	.size = sizeof ((struct page_opts *)NULL)->name

/* Members of struct page_opts that are copied, and what follows from them. */
static const struct {
	size_t at, size;	/* size 0: does not take effect at once */
	void (*then)(struct app *);
} applied[OPTIONS] = {
	[OPTION_CLASSIC] = { MEMBER(layout), .then = follow_layout },
	[OPTION_WIDE] = { MEMBER(layout), .then = follow_layout },
	[OPTION_ASCII] = { MEMBER(ascii), .then = check_ascii },
	[OPTION_UTC] = { MEMBER(utc) },
	[OPTION_COLOR] = { MEMBER(color), .then = request_restyle },
	[OPTION_FPS] = { MEMBER(fps) },
	[OPTION_UNITS] = { MEMBER(units), .then = follow_units },
	[OPTION_MOUSE] = { MEMBER(mouse) },
	[OPTION_STRESS] = { MEMBER(stress) },
	[OPTION_CLIPBOARD] = { MEMBER(clipboard) },
	[OPTION_LISTING] = { MEMBER(listing), .then = copy_listing },
};

static const char *const commands[OPTIONS] = {
	[OPTION_SORT] = "sort",
	[OPTION_SKIP] = "skip",
};

static void
apply_setting(struct app *app, unsigned id, const char *value)
{
	struct options o = { 0 };
	char why[256];

	app_say(app, "%s = %.128s%s", option_name(id), value,
	    applied[id].size > 0 || commands[id] != NULL ? "" :
	    ": used at the next start if you :save it");
	o.page.listing = "";
	options_set(&o, id, value, why, sizeof why);
	memcpy((char *)&app->page->opts + applied[id].at,
	    (const char *)&o.page + applied[id].at, applied[id].size);
	if (applied[id].then != NULL)
		applied[id].then(app);
	else if (commands[id] != NULL)
		run_command(app, commands[id], value);
	app->page->round++;
	app->requests.repaint = true;
}

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

/* Turns the other layout off: the last one in the file would apply. */
static int
set_other_layout(struct app *app, unsigned id, const char *value)
{
	unsigned other = id == OPTION_WIDE ? OPTION_CLASSIC : OPTION_WIDE;

	if ((id != OPTION_WIDE && id != OPTION_CLASSIC) || is_off(value) ||
	    is_off(get_setting(app, other).text))
		return 0;
	return keep_value(app, other, "no");
}

static void
set_value(struct app *app, unsigned id, const char *value)
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
		app_say(app, "'%.64s' cannot be written to a file: it is too "
		    "long, or a '#' begins a comment there", value);
		return;
	}
	r = keep_value(app, id, value);
	if (r == 0)
		r = set_other_layout(app, id, value);
	if (r < 0)
		app_say(app, "cannot set %s: %s", option_name(id),
		    strerror(-r));
	else
		apply_setting(app, id, app->set[id]);
}

static void
say_setting(struct app *app, unsigned id)
{
	struct config_value v = get_setting(app, id);
	char text[CONFIG_SHOW_TEXT];

	config_show(text, option_name(id), option_argument(id), &v);
	app_say(app, "%s", text);
}

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
		set_value(app, id, arg);
}

void
app_set_complete(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	size_t n = strcspn(arg, " =");
	char key[64];
	unsigned id;

	(void)app;
	app_complete_from(words, before, arg);
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
	app_complete_from(words, before, arg);
	if (id == OPTIONS)
		return;
	app_complete_choices(words, option_argument(id) != NULL &&
	    option_argument(id)[0] != '[' ? option_argument(id) :
	    id == OPTION_CLASSIC ? "yes|no|strict" : "yes|no");
}

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
		app_say(app, "nothing has been :set; no file is written");
		return;
	}
	r = config_user_path(app->watch->options->config.values, path);
	if (r == 0)
		r = config_save(path, value);
	if (r == -EINVAL)
		app_say(app, "a line of %.128s would override what was set: "
		    "correct it first", path);
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

/* Moves the origin close to the value, for narrow screens. */
static void
move_origin(char text[CONFIG_SHOW_TEXT])
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
		v = get_setting(app, id);
		/* Show the line without the path. */
		if (v.line > 0)
			v.from = NULL;
		config_show(text, option_name(id),
		    option_argument(id), &v);
		if (picture_cols(pic, text) > pic->cols)
			move_origin(text);
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
