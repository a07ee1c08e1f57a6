/*
 * The file of pagek stress --baseline: a sample that later ones are compared with.
 *
 *	pagek.stress-baseline/1
 *	# heap stress; see pagek-stress(1)
 *	time 1764288000000
 *	reader 0
 *	sample 06766d73746174...
 *	kernel 6.1.0-56-cloud-amd64
 *	node unix:/run/pagek/node
 *
 * The time is in milliseconds since 1970; the sample is that of stress_put().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "stress.h"

#define MAGIC "pagek.stress-baseline/1"
#define FILE_MAX 65536

static int
hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ?
	    c - 'a' + 10 : -1;
}

static int
read_sample(struct stress_sample *s, const char *hex)
{
	uint8_t packed[STRESS_PACKED_MAX];
	size_t len = strlen(hex);

	if (len % 2 != 0 || len / 2 > sizeof packed)
		return -EINVAL;
	for (size_t i = 0; i < len / 2; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		packed[i] = (uint8_t)(high << 4 | low);
	}
	return stress_get(s, packed, len / 2) < 0 ? -EINVAL : 0;
}

enum { TIME = 1, READER = 2, SAMPLE = 4, ALL = 7 };

static int
read_line(struct stress_baseline *b, const char *line, unsigned *seen)
{
	const char *blank = strchr(line, ' '), *text = blank != NULL ?
	    blank + 1 : "";
	size_t len = strcspn(line, " ");
	uint64_t n;
	int r = 0;

	if (strncmp(line, "time", len) == 0) {
		r = base_parse_count(text, INT64_MAX, &n);
		b->wall_ms = r == 0 ? (int64_t)n : 0;
		*seen |= TIME;
	} else if (strncmp(line, "reader", len) == 0) {
		r = base_parse_count(text, UINT64_MAX, &b->reader);
		*seen |= READER;
	} else if (strncmp(line, "sample", len) == 0) {
		r = read_sample(&b->sample, text);
		*seen |= SAMPLE;
	} else if (strncmp(line, "kernel", len) == 0) {
		base_copy_text(b->kernel, sizeof b->kernel, text);
	} else if (strncmp(line, "node", len) == 0) {
		base_copy_text(b->node, sizeof b->node, text);
	}
	return r < 0 ? -EINVAL : 0;
}

int
stress_baseline_read(const char *path, struct stress_baseline *out, bool *there)
{
	char *bytes, line[BASE_LINE_MAX + 1];
	struct stress_baseline b = { .reader = 0 };
	struct base_lines lines;
	const char *why;
	unsigned seen = 0;
	size_t len;
	int r = base_file_read(path, FILE_MAX, &bytes, &len);

	*there = r != -ENOENT;
	if (r == -ENOENT)
		return PAGEK_OK;
	if (r < 0) {
		complain("cannot read '%s': %s", path, base_file_words(r));
		return PAGEK_FAILED;
	}
	base_lines_init(&lines, bytes, len);
	if (!base_lines_next(&lines, line, &why) || why != NULL ||
	    strcmp(line, MAGIC) != 0)
		r = -EINVAL;
	while (r == 0 && base_lines_next(&lines, line, &why))
		r = why != NULL ? -EINVAL : read_line(&b, line, &seen);
	free(bytes);
	if (r == 0 && seen == ALL) {
		*out = b;
		return PAGEK_OK;
	}
	complain("'%s', line %u: this is not a baseline of 'pagek stress'", path,
	    lines.no);
	return PAGEK_FORMAT;
}

static void
put_baseline(FILE *out, const void *arg)
{
	const struct stress_baseline *b = arg;
	uint8_t packed[STRESS_PACKED_MAX];
	size_t len = stress_put(packed, &b->sample);

	fprintf(out, MAGIC "\n# heap stress; see pagek-stress(1)\ntime %" PRId64
	    "\nreader %" PRIu64 "\nsample ", b->wall_ms, b->reader);
	for (size_t i = 0; i < len; i++)
		fprintf(out, "%02x", packed[i]);
	fprintf(out, "\nkernel %s\nnode %s\n", b->kernel, b->node);
}

int
stress_baseline_write(const char *path, const struct stress_baseline *b)
{
	int r = output_replace(path, put_baseline, b);

	if (r == 0)
		return PAGEK_OK;
	complain("cannot write '%s': %s", path, base_file_words(r));
	return PAGEK_FAILED;
}

static bool
counts_on(const struct stress_baseline *b, const struct stress_baseline *now)
{
	if (b->sample.source != now->sample.source)
		return false;
	if (!stress_sources[now->sample.source].since_boot &&
	    (b->reader == 0 || b->reader != now->reader))
		return false;
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (b->sample.known[i] && now->sample.known[i] &&
		    now->sample.level[i] < b->sample.level[i])
			return false;
	return true;
}

bool
stress_baseline_spent(const struct stress_baseline *b,
    const struct stress_baseline *now, struct stress_sample *spent)
{
	if (!counts_on(b, now)) {
		*spent = now->sample;
		return false;
	}
	stress_spent(spent, &now->sample, &b->sample);
	return true;
}
