/* /proc without stdio, for any thread. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "../../base/base.h"
#include "proc.h"

#define SCRIPTS_MAX 5		/* interpreters that are scripts themselves */
#define TASKS_MAX 256		/* threads whose children are looked for */

#define PATH_SIZE (64 + NAME_MAX)

static const char *
proc_path(char out[PATH_SIZE], pid_t pid, const char *name)
{
	if (base_proc_is_ours())
		snprintf(out, PATH_SIZE, "/proc/%d/%s", (int)pid, name);
	else
		snprintf(out, PATH_SIZE, "/proc/none");
	return out;
}

/* Opens /proc/PID/name; -errno. */
static int
open_proc(pid_t pid, const char *name)
{
	char path[PATH_SIZE];
	int fd = open(proc_path(path, pid, name), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Reads up to cap - 1 bytes of it and a NUL; the bytes read, or -errno. */
static ssize_t
read_proc(pid_t pid, const char *name, char *buf, size_t cap)
{
	int fd = open_proc(pid, name);
	size_t len = 0;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	while (len < cap - 1) {
		n = read(fd, buf + len, cap - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (n < 0 && len == 0)
		n = -errno;
	close(fd);
	buf[len] = '\0';
	return n < 0 ? n : (ssize_t)len;
}

static int
read_comm(pid_t pid, const char *name, char out[16])
{
	char buf[64];
	ssize_t n = read_proc(pid, name, buf, sizeof buf);

	if (n < 0)
		return (int)n;
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	if (n > 15)
		n = 15;
	memcpy(out, buf, (size_t)n);
	out[n] = '\0';
	return 0;
}

int
proc_comm(pid_t pid, char out[16])
{
	return read_comm(pid, "comm", out);
}

int
proc_thread_comm(pid_t pid, pid_t tid, char out[16])
{
	char name[32];

	snprintf(name, sizeof name, "task/%d/comm", (int)tid);
	return read_comm(pid, name, out);
}

/* The offset after the name, or -EIO.  The last ')' ends the name, which may contain ')'. */
static ssize_t
behind_name(const char *stat)
{
	const char *p = strrchr(stat, ')');

	return p != NULL ? p + 1 - stat : -EIO;
}

static ssize_t
read_stat(pid_t pid, char *buf, size_t cap)
{
	ssize_t n = read_proc(pid, "stat", buf, cap);

	return n < 0 ? n : behind_name(buf);
}

static int
copy_stat_comm(const char *buf, ssize_t behind, char comm[16])
{
	const char *name = strchr(buf, '(');
	size_t len;

	if (name == NULL || name >= buf + behind - 1)
		return -EIO;
	len = (size_t)(buf + behind - 1 - ++name);
	memcpy(comm, name, len < 15 ? len : 15);
	comm[len < 15 ? len : 15] = '\0';
	return 0;
}

#define FORKED_NO_EXEC 0x40	/* of the flags: the kernel's PF_FORKNOEXEC */

static int
parse_stat(const char *behind, pid_t *ppid, uint64_t *start)
{
	unsigned long long at;
	char state;
	int parent;

	if (sscanf(behind, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
	    "%*u %*u %*d %*d %*d %*d %*d %*d %llu", &state, &parent, &at) != 3)
		return -EIO;
	if (state == 'Z' || state == 'X')
		return -ESRCH;
	*ppid = parent;
	*start = at;
	return 0;
}

int
proc_stat(pid_t pid, pid_t *ppid, uint64_t *start)
{
	char buf[1024];
	ssize_t behind = read_stat(pid, buf, sizeof buf);

	return behind < 0 ? (int)behind : parse_stat(buf + behind, ppid,
	    start);
}

int64_t
proc_start_ms(uint64_t start)
{
	static int64_t boot_ms;
	struct timespec now, since_boot;

	if (boot_ms == 0) {
		clock_gettime(CLOCK_REALTIME, &now);
		clock_gettime(CLOCK_BOOTTIME, &since_boot);
		boot_ms = (int64_t)(now.tv_sec - since_boot.tv_sec) * 1000 +
		    (now.tv_nsec - since_boot.tv_nsec) / 1000000;
	}
	return boot_ms + (int64_t)(start * 1000 /
	    (uint64_t)sysconf(_SC_CLK_TCK));
}

int
proc_stat_comm(pid_t pid, char comm[16], pid_t *ppid, uint64_t *start)
{
	char buf[1024];
	ssize_t behind = read_stat(pid, buf, sizeof buf);
	int r;

	if (behind < 0)
		return (int)behind;
	r = parse_stat(buf + behind, ppid, start);
	return r < 0 ? r : copy_stat_comm(buf, behind, comm);
}

/*
 * The kernel stores the start addresses of code and stack at the end of exec(2).  For a
 * program that this process may not inspect, it shows 1 and 0.
 */
int
proc_parse_image(const char *stat, struct proc_image *out)
{
	ssize_t behind = behind_name(stat);
	unsigned long long code, stack;
	unsigned flags;
	int r;

	if (behind < 0)
		return (int)behind;
	r = parse_stat(stat + behind, &out->ppid, &out->start);
	if (r < 0)
		return r;
	if (sscanf(stat + behind, " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u "
	    "%*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u %*d %*u %llu %*u %llu",
	    &flags, &code, &stack) != 3)
		return -EIO;
	out->program = code != 0 ? code + stack : 0;
	out->execed = (flags & FORKED_NO_EXEC) == 0;
	return copy_stat_comm(stat, behind, out->comm);
}

/* False: this kernel never shows the start address of code. */
static bool
tells_programs(void)
{
	struct proc_image own;
	char buf[1024];

	return read_proc(getpid(), "stat", buf, sizeof buf) > 0 &&
	    proc_parse_image(buf, &own) == 0 && own.program != 0;
}

int
proc_image(pid_t pid, struct proc_image *out)
{
	char buf[1024];
	ssize_t n = read_proc(pid, "stat", buf, sizeof buf);
	int r = n < 0 ? (int)n : proc_parse_image(buf, out);

	if (r == 0 && out->program == 0 && !tells_programs())
		out->program = 1;
	return r;
}

bool
proc_image_stays(pid_t pid, const struct proc_image *image)
{
	struct proc_image now;

	return proc_image(pid, &now) == 0 && now.program != 0 &&
	    now.program == image->program && now.start == image->start;
}

int
proc_last(pid_t pid, struct proc_last *out)
{
	char buf[1024];
	ssize_t behind = read_stat(pid, buf, sizeof buf);
	unsigned long long start;
	unsigned flags;
	int parent;

	if (behind < 0)
		return (int)behind;
	if (sscanf(buf + behind, " %*c %d %*d %*d %*d %*d %u %*u %*u %*u "
	    "%*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &parent, &flags,
	    &start) != 3)
		return -EIO;
	out->ppid = parent;
	out->start = start;
	out->execed = (flags & FORKED_NO_EXEC) == 0;
	return copy_stat_comm(buf, behind, out->comm);
}

/* As in linux/pidfd.h of Linux 6.15. */
struct exit_info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t status;
};
#define GET_EXIT_INFO _IOWR(0xff, 11, struct exit_info)
#define EXIT_KNOWN 8

int
proc_reaped_status(int pidfd, int *status)
{
	struct exit_info info = { .mask = EXIT_KNOWN };

	if (ioctl(pidfd, GET_EXIT_INFO, &info) < 0)
		return -errno;
	if ((info.mask & EXIT_KNOWN) == 0)
		return -ENODATA;
	*status = info.status;
	return 0;
}

int
proc_parent(pid_t pid, pid_t *ppid)
{
	char buf[1024];
	ssize_t behind = read_stat(pid, buf, sizeof buf);
	int parent;

	if (behind < 0)
		return (int)behind;
	if (sscanf(buf + behind, " %*c %d", &parent) != 1)
		return -EIO;
	*ppid = parent;
	return 0;
}

/* The number of a line of that name; false: none. */
static bool
status_number(const char *status, const char *name, uint32_t *out)
{
	const char *line = strstr(status, name);

	return line != NULL && sscanf(line + strlen(name), " %" SCNu32, out) ==
	    1;
}

int
proc_seccomp(pid_t pid, pid_t tid, uint64_t *out)
{
	char name[32] = "status", buf[8192];
	uint32_t mode, filters = 0;
	ssize_t n;

	/* The shorter path costs the kernel fewer directory entries. */
	if (tid != pid)
		snprintf(name, sizeof name, "task/%d/status", (int)tid);
	n = read_proc(pid, name, buf, sizeof buf);
	if (n < 0)
		return (int)n;
	if (!status_number(buf, "\nSeccomp:", &mode))
		return -ENOENT;
	(void)status_number(buf, "\nSeccomp_filters:", &filters);
	*out = (uint64_t)mode << 32 | filters;
	return 0;
}

size_t
proc_threads(pid_t pid, size_t *from, pid_t *out, size_t max)
{
	size_t place = 0, n = 0;
	struct dirent *e = NULL;
	char path[PATH_SIZE];
	DIR *dir = opendir(proc_path(path, pid, "task"));

	while (dir != NULL && n < max && (e = readdir(dir)) != NULL) {
		int tid = atoi(e->d_name);

		if (tid > 0 && place++ >= *from)
			out[n++] = tid;
	}
	if (dir != NULL)
		closedir(dir);
	*from = e != NULL ? place : 0;
	return n;
}

int
proc_exe(pid_t pid, uint64_t *dev, uint64_t *ino)
{
	char path[PATH_SIZE];
	struct stat st;

	if (stat(proc_path(path, pid, "exe"), &st) < 0)
		return -errno;
	*dev = st.st_dev;
	*ino = st.st_ino;
	return 0;
}

/* Removes the kernel's suffix for an unlinked file. */
static void
cut_deleted(char *path)
{
	static const char word[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof word - 1;

	if (len > tail && strcmp(path + len - tail, word) == 0)
		path[len - tail] = '\0';
}

static int
read_link(pid_t pid, const char *name, char out[PROC_PATH])
{
	char path[PATH_SIZE];
	ssize_t n = readlink(proc_path(path, pid, name), out, PROC_PATH - 1);

	if (n < 0)
		return -errno;
	out[n] = '\0';
	cut_deleted(out);
	return 0;
}

int
proc_exe_path(pid_t pid, char out[PROC_PATH])
{
	return read_link(pid, "exe", out);
}

int
proc_cwd(pid_t pid, char out[PROC_PATH])
{
	return read_link(pid, "cwd", out);
}

/* The kernel writes a newline as \012. */
static void
copy_path(char out[PROC_PATH], const char *in)
{
	size_t n = 0;

	while (*in != '\0' && n < PROC_PATH - 1) {
		bool newline = strncmp(in, "\\012", 4) == 0;

		out[n++] = newline ? '\n' : *in;
		in += newline ? 4 : 1;
	}
	out[n] = '\0';
	cut_deleted(out);
}

/* "start-end perms offset dev inode  path": 0 when it begins at `start`. */
static int
path_of_line(const char *line, uint64_t start, char out[PROC_PATH])
{
	char *rest;
	int at = 0;

	if (strtoull(line, &rest, 16) != start || *rest != '-')
		return -ENOENT;
	if (sscanf(rest, "-%*x %*s %*x %*s %*u %n", &at) != 0 || at == 0 ||
	    rest[at] == '\0')
		return -ENOENT;
	copy_path(out, rest + at);
	return 0;
}

int
proc_maps_path(pid_t pid, uint64_t start, char out[PROC_PATH])
{
	char buf[4 * PROC_PATH];	/* escapes make lines longer */
	int fd = open_proc(pid, "maps"), found = -ENOENT;
	size_t held = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while (found != 0 &&
	    (n = read(fd, buf + held, sizeof buf - held)) > 0) {
		char *line = buf, *end;

		held += (size_t)n;
		while (found != 0 && (end = memchr(line, '\n',
		    held - (size_t)(line - buf))) != NULL) {
			*end = '\0';
			found = path_of_line(line, start, out);
			line = end + 1;
		}
		held -= (size_t)(line - buf);
		memmove(buf, line, held);
	}
	close(fd);
	return found;
}

int
proc_maps_has(pid_t pid, const char *text)
{
	char buf[16384];
	size_t keep = strlen(text) - 1, held = 0;
	int fd = open_proc(pid, "maps"), found = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	/* The text may span two reads. */
	while (!found && (n = read(fd, buf + held, sizeof buf - held)) > 0) {
		size_t len = held + (size_t)n;

		found = memmem(buf, len, text, strlen(text)) != NULL;
		held = len < keep ? len : keep;
		memmove(buf, buf + len - held, held);
	}
	close(fd);
	return found;
}

static size_t
parse_pids(char *text, pid_t *out, size_t max)
{
	size_t n = 0;
	char *end;

	for (char *p = text; n < max; p = end) {
		long pid = strtol(p, &end, 10);

		if (end == p || pid <= 0)
			break;
		out[n++] = (pid_t)pid;
	}
	return n;
}

static size_t
task_children(pid_t pid, const char *task, pid_t *out, size_t max)
{
	char name[32 + NAME_MAX], buf[8192];

	snprintf(name, sizeof name, "task/%s/children", task);
	return read_proc(pid, name, buf, sizeof buf) > 0 ?
	    parse_pids(buf, out, max) : 0;
}

size_t
proc_own_children(void)
{
	char path[] = "/proc/thread-self/children", buf[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buf, sizeof buf - 1) : -1;
	pid_t pid[2];

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	return parse_pids(buf, pid, 2);
}

size_t
proc_children(pid_t pid, pid_t *out, size_t max)
{
	char path[PATH_SIZE];
	DIR *d = opendir(proc_path(path, pid, "task"));
	struct dirent *e;
	size_t n = 0;
	int tasks = 0;

	if (d == NULL)
		return 0;
	while (n < max && tasks < TASKS_MAX && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		tasks++;
		n += task_children(pid, e->d_name, out + n, max - n);
	}
	closedir(d);
	return n;
}

static bool
at_secure(pid_t pid)
{
	_Alignas(Elf64_auxv_t) char buf[1024];
	Elf64_auxv_t *av = (Elf64_auxv_t *)(void *)buf;
	ssize_t n = read_proc(pid, "auxv", buf, sizeof buf);

	if (n < 0)
		return n == -EACCES || n == -EPERM;
	for (size_t i = 0; (i + 1) * sizeof *av <= (size_t)n; i++)
		if (av[i].a_type == AT_SECURE)
			return av[i].a_un.a_val != 0;
	return false;
}

enum elf_kind { ELF_DYNAMIC, ELF_STATIC, ELF_32, ELF_NONE };

static enum elf_kind
elf_kind(int fd)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr eh;
	} h;

	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
	    memcmp(h.ident, ELFMAG, SELFMAG) != 0)
		return ELF_NONE;
	if (h.ident[EI_CLASS] != ELFCLASS64)
		return ELF_32;
	for (unsigned i = 0; i < h.eh.e_phnum && i < 64; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof ph, (off_t)(h.eh.e_phoff +
		    i * sizeof ph)) != (ssize_t)sizeof ph)
			break;
		if (ph.p_type == PT_INTERP)
			return ELF_DYNAMIC;
	}
	return ELF_STATIC;
}

