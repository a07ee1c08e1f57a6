/*
 * The short name of a function: a demangled one without its return type,
 * arguments, template arguments and clones.
 *
 *	void std::vector<int>::push_back<int>(int&&)	std::vector::push_back
 *	operator new[](unsigned long)			operator new[]
 *	f(int) const::{lambda(char)#1}::operator()(char)
 *							f::{lambda#1}::operator()
 *	<alloc::vec::Vec<T> as core::ops::Drop>::drop	alloc::vec::Vec::drop
 *	zmalloc.constprop.0				zmalloc
 *
 * And a whole name that must fit: its innermost brackets are emptied, and a
 * hash of all of it is added, so that no two functions become one.
 *
 * Names are outside text: one that follows no grammar gives some name that
 * fits.
 */
#include "symbol.h"

#include "../base/base.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct writer {
	char *out;
	size_t cap, len;
};

static void
put_text(struct writer *w, const char *text, size_t n)
{
	for (size_t i = 0; i < n && w->len + 1 < w->cap; i++)
		w->out[w->len++] = text[i];
}

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' ||
	    (unsigned char)c >= 0x80;
}

/* Behind the bracket that closes the one at `p`.  "->" closes nothing. */
static const char *
behind_group(const char *p)
{
	unsigned depth = 0;

	for (; *p != '\0'; p++) {
		if (strchr("(<[{", *p) != NULL) {
			depth++;
		} else if (*p == '>' && p[-1] == '-') {
			continue;
		} else if (strchr(")>]}", *p) != NULL && --depth == 0) {
			return p + 1;
		}
	}
	return p;
}

/* Length of an operator's sign with brackets; 0: none. */
static size_t
sign_length(const char *p)
{
	static const char *const with_brackets[] = {
		"<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "->",
		"()", "[]", "<", ">", ",",
	};

	for (size_t i = 0; i < BASE_NELEM(with_brackets); i++) {
		size_t n = strlen(with_brackets[i]);

		if (strncmp(p, with_brackets[i], n) == 0)
			return n;
	}
	return 0;
}

/* An operator's name, with its brackets.  Returns behind it. */
static const char *
put_operator(struct writer *w, const char *p)
{
	static const char *const words[] = {
		" new[]", " delete[]", " new", " delete", " co_await",
	};

	size_t sign = sign_length(p + 8);

	put_text(w, p, 8 + sign);
	p += 8 + sign;
	if (sign > 0)
		return p;
	for (size_t i = 0; i < BASE_NELEM(words); i++) {
		size_t n = strlen(words[i]);

		if (strncmp(p, words[i], n) == 0) {
			put_text(w, p, n);
			return p + n;
		}
	}
	/* A conversion: its type is its name. */
	while (*p != '\0' && *p != '(') {
		const char *next = *p == '<' ? behind_group(p) : p + 1;

		if (*p != '<')
			put_text(w, p, 1);
		p = next;
	}
	return p;
}

static bool
is_operator(const char *start, const char *p)
{
	return strncmp(p, "operator", 8) == 0 && !is_word(p[8]) &&
	    (p == start || !is_word(p[-1]));
}

/* " const", " volatile", " &" are not part of the name. */
static const char *
behind_qualifiers(const char *p)
{
	static const char *const qualifiers[] = {
		" const", " volatile", " noexcept", " &&", " &",
	};

	for (size_t i = 0; i < BASE_NELEM(qualifiers); i++) {
		size_t n = strlen(qualifiers[i]);

		if (strncmp(p, qualifiers[i], n) == 0 && !is_word(p[n])) {
			p += n;
			i = (size_t)-1;
		}
	}
	return p;
}

/* True where a part of the path begins: its bracket opens no arguments. */
static bool
begins_part(const char *start, const char *p)
{
	return p == start || p[-1] == ':' || p[-1] == '.' || p[-1] == ' ';
}

/* Levels of brackets that are tried: here and in names that fit. */
#define DEEPEST 8

/*
 * Rust's "<type as trait>": the type without its arguments.  The type may be
 * inside such a name: "<<A as B>::f::C as D>".
 */
static const char *
put_self(struct writer *w, const char *p, unsigned level)
{
	const char *end = behind_group(p);

	if (*++p == '<' && level < DEEPEST)
		p = put_self(w, p, level + 1);
	for (; p < end && *p != '>' && strncmp(p, " as ", 4) != 0;) {
		if (*p == '<') {
			p = behind_group(p);
			continue;
		}
		put_text(w, p++, 1);
	}
	return end;
}

/* "{lambda(int)#1}" without its brackets. */
static const char *
put_braces(struct writer *w, const char *p)
{
	const char *end = behind_group(p);

	while (p < end) {
		if (*p == '(' || *p == '<')
			p = behind_group(p);
		else
			put_text(w, p++, 1);
	}
	return end;
}

/* "(anonymous namespace)", Go's "(*T)": a part of the path. */
static const char *
put_group(struct writer *w, const char *p)
{
	const char *end = behind_group(p);

	put_text(w, p, (size_t)(end - p));
	return end;
}

/* A return type in brackets, not a function. */
static bool
ends_in_decltype(const struct writer *w)
{
	return w->len >= 8 &&
	    memcmp(w->out + w->len - 8, "decltype", 8) == 0;
}

/* Length without the compiler's endings: ".cold", ".isra.0". */
static size_t
without_clones(const char *name, size_t len)
{
	static const char *const clones[] = {
		"cold", "constprop", "isra", "part", "lto_priv", "llvm",
		"localalias", "warm", "__uniq", "clone", "resolver", "ifunc",
	};
	size_t was;

	do {
		size_t end = len, digits = len;

		was = len;
		while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
			digits--;
		if (digits < len && digits > 0 && name[digits - 1] == '.')
			end = digits - 1;
		for (size_t i = 0; i < BASE_NELEM(clones); i++) {
			size_t n = strlen(clones[i]);

			if (end > n + 1 && name[end - n - 1] == '.' &&
			    memcmp(name + end - n, clones[i], n) == 0)
				len = end - n - 1;
		}
	} while (len < was);
	return len;
}

