/*
 * Wrappers: which functions only pass a request on, by the names that real
 * programs have; and the short names that the patterns meet.
 */
#include "../src/base/base.h"
#include "../src/symbol/symbol.h"
#include "harness.h"

#include <errno.h>
#include <string.h>

static struct symbol_wrappers *w;

static void
setup(void)
{
	ck_assert_int_eq(symbol_wrappers_new(&w), 0);
}

static void
teardown(void)
{
	symbol_wrappers_free(w);
}

static size_t
count(void)
{
	size_t n = 0;

	while (symbol_wrappers_pattern(w, n) != NULL)
		n++;
	return n;
}

/* --- short names -------------------------------------------------------- */

static const struct {
	const char *function, *want;
} names[] = {
	{ "", "" },
	{ "main", "main" },
	{ "zmalloc.constprop.0", "zmalloc" },
	{ "f.isra.0.cold", "f" },
	{ "f.part.12.constprop.3", "f" },
	{ "f.llvm.1234567890", "f" },
	{ "f.lto_priv.0", "f" },
	{ "cmp.0", "cmp.0" },
	{ "cold", "cold" },
	{ ".cold", ".cold" },
	{ "f(int)", "f" },
	{ "f(int) [clone .cold]", "f" },
	{ "f(void (*)(int), char const*) [clone .isra.0] [clone .cold]", "f" },
	{ "std::vector<int, std::allocator<int> >::push_back(int&&)",
	    "std::vector::push_back" },
	{ "void std::vector<int>::_M_realloc_insert<int>(int&&)",
	    "std::vector::_M_realloc_insert" },
	{ "unsigned long f<int>(int)", "f" },
	{ "std::map<int, char>* f<int>(int)", "f" },
	{ "decltype(auto) f<int>(int)", "f" },
	{ "A::f(int) const", "A::f" },
	{ "A::f(int) const &", "A::f" },
	{ "operator new(unsigned long)", "operator new" },
	{ "operator new[](unsigned long, std::align_val_t)",
	    "operator new[]" },
	{ "operator delete(void*)", "operator delete" },
	{ "A::operator new(unsigned long)", "A::operator new" },
	{ "A::operator()(int) const", "A::operator()" },
	{ "A::operator[](int)", "A::operator[]" },
	{ "A::operator<(A const&)", "A::operator<" },
	{ "std::ostream& std::operator<< <char>(std::ostream&, char)",
	    "std::operator<<" },
	{ "bool operator< <int>(A<int>)", "operator<" },
	{ "A::operator->()", "A::operator->" },
	{ "A::operator<=>(A const&) const", "A::operator<=>" },
	{ "A::operator bool() const", "A::operator bool" },
	{ "A::operator std::vector<int>() const", "A::operator std::vector" },
	{ "operators(int)", "operators" },
	{ "my_operator(int)", "my_operator" },
	{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f" },
	{ "void (anonymous namespace)::f<int>(int)",
	    "(anonymous namespace)::f" },
	{ "a::(anonymous namespace)::f(int)", "a::(anonymous namespace)::f" },
	{ "f(int)::{lambda(char)#1}::operator()(char) const",
	    "f::{lambda#1}::operator()" },
	{ "f(int) const::{lambda(std::vector<int>)#2}::operator()() const",
	    "f::{lambda#2}::operator()" },
	{ "f[abi:cxx11](int)", "f" },
	{ "non-virtual thunk to A::f(int)", "A::f" },
	{ "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
	    "alloc::vec::Vec::drop" },
	{ "<<alloc::boxed::Box<dyn core::error::Error> as core::convert::From"
	    "<&str>>::from::Text as core::fmt::Debug>::fmt",
	    "alloc::boxed::Box::from::Text::fmt" },
	{ "core::ptr::drop_in_place::<alloc::string::String>",
	    "core::ptr::drop_in_place" },
	{ "core::ptr::drop_in_place<alloc::string::String>",
	    "core::ptr::drop_in_place" },
	{ "a::main::{{closure}}", "a::main::{{closure}}" },
	{ "a::main::{closure#0}", "a::main::{closure#0}" },
	{ "main.(*T).f", "main.(*T).f" },
	/* No grammar at all: it ends, and something is left. */
	{ "<", "<" }, { "(", "(" }, { ">", ">" }, { "a<", "a" },
	{ "a<b<c", "a" }, { "operator", "operator" }, { " ", " " },
	{ "a(", "a" }, { "{", "{" }, { "::<", "::<" },
};

CASE("Short names");

LOOP_TEST(short_name_is_without_types_arguments_and_clones, 0,
    BASE_NELEM(names))
{
	char out[128];

	symbol_short_name(names[_i].function, out, sizeof(out));
	ck_assert_str_eq(out, names[_i].want);
}

/* Of its own size, so that a sanitizer sees the end of it. */
LOOP_TEST(short_name_of_any_piece_keeps_to_its_room, 0, BASE_NELEM(names))
{
	size_t len = strlen(names[_i].function);

	for (size_t from = 0; from <= len; from++) {
		for (size_t n = 0; n <= len - from; n++) {
			char *piece = strndup(names[_i].function + from, n);
			char *room = malloc(n + 1);

			for (size_t cap = 0; cap <= n + 1; cap++) {
				symbol_short_name(piece, room, cap);
				if (cap > 0)
					ck_assert_uint_lt(strlen(room), cap);
			}
			free(room);
			free(piece);
		}
	}
}

/* --- names that fit ------------------------------------------------------ */

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, " \
	"std::allocator<char> >"
#define MAP "std::map<" STRING ", std::vector<" STRING ">, std::less<" STRING "> >"

static const struct {
	const char *function, *says;
} long_names[] = {
	{ "void* A<" MAP ", " MAP ">::first(int)", "::first(int)" },
	{ "void* A<" MAP ", " MAP ">::second(int)", "::second(int)" },
	{ "void* A<" MAP ", " MAP ">::second(long)", "::second(long)" },
	{ "void* A<" MAP ", int, " MAP ">::second(int)", "::second(int)" },
	{ "void* A<" MAP ", std::vector<" MAP "> >::second(int)", "A<" },
	{ "bool operator< <" MAP ", " MAP ">(A<int>)", "bool operator< <" },
	{ "A<" MAP ">::operator->(" MAP ")", "::operator->(" },
	{ "A<" MAP ">::operator()(" MAP ") const", ") const" },
	{ "A<&B::operator< , " MAP ", " MAP ">::f()", "A<" },
	{ "f(" MAP ", " MAP ")::{lambda(" MAP ")#1}::operator()(char) const",
	    "{lambda(" },
	{ "a::(anonymous namespace)::f(" MAP ", " MAP ")",
	    "a::(anonymous namespace)::f(" },
	{ "A<" MAP ", " MAP "> f<" MAP ">(" MAP ") [clone .constprop.0]",
	    "[clone .constprop.0]" },
	{ "<" MAP " as core::ops::drop::Drop<" MAP ">>::drop", ">::drop" },
};

CASE("Names that fit");

LOOP_TEST(long_name_says_which_function_of_which_class, 0,
    BASE_NELEM(long_names))
{
	const char *name = long_names[_i].function;
	char *fit = strdup(name), shorter[512], want[512];

	ck_assert_uint_gt(strlen(name), SYMBOL_NAME_MAX);
	symbol_fit_name(fit);
	ck_assert_uint_le(strlen(fit), SYMBOL_NAME_MAX);
	ck_assert_msg(strstr(fit, long_names[_i].says) != NULL, "%s", fit);
	ck_assert_ptr_nonnull(strstr(fit, "...#"));
	/* Rust's own type is between brackets that may be empty. */
	symbol_short_name(fit, shorter, sizeof(shorter));
	symbol_short_name(name, want, sizeof(want));
	if (name[0] != '<')
		ck_assert_str_eq(shorter, want);
	free(fit);
}

TEST(long_names_that_differ_go_on_differing)
{
	char *fit[BASE_NELEM(long_names)];

	for (size_t i = 0; i < BASE_NELEM(fit); i++) {
		fit[i] = strdup(long_names[i].function);
		symbol_fit_name(fit[i]);
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(fit[i], fit[k]);
	}
	for (size_t i = 0; i < BASE_NELEM(fit); i++)
		free(fit[i]);
}

TEST(name_that_fits_is_as_it_was)
{
	char name[SYMBOL_NAME_MAX + 1], was[SYMBOL_NAME_MAX + 1];

	for (size_t len = 0; len <= SYMBOL_NAME_MAX; len++) {
		memset(name, '<', len);
		name[len] = '\0';
		memcpy(was, name, sizeof(was));
		symbol_fit_name(name);
		ck_assert_str_eq(name, was);
	}
}

/* Two bytes each, so that a cut may fall into one. */
TEST(long_name_without_brackets_keeps_both_ends_in_whole_characters)
{
	for (size_t before = 0; before < 4; before++) {
		char name[1024] = "", twin[1024];

		memset(name, 'x', before);
		for (size_t i = 0; i < 200; i++)
			strcat(name, "\xc3\xa9");
		strcat(name, "end");
		strcpy(twin, name);
		twin[before + 200] ^= 1;
		symbol_fit_name(name);
		symbol_fit_name(twin);
		ck_assert_uint_le(strlen(name), SYMBOL_NAME_MAX);
		ck_assert_uint_gt(strlen(name), SYMBOL_NAME_MAX - 8);
		ck_assert_str_eq(name + strlen(name) - 3, "end");
		ck_assert_str_ne(name, twin);
		for (const char *p = name; *p != '\0';) {
			size_t n = base_utf8_char(p, strlen(p), NULL);

			ck_assert_uint_gt(n, 0);
			p += n;
		}
	}
}

/* Of its own size: what is shortened is shorter, whatever brackets it has. */
TEST(long_name_of_no_grammar_keeps_to_its_room)
{
	static const char *const pieces[] = { "<", ">", "(", ")", "operator",
		"operator<", "->", "a<", "{(", "::(", " ", "a(b", "]>" };

	for (size_t i = 0; i < BASE_NELEM(pieces); i++) {
		for (size_t k = 0; k < BASE_NELEM(pieces); k++) {
			size_t n = strlen(pieces[i]) + strlen(pieces[k]);
			char *name = calloc(1, 300 * n + 1);

			for (size_t times = 0; times < 300; times++) {
				strcat(name, pieces[i]);
				strcat(name, pieces[k]);
			}
			symbol_fit_name(name);
			ck_assert_uint_le(strlen(name), SYMBOL_NAME_MAX);
			ck_assert_uint_gt(strlen(name), 0);
			free(name);
		}
	}
}

/* --- the patterns we come with ------------------------------------------ */

/* Functions of redis, sqlite3, perl, python3, cc1 and C++ programs. */
static const char *const wrappers[] = {
	"zmalloc", "zcalloc", "zmalloc_usable", "ztrymalloc_usable",
	"ztrycalloc", "zrealloc", "zrealloc_usable", "ztryrealloc_usable",
	"zcalloc_num", "zmalloc.part.0", "zstrdup",
	"je_malloc", "je_arena_malloc_hard",
	"sqlite3MemMalloc", "sqlite3Malloc", "sqlite3MallocZero",
	"sqlite3_malloc64", "sqlite3DbMallocRawNN", "sqlite3DbMallocZero",
	"mallocWithAlarm", "dbMallocRawFinish", "sqlite3DbStrDup",
	"Perl_safesysmalloc", "Perl_safesysrealloc", "Perl_safesyscalloc",
	"PyMem_RawMalloc", "_PyMem_RawMalloc", "PyMem_Malloc",
	"PyObject_Malloc", "_PyObject_Malloc", "_PyObject_GC_NewVar",
	"_PyObject_GC_Alloc", "_PyObject_New", "PyType_GenericAlloc",
	"xmalloc", "xcalloc", "xrealloc", "xstrdup", "xmemdup",
	"ggc_internal_alloc(unsigned long, void (*)(void*), unsigned long, unsigned long)",
	"ggc_internal_cleared_alloc(unsigned long, void (*)(void*))",
	"g_malloc", "g_malloc0_n", "g_try_malloc0", "g_try_realloc_n",
	"g_slice_alloc0", "g_strdup",
	"strdup", "__strdup", "strndup", "malloc", "calloc", "realloc",
	"operator new(unsigned long)",
	"operator new[](unsigned long, std::nothrow_t const&)",
	"std::allocator<int>::allocate(unsigned long)",
	"std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
	"std::__new_allocator<int>::allocate(unsigned long, void const*)",
	"__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)",
	"std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
	"std::__detail::_Hash_node<int, false>* std::__detail::_Hashtable_alloc<std::allocator<int> >::_M_allocate_node<int>(int&&)",
	"__rust_alloc", "__rdl_alloc_zeroed", "alloc::alloc::alloc",
	"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
	"alloc::raw_vec::RawVec<T,A>::reserve::do_reserve_and_handle",
	"alloc::vec::Vec<T,A>::push",
	"<alloc::boxed::Box<dyn FnOnce<Args>> as FnOnce<Args>>::call_once",
	"<core::iter::adapters::map::Map<I,F> as core::iter::traits::iterator::Iterator>::fold",
	"<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
	"<<alloc::boxed::Box<dyn core::error::Error> as core::convert::From<&str>>::from::Text as core::fmt::Debug>::fmt",
	"hashbrown::map::HashMap<K,V,S,A>::insert",
	"hashbrown::raw::RawTable<T,A>::reserve_rehash",
	"std::io::stdio::stdout",
	"std::_Vector_base<char, std::allocator<char> >::_M_create_storage(unsigned long)",
	"std::_Hashtable<int, std::pair<int const, long>, std::allocator<int> >::_Scoped_node::_Scoped_node<int>(int&&)",
	"std::_Rb_tree<int, int, std::_Identity<int>, std::less<int> >::_M_get_node()",
	"std::vector<int, std::allocator<int> >::push_back(int const&)",
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)",
	"std::__1::vector<int, std::__1::allocator<int> >::__push_back_slow_path<int>(int&&)",
	"std::_MakeUniq<Conn>::__single_object std::make_unique<Conn>()",
	"std::thread::_M_start_thread(std::unique_ptr<std::thread::_State>, void (*)())",
	"__gnu_cxx::__freeres()", "__cxa_allocate_exception",
	"_cgo_3a1fc1b2c3d4_Cfunc__Cmalloc", "main._Cfunc_CString",
	"runtime.asmcgocall.abi0",
	"g_list_prepend", "g_hash_table_insert", "g_string_append_printf",
	"g_strdup_printf", "g_object_new_with_properties",
};

