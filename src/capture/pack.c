#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "format.h"

#define CRC32C_POLYNOMIAL UINT32_C(0x82f63b78)	/* reversed */
#define SLICES 8

static uint32_t crc_table[SLICES][256];
#ifdef __x86_64__
static bool crc_in_hardware;
#endif

static void
make_crc_table(void)
{
	for (unsigned i = 0; i < 256; i++) {
		uint32_t c = i;

		for (unsigned k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ CRC32C_POLYNOMIAL : c >> 1;
		crc_table[0][i] = c;
	}
	for (unsigned s = 1; s < SLICES; s++)
		for (unsigned i = 0; i < 256; i++)
			crc_table[s][i] = crc_table[s - 1][i] >> 8 ^
			    crc_table[0][crc_table[s - 1][i] & 0xff];
#ifdef __x86_64__
	crc_in_hardware = __builtin_cpu_supports("sse4.2");
#endif
}

static uint32_t
crc_by_table(uint32_t c, const uint8_t *p, size_t len)
{
	for (; len >= SLICES; len -= SLICES, p += SLICES) {
		uint64_t v = base_get_le(p, SLICES) ^ c;

		c = 0;
		for (unsigned s = 0; s < SLICES; s++)
			c ^= crc_table[SLICES - 1 - s][v >> 8 * s & 0xff];
	}
	for (; len > 0; len--)
		c = c >> 8 ^ crc_table[0][(c ^ *p++) & 0xff];
	return c;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t
crc_by_hardware(uint32_t c, const uint8_t *p, size_t len)
{
	uint64_t wide = c, v;

	for (; len >= sizeof v; len -= sizeof v, p += sizeof v) {
		memcpy(&v, p, sizeof v);
		wide = __builtin_ia32_crc32di(wide, v);
	}
	c = (uint32_t)wide;
	for (; len > 0; len--)
		c = __builtin_ia32_crc32qi(c, *p++);
	return c;
}
#endif

uint32_t
format_crc32c(const void *p, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_crc_table);
#ifdef __x86_64__
	if (crc_in_hardware)
		return ~crc_by_hardware(UINT32_MAX, p, len);
#endif
	return ~crc_by_table(UINT32_MAX, p, len);
}

void
format_put_segment(uint8_t out[FORMAT_SEGMENT_HEAD],
    const struct segment_head *s)
{
	memset(out, 0, FORMAT_SEGMENT_HEAD);
	memcpy(out, FORMAT_MAGIC, 8);
	base_put_le(out + 8, FORMAT_VERSION, 4);
	base_put_le(out + 12, FORMAT_ORDER, 4);
	base_put_le(out + 16, s->id, 8);
	base_put_le(out + 24, s->number, 8);
	base_put_le(out + 32, (uint64_t)s->wall_ns, 8);
	base_put_le(out + 40, s->node, 4);
	base_put_le(out + 60, format_crc32c(out, 60), 4);
}

int
format_get_segment(const uint8_t in[FORMAT_SEGMENT_HEAD],
    struct segment_head *s)
{
	if (memcmp(in, FORMAT_MAGIC, 8) != 0)
		return -EBADMSG;
	if (base_get_le(in + 12, 4) != FORMAT_ORDER ||
	    base_get_le(in + 8, 4) != FORMAT_VERSION)
		return -ENOTSUP;
	if (base_get_le(in + 60, 4) != format_crc32c(in, 60))
		return -EBADMSG;
	s->id = base_get_le(in + 16, 8);
	s->number = base_get_le(in + 24, 8);
	s->wall_ns = (int64_t)base_get_le(in + 32, 8);
	s->node = (uint32_t)base_get_le(in + 40, 4);
	return 0;
}

void
format_put_block(uint8_t out[FORMAT_BLOCK_HEAD], const struct block_head *b)
{
	base_put_le(out, FORMAT_BLOCK_MARK, 4);
	base_put_le(out + 4, b->len, 4);
	base_put_le(out + 8, b->decoded, 4);
	base_put_le(out + 12, b->kind, 2);
	base_put_le(out + 14, b->flags, 2);
	base_put_le(out + 16, b->part, 4);
	base_put_le(out + 20, b->count, 4);
	base_put_le(out + 24, b->first, 8);
	base_put_le(out + 32, (uint64_t)b->ms, 8);
	base_put_le(out + 40, b->crc, 4);
	base_put_le(out + 44, format_crc32c(out, 44), 4);
}

bool
format_get_block(const uint8_t in[FORMAT_BLOCK_HEAD], struct block_head *b)
{
	if (base_get_le(in, 4) != FORMAT_BLOCK_MARK ||
	    base_get_le(in + 44, 4) != format_crc32c(in, 44))
		return false;
	b->len = (uint32_t)base_get_le(in + 4, 4);
	b->decoded = (uint32_t)base_get_le(in + 8, 4);
	b->kind = (uint16_t)base_get_le(in + 12, 2);
	b->flags = (uint16_t)base_get_le(in + 14, 2);
	b->part = (uint32_t)base_get_le(in + 16, 4);
	b->count = (uint32_t)base_get_le(in + 20, 4);
	b->first = base_get_le(in + 24, 8);
	b->ms = (int64_t)base_get_le(in + 32, 8);
	b->crc = (uint32_t)base_get_le(in + 40, 4);
	return b->len <= FORMAT_BLOCK_MAX && b->decoded <= FORMAT_BLOCK_MAX;
}

struct pack {
#ifdef HAVE_ZSTD
	ZSTD_CCtx *c;
	ZSTD_DCtx *d;
#else
	char none;
#endif
};

int
pack_new(struct pack **out)
{
	struct pack *p = calloc(1, sizeof *p);

	if (p == NULL)
		return -ENOMEM;
	*out = p;
	return 0;
}

#ifdef HAVE_ZSTD
bool
pack_is_there(void)
{
	return true;
}

void
pack_free(struct pack *p)
{
	if (p == NULL)
		return;
	ZSTD_freeCCtx(p->c);
	ZSTD_freeDCtx(p->d);
	free(p);
}

size_t
pack_shrink(struct pack *p, uint8_t *out, size_t cap, const uint8_t *in,
    size_t len)
{
	size_t n;

	if (p->c == NULL && (p->c = ZSTD_createCCtx()) == NULL)
		return 0;
	n = ZSTD_compressCCtx(p->c, out, cap, in, len, 1);
	return ZSTD_isError(n) || n >= len ? 0 : n;
}

bool
pack_expand(struct pack *p, uint8_t *out, size_t len, const uint8_t *in,
    size_t n)
{
	if (p->d == NULL && (p->d = ZSTD_createDCtx()) == NULL)
		return false;
	return ZSTD_decompressDCtx(p->d, out, len, in, n) == len;
}
#else
bool
pack_is_there(void)
{
	return false;
}

void
pack_free(struct pack *p)
{
	free(p);
}

size_t
pack_shrink(struct pack *p, uint8_t *out, size_t cap, const uint8_t *in,
    size_t len)
{
	(void)p, (void)out, (void)cap, (void)in, (void)len;
	return 0;
}

bool
pack_expand(struct pack *p, uint8_t *out, size_t len, const uint8_t *in,
    size_t n)
{
	(void)p, (void)out, (void)len, (void)in, (void)n;
	return false;
}
#endif
