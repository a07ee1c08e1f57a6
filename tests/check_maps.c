/*
 * What the kernel says of mappings, asked and read.
 */
#include "../src/symbol/symbol.h"
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE 256

struct answer {
	struct maps_line map;
	char path[PATH_MAX];
};

static struct answer asked[CODE], text[CODE];

/* A file with a newline in its name, which it has no more, mapped as code. */
static void
map_odd_file(void)
{
	char dir[] = "/tmp/pagek-maps-XXXXXX", path[64];
	void *p;
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a\nb", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 8192), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	ck_assert_ptr_ne(p, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(p, MAP_FAILED);
}

static void
keep(struct answer *a, const struct maps_line *map)
{
	a->map = *map;
	snprintf(a->path, sizeof(a->path), "%s", map->path);
}

/* The page of old system calls is in no table that can be asked. */
static size_t
read_text(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4 * PATH_MAX];
	struct maps_line map;
	size_t n = 0;

	ck_assert_ptr_nonnull(f);
	while (n < CODE && fgets(line, sizeof(line), f) != NULL)
		if (maps_parse(line, &map) == 0 && map.executable &&
		    strcmp(map.path, "[vsyscall]") != 0)
			keep(&text[n++], &map);
	fclose(f);
	return n;
}

/* -ENOTTY: it cannot be asked. */
static int
ask(size_t *n)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), r;
	struct maps_line map = { .end = 0 };
	char path[PATH_MAX];

	ck_assert_int_ge(fd, 0);
	*n = 0;
	while ((r = maps_next_code(fd, map.end, path, &map)) == 0)
		keep(&asked[(*n)++], &map);
	close(fd);
	return r;
}

CASE("asked and read", .seconds = 60);

TEST(the_kernel_answers_what_its_text_says)
{
	size_t n, m;
	int r;

	map_odd_file();
	n = read_text();
	r = ask(&m);
	if (r == -ENOTTY)
		return;
	ck_assert_int_eq(r, -ENOENT);
	ck_assert_uint_eq(m, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(asked[i].map.start, text[i].map.start);
		ck_assert_uint_eq(asked[i].map.end, text[i].map.end);
		ck_assert_uint_eq(asked[i].map.offset, text[i].map.offset);
		ck_assert_uint_eq(asked[i].map.inode, text[i].map.inode);
		ck_assert_int_eq(asked[i].map.deleted, text[i].map.deleted);
		ck_assert_str_eq(asked[i].path, text[i].path);
	}
}

/* From now on every ioctl(2) of this process fails as an old kernel's does. */
static void
be_an_older_kernel(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter),
		.filter = filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
	    0);
}

TEST(the_text_is_read_where_the_kernel_cannot_be_asked)
{
	struct symbol_modules *modules;
	size_t n;

	be_an_older_kernel();
	ck_assert_int_eq(ask(&n), -ENOTTY);
	ck_assert_int_eq(symbol_modules_new(&modules), 0);
	ck_assert_int_eq(symbol_modules_read(modules, getpid()), 0);
	ck_assert(symbol_modules_covers(modules,
	    (uint64_t)(uintptr_t)be_an_older_kernel + 1));
	symbol_modules_free(modules);
}

TEST(a_process_that_has_ended_has_no_code)
{
	struct symbol_modules *modules;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	/* It waits to be reaped: there is a process, and no memory. */
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 },
	    WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(symbol_modules_new(&modules), 0);
	ck_assert_int_eq(symbol_modules_read(modules, pid), -ESRCH);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(symbol_modules_read(modules, pid), -ESRCH);
	symbol_modules_free(modules);
}
