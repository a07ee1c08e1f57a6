#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../base/base.h"
#include "../../../export/export.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../documents/listing.h"
#include "../../layout/layout.h"
#include "snapshot.h"

#define NOTE_TEXT 1024

/*
 * The formats.  Another one is a row here, one in ../../cli/options.def, and a file of
 * ../../../export with the function that writes it.
 */
static const struct export_format {
	enum option_id option;
	/* NULL: of --folded, which needs no source, and of a folder: CTF. */
	int (*write)(const struct export_source *, FILE *);
	bool (*has)(void);	/* NULL: every build has it */
	const char *needs;	/* packages, for builds that lack it */
	bool binary;
	bool blocks;		/* each block is written, not sums */
	bool folder;		/* a folder of files is written */
} formats[] = {
	{ OPTION_FOLDED, .write = NULL },
	{ OPTION_PPROF, export_pprof, .has = export_has_pprof, .binary = true,
	    .needs = "libprotobuf-c-dev, protobuf-c-compiler and zlib1g-dev" },
	{ OPTION_HEAPTRACK, export_heaptrack, .blocks = true },
	{ OPTION_CTF, .blocks = true, .folder = true },
};

/* NULL: none is given. */
static const struct export_format *
chosen(const struct options *o)
{
	for (size_t i = 0; i < BASE_NELEM(formats); i++)
		if (option_given(o, formats[i].option))
			return &formats[i];
	return NULL;
}

static int
put_line(void *arg, const char *line)
{
	FILE *out = arg;

	return fprintf(out, "%s\n", line) < 0 ? -errno : 0;
}

static int
put_folded(const struct options *o, const struct export_held *h, FILE *out)
{
	return profile_folded(h->profile, o->tree.measure, h->now_ms, put_line,
	    out);
}

static void
note_text(const struct snapshot *m, char out[NOTE_TEXT])
{
	char sample[PAGE_SAMPLE_TEXT], lack[PAGE_LACK_TEXT];
	size_t len = 0;

	out[0] = '\0';
	page_lack_text(&m->look, lack);
	if (!m->look.complete)
		base_append(out, NOTE_TEXT, &len, "INCOMPLETE: %s; ", lack);
	if (m->look.sample != 0) {
		page_sample_text(m->look.sample, sample);
		base_append(out, NOTE_TEXT, &len, "sampled %s; ", sample);
	}
	if (m->filter != NULL)
		base_append(out, NOTE_TEXT, &len, "only blocks with %s; ",
		    m->filter);
	if (m->lacking > 0)
		base_append(out, NOTE_TEXT, &len, "%s stacks lack names; ",
		    base_digits(m->lacking).text);
	if (len >= 2)
		out[len - 2] = '\0';
}

static bool
is_here(const struct options *o, const struct nodes_look *look)
{
	char path[64], *comm;
	size_t len;
	bool same;

	if (o->target.kind == TARGET_SSH || target_is_own(&o->target) || look->target.pid <= 0 ||
	    look->state != NODES_LIVE || !base_proc_is_ours())
		return false;
	snprintf(path, sizeof path, "/proc/%ld/comm", (long)look->target.pid);
	if (base_file_read(path, 64, &comm, &len) < 0)
		return false;
	same = len > 0 && strlen(look->target.name) == len - 1 &&
	    strncmp(comm, look->target.name, len - 1) == 0;
	free(comm);
	return same;
}

static int
make_source(const struct options *o, const struct snapshot *m,
    struct export_source **out)
{
	char target[PAGE_TARGET_TEXT], note[NOTE_TEXT];

	page_target_text(&m->look, target);
	note_text(m, note);
	return export_of_profile(out, &(struct export_live){
	    .profile = m->profile, .block = m->block, .blocks = m->blocks,
	    .now_ms = m->look.now_ms, .wall_ms = m->look.node_wall_ms,
	    .sample = m->look.sample,
	    .pid = is_here(o, &m->look) ? m->look.target.pid : 0,
	    .target = target, .note = note });
}

