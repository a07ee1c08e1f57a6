/*
 * A line of /proc/PID/maps, taken apart field by field; or what the kernel
 * answers there.
 */
#include "maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define DELETED " (deleted)"

/* PROCMAP_QUERY of linux/fs.h, which older headers do not have. */
struct query {
	uint64_t size;
	uint64_t flags;
	uint64_t addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define QUERY_EXECUTABLE 4
#define QUERY_THIS_OR_NEXT 16

/* A number and the one character that ends it; false if either is missing. */
static bool
take_number(char **at, int base, char end, uint64_t *n)
{
	static const char digits[] = "0123456789abcdef";
	char *after;

	if (**at == '\0' || strchr(digits, **at) == NULL)
		return false;
	*n = strtoull(*at, &after, base);
	if (*after != end)
		return false;
	*at = after + 1;
	return true;
}

/* Turns \012 back into the newline it stands for. */
static void
unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static bool
cut_deleted(char *path)
{
	size_t len = strlen(path), tail = strlen(DELETED);

	if (len <= tail || strcmp(path + len - tail, DELETED) != 0)
		return false;
	path[len - tail] = '\0';
	return true;
}

int
maps_parse(char *line, struct maps_line *out)
{
	struct maps_line m = { .path = "" };
	uint64_t major, minor;
	char *at = line, *perms;

	line[strcspn(line, "\n")] = '\0';
	if (!take_number(&at, 16, '-', &m.start) ||
	    !take_number(&at, 16, ' ', &m.end) || m.start >= m.end)
		return -EBADMSG;
	perms = at;
	if (strlen(perms) < 5 || perms[4] != ' ')
		return -EBADMSG;
	m.executable = perms[2] == 'x';
	at = perms + 5;
	if (!take_number(&at, 16, ' ', &m.offset) ||
	    !take_number(&at, 16, ':', &major) ||
	    !take_number(&at, 16, ' ', &minor))
		return -EBADMSG;
	/* Without a path the line may end right behind the inode. */
	if (at[strspn(at, "0123456789")] == '\0') {
		if (*at == '\0')
			return -EBADMSG;
		m.inode = strtoull(at, NULL, 10);
	} else {
		if (!take_number(&at, 10, ' ', &m.inode))
			return -EBADMSG;
		at += strspn(at, " ");
		m.deleted = cut_deleted(at);
		unescape(at);
		m.path = at;
	}
	*out = m;
	return 0;
}

int
maps_next_code(int fd, uint64_t from, char path[PATH_MAX],
    struct maps_line *out)
{
	struct query q = {
		.size = sizeof(q),
		.flags = QUERY_EXECUTABLE | QUERY_THIS_OR_NEXT,
		.addr = from,
		.name_size = PATH_MAX,
		.name = (uintptr_t)path,
	};

	if (ioctl(fd, QUERY, &q) < 0)
		return -errno;
	/* It says how long the name is, with its end; none has no length. */
	if (q.name_size == 0)
		path[0] = '\0';
	*out = (struct maps_line){
		.start = q.start,
		.end = q.end,
		.offset = q.offset,
		.inode = q.inode,
		.executable = true,
		.deleted = cut_deleted(path),
		.path = path,
	};
	return 0;
}
