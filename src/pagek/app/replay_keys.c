#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"

#define PORTIONS 20		/* of the time line, for one { or } */
#define SPEED_ONE 1000
#define SPEED_MAX 1000		/* times */

bool
app_is_replay(struct app *app)
{
	return app->session != NULL &&
	    nodes_session_look(app->session)->replay.on;
}

static void
ask(struct app *app, enum wire_replay_action action, int64_t by,
    const char *word)
{
	int r = app_is_replay(app) ? nodes_session_replay(app->session, action,
	    by, word) : -ENOENT;

	if (r == -ENOENT)
		app_say(app, "this target is no capture");
	else if (r == -EBUSY)
		app_say(app, "the last step is not done yet");
	else if (r < 0)
		app_say(app, "cannot set the time line: %s", strerror(-r));
}

void
app_replay_pause(struct app *app)
{
	ask(app, WIRE_REPLAY_TOGGLE, 0, NULL);
}

bool
app_replay_stop(struct app *app)
{
	if (!app_is_replay(app) || nodes_session_look(app->session)->
	    replay.state != WIRE_REPLAY_GOING)
		return false;
	ask(app, WIRE_REPLAY_PAUSE, 0, NULL);
	return true;
}

void
app_replay_step(struct app *app, int64_t events)
{
	ask(app, WIRE_REPLAY_STEP, events, NULL);
}

static void
move(struct app *app, int direction)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	uint64_t span = (uint64_t)look->replay.end_ms -
	    (uint64_t)look->replay.begin_ms;

	ask(app, WIRE_REPLAY_MOVE, direction * (int64_t)(span / PORTIONS + 1),
	    NULL);
}

void
app_replay_back(struct app *app)
{
	move(app, -1);
}

void
app_replay_forth(struct app *app)
{
	move(app, 1);
}

void
app_replay_at(struct app *app, const char *arg)
{
	if (arg[0] == '\0')
		app_say(app, ":at needs a moment: a time such as 14:05:30, +90s from "
		    "the beginning, begin, end, peak, or a mark of the capture");
	else
		ask(app, WIRE_REPLAY_AT, 0, arg);
}

void
app_replay_play(struct app *app, const char *arg)
{
	char *end;
	double times = strtod(arg, &end);

	if (arg[0] != '\0' && (*end != '\0' || !(times >= 0.001) ||
	    times > SPEED_MAX)) {
		app_say(app, "'%.32s' is not a speed from 0.001 to %d", arg,
		    SPEED_MAX);
		return;
	}
	if (arg[0] != '\0' && nodes_session_replay(app->session,
	    WIRE_REPLAY_SPEED, (int64_t)(times * SPEED_ONE + 0.5), NULL) == 0)
		app->waits.play = true;
	else
		ask(app, WIRE_REPLAY_PLAY, 0, NULL);
}

void
app_replay_tick(struct app *app)
{
	/* After the answer to the speed. */
	if (app->waits.play && nodes_session_replay(app->session,
	    WIRE_REPLAY_PLAY, 0, NULL) != -EBUSY)
		app->waits.play = false;
}

void
app_replay_steps(struct app *app, const char *arg)
{
	char *end;
	long long n = strtoll(arg, &end, 10);

	if (arg[0] == '\0')
		app_replay_step(app, 1);
	else if (*end != '\0' || n == 0 || n == INT64_MIN)
		app_say(app, "'%.32s' is not a number of events, such as 100 or "
		    "-100", arg);
	else
		app_replay_step(app, n);
}
