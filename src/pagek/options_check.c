/*
 * What goes together: options that their command does not take, and such as
 * have no effect beside the others.
 */
#include <string.h>

#include "../base/base.h"
#include "../page/kinds.h"
#include "options_table.h"

static int
check_command(struct parse *p)
{
	const struct options *o = p->o;
	unsigned id;

	for (id = 0; id < OPTIONS; id++)
		if (option_given(o, id) &&
		    !option_taken(&option_rows[id], o->command))
			return option_fail(p, "'pagek %s' takes no option --%s",
			    command_rows[o->command].name,
			    option_rows[id].name);
	return 0;
}

static int
check_text(struct parse *p)
{
	static const enum option_id text[] = { OPTION_OUTPUT, OPTION_FORMAT,
		OPTION_STRICT, OPTION_TIMEOUT, OPTION_INTERVAL, OPTION_COUNT };
	static const enum option_id again[] = { OPTION_INTERVAL, OPTION_COUNT,
		OPTION_DURATION };
	static const enum option_id screen[] = { OPTION_COLOR, OPTION_FPS,
		OPTION_MOUSE, OPTION_CLIPBOARD };
	const struct options *o = p->o;
	bool once = option_given(o, OPTION_ONCE);
	bool batch = option_given(o, OPTION_BATCH) ||
	    (o->command == COMMAND_RUN && option_given(o, OPTION_OUTPUT));
	size_t i;

	if (once && batch)
		return option_fail(p, "--once and --batch exclude each other");
	if (o->command == COMMAND_TOP && !once && !batch)
		for (i = 0; i < BASE_NELEM(text); i++)
			if (option_given(o, text[i]))
				return option_fail(p,
				    "--%s is for text: give --once "
				    "or --batch too",
				    option_rows[text[i]].name);
	if (o->command == COMMAND_RUN && !batch &&
	    option_given(o, OPTION_INTERVAL))
		return option_fail(p,
		    "--interval is for text: give --batch too");
	for (i = 0; once && i < BASE_NELEM(again); i++)
		/* What comes and goes takes some time. */
		if (option_given(o, again[i]) && (o->page.first != PAGE_H ||
		    again[i] != OPTION_INTERVAL))
			return option_fail(p, "--%s has no meaning with --once",
			    option_rows[again[i]].name);
	if (batch && o->format == FORMAT_JSON)
		return option_fail(p,
		    "--format=json is one object, and --batch writes many: "
		    "take --format=ndjson, or --once");
	if (once || batch)
		for (i = 0; i < BASE_NELEM(screen); i++)
			if (option_given(o, screen[i]))
				return option_fail(p,
				    "--%s is for the page on a "
				    "terminal, not for text",
				    option_rows[screen[i]].name);
	return 0;
}

/* Of page G as text there is nothing of page K. */
static int
check_nodes(struct parse *p)
{
	static const enum option_id blocks[] = { OPTION_SORT, OPTION_REVERSE,
		OPTION_SKIP, OPTION_NO_SKIP, OPTION_CLASSIC, OPTION_WIDE,
		OPTION_UTC, OPTION_STRICT, OPTION_MAX, OPTION_SINCE,
		OPTION_LIST, OPTION_LOOK_ONLY };
	const struct options *o = p->o;
	size_t i;

	if (o->command == COMMAND_NODES && !option_given(o, OPTION_ASK) &&
	    option_given(o, OPTION_TIMEOUT))
		return option_fail(p, "--timeout is for nodes that are asked: "
		    "give --ask too");
	if (o->page.first != PAGE_G || (!option_given(o, OPTION_ONCE) &&
	    !option_given(o, OPTION_BATCH)))
		return 0;
	if (o->aimed)
		return option_fail(p, "page G has all nodes of the table, and "
		    "as text it takes no TARGET");
	for (i = 0; i < BASE_NELEM(blocks); i++)
		if (option_given(o, blocks[i]))
			return option_fail(p, "--%s is for page K, and page G "
			    "alone is wanted", option_rows[blocks[i]].name);
	return 0;
}

