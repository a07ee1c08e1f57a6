#include "../base/base.h"
#include "stream.h"

#include <errno.h>
#include <string.h>

static const struct stream_type note_types[] = {
	{ TYPE_LOCREQ, "LOCREQ", "local request block" },
	{ TYPE_AHDRMSG, "AHDRMSG", "reply message block" },
	{ TYPE_ACREQ, "ACREQ", "Acnet request block" },
	{ TYPE_INTPTRS, "INTPTRS", "internal pointers of a request" },
};

static const struct stream_type own_types[] = {
	{ TYPE_LASTAT, "LASTAT", "static memory of a local application" },
	{ TYPE_NETBUF, "NETBUF", "network buffer" },
	{ TYPE_DSTREAM, "DSTREAM", "data stream" },
	{ TYPE_MALLOC, "malloc", "malloc" },
	{ TYPE_CALLOC, "calloc", "calloc" },
	{ TYPE_REALLOC, "realloc", "realloc or reallocarray" },
	{ TYPE_ALIGNED, "aligned", "memalign, aligned_alloc and their kin" },
	{ TYPE_NEW, "new", "operator new" },
	{ TYPE_NEW_ARRAY, "new[]", "operator new[]" },
	{ TYPE_NEW_NOTHROW, "newnt", "operator new, nothrow" },
	{ TYPE_NEW_ARRAY_NOTHROW, "new[]nt", "operator new[], nothrow" },
};

static void
add_all(struct stream_types *types, const struct stream_type *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		types->by_code[from[i].code] = from[i];
}

void
stream_types_init_classic(struct stream_types *types)
{
	memset(types, 0, sizeof(*types));
	for (size_t i = 0; i < BASE_NELEM(types->by_code); i++)
		types->by_code[i].code = (uint8_t)i;
	add_all(types, note_types, BASE_NELEM(note_types));
}

void
stream_types_init(struct stream_types *types)
{
	stream_types_init_classic(types);
	add_all(types, own_types, BASE_NELEM(own_types));
}

static void
copy_text(char *out, size_t cap, const char *from)
{
	size_t len = 0;

	base_append_text(out, cap, &len, from);
	memset(out + len, 0, cap - len);
}

int
stream_types_name(struct stream_types *types, unsigned code, const char *name,
    const char *text)
{
	struct stream_type *t;

	if (code < TYPE_API_FIRST || code > TYPE_API_LAST || name[0] == '\0')
		return -EINVAL;
	t = &types->by_code[code];
	copy_text(t->name, sizeof(t->name), name);
	copy_text(t->text, sizeof(t->text), text == NULL ? "" : text);
	return 0;
}

void
stream_types_legal(const struct stream_types *types, uint8_t legal[32])
{
	memset(legal, 0, 32);
	for (size_t i = 0; i < BASE_NELEM(types->by_code); i++) {
		if (types->by_code[i].name[0] != '\0')
			legal[i / 8] |= (uint8_t)(1u << i % 8);
	}
}

const char *
stream_cause_text(unsigned cause)
{
	static const char *const texts[STREAM_CAUSES] = {
		[STREAM_RING_FULL] = "ring full",
		[STREAM_OVERWRITTEN] = "overwritten",
		[STREAM_WRITER_DIED] = "writer died",
		[STREAM_CORRUPT] = "corrupt",
		[STREAM_RESTART] = "keeper restarted",
		[STREAM_LINK] = "link",
		[STREAM_SAMPLE_FULL] = "sample full",
		[STREAM_OTHER] = "other cause",
	};

	if (cause >= STREAM_CAUSES || texts[cause] == NULL)
		return "?";
	return texts[cause];
}

const char *
stream_doubt_text(uint64_t doubt)
{
	switch (doubt) {
	case STREAM_SURE:
		return "";
#define X(name, number, text) \
	case number: \
		return text;
	STREAM_DOUBTS(X)
#undef X
	}
	return "for a reason that this version does not know";
}

const char *
stream_lack_text(uint64_t lost, uint64_t full, uint64_t doubt)
{
	if (lost > 0)
		return "records were lost";
	return full > 0 ? "the list was full" : stream_doubt_text(doubt);
}
