/*
 * Stacks of a capture, and the names of their frames, from the files that were
 * mapped.  A name that is asked for waits in a queue until it is read with others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../base/hashmap.h"
#include "../profile/profile.h"
#include "capture.h"

#define BATCH 1024		/* frames in one look-up */

struct name {
	uint64_t frame;		/* the key */
	const char *module;	/* borrowed from the capture; NULL: none */
	uint64_t offset;
	struct symbol_words words;
};

struct capture_names {
	const struct capture *c;
	uint32_t part;
	const char *exe;
	struct symbols *symbols;
	struct hashmap names;	/* struct name; from `read` on they are queued */
	size_t read;
	uint64_t plain;		/* the stack of a return address */
	struct wire_words words;
};

int
capture_names_new(struct capture_names **out, const struct capture *c,
    uint32_t part, const struct symbols_opts *opts)
{
	struct capture_names *n = calloc(1, sizeof *n);
	struct capture_part_info p;
	int e;

	if (n == NULL)
		return -ENOMEM;
	e = symbols_new(&n->symbols, opts);
	if (e < 0) {
		free(n);
		return e;
	}
	n->c = c;
	n->part = part;
	n->exe = capture_part(c, part, &p) ? p.part.exe : "";
	n->names.size = sizeof(struct name);
	*out = n;
	return 0;
}

void
capture_names_free(struct capture_names *n)
{
	if (n == NULL)
		return;
	for (size_t i = 0; i < n->read; i++)
		symbol_words_fini(&((struct name *)hashmap_item(&n->names,
		    i))->words);
	hashmap_fini(&n->names);
	symbols_free(n->symbols);
	free(n);
}

static bool
get_stack(void *arg, uint64_t caller, struct stream_site *out)
{
	struct capture_names *n = arg;

	if (caller == 0)
		return false;
	if (rec_is_site(caller))
		return capture_site(n->c, n->part, rec_site(caller), out);
	n->plain = caller;
	*out = (struct stream_site){ .frame = &n->plain, .depth = 1,
		.end = RING_END_ALONE };
	return true;
}

static const struct wire_words *
get_words(void *arg, uint64_t frame)
{
	struct capture_names *n = arg;
	int64_t at = frame_pc(frame) == 0 ? -1 :
	    hashmap_put(&n->names, frame, NULL);
	const struct name *name;

	if (at < 0 || (size_t)at >= n->read)
		return NULL;
	name = hashmap_item(&n->names, (size_t)at);
	n->words = (struct wire_words){ .frame = frame,
		.known = name->words.known, .offset = name->offset,
		.module = wire_text(name->module), .n = name->words.n };
	for (unsigned i = 0; i < name->words.n; i++)
		n->words.line[i] = (struct wire_inline){
			.function = wire_text(name->words.line[i].function),
			.file = wire_text(name->words.line[i].file),
			.line = name->words.line[i].line };
	if (name->words.type != NULL)
		n->words.type = wire_text(name->words.type);
	n->words.type_from = name->words.type_from;
	return &n->words;
}

struct profile_words
capture_names_words(struct capture_names *n)
{
	return (struct profile_words){ .stack = get_stack, .words = get_words,
		.arg = n };
}

/* The module of a plain return address, unless several have lain there. */
static unsigned
find_module(const struct capture_names *n, uint64_t pc)
{
	struct stream_module m;
	unsigned found = 0;

	for (unsigned no = 1; no <= capture_modules(n->c, n->part); no++) {
		if (!capture_module(n->c, n->part, no, &m) || pc <= m.start ||
		    pc > m.end)
			continue;
		if (found != 0)
			return 0;
		found = no;
	}
	return found;
}

/* False: the frame's file is not known. */
static bool
place_of(const struct capture_names *n, struct name *name,
    struct symbol_place *place)
{
	unsigned no = frame_module(name->frame);
	uint64_t pc = frame_pc(name->frame);
	struct stream_module m;

	if (no == 0)
		no = find_module(n, pc);
	if (no == 0 || !capture_module(n->c, n->part, no, &m))
		return false;
	name->module = m.path[0] != '\0' ? m.path : n->exe;
	name->offset = (pc - m.bias) & REC_ADDR_MASK;
	*place = (struct symbol_place){ .path = name->module,
		.address = name->offset, .build_id_len = m.build_id_len,
		.mapped_ns = m.seen_ns };
	memcpy(place->build_id, m.build_id, m.build_id_len);
	return !m.cut && strcmp(name->module, "[anon]") != 0;
}

/* The names that are looked up together. */
struct batch {
	size_t index[BATCH];
	struct symbol_place place[BATCH];
	struct symbol_words words[BATCH];
};

static void
read_batch(struct capture_names *n, struct batch *b, size_t end)
{
	size_t places = 0;

	for (; n->read < end; n->read++) {
		struct name *name = hashmap_item(&n->names, n->read);

		if (place_of(n, name, &b->place[places]))
			b->index[places++] = n->read;
		else
			name->words.known = SYMBOL_NO_MODULE;
	}
	if (places == 0)
		return;
	symbols_look(n->symbols, b->place, places, b->words);
	for (size_t i = 0; i < places; i++)
		((struct name *)hashmap_item(&n->names, b->index[i]))->words =
		    b->words[i];
}

int
capture_names_read(struct capture_names *n, size_t at_most, size_t *read)
{
	size_t left = n->names.n - n->read, more;
	struct batch *b = malloc(sizeof *b);

	if (b == NULL)
		return -ENOMEM;
	if (left > at_most)
		left = at_most;
	*read = left;
	for (; left > 0; left -= more) {
		more = left < BATCH ? left : BATCH;
		read_batch(n, b, n->read + more);
	}
	free(b);
	return 0;
}

int
capture_names_resolve(struct capture_names *n, struct profile *p)
{
	struct profile_words words = capture_names_words(n);
	size_t read = 1;
	int r, e = 0;

	do {
		r = profile_resolve(p, &words);
		if (r > 0)
			e = capture_names_read(n, SIZE_MAX, &read);
	} while (r > 0 && e == 0 && read > 0);
	return r < 0 ? r : e;
}

size_t
capture_names_failed(const struct capture_names *n)
{
	size_t failed = 0;

	for (size_t i = 0; i < n->read; i++)
		switch (((struct name *)hashmap_item(&n->names,
		    i))->words.known) {
		case SYMBOL_PENDING:
		case SYMBOL_DAMAGED:
		case SYMBOL_NO_READER:
		case SYMBOL_OTHER_FILE:
		case SYMBOL_NO_FILE:
			failed++;
			break;
		case SYMBOL_LINE:
		case SYMBOL_NO_LINE:
		case SYMBOL_NO_SYMBOL:
		case SYMBOL_NO_MODULE:
			break;
		}
	return failed;
}
