/*
 * Types of what is allocated: by the names of functions, and by debug
 * information, which is written here by hand so that it can be hostile.
 */
#include "symbol_rig.h"

#include "../src/symbol/reader/reader.h"

/* --- names of functions -------------------------------------------------- */

static const struct {
	const char *function;
	const char *type;	/* NULL: not told */
} told[] = {
	{ "std::allocator<app::Row>::allocate(unsigned long)", "app::Row" },
	{ "std::__new_allocator<std::_Rb_tree_node<std::pair<int const, "
	    "app::Row> > >::allocate(unsigned long, void const*)",
	    "std::pair<int const, app::Row>" },
	{ "__gnu_cxx::new_allocator<std::_List_node<char*> >::allocate("
	    "unsigned long, void const*)", "char*" },
	{ "std::__new_allocator<std::_Sp_counted_ptr_inplace<app::Key, "
	    "std::allocator<void>, (__gnu_cxx::_Lock_policy)2> >::allocate("
	    "unsigned long, void const*)", "app::Key" },
	{ "std::__new_allocator<std::__detail::_Hash_node<std::pair<int const, "
	    "long>, false> >::allocate(unsigned long)",
	    "std::pair<int const, long>" },
	{ "std::__new_allocator<std::__detail::_Hash_node_base*>::allocate("
	    "unsigned long)", "std::__detail::_Hash_node_base*" },
	{ "std::__1::allocator<std::__1::__tree_node<std::__1::__value_type<"
	    "int, app::Row>, void*> >::allocate[abi:v15](unsigned long)",
	    "std::pair<int const, app::Row>" },
	{ "std::__1::allocator<std::__1::__hash_node<app::Row, void*> >::"
	    "allocate(unsigned long)", "app::Row" },
	{ "std::_Rb_tree<app::Key, std::pair<app::Key const, int>, "
	    "std::_Select1st<std::pair<app::Key const, int> >, "
	    "std::less<app::Key> >::_M_get_node()",
	    "std::pair<app::Key const, int>" },
	{ "std::__cxx11::basic_string<char, std::char_traits<char>, "
	    "std::allocator<char> >::_M_create(unsigned long&, unsigned long)",
	    "char" },
	{ "std::__new_allocator<std::__cxx11::basic_string<char, "
	    "std::char_traits<char>, std::allocator<char> > >::allocate("
	    "unsigned long, void const*)", "std::string" },
	{ "std::__new_allocator<(anonymous namespace)::Row>::allocate("
	    "unsigned long)", "(anonymous namespace)::Row" },
	{ "std::__new_allocator<void (*)(int, char)>::allocate(unsigned long)",
	    "void (*)(int, char)" },
	{ "std::__new_allocator<void>::allocate(unsigned long)", NULL },
	{ "std::__new_allocator<>::allocate(unsigned long)", NULL },
	/* They tell nothing, or the names are of parameters. */
	{ "alloc::raw_vec::RawVec<T,A>::grow_one", NULL },
	{ "alloc::boxed::Box<T>::new", NULL },
	{ "app::Pool<app::Row>::allocate(unsigned long)", NULL },
	{ "std::filebuf::_M_allocate_internal_buffer()", NULL },
	{ "std::map<int, int>::operator[](int const&)", NULL },
	{ "main", NULL },
	{ "", NULL },
	{ "std::__new_allocator<", NULL },
	{ "std::__new_allocator<app::Row>::allocate<", "app::Row" },
	{ ">>>>::allocate<<<<", NULL },
};

CASE("Names");

LOOP_TEST(function_that_allocates_tells_its_type, 0, BASE_NELEM(told))
{
	for (int alone = 0; alone < 2; alone++) {
		char *type = symbol_type_in_name(told[_i].function, alone);

		if (told[_i].type == NULL)
			ck_assert_ptr_null(type);
		else
			ck_assert_str_eq(type, told[_i].type);
		free(type);
	}
}

