/* The source line of a call, and the editor that opens it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "app_rig.h"

static struct app_source source;
static struct wire_words words;
static struct page_call call;

static void
source_down(void)
{
	app_source_drop(&source);
	rig_down();
}

static const char *
in_home(const char *name)
{
	static char path[200];

	snprintf(path, sizeof path, "%s/%s", rig_home, name);
	return path;
}

static void
write_file(const char *path, const char *bytes, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

/* A call of that file and line, which must live as long. */
static void
call_from(const char *path, uint32_t line)
{
	memset(&words, 0, sizeof words);
	words.n = 1;
	words.line[0].file = (struct wire_text){ path, strlen(path) };
	words.line[0].line = line;
	words.module = (struct wire_text){ "", 0 };
	call = (struct page_call){ .words = &words, .line = &words.line[0] };
}

static void
await_source(void)
{
	app_source_want(&rig, &source, &call);
	while (source.reading != NULL)
		uv_run(rig.loop, UV_RUN_ONCE);
}

static void
read_line_of(const char *path, uint32_t line)
{
	call_from(path, line);
	await_source();
}

static const char text[] =
	"first\n"
	"\t  ptr = f(a,\tb);  \r\n"
	"\n"
	"escape \033[2J and \xff\n"
	"last";

static const struct {
	uint32_t line;
	const char *shown;	/* NULL: the file has fewer lines */
} lines[] = {
	{ 1, "first" },
	{ 2, "ptr = f(a, b);" },
	{ 3, "" },
	{ 4, "escape \033[2J and \xff" },
	{ 5, "last" },
	{ 6, NULL },
	{ UINT32_MAX, NULL },
	{ 0, "" },
};

CASE("source line", .setup = rig_up, .teardown = source_down, .seconds = 60);

LOOP_TEST(line_is_read_without_its_indentation, 0,
    (int)(sizeof lines / sizeof *lines))
{
	const char *path = in_home("some.c");

	write_file(path, text, sizeof text - 1, 0600);
	read_line_of(path, lines[_i].line);
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_READ);
	ck_assert_int_eq(source.shown.beyond, lines[_i].shown == NULL);
	if (lines[_i].shown != NULL)
		ck_assert_str_eq(source.shown.text, lines[_i].shown);
	/* Of a file that is empty no line is there. */
	write_file(path, "", 0, 0600);
	app_source_drop(&source);
	read_line_of(path, lines[_i].line);
	ck_assert_int_eq(source.shown.beyond, lines[_i].line > 0);
}

TEST(file_is_read_once_and_again_after_the_editor)
{
	const char *path = in_home("some.c");

	write_file(path, text, sizeof text - 1, 0600);
	read_line_of(path, 1);
	ck_assert_int_eq(unlink(path), 0);
	await_source();
	ck_assert_str_eq(source.shown.text, "first");
	read_line_of(path, 2);
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_FAILED);
	ck_assert_int_eq(source.shown.err, -ENOENT);
	/* No call, and one without a file. */
	app_source_want(&rig, &source, NULL);
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_NONE);
	read_line_of("", 0);
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_NONE);
}

TEST(closed_detail_gets_no_line)
{
	const char *path = in_home("some.c");
	int i;

	write_file(path, text, sizeof text - 1, 0600);
	for (i = 0; i < 10; i++) {
		call_from(path, 1);
		app_source_want(&rig, &source, &call);
		ck_assert_int_eq(source.shown.state, PAGE_SOURCE_READING);
		app_source_drop(&source);
	}
	/* One that moves on gets the line of where it is then. */
	call_from(path, 1);
	app_source_want(&rig, &source, &call);
	call_from(path, 5);
	await_source();
	await_source();
	ck_assert_str_eq(source.shown.text, "last");
}

/* --- files that are no text ------------------------------------------------ */

