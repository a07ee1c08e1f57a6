/*
 * The module table, and what lies at its addresses: in this very process, in
 * children, in files that are exchanged and unlinked.
 */
#include "../src/symbol/symbol.h"
#include "harness.h"
#include "symbol_rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct symbol_modules *table;

/* It ends after its first byte, and nothing is in the 63 behind it. */
void short_function(void);
__asm__(".pushsection .text\n"
	".globl short_function\n"
	".type short_function, @function\n"
	"short_function:\n"
	"	.skip 1, 0x90\n"
	"	.size short_function, 1\n"
	"	.skip 63, 0x90\n"
	".popsection\n");

static void
setup(void)
{
	words_setup();
	ck_assert_int_eq(symbol_modules_new(&table), 0);
}

static void
teardown(void)
{
	symbol_modules_free(table);
	words_teardown();
}

static void
read_self(void)
{
	ck_assert_int_eq(symbol_modules_read(table, getpid()), 0);
}

/*
 * The function, else the module and an address in its tables, which a linker may
 * place elsewhere than in the file; else the address.
 */
static void
put_name(struct symbols *with, const struct symbol_modules *t, uint64_t addr,
    char *out, size_t cap)
{
	struct symbol_words w;
	struct symbol_place p;
	const char *slash;

	symbol_modules_place(t, addr, &p);
	symbols_look(with, &p, 1, &w);
	slash = p.path == NULL || p.path[0] == '[' ? NULL :
	    strrchr(p.path, '/');
	if (w.n > 0)
		snprintf(out, cap, "%s", w.line[w.n - 1].function);
	else if (p.path != NULL)
		snprintf(out, cap, "%s+0x%" PRIx64,
		    slash != NULL ? slash + 1 : p.path,
		    w.address != 0 ? w.address : p.address);
	else
		snprintf(out, cap, "0x%" PRIx64, addr);
	symbol_words_fini(&w);
}

static const char *
name_of(uint64_t addr)
{
	static char name[PATH_MAX];

	put_name(symbols, table, addr, name, sizeof(name));
	return name;
}

/* "module+0x..." as the dynamic linker knows it. */
static const char *
offset_name(uint64_t addr)
{
	static char name[PATH_MAX + 32];
	char exe[PATH_MAX];
	const char *path;
	Dl_info info;
	ssize_t n;

	ck_assert_int_ne(dladdr((void *)(uintptr_t)addr, &info), 0);
	path = info.dli_fname;
	if (ADDRESS(setup) - (uint64_t)(uintptr_t)info.dli_fbase < 1u << 30) {
		n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
		ck_assert_int_gt(n, 0);
		exe[n] = '\0';
		path = exe;
	}
	path = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
	snprintf(name, sizeof(name), "%s+0x%" PRIx64, path,
	    addr - (uint64_t)(uintptr_t)info.dli_fbase);
	return name;
}

/* --- lines of maps ------------------------------------------------------ */

static const struct {
	const char *line;
	struct maps_line want;	/* end 0: refused */
} line_cases[] = {
	{ "558d9201c000-558d92022000 r-xp 00002000 fe:00 247498     /usr/bin/head\n",
	    { 0x558d9201c000, 0x558d92022000, 0x2000, 247498, true, false, true,
		false, "/usr/bin/head" } },
	{ "7f00-8f00 rw-p 00000000 00:00 0 \n",
	    { 0x7f00, 0x8f00, 0, 0, true, true, false, false, "" } },
	{ "7f00-8f00 rwxp 00000000 00:00 0",
	    { 0x7f00, 0x8f00, 0, 0, true, true, true, false, "" } },
	{ "7f00-8f00 r-xp 0 00:00 0                          [vdso]\n",
	    { 0x7f00, 0x8f00, 0, 0, true, false, true, false,
		"[vdso]" } },
	{ "7f00-8f00 r-xp 0 fe:00 12   /tmp/my lib  (x).so\n",
	    { 0x7f00, 0x8f00, 0, 12, true, false, true, false,
		"/tmp/my lib  (x).so" } },
	{ "7f00-8f00 r-xp 0 fe:00 12   /tmp/a.so (deleted)\n",
	    { 0x7f00, 0x8f00, 0, 12, true, false, true, true,
		"/tmp/a.so" } },
	{ "7f00-8f00 r-xp 0 fe:00 12   /tmp/a\\012b\\x.so\n",
	    { 0x7f00, 0x8f00, 0, 12, true, false, true, false,
		"/tmp/a\nb\\x.so" } },
	{ "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n",
	    { 0xffffffffff600000, 0xffffffffff601000, 0, 0, false, false, true,
		false, "[vsyscall]" } },
	{ "", { 0 } },
	{ "\n", { 0 } },
	{ "7f00", { 0 } },
	{ "7f00-", { 0 } },
	{ "7f00-8f00", { 0 } },
	{ "7f00-8f00 r-xp", { 0 } },
	{ "7f00-8f00 r-xp 0", { 0 } },
	{ "7f00-8f00 r-xp 0 fe:00", { 0 } },
	{ "7f00-8f00 r-xp 0 fe:00 ", { 0 } },
	{ "7f00-8f00 r-x 0 fe:00 12 /a\n", { 0 } },
	{ "8f00-7f00 r-xp 0 fe:00 12 /a\n", { 0 } },
	{ "7f00-7f00 r-xp 0 fe:00 12 /a\n", { 0 } },
	{ "-7f00-8f00 r-xp 0 fe:00 12 /a\n", { 0 } },
	{ "zz-8f00 r-xp 0 fe:00 12 /a\n", { 0 } },
	{ "7f00-8f00 r-xp 0 fe:00 /a\n", { 0 } },
	{ "7f00-8f00 r-xp 0 fe:00 12x /a\n", { 0 } },
};

