#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../base/base.h"
#include "../../layout/fields.h"
#include "../../cli/pump.h"
#include "../../page/view.h"
#include "dumps.h"

/* The start of a process of this machine, as a wall clock; 0: not known. */
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
	/*
	 * The name in parentheses may have blanks; the start is the 20th word
	 * after it.
	 */
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
 * The target's start on the node's clock; on another machine, that of the
 * oldest block.
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

struct filling {
	const struct options *o;
	struct nodes_session *session;
	uv_loop_t *loop;
	struct profile *profile;
	struct dump *d;
	struct callers *callers;
	int64_t start;			/* on the node's clock */
	uint64_t as_of;			/* the last record in the rows */
	struct blk *row;
	size_t rows;
	struct live_history history;	/* up to that record */
	unsigned free_levels;		/* of the frees' stacks */
};

static int
copy_rows(struct filling *f)
{
	const struct nodes_look *look;
	uint64_t all;

	pump_settled(f->loop, f->session, f->o->timeout_ms);
	look = nodes_session_look(f->session);
	f->as_of = look->as_of;
	all = blklist_counts(look->list)->aRecActive;
	f->row = malloc((all + 1) * sizeof *f->row);
	if (f->row == NULL)
		return -ENOMEM;
	f->rows = blklist_window(look->list, BLKLIST_BY_ADDRESS, false, 0,
	    f->row, all);
	return 0;
}

static int
ask_name(struct filling *f, const struct blk *b)
{
	nodes_session_thread(f->session, b->thread);
	return profile_add(f->profile, b->caller, b->size, b->ms);
}

static int
take_names(struct filling *f)
{
	const struct live_history *h = &f->history;
	size_t lacking;
	int e = profile_new(&f->profile);

	for (size_t i = 0; e == 0 && i < f->rows; i++)
		e = ask_name(f, &f->row[i]);
	for (size_t i = 0; e == 0 && i < h->n; i++) {
		e = ask_name(f, &h->life[i].alloc);
		if (e == 0 && h->life[i].state == LIVE_FREED)
			e = ask_name(f, &h->life[i].free);
	}
	if (e == 0)
		e = batch_await_names(f->loop, f->session, f->profile,
		    f->o->timeout_ms, &lacking);
	if (e < 0)
		return e;
	pump_names(f->loop, f->session, f->o->timeout_ms);
	batch_report_names(f->o, f->session, lacking,
	    profile_callers(f->profile));
	return 0;
}

static int
take_moment(struct filling *f)
{
	int e;

	pump_counters(f->loop, f->session, f->o->timeout_ms);
	e = copy_rows(f);
	if (e == 0 && f->o->command == COMMAND_HISTORY)
		e = live_history_read(&f->history, f->o, f->loop, f->session,
		    f->as_of);
	return e < 0 ? e : take_names(f);
}

static void
drop_moment(struct filling *f)
{
	live_history_fini(&f->history);
	profile_free(f->profile);
	free(f->row);
	f->profile = NULL;
	f->row = NULL;
	f->rows = 0;
}

static int
take_stack(struct filling *f, uint64_t caller, struct dump_moment *m,
    unsigned *levels)
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
	if (*levels < level)
		*levels = level;
	return 0;
}

static int
take_event(struct filling *f, const struct blk *b, struct dump_moment *m,
    unsigned *levels)
{
	int e = dump_name_thread(f->d, b->thread,
	    nodes_session_thread(f->session, b->thread));

	*m = (struct dump_moment){ .seqno = b->seq,
		.thread = b->thread, .function = debugdata_function(b->type),
		.time = b->ms > f->start ?
		    (uint64_t)(b->ms - f->start) / DEBUGDATA_TICK_MS : 0 };
	return e < 0 ? e : take_stack(f, b->caller, m, levels);
}

static int
take_block(struct filling *f, const struct blk *b, struct dump_record *r)
{
	bool actual = f->d->source.options & MDD_OPT_ACTUAL_SIZE;

	*r = (struct dump_record){ .address = b->addr, .size = b->size,
		.actual = actual ? blk_used(b) : 0 };
	return take_event(f, b, &r->alloc, &f->d->source.levels);
}

