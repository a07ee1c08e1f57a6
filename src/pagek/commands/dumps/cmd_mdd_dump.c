#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../base/base.h"
#include "../../../mdd/take/take.h"
#include "../../cli/cli.h"

#define CORE "core:"
#define PID "pid:"
#define NAME "mddout."

static bool
is_core(const char *word)
{
	return strncmp(word, CORE, strlen(CORE)) == 0;
}

static bool
parse_pid(const char *word, uint64_t *pid)
{
	return strncmp(word, PID, strlen(PID)) == 0 &&
	    base_parse_count(word + strlen(PID), INT32_MAX, pid) == 0 &&
	    *pid > 0;
}

int
cmd_mdd_dump_check(struct parse *p)
{
	const char *word = p->o->words.memory;
	uint64_t pid;

	if (word == NULL)
		return option_fail(p, "'pagek mdd-dump' needs core:FILE or "
		    "pid:N");
	if (!is_core(word) && !parse_pid(word, &pid))
		return option_fail(p, "'%s' is neither core:FILE nor pid:N",
		    base_shown(word));
	if (is_core(word) && word[strlen(CORE)] == '\0')
		return option_fail(p, "core: needs the name of a core file, as "
		    "in core:core.4711");
	if (is_core(word) && option_given(p->o, OPTION_RESET))
		return option_fail(p, "--reset is for pid:N: the history of a "
		    "core file stays");
	return 0;
}

static int
status_of(int error)
{
	switch (error) {
	case -ESRCH:
	case -ENOENT:
	case -ENODATA:
		return PAGEK_NO_TARGET;
	case -EACCES:
	case -EPERM:
		return PAGEK_DENIED;
	case -EBADMSG:
		return PAGEK_FORMAT;
	default:
		return PAGEK_FAILED;
	}
}

static void
free_name(char *out, size_t cap)
{
	struct stat st;

	for (unsigned i = 0; i < INT16_MAX; i++) {
		snprintf(out, cap, NAME "%u", i);
		if (lstat(out, &st) < 0)
			return;
	}
}

static void
report(const struct take *t, const struct options *o, const char *path)
{
	const struct take_problems *p = &t->problems;

	for (size_t i = 0; i < p->n && i < TAKE_PROBLEMS; i++)
		complain("%s: %s", o->words.memory, p->text[i]);
	if (p->n > TAKE_PROBLEMS)
		complain("%s: %zu more such places", o->words.memory,
		    p->n - TAKE_PROBLEMS);
	if (t->root.busy > 0)
		notice("%s: %" PRIu32 " shard%s being updated (the first is %"
		    PRIu32 "): events in progress are not in the dump",
		    o->words.memory, t->root.busy, t->root.busy == 1 ? " was" :
		    "s were", t->root.first_busy);
	if (t->moved)
		complain("%s: not all was copied within the 50 ms that the "
		    "program is stopped; it has changed its data meanwhile",
		    o->words.memory);
	if (t->process == NULL)
		tell("%s: mdd_root is at 0x%" PRIx64, o->words.memory,
		    t->root.address);
	else
		tell("%s: mdd_root is at 0x%" PRIx64 "; the program was "
		    "stopped for %" PRIu64 " us", o->words.memory, t->root.address,
		    t->stopped_ns / 1000);
	if (path != NULL)
		notice("%s: %" PRIu64 " bytes of debug data are in %s",
		    o->words.memory, t->tables.bytes, path);
}

static int
write_dump(struct take *t, const struct options *o)
{
	struct take_about about = { .maker = "pagek mdd-dump",
		.reset = option_given(o, OPTION_RESET) &&
		    t->root.history_records > 0 };
	const char *path = o->output;
	char name[32];
	FILE *out;
	int e, status;

	if (path == NULL) {
		free_name(name, sizeof name);
		path = name;
	}
	out = output_open(path);
	if (out == NULL)
		return PAGEK_FAILED;
	e = take_write(t, out, &about);
	status = output_close(out, path, PAGEK_OK);
	if (e < 0 && status == PAGEK_OK) {
		complain("cannot write '%s': %s", path, strerror(-e));
		status = PAGEK_FAILED;
	}
	if (status != PAGEK_OK)
		return status;
	report(t, o, out == stdout ? NULL : path);
	/* Memory that is also in a file need not come from the target. */
	if (about.reset && take_reset(t) < 0) {
		complain("%s: %s, although the dump says so", o->words.memory, t->why);
		return PAGEK_FAILED;
	}
	return t->problems.n > 0 ? PAGEK_FORMAT : t->moved ? PAGEK_INCOMPLETE :
	    PAGEK_OK;
}

int
cmd_mdd_dump(const struct options *o, uv_loop_t *loop)
{
	struct take t;
	uint64_t pid = 0;
	int status, e;

	(void)loop;
	e = parse_pid(o->words.memory, &pid) ? take_open_process(&t, (pid_t)pid) :
	    take_open_core(&t, o->words.memory + strlen(CORE));
	if (e == 0)
		e = take_find_root(&t);
	if (e == 0)
		e = take_copy(&t);
	if (e < 0) {
		complain("%s: %s", o->words.memory, t.why);
		status = status_of(e);
	} else {
		status = write_dump(&t, o);
	}
	take_close(&t);
	return status;
}