CASE("Maps");

LOOP_TEST(line_of_maps_reads, 0, BASE_NELEM(line_cases))
{
	const struct maps_line *want = &line_cases[_i].want;
	struct maps_line got = { .start = 4711 };
	char line[256];

	snprintf(line, sizeof(line), "%s", line_cases[_i].line);
	if (want->end == 0) {
		ck_assert_int_eq(maps_parse(line, &got), -EBADMSG);
		ck_assert_uint_eq(got.start, 4711);
		return;
	}
	ck_assert_int_eq(maps_parse(line, &got), 0);
	ck_assert_uint_eq(got.start, want->start);
	ck_assert_uint_eq(got.end, want->end);
	ck_assert_uint_eq(got.offset, want->offset);
	ck_assert_uint_eq(got.inode, want->inode);
	ck_assert_int_eq(got.readable, want->readable);
	ck_assert_int_eq(got.writable, want->writable);
	ck_assert_int_eq(got.executable, want->executable);
	ck_assert_int_eq(got.deleted, want->deleted);
	ck_assert_str_eq(got.path, want->path);
}

TEST(lines_of_a_text_are_taken_in_turn)
{
	char text[] = "10-20 r--p 0 00:00 0 /a\nnonsense\n\n"
	    "20-30 -w-p 0 00:00 0";
	static const struct {
		int result;
		const char *path;
	} want[] = { { 0, "/a" }, { -EBADMSG, NULL }, { -EBADMSG, NULL },
	    { 0, "" } };
	struct maps_line got;
	char *at = text;

	for (size_t i = 0; i < BASE_NELEM(want); i++) {
		ck_assert_int_ne(*at, '\0');
		ck_assert_int_eq(maps_parse_first(&at, &got), want[i].result);
		if (want[i].path != NULL)
			ck_assert_str_eq(got.path, want[i].path);
	}
	ck_assert_int_eq(*at, '\0');
	ck_assert(!got.readable && got.writable && !got.executable);
}

TEST(line_of_maps_cut_anywhere_survives)
{
	static const char whole[] =
	    "558d9201c000-558d92022000 r-xp 00002000 fe:00 247498  /a\\012b (deleted)\n";

	for (size_t len = 0; len < sizeof(whole); len++) {
		/* Of its own size, so that a sanitizer sees the end. */
		char *line = malloc(len + 1);
		struct maps_line got;

		memcpy(line, whole, len);
		line[len] = '\0';
		maps_parse(line, &got);
		free(line);
	}
}

/* --- this process ------------------------------------------------------- */

CASE("Modules", .setup = setup, .teardown = teardown, .seconds = 60);

TEST(static_function_is_found_by_name)
{
	uint64_t addr = ADDRESS(static_function);

	read_self();
	ck_assert(symbol_modules_covers(table, addr + 1));
	if (HAVE_NAMES)
		ck_assert_str_eq(name_of(addr + 1), "static_function");
	else
		ck_assert_str_eq(name_of(addr + 1), offset_name(addr + 1));
	/* What returns to its first byte was called by what is before it. */
	ck_assert_str_ne(name_of(addr), "static_function");
}

TEST(function_of_libc_is_found_by_name)
{
	void *p = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	uint64_t addr = (uint64_t)(uintptr_t)p;

	ck_assert_ptr_nonnull(p);
	read_self();
	if (HAVE_NAMES)
		ck_assert_str_eq(name_of(addr + 1), "gnu_get_libc_version");
	else
		ck_assert_str_eq(name_of(addr + 1), offset_name(addr + 1));
}

