/*
 * An mddout file: a header, and chunks with checksums.  A chunk with a wrong
 * checksum is used and reported: tables.c checks each value.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "tables.h"

#define FILE_MAX ((size_t)(sizeof(size_t) > 4 ? UINT64_C(1) << 34 : \
	UINT64_C(1) << 30))
#define MAGIC_BYTES (sizeof DUMP_FILE_MAGIC - 1)
#define HEADER 16
#define CHUNK 16		/* bytes before a payload */

struct chunk {
	const uint8_t *head;		/* four letters */
	const uint8_t *bytes;
	size_t len;
	size_t at;			/* offset of the head */
};

struct reading {
	struct dump *d;
	const uint8_t *bytes;
	size_t len;
	struct memory memory;
	struct chunk info, maps;	/* bytes NULL: there is none */
	uint64_t root;
	bool has_root, ended;
	uint32_t chunks;
};

static bool
is_type(const struct chunk *c, const char *type)
{
	return memcmp(c->head, type, 4) == 0;
}

static bool
is_letter(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	    (c >= 'a' && c <= 'z');
}

/* False: the file has no further chunk. */
static bool
next_chunk(struct reading *r, size_t *at, struct chunk *out)
{
	size_t left = r->len - *at, i;
	const uint8_t *p = r->bytes + *at;
	uint64_t len;

	for (i = 0; i < 4 && i < left && is_letter(p[i]);)
		i++;
	if (left == 0)
		return false;
	if (left < CHUNK || i < 4) {
		dump_problem(r->d, "offset %zu: %s", *at, i < 4 && i < left ?
		    "no chunk begins there" : "the file ends within the head "
		    "of a chunk");
		r->ended = true;
		return false;
	}
	len = base_get_le(p + 8, 8);
	*out = (struct chunk){ p, p + CHUNK, left - CHUNK, *at };
	if (len > out->len) {
		dump_problem(r->d, "offset %zu: chunk %.4s has %" PRIu64
		    " bytes, and the file ends after %zu", *at, (const char *)p,
		    len, out->len);
		r->ended = true;
	} else {
		out->len = (size_t)len;
		if (dump_crc32(0, out->bytes, out->len) != base_get_le(p + 4, 4))
			dump_problem(r->d, "offset %zu: the checksum of chunk "
			    "%.4s is wrong", *at, (const char *)p);
	}
	*at += CHUNK + out->len;
	return true;
}

static bool
has_bytes(struct reading *r, const struct chunk *c, size_t n)
{
	if (c->len >= n)
		return true;
	dump_problem(r->d, "offset %zu: chunk %.4s of %zu bytes is too short",
	    c->at, (const char *)c->head, c->len);
	return false;
}

static void
take_end(struct reading *r, const struct chunk *c, size_t behind)
{
	r->ended = true;
	if (has_bytes(r, c, 4) && base_get_le(c->bytes, 4) != r->chunks)
		dump_problem(r->d, "offset %zu: %" PRIu32 " chunks come before, "
		    "and there were %" PRIu32, c->at, r->chunks,
		    (uint32_t)base_get_le(c->bytes, 4));
	if (behind < r->len)
		dump_problem(r->d, "offset %zu: %zu bytes stand behind the end",
		    behind, r->len - behind);
}

static bool
is_known_type(const struct chunk *c)
{
	return is_type(c, "INFO") || is_type(c, "MAPS") || is_type(c, "ROOT") ||
	    is_type(c, "MEMO");
}

static int
take_chunk(struct reading *r, const struct chunk *c)
{
	if (is_type(c, "INFO") && r->info.bytes == NULL) {
		r->info = *c;
	} else if (is_type(c, "MAPS") && r->maps.bytes == NULL) {
		r->maps = *c;
	} else if (is_type(c, "ROOT") && !r->has_root && has_bytes(r, c, 8)) {
		r->has_root = true;
		r->root = base_get_le(c->bytes, 8);
	} else if (is_type(c, "MEMO") && has_bytes(r, c, 8)) {
		return memory_add(&r->memory, base_get_le(c->bytes, 8),
		    c->bytes + 8, c->len - 8);
	} else if (!is_known_type(c)) {
		/* A flipped bit may have made it of another type. */
		dump_problem(r->d, "offset %zu: the type %.4s of a chunk is not "
		    "known", c->at, (const char *)c->head);
	}
	return 0;
}

static int
read_chunks(struct reading *r)
{
	size_t at = HEADER;
	struct chunk c;
	int e = 0;

	while (e == 0 && next_chunk(r, &at, &c)) {
		if (is_type(&c, "ENDF")) {
			take_end(r, &c, at);
			break;
		}
		e = take_chunk(r, &c);
		r->chunks++;
	}
	if (e == 0 && !r->ended)
		dump_problem(r->d, "offset %zu: the file is truncated: its last "
		    "chunk, ENDF, is missing", at);
	return e;
}

