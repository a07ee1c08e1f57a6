#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "usage.h"

static const char *
or_unknown(const char *s)
{
	return s == NULL || s[0] == '\0' ? NULL : s;
}

struct origin {
	uint64_t key;
	bool named;			/* it is a function, no address */
	const char *name, *file, *module;
	uint32_t line;
	const char *type;		/* of the objects; "" not known */
	enum wire_type_from type_from;
};

struct usage_namer {
	struct profile *profile;
	struct hashmap origins;
	struct profile_line lines[PROFILE_LINES_MAX];
};

int
usage_namer_new(struct usage_namer **out, const struct symbol_wrappers *skip)
{
	struct usage_namer *n = calloc(1, sizeof *n);
	int err = n != NULL ? profile_new(&n->profile) : -ENOMEM;

	if (err < 0) {
		free(n);
		return err;
	}
	profile_set_wrappers(n->profile, skip);
	n->origins.size = sizeof(struct origin);
	*out = n;
	return 0;
}

void
usage_namer_free(struct usage_namer *n)
{
	if (n == NULL)
		return;
	profile_free(n->profile);
	hashmap_fini(&n->origins);
	free(n);
}

struct profile *
usage_namer_profile(struct usage_namer *n)
{
	return n->profile;
}

int
usage_namer_take(struct usage_namer *n, const struct usage_row *row, size_t rows)
{
	int err = 0;

	profile_restart(n->profile);
	for (size_t i = 0; i < rows && err == 0; i++)
		if (row[i].kind != USAGE_OTHER && row[i].kind != USAGE_UNKNOWN)
			err = profile_add(n->profile, row[i].caller, 0, 0);
	return err;
}

/* NULL: no memory. */
static const struct origin *
origin_of(struct usage_namer *n, uint64_t caller)
{
	struct origin *o = hashmap_get(&n->origins, caller);
	size_t lines = 0, at = 0;
	unsigned end;

	if (o != NULL)
		return o;
	o = hashmap_add(&n->origins, caller);
	if (o == NULL || caller == 0 || profile_type(n->profile, caller,
	    &o->type, &o->type_from) < 0 || profile_stack(n->profile, caller,
	    n->lines, BASE_NELEM(n->lines), &lines, &at, &end) < 0 ||
	    at >= lines)
		return o;
	o->name = n->lines[at].name;
	o->named = n->lines[at].function[0] != '\0';
	o->file = or_unknown(n->lines[at].file);
	o->module = or_unknown(n->lines[at].module);
	o->line = n->lines[at].line;
	return o;
}

/* A type that the program or the node has named, not the allocator. */
static const char *
type_name(const struct stream_types *types, unsigned code)
{
	if (types == NULL || (code >= TYPE_MALLOC && code <= TYPE_NEW_ARRAY_NOTHROW))
		return NULL;
	return or_unknown(types->by_code[code].name);
}

static void
set_counts(struct usage_line *out, const struct usage_row *r)
{
	uint64_t held = r->live + r->frees > r->allocs ?
	    r->live + r->frees - r->allocs : 0;

	if (r->kind == USAGE_UNKNOWN)
		held = 0;
	*out = (struct usage_line){ .num = (int64_t)r->size,
		.no_num = r->kind != USAGE_SIZE,
		.allocated = r->allocs + held, .held_before = held,
		.freed = r->frees, .live = (int64_t)r->live, .max = r->most,
		.bytes = r->live_bytes, .allocated_bytes = r->alloc_bytes,
		.short_lived = r->brief, .then = r->then,
		.then_bytes = r->then_bytes, .known = USAGE_KNOWS_BYTES |
		USAGE_KNOWS_LIVES | USAGE_KNOWS_THEN };
}

/*
 * The name of a row: the type that the program has registered, else the type by the
 * program's words, else the function that asked.
 */
static void
usage_name(struct usage_line *out, const struct usage_row *r,
    const struct origin *o, const struct stream_types *types)
{
	const char *type = type_name(types, r->type);

	if (o != NULL) {
		out->function = o->named ? o->name : NULL;
		out->file = o->file;
		out->line = o->line;
		out->module = o->module;
	}
	if (r->kind == USAGE_OTHER || r->kind == USAGE_UNKNOWN) {
		out->type = r->kind == USAGE_OTHER ? "(other)" : "(unknown)";
	} else if (type != NULL) {
		out->type = type;
		out->named_by = profile_type_source(WIRE_TYPE_OWN);
	} else if (o != NULL && o->type_from != WIRE_TYPE_UNKNOWN) {
		out->type = o->type;
		out->named_by = profile_type_source(o->type_from);
	} else if (o != NULL && o->name != NULL) {
		out->type = o->name;
		out->named_by = o->named ? "function" : "address";
	} else if (types != NULL && types->by_code[r->type].name[0] != '\0') {
		out->type = types->by_code[r->type].name;
		out->named_by = "allocator";
	}
}

int
usage_list_name(struct usage_list *list, struct usage_namer *n,
    const struct stream_types *types, const struct usage_row *row, size_t rows)
{
	struct usage_line line;
	int err = 0;

	hashmap_clear(&n->origins);
	for (size_t i = 0; i < rows && err == 0; i++) {
		set_counts(&line, &row[i]);
		usage_name(&line, &row[i], row[i].kind == USAGE_OTHER ||
		    row[i].kind == USAGE_UNKNOWN ? NULL :
		    origin_of(n, row[i].caller), types);
		err = usage_list_add(list, &line);
	}
	return err;
}
