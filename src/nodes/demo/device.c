#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "../../stream/stream.h"
#include "../images/images.h"
#include "../keeper/node.h"
#include "demo.h"

#define PIECE 4096
#define VISIT_BYTES (256u << 10)	/* of one visit at most; others wait meanwhile */
#define VISIT_US 10000
#define QUIET_MS 150		/* after this pause, bytes begin a record */
#define UNWRITTEN_MS 1000	/* without bytes and writer for so long, that is shown */

struct device {
	int fd;				/* -1: at its end */
	bool fifo;			/* another writer may come ... */
	bool nonblocking;		/* read() does not wait: without bytes it tells a writer from none */
	bool once;			/* ... but is not waited for */
	bool file;			/* its clock stands between records */
	bool terminal;			/* `before` is to be restored */
	struct termios before;
	bool has_writer;		/* as far as was seen */
	int64_t heard_ms;		/* last bytes, of the monotonic clock */
	int64_t ran_ms;			/* when now_ms was right */
	uint64_t slips;			/* counted so far */
	struct raw raw;
};

/* Skipped bytes count as so many bad records. */
static void
set_reason(struct keeper *k, const struct device *d, const char *what)
{
	const struct raw_counts *n = &d->raw.n;
	size_t len = 0;

	k->numbers.skipped = n->skipped;
	k->numbers.bad = (n->skipped + REC_CLASSIC_SIZE - 1) / REC_CLASSIC_SIZE;
	base_append(k->life.reason, sizeof k->life.reason, &len, "%s", what);
	if (n->skipped > 0)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    "%s%s of %s bytes skipped",
		    len > 0 ? "; " : "", base_digits(n->skipped).text,
		    base_digits(n->bytes).text);
	if (n->slips > 0)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    ", in %s gap%s", base_digits(n->slips).text,
		    n->slips == 1 ? "" : "s");
	if (n->doubled > 0)
		base_append(k->life.reason, sizeof k->life.reason, &len,
		    ", %s repeated record%s skipped",
		    base_digits(n->doubled).text,
		    n->doubled == 1 ? "" : "s");
}

static void
take_record(void *arg, const uint8_t rec[REC_CLASSIC_SIZE])
{
	keeper_take_classic(arg, rec, NULL);
}

static void
count_slips(struct keeper *k, struct device *d)
{
	keeper_lose(k, STREAM_CORRUPT, d->raw.n.slips - d->slips);
	d->slips = d->raw.n.slips;
}

static void
close_device(struct device *d)
{
	if (d->fd < 0)
		return;
	if (d->terminal)
		tcsetattr(d->fd, TCSANOW, &d->before);
	close(d->fd);
	d->fd = -1;
}

/* err: 0 at the end of the input, else an errno. */
static void
end_device(struct keeper *k, struct device *d, int err)
{
	char why[64] = "the input has ended";

	if (err != 0)
		snprintf(why, sizeof why, "the device is gone: %s",
		    strerror(err));
	raw_end(&d->raw, take_record, k);
	count_slips(k, d);
	set_reason(k, d, why);
	close_device(d);
	images_end_image(k, WIRE_S_ENDED, -1, NULL);
}

enum input {
	INPUT_NONE,
	INPUT_BYTES,
	INPUT_HANGUP,
};

/*
 * Never waits; without O_NONBLOCK, as others may share the descriptor's flags.
 * poll() says nothing before the first writer of a FIFO.
 */
static enum input
read_input(struct device *d, uint8_t *buf, size_t *n, int *err)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };
	bool ready;
	ssize_t got;

	*err = 0;
	ready = poll(&p, 1, 0) > 0 && p.revents != 0;
	if (!ready && !(d->fifo && d->nonblocking))
		return INPUT_NONE;
	got = read(d->fd, buf, PIECE);
	if (got > 0) {
		*n = (size_t)got;
		d->has_writer = true;
		return INPUT_BYTES;
	}
	if (got < 0 && errno == EAGAIN)
		d->has_writer = true;
	if ((got < 0 && (errno == EAGAIN || errno == EINTR)) || !ready)
		return INPUT_NONE;
	*err = got < 0 ? errno : 0;
	return INPUT_HANGUP;
}

