#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../host/proc.h"
#include "../images/images.h"
#include "../keeper/counting.h"
#include "../keeper/keeper.h"
#include "../keeper/node.h"
#include "../keeper/takeover_memory.h"
#include "../recorder/recorder.h"
#include "../replay/replay.h"
#include "answer.h"

#define DISCARDED_TEXT 160

int
answer_init(struct answer_scratch **out)
{
	*out = calloc(1, sizeof **out);
	return *out == NULL ? -ENOMEM : 0;
}

void
answer_fini(struct answer_scratch *s)
{
	if (s != NULL)
		hashindex_fini(&s->pairs.pending);
	free(s);
}

/* False after an error was sent: it is another user's. */
static bool
may_read(struct conn *c, const struct wire_msg *m, const struct keeper *k)
{
	if (access_reads(&c->node->access, &c->peer, k->image.uid))
		return true;
	conn_error(c, m->id, WIRE_E_AUTH,
	    "this stream is of another user's process");
	return false;
}

bool
answer_may_control(struct conn *c, const struct wire_msg *m, const struct keeper *k)
{
	if (access_controls(&c->node->access, &c->peer, k->image.uid))
		return true;
	conn_error(c, m->id, WIRE_E_AUTH,
	    "this process is another user's: that user and root may do so");
	return false;
}

/* The row at an index, or NULL after an error was sent. */
static const struct dstrm_row *
find_row(struct conn *c, const struct wire_msg *m, uint32_t index)
{
	const struct dstrm_row *row = dstrm_at(&c->node->dstrm, index);

	if (row == NULL) {
		conn_error(c, m->id, WIRE_E_NAME, "no such stream");
		return NULL;
	}
	return may_read(c, m, row->keeper) ? row : NULL;
}

/* When the list of an ended target was discarded, and for which limit. */
static void
discarded_text(const struct keeper *k, char out[DISCARDED_TEXT])
{
	int64_t after = (k->last.dropped_ms - k->life.ended_ms) / 1000;
	bool minutes = after >= 600;
	size_t len = 0;

	out[0] = '\0';
	base_append(out, DISCARDED_TEXT, &len, "it has ended, and its list was "
	    "discarded");
	if (k->last.dropped_ms != 0 && k->life.ended_ms != 0)
		base_append(out, DISCARDED_TEXT, &len, " %s %s later",
		    base_digits(after < 0 ? 0 : (uint64_t)after /
		    (minutes ? 60 : 1)).text, minutes ? "min" : "s");
	if (k->last.dropped != NULL)
		base_append(out, DISCARDED_TEXT, &len, ": %s",
		    k->last.dropped);
}

struct keeper *
answer_keeper(struct conn *c, const struct wire_msg *m, uint32_t index,
    const uint8_t epoch[WIRE_EPOCH], bool need_list)
{
	struct dstrm *t = &c->node->dstrm;
	struct wire_msg err = { .type = WIRE_ERR, .id = m->id };
	char text[DISCARDED_TEXT];
	struct keeper *k = NULL;
	int r = dstrm_get(t, index, epoch, &k);

	if (r == 0 && !may_read(c, m, k))
		return NULL;
	if (r == 0 && (k->list != NULL || !need_list))
		return k;
	err.err.code = r == -ESTALE ? WIRE_E_EPOCH : WIRE_E_NAME;
	if (r == -ESTALE) {
		err.err.text = wire_text("this index means another stream now");
		memcpy(err.err.epoch, t->row[index].epoch, WIRE_EPOCH);
	} else if (r < 0) {
		err.err.text = wire_text("no such stream");
	} else if (k->life.state == WIRE_S_NO_DATA) {
		err.err.text = wire_text("this process has no stream");
	} else {
		discarded_text(k, text);
		err.err.text = wire_text(text);
	}
	conn_reply(c, &err);
	return NULL;
}

void
answer_name(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_NAMED, .id = m->id };

	if (tables_find(c->node, &m->name, &reply.named) < 0) {
		conn_error(c, m->id, WIRE_E_NAME, "no such name");
		return;
	}
	if (reply.named.format != 0 &&
	    find_row(c, m, reply.named.index) == NULL)
		return;
	conn_reply(c, &reply);
}