/* False: a pipe, a device or standard output, which is written to directly. */
static bool
is_file(const char *path)
{
	struct stat st;

	return path != NULL && strcmp(path, "-") != 0 && (stat(path, &st) < 0 ||
	    S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static int
fill(const struct options *o, const struct export_held *h, FILE *out)
{
	int r = chosen(o)->write != NULL ? chosen(o)->write(h->source, out) :
	    put_folded(o, h, out);

	/* The close reports errors of the stream. */
	if (r < 0 && ferror(out)) {
		errno = -r;
		output_going(out);
		r = 0;
	}
	if (r < 0)
		complain("cannot export: %s", strerror(-r));
	return output_close(out, o->output, r < 0 ? PAGEK_FAILED : PAGEK_OK);
}

/* True if a signal that ends the program waits: nothing appears then. */
static bool
is_interrupted(void)
{
	sigset_t waiting;

	return sigpending(&waiting) == 0 && (sigismember(&waiting, SIGINT) == 1 ||
	    sigismember(&waiting, SIGTERM) == 1 ||
	    sigismember(&waiting, SIGHUP) == 1);
}

/* Writes a file, which appears at its name when it is complete. */
static int
fill_file(const struct options *o, const struct export_held *h)
{
	struct whole_file f;
	int r = whole_file_open(&f, o->output, WHOLE_FILE_ANY), status, fd;
	FILE *out;

	if (r < 0)
		goto fail;
	fd = fcntl(f.fd, F_DUPFD_CLOEXEC, 0);
	out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (out == NULL) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		goto fail;
	}
	status = fill(o, h, out);
	r = status == PAGEK_OK && !is_interrupted() ?
	    whole_file_publish(&f, true) : 0;
	if (r < 0)
		goto fail;
	whole_file_close(&f);
	return status;
fail:
	whole_file_close(&f);
	complain("cannot write '%s': %s", o->output, strerror(-r));
	return PAGEK_FAILED;
}

/* Closes a file.  Returns `r`, an earlier error, or if it is 0 that of the close. */
static int
end_file(FILE *out, int r)
{
	if (out == NULL)
		return r;
	/* A remote disk may report only now that it is full. */
	if (r == 0 && (fflush(out) != 0 || (fdatasync(fileno(out)) < 0 &&
	    errno != EINVAL)))
		r = -errno;
	fclose(out);
	return r;
}

static int
fill_folder(const struct options *o, const struct export_held *h)
{
	FILE *metadata = NULL, *stream = NULL;
	struct whole_folder f;
	int r = whole_folder_open(&f, o->output);

	if (r < 0)
		goto fail;
	r = whole_folder_file(&f, "metadata", &metadata);
	if (r == 0)
		r = whole_folder_file(&f, "stream", &stream);
	if (r == 0)
		r = export_ctf(h->source, metadata, stream);
	r = end_file(metadata, r);
	r = end_file(stream, r);
	if (r == 0 && !is_interrupted())
		r = whole_folder_publish(&f);
	whole_folder_close(&f);
	if (r == 0)
		return PAGEK_OK;
fail:
	complain("cannot write '%s': %s%s", o->output, strerror(-r), r ==
	    -EEXIST || r == -ENOTEMPTY ? "; give the name of a new folder" : "");
	return PAGEK_FAILED;
}

/* Signals that end the program wait meanwhile, so that no temporary file is left. */
static int
fill_place(const struct options *o, const struct export_held *h)
{
	sigset_t ending, before;
	int status;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGHUP);
	sigprocmask(SIG_BLOCK, &ending, &before);
	status = chosen(o)->folder ? fill_folder(o, h) : fill_file(o, h);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

int
export_write(const struct options *o, const struct export_held *h)
{
	FILE *out;

	if (chosen(o)->folder || is_file(o->output))
		return fill_place(o, h);
	out = output_open(o->output);
	return out != NULL ? fill(o, h, out) : PAGEK_FAILED;
}

enum export_needs
export_needs(const struct options *o)
{
	const struct export_format *f = chosen(o);

	return f->folder ? EXPORT_NEEDS_FREES : f->write != NULL ?
	    EXPORT_NEEDS_SOURCE : EXPORT_NEEDS_PROFILE;
}

/* Few readers show the notes in a file. */
static void
report_notes(const struct options *o, const struct snapshot *m)
{
	char sample[PAGE_SAMPLE_TEXT], lack[PAGE_LACK_TEXT];

	page_lack_text(&m->look, lack);
	if (!m->look.complete)
		notice("INCOMPLETE: %s", lack);
	if (m->look.sample != 0) {
		page_sample_text(m->look.sample, sample);
		notice(chosen(o)->blocks ? "sampled %s: only logged blocks are in "
		    "it, and each stands for many" : m->counts != TREE_HELD ?
		    "sampled %s: the figures are of the logged allocations "
		    "alone" : "sampled %s: the figures are estimates", sample);
	}
}

static int
write_snapshot(const struct options *o, const struct snapshot *m)
{
	struct export_source *s = NULL;
	int r = 0, status;

	report_notes(o, m);
	if (export_needs(o) != EXPORT_NEEDS_PROFILE)
		r = make_source(o, m, &s);
	if (r < 0) {
		complain("cannot export: %s", strerror(-r));
		return PAGEK_FAILED;
	}
	status = export_write(o, &(struct export_held){ .source = s,
	    .profile = m->profile, .now_ms = m->look.now_ms });
	export_free(s);
	return status;
}

static int
export_one(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	int status = snapshot_visit(o, loop, s, chosen(o)->blocks, write_snapshot);

	batch_report_end(nodes_session_look(s));
	return status;
}

static int
check_format(struct parse *p, const struct export_format *f)
{
	if (f->has != NULL && !f->has())
		return option_fail(p, "this pagek was built without --%s: "
		    "install %s and build it anew", option_name(f->option),
		    f->needs);
	if (f->option != OPTION_FOLDED && option_given(p->o, OPTION_BY))
		return option_fail(p, "--by is for --folded: --%s has bytes and "
		    "blocks", option_name(f->option));
	if (p->o->tree.counts != TREE_HELD && p->o->events.files > 0)
		return option_fail(p, "--by=%s is for a target: file:%s is one",
		    option_tree_counts[p->o->tree.counts],
		    base_shown(p->o->events.file[0]));
	if (p->o->tree.by_group)
		return option_fail(p, "folded stacks are by bytes, blocks or "
		    "age");
	if (p->o->output != NULL && strcmp(p->o->output, "-") != 0)
		return 0;
	if (f->folder)
		return option_fail(p, "--%s writes a folder: give its name, as "
		    "in -o trace", option_name(f->option));
	return f->binary && isatty(STDOUT_FILENO) ? option_fail(p, "--%s is not "
	    "text: give -o FILE", option_name(f->option)) : 0;
}

static int
refuse_none(struct parse *p)
{
	char list[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < BASE_NELEM(formats); i++)
		base_append(list, sizeof list, &len, "%s--%s", i == 0 ? "" :
		    i + 1 < BASE_NELEM(formats) ? ", " : " or ",
		    option_name(formats[i].option));
	return option_fail(p, "'pagek export' needs a format: %s", list);
}

int
cmd_export_check(struct parse *p)
{
	const struct export_format *f = chosen(p->o);
	int status;

	if (f == NULL)
		return refuse_none(p);
	for (size_t i = 0; i < BASE_NELEM(formats); i++)
		if (option_given(p->o, formats[i].option) && &formats[i] != f)
			return option_fail(p, "--%s and --%s exclude each other",
			    option_name(f->option),
			    option_name(formats[i].option));
	status = export_capture_check(p);
	if (status == 0)
		status = tree_check_counts(p);
	return status != 0 ? status : check_format(p, f);
}

int
cmd_export(const struct options *o, uv_loop_t *loop)
{
	return o->events.files > 0 ? export_capture(o) :
	    batch_watch(o, loop, export_one);
}
