/*
 * What was typed comes back: in this page, and from a file that pages before
 * have left, which others may be writing.
 */
#include <errno.h>
#include <sys/stat.h>

#include "../src/pagek/app/typed_history.h"
#include "harness.h"
#include "user_file.h"

static struct history h;

static void
setup(void)
{
	make_folder();
	setenv("XDG_STATE_HOME", folder, 1);
	ck_assert_int_eq(history_path(path), 0);
	h = (struct history){ 0 };
}

static void
teardown(void)
{
	history_fini(&h);
	remove_folder();
}

static void
add(const char *text)
{
	history_add(&h, "command", text);
}

CASE("History", .setup = setup, .teardown = teardown);

TEST(lines_come_back_last_first_and_forth_again)
{
	size_t at;

	add("one");
	add("two");
	at = h.n;
	ck_assert_str_eq(history_find(&h, "command", "", true, &at), "two");
	ck_assert_str_eq(history_find(&h, "command", "", true, &at), "one");
	ck_assert_ptr_null(history_find(&h, "command", "", true, &at));
	ck_assert_str_eq(history_find(&h, "command", "", false, &at), "two");
	ck_assert_ptr_null(history_find(&h, "command", "", false, &at));
}

TEST(only_those_of_the_kind_that_begin_so)
{
	size_t at;

	add("sort age");
	history_add(&h, "find", "sort it");
	add("target 1");
	at = h.n;
	ck_assert_str_eq(history_find(&h, "command", "sort", true, &at),
	    "sort age");
	ck_assert_ptr_null(history_find(&h, "command", "sort", true, &at));
	/* A kind is not one that begins like it. */
	ck_assert_ptr_null(history_find(&h, "com", "", true, &at));
}

TEST(a_line_typed_again_is_there_once_as_the_last)
{
	size_t at;

	add("one");
	add("two");
	add("one");
	add("  ");
	ck_assert_uint_eq(h.n, 2);
	at = h.n;
	ck_assert_str_eq(history_find(&h, "command", "", true, &at), "one");
}

TEST(the_file_has_them_and_is_nobody_elses_to_read)
{
	struct stat st;

	add("sort age");
	history_add(&h, "find", "x \xe2\x82\xac");
	ck_assert_int_eq(history_save(&h), 0);
	assert_text("command sort age\nfind x \xe2\x82\xac\n");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(history_load(&h), 0);
	ck_assert_uint_eq(h.n, 2);
}

TEST(where_nothing_was_typed_nothing_is_written)
{
	ck_assert_int_eq(history_load(&h), 0);
	ck_assert_int_eq(history_save(&h), 0);
	ck_assert_int_lt(access(path, F_OK), 0);
	write_text("command one\nno-kind\n");
	ck_assert_int_eq(history_load(&h), 0);
	ck_assert_int_eq(history_save(&h), 0);
	assert_text("command one\nno-kind\n");
}

TEST(what_another_page_has_left_meanwhile_stays)
{
	write_text("command one\n");
	ck_assert_int_eq(history_load(&h), 0);
	add("mine");
	write_text("command one\ncommand theirs\n");
	ck_assert_int_eq(history_save(&h), 0);
	assert_text("command one\ncommand theirs\ncommand mine\n");
}

TEST(no_more_lines_are_kept_than_the_limit)
{
	char text[32];
	size_t at;
	int i;

	for (i = 0; i < HISTORY_MAX + 10; i++) {
		snprintf(text, sizeof text, "line %d", i);
		add(text);
	}
	ck_assert_uint_eq(h.n, HISTORY_MAX);
	ck_assert_int_eq(history_save(&h), 0);
	ck_assert_int_eq(history_load(&h), 0);
	ck_assert_uint_eq(h.n, HISTORY_MAX);
	at = 1;
	ck_assert_str_eq(history_find(&h, "command", "", true, &at), "line 10");
}

TEST(a_damaged_file_loses_its_bad_lines_alone)
{
	write_text("command good\ncommand b\x1b[2Jad\n\ncommand \xff\n"
	    " blank\nalone\ncommand last");
	ck_assert_int_eq(history_load(&h), 0);
	ck_assert_uint_eq(h.n, 2);
	ck_assert_str_eq(h.line[0].text, "command good");
	ck_assert_str_eq(h.line[1].text, "command last");
}

TEST(a_line_too_long_for_the_file_is_not_kept_by_halves)
{
	static char text[BASE_LINE_MAX + 1];

	memset(text, 'a', BASE_LINE_MAX);
	add(text);
	ck_assert_uint_eq(h.n, 0);
	text[BASE_LINE_MAX - strlen("command ")] = '\0';
	add(text);
	ck_assert_uint_eq(h.n, 1);
}

TEST(what_is_no_file_is_left_alone)
{
	write_text("");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	add("one");
	ck_assert_int_eq(history_save(&h), -ENOTSUP);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(history_load(&h), -EISDIR);
	ck_assert_int_eq(history_save(&h), -EISDIR);
	/* What was typed is still here. */
	ck_assert_uint_eq(h.n, 1);
	unsetenv("HOME");
	setenv("XDG_STATE_HOME", "", 1);
	ck_assert_int_eq(history_save(&h), -ENOENT);
}