TEST(address_beyond_the_end_of_a_symbol_is_not_the_symbols)
{
	uint64_t addr = ADDRESS(short_function);

	read_self();
	if (HAVE_NAMES)
		ck_assert_str_eq(name_of(addr + 1), "short_function");
	ck_assert_str_eq(name_of(addr + 2), offset_name(addr + 2));
	ck_assert_str_eq(name_of(addr + 40), offset_name(addr + 40));
}

TEST(unknown_address_is_hexadecimal)
{
	ck_assert_str_eq(name_of(0), "0x0");
	ck_assert_str_eq(name_of(0x1234), "0x1234");
	read_self();
	ck_assert(!symbol_modules_covers(table, 0));
	ck_assert_str_eq(name_of(0), "0x0");
	ck_assert_str_eq(name_of(0x1234), "0x1234");
	ck_assert_str_eq(name_of(UINT64_MAX), "0xffffffffffffffff");
}

TEST(vdso_is_a_module)
{
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR);

	read_self();
	if (vdso != 0)
		ck_assert_str_eq(name_of(vdso + 0x10), "[vdso]+0x10");
}

static uint64_t
map_code(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return (uint64_t)(uintptr_t)p;
}

TEST(code_without_a_file_is_anonymous_and_stays_known)
{
	uint64_t addr = map_code(4096);

	read_self();
	ck_assert_str_eq(name_of(addr + 8), "[anon]+0x8");
	ck_assert_str_eq(name_of(addr + 4096), "[anon]+0x1000");
	ck_assert_str_ne(name_of(addr), "[anon]+0x0");
	ck_assert_int_eq(munmap((void *)(uintptr_t)addr, 4096), 0);
	read_self();
	ck_assert_str_eq(name_of(addr + 8), "[anon]+0x8");
}

