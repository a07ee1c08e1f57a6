/*
 * Files with symbols: stripped ones and their debug files, strangers, damaged
 * ones; and names of C++.
 */
#include "../src/base/base.h"
#include "../src/symbol/demangle.h"
#include "../src/symbol/symfile.h"
#include "harness.h"
#include "self.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* --- files as such ------------------------------------------------------ */

static struct symfile_known
known_as(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return (struct symfile_known) {
		.inode = st.st_ino,
		.unchanged_since = INT64_MAX,
	};
}

static const char *
function_in(const char *path, uint64_t offset)
{
	static char name[256];
	struct symfile_known known = known_as(path);
	struct symfile *f;
	const char *found;

	ck_assert_int_eq(symfile_open(&f, path, path, &known), 0);
	found = symfile_function(f, offset);
	snprintf(name, sizeof(name), "%s", found == NULL ? "-" : found);
	symfile_close(f);
	return name;
}

/* Runs a shell command in the directory of the test. */
static bool
run(const char *command)
{
	char line[2 * PATH_MAX];

	snprintf(line, sizeof(line), "cd '%s' && { %s; } 2>/dev/null", dir,
	    command);
	return system(line) == 0;
}

START_TEST(file_that_is_not_the_known_one_is_not_opened)
{
	const char *path = in_dir("a.so");
	struct symfile_known known;
	struct symfile *f = NULL;

	copy_self(path);
	known = known_as(path);
	known.inode++;
	ck_assert_int_eq(symfile_open(&f, path, path, &known), -ENOENT);
	known = known_as(path);
	known.unchanged_since = 0;
	ck_assert_int_eq(symfile_open(&f, path, path, &known), -ENOENT);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	known = known_as(path);
	ck_assert_int_eq(symfile_open(&f, path, path, &known), -ENOENT);
	known = known_as("/dev/null");
	ck_assert_int_eq(symfile_open(&f, "/dev/null", "", &known), -ENOENT);
	ck_assert_ptr_null(f);
}
END_TEST

/*
 * The debug file is looked for by name, and believed for what it is: by the
 * build id when there is one, by the checksum when there is none.
 */
START_TEST(stripped_file_has_the_names_of_its_own_debug_file)
{
	uint64_t at = file_offset(ADDRESS(static_function));
	const char *path = in_dir("a.so");
	bool by_checksum = _i == 1;

	copy_self(path);
	if (!HAVE_NAMES ||
	    (by_checksum && !run("objcopy -R .note.gnu.build-id a.so")) ||
	    !run("objcopy --only-keep-debug a.so a.debug && strip a.so")) {
		printf("skipped: no elfutils or no binutils\n");
		return;
	}
	ck_assert_str_eq(function_in(path, at), "-");
	ck_assert(run("objcopy --add-gnu-debuglink=a.debug a.so"));
	ck_assert_str_eq(function_in(path, at), "static_function");

	/* In .debug beside it too, */
	ck_assert(run("mkdir .debug && mv a.debug .debug"));
	ck_assert_str_eq(function_in(path, at), "static_function");
	/* but not when it belongs to another file. */
	if (by_checksum)
		ck_assert(run("printf x >>.debug/a.debug"));
	else
		ck_assert(run("cd .debug && "
		    "objcopy --dump-section .note.gnu.build-id=id a.debug && "
		    "printf xxxx | dd of=id bs=1 seek=20 conv=notrunc && "
		    "objcopy --update-section .note.gnu.build-id=id a.debug"));
	ck_assert_str_eq(function_in(path, at), "-");
}
END_TEST

static uint64_t random_state = 1;

static size_t
random_below(size_t n)
{
	random_state = random_state * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (size_t)(random_state >> 33) % n;
}

/* Opens the file, looks up here and there, and does not care what it finds. */
static void
look_around(const char *path, size_t size)
{
	struct symfile_known known = known_as(path);
	struct symfile *f;

	if (symfile_open(&f, path, path, &known) < 0)
		return;
	symfile_function(f, 0);
	symfile_function(f, UINT64_MAX);
	for (int i = 0; i < 16; i++) {
		const char *name = symfile_function(f, random_below(size + 1));

		if (name != NULL && strlen(name) > size)
			ck_abort_msg("a name longer than its file");
	}
	symfile_close(f);
}

/*
 * Where damage matters most: the header, the segments behind it, the section
 * headers at the end, and anywhere.
 */
static size_t
damage_place(size_t size)
{
	switch (random_below(4)) {
	case 0:
		return random_below(64);
	case 1:
		return 64 + random_below(1024);
	case 2:
		return size - 1 - random_below(3000);
	default:
		return random_below(size);
	}
}

