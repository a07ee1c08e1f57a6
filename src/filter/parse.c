/*
 * Compiles text to terms, by recursive descent:
 *
 *	or	and { | and }
 *	and	not { [&] not }
 *	not	{ ! } ( "(" or ")" | term )
 *	term	FIELD OP VALUE | VALUE
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/base.h"
#include "expr.h"

#define DEPTH 32		/* nested parentheses */
#define SHOWN 28		/* bytes of the expression in a sentence */

struct parse {
	struct filter *f;
	const char *text;
	size_t at;
	size_t words;			/* bytes used */
	const char *before;		/* the joint or parenthesis that stands last */
	size_t before_len;
	struct filter_error *e;
};

/*
 * Terms with one entry.  The exits that have no target yet are a list for each
 * result, threaded through the next[] that will get the target.
 */
struct part {
	uint16_t first;
	uint16_t out[2];
	bool texts;			/* it uses texts */
};

#define OUT_END 0xfffd			/* of such a list */

static uint16_t
out_of(uint16_t term, bool answer)
{
	return (uint16_t)(term << 1 | answer);
}

static uint16_t *
out_slot(struct filter *f, uint16_t out)
{
	return &f->term[out >> 1].next[out & 1];
}

static void
set_target(struct filter *f, uint16_t out, uint16_t there)
{
	while (out != OUT_END) {
		uint16_t *slot = out_slot(f, out);

		out = *slot;
		*slot = there;
	}
}

static uint16_t
append_exits(struct filter *f, uint16_t a, uint16_t b)
{
	uint16_t *slot;

	if (a == OUT_END)
		return b;
	for (slot = out_slot(f, a); *slot != OUT_END;)
		slot = out_slot(f, *slot);
	*slot = b;
	return a;
}

/* Evaluates b if the result of a is `answer`. */
static void
join_parts(struct filter *f, struct part *a, const struct part *b, bool answer)
{
	set_target(f, a->out[answer], b->first);
	a->out[answer] = b->out[answer];
	a->out[!answer] = append_exits(f, a->out[!answer], b->out[!answer]);
	a->texts |= b->texts;
}

static void
negate(struct part *p)
{
	uint16_t out = p->out[0];

	p->out[0] = p->out[1];
	p->out[1] = out;
}

/* Parts joined by & or by |: those without texts are evaluated first. */
struct chain {
	bool answer;
	bool any[2];
	struct part part[2];
};

static void
chain_add(struct filter *f, struct chain *c, const struct part *p)
{
	bool texts = p->texts;

	if (c->any[texts])
		join_parts(f, &c->part[texts], p, c->answer);
	else
		c->part[texts] = *p;
	c->any[texts] = true;
}

static struct part
chain_end(struct filter *f, struct chain *c)
{
	if (!c->any[0])
		return c->part[1];
	if (c->any[1])
		join_parts(f, &c->part[0], &c->part[1], c->answer);
	return c->part[0];
}