static const char *const callers[] = {
	"", "main", "sdsnewlen", "dictExpand", "createObject", "pcache1Fetch",
	"sqlite3BtreeOpen", "Perl_sv_grow", "Perl_newSVpvn",
	"_PyObject_MakeTpCall", "_PyObject_GenericGetAttrWithDict",
	"PyList_New", "PyDict_New", "mi_open", "mi_write", "tc_core_init",
	"malloc_stats", "mymalloc",
	"std_main", "stdx::vector::grow()", "mystd::vector<int>::grow()",
	"Server::accept(std::shared_ptr<Conn>)",
	"std::vector<int> Table::column<std::string>(int)",
	"alloc::Pool::get(int)", "Set::from_elem(int)", "core::Engine::load()", "my_hashbrown::f",
	"g_main_context_iteration", "gtk_button_new", "main.main",
	"make_node(tree_code)", "operator delete(void*)",
	"f(std::allocator<int>::allocate)",
	"get_allocator", "xmlParseDocument",
};

CASE("Patterns", .setup = setup, .teardown = teardown);

LOOP_TEST(what_only_passes_a_request_on_is_a_wrapper, 0, BASE_NELEM(wrappers))
{
	ck_assert_msg(symbol_wrappers_match(w, wrappers[_i]), "%s",
	    wrappers[_i]);
}