static void
take_line(struct dump *d, const char *key, const char *value)
{
	struct dump_info *i = &d->info;
	uint64_t n;

	if (strcmp(key, "maker") == 0)
		base_copy_text(i->maker, sizeof i->maker, value);
	else if (strcmp(key, "time") == 0)
		base_copy_text(i->time, sizeof i->time, value);
	else if (strcmp(key, "from") == 0)
		base_copy_text(i->from, sizeof i->from, value);
	else if (strcmp(key, "program") == 0)
		base_copy_text(i->program, sizeof i->program, value);
	else if (strcmp(key, "reset") == 0)
		i->reset = strcmp(value, "yes") == 0;
	else if (strcmp(key, "number") == 0 &&
	    base_parse_count(value, UINT32_MAX, &n) == 0) {
		i->numbered = true;
		i->number = (uint32_t)n;
	}
}

static void
take_info(struct dump *d, char *text)
{
	char *line, *next, *value;

	for (line = text; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		value = strchr(line, ' ');
		if (value == NULL)
			continue;
		*value++ = '\0';
		take_line(d, line, value);
	}
}

static char *
text_of(const struct chunk *c)
{
	char *text = malloc(c->len + 1);

	if (text == NULL)
		return NULL;
	if (c->len > 0)
		memcpy(text, c->bytes, c->len);
	text[c->len] = '\0';
	return text;
}

static int
take_texts(struct reading *r)
{
	char *info = text_of(&r->info), *maps = text_of(&r->maps);
	int e = info == NULL || maps == NULL ? -ENOMEM : 0;

	r->d->firmware = r->maps.len == 0;
	if (e == 0) {
		take_info(r->d, info);
		e = modules_read(r->d, &r->memory, maps);
	}
	free(info);
	free(maps);
	return e;
}

static bool
is_mddout(const uint8_t *bytes, size_t len)
{
	return len >= MAGIC_BYTES && memcmp(bytes, DUMP_FILE_MAGIC, MAGIC_BYTES) == 0;
}

static int
read_file(struct reading *r)
{
	uint64_t version;
	int e;

	if (r->len < HEADER) {
		dump_problem(r->d, "offset %zu: the file ends within its header",
		    r->len);
		return 0;
	}
	version = base_get_le(r->bytes + MAGIC_BYTES, 4);
	if (version != DUMP_FILE_VERSION) {
		dump_problem(r->d, "offset %zu: the file is of version %" PRIu64
		    ", and this program reads version %d", MAGIC_BYTES, version,
		    DUMP_FILE_VERSION);
		return 0;
	}
	if (base_get_le(r->bytes + MAGIC_BYTES + 4, 4) != 0)
		dump_problem(r->d, "offset %zu: there are no four bytes of 0",
		    MAGIC_BYTES + 4);
	e = read_chunks(r);
	if (e < 0)
		return e;
	memory_sort(&r->memory);
	if (r->has_root)
		e = tables_read(r->d, &r->memory, r->root);
	else
		dump_problem(r->d, "offset %zu: there is no chunk ROOT", r->len);
	if (e < 0)
		return e;
	dump_settle(r->d);
	return take_texts(r);
}

int
dump_read(struct dump *d, const char *name, const uint8_t *bytes, size_t len)
{
	struct reading r = { .d = d, .bytes = bytes, .len = len };
	int e;

	*d = (struct dump){ .name = strdup(name) };
	if (d->name == NULL)
		return -ENOMEM;
	if (!is_mddout(bytes, len))
		return -EBADMSG;
	e = read_file(&r);
	memory_fini(&r.memory);
	return e;
}

int
dump_read_file(struct dump *d, const char *path)
{
	char *bytes;
	size_t len;
	int e;

	*d = (struct dump){ .name = NULL };
	e = base_file_read(path, FILE_MAX, &bytes, &len);
	if (e < 0)
		return e;
	e = dump_read(d, path, (const uint8_t *)bytes, len);
	free(bytes);
	return e;
}

int
dump_file_kind(const char *path, enum dump_kind *out)
{
	uint8_t bytes[HEADER] = { 0 };
	struct elf_head elf;
	ssize_t n;
	int fd, e;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = read(fd, bytes, sizeof bytes);
	e = n < 0 ? -errno : 0;
	close(fd);
	if (e < 0)
		return e;
	*out = is_mddout(bytes, (size_t)n) ? DUMP_MDDOUT : DUMP_OTHER;
	if (*out == DUMP_OTHER && elf_head_read(&elf, path) == 0)
		*out = elf.type == ET_CORE ? DUMP_CORE : DUMP_PROGRAM;
	return 0;
}