void
answer_numbers(const struct keeper *k, uint64_t out[WIRE_STATS_COUNT])
{
	const struct blklist_counts *n = keeper_counts(k);
	const struct stream_feed_counts *feed =
	    k->feed != NULL ? stream_feed_counts(k->feed) : NULL;

	out[WIRE_N_RECORDS] = n->records;
	out[WIRE_N_ALLOCS] = n->allocs;
	out[WIRE_N_FREES] = n->frees;
	out[WIRE_N_FAILED] = n->failed;
	out[WIRE_N_INHERITED] = n->inherited;
	out[WIRE_N_LIVE_BLOCKS] = n->aRecActive;
	out[WIRE_N_LIVE_BYTES] = n->live_bytes;
	out[WIRE_N_PEAK_BYTES] = n->peak_bytes;
	out[WIRE_N_MAX] = n->aRecMax;
	out[WIRE_N_LOST] = keeper_lost(k);
	out[WIRE_N_DUPLICATE] = n->duplicate;
	out[WIRE_N_UNKNOWN_FREE] = n->unknown_free;
	out[WIRE_N_EARLIER] = n->earlier;
	out[WIRE_N_ILLEGAL_TYPE] = n->illegal_type;
	out[WIRE_N_FULL] = n->full;
	out[WIRE_N_BAD] = k->numbers.bad;
	out[WIRE_N_CYCLE_US] = k->numbers.cycle_us;
	out[WIRE_N_HELD] = feed != NULL ? feed->held : 0;
	out[WIRE_N_SITES_FULL] = k->numbers.sites_full;
	out[WIRE_N_WALKS] = k->numbers.walks;
	out[WIRE_N_PAIRS] = k->numbers.pairs;
	out[WIRE_N_UNSURE] = keeper_doubt(k);
	out[WIRE_N_UNFINISHED] = k->trust.unfinished;
	out[WIRE_N_PEAK_MOST] = peak_most(k);
	out[WIRE_N_SAMPLE] = k->format.sample;
	out[WIRE_N_EST_BLOCKS] = n->est_blocks;
	out[WIRE_N_EST_BYTES] = n->est_bytes;
	out[WIRE_N_EST_PEAK_BYTES] = n->est_peak_bytes;
	out[WIRE_N_ARMED_MS] = (uint64_t)k->arming.wall_ms;
	out[WIRE_N_SKIPPED] = k->numbers.skipped;
	out[WIRE_N_STAY] = n->records - 2 * n->cancelled;
	for (unsigned level = 1; level < REC_LEVEL_FAILED; level++)
		out[WIRE_N_LEVEL_1 + level - 1] = k->format.classic ? 0 :
		    n->by_level[level];
	out[WIRE_N_RECORDINGS] = recorder_count(k);
	counting_cost(k, &out[WIRE_N_USAGE_ROWS], &out[WIRE_N_USAGE_BYTES]);
}

static void
stat_stream(const struct keeper *k, struct wire_stats *st)
{
	st->pid = (uint32_t)k->image.pid;
	st->ppid = (uint32_t)k->image.ppid;
	st->comm = wire_text(k->image.comm);
	st->state = k->life.state;
	st->status = k->life.status;
	st->reason = wire_text(k->life.reason);
	st->starter = (uint32_t)k->image.starter;
	st->ended_ms = k->life.ended_ms;
	st->started_ms = k->image.start != 0 ?
	    proc_start_ms(k->image.start) : 0;
	answer_numbers(k, st->n);
}

void
answer_stat(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_STATS, .id = m->id };
	const struct dstrm_row *row;

	reply.stats.index = m->stat.index;
	reply.stats.targets_live = images_live(c->node);
	if (m->stat.index == UINT32_MAX) {
		c->node->hooks->stat_command(c->node, &reply.stats);
		friendly_stat(&c->node->friendly, reply.stats.n);
		self_watch_stat(c->node, reply.stats.n);
		images_stat(c->node, reply.stats.n);
		reply.stats.missed = wire_text(images_missed_why(c->node));
		recorder_stat(c->node, reply.stats.n);
		listings_stat(c->node, &reply.stats);
		reply.stats.n[WIRE_N_UP_S] =
		    (uint64_t)mono_ms_since(c->node->life.begun) / 1000;
	} else {
		row = find_row(c, m, m->stat.index);
		if (row == NULL)
			return;
		stat_stream(row->keeper, &reply.stats);
		replay_stat(row->keeper, reply.stats.n);
	}
	conn_reply(c, &reply);
}

