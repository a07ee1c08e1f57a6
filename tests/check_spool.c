/*
 * The spool itself: names, files, order of pieces, quotas.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "spool_rig.h"

#define MANY 500

/* --- names and files ---------------------------------------------------- */

CASE("files", .setup = up, .teardown = down);

TEST(names_ascend_and_files_are_the_users_alone)
{
	char last[SPOOL_NAME] = "", name[SPOOL_NAME], path[256];
	struct stat st;

	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), name),
		    0);
		ck_assert(spool_name_ok(name, strlen(name)));
		ck_assert_int_gt(strcmp(name, last), 0);
		strcpy(last, name);
	}
	ck_assert_uint_eq(files(), MANY);
	ck_assert_uint_eq(entries(), MANY);
	snprintf(path, sizeof path, "%s/%s.1", folder, name);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(stat(folder, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0700);
}

TEST(a_file_tells_what_it_is)
{
	struct wire_lput l = piece("", 1, 1, 0, 10, 10);
	char name[SPOOL_NAME], text[512], path[256];
	struct spool_sender who = { 1, 1234, "bert\n\x1b[2J" };
	ssize_t n;
	int fd;

	l.title = wire_text("line\none \x1b]0;x\x07");
	ck_assert_int_eq(put(&who, l, name), 0);
	snprintf(path, sizeof path, "%s/%s.1", folder, name);
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	n = read(fd, text, sizeof text - 1);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	close(fd);
	ck_assert_ptr_nonnull(strstr(text, "\npart: 1 of 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nfrom: bert\\x0A\\x1B[2J\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nuid: 1234\n"));
	ck_assert_ptr_nonnull(strstr(text,
	    "\ntitle: line\\x0Aone \\x1B]0;x\\x07\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nbytes: 10\n"));
	ck_assert_ptr_null(strchr(text, '\x1b'));
	ck_assert_str_eq(text + n - 12, "\n\nxxxxxxxxxx");
}

static const struct {
	const char *file;
	bool ok;
} file_names[] = {
	{ "20261121-163501-0007.1", true },
	{ "20261121-163501-0007.64", true },
	{ "20261121-163501-0007.2~", true },
	{ "20261121-163501-0007.0", false },
	{ "20261121-163501-0007.65", false },
	{ "20261121-163501-0007.01", false },
	{ "20261121-163501-0007.+1", false },
	{ "20261121-163501-0007.1 ", false },
	{ "20261121-163501-0007.1~~", false },
	{ "20261121-163501-0007", false },
	{ "20261121-163501-0007.", false },
	{ "20261121-163501-000.1", false },
	{ "20261121-163501-00071.1", false },
	{ "../../../../etc/passwd", false },
	{ ".", false },
	{ "", false },
};

LOOP_TEST(a_file_of_another_name_is_none_of_ours, 0,
    (int)BASE_NELEM(file_names))
{
	char name[SPOOL_NAME];
	unsigned part;
	bool writing;

	ck_assert_int_eq(spool_file_parse(file_names[_i].file, name, &part,
	    &writing), file_names[_i].ok);
}

