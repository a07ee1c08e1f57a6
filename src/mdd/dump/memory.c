#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "tables.h"

int
memory_add(struct memory *m, uint64_t lo, const uint8_t *bytes, size_t len)
{
	void *array = m->piece;
	int r;

	if (len == 0)
		return 0;
	r = base_grow(&array, &m->cap, m->n + 1, sizeof *m->piece);
	if (r < 0)
		return r;
	m->piece = array;
	/* Addresses do not wrap around. */
	if (len > UINT64_MAX - lo)
		len = (size_t)(UINT64_MAX - lo);
	m->piece[m->n++] = (struct memory_piece){ lo, len, bytes };
	return 0;
}

static int
by_address(const void *a, const void *b)
{
	const struct memory_piece *p = a, *q = b;

	if (p->lo != q->lo)
		return p->lo < q->lo ? -1 : 1;
	/* Pieces are in the order of the file. */
	return p->bytes < q->bytes ? -1 : p->bytes > q->bytes;
}

/* Of pieces that overlap, the one that begins first wins. */
void
memory_sort(struct memory *m)
{
	uint64_t end = 0, cut;
	size_t n = 0;

	if (m->n > 0)
		qsort(m->piece, m->n, sizeof *m->piece, by_address);
	m->bytes = 0;
	for (size_t i = 0; i < m->n; i++) {
		struct memory_piece p = m->piece[i];

		cut = end > p.lo ? end - p.lo : 0;
		if (cut >= p.len)
			continue;
		p.lo += cut;
		p.bytes += cut;
		p.len -= cut;
		end = p.lo + p.len;
		m->bytes += p.len;
		m->piece[n++] = p;
	}
	m->n = n;
	m->last = 0;
}

void
memory_fini(struct memory *m)
{
	free(m->piece);
	m->piece = NULL;
	m->n = m->cap = 0;
}

static bool
has_address(const struct memory *m, size_t i, uint64_t address)
{
	return i < m->n && address >= m->piece[i].lo &&
	    address - m->piece[i].lo < m->piece[i].len;
}

/* The piece that has the address; m->n: none. */
static size_t
find_piece(struct memory *m, uint64_t address)
{
	size_t i;

	if (has_address(m, m->last, address))
		return m->last;
	BASE_FIND_FIRST(i, m->n, m->piece[i].lo > address);
	if (i == 0 || !has_address(m, i - 1, address))
		return m->n;
	return m->last = i - 1;
}

size_t
memory_read(struct memory *m, uint64_t address, uint8_t *out, size_t len)
{
	size_t done = 0, i;

	for (i = find_piece(m, address); done < len && i < m->n; i++) {
		const struct memory_piece *p = &m->piece[i];
		uint64_t at = address + done - p->lo;
		size_t n = len - done;

		if (address + done < p->lo || at >= p->len)
			break;
		if (n > p->len - at)
			n = (size_t)(p->len - at);
		memcpy(out + done, p->bytes + at, n);
		done += n;
	}
	return done;
}

uint32_t
memory_u32(const struct memory *m, const uint8_t *p)
{
	return m->big_endian ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3] : (uint32_t)base_get_le(p, 4);
}

uint64_t
memory_word(const struct memory *m, const uint8_t *p)
{
	if (m->word_bytes == 4)
		return memory_u32(m, p);
	return m->big_endian ? (uint64_t)memory_u32(m, p) << 32 |
	    memory_u32(m, p + 4) : base_get_le(p, 8);
}
