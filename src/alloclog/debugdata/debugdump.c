/*
 * A dump that the process writes itself: mddout.PID.N in its working
 * directory, in the format of mddout(5).
 *
 * PAGEK_DUMP_AT	a size: once, when so many bytes are allocated; "exit":
 *			once, at exit(3); a signal's name: at each such signal,
 *			unless the program handles it.
 * PAGEK_DUMP_DIR	another folder
 *
 * A process with a seccomp filter writes none, for the system calls might kill it.
 * That is reported before the filter is set.
 *
 * The data are copied while all shards are locked, and written after that.
 * mdd/dump/write.c writes the same format with stdio; this file makes system calls
 * only, because a signal handler may write a dump.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "../../mdd/target/target.h"
#include "../debugdata.h"
#include "../hooks.h"
#include "../produce/keeper_watch.h"
#include "../unwind/syscalls.h"

#define PATH_BYTES 512
#define NAME_BYTES 40		/* "/mddout.", two numbers */
#define MAPS_BYTES (4u << 20)	/* at most so much of /proc/self/maps */
#define HEAD_BYTES 4096		/* of each mapped ELF file: LAYOUT_HEAD_BYTES */

/* A file in memory.  bytes NULL: only its size is computed. */
struct file {
	unsigned char *bytes;
	size_t len;
	size_t room;			/* bytes before those of the mappings */
	uint32_t chunks;
};

struct chunk_head {
	char type[4];
	uint32_t crc;
	uint64_t len;
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
    "chunk heads are written as they lie in memory");

static void
put(struct file *f, const void *bytes, size_t n)
{
	if (f->bytes != NULL)
		memcpy(f->bytes + f->len, bytes, n);
	f->len += n;
}

/* sum_chunks() writes the checksum. */
static void
put_chunk(struct file *f, const char *type, uint64_t address, const void *bytes,
    size_t n)
{
	struct chunk_head h = { .len = n };

	memcpy(h.type, type, sizeof h.type);
	if (address != 0)
		h.len += sizeof address;
	put(f, &h, sizeof h);
	if (address != 0)
		put(f, &address, sizeof address);
	put(f, bytes, n);
	f->chunks++;
}

static uint32_t
crc32(const unsigned char *bytes, size_t n)
{
	static SELDOM _Atomic uint32_t table[256];
	uint32_t crc = UINT32_MAX, c;

	if (atomic_load_explicit(&table[1], memory_order_acquire) == 0)
		for (unsigned i = 256; i-- > 0;) {
			c = i;
			for (unsigned k = 0; k < 8; k++)
				c = c >> 1 ^ (UINT32_C(0xedb88320) & -(c & 1));
			atomic_store_explicit(&table[i], c,
			    memory_order_release);
		}
	for (size_t i = 0; i < n; i++)
		crc = crc >> 8 ^ atomic_load_explicit(
		    &table[(crc ^ bytes[i]) & 255], memory_order_relaxed);
	return ~crc;
}

static void
sum_chunks(struct file *f, size_t from)
{
	struct chunk_head h;

	for (; from < f->len; from += sizeof h + h.len) {
		memcpy(&h, f->bytes + from, sizeof h);
		h.crc = crc32(f->bytes + from + sizeof h, h.len);
		memcpy(f->bytes + from, &h, sizeof h);
	}
}

static void
put_memory(struct file *f, uintptr_t at, size_t n)
{
	put_chunk(f, "MEMO", at, (const void *)at, n);
}

/* Puts the slabs of `used` entries.  Each slab is twice the one before. */
static void
put_slabs(struct file *f, const uintptr_t *slab, uint32_t used, size_t bytes)
{
	uint32_t places = mdd_root.slab_first, n;

	for (unsigned i = 0; i < MDD_SLABS && used > 0; i++, places *= 2) {
		n = used < places ? used : places;
		if (slab[i] != 0)
			put_memory(f, slab[i], n * bytes);
		used -= n;
	}
}

