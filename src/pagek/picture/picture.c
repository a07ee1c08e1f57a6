/*
 * Texts are stored in chunks that never move, so a line can be borrowed while the
 * next is written; the chunks are reused by the next picture.  A column takes at
 * most four bytes, because characters of width 0 are replaced.
 */
#include <ctype.h>
#include <stdio.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../../base/base.h"
#include "picture.h"

#define CHUNK 65536
#define FOLD_COLS 8	/* the least room for folded text */
#define EDGE_COLS 20	/* narrower lines have no mark of an edge */

struct chunk {
	struct chunk *next;
	size_t cap;
	size_t used;
	_Alignas(8) char bytes[];
};

struct page_store {
	struct chunk *first, *last;
	int err;
	bool ascii;
	bool open;			/* a line is being written */
	int col;
	int fold;			/* column of the next line; 0: do not fold */
	size_t len;
	char text[PAGE_COLS_MAX * 4 + 1];
	struct page_span span[PICTURE_SPANS];
	int nspan;
};

/* Eight-byte aligned; NULL: no memory. */
static void *
store_room(struct page_store *s, size_t bytes)
{
	struct chunk *c = s->last;
	size_t cap;
	void *room;

	bytes = (bytes + 7) & ~(size_t)7;
	while (c != NULL && c->cap - c->used < bytes) {
		c = c->next;
		if (c != NULL)
			c->used = 0;
	}
	if (c == NULL) {
		cap = bytes > CHUNK ? bytes : CHUNK;
		c = malloc(sizeof *c + cap);
		if (c == NULL)
			return NULL;
		*c = (struct chunk){ .cap = cap };
		if (s->last == NULL) {
			s->first = c;
		} else {
			c->next = s->last->next;
			s->last->next = c;
		}
	}
	s->last = c;
	room = c->bytes + c->used;
	c->used += bytes;
	return room;
}

void
picture_begin(struct page_picture *pic, int cols, bool ascii)
{
	struct page_store *s = pic->store;

	pic->rows = 0;
	pic->cols = cols < 1 ? 1 : cols > PAGE_COLS_MAX ? PAGE_COLS_MAX : cols;
	pic->cursor_row = pic->cursor_col = -1;
	if (s == NULL) {
		s = pic->store = calloc(1, sizeof *s);
		if (s == NULL)
			return;
	}
	s->err = 0;
	s->ascii = ascii;
	s->open = false;
	s->last = s->first;
	if (s->last != NULL)
		s->last->used = 0;
}

void
page_picture_fini(struct page_picture *pic)
{
	struct chunk *c, *next;

	if (pic->store != NULL) {
		for (c = pic->store->first; c != NULL; c = next) {
			next = c->next;
			free(c);
		}
		free(pic->store);
	}
	free(pic->line);
	*pic = (struct page_picture){ 0 };
}

static int
store_line(struct page_picture *pic)
{
	struct page_store *s = pic->store;
	size_t nspan = (size_t)s->nspan;
	struct page_span *span = NULL;
	void *lines = pic->line;
	char *text;
	int r;

	r = base_grow(&lines, &pic->cap, (size_t)pic->rows + 1,
	    sizeof *pic->line);
	if (r < 0)
		return r;
	pic->line = lines;
	text = store_room(s, s->len + 1);
	if (text == NULL)
		return -ENOMEM;
	memcpy(text, s->text, s->len);
	text[s->len] = '\0';
	if (nspan > 0) {
		span = store_room(s, nspan * sizeof *span);
		if (span == NULL)
			return -ENOMEM;
		memcpy(span, s->span, nspan * sizeof *span);
	}
	pic->line[pic->rows++] = (struct page_line){
		.text = text,
		.span = span,
		.nspan = s->nspan,
	};
	return 0;
}

static void
close_line(struct page_picture *pic)
{
	struct page_store *s = pic->store;
	int r;

	if (s == NULL || !s->open)
		return;
	s->open = false;
	r = s->err == 0 ? store_line(pic) : 0;
	if (r < 0)
		s->err = r;
}

bool
picture_failed(const struct page_picture *pic)
{
	return pic->store == NULL || pic->store->err < 0;
}

