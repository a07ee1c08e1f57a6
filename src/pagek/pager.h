/*
 * pager: another program that shows a file on the terminal, while the page
 * goes on behind it.  Whoever starts one has given the terminal back before.
 */
#ifndef PAGEK_PAGER_H
#define PAGEK_PAGER_H

#include <uv.h>

struct pager;

/* It has ended, by itself; not called after pager_close(). */
typedef void (*pager_over_cb)(void *arg, int status, int signal);

/*
 * Runs a command of the shell with the file as its standard input, from the
 * file's start.  The descriptor stays the caller's.  0 or a negative errno.
 */
int pager_start(struct pager **, uv_loop_t *, const char *command, int fd,
    pager_over_cb, void *arg);
/* One that still runs is asked to end, and not waited for. */
void pager_close(struct pager *);

#endif
