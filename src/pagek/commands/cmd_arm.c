#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../layout/layout.h"

static bool
is_answered(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	if (!look->link.up)
		return true;
	return !look->arming.pending && (look->settled || look->arming.error != 0);
}

static int
report_answer(const struct options *o, const struct nodes_look *look, bool arm)
{
	char name[64];

	if (look->arming.error != 0) {
		complain("%s: %s", o->target.word, look->arming.error == -EPERM ?
		    "the node does not permit it" : look->reason[0] != '\0' ?
		    look->reason : strerror(-look->arming.error));
		return look->arming.error == -EPERM ? PAGEK_DENIED :
		    look->arming.error == -ENOTSUP ? PAGEK_NO_TARGET :
		    PAGEK_FAILED;
	}
	/* Another page may have changed the arming since. */
	if (look->state != (arm ? NODES_LIVE : NODES_DORMANT)) {
		complain("%s: %s", o->target.word,
		    page_state_name(look->state));
		return PAGEK_FAILED;
	}
	base_safe_text(name, sizeof name, look->target.name,
	    strlen(look->target.name), o->page.ascii);
	printf("%s[%ld] %s\n", name, (long)look->target.pid, !arm ? "DORMANT" :
	    look->arming.since_wall_ms != 0 ? "armed: earlier blocks are not listed" :
	    "has logged since its start");
	return output_close(stdout, NULL, PAGEK_OK);
}

static int
set_armed(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	bool arm = o->command == COMMAND_ARM;
	int err;

	if (nodes_session_look(s)->state == NODES_ENDED) {
		complain("%s: the target has ended", o->target.word);
		return PAGEK_NO_TARGET;
	}
	err = nodes_session_arm(s, arm ? WIRE_ARM_HOLD : WIRE_ARM_OFF);
	if (err == -ENOENT) {
		complain("%s: no live target can be %s there", o->target.word,
		    arm ? "armed" : "disarmed");
		return PAGEK_NO_TARGET;
	}
	if (err == 0 && !pump(loop, s, o->timeout_ms, is_answered, s)) {
		complain("no answer within %d s", o->timeout_ms / 1000);
		return PAGEK_TIMEOUT;
	}
	return report_answer(o, nodes_session_look(s), arm);
}

/* An ended target has a message of its own. */
static bool
can_be_asked(const struct nodes_look *look)
{
	return look->state == NODES_LIVE || look->state == NODES_DORMANT ||
	    look->state == NODES_ENDED;
}

/* Without a TARGET nothing is armed or disarmed. */
int
cmd_arm_check(struct parse *p)
{
	const char *name = command_rows[p->o->command].name;

	if (!p->o->target_given)
		return option_fail(p, "'pagek %s' needs a TARGET, as in "
		    "'pagek %s pid:4711'", name, name);
	return 0;
}

int
cmd_arm(const struct options *o, uv_loop_t *loop)
{
	return batch_visit(o, loop, can_be_asked, set_armed);
}
