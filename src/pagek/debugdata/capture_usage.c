/*
 * Counts by type of a capture's part, from its beginning to a moment, and the
 * words of the callers' frames.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../base/hashmap.h"
#include "../../mdd/capture/capture.h"
#include "../../nodes/nodes.h"
#include "../documents/documents.h"
#include "debugdata.h"

#define BATCH 4096
#define BLOCKS_MAX (UINT32_C(1) << 26)

/* --- counting ---------------------------------------------------------------------- */

struct counting {
	struct capture *c;
	const char *path;
	uint32_t no;
	struct capture_part_info part;
	uint64_t until;			/* number of the first event that is not counted */
	struct blklist *list;
	struct usage *usage;
	bool known;			/* the list is that of the target */
	bool begun;			/* a state has come */
	uint64_t lost;
	int64_t last_ms;		/* the latest time of an event */
	size_t n;
	struct rec rec[BATCH];
	uint64_t seq[BATCH];
	int64_t ms[BATCH];
	struct capture_event event[BATCH];
};

static void
flush(struct counting *n)
{
	if (n->n > 0)
		blklist_apply(n->list, &(struct blklist_batch){ .rec = n->rec,
		    .n = n->n, .seqs = n->seq, .ms = n->ms,
		    .near_ms = n->ms[n->n - 1] });
	n->n = 0;
}

static void
add_event(struct counting *n, const struct capture_event *ev)
{
	n->rec[n->n] = ev->rec;
	n->rec[n->n].w[2] = (uint64_t)(uint32_t)ev->ms << 32;
	n->seq[n->n] = ev->seq;
	n->ms[n->n++] = ev->ms;
	if (ev->ms > n->last_ms)
		n->last_ms = ev->ms;
}

/* After events that the capture has lost, any block may have been freed. */
static void
drop_list(struct counting *n)
{
	struct blk b[256];
	size_t k;

	while ((k = blklist_after(n->list, true, 0, 0, b, BASE_NELEM(b))) > 0)
		for (size_t i = 0; i < k; i++)
			blklist_take(n->list, blk_layer(&b[i]), b[i].addr);
}

/* -ENOMEM, errors of read(). */
static int
take_state(struct counting *n, const struct capture_event *ev)
{
	struct capture_list *l;
	const struct blk *row;
	size_t rows = 0;
	int e;

	if (n->known)
		return 0;
	e = capture_seek(n->c, n->no, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = ev->seq }, &l);
	if (e < 0)
		return e == -ENOENT ? 0 : e;
	drop_list(n);
	row = capture_list_rows(l, &rows);
	for (size_t i = 0; row != NULL && i < rows; i++)
		blklist_put(n->list, &row[i]);
	e = row != NULL ? 0 : -ENOMEM;
	capture_list_free(l);
	n->known = n->begun = true;
	return e;
}

/* 1: the moment is reached.  -ENOMEM, errors of read(). */
static int
take_event(struct counting *n, const struct capture_event *ev)
{
	if (ev->part != n->no)
		return 0;
	if (ev->seq >= n->until)
		return 1;
	if (ev->what == CAPTURE_EVENT) {
		add_event(n, ev);
		return 0;
	}
	flush(n);
	if (ev->what == CAPTURE_STATE)
		return take_state(n, ev);
	n->lost += ev->rec.w[1];
	n->known &= ev->rec.w[0] != 0;
	return 0;
}

static int
count_events(struct counting *n)
{
	size_t k;
	int e;

	capture_rewind(n->c);
	while ((e = capture_next(n->c, n->event, BATCH, &k)) == 0 && k > 0) {
		for (size_t i = 0; e == 0 && i < k; i++)
			e = take_event(n, &n->event[i]);
		if (e != 0)
			break;
		flush(n);
	}
	flush(n);
	return e < 0 ? e : 0;
}

/* The number of the first event after the moment.  PAGEK_OK, or the status. */
static int
find_end(struct counting *n, const char *at)
{
	struct capture_when when;
	struct capture_list *l;
	char date[CAPTURE_DATE];
	int64_t ms;
	int status = capture_moment(n->c, n->path, n->no, at, &when), e;

	n->until = UINT64_MAX;
	if (status != PAGEK_OK || when.at == CAPTURE_AT_END)
		return status;
	e = capture_seek(n->c, n->no, &when, &l);
	if (e == 0) {
		capture_list_at(l, &n->until, &ms);
		capture_list_free(l);
		return PAGEK_OK;
	}
	if (e == -ENOENT) {
		capture_date(n->c, n->part.part.ms, date);
		complain("%s: image %u, %s[%lld], began later, at %s", n->path,
		    n->no, base_shown(n->part.part.comm),
		    (long long)n->part.part.pid, date);
		return PAGEK_USAGE;
	}
	complain("cannot read '%s': %s", n->path, base_file_words(e));
	return PAGEK_FAILED;
}

/* --- words of frames ------------------------------------------------------------------ */

struct frame {
	uint64_t key;			/* the frame */
	bool looked;
	struct wire_words wire;
	struct symbol_words words;
	const char *path;		/* of the module; NULL: not known */
};

