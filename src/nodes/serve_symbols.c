/*
 * Words for return addresses and threads.
 *
 * Names of callers come from files, so a worker looks them up; one job at a
 * time uses a target's module table, behind its lock.  An address that no
 * known module covers makes the worker read the table anew: the target may
 * have loaded something since.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "serve.h"

struct job {
	uv_work_t work;
	struct keeper *keeper;		/* a reference */
	uint64_t conn;			/* who asked; 0: nobody, the table is all */
	uint32_t request;
	bool reread;			/* the process may still have modules to tell */
	pid_t pid;
	struct wire_sym sym;
	char name[WIRE_SYMS_MAX][WIRE_TEXT_MAX + 1];
};

/* Text of files and targets is made valid UTF-8 here, as texts on the wire are. */
static void
safe_name(char out[WIRE_TEXT_MAX + 1], const char *raw)
{
	base_safe_text(out, WIRE_TEXT_MAX + 1, raw, strlen(raw), false);
}

static bool
covered(const struct job *j)
{
	for (size_t i = 0; i < j->sym.n; i++)
		if (!symbol_modules_covers(j->keeper->modules, j->sym.addr[i]))
			return false;
	return j->sym.n > 0;
}

static void
look_up(uv_work_t *work)
{
	struct job *j = work->data;
	struct keeper *k = j->keeper;
	char raw[SYMBOL_NAME_MAX];

	pthread_mutex_lock(&k->modules_lock);
	if (k->modules == NULL && symbol_modules_new(&k->modules) < 0)
		k->modules = NULL;
	if (k->modules != NULL) {
		if (j->reread && !covered(j))
			symbol_modules_read(k->modules, j->pid);
		for (size_t i = 0; i < j->sym.n; i++) {
			symbol_name(k->modules, j->sym.addr[i], raw,
			    sizeof raw);
			safe_name(j->name[i], raw);
		}
	}
	pthread_mutex_unlock(&k->modules_lock);
}

static void
send_names(struct conn *c, const struct job *j)
{
	struct wire_msg reply = { .type = WIRE_SYMS, .id = j->request };

	reply.syms.index = j->sym.index;
	reply.syms.kind = j->sym.kind;
	reply.syms.n = j->sym.n;
	for (size_t i = 0; i < j->sym.n; i++)
		reply.syms.name[i] = wire_text(j->name[i]);
	conn_reply(c, &reply);
}

static void
looked_up(uv_work_t *work, int status)
{
	struct job *j = work->data;
	struct node *node = j->keeper->node;
	struct conn *c = j->conn != 0 ? serve_find(node, j->conn) : NULL;

	if (c != NULL && status == 0)
		send_names(c, j);
	keeper_unref(j->keeper);
	free(j);
}

static int
queue_job(struct keeper *k, const struct job *proto)
{
	struct job *j = malloc(sizeof *j);
	int r;

	if (j == NULL)
		return -ENOMEM;
	j->keeper = k;
	j->conn = proto->conn;
	j->request = proto->request;
	j->sym = proto->sym;
	j->pid = k->pid;
	j->reread = k->pid != 0 && keeper_is_live(k);
	j->work.data = j;
	memset(j->name, 0, sizeof j->name);
	r = uv_queue_work(k->node->loop, &j->work, look_up, looked_up);
	if (r < 0) {
		free(j);
		return r;
	}
	keeper_ref(k);
	return 0;
}

void
symbols_read(struct keeper *k)
{
	struct job proto = { .conn = 0 };

	if (k->pid != 0 && keeper_is_live(k))
		queue_job(k, &proto);
}

void
symbols_answer(struct conn *c, const struct wire_msg *m, struct keeper *k)
{
	static struct job now;
	char raw[SYMBOL_NAME_MAX];

	now.conn = c->id;
	now.request = m->id;
	now.sym = m->sym;
	if (m->sym.kind == WIRE_SYM_CALLER && k->source_symbol == NULL) {
		if (queue_job(k, &now) < 0)
			conn_error(c, m->id, WIRE_E_INTERNAL, "out of memory");
		return;
	}
	for (size_t i = 0; i < m->sym.n; i++) {
		raw[0] = '\0';
		if (m->sym.kind == WIRE_SYM_CALLER)
			k->source_symbol(m->sym.addr[i], raw, sizeof raw);
		else
			keeper_thread_name(k, m->sym.addr[i] <
			    KEEPER_THREADS_MAX ? (unsigned)m->sym.addr[i] : 0,
			    raw, sizeof raw);
		safe_name(now.name[i], raw);
	}
	send_names(c, &now);
}
