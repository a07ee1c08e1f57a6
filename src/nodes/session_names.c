/*
 * The cache of names.  One question of each kind is on its way at a time; up
 * to 64 names fit in it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "session_names.h"

#define FIRST_SLOTS 256
#define KIND_BIT 63		/* of a key: kind above, address or index below */
#define TRIES_MAX 8		/* of a name that the node does not know yet */
#define RETRY_MS 1000
#define THREAD_STALE_MS 5000	/* threads rename themselves */

struct names_entry {
	uint64_t key;
	int64_t asked_ms;	/* of the monotonic clock */
	bool pending;
	uint8_t tries;
	char *text;		/* NULL: not known */
};

static uint64_t
make_key(enum wire_sym_kind kind, uint64_t what)
{
	return (uint64_t)kind << KIND_BIT |
	    (what & ~(UINT64_C(1) << KIND_BIT));
}

static size_t
slot_of(const struct names *nm, uint64_t key)
{
	size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) &
	    (nm->nslot - 1);

	while (nm->slot[i] != NULL && nm->slot[i]->key != key)
		i = (i + 1) & (nm->nslot - 1);
	return i;
}

int
names_init(struct names *nm, struct nodes_link *link, void (*news)(void *),
    void *arg)
{
	memset(nm, 0, sizeof *nm);
	nm->link = link;
	nm->news = news;
	nm->arg = arg;
	nm->slot = calloc(FIRST_SLOTS, sizeof *nm->slot);
	nm->wanted = calloc(NAMES_PENDING_MAX, sizeof *nm->wanted);
	if (nm->slot == NULL || nm->wanted == NULL) {
		free(nm->slot);
		free(nm->wanted);
		return -ENOMEM;
	}
	nm->nslot = FIRST_SLOTS;
	return 0;
}

static void
drop_entries(struct names *nm)
{
	size_t i;

	for (i = 0; i < nm->nslot; i++) {
		if (nm->slot[i] == NULL)
			continue;
		free(nm->slot[i]->text);
		free(nm->slot[i]);
		nm->slot[i] = NULL;
	}
	nm->count = 0;
}

void
names_reset(struct names *nm)
{
	link_forget(nm->link, nm);
	drop_entries(nm);
	nm->open = false;
	nm->head = nm->nwanted = nm->asked = 0;
	nm->nbatch[0] = nm->nbatch[1] = 0;
}

void
names_fini(struct names *nm)
{
	names_reset(nm);
	free(nm->slot);
	free(nm->wanted);
}

void
names_open(struct names *nm, uint32_t index)
{
	nm->index = index;
	nm->open = true;
}

size_t
names_pending(const struct names *nm)
{
	return nm->nwanted + nm->asked;
}

/* Doubles the table; when there is no memory for it, it stays as it is. */
static void
grow(struct names *nm)
{
	struct names_entry **old = nm->slot, **bigger;
	size_t nold = nm->nslot, i;

	bigger = calloc(nold * 2, sizeof *bigger);
	if (bigger == NULL)
		return;
	nm->slot = bigger;
	nm->nslot = nold * 2;
	for (i = 0; i < nold; i++)
		if (old[i] != NULL)
			nm->slot[slot_of(nm, old[i]->key)] = old[i];
	free(old);
}

static struct names_entry *
find_or_add(struct names *nm, uint64_t key)
{
	struct names_entry *entry;
	size_t i;

	i = slot_of(nm, key);
	if (nm->slot[i] != NULL)
		return nm->slot[i];
	/* A program of that many call sites: begin again rather than grow. */
	if (nm->count >= NAMES_KEPT_MAX && names_pending(nm) == 0)
		drop_entries(nm);
	if (nm->count * 2 >= nm->nslot)
		grow(nm);
	if (nm->count + 1 >= nm->nslot || nm->count >= NAMES_KEPT_MAX)
		return NULL;
	entry = calloc(1, sizeof *entry);
	if (entry == NULL)
		return NULL;
	entry->key = key;
	nm->slot[slot_of(nm, key)] = entry;
	nm->count++;
	return entry;
}

static bool
is_due(const struct names_entry *entry, enum wire_sym_kind kind, int64_t now)
{
	if (entry->pending)
		return false;
	if (entry->text == NULL)
		return entry->tries == 0 || (entry->tries < TRIES_MAX &&
		    now - entry->asked_ms >= RETRY_MS);
	return kind == WIRE_SYM_THREAD &&
	    now - entry->asked_ms >= THREAD_STALE_MS;
}