LOOP_TEST(what_asks_for_itself_is_none, 0, BASE_NELEM(callers))
{
	ck_assert_msg(!symbol_wrappers_match(w, callers[_i]), "%s",
	    callers[_i]);
}

TEST(no_pattern_stands_twice)
{
	for (size_t i = 0; i < count(); i++) {
		for (size_t k = i + 1; k < count(); k++)
			ck_assert_str_ne(symbol_wrappers_pattern(w, i),
			    symbol_wrappers_pattern(w, k));
	}
}

/* --- the user's own ----------------------------------------------------- */

static const struct {
	const char *text;
	int error;
	const char *want[4];	/* the last patterns */
} additions[] = {
	{ "my_alloc*", 0, { "my_alloc*" } },
	{ "a,b", 0, { "a", "b" } },
	{ " a , b\tc\n", 0, { "a", "b", "c" } },
	{ "operator new*", 0, { "operator new*" } },
	{ "A::operator new[],b", 0, { "A::operator new[]", "b" } },
	{ "a operator", 0, { "a", "operator" } },
	{ "none", 0, { NULL } },
	{ "none,a", 0, { "a" } },
	{ "a,none,b", 0, { "b" } },
	{ "nonesuch", 0, { "nonesuch" } },
	{ "", -EINVAL, { NULL } },
	{ " ", -EINVAL, { NULL } },
	{ ",", -EINVAL, { NULL } },
	{ "a,", -EINVAL, { NULL } },
	{ ",a", -EINVAL, { NULL } },
	{ "a,,b", -EINVAL, { NULL } },
	{ "none,", -EINVAL, { NULL } },
};

