// SPDX-License-Identifier: GPL-2.0
/*
 * heapstress: the six counts of the kernel patch, on an unpatched kernel.
 *
 * The fast path runs one tracepoint probe with one increment. Everything else
 * hangs on the slow path, which a kretprobe brackets: a frame lives from its
 * entry to its return, and what happens to the task in between raises the
 * level of its newest frame.
 *
 *   2  entered the slow path
 *   3  woke the same zone's kswapd again: third attempt
 *   4  entered direct reclaim, or compaction began
 *   5  out_of_memory(), or the short sleep that waits for someone else's kill
 *   6  returned NULL
 */
#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
struct compact_control;
#include <trace/events/compaction.h>
#include <trace/events/kmem.h>
#include <trace/events/vmscan.h>

#define LEVELS 6
#define BITS 6

#if IS_ENABLED(CONFIG_MEM_ALLOC_PROFILING) || IS_ENABLED(CONFIG_HEAP_STRESS)
#define FILE_NAME "heapstress"
#else
#define FILE_NAME "allocinfo"
#endif

static char *name = FILE_NAME;
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "name of the file in /proc");

static int gid = -1;
module_param(gid, int, 0444);
MODULE_PARM_DESC(gid, "group that may read the file too");

static int frames = 512;
module_param(frames, int, 0444);
MODULE_PARM_DESC(frames, "slow path requests that can be followed at once");

struct counts {
	unsigned long total;		/* returns of the allocator */
	unsigned long bulk;		/* pages of the bulk allocator's own */
	unsigned long slow[LEVELS];	/* [1] to [5]: levels 2 to 6 */
};
static DEFINE_PER_CPU(struct counts, counts);

struct frame {
	struct hlist_node node;
	struct task_struct *task;
	void *zone;
	u8 level;
	bool reclaiming;
};

static struct bucket {
	raw_spinlock_t lock;
	struct hlist_head head;
} buckets[1 << BITS];

static atomic_t live;			/* frames: nothing to look up at 0 */

static struct bucket *bucket_of(struct task_struct *t)
{
	return &buckets[hash_ptr(t, BITS)];
}

/* The newest frame of the current task; others' frames are left alone. */
static struct frame *top(struct bucket *b)
{
	struct frame *f;

	hlist_for_each_entry(f, &b->head, node)
		if (f->task == current)
			return f;
	return NULL;
}

#define with_top(f, code) do {						\
	struct bucket *b_;						\
	unsigned long fl_;						\
	if (!atomic_read(&live))					\
		break;							\
	b_ = bucket_of(current);					\
	raw_spin_lock_irqsave(&b_->lock, fl_);				\
	f = top(b_);							\
	if (f) {							\
		code;							\
	}								\
	raw_spin_unlock_irqrestore(&b_->lock, fl_);			\
} while (0)

static void raise_level(struct frame *f, int level)
{
	if (f->level < level)
		f->level = level;
}

static int slow_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct frame *f = (struct frame *)ri->data;
	struct bucket *b = bucket_of(current);
	unsigned long fl;

	f->task = current;
	f->zone = NULL;
	f->level = 2;
	f->reclaiming = false;
	raw_spin_lock_irqsave(&b->lock, fl);
	hlist_add_head(&f->node, &b->head);
	raw_spin_unlock_irqrestore(&b->lock, fl);
	atomic_inc(&live);
	return 0;
}

static int slow_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct frame *f = (struct frame *)ri->data;
	struct bucket *b = bucket_of(f->task);
	unsigned long fl;

	raw_spin_lock_irqsave(&b->lock, fl);
	hlist_del(&f->node);
	raw_spin_unlock_irqrestore(&b->lock, fl);
	atomic_dec(&live);
	this_cpu_inc(counts.slow[regs_return_value(regs) ? f->level - 1 : LEVELS - 1]);
	return 0;
}

static struct kretprobe slow = {
	.entry_handler = slow_entry,
	.handler = slow_return,
	.data_size = sizeof(struct frame),
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define BULK_ARRAY 4
#else
#define BULK_ARRAY 5
#endif

struct bulk_data {
	unsigned long had;
};

static int bulk_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct bulk_data *d = (struct bulk_data *)ri->data;
	int i, nr = regs_get_kernel_argument(regs, 3);
	struct page **array = (struct page **)regs_get_kernel_argument(regs, BULK_ARRAY);

	d->had = 0;
	for (i = 0; array && i < nr; i++)
		d->had += !!array[i];
	return 0;
}

