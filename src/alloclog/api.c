/* alloclog.h's functions.  A thread's level and requester survive a fork. */
#include <string.h>

#include "alloclog.h"
#include "../mdd/target/target.h"
#include "debugdata.h"
#include "hooks.h"

#define TEXT_MAX 40	/* characters of a type's description */

/* thread_ready() where no allocation need have come before. */
static bool
ready(struct producer **p)
{
	return !atomic_load(&hook_inert) && real_get() && attach() &&
	    thread_ready(p);
}

/*
 * For what a later arming needs: while dormant by the common ring, or by one
 * from before.
 */
static bool
ready_to_tell(struct producer **p)
{
	struct producer *own = thread_self.producer;

	if (ready(p))
		return true;
	if (atomic_load(&hook_inert) || thread_self.silent ||
	    !produce_attached())
		return false;
	*p = own != NULL && own->thread != 0 && produce_current(own) ? own :
	    NULL;
	return true;
}

/* Up to n bytes, the first in the lowest byte, padded with zeros. */
static uint64_t
packed(const char *text, size_t n)
{
	uint64_t w = 0;

	for (size_t i = 0; i < n && text[i] != '\0'; i++)
		w |= (uint64_t)(unsigned char)text[i] << 8 * i;
	return w;
}

EXPORT void
alloclog_alloc(const void *ptr, size_t size, unsigned type)
{
	struct producer *p;

	if (ptr == NULL || atomic_load(&hook_stopped) || !ready(&p))
		return;
	if (size > REC_ADDR_MASK)
		size = REC_ADDR_MASK;
	produce_alloc(p, (uintptr_t)ptr, size, 0, type & 0xff,
	    REC_LAYER_API | thread_self.level, origin_caller(p, FRAME));
}

EXPORT void
alloclog_failed(size_t size, unsigned type)
{
	struct producer *p;

	if (!atomic_load(&hook_stopped) && ready(&p))
		produce_failed(p, size, type & 0xff, REC_LAYER_API,
		    origin_caller(p, FRAME));
}

EXPORT void
alloclog_free(const void *ptr)
{
	struct producer *p;

	if (ptr != NULL && ready(&p))
		produce_free(p, (uintptr_t)ptr, TYPE_FREE, REC_LAYER_API,
		    origin_freer(p, FRAME));
}

EXPORT void
alloclog_free_range(const void *ptr, size_t len)
{
	struct producer *p;

	if (len > 0 && ready(&p))
		produce_range(p, (uintptr_t)ptr, len, origin_freer(p, FRAME));
}

EXPORT void
alloclog_type(unsigned type, const char *name, const char *description)
{
	struct producer *p;
	size_t len;

	if (type < TYPE_API_FIRST || type > TYPE_API_LAST || name == NULL ||
	    !ready_to_tell(&p))
		return;
	produce_control(p, REC_CTL_TYPE, type, packed(name, 7));
	len = description != NULL ? strnlen(description, TEXT_MAX) : 0;
	for (size_t at = 0; at < len; at += 8)
		produce_control(p, REC_CTL_TYPE_TEXT, type | at / 8 << 8,
		    packed(description + at, len - at < 8 ? len - at : 8));
}

static void
request_as(uint64_t w1, uint64_t w2)
{
	struct thread *t = &thread_self;
	struct producer *p;

	t->requester[0] = w1;
	t->requester[1] = w2;
	t->has_requester = true;
	/* A thread without a ring says it when it opens one. */
	if (ready_to_tell(&p) && p != NULL)
		produce_control(p, REC_CTL_REQUESTER, w1, w2);
}

EXPORT void
alloclog_requester(const char *name)
{
	request_as(0, name != NULL ? packed(name, 8) : 0);
}

EXPORT void
alloclog_requester_node(uint16_t node)
{
	request_as(1, node);
}

EXPORT void
alloclog_level(unsigned level)
{
	struct thread *t = &thread_self;

	if (level >= REC_LEVEL_FAILED)
		return;
	t->level = (uint8_t)level;
	if (t->producer != NULL)
		t->producer->level = (uint8_t)level;
}

/* A region is reported exactly or not at all: half of one shows wrong gaps. */
EXPORT void
alloclog_region(const void *base, size_t size, size_t head, size_t align,
    const char *name)
{
	struct region w = {
		.base = (uintptr_t)base,
		.size = size,
		.name = name != NULL ? packed(name, 8) : 0,
	};
	struct producer *p;
	bool tell;

	if (base == NULL || size == 0 || w.base > REC_ADDR_MASK ||
	    size > REC_ADDR_MASK - w.base || head > UINT16_MAX ||
	    align > UINT16_MAX || atomic_load(&hook_inert))
		return;
	w.shape = rec_region_shape((uint16_t)head, (uint16_t)align, 0);
	tell = ready_to_tell(&p);
	regions_begin(tell ? p : NULL, tell, &w);
}

EXPORT void
alloclog_region_end(const void *base)
{
	struct producer *p;
	bool tell;

	if (base == NULL || atomic_load(&hook_inert))
		return;
	tell = ready_to_tell(&p);
	regions_end(tell ? p : NULL, tell, (uintptr_t)base);
}

static void
set_stopped(bool on)
{
	struct producer *p;

	if (atomic_exchange(&hook_stopped, on) != on && ready_to_tell(&p))
		produce_control(p, on ? REC_CTL_STOP : REC_CTL_START, 0, 0);
}

EXPORT void
alloclog_stop(void)
{
	set_stopped(true);
}

EXPORT void
alloclog_start(void)
{
	set_stopped(false);
}

EXPORT void
alloclog_mark(const char *text)
{
	struct producer *p;

	if (text == NULL)
		return;
	if (ready(&p))
		produce_control(p, REC_CTL_MARK, 0, packed(text, 8));
	else if (!atomic_load(&hook_inert))
		produce_count_mark();
}

static void
count_references(const void *vaddr, size_t len, unsigned source, bool on)
{
	struct producer *p;

	if (len > 0 && len <= REC_ADDR_MASK &&
	    (uintptr_t)vaddr <= REC_ADDR_MASK && source <= UINT8_MAX &&
	    ready_to_tell(&p))
		produce_region(p, REC_CTL_REFCNT, (uintptr_t)vaddr, len,
		    rec_refcnt((uint8_t)source, on), 0);
}

EXPORT void
pk_refcnt_enable(const void *vaddr, size_t len, unsigned source)
{
	count_references(vaddr, len, source, true);
}

EXPORT void
pk_refcnt_disable(const void *vaddr, size_t len)
{
	count_references(vaddr, len, 0, false);
}

EXPORT int
alloclog_when(size_t bytes, void (*f)(void))
{
	if (mdd_root.record_bytes == 0)
		return -1;
	debugdump_when(bytes, f);
	return 0;
}