static void
hang_up(struct keeper *k, struct device *d, int err)
{
	if (!d->fifo || d->once || err != 0) {
		end_device(k, d, err);
		return;
	}
	if (!d->has_writer)
		return;
	raw_end(&d->raw, take_record, k);
	d->has_writer = false;
}

/* Writers that open a FIFO for a record each may all be gone at this moment. */
static bool
is_unwritten(const struct device *d, int64_t mono)
{
	return d->fifo && !d->has_writer &&
	    (d->raw.n.bytes == 0 || mono - d->heard_ms >= UNWRITTEN_MS);
}

static void
device_source(struct keeper *k, int64_t mono)
{
	struct device *d = k->node->device;
	struct mono begun = mono_now();
	uint8_t buf[PIECE];
	enum input input = INPUT_BYTES;
	size_t sum = 0, n = 0;
	int err = 0;

	if (k->source.now_ms != 0 && !d->file)
		k->source.now_ms += mono - d->ran_ms;
	d->ran_ms = mono;
	while (sum < VISIT_BYTES &&
	    mono_diff_ns(mono_now(), begun) < VISIT_US * 1000 &&
	    (input = read_input(d, buf, &n, &err)) == INPUT_BYTES) {
		d->heard_ms = mono;
		raw_put(&d->raw, buf, n, take_record, k);
		sum += n;
	}
	if (input == INPUT_HANGUP)
		hang_up(k, d, err);
	if (d->fd < 0)
		return;
	if (input == INPUT_NONE && mono - d->heard_ms >= QUIET_MS)
		raw_quiet(&d->raw, take_record, k);
	count_slips(k, d);
	set_reason(k, d, is_unwritten(d, mono) ? "it has no writer" : "");
}

static int
set_terminal(struct device *d, unsigned baud)
{
	struct termios t;
	speed_t speed;

	if (tcgetattr(d->fd, &d->before) < 0)
		return -errno;
	t = d->before;
	cfmakeraw(&t);
	t.c_cflag |= CLOCAL | CREAD;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	if (node_options_speed(baud, &speed))
		cfsetspeed(&t, speed);
	if (tcsetattr(d->fd, TCSANOW, &t) < 0)
		return -errno;
	d->terminal = true;
	return 0;
}

static int
set_up(struct device *d, const struct node_opts *o)
{
	struct stat st;

	if (fstat(d->fd, &st) < 0)
		return -errno;
	d->fifo = S_ISFIFO(st.st_mode);
	d->nonblocking = (fcntl(d->fd, F_GETFL) & O_NONBLOCK) != 0;
	d->file = S_ISREG(st.st_mode);
	d->once = o->device.once;
	/* Only a line may begin in the midst of a record. */
	raw_init(&d->raw, !S_ISCHR(st.st_mode));
	return isatty(d->fd) ? set_terminal(d, o->device.baud) : 0;
}

int
device_start(struct node *node)
{
	const struct node_opts *o = &node->opts;
	struct keeper_opts ko = { .classic = true, .max = o->max };
	struct device *d = calloc(1, sizeof *d);
	const char *name = o->device.name != NULL ? o->device.name : "raw";
	struct keeper *k;
	int r;

	if (d == NULL)
		return -ENOMEM;
	node->device = d;
	d->fd = o->device.fd;
	fcntl(d->fd, F_SETFD, FD_CLOEXEC);
	r = set_up(d, o);
	if (r == 0)
		r = keeper_new(&k, node, &ko, NULL);
	if (r < 0)
		return r;
	base_safe_text(
	    k->image.comm, sizeof k->image.comm, name, strlen(name), false);
	k->source.make = device_source;
	/* Firmware logs malloc's types too. */
	stream_types_init(k->declared.types);
	keeper_types_changed(k);
	keeper_expect_unlisted(k);
	d->ran_ms = d->heard_ms = mono_ms(mono_now());
	r = images_join(k, "ALLOCLOG");
	if (r < 0)
		keeper_unref(k);
	return r;
}

void
device_close(struct node *node)
{
	struct device *d = node->device;

	if (d == NULL)
		return;
	close_device(d);
	free(d);
	node->device = NULL;
}
