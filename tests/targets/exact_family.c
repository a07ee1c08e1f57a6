/*
 * exact_family: every function of the malloc family, with requests that fail,
 * requests of nothing, and blocks that are still there at the end.
 *
 * Prints kept=N (blocks left), kept_bytes=N, and errno=N,N,... after each call
 * whose errno tells whether the real function's was passed on.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile size_t huge = (size_t)1 << 60;
static volatile size_t many = (size_t)1 << 40;
static int errnos[16];
static unsigned nerrnos, kept;
static size_t kept_bytes;

static void *
keep(void *p, size_t size)
{
	if (p == NULL)
		return NULL;
	memset(p, 0x5a, size);
	kept++;
	kept_bytes += size;
	return p;
}

/* What the call just made left in errno. */
static void
note_errno(void)
{
	errnos[nerrnos++] = errno;
	errno = 0;
}

static void
failing(void)
{
	void *p = malloc(40), *q = p;

	errno = 0;
	if (malloc(huge) != NULL)
		_exit(2);
	note_errno();
	if (calloc(many, many) != NULL)
		_exit(2);
	note_errno();
	if (realloc(p, huge) != NULL)
		_exit(2);
	note_errno();
	if (reallocarray(p, many, many) != NULL)
		_exit(2);
	note_errno();
	if (aligned_alloc(64, huge) != NULL)
		_exit(2);
	note_errno();
	if (posix_memalign(&q, 64, huge) != ENOMEM || q != p)
		_exit(2);
	note_errno();
	if (posix_memalign(&q, 3, 10) != EINVAL || q != p)
		_exit(2);
	note_errno();
	strcpy(p, "still mine");
	errno = EPROTO;
	free(p);
	note_errno();
	free(NULL);
}

static void
plain(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	keep(malloc(24), 24);
	keep(calloc(7, 11), 77);
	keep(realloc(NULL, 33), 33);
	keep(realloc(malloc(5), 5000), 5000);
	keep(realloc(malloc(5000), 5), 5);
	keep(reallocarray(NULL, 6, 7), 42);
	keep(aligned_alloc(128, 256), 256);
	keep(memalign(64, 100), 100);
	keep(valloc(10), 10);
	keep(pvalloc(10), 10);
	if (posix_memalign(&p, page, 3 * page) == 0)
		keep(p, 3 * page);
	keep(malloc(1 << 20), 1 << 20);	/* a mapping of its own */
	keep(malloc(0), 0);
	keep(strdup("twelve chars"), 13);
	errno = EPROTO;
	p = realloc(malloc(50), 0);	/* frees, and says so by NULL */
	note_errno();
	if (p != NULL)
		keep(p, 0);
}

int
main(void)
{
	plain();
	failing();
	dprintf(1, "kept=%u\nkept_bytes=%zu\nerrno=", kept, kept_bytes);
	for (unsigned i = 0; i < nerrnos; i++)
		dprintf(1, "%d,", errnos[i]);
	dprintf(1, "\n");
	return 3;
}