TEST(too_many_ranges_of_code_leave_libraries_known)
{
	const size_t pages = 4 * SYMBOL_MODULES_MAX;
	uint64_t addr = ADDRESS(static_function);
	char *p;

	p = mmap(NULL, pages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
	    MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
	for (size_t i = 0; i < pages; i += 2)
		ck_assert_int_eq(mprotect(p + i * 4096, 4096, PROT_EXEC), 0);
	read_self();
	read_self();
	ck_assert(symbol_modules_covers(table, addr + 1));
	ck_assert(symbol_modules_covers(table,
	    (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
}

/* --- files that change -------------------------------------------------- */

/* Maps the file whole, as code; 0 where the directory allows none. */
static uint64_t
map_file(const char *path, void *where)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	p = mmap(where, (size_t)st.st_size, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | (where != NULL ? MAP_FIXED : 0), fd, 0);
	close(fd);
	if (p == MAP_FAILED && errno == EPERM) {
		printf("skipped: no code can be mapped from %s\n", dir);
		return 0;
	}
	ck_assert_ptr_ne(p, MAP_FAILED);
	return (uint64_t)(uintptr_t)p;
}

static void
check_offset_name(uint64_t addr, const char *module, uint64_t offset)
{
	char want[128];

	snprintf(want, sizeof(want), "%s+0x%" PRIx64, module, offset);
	ck_assert_str_eq(name_of(addr), want);
}

TEST(file_with_spaces_that_is_unlinked_later_keeps_its_names)
{
	uint64_t at = file_offset(ADDRESS(static_function)) + 1, base;
	const char *path = in_dir("my lib (x).so");

	copy_self(path);
	if ((base = map_file(path, NULL)) == 0)
		return;
	read_self();
	if (HAVE_NAMES)
		ck_assert_str_eq(name_of(base + at), "static_function");
	ck_assert_int_eq(unlink(path), 0);
	read_self();
	if (HAVE_NAMES)
		ck_assert_str_eq(name_of(base + at), "static_function");
	check_offset_name(base + 8, "my lib (x).so", 8);
}

TEST(file_unlinked_before_it_was_read_is_module_and_offset)
{
	uint64_t at = file_offset(ADDRESS(static_function)) + 1, base;
	const char *path = in_dir("gone.so");

	copy_self(path);
	if ((base = map_file(path, NULL)) == 0)
		return;
	ck_assert_int_eq(unlink(path), 0);
	read_self();
	check_offset_name(base + at, "gone.so", at);
	/* Another file of that name is not it. */
	copy_self(path);
	read_self();
	check_offset_name(base + at, "gone.so", at);
}

TEST(file_exchanged_since_gives_no_names)
{
	uint64_t at = file_offset(ADDRESS(static_function)) + 1, base;
	const char *path = in_dir("lib.so"), *other = in_dir("other.so");

	copy_self(path);
	copy_self(other);
	if ((base = map_file(path, NULL)) == 0)
		return;
	read_self();
	ck_assert_int_eq(rename(other, path), 0);
	check_offset_name(base + at, "lib.so", at);
}

TEST(file_changed_in_place_since_gives_no_names)
{
	uint64_t at = file_offset(ADDRESS(static_function)) + 1, base;
	const char *path = in_dir("lib.so");
	struct stat st;
	int64_t seen;

	copy_self(path);
	if ((base = map_file(path, NULL)) == 0)
		return;
	read_self();
	/* The clock of files is coarse: changed again until it shows. */
	seen = base_wall_ms();
	do {
		ck_assert_int_eq(chmod(path, 0600), 0);
		ck_assert_int_eq(stat(path, &st), 0);
	} while (st.st_ctim.tv_sec * INT64_C(1000) +
	    st.st_ctim.tv_nsec / 1000000 <= seen);
	check_offset_name(base + at, "lib.so", at);
}

TEST(another_file_takes_the_place_of_one_that_is_gone)
{
	uint64_t at = file_offset(ADDRESS(static_function)) + 1, base;
	const char *a = in_dir("a.so"), *b = in_dir("b.so");

	copy_self(a);
	copy_self(b);
	if ((base = map_file(a, NULL)) == 0)
		return;
	read_self();
	check_offset_name(base + 8, "a.so", 8);
	ck_assert_uint_eq(map_file(b, (void *)(uintptr_t)base), base);
	read_self();
	check_offset_name(base + 8, "b.so", 8);
	if (HAVE_NAMES)
		ck_assert_str_eq(name_of(base + at), "static_function");
}

/* --- other processes ---------------------------------------------------- */

/* A child that waits until it is killed. */
static pid_t
start_child(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void
end_child(pid_t pid, bool reap)
{
	siginfo_t info;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info,
	    WEXITED | (reap ? 0 : WNOWAIT)), 0);
}

TEST(process_that_has_ended_keeps_its_names)
{
	uint64_t addr = ADDRESS(static_function) + 1;
	pid_t pid = start_child();

	ck_assert_int_eq(symbol_modules_read(table, pid), 0);
	end_child(pid, false);
	ck_assert_int_eq(symbol_modules_read(table, pid), -ESRCH);
	end_child(pid, true);
	ck_assert_int_eq(symbol_modules_read(table, pid), -ESRCH);
	if (HAVE_NAMES)
		ck_assert_str_eq(name_of(addr), "static_function");
	else
		ck_assert_str_eq(name_of(addr), offset_name(addr));
}

TEST(copy_outlives_what_it_was_made_of)
{
	uint64_t addr = ADDRESS(static_function) + 1;
	struct symbol_modules *copy;
	char before[256], after[256];

	read_self();
	put_name(symbols, table, addr, before, sizeof(before));
	ck_assert_int_eq(symbol_modules_copy(table, &copy), 0);
	symbol_modules_free(table);
	table = copy;
	put_name(symbols, table, addr, after, sizeof(after));
	ck_assert_str_eq(before, after);
	read_self();
	put_name(symbols, table, addr, after, sizeof(after));
	ck_assert_str_eq(before, after);
}

static void *
look_up_often(void *arg)
{
	uint64_t addr = ADDRESS(static_function) + 1;
	uintptr_t bad = 0;

	(void)arg;
	for (int i = 0; i < 20; i++) {
		struct symbol_modules *t, *copy;
		char name[64];

		if (symbol_modules_new(&t) < 0 ||
		    symbol_modules_read(t, getpid()) < 0 ||
		    symbol_modules_copy(t, &copy) < 0)
			return (void *)1;
		put_name(symbols, t, addr, name, sizeof(name));
		bad |= HAVE_NAMES && strcmp(name, "static_function") != 0;
		symbol_modules_free(t);
		put_name(symbols, copy, addr, name, sizeof(name));
		bad |= HAVE_NAMES && strcmp(name, "static_function") != 0;
		symbol_modules_free(copy);
	}
	return (void *)bad;
}

TEST(tables_of_different_threads_share_a_reader)
{
	pthread_t threads[4];

	for (size_t i = 0; i < BASE_NELEM(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL,
		    look_up_often, NULL), 0);
	for (size_t i = 0; i < BASE_NELEM(threads); i++) {
		void *bad;

		ck_assert_int_eq(pthread_join(threads[i], &bad), 0);
		ck_assert_ptr_null(bad);
	}
}
