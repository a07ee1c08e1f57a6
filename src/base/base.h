/*
 * base: what every other room may use.  Nothing here knows what a memory block
 * is.
 *
 *	base.c		clocks, threads, growing arrays, clipping buffers
 *	format.c	numbers in a fixed number of columns
 *	text.c		safe text, UTF-8, suggestions, numbers and lines read
 *	file.c		small files, read and replaced
 *	spawn.c		programs of our own, started and reaped
 *	waits.c		clocks and waits of libc, under faketime(1) too
 *	zeros.c		mappings of zeros
 *	hashmap.h	hash tables: items by key, an index of the caller's own,
 *			interned texts
 *	option.h	options of a program as data
 *	perf_ring.h	records of perf_event_open(2)
 *	pmem.h		memory that outlives its process
 *	scan.h		long work in portions that take a tenth of the time
 *
 * Vocabulary
 *	mono	a point on the machine's monotonic clock, in nanoseconds,
 *		wrapped in a struct so that it cannot be mixed up with a
 *		duration, a wall-clock time or a count.
 *	safe	text that can go to any terminal: valid UTF-8 without control,
 *		bidirectional or zero-width characters.
 *
 * Example
 *	char cell[8];
 *	struct mono t = mono_now();
 *	base_format_size(cell, 4, nbytes);		"FFFF", " 64K", "1.2M"
 *	base_format_age(cell, 3, mono_ms_since(t) / 1000);
 *
 * Functions that can fail return 0 or a negative errno and leave their
 * results untouched on failure.
 */
#ifndef BASE_H
#define BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BASE_NELEM(a) (sizeof(a) / sizeof((a)[0]))
/*
 * Binary search: sets i to the first index from 0 to n - 1 for which the condition on i
 * holds, or to n.  If the condition holds for an index, it must hold for all later ones.
 *	BASE_FIND_FIRST(i, list->n, list->row[i].addr >= addr);
 */
#define BASE_FIND_FIRST(i, n, holds) \
	do { \
		uint64_t base_low_ = 0, base_high_ = (n); \
		\
		while (base_low_ < base_high_) { \
			(i) = base_low_ + (base_high_ - base_low_) / 2; \
			if (holds) \
				base_high_ = (i); \
			else \
				base_low_ = (i) + 1; \
		} \
		(i) = base_low_; \
	} while (0)
#define BASE_HUGE ((size_t)2 << 20)	/* bytes of a huge page */

struct mono {
	int64_t ns;
};

struct mono mono_now(void);
int64_t mono_ms(struct mono);		/* whole milliseconds of the clock */
int64_t mono_diff_ns(struct mono later, struct mono earlier);
int64_t mono_ms_since(struct mono);

/* Since 1970, of the wall clock. */
int64_t base_wall_ms(void);

/* False if /proc is of another namespace: our numbers are other processes there. */
bool base_proc_is_ours(void);
int64_t base_wall_ns(void);

/* Starts a detached thread with 64 KiB of stack and all signals blocked. */
int base_thread_start(void *(*run)(void *), void *arg);

/* The low `bytes` bytes of v, the lowest first, written and read. */
static inline void
base_put_le(uint8_t *out, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)(v >> 8 * i);
}

static inline uint64_t
base_get_le(const uint8_t *in, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)in[i] << 8 * i;
	return v;
}

/*
 * Make room for at least `want` elements of `size` bytes in *array, whose
 * capacity is *cap: grows by half, assigns only on success.  0, -ENOMEM or
 * -EOVERFLOW.  The array is the caller's, to be freed with free().
 */
int base_grow(void **array, size_t *cap, size_t want, size_t size);

/*
 * Append text to buf of `cap` bytes at *len: clip whole characters of UTF-8,
 * always end with NUL.  The first one costs a tenth of the second with "%s".
 */
