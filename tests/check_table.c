/*
 * The table of nodes: what a line may say, which entry wins, and files that
 * are none.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/nodes/places/table.h"
#include "harness.h"
#include "table_rig.h"

/* --- what was said -------------------------------------------------------- */

static char said[64 * 1024];
static unsigned sentences;

static void
hear(void *arg, const char *sentence)
{
	size_t len = strlen(said);

	(void)arg;
	sentences++;
	snprintf(said + len, sizeof said - len, "%s\n", sentence);
}

static struct nodes_table table;
static size_t cap;

/* A file of that text; what came before it stays. */
static void
add_bytes(enum nodes_file file, const char *bytes, size_t len)
{
	struct table_in in = { .file = file, .say = hear,
		.path = file == NODES_FILE_USER ? "mine" : "theirs" };

	ck_assert_int_eq(table_parse(&table, &cap, &in, bytes, len), 0);
}

static void
add(enum nodes_file file, const char *text)
{
	add_bytes(file, text, strlen(text));
}

static void
begin(void)
{
	memset(&table, 0, sizeof table);
	cap = 0;
	said[0] = '\0';
	sentences = 0;
}

static void
end(void)
{
	free(table.entry);
}

/* --- lines ---------------------------------------------------------------- */

static const struct {
	const char *line;
	struct nodes_entry e;
	uint16_t friendly;
} right[] = {
	{ "0590 linac-a local", { .number = 0x590, .name = "linac-a" }, 0 },
	{ "  ab86\tb_2.x\tunix:/run/x#y  # a comment", { .number = 0xab86,
	    .name = "b_2.x", .at = NODES_AT_UNIX, .place = "/run/x#y" }, 0 },
	{ "FFFF x ssh:anna@linac-b acnet=11.134\r", { .number = 0xffff,
	    .name = "x", .at = NODES_AT_SSH, .place = "anna@linac-b",
	    .port = NODES_PORT_ACNET, .trunk = 11, .node = 134 }, 0xab86 },
	{ "1590 3com ssh:[::1] remote=~/bin/pageknode classic=6801#",
	    { .number = 0 }, 0 },
	{ "1590 3com ssh:[::1] remote=~/bin/pageknode classic=6801 #",
	    { .number = 0x1590, .name = "3com", .at = NODES_AT_SSH,
	    .place = "[::1]", .remote = "~/bin/pageknode",
	    .port = NODES_PORT_CLASSIC, .classic = 6801 }, 0xc590 },
	{ "0001 ger\xc3\xa4t local acnet=0.0", { .number = 1,
	    .name = "ger\xc3\xa4t", .port = NODES_PORT_ACNET }, 0xa000 },
};

CASE("lines", .setup = begin, .teardown = end);

LOOP_TEST(a_line_says_what_it_says, 0, BASE_NELEM(right))
{
	const struct nodes_entry *want = &right[_i].e, *e;

	add(NODES_FILE_USER, right[_i].line);
	if (want->number == 0) {
		ck_assert_uint_eq(table.n, 0);
		return;
	}
	ck_assert_msg(table.n == 1, "'%s': %s", right[_i].line, said);
	e = table.entry;
	ck_assert_uint_eq(sentences, 0);
	ck_assert_uint_eq(e->number, want->number);
	ck_assert_str_eq(e->name, want->name);
	ck_assert_int_eq(e->at, want->at);
	ck_assert_str_eq(e->place, want->place);
	ck_assert_str_eq(e->remote, want->remote);
	ck_assert_int_eq(e->port, want->port);
	ck_assert_uint_eq(e->trunk, want->trunk);
	ck_assert_uint_eq(e->node, want->node);
	ck_assert_uint_eq(e->classic, want->classic);
	ck_assert_uint_eq(e->line, 1);
	ck_assert_uint_eq(nodes_entry_friendly(e), right[_i].friendly);
}