void
answer_sym(struct conn *c, const struct wire_msg *m)
{
	const struct dstrm_row *row = find_row(c, m, m->sym.index);

	if (row == NULL)
		return;
	if (m->sym.kind != WIRE_SYM_THREAD)
		conn_error(c, m->id, WIRE_E_NAME, "no names of that kind");
	else
		lookup_threads(c, m, row->keeper);
}

void
answer_site(struct conn *c, const struct wire_msg *m)
{
	struct keeper *k;

	k = answer_keeper(c, m, m->site.index, m->site.epoch, false);
	if (k != NULL)
		lookup_sites(c, m, k);
}

void
answer_frame(struct conn *c, const struct wire_msg *m)
{
	struct keeper *k;

	k = answer_keeper(c, m, m->frame.index, m->frame.epoch, false);
	if (k != NULL)
		lookup_frames(c, m, k);
}

void
answer_types(struct conn *c, const struct wire_msg *m)
{
	const struct dstrm_row *row = find_row(c, m, m->types.index);
	struct answer_scratch *s = c->node->serve->scratch;
	struct wire_msg reply = { .type = WIRE_TYPED, .id = m->id };
	const struct stream_types *types;
	size_t len = 0;

	if (row == NULL)
		return;
	types = row->keeper->declared.types;
	if (types == NULL)
		types = &c->node->types;
	for (unsigned code = 0; code < 256; code++) {
		const struct stream_type *t = &types->by_code[code];

		if (t->name[0] == '\0')
			continue;
		s->bytes[len] = (uint8_t)code;
		memcpy(s->bytes + len + 1, t->name, 8);
		memcpy(s->bytes + len + 9, t->text, 41);
		len += WIRE_TYPED_SIZE;
	}
	reply.typed.index = m->types.index;
	reply.typed.types = (struct wire_bytes){ .p = s->bytes, .len = len };
	conn_reply(c, &reply);
}

void
answer_regions(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_REGIONED, .id = m->id };
	uint8_t packed[WIRE_REGIONS_MAX * WIRE_REGION_SIZE];
	struct wire_region region[WIRE_REGIONS_MAX];
	const char *why;
	struct keeper *k;
	size_t n;

	k = answer_keeper(c, m, m->regions.index, m->regions.epoch, true);
	if (k == NULL)
		return;
	n = tables_regions(k, region, &reply.regioned.no, &why);
	for (size_t i = 0; i < n; i++)
		wire_region_put(packed + i * WIRE_REGION_SIZE, &region[i]);
	reply.regioned.index = m->regions.index;
	reply.regioned.why = wire_text(why);
	reply.regioned.regions = (struct wire_bytes){ .p = packed,
		.len = n * WIRE_REGION_SIZE };
	conn_reply(c, &reply);
}

static void
reply_marks(struct conn *c, const struct keeper *k, struct wire_msg *reply)
{
	struct answer_scratch *s = c->node->serve->scratch;
	const struct mark_set *set = k->marks;
	size_t len = 0;

	for (uint32_t i = 0; set != NULL && i < set->n; i++) {
		wire_named_mark_put(s->bytes + len, &set->at[i]);
		len += WIRE_MARK_SIZE;
	}
	reply->marked.index = k->index;
	reply->marked.marks = (struct wire_bytes){ .p = s->bytes, .len = len };
	conn_reply(c, reply);
}

void
answer_marks(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_MARKED, .id = m->id };
	struct keeper *k;

	k = answer_keeper(c, m, m->marks.index, m->marks.epoch, false);
	if (k != NULL)
		reply_marks(c, k, &reply);
}

