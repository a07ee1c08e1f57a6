/*
 * Words of addresses in programs built here: which files are believed, what is
 * told of those that are not, and names.
 */
#include "symbol_rig.h"
#include "harness.h"

#include "../src/symbol/reader/reader.h"

#include <sys/auxv.h>

#ifdef HAVE_ELFUTILS

/* --- files with and without --------------------------------------------- */

/* f calls g, which calls nothing: f's call returns behind its first bytes. */
static const char source_small[] =
    "__attribute__((noinline)) int g(int n) { __asm__ volatile(\"\"); return n; }\n"
    "__attribute__((noinline)) int\n"
    "f(int n)\n"
    "{\n"
    "	return g(n) + 1;\n"
    "}\n"
    "int main(int n, char **v) { (void)v; return f(n) == 0; }\n";

static uint64_t f_address;

static void
build_small(const char *options)
{
	char command[512];

	write_file("s.c", source_small);
	snprintf(command, sizeof(command), "gcc -O1 %s s.c -o s", options);
	must(command);
	/* Not its first byte: what returns there was called before it. */
	f_address = address_in("s", "f") + 5;
}

static void
small_is(enum symbol_known known, const char *name)
{
	ck_assert_int_eq(look(place_in("s", f_address)), known);
	ck_assert_str_eq(function(), name);
	ck_assert_uint_eq(words.address, f_address);
}

/* f calls g in h's place: its call lies in two files. */
static const char source_header[] =
    "static inline __attribute__((always_inline)) int\n"
    "h(int n)\n"
    "{\n"
    "	return g(n) + 1;\n"
    "}\n";
static const char source_includes[] =
    "__attribute__((noinline)) int g(int n) { __asm__ volatile(\"\"); return n; }\n"
    "#include \"../inc/h.h\"\n"
    "__attribute__((noinline)) int f(int n) { return h(n) + 1; }\n"
    "int main(int n, char **v) { (void)v; return f(n) == 0; }\n";

static const struct {
	const char *by;			/* in the folder b/c */
	bool relative;			/* nothing says where the paths begin */
	bool no_call;			/* nor in which file a call is */
} compiled[] = {
	{ .by = "gcc -g" },
	{ .by = "gcc -gdwarf-4" },
	{ .by = "gcc -gdwarf-3 -gstrict-dwarf" },
	{ .by = "gcc -gdwarf-2 -gstrict-dwarf", .no_call = true },
	{ .by = "gcc -g -gsplit-dwarf" },
	{ .by = "gcc -g -flto" },
	{ .by = "gcc -g -fdebug-prefix-map=$(cd ../.. && pwd)=.", .relative = true },
	{ .by = "clang -g" },
	{ .by = "clang -gdwarf-4" },
};

/* Is it the path of that file, however it gets there? */
static void
path_leads_to(const char *path, const char *file)
{
	char is[PATH_MAX], should[PATH_MAX], name[PATH_MAX + 64];

	ck_assert_ptr_nonnull(path);
	ck_assert_msg(path[0] == '/', "%s", path);
	ck_assert_msg(realpath(path, is) != NULL, "%s", path);
	snprintf(name, sizeof name, "%s/%s", dir, file);
	ck_assert_ptr_nonnull(realpath(name, should));
	ck_assert_str_eq(is, should);
}

CASE("Files", .setup = words_setup, .teardown = words_teardown, .seconds = 120);

TEST(file_without_debug_information_has_functions_and_no_lines)
{
	build_small("");
	small_is(SYMBOL_NO_LINE, "f");
	ck_assert_ptr_null(words.line[0].file);
}

LOOP_TEST(relative_source_paths_begin_at_the_folder_of_the_compiler, 0,
    BASE_NELEM(compiled))
{
	char command[512];

	if (strncmp(compiled[_i].by, "clang", 5) == 0 &&
	    !run("command -v clang")) {
		printf("skipped: there is no clang\n");
		return;
	}
	must("mkdir -p src inc b/c");
	write_file("src/s.c", source_includes);
	write_file("inc/h.h", source_header);
	snprintf(command, sizeof command, "cd b/c && %s -O1 -I../../inc "
	    "../../src/s.c -o ../../s", compiled[_i].by);
	must(command);
	ck_assert_int_eq(look(place_in("s", address_in("s", "f") + 5)),
	    SYMBOL_LINE);
	ck_assert_uint_eq(words.n, 2);
	if (compiled[_i].relative) {
		ck_assert(words.line[0].file[0] != '/');
		return;
	}
	path_leads_to(words.line[0].file, "inc/h.h");
	if (compiled[_i].no_call)
		ck_assert_ptr_null(words.line[1].file);
	else
		path_leads_to(words.line[1].file, "src/s.c");
}

