#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "recording.h"

#define SEGMENT_BYTES ((uint64_t)16 << 20)
#define LEAST_BYTES ((uint64_t)32 << 10)	/* to reserve on a small disk */
#define LAST_BYTES ((uint64_t)64 << 10)	/* behind a full disk: for gaps and the end */
#define SEGMENT_LEAST ((uint64_t)64 << 10)
#define RING_SEGMENTS 8		/* at least, of a small ring */
#define PACK_LEAST 64		/* shorter payloads are not compressed */
#define FILE_MODE 0600

/* Any thread may ask how long a call to the disk has lasted. */
static void
begin_call(struct segments *o)
{
	atomic_store(&o->call_ms, (uint32_t)mono_ms(mono_now()) | 1);
}

static void
end_call(struct segments *o)
{
	atomic_store(&o->call_ms, 0);
}

uint32_t
segments_call_ms(const struct segments *o)
{
	uint32_t since = atomic_load(&o->call_ms);

	return since == 0 ? 0 : ((uint32_t)mono_ms(mono_now()) | 1) - since;
}

/* True for an error of a disk without room.  Not every disk can reserve. */
static bool
is_full(const struct segments *o, uint64_t bytes)
{
	return fallocate(o->fd, FALLOC_FL_KEEP_SIZE, (off_t)o->at,
	    (off_t)bytes) < 0 && errno == ENOSPC;
}

/* Gives back a torn block and what is reserved, but for the last blocks. */
static void
give_back(struct segments *o)
{
	o->reserved = o->at;
	if (o->fd < 0)
		return;
	(void)!ftruncate(o->fd, (off_t)o->at);
	if (!is_full(o, LAST_BYTES))
		o->reserved += LAST_BYTES;
}

static int
stop(struct segments *o, int err, const char *what)
{
	size_t len = 0;

	give_back(o);
	o->stopped = err;
	base_append(o->why, sizeof o->why, &len,
	    "%s: %s; recording goes on when there is room", what,
	    strerror(-err));
	return err;
}

static uint64_t
room_with(const struct segments *o, uint64_t ours)
{
	uint64_t kept, left;
	struct statvfs v;

	if (fstatvfs(o->folder >= 0 ? o->folder : o->fd, &v) < 0)
		return UINT64_MAX;
	kept = (uint64_t)v.f_blocks * v.f_frsize / 100 * o->keep_free;
	left = (uint64_t)v.f_bavail * v.f_frsize + ours;
	return left > kept ? left - kept : 0;
}

static uint64_t
unwritten(const struct segments *o)
{
	return o->reserved > o->at + LAST_BYTES ?
	    o->reserved - o->at - LAST_BYTES : 0;
}

static bool
is_short(const struct segments *o)
{
	return o->keep_free != 0 && room_with(o, unwritten(o)) == 0;
}

