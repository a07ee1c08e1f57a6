/*
 * The command line: what is taken, what is refused and with which words.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/pagek/cli/options.h"
#include "../src/pagek/page/view.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "table_rig.h"

#define WORDS 16

static char why[512];

/* Parses a line of words set apart by blanks, as from a shell. */
static int
parse(struct options *o, const char *line)
{
	static char copy[1024];
	static char *argv[WORDS + 1];
	int argc = 0, r;
	char *word, *rest;

	snprintf(copy, sizeof copy, "pagek %s", line);
	for (word = strtok_r(copy, " ", &rest); word != NULL && argc < WORDS;
	    word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	why[0] = '\0';
	r = options_parse(o, argc, argv, why, sizeof why);
	options_fini(o);
	/* Refused when no target has such a command, which is known later. */
	if (r == 0 && o->target.kind == TARGET_COMMAND &&
	    !option_given(o, OPTION_HELP)) {
		snprintf(why, sizeof why, "%s", o->target.refusal);
		return o->target.refused;
	}
	return r;
}

/* --- taken -------------------------------------------------------------- */

static const struct {
	const char *line;
	enum command command;
	enum target_kind target;
} taken[] = {
	{ "", COMMAND_TOP, TARGET_LOCAL },
	{ "top", COMMAND_TOP, TARGET_LOCAL },
	{ "local", COMMAND_TOP, TARGET_LOCAL },
	{ "demo:note", COMMAND_TOP, TARGET_DEMO },
	{ "top demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "pid:4711", COMMAND_TOP, TARGET_PID },
	{ "unix:/run/x", COMMAND_TOP, TARGET_UNIX },
	{ "./socket", COMMAND_TOP, TARGET_UNIX },
	{ "ssh:host", COMMAND_TOP, TARGET_SSH },
	{ "list ssh:anna@host/pid:4711", COMMAND_LIST, TARGET_SSH },
	{ "nodes --format json", COMMAND_NODES, TARGET_LOCAL },
	{ "listings", COMMAND_LISTINGS, TARGET_LOCAL },
	{ "listings 20261121-163501-0007", COMMAND_LISTINGS, TARGET_LOCAL },
	{ "listings --utc --format json ssh:host", COMMAND_LISTINGS,
	    TARGET_SSH },
	{ "listings unix:/run/x 20261121-163501-0007 -o f", COMMAND_LISTINGS,
	    TARGET_UNIX },
	{ "--once ssh:[::1]/ALLOCLOG.x.1", COMMAND_TOP, TARGET_SSH },
	{ "targets --remote-pageknode ~/bin/pageknode ssh:host",
	    COMMAND_TARGETS, TARGET_SSH },
	{ "list demo:1", COMMAND_LIST, TARGET_DEMO },
	{ "--sort p list --reverse demo:1", COMMAND_LIST, TARGET_DEMO },
	{ "--group site --sort blocks demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "--group site --sort module demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "list --sort file demo:1", COMMAND_LIST, TARGET_DEMO },
	{ "--once --sort oldest_age --group type>site demo:1", COMMAND_TOP,
	    TARGET_DEMO },
	{ "run --group frame --sort self sleep 5", COMMAND_RUN, TARGET_LOCAL },
	{ "targets", COMMAND_TARGETS, TARGET_LOCAL },
	{ "arm pid:4711", COMMAND_ARM, TARGET_PID },
	{ "disarm --timeout 2 local", COMMAND_DISARM, TARGET_LOCAL },
	{ "--look-only pid:4711", COMMAND_TOP, TARGET_PID },
	{ "run --dormant --sample 512k sleep 5", COMMAND_RUN, TARGET_LOCAL },
	{ "run --sample=0 sleep 5", COMMAND_RUN, TARGET_LOCAL },
	{ "help", COMMAND_HELP, TARGET_LOCAL },
	{ "help run", COMMAND_HELP, TARGET_LOCAL },
	{ "run sleep 5", COMMAND_RUN, TARGET_LOCAL },
	{ "run -b -- sleep 5", COMMAND_RUN, TARGET_LOCAL },
	{ "--classic=strict --sort p --at 39s demo:note", COMMAND_TOP,
	    TARGET_DEMO },
	{ "--once --format json demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "-b --count 3 --interval 0.2 demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "-b --count 3 --interval .2 demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "-b --duration 3 demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "--duration 3 demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "watch --duration 3 demo:1", COMMAND_WATCH, TARGET_DEMO },
	{ "-q list -q demo:1", COMMAND_LIST, TARGET_DEMO },
	{ "run -v sleep -q", COMMAND_RUN, TARGET_LOCAL },
	{ "--list=check demo:1", COMMAND_TOP, TARGET_DEMO },
	{ "--since click --max 2048 pid:1", COMMAND_TOP, TARGET_PID },
	{ "--mouse --clipboard --fps 1 --units hex --color never --utc --ascii demo:1", COMMAND_TOP,
	    TARGET_DEMO },
	{ "-o /tmp/x run -- true", COMMAND_RUN, TARGET_LOCAL },
	{ "-- demo:note", COMMAND_TOP, TARGET_DEMO },
	{ "tree", COMMAND_TREE, TARGET_LOCAL },
	{ "tree --by age --reverse --least 0 --depth 4 --focus x* demo:1",
	    COMMAND_TREE, TARGET_DEMO },
	{ "tree --flat --by frame --by blocks --limit 9 pid:4711",
	    COMMAND_TREE, TARGET_PID },
	{ "export --folded --by blocks -o f demo:1", COMMAND_EXPORT,
	    TARGET_DEMO },
	{ "run --stack 64 --free-stack --skip a*,b* -- true", COMMAND_RUN,
	    TARGET_LOCAL },
	{ "--no-skip --skip x demo:1", COMMAND_TOP, TARGET_DEMO },
};

CASE("words");

TEST(a_range_is_an_address_and_a_length)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "refcnt 7f3c00402000 64k"), 0);
	ck_assert(!o.target_given);
	ck_assert_uint_eq(o.refcnt.vaddr, 0x7f3c00402000);
	ck_assert_uint_eq(o.refcnt.len, 64 << 10);
	ck_assert_uint_eq(o.refcnt.plane, REFCNT_WIDE);
	ck_assert_int_eq(parse(&o, "refcnt --enable --source refs --period 0.5 "
	    "pid:4711 0X10 0x1000"), 0);
	ck_assert_int_eq(o.target.pid, 4711);
	ck_assert_uint_eq(o.refcnt.vaddr, 16);
	ck_assert_uint_eq(o.refcnt.len, 4096);
	ck_assert_uint_eq(o.refcnt.source, REFCNT_REFS);
	ck_assert_int_eq(o.refcnt.period_ms, 500);
	ck_assert_int_eq(parse(&o, "refcnt --ext --move pid:4711 0 1 3"), 0);
	ck_assert_uint_eq(o.refcnt.node, 3);
	ck_assert_uint_eq(o.refcnt.plane, REFCNT_EXT);
	ck_assert_int_eq(parse(&o, "refcnt --config --nodes 0-1/2"), 0);
	ck_assert(option_given(&o, OPTION_MEMORY));
	ck_assert_int_eq(parse(&o, "refcnt --config=/none pid:1"), 0);
	ck_assert(!option_given(&o, OPTION_MEMORY));
	ck_assert_str_eq(o.config.file, "/none");
}

