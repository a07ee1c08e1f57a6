/*
 * Three caches, each with at most one request on its way. Unknown names are
 * requested, and a page that draws at 15 Hz finds them later.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../profile/profile.h"
#include "state.h"

#define FETCH_AGAIN_MS 2000	/* between two requests while a debug file is downloaded */
#define FETCH_STALE_MS 10000	/* a download without news for so long is not shown */
#define THREAD_STALE_MS 5000	/* threads rename themselves */

struct stream_site *
nodes_stack_copy(const struct stream_site *stack)
{
	struct block {
		struct stream_site stack;
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
	size_t i, bytes = words->module.len + words->type.len + 2;
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
	move_text(&to, &copy->type);
	return copy;
}

static const struct answers_entry *
get_name(struct names *nm, enum names_kind kind, uint64_t key)
{
	return answers_get(&nm->cache[kind].answers, key, nm->now_ms);
}

/* A plain return address is its own stack: of one frame, without a module. */
static bool
plain_stack(struct names *nm, uint64_t caller, struct stream_site *out)
{
	const struct answers_entry *e =
	    answers_entry(&nm->cache[NAMES_STACKS].answers, caller);

	if (e == NULL)
		return false;
	*out = (struct stream_site){ .frame = &e->key, .depth = 1,
		.end = RING_END_ALONE };
	return true;
}

bool
nodes_session_stack(struct nodes_session *s, uint64_t caller,
    struct stream_site *out)
{
	const struct answers_entry *e;

	caller &= REC_ADDR_MASK;
	if (caller == 0)
		return false;
	if (!rec_is_site(caller))
		return plain_stack(&s->names, caller, out);
	e = get_name(&s->names, NAMES_STACKS, caller);
	if (e == NULL || e->value == NULL)
		return false;
	*out = *(const struct stream_site *)e->value;
	return true;
}

const struct wire_words *
nodes_session_words(struct nodes_session *s, uint64_t frame)
{
	const struct answers_entry *e;
	const struct wire_words *w;

	if (frame_pc(frame) == 0)
		return NULL;
	e = get_name(&s->names, NAMES_WORDS, frame);
	if (e == NULL || e->value == NULL)
		return NULL;
	w = e->value;
	return w->known != WIRE_K_PENDING || e->tries >= ANSWERS_TRIES ?
	    w : NULL;
}

static bool
get_profile_stack(void *arg, uint64_t caller, struct stream_site *out)
{
	return nodes_session_stack(arg, caller, out);
}

static const struct wire_words *
get_profile_words(void *arg, uint64_t frame)
{
	return nodes_session_words(arg, frame);
}

const struct profile_words nodes_profile_words = {
	.stack = get_profile_stack,
	.words = get_profile_words,
};

const char *
nodes_session_thread(struct nodes_session *s, uint16_t thread)
{
	const struct answers_entry *e;

	if (thread == 0)
		return "";
	e = get_name(&s->names, NAMES_THREADS, thread);
	return e != NULL && e->value != NULL ? e->value : "";
}

size_t
nodes_session_symbols_pending(const struct nodes_session *s)
{
	size_t n = 0;

	for (size_t i = 0; i < NAMES_KINDS; i++)
		n += answers_pending(&s->names.cache[i].answers);
	return n;
}

uint64_t
nodes_session_names_no(const struct nodes_session *s)
{
	return s->names.changes;
}

bool
nodes_session_typed(const struct nodes_session *s)
{
	return s->names.typed;
}

const char *
nodes_session_fetching(const struct nodes_session *s)
{
	return s->names.fetching;
}

void
nodes_session_effort(const struct nodes_session *s, struct nodes_effort *e)
{
	*e = (struct nodes_effort){ .kept = 0 };
	link_bytes(s->link, &e->sent, &e->received);
	for (size_t i = 0; i < NAMES_KINDS; i++) {
		const struct answers *a = &s->names.cache[i].answers;

		e->hits += a->hits;
		e->misses += a->misses;
		e->kept += a->entries.n;
	}
}

static void
request_threads(const struct names *nm, const struct answers *a,
    struct wire_msg *msg)
{
	*msg = (struct wire_msg){ .type = WIRE_SYM, .sym = {
		.index = nm->index, .kind = WIRE_SYM_THREAD, .n = a->nbatch } };
	for (size_t i = 0; i < a->nbatch; i++)
		msg->sym.addr[i] = a->batch[i];
}

/* Names come in the order of the request; "" is not known yet. */
static void
take_threads(struct names *nm, struct answers *a, const struct wire_msg *msg)
{
	const struct wire_syms *syms = &msg->syms;

	if (syms->kind != WIRE_SYM_THREAD || syms->n != a->nbatch)
		return;
	for (size_t i = 0; i < syms->n; i++) {
		char *text = syms->name[i].len == 0 ? NULL :
		    strndup(syms->name[i].s, syms->name[i].len);

		if (text != NULL)
			answers_put(a, a->batch[i], text,
			    nm->now_ms + THREAD_STALE_MS);
		else
			answers_miss(a, a->batch[i], NULL, nm->now_ms);
	}
}

static void
request_stacks(const struct names *nm, const struct answers *a,
    struct wire_msg *msg)
{
	*msg = (struct wire_msg){ .type = WIRE_SITE, .site = {
		.index = nm->index, .n = a->nbatch } };
	memcpy(msg->site.epoch, nm->epoch, WIRE_EPOCH);
	for (size_t i = 0; i < a->nbatch; i++)
		msg->site.site[i] = rec_site(a->batch[i]);
}

static void
take_stacks(struct names *nm, struct answers *a, const struct wire_msg *msg)
{
	struct wire_stack in;
	size_t at = 0;

	while (wire_sited_next(msg->sited.sites, &at, &in) == 1) {
		uint64_t caller = rec_site_caller(in.site);
		struct stream_site *copy = in.depth == 0 ? NULL :
		    nodes_stack_copy(&(struct stream_site){ .frame = in.frame,
			.depth = in.depth, .end = in.end });

		if (copy == NULL)
			answers_miss(a, caller, NULL, nm->now_ms);
		else
			answers_put(a, caller, copy, ANSWERS_NEVER);
	}
}

static void
request_words(const struct names *nm, const struct answers *a,
    struct wire_msg *msg)
{
	*msg = (struct wire_msg){ .type = WIRE_FRAME, .frame = {
		.index = nm->index, .n = a->nbatch } };
	memcpy(msg->frame.epoch, nm->epoch, WIRE_EPOCH);
	memcpy(msg->frame.frame, a->batch, a->nbatch * sizeof *a->batch);
}

static void
take_fetch(struct names *nm, const struct wire_framed *framed)
{
	struct wire_text path = framed->fetch;
	const char *slash, *module;
	char kb[27], of[27];
	int len;

	nm->fetching[0] = '\0';
	nm->fetch_ms = nm->now_ms;
	if (path.len == 0) {
		nm->fetch_frame = 0;
		return;
	}
	slash = memrchr(path.s, '/', path.len);
	module = slash != NULL ? slash + 1 : path.s;
	len = (int)(path.s + path.len - module);
	base_group_digits(kb, sizeof kb, framed->fetched_kb);
	base_group_digits(of, sizeof of, framed->fetch_kb);
	if (framed->fetch_kb > 0)
		snprintf(nm->fetching, sizeof nm->fetching,
		    "%.*s %s of %s kB", len, module, kb, of);
	else
		snprintf(nm->fetching, sizeof nm->fetching, "%.*s %s kB", len,
		    module, kb);
}

static void
take_words(struct names *nm, struct answers *a, const struct wire_msg *msg)
{
	struct wire_words in, told;
	struct wire_words *w;
	uint32_t i, of = 0;
	size_t at = 0, types = 0;
	bool more;

	take_fetch(nm, &msg->framed);
	more = wire_told_next(msg->framed.types, &types, &of, &told) == 1;
	for (i = 0; wire_framed_next(msg->framed.words, &at, &in) == 1; i++) {
		if (more && of == i) {
			in.type = told.type;
			in.type_from = told.type_from;
			nm->typed = true;
			more = wire_told_next(msg->framed.types, &types, &of,
			    &told) == 1;
		}
		w = nodes_words_copy(&in);
		if (in.fetching)
			nm->fetch_frame = in.frame;
		if (w == NULL || (in.known == WIRE_K_PENDING && !in.fetching))
			answers_miss(a, in.frame, w, nm->now_ms);
		else
			answers_put(a, in.frame, w, in.fetching ?
			    nm->now_ms + FETCH_AGAIN_MS : ANSWERS_NEVER);
	}
}

/* Requests the progress of a download, even if nobody looks at its frames. */
static void
follow_fetch(struct names *nm)
{
	if (nm->fetching[0] == '\0')
		return;
	if (nm->fetch_frame != 0)
		get_name(nm, NAMES_WORDS, nm->fetch_frame);
	if (nm->now_ms - nm->fetch_ms < FETCH_STALE_MS)
		return;
	nm->fetching[0] = '\0';
	nm->news(nm->arg);
}

static const struct kind {
	size_t keep;			/* entries at most */
	enum wire_type reply;
	void (*request)(const struct names *, const struct answers *,
	    struct wire_msg *);
	void (*take)(struct names *, struct answers *, const struct wire_msg *);
} kinds[NAMES_KINDS] = {
	[NAMES_THREADS] = { 65536, WIRE_SYMS, request_threads, take_threads },
	/* All that a stream can have, about 200 bytes each. */
	[NAMES_STACKS] = { STREAM_SITES_MAX + 1, WIRE_SITED, request_stacks,
	    take_stacks },
	/* About 1 kB each. */
	[NAMES_WORDS] = { 1u << 17, WIRE_FRAMED, request_words, take_words },
};

static void
on_answer(void *arg, int err, const struct wire_msg *msg)
{
	struct names_cache *c = arg;
	struct names *nm = c->names;
	const struct kind *kind = &kinds[c - nm->cache];

	if (err == -ECANCELED)
		return;
	nm->now_ms = mono_ms(mono_now());
	if (err == 0 && msg->type == kind->reply)
		kind->take(nm, &c->answers, msg);
	else if (err == 0 && msg->type == WIRE_ERR &&
	    msg->err.code == WIRE_E_BUSY)
		/* This says nothing about what was asked. */
		answers_put_off(&c->answers, nm->now_ms + msg->err.retry_ms);
	answers_settle(&c->answers, nm->now_ms);
	nm->changes++;
	if (err < 0)
		return;
	names_send(nm);
	nm->news(nm->arg);
}

/* A message takes sixty cache lines: it is only made for a batch. */
static void
send_batch(struct names_cache *c)
{
	struct names *nm = c->names;
	struct wire_msg msg;

	if (answers_take(&c->answers) == 0)
		return;
	kinds[c - nm->cache].request(nm, &c->answers, &msg);
	if (link_ask(nm->link, &msg, nm, on_answer, c) < 0)
		on_answer(c, -EAGAIN, NULL);
}

void
names_send(struct names *nm)
{
	bool tidied = false;

	nm->now_ms = mono_ms(mono_now());
	for (size_t i = 0; i < NAMES_KINDS; i++)
		tidied |= answers_tidy(&nm->cache[i].answers);
	follow_fetch(nm);
	for (size_t i = 0; i < NAMES_KINDS; i++)
		send_batch(&nm->cache[i]);
	if (!tidied)
		return;
	nm->changes++;
	nm->news(nm->arg);
}

int
names_init(struct names *nm, struct nodes_link *link, nodes_news_cb news,
    void *arg)
{
	int err = 0;

	memset(nm, 0, sizeof *nm);
	nm->link = link;
	nm->news = news;
	nm->arg = arg;
	nm->now_ms = mono_ms(mono_now());
	for (size_t i = 0; err == 0 && i < NAMES_KINDS; i++) {
		nm->cache[i].names = nm;
		err = answers_init(&nm->cache[i].answers, kinds[i].keep);
	}
	if (err < 0)
		names_fini(nm);
	return err;
}

void
names_reset(struct names *nm)
{
	link_forget(nm->link, nm);
	for (size_t i = 0; i < NAMES_KINDS; i++)
		answers_reset(&nm->cache[i].answers);
	nm->fetching[0] = '\0';
	nm->fetch_frame = 0;
	nm->typed = false;
	nm->changes++;
}

void
names_fini(struct names *nm)
{
	names_reset(nm);
	for (size_t i = 0; i < NAMES_KINDS; i++)
		answers_fini(&nm->cache[i].answers);
}

void
names_open(struct names *nm, uint32_t index, const uint8_t epoch[WIRE_EPOCH],
    bool same)
{
	if (nm->index != index ||
	    (!same && memcmp(nm->epoch, epoch, WIRE_EPOCH) != 0))
		names_reset(nm);
	nm->index = index;
	memcpy(nm->epoch, epoch, WIRE_EPOCH);
	for (size_t i = 0; i < NAMES_KINDS; i++)
		nm->cache[i].answers.open = true;
	nm->now_ms = mono_ms(mono_now());
}
