/*
 * Types of what is allocated, from the names of the functions that allocate.
 *
 * A row tells how a function of a library takes part in an allocation.  It
 * passes the request on; or the request is for objects of one of its template
 * arguments, and for nothing else.  A function of a library without a row may
 * allocate anything: no type is known behind it.
 */
#include "symbol.h"

#include "../base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_MAX 512
#define UNWRAPPED_MAX 8

#define ALONE true
#define PASSES { .tells = SYMBOL_PASSES }
#define CLASS(n, alone_) { .tells = SYMBOL_TELLS, .of_class = true, \
	.argument = (n), .alone = alone_ }
#define FUNCTION(n) { .tells = SYMBOL_TELLS, .argument = (n) }
#define RUST { .tells = SYMBOL_TELLS, .rust = true }

/* A '*' ends a beginning; the first row that matches is taken. */
static const struct {
	const char *name;
	struct symbol_told told;
} rows[] = {
	{ "malloc", PASSES }, { "calloc", PASSES }, { "realloc", PASSES },
	{ "aligned_alloc", PASSES }, { "posix_memalign", PASSES },
	{ "operator new*", PASSES },
	/* C++. */
	{ "std::allocator::allocate*", CLASS(0, ALONE) },
	{ "std::__new_allocator::allocate", CLASS(0, ALONE) },
	{ "__gnu_cxx::new_allocator::allocate", CLASS(0, ALONE) },
	{ "__gnu_cxx::malloc_allocator::allocate", CLASS(0, ALONE) },
	{ "std::pmr::polymorphic_allocator::allocate", CLASS(0, ALONE) },
	{ "std::_Vector_base::_M_allocate", CLASS(0, ALONE) },
	{ "std::_Vector_base::_M_create_storage", CLASS(0, ALONE) },
	{ "std::_Deque_base::_M_allocate_node", CLASS(0, ALONE) },
	{ "std::_List_base::_M_get_node", CLASS(0, ALONE) },
	{ "std::_Fwd_list_base::_M_get_node", CLASS(0, ALONE) },
	{ "std::_Rb_tree::_M_get_node", CLASS(1, ALONE) },
	/* Their own memory is the text; elements allocate nothing. */
	{ "std::basic_string::*", CLASS(0, ALONE) },
	{ "std::vector::*", CLASS(0, false) },
	{ "std::make_unique*", FUNCTION(0) },
	{ "std::make_shared*", FUNCTION(0) },
	{ "std::allocate_shared*", FUNCTION(0) },
	{ "std::allocator_traits::allocate*", PASSES },
	{ "std::__allocate_guarded*", PASSES },
	{ "std::__allocate_at_least", PASSES },
	{ "std::__libcpp_allocate", PASSES },
	{ "std::__libcpp_operator_new", PASSES },
	{ "__gnu_cxx::__alloc_traits::allocate", PASSES },
	{ "std::pmr::memory_resource::allocate", PASSES },
	{ "std::pmr::(anonymous namespace)::newdel_res_t::do_allocate", PASSES },
	{ "std::pmr::__new_delete_memory_resource_imp::do_allocate", PASSES },
	/* Rust. */
	{ "alloc::raw_vec::RawVecInner::*", PASSES },
	{ "alloc::raw_vec::finish_grow*", PASSES },
	{ "alloc::alloc::*", PASSES },
	{ "core::alloc::*", PASSES },
	{ "std::alloc::*", PASSES },
	{ "std::sys::alloc::*", PASSES },
	{ "std::sys::unix::alloc::*", PASSES },
	{ "std::sys_common::alloc::*", PASSES },
	{ "hashbrown::raw::RawTableInner::*", PASSES },
	{ "hashbrown::raw::alloc::*", PASSES },
	{ "alloc::raw_vec::RawVec::*", RUST },
	{ "alloc::vec::Vec::*", RUST },
	{ "alloc::vec::from_elem*", RUST },
	{ "alloc::slice::*", RUST },
	{ "alloc::collections::vec_deque::VecDeque::*", RUST },
	{ "alloc::boxed::box_new_uninit", PASSES },
	{ "alloc::boxed::Box::*", RUST },
	{ "alloc::boxed::box_new*", RUST },
	{ "alloc::rc::Rc::*", RUST },
	{ "alloc::sync::Arc::*", RUST },
	{ "hashbrown::raw::RawTable::*", RUST },
	/* Any other function of these libraries. */
	{ "std::*", { .tells = SYMBOL_ENDS } },
	{ "__gnu_cxx::*", { .tells = SYMBOL_ENDS } },
	{ "__cxxabiv1::*", { .tells = SYMBOL_ENDS } },
	{ "__cxa_*", { .tells = SYMBOL_ENDS } },
	{ "alloc::*", { .tells = SYMBOL_ENDS } },
	{ "core::*", { .tells = SYMBOL_ENDS } },
	{ "hashbrown::*", { .tells = SYMBOL_ENDS } },
};