LOOP_TEST(what_is_right_is_taken, 0, BASE_NELEM(taken))
{
	struct options o;
	int r;

	r = parse(&o, taken[_i].line);
	ck_assert_msg(r == 0, "'%s': %s", taken[_i].line, why);
	ck_assert_int_eq(o.command, taken[_i].command);
	ck_assert_int_eq(o.target.kind, taken[_i].target);
}

TEST(what_is_meant_behind_a_host_is_told_apart)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "ssh:anna@linac-b/pid:4711"), 0);
	ck_assert_str_eq(o.target.node.place, "anna@linac-b");
	ck_assert_int_eq(o.target.pid, 4711);
	ck_assert_str_eq(o.target.name, "");
	ck_assert_int_eq(parse(&o, "ssh:linac-b/ALLOCLOG.a/b.7"), 0);
	ck_assert_str_eq(o.target.node.place, "linac-b");
	ck_assert_int_eq(o.target.pid, 0);
	ck_assert_str_eq(o.target.name, "ALLOCLOG.a/b.7");
	ck_assert(!o.target.command);
	ck_assert_int_eq(parse(&o, "ssh:linac-b/redis-server"), 0);
	ck_assert_int_eq(o.target.kind, TARGET_SSH);
	ck_assert_str_eq(o.target.name, "redis-server");
	ck_assert(o.target.command);
	/* The refusal is for when no target has the name. */
	ck_assert_int_eq(parse(&o, "local/server"), PAGEK_NO_TARGET);
	ck_assert_ptr_nonnull(strstr(why, "no target here is called 'server'"));
	ck_assert_int_eq(o.target.kind, TARGET_COMMAND);
	ck_assert_str_eq(o.target.name, "server");
	ck_assert_int_eq(parse(&o, "ssh:linac-b/local"), 0);
	ck_assert_str_eq(o.target.name, "");
	ck_assert(!o.target.command);
}

TEST(a_listing_is_told_from_a_target_by_its_form)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "listings"), 0);
	ck_assert_ptr_null(o.words.name);
	ck_assert_int_eq(parse(&o, "listings 20261121-163501-0007"), 0);
	ck_assert_str_eq(o.words.name, "20261121-163501-0007");
	ck_assert_int_eq(parse(&o, "listings unix:/run/x"), 0);
	ck_assert_ptr_null(o.words.name);
	ck_assert_int_eq(parse(&o, "listings local other-name"), 0);
	ck_assert_str_eq(o.words.name, "other-name");
}

