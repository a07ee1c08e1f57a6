/*
 * Functions that only pass a request for memory on.  A built-in pattern must
 * not match another program's function that does more: MyISAM's mi_open() is
 * why mimalloc's functions are listed one by one.
 */
#include "symbol.h"

#include "../base/base.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Names are compared up to this length. */
#define SHORT_MAX 512

static const char *const defaults[] = {
	/* The C library. */
	"malloc", "calloc", "realloc", "reallocarray", "memalign",
	"posix_memalign", "aligned_alloc", "valloc", "pvalloc",
	"__libc_malloc", "__libc_calloc", "__libc_realloc",
	"__libc_memalign", "__libc_reallocarray",
	"strdup", "strndup", "__strdup", "__strndup", "__GI___strdup",
	"__GI___strndup", "wcsdup", "__wcsdup",
	/*
	 * C++, and Rust's std.  A function of the program that they call is
	 * further inwards, and is shown.
	 */
	"operator new*", "std::*", "__gnu_cxx::*", "__cxxabiv1::*",
	"__cxa_allocate_*", "__cxa_get_globals*",
	/* Rust.  "alloc" and "core" alone are names of C++ programs too. */
	"__rust_alloc*", "__rust_realloc", "__rdl_*alloc*", "__rg_*alloc*",
	"__rustc::__r*alloc*",
	"alloc::alloc::*", "alloc::borrow::*", "alloc::boxed::*",
	"alloc::collections::*", "alloc::ffi::*", "alloc::fmt::*",
	"alloc::raw_vec::*", "alloc::rc::*", "alloc::slice::*",
	"alloc::str::*", "alloc::string::*", "alloc::sync::*", "alloc::vec::*",
	"core::alloc::*", "core::array::*", "core::clone::*", "core::cmp::*",
	"core::convert::*", "core::default::*", "core::fmt::*",
	"core::hash::*", "core::iter::*", "core::ops::*", "core::option::*",
	"core::ptr::*", "core::result::*", "core::slice::*", "core::str::*",
	"hashbrown::*", "[iu]8::from_elem", "T::from_elem",
	/* Go, which calls malloc for cgo alone. */
	"_cgo_*_malloc", "_cgo_*_Cfunc__Cmalloc", "*._Cfunc__CMalloc",
	"*._Cfunc_CString", "*._Cfunc_CBytes", "runtime.cgocall",
	"runtime.asmcgocall*", "x_cgo_malloc",
	/* Redis and its kin. */
	"zmalloc*", "zcalloc*", "zrealloc*", "ztry*alloc*", "zstrdup",
	"valkey_malloc*", "valkey_calloc*", "valkey_realloc*",
	"hi_malloc*", "hi_calloc*", "hi_realloc*", "hi_strdup",
	"s_malloc", "s_realloc", "s_trymalloc", "s_tryrealloc",
	/* GLib. */
	"g_malloc*", "g_try_*alloc*", "g_realloc*", "g_slice_*",
	"g_aligned_alloc*", "g_strdup*", "g_strndup", "g_strconcat",
	"g_strjoin*", "g_strsplit*", "g_memdup*", "g_rc_box_*",
	"g_atomic_rc_box_*", "g_list_*", "g_slist_*", "g_queue_*",
	"g_array_*", "g_ptr_array_*", "g_byte_array_*", "g_bytes_new*",
	"g_string_*", "g_hash_table_*", "g_tree_*", "g_node_*",
	"g_sequence_*", "g_type_create_instance", "g_object_new*",
	/* GNU programs, git and many others. */
	"xmalloc*", "xcalloc*", "xrealloc*", "xzalloc*", "xnmalloc*",
	"xnrealloc*", "x2realloc*", "x2nrealloc*", "xpalloc", "ximalloc*",
	"xicalloc*", "xirealloc*", "xcharalloc", "xmemdup*", "ximemdup*",
	"xstrdup*", "xstrndup*", "xasprintf", "xvasprintf", "do_xmalloc*",
	"checked_malloc", "safe_malloc*", "safe_calloc*", "safe_realloc*",
	"safemalloc", "safecalloc", "saferealloc", "emalloc", "ecalloc",
	"erealloc", "sh_xmalloc", "sh_xrealloc", "sh_malloc", "sh_realloc",
	/* The compilers. */
	"ggc_internal_*alloc*", "ggc_alloc*", "ggc_cleared_alloc*",
	"ggc_realloc*",
	"_obstack_begin*", "_obstack_newchunk", "_obstack_allocate*",
	"mempool_obstack_chunk_alloc", "va_heap::reserve*",
	"va_gc::reserve*", "base_pool_allocator::allocate",
	"object_allocator::allocate*", "pool_allocator::allocate",
	"memory_block_pool::allocate", "llvm::safe_malloc",
	"llvm::safe_calloc", "llvm::safe_realloc", "llvm::allocate_buffer",
	"llvm::MallocAllocator::Allocate",
	"llvm::BumpPtrAllocatorImpl::Allocate*",
	/* Python. */
	"PyMem_*", "_PyMem_*", "PyObject_Malloc", "PyObject_Calloc",
	"PyObject_Realloc", "_PyObject_Malloc", "_PyObject_Calloc",
	"_PyObject_Realloc", "_PyObject_Alloc", "_PyObject_DebugMalloc",
	"_PyObject_New", "_PyObject_NewVar", "_PyObject_GC_*",
	"PyType_GenericAlloc", "_PyType_AllocNoTrack",
	"pymalloc_alloc", "pymalloc_realloc", "gc_alloc",
	/* SQLite. */
	"sqlite3MemMalloc", "sqlite3MemRealloc", "mallocWithAlarm",
	"sqlite3Malloc*", "sqlite3_malloc*", "sqlite3Realloc*",
	"sqlite3_realloc*", "sqlite3DbMalloc*", "sqlite3DbRealloc*",
	"sqlite3DbStrDup", "sqlite3DbStrNDup", "sqlite3DbSpanDup",
	"dbMallocRawFinish", "dbReallocFinish", "sqlite3PageMalloc",
	"pcache1Alloc", "sqlite3OomMalloc", "measureAllocationSize",
	/* Perl. */
	"Perl_safesys*", "Perl_malloc", "Perl_calloc", "Perl_realloc",
	"Perl_savepv*", "Perl_savesharedpv*",
	/* Ruby, PHP, Lua. */
	"ruby_xmalloc*", "ruby_xcalloc*", "ruby_xrealloc*", "ruby_mimmalloc",
	"ruby_strdup", "rb_xmalloc*", "rb_xcalloc*", "rb_xrealloc*",
	"objspace_xmalloc*", "objspace_xcalloc*", "objspace_xrealloc*",
	"_emalloc*", "_ecalloc*", "_erealloc*", "_safe_emalloc*",
	"_safe_erealloc*", "_estrdup", "_estrndup", "__zend_malloc",
	"__zend_calloc", "__zend_realloc", "_zend_mm_alloc*",
	"l_alloc", "luaM_malloc_", "luaM_realloc_", "luaM_saferealloc_",
	"luaM_growaux_",
	/* Servers and libraries. */
	"CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_*realloc*",
	"CRYPTO_strdup", "CRYPTO_strndup", "CRYPTO_memdup",
	"palloc*", "repalloc*", "pstrdup", "pnstrdup", "pg_malloc*",
	"pg_realloc*", "pg_strdup", "MemoryContextAlloc*",
	"MemoryContextStrdup", "AllocSetAlloc*", "AllocSetRealloc",
	"GenerationAlloc*", "SlabAlloc*", "ngx_alloc", "ngx_calloc",
	"ngx_palloc*", "ngx_pnalloc", "ngx_pcalloc", "ngx_pmemalign",
	"apr_palloc*", "apr_pcalloc*", "allocator_alloc", "my_malloc",
	"my_realloc", "my_strdup", "my_multi_malloc", "xmlMemMalloc*",
	"xmlMallocLoc", "xmlReallocLoc", "xmlStrdup", "xmlStrndup",
	"av_malloc*", "av_calloc", "av_realloc*", "av_fast_malloc*",
	"av_fast_realloc", "av_strdup", "av_strndup", "av_memdup",
	"av_dynarray_*", "Curl_saferealloc", "Curl_memdup*",
	"malloc_multiply", "greedy_realloc*", "realloc0", "memdup*",
	"QArrayData::allocate*", "QArrayData::reallocate*",
	"QListData::realloc*", "qMalloc*", "qRealloc*", "wmem_alloc*",
	"talloc_*", "_talloc*", "__talloc*",
	/* Other allocators. */
	"je_*", "tc_malloc*", "tc_calloc*", "tc_realloc*", "tc_memalign",
	"tc_posix_memalign", "tc_new*", "tc_valloc", "tc_pvalloc",
	"mi_malloc*", "mi_calloc*", "mi_zalloc*", "mi_realloc*",
	"mi_rezalloc*", "mi_recalloc*", "mi_mallocn*", "mi_new*",
	"mi_strdup", "mi_strndup", "mi_memalign", "mi_posix_memalign",
	"mi_aligned_alloc", "mi_heap_*alloc*", "_mi_*malloc*",
	"_mi_heap_*alloc*", "tcmalloc::*alloc*", "GC_malloc*", "GC_*alloc*",
	"scudo_malloc", "rpmalloc", "rpcalloc", "rprealloc",
};

