/*
 * Where a word says that a listing goes, and the files that come of it: there
 * when they are whole, and in the place of nothing but a listing.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/pagek/documents/listing.h"
#include "harness.h"
#include "scene.h"

/* --- where to ----------------------------------------------------------- */

static char home[] = "/tmp/check-listing-XXXXXX";

static void
begin_to(void)
{
	FILE *f;
	char path[128];

	strcpy(home, "/tmp/check-listing-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(home));
	ck_assert_int_eq(chdir(home), 0);
	setenv("HOME", home, 1);
	setenv("XDG_CONFIG_HOME", home, 1);
	snprintf(path, sizeof path, "%s/pagek", home);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/pagek/nodes", home);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs("0590 linac-a local\n0509 linac-b unix:/tmp/none\n", f);
	fclose(f);
}

static void
end_to(void)
{
	char command[128];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof command, "rm -rf %s", home);
	ck_assert_int_eq(system(command), 0);
}

static const struct {
	const char *word;
	int err;
	enum listing_kind kind;
	unsigned number;
	const char *text;	/* or the sentence's beginning */
} words[] = {
	{ "0509", 0, LISTING_NODE, 0x0509, "0509" },
	{ "linac-b", 0, LISTING_NODE, 0x0509, "linac-b" },
	{ "local", 0, LISTING_NODE, 0x0590, "local" },
	{ "0A12", -EINVAL, 0, 0, "no node 0A12 in the table" },
	{ "linac-c", -EINVAL, 0, 0, "no node linac-c in the table: nearest" },
	{ "0001", -EINVAL, 0, 0, "no node 0001 in the table" },
	{ "/a/b", 0, LISTING_FILE, 0, "/a/b" },
	{ "./b", 0, LISTING_FILE, 0, "./b" },
	{ "|less -S", 0, LISTING_PAGER, 0, "less -S" },
	{ "| head", 0, LISTING_PAGER, 0, "head" },
	{ "|", -EINVAL, 0, 0, "*L<|> has no command" },
	{ "pager", 0, LISTING_PAGER, 0, "my pager" },
	{ "", -EINVAL, 0, 0, "*L<> is empty" },
};

CASE("where to", .setup = begin_to, .teardown = end_to);

LOOP_TEST(a_word_means_a_node_a_file_or_a_pager, 0, BASE_NELEM(words))
{
	struct listing_to to;
	char why[256] = "";

	setenv("PAGER", "my pager", 1);
	ck_assert_int_eq(listing_to(&to, words[_i].word, why, sizeof why),
	    words[_i].err);
	if (words[_i].err < 0) {
		ck_assert_int_eq(strncmp(why, words[_i].text,
		    strlen(words[_i].text)), 0);
		return;
	}
	ck_assert_int_eq(to.kind, words[_i].kind);
	ck_assert_str_eq(to.text, words[_i].text);
	if (to.kind == LISTING_NODE)
		ck_assert_uint_eq(to.entry.number, words[_i].number);
}

TEST(a_tilde_is_home)
{
	struct listing_to to;
	char why[256], want[128];

	snprintf(want, sizeof want, "%s/x", home);
	ck_assert_int_eq(listing_to(&to, "~/x", why, sizeof why), 0);
	ck_assert_str_eq(to.text, want);
}

TEST(this_machine_has_its_number_or_0001)
{
	struct listing_to to;
	char own[5], why[256];

	listing_own_number(own);
	ck_assert_str_eq(own, "0590");
	setenv("XDG_CONFIG_HOME", "/nowhere", 1);
	listing_own_number(own);
	ck_assert_str_eq(own, "0001");
	ck_assert_int_eq(listing_to(&to, own, why, sizeof why), 0);
	ck_assert_int_eq(to.kind, LISTING_NODE);
	ck_assert_int_eq(to.entry.at, NODES_AT_LOCAL);
}

/* --- files -------------------------------------------------------------- */

static void
assert_file(const char *path, const char *want)
{
	char got[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(read(fd, got, sizeof got - 1), 0);
	close(fd);
	ck_assert_str_eq(got, want);
}

static void
put_file(const char *path, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, strlen(bytes)),
	    (ssize_t)strlen(bytes));
	close(fd);
}

static unsigned
names_here(void)
{
	FILE *p = popen("ls -A | wc -l", "r");
	unsigned n = 0;

	ck_assert_int_eq(fscanf(p, "%u", &n), 1);
	pclose(p);
	return n;
}

CASE("files", .setup = begin_to, .teardown = end_to);