TEST(stripped_file_has_no_symbol)
{
	build_small("-g");
	must("strip s");
	small_is(SYMBOL_NO_SYMBOL, "-");
}

TEST(stripped_library_has_its_dynamic_symbols)
{
	build_small("-fPIC -shared");
	must("strip s");
	small_is(SYMBOL_NO_LINE, "f");
}

TEST(minidebuginfo_has_the_functions)
{
	build_small("-g");
	must("nm s --format=posix --defined-only | "
	    "awk '$2 ~ /[tT]/ { print $1 }' | sort >keep && "
	    "objcopy --only-keep-debug s s.debug && "
	    "objcopy -S --remove-section .gdb_index --remove-section .comment "
	    "--keep-symbols=keep s.debug mini && xz mini && "
	    "strip s && objcopy --add-section .gnu_debugdata=mini.xz s");
	small_is(SYMBOL_NO_LINE, "f");
}

/*
 * Where the debug file may be; it is believed by its build id, or where there
 * is none by the checksum of the link.
 */
static const struct {
	const char *options, *where;
} debug_files[] = {
	{ "-g", "objcopy --add-gnu-debuglink=s.debug s" },
	{ "-g", "objcopy --add-gnu-debuglink=s.debug s && "
	    "mkdir .debug && mv s.debug .debug" },
	{ "-g -Wl,--build-id=none", "objcopy --add-gnu-debuglink=s.debug s" },
	{ "-g", "mkdir -p p/.build-id/$(cut -c1-2 id) && "
	    "mv s.debug p/.build-id/$(cut -c1-2 id)/$(cut -c3- id).debug" },
	{ "-g", "objcopy --add-gnu-debuglink=s.debug s && "
	    "mkdir -p p && mv s.debug p" },
	{ "-g", "objcopy --add-gnu-debuglink=s.debug s && "
	    "mkdir -p p$PWD && mv s.debug p$PWD" },
};

static void
open_with_path(void)
{
	struct symbols_opts o = { .reader = reader_path() };
	char path[3 * PATH_MAX];

	snprintf(path, sizeof(path), "/nonexistent::%s/p", dir);
	o.path = path;
	symbols_free(symbols);
	open_symbols(&o);
}

static void
split_off(int i)
{
	build_small(debug_files[i].options);
	must("readelf -n s | sed -n 's/.*Build ID: //p' >id && "
	    "objcopy --only-keep-debug s s.debug && strip s");
	must(debug_files[i].where);
	open_with_path();
}

LOOP_TEST(stripped_file_has_the_lines_of_its_own_debug_file, 0,
    BASE_NELEM(debug_files))
{
	split_off(_i);
	small_is(SYMBOL_LINE, "f");
	ck_assert_str_eq(base_of(words.line[0].file), "s.c");
	ck_assert_uint_eq(words.line[0].line, 5);
}

LOOP_TEST(debug_file_of_another_build_is_not_believed, 0,
    BASE_NELEM(debug_files))
{
	split_off(_i);
	/* Where there is no build id a byte more is another checksum. */
	must("d=$(find . -name '*.debug' -type f) && if test -s id; then "
	    "gcc -O1 -g -Wl,--build-id=0x1234 s.c -o other && "
	    "objcopy --only-keep-debug other \"$d\"; "
	    "else printf x >>\"$d\"; fi");
	small_is(SYMBOL_NO_SYMBOL, "-");
}

TEST(what_dwz_has_moved_out_is_found)
{
	if (system("command -v dwz >/dev/null 2>&1") != 0) {
		printf("skipped: dwz is not installed\n");
		return;
	}
	build_small("-g");
	must("cp s t && dwz -m alt s t && rm t");
	small_is(SYMBOL_LINE, "f");
	ck_assert_uint_eq(words.line[0].line, 5);
}