static void
put_data(struct file *f, uint32_t threads)
{
	const struct mdd_shard *s = (const void *)mdd_root.shard;

	put_memory(f, (uintptr_t)&mdd_root, sizeof mdd_root);
	put_memory(f, mdd_root.shard, mdd_root.shards * sizeof *s);
	for (unsigned i = 0; i < mdd_root.shards; i++)
		put_slabs(f, s[i].slab, s[i].used, mdd_root.record_bytes);
	put_slabs(f, mdd_root.thread_slab, threads, mdd_root.thread_bytes);
	if (mdd_root.history != 0)
		put_memory(f, mdd_root.history, mdd_root.history_records *
		    (size_t)mdd_root.event_bytes);
}

static void
add_text(char *out, size_t *len, const char *text)
{
	while (*text != '\0' && *len < PATH_BYTES - 1)
		out[(*len)++] = *text++;
	out[*len] = '\0';
}

static void
add_number(char *out, size_t *len, uint64_t n)
{
	char digits[24];
	unsigned i = sizeof digits - 1;

	digits[i] = '\0';
	do
		digits[--i] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	add_text(out, len, digits + i);
}

static void
put_info(struct file *f, const char *from, uint32_t number)
{
	char text[PATH_BYTES], path[256];
	ssize_t n = syscall(SYS_readlink, "/proc/self/exe", path,
	    sizeof path - 1);
	size_t len = 0;

	add_text(text, &len, "maker process\nreset no\nfrom ");
	add_text(text, &len, from);
	add_text(text, &len, "\npid ");
	add_number(text, &len, (uint64_t)syscall(SYS_getpid));
	add_text(text, &len, "\nnumber ");
	add_number(text, &len, number);
	if (n > 0) {
		path[n] = '\0';
		add_text(text, &len, "\nprogram ");
		add_text(text, &len, path);
	}
	add_text(text, &len, "\n");
	put_chunk(f, "INFO", 0, text, len);
}

static uint64_t
read_hex(const char **at)
{
	uint64_t n = 0;
	unsigned digit;

	for (;; (*at)++) {
		digit = (unsigned char)**at;
		if (digit - '0' < 10)
			n = n << 4 | (digit - '0');
		else if (digit - 'a' < 6)
			n = n << 4 | (digit - 'a' + 10);
		else
			return n;
	}
}

/* Puts the first bytes of the ELF file that the line maps, by a system call. */
static void
put_head(struct file *f, int mem, const char *line, const char *end)
{
	unsigned char head[HEAD_BYTES];
	uint64_t lo, offset;

	lo = read_hex(&line);
	line++;
	(void)read_hex(&line);
	if (end - line < 8 || line[1] != 'r')
		return;
	line += 6;
	offset = read_hex(&line);
	while (line < end && *line != '/')
		line++;
	if (offset != 0 || line == end || mem < 0 ||
	    f->len + 2 * sizeof head > f->room ||
	    syscall(SYS_pread64, mem, head, sizeof head, lo) !=
		(long)sizeof head ||
	    memcmp(head, "\177ELF", 4) != 0)
		return;
	put_chunk(f, "MEMO", lo, head, sizeof head);
}

static size_t
read_maps(char *into, size_t size)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps",
	    O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && len < size &&
	    (n = syscall(SYS_read, fd, into + len, size - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		call_close(fd);
	return len;
}

static void
put_maps(struct file *f, const char *maps, size_t len)
{
	int mem = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem",
	    O_RDONLY | O_CLOEXEC);
	const char *end;

	put_chunk(f, "MAPS", 0, maps, len);
	for (const char *line = maps; line < maps + len; line = end + 1) {
		for (end = line; end < maps + len - 1 && *end != '\n'; end++)
			continue;
		put_head(f, mem, line, end);
	}
	if (mem >= 0)
		call_close(mem);
}

static _Atomic uint32_t dumps;
static _Atomic int dumping;
static SELDOM char folder[PATH_BYTES];		/* "": the working directory */