struct capture_words {
	struct capture *c;
	uint32_t no;
	const char *exe;
	struct symbols *symbols;	/* NULL: no names are wanted */
	struct hashmap frames;		/* of pointers to struct frame, which stay */
};

struct frame_ref {
	uint64_t key;
	struct frame *frame;
};

static bool
stack_of(void *arg, uint64_t caller, struct stream_site *out)
{
	const struct capture_words *w = arg;

	return rec_is_site(caller) &&
	    capture_site(w->c, w->no, rec_site(caller), out);
}

/* Asked for more than once: the words come later. */
static const struct wire_words *
words_of(void *arg, uint64_t key)
{
	struct capture_words *w = arg;
	struct frame_ref *ref = hashmap_add(&w->frames, key);

	if (ref == NULL)
		return NULL;
	if (ref->frame == NULL) {
		ref->frame = calloc(1, sizeof *ref->frame);
		if (ref->frame != NULL)
			ref->frame->key = key;
	}
	return ref->frame != NULL && ref->frame->looked ? &ref->frame->wire :
	    NULL;
}

/* A plain return address names no module. */
static bool
module_of(const struct capture_words *w, uint64_t key, struct stream_module *m)
{
	unsigned n = capture_modules(w->c, w->no);

	if (frame_module(key) != 0)
		return capture_module(w->c, w->no, frame_module(key), m);
	for (unsigned i = 1; i <= n; i++)
		if (capture_module(w->c, w->no, i, m) && m->end > m->start &&
		    frame_pc(key) - 1 >= m->start && frame_pc(key) - 1 < m->end)
			return true;
	return false;
}

/* False: there is no file to look in. */
static bool
place_of(const struct capture_words *w, struct frame *f,
    struct symbol_place *out)
{
	struct stream_module m;

	*out = (struct symbol_place){ .path = NULL };
	if (!module_of(w, f->key, &m))
		return false;
	f->path = m.path[0] != '\0' ? m.path : w->exe;
	out->path = f->path;
	out->address = frame_pc(f->key) - m.bias;
	out->build_id_len = m.build_id_len;
	memcpy(out->build_id, m.build_id, m.build_id_len);
	return f->path[0] != '\0' && w->symbols != NULL;
}

static void
settle_frame(struct frame *f, const struct symbol_place *p)
{
	f->looked = true;
	f->wire = (struct wire_words){ .frame = f->key, .known = f->words.known,
		.offset = f->words.address != 0 ? f->words.address : p->address,
		.module = wire_text(f->path != NULL ? f->path : ""),
		.n = f->words.n };
	for (unsigned i = 0; i < f->words.n; i++)
		f->wire.line[i] = (struct wire_inline){
		    .function = wire_text(f->words.line[i].function),
		    .file = wire_text(f->words.line[i].file != NULL ?
		    f->words.line[i].file : ""),
		    .line = f->words.line[i].line };
	if (f->words.type != NULL)
		f->wire.type = wire_text(f->words.type);
	f->wire.type_from = f->words.type_from;
}

#define PLACES 1024		/* in one look-up */

struct looking {
	struct frame *frame[PLACES];
	struct symbol_place place[PLACES];
	struct symbol_words words[PLACES];
	size_t n;
};

static void
look_batch(struct capture_words *w, struct looking *b)
{
	if (b->n > 0)
		symbols_look(w->symbols, b->place, b->n, b->words);
	for (size_t i = 0; i < b->n; i++) {
		b->frame[i]->words = b->words[i];
		settle_frame(b->frame[i], &b->place[i]);
	}
	b->n = 0;
}

/* Looks up all frames that were asked for.  False: there was none. */
static bool
look_frames(struct capture_words *w, struct looking *b)
{
	bool any = false;

	b->n = 0;
	for (size_t i = 0; i < w->frames.n; i++) {
		struct frame_ref *ref = hashmap_item(&w->frames, i);

		if (ref->frame == NULL || ref->frame->looked)
			continue;
		any = true;
		if (!place_of(w, ref->frame, &b->place[b->n])) {
			ref->frame->words.known = SYMBOL_NO_MODULE;
			settle_frame(ref->frame, &b->place[b->n]);
			continue;
		}
		b->frame[b->n++] = ref->frame;
		if (b->n == PLACES)
			look_batch(w, b);
	}
	look_batch(w, b);
	return any;
}

static void
words_fini(struct capture_words *w)
{
	for (size_t i = 0; i < w->frames.n; i++) {
		struct frame_ref *ref = hashmap_item(&w->frames, i);

		if (ref->frame != NULL)
			symbol_words_fini(&ref->frame->words);
		free(ref->frame);
	}
	hashmap_fini(&w->frames);
	symbols_free(w->symbols);
}

/* -ENOMEM */
static int
name_callers(struct capture_words *w, struct profile *p)
{
	struct profile_words source = { stack_of, words_of, w };
	struct looking *b = malloc(sizeof *b);
	int e = b != NULL ? 0 : -ENOMEM;

	while (e == 0 && (e = profile_resolve(p, &source)) > 0)
		e = look_frames(w, b) ? 0 : 1;
	free(b);
	return e < 0 ? e : 0;
}

