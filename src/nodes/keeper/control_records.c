#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../host/proc.h"
#include "node.h"
#include "takeover_memory.h"

#define NAME_READS 64		/* of one pass, by three system calls each; others later */

static struct keeper_thread *
thread_at(struct keeper *k, unsigned index)
{
	void *array = k->threads.at;

	if (index == 0 || index > KEEPER_THREADS_MAX)
		return NULL;
	if (index < k->threads.n)
		return &k->threads.at[index];
	if (base_grow(&array, &k->threads.cap, index + 1,
	    sizeof *k->threads.at) < 0)
		return NULL;
	k->threads.at = array;
	memset(&k->threads.at[k->threads.n], 0,
	    (index + 1 - k->threads.n) * sizeof *k->threads.at);
	k->threads.n = index + 1;
	return &k->threads.at[index];
}

static void
forget_requester(struct keeper *k, struct keeper_thread *t)
{
	if (t->has_requester)
		k->threads.requesters--;
	t->has_requester = false;
}

static struct keeper_thread *
inherited_at(const struct keeper *k, unsigned index)
{
	unsigned i = KEEPER_THREADS_MAX - index;

	return index <= KEEPER_THREADS_MAX && i < k->threads.ninherited ?
	    &k->threads.inherited[i] : NULL;
}

/*
 * So many threads have begun that this index is now one of the process's own.
 */
static void
forget_inherited(struct keeper *k, unsigned index)
{
	if (inherited_at(k, index) == NULL)
		return;
	k->threads.ninherited = KEEPER_THREADS_MAX - index;
}

static void
read_name(const struct keeper *k, struct keeper_thread *t)
{
	if (k->image.pid != 0 && t->tid != 0 && keeper_is_live(k))
		proc_thread_comm(k->image.pid, (pid_t)t->tid, t->name);
}

uint16_t
keeper_inherit_thread(struct keeper *k, struct keeper *parent, uint16_t thread)
{
	struct keeper_threads *a = &k->threads;
	struct keeper_thread *from = inherited_at(parent, thread), *to;

	if (a->inherited == NULL)
		a->inherited = calloc(KEEPER_INHERITED_MAX, sizeof *a->inherited);
	if (a->inherited == NULL || a->ninherited == KEEPER_INHERITED_MAX)
		return 0;
	to = &a->inherited[a->ninherited];
	*to = (struct keeper_thread){ .tid = thread };
	if (from != NULL) {
		*to = *from;
	} else if (thread < parent->threads.n) {
		from = &parent->threads.at[thread];
		if (a->ninherited < NAME_READS)
			read_name(parent, from);
		memcpy(to->name, from->name, sizeof to->name);
	}
	return (uint16_t)(KEEPER_THREADS_MAX - a->ninherited++);
}

static void
inherited_name(const struct keeper_thread *t, char *out, size_t cap)
{
	char name[3 * sizeof t->name] = "";

	base_safe_text(name, sizeof name, t->name,
	    strnlen(t->name, sizeof t->name), false);
	if (name[0] != '\0')
		snprintf(out, cap, "^%s", name);
	else
		snprintf(out, cap, "^#%u", t->tid);
}

static void
thread_begins(struct keeper *k, const struct rec *rec)
{
	struct keeper_thread *t = thread_at(k, rec_thread(rec));

	if (t == NULL)
		return;
	forget_requester(k, t);
	takeover_thread_changed(k, rec_thread(rec));
	forget_inherited(k, rec_thread(rec));
	t->tid = (uint32_t)rec_addr(rec);
	memcpy(t->name, &rec->w[2], sizeof t->name - 1);
	t->name[sizeof t->name - 1] = '\0';
	if (t->tid != 0 && k->image.pid != 0 &&
	    k->threads.name_reads < NAME_READS) {
		k->threads.name_reads++;
		proc_thread_comm(k->image.pid, (pid_t)t->tid, t->name);
	}
}

static void
thread_asks_for(struct keeper *k, const struct rec *rec)
{
	struct keeper_thread *t = thread_at(k, rec_thread(rec));
	char name[9] = "";

	if (t == NULL)
		return;
	forget_requester(k, t);
	takeover_thread_changed(k, rec_thread(rec));
	memset(&t->requester, 0, sizeof t->requester);
	if (rec_size(rec) == 1) {
		t->requester.node = (uint16_t)rec->w[2];
	} else {
		memcpy(name, &rec->w[2], 8);
		if (name[0] == '\0')
			return;
		base_safe_text(t->requester.name, sizeof t->requester.name,
		    name, strlen(name), false);
	}
	t->has_requester = true;
	k->threads.requesters++;
}

static void
type_named(struct keeper *k, const struct rec *rec)
{
	unsigned code = rec_size(rec) & 0xff;
	char name[9] = "", text[sizeof k->declared.types->by_code[0].text];

	memcpy(name, &rec->w[2], 8);
	name[7] = '\0';
	memcpy(text, k->declared.types->by_code[code].text, sizeof text);
	if (stream_types_name(k->declared.types, code, name, text) == 0)
		keeper_types_changed(k);
}

/* A description comes in pieces of eight bytes, each with its position. */
static void
type_described(struct keeper *k, const struct rec *rec)
{
	unsigned code = rec_size(rec) & 0xff;
	uint64_t part = rec_size(rec) >> 8;
	struct stream_type type = k->declared.types->by_code[code];

	if (type.name[0] == '\0' || part >= (sizeof type.text - 1) / 8)
		return;
	if (part == 0)
		memset(type.text, 0, sizeof type.text);
	memcpy(type.text + 8 * part, &rec->w[2], 8);
	type.text[sizeof type.text - 1] = '\0';
	stream_types_name(k->declared.types, code, type.name, type.text);
	takeover_types_changed(k);
}

void
keeper_control(struct keeper *k, const struct rec *rec)
{
	struct keeper_tap *tap;

	k->numbers.controls++;
	if (k->declared.types == NULL)
		return;
	switch (rec_type(rec)) {
	case REC_CTL_THREAD:
		thread_begins(k, rec);
		break;
	case REC_CTL_REQUESTER:
		thread_asks_for(k, rec);
		break;
	case REC_CTL_TYPE:
		type_named(k, rec);
		break;
	case REC_CTL_TYPE_TEXT:
		type_described(k, rec);
		break;
	case REC_CTL_REGION:
	case REC_CTL_REGION_END:
		region_set_control(&k->declared.regions, rec);
		takeover_regions_changed(k);
		break;
	case REC_CTL_TOLD:
		keeper_is_told(k);
		break;
	case REC_CTL_STOP:
	case REC_CTL_START:
		/* Blocks of the time between are unlisted. */
		keeper_expect_unlisted(k);
		break;
	case REC_CTL_REFCNT:
		k->node->hooks->count(k, rec);
		break;
	case REC_CTL_MARK:
		k->numbers.marks++;
		keeper_mark_by_target(k, rec);
		break;
	default:
		break;
	}
	SLIST_FOREACH(tap, &k->queue.taps, link)
		tap->ops->control(tap, k, rec);
}

void
keeper_thread_name(struct keeper *k, unsigned thread, char *out, size_t cap)
{
	struct keeper_thread *t;

	*out = '\0';
	if ((t = inherited_at(k, thread)) != NULL) {
		inherited_name(t, out, cap);
		return;
	}
	if (thread == 0 || thread >= k->threads.n)
		return;
	t = &k->threads.at[thread];
	read_name(k, t);
	base_safe_text(out, cap, t->name, strnlen(t->name, sizeof t->name),
	    false);
}