static int bulk_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct bulk_data *d = (struct bulk_data *)ri->data;
	unsigned long got = regs_return_value(regs);

	if (got > d->had + 1)
		this_cpu_add(counts.bulk, got - d->had);
	return 0;
}

static struct kretprobe bulk = {
	.entry_handler = bulk_entry,
	.handler = bulk_return,
	.data_size = sizeof(struct bulk_data),
};

static int on_wakeup_kswapd(struct kprobe *p, struct pt_regs *regs)
{
	void *zone = (void *)regs_get_kernel_argument(regs, 0);
	struct frame *f;

	if (!regs_get_kernel_argument(regs, 1))
		return 0;	/* a boosted watermark, after a success */
	with_top(f, {
		if (!f->zone)
			f->zone = zone;
		else if (f->zone == zone)
			raise_level(f, 3);
	});
	return 0;
}

static int on_reclaim(struct kprobe *p, struct pt_regs *regs)
{
	struct frame *f;

	with_top(f, { raise_level(f, 4); f->reclaiming = true; });
	return 0;
}

static int on_oom(struct kprobe *p, struct pt_regs *regs)
{
	struct frame *f;

	with_top(f, raise_level(f, 5));
	return 0;
}

static int on_short_sleep(struct kprobe *p, struct pt_regs *regs)
{
	struct frame *f;

	if (regs_get_kernel_argument(regs, 0) != 1 || current->flags & PF_WQ_WORKER)
		return 0;
	with_top(f, {
		if (f->level >= 4 && !f->reclaiming)
			raise_level(f, 5);
	});
	return 0;
}

/* Each read calls check_point(): if its kprobe is not hit, all kprobes are off. */
static bool hit;

static noinline void check_point(void)
{
	asm volatile("");
}

static int on_check_point(struct kprobe *p, struct pt_regs *regs)
{
	hit = true;
	return 0;
}

static bool probes_work(void)
{
	WRITE_ONCE(hit, false);
	check_point();
	return READ_ONCE(hit);
}

static struct kprobe probes[] = {
	{ .addr = (kprobe_opcode_t *)check_point, .pre_handler = on_check_point },
	{ .symbol_name = "wakeup_kswapd", .pre_handler = on_wakeup_kswapd },
	{ .symbol_name = "try_to_free_pages", .pre_handler = on_reclaim },
	{ .symbol_name = "out_of_memory", .pre_handler = on_oom },
	{ .symbol_name = "schedule_timeout_uninterruptible", .pre_handler = on_short_sleep },
};

static void on_alloc(void *data, struct page *page, unsigned int order, gfp_t gfp, int mt)
{
	this_cpu_inc(counts.total);
}

static void on_reclaim_end(void *data, unsigned long n)
{
	struct frame *f;

	with_top(f, f->reclaiming = false);
}

static void on_compact_begin(void *data, struct compact_control *cc, unsigned long start,
			     unsigned long end, bool sync)
{
	struct frame *f;

	with_top(f, raise_level(f, 4));
}

static struct tp {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} tps[] = {
	{ "mm_vmscan_direct_reclaim_end", on_reclaim_end },
	{ "mm_compaction_begin", on_compact_begin },
	{ "mm_page_alloc", on_alloc },
};

/* A kernel that changed the arguments of these does not build this. */
static void __always_unused check_types(void)
{
	check_trace_callback_type_mm_page_alloc(on_alloc);
	check_trace_callback_type_mm_vmscan_direct_reclaim_end(on_reclaim_end);
	check_trace_callback_type_mm_compaction_begin(on_compact_begin);
}

static void find_tp(struct tracepoint *tp, void *data)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(tps); i++)
		if (!strcmp(tp->name, tps[i].name))
			tps[i].tp = tp;
}

static DEFINE_MUTEX(lock);
static unsigned long base[LEVELS];

static void sum_up(unsigned long now[LEVELS])
{
	int cpu, i;

	memset(now, 0, LEVELS * sizeof(*now));
	for_each_possible_cpu(cpu) {
		struct counts *c = per_cpu_ptr(&counts, cpu);

		for (i = 1; i < LEVELS; i++)
			now[i] += READ_ONCE(c->slow[i]);
		now[0] += READ_ONCE(c->total) + READ_ONCE(c->bulk);
	}
	for (i = 1; i < LEVELS; i++)
		now[0] -= now[i];
}

