/*
 * Which file it is, who shares it, and the search among its functions.
 */
#include "symfile.h"
#include "elffile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Functions seldom lie within one another; how many are looked at to find the
 * one around an address.
 */
#define NESTED_MAX 16

struct symfile {
	struct symfile *next;
	unsigned shares;		/* guarded by files_lock */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;

	pthread_mutex_t load_lock;	/* held by the one who reads the file */
	bool loaded;
	struct elf_functions fns;
};

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static struct symfile *files;

static int64_t
stamp_ns(const struct timespec *ts)
{
	return ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec;
}

static bool
is_known(const struct stat *st, const struct symfile_known *known)
{
	return S_ISREG(st->st_mode) && st->st_ino == known->inode &&
	    stamp_ns(&st->st_ctim) <= known->unchanged_since;
}

/*
 * A descriptor of the known file, or a negative errno.  Looked at before it is
 * opened, for to open a device can have effects; and after, for it may have
 * been exchanged between.
 */
static int
open_known(const char *path, const struct symfile_known *known,
    struct stat *st)
{
	int fd;

	if (stat(path, st) < 0 || !is_known(st, known))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			return -errno;
		return -ENOENT;
	}
	if (fstat(fd, st) < 0 || !is_known(st, known)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

static bool
is_same(const struct symfile *f, const struct stat *st)
{
	return f->dev == st->st_dev && f->ino == st->st_ino &&
	    f->size == st->st_size &&
	    stamp_ns(&f->mtime) == stamp_ns(&st->st_mtim);
}

/* The shared entry of this file, made when it is new.  NULL: no memory. */
static struct symfile *
find_or_add(const struct stat *st)
{
	struct symfile *f;

	pthread_mutex_lock(&files_lock);
	for (f = files; f != NULL; f = f->next) {
		if (is_same(f, st))
			break;
	}
	if (f == NULL && (f = calloc(1, sizeof(*f))) != NULL) {
		f->dev = st->st_dev;
		f->ino = st->st_ino;
		f->size = st->st_size;
		f->mtime = st->st_mtim;
		pthread_mutex_init(&f->load_lock, NULL);
		f->next = files;
		files = f;
	}
	if (f != NULL)
		f->shares++;
	pthread_mutex_unlock(&files_lock);
	return f;
}

int
symfile_open(struct symfile **out, const char *path, const char *name,
    const struct symfile_known *known)
{
	struct symfile *f;
	struct stat st;
	int fd, error = 0;

	if ((fd = open_known(path, known, &st)) < 0)
		return fd;
	if ((f = find_or_add(&st)) == NULL) {
		close(fd);
		return -ENOMEM;
	}
	pthread_mutex_lock(&f->load_lock);
	if (!f->loaded) {
		error = elf_functions_read(&f->fns, fd, name);
		f->loaded = error != -ENOMEM;
	}
	pthread_mutex_unlock(&f->load_lock);
	close(fd);
	if (error == -ENOMEM) {
		symfile_close(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}

struct symfile *
symfile_share(struct symfile *f)
{
	if (f == NULL)
		return NULL;
	pthread_mutex_lock(&files_lock);
	f->shares++;
	pthread_mutex_unlock(&files_lock);
	return f;
}

void
symfile_close(struct symfile *f)
{
	bool last;

	if (f == NULL)
		return;
	pthread_mutex_lock(&files_lock);
	last = --f->shares == 0;
	if (last) {
		struct symfile **link = &files;

		while (*link != f)
			link = &(*link)->next;
		*link = f->next;
	}
	pthread_mutex_unlock(&files_lock);
	if (!last)
		return;
	elf_functions_fini(&f->fns);
	pthread_mutex_destroy(&f->load_lock);
	free(f);
}

/* The virtual address that the file gives to an offset; false if none. */
static bool
offset_to_vaddr(const struct elf_functions *e, uint64_t offset,
    uint64_t *vaddr)
{
	for (size_t i = 0; i < e->nseg; i++) {
		if (offset >= e->seg[i].offset &&
		    offset - e->seg[i].offset < e->seg[i].size) {
			*vaddr = offset - e->seg[i].offset + e->seg[i].vaddr;
			return true;
		}
	}
	return false;
}

const char *
symfile_function(const struct symfile *f, uint64_t offset)
{
	const struct elf_functions *e = &f->fns;
	size_t lo = 0, hi = e->nfn;
	uint64_t vaddr;

	if (!offset_to_vaddr(e, offset, &vaddr))
		return NULL;
	/* The first that begins beyond it; those before it are candidates. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (e->fn[mid].start > vaddr)
			hi = mid;
		else
			lo = mid + 1;
	}
	for (size_t k = 0; k < NESTED_MAX && k < lo; k++) {
		const struct elf_function *fn = &e->fn[lo - 1 - k];

		if (vaddr < fn->end)
			return e->names + fn->name;
	}
	return NULL;
}