int
picture_end(struct page_picture *pic)
{
	int r;

	close_line(pic);
	r = pic->store == NULL ? -ENOMEM : pic->store->err;
	if (r < 0)
		pic->rows = 0;
	return r;
}

void
picture_line(struct page_picture *pic)
{
	struct page_store *s = pic->store;

	if (s == NULL)
		return;
	close_line(pic);
	s->open = true;
	s->col = s->fold = 0;
	s->len = 0;
	s->nspan = 0;
}

void
picture_unline(struct page_picture *pic)
{
	close_line(pic);
	if (pic->rows > 0)
		pic->rows--;
}

int
picture_col(const struct page_picture *pic)
{
	return pic->store != NULL && pic->store->open ? pic->store->col : 0;
}

/* Columns of a character; 0: it is not printable. */
static int
char_cols(uint32_t cp)
{
	int w = cp < 0x80 ? 1 : wcwidth((wchar_t)cp);

	return w > 0 ? w : 0;
}

static size_t
ascii_run(const char *text, size_t len)
{
	uint64_t eight;
	size_t n;

	for (n = 0; len - n >= sizeof eight; n += sizeof eight) {
		memcpy(&eight, text + n, sizeof eight);
		if ((eight & UINT64_C(0x8080808080808080)) != 0)
			break;
	}
	while (n < len && (unsigned char)text[n] < 0x80)
		n++;
	return n;
}

/*
 * Adds at most `width` columns of safe text; returns the columns added.
 * Characters of width 0 become '?'.
 */
static int
add_text(struct page_picture *pic, const char *text, size_t len, int width)
{
	struct page_store *s = pic->store;
	size_t i, n;
	uint32_t cp;
	int w, from = s->col, end;

	if (width > pic->cols - s->col)
		width = pic->cols - s->col;
	end = from + width;
	for (i = 0; i < len && s->col < end; i += n) {
		n = ascii_run(text + i, len - i);
		if (n > 0) {
			if (n > (size_t)(end - s->col))
				n = (size_t)(end - s->col);
			memcpy(s->text + s->len, text + i, n);
			s->len += n;
			s->col += (int)n;
			continue;
		}
		n = base_utf8_char(text + i, len - i, &cp);
		w = n > 0 ? char_cols(cp) : 0;
		if (s->col + (w > 0 ? w : 1) > end)
			break;
		if (w == 0) {
			s->text[s->len++] = '?';
			s->col++;
			n = n > 0 ? n : 1;
			continue;
		}
		memcpy(s->text + s->len, text + i, n);
		s->len += n;
		s->col += w;
	}
	return s->col - from;
}

#define ROOMY_COLS 60		/* in narrower lines every place to break counts */

/* The blank is between a number and its unit or noun, as in "8.4 MiB". */
static bool
is_in_number(const char *text, size_t len, size_t blank)
{
	return blank > 0 && blank + 1 < len &&
	    isdigit((unsigned char)text[blank - 1]) &&
	    isalpha((unsigned char)text[blank + 1]);
}

/*
 * Bytes of safe text that fit a line of `cols`, broken at a blank; near the end
 * of the line at two, which are between parts, as in "0 freed   view: all".
 */
static size_t
line_bytes(const char *text, size_t len, int cols)
{
	size_t i, n, blank = 0, any = 0, part = 0;
	uint32_t cp;
	int col = 0, w;

	for (i = 0; i < len; i += n) {
		w = 1;
		n = 1;
		if ((unsigned char)text[i] >= 0x80) {
			n = base_utf8_char(text + i, len - i, &cp);
			w = n > 0 ? char_cols(cp) : 1;
			n = n > 0 ? n : 1;
		}
		if (text[i] == ' ')
			any = i;
		if (text[i] == ' ' && (cols < ROOMY_COLS ||
		    !is_in_number(text, len, i)))
			blank = i;
		if (text[i] == ' ' && i + 1 < len && text[i + 1] == ' ' &&
		    4 * col >= 3 * cols)
			part = i;
		col += w > 0 ? w : 1;
		if (col > cols)
			return part > 0 ? part : blank > 0 ? blank : any > 0 ? any :
			    i > 0 ? i : n;
	}
	return len;
}

