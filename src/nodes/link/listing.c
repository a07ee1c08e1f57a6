/* A few pieces are in flight at a time, so that a distant node is fast too. */
#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/base.h"
#include "link.h"

#define PIECES 4		/* in flight at a time */
/*
 * The first piece goes alone, for its reply has the name. It fits a request, so
 * that a node without listings refuses it instead of closing the link.
 */
#define FIRST_PIECE 2048
#define STORED_MAX 200000	/* limit of entries */

struct nodes_listing {
	struct nodes_link *link;
	nodes_listing_cb cb;
	void *arg;
	int fd;
	char name[WIRE_TEXT_MAX + 1];	/* at the node; "" unknown yet */
	unsigned part, parts;		/* part of the next piece */
	uint32_t at;			/* ... and its offset there */
	unsigned waiting;		/* pieces in flight */
	uint64_t done;
	bool ended;			/* the callback has been called */

	struct sha256_ctx sum;		/* of the part so far */

	/* Sent: */
	char title[WIRE_TEXT_MAX + 1];
	uint64_t total;
	uint8_t bytes[WIRE_LISTING_BYTES];

	/* Fetched: */
	bool known;			/* size of the part: its first answer has it */
	uint32_t size;
	unsigned got_part;		/* part, offset and size of part ... */
	uint32_t got_at, got_size;	/* ... of the next answer */
	unsigned changed;		/* first damaged part; 0 none */
};

static void
end_listing(struct nodes_listing *l, int err, const char *words)
{
	char copy[4 * WIRE_TEXT_MAX + 1];

	if (l->ended)
		return;
	l->ended = true;
	link_forget(l->link, l);
	/* The callback may close the listing, and `words` may be its name. */
	snprintf(copy, sizeof copy, "%s", words);
	l->cb(l->arg, err, copy);
}

static int
errno_of(uint32_t code)
{
	switch (code) {
	case WIRE_E_AUTH:
		return -EACCES;
	case WIRE_E_NAME:
		return -ENOENT;
	case WIRE_E_BUSY:
		return -EBUSY;
	case WIRE_E_QUOTA:
		return -EDQUOT;
	case WIRE_E_BIG:
		return -EFBIG;
	case WIRE_E_INTERNAL:
		return -EIO;
	case WIRE_E_DAMAGED:
		return -EBADMSG;
	default:
		return -EPROTO;
	}
}

static void
put_safe(char *out, size_t cap, struct wire_text t)
{
	base_safe_text(out, cap, t.s, t.len, false);
}

static const char *
words_of(const struct nodes_link *link, int err)
{
	const char *reason = "";

	if (err == -ENOTCONN)
		link_fault(link, &reason);
	return reason[0] != '\0' ? reason : strerror(-err);
}

static void
end_refused(struct nodes_listing *l, const struct wire_err *e)
{
	char words[4 * WIRE_TEXT_MAX + 1];

	put_safe(words, sizeof words, e->text);
	end_listing(l, errno_of(e->code), words);
}

static void
end_lost(struct nodes_listing *l, int err)
{
	end_listing(l, err, words_of(l->link, err));
}

/* Checks an answer: false, and the listing has ended, if it is another or an error. */
static bool
is_answer(struct nodes_listing *l, int err, const struct wire_msg *msg,
    enum wire_type type)
{
	l->waiting--;
	if (l->ended)
		return false;
	if (err == -ECANCELED) {
		/* The link is being closed: no callback. */
		l->ended = true;
		return false;
	}
	if (err < 0)
		end_lost(l, err);
	else if (msg->type == WIRE_ERR)
		end_refused(l, &msg->err);
	else if (msg->type != type)
		end_listing(l, -EPROTO, "the node sent another answer than was "
		    "expected");
	else
		return true;
	return false;
}

/* The link is busy: the next answer will send more. */
static bool
is_busy(const struct nodes_listing *l, int err)
{
	return err == -EBUSY && l->waiting > 0;
}

static void on_lack(void *arg, int err, const struct wire_msg *);

static int
read_file(struct nodes_listing *l, size_t len, uint64_t at)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = pread(l->fd, l->bytes + have, len - have,
		    (off_t)(at + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		have += (size_t)n;
	}
	return 0;
}