static void
make_fifo(const char *path)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void
make_folder(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void
make_long(const char *path)
{
	write_file(path, "", 0, 0600);
	ck_assert_int_eq(truncate(path, 9 << 20), 0);
}

static void
make_nothing(const char *path)
{
	(void)path;
}

static void
make_link(const char *path)
{
	ck_assert_int_eq(symlink("/nonexistent/x.c", path), 0);
}

static const struct {
	void (*make)(const char *path);
	int err;
	const char *before, *after;	/* what is said, around the path */
} bad[] = {
	{ make_nothing, -ENOENT, "there is no file ", " on this machine" },
	{ make_fifo, -ENOTSUP, "cannot read ", ": it is not a regular file" },
	{ make_folder, -EISDIR, "cannot read ", ": it is a directory" },
	{ make_long, -EFBIG, "cannot read ", ": it is too large" },
	{ make_link, -ENOLINK, "cannot read ", ": it is a symbolic link that "
	    "leads nowhere" },
};

LOOP_TEST(file_that_cannot_be_read_is_reported_with_its_path, 0,
    (int)(sizeof bad / sizeof *bad))
{
	const char *path = in_home("some.c");
	char says[sizeof rig_page.message];

	bad[_i].make(path);
	read_line_of(path, 7);
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_FAILED);
	ck_assert_int_eq(source.shown.err, bad[_i].err);
	app_source_edit(&rig, &source);
	snprintf(says, sizeof says, "%s%s%s", bad[_i].before, path,
	    bad[_i].after);
	ck_assert_str_eq(rig_page.message, says);
	ck_assert_int_eq(rig.jobs.terminal, JOBS_TERMINAL_FREE);
}

TEST(file_without_a_folder_is_looked_for_in_the_current_one)
{
	read_line_of("src/none.c", 7);
	app_source_edit(&rig, &source);
	ck_assert_str_eq(rig_page.message, "there is no file src/none.c in the "
	    "current directory");
}

TEST(long_line_is_bounded)
{
	const char *path = in_home("some.c");
	size_t len = 1 << 20;
	char *bytes = malloc(len);

	ck_assert_ptr_nonnull(bytes);
	memset(bytes, 'x', len);
	write_file(path, bytes, len, 0600);
	free(bytes);
	read_line_of(path, 1);
	ck_assert_uint_eq(strlen(source.shown.text),
	    sizeof source.shown.text - 1);
}

/* --- the program's age ------------------------------------------------------ */

static void
set_time(const char *path, time_t at)
{
	struct timespec t[2] = { { .tv_sec = at }, { .tv_sec = at } };

	ck_assert_int_eq(utimensat(AT_FDCWD, path, t, 0), 0);
}

TEST(file_that_is_newer_than_the_program_is_marked)
{
	char file[200], program[200];

	snprintf(file, sizeof file, "%s", in_home("some.c"));
	snprintf(program, sizeof program, "%s", in_home("some"));
	write_file(file, text, sizeof text - 1, 0600);
	write_file(program, "", 0, 0700);
	set_time(program, 1000);
	for (time_t at = 999; at <= 1001; at++) {
		set_time(file, at);
		app_source_drop(&source);
		call_from(file, 1);
		words.module = (struct wire_text){ program, strlen(program) };
		await_source();
		ck_assert_int_eq(source.shown.newer, at > 1000);
	}
	/* The program of another machine is not the one that is here. */
	rig.places.here.entry.at = NODES_AT_SSH;
	app_source_drop(&source);
	await_source();
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_READ);
	ck_assert(!source.shown.newer);
}

/* --- the editor ------------------------------------------------------------- */

static void
use_editor(const char *script, const char *args)
{
	char command[300];

	write_file(in_home("ed"), script, strlen(script), 0700);
	snprintf(command, sizeof command, "%s%s", in_home("ed"), args);
	unsetenv("VISUAL");
	setenv("EDITOR", command, 1);
}

static void
run_editor(void)
{
	app_source_edit(&rig, &source);
	ck_assert_int_eq(rig.jobs.terminal, JOBS_TERMINAL_WANTED);
	rig.jobs.terminal = JOBS_TERMINAL_LENT;
	jobs_lent(&rig.jobs);
	while (rig.jobs.terminal != JOBS_TERMINAL_FREE)
		uv_run(rig.loop, UV_RUN_ONCE);
}

static void
assert_file(const char *name, const char *want)
{
	char have[2048];
	FILE *f = fopen(in_home(name), "r");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(have, 1, sizeof have - 1, f);
	have[n] = '\0';
	fclose(f);
	ck_assert_str_eq(have, want);
}

static const char writes_args[] =
	"#!/bin/sh\nprintf '%s\\n' \"$@\" >args\n";

