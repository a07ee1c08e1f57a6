/*
 * Paths that the loader does not know in full, as the node finds them in
 * /proc: this program is the target.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../src/nodes/keeper/keeper.h"
#include "../src/nodes/host/proc.h"
#include "node_harness.h"

/* Where libc begins, and its file. */
static uint64_t
libc_start(const char **path)
{
	void *symbol = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	struct dl_find_object found;

	ck_assert_ptr_nonnull(symbol);
	ck_assert_int_eq(_dl_find_object(symbol, &found), 0);
	*path = found.dlfo_link_map->l_name;
	return (uint64_t)(uintptr_t)found.dlfo_map_start;
}

static void
expect_same_file(const char *a, const char *b)
{
	char real_a[PATH_MAX], real_b[PATH_MAX];

	ck_assert_ptr_nonnull(realpath(a, real_a));
	ck_assert_ptr_nonnull(realpath(b, real_b));
	ck_assert_str_eq(real_a, real_b);
}

static unsigned
put(struct keeper *k, uint64_t start, const char *path, bool cut)
{
	struct stream_module m = { .start = start, .end = start + 4096,
		.path = path, .cut = cut };
	unsigned no = 0;

	ck_assert_int_eq(stream_sites_put_module(k->sites, &m, &no), 0);
	return no;
}

static const char *
path_of(struct keeper *k, unsigned no)
{
	struct stream_module m;

	ck_assert(stream_sites_get_module(k->sites, no, &m));
	return m.path;
}

CASE("modules");

TEST(the_program_itself_is_what_it_ran_at_the_start)
{
	struct keeper *k;
	unsigned no;

	node_up(NULL);
	k = new_keeper("ALLOCLOG.self.1", 0);
	no = put(k, 0x400000, "", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, no), "");
	node_down();

	node_up(NULL);
	k = new_keeper("ALLOCLOG.self.1", 0);
	k->process.exe = strdup("/bin/prog");
	no = put(k, 0x400000, "", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, no), "/bin/prog");
	node_down();
}

/* As of "ld.so ./program", where the loader is what ran. */
TEST(the_program_is_what_lies_where_it_was_loaded)
{
	const char *libc;
	uint64_t start = libc_start(&libc);
	struct keeper *k;
	char mapped[PROC_PATH];
	unsigned there, nowhere, kernel;

	ck_assert_int_eq(proc_maps_path(getpid(), start, mapped), 0);
	node_up(NULL);
	k = new_keeper("ALLOCLOG.self.1", getpid());
	k->process.exe = strdup("/lib/loader.so");
	there = put(k, start, "", false);
	nowhere = put(k, 4096, "", false);
	kernel = put(k, getauxval(AT_SYSINFO_EHDR), "", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, there), mapped);
	ck_assert_str_eq(path_of(k, nowhere), "/lib/loader.so");
	ck_assert_str_eq(path_of(k, kernel), "/lib/loader.so");
	node_down();
}

TEST(relative_and_cut_paths_are_looked_up_while_it_lives)
{
	const char *libc;
	uint64_t start = libc_start(&libc);
	struct keeper *k;
	char begins[PATH_MAX], mapped[PROC_PATH];
	unsigned whole, relative, bare, cut, other, cut_other, nowhere, kernel;

	ck_assert_int_eq(proc_maps_path(getpid(), start, mapped), 0);
	expect_same_file(mapped, libc);
	snprintf(begins, sizeof begins, "%.*s", (int)strlen(mapped) - 3,
	    mapped);
	node_up(NULL);
	k = new_keeper("ALLOCLOG.self.1", getpid());
	whole = put(k, start, "/as/it/was/told", false);
	relative = put(k, start, strchr(mapped + 1, '/') + 1, false);
	bare = put(k, start, strrchr(mapped, '/') + 1, false);
	cut = put(k, start, begins, true);
	/* They lay there once. */
	other = put(k, start, "lib/other.so", false);
	cut_other = put(k, start, "/other/cut/in/the/midd", true);
	nowhere = put(k, 4096, "lib/gone.so", false);
	kernel = put(k, getauxval(AT_SYSINFO_EHDR), "linux-vdso.so.1", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, whole), "/as/it/was/told");
	ck_assert_str_eq(path_of(k, relative), mapped);
	ck_assert_str_eq(path_of(k, bare), mapped);
	ck_assert_str_eq(path_of(k, cut), mapped);
	ck_assert_str_eq(path_of(k, other), "lib/other.so");
	ck_assert_str_eq(path_of(k, cut_other), "/other/cut/in/the/midd");
	ck_assert_str_eq(path_of(k, nowhere), "lib/gone.so");
	if (getauxval(AT_SYSINFO_EHDR) != 0)
		ck_assert_str_eq(path_of(k, kernel), "[vdso]");
	node_down();
}

