#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "index.h"

#define NUMBER_MAX 9999
#define FRESH_S 2
#define TURN_FILES 32		/* at least, however long they take */

static void
note_name(struct spool *s, const char *name)
{
	struct tm tm = { 0 };
	time_t second;
	unsigned number;

	if (strptime(name, "%Y%m%d-%H%M%S", &tm) == NULL)
		return;
	second = timegm(&tm);
	number = (unsigned)strtoul(name + 16, NULL, 10);
	if (second < s->last_second ||
	    (second == s->last_second && number <= s->last_number))
		return;
	s->last_second = second;
	s->last_number = number;
}

/* Names are in UTC.  If the clock was set back, the last name's second goes on. */
void
spool_next_name(struct spool *s, char name[SPOOL_NAME])
{
	time_t now = (time_t)(base_wall_ms() / 1000);
	char second[SPOOL_NAME];
	struct tm tm = { 0 };

	if (now > s->last_second) {
		s->last_second = now;
		s->last_number = 0;
	}
	if (++s->last_number > NUMBER_MAX) {
		s->last_second++;
		s->last_number = 1;
	}
	gmtime_r(&s->last_second, &tm);
	strftime(second, sizeof second, "%Y%m%d-%H%M%S", &tm);
	snprintf(name, SPOOL_NAME, "%.15s-%04u", second,
	    s->last_number % (NUMBER_MAX + 1));
}

void
spool_skip_names(struct spool *s, unsigned n)
{
	s->last_number = n < NUMBER_MAX - s->last_number ?
	    s->last_number + n : NUMBER_MAX;
}

static size_t
place_of(const struct spool *s, const char *name)
{
	size_t i;

	BASE_FIND_FIRST(i, s->n, strcmp(s->entry[i]->name, name) >= 0);
	return i;
}

static struct spool_entry *
find_entry(const struct spool *s, const char *name)
{
	size_t i = place_of(s, name);

	return i < s->n && strcmp(s->entry[i]->name, name) == 0 ?
	    s->entry[i] : NULL;
}

const struct spool_entry *
spool_find(const struct spool *s, const char *name, size_t len)
{
	char word[SPOOL_NAME];

	if (!spool_name_ok(name, len))
		return NULL;
	memcpy(word, name, len);
	word[len] = '\0';
	return find_entry(s, word);
}

const struct spool_entry *
spool_after(const struct spool *s, const char *name, size_t len,
    bool (*is_for)(const void *, const struct spool_entry *), const void *arg)
{
	char word[SPOOL_NAME] = "";
	size_t i;

	/* A longer name is cut: no name of ours is between the two. */
	if (len >= sizeof word)
		len = sizeof word - 1;
	if (len > 0)
		memcpy(word, name, len);
	i = place_of(s, word);
	if (i < s->n && strcmp(s->entry[i]->name, word) == 0)
		i++;
	while (i < s->n && !is_for(arg, s->entry[i]))
		i++;
	return i < s->n ? s->entry[i] : NULL;
}

static void
entry_free(struct spool_entry *e)
{
	free(e->origin);
	free(e->title);
	free(e);
}

int
spool_entry_add(struct spool *s, const struct spool_head *h,
    struct spool_entry **out)
{
	struct spool_entry *e = calloc(1, sizeof *e);
	void *array = s->entry;
	size_t i;

	if (e == NULL)
		return -ENOMEM;
	e->origin = strdup(h->origin);
	e->title = strdup(h->title);
	if (e->origin == NULL || e->title == NULL ||
	    base_grow(&array, &s->cap, s->n + 1,
	    sizeof(struct spool_entry *)) < 0) {
		entry_free(e);
		return -ENOMEM;
	}
	s->entry = array;
	strcpy(e->name, h->name);
	e->uid = h->uid;
	e->parts = h->parts;
	e->wall_ms = h->wall_ms;
	i = place_of(s, e->name);
	memmove(s->entry + i + 1, s->entry + i,
	    (s->n - i) * sizeof *s->entry);
	s->entry[i] = e;
	s->n++;
	note_name(s, e->name);
	*out = e;
	return 0;
}

void
spool_entry_remove(struct spool *s, struct spool_entry *e, bool files)
{
	size_t i = place_of(s, e->name);
	char file[SPOOL_FILE_NAME];

	for (unsigned part = 1; files && part <= e->parts; part++) {
		spool_file_name(file, e->name, part, true);
		unlinkat(s->dir, file, 0);
		spool_file_name(file, e->name, part, false);
		unlinkat(s->dir, file, 0);
	}
	s->n--;
	memmove(s->entry + i, s->entry + i + 1,
	    (s->n - i) * sizeof *s->entry);
	entry_free(e);
}

void
spool_entry_wait(const struct spool *s, struct spool_entry *e)
{
	e->due_ms = spool_is_whole(e) ? 0 :
	    mono_ms(mono_now()) + s->patience_ms;
}

uint64_t
spool_part_room(uint32_t bytes)
{
	uint64_t units = ((uint64_t)bytes + SPOOL_UNIT - 1) / SPOOL_UNIT;

	return (units > 0 ? units : 1) * SPOOL_UNIT;
}

