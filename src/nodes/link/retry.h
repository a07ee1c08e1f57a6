/*
 * again: when a link that was lost is made anew, and the way to a node that
 * listens at a path.
 */
#ifndef NODES_LINK_RETRY_H
#define NODES_LINK_RETRY_H

#include <stdint.h>

#define AGAIN_FIRST_MS 250	/* the longest first wait; twice as long each time ... */
#define AGAIN_MOST_MS 15000	/* ... up to this */
/*
 * A try at a path of this machine costs next to nothing, and somebody who has
 * just started the node is looking at the page.
 */
#define AGAIN_MOST_LOCAL_MS 4000
/* A connection that was lost sooner does not count as a success. */
#define AGAIN_STEADY_MS 5000
/* For the node's WELCOME, where the way does not say otherwise. */
#define AGAIN_PATIENCE_MS 30000

/*
 * Full jitter: anything from 0 to the longest wait after so many tries, so
 * that the pages of a node that died do not all come back at once.
 */
uint32_t again_wait_ms(unsigned tries, uint32_t most_ms, uint32_t random);

/* The same with a random number of the kernel's. */
uint32_t again_draw_ms(unsigned tries, uint32_t most_ms);

struct nodes_way;

/* The way to whoever listens at a path. */
int again_by_path(struct nodes_way *, const char *path);

#endif
