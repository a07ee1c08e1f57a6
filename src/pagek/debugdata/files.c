#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../capture/capture.h"
#include "../cli/capture_target.h"
#include "debugdata.h"

static const struct {
	unsigned option;
	const char *name;		/* of the text */
	const char *setting;		/* in PAGEK_DEBUGDATA */
	const char *what;
} options[] = {
	{ MDD_OPT_ACTUAL_SIZE, "ACTUAL_SIZE", "actual_size=on",
	    "no actual sizes were" },
	{ MDD_OPT_TIMESTAMP, "TIMESTAMP", "timestamp=on", "no times were" },
	{ MDD_OPT_THREAD, "THREAD", "thread=on", "no threads were" },
	{ MDD_OPT_BACKTRACE, "BACKTRACE", "backtrace=1", "no backtrace was" },
	{ MDD_OPT_HISTORY, "HISTORY", "history=2048", "no history was" },
};

bool
subject_lacks(const struct subject *s, unsigned option, const char *what,
    char why[DEBUGDATA_WHY])
{
	size_t i, k;

	for (k = 0; options[k].option != option;)
		k++;
	for (i = 0; i < s->n; i++)
		if (s->dump[i].source.known &&
		    (s->dump[i].source.options & option) == 0)
			break;
	if (i == s->n)
		return false;
	snprintf(why, DEBUGDATA_WHY, "%s: in %s %s collected; option %s does "
	    "that (on Linux, PAGEK_DEBUGDATA=on,%s)", what,
	    base_shown(s->dump[i].name), options[k].what, options[k].name,
	    options[k].setting);
	return true;
}

static int
refuse_kind(const char *path, enum dump_kind kind)
{
	if (kind != DUMP_CORE && kind != DUMP_PROGRAM) {
		complain("%s: not a capture, an mddout file or an executable",
		    base_shown(path));
		return PAGEK_FORMAT;
	}
	if (kind == DUMP_CORE)
		complain("'%s' is a core file; 'pagek mdd-dump core:%s' makes a "
		    "dump of it", path, path);
	else
		complain("'%s' is an executable; dump, history and diff take "
		    "one, before the first file", path);
	return PAGEK_USAGE;
}

static int
take_program(struct subject *s, const char *path)
{
	int e = elf_head_read(&s->head, path);

	s->program = path;
	s->program_path = realpath(path, NULL);
	if (e == 0 && s->program_path == NULL)
		e = -errno;
	if (e == 0)
		return PAGEK_OK;
	complain("cannot read '%s': %s", path, base_file_words(e));
	return PAGEK_FAILED;
}

static int
take_dump(struct subject *s, const char *path)
{
	struct dump *d = &s->dump[s->n++];
	int e = dump_read_file(d, path);

	if (e == 0)
		return PAGEK_OK;
	complain("cannot read '%s': %s", path, base_file_words(e));
	return PAGEK_FAILED;
}

static int
take_history(struct subject *s, const struct options *o, const char *path)
{
	size_t i = 0;
	int status = captures_dump(s, path, &(struct capture_pick){
	    .part = o->events.part, .history = true });

	if (status != PAGEK_OK)
		return status;
	while (!s->image[i].shown)
		i++;
	return captures_history(&s->stream, &s->dump[s->n - 1], path,
	    s->image[i].part, &o->events);
}

/* Two moments of one capture are two dumps. */
static int
take_capture(struct subject *s, const struct options *o, const char *path)
{
	const struct events_options *r = &o->events;
	size_t moments = o->command == COMMAND_DIFF && r->captures == 1 ?
	    r->ats : 1;
	int status = PAGEK_OK;

	if (o->command == COMMAND_HISTORY)
		return take_history(s, o, path);
	for (size_t i = 0; status == PAGEK_OK && i < moments; i++)
		status = captures_dump(s, path, &(struct capture_pick){
		    .at = s->n < r->ats ? r->at[s->n] : NULL, .part = r->part,
		    .again = i > 0 });
	return status;
}

static int
refuse_file(const char *path, int err)
{
	if (err == -EISDIR)
		complain("%s: not a capture: a folder without segments",
		    base_shown(path));
	else
		complain("%s: %s", base_shown(path), base_file_words(err));
	return capture_file_status(err);
}

