/*
 * Tables of one function that the tests of cfi share with its fuzz corpus.
 *
 * Vocabulary
 *	sample		a table as a linker might write it, or might not: a
 *			search table, a CIE, an FDE and the end, with an address
 *			that is asked for.  Bytes are in hexadecimal.
 *	patch		what is written over a part of it afterwards.
 */
#ifndef TESTS_CFI_SAMPLES_H
#define TESTS_CFI_SAMPLES_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/alloclog/unwind/cfi.h"

#define SAMPLE_MAX 1024		/* bytes of a table */
#define SAMPLE_CODE 0x4000	/* the function, behind the table's start */
#define SAMPLE_CODE_SIZE 0x100

enum sample_part {
	IN_HDR,
	IN_CIE,
	IN_FDE,
	IN_END,
};

struct cfi_sample {
	const char *name;
	unsigned version;	/* of the CIE; 0: 1 */
	const char *letters;	/* its augmentation; NULL: zR, */
	const char *extra;	/* and the data of that; NULL: 1b */
	unsigned encoding;	/* of the FDE's addresses; 0: 0x1b; 0x100: absolute */
	const char *first;	/* the CIE's program; NULL: rsp + 8, ra at CFA - 8 */
	const char *program;	/* the FDE's */
	const char *patch;
	enum sample_part part;	/* that is patched, */
	unsigned patch_at;	/* so far behind its start */
	int at;			/* asked for, behind the function's start */
	int err;
	struct cfi_rule rule;
};

struct sample_table {
	uint8_t bytes[SAMPLE_MAX];
	size_t len;
	size_t part[4];		/* where each begins */
};

static inline size_t
sample_hex(const char *hex, uint8_t *out)
{
	size_t n = 0;
	char two[3] = "";

	while (hex != NULL && *hex != '\0') {
		if (*hex == ' ') {
			hex++;
			continue;
		}
		two[0] = *hex++;
		two[1] = *hex++;
		out[n++] = (uint8_t)strtoul(two, NULL, 16);
	}
	return n;
}

static inline void
sample_add(struct sample_table *t, uint64_t value, unsigned size)
{
	while (size-- > 0) {
		t->bytes[t->len++] = (uint8_t)value;
		value >>= 8;
	}
}

static inline void
sample_add_hex(struct sample_table *t, const char *hex)
{
	t->len += sample_hex(hex, t->bytes + t->len);
}

static inline void
sample_begin(struct sample_table *t, enum sample_part part)
{
	t->part[part] = t->len;
	sample_add(t, 0, 4);
}

static inline void
sample_set_word(struct sample_table *t, size_t at, uint64_t value)
{
	size_t len = t->len;

	t->len = at;
	sample_add(t, value, 4);
	t->len = len;
}

static inline void
sample_end(struct sample_table *t, enum sample_part part)
{
	sample_set_word(t, t->part[part], t->len - t->part[part] - 4);
}

/* The function's start or size, in the encodings that a sample may ask for. */
static inline void
sample_add_pointer(struct sample_table *t, unsigned encoding, uint64_t value)
{
	if ((encoding & 0xf0) == 0x10)
		value -= t->len;
	switch (encoding & 0x0f) {
	case 0x01:
	case 0x09:
		/* Three bytes: 0x4000 and less. */
		sample_add(t, (value & 0x7f) | 0x80, 1);
		sample_add(t, (value >> 7 & 0x7f) | 0x80, 1);
		sample_add(t, value >> 14 & 0x7f, 1);
		break;
	case 0x02:
	case 0x0a:
		sample_add(t, value, 2);
		break;
	case 0x03:
	case 0x0b:
		sample_add(t, value, 4);
		break;
	default:
		sample_add(t, value, 8);
	}
}

static inline void
sample_add_cie(struct sample_table *t, const struct cfi_sample *s)
{
	const char *letters = s->letters == NULL ? "zR" : s->letters;
	const char *extra = s->extra == NULL ? "1b" : s->extra;
	const char *first = s->first == NULL ? "0c0708 9001" : s->first;
	unsigned version = s->version == 0 ? 1 : s->version;

	sample_begin(t, IN_CIE);
	sample_add(t, 0, 4);
	sample_add(t, version, 1);
	memcpy(t->bytes + t->len, letters, strlen(letters) + 1);
	t->len += strlen(letters) + 1;
	if (version == 4)
		sample_add(t, 0x0008, 2);
	sample_add_hex(t, "01 78 10");
	if (letters[0] == 'z') {
		sample_add(t, strlen(extra) / 2, 1);
		sample_add_hex(t, extra);
	}
	sample_add_hex(t, first);
	sample_end(t, IN_CIE);
}