static int show(struct seq_file *m, void *v)
{
	unsigned long now[LEVELS];
	int i;

	mutex_lock(&lock);
	sum_up(now);
	if (!probes_work()) {
		memcpy(base, now, sizeof(base));
		mutex_unlock(&lock);
		return -ENODATA;
	}
	/* A request between the slow path and the tracepoint is not in the total. */
	if ((long)(now[0] - base[0]) < 0)
		now[0] = base[0];
	for (i = 0; i < LEVELS; i++) {
		seq_put_decimal_ull(m, i ? " " : "", now[i] - base[i]);
		base[i] = now[i];
	}
	mutex_unlock(&lock);
	seq_putc(m, '\n');
	return 0;
}

static int missed_get(char *buf, const struct kernel_param *kp)
{
	unsigned long n = slow.nmissed + slow.kp.nmissed + bulk.nmissed;
	int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		n += probes[i].nmissed;
	return sysfs_emit(buf, "%lu\n", n);
}
static const struct kernel_param_ops missed_ops = { .get = missed_get };
module_param_cb(missed, &missed_ops, NULL, 0444);
MODULE_PARM_DESC(missed, "probe hits that were not followed");

/* The compiler clones functions and names the clones; releases rename them. */
static const char * const slow_names[] = {
	"__alloc_pages_slowpath",
	"__alloc_pages_slowpath.constprop.0",
	"__alloc_pages_slowpath.isra.0",
	"__alloc_pages_slowpath.constprop.0.isra.0",
};
static const char * const bulk_names[] = {
	"__alloc_pages_bulk",
	"alloc_pages_bulk_noprof",
};

static int register_first(struct kretprobe *rp, const char * const *names, int n)
{
	int i, err = -ENOENT;

	for (i = 0; i < n && err; i++) {
		rp->maxactive = frames;
		rp->kp.symbol_name = names[i];
		rp->kp.addr = NULL;
		err = register_kretprobe(rp);
	}
	return err;
}

static struct proc_dir_entry *file;
static int ntp, nprobe;
static bool have_slow, have_bulk;

static void stop(void)
{
	while (ntp > 0) {
		ntp--;
		tracepoint_probe_unregister(tps[ntp].tp, tps[ntp].probe, NULL);
	}
	while (nprobe > 0)
		unregister_kprobe(&probes[--nprobe]);
	if (have_slow)
		unregister_kretprobe(&slow);
	if (have_bulk)
		unregister_kretprobe(&bulk);
	tracepoint_synchronize_unregister();
}

static int __init start(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		raw_spin_lock_init(&buckets[i].lock);
	for_each_kernel_tracepoint(find_tp, NULL);
	if (gid < -1) {
		pr_err("heapstress: gid=%d is no group: give its number\n", gid);
		return -EINVAL;
	}
	err = register_first(&slow, slow_names, ARRAY_SIZE(slow_names));
	if (err) {
		pr_err("heapstress: this kernel lets nobody probe __alloc_pages_slowpath (%d): nothing is counted\n", err);
		return err;
	}
	have_slow = true;
	err = register_first(&bulk, bulk_names, ARRAY_SIZE(bulk_names));
	if (err)
		goto fail;
	have_bulk = true;
	for (nprobe = 0; nprobe < ARRAY_SIZE(probes); nprobe++) {
		err = register_kprobe(&probes[nprobe]);
		if (err)
			goto fail;
	}
	for (ntp = 0; ntp < ARRAY_SIZE(tps); ntp++) {
		err = -ENOENT;
		if (tps[ntp].tp)
			err = tracepoint_probe_register(tps[ntp].tp, tps[ntp].probe, NULL);
		if (err)
			goto fail;
	}
	if (!probes_work()) {
		pr_err("heapstress: kprobes are switched off: nothing is counted\n");
		stop();
		return -EOPNOTSUPP;
	}
	sum_up(base);	/* the probes did not start at once */
	err = -ENOMEM;
	file = proc_create_single(name, gid < 0 ? 0400 : 0440, NULL, show);
	if (!file)
		goto fail;
	if (gid >= 0)
		proc_set_user(file, GLOBAL_ROOT_UID, KGIDT_INIT(gid));
	pr_info("heapstress: /proc/%s follows %s and %s\n", name,
		slow.kp.symbol_name, bulk.kp.symbol_name);
	return 0;
fail:
	pr_err("heapstress: a probe or /proc/%s is refused (%d): nothing is counted\n", name, err);
	stop();
	return err;
}

static void __exit finish(void)
{
	proc_remove(file);
	stop();
}

module_init(start);
module_exit(finish);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Page allocations by the effort they took");
