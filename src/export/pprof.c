#include <errno.h>

#include "export.h"

#ifdef HAVE_PPROF
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../base/hashmap.h"
#include "pprof.pb-c.h"

#define TYPES 4			/* of values */
#define GZIP_WINDOW (15 + 16)	/* zlib: the largest window, and a gzip header */

/* The message, and what it points into. */
struct message {
	const struct export_source *s;
	Pprof__Profile profile;
	struct intern texts;
	bool failed;			/* for want of memory */
	Pprof__ValueType type[TYPES], period;
	Pprof__ValueType *types[TYPES];
	Pprof__Mapping *mapping;
	Pprof__Function *function;
	Pprof__Line *line;
	Pprof__Line **lines;
	Pprof__Location *location;
	Pprof__Sample *sample;
	uint64_t *location_of;		/* as source.frame_of */
	int64_t *value;			/* TYPES for each sample */
	int64_t comment[2];
	uint64_t *mapping_no;		/* ids by module: the program's is 1 */
};

bool
export_has_pprof(void)
{
	return true;
}

static int64_t
text_no(struct message *m, const char *text)
{
	int64_t no = intern_put(&m->texts, text, strlen(text));

	m->failed = m->failed || no < 0;
	return no < 0 ? 0 : no;
}

static void *
many(struct message *m, size_t n, size_t size)
{
	void *array = calloc(n + 1, size);

	m->failed = m->failed || array == NULL;
	return array;
}

static void *
pointers(struct message *m, void *array, size_t n, size_t size)
{
	void **at = many(m, n, sizeof *at);

	for (size_t i = 0; at != NULL && i < n; i++)
		at[i] = (char *)array + i * size;
	return at;
}

static void
put_type(struct message *m, Pprof__ValueType *to, const char *type,
    const char *unit)
{
	pprof__value_type__init(to);
	to->type = text_no(m, type);
	to->unit = text_no(m, unit);
}

static void
put_types(struct message *m)
{
	static const char *const name[TYPES][2] = {
		{ "inuse_objects", "count" }, { "inuse_space", "bytes" },
		{ "alloc_objects", "count" }, { "alloc_space", "bytes" },
	};

	m->profile.n_sample_type = m->s->counts_all ? TYPES : TYPES / 2;
	m->profile.sample_type = m->types;
	for (size_t i = 0; i < m->profile.n_sample_type; i++) {
		m->types[i] = &m->type[i];
		put_type(m, &m->type[i], name[i][0], name[i][1]);
	}
	m->profile.default_sample_type = m->type[1].type;
	put_type(m, &m->period, "space", "bytes");
	m->profile.period_type = &m->period;
	m->profile.period = m->s->sample != 0 ? (int64_t)m->s->sample : 1;
}

static void
put_build_id(struct message *m, const struct export_module *from,
    Pprof__Mapping *to)
{
	char hex[2 * SYMBOL_BUILD_ID_MAX + 1] = "";

	for (unsigned i = 0; i < from->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", from->build_id[i]);
	to->build_id = text_no(m, hex);
}

static void
put_mappings(struct message *m)
{
	const struct export_source *s = m->s;
	uint64_t next = s->program != EXPORT_NONE ? 2 : 1, id;

	m->mapping = many(m, s->modules, sizeof *m->mapping);
	m->mapping_no = many(m, s->modules, sizeof *m->mapping_no);
	if (m->failed)
		return;
	for (uint32_t i = 0; i < s->modules; i++) {
		const struct export_module *from = &s->module[i];
		Pprof__Mapping *to;

		id = i == s->program ? 1 : next++;
		m->mapping_no[i] = id;
		to = &m->mapping[id - 1];
		pprof__mapping__init(to);
		to->id = id;
		to->memory_start = from->start;
		to->memory_limit = from->end;
		to->file_offset = from->offset;
		to->filename = text_no(m, from->path);
		put_build_id(m, from, to);
	}
	m->profile.n_mapping = s->modules;
	m->profile.mapping = pointers(m, m->mapping, s->modules, sizeof *m->mapping);
}

static void
put_functions(struct message *m)
{
	size_t n = m->s->functions;

	m->function = many(m, n, sizeof *m->function);
	if (m->failed)
		return;
	for (size_t i = 0; i < n; i++) {
		pprof__function__init(&m->function[i]);
		m->function[i].id = i + 1;
		m->function[i].name = text_no(m, m->s->function[i].name);
		m->function[i].filename = text_no(m, m->s->function[i].file);
	}
	m->profile.n_function = n;
	m->profile.function = pointers(m, m->function, n, sizeof *m->function);
}

/* Marks the mapping of a frame with the kinds of words that its lines have. */
static void
note_words(struct message *m, const struct export_frame *f)
{
	Pprof__Mapping *to;

	if (f->module == EXPORT_NONE || f->lines == 0)
		return;
	to = &m->mapping[m->mapping_no[f->module] - 1];
	to->has_functions = true;
	to->has_inline_frames = to->has_inline_frames || f->lines > 1;
	for (uint32_t i = f->first; i < f->first + f->lines; i++) {
		const struct export_line *l = &m->s->line[i];

		to->has_line_numbers = to->has_line_numbers || l->line != 0;
		to->has_filenames = to->has_filenames ||
		    m->s->function[l->function].file[0] != '\0';
	}
}

static void
put_lines(struct message *m)
{
	size_t n = m->s->lines;

	m->line = many(m, n, sizeof *m->line);
	if (m->failed)
		return;
	for (size_t i = 0; i < n; i++) {
		pprof__line__init(&m->line[i]);
		m->line[i].function_id = m->s->line[i].function + 1;
		m->line[i].line = m->s->line[i].line;
	}
	m->lines = pointers(m, m->line, n, sizeof *m->line);
}

static void
put_locations(struct message *m)
{
	size_t n = m->s->frames;

	m->location = many(m, n, sizeof *m->location);
	if (m->failed)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct export_frame *f = &m->s->frame[i];
		Pprof__Location *to = &m->location[i];

		pprof__location__init(to);
		to->id = i + 1;
		to->mapping_id = f->module != EXPORT_NONE ?
		    m->mapping_no[f->module] : 0;
		to->address = f->address != 0 ? f->address - 1 : 0;
		to->n_line = f->lines;
		to->line = &m->lines[f->first];
		note_words(m, f);
	}
	m->profile.n_location = n;
	m->profile.location = pointers(m, m->location, n, sizeof *m->location);
}