static int
take_file(struct subject *s, const struct options *o, const char *path,
    bool first)
{
	enum dump_kind kind;
	int e;

	if (capture_match(path))
		return take_capture(s, o, path);
	e = dump_file_kind(path, &kind);
	if (e < 0)
		return refuse_file(path, e);
	if (kind == DUMP_PROGRAM && first)
		return take_program(s, path);
	return kind == DUMP_MDDOUT ? take_dump(s, path) :
	    refuse_kind(path, kind);
}

static bool
is_other_run(const struct dump *a, const struct dump *b)
{
	const struct dump_source *p = &a->source, *q = &b->source;

	/* Of a capture, the run is known for certain. */
	if (p->known && q->known && p->live && q->live)
		return p->run != q->run;
	return p->known && q->known && (p->run != q->run ||
	    p->process != q->process || p->word_bytes != q->word_bytes ||
	    p->big_endian != q->big_endian || p->options != q->options ||
	    p->levels != q->levels || (a->info.program[0] != '\0' &&
	    b->info.program[0] != '\0' &&
	    strcmp(a->info.program, b->info.program) != 0));
}

static int
check_runs(const struct subject *s)
{
	for (size_t i = 1; i < s->n; i++) {
		if (!is_other_run(&s->dump[0], &s->dump[i]))
			continue;
		complain("'%s' and '%s' are from different runs of the program "
		    "and cannot be compared", s->dump[0].name,
		    s->dump[i].name);
		return PAGEK_USAGE;
	}
	return PAGEK_OK;
}

static int
check_order(const struct subject *s)
{
	for (size_t i = 1; i < s->n; i++) {
		const struct dump *a = &s->dump[i - 1], *b = &s->dump[i];

		if (!a->source.known || !b->source.known ||
		    (int32_t)(uint32_t)(b->counts.seqno -
		    a->counts.seqno) >= 0)
			continue;
		complain("'%s' is older than '%s': dumps go in the order of "
		    "their creation", b->name, a->name);
		return PAGEK_USAGE;
	}
	return PAGEK_OK;
}