#define TEN "0123456789"
#define SIXTY4 "abcd" TEN TEN TEN TEN TEN TEN

static const struct {
	const char *line, *says;
} wrong[] = {
	{ "0590", "a number, a name and a place" },
	{ "0590 linac-a", "a number, a name and a place" },
	{ "0590 linac-a # local", "a number, a name and a place" },
	{ "590 a local", "'590' is not a node number" },
	{ "05900 a local", "four hexadecimal digits" },
	{ "0x59 a local", "'0x59' is not a node number" },
	{ "0000 a local", "not 0000" },
	{ "059g a local", "'059g' is not a node number" },
	{ "0590 beef local", "'beef' is not a name" },
	{ "0590 123456 local", "'123456' is not a name" },
	{ "0590 local local", "'local' is not a name" },
	{ "0590 -a local", "'-a' is not a name" },
	{ "0590 a/b local", "'a/b' is not a name" },
	{ "0590 a:b local", "'a:b' is not a name" },
	{ "0590 a\xe2\x80\xae local", "'a?' is not a name" },
	{ "0590 " SIXTY4 " local", "up to 63 letters" },
	{ "0590 a here", "'here' is not a place" },
	{ "0590 a Local", "'Local' is not a place" },
	{ "0590 a unix:", "absolute path of a socket" },
	{ "0590 a unix:run/x", "absolute path of a socket" },
	{ "0590 a unix:/" SIXTY4 SIXTY4, "shorter than 108 bytes" },
	{ "0590 a ssh:", "the name of a host" },
	{ "0590 a ssh:-oProxyCommand=x", "the name of a host" },
	{ "0590 a ssh:x@-oProxyCommand=x", "the name of a host" },
	{ "0590 a ssh:$(reboot)", "the name of a host" },
	{ "0590 a ssh:h/pid:3", "and nothing else" },
	{ "0590 a tcp:h", "is not a place" },
	{ "0590 a local acnet=16.1", "acnet= takes TRUNK.NODE" },
	{ "0590 a local acnet=1.256", "acnet= takes TRUNK.NODE" },
	{ "0590 a local acnet=1", "acnet= takes TRUNK.NODE" },
	{ "0590 a local acnet=-1.3", "acnet= takes TRUNK.NODE" },
	{ "0590 a local acnet=1.3x", "acnet= takes TRUNK.NODE" },
	{ "0590 a local acnet=1.", "acnet= takes TRUNK.NODE" },
	{ "0590 a local classic=0", "classic= takes the number of a port" },
	{ "0590 a local classic=65536", "classic= takes" },
	{ "0590 a local classic=99999999999999999999", "classic= takes" },
	{ "0590 a local classic=", "classic= takes" },
	{ "0590 a local acnet=1.1 classic=3", "this is given twice" },
	{ "0590 a ssh:h remote=/a remote=/b", "this is given twice" },
	{ "0590 a local remote=/x", "remote= is only for nodes behind ssh:" },
	{ "0590 a ssh:h remote=", "remote= takes the path" },
	{ "0590 a ssh:h remote=-x", "remote= takes the path" },
	{ "0590 a ssh:h remote=/" SIXTY4, "less than 64 bytes" },
	{ "0590 a local port=3", "'port=3': after the place" },
	{ "0590 a local acnet", "'acnet': after the place" },
	{ "0590 a local b c d e f g", "no more than 8 words" },
	{ "0590 a\033[2J local", "a control character" },
	{ "0590 a\x7f local", "a control character" },
	{ "0590 a\xc2\x9b local", "a control character" },
	{ "0590 a\r local", "a control character" },
	{ "0590 a\xff local", "not valid UTF-8" },
	{ "0590 a\xc0\x80 local", "not valid UTF-8" },
	{ "0590 a local # \xed\xa0\x80", "not valid UTF-8" },
};