static const char *const beside[] = {
	"std::_MakeUniq<app::Row []>::__array std::make_unique<app::Row []>("
	    "unsigned long)",
	"std::shared_ptr<app::Row> std::make_shared<app::Row, int>(int&&)",
	"std::vector<app::Row, std::allocator<app::Row> >::reserve("
	    "unsigned long)",
};

LOOP_TEST(what_can_have_other_code_inside_tells_with_debug_information, 0,
    BASE_NELEM(beside))
{
	char *type = symbol_type_in_name(beside[_i], false);

	ck_assert_str_eq(type, "app::Row");
	free(type);
	ck_assert_ptr_null(symbol_type_in_name(beside[_i], true));
}

static const struct {
	const char *function;
	int tells;
} parts[] = {
	{ "operator new(unsigned long)", SYMBOL_PASSES },
	{ "operator new[](unsigned long, std::align_val_t)", SYMBOL_PASSES },
	{ "malloc", SYMBOL_PASSES },
	{ "std::allocator_traits<std::allocator<int> >::allocate("
	    "std::allocator<int>&, unsigned long)", SYMBOL_PASSES },
	{ "std::__1::allocator_traits<std::__1::allocator<int> >::allocate("
	    "std::__1::allocator<int>&, unsigned long)", SYMBOL_PASSES },
	{ "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
	    SYMBOL_PASSES },
	{ "alloc::boxed::box_new_uninit", SYMBOL_PASSES },
	{ "alloc::boxed::Box<T>::new", SYMBOL_TELLS },
	/* A pool's chunk is not of the type that is asked of the pool. */
	{ "std::pmr::monotonic_buffer_resource::_M_new_buffer(unsigned long, "
	    "unsigned long)", SYMBOL_ENDS },
	{ "std::basic_filebuf<char, std::char_traits<char> >::"
	    "_M_allocate_internal_buffer()", SYMBOL_ENDS },
	{ "core::iter::adapters::map::map_fold", SYMBOL_ENDS },
	{ "stdlib_init", SYMBOL_OTHER },
	{ "app::Row::Row()", SYMBOL_OTHER },
	{ "malloc_all", SYMBOL_OTHER },
};

LOOP_TEST(only_what_allocates_nothing_else_is_looked_through, 0,
    BASE_NELEM(parts))
{
	ck_assert_int_eq(symbol_tells(parts[_i].function).tells,
	    parts[_i].tells);
}

TEST(long_and_deep_names_have_an_end)
{
	static const char *const bits[] = { "x", "<", "a<", "> >", ",(", "::",
		"std::_List_node<", "std::__1::" };

	for (size_t i = 0; i < BASE_NELEM(bits); i++) {
		char *name = calloc(1, 1 << 17), *type;
		size_t len = (size_t)sprintf(name, "std::allocator<");

		while (len < 1 << 16)
			len += (size_t)sprintf(name + len, "%s", bits[i]);
		strcat(name, ">::allocate(unsigned long)");
		type = symbol_type_in_name(name, true);
		if (type != NULL)
			ck_assert_uint_le(strlen(type), SYMBOL_NAME_MAX);
		free(type);
		type = symbol_type_text(name, len);
		if (type != NULL)
			ck_assert_uint_le(strlen(type), SYMBOL_NAME_MAX);
		free(type);
		free(name);
	}
}

#ifdef HAVE_ELFUTILS

/* --- debug information --------------------------------------------------- */

/*
 * std::__new_allocator::allocate(), whose names have no template argument: only
 * the parameter of its class has.  %1$s: what the parameter refers to; %2$s:
 * the unit's producer; %3$s: what the function has in it.
 */
