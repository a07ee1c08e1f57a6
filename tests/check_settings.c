/*
 * What :save makes of a file that a person has written: the settings that were
 * set, and not a byte more.
 */
#include <errno.h>
#include <sys/stat.h>

#include "../src/pagek/cli/config.h"
#include "harness.h"
#include "user_file.h"

static const char *value[OPTIONS];

static void
setup(void)
{
	make_folder();
	snprintf(path, sizeof path, "%s/new/config", folder);
	memset(value, 0, sizeof value);
}

static const struct {
	const char *before, *after;	/* with "sort = address" */
} edits[] = {
	{ "", "sort = address\n" },
	{ "# mine\n", "# mine\nsort = address\n" },
	{ "utc = yes", "utc = yes\nsort = address\n" },
	{ "utc = yes\n", "utc = yes\nsort = address\n" },
	{ "sort = age\n", "sort = address\n" },
	{ "  sort=age  # as the note\nutc = yes\n",
	    "  sort=address  # as the note\nutc = yes\n" },
	{ "sort =\tage\r\nutc = no\r\n", "sort =\taddress\r\nutc = no\r\n" },
	{ "# sort = age\n", "# sort = age\nsort = address\n" },
	{ "sorted = 1\nnonsense\n\n\n# end\n",
	    "sorted = 1\nnonsense\nsort = address\n\n\n# end\n" },
	{ "utc = yes\n\n# keys of mine\n[keys]\ns = none\n",
	    "utc = yes\nsort = address\n\n# keys of mine\n[keys]\n"
	    "s = none\n" },
	{ "[keys]\ns = none\n", "sort = address\n[keys]\ns = none\n" },
	{ "[keys]\nsort = age\n", "sort = address\n[keys]\nsort = age\n" },
	{ "sort = age\nsort = age\n", "sort = address\nsort = age\n" },
	{ "\xef\xbb\xbfsort = age\n", "\xef\xbb\xbfsort = address\n" },
	{ "\xef\xbb\xbf[keys]\ns = none\n",
	    "\xef\xbb\xbfsort = address\n[keys]\ns = none\n" },
	{ "\xff\xfe bad\nutc = yes\n",
	    "\xff\xfe bad\nutc = yes\nsort = address\n" },
};

CASE("Settings", .setup = setup, .teardown = remove_folder);

LOOP_TEST(a_setting_is_put_in_and_nothing_else_is_changed, 0,
    (int)BASE_NELEM(edits))
{
	struct stat st;

	if (edits[_i].before[0] != '\0')
		write_text(edits[_i].before);
	value[OPTION_SORT] = "address";
	ck_assert_int_eq(config_save(path, value), 0);
	assert_text(edits[_i].after);
	/* Again it finds what it wants. */
	ck_assert_int_eq(config_save(path, value), 0);
	assert_text(edits[_i].after);
	if (edits[_i].before[0] == '\0') {
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_uint_eq(st.st_mode & 0777, 0600);
	}
}

TEST(several_settings_go_in_at_once_and_come_back)
{
	char *bytes = NULL;
	size_t len;
	struct config c = { 0 };

	write_text("fps = 3 # slow\n[colors]\nnew = red\n");
	value[OPTION_SORT] = "address";
	value[OPTION_FPS] = "7";
	value[OPTION_SKIP] = "my_alloc*,pool_*";
	value[OPTION_UTC] = "no";
	ck_assert_int_eq(config_save(path, value), 0);
	ck_assert_int_eq(base_file_read(path, 1 << 20, &bytes, &len), 0);
	ck_assert_int_eq(config_parse(&c, CONFIG_USER, bytes, len, NULL, NULL),
	    0);
	ck_assert_str_eq(c.value[OPTION_SORT].text, "address");
	ck_assert_str_eq(c.value[OPTION_FPS].text, "7");
	ck_assert_str_eq(c.value[OPTION_SKIP].text, "my_alloc*,pool_*");
	ck_assert_int_eq(c.color[PAGE_NEW].style.ink, 1);
	ck_assert_ptr_nonnull(strstr(bytes, "fps = 7 # slow\n"));
	free(bytes);
	config_fini(&c);
}

TEST(a_link_and_a_mode_stay)
{
	char real[PATH_MAX];
	struct stat st;

	write_text("utc = yes\n");
	snprintf(real, sizeof real, "%s/real", folder);
	ck_assert_int_eq(rename(path, real), 0);
	ck_assert_int_eq(chmod(real, 0644), 0);
	ck_assert_int_eq(symlink(real, path), 0);
	value[OPTION_SORT] = "address";
	ck_assert_int_eq(config_save(path, value), 0);
	assert_text("utc = yes\nsort = address\n");
	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
}

TEST(what_is_no_file_is_never_replaced)
{
	struct stat st;

	value[OPTION_SORT] = "address";
	ck_assert_int_eq(config_save("/dev/null", value), -ENOTSUP);
	ck_assert_int_eq(stat("/dev/null", &st), 0);
	ck_assert(S_ISCHR(st.st_mode));
	ck_assert_int_eq(config_save(folder, value), -EISDIR);
	write_text("");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("nowhere", path), 0);
	ck_assert_int_lt(config_save(path, value), 0);
	ck_assert_int_lt(access(path, F_OK), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(config_save(path, value), -ENOTSUP);
}

/* The reader takes the wide layout, which was said last. */
TEST(a_line_that_would_hide_a_setting_is_told)
{
	write_text("classic = no\nwide = yes\n");
	value[OPTION_CLASSIC] = "yes";
	ck_assert_int_eq(config_save(path, value), -EINVAL);
	assert_text("classic = no\nwide = yes\n");
	value[OPTION_WIDE] = "no";
	ck_assert_int_eq(config_save(path, value), 0);
	assert_text("classic = yes\nwide = no\n");
}
