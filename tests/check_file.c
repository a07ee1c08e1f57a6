/*
 * Files that are replaced whole: what becomes of the one that is there, of the
 * links that lead to it and of its folder, and where a user's own files are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "harness.h"

#define NOBODY 65534

static char folder[64];

/* Each test is in a folder of its own, which anyone may write. */
static void
begin(void)
{
	snprintf(folder, sizeof folder, "/tmp/check_file.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(chmod(".", 0777), 0);
	umask(022);
}

static void
end(void)
{
	char line[256];

	ck_assert_int_eq(seteuid(getuid()), 0);
	snprintf(line, sizeof line, "chmod -R u+rwx %s; rm -rf %s", folder,
	    folder);
	ck_assert_int_eq(system(line), 0);
}

/* A superuser may do all: permissions are for others. */
static void
be_nobody(void)
{
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(NOBODY), 0);
}

static void
make(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void
assert_holds(const char *path, const char *text)
{
	char *bytes;
	size_t len;

	ck_assert_int_eq(base_file_read(path, 4096, &bytes, &len), 0);
	ck_assert_str_eq(bytes, text);
	free(bytes);
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_mode;
}

static void
assert_files(const char *at, int want)
{
	DIR *d = opendir(at);
	int n = -2;			/* "." and ".." */

	ck_assert_ptr_nonnull(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	ck_assert_int_eq(n, want);
}

static int
replace(const char *path, const char *text)
{
	return base_file_replace(path, text, strlen(text), 0640);
}

/* --- what it has afterwards ------------------------------------------------- */

CASE("replaced", .setup = begin, .teardown = end);

LOOP_TEST(a_new_file_gets_the_mode_that_its_owner_wants, 0, 2)
{
	umask(_i == 0 ? 0 : 077);
	ck_assert_int_eq(replace("new", "1"), 0);
	assert_holds("new", "1");
	ck_assert_uint_eq(mode_of("new"), S_IFREG | 0640);
	assert_files(".", 1);
}

LOOP_TEST(a_file_that_is_there_keeps_its_mode, 0, 3)
{
	static const mode_t modes[] = { 0600, 0664, 0755 };

	make("old", "longer than what comes", modes[_i]);
	ck_assert_int_eq(replace("old", "new"), 0);
	assert_holds("old", "new");
	ck_assert_uint_eq(mode_of("old"), S_IFREG | modes[_i]);
	assert_files(".", 1);
}

TEST(who_has_it_open_still_reads_what_it_was)
{
	char was[8] = "";
	int fd;

	make("old", "was", 0644);
	fd = open("old", O_RDONLY);
	ck_assert_int_eq(replace("old", "new"), 0);
	ck_assert_int_eq(read(fd, was, sizeof was), 3);
	ck_assert_str_eq(was, "was");
	close(fd);
}

/* --- links -------------------------------------------------------------------- */

TEST(links_are_followed_and_stay)
{
	ck_assert_int_eq(mkdir("far", 0755), 0);
	make("far/file", "was", 0604);
	ck_assert_int_eq(symlink("far/file", "second"), 0);
	ck_assert_int_eq(symlink("second", "first"), 0);
	ck_assert_int_eq(replace("first", "new"), 0);
	ck_assert(S_ISLNK(mode_of("first")) && S_ISLNK(mode_of("second")));
	assert_holds("far/file", "new");
	ck_assert_uint_eq(mode_of("far/file"), S_IFREG | 0604);
	assert_files(".", 3);
	assert_files("far", 1);
}

TEST(a_link_that_leads_nowhere_is_left_as_it_is)
{
	ck_assert_int_eq(symlink("gone", "link"), 0);
	ck_assert_int_eq(base_file_replaceable("link"), -ENOLINK);
	ck_assert_int_eq(replace("link", "new"), -ENOLINK);
	ck_assert(S_ISLNK(mode_of("link")));
	assert_files(".", 1);
}

TEST(links_in_a_circle_are_an_error)
{
	ck_assert_int_eq(symlink("b", "a"), 0);
	ck_assert_int_eq(symlink("a", "b"), 0);
	ck_assert_int_eq(base_file_replaceable("a"), -ELOOP);
	ck_assert_int_eq(replace("a", "new"), -ELOOP);
	assert_files(".", 2);
}

/* --- what is no file ------------------------------------------------------------ */

static const struct {
	const char *path;
	mode_t type;
	int err;
} others[] = {
	{ "fifo", S_IFIFO, -ENOTSUP },
	{ "to_fifo", S_IFLNK, -ENOTSUP },
	{ "folder", S_IFDIR, -EISDIR },
	{ "/dev/null", S_IFCHR, -ENOTSUP },
};

LOOP_TEST(only_a_regular_file_is_replaced, 0, BASE_NELEM(others))
{
	ck_assert_int_eq(mkfifo("fifo", 0666), 0);
	ck_assert_int_eq(symlink("fifo", "to_fifo"), 0);
	ck_assert_int_eq(mkdir("folder", 0777), 0);
	ck_assert_int_eq(base_file_replaceable(others[_i].path),
	    others[_i].err);
	ck_assert_int_eq(replace(others[_i].path, "new"), others[_i].err);
	ck_assert_uint_eq(mode_of(others[_i].path) & S_IFMT, others[_i].type);
	assert_files(".", 3);
	assert_files("folder", 0);
}

/* --- what goes wrong -------------------------------------------------------------- */

CASE("refused", .setup = begin, .teardown = end, .tags = TAG_KERNEL);

LOOP_TEST(a_file_that_does_not_fit_leaves_the_old_one_and_no_other, 0, 2)
{
	/* A limit of the process stands for a disk that is full. */
	struct rlimit little = { 1000, 1000 };
	static char much[4096];

	make("old", "was", 0644);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
	ck_assert_int_eq(base_file_replace(_i == 0 ? "old" : "new", much,
	    sizeof much, 0640), -EFBIG);
	assert_holds("old", "was");
	assert_files(".", 1);
}

TEST(a_file_that_one_may_not_write_is_not_replaced)
{
	make("old", "was", 0444);
	be_nobody();
	ck_assert_int_eq(base_file_replaceable("old"), -EACCES);
	ck_assert_int_eq(replace("old", "new"), -EACCES);
	assert_holds("old", "was");
	assert_files(".", 1);
}

TEST(in_a_folder_that_one_may_not_write_nothing_changes)
{
	ck_assert_int_eq(mkdir("theirs", 0755), 0);
	make("theirs/old", "was", 0666);
	ck_assert_int_eq(chmod("theirs", 0555), 0);
	be_nobody();
	ck_assert_int_eq(base_file_replaceable("theirs/old"), -EACCES);
	ck_assert_int_eq(replace("theirs/old", "new"), -EACCES);
	ck_assert_int_eq(base_file_replaceable("theirs/new"), -EACCES);
	ck_assert_int_eq(replace("theirs/new", "new"), -EACCES);
	assert_holds("theirs/old", "was");
	assert_files("theirs", 1);
}

CASE("replaced");

TEST(folders_that_are_not_there_are_not_made)
{
	ck_assert_int_eq(base_file_replaceable("no/file"), -ENOENT);
	ck_assert_int_eq(replace("no/file", "new"), -ENOENT);
	assert_files(".", 0);
}

TEST(trying_whether_it_could_be_replaced_changes_nothing)
{
	make("old", "was", 0604);
	ck_assert_int_eq(base_file_replaceable("old"), 0);
	ck_assert_int_eq(base_file_replaceable("new"), 0);
	assert_holds("old", "was");
	ck_assert_uint_eq(mode_of("old"), S_IFREG | 0604);
	assert_files(".", 1);
}

TEST(a_path_that_is_too_long_is_an_error)
{
	static char path[PATH_MAX + 2];

	memset(path, 'x', sizeof path - 1);
	ck_assert_int_eq(base_file_replaceable(path), -ENAMETOOLONG);
	ck_assert_int_eq(replace(path, "new"), -ENAMETOOLONG);
	ck_assert_int_eq(base_folders_above(path), -ENAMETOOLONG);
	/* One that fits, with the letters of the file beside it no more. */
	path[PATH_MAX - 1] = '\0';
	for (int i = 0; i < PATH_MAX - 1; i += 2)
		memcpy(&path[i], "./", 2);
	path[PATH_MAX - 2] = 'x';
	ck_assert_int_eq(replace(path, "new"), -ENAMETOOLONG);
	assert_files(".", 0);
}

/* --- folders ---------------------------------------------------------------------- */

TEST(folders_above_are_made_for_their_owner_alone)
{
	char path[128];

	umask(0);
	ck_assert_int_eq(mkdir("there", 0755), 0);
	snprintf(path, sizeof path, "%s/there/a/b/file", folder);
	ck_assert_int_eq(base_folders_above(path), 0);
	ck_assert_int_eq(base_folders_above(path), 0);
	ck_assert_uint_eq(mode_of("there"), S_IFDIR | 0755);
	ck_assert_uint_eq(mode_of("there/a"), S_IFDIR | 0700);
	ck_assert_uint_eq(mode_of("there/a/b"), S_IFDIR | 0700);
	assert_files("there/a/b", 0);
}

TEST(a_file_in_the_way_of_folders_is_an_error)
{
	char path[128];

	make("file", "was", 0644);
	snprintf(path, sizeof path, "%s/file/a/b", folder);
	ck_assert_int_eq(base_folders_above(path), -ENOTDIR);
	assert_holds("file", "was");
}

CASE("refused");

TEST(folders_that_one_may_not_make_are_an_error)
{
	char path[128];

	ck_assert_int_eq(mkdir("theirs", 0755), 0);
	ck_assert_int_eq(chmod("theirs", 0555), 0);
	be_nobody();
	snprintf(path, sizeof path, "%s/theirs/a/file", folder);
	ck_assert_int_eq(base_folders_above(path), -EACCES);
	assert_files("theirs", 0);
}

/* --- whose they are ------------------------------------------------------------------ */

static const struct {
	const char *state, *home, *path;	/* NULL: there is none */
} states[] = {
	{ NULL, "/home/m", "/home/m/.local/state/pagek/bench" },
	{ "", "/home/m", "/home/m/.local/state/pagek/bench" },
	{ "not/absolute", "/home/m", "/home/m/.local/state/pagek/bench" },
	{ "/var/state", "/home/m", "/var/state/pagek/bench" },
	{ "/var/state", NULL, "/var/state/pagek/bench" },
	{ NULL, NULL, NULL },
	{ NULL, "", NULL },
	{ "state", "home", NULL },
};

static void
set(const char *variable, const char *value)
{
	if (value == NULL)
		unsetenv(variable);
	else
		setenv(variable, value, 1);
}

CASE("state");

LOOP_TEST(state_is_where_the_variable_says_else_at_home, 0, BASE_NELEM(states))
{
	char path[64] = "untouched";

	set("XDG_STATE_HOME", states[_i].state);
	set("HOME", states[_i].home);
	setenv("XDG_CONFIG_HOME", "/not/this/one", 1);
	ck_assert_int_eq(base_state_path(path, sizeof path, "pagek/bench"),
	    states[_i].path != NULL ? 0 : -ENOENT);
	ck_assert_str_eq(path, states[_i].path != NULL ? states[_i].path :
	    "untouched");
}

TEST(a_state_path_that_does_not_fit_is_an_error)
{
	char path[sizeof "/s/file"];

	setenv("XDG_STATE_HOME", "/s", 1);
	ck_assert_int_eq(base_state_path(path, sizeof path, "file"), 0);
	ck_assert_int_eq(base_state_path(path, sizeof path, "files"),
	    -ENAMETOOLONG);
	ck_assert_str_eq(path, "/s/file");
}