TEST(the_other_pageknode_is_the_options_or_the_environments)
{
	struct options o;

	unsetenv("PAGEK_REMOTE");
	ck_assert_int_eq(parse(&o, "ssh:h"), 0);
	ck_assert_ptr_null(o.remote);
	setenv("PAGEK_REMOTE", "/opt/pageknode", 1);
	ck_assert_int_eq(parse(&o, "ssh:h"), 0);
	ck_assert_str_eq(o.remote, "/opt/pageknode");
	ck_assert_int_eq(parse(&o, "--remote-pageknode=/x ssh:h"), 0);
	ck_assert_str_eq(o.remote, "/x");
	/* It is no option: elsewhere it has no effect, and is no error. */
	ck_assert_int_eq(parse(&o, "pid:1"), 0);
	unsetenv("PAGEK_REMOTE");
}

/* --- refused ------------------------------------------------------------ */

static const struct {
	const char *line;
	int status;
	const char *says;
} refused[] = {
	{ "--nonsense", PAGEK_USAGE, "unknown option '--nonsense'" },
	{ "--onec", PAGEK_USAGE, "did you mean '--once'?" },
	{ "-z", PAGEK_USAGE, "unknown option '-z'" },
	{ "--once=3 demo:1", PAGEK_USAGE, "takes no argument" },
	{ "--sort", PAGEK_USAGE, "--sort needs an argument: age|address" },
	{ "--sort sise", PAGEK_USAGE, "not one of age|address|size|" },
	{ "--sort blocks demo:1", PAGEK_USAGE, "--sort=blocks sorts groups: "
	    "give --group too" },
	{ "list --sort name demo:1", PAGEK_USAGE, "sorts groups, and this "
	    "command has none" },
	{ "--group site --sort sise", PAGEK_USAGE, "|oldest_age|module|file|line|self for groups" },
	{ "--sort Nsz", PAGEK_USAGE, "not one of age|address|size|" },
	{ "--sort function,size", PAGEK_USAGE, "|site, nor up to 4 letters for "
	    "them such as Ns" },
	{ "--format xml list", PAGEK_USAGE, "not one of text|json" },
	{ "--classic=loose", PAGEK_USAGE, "only strict" },
	{ "--max 0", PAGEK_USAGE, "not a number" },
	{ "--max -3", PAGEK_USAGE, "not a number" },
	{ "--max 3x", PAGEK_USAGE, "not a number" },
	{ "--units mb", PAGEK_USAGE, "not one of exact|k|hex" },
	{ "--fps 16", PAGEK_USAGE, "not a number from 1 to 15" },
	{ "-b --interval 0 demo:1", PAGEK_USAGE, "not a time" },
	{ "-b --interval nan demo:1", PAGEK_USAGE, "not a time" },
	{ "-b --interval . demo:1", PAGEK_USAGE, "not a time" },
	{ "-b --interval -.1 demo:1", PAGEK_USAGE, "not a time" },
	{ "-b --interval .04 demo:1", PAGEK_USAGE, "not a time" },
	{ "run --sample 1.5M x", PAGEK_USAGE, "not a size up to 1T" },
	{ "run --sample 2T x", PAGEK_USAGE, "not a size up to 1T" },
	{ "--sample 512k pid:4711", PAGEK_USAGE, "takes no option --sample" },
	{ "--dormant pid:4711", PAGEK_USAGE, "takes no option --dormant" },
	{ "list --look-only demo:1", PAGEK_USAGE, "takes no option" },
	{ "--once --look-only demo:1", PAGEK_USAGE, "arms nothing" },
	{ "arm", PAGEK_USAGE, "needs a TARGET" },
	{ "disarm", PAGEK_USAGE, "needs a TARGET" },
	{ "--since yesterday", PAGEK_USAGE, "not one of click" },
	{ "--at noon demo:note", PAGEK_USAGE, "not a time" },
	{ "--at 39s pid:1", PAGEK_USAGE, "--at is for demos" },
	{ "--at 39s demo:1", PAGEK_USAGE, "the clock of demo:1 is its own" },
	{ "--stream X local", PAGEK_USAGE, "--stream is for demos" },
	{ "--list check pid:1", PAGEK_USAGE, "--list=check is for" },
	{ "--report f", PAGEK_USAGE, "takes no option --report" },
	{ "list --once", PAGEK_USAGE, "takes no option --once" },
	{ "list --no-wait", PAGEK_USAGE, "takes no option --no-wait" },
	{ "run --once -- true", PAGEK_USAGE, "takes no option --once" },
	{ "run --at 3s -- true", PAGEK_USAGE, "takes no option --at" },
	{ "help --sort age", PAGEK_USAGE, "takes no option --sort" },
	{ "--once --batch demo:1", PAGEK_USAGE, "exclude each other" },
	{ "--classic --wide", PAGEK_USAGE, "exclude each other" },
	{ "--format json demo:1", PAGEK_USAGE, "give --once or --batch" },
	{ "-o f demo:1", PAGEK_USAGE, "give --once or --batch" },
	{ "--count 3 demo:1", PAGEK_USAGE, "give --once or --batch" },
	{ "-b --format json demo:1", PAGEK_USAGE, "use --format=ndjson" },
	{ "--once --interval 3 demo:1", PAGEK_USAGE, "no meaning" },
	{ "--once --duration 3 demo:1", PAGEK_USAGE, "no meaning" },
	{ "watch --format prom demo:1", PAGEK_USAGE, "is for 'pagek list'" },
	{ "list --format prom --fields size demo:1", PAGEK_USAGE,
	    "has sums" },
	{ "list -q -v demo:1", PAGEK_USAGE, "exclude each other" },
	{ "list --units k --format json demo:1", PAGEK_USAGE,
	    "--units is for text" },
	{ "--once --units k --classic demo:1", PAGEK_USAGE, "wide layout" },
	{ "export --folded --units k demo:1", PAGEK_USAGE, "takes no option" },
	{ "list --duration 3 demo:1", PAGEK_USAGE, "takes no option" },
	{ "--once --fps 3 demo:1", PAGEK_USAGE, "for the page on a terminal" },
	{ "-b --color always demo:1", PAGEK_USAGE, "for the page on a terminal" },
	{ "run --interval 3 -- true", PAGEK_USAGE, "give --batch too" },
	{ "run -o f --fps 3 -- true", PAGEK_USAGE, "on a terminal" },
	{ "run --stack 65 -- true", PAGEK_USAGE, "not a number from 0 to 64" },
	{ "run --stack -1 -- true", PAGEK_USAGE, "not a number from 0 to 64" },
	{ "run --stack deep -- true", PAGEK_USAGE, "not a number" },
	{ "run --stack 0 --free-stack -- true", PAGEK_USAGE, "has none" },
	{ "list --stack 3 demo:1", PAGEK_USAGE, "takes no option --stack" },
	{ "list --skip , demo:1", PAGEK_USAGE, "no pattern" },
	{ "targets --skip x", PAGEK_USAGE, "takes no option --skip" },
	{ "tree --by size demo:1", PAGEK_USAGE, "not one of bytes|blocks" },
	{ "tree --by line demo:1", PAGEK_USAGE, "give --flat too" },
	{ "tree --group type demo:1", PAGEK_USAGE, "give --flat too" },
	{ "tree --flat --group type --by line demo:1", PAGEK_USAGE,
	    "both name the groups" },
	{ "tree --flat --group site>type demo:1", PAGEK_USAGE,
	    "groups of one level" },
	{ "tree --limit 3 demo:1", PAGEK_USAGE, "give --flat too" },
	{ "tree --flat --reverse demo:1", PAGEK_USAGE, "no meaning" },
	{ "tree --flat --focus x demo:1", PAGEK_USAGE, "no meaning" },
	{ "tree --least 101 demo:1", PAGEK_USAGE, "not a share" },
	{ "tree --least nan demo:1", PAGEK_USAGE, "not a share" },
	{ "tree --depth 0 demo:1", PAGEK_USAGE, "not a number" },
	{ "tree --folded demo:1", PAGEK_USAGE, "takes no option --folded" },
	{ "export demo:1", PAGEK_USAGE, "needs a format" },
	{ "export --format pprof demo:1", PAGEK_USAGE, "not one of" },
	{ "export --format json --folded demo:1", PAGEK_USAGE,
	    "takes no option --format" },
	{ "export --prof demo:1", PAGEK_USAGE, "unknown option '--prof'" },
	{ "export --folded --heaptrack demo:1", PAGEK_USAGE,
	    "exclude each other" },
	{ "export --heaptrack --by blocks demo:1", PAGEK_USAGE,
	    "is for --folded" },
	{ "export --ctf demo:1", PAGEK_USAGE, "--ctf writes a folder" },
	{ "export --ctf -o - demo:1", PAGEK_USAGE, "--ctf writes a folder" },
	{ "export --folded --by line demo:1", PAGEK_USAGE, "by bytes, blocks" },
	{ "list --fields size demo:1", PAGEK_USAGE, "--fields is for programs" },
	{ "tree --fields size demo:1", PAGEK_USAGE, "takes no option --fields" },
	{ "list --utc", PAGEK_USAGE, "takes no option --utc" },
	{ "run", PAGEK_USAGE, "needs a command" },
	{ "run --", PAGEK_USAGE, "needs a command" },
	{ "tpo", PAGEK_USAGE, "did you mean 'top'?" },
	{ "lsit", PAGEK_USAGE, "did you mean 'list'?" },
	{ "demo:1 demo:note", PAGEK_USAGE, "one word too many" },
	{ "diff nothing.json pid:1", PAGEK_USAGE, "there is no file "
	    "'nothing.json'" },
	{ "diff local nothing.json", PAGEK_USAGE, "there is no file "
	    "'nothing.json'" },
	{ "diff ./nothing.json pid:1", PAGEK_USAGE, "there is no file "
	    "'./nothing.json'" },
	{ "diff nothing.json server", PAGEK_USAGE, "neither 'nothing.json' nor "
	    "'server' is a file" },
	{ "diff --utc pid:1 pid:1", PAGEK_USAGE, "--utc is for saved lists" },
	{ "diff pid:1 pid:2", PAGEK_USAGE, "one word too many: 'pid:2'" },
	{ "diff nothing.json", PAGEK_USAGE, "no file has that name" },
	{ "history nothing.0 nothing.1", PAGEK_USAGE, "neither 'nothing.0' nor" },
	{ "dump /bin/sh nothing.0", PAGEK_USAGE, "there is no file 'nothing.0'" },
	{ "list no-such-node b", PAGEK_USAGE, "one word too many: 'b'" },
	{ "list no-such-node --sort sise", PAGEK_USAGE, "not one of" },
	{ "no-such-node list", PAGEK_USAGE, "the command goes first" },
	{ "demo:1 list", PAGEK_USAGE, "the command goes first" },
	{ "help nosuch", PAGEK_USAGE, "no command 'nosuch'" },
	{ "pid:x", PAGEK_USAGE, "pid: needs a process id" },
	{ "pid:0", PAGEK_USAGE, "pid: needs a process id" },
	{ "unix:", PAGEK_USAGE, "path of a socket" },
	{ "demo:nope", PAGEK_NO_TARGET, "no demo 'nope'" },
	{ "demo:flod", PAGEK_NO_TARGET, "did you mean 'demo:flood'?" },
	{ "nodes linac-a", PAGEK_USAGE, "one too many" },
	{ "nodes --sort p", PAGEK_USAGE, "takes no option --sort" },
	{ "listings demo:note", PAGEK_USAGE, "stores no listings" },
	{ "refcnt --enable 1000 0", PAGEK_USAGE, "has no pages" },
	{ "refcnt --enable 0xffffffffffffffff 2", PAGEK_USAGE, "last address" },
	{ "refcnt --disable 0", PAGEK_USAGE, "needs a LENGTH" },
	{ "refcnt --enable pid:1", PAGEK_USAGE, "needs an ADDRESS" },
	{ "refcnt pid:1 12345678901234567 1", PAGEK_USAGE, "is no ADDRESS" },
	{ "refcnt pid:1 0x 1", PAGEK_USAGE, "is no ADDRESS" },
	{ "refcnt pid:1 1000 0x", PAGEK_USAGE, "is no LENGTH" },
	{ "refcnt pid:1 1000 -1", PAGEK_USAGE, "unknown option" },
	{ "refcnt pid:1 1000 99999999999T", PAGEK_USAGE, "is no LENGTH" },
	{ "refcnt pid:1 0 1000000000000", PAGEK_USAGE, "more than" },
	{ "refcnt pid:1 1000 1 2", PAGEK_USAGE, "is for --move" },
	{ "refcnt --move pid:1 1000 1 512", PAGEK_USAGE, "number of a NODE" },
	{ "refcnt --move pid:1 1000 1 1 1", PAGEK_USAGE, "one word too many" },
	{ "refcnt --top --enable 1000 1", PAGEK_USAGE, "exclude each other" },
	{ "refcnt --enable --block x", PAGEK_USAGE, "not an address" },
	{ "refcnt --hw --ext", PAGEK_USAGE, "exclude each other" },
	{ "refcnt --nodes cpu", PAGEK_USAGE, "is for --enable, --memory or --import" },
	{ "refcnt --all", PAGEK_USAGE, "is for --enable or --disable" },
	{ "refcnt --import f pid:1", PAGEK_USAGE, "no TARGET" },
	{ "refcnt --memory --root / pid:1", PAGEK_USAGE, "no TARGET" },
	{ "refcnt --fields page", PAGEK_USAGE, "is for programs" },
	{ "refcnt --format csv --fields pages", PAGEK_USAGE, "page" },
	{ "list --enable", PAGEK_USAGE, "takes no option --enable" },
	{ "listings local a b", PAGEK_USAGE, "one word too many" },
	{ "listings 20261121-163501-0007 local", PAGEK_USAGE,
	    "one word too many" },
	{ "listings 20261121-163501-000", PAGEK_NO_TARGET, "no target or node" },
	{ "list a_word_that_is_longer_than_the_name_of_any_node_or_command_and_of_"
	    "anything_else_that_has_a_name", PAGEK_NO_TARGET, "or node '...'" },
	{ "listings --format json local x", PAGEK_USAGE, "no meaning" },
	{ "listings --sort p", PAGEK_USAGE, "takes no option --sort" },
	{ "config", PAGEK_USAGE, "needs --show" },
	{ "config --show x", PAGEK_USAGE, "one too many" },
	{ "config --show --once", PAGEK_USAGE, "takes no option --once" },
	{ "list --show", PAGEK_USAGE, "takes no option --show" },
	{ "--config x --no-config", PAGEK_USAGE, "exclude each other" },
	{ "ssh:", PAGEK_USAGE, "the name of a host" },
	{ "ssh:/pid:1", PAGEK_USAGE, "the name of a host" },
	{ "ssh:-oProxyCommand=x", PAGEK_USAGE, "the name of a host" },
	{ "ssh:anna@-oProxyCommand=x", PAGEK_USAGE, "the name of a host" },
	{ "ssh:$(reboot)", PAGEK_USAGE, "the name of a host" },
	{ "ssh:host;reboot", PAGEK_USAGE, "the name of a host" },
	{ "ssh:host/pid:x", PAGEK_USAGE, "after the host, write" },
	{ "--remote-pageknode /x pid:1", PAGEK_USAGE, "for other machines" },
	{ "raw:", PAGEK_USAGE, "the path of a device" },
	{ "--baud 12345 raw:/x", PAGEK_USAGE, "no serial line has that" },
	{ "--baud 9600 pid:1", PAGEK_USAGE, "for serial lines" },
	{ "file:", PAGEK_USAGE, "the path of a capture" },
	{ "replay", PAGEK_USAGE, "a capture is missing" },
	{ "list --part 1 demo:1", PAGEK_USAGE, "is for captures" },
};