static uint32_t
part_size(const struct nodes_listing *l, unsigned part)
{
	uint64_t left = l->total - (uint64_t)(part - 1) * WIRE_LISTING_PART;

	return left < WIRE_LISTING_PART ? (uint32_t)left : WIRE_LISTING_PART;
}

static int
send_piece(struct nodes_listing *l)
{
	struct wire_msg m = { .type = WIRE_LPUT, .lput = {
		.title = wire_text(l->title), .name = wire_text(l->name),
		.part = l->part, .parts = l->parts, .at = l->at } };
	uint32_t size = part_size(l, l->part), len = size - l->at;
	struct sha256_ctx sum = l->sum, last;
	uint8_t digest[WIRE_SHA256];
	int r;

	if (len > WIRE_LISTING_BYTES)
		len = WIRE_LISTING_BYTES;
	if (l->name[0] == '\0' && len > FIRST_PIECE)
		len = FIRST_PIECE;
	r = read_file(l, len, (uint64_t)(l->part - 1) * WIRE_LISTING_PART +
	    l->at);
	if (r < 0)
		return r;
	if (l->at == 0)
		sha256_init(&sum);
	sha256_update(&sum, len, l->bytes);
	m.lput.total = size;
	m.lput.bytes = (struct wire_bytes){ l->bytes, len };
	if (l->at + len == size) {
		last = sum;
		sha256_digest(&last, sizeof digest, digest);
		m.lput.sha256 = (struct wire_bytes){ digest, sizeof digest };
	}
	r = link_ask(l->link, &m, l, on_lack, l);
	if (r < 0)
		return r;
	l->waiting++;
	l->sum = sum;
	l->at += len;
	if (l->at == size) {
		l->part++;
		l->at = 0;
	}
	return 0;
}

static void
send_more(struct nodes_listing *l)
{
	int r = 0;

	while (r == 0 && l->waiting < PIECES && l->part <= l->parts)
		r = send_piece(l);
	if (is_busy(l, r))
		return;
	if (r == -ENODATA)
		end_listing(l, r, "the file was truncated");
	else if (r < 0)
		end_lost(l, r);
	else if (l->waiting == 0)
		end_listing(l, 0, l->name);
}

static void
on_lack(void *arg, int err, const struct wire_msg *msg)
{
	struct nodes_listing *l = arg;
	char name[WIRE_TEXT_MAX + 1];
	uint64_t done;

	if (!is_answer(l, err, msg, WIRE_LACK))
		return;
	link_text(name, sizeof name, msg->lack.name);
	if (l->name[0] == '\0') {
		base_safe_text(l->name, sizeof l->name, name, strlen(name),
		    false);
		/* It is shown, and sent back as it came. */
		if (l->name[0] == '\0' || strcmp(l->name, name) != 0) {
			end_listing(l, -EPROTO, "the node gave it no usable name");
			return;
		}
	}
	done = (uint64_t)(msg->lack.part - 1) * WIRE_LISTING_PART +
	    msg->lack.stored;
	if (strcmp(l->name, name) != 0 || msg->lack.part < 1 ||
	    done < l->done || done > l->total) {
		end_listing(l, -EPROTO, "the node sent the answer to another "
		    "request");
		return;
	}
	l->done = done;
	send_more(l);
}

static int
listing_new(struct nodes_listing **out, struct nodes_link *link,
    nodes_listing_cb cb, void *arg)
{
	struct nodes_listing *l = calloc(1, sizeof *l);

	if (l == NULL)
		return -ENOMEM;
	l->link = link;
	l->cb = cb;
	l->arg = arg;
	l->part = l->got_part = 1;
	*out = l;
	return 0;
}

int
nodes_listing_send(struct nodes_listing **out, struct nodes_link *link,
    const struct nodes_listing_opts *o, nodes_listing_cb cb, void *arg)
{
	struct nodes_listing *l;
	int r;

	if (o->size > (uint64_t)WIRE_LISTING_PARTS * WIRE_LISTING_PART)
		return -EFBIG;
	r = listing_new(&l, link, cb, arg);
	if (r < 0)
		return r;
	l->fd = o->fd;
	l->total = o->size;
	l->parts = o->size == 0 ? 1 : (unsigned)((o->size +
	    WIRE_LISTING_PART - 1) / WIRE_LISTING_PART);
	snprintf(l->title, sizeof l->title, "%s", o->title);
	r = send_piece(l);
	if (r < 0) {
		free(l);
		return r;
	}
	*out = l;
	return 0;
}

