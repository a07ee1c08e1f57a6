/* See pager.h. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pager.h"

struct pager {
	uv_process_t process;
	bool running;
	pager_over_cb over;
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
	struct pager *p = process->data;

	p->running = false;
	p->over(p->arg, (int)status, signal);
}

int
pager_start(struct pager **out, uv_loop_t *loop, const char *command, int fd,
    pager_over_cb over, void *arg)
{
	struct pager *p;
	char shell[] = "/bin/sh", c[] = "-c";
	char *words;
	int r;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	p = calloc(1, sizeof *p);
	words = strdup(command);
	if (p == NULL || words == NULL) {
		free(p);
		free(words);
		return -ENOMEM;
	}
	uv_process_options_t options = {
		.exit_cb = on_exit_of,
		.file = shell,
		.args = (char *[]){ shell, c, words, NULL },
		.stdio_count = 3,
		.stdio = (uv_stdio_container_t[]){
			{ .flags = UV_INHERIT_FD, .data.fd = fd },
			{ .flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO },
			{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
		},
	};
	p->over = over;
	p->arg = arg;
	p->process.data = p;
	r = uv_spawn(loop, &p->process, &options);
	free(words);
	if (r < 0) {
		uv_close((uv_handle_t *)&p->process, on_closed);
		return r;
	}
	p->running = true;
	*out = p;
	return 0;
}

void
pager_close(struct pager *p)
{
	if (p == NULL)
		return;
	/* Nobody reaps it then: that is for whoever inherits it from us. */
	if (p->running)
		uv_process_kill(&p->process, SIGTERM);
	uv_close((uv_handle_t *)&p->process, on_closed);
}