static int fail(struct parse *, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int
fail(struct parse *p, size_t at, const char *fmt, ...)
{
	va_list ap;
	char why[2 * sizeof p->e->why];
	size_t len = 0;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	p->e->at = at;
	/* Cuts whole characters. */
	base_append(p->e->why, sizeof p->e->why, &len, "%s", why);
	return -EINVAL;
}

struct shown {
	char text[SHOWN + 4];
};

static struct shown
shown(const char *s, size_t len)
{
	struct shown out;
	size_t n = base_safe_text(out.text, SHOWN + 1, s, len, false);

	if (len > SHOWN)
		base_append(out.text, sizeof out.text, &n, "...");
	return out;
}

static int
missing_term(struct parse *p)
{
	const char *s = p->text + p->at;
	const struct expr_sign *sign = expr_sign_at(s);
	size_t len;

	if (sign != NULL)
		return fail(p, p->at, "a field is missing before '%s', as in "
		    "size>=1k", sign->text);
	if (*s == ')' && p->before != NULL && *p->before == '(')
		return fail(p, p->at, "the parentheses are empty");
	if (*s == ')' && p->before == NULL)
		return fail(p, p->at, "there is no '(' before this ')'");
	if (*s == '\0' || *s == ')')
		return fail(p, p->at, "a term is missing after '%s'",
		    shown(p->before, p->before_len).text);
	if (expr_joint_at(s, &len) == EXPR_NONE)
		len = 1;
	return fail(p, p->at, "a term is missing before '%s'",
	    shown(s, len).text);
}

static int
unknown_field(struct parse *p, size_t len)
{
	const char *s = p->text + p->at;
	const char *near = expr_field_near(p->f->table, s, len);

	if (near != NULL)
		return fail(p, p->at, "no field is called '%s'; did you mean "
		    "'%s'?", shown(s, len).text, near);
	return fail(p, p->at, "no field is called '%s'; put text with "
	    "operators in \"quotes\"", shown(s, len).text);
}

/* The caller sets its word, or its range. */
static struct expr_term *
add_term(struct parse *p, unsigned field, enum expr_how how, struct part *out)
{
	struct filter *f = p->f;
	uint16_t no = f->terms++;

	f->term[no] = (struct expr_term){ .field = (uint8_t)field,
		.how = (uint8_t)how, .next = { OUT_END, OUT_END } };
	*out = (struct part){ .first = no, .texts = how != EXPR_RANGE,
		.out = { out_of(no, false), out_of(no, true) } };
	out->texts |= field >= f->table->numbers;
	if (field == EXPR_ANY)
		f->wants |= f->table->any;
	else if (out->texts)
		f->wants |= 1u << field;
	return &f->term[no];
}

static void
put_byte(struct parse *p, char c)
{
	p->f->words[p->words++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Stores a text in lower case, without its quotes; around: as *TEXT*. */
static uint16_t
put_word(struct parse *p, const char *s, size_t len, bool quoted, bool around)
{
	size_t from = p->words, end = quoted ? len - 1 : len;

	if (around)
		put_byte(p, '*');
	for (size_t i = quoted; i < end; i++) {
		if (quoted && s[i] == '\\')
			i++;
		put_byte(p, s[i]);
	}
	if (around)
		put_byte(p, '*');
	put_byte(p, '\0');
	return (uint16_t)from;
}

static int
value_length(struct parse *p, enum expr_kind kind, const char *s, size_t *len,
    bool *quoted)
{
	*quoted = *s == '"';
	if (!*quoted) {
		*len = expr_value_of(kind, s);
		return 0;
	}
	*len = expr_quoted(s);
	if (*len == 0)
		return fail(p, (size_t)(s - p->text), "this quote is never "
		    "closed");
	return 0;
}

static bool
is_pattern(const char *s, size_t len, bool quoted)
{
	return !quoted && (memchr(s, '*', len) != NULL ||
	    memchr(s, '?', len) != NULL);
}

/* inside: the field's text contains this one; else it equals it. */
static int
add_text_term(struct parse *p, unsigned field, bool inside, const char *s,
    size_t len, bool quoted, struct part *out)
{
	bool pattern = is_pattern(s, len, quoted);
	struct expr_term *t = add_term(p, field, pattern ? EXPR_PATTERN :
	    inside ? EXPR_CONTAINS : EXPR_EQUAL, out);

	t->word = put_word(p, s, len, quoted, inside && pattern);
	if (inside && p->f->words[t->word] == '\0')
		return fail(p, (size_t)(s - p->text), "this text is empty");
	return 0;
}

static void
set_range(enum expr_op op, struct expr_term *t, uint64_t lo, uint64_t hi)
{
	bool below = op == EXPR_LT || op == EXPR_LE;
	bool above = op == EXPR_GT || op == EXPR_GE;

	t->lo = below ? 0 : lo;
	t->hi = above ? UINT64_MAX : hi;
	/* No number is below the lowest or above the highest. */
	if ((op == EXPR_LT && lo == 0) || (op == EXPR_GT && hi == UINT64_MAX))
		t->lo = 1, t->hi = 0;
	else if (op == EXPR_LT)
		t->hi = lo - 1;
	else if (op == EXPR_GT)
		t->lo = hi + 1;
}

struct value {
	unsigned field;
	enum expr_kind kind;
	enum expr_op op;
	const char *s;
	size_t len;
	bool quoted;
};

static bool
number_of(const struct value *v, uint64_t *lo, uint64_t *hi,
    const char **wrong)
{
	size_t from = v->quoted, len = v->len - 2 * from;
	char text[64];

	*wrong = expr_range_wrong(v->kind);
	/* A time may have blanks. */
	if ((v->quoted && v->kind != EXPR_TIME) || len >= sizeof text)
		return false;
	memcpy(text, v->s + from, len);
	text[len] = '\0';
	return expr_range(v->kind, text, lo, hi, wrong) == 0;
}

static int
text_term(struct parse *p, const struct value *v, struct part *out)
{
	return add_text_term(p, v->field, v->op == EXPR_HAS ||
	    v->op == EXPR_HAS_NOT, v->s, v->len, v->quoted, out);
}

static int
number_term(struct parse *p, const struct value *v, struct part *out)
{
	uint64_t lo = 0, hi = 0;
	struct expr_term *t;
	const char *wrong;

	if (!number_of(v, &lo, &hi, &wrong))
		return fail(p, (size_t)(v->s - p->text), "'%s' is %s",
		    shown(v->s, v->len).text, wrong);
	/* Later than a minute is later than its beginning. */
	if (v->kind == EXPR_TIME && v->op >= EXPR_LT && v->op <= EXPR_GE)
		hi = lo;
	t = add_term(p, v->field, EXPR_RANGE, out);
	set_range(v->op, t, lo, hi);
	/* An unknown time is no early one. */
	if (v->kind == EXPR_TIME && t->lo == 0)
		t->lo = 1;
	return 0;
}

/* A code in hex may be a type's name as well: both match. */
static int
type_term(struct parse *p, const struct value *v, struct part *out)
{
	struct part name;
	const char *wrong;
	uint64_t lo, hi;
	int r;

	if (v->op >= EXPR_LT && v->op <= EXPR_GE)
		return number_term(p, v, out);
	if (v->op > EXPR_NE || !number_of(v, &lo, &hi, &wrong))
		return text_term(p, v, out);
	r = number_term(p, v, out);
	if (r == 0 && v->len <= 2) {
		r = text_term(p, v, &name);
		join_parts(p->f, out, &name, false);
	}
	return r;
}

static int
field_term(struct parse *p, unsigned field, enum expr_kind kind,
    const struct expr_sign *sign, size_t sign_at, struct part *out)
{
	const struct expr_field *about = &p->f->table->field[field];
	struct value v = { .field = field, .kind = kind, .op = sign->op };
	int r;

	if (sign->wrong)
		return fail(p, sign_at, "'%s' is not an operator; did you mean "
		    "'%s'?", sign->text, expr_op_text(sign->op));
	if (!expr_kind_takes(kind, sign->op))
		return fail(p, sign_at, "'%s' takes %s, not '%s'",
		    about->name, expr_kind_ops(kind), sign->text);
	p->at = sign_at + strlen(sign->text);
	p->at += expr_blanks(p->text + p->at);
	v.s = p->text + p->at;
	r = value_length(p, kind, v.s, &v.len, &v.quoted);
	if (r == 0 && v.len == 0)
		return fail(p, p->at, "a value is missing after '%s', as in "
		    "%s%s%s", sign->text, about->name, sign->text,
		    about->example);
	if (r < 0)
		return r;
	r = kind == EXPR_TYPE ? type_term(p, &v, out) :
	    kind == EXPR_TEXT || kind == EXPR_PATH ? text_term(p, &v, out) :
	    number_term(p, &v, out);
	p->at += v.len;
	if (v.op == EXPR_NE || v.op == EXPR_HAS_NOT)
		negate(out);
	return r;
}

static int
word_term(struct parse *p, const char *s, size_t len, bool quoted,
    struct part *out)
{
	size_t colon = strcspn(s, ":");
	int r;

	/* "size:1k" is an error; "a::b" is a name. */
	if (!quoted && colon < len && s[colon + 1] != ':' &&
	    expr_field_find(p->f->table, s, colon) >= 0)
		return fail(p, p->at + colon, "':' is not an operator; did you "
		    "mean '%s=...'?", shown(s, colon).text);
	r = add_text_term(p, EXPR_ANY, true, s, len, quoted, out);
	p->at += len;
	return r;
}

static int
parse_term(struct parse *p, struct part *out)
{
	const char *s = p->text + p->at;
	const struct expr_sign *sign;
	size_t len, behind;
	bool quoted;
	int field, r;

	len = expr_word(s);
	if (*s == '"') {
		r = value_length(p, EXPR_TEXT, s, &len, &quoted);
		return r < 0 ? r : word_term(p, s, len, true, out);
	}
	if (len == 0 || expr_joint_at(s, &behind) != EXPR_NONE)
		return missing_term(p);
	behind = len + expr_blanks(s + len);
	sign = expr_sign_at(s + behind);
	if (sign == NULL)
		return word_term(p, s, len, false, out);
	field = expr_field_find(p->f->table, s, len);
	return field < 0 ? unknown_field(p, len) :
	    field_term(p, (unsigned)field, expr_field_kind(
	    &p->f->table->field[field], s, len), sign, p->at + behind, out);
}

static void
skip_blanks(struct parse *p)
{
	p->at += expr_blanks(p->text + p->at);
}

static void
skip_joint(struct parse *p, size_t len)
{
	p->before = p->text + p->at;
	p->before_len = len;
	p->at += len;
	skip_blanks(p);
}

static int parse_or(struct parse *, unsigned depth, struct part *);

static int
parse_group(struct parse *p, unsigned depth, struct part *out)
{
	size_t open = p->at;
	int r;

	if (depth == DEPTH)
		return fail(p, open, "parentheses are nested more than %d "
		    "deep", DEPTH);
	skip_joint(p, 1);
	r = parse_or(p, depth + 1, out);
	if (r < 0)
		return r;
	if (p->text[p->at] != ')')
		return fail(p, open, "this '(' is never closed");
	p->at++;
	return 0;
}

static int
parse_not(struct parse *p, unsigned depth, struct part *out)
{
	bool negated = false;
	size_t len;
	int r;

	while (expr_joint_at(p->text + p->at, &len) == EXPR_NOT) {
		negated = !negated;
		skip_joint(p, len);
	}
	r = p->text[p->at] == '(' ? parse_group(p, depth, out) :
	    parse_term(p, out);
	if (r == 0 && negated)
		negate(out);
	return r;
}

static int
parse_and(struct parse *p, unsigned depth, struct part *out)
{
	struct chain c = { .answer = true };
	enum expr_joint joint;
	struct part next;
	size_t len;
	int r;

	for (;;) {
		r = parse_not(p, depth, &next);
		if (r < 0)
			return r;
		chain_add(p->f, &c, &next);
		skip_blanks(p);
		joint = expr_joint_at(p->text + p->at, &len);
		if (joint == EXPR_AND)
			skip_joint(p, len);
		else if (joint == EXPR_OR || p->text[p->at] == ')' ||
		    p->text[p->at] == '\0')
			break;
	}
	*out = chain_end(p->f, &c);
	return 0;
}

static int
parse_or(struct parse *p, unsigned depth, struct part *out)
{
	struct chain c = { .answer = false };
	struct part next;
	size_t len;
	int r;

	for (;;) {
		r = parse_and(p, depth, &next);
		if (r < 0)
			return r;
		chain_add(p->f, &c, &next);
		if (expr_joint_at(p->text + p->at, &len) != EXPR_OR)
			break;
		skip_joint(p, len);
	}
	*out = chain_end(p->f, &c);
	return 0;
}

static int
check_characters(struct parse *p)
{
	const char *s = p->text;
	size_t n, len = strnlen(s, FILTER_MAX + 1);

	if (len > FILTER_MAX)
		return fail(p, FILTER_MAX, "the expression is longer than %d "
		    "bytes", FILTER_MAX);
	for (size_t i = 0; i < len; i += n) {
		n = base_utf8_char(s + i, len - i, NULL);
		if (n == 0)
			return fail(p, i, "this byte is not part of a "
			    "character");
		if ((n == 1 && (unsigned char)s[i] < ' ' &&
		    expr_blanks(s + i) == 0) || s[i] == 0x7f)
			return fail(p, i, "there is a control character here");
	}
	return 0;
}

static int
parse_expression(struct parse *p)
{
	struct part all;
	int r;

	skip_blanks(p);
	if (p->text[p->at] == '\0') {
		p->f->first = EXPR_YES;
		return 0;
	}
	r = parse_or(p, 0, &all);
	if (r < 0)
		return r;
	if (p->text[p->at] == ')')
		return fail(p, p->at, "there is no '(' before this ')'");
	set_target(p->f, all.out[true], EXPR_YES);
	set_target(p->f, all.out[false], EXPR_NO);
	p->f->first = all.first;
	return 0;
}

int
filter_new(struct filter **out, const char *text, struct filter_error *e)
{
	return filter_new_of(out, &filter_blocks, text, e);
}

int
filter_new_of(struct filter **out, const struct filter_table *table,
    const char *text, struct filter_error *e)
{
	struct parse p = { .text = text, .e = e };
	struct filter *f;
	size_t len;
	int r;

	r = check_characters(&p);
	if (r < 0)
		return r;
	len = strlen(text);
	f = calloc(1, sizeof *f + (len / 2 + 1) * sizeof f->term[0]);
	if (f == NULL)
		return -ENOMEM;
	f->table = table;
	f->text = strdup(text);
	/* A word has its NUL, and may have a * on both sides. */
	f->words = malloc(2 * len + 2);
	p.f = f;
	r = f->text != NULL && f->words != NULL ? parse_expression(&p) : -ENOMEM;
	if (r < 0) {
		filter_free(f);
		return r;
	}
	*out = f;
	return 0;
}

void
filter_free(struct filter *f)
{
	if (f == NULL)
		return;
	free(f->text);
	free(f->words);
	free(f);
}

#define BLANKS " \t\n\r"

size_t
expr_blanks(const char *s)
{
	return strspn(s, BLANKS);
}

size_t
expr_word(const char *s)
{
	return strcspn(s, BLANKS "&|()!=<>~\"");
}

size_t
expr_value(const char *s)
{
	unsigned open = 0;
	size_t n = 0;

	for (; s[n] != '\0' && s[n] != '"'; n++) {
		if (open == 0 && strchr(BLANKS "&|)", s[n]) != NULL)
			break;
		open += s[n] == '(';
		open -= s[n] == ')';
	}
	/* An open parenthesis does not belong to the value. */
	return open == 0 ? n : strcspn(s, BLANKS "&|()\"");
}

size_t
expr_value_of(enum expr_kind kind, const char *s)
{
	return kind == EXPR_TIME ? expr_time(s) : expr_value(s);
}

size_t
expr_quoted(const char *s)
{
	size_t n = 1;

	for (; s[n] != '\0' && s[n] != '"'; n++)
		if (s[n] == '\\' && s[n + 1] != '\0')
			n++;
	return s[n] == '"' ? n + 1 : 0;
}

enum expr_joint
expr_joint_at(const char *s, size_t *len)
{
	static const struct {
		const char *word;
		enum expr_joint joint;
	} words[] = {
		{ "and", EXPR_AND },
		{ "or", EXPR_OR },
		{ "not", EXPR_NOT },
	};
	size_t n = expr_word(s), after;

	if (*s == '&' || *s == '|') {
		*len = s[1] == s[0] ? 2 : 1;
		return *s == '&' ? EXPR_AND : EXPR_OR;
	}
	if (*s == '!' && s[1] != '=' && s[1] != '~') {
		*len = 1;
		return EXPR_NOT;
	}
	for (size_t i = 0; i < BASE_NELEM(words); i++) {
		if (strlen(words[i].word) != n ||
		    strncasecmp(s, words[i].word, n) != 0)
			continue;
		/* In "not=5" it is an unknown field. */
		after = n + expr_blanks(s + n);
		if (s[after] != '!' && expr_sign_at(s + after) != NULL)
			break;
		*len = n;
		return words[i].joint;
	}
	return EXPR_NONE;
}