TEST(fetched_or_installed_debug_file_stands_in_for_a_file_that_is_gone)
{
	struct symbol_place p;

	split_off(3);
	p = place_in("s", f_address);
	must("rm s");
	ck_assert_int_eq(look(p), SYMBOL_LINE);
	ck_assert_str_eq(function(), "f");
	/* And where another file lies there now. */
	must("cp /bin/true s");
	p.mapped_ns = 1;
	ck_assert_int_eq(look(p), SYMBOL_LINE);
	must("rm -r p");
	symbols_free(symbols);
	open_symbols(&(struct symbols_opts){ .reader = reader_path() });
	ck_assert_int_eq(look(p), SYMBOL_OTHER_FILE);
	must("rm s");
	ck_assert_int_eq(look(p), SYMBOL_NO_FILE);
}

/* --- which file it is --------------------------------------------------- */

TEST(file_of_another_build_is_another_file)
{
	struct symbol_place p;

	build_small("-g");
	p = place_in("s", f_address);
	ck_assert_uint_gt(p.build_id_len, 0);
	p.build_id[3] ^= 1;
	ck_assert_int_eq(look(p), SYMBOL_OTHER_FILE);
	ck_assert_uint_eq(words.n, 0);
	p.build_id[3] ^= 1;
	p.build_id_len--;
	ck_assert_int_eq(look(p), SYMBOL_OTHER_FILE);
	p.build_id_len++;
	ck_assert_int_eq(look(p), SYMBOL_LINE);
}

TEST(without_a_build_id_inode_and_time_say_which_file_it_is)
{
	struct symbol_place p = { 0 };
	struct stat st;

	build_small("-g -Wl,--build-id=none");
	p.path = in_dir("s");
	p.address = f_address;
	ck_assert_int_eq(stat(p.path, &st), 0);
	p.inode = st.st_ino;
	p.mapped_ns = st.st_ctim.tv_sec * INT64_C(1000000000) +
	    st.st_ctim.tv_nsec;
	ck_assert_int_eq(look(p), SYMBOL_LINE);
	p.mapped_ns--;
	ck_assert_int_eq(look(p), SYMBOL_OTHER_FILE);
	p.mapped_ns = 0;
	ck_assert_int_eq(look(p), SYMBOL_LINE);
	p.inode++;
	ck_assert_int_eq(look(p), SYMBOL_OTHER_FILE);
	/* A build id that is wanted and not there is none of it. */
	p.build_id_len = 20;
	ck_assert_int_eq(look(p), SYMBOL_OTHER_FILE);
}

TEST(offset_in_the_file_is_looked_up_where_it_is_mapped)
{
	struct symbol_place p;

	build_small("-g -no-pie");
	p = place_in("s", f_address - 0x400000);
	p.by_offset = true;
	ck_assert_int_eq(look(p), SYMBOL_LINE);
	ck_assert_str_eq(function(), "f");
	ck_assert_uint_eq(words.address, f_address);
	p.address = UINT64_C(1) << 40;
	ck_assert_int_eq(look(p), SYMBOL_NO_SYMBOL);
	ck_assert_uint_eq(words.address, UINT64_C(1) << 40);
}

TEST(return_address_is_looked_up_in_the_call)
{
	build_small("-g");
	f_address = address_in("s", "f");
	ck_assert_int_ne(look(place_in("s", f_address + 1)), SYMBOL_PENDING);
	ck_assert_str_eq(function(), "f");
	/* What returns to its first byte was called by what is before it. */
	look(place_in("s", f_address));
	ck_assert_str_ne(function(), "f");
	ck_assert_int_eq(look(place_in("s", 0)), SYMBOL_NO_SYMBOL);
	ck_assert_int_eq(look(place_in("s", UINT64_MAX)), SYMBOL_NO_SYMBOL);
}

/* --- what is not there -------------------------------------------------- */

