/*
 * A capture whose node was killed is continued by the next process of the node: in a
 * segment of its own behind the last whole block, each image in its part.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../reader/reader.h"
#include "recording.h"

#define FILES_MAX (UINT64_C(1) << 20)	/* of a ring */
#define EVENTS_MAX (UINT64_C(8) << 20)	/* behind the last checkpoint of a part */
#define SAME_NS INT64_C(2000000000)	/* the start of a process is read anew */

static int
cut_file(struct segments *o, const struct capture *c)
{
	if (ftruncate(o->fd, (off_t)c->scan.whole) < 0)
		return -errno;
	o->bytes = o->at = o->reserved = c->scan.whole;
	return 0;
}

/*
 * A last file without a whole segment head is none.  The folder's owner may have a lease
 * of the file, for which nobody waits here, or have put another one in its place.
 */
static int
cut_last(struct segments *o, const struct capture *c)
{
	const char *name = c->files.at[c->files.n - 1];
	struct stat st;
	int fd, err = 0;

	if (c->scan.whole == 0)
		return unlinkat(o->folder, name, 0) < 0 ? -errno : 0;
	fd = openat(o->folder, name,
	    O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == EWOULDBLOCK ? -EACCES : -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (st.st_nlink != 1)
		err = -EEXIST;
	else if (ftruncate(fd, (off_t)c->scan.whole) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int
take_files(struct segments *o, const struct capture *c)
{
	uint64_t n = o->number - o->oldest + 1;
	char name[SEGMENT_NAME];
	struct stat st;
	int err = o->number < o->oldest || n > FILES_MAX ? -EBADMSG :
	    cut_last(o, c);

	if (err < 0)
		return err;
	o->size = calloc((size_t)n, sizeof *o->size);
	if (o->size == NULL)
		return -ENOMEM;
	o->nsizes = o->size_cap = (size_t)n;
	for (size_t i = 0; i < o->nsizes; i++) {
		segment_name(name, o->oldest + i);
		if (fstatat(o->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			o->size[i] = (uint64_t)st.st_size;
		o->bytes += o->size[i];
	}
	return 0;
}

int
resume_segments(struct segments *o, struct capture **before)
{
	char path[32], why[CAPTURE_WHY];
	struct capture *c;
	int err;

	snprintf(path, sizeof path, "/proc/self/fd/%d", o->folder >= 0 ?
	    o->folder : o->fd);
	err = reader_open_heads(&c, path, why);
	if (err < 0)
		return err == -EBADMSG || err == -ENOTSUP ? -EEXIST : err;
	o->id = c->about.id;
	o->oldest = c->about.oldest;
	o->number = c->segments.at[c->segments.n - 1].number;
	err = c->about.ended ? -EEXIST : o->folder >= 0 ? take_files(o, c) :
	    cut_file(o, c);
	if (err < 0)
		capture_close(c);
	else
		*before = c;
	return err;
}

/* The last part of that image that has no end; 0: none. */
static uint32_t
find_part(const struct capture *c, const struct capture_part *p)
{
	struct capture_part_info i;

	for (uint32_t no = c->about.parts; no > 0; no--) {
		if (!capture_part(c, no, &i) || i.ended ||
		    i.part.pid != p->pid || strcmp(i.part.stream, p->stream) != 0)
			continue;
		if (i.part.start_ns - p->start_ns < SAME_NS &&
		    p->start_ns - i.part.start_ns < SAME_NS)
			return no;
	}
	return 0;
}

static int
seek_end(struct capture *c, uint32_t no, struct capture_list **l)
{
	const struct capture_when end = { .at = CAPTURE_AT_END };
	const struct reader_part *p = reader_part(c, no);
	uint64_t from = p->info.part.first;
	int err;

	if (p->checks.n > 0)
		from = c->entries.at[p->checks.at[p->checks.n - 1]].first;
	if (p->info.next > from && p->info.next - from > EVENTS_MAX)
		return -EFBIG;
	err = capture_seek(c, no, &end, l);
	/* It has neither event nor state. */
	if (err != -ENOENT)
		return err;
	err = capture_list_new(l, p->info.part.options);
	if (err == 0) {
		(*l)->seq = p->info.next;
		(*l)->ms = p->info.last_ms;
	}
	return err;
}

void
resume_part_free(struct resumed_part *p)
{
	if (p == NULL)
		return;
	capture_list_free(p->list);
	bytes_fini(&p->definition);
	free(p->requester);
	free(p);
}

static int
take_requesters(const struct capture *c, uint32_t no, struct resumed_part *p)
{
	struct blklist_info info;
	void *all;

	while (p->nrequesters < UINT16_MAX && capture_requester(c, no,
	    (uint16_t)(p->nrequesters + 1), &info)) {
		all = p->requester;
		if (base_grow(&all, &p->requester_cap, p->nrequesters + 1,
		    sizeof info) < 0)
			return -ENOMEM;
		p->requester = all;
		p->requester[p->nrequesters++] = info;
	}
	return 0;
}

int
resume_part(struct capture *c, uint32_t no, bool lives, struct resumed_part **out)
{
	struct resumed_part *p = calloc(1, sizeof *p);
	struct capture_part_info i;
	int err = 0;

	if (p == NULL)
		return -ENOMEM;
	if (!capture_part(c, no, &i))
		err = -ENOENT;
	if (err == 0 && lives)
		err = seek_end(c, no, &p->list);
	else if (err == 0)
		err = capture_list_new(&p->list, i.part.options);
	if (err == 0)
		err = take_requesters(c, no, p);
	if (err == 0) {
		define_part(&p->definition, &i.part);
		p->lives = lives;
		p->first = i.part.first;
		p->ms = i.part.ms;
		p->next = i.next;
		p->store = i.part.store;
		err = p->definition.failed ? -ENOMEM : 0;
	}
	if (err == 0)
		*out = p;
	else
		resume_part_free(p);
	return err;
}

int
resume_find(struct capture *c, const struct capture_part *part, uint32_t *no,
    struct resumed_part **out)
{
	*no = find_part(c, part);
	return *no == 0 ? -ENOENT : resume_part(c, *no, true, out);
}