/* One byte after the other is made wrong, or is the last. */
TEST(a_damaged_header_is_no_header)
{
	struct spool_head h = { .name = "20261121-163501-0007",
		.origin = "anna", .title = "0590 acqd[4711]", .part = 2,
		.parts = 3, .bytes = 77, .uid = 1000,
		.wall_ms = 1700000000123 }, back;
	char bytes[SPOOL_HEAD_MAX], copy[SPOOL_HEAD_MAX];
	size_t len;

	for (size_t i = 0; i < sizeof h.sum; i++)
		h.sum[i] = (uint8_t)(37 * i);
	len = spool_head_make(bytes, &h);
	ck_assert_int_eq(spool_head_parse(bytes, len, &back), (ssize_t)len);
	ck_assert_int_eq(memcmp(back.sum, h.sum, sizeof h.sum), 0);
	ck_assert_str_eq(back.name, h.name);
	ck_assert_str_eq(back.title, h.title);
	ck_assert_str_eq(back.origin, h.origin);
	ck_assert_uint_eq(back.part, 2);
	ck_assert_uint_eq(back.parts, 3);
	ck_assert_uint_eq(back.bytes, 77);
	ck_assert_uint_eq(back.uid, 1000);
	ck_assert_int_eq(back.wall_ms, h.wall_ms);
	h.bytes = WIRE_LISTING_PART + 1;
	ck_assert_int_eq(spool_head_parse(copy, spool_head_make(copy, &h),
	    &back), -EBADMSG);
	for (size_t i = 0; i < len; i++) {
		ck_assert_int_eq(spool_head_parse(bytes, i, &back), -EBADMSG);
		memcpy(copy, bytes, len);
		copy[i] = '\0';
		ck_assert_int_eq(spool_head_parse(copy, len, &back),
		    -EBADMSG);
	}
}

/* --- folders that are not taken ------------------------------------------ */

CASE("folders");

TEST(a_symbolic_link_is_no_spool)
{
	char real[128];

	make_top();
	snprintf(real, sizeof real, "%s/real", top);
	snprintf(folder, sizeof folder, "%s/link", top);
	ck_assert_int_eq(mkdir(real, 0700), 0);
	ck_assert_int_eq(symlink(real, folder), 0);
	ck_assert_int_lt(open_with((struct spool_opts){ 0 }), 0);
	ck_assert_ptr_nonnull(strstr(why, "it is a symbolic link"));
	strcat(folder, "//");
	ck_assert_int_lt(open_with((struct spool_opts){ 0 }), 0);
	ck_assert_ptr_nonnull(strstr(why, "it is a symbolic link"));
	remove_all(top);
}

TEST(a_folder_that_others_look_into_is_no_spool)
{
	make_top();
	snprintf(folder, sizeof folder, "%s/open", top);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(chmod(folder, 0750), 0);
	ck_assert_int_eq(open_with((struct spool_opts){ 0 }), -EPERM);
	ck_assert_ptr_nonnull(strstr(why, "0700"));
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(folder, 0700), 0);
		ck_assert_int_eq(chown(folder, 65534, 65534), 0);
		ck_assert_int_eq(open_with((struct spool_opts){ 0 }), -EPERM);
		ck_assert_ptr_nonnull(strstr(why, "another user's"));
	}
	remove_all(top);
}

TEST(without_a_folder_none_is_made_unless_it_is_wanted)
{
	make_top();
	ck_assert_int_eq(open_with((struct spool_opts){ .existing = true }),
	    -ENOENT);
	ck_assert_int_lt(access(folder, F_OK), 0);
	remove_all(top);
}

static void
be_nobody(void)
{
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
}

/* Nobody is told that a folder is only not there yet. */
LOOP_TEST(a_folder_that_cannot_be_made_is_said_with_the_reason, 0, 2)
{
	static const bool existing[] = { true, false };

	make_top();
	ck_assert_int_eq(chmod(top, 0555), 0);
	be_nobody();
	ck_assert_int_eq(open_with((struct spool_opts){
	    .existing = existing[_i] }), -EACCES);
	ck_assert_ptr_nonnull(strstr(why, folder));
	ck_assert_ptr_nonnull(strstr(why, strerror(EACCES)));
	/* A folder without a slash is where we are. */
	ck_assert_int_eq(chdir(top), 0);
	strcpy(folder, "listings");
	ck_assert_int_eq(open_with((struct spool_opts){
	    .existing = existing[_i] }), -EACCES);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chdir("/"), 0);
	remove_all(top);
}