LOOP_TEST(patterns_are_added_behind_those_before, 0, BASE_NELEM(additions))
{
	size_t before = count(), n = 0;

	while (n < 4 && additions[_i].want[n] != NULL)
		n++;
	ck_assert_int_eq(symbol_wrappers_add(w, additions[_i].text),
	    additions[_i].error);
	if (additions[_i].error < 0) {
		ck_assert_uint_eq(count(), before);
		return;
	}
	if (strstr(additions[_i].text, "none") != NULL &&
	    strcmp(additions[_i].text, "nonesuch") != 0)
		before = 0;
	ck_assert_uint_eq(count(), before + n);
	for (size_t k = 0; k < n; k++)
		ck_assert_str_eq(symbol_wrappers_pattern(w, before + k),
		    additions[_i].want[k]);
}

TEST(own_patterns_match_as_fnmatch_has_them)
{
	ck_assert(!symbol_wrappers_match(w, "my_alloc"));
	ck_assert_int_eq(symbol_wrappers_add(w,
	    "my_a?loc, pool_[ab], N::*get, A::operator new[]"), 0);
	ck_assert(symbol_wrappers_match(w, "my_alloc"));
	ck_assert(!symbol_wrappers_match(w, "my_aloc"));
	ck_assert(symbol_wrappers_match(w, "pool_b"));
	ck_assert(!symbol_wrappers_match(w, "pool_c"));
	ck_assert(symbol_wrappers_match(w, "void* N::pool<int>::get<char>()"));
	ck_assert(!symbol_wrappers_match(w, "N::get_it()"));
	ck_assert(symbol_wrappers_match(w,
	    "A::operator new[](unsigned long)"));
}