struct pattern {
	char *text;
	size_t literal;		/* bytes before the first special one */
	enum { ALL_LITERAL, PREFIX, GLOB } kind;
	char first;		/* of text: tells most of two hundred apart */
};

struct symbol_wrappers {
	struct pattern *pattern;
	size_t n, cap;
};

static void
clear_patterns(struct symbol_wrappers *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->pattern[i].text);
	w->n = 0;
}

static int
add_wrapper(struct symbol_wrappers *w, const char *text, size_t len)
{
	void *array = w->pattern;
	struct pattern *p;
	int error;

	error = base_grow(&array, &w->cap, w->n + 1, sizeof(*p));
	if (error < 0)
		return error;
	w->pattern = array;
	p = &w->pattern[w->n];
	if ((p->text = strndup(text, len)) == NULL)
		return -ENOMEM;
	p->literal = strcspn(p->text, "*?[\\");
	p->kind = p->text[p->literal] == '\0' ? ALL_LITERAL :
	    strcmp(p->text + p->literal, "*") == 0 ? PREFIX : GLOB;
	p->first = p->text[0];
	w->n++;
	return 0;
}

int
symbol_wrappers_new(struct symbol_wrappers **out)
{
	struct symbol_wrappers *w;

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < BASE_NELEM(defaults); i++) {
		int error = add_wrapper(w, defaults[i], strlen(defaults[i]));

		if (error < 0) {
			symbol_wrappers_free(w);
			return error;
		}
	}
	*out = w;
	return 0;
}

