#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

struct jobs_program {
	uv_process_t process;
	jobs_program_cb ended;	/* NULL: it has ended */
	void *arg;
};

static void
on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void
on_exit_of(uv_process_t *process, int64_t status, int signal)
{
	struct jobs_program *p = process->data;
	jobs_program_cb ended = p->ended;

	p->ended = NULL;
	ended(p->arg, (int)status, signal);
}

int
jobs_program_start(struct jobs_program **out, uv_loop_t *loop, char **args,
    int in, jobs_program_cb ended, void *arg)
{
	struct jobs_program *p = calloc(1, sizeof *p);
	int r;

	if (p == NULL)
		return -ENOMEM;
	uv_process_options_t options = {
		.exit_cb = on_exit_of,
		.file = args[0],
		.args = args,
		.stdio_count = 3,
		.stdio = (uv_stdio_container_t[]){
			{ .flags = UV_INHERIT_FD, .data.fd = in },
			{ .flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO },
			{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
		},
	};
	p->process.data = p;
	r = uv_spawn(loop, &p->process, &options);
	if (r < 0) {
		uv_close((uv_handle_t *)&p->process, on_closed);
		return r;
	}
	p->ended = ended;
	p->arg = arg;
	*out = p;
	return 0;
}

void
jobs_program_close(struct jobs_program *p)
{
	if (p->ended != NULL)
		uv_process_kill(&p->process, SIGTERM);
	uv_close((uv_handle_t *)&p->process, on_closed);
}

#define VIEWER_WORDS 16

struct viewer_kind {
	const char *name;
	const char *variables[2];	/* that name it, the first before the second */
	const char *command;		/* without them ... */
	char otherwise[8];		/* ... and where that is not installed; "" none */
	const char *advice;
};

static const struct viewer_kind editor = {
	.name = "editor",
	.variables = { "VISUAL", "EDITOR" },
	.command = "vi",
	.advice = "set VISUAL or EDITOR",
};

static const struct viewer_kind pager = {
	.name = "pager",
	.variables = { "PAGER" },
	.command = "less",
	.otherwise = "more",
	.advice = "set PAGER",
};

struct jobs_viewer {
	struct jobs *jobs;
	struct viewer_kind kind;
	struct jobs_program *program;	/* NULL: waits for the terminal */
	char command[512];		/* its words, each with a NUL */
	char line[16];			/* "+112" */
	char path[4096];
	char *args[VIEWER_WORDS + 3];
};

static void
end_viewer(struct jobs *jobs)
{
	struct jobs_viewer *v = jobs->viewer;

	if (v->program != NULL)
		jobs_program_close(v->program);
	free(v);
	jobs->viewer = NULL;
	jobs->terminal = JOBS_TERMINAL_FREE;
	jobs->page->news = true;
}

void
jobs_drop_viewer(struct jobs *jobs)
{
	if (jobs->viewer != NULL)
		end_viewer(jobs);
}

static void
on_viewer_end(void *arg, int status, int signal)
{
	struct jobs_viewer *v = arg;
	struct jobs *jobs = v->jobs;

	if (signal != 0)
		jobs_say(jobs, "the %s was ended by signal %d", v->kind.name,
		    signal);
	else if (status != 0)
		jobs_say(jobs, "the %s failed: exit %d", v->kind.name, status);
	end_viewer(jobs);
}

static int
start_viewer(struct jobs_viewer *v)
{
	return jobs_program_start(&v->program, v->jobs->loop, v->args,
	    STDIN_FILENO, on_viewer_end, v);
}

void
jobs_run_viewer(struct jobs *jobs)
{
	struct jobs_viewer *v = jobs->viewer;
	int r = start_viewer(v);

	if (r == -ENOENT && v->kind.otherwise[0] != '\0' &&
	    strcmp(v->args[0], v->kind.command) == 0) {
		v->args[0] = v->kind.otherwise;
		r = start_viewer(v);
	}
	if (r == 0)
		return;
	jobs_say(jobs, "cannot start the %s %.64s: %s; %s", v->kind.name,
	    v->args[0], strerror(-r), v->kind.advice);
	end_viewer(jobs);
}

static size_t
split_words(char *text, char **words, size_t max)
{
	char *save = NULL, *word = strtok_r(text, " \t", &save);
	size_t n = 0;

	for (; word != NULL && n < max; word = strtok_r(NULL, " \t", &save))
		words[n++] = word;
	return n;
}

static const char *
viewer_command(const struct viewer_kind *kind)
{
	const char *command;
	size_t i;

	for (i = 0; i < BASE_NELEM(kind->variables); i++) {
		command = kind->variables[i] != NULL ?
		    getenv(kind->variables[i]) : NULL;
		if (command != NULL && command[strspn(command, " \t")] != '\0')
			return command;
	}
	return kind->command;
}

static void
open_file(struct jobs *jobs, const struct viewer_kind *kind, const char *path,
    unsigned line)
{
	struct jobs_viewer *v;
	size_t n;

	if (jobs->terminal != JOBS_TERMINAL_FREE) {
		jobs_say(jobs, "another program is about to use the terminal");
		return;
	}
	v = calloc(1, sizeof *v);
	if (v == NULL) {
		jobs_say(jobs, "no %s: %s", kind->name, strerror(ENOMEM));
		return;
	}
	v->jobs = jobs;
	v->kind = *kind;
	snprintf(v->command, sizeof v->command, "%s", viewer_command(kind));
	n = split_words(v->command, v->args, VIEWER_WORDS);
	snprintf(v->line, sizeof v->line, "+%u", line);
	if (line > 0)
		v->args[n++] = v->line;
	/* A path must not look like an option. */
	snprintf(v->path, sizeof v->path, "%s%s", path[0] == '/' ? "" : "./",
	    path);
	v->args[n] = v->path;
	jobs->viewer = v;
	jobs->terminal = JOBS_TERMINAL_WANTED;
}

void
jobs_start_editor(struct jobs *jobs, const char *path, unsigned line)
{
	open_file(jobs, &editor, path, line);
}

void
jobs_start_pager(struct jobs *jobs, const char *path)
{
	open_file(jobs, &pager, path, 0);
}
