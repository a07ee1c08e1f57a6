#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wchar.h>

#include "base.h"

size_t
base_utf8_char(const char *s, size_t len, uint32_t *codepoint)
{
	/* The smallest code point that needs this many bytes. */
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c;
	size_t n;

	if (len == 0)
		return 0;
	if (p[0] < 0x80) {
		n = 1;
		c = p[0];
	} else if (p[0] >= 0xc2 && p[0] < 0xe0) {
		n = 2;
		c = p[0] & 0x1f;
	} else if (p[0] >= 0xe0 && p[0] < 0xf0) {
		n = 3;
		c = p[0] & 0x0f;
	} else if (p[0] >= 0xf0 && p[0] < 0xf5) {
		n = 4;
		c = p[0] & 0x07;
	} else {
		return 0;
	}
	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	/* Overlong forms, surrogates, and beyond Unicode's end. */
	if (c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return 0;
	if (codepoint != NULL)
		*codepoint = c;
	return n;
}

/*
 * Characters that can reorder, hide or split a line unseen: bidirectional
 * controls, zero-width and invisible formatting, blank fillers, variation
 * selectors and tags, line and paragraph separators, noncharacters.  Their
 * width does not tell them from accents and letters.
 */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00ad, 0x00ad }, { 0x034f, 0x034f }, { 0x061c, 0x061c },
	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0x3164, 0x3164 }, { 0xfdd0, 0xfdef }, { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb },
	{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool
is_hidden(uint32_t c)
{
	size_t i;

	if ((c & 0xfffe) == 0xfffe)
		return true;
	BASE_FIND_FIRST(i, BASE_NELEM(hidden), hidden[i].last >= c);
	return i < BASE_NELEM(hidden) && hidden[i].first <= c;
}

static locale_t utf8_locale;
static pthread_once_t utf8_once = PTHREAD_ONCE_INIT;

static void
utf8_locale_init(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* 0 for a combining mark, -1 if not known (all without a UTF-8 locale). */
static int
columns_of(uint32_t c)
{
	locale_t old;
	int columns;

	pthread_once(&utf8_once, utf8_locale_init);
	if (utf8_locale == (locale_t)0)
		return -1;
	old = uselocale(utf8_locale);
	columns = wcwidth((wchar_t)c);
	uselocale(old);
	return columns;
}

enum safe_class {
	SAFE_PLAIN,	/* as it is */
	SAFE_MARK,	/* as it is, once after a plain one */
	SAFE_ESCAPE,	/* its bytes as \xNN */
	SAFE_HIDE,	/* as '?' */
};

static enum safe_class
classify(const char *s, size_t len, bool ascii, size_t *n)
{
	uint32_t c;
	int columns;

	if ((*n = base_utf8_char(s, len, &c)) == 0) {
		*n = 1;
		return SAFE_ESCAPE;
	}
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return SAFE_ESCAPE;
	if (c < 0x7f)
		return SAFE_PLAIN;
	if (ascii || is_hidden(c) || (columns = columns_of(c)) < 0)
		return SAFE_HIDE;
	return columns > 0 ? SAFE_PLAIN : SAFE_MARK;
}

/* How many bytes from here on are printable ASCII, counted by eights. */
static size_t
plain_run(const char *s, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t eight;
	size_t n;

	for (n = 0; len - n >= sizeof eight; n += sizeof eight) {
		memcpy(&eight, s + n, sizeof eight);
		/*
		 * The sum sets the high bit for DEL and above, the difference
		 * for control characters and 0xff.  Only such bytes carry or
		 * borrow.
		 */
		if ((((eight + ones) | (eight - ones * ' ')) & high) != 0)
			break;
	}
	while (n < len && s[n] >= ' ' && s[n] < 0x7f)
		n++;
	return n;
}

/* Writes the piece; false, and nothing is written, if it does not fit. */
static bool
put_piece(char *out, size_t cap, size_t *at, const char *piece, size_t n)
{
	if (n >= cap - *at)
		return false;
	memcpy(out + *at, piece, n);
	*at += n;
	return true;
}

static bool
put_escaped(char *out, size_t cap, size_t *at, const char *s, size_t n)
{
	static const char hex[] = "0123456789ABCDEF";
	char text[16];

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		text[i * 4] = '\\';
		text[i * 4 + 1] = 'x';
		text[i * 4 + 2] = hex[c >> 4];
		text[i * 4 + 3] = hex[c & 0xf];
	}
	return put_piece(out, cap, at, text, n * 4);
}

size_t
base_safe_text(char *out, size_t cap, const char *in, size_t len, bool ascii)
{
	size_t at = 0, n;
	bool may_mark = false, room = true;

	if (cap == 0)
		return 0;
	for (size_t i = 0; i < len && room; i += n) {
		enum safe_class class;

		n = plain_run(in + i, len - i);
		if (n > 0) {
			if (n > cap - 1 - at)
				n = cap - 1 - at;
			room = put_piece(out, cap, &at, in + i, n) && n > 0;
			may_mark = true;
			continue;
		}
		class = classify(in + i, len - i, ascii, &n);
		if (class == SAFE_MARK && !may_mark)
			class = SAFE_HIDE;
		if (class == SAFE_ESCAPE)
			room = put_escaped(out, cap, &at, in + i, n);
		else if (class == SAFE_HIDE)
			room = put_piece(out, cap, &at, "?", 1);
		else
			room = put_piece(out, cap, &at, in + i, n);
		may_mark = class == SAFE_PLAIN;
	}
	out[at] = '\0';
	return at;
}

static size_t
cut_line(const char *line, size_t len)
{
	size_t n = len < BASE_SAFE_LINE ? len : BASE_SAFE_LINE;

	if (n < len)
		for (int i = 0; i < 3 && (line[n] & 0xc0) == 0x80; i++)
			n--;
	return n;
}

size_t
base_safe_lines(char *out, size_t cap, const char *in, size_t len, bool end,
    bool ascii, size_t *used)
{
	size_t at = 0, n = 0;

	while (at < len) {
		const char *line = in + at;
		const char *stop = memchr(line, '\n', len - at);
		size_t all = stop != NULL ? (size_t)(stop - line) : len - at;
		size_t take = cut_line(line, all);

		if (stop == NULL && !end && all <= BASE_SAFE_LINE)
			break;
		n += base_safe_text(out + n, cap - n, line, take, ascii);
		if (n + 1 >= cap)
			break;
		out[n++] = '\n';
		at += take;
		at += take == all && stop != NULL;
	}
	*used = at;
	return n;
}

#define WORD_MAX 64	/* longer words have no suggestion */

static int
least_of(int a, int b, int c)
{
	int least = a < b ? a : b;

	return least < c ? least : c;
}

static int
lower(const char *word, size_t i)
{
	return tolower((unsigned char)word[i]);
}

/* Insertions, deletions, changes and swaps of neighbours, ignoring case. */
static int
distance(const char *a, size_t na, const char *b, size_t nb)
{
	int rows[3][WORD_MAX + 1];
	int *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= nb; j++)
		last[j] = (int)j;
	for (size_t i = 1; i <= na; i++) {
		int *spare = before;

		now[0] = (int)i;
		for (size_t j = 1; j <= nb; j++) {
			bool same = lower(a, i - 1) == lower(b, j - 1);

			now[j] = least_of(last[j] + 1, now[j - 1] + 1,
			    last[j - 1] + !same);
			if (i > 1 && j > 1 &&
			    lower(a, i - 1) == lower(b, j - 2) &&
			    lower(a, i - 2) == lower(b, j - 1) &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

const char *
base_nearest(const char *word, const char *const *words, size_t n)
{
	size_t len = strlen(word);
	const char *nearest = NULL;
	int least = 0;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(words[i]);
		size_t longer = len > other ? len : other;
		int d;

		if (other > WORD_MAX)
			continue;
		d = distance(word, len, words[i], other);
		/* At most a third of the word may be mistyped. */
		if ((size_t)d * 3 > longer + 1)
			continue;
		if (nearest == NULL || d < least) {
			nearest = words[i];
			least = d;
		}
	}
	return nearest;
}

/* One digit or more; *at moves behind them. */
static int
read_digits(const char **at, uint64_t *out)
{
	const char *text = *at;
	uint64_t n = 0, digit;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++) {
		digit = (uint64_t)(*text - '0');
		if (n > (UINT64_MAX - digit) / 10)
			return -EINVAL;
		n = n * 10 + digit;
	}
	*at = text;
	*out = n;
	return 0;
}

int
base_parse_count(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t n;

	if (read_digits(&text, &n) < 0 || *text != '\0' || n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

int
base_parse_size(const char *text, uint64_t max, uint64_t *out)
{
	static const char units[] = "kmgt";
	const char *unit;
	uint64_t n;
	unsigned shift = 0;

	if (read_digits(&text, &n) < 0)
		return -EINVAL;
	if (*text != '\0') {
		unit = strchr(units, *text | 0x20);
		if (unit == NULL || *unit == '\0' || text[1] != '\0')
			return -EINVAL;
		shift = 10 * (unsigned)(unit - units + 1);
	}
	if (n > max >> shift)
		return -EINVAL;
	*out = n << shift;
	return 0;
}

const char *
base_shown(const char *word)
{
	static _Thread_local char safe[2][160];
	static _Thread_local unsigned turn;
	char *out = safe[turn++ % 2];

	base_safe_text(out, sizeof safe[0], word, strlen(word), false);
	return out;
}

#define ORDER_MARK "\xef\xbb\xbf"	/* U+FEFF, which some editors write first */

void
base_lines_init(struct base_lines *lines, const char *bytes, size_t len)
{
	size_t mark = strlen(ORDER_MARK);

	*lines = (struct base_lines){ .at = bytes, .end = bytes + len };
	if (len >= mark && memcmp(bytes, ORDER_MARK, mark) == 0)
		lines->at += mark;
}

/* The reason why this is no line of text, or NULL. */
static const char *
find_fault(const char *text, size_t len)
{
	uint32_t c;
	size_t n;

	if (len > BASE_LINE_MAX)
		return "the line is longer than 1,000 bytes";
	for (; len > 0; text += n, len -= n) {
		n = base_utf8_char(text, len, &c);
		if (n == 0)
			return "the line is not valid UTF-8";
		if ((c < 0x20 && c != '\t') || (c >= 0x7f && c < 0xa0))
			return "there is a control character in the line";
	}
	return NULL;
}

bool
base_lines_next(struct base_lines *lines, char line[BASE_LINE_MAX + 1],
    const char **why)
{
	const char *begin = lines->at, *stop;
	size_t len;

	if (begin == lines->end)
		return false;
	stop = memchr(begin, '\n', (size_t)(lines->end - begin));
	if (stop == NULL)
		stop = lines->end;
	lines->at = stop < lines->end ? stop + 1 : stop;
	lines->no++;
	len = (size_t)(stop - begin);
	if (len > 0 && begin[len - 1] == '\r')
		len--;
	*why = find_fault(begin, len);
	if (*why != NULL)
		len = 0;
	memcpy(line, begin, len);
	line[len] = '\0';
	return true;
}
