/*
 * A live target as a dump: what its node lists, with the node's sequence numbers.
 * Callers have their names from the node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../layout/fields.h"
#include "../page/view.h"
#include "commands.h"

#define TICK_MS 10		/* the text's clock: 100 Hz */

static uint32_t
function_of(unsigned type)
{
	static const struct {
		unsigned type;
		uint32_t function;
	} functions[] = {
		{ TYPE_MALLOC, MDD_MALLOC },
		{ TYPE_CALLOC, MDD_CALLOC },
		{ TYPE_REALLOC, MDD_REALLOC },
		{ TYPE_ALIGNED, MDD_MEMALIGN },
		{ TYPE_NEW, MDD_NEW },
		{ TYPE_NEW_ARRAY, MDD_NEW_ARRAY },
		{ TYPE_NEW_NOTHROW, MDD_NEW_NOTHROW },
		{ TYPE_NEW_ARRAY_NOTHROW, MDD_NEW_ARRAY_NOTHROW },
	};

	for (size_t i = 0; i < BASE_NELEM(functions); i++)
		if (functions[i].type == type)
			return functions[i].function;
	return MDD_UNKNOWN;
}

/* --- times ---------------------------------------------------------------- */

/* When a process of this machine started, as a wall clock; 0: not known. */
static int64_t
start_wall_ms(pid_t pid)
{
	unsigned long long ticks = 0;
	struct timespec boot;
	char path[64], *text, *end;
	size_t len;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (pid <= 0 || base_file_read(path, 4096, &text, &len) < 0)
		return 0;
	/* Its name, in parentheses, may have blanks; then it is the 20th word. */
	end = strrchr(text, ')');
	for (unsigned i = 0; end != NULL && i < 20; i++)
		end = strchr(end + 1, ' ');
	if (end != NULL)
		ticks = strtoull(end, NULL, 10);
	free(text);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return ticks == 0 ? 0 : base_wall_ms() - (boot.tv_sec * 1000 +
	    boot.tv_nsec / 1000000) + (int64_t)(ticks * 1000 /
	    (unsigned long)sysconf(_SC_CLK_TCK));
}

/*
 * The start on the node's clock: of a process of this machine its own, else that
 * of the oldest block.
 */
static int64_t
start_ms(const struct options *o, const struct nodes_look *look)
{
	int64_t wall = o->target.kind == TARGET_SSH || look->classic ? 0 :
	    start_wall_ms(look->target.pid);
	struct blk oldest;

	if (wall != 0)
		return look->now_ms - (look->node_wall_ms - wall);
	return blklist_window(look->list, BLKLIST_BY_AGE, false, 0, &oldest,
	    1) == 1 ? oldest.ms : look->now_ms;
}

/* --- callers ------------------------------------------------------------------ */

struct filling {
	const struct options *o;
	struct nodes_session *session;
	struct profile *profile;
	struct dump *d;
	struct callers *callers;
	int64_t start;			/* on the node's clock */
};

/* The frames of a stack, of which lines of inlined functions are parts. */
static int
take_stack(struct filling *f, uint64_t caller, struct dump_moment *m)
{
	struct page_stack stack;
	struct symbol_line lines[SYMBOL_INLINES_MAX];
	unsigned level = 0, n = 0;

	page_stack_get(f->profile, caller, &stack);
	for (size_t i = 0; i < stack.n && level < MDD_LEVELS; i++) {
		const struct profile_line *l = &stack.line[i];

		if (n < SYMBOL_INLINES_MAX)
			lines[n++] = (struct symbol_line){
				.function = (char *)(uintptr_t)l->name,
				.file = l->file[0] != '\0' ?
				    (char *)(uintptr_t)l->file : NULL,
				.line = l->line };
		if (l->inlined)
			continue;
		if (l->address != 0 && callers_put(f->callers, f->d, l->address,
		    lines, n) < 0)
			return -ENOMEM;
		m->stack[level++] = l->address;
		n = 0;
	}
	if (f->d->source.levels < level)
		f->d->source.levels = level;
	return 0;
}

/* --- blocks -------------------------------------------------------------------- */

static int
take_thread(struct filling *f, uint16_t thread)
{
	struct dump *d = f->d;
	void *array;

	if (thread > d->nthreads) {
		array = realloc(d->thread, thread * sizeof *d->thread);
		if (array == NULL)
			return -ENOMEM;
		d->thread = array;
		memset(d->thread + d->nthreads, 0,
		    (thread - d->nthreads) * sizeof *d->thread);
		d->nthreads = thread;
	}
	if (thread > 0)
		base_copy_text(d->thread[thread - 1].name, MDD_NAME,
		    nodes_session_thread(f->session, thread));
	return 0;
}

