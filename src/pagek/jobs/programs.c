/* Programs that take the terminal: the pager of a listing, and the editor. */
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

/* --- the editor ----------------------------------------------------------- */

#define EDITOR_WORDS 16

struct jobs_editor {
	struct jobs *jobs;
	struct jobs_program *program;	/* NULL: it waits for the terminal */
	char command[512];		/* its words, each with a NUL */
	char line[16];			/* "+112" */
	char path[4096];
	char *args[EDITOR_WORDS + 3];
};

static void
end_editor(struct jobs *jobs)
{
	struct jobs_editor *e = jobs->editor;

	if (e->program != NULL)
		jobs_program_close(e->program);
	free(e);
	jobs->editor = NULL;
	jobs->terminal = JOBS_TERMINAL_FREE;
	jobs->page->news = true;
}

void
jobs_drop_editor(struct jobs *jobs)
{
	if (jobs->editor != NULL)
		end_editor(jobs);
}

static void
on_editor_end(void *arg, int status, int signal)
{
	struct jobs_editor *e = arg;
	struct jobs *jobs = e->jobs;

	if (signal != 0)
		jobs_say(jobs, "the editor was ended by signal %d", signal);
	else if (status != 0)
		jobs_say(jobs, "the editor failed: exit %d", status);
	end_editor(jobs);
}

void
jobs_run_editor(struct jobs *jobs)
{
	struct jobs_editor *e = jobs->editor;
	int r = jobs_program_start(&e->program, jobs->loop, e->args,
	    STDIN_FILENO, on_editor_end, e);

	if (r == 0)
		return;
	jobs_say(jobs, "cannot start the editor %.64s: %s; set VISUAL or "
	    "EDITOR", e->args[0], strerror(-r));
	end_editor(jobs);
}

/* The words of a command, without a shell; the number of them. */
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
editor_command(void)
{
	static const char *const names[] = { "VISUAL", "EDITOR" };
	const char *command;
	size_t i;

	for (i = 0; i < BASE_NELEM(names); i++) {
		command = getenv(names[i]);
		if (command != NULL && command[strspn(command, " \t")] != '\0')
			return command;
	}
	return "vi";
}

void
jobs_start_editor(struct jobs *jobs, const char *path, unsigned line)
{
	struct jobs_editor *e;
	size_t n;

	if (jobs->terminal != JOBS_TERMINAL_FREE) {
		jobs_say(jobs, "another program is about to use the terminal");
		return;
	}
	e = calloc(1, sizeof *e);
	if (e == NULL) {
		jobs_say(jobs, "no editor: %s", strerror(ENOMEM));
		return;
	}
	e->jobs = jobs;
	snprintf(e->command, sizeof e->command, "%s", editor_command());
	n = split_words(e->command, e->args, EDITOR_WORDS);
	snprintf(e->line, sizeof e->line, "+%u", line);
	if (line > 0)
		e->args[n++] = e->line;
	/* A path is never an option. */
	snprintf(e->path, sizeof e->path, "%s%s", path[0] == '/' ? "" : "./",
	    path);
	e->args[n] = e->path;
	jobs->editor = e;
	jobs->terminal = JOBS_TERMINAL_WANTED;
}