static void
hex_of(const uint8_t *bytes, unsigned len, char out[2 * SYMBOL_BUILD_ID_MAX + 1])
{
	out[0] = '\0';
	for (unsigned i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static int
refuse_program(const struct subject *s, const struct dump *d,
    const struct dump_module *m)
{
	char ours[2 * SYMBOL_BUILD_ID_MAX + 1];
	char theirs[2 * SYMBOL_BUILD_ID_MAX + 1];

	hex_of(s->head.build_id, s->head.build_id_len, ours);
	if (m == NULL) {
		complain("'%s' is not the program of '%s': no mapped file has "
		    "its build id %s", s->program, d->name, ours);
		return PAGEK_USAGE;
	}
	hex_of(m->build_id, m->build_id_len, theirs);
	complain("'%s' is not the program of '%s': its build id is %s, the dump "
	    "has %s", s->program, d->name, ours, theirs);
	return PAGEK_USAGE;
}

static const char *
name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* True also if the build ids of the dump are unknown. */
static int
check_program(const struct subject *s, const struct dump *d)
{
	const struct elf_head *h = &s->head;
	const struct dump_module *named = NULL;
	bool known = false;

	if (d->source.known && (h->word_bytes != d->source.word_bytes ||
	    h->big_endian != d->source.big_endian)) {
		complain("'%s' is not the program of '%s': it is for another "
		    "machine, of %u bits", s->program, d->name,
		    8 * h->word_bytes);
		return PAGEK_USAGE;
	}
	for (size_t i = 0; i < d->nmodules; i++) {
		const struct dump_module *m = &d->module[i];

		if (m->build_id_len == 0)
			continue;
		known = true;
		if (m->build_id_len == h->build_id_len && memcmp(m->build_id,
		    h->build_id, h->build_id_len) == 0)
			return PAGEK_OK;
		if (strcmp(name_of(m->path), name_of(s->program)) == 0 ||
		    strcmp(m->path, d->info.program) == 0)
			named = m;
	}
	if (!known || h->build_id_len == 0)
		return PAGEK_OK;
	/* The damage may be in the build ids. */
	if (d->nproblems > 0) {
		notice("the damaged '%s' does not tell the build id of '%s': names "
		    "may be missing or wrong", d->name, s->program);
		return PAGEK_OK;
	}
	return refuse_program(s, d, named);
}

static int
check_subject(const struct subject *s, bool ordered)
{
	int status = check_runs(s);

	if (status == PAGEK_OK && ordered)
		status = check_order(s);
	for (size_t i = 0; status == PAGEK_OK && s->program != NULL &&
	    i < s->n; i++)
		status = check_program(s, &s->dump[i]);
	return status;
}

static int
check_count(const struct subject *s, const struct options *o, size_t least,
    size_t most)
{
	const char *name = command_rows[o->command].name;

	if (s->n < least && o->events.files == 0)
		complain("'pagek %s' needs a dump, such as mddout.0", name);
	else if (s->n < least)
		complain("'pagek %s' needs %s, such as mddout.0 behind the "
		    "options", name, least == 1 ? "a dump" : "two dumps");
	else if (most != 0 && s->n > most)
		complain("'pagek %s' takes %s, and '%s' is one too many", name,
		    most == 1 ? "one dump" : "two dumps", s->dump[most].name);
	else if (s->stream != NULL && s->n > 1)
		complain("'pagek history' takes either one capture or dumps");
	else
		return PAGEK_OK;
	return PAGEK_USAGE;
}

int
subject_open(struct subject *s, const struct options *o, size_t least,
    size_t most)
{
	const struct events_options *r = &o->events;
	int status = PAGEK_OK;

	*s = (struct subject){ .dump = calloc(r->files + 1, sizeof *s->dump) };
	if (s->dump == NULL) {
		complain("cannot start: %s", strerror(ENOMEM));
		return PAGEK_FAILED;
	}
	for (size_t i = 0; status == PAGEK_OK && i < r->files; i++)
		status = take_file(s, o, r->file[i], i == 0 &&
		    o->command != COMMAND_STATS);
	if (status == PAGEK_OK)
		status = check_count(s, o, least, most);
	if (status == PAGEK_OK)
		status = check_subject(s, o->command == COMMAND_HISTORY);
	return status;
}

int
subject_open_live(struct subject *s, size_t dumps)
{
	*s = (struct subject){ .live = true,
		.dump = calloc(dumps, sizeof *s->dump) };
	return s->dump == NULL ? -ENOMEM : 0;
}

void
subject_close(struct subject *s)
{
	for (size_t i = 0; i < s->n; i++)
		dump_fini(&s->dump[i]);
	captures_history_free(s->stream);
	free(s->dump);
	free(s->image);
	free(s->program_path);
	*s = (struct subject){ .n = 0 };
}

#define UNSURE_SHOWN 8

static void
append_unsure(const struct dump *d, char *out, size_t cap, size_t *len)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->nrecords + d->npast; i++) {
		const struct dump_record *r = i < d->nrecords ?
		    &d->record[i] : &d->past[i - d->nrecords].block;
		char address[ADDRESS_TEXT];

		if (!r->unsure || n++ >= UNSURE_SHOWN)
			continue;
		address_text(address, d, r->address);
		base_append(out, cap, len, "%s %s", n == 1 ? ":" : "", address);
	}
	if (n > UNSURE_SHOWN)
		base_append(out, cap, len, " ...");
}

static void
report_unsure(const struct dump *d)
{
	const struct dump_counts *n = &d->counts;
	char unsure[512];
	size_t len = 0;

	base_append(unsure, sizeof unsure, &len, "%s are unsure",
	    base_digits(n->in_flight).text);
	append_unsure(d, unsure, sizeof unsure, &len);
	if (n->busy > 0 || n->in_flight > 0 || n->pending > 0)
		notice("%s: the target was stopped in an update: %s "
		    "events are not in it, and %s", d->name,
		    base_digits(n->pending).text, unsure);
	if (n->missed > 0)
		notice("%s: %s events are missing: there was no memory or time "
		    "to record them, or the file is damaged", d->name,
		    base_digits(n->missed).text);
}

int
subject_report(const struct subject *s)
{
	int status = PAGEK_OK;

	for (size_t i = 0; i < s->n; i++) {
		const struct dump *d = &s->dump[i];
		size_t n = d->nproblems;

		report_unsure(d);
		for (size_t k = 0; k < n && k < DUMP_PROBLEMS; k++)
			complain("%s: %s", d->name, d->problem[k]);
		if (n > DUMP_PROBLEMS)
			complain("%s: and %zu places more where it breaks",
			    d->name, n - DUMP_PROBLEMS);
		if (n > 0)
			status = PAGEK_FORMAT;
	}
	return status;
}
