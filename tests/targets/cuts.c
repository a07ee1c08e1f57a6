/*
 * cuts: a program whose references are counted.  It tells 64 pages by
 * pk_refcnt_enable(), allocates until they are cut at each page, and prints
 *
 *	cut=N		mappings of the pages, then
 *	errno_kept=1	if no allocation has changed errno
 *	child=N		mappings of them with advice in a forked child, after its allocations
 *	moved=1		if mremap(2) has moved them, whole
 *	undone=N	mappings when they are counted no longer
 *
 * moved: with an argument alone.  With "late" the pages are told and cut while
 * mremap(2) is on its way, in a handler: the layer below the library raises SIGUSR1.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak pk_refcnt_enable
#pragma weak pk_refcnt_disable
#include "../../src/alloclog/alloclog.h"

#define PAGES 64
#define SIZE (PAGES * (size_t)4096)
#define TRIES 20000000

/* Those with advice are counted; all: the others too. */
static int
count_mappings(const char *memory, bool all)
{
	FILE *f = fopen(all ? "/proc/self/maps" : "/proc/self/smaps", "r");
	unsigned long from, to;
	bool here = false;
	char line[512];
	int n = 0;

	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
			here = from < (uintptr_t)memory + SIZE &&
			    to > (uintptr_t)memory;
			n += all && here;
		}
		n += !all && here && strncmp(line, "VmFlags:", 8) == 0 &&
		    (strstr(line, " rr") != NULL || strstr(line, " sr") != NULL);
	}
	if (f != NULL)
		fclose(f);
	return n;
}

/* Allocates until there are as many mappings, or for long. */
static int
allocate_until(const char *memory, int wanted, bool all)
{
	int n = 0;

	for (int i = 0; i < TRIES; i++) {
		free(malloc(100));
		if (i % 10000 == 0 &&
		    (n = count_mappings(memory, all)) == wanted)
			break;
	}
	return n;
}

static char *
map_pages(void)
{
	char *at = mmap(NULL, SIZE + 8192, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Without neighbours to merge with. */
	if (at == MAP_FAILED || mprotect(at + 4096, SIZE,
		PROT_READ | PROT_WRITE) != 0)
		exit(2);
	madvise(at + 4096, SIZE, MADV_NOHUGEPAGE);
	memset(at + 4096, 7, SIZE);
	return at + 4096;
}

static void
print_child(const char *memory)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(allocate_until(memory, 0, false));
	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		exit(2);
	printf("child=%d\n", WEXITSTATUS(status));
}

static char *
print_move(char *memory)
{
	char *to = mremap(memory, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	bool whole = to != MAP_FAILED;

	for (size_t i = 0; whole && i < SIZE; i++)
		whole = to[i] == 7;
	printf("moved=%d\n", whole);
	return whole ? to : memory;
}

static char *memory;

static void
tell(void)
{
	pk_refcnt_enable(memory, SIZE, PK_REFCNT_REFS);
	printf("cut=%d\n", allocate_until(memory, PAGES, true));
}

static void
tell_once(int no)
{
	signal(no, SIG_IGN);
	tell();
}

static int
move_late(void)
{
	signal(SIGUSR1, tell_once);
	memory = print_move(memory);
	pk_refcnt_disable(memory, SIZE);
	return 0;
}

int
main(int argc, char **argv)
{
	memory = map_pages();
	if (pk_refcnt_enable == NULL)
		return 3;
	free(malloc(1));
	if (argc > 1 && strcmp(argv[1], "late") == 0)
		return move_late();
	errno = 4711;
	tell();
	errno = 4711;
	for (int i = 0; i < 100000; i++)
		free(malloc(100));
	printf("errno_kept=%d\n", errno == 4711);
	fflush(stdout);
	print_child(memory);
	if (argc > 1)
		memory = print_move(memory);
	pk_refcnt_disable(memory, SIZE);
	printf("undone=%d\n", allocate_until(memory, 1, true));
	return 0;
}