LOOP_TEST(what_is_wrong_is_refused_with_a_sentence, 0, BASE_NELEM(refused))
{
	struct options o;
	int r;

	r = parse(&o, refused[_i].line);
	ck_assert_msg(r == refused[_i].status, "'%s': %d, not %d (%s)",
	    refused[_i].line, r, refused[_i].status, why);
	ck_assert_msg(strstr(why, refused[_i].says) != NULL,
	    "'%s' says '%s', not '%s'", refused[_i].line, why,
	    refused[_i].says);
	ck_assert_ptr_null(strchr(why, '\n'));
}

TEST(number_of_a_live_process_suggests_pid)
{
	char line[32], want[48];
	struct options o;

	snprintf(line, sizeof line, "%ld", (long)getpid());
	snprintf(want, sizeof want, "did you mean pid:%ld?", (long)getpid());
	ck_assert_int_eq(parse(&o, line), PAGEK_NO_TARGET);
	ck_assert_ptr_nonnull(strstr(why, want));
}

TEST(escapes_of_the_user_do_not_come_back_raw)
{
	struct options o;

	ck_assert_int_ne(parse(&o, "--\033[2J"), 0);
	ck_assert_ptr_null(strchr(why, '\033'));
	ck_assert_int_ne(parse(&o, "a\033[2Jb"), 0);
	ck_assert_ptr_null(strchr(why, '\033'));
}