static bool
is_same_origin(const char *a, const char *b)
{
	const char *claim_a = strstr(a, SPOOL_CLAIM);
	const char *claim_b = strstr(b, SPOOL_CLAIM);
	size_t len_a = claim_a != NULL ? (size_t)(claim_a - a) : strlen(a);
	size_t len_b = claim_b != NULL ? (size_t)(claim_b - b) : strlen(b);

	return len_a == len_b && memcmp(a, b, len_a) == 0;
}

struct spool_room
spool_taken(const struct spool *s, const struct spool_entry *but,
    uint32_t uid, const char *origin)
{
	struct spool_room taken = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		const struct spool_entry *e = s->entry[i];

		if (e == but)
			continue;
		taken.total += e->room;
		if (e->uid != uid)
			continue;
		taken.user += e->room;
		if (is_same_origin(e->origin, origin))
			taken.peer += e->room;
	}
	return taken;
}

/* Adds a new file.  Ignores invalid ones: they are not ours, or just begun. */
static int
add_file(struct spool *s, const char *name, unsigned part, bool writing,
    struct spool_entry *e)
{
	struct spool_head h;
	size_t head_len;
	uint64_t bit;
	int fd, r;

	fd = spool_file_open(s->dir, name, part, writing, &h, &head_len);
	if (fd == -ENOMEM || fd == -EMFILE || fd == -ENFILE)
		return fd;
	if (fd < 0)
		return 0;
	close(fd);
	if (e == NULL) {
		r = spool_entry_add(s, &h, &e);
		if (r < 0)
			return r;
		e->due_ms = mono_ms(mono_now()) + s->patience_ms;
	}
	bit = UINT64_C(1) << (part - 1);
	if (part > e->parts)
		return 0;
	if ((e->counted & bit) == 0)
		e->room += spool_part_room(h.bytes);
	e->counted |= bit;
	if (writing)
		return 0;
	e->have |= bit;
	e->seen |= bit;
	e->bytes += h.bytes;
	if (spool_is_whole(e))
		e->due_ms = 0;
	return 0;
}

static int
read_entry(struct spool *s, const char *file)
{
	char name[SPOOL_NAME];
	struct spool_entry *e;
	unsigned part;
	bool writing;

	if (!spool_file_parse(file, name, &part, &writing))
		return 0;
	e = find_entry(s, name);
	if (e != NULL && e->arriving)
		return 0;
	if (e != NULL && !writing && (e->have >> (part - 1) & 1) != 0) {
		e->seen |= UINT64_C(1) << (part - 1);
		return 0;
	}
	/* Another node is writing it; its room is counted already. */
	if (e != NULL && writing)
		return 0;
	return add_file(s, name, part, writing, e);
}

/* Removes entries whose files are gone; true if some files of one are left. */
static bool
drop_missing(struct spool *s)
{
	bool any = false;

	for (size_t i = s->n; i-- > 0;) {
		struct spool_entry *e = s->entry[i];

		if (e->arriving || e->seen == e->have)
			continue;
		any |= e->seen != 0;
		spool_entry_remove(s, e, false);
	}
	return any;
}

static int
begin_scan(struct spool *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	struct stat st;

	if (fd < 0)
		return -errno;
	s->reading = fstat(fd, &st) < 0 ? NULL : fdopendir(fd);
	if (s->reading == NULL) {
		r = -errno;
		close(fd);
		return r;
	}
	/* The clock of files is coarse: a recent change may hide a later one. */
	s->changed = base_wall_ms() / 1000 - st.st_mtim.tv_sec > FRESH_S ?
	    st.st_mtim : (struct timespec){ 0 };
	s->begun_ms = mono_ms(mono_now());
	s->reads_again = false;
	for (size_t i = 0; i < s->n; i++)
		s->entry[i]->seen = 0;
	return 0;
}

/* 1: there is more; 0: that was all. */
static int
read_one(struct spool *s)
{
	struct dirent *d;
	int r;

	errno = 0;
	d = readdir(s->reading);
	if (d != NULL) {
		r = read_entry(s, d->d_name);
		return r < 0 ? r : 1;
	}
	if (errno != 0)
		return -errno;
	if (s->reads_again || !drop_missing(s))
		return 0;
	s->reads_again = true;
	rewinddir(s->reading);
	return 1;
}

int
spool_scan(struct spool *s)
{
	int64_t begun = mono_ms(mono_now());
	unsigned n = 0;
	int r = 0;

	if (s->reading == NULL)
		r = begin_scan(s);
	if (r < 0)
		return r;
	do
		r = read_one(s);
	while (r > 0 && (s->turn_ms == 0 || ++n < TURN_FILES ||
	    mono_ms(mono_now()) - begun < s->turn_ms));
	if (r > 0)
		return 0;
	closedir(s->reading);
	s->reading = NULL;
	if (r < 0) {
		s->changed = (struct timespec){ 0 };
		return r;
	}
	s->known = true;
	s->read_ms = s->begun_ms;
	return 0;
}