LOOP_TEST(a_line_with_a_mistake_is_said_and_left_out, 0, BASE_NELEM(wrong))
{
	char text[1024];

	snprintf(text, sizeof text, "# good\n%s\n0509 good local\n",
	    wrong[_i].line);
	add(NODES_FILE_USER, text);
	ck_assert_msg(sentences == 1, "%u sentences about '%s': %s",
	    sentences, wrong[_i].line, said);
	ck_assert_msg(strncmp(said, "mine:2: ", 8) == 0 &&
	    strstr(said, wrong[_i].says) != NULL, "'%s' says %s, not '%s'",
	    wrong[_i].line, said, wrong[_i].says);
	ck_assert_uint_eq(table.n, 1);
	ck_assert_str_eq(table.entry[0].name, "good");
	ck_assert_uint_eq(table.entry[0].line, 3);
	ck_assert_ptr_null(strchr(said, '\033'));
}

TEST(nul_and_long_lines_are_no_text)
{
	static const char nul[] = "0590 a\0b local\n0509 b local";
	static char text[4096];

	add_bytes(NODES_FILE_USER, nul, sizeof nul - 1);
	ck_assert_uint_eq(table.n, 1);
	ck_assert_ptr_nonnull(strstr(said, "mine:1: there is a control"));
	/* The longest that may be, and one byte more. */
	snprintf(text, sizeof text, "0001 c ssh:h #%*s\n0002 d ssh:h #%*s\n",
	    BASE_LINE_MAX - 14, "", BASE_LINE_MAX - 13, "");
	add(NODES_FILE_USER, text);
	ck_assert_uint_eq(table.n, 2);
	ck_assert_ptr_nonnull(nodes_table_name(&table, "c"));
	ck_assert_ptr_nonnull(strstr(said, "mine:2: the line is longer"));
}

TEST(a_byte_order_mark_and_other_line_ends_are_text)
{
	add(NODES_FILE_USER, "\xef\xbb\xbf" "0590 a local\r\n\r\n\n"
	    "0509 b ssh:h");
	ck_assert_uint_eq(table.n, 2);
	ck_assert_uint_eq(sentences, 0);
	ck_assert_uint_eq(nodes_table_name(&table, "b")->line, 4);
}

/* --- which entry wins ------------------------------------------------------ */

TEST(of_two_in_a_file_the_first_stands)
{
	add(NODES_FILE_USER,
	    "0590 a ssh:h\n"
	    "0590 b ssh:h\n"
	    "0591 a ssh:h\n"
	    "0592 c local\n"
	    "0593 d local\n");
	ck_assert_uint_eq(table.n, 2);
	ck_assert_uint_eq(sentences, 3);
	ck_assert_ptr_nonnull(strstr(said,
	    "mine:2: number 0590 is already used in line 1"));
	ck_assert_ptr_nonnull(strstr(said,
	    "mine:3: the name 'a' is already used in line 1"));
	ck_assert_ptr_nonnull(strstr(said,
	    "mine:5: the local node is already in line 4"));
}

TEST(a_friendly_number_is_one_nodes_alone)
{
	add(NODES_FILE_USER,
	    "0590 a ssh:h acnet=11.134\n"
	    "0591 b ssh:h acnet=11.134 remote=/x\n"
	    "1592 c ssh:h classic=6801\n"
	    "2592 d ssh:h classic=6801\n"
	    "0593 e ssh:h\n"
	    "0594 f ssh:h\n");
	add(NODES_FILE_SYSTEM, "0701 g ssh:h acnet=11.134\n");
	ck_assert_uint_eq(table.n, 7);
	ck_assert_uint_eq(sentences, 2);
	ck_assert_ptr_nonnull(strstr(said,
	    "mine:2: friendly number AB86 is already used in line 1"));
	ck_assert_ptr_nonnull(strstr(said,
	    "mine:4: friendly number C592 is already used in line 3"));
	for (size_t i = 0; i < table.n; i++)
		ck_assert_uint_eq(nodes_entry_friendly(&table.entry[i]),
		    table.entry[i].number == 0x590 ? 0xab86 :
		    table.entry[i].number == 0x1592 ? 0xc592 : 0);
	ck_assert_str_eq(nodes_table_number(&table, 0x591)->remote, "/x");
}

