#include <string.h>

#include "../../base/base.h"
#include "debugdata.h"

#define GET(name, member, value, known) \
	FIELD_GET(name, event_row, member, value, known)

static bool
collects(const struct event_row *r, unsigned option)
{
	return (r->e->dump->source.options & option) != 0;
}

static const struct named_caller *
first_caller(const struct event_row *r)
{
	return callers_get(r->callers, r->e, 0);
}

static const struct dump_thread *
thread_of(const struct event_row *r)
{
	return dump_thread(r->e->dump, r->e->at->thread);
}

static const char *const event_names[] = {
	[EVENT_ALLOC] = "alloc",
	[EVENT_ALLOCATED] = "alloc",
	[EVENT_FREED] = "alloc",
	[EVENT_FREE] = "free",
};

GET(get_address, n, r->e->block->address, true)
GET(get_size, n, r->e->block->size, true)
GET(get_actual, n, r->e->block->actual, r->e->block->actual != 0)
GET(get_overhead, n, r->e->block->actual - r->e->block->size,
    r->e->block->actual >= r->e->block->size && r->e->block->actual != 0)
GET(get_seqno, n, r->e->at->seqno, true)
GET(get_ticks, n, r->e->at->time, collects(r, MDD_OPT_TIMESTAMP))
GET(get_ms, n, query_time(r->e->dump, r->e->at->time, true),
    collects(r, MDD_OPT_TIMESTAMP) && r->e->dump->source.tick_hz != 0)
GET(get_thread, n, r->e->at->thread, r->e->at->thread != 0)
GET(get_handle, n, thread_of(r)->handle, thread_of(r) != NULL &&
    !r->e->dump->source.live)
GET(get_freed, n, r->e->kind == EVENT_FREED, r->e->kind != EVENT_FREE &&
    r->e->kind != EVENT_ALLOCATED)
GET(get_unsure, n, r->e->block->unsure, true)
GET(get_caller, n, r->e->at->stack[0], r->e->at->stack[0] != 0)
GET(get_line, n, first_caller(r)->line, first_caller(r) != NULL &&
    first_caller(r)->line != 0)
FIELD_GET_TEXT(get_change, event_row, r->change)
FIELD_GET_TEXT(get_event, event_row, event_names[r->e->kind])
FIELD_GET_TEXT(get_allocator, event_row, dump_function(r->e->at->function))
FIELD_GET_TEXT(get_thread_name, event_row, thread_of(r) != NULL ?
    thread_of(r)->name : NULL)
FIELD_GET_TEXT(get_function, event_row, first_caller(r) != NULL ?
    first_caller(r)->function : NULL)
FIELD_GET_TEXT(get_file, event_row, first_caller(r) != NULL ?
    first_caller(r)->file : NULL)

struct level_row {
	uint64_t address;
	const struct named_caller *caller;
};

FIELD_GET(get_level_line, level_row, n, r->caller->line, r->caller != NULL &&
    r->caller->line != 0)
FIELD_GET_TEXT(get_level_function, level_row, r->caller != NULL ?
    r->caller->function : NULL)
FIELD_GET_TEXT(get_level_file, level_row, r->caller != NULL ? r->caller->file :
    NULL)

static const struct field level_fields[] = {
	{ .key = "address", .kind = FIELD_HEX, .get = field_u64,
	    .at = offsetof(struct level_row, address) },
	{ .key = "function", .kind = FIELD_TEXT, .get = get_level_function },
	{ .key = "file", .kind = FIELD_TEXT, .get = get_level_file },
	{ .key = "line", .get = get_level_line },
};
static const struct field_table level_table = FIELD_TABLE(level_fields);

/* Valid until the next call. */
static bool
get_stack(const void *row, size_t at, struct field_value *v)
{
	static struct level_row levels[MDD_LEVELS];
	const struct event_row *r = row;
	unsigned n = 0;

	(void)at;
	for (; n < MDD_LEVELS && r->e->at->stack[n] != 0; n++)
		levels[n] = (struct level_row){ r->e->at->stack[n],
			callers_get(r->callers, r->e, n) };
	v->list.row = levels;
	v->list.rows = n;
	v->list.size = sizeof levels[0];
	return n > 0;
}

static const struct field fields[] = {
	{ .key = "change", .kind = FIELD_TEXT, .get = get_change,
	    .subset = EVENT_CHANGE },
	{ .key = "event", .kind = FIELD_TEXT, .get = get_event,
	    .subset = EVENT_HISTORY },
	{ .key = "seqno", .get = get_seqno },
	{ .key = "address", .kind = FIELD_HEX, .get = get_address },
	{ .key = "size", .get = get_size },
	{ .key = "actual", .get = get_actual },
	{ .key = "overhead", .get = get_overhead },
	{ .key = "allocator", .kind = FIELD_TEXT, .get = get_allocator },
	{ .key = "ticks", .get = get_ticks },
	{ .key = "time_ms", .get = get_ms },
	{ .key = "thread", .get = get_thread },
	{ .key = "handle", .kind = FIELD_HEX, .get = get_handle },
	{ .key = "thread_name", .kind = FIELD_TEXT, .get = get_thread_name },
	{ .key = "freed", .kind = FIELD_BOOL, .get = get_freed,
	    .subset = EVENT_HISTORY },
	{ .key = "unsure", .kind = FIELD_BOOL, .get = get_unsure },
	{ .key = "caller", .kind = FIELD_HEX, .get = get_caller },
	{ .key = "function", .kind = FIELD_TEXT, .get = get_function },
	{ .key = "file", .kind = FIELD_TEXT, .get = get_file },
	{ .key = "line", .get = get_line },
	{ .key = "stack", .kind = FIELD_LIST, .get = get_stack,
	    .sub = &level_table },
};
const struct field_table event_fields = FIELD_TABLE(fields);