TEST(no_module_no_file_and_no_code_are_told_apart)
{
	static const char *const none[] = {
		NULL, "", "[anon]", "[heap]", "[vsyscall]",
	};

	for (size_t i = 0; i < BASE_NELEM(none); i++) {
		ck_assert_int_eq(look((struct symbol_place) {
			.path = none[i], .address = 0x1234 }),
		    SYMBOL_NO_MODULE);
		ck_assert_uint_eq(words.address, 0x1234);
	}
	ck_assert_int_eq(look((struct symbol_place) {
		.path = "/nonexistent/x.so", .address = 5 }), SYMBOL_NO_FILE);
	ck_assert_int_eq(look((struct symbol_place) {
		.path = "relative", .address = 5 }), SYMBOL_NO_FILE);
	ck_assert_int_eq(look((struct symbol_place) {
		.path = "/", .address = 5 }), SYMBOL_NO_FILE);
	ck_assert_int_eq(look((struct symbol_place) {
		.path = "/dev/zero", .address = 5 }), SYMBOL_NO_FILE);
}

TEST(fifo_where_a_file_was_is_no_file_and_holds_nobody)
{
	build_small("");
	must("mkfifo fifo && ln -s fifo link");
	ck_assert_int_eq(look((struct symbol_place) {
		.path = in_dir("fifo"), .address = 5 }), SYMBOL_NO_FILE);
	ck_assert_int_eq(look((struct symbol_place) {
		.path = in_dir("link"), .address = 5 }), SYMBOL_NO_FILE);
	small_is(SYMBOL_NO_LINE, "f");
}

TEST(what_is_no_program_is_damaged)
{
	struct symbol_place p = { .address = f_address };

	build_small("-g");
	must("echo hello >text && : >empty && head -c 300 s >head && "
	    "head -c $(($(stat -c %s s) - 100)) s >cut && "
	    "gcc -c s.c -o object");
	p.address = f_address;
	for (unsigned i = 0; i < 5; i++) {
		p.path = in_dir(((const char *const[]) { "text", "empty",
		    "head", "cut", "object" })[i]);
		ck_assert_msg(look(p) == SYMBOL_DAMAGED, "%s: %d", p.path,
		    words.known);
		ck_assert_uint_eq(words.n, 0);
	}
	small_is(SYMBOL_LINE, "f");
}

TEST(damaged_debug_information_leaves_the_symbol)
{
	build_small("-g");
	must("objcopy --dump-section .debug_info=i --dump-section "
	    ".debug_abbrev=a s && head -c 3 i >j && "
	    "objcopy --update-section .debug_info=j s");
	look(place_in("s", f_address));
	ck_assert_str_eq(function(), "f");
	ck_assert_int_ne(words.known, SYMBOL_LINE);
}

/* --- names -------------------------------------------------------------- */

static const struct {
	const char *symbol, *want;
} mangled[] = {
	{ "_ZN3foo3barEi", "foo::bar(int)" },
	{ "_Znwm", "operator new(unsigned long)" },
	{ "_ZN5alloc3vec12Vec$LT$T$GT$4push17h0123456789abcdefE",
	    "alloc::vec::Vec<T>::push" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RNvMNtCs1234_7mycrate3fooNtB2_3Bar3baz",
	    "<mycrate::foo::Bar>::baz" },
	{ "plain", "plain" },
	{ "zmalloc.constprop.0", "zmalloc.constprop.0" },
	{ "_Zbad", "_Zbad" },
	{ "_R", "_R" },
	{ "versioned@@V_1", "versioned" },
};

CASE("Names", .setup = words_setup, .teardown = words_teardown, .seconds = 120);

LOOP_TEST(names_of_cxx_and_rust_are_as_their_programs_write_them, 0,
    BASE_NELEM(mangled))
{
	char text[512];

	snprintf(text, sizeof(text),
	    "\t.text\n\t.globl \"%s\"\n\t.type \"%s\", @function\n"
	    "\"%s\":\n\tnop\n\tnop\n\tnop\n\tret\n\t.size \"%s\", 4\n",
	    mangled[_i].symbol, mangled[_i].symbol, mangled[_i].symbol,
	    mangled[_i].symbol);
	write_file("m.s", text);
	write_file("v", "V_1 { };\n");
	must("gcc -shared -nostdlib -Wl,--version-script=v m.s -o m");
#ifdef HAVE_IBERTY
	ck_assert_int_eq(look(place_in("m", number_of(
	    "objdump -h -j .text m | awk '$2 == \".text\" { print $4 }'") +
	    2)), SYMBOL_NO_LINE);
	ck_assert_str_eq(function(), mangled[_i].want);
#endif
}