/* As it will lie at address `base`. */
static inline void
sample_add_fde(struct sample_table *t, const struct cfi_sample *s,
    uintptr_t base)
{
	const char *letters = s->letters == NULL ? "zR" : s->letters;
	unsigned encoding = s->encoding == 0 ? 0x1b : s->encoding;

	sample_begin(t, IN_FDE);
	sample_add(t, t->len - t->part[IN_CIE], 4);
	if (letters[0] == '\0')
		encoding = 0;
	sample_add_pointer(t, encoding,
	    SAMPLE_CODE + ((encoding & 0xf0) == 0 ? base : 0));
	sample_add_pointer(t, encoding & 0x0f, SAMPLE_CODE_SIZE);
	if (letters[0] == 'z')
		sample_add(t, 0, 1);
	sample_add_hex(t, s->program);
	sample_end(t, IN_FDE);
}

static inline void
sample_build(const struct cfi_sample *s, uintptr_t base,
    struct sample_table *t)
{
	memset(t, 0, sizeof(*t));
	sample_add_hex(t, "01 1b 03 3b 10000000 01000000");
	sample_add(t, SAMPLE_CODE, 4);
	sample_add(t, 0, 4);
	sample_add_cie(t, s);
	sample_add_fde(t, s, base);
	sample_set_word(t, 16, t->part[IN_FDE]);
	sample_begin(t, IN_END);
	if (s->patch != NULL)
		sample_hex(s->patch, t->bytes + t->part[s->part] +
		    s->patch_at);
}

/* What leads on from the call of a function that has done nothing yet. */
#define ENTRY_AT .cfa = 8, .ra = -8

#define LEAD_TO(...) .rule = { __VA_ARGS__ }

/* __restore_rt of glibc. */
#define SIGNAL_PROGRAM "0f0477a00106 10080277281009027730100a027738100b0377c000" \
    "100c0377c800100d0377d000100e0377d800100f0377e00010050377e80010040377f000" \
    "10060377f8001003037780011001037788011000037790011002037798011007" \
    "0377a00110100377a801"