static const char unit[] =
    ".section .debug_abbrev,\"\",@progbits\n"
    ".byte 1, 0x11, 1, 0x25, 8, 0x13, 0xb, 0x11, 1, 0x12, 6, 0, 0\n" /* unit */
    ".byte 2, 0x39, 1, 3, 8, 0, 0\n"		/* namespace */
    ".byte 3, 0x02, 1, 3, 8, 0, 0\n"		/* class */
    ".byte 4, 0x2f, 0, 0x49, 0x13, 0, 0\n"	/* type parameter */
    ".byte 5, 0x2e, 1, 3, 8, 0x3c, 0x19, 0x64, 0x13, 0, 0\n" /* declaration */
    ".byte 6, 0x05, 0, 0x49, 0x13, 0, 0\n"	/* parameter */
    ".byte 7, 0x0f, 0, 0x49, 0x13, 0, 0\n"	/* pointer */
    ".byte 8, 0x2e, 1, 0x47, 0x13, 0x11, 1, 0x12, 6, 0, 0\n" /* function */
    ".byte 9, 0x13, 0, 3, 8, 0, 0\n"		/* struct */
    ".byte 10, 0x16, 0, 3, 8, 0x49, 0x13, 0, 0\n"	/* typedef */
    ".byte 11, 0x2f, 0, 0, 0\n"		/* type parameter of no type */
    ".byte 12, 0x48, 0, 0x7d, 1, 0x8e, 0x7c, 0x13, 0, 0\n"	/* call */
    ".byte 13, 0x01, 1, 0x49, 0x13, 0, 0\n"	/* array */
    ".byte 14, 0x21, 0, 0x2f, 0xb, 0, 0\n"	/* its bound */
    ".byte 0\n"
    ".section .debug_info,\"\",@progbits\n"
    "info: .long end - begin\n"
    "begin: .short 4; .long .debug_abbrev; .byte __SIZEOF_POINTER__\n"
    ".byte 1; .asciz \"%2$s\"; .byte 4; .dc.a allocate; .long 64\n"
    ".byte 2; .asciz \"app\"\n"
    "row: .byte 9; .asciz \"Row\"; .byte 0\n"
    ".byte 2; .asciz \"std\"\n"
    "class: .byte 3; .asciz \"__new_allocator\"\n"
    "%1$s\n"
    "method: .byte 5; .asciz \"allocate\"; .long this - info\n"
    "this: .byte 6; .long pointer - info; .byte 0, 0, 0\n"
    "pointer: .byte 7; .long class - info\n"
    ".byte 8; .long method - info; .dc.a allocate; .long 64; %3$s; .byte 0, 0\n"
    "end:\n"
    ".section .note.GNU-stack,\"\",@progbits\n";

static const char functions[] =
    "__attribute__((noinline)) int g(int n) { __asm__ volatile(\"\"); return n; }\n"
    "__attribute__((noinline)) int allocate(int n)\n"
    "{ return g(n) + g(n + 1) + g(n + 2); }\n"
    "int main(int n, char **v) { (void)v; return allocate(n) == 0; }\n";

/* The type at the first call, or "-". */
static const char *
type_of(const char *parameter, const char *producer, const char *inside)
{
	size_t cap = sizeof(unit) + strlen(parameter) + strlen(inside) + 64;
	char *text = malloc(cap);

	snprintf(text, cap, unit, parameter, producer, inside);
	write_file("d.S", text);
	write_file("t.c", functions);
	free(text);
	must("gcc -O1 -fno-pie -no-pie t.c d.S -o t");
	look(place_in("t", address_in("t", "allocate") + 5));
	return words.type != NULL ? words.type : "-";
}

CASE("Debug information", .setup = words_setup, .teardown = words_teardown,
    .seconds = 120);

