/*
 * A core lacks memory that is the same in a mapped file.  It is read from that
 * file if the build id in the core, at the file's beginning, is the file's.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../dump/elf_read.h"
#include "take.h"

#define SEGMENTS_MAX (1u << 20)
#define NOTES_MAX ((uint64_t)64 << 20)
#define PAGE 4096
#define FILES_MAX (1u << 20)
#define HEAD_BACK 64		/* mappings of a file behind its beginning */

/* Layouts of notes: see core(5) and <sys/procfs.h>; both are the kernel's. */
#define PRSTATUS_PID(wide) ((wide) ? 32u : 24u)

struct segment {
	uint64_t lo, bytes;		/* of the segment's bytes in the core */
	uint64_t offset;
};

struct core_file {
	struct elf_file elf;
	uint64_t end;			/* of the last segment, in the file */
	uint64_t file_bytes;
	struct segment *segment;	/* by address */
	size_t n, cap;
	uint64_t headers;		/* address of the program's headers; 0 */
};

static size_t
pread_some(int fd, void *out, size_t n, uint64_t at)
{
	size_t done = 0;
	ssize_t got = 1;

	if (at > (uint64_t)INT64_MAX - n)
		return 0;
	while (done < n && got > 0) {
		got = pread(fd, (char *)out + done, n - done,
		    (off_t)(at + done));
		if (got > 0)
			done += (size_t)got;
	}
	return done;
}

static size_t
read_segments(const struct core_file *c, uint64_t address, uint8_t *out,
    size_t n)
{
	size_t at, done = 0, got, want;
	uint64_t skip;

	BASE_FIND_FIRST(at, c->n, c->segment[at].lo > address);
	for (size_t i = at - 1; at > 0 && i < c->n && done < n; i++) {
		const struct segment *s = &c->segment[i];

		if (address + done < s->lo || address + done - s->lo >= s->bytes)
			break;
		skip = address + done - s->lo;
		want = n - done < s->bytes - skip ? n - done :
		    (size_t)(s->bytes - skip);
		got = pread_some(c->elf.fd, out + done, want, s->offset + skip);
		done += got;
		if (got < want)
			break;
	}
	return done;
}

static const struct take_mapping *
head_of(const struct take *t, const struct take_mapping *m)
{
	for (unsigned i = 0; i < HEAD_BACK && strcmp(m->path, m[-(long)i].path)
	    == 0; i++) {
		if (m[-(long)i].offset == 0)
			return m - i;
		if (m - i == t->maps.at)
			break;
	}
	return NULL;
}

static bool
is_same_file(const struct take *t, const struct take_mapping *m)
{
	const struct take_mapping *first = head_of(t, m);
	struct elf_head mapped, file;
	uint8_t head[LAYOUT_HEAD_BYTES];

	return first != NULL &&
	    elf_head_parse(&mapped, head, read_segments(t->core, first->lo,
	    head, sizeof head)) == 0 &&
	    elf_head_read(&file, m->path) == 0 && mapped.build_id_len > 0 &&
	    mapped.build_id_len == file.build_id_len &&
	    memcmp(mapped.build_id, file.build_id, file.build_id_len) == 0;
}

static size_t
read_file(const struct take *t, uint64_t address, uint8_t *out, size_t n)
{
	const struct take_mapping *m = take_mapping_at(&t->maps, address);
	size_t got;
	int fd;

	/* The program may have written there. */
	if (m == NULL || m->writable || m->path[0] != '/' ||
	    !is_same_file(t, m))
		return 0;
	if (n > m->hi - address)
		n = (size_t)(m->hi - address);
	fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return 0;
	got = pread_some(fd, out, n, m->offset + (address - m->lo));
	close(fd);
	return got;
}

static size_t
core_file_read(void *arg, uint64_t address, void *out, size_t n)
{
	const struct take *t = arg;
	size_t done = 0, got;

	if (n > UINT64_MAX - address)
		return 0;
	while (done < n) {
		got = read_segments(t->core, address + done,
		    (uint8_t *)out + done, n - done);
		if (got == 0)
			got = read_file(t, address + done,
			    (uint8_t *)out + done, n - done);
		if (got == 0)
			break;
		done += got;
	}
	return done;
}

static int
by_address(const void *a, const void *b)
{
	const struct segment *p = a, *q = b;

	return p->lo < q->lo ? -1 : p->lo > q->lo;
}

static int
add_segment(struct take *t, const uint8_t *p)
{
	struct core_file *c = t->core;
	const struct elf_file *e = &c->elf;
	uint64_t lo = PHDR(e, p, p_vaddr), bytes = PHDR(e, p, p_filesz);
	uint64_t size = PHDR(e, p, p_memsz), flags = PHDR(e, p, p_flags);
	uint64_t at = PHDR(e, p, p_offset);
	struct take_mapping m = { .lo = lo, .hi = lo + size,
		.readable = flags & PF_R, .writable = flags & PF_W,
		.executable = flags & PF_X };
	void *array = c->segment;
	int r;

	if (size == 0 || size > UINT64_MAX - lo || bytes > size)
		return 0;
	r = base_grow(&array, &c->cap, c->n + 1, sizeof *c->segment);
	if (r < 0)
		return r;
	c->segment = array;
	if (bytes > 0)
		c->segment[c->n++] = (struct segment){ lo, bytes, at };
	if (bytes > 0 && at <= UINT64_MAX - bytes && c->end < at + bytes)
		c->end = at + bytes;
	return take_maps_add(&t->maps, &m, "");
}