const char *
names_get(struct names *nm, enum wire_sym_kind kind, uint64_t what)
{
	struct names_entry *entry;
	uint64_t key = make_key(kind, what);

	if (what == 0)
		return "";
	entry = find_or_add(nm, key);
	if (entry == NULL)
		return "";
	if (nm->open && nm->nwanted < NAMES_PENDING_MAX &&
	    is_due(entry, kind, mono_ms(mono_now()))) {
		entry->pending = true;
		nm->wanted[(nm->head + nm->nwanted++) % NAMES_PENDING_MAX] =
		    key;
	}
	return entry->text != NULL ? entry->text : "";
}

/* Settles one name of the batch; an empty text is "not known yet". */
static void
settle(struct names *nm, uint64_t key, struct wire_text t)
{
	struct names_entry *entry = nm->slot[slot_of(nm, key)];
	char *text;

	if (entry == NULL)
		return;
	entry->pending = false;
	entry->asked_ms = mono_ms(mono_now());
	if (entry->tries < TRIES_MAX)
		entry->tries++;
	if (t.len == 0 || (entry->text != NULL &&
	    strlen(entry->text) == t.len &&
	    memcmp(entry->text, t.s, t.len) == 0))
		return;
	text = strndup(t.s, t.len);
	if (text == NULL)
		return;
	free(entry->text);
	entry->text = text;
}

static void
on_answer(struct names *nm, enum wire_sym_kind kind, int err,
    const struct wire_msg *msg)
{
	static const struct wire_text unknown;
	bool good;
	size_t i, n = nm->nbatch[kind];

	good = err == 0 && msg->type == WIRE_SYMS && msg->syms.kind == kind &&
	    msg->syms.n == n;
	if (err == -ECANCELED)
		return;
	nm->nbatch[kind] = 0;
	nm->asked -= n;
	for (i = 0; i < n; i++)
		settle(nm, nm->batch[kind][i], good ? msg->syms.name[i] :
		    unknown);
	if (err < 0)
		return;
	names_send(nm);
	nm->news(nm->arg);
}

static void
on_callers(void *arg, int err, const struct wire_msg *msg)
{
	on_answer(arg, WIRE_SYM_CALLER, err, msg);
}

static void
on_threads(void *arg, int err, const struct wire_msg *msg)
{
	on_answer(arg, WIRE_SYM_THREAD, err, msg);
}

/* Takes what is wanted of one kind out of the queue, the rest keeps its order. */
static void
ask_kind(struct names *nm, enum wire_sym_kind kind)
{
	struct wire_msg msg = {
		.type = WIRE_SYM,
		.sym = { .index = nm->index, .kind = kind },
	};
	size_t i, n = nm->nwanted, kept = 0;
	uint64_t key;

	for (i = 0; i < n; i++) {
		key = nm->wanted[(nm->head + i) % NAMES_PENDING_MAX];
		if (key >> KIND_BIT == (uint64_t)kind &&
		    msg.sym.n < WIRE_SYMS_MAX) {
			nm->batch[kind][msg.sym.n] = key;
			msg.sym.addr[msg.sym.n++] =
			    key & ~(UINT64_C(1) << KIND_BIT);
		} else {
			nm->wanted[(nm->head + kept++) % NAMES_PENDING_MAX] =
			    key;
		}
	}
	if (msg.sym.n == 0)
		return;
	nm->nwanted = kept;
	nm->nbatch[kind] = msg.sym.n;
	nm->asked += msg.sym.n;
	if (link_ask(nm->link, &msg, nm, kind == WIRE_SYM_CALLER ?
	    on_callers : on_threads, nm) < 0)
		on_answer(nm, kind, -EAGAIN, NULL);
}

void
names_send(struct names *nm)
{
	if (!nm->open || nm->nwanted == 0)
		return;
	if (nm->nbatch[WIRE_SYM_CALLER] == 0)
		ask_kind(nm, WIRE_SYM_CALLER);
	if (nm->nbatch[WIRE_SYM_THREAD] == 0)
		ask_kind(nm, WIRE_SYM_THREAD);
}
