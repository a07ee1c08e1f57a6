/*
 * Known limits
 *	64-bit lengths of entries, that no x86-64 compiler writes: -ENOTSUP.
 *	An object without a search table is read through, WALK_MAX entries far.
 */
#include <errno.h>

#include "cfi_table.h"

#define WALK_MAX 16384		/* entries: about a millisecond */

/* --- entries ------------------------------------------------------------- */

/* What lies in the entry at `at` behind its length; empty: the last one. */
static struct cursor
entry_at(const struct cfi_table *t, uintptr_t at)
{
	struct cursor c = { t->lo, t->hi, false };
	uint64_t len;

	if (at < (uintptr_t)t->lo || at > (uintptr_t)t->hi) {
		cursor_spoil(&c);
		return c;
	}
	c.at += at - (uintptr_t)t->lo;
	len = cursor_fixed(&c, 4);
	return cursor_piece(&c, c.bad || len == UINT32_MAX ? UINT64_MAX : len);
}

/*
 * The letters behind 'z', each with data of its own.  One that we do not know
 * may change what the program means.
 */
static int
read_augmentation(struct cursor *letters, struct cursor *data,
    struct cfi_cie *cie)
{
	uint8_t letter, encoding;

	while ((letter = cursor_byte(letters)) != 0) {
		switch (letter) {
		case 'L':
			cursor_byte(data);
			break;
		case 'P':
			encoding = cursor_byte(data);
			if ((encoding & PE_BASE) == PE_ALIGNED)
				return -ENOTSUP;
			if (encoding != PE_OMIT)
				cursor_encoded(data, encoding);
			break;
		case 'R':
			cie->encoding = cursor_byte(data);
			break;
		case 'S':
			cie->signal = true;
			break;
		default:
			return -ENOTSUP;
		}
	}
	return letters->bad || data->bad ? -ENOTSUP : 0;
}

static int
cie_read(const struct cfi_table *t, uintptr_t at, struct cfi_cie *cie)
{
	struct cursor c = entry_at(t, at), letters, data;
	uint8_t version;
	uint64_t ra;

	*cie = (struct cfi_cie){ .encoding = PE_ABSPTR };
	if (cursor_fixed(&c, 4) != 0)
		return -ENOTSUP;
	version = cursor_byte(&c);
	letters = c;
	while (cursor_byte(&c) != 0)
		continue;
	/* Addresses of 8 bytes, no segments. */
	if (version == 4 && cursor_fixed(&c, 2) != 8)
		return -ENOTSUP;
	cie->code_align = cursor_uleb(&c);
	cie->data_align = cursor_sleb(&c);
	ra = version == 1 ? cursor_byte(&c) : cursor_uleb(&c);
	if (c.bad || ra != DWARF_RA ||
	    (version != 1 && version != 3 && version != 4))
		return -ENOTSUP;
	if (*letters.at != 0) {
		if (cursor_byte(&letters) != 'z')
			return -ENOTSUP;
		cie->augmented = true;
		data = cursor_piece(&c, cursor_uleb(&c));
		if (read_augmentation(&letters, &data, cie) != 0)
			return -ENOTSUP;
	}
	cie->program = c;
	return c.bad ? -ENOTSUP : 0;
}

static int
fde_read(const struct cfi_table *t, uintptr_t at, struct cfi_fde *fde)
{
	struct cursor c = entry_at(t, at);
	uintptr_t id_at = (uintptr_t)c.at;
	uint64_t back;

	back = cursor_fixed(&c, 4);
	if (c.bad || back == 0 ||
	    cie_read(t, id_at - (uintptr_t)back, &fde->cie) != 0)
		return -ENOTSUP;
	fde->start = cursor_pointer(&c, fde->cie.encoding, NULL);
	fde->size = (uintptr_t)cursor_encoded(&c, fde->cie.encoding);
	if (fde->cie.augmented)
		cursor_piece(&c, cursor_uleb(&c));
	fde->program = c;
	return c.bad || fde->size > INTPTR_MAX ? -ENOTSUP : 0;
}

static bool
fde_has(const struct cfi_fde *fde, uintptr_t pc)
{
	return pc >= fde->start && pc - fde->start < fde->size;
}

/* --- the search ---------------------------------------------------------- */

#define SEARCH_TABLE (PE_DATAREL | PE_SDATA4)
#define SEARCH_ENTRY 8		/* bytes: start of a function, its entry */

static int32_t
word_at(const uint8_t *p)
{
	struct cursor c = { p, p + 4, false };

	return (int32_t)cursor_fixed(&c, 4);
}

/* The last entry that starts at pc or before it. */
static int
search(const struct cfi_table *t, const struct cursor *c, uint64_t count,
    uintptr_t pc, struct cfi_fde *fde)
{
	int64_t want = (int64_t)(pc - (uintptr_t)t->hdr);
	size_t first = 0, end, mid;
	const uint8_t *entries = c->at;
	int err;

	if (count > (size_t)(c->end - c->at) / SEARCH_ENTRY)
		return -ENOTSUP;
	end = (size_t)count;
	while (first < end) {
		mid = first + (end - first) / 2;
		if (word_at(entries + mid * SEARCH_ENTRY) <= want)
			first = mid + 1;
		else
			end = mid;
	}
	if (first == 0)
		return -ENOENT;
	err = fde_read(t, (uintptr_t)t->hdr + (uintptr_t)(intptr_t)word_at(
	    entries + (first - 1) * SEARCH_ENTRY + 4), fde);
	if (err != 0)
		return err;
	return fde_has(fde, pc) ? 0 : -ENOENT;
}

/* Without a search table: one entry after the other. */
static int
walk(const struct cfi_table *t, uintptr_t at, uintptr_t pc,
    struct cfi_fde *fde)
{
	struct cursor c;
	unsigned n;

	for (n = 0; n < WALK_MAX; n++) {
		c = entry_at(t, at);
		if (c.bad)
			return -ENOTSUP;
		if (c.at == c.end)
			return -ENOENT;
		if (fde_read(t, at, fde) == 0 && fde_has(fde, pc))
			return 0;
		at = (uintptr_t)c.end;
	}
	return -ENOTSUP;
}

int
cfi_table_find(const struct cfi_table *t, uintptr_t pc, struct cfi_fde *fde)
{
	struct cursor c = { t->hdr, t->hi, false };
	uint8_t version, frame_enc, count_enc, table_enc;
	uintptr_t eh_frame;
	uint64_t count;

	if (t->hdr < t->lo || t->hdr > t->hi)
		return -ENOTSUP;
	version = cursor_byte(&c);
	frame_enc = cursor_byte(&c);
	count_enc = cursor_byte(&c);
	table_enc = cursor_byte(&c);
	if (c.bad || version != 1)
		return -ENOTSUP;
	eh_frame = cursor_pointer(&c, frame_enc, t->hdr);
	if (table_enc != SEARCH_TABLE || count_enc == PE_OMIT)
		return c.bad ? -ENOTSUP : walk(t, eh_frame, pc, fde);
	count = cursor_pointer(&c, count_enc, t->hdr);
	return c.bad ? -ENOTSUP : search(t, &c, count, pc, fde);
}
