#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../capture/moment.h"
#include "capture_target.h"
#include "cli.h"

static char damage[CAPTURE_WHY];

const char *
capture_target_damage(const struct nodes_look *look)
{
	size_t len = strlen(WIRE_REPLAY_DAMAGED);

	return damage[0] == '\0' && look->replay.on &&
	    strncmp(look->reason, WIRE_REPLAY_DAMAGED, len) == 0 ?
	    look->reason + len : damage;
}

struct sentences {
	char *why;
	size_t cap, len;
};

#define SAY(s, ...) base_append((s)->why, (s)->cap, &(s)->len, __VA_ARGS__)

static int
choose_part(const struct capture *c, const struct options *o, uint32_t *no,
    struct sentences *s)
{
	const char *word = o->events.part;
	struct capture_part_info p;
	unsigned found;

	if (moment_part(c, word, no, &found) < 0 && word != NULL) {
		SAY(s, "--part=%s: '%s' has no image with that number, process "
		    "id or name; 'pagek stats' lists its images",
		    base_shown(word), base_shown(o->target.name));
		return PAGEK_USAGE;
	}
	if (found == 0) {
		SAY(s, "'%s' has no process image: it ends before the first one",
		    base_shown(o->target.name));
		return PAGEK_FORMAT;
	}
	capture_part(c, *no, &p);
	if (found > 1)
		SAY(s, "%u process images: this is image %u, %s[%lld], which had "
		    "most events; --part chooses another", found, *no,
		    base_shown(p.part.comm), (long long)p.part.pid);
	return PAGEK_OK;
}

static int
check_moment(const struct capture *c, uint32_t part, const char *at,
    struct sentences *s)
{
	struct capture_when w;
	int r = moment_parse(c, part, at, &w);

	if (r == -EINVAL) {
		s->len = 0;
		SAY(s, "--at=%s: " MOMENT_NONE, base_shown(at));
		return PAGEK_USAGE;
	}
	if (r == -ERANGE)
		SAY(s, "%s--at=%s is %s of the capture, and that is shown",
		    s->len > 0 ? "; " : "", base_shown(at), w.at == CAPTURE_AT_END ?
		    "after the end" : "before the beginning");
	return PAGEK_OK;
}

static int
examine(const struct capture *c, const struct options *o,
    struct node_opts *start, struct sentences *s)
{
	const char *at = o->events.ats > 0 ? o->events.at[o->events.ats - 1] :
	    NULL;
	bool repeats = (command_in(o->command, GROUP_REPEAT) ||
	    command_in(o->command, GROUP_SCREEN)) &&
	    !option_given(o, OPTION_ONCE);
	int status = choose_part(c, o, &start->replay.part, s);

	if (status == PAGEK_OK && at != NULL)
		status = check_moment(c, start->replay.part, at, s);
	if (status != PAGEK_OK)
		return status;
	start->replay.plays = at == NULL && repeats;
	start->replay.follows = command_in(o->command, GROUP_SCREEN) &&
	    !option_given(o, OPTION_ONCE) && !option_given(o, OPTION_BATCH);
	start->replay.at = start->replay.plays ? "begin" : at;
	if (capture_damages(c) > 0)
		base_copy_text(damage, sizeof damage, capture_damage(c, 0));
	return PAGEK_OK;
}

int
capture_file_status(int err)
{
	return err == -EBADMSG || err == -ENOTSUP || err == -EISDIR ?
	    PAGEK_FORMAT : err == -EACCES || err == -EPERM ? PAGEK_DENIED :
	    err == -ENOENT || err == -ENOTDIR ? PAGEK_NO_TARGET : PAGEK_FAILED;
}

int
capture_target_open(const struct options *o, uv_loop_t *loop,
    struct nodes_link **link, char *why, size_t cap)
{
	struct sentences s = { .why = why, .cap = cap };
	struct node_opts start = o->node;
	char reason[CAPTURE_WHY];
	struct capture *c;
	int status, err = capture_open(&c, o->target.name, reason);

	if (err < 0) {
		SAY(&s, "%s", reason);
		return capture_file_status(err);
	}
	status = examine(c, o, &start, &s);
	capture_close(c);
	output_end_progress();
	if (status != PAGEK_OK)
		return status;
	start.replay.path = o->target.name;
	start.check_list = o->list == LIST_CHECK;
	tell("node: our own, for this page");
	err = nodes_start(link, loop, &start);
	if (err == 0)
		return PAGEK_OK;
	s.len = 0;
	SAY(&s, "cannot start pageknode: %s", strerror(-err));
	return PAGEK_FAILED;
}
