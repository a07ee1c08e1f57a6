/*
 * Each line goes out by one write(2) at the end of the file: readers see whole
 * lines, even of a killed node.  A pipe's reader may have stopped, and the loop
 * must not wait: lines without room are kept in order and go out later.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../keeper/keeper.h"
#include "images.h"

/*
 * The command shares O_NONBLOCK of our output, so a pipe is opened again.  A
 * file is not: its offset is shared, and it never makes a writer wait.
 */
static int
open_stdout(void)
{
	struct stat st;
	int fd = -1;

	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
		fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 ? fd :
	    fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int
report_open(struct report *rep, const char *path, bool append)
{
	int fd;

	*rep = (struct report){ .fd = -1 };
	if (path == NULL)
		return 0;
	if (strcmp(path, "-") == 0)
		fd = open_stdout();
	else
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
		    (append ? 0 : O_TRUNC), 0666);
	if (fd < 0)
		return -errno;
	/* After open(), which waits for the reader of a named pipe as in a shell. */
	if (strcmp(path, "-") != 0)
		(void)fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
	rep->fd = fd;
	return 0;
}

void
report_replace(struct report *rep, int fd)
{
	if (rep->fd >= 0)
		close(rep->fd);
	rep->fd = fd;
}

void
report_close(struct report *rep)
{
	report_flush(rep);
	free(rep->waiting);
	rep->waiting = NULL;
	rep->nwaiting = 0;
	if (rep->fd >= 0)
		close(rep->fd);
	rep->fd = -1;
}

/* Safe text holds no control characters: two characters need a backslash. */
static void
append_string(char *line, size_t cap, size_t *len, const char *s)
{
	base_append(line, cap, len, "\"");
	for (; *s != '\0'; s++)
		base_append(line, cap, len, "%s%c",
		    *s == '"' || *s == '\\' ? "\\" : "", *s);
	base_append(line, cap, len, "\"");
}

static void
note_error(struct report *rep, int err)
{
	if (rep->error == 0)
		rep->error = err;
}

/* Bytes of whole lines that a pipe takes whole or not at all. */
static size_t
atomic_length(const char *text, size_t len)
{
	const char *end;

	if (len <= PIPE_BUF)
		return len;
	end = memrchr(text, '\n', PIPE_BUF);
	return end != NULL ? (size_t)(end + 1 - text) : PIPE_BUF;
}

/* The bytes written; errno if too few.  Polls first, as fd may be blocking. */
static size_t
write_some(const struct report *rep, const char *text, size_t len)
{
	struct pollfd p = { .fd = rep->fd, .events = POLLOUT };
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		if (poll(&p, 1, 0) == 0) {
			errno = EAGAIN;
			break;
		}
		n = write(rep->fd, text + done,
		    atomic_length(text + done, len - done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void
append_waiting(struct report *rep, const char *text, size_t len)
{
	if (rep->waiting == NULL)
		rep->waiting = malloc(REPORT_WAITING_MAX);
	if (rep->waiting == NULL ||
	    len > REPORT_WAITING_MAX - rep->nwaiting) {
		note_error(rep, ENOBUFS);
		return;
	}
	memcpy(rep->waiting + rep->nwaiting, text, len);
	rep->nwaiting += len;
}

void
report_flush(struct report *rep)
{
	size_t done;

	if (rep->nwaiting == 0)
		return;
	done = write_some(rep, rep->waiting, rep->nwaiting);
	rep->nwaiting -= done;
	if (rep->nwaiting > 0 && errno != EAGAIN) {
		note_error(rep, errno);
		rep->nwaiting = 0;
	}
	memmove(rep->waiting, rep->waiting + done, rep->nwaiting);
}

bool
report_waits(const struct report *rep)
{
	return rep->nwaiting > 0;
}

static void
write_line(struct report *rep, const char *line, size_t len)
{
	struct stat st;
	size_t done = 0;

	report_flush(rep);
	if (!report_waits(rep)) {
		done = write_some(rep, line, len);
		if (done == len)
			return;
		if (errno != EAGAIN) {
			note_error(rep, errno);
			if (done > 0 && fstat(rep->fd, &st) == 0 &&
			    S_ISREG(st.st_mode))
				(void)!ftruncate(rep->fd,
				    st.st_size - (off_t)done);
			return;
		}
	}
	append_waiting(rep, line + done, len - done);
}

/* null: it was not counted. */
static void
append_number(char *line, size_t cap, size_t *len, const char *key,
    bool counted, uint64_t n)
{
	base_append(line, cap, len, ", \"%s\": ", key);
	if (counted)
		base_append(line, cap, len, "%" PRIu64, n);
	else
		base_append(line, cap, len, "null");
}

void
report_image(struct report *rep, const struct keeper *k)
{
	const struct blklist_counts *n = keeper_counts(k);
	const struct {
		const char *key;
		uint64_t value;
	} numbers[] = {
		{ "allocs", n->allocs },
		{ "frees", n->frees },
		{ "failed", n->failed },
		{ "inherited_blocks", n->inherited },
		{ "live_blocks", n->aRecActive },
		{ "live_bytes", n->live_bytes },
		{ "peak_bytes", n->peak_bytes },
		{ "lost", keeper_lost(k) },
		{ "duplicate", n->duplicate },
		{ "unknown_free", n->unknown_free },
		{ "earlier", n->earlier },
		{ "illegal_type", n->illegal_type },
		{ "full", n->full },
		{ "sites_full", k->numbers.sites_full },
		{ "walks", k->numbers.walks },
		{ "pairs", k->numbers.pairs },
		{ "unfinished", k->trust.unfinished },
		{ "est_blocks", n->est_blocks },
		{ "est_bytes", n->est_bytes },
		{ "est_peak_bytes", n->est_peak_bytes },
	};
	bool dormant = k->arming.mode == ARMING_DORMANT;
	uint64_t sample = k->format.sample;
	char line[2048];	/* with the longest of all numbers, too */
	size_t len = 0;

	if (rep->fd < 0)
		return;
	base_append(line, sizeof line, &len, "{\"pid\": %d, \"comm\": ",
	    (int)k->image.pid);
	append_string(line, sizeof line, &len, k->image.comm);
	for (size_t i = 0; i < BASE_NELEM(numbers); i++)
		append_number(line, sizeof line, &len, numbers[i].key,
		    !k->missed && !dormant, numbers[i].value);
	append_number(
	    line, sizeof line, &len, "marks", !k->missed, k->numbers.marks);
	append_number(line, sizeof line, &len, "marks_untold", !k->missed,
	    k->numbers.marks_untold);
	base_append(line, sizeof line, &len, ", \"estimated\": %s",
	    sample != 0 ? "true" : "false");
	append_number(line, sizeof line, &len, "sample_period", sample != 0,
	    sample);
	base_append(line, sizeof line, &len, ", \"dormant\": %s",
	    dormant ? "true" : "false");
	append_number(line, sizeof line, &len, "armed_ms",
	    k->arming.wall_ms != 0, (uint64_t)k->arming.wall_ms);
	base_append(line, sizeof line, &len, ", \"complete\": %s, \"reason\": ",
	    keeper_complete(k) && !dormant ? "true" : "false");
	append_string(line, sizeof line, &len, keeper_lacks(k));
	base_append(line, sizeof line, &len, "}\n");
	write_line(rep, line, len);
}
