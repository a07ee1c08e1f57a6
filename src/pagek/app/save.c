#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../base/base.h"
#include "../documents/listing.h"
#include "app.h"
#include "pages.h"

#define TRIES 10

/* The target's name without characters that file systems or shells refuse. */
static void
plain_name(const struct nodes_look *look, char out[40])
{
	size_t len = 0;
	const char *p;

	out[0] = '\0';
	for (p = look->target.name; *p != '\0'; p++)
		base_append(out, 40, &len, "%c",
		    (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		    (*p >= '0' && *p <= '9') || *p == '_' || *p == '-' ?
		    *p : '_');
	if (len == 0)
		base_append(out, 40, &len, "%04X", look->node.number);
}

static void
make_path(
    const struct nodes_look *look, time_t t, int i, char *path, size_t cap)
{
	char name[40], stamp[32];
	struct tm tm;

	plain_name(look, name);
	localtime_r(&t, &tm);
	if (strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm) == 0)
		stamp[0] = '\0';
	if (i == 1)
		snprintf(path, cap, "pagek-%s-%s.txt", name, stamp);
	else
		snprintf(path, cap, "pagek-%s-%s-%d.txt", name, stamp, i);
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

static int
save_as(const char *path, const struct page_picture *pic)
{
	struct whole_file file;
	int r = whole_file_open(&file, path, WHOLE_FILE_NEW);

	if (r == 0)
		r = write_picture(file.fd, pic);
	if (r == 0)
		r = whole_file_publish(&file, false);
	whole_file_close(&file);
	return r;
}

int
app_save(struct app *app, char *path, size_t cap)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	time_t now = (time_t)(base_wall_ms() / 1000);
	struct page_picture pic = { 0 };
	int r;

	snprintf(path, cap, "the picture");
	r = app_page_shown(app)->save(app, &pic);
	for (int i = 1; r == 0 || (r == -EEXIST && i <= TRIES); i++) {
		make_path(look, now, i, path, cap);
		r = save_as(path, &pic);
		if (r == 0)
			break;
	}
	page_picture_fini(&pic);
	return r;
}