static uint8_t
damage_byte(void)
{
	static const uint8_t edges[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };

	return random_below(2) == 0 ? edges[random_below(sizeof(edges))] :
	    (uint8_t)random_below(256);
}

/* A small file with a symbol table, and its size. */
static size_t
make_small(const char *path)
{
	struct stat st;

	copy_self(path);
	if (!run("objcopy -g a.so"))
		printf("no binutils: slower\n");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_size, 8192);
	return (size_t)st.st_size;
}

START_TEST(damaged_file_is_survived)
{
	const char *path = in_dir("a.so");
	size_t size = make_small(path);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	random_state = 1 + (uint64_t)_i;
	for (int round = 0; round < 500; round++) {
		uint8_t was[8], byte;
		size_t at[8], n = 1 + random_below(BASE_NELEM(at));

		for (size_t i = 0; i < n; i++) {
			at[i] = damage_place(size);
			byte = damage_byte();
			ck_assert_int_eq(pread(fd, &was[i], 1, (off_t)at[i]),
			    1);
			ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at[i]),
			    1);
		}
		look_around(path, size);
		while (n-- > 0)
			ck_assert_int_eq(pwrite(fd, &was[n], 1, (off_t)at[n]),
			    1);
	}
	close(fd);
	/* All of it mended, it is what it was. */
	if (HAVE_NAMES)
		ck_assert_str_eq(function_in(path,
		    file_offset(ADDRESS(static_function))), "static_function");
}
END_TEST

START_TEST(file_cut_anywhere_is_survived)
{
	const char *path = in_dir("a.so");
	size_t size = make_small(path);

	for (size_t len = size; len > 0; len -= 1 + len / 20) {
		ck_assert_int_eq(truncate(path, (off_t)len), 0);
		look_around(path, size);
	}
	ck_assert_int_eq(truncate(path, 0), 0);
	look_around(path, size);
}
END_TEST

START_TEST(file_that_is_no_program_has_no_functions)
{
	ck_assert_str_eq(function_in("/etc/passwd", 0), "-");
	ck_assert_str_eq(function_in("/etc/passwd", 100), "-");
}
END_TEST

/* --- names of C++ ------------------------------------------------------- */

START_TEST(mangled_name_reads_as_its_program_writes_it)
{
	char *name = demangle("_ZN4Conn6acceptEi");

	ck_assert_ptr_null(demangle("main"));
	ck_assert_ptr_null(demangle(""));
	ck_assert_ptr_null(demangle("_"));
	ck_assert_ptr_null(demangle("_Z"));
	ck_assert_ptr_null(demangle("_ZN"));
	if (name == NULL) {
		printf("skipped: no C++ runtime\n");
		return;
	}
	ck_assert_str_eq(name, "Conn::accept(int)");
	free(name);
}
END_TEST

/* A<A<..>, A<..> >, each twice as long as the one that it refers to. */
static char *
demangle_doubled(unsigned times)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1AIiiE";
	size_t len = strlen(name);

	ck_assert_uint_le(times, 18);
	for (unsigned i = 0; i < times; i++)
		base_append(name, sizeof(name), &len, "1AIS%c_S%c_E",
		    digits[2 * i], digits[2 * i]);
	return demangle(name);
}

START_TEST(name_that_would_never_end_is_left_alone)
{
	char *name = demangle_doubled(1);

	if (name != NULL)
		ck_assert_str_eq(name,
		    "f(A<int, int>, A<A<int, int>, A<int, int> >)");
	free(name);
	/* Of 190 bytes this would make ten million, and so on. */
	ck_assert_ptr_null(demangle_doubled(18));
}
END_TEST

static Suite *
symfile_suite(void)
{
	Suite *s = suite_create("symfile");
	TCase *t;

	t = tcase_create("Files");
	tcase_add_checked_fixture(t, make_dir, remove_dir);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, file_that_is_not_the_known_one_is_not_opened);
	tcase_add_loop_test(t, stripped_file_has_the_names_of_its_own_debug_file,
	    0, 2);
	tcase_add_loop_test(t, damaged_file_is_survived, 0, 4);
	tcase_add_test(t, file_cut_anywhere_is_survived);
	tcase_add_test(t, file_that_is_no_program_has_no_functions);
	suite_add_tcase(s, t);

	t = tcase_create("C++");
	tcase_add_test(t, mangled_name_reads_as_its_program_writes_it);
	tcase_add_test(t, name_that_would_never_end_is_left_alone);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(symfile_suite)
