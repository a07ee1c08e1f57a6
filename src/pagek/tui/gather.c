/* See gather.h. */
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gather.h"

#define OUT STDOUT_FILENO
#define PIECE 65536
#define LENGTH_MIN (UINT64_C(64) * PIECE)	/* no picture is longer */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static volatile sig_atomic_t tty = OUT;
static int file = -1;		/* what was written lies in front of its offset */
static bool gathering;

int
gather_tty(void)
{
	return tty;
}

/*
 * What does not get into the file curses takes for written.  So there is none
 * where files may not grow, as a terminal may, and what pictures need is taken
 * at once.
 */
static int
make_file(void)
{
	struct rlimit limit;
	int fd;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
	    limit.rlim_cur < LENGTH_MIN)
		return -1;
	fd = memfd_create("pagek-picture", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("pagek-picture", MFD_CLOEXEC);
	if (fd >= 0 && posix_fallocate(fd, 0, PIECE) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void
gather_open(void)
{
	int own = fcntl(OUT, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (own < 0)
		return;
	file = make_file();
	if (file < 0)
		close(own);
	else
		tty = own;
}

void
gather_close(void)
{
	int own = tty;

	if (file < 0)
		return;
	tty = OUT;
	close(own);
	close(file);
	file = -1;
}

/* The other number comes to mean the same file. */
static void
put_in_place(int fd)
{
	while (dup2(fd, OUT) < 0 && (errno == EINTR || errno == EBUSY))
		continue;
}

/* Another program may have made the terminal one that does not wait. */
static bool
write_out(const char *bytes, size_t len)
{
	struct pollfd p = { .fd = tty, .events = POLLOUT };
	ssize_t n;

	while (len > 0) {
		n = write(tty, bytes, len);
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			poll(&p, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			/* It has hung up, most likely. */
			return false;
		}
	}
	return true;
}

static bool
pass_on(off_t end)
{
	static char piece[PIECE];
	off_t at = 0;
	size_t len;
	ssize_t n;

	while (at < end) {
		/* Behind the end lie older pictures. */
		len = end - at < PIECE ? (size_t)(end - at) : PIECE;
		n = pread(file, piece, len, at);
		if (n <= 0 || !write_out(piece, (size_t)n))
			return false;
		at += n;
	}
	return true;
}

void
gather_begin(void)
{
	gathering = file >= 0 && !isendwin();
	if (!gathering)
		return;
	lseek(file, 0, SEEK_SET);
	put_in_place(file);
}

bool
gather_end(uint64_t *bytes)
{
	off_t end;

	if (!gathering)
		return false;
	gathering = false;
	put_in_place(tty);
	end = lseek(file, 0, SEEK_CUR);
	if (end < 0 || !pass_on(end))
		return false;
	*bytes = (uint64_t)end;
	return true;
}