TEST(a_file_is_there_when_it_is_whole)
{
	struct whole_file f;
	struct stat st;

	ck_assert_int_eq(whole_file_open(&f, "./new", WHOLE_FILE_LISTING), 0);
	ck_assert_int_eq(write(f.fd, "half", 4), 4);
	ck_assert_uint_eq(names_here(), 1);
	ck_assert_int_eq(whole_file_publish(&f, true), 0);
	whole_file_close(&f);
	ck_assert_uint_eq(names_here(), 2);
	assert_file("new", "half");
	ck_assert_int_eq(stat("new", &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
}

TEST(a_file_that_is_called_off_leaves_nothing)
{
	struct whole_file f;

	put_file("old", "K MEMORY BLOCKS\nold");
	ck_assert_int_eq(whole_file_open(&f, "./old", WHOLE_FILE_LISTING), 0);
	ck_assert_int_eq(write(f.fd, "new", 3), 3);
	whole_file_close(&f);
	assert_file("old", "K MEMORY BLOCKS\nold");
	ck_assert_uint_eq(names_here(), 2);
}

LOOP_TEST(a_listing_is_replaced_and_so_is_one_that_a_link_leads_to, 0, 2)
{
	struct whole_file f;
	struct stat st;

	put_file("old", _i == 0 ? "K MEMORY BLOCKS\nold" : "");
	ck_assert_int_eq(symlink("old", "link"), 0);
	ck_assert_int_eq(whole_file_open(&f, "./link", WHOLE_FILE_LISTING), 0);
	ck_assert_int_eq(write(f.fd, "new", 3), 3);
	ck_assert_int_eq(whole_file_publish(&f, true), 0);
	whole_file_close(&f);
	assert_file("old", "new");
	ck_assert_int_eq(lstat("link", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_uint_eq(names_here(), 3);
}

static const struct {
	const char *command, *path;
	int err;
} refused[] = {
	{ "mkfifo fifo", "./fifo", -ENOTSUP },
	{ "mkfifo fifo; ln -s fifo link", "./link", -ENOTSUP },
	{ "ln -s nothing link", "./link", -ENOLINK },
	{ "ln -s link link", "./link", -ELOOP },
	{ "ln -s /dev/null link", "./link", -ENOTSUP },
	{ "mkdir dir", "./dir", -EISDIR },
	{ "mkdir dir", "./dir/", -EISDIR },
	{ "mkdir dir", "./dir/..", -EISDIR },
	{ "true", "./no/where", -ENOENT },
	{ "true", "/dev/null", -ENOTSUP },
	{ "echo mine >file", "./file", -EEXIST },
	{ "echo K MEMORY >file; ln -s file link", "./link", -EEXIST },
};

LOOP_TEST(nothing_but_a_listing_is_replaced, 0, BASE_NELEM(refused))
{
	struct whole_file f;

	ck_assert_int_eq(system(refused[_i].command), 0);
	ck_assert_int_eq(whole_file_open(&f, refused[_i].path,
	    WHOLE_FILE_LISTING), refused[_i].err);
	ck_assert_int_eq(f.fd, -1);
}

TEST(a_new_file_replaces_nothing)
{
	struct whole_file f;

	ck_assert_int_eq(system("echo mine >taken; ln -s nowhere led"), 0);
	ck_assert_int_eq(whole_file_open(&f, "./taken", WHOLE_FILE_NEW),
	    -EEXIST);
	ck_assert_int_eq(whole_file_open(&f, "./led", WHOLE_FILE_NEW),
	    -EEXIST);
	ck_assert_int_eq(whole_file_open(&f, "./later", WHOLE_FILE_NEW), 0);
	ck_assert_int_eq(system("echo mine >later"), 0);
	ck_assert_int_eq(whole_file_publish(&f, false), -EEXIST);
	whole_file_close(&f);
	ck_assert_int_eq(system("grep -qx mine later && grep -qx mine taken"),
	    0);
	ck_assert_int_eq(whole_file_open(&f, "./new", WHOLE_FILE_NEW), 0);
	ck_assert_int_eq(write(f.fd, "ours\n", 5), 5);
	ck_assert_int_eq(whole_file_publish(&f, false), 0);
	whole_file_close(&f);
	ck_assert_int_eq(system("grep -qx ours new"), 0);
}

TEST(what_comes_in_its_place_meanwhile_is_not_replaced)
{
	struct whole_file f;
	unsigned n;

	ck_assert_int_eq(whole_file_open(&f, "./x", WHOLE_FILE_LISTING), 0);
	ck_assert_int_eq(mkfifo("x", 0600), 0);
	n = names_here();
	ck_assert_int_eq(whole_file_publish(&f, true), -ENOTSUP);
	whole_file_close(&f);
	ck_assert_uint_eq(names_here(), n);
}

TEST(a_file_without_a_path_has_no_name)
{
	struct whole_file f;
	unsigned n = names_here();

	setenv("TMPDIR", home, 1);
	ck_assert_int_eq(whole_file_open(&f, NULL, WHOLE_FILE_LISTING), 0);
	ck_assert_int_eq(write(f.fd, "x", 1), 1);
	ck_assert_uint_eq(names_here(), n);
	whole_file_close(&f);
	/* No folder, and it is there all the same. */
	setenv("TMPDIR", "/nowhere", 1);
	ck_assert_int_eq(whole_file_open(&f, NULL, WHOLE_FILE_LISTING), 0);
	whole_file_close(&f);
}