/* PN_XNUM: the first section has the number of segments. */
static uint64_t
segments_of(const struct elf_file *e, const uint8_t *ehdr)
{
	uint8_t p[sizeof(Elf64_Shdr)];
	uint64_t n = EHDR(e, ehdr, e_phnum);

	if (n == PN_XNUM && elf_bytes(e, EHDR(e, ehdr, e_shoff), p, e->wide ?
	    sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		n = SHDR(e, p, sh_info);
	return n < SEGMENTS_MAX ? n : SEGMENTS_MAX;
}

static int
each_segment(struct take *t, const uint8_t *ehdr, uint32_t type,
    int (*take)(struct take *, const uint8_t *phdr))
{
	const struct elf_file *e = &t->core->elf;
	uint64_t at = EHDR(e, ehdr, e_phoff), n = segments_of(e, ehdr);
	size_t size = e->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint8_t p[sizeof(Elf64_Phdr)];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < n; i++, at += size) {
		if (!elf_bytes(e, at, p, size)) {
			take_problem(t, "offset %" PRIu64 ": the core ends "
			    "within its headers", at);
			break;
		}
		if (PHDR(e, p, p_type) == type)
			r = take(t, p);
	}
	return r;
}

static void
permit(const struct take *t, uint64_t address, struct take_mapping *m)
{
	struct elf_file e = { .fd = -1 };
	uint8_t head[LAYOUT_HEAD_BYTES], ehdr[sizeof(Elf64_Ehdr)];
	uint8_t p[sizeof(Elf64_Phdr)];
	uint64_t at, offset, end;
	size_t size;

	m->readable = true;
	e.bytes = head;
	e.len = read_segments(t->core, address, head, sizeof head);
	if (elf_open(&e, ehdr) < 0)
		return;
	size = e.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	at = EHDR(&e, ehdr, e_phoff);
	for (uint64_t i = 0; i < EHDR(&e, ehdr, e_phnum) &&
	    elf_bytes(&e, at + i * size, p, size); i++) {
		offset = PHDR(&e, p, p_offset);
		end = offset + PHDR(&e, p, p_filesz);
		offset &= ~(uint64_t)(PAGE - 1);
		/* The core has the mappings that can be written. */
		if (PHDR(&e, p, p_type) == PT_LOAD && m->offset >= offset &&
		    m->offset < end) {
			m->readable = PHDR(&e, p, p_flags) & PF_R;
			m->executable = PHDR(&e, p, p_flags) & PF_X;
		}
	}
}

static size_t
segment_from(const struct take *t, size_t segments, uint64_t address)
{
	size_t i;

	BASE_FIND_FIRST(i, segments, t->maps.at[i].lo >= address);
	return i;
}

/*
 * Adds a mapped file: gives segments its path, and adds a mapping for the part
 * without segments.
 * `head` is the address of the file's beginning.
 */
static int
add_file(struct take *t, size_t segments, struct take_mapping m,
    const char *path, uint64_t head)
{
	size_t i = segment_from(t, segments, m.lo);
	bool covered = false;

	for (; i < segments && t->maps.at[i].lo < m.hi; i++) {
		struct take_mapping *s = &t->maps.at[i];

		free(s->path);
		s->path = strdup(path);
		if (s->path == NULL)
			return -ENOMEM;
		s->offset = m.offset + (s->lo - m.lo);
		covered = covered || s->lo == m.lo;
		m.hi = covered ? m.hi : s->lo;
	}
	if (covered)
		return 0;
	permit(t, head, &m);
	return take_maps_add(&t->maps, &m, path);
}

/* NT_FILE: ranges, then paths. */
static int
take_files(struct take *t, const uint8_t *p, size_t len)
{
	const struct elf_file *e = &t->core->elf;
	unsigned word = e->wide ? 8 : 4;
	uint64_t n = len >= 2 * word ? elf_number(e, p, word) : 0;
	uint64_t page = n > 0 ? elf_number(e, p + word, word) : 0;
	const uint8_t *row = p + 2 * word;
	const char *path, *end = (const char *)p + len;
	const char *last = "";
	size_t segments = t->maps.n;
	uint64_t head = 0;
	int r = 0;

	if (n > FILES_MAX || n > (len - 2 * word) / (3 * word))
		n = 0;
	path = (const char *)row + n * 3 * word;
	for (uint64_t i = 0; r == 0 && i < n; i++, row += 3 * word) {
		struct take_mapping m = { .lo = elf_number(e, row, word),
			.hi = elf_number(e, row + word, word),
			.offset = elf_number(e, row + 2 * word, word) * page };
		size_t room = (size_t)(end - path);

		if (memchr(path, '\0', room) == NULL)
			break;
		if (m.offset == 0 || strcmp(path, last) != 0)
			head = m.offset == 0 ? m.lo : 0;
		last = path;
		if (m.lo < m.hi)
			r = add_file(t, segments, m, path, head);
		path += strlen(path) + 1;
	}
	take_maps_sort(&t->maps);
	return r;
}

static void
take_auxv(struct core_file *c, const uint8_t *p, size_t len)
{
	unsigned word = c->elf.wide ? 8 : 4;

	for (; len >= 2 * word; p += 2 * word, len -= 2 * word)
		if (elf_number(&c->elf, p, word) == AT_PHDR)
			c->headers = elf_number(&c->elf, p + word, word);
}

static int
take_note(struct take *t, uint32_t type, const uint8_t *p, size_t len)
{
	const struct elf_file *e = &t->core->elf;
	unsigned at = PRSTATUS_PID(e->wide);

	switch (type) {
	case NT_FILE:
		return take_files(t, p, len);
	case NT_AUXV:
		take_auxv(t->core, p, len);
		return 0;
	case NT_PRSTATUS:
		if (t->pid == 0 && len >= at + 4)
			t->pid = (uint32_t)elf_number(e, p + at, 4);
		return 0;
	default:
		return 0;
	}
}

static int
take_notes(struct take *t, const uint8_t *phdr)
{
	const struct elf_file *e = &t->core->elf;
	uint64_t bytes = PHDR(e, phdr, p_filesz), at, name, desc, next;
	uint8_t *p;
	int r = 0;

	if (bytes > NOTES_MAX || bytes > t->core->file_bytes)
		return 0;
	p = malloc((size_t)bytes + 1);
	if (p == NULL)
		return -ENOMEM;
	bytes = pread_some(e->fd, p, (size_t)bytes, PHDR(e, phdr, p_offset));
	for (at = 0; r == 0 && bytes - at >= 12; at = next) {
		name = elf_number(e, p + at, 4);
		desc = elf_number(e, p + at + 4, 4);
		next = at + 12 + ((name + 3) & ~UINT64_C(3));
		if (next > bytes || desc > bytes - next)
			break;
		r = take_note(t, (uint32_t)elf_number(e, p + at + 8, 4),
		    p + next, (size_t)desc);
		next += (desc + 3) & ~UINT64_C(3);
		if (next > bytes)
			break;
	}
	free(p);
	return r;
}

static void
find_program(struct take *t)
{
	const struct take_mapping *m = take_mapping_at(&t->maps,
	    t->core->headers);

	for (size_t i = 0; m == NULL && i < t->maps.n; i++)
		if (t->maps.at[i].path[0] == '/')
			m = &t->maps.at[i];
	if (m != NULL)
		base_copy_text(t->program, sizeof t->program, m->path);
}

static int
read_core(struct take *t, const char *path)
{
	struct core_file *c = t->core;
	uint8_t ehdr[sizeof(Elf64_Ehdr)];
	struct stat st;
	int r;

	c->elf.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (c->elf.fd < 0 || fstat(c->elf.fd, &st) < 0)
		return take_fail(t, -EIO, "cannot read '%s': %s", path,
		    strerror(errno));
	if (!S_ISREG(st.st_mode) || elf_open(&c->elf, ehdr) < 0 ||
	    EHDR(&c->elf, ehdr, e_type) != ET_CORE)
		return take_fail(t, -EBADMSG, "'%s' is no ELF core file", path);
	c->file_bytes = (uint64_t)st.st_size;
	r = each_segment(t, ehdr, PT_LOAD, add_segment);
	if (c->n > 0)
		qsort(c->segment, c->n, sizeof *c->segment, by_address);
	take_maps_sort(&t->maps);
	if (c->end > c->file_bytes)
		take_problem(t, "the core file is cut off: it has %" PRIu64 " of %"
		    PRIu64 " bytes", c->file_bytes, c->end);
	if (r == 0)
		r = each_segment(t, ehdr, PT_NOTE, take_notes);
	t->opened_problems = t->problems.n;
	find_program(t);
	t->maps_text = take_maps_text(&t->maps);
	return r < 0 || t->maps_text == NULL ? take_fail(t, -ENOMEM,
	    "there is not enough memory") : 0;
}

int
take_open_core(struct take *t, const char *path)
{
	*t = (struct take){ .core = calloc(1, sizeof *t->core) };
	if (t->core == NULL)
		return take_fail(t, -ENOMEM, "there is not enough memory");
	t->core->elf.fd = -1;
	t->source = (struct take_source){ core_file_read, t };
	return read_core(t, path);
}

void
core_file_close(struct core_file *c)
{
	if (c == NULL)
		return;
	if (c->elf.fd >= 0)
		close(c->elf.fd);
	free(c->segment);
	free(c);
}

uint64_t
core_file_bytes(const struct core_file *c)
{
	return c->file_bytes;
}
