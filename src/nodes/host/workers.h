/*
 * workers: libuv's threads, for work that may wait for a disk.
 */
#ifndef NODES_HOST_WORKERS_H
#define NODES_HOST_WORKERS_H

#include <uv.h>

/*
 * Makes the threads for uv_queue_work(), one where there cannot be all; before
 * the first of it, and once: later calls do nothing.  -EAGAIN when there can be
 * none: no work may be queued then, for libuv would abort.
 */
int nodes_workers(uv_loop_t *);
/* uv_queue_work(), behind that. */
int nodes_queue_work(uv_loop_t *, uv_work_t *, uv_work_cb, uv_after_work_cb);

#endif