/* A listing with a name after which the next ones are known. */
static void
plant(const char *name)
{
	struct spool_head h = { .parts = 1, .part = 1, .uid = 1000,
		.origin = "anna" };
	char head[SPOOL_HEAD_MAX], file[SPOOL_FILE_NAME], path[256];
	size_t len;
	int fd;

	strcpy(h.name, name);
	len = spool_head_make(head, &h);
	spool_file_name(file, name, 1, false);
	snprintf(path, sizeof path, "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, head, len), (ssize_t)len);
	close(fd);
}

CASE("files");

TEST(no_link_in_the_spool_is_followed)
{
	static const char next[] = "20990101-000000-0002";
	char victim[128], path[256], name[SPOOL_NAME], byte;
	const struct spool_entry *e;
	struct stat st;
	struct spool_part of;
	int fd;

	plant("20990101-000000-0001");
	spool_close(spool);
	ck_assert_int_eq(open_with((struct spool_opts){ 0 }), 0);
	snprintf(victim, sizeof victim, "%s/victim", top);
	fd = open(victim, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(path, sizeof path, "%s/%s.1~", folder, next);
	ck_assert_int_eq(symlink(victim, path), 0);
	snprintf(path, sizeof path, "%s/20990101-000000-0003.1", folder);
	ck_assert_int_eq(symlink(victim, path), 0);
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), name), 0);
	ck_assert_str_eq(name, "20990101-000000-0004");
	ck_assert_int_eq(stat(victim, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	/* A part that became a link since it was found. */
	e = spool_find(spool, name, strlen(name));
	ck_assert_ptr_nonnull(e);
	snprintf(path, sizeof path, "%s/%s.1", folder, name);
	ck_assert_int_eq(rename(path, victim), 0);
	ck_assert_int_eq(symlink(victim, path), 0);
	ck_assert_int_eq(spool_read(spool, e, 1, 0, &byte, 1, &of),
	    -EBADMSG);
	spool_close(spool);
	ck_assert_int_eq(open_with((struct spool_opts){ 0 }), 0);
	ck_assert_uint_eq(entries(), 1);
}

/* Two within one second, of which one has stored much that the other has not seen. */
TEST(names_of_another_node_are_passed)
{
	char name[SPOOL_NAME], other[SPOOL_NAME];

	plant("20990101-000000-0001");
	reopen((struct spool_opts){ 0 });
	for (unsigned i = 2; i <= 300; i++) {
		snprintf(other, sizeof other, "20990101-000000-%04u", i);
		plant(other);
	}
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), name),
		    0);
		ck_assert(spool_name_ok(name, strlen(name)));
		ck_assert_int_gt(strcmp(name, other), 0);
		strcpy(other, name);
	}
	/* The same at the end of a second. */
	plant("20990101-000000-9999");
	reopen((struct spool_opts){ 0 });
	for (unsigned i = 1; i <= 40; i++) {
		snprintf(other, sizeof other, "20990101-000001-%04u", i);
		plant(other);
	}
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), name), 0);
	ck_assert_int_gt(strcmp(name, other), 0);
}

static const char *const elsewhere[] = { "20990101-000000-0001.1",
	"20990101-000000-0001.2", "20261121-163501-0007.2" };

/* Its header says what it is a part of. */
LOOP_TEST(a_file_that_was_renamed_is_no_part, 0, (int)BASE_NELEM(elsewhere))
{
	char path[256], other[256];

	plant("20261121-163501-0007");
	snprintf(path, sizeof path, "%s/20261121-163501-0007.1", folder);
	snprintf(other, sizeof other, "%s/%s", folder, elsewhere[_i]);
	reopen((struct spool_opts){ 0 });
	ck_assert_uint_eq(entries(), 1);
	ck_assert_int_eq(rename(path, other), 0);
	reopen((struct spool_opts){ 0 });
	ck_assert_uint_eq(entries(), 0);
}

