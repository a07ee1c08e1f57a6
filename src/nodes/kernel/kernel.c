#include <errno.h>

#include "../../base/base.h"
#include "../keeper/node.h"
#include "kernel.h"

static void
close_reader(struct kernel *k)
{
	stress_close(k->stress);
	k->stress = NULL;
	k->last_ms = 0;
}

static int
open_reader(struct node *node)
{
	struct kernel *k = node->kernel;
	const char *root = node->opts.root;
	int r = stress_open(&k->stress, root != NULL ? root : "/");

	/* The clock goes on when a node is started again. */
	if (r == 0)
		k->reader = (uint64_t)mono_diff_ns(mono_now(),
		    (struct mono){ 0 });
	return r;
}

int
kernel_sample(struct node *node, struct kernel_sample *out)
{
	struct kernel *k = node->kernel;
	int64_t now = mono_ms(mono_now());
	int r = k->stress == NULL ? open_reader(node) : 0;

	if (r == 0 && (k->last_ms == 0 ||
	    now - k->last_ms >= 1000 / KERNEL_HZ)) {
		r = stress_take(k->stress, &k->last);
		if (r == 0)
			k->last_ms = now;
	}
	if (r < 0)
		return r;
	*out = (struct kernel_sample){ .sample = k->last,
		.release = stress_kernel(k->stress),
		.why = stress_why(k->stress), .reader = k->reader,
		.ms = k->last_ms, .now_ms = mono_ms(mono_now()) };
	return 0;
}

void
kernel_view(struct node *node)
{
	node->kernel->viewers++;
}

void
kernel_leave(struct node *node)
{
	if (--node->kernel->viewers == 0)
		node->kernel->left_ms = mono_ms(mono_now());
}

void
kernel_second(struct node *node, int64_t now_ms)
{
	struct kernel *k = node->kernel;

	if (k->viewers > 0 || now_ms - k->left_ms < KERNEL_KEEP_MS)
		return;
	if (k->stress != NULL && k->last.source != STRESS_FILE)
		close_reader(k);
	kernel_close_trigger(node);
}

void
kernel_fini(struct node *node)
{
	close_reader(node->kernel);
}
