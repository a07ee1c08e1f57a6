/*
 * The way to a node behind ssh: another ssh process for each try.
 *
 * Until the node has welcomed the page for the first time ssh may ask whoever
 * sits there, and an sshd that has too many logins at that moment is tried
 * again for a while: sixty pages that begin at once, as after a power cut, are
 * more than the ten that it takes by default.  From then on the terminal is
 * the page's, and tries are made behind its back.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "retry.h"
#include "ssh.h"

#define CROWD_MS 8000	/* within the time that commands wait by default */
/*
 * A try through a network that swallows everything would go on for minutes
 * after that has come back, and a login can take its time: first little
 * patience, then more.
 */
#define PATIENCE_MS 10000
#define ASKING_MS 600000	/* whoever waits for the answer has a limit of his own */

struct far {
	uv_loop_t *loop;
	struct nodes_ssh opts;
	char *host, *program, *target;	/* its texts; but for host, NULL if none */
	char *where;			/* "ssh HOST: ", safe text */
	struct link_ssh *ssh;		/* NULL: none runs */
	struct mono begun;
	bool welcomed;
	bool hopeless;
	nodes_told_cb told;
	void *told_arg;
};

static int
far_start(void *arg)
{
	struct far *far = arg;
	int fd, r;

	far->hopeless = false;
	r = link_ssh_start(&far->ssh, far->loop, &far->opts, &fd);
	return r < 0 ? r : fd;
}

static void
on_fate(void *arg, enum nodes_state state, enum link_ssh_end end,
    const char *sentence)
{
	struct far *far = arg;

	far->hopeless = end == SSH_HOPELESS;
	if (end == SSH_CROWDED && !far->welcomed &&
	    mono_ms_since(far->begun) < CROWD_MS)
		state = NODES_CONNECTING;
	far->told(far->told_arg, state, sentence);
}

static void
far_why(void *arg, nodes_told_cb told, void *told_arg)
{
	struct far *far = arg;

	far->told = told;
	far->told_arg = told_arg;
	link_ssh_fate(far->ssh, on_fate, far);
}

static bool
far_lost(void *arg, int err, char *why, size_t cap)
{
	struct far *far = arg;

	(void)err;
	(void)why;
	(void)cap;
	link_ssh_close(far->ssh);
	far->ssh = NULL;
	return !far->hopeless;
}

static void
far_up(void *arg)
{
	struct far *far = arg;

	far->welcomed = true;
	far->opts.may_ask = false;
	link_ssh_up(far->ssh);
}

static uint32_t
far_patience_ms(void *arg, unsigned tries)
{
	const struct far *far = arg;

	if (far->opts.may_ask)
		return ASKING_MS;
	/* This try is counted already. */
	return tries < AGAIN_PATIENCE_MS / PATIENCE_MS ?
	    tries * PATIENCE_MS : AGAIN_PATIENCE_MS;
}

static void
far_fini(void *arg)
{
	struct far *far = arg;

	link_ssh_close(far->ssh);
	free(far->host);
	free(far->program);
	free(far->target);
	free(far->where);
	free(far);
}

static bool
copy(char **out, const char *text)
{
	if (text == NULL)
		return true;
	*out = strdup(text);
	return *out != NULL;
}

static int
far_new(struct far **out, uv_loop_t *loop, const struct nodes_ssh *opts)
{
	struct far *far = calloc(1, sizeof *far);
	char safe[256];

	if (far == NULL)
		return -ENOMEM;
	far->loop = loop;
	far->begun = mono_now();
	far->opts = *opts;
	base_safe_text(safe, sizeof safe, opts->host, strlen(opts->host),
	    false);
	if (!copy(&far->host, opts->host) ||
	    !copy(&far->program, opts->program) ||
	    !copy(&far->target, opts->target) ||
	    asprintf(&far->where, "ssh %s: ", safe) < 0) {
		far->where = NULL;
		far_fini(far);
		return -ENOMEM;
	}
	far->opts.host = far->host;
	far->opts.program = far->program;
	far->opts.target = far->target;
	*out = far;
	return 0;
}

int
nodes_connect_ssh(struct nodes_link **out, uv_loop_t *loop,
    const struct nodes_ssh *opts)
{
	struct nodes_way way = {
		.start = far_start,
		.lost = far_lost,
		.fini = far_fini,
		.why = far_why,
		.up = far_up,
		.patience_ms = far_patience_ms,
		.stranger = "what answers there is no pageknode: does its "
		    "shell print something at login?",
		.final = 1u << NODES_DENIED | 1u << NODES_VERSION,
	};
	struct far *far;
	int r;

	if (nodes_ssh_check(opts) != NULL)
		return -EINVAL;
	r = far_new(&far, loop, opts);
	if (r < 0)
		return r;
	way.arg = far;
	way.where = far->where;
	return nodes_link_keep(out, loop, &way);
}