static enum elf_kind
process_kind(pid_t pid)
{
	int fd = open_proc(pid, "exe");
	enum elf_kind kind;

	if (fd < 0)
		return ELF_NONE;
	kind = elf_kind(fd);
	close(fd);
	return kind;
}

/* Why nothing is preloaded into a program; NULL: it is, as far as is known. */
static const char *
why_no_preload(enum elf_kind kind, bool secure)
{
	switch (kind) {
	case ELF_32:
		return "a 32-bit program: the library is for 64 bits";
	case ELF_STATIC:
		return "a statically linked program: nothing can be preloaded";
	case ELF_NONE:
		return secure ? "set-user-ID or another user's program: the "
		    "loader ignores the library" : NULL;
	case ELF_DYNAMIC:
		break;
	}
	return secure ? "set-user-ID program: the loader ignores the library" :
	    NULL;
}

/* exec(2) of it gives rights that its caller lacks. */
static bool
gives_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	return ((st.st_mode & S_ISUID) != 0 && st.st_uid != geteuid()) ||
	    ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    st.st_gid != getegid()) || (geteuid() != 0 &&
	    getxattr(path, "security.capability", NULL, 0) > 0);
}

/* The interpreter that the first line of a script names. */
static bool
read_interpreter(int fd, char out[PROC_PATH])
{
	char line[256];
	ssize_t n = pread(fd, line, sizeof line - 1, 0);
	char *name = line + 2;

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[n] = '\0';
	name += strspn(name, " \t");
	name[strcspn(name, " \t\n")] = '\0';
	snprintf(out, PROC_PATH, "%s", name);
	return true;
}

