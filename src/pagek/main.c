/*
 * pagek: every memory block that a program holds, live.
 *
 * The rooms, each with a header of its name; a room includes only rooms above
 * it in this list:
 *	picture		lines, the table of keys, fields of rows
 *	page		the state of a page
 *	stress		what the kernel did for its pages, page S
 *	blocks		blocks as rows: order, filter, free blocks
 *	groups		blocks summed by what they have in common
 *	rows		the rows shown: cursor, frozen order, search
 *	difference	the difference to the mark
 *	history		pause, and steps back
 *	layout		rows as lines: classic, wide, full; the columns
 *	panels		pages G and H and the overlays as text
 *	usage		counts by type, page U
 *	refcnt		references to pages of memory, page R
 *	cli		options, settings, targets, standard output
 *	documents	the text of JSON, CSV, Prometheus, listings, exports
 *	debugdata	events of debug data as rows
 *	batch		sessions of commands, and pages as text
 *	jobs		sends listings and exports to a file, a node or a pager
 *	app		what keys do, panels and prompts; app/pages: keys of each page
 *	tui		the terminal; the only room with curses
 *	commands	a file cmd_NAME.c for each command, some in rooms inside
 *
 * Files of one name in several rooms: batch/stress.c waits for the node's answer in a
 * command, app/pages/stress.c has the keys of a page.  ../nodes/nodes.h has the files
 * that ask and answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "batch/batch.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "documents/listing.h"
#include "blocks/row_filter.h"

/* Unless the signal is ignored.  Handlers are reset by exec. */
static void
catch_signal(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction old;

	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(sig, &sa, NULL);
}

static void
do_nothing(int sig)
{
	(void)sig;
}

static void
end_all(int sig)
{
	nodes_ssh_end_all();
	/* The signal is blocked until this handler returns. */
	signal(sig, SIG_DFL);
	raise(sig);
}

static void
catch_signals(void)
{
	static const int ending[] = { SIGTERM, SIGINT, SIGHUP };

	/* Writes fail instead; a program that we start gets the default. */
	catch_signal(SIGPIPE, do_nothing, SA_RESTART);
	catch_signal(SIGXFSZ, do_nothing, SA_RESTART);
	/* An ssh that waits for its peer would not notice our end. */
	for (size_t i = 0; i < BASE_NELEM(ending); i++)
		catch_signal(ending[i], end_all, 0);
}

/*
 * Opens closed standard streams, so that no other file gets their numbers.  Reads
 * and writes fail as before; messages go nowhere.
 */
static void
fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", O_CLOEXEC |
			    (fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY));
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
run_command(const struct options *o)
{
	uv_loop_t loop;
	int status, err;

	err = base_have_descriptors();
	if (err == 0)
		err = uv_loop_init(&loop);
	if (err < 0) {
		complain("cannot start: %s%s", uv_strerror(err),
		    base_remedy(err));
		return PAGEK_FAILED;
	}
	status = command_rows[o->command].run(o, &loop);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	return status;
}

static void
report_mistake(const struct options *o, const char *why)
{
	char lines[4096];

	if (!o->filter.wrong) {
		complain("%s%s try 'pagek --help'", why,
		    why[strlen(why) - 1] == '?' ? "" : ";");
		return;
	}
	complain("%s", why);
	page_filter_error_lines(o->filter.text, o->filter.wrong_at,
	    batch_columns(stderr) - 1,
	    strcmp(nl_langinfo(CODESET), "UTF-8") != 0, lines, sizeof lines);
	fputs(lines, stderr);
}

static void
choose_listing(struct options *o)
{
	static char own[5];

	if (option_given(o, OPTION_LISTING))
		return;
	/* The node of the note. */
	if (o->target.kind == TARGET_DEMO &&
	    strcmp(o->target.name, "note") == 0) {
		o->page.listing = "0509";
	} else if (o->page.listing[0] == '\0') {
		listing_own_number(own);
		o->page.listing = own;
	}
}

static int
run_with_settings(struct options *o)
{
	struct symbol_wrappers *wrappers = NULL;
	struct page_style styles[PAGE_MARKS];
	struct config config;
	int status;

	output_voice(option_given(o, OPTION_QUIET),
	    option_given(o, OPTION_VERBOSE));
	output_watch_captures();
	status = config_load(&config, o, complain_said, NULL);
	if (status == 0) {
		config_apply(&config, o);
		config_bind_keys(&config);
		config_styles(&config, styles);
		o->page.style = styles;
		choose_listing(o);
		o->config.values = &config;
		tell_files(&config);
		status = options_wrappers(o, &wrappers);
	}
	if (status < 0) {
		complain("cannot start: %s%s", strerror(-status),
		    base_remedy(status));
		status = PAGEK_FAILED;
	} else {
		o->page.wrappers = wrappers;
		status = run_command(o);
	}
	symbol_wrappers_free(wrappers);
	config_fini(&config);
	return status;
}

static int
run(struct options *o)
{
	if (option_given(o, OPTION_VERSION)) {
		printf("pagek %s\n", PAGEK_VERSION);
		return output_close(stdout, NULL, PAGEK_OK);
	}
	if (option_given(o, OPTION_HELP)) {
		o->words.topic = o->command_given ? o->command : COMMANDS;
		return cmd_help(o, NULL);
	}
	/* help reads no settings. */
	return o->command == COMMAND_HELP ? cmd_help(o, NULL) : run_with_settings(o);
}

int
main(int argc, char **argv)
{
	struct options o;
	char why[512];
	int status;

	setlocale(LC_ALL, "");
	fill_standard_streams();
	catch_signals();
	blklist_start_prefault_thread();
	status = options_parse(&o, argc, argv, why, sizeof why);
	if (status == 0)
		status = run(&o);
	else
		report_mistake(&o, why);
	options_fini(&o);
	if (status >= BY_SIGNAL(0))
		end_by_signal(status - BY_SIGNAL(0));
	return status;
}