/* The names are the target's. */
static const char *const names[] = {
	"plain.c", "-c.c", "+q.c", "two words.c", "$(touch pwned).c",
	"`touch pwned`.c", ";touch pwned;.c", "\"'.c", "a\nb.c", "\033[2J.c",
};

LOOP_TEST(editor_gets_each_name_as_one_word, 0,
    (int)(sizeof names / sizeof *names) * 2)
{
	const char *name = names[_i / 2];
	bool relative = _i % 2 == 1;
	char path[256], want[600];

	snprintf(path, sizeof path, "%s", relative ? name : in_home(name));
	write_file(in_home(name), text, sizeof text - 1, 0600);
	use_editor(writes_args, " -w  --wait");
	read_line_of(path, 2);
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_READ);
	run_editor();
	ck_assert_str_eq(rig_page.message, "");
	snprintf(want, sizeof want, "-w\n--wait\n+2\n%s%s\n",
	    relative ? "./" : "", path);
	assert_file("args", want);
	ck_assert_int_lt(access(in_home("pwned"), F_OK), 0);
	/* The line may be another one now. */
	ck_assert_int_eq(source.shown.state, PAGE_SOURCE_NONE);
}

TEST(visual_comes_before_editor_and_a_line_may_be_unknown)
{
	const char *path = in_home("some.c");
	char want[600], visual[200];

	write_file(path, text, sizeof text - 1, 0600);
	snprintf(want, sizeof want, "%s\n", path);
	use_editor(writes_args, "");
	snprintf(visual, sizeof visual, "%s", in_home("ed"));
	setenv("VISUAL", visual, 1);
	setenv("EDITOR", "/nonexistent/ed", 1);
	path = in_home("some.c");
	read_line_of(path, 0);
	run_editor();
	assert_file("args", want);
	setenv("VISUAL", "  ", 1);
	read_line_of(in_home("some.c"), 0);
	run_editor();
	ck_assert_str_eq(rig_page.message, "cannot start the editor "
	    "/nonexistent/ed: No such file or directory; set VISUAL or "
	    "EDITOR");
}

TEST(editor_that_fails_is_reported)
{
	write_file(in_home("some.c"), text, sizeof text - 1, 0600);
	use_editor("#!/bin/sh\nexit 3\n", "");
	read_line_of(in_home("some.c"), 1);
	run_editor();
	ck_assert_str_eq(rig_page.message, "the editor failed: exit 3");
	use_editor("#!/bin/sh\nkill -9 $$\n", "");
	read_line_of(in_home("some.c"), 1);
	run_editor();
	ck_assert_str_eq(rig_page.message, "the editor was ended by signal 9");
	/* A pager that waits for the terminal goes first. */
	rig.jobs.terminal = JOBS_TERMINAL_WANTED;
	read_line_of(in_home("some.c"), 1);
	app_source_edit(&rig, &source);
	ck_assert_str_eq(rig_page.message, "another program is about to use "
	    "the terminal");
	rig.jobs.terminal = JOBS_TERMINAL_FREE;
}

/* The page may end while its editor runs. */
TEST(editor_ends_with_the_page)
{
	write_file(in_home("some.c"), text, sizeof text - 1, 0600);
	use_editor("#!/bin/sh\ntrap 'exit 0' TERM\n: >runs\n"
	    "while :; do sleep 0.1; done\n", "");
	read_line_of(in_home("some.c"), 1);
	app_source_edit(&rig, &source);
	rig.jobs.terminal = JOBS_TERMINAL_LENT;
	jobs_lent(&rig.jobs);
	ck_assert_ptr_nonnull(rig.jobs.viewer);
	jobs_fini(&rig.jobs);
	ck_assert_ptr_null(rig.jobs.viewer);
}

/* --- in the detail ---------------------------------------------------------- */

TEST(e_says_where_there_is_nothing_to_open)
{
	rig_key('E');
	ck_assert_str_eq(rig_page.message, "E means nothing here; ? lists the "
	    "keys");
	rig_key('\r');
	rig_compose(80, 24, true);
	rig_key('E');
	ck_assert_str_eq(rig_page.message, "no source line is known here");
	rig_key('6');
	rig_key('E');
	ck_assert_str_eq(rig_page.message, "E is none of page G; 1: page K");
}