/* write(2), whose SIGPIPE or SIGXFSZ the program does not get. */
static ssize_t
write_quietly(int fd, const void *bytes, size_t n)
{
	const uint64_t ours = UINT64_C(1) << (SIGXFSZ - 1) |
	    UINT64_C(1) << (SIGPIPE - 1);
	const struct timespec now = { 0 };
	uint64_t blocked, before = ours, raised;
	ssize_t written;
	int saved;

	call_block_signals(&blocked);
	(void)syscall(SYS_rt_sigpending, &before, sizeof before);
	written = syscall(SYS_write, fd, bytes, n);
	saved = errno;
	raised = ours & ~before;
	if (written < 0 && (saved == EPIPE || saved == EFBIG))
		(void)syscall(SYS_rt_sigtimedwait, &raised, NULL, &now,
		    sizeof raised);
	call_restore_signals(&blocked);
	errno = saved;
	return written;
}

static struct errors {
	uint64_t dev, ino;	/* ino 0: descriptor 2 was closed at the start */
} errors;

static struct errors
find_errors(void)
{
	struct statx st = { .stx_ino = 0 };
	int saved = errno;

	(void)syscall(SYS_statx, 2, "", AT_EMPTY_PATH, STATX_INO, &st);
	errno = saved;
	return (struct errors){ .ino = st.stx_ino,
		.dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor };
}

void
debugdump_know_errors(void)
{
	errors = find_errors();
}

/* The program may have closed standard error, and have a file of its own there. */
void
debugdump_complain(const char *what, const char *about, const char *remedy)
{
	const char *const parts[] = { "pagek: ", what, about, remedy, "\n" };
	struct errors now = find_errors();
	int saved = errno;

	if (now.ino != 0 && now.ino == errors.ino && now.dev == errors.dev)
		for (unsigned i = 0; i < 5; i++)
			(void)write_quietly(2, parts[i], strlen(parts[i]));
	errno = saved;
}

/* "NAME=VALUE" and its NUL, character by character. */
static char
entry_at(const char *name, const char *value, size_t i)
{
	size_t len = strlen(name);

	return i < len ? name[i] : i == len ? '=' : value[i - len - 1];
}