static void
go_on_below(struct page_picture *pic)
{
	int at = pic->store->fold;

	picture_line(pic);
	picture_to(pic, at);
	pic->store->fold = at;
}

/* As add_text() in several lines.  A word is broken if it fills a line. */
static void
add_folded(struct page_picture *pic, const char *text, size_t len)
{
	struct page_store *s = pic->store;
	size_t n;
	int room;

	for (;;) {
		room = pic->cols - s->col;
		n = room > 0 ? line_bytes(text, len, room) : 0;
		if (n < len && text[n] != ' ' && s->col > s->fold)
			n = 0;
		add_text(pic, text, n, room);
		n += strspn(text + n, " ");
		if (n >= len)
			return;
		text += n;
		len -= n;
		go_on_below(pic);
	}
}

void
picture_fold(struct page_picture *pic, int at)
{
	if (pic->store != NULL && pic->store->open)
		pic->store->fold = at + FOLD_COLS <= pic->cols ? at : 0;
}

static void
put_words(struct page_picture *pic, const char *text, size_t len)
{
	if (pic->store->fold > 0)
		add_folded(pic, text, len);
	else
		add_text(pic, text, len, pic->cols);
}

void
picture_put(struct page_picture *pic, const char *text)
{
	if (pic->store != NULL && pic->store->open && text[0] != '\0')
		put_words(pic, text, strlen(text));
}

void
picture_printf(struct page_picture *pic, const char *fmt, ...)
{
	char text[PAGE_COLS_MAX + 1];
	va_list ap;
	int n;

	if (pic->store == NULL || !pic->store->open)
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n > 0)
		put_words(pic, text, (size_t)n < sizeof text ? (size_t)n :
		    sizeof text - 1);
}

void
picture_to(struct page_picture *pic, int col)
{
	struct page_store *s = pic->store;

	if (s == NULL || !s->open)
		return;
	if (col > pic->cols)
		col = pic->cols;
	while (s->col < col) {
		s->text[s->len++] = ' ';
		s->col++;
	}
}

void
picture_blanks(struct page_picture *pic, int n)
{
	picture_to(pic, picture_col(pic) + n);
}

static size_t
make_safe(char *out, size_t cap, const char *text, bool ascii, int *cols)
{
	size_t len, i, n;
	uint32_t cp;
	int w;

	len = base_safe_text(out, cap, text, strlen(text), ascii);
	*cols = 0;
	for (i = 0; i < len; i += n > 0 ? n : 1) {
		n = ascii_run(out + i, len - i);
		if (n > 0) {
			*cols += (int)n;
			continue;
		}
		n = base_utf8_char(out + i, len - i, &cp);
		w = n > 0 ? char_cols(cp) : 0;
		*cols += w > 0 ? w : 1;
	}
	return len;
}

int
picture_width(const char *text, bool ascii)
{
	char safe[PAGE_COLS_MAX * 4 + 1];
	int cols;

	make_safe(safe, sizeof safe, text, ascii, &cols);
	return cols;
}

int
picture_cols(const struct page_picture *pic, const char *text)
{
	return picture_width(text, pic->store != NULL && pic->store->ascii);
}

bool
picture_is_ascii(const struct page_picture *pic)
{
	return pic->store == NULL || pic->store->ascii;
}

static void
put_field(struct page_picture *pic, const char *text, int width,
    enum picture_align align, bool trace)
{
	char safe[PAGE_COLS_MAX * 4 + 1];
	struct page_store *s = pic->store;
	size_t len;
	int cols, start;

	if (s == NULL || !s->open)
		return;
	len = make_safe(safe, sizeof safe, text, s->ascii, &cols);
	/* Keep a path or a name in one piece. */
	if (s->fold > 0 && align == PICTURE_FREE && cols <= width &&
	    cols > pic->cols - s->col && cols <= pic->cols - s->fold)
		go_on_below(pic);
	if (width > pic->cols - s->col)
		width = pic->cols - s->col;
	if (width <= 0)
		return;
	start = s->col;
	if (align == PICTURE_RIGHT && cols < width)
		picture_to(pic, start + width - cols);
	if (cols > width && trace) {
		add_text(pic, safe, len, width - 1);
		add_text(pic, "~", 1, 1);
	} else {
		add_text(pic, safe, len, width);
	}
	if (align == PICTURE_LEFT)
		picture_to(pic, start + width);
}

