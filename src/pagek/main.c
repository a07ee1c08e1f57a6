/*
 * pagek: every memory block that a program holds, live.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

static void
take_note(int sig)
{
	(void)sig;
}

/*
 * A reader that goes away is an error to be counted, not a death.  A handler
 * does what ignoring would, and is gone after an exec: what we start finds
 * the signal as we found it.
 */
static void
survive_pipes(void)
{
	struct sigaction sa = { .sa_handler = take_note,
	    .sa_flags = SA_RESTART }, old;

	if (sigaction(SIGPIPE, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGPIPE, &sa, NULL);
}

/* No descriptor of ours may get a number that stands for a standard stream. */
static void
fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
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
	static int (*const commands[COMMANDS])(const struct options *,
	    uv_loop_t *) = {
		[COMMAND_TOP] = cmd_top,
		[COMMAND_RUN] = cmd_run,
		[COMMAND_LIST] = cmd_list,
		[COMMAND_TARGETS] = cmd_targets,
	};
	uv_loop_t loop;
	int status, err;

	err = uv_loop_init(&loop);
	if (err < 0) {
		complain("cannot begin: %s", uv_strerror(err));
		return PAGEK_FAILED;
	}
	status = commands[o->command](o, &loop);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
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
	survive_pipes();
	status = options_parse(&o, argc, argv, why, sizeof why);
	if (status != 0) {
		complain("%s%s try 'pagek --help'", why,
		    why[strlen(why) - 1] == '?' ? "" : ";");
		return status;
	}
	if (option_given(&o, OPTION_VERSION)) {
		printf("pagek %s\n", PAGEK_VERSION);
		return output_close(stdout, NULL, PAGEK_OK);
	}
	if (option_given(&o, OPTION_HELP) || o.command == COMMAND_HELP) {
		options_help(stdout, !option_given(&o, OPTION_HELP) ?
		    o.topic : o.named ? o.command : COMMANDS);
		return output_close(stdout, NULL, PAGEK_OK);
	}
	status = dispatch(&o);
	if (status >= BY_SIGNAL(0))
		end_by_signal(status - BY_SIGNAL(0));
	return status;
}