static bool
matches(const char *row, const char *name)
{
	size_t len = strlen(row);

	return row[len - 1] == '*' ? strncmp(row, name, len - 1) == 0 :
	    strcmp(row, name) == 0;
}

/* Length of the version of a library's names at `p`: "__1::"; 0: none. */
static size_t
version_length(const char *p)
{
	static const char *const versions[] = {
		"__1::", "__2::", "__cxx11::", "__ndk1::", "__8::",
	};

	for (size_t i = 0; i < BASE_NELEM(versions); i++)
		if (strncmp(p, versions[i], strlen(versions[i])) == 0)
			return strlen(versions[i]);
	return 0;
}

/* In place: "std::allocator" for "std::__1::allocator". */
static void
drop_versions(char *name)
{
	char *p = name;
	size_t n;

	while ((p = strstr(p, "std::")) != NULL) {
		p += 5;
		if ((n = version_length(p)) > 0)
			memmove(p, p + n, strlen(p + n) + 1);
	}
}

static struct symbol_told
find_row(char *name)
{
	if (strncmp(name, "std::__", 7) == 0)
		drop_versions(name);
	for (size_t i = 0; i < BASE_NELEM(rows); i++)
		if (rows[i].name[0] == name[0] && matches(rows[i].name, name))
			return rows[i].told;
	return (struct symbol_told){ .tells = SYMBOL_OTHER };
}

struct symbol_told
symbol_tells(const char *function)
{
	char name[SHORT_MAX];

	symbol_short_name(function, name, sizeof(name));
	return find_row(name);
}

static struct symbol_part
trim(struct symbol_part t)
{
	while (t.len > 0 && t.p[0] == ' ') {
		t.p++;
		t.len--;
	}
	while (t.len > 0 && t.p[t.len - 1] == ' ')
		t.len--;
	return t;
}

/* The n-th of a list with commas between; len 0: there is none. */
static struct symbol_part
nth_part(struct symbol_part all, unsigned n)
{
	size_t from = 0, depth = 0;

	if (all.p == NULL)
		return all;
	for (size_t i = 0; i <= all.len; i++) {
		char c = i < all.len ? all.p[i] : '\0';

		if (c == '(' || c == '<' || c == '[' || c == '{')
			depth++;
		else if (depth > 0 && (c == ')' || c == ']' || c == '}' ||
		    (c == '>' && all.p[i - 1] != '-')))
			depth--;
		if (c != '\0' && (c != ',' || depth > 0))
			continue;
		if (n-- == 0)
			return trim((struct symbol_part){ all.p + from,
				i - from });
		from = i + 1;
	}
	return (struct symbol_part){ 0 };
}

char *
symbol_type_in_name(const char *function, bool alone)
{
	struct symbol_arguments args;
	struct symbol_part part;
	struct symbol_told told;
	char name[SHORT_MAX];

	symbol_split_name(function, name, sizeof(name), &args);
	told = find_row(name);
	if (told.tells != SYMBOL_TELLS || told.rust || (alone && !told.alone))
		return NULL;
	part = nth_part(args.of[told.of_class], told.argument);
	return part.len > 0 ? symbol_type_text(part.p, part.len) : NULL;
}

