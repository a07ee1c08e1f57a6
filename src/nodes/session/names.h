/*
 * names: words for what a record has as numbers: its thread, its stack, and
 * what lies at each frame of that.  Asked from the node once and kept.
 *
 * Vocabulary
 *	pending	asked for and not answered yet; bounded.
 *
 * Unknown names are asked for; a page that draws at 15 Hz simply finds them
 * there later.  Three caches, one question of each on its way at a time.
 */
#ifndef NODES_SESSION_NAMES_H
#define NODES_SESSION_NAMES_H

#include "../link/link.h"
#include "answer_cache.h"
#include "session.h"

#define NAMES_THREADS_MAX 65536
#define NAMES_STACKS_MAX (STREAM_SITES_MAX + 1)	/* all that a stream can have; about 200 bytes each */
#define NAMES_WORDS_MAX (1u << 17)		/* frames; about 1 kB each */

struct names {
	struct nodes_link *link;
	uint32_t index;			/* of the stream they belong to */
	uint8_t epoch[WIRE_EPOCH];
	int64_t now_ms;			/* monotonic, as of the last send or answer */
	struct answers threads;		/* by index: the name */
	struct answers stacks;		/* by caller */
	struct answers words;		/* by frame */
	char fetching[WIRE_TEXT_MAX + 64];	/* "" nothing is */
	uint64_t fetch_frame;		/* one that waits for it; 0 none */
	int64_t fetch_ms;		/* when the node last said so */
	uint64_t answers;		/* counts up when any of it may be another */
	void (*news)(void *arg);	/* answers have come */
	void *arg;
};

int names_init(struct names *, struct nodes_link *, void (*news)(void *),
    void *arg);
void names_fini(struct names *);
/* Forgets everything: another stream. */
void names_reset(struct names *);
/* The stream may be asked from now on; all is forgotten if it is another. */
void names_open(struct names *, uint32_t index,
    const uint8_t epoch[WIRE_EPOCH]);

/* As nodes_session_thread(), _stack() and _words() say. */
const char *names_thread(struct names *, uint16_t thread);
bool names_stack(struct names *, uint64_t caller, struct nodes_stack *);
const struct wire_words *names_words(struct names *, uint64_t frame);

/* Sends what is wanted; once a cycle, and by itself when answers come in. */
void names_send(struct names *);
size_t names_pending(const struct names *);

/* --- words of frames ------------------------------------------------ */

/* Puts the replies SITED and FRAMED into the caches. */
void names_take_stacks(struct names *, const struct wire_sited *);
void names_take_words(struct names *, const struct wire_framed *);

#endif