/* It is kept before the page is told. */
void
answer_mark(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_MARKED, .id = m->id };
	struct mark_effect effect;
	char who[SERVE_ORIGIN_MAX];
	struct keeper *k;
	int r;

	k = answer_keeper(c, m, m->mark.index, m->mark.epoch, true);
	if (k == NULL)
		return;
	if (!keeper_is_live(k)) {
		conn_error(c, m->id, WIRE_E_NAME, "the target has ended: its "
		    "list stays as it is, and needs no mark");
		return;
	}
	visits_freshen(k);
	r = keeper_set_mark(k, m->mark.name.s, m->mark.name.len,
	    conn_origin(c, who, sizeof who), false, &effect);
	if (r < 0) {
		conn_error(c, m->id, r == -ENOMEM ? WIRE_E_INTERNAL :
		    WIRE_E_NAME, r == -EINVAL ? WIRE_MARK_RULE :
		    r == -ENODATA ? "a dormant target has no list to mark" :
		    "out of memory");
		return;
	}
	takeover_commit(k, true);
	reply.marked.moved = effect.moved;
	reply.marked.dropped = wire_text(effect.dropped);
	reply_marks(c, k, &reply);
}

void
answer_end(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_ENDED, .id = m->id };
	struct keeper *k;

	k = answer_keeper(c, m, m->end.index, m->end.epoch, false);
	if (k == NULL || !answer_may_control(c, m, k))
		return;
	if (k == c->node->own_stream) {
		conn_error(c, m->id, WIRE_E_NAME,
		    "this is the node itself, and no target");
		return;
	}
	if (c->node->replay != NULL) {
		conn_error(c, m->id, WIRE_E_NAME,
		    "this is a capture: no process runs that could be ended");
		return;
	}
	if (keeper_is_live(k) && k->image.pid == 0) {
		images_end_image(k, WIRE_S_ENDED, 0, NULL);
	} else if (keeper_is_live(k) &&
		   (k->process.pidfd < 0 ||
		       syscall(SYS_pidfd_send_signal, k->process.pidfd, SIGTERM,
			   NULL, 0) < 0)) {
		conn_error(c, m->id, k->process.pidfd >= 0 && errno == EPERM ?
		    WIRE_E_AUTH : WIRE_E_INTERNAL,
		    "the target could not be sent SIGTERM");
		return;
	}
	conn_reply(c, &reply);
}

_Static_assert(ARMING_WATCHERS >= SERVE_CONNS_MAX,
    "every page may watch the same target");

void
answer_arm(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_ARMED, .id = m->id };
	struct keeper *k;
	int r;

	k = answer_keeper(c, m, m->arm.index, m->arm.epoch, false);
	if (k == NULL || !answer_may_control(c, m, k))
		return;
	r = arming_ask(k, c->page.id, (enum wire_arming)m->arm.arming);
	if (r == -ENOTSUP)
		conn_error(c, m->id, WIRE_E_NAME,
		    "only a live process with a stream can be armed or "
		    "disarmed");
	else if (r < 0)
		conn_error(c, m->id, WIRE_E_INTERNAL, "out of memory");
	else
		conn_reply(c, &reply);
}

void
answer_replay(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_REPLAYED, .id = m->id };
	char why[WIRE_TEXT_MAX + 1];
	int r = replay_ask(c->node, &m->replay, why, sizeof why);

	if (r == 0) {
		reply.replayed.why = wire_text(why);
		conn_reply(c, &reply);
		return;
	}
	if (why[0] == '\0')
		snprintf(why, sizeof why, "%s", r == -ENOTSUP ?
		    "this node replays no capture" : strerror(-r));
	conn_error(c, m->id, r == -EINVAL || r == -ENOTSUP ? WIRE_E_NAME :
	    WIRE_E_INTERNAL, why);
}

/* The file that the page has offered; negative after an error was sent. */
static int
claim_file(struct conn *c, const struct wire_msg *m)
{
	int fd = m->record.token.len == FILE_OFFER_TOKEN ?
	    recorder_claim(c->node, m->record.token.p, c->peer.uid) : -EINVAL;

	if (fd < 0)
		conn_error(c, m->id, fd == -ENOENT ? WIRE_E_BUSY : WIRE_E_NAME,
		    "no file was offered for this recording");
	return fd;
}