/* A symbol of any bytes: the name of one that as(1) takes is overwritten. */
static void
build_with_name(const char *name, size_t len)
{
	FILE *f;

	ck_assert_ptr_nonnull(f = fopen(in_dir("n.s"), "w"));
	fprintf(f, "\t.text\n\t.globl X");
	for (size_t i = 1; i < len; i++)
		putc('Y', f);
	fprintf(f, "\n\t.type X");
	for (size_t i = 1; i < len; i++)
		putc('Y', f);
	fprintf(f, ", @function\nX");
	for (size_t i = 1; i < len; i++)
		putc('Y', f);
	fprintf(f, ":\n\tnop\n\tnop\n\tret\n\t.size X");
	for (size_t i = 1; i < len; i++)
		putc('Y', f);
	fprintf(f, ", 3\n");
	fclose(f);
	must("gcc -shared -nostdlib n.s -o n && strip n");
	ck_assert_ptr_nonnull(f = fopen(in_dir("name"), "w"));
	fwrite(name, 1, len, f);
	fclose(f);
	must("python3 -c 'd = open(\"n\", \"rb\").read(); "
	    "n = open(\"name\", \"rb\").read(); "
	    "x = b\"X\" + b\"Y\" * (len(n) - 1); "
	    "open(\"n\", \"wb\").write(d.replace(x, n))'");
}

TEST(hostile_name_comes_with_both_ends_as_they_are)
{
	static char name[100000];
	uint64_t addr;

	memcpy(name, "\033]0;owned\007\xff\xfe\n", 13);
	for (size_t i = 13; i < sizeof(name); i++)
		name[i] = (char)('\x80' + i % 64);
	build_with_name(name, sizeof(name));
	addr = number_of("objdump -h -j .text n | "
	    "awk '$2 == \".text\" { print $4 }'") + 2;
	ck_assert_int_eq(look(place_in("n", addr)), SYMBOL_NO_LINE);
	ck_assert_uint_le(strlen(function()), SYMBOL_NAME_MAX);
	ck_assert_uint_gt(strlen(function()), 240);
	ck_assert_int_eq(memcmp(function(), name, 100), 0);
	ck_assert_ptr_nonnull(memmem(name, sizeof(name),
	    function() + strlen(function()) - 100, 100));
}

/* --- functions in assembler ---------------------------------------------- */

#define FUNCTION(name) "\t.type " name ",@function\n" name ":"
#define OBJECT(name) "\t.type " name ",@object\n" name ":"
#define SIZE(name) "\t.size " name ",.-" name "\n"

/* A byte for each nop; the comment is the function that it is in, - none. */
static const char assembler[] =
    "\t.text\n"
    "\tnop # -\n"
    FUNCTION("sizeless") "\tnop # sizeless\n\tnop # sizeless\n"
    "\t.globl typeless\ntypeless:\tnop # typeless\n\tnop # typeless\n"
    "local:\tnop # local\n\tnop # local\n"
    FUNCTION("whole") "\tnop # whole\n\tnop # whole\n" SIZE("whole")
    "\tnop # -\n"
    "after:\tnop # after\n\tnop # after\n"
    FUNCTION("whole2") "\tnop # whole2\n" SIZE("whole2")
    "\tnop # -\n"
    "sized:\tnop # sized\n\tnop # sized\n" SIZE("sized")
    "\tnop # -\n"
    "table_user:\tnop # table_user\n"
    OBJECT("table") "\tnop # table\n\tnop # table\n"
    "table_next:\tnop # table_next\n"
    "data_user:\tnop # data_user\n"
    OBJECT("data") "\tnop # data\n\tnop # data\n" SIZE("data")
    "\tnop # -\n"
    /* Several names. */
    "one:\n\t.globl _other\n_other:\tnop # _other\n\tnop # _other\n"
    FUNCTION("both") "\nboth_too:\n\t.globl both_global\nboth_global:"
    "\tnop # both\n" SIZE("both")
    "\tnop # -\n"
    FUNCTION("typed") "\n\t.weak untyped\nuntyped:\tnop # untyped\n"
    /* A label inside. */
    FUNCTION("around") "\tnop # around\n"
    "label:\tnop # label\n\tnop # label\n" SIZE("around")
    "\tnop # label\n"
    "last:\tnop # last\n";

