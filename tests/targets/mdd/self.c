/*
 * A program with memory debug data that knows each event itself.
 *
 *	self LOG EVENTS END
 *
 * writes into LOG a line for each event, as `pagek history -f` prints it: the
 * function, address, size and sequence number; `other` thread makes half of them
 * unless END is "alone".  Then it calls at_rest(), and: "exit" ends, "alone" and
 * "wait" wait for a signal, "abort" aborts, "busy" allocates in four threads for
 * ever.  It says "ready" on standard output.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BLOCKS 500

static struct {
	char *p;
	size_t size;
} block[BLOCKS];
static unsigned seqno, events, turn = 1;
static int log_fd;
static char text[1 << 16];
static size_t text_len;

static void
flush(void)
{
	if (write(log_fd, text, text_len) != (ssize_t)text_len)
		_exit(3);
	text_len = 0;
}

static void
note(const char *function, const void *p, size_t size)
{
	text_len += (size_t)snprintf(text + text_len, sizeof text - text_len,
	    "%s 0x%012lx %zu %u\n", function, (unsigned long)p, size, seqno++);
	if (text_len > sizeof text - 100)
		flush();
	if (events > 0)
		events--;
}

static unsigned
chance(unsigned n)
{
	turn = turn * 1103515245 + 12345;
	return (turn >> 16) % n;
}

static void
let(unsigned i, const char *function, void *p, size_t size)
{
	if (p == NULL)
		_exit(4);
	block[i].p = p;
	block[i].size = size;
	note(function, p, size);
}

static void
give(unsigned i)
{
	note("free()", block[i].p, block[i].size);
	free(block[i].p);
	block[i].p = NULL;
}

static void
resize(unsigned i)
{
	size_t size = 1 + chance(3000);
	char *old = block[i].p;

	note("realloc()", old, block[i].size);
	let(i, "realloc()", realloc(old, size), size);
}

static void
take(unsigned i)
{
	size_t size = chance(2000);
	void *p = NULL;

	switch (chance(5)) {
	case 0:
		let(i, "calloc()", calloc(1, size), size);
		break;
	case 1:
		if (posix_memalign(&p, 64, size) != 0)
			_exit(4);
		let(i, "posix_memalign()", p, size);
		break;
	case 2:
		let(i, "memalign()", memalign(128, size), size);
		break;
	default:
		let(i, "malloc()", malloc(size), size);
		break;
	}
}

static void
work(unsigned until)
{
	while (events > until) {
		unsigned i = chance(BLOCKS);

		if (block[i].p == NULL)
			take(i);
		else if (chance(4) == 0)
			resize(i);
		else
			give(i);
	}
}

static void *
other(void *arg)
{
	prctl(PR_SET_NAME, "other");
	work(0);
	return arg;
}

static void *
busy(void *arg)
{
	void *p[64] = { NULL };

	for (unsigned i = 0;; i++) {
		free(p[i % 64]);
		p[i % 64] = malloc(1 + i % 777);
	}
	return arg;
}

__attribute__((noinline)) void
at_rest(void)
{
	__asm__ volatile("");
}

int
main(int argc, char **argv)
{
	const char *end = argc > 3 ? argv[3] : "";
	pthread_t thread;

	log_fd = argc > 3 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) :
	    -1;
	if (log_fd < 0)
		return 2;
	events = (unsigned)atoi(argv[2]);
	work(strcmp(end, "alone") == 0 ? 0 : events / 2);
	if (events > 0) {
		pthread_create(&thread, NULL, other, NULL);
		pthread_join(thread, NULL);
	}
	flush();
	for (int i = 0; strcmp(end, "busy") == 0 && i < 4; i++)
		pthread_create(&thread, NULL, busy, NULL);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 3;
	at_rest();
	if (strcmp(end, "abort") == 0)
		abort();
	while (strcmp(end, "exit") != 0)
		pause();
	return 0;
}