/* Rows have units where they are text, and not where they are the note's. */
static int
check_units(struct parse *p)
{
	const struct options *o = p->o;
	bool text = o->command == COMMAND_LIST || o->command == COMMAND_TREE ||
	    option_given(o, OPTION_ONCE) || option_given(o, OPTION_BATCH);

	if (!option_given(o, OPTION_UNITS))
		return 0;
	if (o->json)
		return option_fail(p, "--units is for text: --format=%s has "
		    "sizes in bytes", o->text[OPTION_FORMAT]);
	if (text && option_given(o, OPTION_CLASSIC))
		return option_fail(p, "--units is for the wide layout, not for "
		    "--classic");
	return 0;
}

static int
check_demo(struct parse *p)
{
	const struct options *o = p->o;
	bool demo = o->target.kind == TARGET_DEMO;

	if (demo && o->at != NULL && strcmp(o->target.rest, "note") != 0)
		return option_fail(p, "--at is for demo:note: the clock of "
		    "demo:%s is its own", o->target.rest);
	if (o->command == COMMAND_RUN || demo)
		return 0;
	if (o->at != NULL)
		return option_fail(p, "--at is for demos, such as demo:note");
	if (o->stream != NULL)
		return option_fail(p,
		    "--stream is for demos, such as demo:note");
	if (o->list == LIST_CHECK)
		return option_fail(p,
		    "--list=check is for 'pagek run' and for demos: "
		    "their node is started with it");
	return 0;
}

static int
check_ssh(struct parse *p)
{
	const struct options *o = p->o;

	if (option_given(o, OPTION_REMOTE_PAGEKNODE) &&
	    o->command != COMMAND_CONFIG && o->target.kind != TARGET_SSH)
		return option_fail(p, "--remote-pageknode is for other "
		    "machines, such as ssh:linac-b");
	return 0;
}

static int
check_raw(struct parse *p)
{
	const struct options *o = p->o;

	if (o->baud != 0 && o->command != COMMAND_CONFIG &&
	    o->target.kind != TARGET_RAW && o->aimed)
		return option_fail(p, "--baud is for serial lines, such as "
		    "raw:/dev/ttyUSB0");
	return 0;
}

static int
check_tree(struct parse *p)
{
	static const enum option_id not_flat[] = { OPTION_REVERSE,
		OPTION_DEPTH, OPTION_FOCUS };
	const struct options *o = p->o;
	bool flat = option_given(o, OPTION_FLAT);
	size_t i;

	if (o->command == COMMAND_EXPORT && !option_given(o, OPTION_FOLDED))
		return option_fail(p,
		    "'pagek export' needs a format, and there is "
		    "one: --folded");
	if (o->command == COMMAND_EXPORT && o->by_group)
		return option_fail(p,
		    "folded stacks are by bytes, blocks or age");
	if (o->command != COMMAND_TREE)
		return 0;
	if (o->by_group && o->page.group != 0)
		return option_fail(p, "--group and --by=%s both say what goes "
		    "together", o->text[OPTION_BY]);
	if (!flat && (o->by_group || o->page.group != 0))
		return option_fail(p,
		    "groups are for a flat table: give --flat too, "
		    "or a tree by bytes, blocks or age");
	if (!flat && option_given(o, OPTION_LIMIT))
		return option_fail(p,
		    "--limit is for a flat table: give --flat too, "
		    "or --least and --depth");
	for (i = 0; flat && i < BASE_NELEM(not_flat); i++)
		if (option_given(o, not_flat[i]))
			return option_fail(p, "--%s has no meaning with --flat",
			    option_rows[not_flat[i]].name);
	return 0;
}

static int
check_stacks(struct parse *p)
{
	const struct options *o = p->o;

	if (o->stack == 0 && option_given(o, OPTION_FREE_STACK))
		return option_fail(p,
		    "--free-stack needs stacks: --stack=0 has none");
	return 0;
}

