#include <errno.h>
#include <limits.h>

#include "../../base/base.h"
#include "../keeper/node.h"
#include "../places/places.h"
#include "stress.h"

static void
close_reader(struct node_stress *k)
{
	stress_close(k->stress);
	k->stress = NULL;
	k->last_ms = 0;
}

static int
open_reader(struct node *node)
{
	struct node_stress *k = node->stress;
	const char *root = node->opts.root;
	char program[PATH_MAX];
	int r = stress_open(&k->stress, root != NULL ? root : "/");

	if (r == 0 && root == NULL &&
	    nodes_program("pagek-levels", program, sizeof program) == 0)
		r = stress_use_ebpf(k->stress, program, false);

	/* The clock goes on when a node is started again. */
	if (r == 0)
		k->reader = (uint64_t)mono_diff_ns(mono_now(),
		    (struct mono){ 0 });
	return r;
}

int
node_stress_sample(struct node *node, struct node_stress_sample *out)
{
	struct node_stress *k = node->stress;
	int64_t now = mono_ms(mono_now());
	int r = k->stress == NULL ? open_reader(node) : 0;

	if (r == 0 && (k->last_ms == 0 ||
	    now - k->last_ms >= 1000 / NODE_STRESS_HZ)) {
		r = stress_take(k->stress, &k->last);
		if (r == 0)
			k->last_ms = now;
	}
	if (r < 0)
		return r;
	*out = (struct node_stress_sample){ .sample = k->last,
		.release = stress_kernel(k->stress),
		.why = stress_why(k->stress), .reader = k->reader,
		.ms = k->last_ms, .now_ms = mono_ms(mono_now()) };
	return 0;
}

void
node_stress_view(struct node *node)
{
	node->stress->viewers++;
}

void
node_stress_leave(struct node *node)
{
	if (--node->stress->viewers == 0)
		node->stress->left_ms = mono_ms(mono_now());
}

void
node_stress_second(struct node *node, int64_t now_ms)
{
	struct node_stress *k = node->stress;

	if (k->viewers > 0 || now_ms - k->left_ms < NODE_STRESS_KEEP_MS)
		return;
	if (k->stress != NULL && k->last.source != STRESS_FILE)
		close_reader(k);
	node_stress_close_trigger(node);
}

void
node_stress_fini(struct node *node)
{
	close_reader(node->stress);
}
