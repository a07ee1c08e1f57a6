#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <nettle/base16.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../base/base.h"
#include "file.h"

#define MAGIC "pagek-listing 1"
#define SUM_DIGITS BASE16_ENCODE_LENGTH(WIRE_SHA256)

bool
spool_name_ok(const char *text, size_t len)
{
	static const char shape[] = "00000000-000000-0000";

	if (len != sizeof shape - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		if (shape[i] == '-' ? text[i] != '-' :
		    text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

void
spool_file_name(char out[SPOOL_FILE_NAME], const char *name, unsigned part,
    bool writing)
{
	snprintf(out, SPOOL_FILE_NAME, "%s.%u%s", name, part,
	    writing ? "~" : "");
}

bool
spool_file_parse(const char *file, char name[SPOOL_NAME], unsigned *part,
    bool *writing)
{
	char again[SPOOL_FILE_NAME];
	size_t len = strcspn(file, ".");

	if (!spool_name_ok(file, len) || file[len] != '.')
		return false;
	memcpy(name, file, len);
	name[len] = '\0';
	*part = (unsigned)strtoul(file + len + 1, NULL, 10);
	*writing = file[strlen(file) - 1] == '~';
	if (*part < 1 || *part > WIRE_LISTING_PARTS)
		return false;
	/* No blank, no sign, no leading zero. */
	spool_file_name(again, name, *part, *writing);
	return strcmp(again, file) == 0;
}

static void
format_time(char *out, size_t cap, int64_t wall_ms)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm = { 0 };
	char text[32];

	gmtime_r(&s, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, cap, "%s.%03dZ", text, (int)(wall_ms % 1000));
}

static int
parse_time(const char *text, int64_t *wall_ms)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	unsigned ms;
	int at = 0;

	if (rest == NULL || sscanf(rest, ".%3uZ%n", &ms, &at) != 1 ||
	    at != 5 || rest[at] != '\0')
		return -EBADMSG;
	*wall_ms = (int64_t)timegm(&tm) * 1000 + ms;
	return 0;
}

static int
parse_sum(const char *text, uint8_t sum[WIRE_SHA256])
{
	uint8_t bytes[BASE16_DECODE_LENGTH(SUM_DIGITS)];
	struct base16_decode_ctx ctx;
	size_t n = sizeof bytes;

	base16_decode_init(&ctx);
	if (strlen(text) != SUM_DIGITS ||
	    !base16_decode_update(&ctx, &n, bytes, SUM_DIGITS, text) ||
	    n != WIRE_SHA256)
		return -EBADMSG;
	memcpy(sum, bytes, WIRE_SHA256);
	return 0;
}

size_t
spool_head_make(char out[SPOOL_HEAD_MAX], const struct spool_head *h)
{
	char when[48], sum[SUM_DIGITS];
	size_t len = 0;

	format_time(when, sizeof when, h->wall_ms);
	base16_encode_update(sum, WIRE_SHA256, h->sum);
	base_append(out, SPOOL_HEAD_MAX, &len, MAGIC "\n"
	    "name: %s\n" "part: %u of %u\n" "from: %s\n" "uid: %" PRIu32 "\n"
	    "time: %s\n" "title: %s\n" "bytes: %" PRIu32 "\n"
	    "sha256: %.*s\n\n", h->name, h->part, h->parts, h->origin, h->uid,
	    when, h->title, h->bytes, SUM_DIGITS, sum);
	return len;
}

static int
parse_number(const char *text, uint32_t *out)
{
	uint64_t n;

	if (base_parse_count(text, UINT32_MAX, &n) < 0)
		return -EBADMSG;
	*out = (uint32_t)n;
	return 0;
}

static int
parse_text(const char *text, char *out, size_t cap)
{
	if (strlen(text) >= cap)
		return -EBADMSG;
	base_safe_text(out, cap, text, strlen(text), false);
	return 0;
}

static int
parse_part(const char *text, struct spool_head *h)
{
	char again[32];

	if (sscanf(text, "%2u of %2u", &h->part, &h->parts) != 2 ||
	    h->part < 1 || h->part > h->parts ||
	    h->parts > WIRE_LISTING_PARTS)
		return -EBADMSG;
	snprintf(again, sizeof again, "%u of %u", h->part, h->parts);
	return strcmp(again, text) == 0 ? 0 : -EBADMSG;
}

enum line { KIND, NAME, PART, FROM, UID, TIME, TITLE, BYTES, SUM, END, LINES };

static int
parse_line(struct spool_head *h, enum line line, const char *value)
{
	switch (line) {
	case KIND:
	case END:
		return value[0] == '\0' ? 0 : -EBADMSG;
	case NAME:
		return spool_name_ok(value, strlen(value)) ?
		    parse_text(value, h->name, sizeof h->name) : -EBADMSG;
	case PART:
		return parse_part(value, h);
	case FROM:
		return parse_text(value, h->origin, sizeof h->origin);
	case UID:
		return parse_number(value, &h->uid);
	case TIME:
		return parse_time(value, &h->wall_ms);
	case TITLE:
		return parse_text(value, h->title, sizeof h->title);
	case BYTES:
		return parse_number(value, &h->bytes);
	case SUM:
		return parse_sum(value, h->sum);
	case LINES:
		break;
	}
	return -EBADMSG;
}

ssize_t
spool_head_parse(const char *bytes, size_t len, struct spool_head *out)
{
	static const char *const keys[LINES] = { MAGIC, "name: ", "part: ",
		"from: ", "uid: ", "time: ", "title: ", "bytes: ", "sha256: ",
		"" };
	char line[BASE_LINE_MAX + 1];
	struct spool_head h = { 0 };
	struct base_lines lines;
	const char *why;

	base_lines_init(&lines, bytes, len);
	for (int i = 0; i < LINES; i++) {
		size_t key = strlen(keys[i]);

		if (!base_lines_next(&lines, line, &why) || why != NULL ||
		    strncmp(line, keys[i], key) != 0 ||
		    parse_line(&h, (enum line)i, line + key) < 0)
			return -EBADMSG;
	}
	if (h.bytes > WIRE_LISTING_PART)
		return -EBADMSG;
	*out = h;
	return lines.at - bytes;
}

static int
check_file(int fd, const char *name, unsigned part, bool writing,
    struct spool_head *h, size_t *head_len)
{
	char bytes[SPOOL_HEAD_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	n = pread(fd, bytes, sizeof bytes, 0);
	if (n < 0)
		return -errno;
	n = spool_head_parse(bytes, (size_t)n, h);
	if (n < 0)
		return (int)n;
	if (strcmp(h->name, name) != 0 || h->part != part ||
	    (!writing && st.st_size != (off_t)n + h->bytes))
		return -EBADMSG;
	*head_len = (size_t)n;
	return 0;
}

int
spool_file_open(int dir, const char *name, unsigned part, bool writing,
    struct spool_head *h, size_t *head_len)
{
	char file[SPOOL_FILE_NAME];
	int fd, r;

	spool_file_name(file, name, part, writing);
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -EBADMSG : -errno;
	r = check_file(fd, name, part, writing, h, head_len);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int
spool_write_all(int fd, const void *bytes, size_t len, off_t at)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
