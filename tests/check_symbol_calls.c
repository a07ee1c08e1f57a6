/*
 * Words of addresses in programs built here: every call that they make, held
 * against llvm-addr2line.
 */
#include "symbol_rig.h"
#include "harness.h"

#include "../src/symbol/reader/reader.h"
#include "../src/symbol/symbol.h"

#ifdef HAVE_ELFUTILS

/* --- every call of a program -------------------------------------------- */

static const char source_c[] =
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "struct node { struct node *next; char *name; };\n"
    "static inline __attribute__((always_inline)) void *\n"
    "get(size_t n)\n"
    "{\n"
    "	return malloc(n);\n"
    "}\n"
    "static inline __attribute__((always_inline)) struct node *\n"
    "node(struct node *next, const char *name)\n"
    "{\n"
    "	struct node *n = get(sizeof *n);\n"
    "	n->next = next;\n"
    "	n->name = strdup(name);\n"
    "	return n;\n"
    "}\n"
    "__attribute__((noinline)) static struct node *\n"
    "list(int n)\n"
    "{\n"
    "	struct node *all = 0;\n"
    "	for (int i = 0; i < n; i++) {\n"
    "		if (i % 3)\n"
    "			all = node(all, \"three\");\n"
    "		else\n"
    "			all = node(all, getenv(\"HOME\"));\n"
    "	}\n"
    "	return all;\n"
    "}\n"
    "int\n"
    "main(int argc, char **argv)\n"
    "{\n"
    "	(void)argv;\n"
    "	return list(argc) == 0 || list(argc + 2) == 0;\n"
    "}\n";

static const char source_cc[] =
    "#include <map>\n"
    "#include <memory>\n"
    "#include <string>\n"
    "#include <vector>\n"
    "namespace {\n"
    "struct Pool {\n"
    "	std::vector<int> v;\n"
    "	inline __attribute__((always_inline)) void add(int n) { v.push_back(n); }\n"
    "	virtual ~Pool() { }\n"
    "};\n"
    "template <class T> inline __attribute__((always_inline)) void\n"
    "deep(T &p, int n)\n"
    "{\n"
    "	p.add(n);\n"
    "}\n"
    "}\n"
    "namespace a::b {\n"
    "struct C { std::map<std::string, int> m; int operator()(int n) { return m[std::to_string(n)]++; } };\n"
    "}\n"
    "__attribute__((noinline)) int\n"
    "go(int n)\n"
    "{\n"
    "	Pool p;\n"
    "	auto f = [&](int k) { deep(p, k); return std::make_unique<a::b::C>(); };\n"
    "	int sum = 0;\n"
    "	for (int i = 0; i < n; i++)\n"
    "		sum += (*f(i))(i);\n"
    "	return sum + (int)p.v.size();\n"
    "}\n"
    "template <int N> inline __attribute__((always_inline)) int nest(int n)\n"
    "{\n"
    "	if constexpr (N == 0) return go(n); else return nest<N - 1>(n) + 1;\n"
    "}\n"
    "__attribute__((noinline)) int nested(int n) { return nest<20>(n); }\n"
    "typedef std::map<std::string, std::map<std::string, std::string>> map;\n"
    "template <class A, class B> struct Long {\n"
    "	__attribute__((noinline)) static int first(int n) { return nested(n) + 1; }\n"
    "	__attribute__((noinline)) static int second(int n) { return nested(n) + 2; }\n"
    "};\n"
    "int main(int argc, char **)\n"
    "{\n"
    "	typedef Long<map, Long<map, int>> L;\n"
    "	return L::first(argc) + L::second(argc) == 4711;\n"
    "}\n";

static const char *const builds[] = {
	"gcc -O0 -g a.c",
	"gcc -O2 -g a.c",
	"gcc -O2 -g1 a.c",
	"gcc -O2 -g -no-pie a.c",
	"gcc -O2 -g -gdwarf-4 a.c",
	"gcc -O2 -g -gz a.c",
	"gcc -O2 -g -flto a.c",
	"clang -O0 -g a.c",
	"clang -O2 -g a.c",
	"clang -O2 -g1 a.c",
	"clang -O2 -g -gdwarf-4 a.c",
	"g++ -std=c++17 -O0 -g a.cc",
	"g++ -std=c++17 -O2 -g a.cc",
	"g++ -std=c++17 -O2 -g1 a.cc",
	"g++ -std=c++17 -O2 -g -no-pie a.cc",
	"g++ -std=c++17 -O2 -g -gdwarf-4 a.cc",
	"clang++ -std=c++17 -O0 -g a.cc",
	"clang++ -std=c++17 -O2 -g a.cc",
	"clang++ -std=c++17 -O2 -g1 a.cc",
};

#define CALLS_MAX 2048
/*
 * The addr2line of binutils names an inlined function without a mangled name
 * as the one around it, and that of elfutils finds no unit of clang's.
 */
#define ORACLE "/usr/lib/llvm-14/bin/llvm-addr2line"

/* What returns to: the address behind each call of .text, in a.out. */
static size_t
find_calls(struct symbol_place *place, uint64_t *addr)
{
	char command[2 * PATH_MAX];
	size_t n = 0;
	FILE *p;

	snprintf(command, sizeof(command), "cd '%s' && "
	    "objdump -d -j .text --no-show-raw-insn a.out | awk '"
	    "/\\tcall/ { c = 1; next } "
	    "c && /:\\t/ { sub(\":\", \"\", $1); print $1 } { c = 0 }'", dir);
	ck_assert_ptr_nonnull(p = popen(command, "r"));
	while (n < CALLS_MAX && fscanf(p, "%" SCNx64, &addr[n]) == 1) {
		place[n] = place[0];
		place[n].address = addr[n];
		n++;
	}
	pclose(p);
	ck_assert_uint_gt(n, 0);
	return n;
}

