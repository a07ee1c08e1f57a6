#include <errno.h>
#include <stdlib.h>

#include "format.h"

char *
cursor_text(struct cursor *c)
{
	uint64_t n = cursor_varint(c);
	const uint8_t *p;
	char *text;

	if (n >= CAPTURE_TEXT_MAX)
		c->bad = true;
	p = cursor_bytes(c, n);
	if (p == NULL || c->bad)
		return NULL;
	text = malloc((size_t)n + 1);
	if (text == NULL)
		return NULL;
	memcpy(text, p, (size_t)n);
	text[n] = '\0';
	return text;
}

void
define_part(struct bytes *b, const struct capture_part *p)
{
	bytes_text(b, p->stream);
	bytes_text(b, p->comm);
	bytes_text(b, p->exe);
	bytes_text(b, p->cwd);
	bytes_varint(b, zigzag((uint64_t)p->pid));
	bytes_varint(b, zigzag((uint64_t)p->ppid));
	bytes_varint(b, zigzag((uint64_t)p->uid));
	bytes_varint(b, zigzag((uint64_t)p->start_ns));
	bytes_varint(b, p->parent);
	bytes_varint(b, p->store);
	bytes_varint(b, p->began);
	bytes_varint(b, p->word_bytes);
	bytes_varint(b, p->options);
	bytes_varint(b, p->sample);
	bytes_varint(b, zigzag((uint64_t)p->wall_ns));
}

/* first and ms are in the block's head. */
int
read_part(struct cursor *c, struct capture_part *p)
{
	memset(p, 0, sizeof *p);
	p->stream = cursor_text(c);
	p->comm = cursor_text(c);
	p->exe = cursor_text(c);
	p->cwd = cursor_text(c);
	p->pid = (int64_t)cursor_zigzag(c);
	p->ppid = (int64_t)cursor_zigzag(c);
	p->uid = (int64_t)cursor_zigzag(c);
	p->start_ns = (int64_t)cursor_zigzag(c);
	p->parent = (uint32_t)cursor_varint(c);
	p->store = (uint32_t)cursor_varint(c);
	p->began = (uint32_t)cursor_varint(c);
	p->word_bytes = (uint32_t)cursor_varint(c);
	p->options = (uint32_t)cursor_varint(c);
	p->sample = cursor_varint(c);
	p->wall_ns = (int64_t)cursor_zigzag(c);
	if (c->bad)
		return -EBADMSG;
	return p->stream == NULL || p->comm == NULL || p->exe == NULL ||
	    p->cwd == NULL ? -ENOMEM : 0;
}

static void
free_text(const char **text)
{
	union {
		const char *borrowed;
		char *own;
	} u = { .borrowed = *text };

	free(u.own);
	*text = NULL;
}

void
undefine_part(struct capture_part *p)
{
	free_text(&p->stream);
	free_text(&p->comm);
	free_text(&p->exe);
	free_text(&p->cwd);
}

/* The numbers in the order of the file; peak_ms and the losses follow them. */
static const size_t totals_field[] = {
#define FIELD(name) offsetof(struct capture_totals, name)
	FIELD(allocs), FIELD(frees), FIELD(failed), FIELD(alloc_bytes),
	FIELD(freed_bytes), FIELD(blocks), FIELD(bytes), FIELD(peak_bytes),
	FIELD(peak_seq), FIELD(unknown_free), FIELD(duplicate),
	FIELD(unknown_undo),
#undef FIELD
};

void
define_totals(struct bytes *b, const struct capture_totals *t)
{
	uint64_t v;

	for (size_t i = 0; i < BASE_NELEM(totals_field); i++) {
		memcpy(&v, (const char *)t + totals_field[i], sizeof v);
		bytes_varint(b, v);
	}
	bytes_varint(b, zigzag((uint64_t)t->peak_ms));
	bytes_varint(b, STREAM_CAUSES);
	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		bytes_varint(b, t->lost[i]);
}

void
read_totals(struct cursor *c, struct capture_totals *t)
{
	uint64_t causes, v;

	memset(t, 0, sizeof *t);
	for (size_t i = 0; i < BASE_NELEM(totals_field); i++) {
		v = cursor_varint(c);
		memcpy((char *)t + totals_field[i], &v, sizeof v);
	}
	t->peak_ms = (int64_t)cursor_zigzag(c);
	causes = cursor_varint(c);
	for (uint64_t i = 0; i < causes && !c->bad; i++) {
		v = cursor_varint(c);
		t->lost[i < STREAM_CAUSES ? i : STREAM_OTHER] += v;
	}
}

void
define_module(struct bytes *b, unsigned no, const struct stream_module *m)
{
	bytes_varint(b, no);
	bytes_varint(b, m->start);
	bytes_varint(b, m->end);
	bytes_varint(b, zigzag(m->bias));
	bytes_varint(b, m->build_id_len);
	bytes_put(b, m->build_id, m->build_id_len);
	bytes_text(b, m->path);
	bytes_varint(b, m->cut);
	bytes_varint(b, zigzag((uint64_t)m->seen_ns));
}