/* --- the table of nodes -------------------------------------------------- */

static void
set_up_table(void)
{
	table_up("0590 linac-a local\n"
	    "0A12 gateway unix:/run/x/node\n"
	    "1234 linac-b ssh:anna@b remote=/opt/pageknode\n"
	    "0600 list ssh:list\n");
}

static const struct {
	const char *line;
	enum target_kind kind;
	const char *place;	/* host or path */
	const char *rest;
	pid_t pid;
} named[] = {
	{ "linac-a", TARGET_LOCAL, "", "", 0 },
	{ "0590", TARGET_LOCAL, "", "", 0 },
	{ "node:0590", TARGET_LOCAL, "", "", 0 },
	{ "590", TARGET_LOCAL, "", "", 0 },
	{ "node:590", TARGET_LOCAL, "", "", 0 },
	{ "list a12", TARGET_UNIX, "/run/x/node", "", 0 },
	{ "linac-a/pid:7", TARGET_PID, "", "", 7 },
	{ "node:0590/pid:7", TARGET_PID, "", "", 7 },
	{ "linac-a/ALLOCLOG.a/b.7", TARGET_LOCAL, "", "ALLOCLOG.a/b.7", 0 },
	{ "gateway", TARGET_UNIX, "/run/x/node", "", 0 },
	{ "0a12/local", TARGET_UNIX, "/run/x/node", "", 0 },
	{ "list gateway/pid:7", TARGET_UNIX, "/run/x/node", "", 7 },
	{ "tree --flat gateway/ALLOCLOG", TARGET_UNIX, "/run/x/node",
	    "ALLOCLOG", 0 },
	/* The node knows whether a command has such a name. */
	{ "gateway/4711", TARGET_UNIX, "/run/x/node", "4711", 0 },
	{ "linac-b/4711", TARGET_SSH, "anna@b", "4711", 0 },
	{ "ssh:c/4711", TARGET_SSH, "c", "4711", 0 },
	{ "targets linac-b", TARGET_SSH, "anna@b", "", 0 },
	{ "arm linac-b/pid:7", TARGET_SSH, "anna@b", "", 7 },
	{ "--once --remote-pageknode /x 1234/ALLOCLOG.a.7", TARGET_SSH,
	    "anna@b", "ALLOCLOG.a.7", 0 },
	{ "top list", TARGET_SSH, "list", "", 0 },
	{ "list list", TARGET_SSH, "list", "", 0 },
	/* What is no node's, or no word for a target, is a path. */
	{ "./linac-a/pid:7", TARGET_UNIX, "./linac-a/pid:7", "", 0 },
	{ "sub/socket", TARGET_UNIX, "sub/socket", "", 0 },
	{ "/1234", TARGET_UNIX, "/1234", "", 0 },
};

