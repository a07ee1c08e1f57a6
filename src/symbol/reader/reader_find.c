#include "reader.h"

#ifdef HAVE_ELFUTILS

#include "../../base/base.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEBUG_ROOT "/usr/lib/debug"
/* The largest file to be checksummed. */
#define CHECKSUM_MAX ((off_t)1 << 30)

static const char *own_roots = "";

void
symread_set_path(const char *path)
{
	own_roots = path;
}

/* Opening a device can have effects, and files may be exchanged meanwhile. */
static int
open_regular(const char *path, struct stat *st)
{
	int fd;

	if (stat(path, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool
has_build_id(int fd, const uint8_t *want, size_t len)
{
	const void *id;
	bool same = false;
	Elf *elf;

	if ((elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)) == NULL)
		return false;
	if (elf_kind(elf) == ELF_K_ELF) {
		ssize_t n = dwelf_elf_gnu_build_id(elf, &id);

		same = n > 0 && (size_t)n == len && memcmp(id, want, len) == 0;
	}
	elf_end(elf);
	return same;
}

static int64_t
stamp_ns(const struct timespec *ts)
{
	return ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec;
}

/* Checks the build id, or the inode if unchanged since. */
static bool
is_mapped(const struct symbol_place *p, int fd, const struct stat *st,
    bool timed)
{
	if (p->build_id_len > 0)
		return has_build_id(fd, p->build_id, p->build_id_len);
	if (p->inode != 0 && st->st_ino != p->inode)
		return false;
	return !timed || p->mapped_ns == 0 ||
	    stamp_ns(&st->st_ctim) <= p->mapped_ns;
}

/* The kernel's vdso, which all processes share, as a file. */
static enum symbol_known
find_vdso(const struct symbol_place *p, int *fd, struct stat *st)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR), to = 0;
	struct maps_line map;
	char line[256];
	FILE *f;

	if (start == 0 || (f = fopen("/proc/self/maps", "re")) == NULL)
		return SYMBOL_NO_FILE;
	while (to == 0 && fgets(line, sizeof(line), f) != NULL) {
		if (maps_parse(line, &map) == 0 && map.start == start)
			to = (uintptr_t)map.end;
	}
	fclose(f);
	if (to <= start)
		return SYMBOL_NO_FILE;
	if ((*fd = memfd_create("vdso", MFD_CLOEXEC)) < 0)
		return SYMBOL_NO_FILE;
	if (write(*fd, (const void *)start, to - start) !=
	    (ssize_t)(to - start) || fstat(*fd, st) < 0) {
		close(*fd);
		return SYMBOL_NO_FILE;
	}
	if (p->build_id_len > 0 &&
	    !has_build_id(*fd, p->build_id, p->build_id_len)) {
		close(*fd);
		return SYMBOL_OTHER_FILE;
	}
	/* The same at the next request. */
	st->st_ino = 0;
	st->st_dev = 0;
	memset(&st->st_mtim, 0, sizeof(st->st_mtim));
	return SYMBOL_LINE;
}

/*
 * Where the target sees the file, perhaps in a container; where we do; and, if
 * it was unlinked or touched, the program that the target runs.
 */
enum symbol_known
symread_module(const struct symbol_place *p, int *fd, struct stat *st)
{
	enum symbol_known why = SYMBOL_NO_FILE;
	char root[PATH_MAX + 32], exe[32];
	const struct {
		const char *path;
		bool timed;
	} places[] = {
		{ root, true },
		{ p->path, true },
		{ exe, false },
	};

	if (strcmp(p->path, "[vdso]") == 0)
		return find_vdso(p, fd, st);
	if (p->path[0] != '/')
		return SYMBOL_NO_FILE;
	snprintf(root, sizeof(root), "/proc/%jd/root%s", (intmax_t)p->pid,
	    p->path);
	snprintf(exe, sizeof(exe), "/proc/%jd/exe", (intmax_t)p->pid);
	for (size_t i = 0; i < BASE_NELEM(places); i++) {
		bool of_process = places[i].path != p->path;

		if (of_process && p->pid == 0)
			continue;
		/* Needs an inode or id: the module may not be the program. */
		if (!places[i].timed && p->inode == 0 && p->build_id_len == 0)
			continue;
		if ((*fd = open_regular(places[i].path, st)) < 0)
			continue;
		if (is_mapped(p, *fd, st, places[i].timed))
			return SYMBOL_LINE;
		close(*fd);
		/* The module itself may be there. */
		if (places[i].timed)
			why = SYMBOL_OTHER_FILE;
	}
	return why;
}

static bool
checksum_is(int fd, uint32_t want)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t buf[65536];
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