bool
read_module(struct cursor *c, unsigned *no, struct stream_module *m)
{
	const uint8_t *id;

	memset(m, 0, sizeof *m);
	*no = (unsigned)cursor_varint(c);
	m->start = cursor_varint(c);
	m->end = cursor_varint(c);
	m->bias = cursor_zigzag(c);
	m->build_id_len = (unsigned)cursor_varint(c);
	if (m->build_id_len > sizeof m->build_id)
		c->bad = true;
	id = cursor_bytes(c, m->build_id_len);
	if (c->bad)
		return false;
	memcpy(m->build_id, id, m->build_id_len);
	m->path = cursor_text(c);
	m->cut = cursor_varint(c) != 0;
	m->seen_ns = (int64_t)cursor_zigzag(c);
	if (!c->bad && m->path != NULL)
		return true;
	free_text(&m->path);
	return false;
}

void
define_site(struct bytes *b, uint32_t no, const struct stream_site *s)
{
	uint64_t before = 0;

	bytes_varint(b, no);
	bytes_varint(b, s->depth);
	bytes_varint(b, s->end);
	for (unsigned i = 0; i < s->depth; i++) {
		bytes_varint(b, zigzag(frame_pc(s->frame[i]) - before));
		bytes_varint(b, frame_module(s->frame[i]));
		before = frame_pc(s->frame[i]);
	}
}

bool
read_site(struct cursor *c, uint32_t *no, uint64_t frame[RING_STACK_MAX],
    struct stream_site *s)
{
	uint64_t pc = 0, end;

	*no = (uint32_t)cursor_varint(c);
	s->depth = (unsigned)cursor_varint(c);
	end = cursor_varint(c);
	if (s->depth == 0 || s->depth > RING_STACK_MAX || end >= RING_ENDS)
		c->bad = true;
	s->end = (enum ring_end)end;
	s->frame = frame;
	for (unsigned i = 0; i < s->depth && !c->bad; i++) {
		pc = (pc + cursor_zigzag(c)) & REC_ADDR_MASK;
		frame[i] = frame_make(pc, (unsigned)cursor_varint(c) & UINT16_MAX);
	}
	return !c->bad;
}

/* A number that is longer than it may be is the largest. */
static uint32_t
cursor_u32(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

void
define_thread(struct bytes *b, uint32_t index, uint32_t tid, const char *name)
{
	bytes_varint(b, index);
	bytes_varint(b, tid);
	bytes_text(b, name);
}

int
read_thread(struct cursor *c, uint32_t *index, uint32_t *tid, char **name)
{
	char *text;

	*index = cursor_u32(c);
	*tid = cursor_u32(c);
	text = cursor_text(c);
	if (text == NULL)
		return c->bad ? -EBADMSG : -ENOMEM;
	*name = text;
	return 0;
}

void
define_requester(struct bytes *b, uint32_t no, const struct blklist_info *i)
{
	bytes_varint(b, no);
	bytes_text(b, i->name);
	bytes_varint(b, i->node);
}

int
read_requester(struct cursor *c, uint32_t *no, struct blklist_info *i)
{
	char *name;

	memset(i, 0, sizeof *i);
	*no = cursor_u32(c);
	name = cursor_text(c);
	i->node = (uint16_t)cursor_u32(c);
	if (name != NULL)
		base_copy_text(i->name, sizeof i->name, name);
	free(name);
	return c->bad ? -EBADMSG : name == NULL ? -ENOMEM : 0;
}

void
define_type(struct bytes *b, const struct stream_type *t)
{
	bytes_varint(b, t->code);
	bytes_text(b, t->name);
	bytes_text(b, t->text);
}

bool
read_type(struct cursor *c, struct stream_type *t)
{
	char *name, *text;

	memset(t, 0, sizeof *t);
	t->code = (uint8_t)cursor_varint(c);
	name = cursor_text(c);
	text = cursor_text(c);
	base_copy_text(t->name, sizeof t->name, name != NULL ? name : "");
	base_copy_text(t->text, sizeof t->text, text != NULL ? text : "");
	free(name);
	free(text);
	return !c->bad;
}

void
define_stress(struct bytes *b, const struct capture_stress *s)
{
	uint8_t packed[STRESS_PACKED_MAX];
	size_t len = stress_put(packed, &s->sample);

	bytes_text(b, s->kernel);
	bytes_text(b, s->why);
	bytes_varint(b, len);
	bytes_put(b, packed, len);
}

int
read_stress(struct cursor *c, struct stress_sample *s, char **kernel,
    char **why)
{
	char *text[2];
	const uint8_t *packed;
	uint64_t len;
	int err;

	text[0] = cursor_text(c);
	text[1] = cursor_text(c);
	len = cursor_varint(c);
	packed = cursor_bytes(c, len);
	err = c->bad ? -EBADMSG : text[0] == NULL || text[1] == NULL ?
	    -ENOMEM : stress_get(s, packed, (size_t)len);

	if (err < 0) {
		free(text[0]);
		free(text[1]);
		return err;
	}
	*kernel = text[0];
	*why = text[1];
	return 0;
}
