/*
 * base: what every other room may use.  Nothing here knows what a memory block
 * is.
 *
 *	base.h		time, checked arithmetic, arrays, text, numbers in
 *			columns, files
 *	hashmap.h	hash table: items by key, or an index of the caller's own
 *	intern.h	intern table: texts that are stored once and have numbers
 *	scan.h		the budgeted scan: work in portions, a tenth of the time
 *	zeros.h		address space that reads as zeros until it is used
 *	kept.h		memory that outlives its process
 *
 * Vocabulary
 *	mono	a point on the machine's monotonic clock, in nanoseconds,
 *		wrapped in a struct so that it cannot be mixed up with a
 *		duration, a wall-clock time or a count.
 *	fit	to print a number into a fixed number of columns: the exact
 *		value when it fits, else a coarser unit, else '*'; never wider.
 *	safe	text that can go to any terminal: valid UTF-8 without control,
 *		bidirectional or zero-width characters.
 *
 * Example
 *	char cell[8];
 *	struct mono t = mono_now();
 *	base_fit_size(cell, 4, nbytes);		"FFFF", " 64K", "1.2M"
 *	base_fit_age(cell, 3, mono_ms_since(t) / 1000);
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
#define BASE_HUGE ((size_t)2 << 20)	/* bytes of a huge page */

/* A point in monotonic time. */
struct mono {
	int64_t ns;
};

struct mono mono_now(void);
int64_t mono_ms(struct mono);		/* whole milliseconds of the clock */
int64_t mono_diff_ns(struct mono later, struct mono earlier);
int64_t mono_ms_since(struct mono);

/* Milliseconds since 1970 of the wall clock. */
int64_t base_wall_ms(void);
/* Nanoseconds: a file may have been written just before it was mapped. */
int64_t base_wall_ns(void);

/*
 * Runs beside until it returns, and nobody waits for that.  Its stack has
 * 64 KiB, and signals are left to the program's other threads.  0 or a negative
 * errno.
 */
int base_thread_start(void *(*run)(void *), void *arg);

/*
 * Checked arithmetic: true when the result does not fit, as the compiler's
 * own builtins say it; the result is then untouched.
 */
bool base_add_overflows(size_t, size_t, size_t *);
bool base_mul_overflows(size_t, size_t, size_t *);

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

/* Appends text as base_append() would with "%s", at a tenth of its cost. */
void base_append_text(char *buf, size_t cap, size_t *len, const char *text);

/* The same into an empty one: a copy, clipped where it must be. */
void base_copy_text(char *buf, size_t cap, const char *text);

/*
 * Appends printf-like into buf of `cap` bytes at *len; clips whole characters
 * of UTF-8, always ends with NUL.
 */