static const struct cfi_sample cfi_good[] = {
	{ .name = "entry", .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "row-begins-at-its-address", .program = "41 0e10 8602",
	    .at = 1, LEAD_TO(.cfa = 16, .ra = -8, .rbp = CFI_RBP_AT_CFA,
	    .rbp_off = -16) },
	{ .name = "row-ends-before-the-next", .program = "42 0e10 8602",
	    .at = 1, LEAD_TO(ENTRY_AT) },
	{ .name = "last-address", .program = "42 0e10", .at = 0xff,
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "frame-pointer", .program = "41 0e10 8602 43 0d06", .at = 4,
	    LEAD_TO(.base = CFI_RBP, .cfa = 16, .ra = -8,
	    .rbp = CFI_RBP_AT_CFA, .rbp_off = -16) },
	{ .name = "after-leave", .program = "41 0e10 8602 43 0d06 50 c6 0c0708",
	    .at = 0x20, LEAD_TO(ENTRY_AT) },
	{ .name = "state-comes-back", .program = "41 0e10 0a 44 0e08 41 0b",
	    .at = 6, LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "states-eight-deep", .program =
	    "0e10 0a0a0a0a0a0a0a0a 0e18 0b0b0b0b0b0b0b0b",
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "advance-loc1", .program = "0208 0e10", .at = 8,
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "advance-loc2", .program = "038000 0e10", .at = 0x7f,
	    LEAD_TO(ENTRY_AT) },
	{ .name = "advance-loc4", .program = "0480000000 0e10", .at = 0x80,
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "advance-far-beyond", .program = "04ffffffff 17",
	    LEAD_TO(ENTRY_AT) },
	{ .name = "set-loc", .program = "01d43f0000 0e10", .at = 0x10,
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "set-loc-beyond", .program = "01d43f0000 0e10", .at = 0x0f,
	    LEAD_TO(ENTRY_AT) },
	{ .name = "offset-extended", .program = "050602", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_AT_CFA, .rbp_off = -16) },
	{ .name = "offset-extended-sf", .program = "11067e", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_AT_CFA, .rbp_off = 16) },
	{ .name = "negative-offset-extended", .program = "2f0602",
	    LEAD_TO(ENTRY_AT, .rbp = CFI_RBP_AT_CFA, .rbp_off = 16) },
	{ .name = "def-cfa-sf", .program = "12067e",
	    LEAD_TO(.base = CFI_RBP, .cfa = 16, .ra = -8) },
	{ .name = "def-cfa-offset-sf", .program = "137d",
	    LEAD_TO(.cfa = 24, .ra = -8) },
	{ .name = "offset-of-2-31-minus-1", .program = "0effffffff07",
	    LEAD_TO(.cfa = INT32_MAX, .ra = -8) },
	{ .name = "rbp-is-the-cfa", .program = "140602", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_LOST) },
	{ .name = "rbp-is-the-cfa-sf", .program = "150602", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_LOST) },
	{ .name = "rbp-same", .program = "8602 0806", LEAD_TO(ENTRY_AT) },
	{ .name = "rbp-undefined", .program = "8602 0706", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_LOST) },
	{ .name = "rbp-in-another-register", .program = "090603",
	    LEAD_TO(ENTRY_AT, .rbp = CFI_RBP_LOST) },
	{ .name = "rbp-restored", .program = "8602 c6", LEAD_TO(ENTRY_AT) },
	{ .name = "rbp-restored-extended", .program = "8602 0606",
	    LEAD_TO(ENTRY_AT) },
	{ .name = "rbp-restored-to-the-cie", .first = "0c0708 9001 8602",
	    .program = "0806 c6", LEAD_TO(ENTRY_AT, .rbp = CFI_RBP_AT_CFA,
	    .rbp_off = -16) },
	{ .name = "rbp-by-rbp", .program = "1006 02 7608", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_AT_RBP, .rbp_off = 8) },
	{ .name = "rbp-by-rsp", .program = "1006 03 77f800", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_AT_RSP, .rbp_off = 120) },
	{ .name = "rbp-by-rbx", .program = "1006 02 7300", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_LOST) },
	{ .name = "rbp-behind-a-pointer", .program = "1006 03 760006",
	    LEAD_TO(ENTRY_AT, .rbp = CFI_RBP_LOST) },
	{ .name = "rbp-computed", .program = "1606 02 7600", LEAD_TO(ENTRY_AT,
	    .rbp = CFI_RBP_LOST) },
	{ .name = "rsp-is-the-cfa", .program = "140700", LEAD_TO(ENTRY_AT) },
	{ .name = "rsp-is-where-the-cfa-is", .program = "0f03767806 1007027678",
	    LEAD_TO(.base = CFI_AT_RBP, .cfa = -8, .ra = -8) },
	{ .name = "ra-by-rsp", .program = "1010 03 77a801",
	    LEAD_TO(.cfa = 8, .ra_at_rsp = true, .ra = 168) },
	{ .name = "outermost", .program = "0710", LEAD_TO(.outermost = true) },
	{ .name = "outermost-without-cfa", .letters = "zRS", .first = "",
	    .program = "8602 0710", LEAD_TO(.outermost = true) },
	{ .name = "signal-frame", .letters = "zRS", .program = SIGNAL_PROGRAM,
	    LEAD_TO(.base = CFI_AT_RSP, .cfa = 160, .ra_at_rsp = true,
	    .ra = 168, .rbp = CFI_RBP_AT_RSP, .rbp_off = 120,
	    .signal = true) },
	{ .name = "realigned", .program = "0c0a00 49 10060276 00 45 0f03767806",
	    .at = 0x10, LEAD_TO(.base = CFI_AT_RBP, .cfa = -8, .ra = -8,
	    .rbp = CFI_RBP_AT_RBP) },
	{ .name = "realigned-to-its-end", .program =
	    "0c0a00 49 100602 7600 0f03767806 44 0c0a00 44 0c0708", .at = 0x11,
	    LEAD_TO(ENTRY_AT, .rbp = CFI_RBP_AT_RBP) },
	{ .name = "cfa-as-an-expression", .program = "0f02 7710",
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "others-are-nobodys", .program =
	    "8303 05ff7f01 0703 080c 090304 1003027300 160302 7300 c3 0e10",
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "args-size-and-nops", .program = "2e10 00 00",
	    LEAD_TO(ENTRY_AT) },
	{ .name = "unknown-behind-the-address", .program = "44 17", .at = 3,
	    LEAD_TO(ENTRY_AT) },
	{ .name = "letters-zPLR", .letters = "zPLR", .extra = "9b000000001b1b",
	    .program = "0e10", LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "letters-zPLRS", .letters = "zPLRS",
	    .extra = "9b000000001b1b", .program = "",
	    LEAD_TO(ENTRY_AT, .signal = true) },
	{ .name = "letters-zPR-without-personality", .letters = "zPR",
	    .extra = "ff1b", .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "letters-none", .letters = "", .program = "0e10",
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "extra-longer-than-letters", .extra = "1b0000", .program = "",
	    LEAD_TO(ENTRY_AT) },
	{ .name = "version-3", .version = 3, .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "version-4", .version = 4, .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "addresses-absolute", .extra = "00", .encoding = 0x100,
	    .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "addresses-of-8-bytes", .extra = "1c", .encoding = 0x1c,
	    .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "addresses-of-2-bytes", .extra = "1a", .encoding = 0x1a,
	    .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "addresses-of-2-bytes-unsigned", .extra = "12",
	    .encoding = 0x12, .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "addresses-as-uleb", .extra = "11", .encoding = 0x11,
	    .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "addresses-as-sleb", .extra = "19", .encoding = 0x19,
	    .program = "", LEAD_TO(ENTRY_AT) },
	{ .name = "without-search-table", .program = "0e10", .part = IN_HDR,
	    .patch = "01 1b ff ff", LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "frames-by-the-search-table", .program = "0e10",
	    .part = IN_HDR, .patch = "01 3b ff ff 14000000",
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "search-table-of-another-kind", .program = "0e10",
	    .part = IN_HDR, .patch = "01 1b 03 33",
	    LEAD_TO(.cfa = 16, .ra = -8) },
	{ .name = "search-table-without-a-count", .program = "0e10",
	    .part = IN_HDR, .patch = "01 1b ff 3b",
	    LEAD_TO(.cfa = 16, .ra = -8) },
};