static const struct {
	const char *parameter, *type;	/* NULL: any */
} parameters[] = {
	{ ".byte 4; .long row - info", "app::Row" },
	{ ".byte 4; .long p - info; p: .byte 7; .long row - info", "app::Row*" },
	{ ".byte 4; .long t - info; t: .byte 10; .asciz \"Alias\"; "
	    ".long row - info", "app::Row" },
	{ ".byte 4; .long a - info; a: .byte 13; .long row - info; "
	    ".byte 14, 4, 0", "app::Row [5]" },
	{ ".byte 4; .long n - info; n: .byte 9; "
	    ".asciz \"_List_node<app::Row>\"", NULL },
	/* No name, or an end. */
	{ ".byte 11", "-" },
	{ "", "-" },
	{ ".byte 4; .long 0x7fffffff", "-" },
	{ ".byte 4; .long p - info; p: .byte 7; .long p - info", "-" },
	{ ".byte 4; .long p - info; p: .byte 7; .long q - info; "
	    "q: .byte 7; .long p - info", "-" },
	{ ".byte 4; .long p - info; p: .byte 10; .asciz \"A\"; "
	    ".long q - info; q: .byte 10; .asciz \"B\"; .long p - info", NULL },
	{ ".byte 4; .long class - info", "std::__new_allocator" },
	{ ".byte 4; .long this - info", "-" },
	{ ".byte 4; .long n - info; n: .byte 9; .asciz \"\"", "-" },
	{ ".byte 4; .long n - info; n: .byte 9; .fill 65536, 1, 0x78; .byte 0",
	    NULL },
	{ ".byte 4; .long n - info; n: .byte 9; .fill 65536, 1, 0x3c; .byte 0",
	    NULL },
};

LOOP_TEST(parameter_of_a_template_is_named_and_a_hostile_one_is_harmless, 0,
    BASE_NELEM(parameters))
{
	const char *type = type_of(parameters[_i].parameter, "cc", "");

	ck_assert_int_ne(words.known, SYMBOL_DAMAGED);
	ck_assert_str_eq(function(), "std::__new_allocator::allocate");
	if (parameters[_i].type != NULL)
		ck_assert_str_eq(type, parameters[_i].type);
	ck_assert_uint_le(strlen(type), SYMBOL_NAME_MAX);
	ck_assert_int_eq(words.type_from, words.type == NULL ?
	    SYMBOL_TYPE_UNKNOWN : SYMBOL_TYPE_TEMPLATE);
}

/* Chains of pointers: one that is followed, and one that is too long. */
TEST(pointers_to_pointers_have_an_end)
{
	char text[8192];
	size_t len;

	for (unsigned n = 5; n < 200; n += 194) {
		len = (size_t)sprintf(text, ".byte 4; .long p0 - info\n");
		for (unsigned i = 0; i < n; i++)
			len += (size_t)sprintf(text + len, "p%u: .byte 7; "
			    ".long p%u - info\n", i, i + 1);
		sprintf(text + len, "p%u: .byte 9; .asciz \"S\"", n);
		ck_assert_str_eq(type_of(text, "cc", ""), n == 5 ?
		    "std::__new_allocator::S*****" : "-");
	}
}

#define CALL(at, type) ".byte 12; .dc.a allocate + " at "; .long " type " - info; "

static const struct {
	const char *producer, *inside, *type;
} calls[] = {
	{ "clang version 22.1.8", CALL("5", "row"), "app::Row" },
	{ "clang version 22.1.8", CALL("9", "class") CALL("5", "row"),
	    "app::Row" },
	/* Of another call: the parameter is left. */
	{ "clang version 22.1.8", CALL("9", "row"), "app::Row*" },
	{ "cc", CALL("5", "row"), "app::Row*" },
	{ "clang version 22.1.8", CALL("5", "0x7fffffff + info"), "app::Row*" },
};

LOOP_TEST(call_says_what_it_allocates, 0, BASE_NELEM(calls))
{
	const char *type = type_of(".byte 4; .long p - info; "
	    "p: .byte 7; .long row - info", calls[_i].producer,
	    calls[_i].inside);

	ck_assert_str_eq(type, calls[_i].type);
	ck_assert_int_eq(words.type_from, strcmp(type, "app::Row") == 0 ?
	    SYMBOL_TYPE_CALL : SYMBOL_TYPE_TEMPLATE);
	/* And so it is when it comes from the cache. */
	look(place_in("t", address_in("t", "allocate") + 5));
	ck_assert_str_eq(words.type, calls[_i].type);
}

#endif