TEST(a_listing_of_which_a_part_is_gone_is_not_whole)
{
	char name[SPOOL_NAME], path[256];

	ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 10, 10), name), 0);
	ck_assert_int_eq(put(&anna, piece(name, 2, 2, 0, 10, 10), NULL), 0);
	ck_assert(spool_is_whole(first()));
	snprintf(path, sizeof path, "%s/%s.1", folder, name);
	ck_assert_int_eq(unlink(path), 0);
	while (entries() == 1 && spool_is_whole(first())) {
		usleep(10000);
		spool_refresh(spool);
	}
	ck_assert_uint_eq(entries(), 1);
	ck_assert_uint_eq(first()->have, 2);
	ck_assert_uint_eq(first()->room, SPOOL_UNIT);
}

TEST(a_file_that_was_cut_is_no_part)
{
	char name[SPOOL_NAME], path[256], byte;
	struct stat st;
	struct spool_part of;

	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), name), 0);
	ck_assert_int_eq(spool_read(spool, first(), 1, 9, &byte, 1, &of),
	    1);
	snprintf(path, sizeof path, "%s/%s.1", folder, name);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(truncate(path, st.st_size - 1), 0);
	ck_assert_int_eq(spool_read(spool, first(), 1, 0, &byte, 1, &of),
	    -EBADMSG);
	spool_close(spool);
	ck_assert_int_eq(open_with((struct spool_opts){ 0 }), 0);
	ck_assert_uint_eq(entries(), 0);
}

/* --- pieces that are not right ------------------------------------------- */

static const struct {
	unsigned part, parts;
	uint32_t at, len, total;
} wrong[] = {
	{ 1, 2, 0, 100, 1000 },		/* again */
	{ 1, 2, 200, 100, 1000 },	/* one was left out */
	{ 1, 2, 50, 100, 1000 },
	{ 1, 3, 100, 100, 1000 },	/* other parts */
	{ 1, 2, 100, 100, 1001 },	/* another size */
	{ 2, 2, 0, 100, 1000 },		/* the next part before its time */
	{ 2, 2, 100, 100, 1000 },
};

CASE("pieces", .setup = up, .teardown = down);

LOOP_TEST(a_piece_out_of_order_ends_the_listing, 0, (int)BASE_NELEM(wrong))
{
	char name[SPOOL_NAME];

	ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 100, 1000), name), 0);
	ck_assert_int_eq(put(&anna, piece(name, wrong[_i].part,
	    wrong[_i].parts, wrong[_i].at, wrong[_i].len, wrong[_i].total),
	    NULL), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why, "is out of order"));
	ck_assert_uint_eq(files(), 0);
	ck_assert_uint_eq(entries(), 0);
	ck_assert_int_eq(put(&anna, piece(name, 1, 2, 100, 900, 1000), NULL),
	    -ENOENT);
}

TEST(a_listing_does_not_begin_in_the_middle)
{
	ck_assert_int_eq(put(&anna, piece("", 1, 2, 100, 100, 1000), NULL),
	    -EBADMSG);
	ck_assert_int_eq(put(&anna, piece("", 2, 2, 0, 100, 1000), NULL),
	    -EBADMSG);
	ck_assert_int_eq(put(&anna, piece("", 0, 0, 0, 100, 1000), NULL),
	    -EBADMSG);
	ck_assert_uint_eq(files(), 0);
}

TEST(bytes_with_another_sum_are_not_kept)
{
	uint8_t sum[WIRE_SHA256] = { 0 };
	struct wire_lput l = piece("", 1, 1, 0, 100, 100);

	l.sha256.p = sum;
	ck_assert_int_eq(put(&anna, l, NULL), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why, "another sum"));
	l.sha256.len = 0;
	ck_assert_int_eq(put(&anna, l, NULL), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(why, "without its sum"));
	ck_assert_uint_eq(files(), 0);
	ck_assert_uint_eq(entries(), 0);
}