static int
write_at(struct segments *o, const uint8_t *p, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(o->fd, p + done, len - done,
		    (off_t)(o->at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

/* So a full disk is met before a block, and the last blocks have room behind it. */
static int
make_room(struct segments *o, size_t len)
{
	uint64_t more = len + LAST_BYTES + LEAST_BYTES;

	if (o->last || o->at + len + LAST_BYTES <= o->reserved)
		return 0;
	if (is_short(o))
		return -ENOSPC;
	if (is_full(o, more)) {
		more = len + LAST_BYTES;
		if (is_full(o, more))
			return -ENOSPC;
	}
	o->reserved = o->at + more;
	return 0;
}

static int
append(struct segments *o, const uint8_t *head, size_t head_len,
    const uint8_t *p, size_t len)
{
	int err;

	begin_call(o);
	err = make_room(o, head_len + len);
	if (err == 0)
		err = write_at(o, head, head_len);
	if (err == 0) {
		o->at += head_len;
		err = write_at(o, p, len);
		o->at -= head_len;
	}
	end_call(o);
	if (err < 0)
		return stop(o, err, err == -ENOSPC ? "the disk is almost full" :
		    "cannot write");
	o->at += head_len + len;
	o->bytes += head_len + len;
	o->unsynced += head_len + len;
	if (o->nsizes > 0)
		o->size[o->nsizes - 1] = o->at;
	return 0;
}

void
segment_name(char out[SEGMENT_NAME], uint64_t number)
{
	snprintf(out, SEGMENT_NAME, "%08llu" FORMAT_SUFFIX, (unsigned long long)number);
}

static void
close_file(struct segments *o)
{
	if (o->fd < 0)
		return;
	(void)!ftruncate(o->fd, (off_t)o->at);
	segments_sync(o);
	if (o->folder >= 0) {
		close(o->fd);
		o->fd = -1;
	}
}

static void
drop_oldest(struct segments *o)
{
	char name[SEGMENT_NAME];

	while (o->nsizes > 1 && o->bytes + o->segment_bytes > o->ring) {
		segment_name(name, o->oldest);
		unlinkat(o->folder, name, 0);
		o->bytes -= o->size[0];
		o->oldest++;
		memmove(o->size, o->size + 1, --o->nsizes * sizeof *o->size);
	}
}

static int
open_file(struct segments *o)
{
	void *sizes = o->size;
	char name[SEGMENT_NAME];

	if (base_grow(&sizes, &o->size_cap, o->nsizes + 1, sizeof *o->size) < 0)
		return -ENOMEM;
	o->size = sizes;
	segment_name(name, o->number + 1);
	o->fd = openat(o->folder, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (o->fd < 0)
		return -errno;
	o->size[o->nsizes++] = 0;
	o->at = o->reserved = 0;
	return 0;
}

/* A small disk has room for less than a segment, and others need some of it, too. */
static int
reserve(struct segments *o)
{
	uint64_t bytes = o->segment_bytes, most = room_with(o, 0) / 2;
	bool full;

	if (o->at + bytes <= o->reserved)
		return 0;
	while (bytes > most && bytes / 2 >= LEAST_BYTES)
		bytes /= 2;
	begin_call(o);
	while ((full = is_full(o, bytes + LAST_BYTES)) &&
	    bytes / 2 >= LEAST_BYTES)
		bytes /= 2;
	end_call(o);
	if (full)
		return -ENOSPC;
	o->reserved = o->at + bytes + LAST_BYTES;
	return 0;
}

int
segments_segment(struct segments *o)
{
	struct segment_head s = { .id = o->id, .number = o->number + 1,
		.wall_ns = base_wall_ns(), .node = o->node };
	uint8_t head[FORMAT_SEGMENT_HEAD];
	int err;

	if (is_short(o))
		return stop(o, -ENOSPC, "the disk is almost full");
	if (o->folder >= 0) {
		close_file(o);
		drop_oldest(o);
		err = open_file(o);
		if (err < 0)
			return stop(o, err, "cannot create a file");
	}
	err = reserve(o);
	if (err < 0)
		return stop(o, err, "cannot reserve room");
	o->begin = o->at;
	o->number++;
	format_put_segment(head, &s);
	return append(o, head, sizeof head, NULL, 0);
}

int
segments_resume(struct segments *o)
{
	o->stopped = 0;
	return segments_segment(o);
}

void
segments_resume_last(struct segments *o)
{
	o->last = true;
	o->stopped = 0;
}

bool
segments_is_full(const struct segments *o)
{
	return o->at - o->begin >= o->segment_bytes;
}

int
segments_block(struct segments *o, struct block_head *b, const struct bytes *payload)
{
	uint8_t head[FORMAT_BLOCK_HEAD];
	const uint8_t *p = payload->p;
	size_t n = 0;

	if (o->stopped != 0)
		return o->stopped;
	if (payload->failed || payload->n > FORMAT_BLOCK_MAX)
		return stop(o, -ENOMEM, "cannot encode");
	if (!o->plain && payload->n >= PACK_LEAST)
		n = pack_shrink(o->pack, o->packed, FORMAT_BLOCK_MAX, p,
		    payload->n);
	b->flags = n > 0 ? FORMAT_ZSTD : 0;
	b->decoded = (uint32_t)payload->n;
	b->len = n > 0 ? (uint32_t)n : b->decoded;
	if (n > 0)
		p = o->packed;
	b->crc = format_crc32c(p, b->len);
	format_put_block(head, b);
	return append(o, head, sizeof head, p, b->len);
}

void
segments_sync(struct segments *o)
{
	begin_call(o);
	if (o->fd >= 0 && o->unsynced > 0)
		fdatasync(o->fd);
	end_call(o);
	o->unsynced = 0;
	o->synced = mono_now();
	if (o->stopped != 0 || o->last || o->keep_free == 0)
		return;
	if (is_short(o))
		stop(o, -ENOSPC, "the disk is almost full");
	else if (unwritten(o) > LEAST_BYTES && room_with(o, 0) == 0)
		give_back(o);
}

/* 1: it has something already. */
static int
check_descriptor(const struct capture_opts *opts)
{
	struct stat st;

	if (fstat(opts->fd, &st) < 0)
		return -errno;
	if (opts->ring != 0 ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		return -EINVAL;
	if (opts->ring != 0)
		return !base_folder_is_empty(opts->fd);
	return st.st_size != 0;
}

static void
choose_segment(struct segments *o, const struct capture_opts *opts)
{
	o->segment_bytes = opts->segment_bytes != 0 ? opts->segment_bytes :
	    SEGMENT_BYTES;
	if (opts->ring == 0 || opts->segment_bytes != 0)
		return;
	if (o->segment_bytes > opts->ring / RING_SEGMENTS)
		o->segment_bytes = opts->ring / RING_SEGMENTS;
	if (o->segment_bytes < SEGMENT_LEAST)
		o->segment_bytes = SEGMENT_LEAST;
}

static void
release(struct segments *o)
{
	pack_free(o->pack);
	free(o->packed);
	free(o->size);
}

int
segments_open(struct segments *o, const struct capture_opts *opts,
    struct capture **before)
{
	int there = check_descriptor(opts), err;

	*before = NULL;
	if (there < 0)
		return there;
	*o = (struct segments){ .fd = opts->ring != 0 ? -1 : opts->fd,
		.folder = opts->ring != 0 ? opts->fd : -1, .ring = opts->ring,
		.node = opts->node, .keep_free = opts->keep_free,
		.plain = opts->plain, .oldest = 1, .synced = mono_now() };
	choose_segment(o, opts);
	if (getrandom(&o->id, sizeof o->id, 0) != sizeof o->id)
		o->id = (uint64_t)base_wall_ns();
	o->packed = malloc(FORMAT_BLOCK_MAX);
	err = o->packed == NULL ? -ENOMEM : pack_new(&o->pack);
	if (err == 0 && there)
		err = resume_segments(o, before);
	if (err == 0)
		err = segments_segment(o);
	if (err < 0) {
		capture_close(*before);
		*before = NULL;
		segments_abandon(o);
	}
	return err;
}

void
segments_abandon(struct segments *o)
{
	if (o->folder >= 0 && o->fd >= 0)
		close(o->fd);
	release(o);
}

void
segments_close(struct segments *o)
{
	close_file(o);
	close(o->folder >= 0 ? o->folder : o->fd);
	release(o);
}