/* Nobody's target is sent to sleep because it happens to hold most. */
static int
check_aim(struct parse *p)
{
	const struct options *o = p->o;

	if ((o->command == COMMAND_ARM || o->command == COMMAND_DISARM) &&
	    !o->aimed)
		return option_fail(p, "'pagek %s' needs a TARGET, as in "
		    "'pagek %s pid:4711'", command_rows[o->command].name,
		    command_rows[o->command].name);
	if (option_given(o, OPTION_LOOK_ONLY) && option_given(o, OPTION_ONCE))
		return option_fail(p, "--look-only has no meaning with --once, "
		    "which arms nothing");
	return 0;
}

/* Sums have no rows. */
static int
check_prom(struct parse *p)
{
	static const enum option_id rows[] = { OPTION_SORT, OPTION_REVERSE,
		OPTION_FREE, OPTION_LIMIT, OPTION_FIELDS };
	const struct options *o = p->o;
	size_t i;

	if (o->format != FORMAT_PROM)
		return 0;
	if (o->command != COMMAND_LIST)
		return option_fail(p, "--format=prom is for 'pagek list'");
	for (i = 0; i < BASE_NELEM(rows); i++)
		if (option_given(o, rows[i]))
			return option_fail(p, "--%s is for rows, and "
			    "--format=prom has sums", option_rows[rows[i]].name);
	return 0;
}

/* A row of text is one of the page, and has what that has. */
static int
check_fields(struct parse *p)
{
	if (p->o->fields != NULL && !p->o->json)
		return option_fail(p, "--fields is for programs: give "
		    "--format=json, ndjson or csv too");
	return 0;
}

/* Of a target only its node matters, and demos and devices store nothing. */
static int
check_listings(struct parse *p)
{
	const struct options *o = p->o;

	if (o->command != COMMAND_LISTINGS)
		return 0;
	if (o->target.kind == TARGET_DEMO || o->target.kind == TARGET_RAW)
		return option_fail(p, "'%s' is a node of the page's own, and "
		    "stores no listings", o->target.word);
	if (o->name != NULL && o->json)
		return option_fail(p, "--format has no meaning for one "
		    "listing: it is printed as it was sent");
	if (o->name != NULL && option_given(o, OPTION_UTC))
		return option_fail(p, "--utc has no meaning for one listing");
	return 0;
}

/* What makes no sense for one that is watched already. */
static int
check_budgets(struct parse *p)
{
	static const enum option_id started[] = { OPTION_NO_WAIT, OPTION_STACK,
		OPTION_SAMPLE };
	const struct options *o = p->o;

	if (o->command != COMMAND_CHECK)
		return 0;
	if (o->argv != NULL && o->aimed)
		return option_fail(p, "'pagek check' takes a TARGET or a "
		    "command, not both");
	if (o->argv == NULL && !o->aimed)
		return option_fail(p, "'pagek check' needs a command or a "
		    "TARGET, as in 'pagek check --max-live 50M -- ls'");
	if (o->budgets == 0 && o->baseline == NULL)
		return option_fail(p, "'pagek check' needs a limit, such as "
		    "--max-live=50M, or --baseline");
	if (o->baseline == NULL && (option_given(o, OPTION_SAVE_BASELINE) ||
	    option_given(o, OPTION_TOLERANCE)))
		return option_fail(p, "--%s needs --baseline", option_given(o,
		    OPTION_TOLERANCE) ? "tolerance" : "save-baseline");
	if (o->argv != NULL && o->duration_ms != 0)
		return option_fail(p, "--duration is for a TARGET: a command "
		    "is judged to its end");
	for (size_t i = 0; o->argv == NULL && i < BASE_NELEM(started); i++)
		if (option_given(o, started[i]))
			return option_fail(p, "--%s is for a command that is "
			    "started", option_rows[started[i]].name);
	return 0;
}

static int
check_completion(struct parse *p)
{
	const struct options *o = p->o;

	if (o->command == COMMAND_COMPLETION && o->shell == NULL)
		return option_fail(p, "'pagek completion' needs a shell: bash, "
		    "zsh or fish");
	return 0;
}

