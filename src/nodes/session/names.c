/*
 * Questions about threads, stacks and frames, and the threads' answers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "names.h"

/* --- words ----------------------------------------------------------------- */

/*
 * Stacks by caller, and words by frame: copies as nodes.h has them.
 */

#define FETCH_AGAIN_MS 2000	/* between two looks whether a file has come */

/* --- copies ------------------------------------------------------------- */

struct nodes_stack *
nodes_stack_copy(const struct nodes_stack *stack)
{
	struct block {
		struct nodes_stack stack;
		uint64_t frame[];
	} *copy;
	size_t bytes = stack->depth * sizeof *stack->frame;

	copy = malloc(sizeof *copy + bytes);
	if (copy == NULL)
		return NULL;
	copy->stack = *stack;
	copy->stack.frame = memcpy(copy->frame, stack->frame, bytes);
	return &copy->stack;
}

/* Moves a text behind the others, with a NUL. */
static void
move_text(char **to, struct wire_text *t)
{
	if (t->len > 0)
		memcpy(*to, t->s, t->len);
	t->s = *to;
	*to += t->len;
	*(*to)++ = '\0';
}

struct wire_words *
nodes_words_copy(const struct wire_words *words)
{
	size_t i, bytes = words->module.len + 1;
	struct wire_words *copy;
	char *to;

	for (i = 0; i < words->n; i++)
		bytes += words->line[i].function.len +
		    words->line[i].file.len + 2;
	copy = malloc(sizeof *copy + bytes);
	if (copy == NULL)
		return NULL;
	*copy = *words;
	to = (char *)(copy + 1);
	move_text(&to, &copy->module);
	for (i = 0; i < words->n; i++) {
		move_text(&to, &copy->line[i].function);
		move_text(&to, &copy->line[i].file);
	}
	return copy;
}

/* --- stacks ------------------------------------------------------------- */

/*
 * A plain return address is its own stack, of one frame without a module.
 * Nobody may have asked for more, or there was no room for it: which of the
 * two cannot be told from here.
 */
static bool
plain_stack(struct names *nm, uint64_t caller, struct nodes_stack *out)
{
	const struct answers_entry *e = answers_entry(&nm->stacks, caller);

	if (e == NULL)
		return false;
	*out = (struct nodes_stack){ .frame = &e->key, .depth = 1,
		.end = RING_END_ALONE };
	return true;
}

bool
names_stack(struct names *nm, uint64_t caller, struct nodes_stack *out)
{
	const struct answers_entry *e;

	caller &= REC_ADDR_MASK;
	if (caller == 0)
		return false;
	if (!rec_is_site(caller))
		return plain_stack(nm, caller, out);
	e = answers_get(&nm->stacks, caller, nm->now_ms);
	if (e == NULL || e->value == NULL)
		return false;
	*out = *(const struct nodes_stack *)e->value;
	return true;
}

void
names_take_stacks(struct names *nm, const struct wire_sited *sited)
{
	struct wire_stack in;
	size_t at = 0;

	while (wire_sited_next(sited->sites, &at, &in) == 1) {
		uint64_t caller = rec_site_caller(in.site);
		struct nodes_stack *copy = in.depth == 0 ? NULL :
		    nodes_stack_copy(&(struct nodes_stack){ .frame = in.frame,
			.depth = in.depth, .end = in.end });

		if (copy == NULL)
			answers_miss(&nm->stacks, caller, NULL, nm->now_ms);
		else
			answers_put(&nm->stacks, caller, copy, ANSWERS_NEVER);
	}
}

/* --- words -------------------------------------------------------------- */

/* NULL while there is nothing worth showing. */
const struct wire_words *
names_words(struct names *nm, uint64_t frame)
{
	const struct answers_entry *e;
	const struct wire_words *w;

	if (frame_pc(frame) == 0)
		return NULL;
	e = answers_get(&nm->words, frame, nm->now_ms);
	if (e == NULL || e->value == NULL)
		return NULL;
	w = e->value;
	return w->known != WIRE_K_PENDING || e->tries >= ANSWERS_TRIES ?
	    w : NULL;
}

/* The part of a path behind its last '/'. */
static struct wire_text
base_of(struct wire_text path)
{
	size_t i = path.len;

	while (i > 0 && path.s[i - 1] != '/')
		i--;
	return i > 0 ? (struct wire_text){ path.s + i, path.len - i } : path;
}

static void
take_fetch(struct names *nm, const struct wire_framed *framed)
{
	struct wire_text module = base_of(framed->fetch);
	char kb[27], of[27];

	nm->fetching[0] = '\0';
	nm->fetch_ms = nm->now_ms;
	if (framed->fetch.len == 0) {
		nm->fetch_frame = 0;
		return;
	}
	base_group_digits(kb, sizeof kb, framed->fetched_kb);
	base_group_digits(of, sizeof of, framed->fetch_kb);
	if (framed->fetch_kb > 0)
		snprintf(nm->fetching, sizeof nm->fetching,
		    "%.*s %s of %s kB", (int)module.len, module.s, kb, of);
	else
		snprintf(nm->fetching, sizeof nm->fetching, "%.*s %s kB",
		    (int)module.len, module.s, kb);
}

void
names_take_words(struct names *nm, const struct wire_framed *framed)
{
	struct wire_words in;
	struct wire_words *w;
	size_t at = 0;

	take_fetch(nm, framed);
	while (wire_framed_next(framed->words, &at, &in) == 1) {
		w = nodes_words_copy(&in);
		if (in.fetching)
			nm->fetch_frame = in.frame;
		if (w == NULL || (in.known == WIRE_K_PENDING && !in.fetching))
			answers_miss(&nm->words, in.frame, w, nm->now_ms);
		else
			answers_put(&nm->words, in.frame, w, in.fetching ?
			    nm->now_ms + FETCH_AGAIN_MS : ANSWERS_NEVER);
	}
}

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