TEST(nobody_adds_to_what_comes_over_another_connection)
{
	static const struct spool_sender other = { 2, 1000, "anna" };
	char name[SPOOL_NAME];

	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 50, 100), name), 0);
	ck_assert_int_eq(put(&other, piece(name, 1, 1, 50, 50, 100), NULL),
	    -ENOENT);
	ck_assert_int_eq(put(&anna, piece("2", 1, 1, 50, 50, 100), NULL),
	    -ENOENT);
	ck_assert_int_eq(put(&anna, piece(name, 1, 1, 50, 50, 100), NULL), 0);
	/* Nor to one that is whole. */
	ck_assert_int_eq(put(&anna, piece(name, 1, 1, 50, 50, 100), NULL),
	    -ENOENT);
	ck_assert(spool_is_whole(first()));
}

TEST(one_connection_has_few_listings_on_their_way)
{
	struct spool_sender who = anna;
	unsigned n = 0;

	for (who.conn = 1; n < SPOOL_ARRIVALS; who.conn++) {
		for (int i = 0; i < SPOOL_CONN_ARRIVALS; i++, n++)
			ck_assert_int_eq(put(&who, piece("", 1, 1, 0, 50, 100),
			    NULL), 0);
		ck_assert_int_eq(put(&who, piece("", 1, 1, 0, 50, 100), NULL),
		    -EBUSY);
	}
	ck_assert_int_eq(put(&who, piece("", 1, 1, 0, 50, 100), NULL),
	    -EBUSY);
	spool_conn_closed(spool, 1);
	ck_assert_int_eq(put(&who, piece("", 1, 1, 0, 50, 100), NULL), 0);
}

/* --- quotas ------------------------------------------------------------- */

CASE("quotas", .setup = up, .teardown = down);

TEST(what_one_has_stored_is_kept_and_more_is_refused)
{
	static const struct spool_sender claims = { 1, 1000,
		"anna, says 0A12" }, bert = { 1, 1001, "bert" },
		away = { 1, 1000, "anna from 192.0.2.7" };
	char name[SPOOL_NAME], path[256];

	reopen((struct spool_opts){ .peer_max = 4 * SPOOL_UNIT });
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), name),
		    0);
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL),
	    -EDQUOT);
	ck_assert_ptr_nonnull(strstr(why, "quota"));
	/* A claim makes nobody another one. */
	ck_assert_int_eq(put(&claims, piece("", 1, 1, 0, 10, 10), NULL),
	    -EDQUOT);
	ck_assert_int_eq(put(&bert, piece("", 1, 1, 0, 10, 10), NULL), 0);
	ck_assert_int_eq(put(&away, piece("", 1, 1, 0, 10, 10), NULL), 0);
	ck_assert_uint_eq(entries(), 6);
	/* It holds after a restart, and until somebody removes one. */
	reopen((struct spool_opts){ .peer_max = 4 * SPOOL_UNIT });
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL),
	    -EDQUOT);
	snprintf(path, sizeof path, "%s/%s.1", folder, name);
	ck_assert_int_eq(unlink(path), 0);
	while (put(&anna, piece("", 1, 1, 0, 10, 10), NULL) == -EDQUOT)
		usleep(10000);
	ck_assert_uint_eq(entries(), 6);
}

TEST(all_together_have_a_quota_too)
{
	struct spool_sender who = { 1, 1000, "x" };

	reopen((struct spool_opts){ .total_max = 4 * SPOOL_UNIT });
	for (; who.uid < 1004; who.uid++)
		ck_assert_int_eq(put(&who, piece("", 1, 1, 0, 10, 10), NULL),
		    0);
	ck_assert_int_eq(put(&who, piece("", 1, 1, 0, 10, 10), NULL),
	    -EDQUOT);
	ck_assert_ptr_nonnull(strstr(why, "of all users"));
}

