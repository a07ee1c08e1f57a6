/*
 * A part is written under a name of its own and renamed when all of it is there
 * and its sum is right, so no reader finds half of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "index.h"

#define NAMES_IN_ORDER 16	/* tried without gaps */
#define NAMES_TRIED 40

struct arrival {
	TAILQ_ENTRY(arrival) link;
	uint64_t conn;
	struct spool_entry *entry;
	unsigned part;			/* begun last */
	int fd;				/* of its file; -1 between two parts */
	struct spool_head head;
	size_t head_len;
	uint32_t at;			/* bytes of it that have come */
	uint64_t taken;			/* room of the parts before it */
	struct sha256_ctx sum;
	int64_t heard_ms;
};

struct why {
	char *text;
	size_t cap;
};

static int fail(const struct why *, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int
fail(const struct why *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, why->cap, fmt, ap);
	va_end(ap);
	return err;
}

/* The sender sees only a quota of the disk's errors. */
static int
fail_disk(const struct why *why, int err)
{
	return fail(why, err == -EDQUOT ? -EDQUOT : -EIO,
	    "the node cannot store it: %s", strerror(-err));
}

static void
arrival_free(struct spool *s, struct arrival *a)
{
	if (a->fd >= 0)
		close(a->fd);
	TAILQ_REMOVE(&s->arrivals, a, link);
	s->narrivals--;
	free(a);
}

static void
abandon(struct spool *s, struct arrival *a)
{
	struct spool_entry *e = a->entry;

	arrival_free(s, a);
	spool_entry_remove(s, e, true);
}

static void
end_arrival(struct spool *s, struct arrival *a)
{
	struct spool_entry *e = a->entry;

	e->arriving = false;
	/* A reading of the folder that is under way has skipped these. */
	e->seen = e->have;
	spool_entry_wait(s, e);
	arrival_free(s, a);
}

void
spool_conn_closed(struct spool *s, uint64_t conn)
{
	struct arrival *a, *next;

	for (a = TAILQ_FIRST(&s->arrivals); a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		if (a->conn == conn)
			end_arrival(s, a);
	}
}

static int
fail_quota(const struct why *why, const char *who, uint64_t max)
{
	char text[32];

	base_human_bytes(text, sizeof text, max);
	return fail(why, -EDQUOT, "over the quota: listings of %s may take "
	    "%s here, and none is removed to make room", who, text);
}

static int
check_room(const struct spool *s, const struct spool_head *h,
    const struct spool_entry *e, uint64_t room, const struct why *why)
{
	struct spool_room taken = spool_taken(s, e, h->uid, h->origin);

	if (taken.peer + room > s->max.peer)
		return fail_quota(why, h->origin, s->max.peer);
	if (taken.user + room > s->max.user)
		return fail_quota(why, "one user", s->max.user);
	if (taken.total + room > s->max.total)
		return fail_quota(why, "all users", s->max.total);
	return 0;
}

/* Reserves what the listing may take in all, with parts before the last full. */
static int
reserve_room(struct spool *s, const struct spool_head *h,
    const struct spool_entry *e, uint64_t room, const struct why *why)
{
	if (check_room(s, h, e, room, why) == 0)
		return 0;
	spool_refresh(s);
	return check_room(s, h, e, room, why);
}

static uint64_t
room_wanted(const struct wire_lput *l)
{
	if (l->parts == 1)
		return spool_part_room(l->total);
	return (uint64_t)(l->parts - 1) * WIRE_LISTING_PART + SPOOL_UNIT;
}

