/* See gather.h. */
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gather.h"

#define OUT STDOUT_FILENO
#define PIECE 65536

static volatile sig_atomic_t tty = OUT;
static int file = -1;		/* what was written lies in front of its offset */

int
gather_tty(void)
{
	return tty;
}

void
gather_open(void)
{
	int own = fcntl(OUT, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (own < 0)
		return;
	file = memfd_create("pagek-picture", MFD_CLOEXEC);
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
static void
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
			/* It has hung up, which the loop will be told. */
			return;
		}
	}
}

static void
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
		if (n <= 0)
			return;
		write_out(piece, (size_t)n);
		at += n;
	}
}

/*
 * After endwin() curses sets the terminal's modes first, which has to meet the
 * terminal: without a picture to write it does no more than that.
 */
static void
take_again(void)
{
	bool clear = is_cleared(curscr);

	clearok(curscr, FALSE);
	doupdate();
	clearok(curscr, clear);
}

void
gather_begin(void)
{
	if (isendwin())
		take_again();
	if (file < 0)
		return;
	lseek(file, 0, SEEK_SET);
	put_in_place(file);
}

uint64_t
gather_end(void)
{
	off_t end;

	if (file < 0)
		return 0;
	put_in_place(tty);
	end = lseek(file, 0, SEEK_CUR);
	if (end <= 0)
		return 0;
	pass_on(end);
	return (uint64_t)end;
}
