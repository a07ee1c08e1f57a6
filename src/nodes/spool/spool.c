#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "index.h"

#define FOLDER_MODE 0700
#define REFRESH_MS 1000

int
spool_path(bool system, char out[SPOOL_PATH])
{
	if (!system)
		return base_state_path(out, SPOOL_PATH, "pagek/listings");
	strcpy(out, SPOOL_SYSTEM);
	return 0;
}

/* -ENOENT, or why a missing folder could not be made. */
static int
why_missing(const char *path)
{
	char above[SPOOL_PATH], *up = above;

	strcpy(above, path);
	for (;;) {
		up = dirname(up);
		if (faccessat(AT_FDCWD, up, W_OK | X_OK, AT_EACCESS) == 0)
			return -ENOENT;
		if (errno != ENOENT)
			return -errno;
	}
}

static int
make_folder(const char *path)
{
	int r = base_folders_above(path);

	if (r == 0 && mkdir(path, FOLDER_MODE) < 0 && errno != EEXIST)
		r = -errno;
	return r;
}

static const char *
refuse_folder(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (st.st_uid != geteuid())
		return "it is another user's";
	if ((st.st_mode & 077) != 0)
		return "others may look into it: its mode has to be 0700";
	return NULL;
}

/* The path's last part must be no link.  made: error of making it, or 0. */
static int
open_folder(const char *path, int made, char *why, size_t cap)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = -errno;
	const char *reason;
	struct stat st;

	if (fd < 0) {
		if (err == -ENOENT)
			err = made < 0 ? made : why_missing(path);
		reason = lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ?
		    "it is a symbolic link" : strerror(-err);
	} else {
		reason = refuse_folder(fd);
		err = -EPERM;
	}
	if (reason == NULL)
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(why, cap, "nothing is stored in the spool %s: %s", path,
	    reason);
	return err;
}

int
spool_open(struct spool **out, const struct spool_opts *o, char *why,
    size_t cap)
{
	char path[SPOOL_PATH];
	struct spool *s;
	int made = 0, r;
	size_t len;

	if (strlen(o->path) >= sizeof path || o->path[0] == '\0') {
		snprintf(why, cap, "the spool has no usable path");
		return -ENAMETOOLONG;
	}
	strcpy(path, o->path);
	/* With a slash at the end, a link would be followed. */
	for (len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	if (!o->existing)
		made = make_folder(path);
	s = calloc(1, sizeof *s);
	if (s == NULL) {
		snprintf(why, cap, "out of memory");
		return -ENOMEM;
	}
	s->max = (struct spool_room){
		.peer = o->peer_max != 0 ? o->peer_max : SPOOL_PEER_MAX,
		.user = o->user_max != 0 ? o->user_max : SPOOL_USER_MAX,
		.total = o->total_max != 0 ? o->total_max : SPOOL_TOTAL_MAX };
	s->turn_ms = o->turn_ms;
	s->patience_ms = (int64_t)(o->patience_s != 0 ? o->patience_s :
	    SPOOL_PATIENCE_S) * 1000;
	TAILQ_INIT(&s->arrivals);
	s->dir = r = open_folder(path, made, why, cap);
	if (r >= 0) {
		r = spool_scan(s);
		if (r < 0)
			snprintf(why, cap, "cannot read the spool %s: %s",
			    path, strerror(-r));
	}
	if (r < 0) {
		spool_close(s);
		return r;
	}
	*out = s;
	return 0;
}

bool
spool_is_there(const struct spool *s)
{
	struct stat st;

	return fstat(s->dir, &st) < 0 ? errno != ESTALE : st.st_nlink > 0;
}

unsigned
spool_arriving(const struct spool *s)
{
	return s->narrivals;
}

void
spool_refresh(struct spool *s)
{
	struct stat st;

	if (s->reading != NULL ||
	    mono_ms(mono_now()) - s->begun_ms < REFRESH_MS)
		return;
	if (fstat(s->dir, &st) == 0 &&
	    st.st_mtim.tv_sec == s->changed.tv_sec &&
	    st.st_mtim.tv_nsec == s->changed.tv_nsec)
		return;
	(void)spool_scan(s);
}

bool
spool_is_known(const struct spool *s)
{
	return s->known;
}

bool
spool_is_reading(const struct spool *s)
{
	return s->reading != NULL;
}

void
spool_turn(struct spool *s)
{
	if (s->reading != NULL)
		(void)spool_scan(s);
}

ssize_t
spool_read(const struct spool *s, const struct spool_entry *e, unsigned part,
    uint32_t at, void *out, size_t max, struct spool_part *of)
{
	struct spool_head h;
	size_t head_len;
	ssize_t n = 0;
	int fd;

	if (part < 1 || part > e->parts || (e->have >> (part - 1) & 1) == 0)
		return -ENOENT;
	fd = spool_file_open(s->dir, e->name, part, false, &h, &head_len);
	if (fd < 0)
		return fd;
	if (at < h.bytes) {
		if (max > h.bytes - at)
			max = h.bytes - at;
		n = pread(fd, out, max, (off_t)head_len + at);
		if (n < 0)
			n = -errno;
	}
	close(fd);
	of->size = h.bytes;
	memcpy(of->sum, h.sum, sizeof of->sum);
	return n;
}
