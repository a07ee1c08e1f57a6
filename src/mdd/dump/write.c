#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "dump.h"

uint32_t
dump_crc32(uint32_t crc, const uint8_t *p, size_t len)
{
	static uint32_t table[256];

	if (table[1] == 0)
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (unsigned k = 0; k < 8; k++)
				c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
			table[i] = c;
		}
	crc = ~crc;
	for (size_t i = 0; i < len; i++)
		crc = table[(crc ^ p[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static void
put(struct dump_writer *w, const void *bytes, size_t len)
{
	if (len > 0 && w->error == 0 && fwrite(bytes, 1, len, w->out) < len)
		w->error = errno != 0 ? -errno : -EIO;
}

void
dump_write_begin(struct dump_writer *w, FILE *out)
{
	uint8_t version[8] = { DUMP_FILE_VERSION };

	*w = (struct dump_writer){ .out = out };
	put(w, DUMP_FILE_MAGIC, sizeof DUMP_FILE_MAGIC - 1);
	put(w, version, sizeof version);
}

/* The payload comes in two parts. */
static void
put_chunk(struct dump_writer *w, const char *type, const uint8_t *head,
    size_t head_len, const uint8_t *bytes, size_t len)
{
	uint8_t number[12];

	base_put_le(number, dump_crc32(dump_crc32(0, head, head_len), bytes,
	    len), 4);
	base_put_le(number + 4, (uint64_t)head_len + len, 8);
	put(w, type, 4);
	put(w, number, sizeof number);
	put(w, head, head_len);
	put(w, bytes, len);
	w->chunks++;
}

void
dump_write_text(struct dump_writer *w, const char *type, const char *text)
{
	put_chunk(w, type, NULL, 0, (const uint8_t *)text, strlen(text));
}

void
dump_write_root(struct dump_writer *w, uint64_t address)
{
	uint8_t number[8];

	base_put_le(number, address, 8);
	put_chunk(w, "ROOT", number, 8, NULL, 0);
}

void
dump_write_memory(struct dump_writer *w, uint64_t address,
    const uint8_t *bytes, size_t len)
{
	uint8_t number[8];

	base_put_le(number, address, 8);
	put_chunk(w, "MEMO", number, 8, bytes, len);
}

int
dump_write_end(struct dump_writer *w)
{
	uint8_t number[4];

	base_put_le(number, w->chunks, 4);
	put_chunk(w, "ENDF", number, 4, NULL, 0);
	if (w->error == 0 && fflush(w->out) != 0)
		w->error = -errno;
	return w->error;
}
