/*
 * fuzz_stress: any bytes as each of the kernel's files that stress reads.
 *
 * Claims: six numbers written as the kernel writes them are read back; a number is
 * never read from a text that has none; the result does not depend on bytes after
 * the last line; a packed sample that is accepted is the same when it is packed
 * again, and rows of the kernel's memory are the same when they are printed and parsed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../../src/base/base.h"
#include "../../src/stress/stress.h"
#include "fuzz.h"

static void
read_back(const uint64_t n[STRESS_LEVELS])
{
	uint64_t again[STRESS_LEVELS];
	char line[160];
	int len = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %" PRIu64
	    " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n[0], n[1], n[2], n[3],
	    n[4], n[5]);

	claim(stress_read_six(line, (size_t)len, again) == STRESS_SIX &&
	    memcmp(n, again, sizeof again) == 0, "six numbers come back");
	claim(stress_read_six(line, (size_t)len - 1, again) != STRESS_SIX,
	    "a line that is cut is no line");
}

static bool
has_digit(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] >= '0' && text[i] <= '9')
			return true;
	return false;
}

static void
whole_lines(const char *text, size_t len)
{
	const char *last = memrchr(text, '\n', len);
	size_t whole = last == NULL ? 0 : (size_t)(last - text) + 1;
	struct stress_vmstat all, lines;
	unsigned known = 0;

	stress_read_vmstat(text, len, &all);
	stress_read_vmstat(text, whole, &lines);
	claim(memcmp(&all, &lines, sizeof all) == 0, "a line without an end is "
	    "not read");
	for (size_t i = 0; i < STRESS_KEYS; i++) {
		claim(all.known[i] || all.n[i] == 0, "unknown numbers are 0");
		known += all.known[i];
	}
	claim(known == 0 || has_digit(text, len), "a known number was written");
}

static void
pack_again(const uint8_t *bytes, size_t len)
{
	uint8_t once[STRESS_PACKED_MAX], twice[STRESS_PACKED_MAX];
	struct stress_sample s, again;
	size_t n;

	if (stress_get(&s, bytes, len) < 0)
		return;
	n = stress_put(once, &s);
	claim(stress_get(&again, once, n) == 0 &&
	    stress_put(twice, &again) == n && memcmp(once, twice, n) == 0,
	    "a sample comes back");
}

static void
print_again(enum stress_table table, const char *text, size_t len)
{
	size_t cap = 4 * len + 256, n;
	struct stress_memory m, again;
	char *lines;

	if (stress_parse_memory(&m, table, text, len) < 0)
		return;
	for (int order = 0; order < STRESS_ORDERS; order++)
		stress_sort_memory(&m, (enum stress_order)order);
	lines = malloc(cap);
	if (lines == NULL)
		abort();
	n = stress_print_memory(&m, lines, cap);
	claim(stress_parse_memory(&again, table, lines, n) == 0 &&
	    again.n == m.n && again.bytes == m.bytes && again.bad == 0,
	    "rows come back");
	for (size_t i = 0; i < m.n && i < 4; i++)
		claim(stress_find_memory(&again, (char *)m.row + i * m.size) != NULL,
		    "a row is found");
	stress_free_memory(&again);
	stress_free_memory(&m);
	free(lines);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes;
	uint64_t n[STRESS_LEVELS], some = 1, full = 1;

	if (len == 0)
		return 0;
	if (stress_read_six(text, len, n) == STRESS_SIX)
		read_back(n);
	pack_again(bytes, len);
	whole_lines(text, len);
	print_again(STRESS_BY_SITE, text, len);
	print_again(STRESS_BY_CACHE, text, len);
	n[0] = 7;
	if (!stress_read_pressure(text, len, &some, &full))
		claim(some == 1 && full == 1, "results are untouched on failure");
	if (!stress_read_key(text, len, "oom_kill", &n[0]))
		claim(n[0] == 7, "a key that is not there changes nothing");
	else
		claim(has_digit(text, len), "a key's number was written");
	return 0;
}