void
symbol_wrappers_free(struct symbol_wrappers *w)
{
	if (w == NULL)
		return;
	clear_patterns(w);
	free(w->pattern);
	free(w);
}

#define BLANKS " \t\n"

/* To the next comma or blank, except the blank of "operator new". */
static size_t
pattern_length(const char *text)
{
	size_t len = strcspn(text, "," BLANKS);

	if (len >= 8 && memcmp(text + len - 8, "operator", 8) == 0 &&
	    text[len] == ' ' && strspn(text + len, " ") == 1) {
		size_t more = strcspn(text + len + 1, "," BLANKS);

		if (more > 0)
			len += 1 + more;
	}
	return len;
}

/* *len is 0 at the end; false when a pattern is empty. */
static bool
next_pattern(const char **text, const char **pattern, size_t *len)
{
	const char *p = *text + strspn(*text, BLANKS);

	*pattern = p;
	*len = pattern_length(p);
	if (*len == 0)
		return *p == '\0';
	p += *len;
	p += strspn(p, BLANKS);
	if (*p == ',') {
		p++;
		if (p[strspn(p, BLANKS)] == '\0')
			return false;
	}
	*text = p;
	return true;
}

/* -EINVAL unless the text is one pattern or more. */
static int
check_patterns(const char *text)
{
	const char *pattern;
	size_t len, n = 0;

	for (;; n++) {
		if (!next_pattern(&text, &pattern, &len))
			return -EINVAL;
		if (len == 0)
			return n > 0 ? 0 : -EINVAL;
	}
}

static int
move_wrappers(struct symbol_wrappers *to, struct symbol_wrappers *from)
{
	void *array = to->pattern;
	int error;

	error = base_grow(&array, &to->cap, to->n + from->n,
	    sizeof(*to->pattern));
	if (error < 0)
		return error;
	to->pattern = array;
	for (size_t i = 0; i < from->n; i++)
		to->pattern[to->n++] = from->pattern[i];
	from->n = 0;
	return 0;
}

int
symbol_wrappers_add(struct symbol_wrappers *w, const char *patterns)
{
	struct symbol_wrappers more = { 0 };
	const char *text = patterns, *pattern;
	bool none = false;
	size_t len;
	int error;

	error = check_patterns(patterns);
	while (error == 0 && next_pattern(&text, &pattern, &len) && len > 0) {
		if (len == 4 && memcmp(pattern, "none", 4) == 0) {
			none = true;
			clear_patterns(&more);
		} else {
			error = add_wrapper(&more, pattern, len);
		}
	}
	if (error == 0 && none)
		clear_patterns(w);
	if (error == 0)
		error = move_wrappers(w, &more);
	clear_patterns(&more);
	free(more.pattern);
	return error;
}

/* fnmatch(3) is slow, and every row asks. */
static bool
matches(const struct pattern *p, const char *name)
{
	if (p->kind == ALL_LITERAL)
		return strcmp(p->text, name) == 0;
	if (strncmp(p->text, name, p->literal) != 0)
		return false;
	return p->kind == PREFIX || fnmatch(p->text, name, 0) == 0;
}

bool
symbol_wrappers_match(const struct symbol_wrappers *w, const char *function)
{
	char name[SHORT_MAX];

	symbol_short_name(function, name, sizeof(name));
	if (name[0] == '\0')
		return false;
	for (size_t i = 0; i < w->n; i++) {
		const struct pattern *p = &w->pattern[i];

		if ((p->first == name[0] || p->literal == 0) &&
		    matches(p, name))
			return true;
	}
	return false;
}

const char *
symbol_wrappers_pattern(const struct symbol_wrappers *w, size_t k)
{
	return k < w->n ? w->pattern[k].text : NULL;
}