bool
debugdump_parent_has(const char *name)
{
	const char *value = libc_env(name);
	char text[PATH_BYTES];
	size_t len = 0, same = 0, whole;
	bool begins = true;
	ssize_t n;
	int fd;

	if (value == NULL)
		return false;
	whole = strlen(name) + strlen(value) + 2;
	add_text(text, &len, "/proc/");
	add_number(text, &len, (uint64_t)syscall(SYS_getppid));
	add_text(text, &len, "/environ");
	fd = (int)syscall(SYS_openat, AT_FDCWD, text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (same < whole && (n = syscall(SYS_read, fd, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n && same < whole; i++) {
			same = begins && text[i] == entry_at(name, value, same) ?
			    same + 1 : 0;
			begins = same > 0 || text[i] == '\0';
		}
	call_close(fd);
	return same == whole;
}

static const struct {
	int number;
	const char *text;
} reasons[] = {
	{ EACCES, ": permission denied" }, { EPERM, ": permission denied" },
	{ ENOENT, ": there is no such folder" },
	{ ENOTDIR, ": there is no such folder" },
	{ EEXIST, ": it exists already" },
	{ EROFS, ": the file system is read-only" },
	{ ENOSPC, ": the disk is full" }, { EDQUOT, ": the quota is used up" },
	{ EMFILE, ": no free file descriptor" },
	{ ENFILE, ": no free file descriptor" },
	{ ENAMETOOLONG, ": the path is too long" },
	{ EFBIG, ": it is larger than 'ulimit -f' allows" },
	{ EIO, ": the disk reports an error" },
};

static const char *
reason_of(int err)
{
	for (unsigned i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].number == err)
			return reasons[i].text;
	return "";
}

static void
write_file(const struct file *f, uint32_t number)
{
	char path[PATH_BYTES];
	size_t len = 0, at = 0;
	ssize_t n = 0;
	int fd, err;

	add_text(path, &len, folder);
	if (len > 0)
		add_text(path, &len, "/");
	add_text(path, &len, "mddout.");
	add_number(path, &len, (uint64_t)syscall(SYS_getpid));
	add_text(path, &len, ".");
	add_number(path, &len, number);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		debugdump_complain("cannot make the dump ", path,
		    reason_of(errno));
		return;
	}
	while (at < f->len && ((n = write_quietly(fd, f->bytes + at,
	    f->len - at)) > 0 || errno == EINTR))
		at += n > 0 ? (size_t)n : 0;
	err = errno;
	call_close(fd);
	if (at < f->len)
		debugdump_complain("the dump is truncated: ", path,
		    reason_of(err));
}

static const char magic[16] = "\177MDDOUT\n\001";

/* Copies the data into a mapping of their own.  False: no memory. */
static bool
copy_data(struct file *f, size_t *size, const char *from, uint32_t number)
{
	struct file counted = { .bytes = NULL };
	uint64_t root = (uintptr_t)&mdd_root;
	uint32_t threads;
	bool made;

	mdd_hold();
	threads = mdd_root.threads;
	put_data(&counted, threads);
	*size = counted.len + 2 * MAPS_BYTES;
	f->bytes = call_map_private(*size);
	made = f->bytes != NULL;
	if (made) {
		put(f, magic, sizeof magic);
		put_info(f, from, number);
		put_chunk(f, "ROOT", 0, &root, sizeof root);
		put_data(f, threads);
	}
	mdd_release();
	return made;
}

void
debugdump_write(const char *from)
{
	struct file f = { .bytes = NULL };
	uint32_t number, chunks;
	size_t size, len;
	int saved = errno, no = 0;
	char *maps;

	if (keeper_watch_locked() ||
	    !atomic_compare_exchange_strong(&dumping, &no, 1))
		return;
	number = atomic_fetch_add(&dumps, 1);
	if (thread_self.silent || !copy_data(&f, &size, from, number)) {
		if (!thread_self.silent)
			debugdump_complain("no memory for the dump at ", from, "");
		atomic_store(&dumping, 0);
		errno = saved;
		return;
	}
	/* Half of the remaining room is for the mappings, half for heads. */
	f.room = size - MAPS_BYTES;
	maps = (char *)f.bytes + f.room;
	len = read_maps(maps, MAPS_BYTES / 2);
	put_maps(&f, maps, len);
	chunks = f.chunks;
	put_chunk(&f, "ENDF", 0, &chunks, sizeof chunks);
	sum_chunks(&f, sizeof magic);
	write_file(&f, number);
	call_unmap_private(f.bytes, size);
	atomic_store(&dumping, 0);
	errno = saved;
}

bool
debugdump_busy(void)
{
	return atomic_load_explicit(&dumping, memory_order_relaxed) != 0;
}

static struct {
	_Atomic int64_t bytes;		/* allocated, by the threads' reports */
	_Atomic int64_t limit;		/* 0: none */
	void (*_Atomic call)(void);	/* NULL: a dump */
	bool at_exit, at_signal;
} when;

#define STEP (64 << 10)

static void
reached(void)
{
	int64_t limit = atomic_load(&when.limit);
	void (*call)(void) = atomic_load(&when.call);

	/* The thread that resets the limit makes the dump. */
	if (limit == 0 ||
	    !atomic_compare_exchange_strong(&when.limit, &limit, 0))
		return;
	if (call == NULL)
		debugdump_write("size");
	else
		call();
}

void
debugdump_count(int64_t bytes)
{
	struct debugdata_thread *d = &thread_self.debugdata;
	int64_t n, limit;

	d->bytes += bytes;
	if (d->bytes < STEP && d->bytes > -STEP)
		return;
	n = atomic_fetch_add(&when.bytes, d->bytes) + d->bytes;
	d->bytes = 0;
	limit = atomic_load_explicit(&when.limit, memory_order_relaxed);
	if (limit == 0 || n < limit || d->inside_call)
		return;
	d->inside_call = true;
	reached();
	d->inside_call = false;
}

void
debugdump_when(size_t bytes, void (*call)(void))
{
	atomic_store(&when.call, call);
	atomic_store(&when.limit, bytes <= INT64_MAX ? (int64_t)bytes :
	    INT64_MAX);
}

void
debugdump_exit(void)
{
	if (when.at_exit)
		debugdump_write("exit");
}

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT },
	{ "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "TERM", SIGTERM },
	{ "ALRM", SIGALRM }, { "PIPE", SIGPIPE },
};