const char *
proc_file_takes_no_preload(const char *path)
{
	enum elf_kind kind = ELF_NONE;
	char file[PROC_PATH];
	bool script = true;

	snprintf(file, sizeof file, "%s", path);
	for (unsigned i = 0; script && i < SCRIPTS_MAX; i++) {
		int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0)
			break;
		kind = elf_kind(fd);
		script = kind == ELF_NONE && read_interpreter(fd, file);
		close(fd);
	}
	return why_no_preload(kind, gives_rights(file));
}

int
proc_resident(pid_t pid, uint64_t *bytes)
{
	char buf[128];
	ssize_t n = read_proc(pid, "statm", buf, sizeof buf);
	unsigned long long pages;

	if (n < 0)
		return (int)n;
	if (sscanf(buf, "%*u %llu", &pages) != 1)
		return -EPROTO;
	*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int
proc_uid(pid_t pid, uid_t *uid)
{
	char path[PATH_SIZE];
	struct stat st;

	/* The directory belongs to the process's user. */
	if (stat(proc_path(path, pid, ""), &st) < 0)
		return -errno;
	*uid = st.st_uid;
	return 0;
}

static bool
changed_user(pid_t pid)
{
	uid_t uid;

	return proc_uid(pid, &uid) == 0 && uid != geteuid();
}

static bool
changed_root(pid_t pid)
{
	struct stat ours, theirs;
	char path[PATH_SIZE];

	return stat("/", &ours) == 0 &&
	    stat(proc_path(path, pid, "root"), &theirs) == 0 &&
	    (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
}

int
proc_environ(pid_t pid, const char *name, char *out, size_t cap)
{
	char buf[65536];
	ssize_t n = read_proc(pid, "environ", buf, sizeof buf);
	size_t len = strlen(name);

	if (n < 0)
		return (int)n;
	for (const char *s = buf; s < buf + n; s += strlen(s) + 1) {
		if (strncmp(s, name, len) != 0 || s[len] != '=')
			continue;
		if (strlen(s + len + 1) >= cap)
			return -ENAMETOOLONG;
		strcpy(out, s + len + 1);
		return 0;
	}
	return (size_t)n < sizeof buf - 1 ? -ENOENT : -E2BIG;
}

#define SECTIONS_MAX 512
#define NAMES_MAX (16 << 20)

/* Has the table of dynamic symbols a function of that name? */
static bool
defines_function(int fd, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
    const char *name)
{
	size_t bytes = strings->sh_size;
	char *names = bytes < NAMES_MAX ? malloc(bytes + 1) : NULL;
	bool found = false;

	if (names == NULL || pread(fd, names, bytes,
	    (off_t)strings->sh_offset) != (ssize_t)bytes) {
		free(names);
		return false;
	}
	names[bytes] = '\0';
	for (uint64_t at = 0; !found && at < symbols->sh_size;) {
		Elf64_Sym sym[256];
		ssize_t n = pread(fd, sym, sizeof sym,
		    (off_t)(symbols->sh_offset + at));

		if (n < (ssize_t)sizeof sym[0])
			break;
		n /= (ssize_t)sizeof sym[0];
		at += (uint64_t)n * sizeof sym[0];
		for (ssize_t i = 0; !found && i < n; i++)
			found = sym[i].st_shndx != SHN_UNDEF &&
			    sym[i].st_name < bytes &&
			    strcmp(names + sym[i].st_name, name) == 0;
	}
	free(names);
	return found;
}

/* The loader finds the program's own malloc before the library's. */
static bool
has_own_malloc(pid_t pid)
{
	int fd = open_proc(pid, "exe");
	Elf64_Shdr sections[SECTIONS_MAX];
	Elf64_Ehdr eh;
	bool found = false;
	size_t n = 0;

	if (fd < 0)
		return false;
	if (pread(fd, &eh, sizeof eh, 0) == (ssize_t)sizeof eh &&
	    eh.e_shentsize == sizeof sections[0] && eh.e_shnum <= SECTIONS_MAX &&
	    pread(fd, sections, eh.e_shnum * sizeof sections[0],
	    (off_t)eh.e_shoff) == (ssize_t)(eh.e_shnum * sizeof sections[0]))
		n = eh.e_shnum;
	for (size_t i = 0; i < n && !found; i++)
		found = sections[i].sh_type == SHT_DYNSYM &&
		    sections[i].sh_link < n &&
		    defines_function(fd, &sections[i],
		    &sections[sections[i].sh_link], "malloc");
	close(fd);
	return found;
}

/* Are all the descriptors taken that it may have? */
static bool
lacks_descriptors(pid_t pid)
{
	char path[PATH_SIZE];
	struct rlimit limit;
	struct dirent *e;
	rlim_t n = 0;
	DIR *dir;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit) < 0 ||
	    (dir = opendir(proc_path(path, pid, "fd"))) == NULL)
		return false;
	while (n < limit.rlim_cur && (e = readdir(dir)) != NULL)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n >= limit.rlim_cur;
}