TEST(the_users_entries_hide_the_systems_by_number_and_by_name)
{
	add(NODES_FILE_USER, "0590 mine ssh:m\n0700 both ssh:m\n0002 me local\n");
	add(NODES_FILE_SYSTEM, "0590 theirs ssh:t\n0701 both ssh:t\n"
	    "0003 host local\n0800 only ssh:t\n");
	ck_assert_uint_eq(sentences, 0);
	ck_assert_uint_eq(table.n, 4);
	ck_assert_str_eq(nodes_table_number(&table, 0x590)->name, "mine");
	ck_assert_uint_eq(nodes_table_name(&table, "both")->number, 0x700);
	ck_assert_ptr_null(nodes_table_number(&table, 0x701));
	ck_assert_str_eq(nodes_table_local(&table)->name, "me");
	ck_assert_int_eq(nodes_table_name(&table, "only")->file,
	    NODES_FILE_SYSTEM);
	for (size_t i = 1; i < table.n; i++)
		ck_assert_uint_lt(table.entry[i - 1].number,
		    table.entry[i].number);
}

TEST(words_that_miss_are_answered_with_the_nearest)
{
	add(NODES_FILE_USER, "0590 linac-a ssh:h\n0A12 gateway ssh:h\n");
	ck_assert_ptr_null(nodes_table_name(&table, "linac-b"));
	ck_assert_ptr_null(nodes_table_number(&table, 0x591));
	ck_assert_str_eq(nodes_table_nearest(&table, "lianc-a")->name,
	    "linac-a");
	ck_assert_str_eq(nodes_table_nearest(&table, "0a13")->name, "gateway");
	ck_assert_ptr_null(nodes_table_nearest(&table, "zzz"));
	table.n = 0;
	ck_assert_ptr_null(nodes_table_nearest(&table, "linac-a"));
}

/* --- bounds ---------------------------------------------------------------- */

TEST(a_file_of_nonsense_is_said_in_few_sentences)
{
	static char text[64 * 1024];
	size_t len = 0;

	for (unsigned i = 0; i < 1000; i++)
		base_append(text, sizeof text, &len, "x %u\n", i);
	add(NODES_FILE_USER, text);
	ck_assert_uint_eq(sentences, TABLE_SAID_MAX + 1);
	ck_assert_ptr_nonnull(strstr(said, "and 984 lines more"));
}

TEST(a_table_holds_so_many_and_no_more)
{
	static char text[256 * 1024];
	size_t len = 0;

	for (unsigned i = 1; i <= NODES_TABLE_MAX + 3; i++)
		base_append(text, sizeof text, &len, "%04X n-%x ssh:h\n", i, i);
	add(NODES_FILE_USER, text);
	ck_assert_uint_eq(table.n, NODES_TABLE_MAX);
	ck_assert_uint_eq(sentences, 1);
	ck_assert_ptr_nonnull(strstr(said, "at most 4096 nodes"));
	ck_assert_ptr_nonnull(nodes_table_name(&table, "n-1000"));
}

/* --- files ----------------------------------------------------------------- */

static void
folder_up(void)
{
	begin();
	table_up(NULL);
}

static void
folder_down(void)
{
	end();
	table_down();
}

/* Loads; how many entries of the user's file came. */
static size_t
load(void)
{
	struct nodes_table *t;
	size_t n = 0;

	ck_assert_int_eq(nodes_table_load(&t, true, hear, NULL), 0);
	ck_assert_str_eq(t->path[NODES_FILE_USER], table_file);
	for (size_t i = 0; i < t->n; i++)
		n += t->entry[i].file == NODES_FILE_USER;
	nodes_table_free(t);
	return n;
}

