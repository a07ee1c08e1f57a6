/*
 * The end of a capture as a dump: the blocks that were live then, and the totals, of
 * one part.  If the capture has several parts, the one with most events is taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../mdd/capture/capture.h"
#include "debugdata.h"

bool
captures_match(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char magic[8];
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) ||
	    (read(fd, magic, sizeof magic) == sizeof magic &&
	    capture_magic(magic, sizeof magic)));
	close(fd);
	return is;
}

struct filling {
	struct capture *c;
	struct dump *d;
	uint32_t no;
	struct capture_part_info part;
};

static uint32_t
largest_part(const struct capture *c, uint32_t parts)
{
	struct capture_part_info p;
	uint64_t most = 0;
	uint32_t no = 0;

	for (uint32_t i = 1; i <= parts; i++)
		if (capture_part(c, i, &p) && (no == 0 || p.events > most)) {
			most = p.events;
			no = i;
		}
	return no;
}

/* --- rows ------------------------------------------------------------------ */

static void
take_stack(struct filling *f, uint64_t caller, struct dump_moment *m)
{
	struct stream_site s;
	unsigned n = 1;

	if (!rec_is_site(caller)) {
		m->stack[0] = caller;
		n = caller != 0;
	} else if (capture_site(f->c, f->no, rec_site(caller), &s)) {
		n = s.depth < MDD_LEVELS ? s.depth : MDD_LEVELS;
		for (unsigned i = 0; i < n; i++)
			m->stack[i] = frame_pc(s.frame[i]);
	}
	if (f->d->source.levels < n)
		f->d->source.levels = n;
}

static int
take_row(struct filling *f, const struct blk *b, struct dump_record *r)
{
	int64_t start = f->part.part.ms;
	const char *name = NULL;
	uint32_t tid;

	*r = (struct dump_record){ .address = b->addr, .size = b->size,
		.actual = b->size + (uint64_t)b->overhead * 16,
		.alloc = { .seqno = (uint32_t)b->seq, .thread = b->thread,
		.function = debugdata_function(b->type),
		.time = b->ms > start ? (uint64_t)(b->ms - start) / DEBUGDATA_TICK_MS :
		    0 } };
	take_stack(f, b->caller, &r->alloc);
	capture_thread(f->c, f->no, b->thread, &tid, &name);
	return dump_name_thread(f->d, b->thread, name);
}

static int
take_rows(struct filling *f, struct capture_list *l)
{
	size_t n;
	const struct blk *row = capture_list_rows(l, &n);
	int e = row == NULL ? -ENOMEM : 0;

	f->d->record = calloc(n + 1, sizeof *f->d->record);
	if (f->d->record == NULL)
		return -ENOMEM;
	for (size_t i = 0; e == 0 && i < n; i++)
		e = take_row(f, &row[i], &f->d->record[f->d->nrecords++]);
	return e;
}

/* --- the rest -------------------------------------------------------------------- */

static int
take_modules(struct filling *f)
{
	unsigned n = capture_modules(f->c, f->no);
	struct stream_module m;
	struct dump_module *to;

	f->d->module = calloc(n + 1, sizeof *f->d->module);
	if (f->d->module == NULL)
		return -ENOMEM;
	for (unsigned i = 1; i <= n; i++) {
		if (!capture_module(f->c, f->no, i, &m) || m.end <= m.start)
			continue;
		to = &f->d->module[f->d->nmodules];
		*to = (struct dump_module){ .lo = m.start, .hi = m.end,
			.bias = m.bias, .build_id_len = m.build_id_len };
		to->path = strdup(m.path[0] != '\0' ? m.path :
		    f->part.part.exe);
		if (to->path == NULL)
			return -ENOMEM;
		memcpy(to->build_id, m.build_id, m.build_id_len);
		f->d->nmodules++;
	}
	return 0;
}

static void
take_counts(struct filling *f, const struct capture_list *l)
{
	const struct capture_totals *t = capture_list_totals(l);
	struct dump_counts *n = &f->d->counts;
	uint64_t seq;
	int64_t ms;
	bool known = capture_list_at(l, &seq, &ms);

	n->allocs = t->allocs;
	n->frees = t->frees;
	n->current = t->blocks;
	n->seqno = (uint32_t)seq;
	n->unknown = t->unknown_free;
	n->replaced = t->duplicate;
	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		n->missed += t->lost[i];
	if (!known && n->missed == 0)
		n->missed = 1;
}

static void
take_source(struct filling *f)
{
	struct dump *d = f->d;

	d->source = (struct dump_source){ .known = true, .live = true,
		.tick_hz = 1000 / DEBUGDATA_TICK_MS,
		.word_bytes = f->part.part.word_bytes != 0 ?
		    f->part.part.word_bytes : 8,
		.options = MDD_OPT_TIMESTAMP | MDD_OPT_THREAD |
		    MDD_OPT_ACTUAL_SIZE,
		.process = (uint32_t)f->part.part.pid };
	base_copy_text(d->info.program, sizeof d->info.program,
	    f->part.part.exe);
}

static int
fill(struct filling *f)
{
	struct capture_list *l = NULL;
	int e = capture_seek(f->c, f->no, &(struct capture_when){
	    .at = CAPTURE_AT_END }, &l);

	/* A part without an event and without a state has nothing. */
	if (e == -ENOENT)
		e = capture_list_new(&l);
	if (e < 0)
		return e;
	take_source(f);
	take_counts(f, l);
	e = take_rows(f, l);
	if (e == 0)
		e = take_modules(f);
	capture_list_free(l);
	if (f->d->source.levels > 0)
		f->d->source.options |= MDD_OPT_BACKTRACE;
	if (e == 0)
		dump_settle(f->d);
	return e;
}

static void
report_part(const struct filling *f, const char *path, uint32_t parts)
{
	if (parts > 1)
		notice("'%s' has %u process images; this is image %u, %s[%lld], "
		    "which had most events", path, parts, f->no,
		    base_shown(f->part.part.comm),
		    (long long)f->part.part.pid);
}

/* subject_report() prints the path, so a sentence does not repeat it. */
static void
report_damage(const struct filling *f, const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < capture_damages(f->c); i++) {
		const char *text = capture_damage(f->c, i);

		if (strncmp(text, path, n) == 0 && text[n] == ':')
			text += n + 2;
		dump_problem(f->d, "%s", text);
	}
}

int
captures_dump(struct dump *d, const char *path)
{
	struct filling f = { .d = d };
	struct capture_about about;
	char why[CAPTURE_WHY];
	int e = capture_open(&f.c, path, why);

	*d = (struct dump){ .name = strdup(path) };
	if (e < 0) {
		complain("%s", why);
		return e == -EBADMSG || e == -ENOTSUP ? PAGEK_FORMAT :
		    PAGEK_FAILED;
	}
	capture_about(f.c, &about);
	f.no = largest_part(f.c, about.parts);
	if (f.no == 0) {
		complain("'%s' has no process image: it was cut off at once",
		    path);
		capture_close(f.c);
		return PAGEK_FORMAT;
	}
	capture_part(f.c, f.no, &f.part);
	report_part(&f, path, about.parts);
	e = d->name == NULL ? -ENOMEM : fill(&f);
	report_damage(&f, path);
	if (!about.ended)
		notice("'%s' has no end: it is still being written, or its "
		    "recorder was killed", path);
	capture_close(f.c);
	if (e == 0)
		return PAGEK_OK;
	complain("cannot read '%s': %s", path, base_file_words(e));
	return PAGEK_FAILED;
}