/* --- the command's view ------------------------------------------------------------------ */

static int
read_rows(struct usage *u, struct usage_row **out, size_t *n)
{
	struct usage_row *row = calloc(usage_rows(u) + 1, sizeof *row);
	size_t from = 0, k;

	if (row == NULL)
		return -ENOMEM;
	*n = 0;
	while ((k = usage_read(u, &from, USAGE_NO_ASKER, row + *n,
	    usage_rows(u) - *n)) > 0)
		*n += k;
	*out = row;
	return 0;
}

static int
name_rows(struct counting *n, const struct options *o, struct usage_list *list)
{
	char program[PATH_MAX];
	struct capture_words w = { .c = n->c, .no = n->no,
		.exe = n->part.part.exe, .frames.size = sizeof(struct frame_ref) };
	struct symbols_opts opts = { .reader = program,
		.path = secure_getenv("PAGEK_SYMBOL_PATH") };
	struct stream_types types;
	struct symbol_wrappers *skip = NULL;
	struct usage_namer *namer = NULL;
	struct usage_row *row = NULL;
	size_t rows;
	int e = options_wrappers(o, &skip);

	if (nodes_program("pagek-symbols", program, sizeof program) < 0)
		program[0] = '\0';
	if (e == 0)
		e = symbols_new(&w.symbols, &opts);
	if (e == 0)
		e = usage_namer_new(&namer, skip);
	if (e == 0)
		e = read_rows(n->usage, &row, &rows);
	if (e == 0)
		e = usage_namer_take(namer, row, rows);
	if (e == 0)
		e = name_callers(&w, usage_namer_profile(namer));
	capture_types(n->c, n->no, &types);
	if (e == 0)
		e = usage_list_name(list, namer, &types, row, rows);
	free(row);
	usage_namer_free(namer);
	words_fini(&w);
	symbol_wrappers_free(skip);
	return e;
}

static int
report_damage(const struct capture *c, const char *path)
{
	size_t n = capture_damages(c);

	for (size_t i = 0; i < n && i < 10; i++)
		complain("%s", capture_damage(c, i));
	if (n > 10)
		complain("'%s': %zu more errors", path, n - 10);
	return n > 0 ? PAGEK_FORMAT : PAGEK_OK;
}

static void
tell_source(const struct counting *n, struct usage_source *from)
{
	struct usage_totals sums;

	usage_sums(n->usage, n->last_ms, &sums);
	*from = (struct usage_source){ .kind = "capture", .name = n->path,
		.since_ms = capture_wall_ns(n->c, n->part.part.ms) / 1000000,
		.now_ms = capture_wall_ns(n->c, n->last_ms) / 1000000,
		.peak_ms = sums.peak_ms == 0 ? 0 :
		    capture_wall_ns(n->c, sums.peak_ms) / 1000000,
		.from_start = n->part.part.began != CAPTURE_JOINED &&
		    n->begun, .lost = n->lost, .knows_lost = true,
		.complete = n->lost == 0 && n->known &&
		    capture_damages(n->c) == 0 };
}

static int
count_part(struct counting *n, const struct options *o, struct usage_list *list)
{
	int e = blklist_new_most(&n->list, BLKLIST_INDEXED, BLOCKS_MAX);

	if (e == 0)
		blklist_set_opaque(n->list, n->part.part.options & CAPTURE_CLASSIC);
	if (e == 0)
		e = usage_new(&n->usage, USAGE_ROWS);
	if (e == 0)
		e = usage_watch(n->usage, n->list, NULL, NULL);
	if (e == 0)
		e = count_events(n);
	return e == 0 ? name_rows(n, o, list) : e;
}

int
capture_usage(const struct options *o, const char *path, struct usage_list *list,
    struct usage_source *from)
{
	struct counting *n = calloc(1, sizeof *n);
	char why[CAPTURE_WHY];
	int status = PAGEK_FAILED, e;

	if (n == NULL) {
		complain("cannot read '%s': %s", path, strerror(ENOMEM));
		return PAGEK_FAILED;
	}
	n->path = path;
	e = capture_open(&n->c, path, why);
	if (e < 0) {
		complain("%s", why);
		free(n);
		return e == -EBADMSG || e == -ENOTSUP ? PAGEK_FORMAT :
		    PAGEK_FAILED;
	}
	status = capture_choose(n->c, path, o->events.part, false, &n->no);
	if (status == PAGEK_OK && !capture_part(n->c, n->no, &n->part))
		status = PAGEK_FAILED;
	n->last_ms = n->part.part.ms;
	if (status == PAGEK_OK)
		status = find_end(n, o->events.at[0]);
	if (status == PAGEK_OK) {
		e = count_part(n, o, list);
		tell_source(n, from);
		if (e < 0)
			complain("cannot read '%s': %s", path,
			    base_file_words(e));
		status = e < 0 ? PAGEK_FAILED : report_damage(n->c, path);
	}
	usage_free(n->usage);
	blklist_free(n->list);
	capture_close(n->c);
	free(n);
	return status;
}