CASE("nodes", .setup = set_up_table, .teardown = table_down);

LOOP_TEST(a_node_is_meant_by_its_number_or_name, 0, BASE_NELEM(named))
{
	struct options o;
	int r = parse(&o, named[_i].line);
	const struct target *t = &o.target;

	ck_assert_msg(r == 0, "'%s': %s", named[_i].line, why);
	ck_assert_int_eq(t->kind, named[_i].kind);
	ck_assert_str_eq(t->node.place, named[_i].place);
	ck_assert_str_eq(t->name, named[_i].rest);
	ck_assert_int_eq(t->pid, named[_i].pid);
	ck_assert_str_eq(t->node.remote, strcmp(t->node.place, "anna@b") == 0 ?
	    "/opt/pageknode" : "");
}

static const struct {
	const char *line;
	int status;
	const char *says;
} unknown[] = {
	{ "linac-c", PAGEK_NO_TARGET,
	    "no node 'linac-c': did you mean linac-a, number 0590?" },
	{ "059A", PAGEK_NO_TARGET, "did you mean 0590, linac-a?" },
	{ "node:059A", PAGEK_NO_TARGET, "did you mean 0590, linac-a?" },
	{ "list FFFE", PAGEK_NO_TARGET, "no node has the number FFFE: "
	    "'pagek nodes' lists" },
	{ "xyzzy", PAGEK_NO_TARGET,
	    "no target or node 'xyzzy', and no command: 'pagek targets'" },
	{ "list xyzzy", PAGEK_NO_TARGET, "no target or node 'xyzzy': " },
	{ "list tpo", PAGEK_NO_TARGET, "no target or node 'tpo': " },
	{ "xyzzy/pid:7", PAGEK_NO_TARGET, "no node 'xyzzy'" },
	{ "lokal", PAGEK_NO_TARGET, "did you mean 'local'?" },
	{ "lost", PAGEK_USAGE, "did you mean 'list'?" },
	{ "gatewy/pid:7", PAGEK_NO_TARGET, "did you mean gateway" },
	{ "gateway/a/b", PAGEK_USAGE, "as in gateway/pid:4711" },
	{ "ssh:host/a/b", PAGEK_USAGE, "as in ssh:host/pid:4711" },
	{ "gateway/pid:x", PAGEK_USAGE, "after the node, write" },
	{ "node:", PAGEK_USAGE, "four hexadecimal digits" },
	{ "node:59", PAGEK_NO_TARGET, "no node has the number 59" },
	{ "node:linac-a", PAGEK_USAGE, "four hexadecimal digits" },
	{ "--remote-pageknode /x gateway", PAGEK_USAGE, "other machines" },
};