/* Whoever forges where he is takes no more than a user's share by that. */
TEST(one_user_leaves_room_for_others)
{
	struct spool_sender who = { 1, 1000, NULL };
	char origin[32];
	int n = 0;

	reopen((struct spool_opts){ .user_max = 5 * SPOOL_UNIT });
	who.origin = origin;
	do
		snprintf(origin, sizeof origin, "anna from 192.0.2.%d", n);
	while (put(&who, piece("", 1, 1, 0, 10, 10), NULL) == 0 && ++n < 9);
	ck_assert_int_eq(n, 5);
	ck_assert_ptr_nonnull(strstr(why, "of one user"));
	who.uid = 1001;
	ck_assert_int_eq(put(&who, piece("", 1, 1, 0, 10, 10), NULL), 0);
}

/* Two that begin together do not find room for one of them at their end. */
TEST(room_for_all_parts_is_set_aside_when_a_listing_begins)
{
	char name[SPOOL_NAME];

	reopen((struct spool_opts){ .peer_max = 3 * WIRE_LISTING_PART });
	ck_assert_int_eq(put(&anna, piece("", 1, 3, 0, 10, WIRE_LISTING_PART),
	    name), 0);
	ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 10, WIRE_LISTING_PART),
	    NULL), -EDQUOT);
	/* What fails gives it back. */
	ck_assert_int_eq(put(&anna, piece(name, 1, 3, 0, 10,
	    WIRE_LISTING_PART), NULL), -EBADMSG);
	ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 10, WIRE_LISTING_PART),
	    NULL), 0);
}

/* As the folder says it when it is read, and so also before. */
TEST(each_part_takes_room_however_short_it_is)
{
	enum { PARTS = 32 };
	char name[SPOOL_NAME] = "";

	reopen((struct spool_opts){ .peer_max = (PARTS - 1) *
	    WIRE_LISTING_PART + (PARTS + 1) * SPOOL_UNIT });
	for (unsigned part = 1; part <= PARTS; part++)
		ck_assert_int_eq(put(&anna, piece(name, part, PARTS, 0, 0, 0),
		    name), 0);
	ck_assert(spool_is_whole(first()));
	ck_assert_uint_eq(first()->room, PARTS * SPOOL_UNIT);
	ck_assert_int_eq(put(&anna, piece("", 1, PARTS, 0, 0, 0), name), 0);
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 0, 0), NULL), -EDQUOT);
	spool_conn_closed(spool, anna.conn);
	reopen((struct spool_opts){ 0 });
	ck_assert_uint_eq(first()->room, PARTS * SPOOL_UNIT);
}

/* Room that only the last part wants is his who has begun it. */
TEST(who_sends_it_is_asked_at_the_first_piece_alone)
{
	static const struct spool_sender later = { 1, 0, NULL };
	char name[SPOOL_NAME];

	reopen((struct spool_opts){ .peer_max = WIRE_LISTING_PART +
	    2 * SPOOL_UNIT });
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 10, 10), NULL), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(put(&anna, piece("", 1, 2, 0, 10,
		    WIRE_LISTING_PART), name), 0);
		ck_assert_int_eq(put(&later, piece(name, 1, 2, 10,
		    WIRE_LISTING_PART - 10, WIRE_LISTING_PART), NULL), 0);
		ck_assert_int_eq(put(&later, piece(name, 2, 2, 0, 10,
		    SPOOL_UNIT + 1), NULL), -EDQUOT);
		ck_assert_ptr_nonnull(strstr(why, "listings of anna may"));
	}
	ck_assert_uint_eq(entries(), 1);
}

TEST(sixty_four_full_parts_are_what_one_may_have)
{
	char name[SPOOL_NAME] = "";

	for (unsigned part = 1; part <= WIRE_LISTING_PARTS; part++)
		ck_assert_int_eq(put(&anna, piece(name, part,
		    WIRE_LISTING_PARTS, 0, WIRE_LISTING_PART,
		    WIRE_LISTING_PART), name), 0);
	ck_assert(spool_is_whole(first()));
	ck_assert_uint_eq(first()->bytes, (uint64_t)WIRE_LISTING_PARTS *
	    WIRE_LISTING_PART);
	ck_assert_int_eq(put(&anna, piece("", 1, 1, 0, 1, 1), NULL), -EDQUOT);
}
