#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../blklist/blklist.h"
#include "../../mdd/target/target.h"
#include "../../stream/stream.h"
#include "node_options.h"

#define PROGRAM "pageknode"

static const struct {
	unsigned baud;
	speed_t speed;
} speeds[] = {
	{ 1200, B1200 }, { 2400, B2400 }, { 4800, B4800 }, { 9600, B9600 },
	{ 19200, B19200 }, { 38400, B38400 }, { 57600, B57600 },
	{ 115200, B115200 }, { 230400, B230400 }, { 460800, B460800 },
	{ 921600, B921600 }, { 1000000, B1000000 }, { 2000000, B2000000 },
	{ 3000000, B3000000 },
};

bool
node_options_speed(unsigned baud, speed_t *speed)
{
	for (size_t i = 0; i < BASE_NELEM(speeds); i++) {
		if (speeds[i].baud != baud)
			continue;
		*speed = speeds[i].speed;
		return true;
	}
	return false;
}

static bool
is_baud(const char *text)
{
	uint64_t baud;
	speed_t speed;

	return base_parse_count(text, UINT32_MAX, &baud) == 0 &&
	    node_options_speed((unsigned)baud, &speed);
}

/* Digits and an optional unit. */
static bool
is_demo_time(const char *text)
{
	static const char *const units[] = { "", "s", "m", "h" };
	size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; i < BASE_NELEM(units); i++)
		if (strcmp(text + digits, units[i]) == 0)
			return digits > 0 && digits <= 7;
	return false;
}

#define SETTINGS_MAX 90

static bool
is_debug_data(const char *text)
{
	struct mdd_opts opts;
	const char *bad;

	return text == NULL || (strlen(text) <= SETTINGS_MAX &&
		mdd_settings(&opts, text, &bad) >= 0);
}

#define ROW_STRUCT struct node_opts
#include "../../base/option.h"

const struct node_option node_handed[NODE_OPTIONS] = {
#define HANDED(id, name_, argument_, value_, kinds_, help_) \
	[NODE_OPTION_##id] = { .option = { .name = name_, \
	    .argument = argument_, .value = value_, .help = help_ }, \
	    .kinds = kinds_ },
#define OWN(id, name, argument, value, kinds, help)
#include "node_options.def"
};

enum node_kind
node_kind(const struct node_opts *o)
{
	return o->bridge.on ? NODE_BRIDGE : o->argv != NULL ? NODE_COMMAND :
	    o->demo.name != NULL || o->device.fd >= 0 ||
	    o->replay.path != NULL ? NODE_DEMO : NODE_DAEMON;
}

static size_t
count_words(char *const *argv)
{
	size_t n = 0;

	while (argv != NULL && argv[n] != NULL)
		n++;
	return n;
}

/* "--NAME" or "--NAME=VALUE", and a number as the value of the first. */
struct handed {
	char name[32 + SETTINGS_MAX], number[BASE_OPTION_TEXT];
};

static size_t
put_option(const char **argv, size_t n, const struct base_option *option,
    const struct node_opts *o, struct handed *text)
{
	const char *value = base_option_text(option, o, text->number);
	size_t len = 0;

	if (value == NULL)
		return n;
	base_append(text->name, sizeof text->name, &len, "--%s", option->name);
	argv[n++] = text->name;
	if (option->argument == NULL)
		return n;
	if (option->argument[0] != '[')
		argv[n++] = value;
	else if (value[0] != '\0')
		base_append(text->name, sizeof text->name, &len, "=%s", value);
	return n;
}

char **
node_options_argv(const struct node_opts *o)
{
	size_t words = count_words(o->argv), most = 2 * NODE_OPTIONS + 3 + words;
	enum node_kind kind = node_kind(o);
	struct handed *texts;
	const char **argv;
	size_t n = 0;

	/* One allocation: the words, then texts for some of them. */
	argv = calloc(1, most * sizeof *argv + NODE_OPTIONS * sizeof *texts);
	if (argv == NULL)
		return NULL;
	texts = (struct handed *)(void *)(argv + most);
	argv[n++] = PROGRAM;
	for (unsigned i = 0; i < NODE_OPTIONS; i++)
		if ((node_handed[i].kinds & kind) != 0)
			n = put_option(argv, n, &node_handed[i].option, o,
			    &texts[i]);
	if (words > 0)
		argv[n++] = "--";
	for (size_t i = 0; i < words; i++)
		argv[n++] = o->argv[i];
	/* exec() takes char *const[] but writes to none of them. */
	return (char **)(uintptr_t)argv;
}

int
node_say(const char *what, int r)
{
	fprintf(stderr, "pageknode: %s: %s%s\n", base_shown(what), strerror(-r),
	    base_remedy(r));
	return r;
}

int
node_say_folder(int r)
{
	if (r != -EPERM)
		return node_say("the folder for sockets", r);
	fprintf(stderr, "pageknode: the folder for sockets, "
	    "$XDG_RUNTIME_DIR/pagek or without that /tmp/pagek-%lu, is not "
	    "a folder of this user's alone with mode 0700\n",
	    (unsigned long)geteuid());
	return r;
}