LOOP_TEST(an_unknown_node_is_answered_with_the_nearest, 0, BASE_NELEM(unknown))
{
	struct options o;
	int r = parse(&o, unknown[_i].line);

	ck_assert_msg(r == unknown[_i].status, "'%s': %d, not %d (%s)",
	    unknown[_i].line, r, unknown[_i].status, why);
	ck_assert_msg(strstr(why, unknown[_i].says) != NULL,
	    "'%s' says '%s', not '%s'", unknown[_i].line, why,
	    unknown[_i].says);
}

TEST(an_empty_word_is_no_target_and_is_said_to_be_none)
{
	char pagek[] = "pagek", list[] = "list", empty[] = "";
	char *both[] = { pagek, list, empty, NULL };
	char *alone[] = { pagek, empty, NULL };
	struct options o;

	ck_assert_int_eq(options_parse(&o, 3, both, why,
	    sizeof why), PAGEK_USAGE);
	ck_assert_ptr_nonnull(strstr(why, "is empty: leave it out"));
	ck_assert_int_eq(options_parse(&o, 2, alone, why,
	    sizeof why), PAGEK_USAGE);
	ck_assert_ptr_nonnull(strstr(why, "is empty: leave it out"));
}

TEST(a_live_process_with_a_nodes_number_is_the_node)
{
	char text[64], line[32];
	struct options o;

	if (getpid() < 1000 || getpid() > 9999)
		snprintf(line, sizeof line, "%s", "1234");
	else
		snprintf(line, sizeof line, "%d", (int)getpid());
	snprintf(text, sizeof text, "%s me ssh:me\n", line);
	table_write(text);
	ck_assert_int_eq(parse(&o, line), 0);
	ck_assert_int_eq(o.target.kind, TARGET_SSH);
}

/* --- meaning ------------------------------------------------------------ */

CASE("words");

TEST(words_of_the_command_are_its_own)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "run -b prog --once -x pid:1"), 0);
	ck_assert_str_eq(o.argv[0], "prog");
	ck_assert_str_eq(o.argv[1], "--once");
	ck_assert_str_eq(o.argv[3], "pid:1");
	ck_assert_ptr_null(o.argv[4]);
	ck_assert(!option_given(&o, OPTION_ONCE));
	ck_assert_int_eq(parse(&o, "run -- -b"), 0);
	ck_assert_str_eq(o.argv[0], "-b");
	ck_assert(!option_given(&o, OPTION_BATCH));
	/* A program may be called like one of our commands. */
	ck_assert_int_eq(parse(&o, "run list"), 0);
	ck_assert_str_eq(o.argv[0], "list");
}