void
picture_text(struct page_picture *pic, const char *text, int width,
    enum picture_align align)
{
	put_field(pic, text, width, align, true);
}

void
picture_clip(struct page_picture *pic, const char *text, int width,
    enum picture_align align)
{
	put_field(pic, text, width, align, false);
}

void
picture_mark(struct page_picture *pic, int from, int to, enum page_mark mark)
{
	struct page_store *s = pic->store;

	if (s == NULL || !s->open || s->nspan == PICTURE_SPANS)
		return;
	if (to > pic->cols)
		to = pic->cols;
	if (from >= to || mark == PAGE_PLAIN)
		return;
	s->span[s->nspan++] = (struct page_span){
		.from = (uint16_t)from,
		.to = (uint16_t)to,
		.mark = mark,
	};
}

void
picture_mark_line(struct page_picture *pic, enum page_mark mark)
{
	picture_mark(pic, 0, pic->cols, mark);
}

int
picture_wrap(struct page_picture *pic, const char *text, int max,
    enum page_mark mark)
{
	char safe[PAGE_COLS_MAX * 4 + 1];
	struct page_store *s = pic->store;
	size_t len, n, at = 0;
	int cols, lines = 0;

	if (s == NULL)
		return 0;
	len = make_safe(safe, sizeof safe, text, s->ascii, &cols);
	while (at < len && lines < max) {
		picture_line(pic);
		n = line_bytes(safe + at, len - at, pic->cols);
		if (lines + 1 == max && at + n < len) {
			add_text(pic, safe + at, len - at, pic->cols - 1);
			picture_put(pic, "~");
		} else {
			add_text(pic, safe + at, n, pic->cols);
		}
		picture_mark(pic, 0, picture_col(pic), mark);
		at += n;
		while (at < len && safe[at] == ' ')
			at++;
		lines++;
	}
	return lines;
}

void
picture_entry(struct page_picture *pic, const char *name, int at,
    const char *text)
{
	int room = pic->cols - at;
	size_t len = strlen(text), n;

	picture_line(pic);
	picture_printf(pic, "  %s", name);
	picture_to(pic, at - 1);
	picture_put(pic, " ");
	while (room > 0 && len > 0) {
		n = line_bytes(text, len, room);
		picture_printf(pic, "%.*s", (int)n, text);
		text += n;
		len -= n;
		if (len == 0)
			break;
		text += strspn(text, " ");
		len = strlen(text);
		picture_line(pic);
		picture_to(pic, at);
	}
}

/* How many bytes of safe text fit into so many columns; *col: their columns. */
static size_t
bytes_in(const char *text, int cols, int *col)
{
	size_t len = strlen(text), i, n;
	uint32_t cp;
	int w;

	*col = 0;
	for (i = 0; i < len; i += n) {
		n = base_utf8_char(text + i, len - i, &cp);
		w = n > 0 ? char_cols(cp) : 1;
		n = n > 0 ? n : 1;
		if (*col + w > cols)
			break;
		*col += w;
	}
	return i;
}

/* Without memory there is no mark. */
void
page_scroll_mark(struct page_picture *pic, int row, bool below)
{
	struct page_line *line = &pic->line[row];
	const struct page_span *was = line->span;
	struct page_span *span;
	size_t nspan = (size_t)line->nspan, n;
	int col, last = pic->cols - 1;
	char *text;

	if (pic->cols < EDGE_COLS)
		return;
	n = bytes_in(line->text, last, &col);
	text = store_room(pic->store, n + (size_t)(last - col) + 2);
	span = store_room(pic->store, (nspan + 1) * sizeof *span);
	if (text == NULL || span == NULL)
		return;
	memcpy(text, line->text, n);
	memset(text + n, ' ', (size_t)(last - col));
	/* Half a number must not look like another number. */
	if (n > 0 && line->text[n] != '\0' && line->text[n - 1] != ' ' &&
	    (text[n - 1] & 0x80) == 0)
		text[n - 1] = '~';
	n += (size_t)(last - col);
	text[n] = below ? 'v' : '^';
	text[n + 1] = '\0';
	if (nspan > 0)
		memcpy(span, was, nspan * sizeof *span);
	span[nspan] = (struct page_span){ .from = (uint16_t)last,
	    .to = (uint16_t)pic->cols, .mark = PAGE_HEADING };
	*line = (struct page_line){ .text = text, .span = span,
		.nspan = (int)nspan + 1 };
}