/* Not followed or not there: nothing but a number comes back. */
static const struct cfi_sample cfi_refused[] = {
	{ .name = "plt", .program = "0f0b 77088000 3f1a3b2a332422",
	    .err = -ENOTSUP },
	{ .name = "cfa-by-r10", .program = "0c0a00", .err = -ENOTSUP },
	{ .name = "cfa-by-register-262", .program = "0c860208",
	    .err = -ENOTSUP },
	{ .name = "cfa-by-rbx-behind-a-pointer", .program = "0f03730006",
	    .err = -ENOTSUP },
	{ .name = "cfa-of-nothing", .program = "0f00", .err = -ENOTSUP },
	{ .name = "cfa-plus-8", .program = "0f057700062308", .err = -ENOTSUP },
	{ .name = "cfa-expression-beyond-the-end", .program = "0f037700",
	    .err = -ENOTSUP },
	{ .name = "cfa-expression-cut-short", .program = "0f0277f8",
	    .err = -ENOTSUP },
	{ .name = "cfa-register-of-an-expression", .program = "0f03770006 0d06",
	    .err = -ENOTSUP },
	{ .name = "cfa-offset-of-an-expression", .program = "0f03770006 0e10",
	    .err = -ENOTSUP },
	{ .name = "cfa-offset-of-nothing", .first = "9001", .program = "0e10",
	    .err = -ENOTSUP },
	{ .name = "cfa-nowhere", .first = "9001", .err = -ENOTSUP },
	{ .name = "ra-nowhere", .first = "0c0708", .err = -ENOTSUP },
	{ .name = "ra-same", .program = "0810", .err = -ENOTSUP },
	{ .name = "ra-in-rdi", .program = "091005", .err = -ENOTSUP },
	{ .name = "ra-by-rbp", .program = "1010027608", .err = -ENOTSUP },
	{ .name = "ra-is-the-cfa", .program = "141001", .err = -ENOTSUP },
	{ .name = "rsp-beside-the-cfa", .program = "140701", .err = -ENOTSUP },
	{ .name = "rsp-saved", .program = "8703", .err = -ENOTSUP },
	{ .name = "rsp-same", .program = "0807", .err = -ENOTSUP },
	{ .name = "rsp-undefined", .program = "0707", .err = -ENOTSUP },
	{ .name = "rsp-by-rsp-elsewhere", .program = "0f0377080610070277 10",
	    .err = -ENOTSUP },
	{ .name = "states-nine-deep", .program = "0a0a0a0a0a0a0a0a0a",
	    .err = -ENOTSUP },
	{ .name = "state-that-nobody-remembered", .program = "0b",
	    .err = -ENOTSUP },
	{ .name = "restored-in-the-cie", .first = "0c0708 9001 c6",
	    .err = -ENOTSUP },
	{ .name = "advanced-in-the-cie", .first = "0c0708 9001 41",
	    .err = -ENOTSUP },
	{ .name = "opcode-17", .program = "17", .err = -ENOTSUP },
	{ .name = "opcode-1c", .program = "1c", .err = -ENOTSUP },
	{ .name = "opcode-2d", .program = "2d", .err = -ENOTSUP },
	{ .name = "opcode-30", .program = "30", .err = -ENOTSUP },
	{ .name = "opcode-3f", .program = "3f", .err = -ENOTSUP },
	{ .name = "operand-missing", .program = "0e", .err = -ENOTSUP },
	{ .name = "second-operand-missing", .program = "0c07",
	    .err = -ENOTSUP },
	{ .name = "advance-cut-short", .program = "040100", .err = -ENOTSUP },
	{ .name = "set-loc-backwards", .program = "01d43f0000 01a83f0000",
	    .at = 0x20, .err = -ENOTSUP },
	{ .name = "offset-of-2-31", .program = "0e8080808008",
	    .err = -ENOTSUP },
	{ .name = "cfa-expression-of-2-31", .program = "0f06778080808008",
	    .err = -ENOTSUP },
	{ .name = "rbp-expression-of-2-31", .program = "100606778080808008",
	    .err = -ENOTSUP },
	{ .name = "rsp-in-memory", .program = "1007027708", .err = -ENOTSUP },
	{ .name = "rsp-by-rbp-elsewhere", .program = "0f037678061007027670",
	    .err = -ENOTSUP },
	{ .name = "scaled-offset-of-2-31", .program = "1106 808080807f",
	    .err = -ENOTSUP },
	{ .name = "scaled-offset-of-2-65", .program = "86ffffffffffffffff7f",
	    .err = -ENOTSUP },
	{ .name = "number-of-10-bytes", .program = "0e80808080808080808000",
	    .err = -ENOTSUP },
	{ .name = "signed-number-of-10-bytes",
	    .program = "1380808080808080808000", .err = -ENOTSUP },
	{ .name = "letters-eh", .letters = "eh", .err = -ENOTSUP },
	{ .name = "letters-zQ", .letters = "zQ", .err = -ENOTSUP },
	{ .name = "letters-zRB", .letters = "zRB", .err = -ENOTSUP },
	{ .name = "letters-zPR-aligned", .letters = "zPR",
	    .extra = "5000000000000000001b", .err = -ENOTSUP },
	{ .name = "letters-beyond-their-data", .letters = "zLLR",
	    .err = -ENOTSUP },
	{ .name = "addresses-indirect", .extra = "9b", .err = -ENOTSUP },
	{ .name = "addresses-of-data", .extra = "3b", .err = -ENOTSUP },
	{ .name = "addresses-of-no-format", .extra = "15", .err = -ENOTSUP },
	{ .name = "version-2", .version = 2, .err = -ENOTSUP },
	{ .name = "version-4-of-32-bits", .version = 4, .part = IN_CIE,
	    .patch = "04", .patch_at = 12, .err = -ENOTSUP },
	{ .name = "version-5", .version = 5, .err = -ENOTSUP },
	{ .name = "ra-in-column-15", .part = IN_CIE, .patch = "0f",
	    .patch_at = 14, .err = -ENOTSUP },
	{ .name = "letters-without-end", .part = IN_CIE,
	    .patch = "7a525252525252525252525252", .patch_at = 9,
	    .err = -ENOTSUP },
	{ .name = "cie-of-nothing", .part = IN_CIE, .patch = "00000000",
	    .err = -ENOTSUP },
	{ .name = "cie-beyond-the-end", .part = IN_CIE, .patch = "00040000",
	    .err = -ENOTSUP },
	{ .name = "cie-with-an-id", .part = IN_CIE, .patch = "01000000",
	    .patch_at = 4, .err = -ENOTSUP },
	{ .name = "extra-beyond-the-end", .part = IN_CIE, .patch = "7f",
	    .patch_at = 15, .err = -ENOTSUP },
	{ .name = "hdr-version-2", .part = IN_HDR, .patch = "02",
	    .err = -ENOTSUP },
	{ .name = "count-0", .part = IN_HDR, .patch = "00000000",
	    .patch_at = 8, .err = -ENOENT },
	{ .name = "count-2-32-minus-1", .part = IN_HDR, .patch = "ffffffff",
	    .patch_at = 8, .err = -ENOTSUP },
	{ .name = "count-of-no-format", .part = IN_HDR, .patch = "01 1b 05",
	    .err = -ENOTSUP },
	{ .name = "entry-far-before", .part = IN_HDR, .patch = "00000080",
	    .patch_at = 16, .err = -ENOTSUP },
	{ .name = "entry-far-behind", .part = IN_HDR, .patch = "ffffff7f",
	    .patch_at = 16, .err = -ENOTSUP },
	{ .name = "entry-that-is-a-cie", .part = IN_HDR, .patch = "14000000",
	    .patch_at = 16, .err = -ENOTSUP },
	{ .name = "frames-before-the-object", .part = IN_HDR,
	    .patch = "01 1b ff ff 00ffffff", .err = -ENOTSUP },
	{ .name = "frames-behind-the-object", .part = IN_HDR,
	    .patch = "01 1b ff ff 00ffff7f", .err = -ENOTSUP },
	{ .name = "frames-nowhere", .part = IN_HDR, .patch = "01 ff ff ff",
	    .err = -ENOTSUP },
	{ .name = "fde-of-nothing", .part = IN_FDE, .patch = "00000000",
	    .err = -ENOTSUP },
	{ .name = "fde-beyond-the-end", .part = IN_FDE, .patch = "00040000",
	    .err = -ENOTSUP },
	{ .name = "fde-of-64-bits", .part = IN_FDE, .patch = "ffffffff",
	    .err = -ENOTSUP },
	{ .name = "fde-whose-cie-is-far-before", .part = IN_FDE,
	    .patch = "ffffff7f", .patch_at = 4, .err = -ENOTSUP },
	{ .name = "fde-that-is-its-cie", .part = IN_FDE, .patch = "04000000",
	    .patch_at = 4, .err = -ENOTSUP },
	{ .name = "fde-of-no-code", .part = IN_FDE, .patch = "00000000",
	    .patch_at = 12, .err = -ENOENT },
	{ .name = "fde-of-less-than-no-code", .part = IN_FDE,
	    .patch = "00000080", .patch_at = 12, .err = -ENOTSUP },
	{ .name = "address-behind-the-function", .at = SAMPLE_CODE_SIZE,
	    .err = -ENOENT },
	{ .name = "address-before-the-function", .at = -1, .err = -ENOENT },
	{ .name = "address-behind-the-function-without-search-table",
	    .at = SAMPLE_CODE_SIZE, .part = IN_HDR, .patch = "01 1b ff ff",
	    .err = -ENOENT },
};

static inline bool
cfi_rules_equal(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->base == b->base && a->rbp == b->rbp &&
	    a->outermost == b->outermost && a->signal == b->signal &&
	    a->ra_at_rsp == b->ra_at_rsp && a->cfa == b->cfa &&
	    a->rbp_off == b->rbp_off && a->ra == b->ra;
}

#define CFI_GOOD (sizeof(cfi_good) / sizeof(cfi_good[0]))
#define CFI_REFUSED (sizeof(cfi_refused) / sizeof(cfi_refused[0]))

#endif
