/*
 * A page's user is the kernel's word.  Its other machine is the word of the
 * bridge, which speaks first; LIMITs from behind can only restrict.  Its
 * node's number is its own word, unless the bridge got it from the key's line;
 * but a number whose place the table knows must come from there.
 *
 * A page's user is the kernel's word.  That it comes from another machine, and
 * from which, is the word of the bridge, which speaks first; LIMITs from behind
 * the bridge can restrict that and change nothing.  The number of its node is the
 * page's own word, unless the bridge was told the number by the line of the key;
 * but a number whose place the table knows has to come from there.
 *
 * Nothing proves that the bridge is one: another program of that user here may
 * speak first in its place.  So nothing is granted for a number or a place.
 */
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../keeper/node.h"
#include "../replay/replay.h"
#include "answer.h"

static void refuse(struct conn *, const struct wire_msg *, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

static void
refuse(struct conn *c, const struct wire_msg *m, const char *fmt, ...)
{
	char why[WIRE_TEXT_MAX + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	conn_fail(c, m->id, WIRE_E_AUTH, why);
}

void
answer_limit(struct conn *c, const struct wire_msg *m)
{
	const struct wire_limit *l = &m->limit;

	c->limit &= l->roles;
	/* The first is of the bridge nearest to us, which alone knows the way. */
	if (!c->limited && l->origin.len > 0)
		base_safe_text(c->origin, sizeof c->origin, l->origin.s,
		    l->origin.len, false);
	if (!c->limited)
		c->bound = l->node != 0;
	c->limited = true;
	c->page.away |= l->away;
	if (c->page.from != 0 && l->node != 0 && l->node != c->page.from)
		refuse(c, m, "this connection is bound to node %04X, not "
		    "%04X", c->page.from, l->node);
	else if (l->node != 0)
		c->page.from = l->node;
}

static bool
is_loop(const struct conn *c)
{
	return strcmp(c->origin, BRIDGE_LOOP) == 0;
}

static bool
check_number(struct conn *c, const struct wire_msg *m)
{
	const struct nodes_entry *e;
	uint16_t number = m->hello.node;
	char where[90];

	if (number != 0 && c->page.from != 0 && number != c->page.from) {
		refuse(c, m, "this connection is bound to node %04X, but the "
		    "page says it is on %04X: correct its table of nodes, or "
		    "the --node of its key", c->page.from, number);
		return false;
	}
	if (number == 0)
		number = c->page.from;
	e = friendly_entry(&c->node->friendly, number);
	if (e != NULL && !is_loop(c) &&
	    (e->at == NODES_AT_SSH) != c->page.away) {
		nodes_entry_where(e, where, sizeof where);
		refuse(c, m, "this connection cannot be node %04X's: it is at "
		    "%s, and the page came %s%s; one of the tables of nodes "
		    "is wrong", number, where,
		    !c->page.away ? "from this machine" :
		    c->origin[0] != '\0' ? "from " : "from another machine",
		    c->page.away ? c->origin : "");
		return false;
	}
	if (e != NULL && e->at == NODES_AT_LOCAL)
		number = c->node->number;
	c->page.from = number;
	return true;
}

void
answer_hello(struct conn *c, const struct wire_msg *m)
{
	struct node *node = c->node;
	struct wire_msg w = { .type = WIRE_WELCOME, .id = m->id };

	if (m->hello.min > WIRE_VERSION || m->hello.max < WIRE_VERSION) {
		conn_fail(c, m->id, WIRE_E_VERSION,
		    "this node speaks version 1");
		return;
	}
	if (!check_number(c, m))
		return;
	c->roles = access_roles(&node->access, m->hello.roles) & c->limit;
	c->greeted = true;
	node->serve->strangers--;
	w.welcome.version = WIRE_VERSION;
	w.welcome.node_name = wire_text(node->name);
	w.welcome.node_number = node->number;
	memcpy(w.welcome.node_id, node->id, WIRE_EPOCH);
	memcpy(w.welcome.boot, node->boot, WIRE_EPOCH);
	w.welcome.roles = c->roles;
	w.welcome.mono_ns = (uint64_t)mono_now().ns;
	w.welcome.utc_ns = (uint64_t)base_wall_ms() * 1000000;
	replay_clocks(node, &w.welcome.mono_ns, &w.welcome.utc_ns);
	conn_reply(c, &w);
}

/* From the file only: the loop does not wait for a network of users. */
static void
put_user(char *out, size_t cap, size_t *len, uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *pw = NULL;
	char safe[64];

	while (f != NULL && (pw = fgetpwent(f)) != NULL && pw->pw_uid != uid)
		continue;
	if (pw != NULL) {
		base_safe_text(safe, sizeof safe, pw->pw_name,
		    strlen(pw->pw_name), false);
		base_append(out, cap, len, "%s", safe);
	} else {
		base_append(out, cap, len, "uid %lu", (unsigned long)uid);
	}
	if (f != NULL)
		fclose(f);
}

static void
put_number(const struct conn *c, char *out, size_t cap, size_t *len)
{
	const struct nodes_entry *e =
	    friendly_entry(&c->node->friendly, c->page.from);

	base_append(out, cap, len, "%04X", c->page.from);
	if (e != NULL)
		base_append(out, cap, len, " %s", e->name);
	else if (c->page.from == c->node->number)
		base_append(out, cap, len, " %s", c->node->name);
}

/*
 * A number that only the page says comes last, and only if the table has it:
 * otherwise a user could have any number of origins.
 */
const char *
conn_origin(const struct conn *c, char *out, size_t cap)
{
	bool sure = c->bound ||
	    (!c->page.away && c->page.from == c->node->number);
	size_t len = 0;

	out[0] = '\0';
	if (c->page.from != 0 && sure) {
		put_number(c, out, cap, &len);
		base_append(out, cap, &len, ", ");
	}
	put_user(out, cap, &len, c->peer.uid);
	if (c->page.away && c->origin[0] != '\0')
		base_append(out, cap, &len, " from %s", c->origin);
	else if (c->page.away)
		base_append(out, cap, &len, " from another machine");
	if (!sure && friendly_entry(&c->node->friendly, c->page.from) != NULL) {
		base_append(out, cap, &len, ", says ");
		put_number(c, out, cap, &len);
	}
	return out;
}