/* A first letter tells nothing then. */
TEST(patterns_may_begin_with_any_letter)
{
	ck_assert_int_eq(symbol_wrappers_add(w,
	    "*_grab, ?take, [qz]fetch, \\get_it"), 0);
	ck_assert(symbol_wrappers_match(w, "my_grab"));
	ck_assert(symbol_wrappers_match(w, "xtake"));
	ck_assert(symbol_wrappers_match(w, "zfetch"));
	ck_assert(symbol_wrappers_match(w, "get_it"));
	ck_assert(!symbol_wrappers_match(w, "yfetch"));
}

TEST(none_skips_nothing)
{
	ck_assert_int_eq(symbol_wrappers_add(w, "none"), 0);
	ck_assert(!symbol_wrappers_match(w, "malloc"));
	ck_assert_ptr_null(symbol_wrappers_pattern(w, 0));
}

TEST(hostile_name_is_no_wrapper_and_no_harm)
{
	size_t len = 100000;
	char *name = malloc(len + 1);

	ck_assert_ptr_nonnull(name);
	for (size_t i = 0; i < len; i++)
		name[i] = "(<\xff\033[:a"[i % 7];
	name[len] = '\0';
	ck_assert(!symbol_wrappers_match(w, name));
	/* What every star of a pattern could begin to match. */
	memset(name, 'a', len);
	memcpy(name, "__rdl_", 6);
	ck_assert(!symbol_wrappers_match(w, name));
	memset(name, '<', len);
	ck_assert(!symbol_wrappers_match(w, name));
	free(name);
}