/* A group in angle brackets is of the part before it. */
static void
put_arguments(struct symbol_arguments *args, const char *p, const char *end)
{
	if (*p == '<' && end > p + 1 && end[-1] == '>')
		args->of[0] = (struct symbol_part){ p + 1,
			(size_t)(end - p) - 2 };
}

void
symbol_split_name(const char *function, char *out, size_t cap,
    struct symbol_arguments *args)
{
	struct writer w = { out, cap, 0 };
	const char *p = function, *end;

	*args = (struct symbol_arguments){ 0 };
	if (cap == 0)
		return;
	while (*p != '\0') {
		bool begins = begins_part(function, p);

		if (is_operator(function, p)) {
			p = put_operator(&w, p);
			/* The space between "operator<" and its arguments. */
			if (p[0] == ' ' && p[1] == '<')
				p++;
		} else if (*p == '<' && p == function) {
			p = put_self(&w, p, 0);
		} else if (*p == '<' || *p == '[') {
			end = behind_group(p);
			put_arguments(args, p, end);
			p = end;
			/* In "f::<T>" no part follows. */
			if (w.len >= 2 && memcmp(out + w.len - 2, "::", 2) == 0)
				w.len -= 2;
		} else if (*p == '{') {
			p = put_braces(&w, p);
		} else if (*p == '(' && begins) {
			p = put_group(&w, p);
		} else if (*p == '(') {
			p = behind_qualifiers(behind_group(p));
			if (strncmp(p, "::", 2) != 0 && !ends_in_decltype(&w))
				break;
		} else if (*p == ' ') {
			/* That was the return type. */
			*args = (struct symbol_arguments){ 0 };
			w.len = 0;
			p++;
		} else {
			if (strncmp(p, "::", 2) == 0) {
				args->of[1] = args->of[0];
				args->of[0] = (struct symbol_part){ 0 };
			}
			put_text(&w, p++, 1);
		}
	}
	if (w.len == 0)
		put_text(&w, function, strlen(function));
	out[without_clones(out, w.len)] = '\0';
}

void
symbol_short_name(const char *function, char *out, size_t cap)
{
	struct symbol_arguments args;

	symbol_split_name(function, out, cap, &args);
}

#define EMPTIED 5		/* bytes of "<...>" */

static uint32_t
number_of(const char *name)
{
	uint32_t h = UINT32_C(2166136261);

	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * UINT32_C(16777619);
	return h;
}

static const char *
put_emptied(struct writer *w, const char *p, char *number)
{
	const char *end = behind_group(p);

	if (end - p <= EMPTIED) {
		put_text(w, p, (size_t)(end - p));
		return end;
	}
	put_text(w, p, 1);
	put_text(w, "...", 3);
	put_text(w, number, strlen(number));
	put_text(w, *p == '<' ? ">" : ")", 1);
	number[0] = '\0';
	return end;
}

/* Brackets to that depth; true when it fits. */
static bool
put_outer(struct writer *w, const char *name, unsigned limit, char *number)
{
	const char *p = name;
	unsigned depth = 0;

	while (*p != '\0' && w->len + 1 < w->cap) {
		if (is_operator(name, p)) {
			size_t n = 8 + sign_length(p + 8);

			put_text(w, p, n);
			p += n;
		} else if (*p == '(' && begins_part(name, p)) {
			p = put_group(w, p);
		} else if (*p == '<' || *p == '(') {
			if (depth == limit) {
				p = put_emptied(w, p, number);
				continue;
			}
			depth++;
			put_text(w, p++, 1);
		} else {
			if (depth > 0 && (*p == ')' ||
				(*p == '>' && p > name && p[-1] != '-')))
				depth--;
			put_text(w, p++, 1);
		}
	}
	return *p == '\0' && w->len <= SYMBOL_NAME_MAX;
}

static bool
is_continuation(char c)
{
	return ((uint8_t)c & 0xc0) == 0x80;
}

/* Both ends of a name without brackets, in whole characters. */
static void
put_ends(struct writer *w, const char *name, const char *number)
{
	size_t each = (SYMBOL_NAME_MAX - strlen(number) - 6) / 2, head = each;
	const char *tail = name + strlen(name) - each;

	while (is_continuation(name[head]) && each - head < 3)
		head--;
	for (unsigned i = 0; i < 3 && is_continuation(*tail); i++)
		tail++;
	put_text(w, name, head);
	put_text(w, "...", 3);
	put_text(w, number, strlen(number));
	put_text(w, "...", 3);
	put_text(w, tail, strlen(tail));
}

void
symbol_fit_name(char *function)
{
	char out[SYMBOL_NAME_MAX + 2], number[16];
	struct writer w = { out, sizeof(out), 0 };
	unsigned limit = DEEPEST + 1;
	bool fits = false;

	if (strnlen(function, SYMBOL_NAME_MAX + 1) <= SYMBOL_NAME_MAX)
		return;
	while (!fits && limit-- > 0) {
		w.len = 0;
		snprintf(number, sizeof(number), "#%08x", number_of(function));
		fits = put_outer(&w, function, limit, number);
	}
	if (!fits) {
		w.len = 0;
		snprintf(number, sizeof(number), "#%08x", number_of(function));
		put_ends(&w, function, number);
	}
	memcpy(function, out, w.len);
	function[w.len] = '\0';
}