/* Classes that containers put around an object, which is an argument of theirs. */
static const char *const around[] = {
	"std::_Rb_tree_node<", "std::_List_node<", "std::_Fwd_list_node<",
	"std::__detail::_Hash_node<", "std::_Sp_counted_ptr_inplace<",
	"std::__tree_node<", "std::__list_node<", "std::__forward_list_node<",
	"std::__forward_begin_node<", "std::__hash_node<",
	"std::__shared_ptr_emplace<",
	"alloc::rc::RcBox<", "alloc::rc::RcInner<", "alloc::sync::ArcInner<",
};

static bool
unwrap(struct symbol_part *t)
{
	for (size_t i = 0; i < BASE_NELEM(around); i++) {
		size_t n = strlen(around[i]);

		if (t->len <= n + 1 || strncmp(t->p, around[i], n) != 0 ||
		    t->p[t->len - 1] != '>')
			continue;
		*t = nth_part((struct symbol_part){ t->p + n,
			t->len - n - 1 }, 0);
		return true;
	}
	return false;
}

/* In place: all of one text become another, which is not longer. */
static void
replace(char *text, const char *from, const char *to)
{
	size_t len = strlen(from), put = strlen(to);

	for (char *p = text; (p = strstr(p, from)) != NULL; p++) {
		memcpy(p, to, put);
		memmove(p + put, p + len, strlen(p + len) + 1);
	}
}

/* One spelling, whoever wrote it. */
static void
respell(char *text)
{
	static const char *const spellings[][2] = {
		{ "std::basic_string<char, std::char_traits<char>, "
		    "std::allocator<char> >", "std::string" },
		{ "std::basic_string<char, std::char_traits<char>, "
		    "std::allocator<char>>", "std::string" },
		{ "long long unsigned int", "unsigned long long" },
		{ "long unsigned int", "unsigned long" },
		{ "short unsigned int", "unsigned short" },
		{ "long long int", "long long" },
		{ "long int", "long" },
		{ "short int", "short" },
		{ "> >", ">>" },
	};

	drop_versions(text);
	for (size_t i = 0; i < BASE_NELEM(spellings); i++)
		replace(text, spellings[i][0], spellings[i][1]);
}

/* libc++ has classes of its own for the pairs in its nodes. */
static char *
copy_pair(struct symbol_part t)
{
	static const char *const pairs[] = {
		"std::__value_type<", "std::__hash_value_type<",
	};
	struct symbol_part all, key, value;
	char *text;

	for (size_t i = 0; i < BASE_NELEM(pairs); i++) {
		size_t n = strlen(pairs[i]);

		if (t.len <= n || strncmp(t.p, pairs[i], n) != 0)
			continue;
		all = (struct symbol_part){ t.p + n, t.len - n - 1 };
		key = nth_part(all, 0);
		value = nth_part(all, 1);
		return asprintf(&text, "std::pair<%.*s const, %.*s>",
		    (int)key.len, key.p, (int)value.len, value.p) < 0 ?
		    NULL : text;
	}
	return strndup(t.p, t.len);
}

char *
symbol_type_text(const char *p, size_t len)
{
	char *text = strndup(p, len < SYMBOL_TYPE_MAX ? len : SYMBOL_TYPE_MAX);
	struct symbol_part t;
	char *out = NULL;
	unsigned n = 0;

	if (text == NULL)
		return NULL;
	respell(text);
	t = (struct symbol_part){ text, strlen(text) };
	while (n++ < UNWRAPPED_MAX && unwrap(&t))
		;
	/* An array of no known size is allocated as its elements. */
	if (t.len > 2 && memcmp(t.p + t.len - 2, "[]", 2) == 0)
		t.len -= 2;
	t = trim(t);
	if (t.len > 0 && (t.len != 4 || memcmp(t.p, "void", 4) != 0))
		out = copy_pair(t);
	free(text);
	if (out != NULL)
		symbol_fit_name(out);
	return out;
}