static void on_lgot(void *arg, int err, const struct wire_msg *);

static int
get_piece(struct nodes_listing *l)
{
	struct wire_msg m = { .type = WIRE_LGET, .lget = {
		.name = wire_text(l->name), .part = l->part, .at = l->at,
		.max = WIRE_LISTING_BYTES } };
	int r = link_ask(l->link, &m, l, on_lgot, l);

	if (r < 0)
		return r;
	l->waiting++;
	l->at += WIRE_LISTING_BYTES;
	return 0;
}

static void
end_fetched(struct nodes_listing *l)
{
	char words[96];

	if (l->changed == 0) {
		end_listing(l, 0, l->name);
		return;
	}
	snprintf(words, sizeof words, "damaged: part %u of %u differs from "
	    "what was stored", l->changed, l->parts);
	end_listing(l, -EBADMSG, words);
}

static void
get_more(struct nodes_listing *l)
{
	int r = 0;

	while (r == 0 && l->waiting < PIECES && l->part <= l->parts) {
		if (l->at > 0 && !l->known)
			break;
		if (l->at > 0 && l->at >= l->size) {
			l->part++;
			l->at = 0;
			l->known = false;
		} else {
			r = get_piece(l);
		}
	}
	if (is_busy(l, r))
		return;
	if (r < 0)
		end_lost(l, r);
	else if (l->waiting == 0)
		end_fetched(l);
}

/* Checks the sum of a part; an older node sends none. */
static void
check_sum(struct nodes_listing *l, const struct wire_lgot *got)
{
	uint8_t digest[WIRE_SHA256];

	if (got->at == 0)
		sha256_init(&l->sum);
	sha256_update(&l->sum, got->bytes.len, got->bytes.p);
	if (got->sha256.len == 0)
		return;
	sha256_digest(&l->sum, sizeof digest, digest);
	if (l->changed == 0 &&
	    memcmp(digest, got->sha256.p, sizeof digest) != 0)
		l->changed = l->got_part;
}

static void
on_lgot(void *arg, int err, const struct wire_msg *msg)
{
	struct nodes_listing *l = arg;
	const struct wire_lgot *got;
	uint32_t want;
	int r;

	if (!is_answer(l, err, msg, WIRE_LGOT))
		return;
	got = &msg->lgot;
	if (l->got_at == 0)
		l->got_size = got->size;
	if (l->got_part == l->part && !l->known) {
		l->known = true;
		l->size = got->size;
	}
	want = l->got_size - l->got_at;
	if (want > WIRE_LISTING_BYTES)
		want = WIRE_LISTING_BYTES;
	if (got->at != l->got_at || got->size != l->got_size ||
	    got->bytes.len != want) {
		end_listing(l, -EPROTO, "the node sent other bytes than were "
		    "requested");
		return;
	}
	check_sum(l, got);
	r = base_write_all(l->fd, got->bytes.p, want);
	if (r < 0) {
		end_listing(l, r, strerror(-r));
		return;
	}
	l->done += want;
	l->got_at += want;
	if (l->got_at == l->got_size) {
		l->got_part++;
		l->got_at = 0;
	}
	get_more(l);
}

/* A name that sorts before the other; no such listing need exist. */
static void
name_before(char out[WIRE_TEXT_MAX + 1], const char *name)
{
	size_t len = strlen(name);

	strcpy(out, name);
	if (len == 0)
		return;
	if (out[len - 1] > '0' && out[len - 1] <= '9')
		out[len - 1]--;
	else
		out[len - 1] = '\0';
}

static void
on_listed(void *arg, int err, const struct wire_msg *msg)
{
	struct nodes_listing *l = arg;
	const struct wire_listed *e;

	if (!is_answer(l, err, msg, WIRE_LISTED))
		return;
	e = &msg->listed;
	if (e->name.len != strlen(l->name) ||
	    memcmp(e->name.s, l->name, e->name.len) != 0) {
		end_listing(l, -ENOENT, "no such listing");
		return;
	}
	if (!e->whole || e->parts < 1 || e->parts > WIRE_LISTING_PARTS) {
		end_listing(l, -ENODATA, "the listing is not whole: its sender "
		    "was lost or is still sending, or files of it are damaged");
		return;
	}
	l->parts = e->parts;
	get_more(l);
}

