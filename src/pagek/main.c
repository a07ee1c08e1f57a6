/*
 * pagek: every memory block that a program holds, live.
 *
 * The rooms, each with the door of its name; an arrow points down only:
 *	picture		cells, lines, keys and fields of any row
 *	page		what one page looks at, and what it was told to show
 *	rows		which rows: order, filter, groups, frozen order, marks
 *	difference	what came and went since the mark
 *	history		pause, and steps back
 *	layout		rows as lines: classic, wide, full; the columns
 *	panels		the text of the other pages and of what lies over a page
 *	cli		options, settings, words for a target, standard output
 *	documents	JSON, CSV, Prometheus, listings, exports
 *	app		keys, panels, prompts and jobs; app/pages is the table of pages
 *	tui		the terminal; the only room with curses
 *	commands	one file for each command
 *	check		`pagek check`
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "app/batch.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "documents/listing.h"
#include "rows/row_filter.h"

static void
take_note(int sig)
{
	(void)sig;
}

/*
 * A reader that goes away, or a file that may not grow, is an error to be
 * counted, not a death.  A handler
 * does what ignoring would, and is gone after an exec: what we start finds
 * the signal as we found it.
 */
static void
survive_writes(void)
{
	static const int signals[] = { SIGPIPE, SIGXFSZ };
	struct sigaction sa = { .sa_handler = take_note,
	    .sa_flags = SA_RESTART }, old;

	for (size_t i = 0; i < BASE_NELEM(signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

/* As the signal would have done, but for what we have started. */
static void
end_all(int sig)
{
	nodes_ssh_end_all();
	/* It is blocked in its handler, and comes when that returns. */
	signal(sig, SIG_DFL);
	raise(sig);
}

/*
 * Where nobody else attends to it a signal ends us; an ssh that still waits for
 * its other end would not notice.  Handlers are gone after an exec.
 */
static void
leave_nothing_running(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction sa = { .sa_handler = end_all }, old;

	for (size_t i = 0; i < BASE_NELEM(signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

/*
 * No descriptor of ours may get a number that stands for a standard stream.
 * What was closed stays unusable: a write there fails as it would have.
 */
static void
fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", O_CLOEXEC |
			    (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

static void
end_by_signal(int sig)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t set;

	sigaction(sig, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

static int
dispatch(const struct options *o)
{
	uv_loop_t loop;
	int status, err;

	err = uv_loop_init(&loop);
	if (err < 0) {
		complain("cannot begin: %s", uv_strerror(err));
		return PAGEK_FAILED;
	}
	status = command_rows[o->command].run(o, &loop);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return status;
}

/* Reports a mistake in the command line, and marks its position in a filter. */
static void
refuse(const struct options *o, const char *why)
{
	char lines[4096];

	if (!o->wrong) {
		complain("%s%s try 'pagek --help'", why,
		    why[strlen(why) - 1] == '?' ? "" : ";");
		return;
	}
	complain("%s", why);
	page_sieve_point(o->filter, o->wrong_at, batch_columns(stderr) - 1,
	    strcmp(nl_langinfo(CODESET), "UTF-8") != 0, lines, sizeof lines);
	fputs(lines, stderr);
}

/* The default of *L<>, unless options or files set it. */
static void
choose_listing(struct options *o)
{
	static char own[5];

	if (option_given(o, OPTION_LISTING))
		return;
	/* The note's page names the node that its listings went to. */
	if (o->target.kind == TARGET_DEMO &&
	    strcmp(o->target.rest, "note") == 0) {
		o->page.listing = "0509";
	} else if (o->page.listing[0] == '\0') {
		listing_own_number(own);
		o->page.listing = own;
	}
}

/* Applies the settings files and runs the command. */
static int
obey(struct options *o)
{
	struct symbol_wrappers *wrappers = NULL;
	struct page_style styles[PAGE_MARKS];
	struct config config;
	int status;

	output_voice(option_given(o, OPTION_QUIET),
	    option_given(o, OPTION_VERBOSE));
	status = config_load(&config, o, complain_said, NULL);
	if (status == 0) {
		config_apply(&config, o);
		config_bind_keys(&config);
		config_styles(&config, styles);
		o->page.style = styles;
		choose_listing(o);
		o->config = &config;
		tell_files(&config);
		status = options_wrappers(o, &wrappers);
	}
	if (status < 0) {
		complain("cannot begin: %s", strerror(-status));
		status = PAGEK_FAILED;
	} else {
		o->page.wrappers = wrappers;
		status = dispatch(o);
	}
	symbol_wrappers_free(wrappers);
	config_fini(&config);
	return status;
}

int
main(int argc, char **argv)
{
	struct options o;
	char why[512];
	int status;

	setlocale(LC_ALL, "");
	fill_standard_streams();
	survive_writes();
	leave_nothing_running();
	blklist_begin_beside();
	status = options_parse(&o, argc, argv, why, sizeof why);
	if (status != 0) {
		refuse(&o, why);
		return status;
	}
	if (option_given(&o, OPTION_VERSION)) {
		printf("pagek %s\n", PAGEK_VERSION);
		return output_close(stdout, NULL, PAGEK_OK);
	}
	if (option_given(&o, OPTION_HELP)) {
		o.topic = o.named ? o.command : COMMANDS;
		return cmd_help(&o, NULL);
	}
	/* help reads no settings. */
	if (o.command == COMMAND_HELP)
		return cmd_help(&o, NULL);
	status = obey(&o);
	if (status >= BY_SIGNAL(0))
		end_by_signal(status - BY_SIGNAL(0));
	return status;
}