static void
put_samples(struct message *m)
{
	const struct export_source *s = m->s;

	m->sample = many(m, s->stacks, sizeof *m->sample);
	m->value = many(m, s->stacks, TYPES * sizeof *m->value);
	m->location_of = many(m, s->frames_of, sizeof *m->location_of);
	if (m->failed)
		return;
	for (size_t i = 0; i < s->frames_of; i++)
		m->location_of[i] = s->frame_of[i] + 1;
	for (size_t i = 0; i < s->stacks; i++) {
		const struct export_stack *st = &s->stack[i];
		int64_t *value = &m->value[TYPES * i];

		value[0] = (int64_t)st->live_blocks;
		value[1] = (int64_t)st->live_bytes;
		value[2] = (int64_t)st->all_blocks;
		value[3] = (int64_t)st->all_bytes;
		pprof__sample__init(&m->sample[i]);
		m->sample[i].n_location_id = st->depth;
		m->sample[i].location_id = &m->location_of[st->first];
		m->sample[i].n_value = m->profile.n_sample_type;
		m->sample[i].value = value;
	}
	m->profile.n_sample = s->stacks;
	m->profile.sample = pointers(m, m->sample, s->stacks, sizeof *m->sample);
}

static void
put_comments(struct message *m)
{
	size_t n = 0;

	m->comment[n++] = text_no(m, m->s->target);
	if (m->s->note[0] != '\0')
		m->comment[n++] = text_no(m, m->s->note);
	m->profile.n_comment = n;
	m->profile.comment = m->comment;
}

/* Call it behind all other parts. */
static void
put_texts(struct message *m)
{
	size_t n = m->texts.n;
	char **text = many(m, n, sizeof *text);

	for (size_t i = 0; text != NULL && i < n; i++)
		text[i] = m->texts.text[i].bytes;
	m->profile.n_string_table = n;
	m->profile.string_table = text;
}

static void
message_fini(struct message *m)
{
	free(m->profile.mapping);
	free(m->profile.function);
	free(m->profile.location);
	free(m->profile.sample);
	free(m->profile.string_table);
	free(m->mapping);
	free(m->mapping_no);
	free(m->function);
	free(m->line);
	free(m->lines);
	free(m->location);
	free(m->sample);
	free(m->value);
	free(m->location_of);
	intern_fini(&m->texts);
}

static int
message_init(struct message *m, const struct export_source *s)
{
	*m = (struct message){ .s = s };
	pprof__profile__init(&m->profile);
	text_no(m, "");
	put_types(m);
	put_mappings(m);
	put_functions(m);
	put_lines(m);
	put_locations(m);
	put_samples(m);
	put_comments(m);
	put_texts(m);
	m->profile.time_nanos = s->wall_ms * INT64_C(1000000);
	if (!m->failed)
		return 0;
	message_fini(m);
	return -ENOMEM;
}

struct gzip {
	ProtobufCBuffer base;
	z_stream z;
	FILE *out;
	uint8_t in[1 << 14];
	size_t len;
	int error;		/* of the first write that failed; 0: none has */
};

static void
deflate_some(struct gzip *g, int flush)
{
	uint8_t out[1 << 14];
	size_t n;

	g->z.next_in = g->in;
	g->z.avail_in = (uInt)g->len;
	do {
		g->z.next_out = out;
		g->z.avail_out = sizeof out;
		deflate(&g->z, flush);
		n = sizeof out - g->z.avail_out;
		if (g->error == 0 && fwrite(out, 1, n, g->out) < n)
			g->error = -errno;
	} while (g->z.avail_out == 0);
	g->len = 0;
}

static void
gzip_append(ProtobufCBuffer *buffer, size_t len, const uint8_t *bytes)
{
	struct gzip *g = (struct gzip *)buffer;

	while (len > 0) {
		size_t n = sizeof g->in - g->len;

		if (n > len)
			n = len;
		memcpy(g->in + g->len, bytes, n);
		g->len += n;
		bytes += n;
		len -= n;
		if (g->len == sizeof g->in)
			deflate_some(g, Z_NO_FLUSH);
	}
}

int
export_pprof(const struct export_source *s, FILE *out)
{
	struct gzip g = { .base.append = gzip_append, .out = out };
	struct message m;
	int r = message_init(&m, s);

	if (r < 0)
		return r;
	if (deflateInit2(&g.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
	    8, Z_DEFAULT_STRATEGY) != Z_OK) {
		message_fini(&m);
		return -ENOMEM;
	}
	protobuf_c_message_pack_to_buffer(&m.profile.base, &g.base);
	deflate_some(&g, Z_FINISH);
	deflateEnd(&g.z);
	message_fini(&m);
	return g.error;
}

#else

bool
export_has_pprof(void)
{
	return false;
}

int
export_pprof(const struct export_source *s, FILE *out)
{
	(void)s;
	(void)out;
	return -ENOTSUP;
}

#endif