int
nodes_listing_get(struct nodes_listing **out, struct nodes_link *link,
    const char *name, int fd, nodes_listing_cb cb, void *arg)
{
	char before[WIRE_TEXT_MAX + 1];
	struct wire_msg m = { .type = WIRE_LISTINGS };
	struct nodes_listing *l;
	int r;

	if (strlen(name) > WIRE_TEXT_MAX || name[0] == '\0')
		return -EINVAL;
	r = listing_new(&l, link, cb, arg);
	if (r < 0)
		return r;
	l->fd = fd;
	strcpy(l->name, name);
	name_before(before, name);
	m.listings.after = wire_text(before);
	r = link_ask(link, &m, l, on_listed, l);
	if (r < 0) {
		free(l);
		return r;
	}
	l->waiting++;
	*out = l;
	return 0;
}

uint64_t
nodes_listing_done(const struct nodes_listing *l)
{
	return l->done;
}

void
nodes_listing_close(struct nodes_listing *l)
{
	if (l == NULL)
		return;
	if (!l->ended) {
		l->ended = true;
		link_forget(l->link, l);
	}
	free(l);
}

struct census {
	struct nodes_link *link;
	nodes_stored_cb cb;
	void *arg;
	size_t n;
	char last[WIRE_TEXT_MAX + 1];	/* last name */
};

static void on_entry(void *arg, int err, const struct wire_msg *);

static void
census_end(struct census *q, int err, const char *words)
{
	q->cb(q->arg, NULL, err, words);
	free(q);
}

static int
ask_next(struct census *q)
{
	struct wire_msg m = { .type = WIRE_LISTINGS, .listings = {
		.after = wire_text(q->last) } };

	return link_ask(q->link, &m, q, on_entry, q);
}

/* False: the entry cannot be the next one. */
static bool
take_entry(struct census *q, const struct wire_listed *e,
    struct nodes_stored *s)
{
	*s = (struct nodes_stored){ .parts = e->parts, .bytes = e->bytes,
		.wall_ms = e->wall_ms, .whole = e->whole };
	put_safe(s->name, sizeof s->name, e->name);
	put_safe(s->origin, sizeof s->origin, e->origin);
	put_safe(s->title, sizeof s->title, e->title);
	/* Names ascend, or this might never end. */
	if (q->n++ >= STORED_MAX || strlen(s->name) != e->name.len ||
	    memcmp(s->name, e->name.s, e->name.len) != 0 ||
	    strcmp(q->last, s->name) >= 0)
		return false;
	strcpy(q->last, s->name);
	return true;
}

static void
on_entry(void *arg, int err, const struct wire_msg *msg)
{
	char words[4 * WIRE_TEXT_MAX + 1];
	struct census *q = arg;
	struct nodes_stored s;

	if (err == -ECANCELED) {
		/* The link is being closed: no callback. */
		free(q);
		return;
	}
	if (err < 0) {
		census_end(q, err, words_of(q->link, err));
	} else if (msg->type == WIRE_ERR) {
		put_safe(words, sizeof words, msg->err.text);
		census_end(q, errno_of(msg->err.code), words);
	} else if (msg->type == WIRE_LISTED && msg->listed.name.len == 0) {
		census_end(q, 0, "");
	} else if (msg->type != WIRE_LISTED ||
	    !take_entry(q, &msg->listed, &s)) {
		census_end(q, -EPROTO, "the node sent another answer than was "
		    "expected");
	} else {
		/* The callback comes last: it may close the link. */
		err = ask_next(q);
		if (err == 0)
			q->cb(q->arg, &s, 0, "");
		else
			census_end(q, err, words_of(q->link, err));
	}
}

int
nodes_listings(struct nodes_link *link, nodes_stored_cb cb, void *arg)
{
	struct census *q = calloc(1, sizeof *q);
	int r;

	if (q == NULL)
		return -ENOMEM;
	*q = (struct census){ .link = link, .cb = cb, .arg = arg };
	r = ask_next(q);
	if (r < 0)
		free(q);
	return r;
}