CASE("files", .setup = folder_up, .teardown = folder_down);

TEST(the_users_file_is_read_through_a_link_too)
{
	char other[128];

	ck_assert_uint_eq(load(), 0);
	ck_assert_uint_eq(sentences, 0);
	snprintf(other, sizeof other, "%s/other", table_folder);
	table_write_at(other, "0590 linac-a local\n");
	ck_assert_int_eq(symlink(other, table_file), 0);
	ck_assert_uint_eq(load(), 1);
	ck_assert_uint_eq(sentences, 0);
	remove(other);
	ck_assert_uint_eq(load(), 0);
	ck_assert_uint_eq(sentences, 1);
	ck_assert_ptr_nonnull(strstr(said, "a symbolic link that leads nowhere"));
}

TEST(what_is_no_file_is_said_and_not_waited_for)
{
	ck_assert_int_eq(mkfifo(table_file, 0600), 0);
	ck_assert_uint_eq(load(), 0);
	ck_assert_ptr_nonnull(strstr(said, "it is not a regular file"));
	remove(table_file);
	ck_assert_int_eq(mkdir(table_file, 0700), 0);
	ck_assert_uint_eq(load(), 0);
	ck_assert_ptr_nonnull(strstr(said, "it is a directory"));
	remove(table_file);
	ck_assert_int_eq(symlink("/dev/null", table_file), 0);
	ck_assert_uint_eq(load(), 0);
	ck_assert_uint_eq(sentences, 3);
	remove(table_file);
	ck_assert_int_eq(symlink(table_file, table_file), 0);
	ck_assert_uint_eq(load(), 0);
	ck_assert_uint_eq(sentences, 4);
}

TEST(a_file_that_is_too_large_is_not_read)
{
	table_write("0590 linac-a local\n");
	ck_assert_int_eq(truncate(table_file, TABLE_FILE_MAX), 0);
	ck_assert_uint_eq(load(), 1);
	said[0] = '\0';
	ck_assert_int_eq(truncate(table_file, TABLE_FILE_MAX + 1), 0);
	ck_assert_uint_eq(load(), 0);
	ck_assert_ptr_nonnull(strstr(said, "it is too large"));
	/* A terabyte takes no longer. */
	if (truncate(table_file, (off_t)1 << 40) == 0)
		ck_assert_uint_eq(load(), 0);
}

TEST(a_file_that_may_not_be_read_is_said)
{
	table_write("0590 linac-a local\n");
	ck_assert_int_eq(chmod(table_file, 0), 0);
	/* Root may read it nevertheless. */
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(table_folder, 0755), 0);
		ck_assert_int_eq(chown(table_folder, 65534, (gid_t)-1), 0);
		*strrchr(table_file, '/') = '\0';
		ck_assert_int_eq(chown(table_file, 65534, (gid_t)-1), 0);
		table_file[strlen(table_file)] = '/';
		ck_assert_int_eq(seteuid(65534), 0);
	}
	ck_assert_uint_eq(load(), 0);
	ck_assert_ptr_nonnull(strstr(said, "Permission denied"));
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}

TEST(a_user_without_a_folder_has_the_systems_table)
{
	struct nodes_table *t;

	setenv("XDG_CONFIG_HOME", "relative", 1);
	unsetenv("HOME");
	ck_assert_int_eq(nodes_table_load(&t, true, hear, NULL), 0);
	ck_assert_ptr_null(t->path[NODES_FILE_USER]);
	ck_assert_str_eq(t->path[NODES_FILE_SYSTEM], "/etc/pagek/nodes");
	nodes_table_free(t);
	setenv("HOME", table_folder, 1);
	ck_assert_int_eq(nodes_table_load(&t, true, hear, NULL), 0);
	ck_assert_ptr_nonnull(strstr(t->path[NODES_FILE_USER],
	    "/.config/pagek/nodes"));
	nodes_table_free(t);
}