static int
take_block(struct filling *f, const struct blk *b, bool classic)
{
	struct dump_record *r = &f->d->record[f->d->nrecords++];
	int e = take_thread(f, b->thread);

	*r = (struct dump_record){ .address = b->addr, .size = b->size,
		.actual = classic ? 0 : b->size + (uint64_t)b->overhead * 16,
		.alloc = { .seqno = (uint32_t)b->seq, .thread = b->thread,
		.function = function_of(b->type),
		.time = b->ms > f->start ?
		    (uint64_t)(b->ms - f->start) / TICK_MS : 0 } };
	return e < 0 ? e : take_stack(f, b->caller, &r->alloc);
}

static int
take_blocks(struct filling *f)
{
	const struct nodes_look *look = nodes_session_look(f->session);
	uint64_t offs = 0, all = blklist_counts(look->list)->aRecActive;
	struct blk rows[256];
	size_t n;
	int e = 0;

	f->d->record = calloc(all + 1, sizeof *f->d->record);
	if (f->d->record == NULL)
		return -ENOMEM;
	for (; e == 0 && (n = blklist_window(look->list, BLKLIST_BY_ADDRESS,
	    false, offs, rows, BASE_NELEM(rows))) > 0; offs += n)
		for (size_t i = 0; e == 0 && i < n && f->d->nrecords < all; i++)
			e = take_block(f, &rows[i], look->classic);
	return e;
}

/* Threads' names come with the words of callers if they were asked for before. */
static void
ask_threads(struct nodes_session *s)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct blk rows[256];
	uint64_t offs = 0;
	size_t n;

	for (; (n = blklist_window(look->list, BLKLIST_BY_AGE, false, offs, rows,
	    BASE_NELEM(rows))) > 0; offs += n)
		for (size_t i = 0; i < n; i++)
			nodes_session_thread(s, rows[i].thread);
}

static void
take_counts(struct dump *d, const struct nodes_look *look)
{
	const struct blklist_counts *n = blklist_counts(look->list);

	/* The list may have begun with a snapshot; the keeper counts from the start. */
	d->counts.allocs = look->keeper != NULL ? look->keeper[WIRE_N_ALLOCS] +
	    look->keeper[WIRE_N_INHERITED] : n->allocs + n->inherited;
	d->counts.frees = look->keeper != NULL ? look->keeper[WIRE_N_FREES] :
	    n->frees;
	d->counts.seqno = (uint32_t)look->as_of + 1;
	d->counts.unknown = n->unknown_free;
	d->counts.replaced = n->duplicate;
	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		d->counts.missed += look->loss.lost[i];
	if (!look->complete && d->counts.missed == 0)
		d->counts.missed = 1;
}

int
live_dump(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct subject *subject, struct callers *callers)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct dump *d = &subject->dump[subject->n];
	struct filling f = { .o = o, .session = s, .d = d, .callers = callers };
	char name[256];
	size_t lacking;
	int e;

	snprintf(name, sizeof name, "%s%s", o->target.word, subject->n > 0 ?
	    " later" : "");
	*d = (struct dump){ .name = strdup(name), .source = {
		.known = true, .live = true, .tick_hz = 1000 / TICK_MS,
		.word_bytes = look->classic ? 4 : 8,
		.options = MDD_OPT_TIMESTAMP | MDD_OPT_THREAD } };
	subject->n++;
	if (d->name == NULL)
		return -ENOMEM;
	if (!look->classic)
		d->source.options |= MDD_OPT_ACTUAL_SIZE;
	ask_threads(s);
	e = batch_profile(loop, s, &o->page, NULL, 0, o->timeout_ms, &f.profile,
	    &lacking);
	if (e < 0)
		return e;
	batch_report_names(o, s, lacking, profile_callers(f.profile));
	pump_counters(loop, s, o->timeout_ms);
	look = nodes_session_look(s);
	f.start = start_ms(o, look);
	e = take_blocks(&f);
	if (d->source.levels > 0)
		d->source.options |= MDD_OPT_BACKTRACE;
	take_counts(d, look);
	profile_free(f.profile);
	if (e == 0)
		dump_settle(d);
	return e;
}