void
page_scroll_cut(struct page_scroll *s, struct page_picture *pic, int window)
{
	int i, most;

	s->window = window > 1 ? window : 1;
	s->lines = pic->rows - 1;
	most = s->lines - s->window;
	if (s->top > most)
		s->top = most;
	if (s->top < 0)
		s->top = 0;
	for (i = 0; i < s->window && s->top + i + 1 < pic->rows; i++)
		pic->line[i + 1] = pic->line[s->top + i + 1];
	if (pic->rows > i + 1)
		pic->rows = i + 1;
	if (s->top > 0)
		page_scroll_mark(pic, 1, false);
	if (s->top < most)
		page_scroll_mark(pic, pic->rows - 1, true);
}

void
page_scroll_to(struct page_scroll *s, int at, int window)
{
	if (at < s->top)
		s->top = at;
	if (at >= s->top + window)
		s->top = at - window + 1;
}

void
page_list_clamp(struct page_list *l, size_t n)
{
	if (l->selected >= n)
		l->selected = n > 0 ? n - 1 : 0;
}

void
page_list_move(struct page_list *l, size_t n, int delta, bool scroll)
{
	size_t by = (size_t)abs(delta);

	if (delta < 0)
		l->selected = l->selected > by ? l->selected - by : 0;
	else
		l->selected += by;
	page_list_clamp(l, n);
	if (scroll)
		l->top = delta > 0 ? l->top + by : l->top > by ? l->top - by : 0;
}

void
page_list_begin(struct page_list *l, size_t n, int room, struct page_picture *pic)
{
	l->window = room > 0 ? (size_t)room : 1;
	/* The line being written is not in pic->rows yet. */
	l->first = pic->rows + 1;
	if (l->top + l->window > n)
		l->top = n > l->window ? n - l->window : 0;
	if (l->selected < l->top)
		l->top = l->selected;
	else if (l->selected - l->top >= l->window)
		l->top = l->selected - l->window + 1;
}

void
page_list_edges(const struct page_list *l, size_t n, struct page_picture *pic)
{
	int last = l->first + (int)l->window - 1;

	if (l->first == 0 || last >= pic->rows)
		return;
	if (l->top > 0)
		page_scroll_mark(pic, l->first, false);
	if (l->top + l->window < n)
		page_scroll_mark(pic, last, true);
}

static const char *
fitting_keys(const char *keys, int room)
{
	const char *next;

	while ((int)strlen(keys) > room && (next = strstr(keys, "  ")) != NULL)
		keys = next + 2;
	return (int)strlen(keys) <= room ? keys : "";
}

void
page_overlay_title(const char *keys, struct page_picture *pic)
{
	keys = fitting_keys(keys, pic->cols - picture_col(pic) - 2);
	if (keys[0] != '\0')
		picture_to(pic, pic->cols - (int)strlen(keys));
	picture_put(pic, keys);
	picture_mark_line(pic, PAGE_HEADING);
}

void
page_overlay_bar(const char *keys, int rows, struct page_picture *pic)
{
	while (!picture_failed(pic) && pic->rows < rows - 2)
		picture_line(pic);
	picture_line(pic);
	picture_put(pic, fitting_keys(keys, pic->cols));
}

#define EIGHTHS 8

static const char *const height[EIGHTHS + 1] = {
	" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
	"\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88",
};
static const char *const length[EIGHTHS + 1] = {
	"", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c",
	"\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89", "\xe2\x96\x88",
};
static const char *const ascii_height[EIGHTHS] = {
	" ", ".", ":", "-", "=", "+", "*", "#",
};