/* The kernel's struct. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#if defined(__x86_64__)
#define RESTORES 0x04000000ul
void debugdump_restore(void);
__asm__(".pushsection .text\n"
	".hidden debugdump_restore\n"
	".globl debugdump_restore\n"
	"debugdump_restore:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	".popsection");
#define RESTORE debugdump_restore
#else
#define RESTORES 0ul
#define RESTORE NULL
#endif

static void
on_signal(int sig)
{
	(void)sig;
	debugdump_write("signal");
}

static bool
take_signal(int number)
{
	const struct action mine = { .handler = on_signal,
		.flags = RESTORES | SA_RESTART, .restorer = RESTORE };
	struct action old;

	return syscall(SYS_rt_sigaction, number, NULL, &old, 8) == 0 &&
	    old.handler == SIG_DFL &&
	    syscall(SYS_rt_sigaction, number, &mine, NULL, 8) == 0;
}

void
debugdump_locks(void)
{
	static _Atomic bool told;

	if ((when.at_exit || when.at_signal || (atomic_load(&when.limit) != 0 &&
	    atomic_load(&when.call) == NULL)) && !thread_self.silent &&
	    !keeper_watch_locked() && !atomic_exchange(&told, true))
		debugdump_complain("the process may lock itself in by prctl(2): "
		    "it writes no dump from here on, 'pagek mdd-dump' does",
		    "", "");
}

/* "50M", "1000000"; 0: no size. */
static int64_t
read_size(const char *text)
{
	static const char units[] = "kMGT";
	int64_t n = 0;
	const char *unit;

	for (; *text >= '0' && *text <= '9'; text++)
		if (n > INT64_MAX / 20 || (n = n * 10 + (*text - '0')) < 0)
			return 0;
	for (unit = units; *text != '\0' && *unit != '\0'; unit++) {
		n = n > INT64_MAX / 2048 ? 0 : n * 1024;
		if (*unit == *text || (*unit == 'k' && *text == 'K'))
			return text[1] == '\0' ? n : 0;
	}
	return *text == '\0' ? n : 0;
}

static bool
set_when(const char *text)
{
	const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
	int64_t size = read_size(text);

	if (size > 0) {
		atomic_store(&when.limit, size);
		return true;
	}
	if (strcmp(text, "exit") == 0) {
		when.at_exit = true;
		return true;
	}
	for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (strcmp(name, signals[i].name) == 0) {
			when.at_signal = take_signal(signals[i].number);
			if (!when.at_signal)
				debugdump_complain("no dump at this signal, "
				    "which the program was started to ignore: ",
				    text, "");
			return true;
		}
	return false;
}

void
debugdump_begin(void)
{
	const char *text = libc_env("PAGEK_DUMP_AT");
	const char *dir = libc_env("PAGEK_DUMP_DIR");
	size_t len = 0;

	if (dir != NULL && strlen(dir) < PATH_BYTES - NAME_BYTES)
		add_text(folder, &len, dir);
	else if (dir != NULL && !debugdump_parent_has("PAGEK_DUMP_DIR"))
		debugdump_complain("PAGEK_DUMP_DIR is too long: dumps go to the "
		    "working directory", "", "");
	if (text != NULL && !set_when(text) &&
	    !debugdump_parent_has("PAGEK_DUMP_AT"))
		debugdump_complain("PAGEK_DUMP_AT: neither a size, nor exit, nor "
		    "a signal such as USR2: ", text, "");
}
