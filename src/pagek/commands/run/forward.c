#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "../../../base/base.h"
#include "run.h"

static const int forwarded[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

static struct {
	uv_async_t wake;
	struct sigaction old[BASE_NELEM(forwarded)];
	pid_t pid;			/* 0: not known yet */
	struct nodes_session *session;	/* whose command it is */
	_Atomic pid_t sender[BASE_NELEM(forwarded)];
	atomic_bool pending[BASE_NELEM(forwarded)];
	bool open;
} forward;

static void
on_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	size_t i;

	(void)context;
	/* Sent by the kernel to the whole group. */
	if (info->si_code > 0)
		return;
	for (i = 0; i < BASE_NELEM(forwarded); i++)
		if (forwarded[i] == sig) {
			atomic_store(&forward.sender[i], info->si_pid);
			atomic_store(&forward.pending[i], true);
		}
	uv_async_send(&forward.wake);
	errno = saved;
}

static void
send_pending(uv_async_t *wake)
{
	pid_t sender;
	size_t i;

	(void)wake;
	if (forward.pid <= 0)
		return;
	for (i = 0; i < BASE_NELEM(forwarded); i++)
		if (atomic_exchange(&forward.pending[i], false)) {
			sender = atomic_load(&forward.sender[i]);
			if (nodes_session_pass_signal(forward.session,
			    forwarded[i], sender) < 0)
				kill(forward.pid, forwarded[i]);
		}
}

int
forward_open(uv_loop_t *loop)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
	    .sa_flags = SA_SIGINFO | SA_RESTART };
	size_t i;
	int err;

	err = uv_async_init(loop, &forward.wake, send_pending);
	if (err < 0)
		return err;
	/* The loop must be able to end without a signal. */
	uv_unref((uv_handle_t *)&forward.wake);
	forward.open = true;
	forward.pid = 0;
	sigfillset(&sa.sa_mask);
	for (i = 0; i < BASE_NELEM(forwarded); i++) {
		sigaction(forwarded[i], NULL, &forward.old[i]);
		if (forward.old[i].sa_handler != SIG_IGN)
			sigaction(forwarded[i], &sa, NULL);
	}
	return 0;
}

void
forward_to(pid_t pid, struct nodes_session *session)
{
	if (forward.pid == pid)
		return;
	forward.pid = pid;
	forward.session = session;
	send_pending(&forward.wake);
}

void
forward_close(void)
{
	size_t i;

	if (!forward.open)
		return;
	for (i = 0; i < BASE_NELEM(forwarded); i++)
		sigaction(forwarded[i], &forward.old[i], NULL);
	uv_close((uv_handle_t *)&forward.wake, NULL);
	forward.open = false;
}