struct search {
	const struct symread_debug *want;
	char *found;		/* PATH_MAX */
	int fd;			/* -1: not yet */
};

static void
try_path(struct search *s, bool by_link, const char *path)
{
	const struct symread_debug *w = s->want;
	struct stat st;
	int fd;

	if (s->fd >= 0 || (fd = open_regular(path, &st)) < 0)
		return;
	if (w->self != NULL && st.st_dev == w->self->st_dev &&
	    st.st_ino == w->self->st_ino)
		goto not_it;
	if (w->build_id_len > 0 ?
	    has_build_id(fd, w->build_id, w->build_id_len) :
	    by_link && checksum_is(fd, w->checksum)) {
		snprintf(s->found, PATH_MAX, "%s", path);
		s->fd = fd;
		return;
	}
not_it:
	close(fd);
}

static void __attribute__((format(printf, 3, 4)))
try_format(struct search *s, bool by_link, const char *fmt, ...)
{
	char path[2 * PATH_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n > 0 && n < PATH_MAX)
		try_path(s, by_link, path);
}

/* ROOT/.build-id/ab/cdef.debug, and without ".debug" for whole files. */
static void
try_build_id(struct search *s, const char *root)
{
	char hex[2 * SYMBOL_BUILD_ID_MAX + 1];
	const struct symread_debug *w = s->want;

	if (w->build_id_len < 2 || w->build_id_len > SYMBOL_BUILD_ID_MAX)
		return;
	for (size_t i = 1; i < w->build_id_len; i++)
		snprintf(hex + 2 * (i - 1), 3, "%02x", w->build_id[i]);
	try_format(s, false, "%s/.build-id/%02x/%s.debug", root,
	    w->build_id[0], hex);
	try_format(s, false, "%s/.build-id/%02x/%s", root, w->build_id[0],
	    hex);
}

static void
each_root(struct search *s, void (*try)(struct search *, const char *root))
{
	char root[PATH_MAX];
	const char *p = own_roots;

	while (*p != '\0' && s->fd < 0) {
		size_t len = strcspn(p, ":");

		if (len > 0 && len < sizeof(root)) {
			memcpy(root, p, len);
			root[len] = '\0';
			try(s, root);
		}
		p += len + (p[len] == ':');
	}
	if (s->fd < 0)
		try(s, DEBUG_ROOT);
	if (s->fd < 0 && s->want->pid != 0) {
		snprintf(root, sizeof(root), "/proc/%jd/root" DEBUG_ROOT,
		    (intmax_t)s->want->pid);
		try(s, root);
	}
}

static int
folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (int)(slash - path);
}

/* Under a root by name: as deep as the module lies, or flat. */
static void
try_link_root(struct search *s, const char *root)
{
	const struct symread_debug *w = s->want;

	try_format(s, true, "%s%.*s/%s", root, folder_length(w->path), w->path,
	    w->link);
	try_format(s, true, "%s/%s", root, w->link);
}

static void
try_link(struct search *s)
{
	const struct symread_debug *w = s->want;
	int folder = folder_length(w->path);

	/* In a container's root first, then in ours. */
	for (int ours = w->pid == 0; ours < 2; ours++) {
		char root[32] = "";

		if (!ours)
			snprintf(root, sizeof(root), "/proc/%jd/root",
			    (intmax_t)w->pid);
		try_format(s, true, "%s%.*s/%s", root, folder, w->path,
		    w->link);
		try_format(s, true, "%s%.*s/.debug/%s", root, folder, w->path,
		    w->link);
	}
	each_root(s, try_link_root);
}

int
symread_debug(const struct symread_debug *want, char *found)
{
	struct search s = { want, found, -1 };

	if (want->fetched != NULL)
		try_path(&s, false, want->fetched);
	each_root(&s, try_build_id);
	/* A name with a folder in it is none of an honest linker. */
	if (s.fd < 0 && want->link != NULL && want->link[0] != '\0' &&
	    strchr(want->link, '/') == NULL)
		try_link(&s);
	return s.fd;
}

int
symread_alt(const char *name, const char *beside, const uint8_t *build_id,
    size_t build_id_len)
{
	const struct symread_debug want = {
		.path = beside,
		.build_id = build_id,
		.build_id_len = build_id_len,
	};
	char found[PATH_MAX];
	struct search s = { &want, found, -1 };

	if (build_id_len == 0)
		return -1;
	if (name[0] == '/')
		try_path(&s, false, name);
	else
		try_format(&s, false, "%.*s/%s", folder_length(beside), beside,
		    name);
	each_root(&s, try_build_id);
	return s.fd;
}

#endif