static int
take_blocks(struct filling *f)
{
	int e = 0;

	f->d->record = calloc(f->rows + 1, sizeof *f->d->record);
	if (f->d->record == NULL)
		return -ENOMEM;
	for (size_t i = 0; e == 0 && i < f->rows; i++)
		e = take_block(f, &f->row[i], &f->d->record[f->d->nrecords++]);
	return e;
}

/* An unknown allocation has the free's number, as in a dump. */
static int
take_life(struct filling *f, const struct live_life *life, struct dump_past *p)
{
	int e = take_event(f, &life->free, &p->free, &f->free_levels);

	if (e == 0 && life->alloc.seq != 0)
		return take_block(f, &life->alloc, &p->block);
	p->block = (struct dump_record){ .address = life->free.addr,
		.alloc.seqno = life->free.seq };
	return e;
}

static int
take_history(struct filling *f)
{
	const struct live_history *h = &f->history;
	int e = 0;

	f->d->past = calloc(h->n + 1, sizeof *f->d->past);
	if (f->d->past == NULL)
		return -ENOMEM;
	for (size_t i = 0; e == 0 && i < h->n; i++)
		if (h->life[i].state == LIVE_FREED)
			e = take_life(f, &h->life[i],
			    &f->d->past[f->d->npast++]);
	f->d->counts.overwritten = !h->complete;
	f->d->source.options |= MDD_OPT_HISTORY;
	f->d->source.free_levels = f->free_levels;
	return e;
}

static void
take_counts(struct filling *f)
{
	const struct nodes_look *look = nodes_session_look(f->session);
	const struct blklist_counts *n = blklist_counts(look->list);
	struct dump_counts *counts = &f->d->counts;

	/* The keeper's counters: the list may have begun with a snapshot. */
	counts->allocs = look->keeper != NULL ? look->keeper[WIRE_N_ALLOCS] +
	    look->keeper[WIRE_N_INHERITED] : n->allocs + n->inherited;
	counts->frees = look->keeper != NULL ? look->keeper[WIRE_N_FREES] :
	    n->frees;
	counts->seqno = f->as_of + 1;
	counts->unknown = n->unknown_free;
	counts->replaced = n->duplicate;
	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		counts->missed += look->loss.lost[i];
	if (!look->complete && counts->missed == 0)
		counts->missed = 1;
}

static int
fill_dump(struct filling *f)
{
	struct dump *d = f->d;
	int e;

	f->start = start_ms(f->o, nodes_session_look(f->session));
	take_counts(f);
	e = take_blocks(f);
	if (e == 0 && f->o->command == COMMAND_HISTORY)
		e = take_history(f);
	if (d->source.levels < f->free_levels)
		d->source.levels = f->free_levels;
	/* An empty list does not tell. */
	if (d->source.levels > 0 || d->nrecords == 0)
		d->source.options |= MDD_OPT_BACKTRACE;
	if (e == 0)
		dump_settle(d);
	return e;
}

#define TRIES 3		/* a node that restarts meanwhile has another stream */

int
live_dump(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct subject *subject, struct callers *callers)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct dump *d = &subject->dump[subject->n];
	struct filling f = { .o = o, .loop = loop, .session = s, .d = d,
		.callers = callers };
	char name[256];
	int e = -ESTALE;

	snprintf(name, sizeof name, "%s%s", o->target.word, subject->n > 0 ?
	    " later" : "");
	*d = (struct dump){ .name = strdup(name), .source = {
		.known = true, .live = true, .tick_hz = 1000 / DEBUGDATA_TICK_MS,
		.word_bytes = look->classic ? 4 : 8,
		.options = MDD_OPT_TIMESTAMP | (look->classic ? 0 :
		MDD_OPT_THREAD | MDD_OPT_ACTUAL_SIZE) } };
	subject->n++;
	if (d->name == NULL)
		return -ENOMEM;
	for (unsigned i = 0; e == -ESTALE && i < TRIES; i++) {
		drop_moment(&f);
		e = take_moment(&f);
	}
	if (e == 0)
		e = fill_dump(&f);
	drop_moment(&f);
	return e;
}