/* The fonts of the Linux console and of old terminals lack some blocks. */
static bool
has_blocks(const struct page_picture *pic)
{
	const char *term = getenv("TERM");

	if (picture_is_ascii(pic))
		return false;
	return term == NULL || (strncmp(term, "linux", 5) != 0 &&
	    strncmp(term, "vt", 2) != 0);
}

/* v as one of `steps` heights; 0 for 0 only. */
static int
height_step(uint64_t v, uint64_t max, int steps)
{
	int s;

	if (v == 0)
		return 0;
	if (v >= max)
		return steps;
	s = (int)((double)v / (double)max * steps + 0.5);
	return s < 1 ? 1 : s;
}

void
picture_spark(struct page_picture *pic, const uint64_t *v, size_t n,
    uint64_t max, int width)
{
	bool blocks = has_blocks(pic);
	size_t i;

	if (width <= 0)
		return;
	if (n > (size_t)width) {
		v += n - (size_t)width;
		n = (size_t)width;
	}
	if (max == 0)
		for (i = 0; i < n; i++)
			if (v[i] > max)
				max = v[i];
	picture_blanks(pic, width - (int)n);
	for (i = 0; i < n; i++)
		picture_put(pic, blocks ?
		    height[height_step(v[i], max, EIGHTHS)] :
		    ascii_height[height_step(v[i], max, EIGHTHS - 1)]);
}

void
picture_bar(struct page_picture *pic, double share, int width)
{
	bool blocks = has_blocks(pic);
	int eighths, end, i;

	if (width <= 0)
		return;
	/* True for NaN too. */
	if (!(share > 0))
		share = 0;
	if (share > 1)
		share = 1;
	end = picture_col(pic) + width;
	eighths = (int)(share * width * EIGHTHS + 0.5);
	if (!blocks)
		eighths = (eighths + EIGHTHS / 2) / EIGHTHS * EIGHTHS;
	for (i = 0; i < eighths / EIGHTHS; i++)
		picture_put(pic, blocks ? length[EIGHTHS] : "#");
	picture_put(pic, length[eighths % EIGHTHS]);
	picture_to(pic, end);
}

void
picture_grouped(struct page_picture *pic, uint64_t n, int width)
{
	char text[24];

	base_format_grouped(text, width, n);
	picture_put(pic, text);
}

static void
size_in_k(uint64_t bytes, int width, char out[PAGE_SIZE_TEXT])
{
	static const char letters[] = "KMGTPE";
	uint64_t whole = bytes, tenths;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(out, PAGE_SIZE_TEXT, "%u", (unsigned)bytes);
		return;
	}
	/* Rounded down: a size must not look like a limit that it is below. */
	while (i + 2 < sizeof letters && whole >= UINT64_C(1024) * 1024) {
		whole /= 1024;
		i++;
	}
	tenths = whole % 1024 * 10 / 1024;
	snprintf(out, PAGE_SIZE_TEXT, "%llu.%u%c",
	    (unsigned long long)(whole / 1024), (unsigned)tenths, letters[i]);
	if ((int)strlen(out) > width)
		snprintf(out, PAGE_SIZE_TEXT, "%llu%c",
		    (unsigned long long)(whole / 1024), letters[i]);
}

void
page_size_text(enum page_units units, uint64_t bytes, int width,
    char out[PAGE_SIZE_TEXT])
{
	char text[PAGE_SIZE_TEXT];

	if (units == PAGE_UNITS_EXACT) {
		base_format_bytes(out, width, bytes);
		return;
	}
	snprintf(text, sizeof text, "%llX", (unsigned long long)bytes);
	if (units == PAGE_UNITS_K || (int)strlen(text) > width)
		size_in_k(bytes, width, text);
	snprintf(out, PAGE_SIZE_TEXT, "%*s", width, text);
}

const char *
page_units_name(enum page_units units)
{
	return units == PAGE_UNITS_EXACT ? "exact" :
	    units == PAGE_UNITS_K ? "in K, M and G" : "in hex";
}