static int
check_config(struct parse *p)
{
	const struct options *o = p->o;

	if (option_given(o, OPTION_CONFIG) && option_given(o, OPTION_NO_CONFIG))
		return option_fail(p, "--config and --no-config exclude each "
		    "other");
	if (o->command == COMMAND_CONFIG && !option_given(o, OPTION_SHOW))
		return option_fail(p, "'pagek config' needs --show: what is "
		    "there to set is set in a file");
	return 0;
}

/* Scripts that read rows get those of blocks alone, unless they ask for more. */
static int
check_free(struct parse *p)
{
	struct options *o = p->o;

	o->page.free = option_given(o, OPTION_FREE) ||
	    (!o->json && o->command != COMMAND_LIST);
	if (!option_given(o, OPTION_FREE))
		return 0;
	if (o->filter != NULL)
		return option_fail(p, "--free has no meaning with --filter, "
		    "which is about blocks");
	if (!option_given(o, OPTION_SORT))
		o->page.order = BLKLIST_BY_ADDRESS;
	if (o->page.order != BLKLIST_BY_ADDRESS)
		return option_fail(p, "--free needs the order of addresses: "
		    "free memory has no age");
	return 0;
}

/* The page's own is compiled with its first picture. */
static int
check_filter(struct parse *p)
{
	struct options *o = p->o;

	if (o->command != COMMAND_TOP && o->command != COMMAND_RUN)
		return 0;
	if (o->filter != NULL && o->page.layout == PAGE_CLASSIC_STRICT)
		return option_fail(p, "--filter has no meaning with "
		    "--classic=strict, which shows all blocks");
	o->page.filter = o->filter;
	return 0;
}

static int
check_group(struct parse *p)
{
	struct options *o = p->o;
	const struct page_group_kind *kind = page_group_kind(o->page.group);

	if (kind == NULL)
		return 0;
	if (o->command == COMMAND_TREE && o->page.group_below != 0)
		return option_fail(p, "a flat table has groups of one level: "
		    "--group=%s, say", kind->word);
	if (o->command == COMMAND_TREE)
		o->by = kind->by;
	if (o->page.layout == PAGE_CLASSIC_STRICT)
		return option_fail(p, "--group has no meaning with "
		    "--classic=strict, which has no groups");
	return o->json && o->page.group_below != 0 ? option_fail(p,
	    "--format=%s has groups of one level: --group=%s, say",
	    o->text[OPTION_FORMAT], kind->word) : 0;
}

/* Which of the two rows have, and that data has neither. */
static int
check_layout(struct parse *p)
{
	static const enum option_id layouts[] = { OPTION_CLASSIC, OPTION_WIDE };
	const struct options *o = p->o;
	size_t i;

	if (option_given(o, OPTION_CLASSIC) && option_given(o, OPTION_WIDE))
		return option_fail(p, "--classic and --wide exclude each "
		    "other");
	for (i = 0; o->json && i < BASE_NELEM(layouts); i++)
		if (option_given(o, layouts[i]))
			return option_fail(p, "--%s is for text, not for "
			    "--format=%s", option_rows[layouts[i]].name,
			    o->text[OPTION_FORMAT]);
	return 0;
}

static int
check_voice(struct parse *p)
{
	if (option_given(p->o, OPTION_QUIET) &&
	    option_given(p->o, OPTION_VERBOSE))
		return option_fail(p, "--quiet and --verbose exclude each "
		    "other");
	return 0;
}

static int
check_run(struct parse *p)
{
	if (p->o->command == COMMAND_RUN && p->o->argv == NULL)
		return option_fail(p, "'pagek run' needs a command, as in "
		    "'pagek run -- sleep 5'");
	return 0;
}

/* The first that fails is what is said: what a command takes at all comes first. */
static int (*const checks[])(struct parse *) = {
	check_command,
	check_text,
	check_nodes,
	check_units,
	check_demo,
	check_ssh,
	check_raw,
	check_tree,
	check_stacks,
	check_aim,
	check_listings,
	check_prom,
	check_fields,
	check_config,
	check_completion,
	check_budgets,
	check_free,
	check_filter,
	check_group,
	check_voice,
	check_layout,
	check_run,
};

int
options_check(struct parse *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < BASE_NELEM(checks); i++)
		r = checks[i](p);
	return r;
}