TEST(a_relative_path_of_what_is_unloaded_is_one_from_its_folder)
{
	char folder[] = "/tmp/pagek-paths-XXXXXX", other[] = "/tmp";
	char expected[PATH_MAX];
	struct keeper *k;
	unsigned here, there, none, bare;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(expected, sizeof expected, "%s/plugin.so", folder);
	fd = open(expected, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	node_up(NULL);
	/* Where it is, where it was at the start, and neither. */
	ck_assert_int_eq(chdir(folder), 0);
	k = new_keeper("ALLOCLOG.self.1", getpid());
	here = put(k, 4096, "./plugin.so", false);
	none = put(k, 4096, "./gone.so", false);
	bare = put(k, 4096, "plugin.so", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, here), expected);
	ck_assert_str_eq(path_of(k, none), "./gone.so");
	ck_assert_str_eq(path_of(k, bare), "plugin.so");
	ck_assert_int_eq(chdir(other), 0);
	k = new_keeper("ALLOCLOG.self.2", getpid());
	k->process.cwd = strdup(folder);
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	there = put(k, 4096, "././plugin.so", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, there), expected);
	node_down();
	unlink(expected);
	rmdir(folder);
}

TEST(an_ended_image_is_not_looked_up)
{
	const char *libc;
	uint64_t start = libc_start(&libc);
	struct keeper *k;
	unsigned no;

	node_up(NULL);
	k = new_keeper("ALLOCLOG.self.1", getpid());
	/* Another process may have its number by now. */
	images_end_image(k, WIRE_S_ENDED, 0, NULL);
	no = put(k, start, "lib/libc.so.6", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, no), "lib/libc.so.6");
	node_down();
}

TEST(each_module_is_looked_at_once)
{
	struct keeper *k;
	unsigned no;

	node_up(NULL);
	k = new_keeper("ALLOCLOG.self.1", 0);
	no = put(k, 4096, "", false);
	modules_find_paths(k);
	k->process.exe = strdup("/bin/late");
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, no), "");
	no = put(k, 8192, "", false);
	modules_find_paths(k);
	ck_assert_str_eq(path_of(k, no), "/bin/late");
	node_down();
}

/* --- /proc --------------------------------------------------------------- */

CASE("proc");

TEST(this_programs_file_is_found)
{
	char path[PROC_PATH];

	ck_assert_int_eq(proc_exe_path(getpid(), path), 0);
	expect_same_file(path, "/proc/self/exe");
	ck_assert_int_lt(proc_exe_path(0x3fffffff, path), 0);
}

TEST(paths_of_mappings_are_as_the_files_were_named)
{
	static const char *const names[] = { "plain", "with space",
		"new\nline", "was (deleted)" };
	char folder[] = "/tmp/pagek-paths-XXXXXX", path[PATH_MAX];
	char got[PROC_PATH];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (size_t i = 0; i < BASE_NELEM(names); i++) {
		int fd;
		void *p;

		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(ftruncate(fd, 8192), 0);
		p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
		ck_assert(p != MAP_FAILED);
		ck_assert_int_eq(unlink(path), 0);
		ck_assert_int_eq(proc_maps_path(getpid(),
		    (uint64_t)(uintptr_t)p, got), 0);
		ck_assert_str_eq(got, path);
		/* Not where it only goes on. */
		ck_assert_int_eq(proc_maps_path(getpid(),
		    (uint64_t)(uintptr_t)p + 4096, got), -ENOENT);
		munmap(p, 8192);
		close(fd);
	}
	rmdir(folder);
}

TEST(a_mapping_of_no_file_has_no_path)
{
	char got[PROC_PATH];
	void *p = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)p + 4096;

	ck_assert(p != MAP_FAILED);
	ck_assert_int_eq(mprotect((char *)p + 4096, 4096, PROT_READ), 0);
	ck_assert_int_eq(proc_maps_path(getpid(), at, got), -ENOENT);
	ck_assert_int_eq(proc_maps_path(getpid(), 1, got), -ENOENT);
	ck_assert_int_lt(proc_maps_path(0x3fffffff, at, got), 0);
}
