/*
 * The picture of a page as text into a new file in the current directory.  An
 * existing file is never touched, and a half-written one is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "app.h"
#include "pages.h"

#define TRIES 10

/* A name that any file system and shell takes. */
static void
plain_name(const struct nodes_look *look, char out[40])
{
	size_t len = 0;
	const char *p;

	out[0] = '\0';
	for (p = look->target_name; *p != '\0'; p++)
		base_append(out, 40, &len, "%c",
		    (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		    (*p >= '0' && *p <= '9') || *p == '_' || *p == '-' ?
		    *p : '_');
	if (len == 0)
		base_append(out, 40, &len, "%04X", look->node_number);
}

static int
open_new(const struct nodes_look *look, char *path, size_t cap)
{
	char name[40], stamp[32];
	time_t t = (time_t)(base_wall_ms() / 1000);
	struct tm tm;
	int fd = -1, i;

	plain_name(look, name);
	localtime_r(&t, &tm);
	if (strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm) == 0)
		stamp[0] = '\0';
	for (i = 1; i <= TRIES; i++) {
		if (i == 1)
			snprintf(path, cap, "pagek-%s-%s.txt", name, stamp);
		else
			snprintf(path, cap, "pagek-%s-%s-%d.txt", name, stamp,
			    i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd >= 0 ? fd : -errno;
}

static int
write_picture(int fd, const struct page_picture *pic)
{
	int i, r;

	for (i = 0; i < pic->rows; i++) {
		r = base_write_all(fd, pic->line[i].text,
		    strlen(pic->line[i].text));
		if (r == 0)
			r = base_write_all(fd, "\n", 1);
		if (r < 0)
			return r;
	}
	return 0;
}

int
app_save(struct app *app, char *path, size_t cap)
{
	struct page_picture pic = { 0 };
	const struct nodes_look *look = nodes_session_look(app->session);
	int fd, r;

	snprintf(path, cap, "the picture");
	r = app_page_shown(app)->save(app, &pic);
	if (r < 0)
		goto out;
	r = fd = open_new(look, path, cap);
	if (r < 0)
		goto out;
	r = write_picture(fd, &pic);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlink(path);
out:
	page_picture_fini(&pic);
	return r;
}