/* A dormant target logs while it is recorded; false after an error was sent. */
static bool
arm_for_recording(struct conn *c, const struct wire_msg *m, struct keeper *k)
{
	if (k->arming.mode == ARMING_DORMANT && !answer_may_control(c, m, k))
		return false;
	if (!keeper_is_live(k) || (k->image.pid != 0 &&
	    arming_ask(k, c->page.id, WIRE_ARM_WATCH) < 0)) {
		conn_error(c, m->id, WIRE_E_NAME,
		    "only a live target can be recorded");
		return false;
	}
	return true;
}

static bool
begin_recording(struct conn *c, const struct wire_msg *m)
{
	struct recorder_opts opts = { .ring = m->record.ring,
		.viewer = c->page.id, .peer = c->peer };
	struct wire_recorded now;
	const char *why;
	struct keeper *k;

	k = answer_keeper(c, m, m->record.index, m->record.epoch, true);
	if (k == NULL)
		return false;
	recorder_look(c->node, c->page.id, &now);
	if (now.state != WIRE_RECORD_NONE) {
		conn_error(c, m->id, WIRE_E_NAME,
		    "this page has a recording already");
		return false;
	}
	opts.fd = claim_file(c, m);
	if (opts.fd < 0)
		return false;
	if (!arm_for_recording(c, m, k)) {
		close(opts.fd);
		return false;
	}
	visits_freshen(k);
	if (recorder_begin(c->node, k, &opts, &why) < 0) {
		conn_error(c, m->id, WIRE_E_INTERNAL, why);
		return false;
	}
	return true;
}

/* The recording that the node was started with is its user's. */
static bool
may_see_own(struct conn *c, const struct wire_msg *m)
{
	if (access_controls(&c->node->access, &c->peer,
	    c->node->access.owner))
		return true;
	conn_error(c, m->id, WIRE_E_AUTH, "this recording is another user's");
	return false;
}

void
answer_record(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_RECORDED, .id = m->id };
	bool own = m->record.index == UINT32_MAX;
	uint64_t viewer = own ? 0 : c->page.id;

	if (m->record.action == WIRE_RECORD_BEGIN) {
		if (!begin_recording(c, m))
			return;
	} else if (own && !may_see_own(c, m)) {
		return;
	} else if (m->record.action == WIRE_RECORD_END) {
		recorder_end(c->node, viewer, own ? "the command has ended" :
		    "its viewer has ended it");
	}
	recorder_look(c->node, viewer, &reply.recorded);
	conn_reply(c, &reply);
}

static const struct request {
	uint32_t role;
	void (*answer)(struct conn *, const struct wire_msg *);
} requests[] = {
#define REQUEST(NAME, name, number, role, ...) \
	[WIRE_##NAME] = { WIRE_ROLE_##role, answer_##name },
#include "../../stream/wire/wire.def"
};

static void
refuse_role(struct conn *c, const struct wire_msg *m, uint32_t role)
{
	if (m->type == WIRE_LPUT)
		listings_count_refused(c->node);
	conn_error(c, m->id, WIRE_E_AUTH, role == WIRE_ROLE_CONTROL ?
	    "this page was not granted the role control" :
	    role == WIRE_ROLE_LIST_PUT ?
	    "this page was not granted the role list-put" :
	    "this page was not granted the role read");
}

void
answer(struct conn *c, const struct wire_msg *m)
{
	const struct request *r = m->type < BASE_NELEM(requests) &&
	    requests[m->type].answer != NULL ? &requests[m->type] : NULL;
	bool greets = r != NULL && r->role == WIRE_ROLE_NONE;

	if (!c->greeted && !greets)
		conn_fail(c, m->id, WIRE_E_FRAME, "the first message must be "
		    "HELLO");
	else if (r == NULL || c->greeted == greets)
		conn_fail(c, m->id, WIRE_E_FRAME, "not a request");
	else if (!greets && (c->roles & r->role) == 0)
		refuse_role(c, m, r->role);
	else
		r->answer(c, m);
}
