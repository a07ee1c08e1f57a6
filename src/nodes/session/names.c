/*
 * Questions about threads, stacks and frames, and the threads' answers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "names.h"

#define THREAD_STALE_MS 5000	/* threads rename themselves */
#define FETCH_STALE_MS 10000	/* a fetch of which nothing was heard for so long */

int
names_init(struct names *nm, struct nodes_link *link, void (*news)(void *),
    void *arg)
{
	int err;

	memset(nm, 0, sizeof *nm);
	nm->link = link;
	nm->news = news;
	nm->arg = arg;
	nm->now_ms = mono_ms(mono_now());
	err = answers_init(&nm->threads, NAMES_THREADS_MAX);
	if (err < 0)
		return err;
	err = answers_init(&nm->stacks, NAMES_STACKS_MAX);
	if (err < 0)
		goto no_stacks;
	err = answers_init(&nm->words, NAMES_WORDS_MAX);
	if (err < 0)
		goto no_words;
	return 0;
no_words:
	answers_fini(&nm->stacks);
no_stacks:
	answers_fini(&nm->threads);
	return err;
}

void
names_reset(struct names *nm)
{
	link_forget(nm->link, nm);
	answers_reset(&nm->threads);
	answers_reset(&nm->stacks);
	answers_reset(&nm->words);
	nm->fetching[0] = '\0';
	nm->fetch_frame = 0;
	nm->answers++;
}

void
names_fini(struct names *nm)
{
	names_reset(nm);
	answers_fini(&nm->threads);
	answers_fini(&nm->stacks);
	answers_fini(&nm->words);
}

void
names_open(struct names *nm, uint32_t index, const uint8_t epoch[WIRE_EPOCH])
{
	if (nm->index != index || memcmp(nm->epoch, epoch, WIRE_EPOCH) != 0)
		names_reset(nm);
	nm->index = index;
	memcpy(nm->epoch, epoch, WIRE_EPOCH);
	nm->threads.open = nm->stacks.open = nm->words.open = true;
	nm->now_ms = mono_ms(mono_now());
}

size_t
names_pending(const struct names *nm)
{
	return answers_pending(&nm->threads) + answers_pending(&nm->stacks) +
	    answers_pending(&nm->words);
}

/* --- threads ------------------------------------------------------------ */

const char *
names_thread(struct names *nm, uint16_t thread)
{
	const struct answers_entry *e;

	if (thread == 0)
		return "";
	e = answers_get(&nm->threads, thread, nm->now_ms);
	return e != NULL && e->value != NULL ? e->value : "";
}

/* Names in the order asked; an empty one is "not known yet". */
static void
take_threads(struct names *nm, const struct wire_syms *syms)
{
	struct answers *c = &nm->threads;
	size_t i;

	if (syms->kind != WIRE_SYM_THREAD || syms->n != c->nbatch)
		return;
	for (i = 0; i < syms->n; i++) {
		char *text = syms->name[i].len == 0 ? NULL :
		    strndup(syms->name[i].s, syms->name[i].len);

		if (text != NULL)
			answers_put(c, c->batch[i], text,
			    nm->now_ms + THREAD_STALE_MS);
		else
			answers_miss(c, c->batch[i], NULL, nm->now_ms);
	}
}

/* --- questions ---------------------------------------------------------- */

/*
 * An answer to the batch of one cache.  A node that is busy says when to come
 * again, which says nothing about what was asked.
 */
static void
answered(struct names *nm, struct answers *c, int err,
    const struct wire_msg *msg)
{
	if (err == -ECANCELED)
		return;
	nm->now_ms = mono_ms(mono_now());
	if (err == 0 && msg->type == WIRE_SYMS && c == &nm->threads)
		take_threads(nm, &msg->syms);
	else if (err == 0 && msg->type == WIRE_SITED && c == &nm->stacks)
		names_take_stacks(nm, &msg->sited);
	else if (err == 0 && msg->type == WIRE_FRAMED && c == &nm->words)
		names_take_words(nm, &msg->framed);
	else if (err == 0 && msg->type == WIRE_ERR &&
	    msg->err.code == WIRE_E_BUSY)
		answers_put_off(c, nm->now_ms + msg->err.retry_ms);
	answers_settle(c, nm->now_ms);
	nm->answers++;
	if (err < 0)
		return;
	names_send(nm);
	nm->news(nm->arg);
}

static void
on_threads(void *arg, int err, const struct wire_msg *msg)
{
	struct names *nm = arg;

	answered(nm, &nm->threads, err, msg);
}

static void
on_stacks(void *arg, int err, const struct wire_msg *msg)
{
	struct names *nm = arg;

	answered(nm, &nm->stacks, err, msg);
}

static void
on_words(void *arg, int err, const struct wire_msg *msg)
{
	struct names *nm = arg;

	answered(nm, &nm->words, err, msg);
}

static void
ask(struct names *nm, struct answers *c, struct wire_msg *msg, link_reply_cb cb)
{
	if (link_ask(nm->link, msg, nm, cb, nm) < 0)
		answered(nm, c, -EAGAIN, NULL);
}

/* A message takes sixty lines of the cache, and in most cycles there is none. */
static void
ask_threads(struct names *nm)
{
	size_t n = answers_take(&nm->threads), i;
	struct wire_msg msg;

	if (n == 0)
		return;
	msg = (struct wire_msg){ .type = WIRE_SYM, .sym = {
		.index = nm->index, .kind = WIRE_SYM_THREAD, .n = n } };
	for (i = 0; i < n; i++)
		msg.sym.addr[i] = nm->threads.batch[i];
	ask(nm, &nm->threads, &msg, on_threads);
}

static void
ask_stacks(struct names *nm)
{
	size_t n = answers_take(&nm->stacks), i;
	struct wire_msg msg;

	if (n == 0)
		return;
	msg = (struct wire_msg){ .type = WIRE_SITE, .site = {
		.index = nm->index, .n = n } };
	memcpy(msg.site.epoch, nm->epoch, WIRE_EPOCH);
	for (i = 0; i < n; i++)
		msg.site.site[i] = rec_site(nm->stacks.batch[i]);
	ask(nm, &nm->stacks, &msg, on_stacks);
}

static void
ask_words(struct names *nm)
{
	size_t n = answers_take(&nm->words), i;
	struct wire_msg msg;

	if (n == 0)
		return;
	msg = (struct wire_msg){ .type = WIRE_FRAME, .frame = {
		.index = nm->index, .n = n } };
	memcpy(msg.frame.epoch, nm->epoch, WIRE_EPOCH);
	for (i = 0; i < n; i++)
		msg.frame.frame[i] = nm->words.batch[i];
	ask(nm, &nm->words, &msg, on_words);
}

/* While something is fetched, how far it is: even if nobody looks there. */
static void
follow_fetch(struct names *nm)
{
	if (nm->fetching[0] == '\0')
		return;
	if (nm->fetch_frame != 0)
		answers_get(&nm->words, nm->fetch_frame, nm->now_ms);
	if (nm->now_ms - nm->fetch_ms < FETCH_STALE_MS)
		return;
	nm->fetching[0] = '\0';
	nm->news(nm->arg);
}

void
names_send(struct names *nm)
{
	bool tidied;

	nm->now_ms = mono_ms(mono_now());
	tidied = answers_tidy(&nm->threads);
	tidied |= answers_tidy(&nm->stacks);
	tidied |= answers_tidy(&nm->words);
	follow_fetch(nm);
	ask_threads(nm);
	ask_stacks(nm);
	ask_words(nm);
	if (!tidied)
		return;
	nm->answers++;
	nm->news(nm->arg);
}
