/*
 * A spool in a folder of its own, and pieces of listings for it.  Shared by the
 * tests of the spool.
 */
#ifndef TESTS_SPOOL_RIG_H
#define TESTS_SPOOL_RIG_H

#include <dirent.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/nodes/spool/file.h"
#include "harness.h"

static char top[] = "/tmp/pagek-spool.XXXXXX", folder[64];
static struct spool *spool;
static char why[512];

static const struct spool_sender anna = { 1, 1000, "anna" };

static inline void
remove_all(const char *path)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", path);
	ck_assert_int_eq(system(command), 0);
}

static inline void
make_top(void)
{
	strcpy(top, "/tmp/pagek-spool.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(folder, sizeof folder, "%s/state/listings", top);
}

static inline int
open_with(struct spool_opts o)
{
	o.path = folder;
	return spool_open(&spool, &o, why, sizeof why);
}

static inline void
up(void)
{
	make_top();
	ck_assert_int_eq(open_with((struct spool_opts){ 0 }), 0);
}

static inline void
down(void)
{
	spool_close(spool);
	spool = NULL;
	remove_all(top);
}

static inline unsigned
files(void)
{
	DIR *dir = opendir(folder);
	unsigned n = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *d; (d = readdir(dir)) != NULL;)
		n += d->d_name[0] != '.';
	closedir(dir);
	return n;
}

static inline bool
any(const void *arg, const struct spool_entry *e)
{
	(void)arg;
	(void)e;
	return true;
}

static inline const struct spool_entry *
first(void)
{
	return spool_after(spool, "", 0, any, NULL);
}

static inline unsigned
entries(void)
{
	const struct spool_entry *e = first();
	unsigned n = 0;

	for (; e != NULL; n++)
		e = spool_after(spool, e->name, strlen(e->name), any, NULL);
	return n;
}

/* A piece of `len` bytes of `total`; the sum is of all x. */
static inline struct wire_lput
piece(const char *name, unsigned part, unsigned parts, uint32_t at,
    uint32_t len, uint32_t total)
{
	static uint8_t bytes[WIRE_LISTING_PART], sum[WIRE_SHA256];
	struct wire_lput l = { .title = wire_text("a title"),
		.name = wire_text(name), .part = part, .parts = parts,
		.total = total, .at = at, .bytes = { bytes, len } };
	struct sha256_ctx ctx;

	if (bytes[0] == '\0')
		memset(bytes, 'x', sizeof bytes);
	if (at + len != total)
		return l;
	sha256_init(&ctx);
	sha256_update(&ctx, total, bytes);
	sha256_digest(&ctx, sizeof sum, sum);
	l.sha256 = (struct wire_bytes){ sum, sizeof sum };
	return l;
}

static inline int
put(const struct spool_sender *who, struct wire_lput l, char name[SPOOL_NAME])
{
	struct spool_ack ack;
	int r = spool_put(spool, who, &l, &ack, why, sizeof why);

	if (r == 0 && name != NULL)
		strcpy(name, ack.entry->name);
	return r;
}

static inline void
reopen(struct spool_opts o)
{
	spool_close(spool);
	ck_assert_int_eq(open_with(o), 0);
}

#endif