static FILE *
ask_oracle(const uint64_t *addr, size_t n)
{
	char command[2 * PATH_MAX];
	FILE *f = fopen(in_dir("addresses"), "w");

	for (size_t i = 0; i < n; i++)
		fprintf(f, "0x%" PRIx64 "\n", addr[i] - 1);
	fclose(f);
	snprintf(command, sizeof(command), "cd '%s' && "
	    ORACLE " -a -i -f -e a.out <addresses", dir);
	ck_assert_ptr_nonnull(f = popen(command, "r"));
	return f;
}

/*
 * The last part of the shortest form: one may know what a function is in, and
 * the other not.
 */
static const char *
own_name(const char *function, char out[256])
{
	const char *p, *last;

	symbol_short_name(function, out, 256);
	last = out;
	for (p = out; (p = strstr(p, "::")) != NULL; p += 2)
		last = p + 2;
	return last;
}

static void
check_function(const char *ours, char *theirs, uint64_t addr)
{
	char a[256], b[256];

	char *plain;

	/* Demanglers differ; it is not them that are tested. */
	theirs[strcspn(theirs, "\n")] = '\0';
	plain = symread_demangle(theirs);
	symbol_fit_name(plain);
	ck_assert_uint_le(strlen(ours), SYMBOL_NAME_MAX);
	ck_assert_msg(strcmp(own_name(ours, a), own_name(plain, b)) == 0,
	    "0x%" PRIx64 ": %s and not %s", addr, ours, plain);
	free(plain);
}

/* "path:line (discriminator 2)", "??:0" */
static void
check_line(const struct symbol_line *ours, char *theirs, uint64_t addr)
{
	char want[PATH_MAX], got[PATH_MAX];

	theirs[strcspn(theirs, " \n")] = '\0';
	snprintf(want, sizeof(want), "%s", base_of(theirs));
	snprintf(got, sizeof(got), "%s:%u", ours->file == NULL ? "??" :
	    base_of(ours->file), ours->line);
	/* The name of a source file is all that a symbol table has. */
	if (ours->file == NULL && want[strcspn(want, ":") + 1] == '0')
		return;
	ck_assert_msg(strcmp(got, want) == 0, "0x%" PRIx64 ": %s and not %s",
	    addr, got, want);
}

/* Of a chain too long the middle is left out, and a line says how much. */
static void
check_left_out(const struct symbol_line *line, unsigned n)
{
	char want[64];

	snprintf(want, sizeof(want), "(%u more inlined)", n);
	ck_assert_str_eq(line->function, want);
	ck_assert_ptr_null(line->file);
	ck_assert_uint_eq(line->line, 0);
}

#define LEVELS_MAX 64

/* Reads as far as the line that begins the next address, into `ahead`. */
static void
check_words(FILE *f, const struct symbol_words *w, uint64_t addr,
    char ahead[4096])
{
	static char name[LEVELS_MAX][4096], line[LEVELS_MAX][4096];
	unsigned n = 0;

	ck_assert(strncmp(ahead, "0x", 2) == 0);
	while (fgets(ahead, 4096, f) != NULL && strncmp(ahead, "0x", 2) != 0) {
		ck_assert_uint_lt(n, LEVELS_MAX);
		memcpy(name[n], ahead, 4096);
		ck_assert_ptr_nonnull(fgets(line[n], 4096, f));
		n += strncmp(ahead, "??", 2) != 0;
	}
	ck_assert_msg(w->n == (n < SYMBOL_INLINES_MAX ? n :
	    SYMBOL_INLINES_MAX), "0x%" PRIx64 ": %u levels and not %u", addr,
	    w->n, n);
	for (unsigned k = 0; k < w->n; k++) {
		unsigned theirs = k + 1 < w->n ? k : n - 1;

		if (n > w->n && k + 2 == w->n) {
			check_left_out(&w->line[k], n + 1 - w->n);
			continue;
		}
		check_function(w->line[k].function, name[theirs], addr);
		check_line(&w->line[k], line[theirs], addr);
	}
}

CASE("Programs", .setup = words_setup, .teardown = words_teardown,
    .seconds = 120);

LOOP_TEST(every_call_of_a_program_is_where_the_oracle_has_it, 0,
    BASE_NELEM(builds))
{
	static struct symbol_place place[CALLS_MAX];
	static struct symbol_words all[CALLS_MAX];
	static uint64_t addr[CALLS_MAX];
	char ahead[4096];
	size_t n;
	FILE *f;

	if (_i % check_stride(3) != 0)
		return;
	if (access(ORACLE, X_OK) < 0) {
		printf("skipped: there is no " ORACLE "\n");
		return;
	}
	write_file("a.c", source_c);
	write_file("a.cc", source_cc);
	must(builds[_i]);
	place[0] = place_in("a.out", 0);
	n = find_calls(place, addr);
	symbols_look(symbols, place, n, all);
	f = ask_oracle(addr, n);
	ck_assert_ptr_nonnull(fgets(ahead, sizeof(ahead), f));
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(all[i].address, addr[i]);
		check_words(f, &all[i], addr[i], ahead);
		symbol_words_fini(&all[i]);
	}
	pclose(f);
}

#else

CASE("None", .setup = words_setup, .teardown = words_teardown);

TEST(without_elfutils_no_call_has_words)
{
	ck_assert_int_eq(look((struct symbol_place) {
		.path = "/bin/true", .address = 5 }), SYMBOL_NO_READER);
}

#endif