void base_append(char *buf, size_t cap, size_t *len, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * Numbers into exactly `cols` columns, right-aligned, NUL-terminated; `out`
 * holds cols + 1 bytes.  cols is 2 to 20.  Units are rounded to the nearest,
 * with one decimal where it fits; ages are whole units that have passed.
 *
 * count	decimal; then K, M, G, T, P of 1000.
 * size		classic SIZE: hexadecimal of four digits up to FFFF, then K, M,
 *		G, T, P of 1024, for no unit letter is a hex digit.
 * bytes	decimal of bytes with digit grouping where it fits, then
 *		without, then K, M... of 1024.
 * age		seconds as a plain number while they fit, then 17m, 5h, 3d, and
 *		14w, 2y when the days do not fit.
 */
void base_fit_count(char *out, int cols, uint64_t n);
void base_fit_size(char *out, int cols, uint64_t bytes);
void base_fit_bytes(char *out, int cols, uint64_t bytes);
void base_fit_age(char *out, int cols, uint64_t seconds);

/* "1,204,331" into out of `cap` bytes (27 are always enough). */
void base_group_digits(char *out, size_t cap, uint64_t n);

/* "128.4 MiB" into out of `cap` bytes (16 are always enough). */
void base_human_bytes(char *out, size_t cap, uint64_t bytes);

/*
 * A number in decimal digits and nothing else, without a sign too: strtoull()
 * takes "-1" for the largest there is.  At most max.  -EINVAL.
 */
int base_parse_count(const char *text, uint64_t max, uint64_t *out);

/*
 * A number of bytes as people write it: "4096", "512k", "1M", "2G", "1T", in
 * units of 1024, small and capital letters alike; at most max.  -EINVAL.
 */
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

/*
 * A word as safe text, cut if it is long, to quote it in a message. Valid until
 * the second next call in this thread.
 */
const char *base_shown(const char *word);

/*
 * A text that comes piece by piece, as safe text line by line: copies the
 * lines that are whole and, with `end`, the rest; one longer than
 * BASE_SAFE_LINE bytes is cut in two.  *used of the bytes are done with then,
 * less than BASE_SAFE_LINE + 1 are not.  `cap` is at least 4 * len + 64, which
 * is enough; returns the bytes written, and no NUL ends them.
 */
#define BASE_SAFE_LINE 1024
size_t base_safe_lines(char *out, size_t cap, const char *in, size_t len,
    bool end, bool ascii, size_t *used);

/*
 * Length of the valid UTF-8 character at s (1 to 4), or 0 if it is none; its
 * code point into *codepoint unless that is NULL.
 */
size_t base_utf8_char(const char *s, size_t len, uint32_t *codepoint);

/*
 * The word of `words` (n of them) nearest to `word` by edit distance, whatever
 * the case of its letters, the first of equals, or NULL if none is near enough
 * to be worth suggesting.  Borrowed from `words`.
 */
const char *base_nearest(const char *word, const char *const *words, size_t n);

/* --- files, most of them written by people -------------------------------- */

/*
 * The whole of a regular file, which symbolic links may lead to, of `max`
 * bytes at most.  Waits for nothing, whatever lies there.  *bytes is the
 * caller's, to be freed with free(); behind *len of them is a NUL.  Beside
 * what open() and read() say: -ENOENT nothing is there, -ENOLINK a link leads
 * nowhere, -EISDIR, -ENOTSUP no file (a FIFO, a device), -EFBIG.
 */
int base_file_read(const char *path, size_t max, char **bytes, size_t *len);

/* All of it, however many calls that takes; or a negative errno. */
int base_write_all(int fd, const void *bytes, size_t len);

/* What that error means, to stand behind "cannot read PATH: ". */
const char *base_file_words(int err);

/*
 * Where this user's file of that name is: in $XDG_CONFIG_HOME, else in
 * $HOME/.config.  -ENOENT when neither is the path of a folder, -ENAMETOOLONG.
 */
int base_config_path(char *path, size_t cap, const char *name);
/* The same in $XDG_STATE_HOME, else in $HOME/.local/state. */
int base_state_path(char *path, size_t cap, const char *name);

/* Makes the folders above that path, which is absolute, of mode 0700. */
int base_folders_above(const char *path);

/*
 * The file has these bytes afterwards, or is as it was: they are written beside
 * it, and renamed.  Symbolic links are followed and stay; only a regular file
 * is replaced, and keeps its mode; a new one gets `mode`.  Errors are those of
 * base_file_read(), and what writing says.
 */
int base_file_replace(const char *path, const void *bytes, size_t len,
    mode_t mode);
/* What that would say before it writes, for who would learn it too late. */
int base_file_replaceable(const char *path);

/*
 * A text line by line.  A line that is too long, or holds what no text does,
 * comes with the reason in *why, which is NULL for a good one; a good one is
 * valid UTF-8 of at most BASE_LINE_MAX bytes, without its end and without
 * control characters but tabs.
 */
#define BASE_LINE_MAX 1000

struct base_lines {
	const char *at, *end;
	unsigned no;		/* of the line that came last; the first is 1 */
};

void base_lines_init(struct base_lines *, const char *bytes, size_t len);
/* Copies the next line, its NUL included; false at the end. */
bool base_lines_next(struct base_lines *, char line[BASE_LINE_MAX + 1],
    const char **why);

#endif