TEST(values_arrive)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "-b --sort s --sort p --reverse "
	    "--interval 0.25 --count 7 --timeout 2 --max 100 demo:1"), 0);
	ck_assert_int_eq(page_list_order(&o.page), BLKLIST_BY_ADDRESS);
	ck_assert(page_list_reverse(&o.page));
	ck_assert_int_eq(o.repeat.interval_ms, 250);
	ck_assert_int_eq(o.timeout_ms, 2000);
	ck_assert_uint_eq(o.repeat.count, 7);
	ck_assert_uint_eq(o.node.max, 100);
	ck_assert_int_eq(parse(&o, "--classic"), 0);
	ck_assert_int_eq(o.page.layout, PAGE_CLASSIC);
	ck_assert_int_eq(parse(&o, "--classic=strict"), 0);
	ck_assert_int_eq(o.page.layout, PAGE_CLASSIC_STRICT);
}

TEST(a_page_is_chosen_by_its_letter)
{
	static const struct {
		const char *words;
		enum page_letter first;
	} letters[] = {
		{ "--page=K", PAGE_K },
		{ "--once --page=H", PAGE_H },
		{ "--once --page=G", PAGE_G },
	};
	struct options o;

	for (size_t i = 0; i < BASE_NELEM(letters); i++) {
		ck_assert_int_eq(parse(&o, letters[i].words), 0);
		ck_assert_int_eq(o.page.first, letters[i].first);
	}
	ck_assert_int_eq(parse(&o, "--page=k"), PAGEK_USAGE);
	ck_assert_str_eq(why, "--page=k: not one of K|S|U|R|H|G");
}

TEST(measure_and_group_are_words_of_one_option)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "tree"), 0);
	ck_assert_int_eq(o.tree.measure, PROFILE_BYTES);
	ck_assert(o.tree.least > 0.0099 && o.tree.least < 0.0101);
	ck_assert_uint_eq(o.tree.depth, 0);
	ck_assert_int_eq(parse(&o, "tree --flat --by age --by module "
	    "--least 12.5"), 0);
	ck_assert_int_eq(o.tree.measure, PROFILE_AGE);
	ck_assert_int_eq(o.tree.by, PROFILE_MODULE);
	ck_assert(o.tree.least == 0.125);
	ck_assert_int_eq(parse(&o, "run -- true"), 0);
	ck_assert_uint_eq(o.node.stack, 16);
	ck_assert_int_eq(parse(&o, "run --stack 0 -- true"), 0);
	ck_assert_uint_eq(o.node.stack, 0);
}

static bool
is_skipped(const char *line, const char *function)
{
	struct symbol_wrappers *w;
	struct options o;
	bool skipped;

	ck_assert_int_eq(parse(&o, line), 0);
	ck_assert_int_eq(options_wrappers(&o, &w), 0);
	skipped = symbol_wrappers_match(w, function);
	symbol_wrappers_free(w);
	return skipped;
}

TEST(patterns_are_added_to_those_known_or_stand_alone)
{
	ck_assert(is_skipped("", "zmalloc"));
	ck_assert(!is_skipped("", "my_alloc"));
	ck_assert(is_skipped("--skip my_*", "my_alloc"));
	ck_assert(is_skipped("--skip my_*", "zmalloc"));
	ck_assert(is_skipped("--skip a --skip my_*,b", "my_alloc"));
	ck_assert(!is_skipped("--no-skip", "zmalloc"));
	ck_assert(!is_skipped("--skip my_* --no-skip", "zmalloc"));
	ck_assert(is_skipped("--skip my_* --no-skip", "my_alloc"));
}

TEST(list_choice_reaches_the_session)
{
	struct nodes_session_opts s = { 0 };
	struct options o;

	ck_assert_int_eq(parse(&o, "--list note --since click"), 0);
	options_session(&o, &s);
	ck_assert(s.kind_given && s.kind == BLKLIST_LITERAL && s.since_click);
	s = (struct nodes_session_opts){ 0 };
	ck_assert_int_eq(parse(&o, ""), 0);
	options_session(&o, &s);
	ck_assert(!s.kind_given && !s.since_click);
}

TEST(help_wins_over_what_is_wrong)
{
	struct options o;

	ck_assert_int_eq(parse(&o, "run --help"), 0);
	ck_assert(option_given(&o, OPTION_HELP));
	ck_assert_int_eq(parse(&o, "list --once --help"), 0);
	ck_assert_int_eq(parse(&o, "list no-such-node --help"), 0);
	ck_assert_int_eq(parse(&o, "--version"), 0);
	ck_assert(option_given(&o, OPTION_VERSION));
}

/* --- one table ---------------------------------------------------------- */

static char *
written(void (*write)(FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	write(out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static void
help_of_all(FILE *out)
{
	options_help(out, COMMANDS);
}

TEST(help_has_every_option)
{
	char *help = written(help_of_all);
	char want[64];
	unsigned i;

	for (i = 0; i < OPTIONS; i++) {
		snprintf(want, sizeof want, "--%s", option_name(i));
		ck_assert_msg(strstr(help, want) != NULL, "help: %s", want);
	}
	free(help);
}