void base_append_text(char *buf, size_t cap, size_t *len, const char *text);
void base_append(char *buf, size_t cap, size_t *len, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Copies the text, clipped in the same way. */
void base_copy_text(char *buf, size_t cap, const char *text);

/* --- programs of our own (spawn.c) ------------------------------------------ */

/*
 * Starts argv[0] with descriptors `in` and `out` as its 0 and 1; -1: /dev/null, which
 * is its 2.  It has no other descriptor, default signals, and a process group of its
 * own.  -errno.
 */
int base_spawn(pid_t *, char *const argv[], char *const env[], int in, int out);
/*
 * Reaps a child that was killed: now, or in a later call if it takes its time; 0: only
 * earlier ones.  Any thread may call it.
 */
void base_reap(pid_t);

/* --- mappings of zeros (zeros.c) ------------------------------------------ */

/*
 * Address space that reads as zeros, as large as a table may ever get; pages
 * are taken as they are used.  For any thread.
 *
 * Mappings that are given back are reused: where targets of a few milliseconds
 * come and go, mapping and unmapping would take a third of a node's time for
 * them.  A page that is read before it is written costs an interrupt of all
 * processors later, so write first what is sure to be written.
 *
 *	struct table *t = zeros_map(sizeof *t, ZEROS_SMALL);
 *	zeros_unmap(t, sizeof *t, ZEROS_SMALL);
 */
#define ZEROS_SMALL ((size_t)-1)	/* no huge pages */

/* From the byte `huge` on it may have huge pages.  NULL for want of memory. */
void *zeros_map(size_t bytes, size_t huge);
/* With the numbers given to zeros_map(); p may be NULL. */
void zeros_unmap(void *p, size_t bytes, size_t huge);
/* Rounds up to whole pages. */
size_t zeros_pages(size_t bytes);
/* Turns reuse on, unless address space or data is limited. */
void zeros_keep(void);
bool zeros_are_kept(void);
/*
 * True if this process, and no other one, has the page in memory.  Call zeros_keep()
 * before.  False also if the kernel does not tell.
 */
bool zeros_page_is_alone(const void *);

/* --- numbers in columns (format.c) ---------------------------------------- */

/*
 * Numbers into exactly `cols` columns, right-aligned, NUL-terminated: the exact
 * value if it fits, else a coarser unit, else '*'.  `out` holds cols + 1 bytes;
 * cols is 2 to 20.  Units are rounded to the nearest, with one decimal where it
 * fits; ages are whole units that have passed.
 *
 * count	decimal; then K, M, G, T, P of 1000.
 * size		classic SIZE: hexadecimal of four digits up to FFFF, then K, M,
 *		G, T, P of 1024, for no unit letter is a hex digit.
 * bytes	decimal of bytes with digit grouping where it fits, then
 *		without, then K, M... of 1024.
 * age		seconds as a plain number while they fit, then 17m, 5h, 3d, and
 *		14w, 2y when the days do not fit.
 */
void base_format_count(char *out, int cols, uint64_t n);
/* In groups of three digits if that fits. */
void base_format_grouped(char *out, int cols, uint64_t n);
void base_format_size(char *out, int cols, uint64_t bytes);
void base_format_bytes(char *out, int cols, uint64_t bytes);
void base_format_age(char *out, int cols, uint64_t seconds);

/* "1,204,331" into out of `cap` bytes (27 are always enough). */
void base_group_digits(char *out, size_t cap, uint64_t n);
/* Returns the text as a value, for use as an argument: base_digits(n).text. */
struct base_digits {
	char text[27];
};
struct base_digits base_digits(uint64_t n);

/* "128.4 MiB" into out of `cap` bytes (16 are always enough). */
void base_human_bytes(char *out, size_t cap, uint64_t bytes);

/* --- text (text.c) -------------------------------------------------------- */

/* A number of decimal digits alone, without a sign, at most max.  -EINVAL. */
int base_parse_count(const char *text, uint64_t max, uint64_t *out);

/* As above, of bytes: "4096", "512k", "1M", "2G", "1T" (1024s, any case). */
int base_parse_size(const char *text, uint64_t max, uint64_t *out);

/*
 * Copies `len` bytes of outside text as safe text: control and invalid bytes
 * as \xNN; bidirectional, zero-width and unassigned characters as '?', as are
 * combining marks but for one after each character; with `ascii` every other
 * non-ASCII character as '?' too.  Does not depend on the locale.  Clips whole
 * characters, always ends with NUL; returns the bytes written without the NUL.
 */
size_t base_safe_text(char *out, size_t cap, const char *in, size_t len,
    bool ascii);

/* A word as safe text, clipped; valid until the thread's second next call. */
const char *base_shown(const char *word);

/*
 * Text that comes in pieces, as safe text line by line: copies the lines that
 * are complete and, with `end`, the remainder; a line longer than
 * BASE_SAFE_LINE bytes is cut in two.  *used gets the bytes consumed; at most
 * BASE_SAFE_LINE are left.  `cap` is at least 4 * len + 64, which is enough;
 * returns the bytes written, not NUL-terminated.
 */
#define BASE_SAFE_LINE 1024
size_t base_safe_lines(char *out, size_t cap, const char *in, size_t len,
    bool end, bool ascii, size_t *used);

/* Bytes of the UTF-8 character at s, or 0 if invalid; codepoint may be NULL. */
size_t base_utf8_char(const char *s, size_t len, uint32_t *codepoint);

/*
 * The nearest of n words by edit distance, ignoring case, the first of equals;
 * borrowed from `words`.  NULL if none is near enough to suggest.
 */
const char *base_nearest(const char *word, const char *const *words, size_t n);

/* --- files (file.c) ------------------------------------------------------- */

/* True if the folder has no file; false also if it cannot be read. */
bool base_folder_is_empty(int fd);

/*
 * Reads a regular file of at most `max` bytes; follows symbolic links and never
 * blocks.  *bytes is the caller's, to be freed with free(), with a NUL behind
 * *len of them.  Errors of open() and read(), and: -ENOENT no such file,
 * -ENOLINK a dangling link, -EISDIR, -ENOTSUP not a regular file, -EFBIG.
 */
int base_file_read(const char *path, size_t max, char **bytes, size_t *len);

/* Writes all of it, in as many calls as that takes. */
int base_write_all(int fd, const void *bytes, size_t len);
/*
 * 0, or -errno if no three descriptors are left.  The first uv_loop_init() of a
 * process aborts it then: it takes one, and its pipe for signals two.
 */
int base_have_descriptors(void);

/* For the end of a message about that error: "; what to do", or "". */
const char *base_remedy(int err);

/* The error as text, to follow "cannot read PATH: ". */
const char *base_file_words(int err);

/*
 * The path of this user's file of that name in $XDG_CONFIG_HOME, else in
 * $HOME/.config.  -ENOENT when neither is an absolute path, -ENAMETOOLONG.
 */
int base_config_path(char *path, size_t cap, const char *name);
/* The same in $XDG_STATE_HOME, else in $HOME/.local/state. */
int base_state_path(char *path, size_t cap, const char *name);

/* Makes the folders above that absolute path, of mode 0700. */
int base_folders_above(const char *path);

/*
 * Replaces the contents of a file, all or nothing: writes a new file beside it
 * and renames that.  Symbolic links are followed and stay; only a regular file
 * is replaced, and keeps its mode; a new one gets `mode`.  Errors are those of
 * base_file_read(), and what writing says.
 */
int base_file_replace(const char *path, const void *bytes, size_t len,
    mode_t mode);
/* 0 if that could begin, else the error it would return before it writes. */
int base_file_replaceable(const char *path);

/*
 * A text line by line.  Each good line is valid UTF-8 of at most BASE_LINE_MAX
 * bytes, without its end and without control characters but tabs; *why is then
 * NULL, else the reason as text.
 */
#define BASE_LINE_MAX 1000

struct base_lines {
	const char *at, *end;
	unsigned no;		/* of the last line returned; the first is 1 */
};

void base_lines_init(struct base_lines *, const char *bytes, size_t len);
/* Copies the next line with a NUL; false at the end. */
bool base_lines_next(struct base_lines *, char line[BASE_LINE_MAX + 1],
    const char **why);

#endif