#define LLVM_ADDR2LINE "/usr/lib/llvm-14/bin/llvm-addr2line"

static void
check_assembler(const char *options)
{
	char command[512], theirs[64], want[64];
	uint64_t pc;
	FILE *llvm;

	write_file("a.s", assembler);
	snprintf(command, sizeof(command), "gcc -shared -nostdlib %s a.s -o a",
	    options);
	must(command);
	pc = number_of("objdump -h -j .text a | "
	    "awk '$2 == \".text\" { print $4 }'");
	snprintf(command, sizeof(command),
	    "for i in $(seq 0 99); do echo $((0x%" PRIx64 " + i)); done | "
	    "xargs printf '0x%%x\\n' | " LLVM_ADDR2LINE " -f -e '%s' | "
	    "sed -n 'p;n'", pc, in_dir("a"));
	llvm = access(LLVM_ADDR2LINE, X_OK) == 0 ? popen(command, "r") : NULL;
	for (const char *p = assembler; (p = strstr(p, "nop # ")) != NULL;
	    p++, pc++) {
		ck_assert_int_eq(sscanf(p, "nop # %63s", want), 1);
		look(place_in("a", pc + 1));
		ck_assert_msg(strcmp(function(), want) == 0,
		    "0x%" PRIx64 ": %s and not %s", pc, function(), want);
		if (llvm == NULL)
			continue;
		ck_assert_int_eq(fscanf(llvm, "%63s", theirs), 1);
		ck_assert_msg(strcmp(theirs, "??") == 0 ?
		    strcmp(want, "-") == 0 : strcmp(theirs, want) == 0,
		    "0x%" PRIx64 ": llvm has %s, not %s", pc, theirs, want);
	}
	if (llvm != NULL)
		pclose(llvm);
}

TEST(functions_without_type_or_size_are_told_apart)
{
	check_assembler("");
}

/* Their names are in the debug file alone. */
TEST(so_are_those_of_a_debug_file)
{
	check_assembler("-Wl,--build-id");
	must("mkdir -p .debug && objcopy --only-keep-debug a .debug/a.debug && "
	    "strip a && objcopy --add-gnu-debuglink=.debug/a.debug a");
	ck_assert_int_eq(look(place_in("a", number_of("objdump -h -j .text a | "
	    "awk '$2 == \".text\" { print $4 }'") + 4)), SYMBOL_NO_LINE);
	ck_assert_str_eq(function(), "typeless");
}

/* ARM marks where code and data begin. */
TEST(marks_of_arm_are_no_names)
{
	write_file("a.s", "\t.text\nf:\tnop\n$d:\tnop\n$x.7:\tnop\n"
	    "$dollar:\tnop\n");
	must("gcc -shared -nostdlib a.s -o a");
	for (unsigned i = 0; i < 4; i++) {
		look(place_in("a", address_in("a", "f") + i + 1));
		ck_assert_str_eq(function(), i < 3 ? "f" : "$dollar");
	}
}

CASE("Files");

TEST(vdso_is_read_from_our_own)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct symbol_place p = { .path = "[vdso]", .address = 0x10 };

	if (start == 0) {
		printf("skipped: there is no vdso\n");
		return;
	}
	ck_assert_int_eq(look(p), SYMBOL_NO_SYMBOL);
	p.build_id_len = 20;
	ck_assert_int_eq(look(p), SYMBOL_OTHER_FILE);
}

#else

CASE("None", .setup = words_setup, .teardown = words_teardown);

TEST(without_elfutils_there_is_no_reader)
{
	ck_assert_int_eq(look((struct symbol_place) {
		.path = "/bin/true", .address = 5 }), SYMBOL_NO_READER);
}

#endif