static bool
exists(const struct spool *s, const char *name, unsigned part)
{
	char file[SPOOL_FILE_NAME];
	struct stat st;

	spool_file_name(file, name, part, false);
	return fstatat(s->dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The file of a part that begins; -EEXIST when there is one of that name. */
static int
create_file(struct spool *s, const char *name, unsigned part)
{
	char file[SPOOL_FILE_NAME];
	int fd;

	spool_file_name(file, name, part, true);
	fd = openat(s->dir, file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (exists(s, name, part)) {
		close(fd);
		unlinkat(s->dir, file, 0);
		return -EEXIST;
	}
	return fd;
}

/* Finds a full disk before the first byte. */
static int
allocate(int fd, off_t len)
{
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, len) == 0)
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR ? 0 :
	    -errno;
}

static int
begin_part(struct arrival *a, const struct wire_lput *l, const struct why *why)
{
	char head[SPOOL_HEAD_MAX];
	int r;

	a->part = a->head.part = l->part;
	a->head.bytes = l->total;
	memset(a->head.sum, 0, sizeof a->head.sum);
	a->head_len = spool_head_make(head, &a->head);
	a->at = 0;
	sha256_init(&a->sum);
	r = allocate(a->fd, (off_t)a->head_len + l->total);
	if (r == 0)
		r = spool_write_all(a->fd, head, a->head_len, 0);
	return r < 0 ? fail_disk(why, r) : 0;
}

static int
rename_file(const struct spool *s, const char *from, const char *to)
{
	if (renameat2(s->dir, from, s->dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* Not supported by the file system; the folder is ours alone. */
	return renameat(s->dir, from, s->dir, to) < 0 ? -errno : 0;
}

static int
finish_part(struct spool *s, struct arrival *a, const struct wire_lput *l,
    const struct why *why)
{
	char head[SPOOL_HEAD_MAX], from[SPOOL_FILE_NAME], to[SPOOL_FILE_NAME];
	struct spool_entry *e = a->entry;
	int r;

	sha256_digest(&a->sum, sizeof a->head.sum, a->head.sum);
	if (l->sha256.len != WIRE_SHA256 ||
	    memcmp(l->sha256.p, a->head.sum, WIRE_SHA256) != 0)
		return fail(why, -EBADMSG, l->sha256.len == 0 ?
		    "part %u of %s arrived without its sum" :
		    "part %u of %s has another sum than it was sent with",
		    a->part, e->name);
	spool_head_make(head, &a->head);
	r = spool_write_all(a->fd, head, a->head_len, 0);
	close(a->fd);
	a->fd = -1;
	spool_file_name(from, e->name, a->part, true);
	spool_file_name(to, e->name, a->part, false);
	if (r == 0)
		r = rename_file(s, from, to);
	if (r < 0)
		return fail_disk(why, r);
	e->have |= UINT64_C(1) << (a->part - 1);
	e->bytes += l->total;
	a->taken += spool_part_room(l->total);
	return 0;
}

static int
check_many(const struct spool *s, uint64_t conn, const struct why *why)
{
	const struct arrival *a;
	unsigned n = 0;

	TAILQ_FOREACH(a, &s->arrivals, link)
		n += a->conn == conn;
	if (n >= SPOOL_CONN_ARRIVALS || s->narrivals >= SPOOL_ARRIVALS)
		return fail(why, -EBUSY, "%u listings are being sent "
		    "already", n >= SPOOL_CONN_ARRIVALS ? n : s->narrivals);
	return 0;
}

static int
check_known(struct spool *s, const struct why *why)
{
	int r = s->known ? 0 : spool_scan(s);

	if (r < 0)
		return fail_disk(why, r);
	return s->known ? 0 : fail(why, -EBUSY, "the node is still reading its "
	    "spool: try again in a moment");
}

/* Steps get longer if another node is far ahead: reading would be slower. */
static int
create_first(struct spool *s, struct arrival *a)
{
	unsigned step = 1;
	int fd = -EEXIST;

	for (int i = 0; i < NAMES_TRIED && fd == -EEXIST; i++) {
		if (i >= NAMES_IN_ORDER) {
			spool_skip_names(s, step);
			step *= 2;
		}
		spool_next_name(s, a->head.name);
		fd = create_file(s, a->head.name, 1);
	}
	if (fd < 0)
		return fd;
	a->fd = fd;
	return 0;
}

static void
remove_first(struct spool *s, struct arrival *a)
{
	char file[SPOOL_FILE_NAME];

	close(a->fd);
	a->fd = -1;
	spool_file_name(file, a->head.name, 1, true);
	unlinkat(s->dir, file, 0);
}

static int
begin_listing(struct spool *s, const struct spool_sender *who,
    const struct wire_lput *l, struct arrival **out, const struct why *why)
{
	struct spool_head head = { .parts = l->parts, .uid = who->uid,
		.wall_ms = base_wall_ms() };
	struct arrival *a;
	int r;

	if (l->part != 1 || l->at != 0)
		return fail(why, -EBADMSG,
		    "a listing begins with the first bytes of part 1");
	base_safe_text(head.origin, sizeof head.origin, who->origin,
	    strlen(who->origin), false);
	base_safe_text(head.title, sizeof head.title, l->title.s,
	    l->title.len, false);
	r = check_known(s, why);
	if (r == 0)
		r = check_many(s, who->conn, why);
	if (r == 0)
		r = reserve_room(s, &head, NULL, room_wanted(l), why);
	if (r < 0)
		return r;
	a = calloc(1, sizeof *a);
	if (a == NULL)
		return fail(why, -ENOMEM, "the node is out of memory");
	a->conn = who->conn;
	a->head = head;
	r = create_first(s, a);
	if (r < 0) {
		free(a);
		return fail_disk(why, r);
	}
	r = spool_entry_add(s, &a->head, &a->entry);
	if (r < 0) {
		remove_first(s, a);
		free(a);
		return fail(why, r, "the node is out of memory");
	}
	a->entry->arriving = true;
	a->entry->room = room_wanted(l);
	TAILQ_INSERT_TAIL(&s->arrivals, a, link);
	s->narrivals++;
	r = begin_part(a, l, why);
	if (r < 0) {
		abandon(s, a);
		return r;
	}
	*out = a;
	return 0;
}

static struct arrival *
find_arrival(const struct spool *s, const struct spool_sender *who,
    struct wire_text name)
{
	struct arrival *a;

	TAILQ_FOREACH(a, &s->arrivals, link)
		if (a->conn == who->conn &&
		    strlen(a->entry->name) == name.len &&
		    memcmp(a->entry->name, name.s, name.len) == 0)
			return a;
	return NULL;
}

/* Checks that the piece is the next one; begins the next part if need be. */
static int
continue_listing(struct spool *s, struct arrival *a, const struct wire_lput *l,
    const struct why *why)
{
	struct spool_entry *e = a->entry;
	uint64_t room;
	int r;

	if (l->parts != e->parts || l->part != a->part + (a->fd < 0) ||
	    l->at != (a->fd < 0 ? 0 : a->at) ||
	    (a->fd >= 0 && l->total != a->head.bytes))
		return fail(why, -EBADMSG, "a piece of %s is out of "
		    "order", e->name);
	if (a->fd >= 0)
		return 0;
	room = a->taken + (uint64_t)(e->parts - l->part) * WIRE_LISTING_PART +
	    spool_part_room(l->total);
	if (room > e->room) {
		r = reserve_room(s, &a->head, e, room, why);
		if (r < 0)
			return r;
		e->room = room;
	}
	r = create_file(s, e->name, l->part);
	if (r < 0)
		return fail_disk(why, r);
	a->fd = r;
	return begin_part(a, l, why);
}

static int
store_bytes(struct spool *s, struct arrival *a, const struct wire_lput *l,
    const struct why *why)
{
	int r;

	a->heard_ms = mono_ms(mono_now());
	r = spool_write_all(a->fd, l->bytes.p, l->bytes.len,
	    (off_t)a->head_len + a->at);
	if (r < 0)
		return fail_disk(why, r);
	if (l->bytes.len > 0)
		sha256_update(&a->sum, l->bytes.len, l->bytes.p);
	a->at += (uint32_t)l->bytes.len;
	return a->at == l->total ? finish_part(s, a, l, why) : 0;
}

int
spool_put(struct spool *s, const struct spool_sender *who,
    const struct wire_lput *l, struct spool_ack *ack, char *text, size_t cap)
{
	const struct why why = { text, cap };
	struct arrival *a = NULL;
	int r;

	if (l->name.len == 0) {
		r = begin_listing(s, who, l, &a, &why);
	} else {
		a = find_arrival(s, who, l->name);
		if (a == NULL)
			return fail(&why, -ENOENT,
			    "no listing of that name is on its way over this "
			    "connection");
		r = continue_listing(s, a, l, &why);
	}
	if (r == 0)
		r = store_bytes(s, a, l, &why);
	if (r < 0) {
		if (a != NULL)
			abandon(s, a);
		return r;
	}
	*ack = (struct spool_ack){ .entry = a->entry, .stored = a->at,
		.whole = spool_is_whole(a->entry) };
	if (ack->whole) {
		a->entry->room = a->taken;
		end_arrival(s, a);
	}
	return 0;
}

/* When any file of it was last written to, perhaps by another node. */
static int64_t
touched_ms(const struct spool *s, const struct spool_entry *e)
{
	char file[SPOOL_FILE_NAME];
	int64_t last = 0;
	struct stat st;

	for (unsigned i = 0; i < 2 * e->parts; i++) {
		spool_file_name(file, e->name, i / 2 + 1, i % 2 == 1);
		if (fstatat(s->dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (int64_t)st.st_mtim.tv_sec * 1000 > last)
			last = (int64_t)st.st_mtim.tv_sec * 1000;
	}
	return last;
}

static bool
is_due(const struct spool_entry *e, int64_t now)
{
	return !e->arriving && e->due_ms != 0 && now >= e->due_ms;
}

/* Reads the folder first: another node may have completed a listing meanwhile. */
static void
drop_due(struct spool *s, int64_t now)
{
	int64_t wall = base_wall_ms();
	bool any = !s->known;

	for (size_t i = 0; i < s->n && !any; i++)
		any = is_due(s->entry[i], now) &&
		    s->entry[i]->due_ms > s->read_ms;
	if (any && spool_scan(s) < 0)
		return;
	for (size_t i = s->n; i-- > 0;) {
		struct spool_entry *e = s->entry[i];

		if (!is_due(e, now) || e->due_ms > s->read_ms)
			continue;
		if (wall - touched_ms(s, e) < s->patience_ms)
			spool_entry_wait(s, e);
		else
			spool_entry_remove(s, e, true);
	}
}

void
spool_second(struct spool *s)
{
	int64_t now = mono_ms(mono_now());
	struct arrival *a, *next;

	for (a = TAILQ_FIRST(&s->arrivals); a != NULL; a = next) {
		next = TAILQ_NEXT(a, link);
		if (now - a->heard_ms >= s->patience_ms)
			abandon(s, a);
	}
	drop_due(s, now);
}

void
spool_close(struct spool *s)
{
	if (s == NULL)
		return;
	while (!TAILQ_EMPTY(&s->arrivals))
		end_arrival(s, TAILQ_FIRST(&s->arrivals));
	while (s->n > 0)
		spool_entry_remove(s, s->entry[s->n - 1], false);
	free(s->entry);
	if (s->reading != NULL)
		closedir(s->reading);
	if (s->dir >= 0)
		close(s->dir);
	free(s);
}
