#include "debugfile.h"

#ifdef HAVE_ELFUTILS

#include "../base/base.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"
#define ID_MAX 64
/* Notes and links are small; a larger section is none of them. */
#define NOTES_MAX 65536
/* The largest file whose checksum is worth its reading. */
#define CHECKSUM_MAX ((off_t)1 << 30)

struct build_id {
	uint8_t byte[ID_MAX];
	size_t len;		/* 0: none */
};

static bool
note_build_id(Elf_Data *data, struct build_id *id)
{
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr note;

	while ((at = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0) {
		const char *buf = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(buf + name_at, "GNU", 4) != 0 ||
		    note.n_descsz < 2 || note.n_descsz > ID_MAX)
			continue;
		memcpy(id->byte, buf + desc_at, note.n_descsz);
		id->len = note.n_descsz;
		return true;
	}
	return false;
}

/* By sections: a debug file's segments point to what it does not have. */
static struct build_id
build_id_of(Elf *elf)
{
	struct build_id id = { .len = 0 };
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		Elf_Data *data;

		if (gelf_getshdr(scn, &sh) == NULL ||
		    sh.sh_type != SHT_NOTE || sh.sh_size > NOTES_MAX)
			continue;
		data = elf_getdata(scn, NULL);
		if (data != NULL && data->d_buf != NULL &&
		    note_build_id(data, &id))
			break;
	}
	return id;
}

/* The name in .gnu_debuglink, borrowed, and its checksum; NULL if none. */
static const char *
debuglink_of(Elf *elf, uint32_t *checksum)
{
	const char *name;
	GElf_Word crc;

	name = dwelf_elf_gnu_debuglink(elf, &crc);
	if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL ||
	    strlen(name) > NAME_MAX)
		return NULL;
	*checksum = crc;
	return name;
}

/* CRC-32 as .gnu_debuglink has it, of the whole file. */
static bool
checksum_is(int fd, uint32_t want)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t buf[16384];
	off_t at = 0;
	ssize_t n;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^
			    (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
	}
	while (at < CHECKSUM_MAX && (n = pread(fd, buf, sizeof(buf), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			crc = table[(crc ^ buf[i]) & 0xff] ^ crc >> 8;
		at += n;
	}
	return at < CHECKSUM_MAX && ~crc == want;
}

/* What a debug file must agree with. */
struct wanted {
	struct stat st;		/* the stripped file itself: never its own */
	struct build_id id;
	bool has_checksum;
	uint32_t checksum;
};

static bool
is_wanted(int fd, const struct wanted *w)
{
	struct build_id id = { .len = 0 };
	struct stat st;
	Elf *elf;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_dev == w->st.st_dev && st.st_ino == w->st.st_ino))
		return false;
	if ((elf = elf_begin(fd, ELF_C_READ, NULL)) == NULL)
		return false;
	if (elf_kind(elf) == ELF_K_ELF)
		id = build_id_of(elf);
	elf_end(elf);
	if (w->id.len > 0 && id.len > 0)
		return w->id.len == id.len &&
		    memcmp(w->id.byte, id.byte, id.len) == 0;
	return w->has_checksum && checksum_is(fd, w->checksum);
}

static int
try_path(const char *path, const struct wanted *w)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -ENOENT;
	if (is_wanted(fd, w))
		return fd;
	close(fd);
	return -ENOENT;
}

static int
try_build_id(const struct wanted *w)
{
	char path[sizeof(DEBUG_ROOT) + 2 * ID_MAX + 32];
	size_t len = 0;

	if (w->id.len < 2)
		return -ENOENT;
	base_append(path, sizeof(path), &len, DEBUG_ROOT "/.build-id/%02x/",
	    w->id.byte[0]);
	for (size_t i = 1; i < w->id.len; i++)
		base_append(path, sizeof(path), &len, "%02x", w->id.byte[i]);
	base_append(path, sizeof(path), &len, ".debug");
	return try_path(path, w);
}

static int
try_link(const char *name, const char *link, const struct wanted *w)
{
	static const struct {
		const char *root, *below;
	} places[] = {
		{ "", "" },
		{ "", "/.debug" },
		{ DEBUG_ROOT, "" },
	};
	const char *slash = strrchr(name, '/');
	int dir = slash == NULL ? 0 : (int)(slash - name);

	for (size_t i = 0; i < BASE_NELEM(places); i++) {
		char path[2 * PATH_MAX];
		int n, fd;

		n = snprintf(path, sizeof(path), "%s%.*s%s/%s",
		    places[i].root, dir, name, places[i].below, link);
		if (n < 0 || (size_t)n >= sizeof(path))
			continue;
		if ((fd = try_path(path, w)) >= 0)
			return fd;
	}
	return -ENOENT;
}

int
debugfile_open(Elf *elf, int fd, const char *name)
{
	struct wanted w = { .id = build_id_of(elf) };
	const char *link = debuglink_of(elf, &w.checksum);
	int debug_fd;

	w.has_checksum = link != NULL;
	if (fstat(fd, &w.st) < 0)
		return -ENOENT;
	debug_fd = try_build_id(&w);
	if (debug_fd < 0 && link != NULL)
		debug_fd = try_link(name, link, &w);
	return debug_fd;
}

#endif
