#include <stdio.h>
#include <string.h>

#include "../documents/listing.h"
#include "../layout/edit_fields.h"
#include "../rows/follow.h"
#include "../rows/rows.h"
#include "app.h"

static const char *const kinds[PAGE_FIELDS] = {
	[PAGE_FIELD_NODE] = "node",
	[PAGE_FIELD_LISTING] = "listing",
	[PAGE_FIELD_OFFS] = "offs",
};

static void
say_hint(struct app *app)
{
	const struct page_fields *f = &app->page->fields;
	const char *name = page_field_name(f->at);
	static const char *const untouched[PAGE_FIELDS] = {
		[PAGE_FIELD_NODE] = "NODE: a number, a name or a command, Enter "
		    "goes there  Esc leaves",
		[PAGE_FIELD_LISTING] = "L: Enter sends the list there, or "
		    "type another place  Esc leaves",
		[PAGE_FIELD_OFFS] = "OFFS: the first row, Enter sets it  Esc "
		    "leaves",
	};

	if (!f->editing)
		app_say(app, "%s: Enter edits%s  Tab next  Esc leaves", name,
		    f->at == PAGE_FIELD_LISTING ? ", twice sends a listing" :
		    "");
	else if (!f->changed)
		app_say(app, "%s", untouched[f->at]);
	else
		app_say(app, "%s %.200s  Enter %s  Esc leaves", name,
		    f->typed.text, f->at == PAGE_FIELD_NODE ? "goes there" :
		    "sets it");
}

void
app_field_next(struct app *app)
{
	page_fields_next(app->page);
	say_hint(app);
}

static void
edit_field(struct app *app)
{
	struct page *page = app->page;
	char now[32] = "";
	const char *value = now;

	if (page->fields.at == PAGE_FIELD_NODE)
		snprintf(now, sizeof now, "%04X",
		    nodes_session_look(app->session)->node.number);
	else if (page->fields.at == PAGE_FIELD_OFFS)
		snprintf(now, sizeof now, "%llu",
		    (unsigned long long)page->offs);
	else
		value = page->opts.listing;
	page_fields_edit(page, value);
	app_history_begin(app);
	app->mode = APP_FIELD;
	say_hint(app);
}

bool
app_field_key(struct app *app, enum page_action action)
{
	if (app->page->fields.at == PAGE_NO_FIELD)
		return false;
	if (action == PAGE_DO_OPEN) {
		edit_field(app);
		return true;
	}
	if (action == PAGE_DO_CLOSE || page_key_moves(action))
		page_fields_leave(app->page);
	return action == PAGE_DO_CLOSE;
}

static bool
set_listing(struct app *app, const char *typed)
{
	struct page *page = app->page;
	struct listing_to to;
	char why[256];

	if (!page_field_word(PAGE_FIELD_LISTING, typed, why, sizeof why) ||
	    listing_to(&to, typed, why, sizeof why) < 0) {
		app_say(app, "%s", why);
		return false;
	}
	snprintf(page->fields.listing, sizeof page->fields.listing, "%s",
	    typed);
	page->opts.listing = page->fields.listing;
	app_say(app, "listings go to %.200s; l sends one", typed);
	return true;
}

static bool
set_offs(struct app *app, const char *typed)
{
	struct page *page = app->page;
	struct page_view v;
	uint64_t offs;
	char why[256];

	if (!page_field_offs(
		typed, page->found.total, &offs, why, sizeof why)) {
		app_say(app, "%s", why);
		return false;
	}
	page->offs = offs;
	page_follow_stop(page);
	/* The cursor's row would scroll OFFS back. */
	if (page->cursor.on) {
		page_move_to(page, offs);
		v = app_view(app);
		page_remember_cursor(page, &v);
	}
	return true;
}

static bool
set_node(struct app *app, const char *typed)
{
	char why[256];

	if (!page_field_word(PAGE_FIELD_NODE, typed, why, sizeof why)) {
		app_say(app, "%s", why);
		return false;
	}
	return app_go(app, typed);
}

static void
submit_field(struct app *app)
{
	struct page_fields *f = &app->page->fields;
	char typed[LINE_TEXT];
	bool accepted = true;

	memcpy(typed, f->typed.text, sizeof typed);
	if (f->changed)
		app_history_add(app, kinds[f->at], typed);
	if (f->at == PAGE_FIELD_LISTING && !f->changed)
		app_listing(app);
	else if (!f->changed)
		app_say(app, "%s stays as it is", page_field_name(f->at));
	else if (f->at == PAGE_FIELD_NODE)
		accepted = set_node(app, typed);
	else if (f->at == PAGE_FIELD_LISTING)
		accepted = set_listing(app, typed);
	else
		accepted = set_offs(app, typed);
	/* After a mistake the cursor stays in the field. */
	if (accepted)
		page_fields_leave(app->page);
}

/* An unchanged value is no prefix: Up shows all lines. */
static void
recall_value(struct app *app, bool back)
{
	struct page_fields *f = &app->page->fields;
	const char *text = app_history_step(app, kinds[f->at], f->changed ?
	    f->typed.text : "", back);

	if (text != NULL)
		page_fields_recall(app->page, text);
	say_hint(app);
}

void
app_field_type(struct app *app, int code)
{
	if (code == PAGE_KEY_UP || code == PAGE_CTRL('P') ||
	    code == PAGE_KEY_DOWN || code == PAGE_CTRL('N')) {
		recall_value(
		    app, code == PAGE_KEY_UP || code == PAGE_CTRL('P'));
		return;
	}
	switch (page_fields_type(app->page, code)) {
	case PAGE_FIELD_TYPING:
		app_history_begin(app);
		say_hint(app);
		return;
	case PAGE_FIELD_LEFT:
		app->mode = APP_PAGE;
		page_fields_leave(app->page);
		return;
	case PAGE_FIELD_SUBMITTED:
		app->mode = APP_PAGE;
		submit_field(app);
		return;
	}
}