/* It has loaded the library, and no hello has come: what is left are traces. */
static const char *
why_no_hello(pid_t pid)
{
	uint64_t seccomp;

	if (has_own_malloc(pid))
		return "its program has a malloc of its own, which the library "
		    "does not see";
	if (proc_seccomp(pid, pid, &seccomp) == 0 && seccomp >> 32 != 0)
		return "it is sandboxed (seccomp), perhaps without sockets";
	if (lacks_descriptors(pid))
		return "it has no free descriptor to register with the node";
	return "it did not register with the node; why is not known";
}

/* The library may come without it (/etc/ld.so.preload), but finds no node then. */
static bool
lacks_environment(pid_t pid)
{
	char value[4096];
	int r = proc_environ(pid, "LD_PRELOAD", value, sizeof value);

	return r == -ENOENT ||
	    (r == 0 && strstr(value, "liballoclog") == NULL) ||
	    proc_environ(pid, "PAGEK_NODE", value, sizeof value) == -ENOENT;
}

bool
proc_takes_no_preload(pid_t pid)
{
	enum elf_kind kind = process_kind(pid);

	return kind != ELF_NONE && (why_no_preload(kind, kind == ELF_DYNAMIC &&
	    at_secure(pid)) != NULL || (kind == ELF_DYNAMIC &&
	    lacks_environment(pid)));
}

void
proc_why_no_data(pid_t pid, char *out, size_t cap)
{
	enum elf_kind kind = process_kind(pid);
	const char *why = why_no_preload(kind, at_secure(pid));
	char node[256];

	if (why != NULL)
		;
	else if (kind == ELF_NONE)
		why = "its program cannot be read";
	else if (proc_maps_has(pid, "libasan") > 0 ||
	    proc_maps_has(pid, "libtsan") > 0 ||
	    proc_maps_has(pid, "libclang_rt.") > 0)
		why = "built with a sanitizer, which has an allocator of its own";
	else if (proc_environ(pid, "PAGEK_NODE", node, sizeof node) == -ENOENT)
		why = "started without PAGEK_NODE in its environment";
	else if (proc_maps_has(pid, "liballoclog") == 0)
		why = "its loader did not load the library";
	else if (changed_user(pid))
		why = "it runs as another user, who cannot reach the node";
	else if (changed_root(pid))
		why = "it has another root folder and cannot reach the node";
	else
		why = why_no_hello(pid);
	snprintf(out, cap, "%s", why);
}
