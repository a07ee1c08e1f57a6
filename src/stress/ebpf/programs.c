/*
 * Classifies a request of the page allocator at its end, by what its task did
 * since its last one and the free pages of its zone.  Raw tracepoints:
 * whatever they return, other users see the event.  An interrupt's request
 * cannot wait, so it does not end the stages of its task; nor does one of
 * reclaim itself.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "ebpf.h"

/* Only the kernel's own description says where these members are. */
#pragma clang attribute push(__attribute__((preserve_access_index)), \
    apply_to = record)
struct atomic {
	long counter;
};
struct zone {
	unsigned long _watermark[3];	/* min, low, high */
	struct atomic vm_stat[1];	/* the first: free pages */
};
struct pglist_data {
	struct zone node_zones[1];
};
struct page {
	unsigned long flags;
};
#pragma clang attribute pop

enum {
	RECLAIMS = 1,		/* is inside direct reclaim */
	RECLAIMED = 2,		/* has reclaimed or compacted */
	KILLED = 4		/* has let a process be killed */
};

const volatile struct ebpf_config config = { 0 };

extern const void node_data __ksym __weak;
extern const void contig_page_data __ksym __weak;
extern const void vmemmap_base __ksym __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);		/* as many as there are processors */
	__type(key, __u32);
	__type(value, struct ebpf_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u32);
} stages SEC(".maps");

static __u64 tasks;		/* with stages */
static __u64 pages;		/* address of the first page's description */

static __always_inline struct ebpf_counts *
own_counts(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counts, &cpu);
}

static __always_inline void
change_stages(__u32 set, __u32 clear)
{
	__u32 task = (__u32)bpf_get_current_pid_tgid(), none = 0, *has;
	struct ebpf_counts *c;

	has = bpf_map_lookup_elem(&stages, &task);
	if (has == NULL && set != 0) {
		none = set;
		if (bpf_map_update_elem(&stages, &task, &none, BPF_NOEXIST) == 0)
			__sync_fetch_and_add(&tasks, 1);
		else if ((c = own_counts()) != NULL)
			__sync_fetch_and_add(&c->missed, 1);
	} else if (has != NULL) {
		*has = (*has & ~clear) | set;
	}
}

static __always_inline __u32
take_stages(void)
{
	__u32 task = (__u32)bpf_get_current_pid_tgid(), *has, stage;

	has = bpf_map_lookup_elem(&stages, &task);
	if (has == NULL || (*has & RECLAIMS) != 0)
		return 0;
	stage = *has;
	if (bpf_map_delete_elem(&stages, &task) == 0)
		__sync_fetch_and_add(&tasks, -1);
	return stage;
}

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int
reclaim_begins(void *ctx)
{
	change_stages(RECLAIMS | RECLAIMED, 0);
	return 1;
}

SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int
reclaim_ends(void *ctx)
{
	change_stages(RECLAIMED, RECLAIMS);
	return 1;
}

SEC("raw_tp/mm_compaction_try_to_compact_pages")
int
compacts(void *ctx)
{
	change_stages(RECLAIMED, 0);
	return 1;
}

/* A kill for the limit of a control group comes without reclaim by a request. */
SEC("raw_tp/mark_victim")
int
kills(void *ctx)
{
	__u32 task = (__u32)bpf_get_current_pid_tgid(), *has;

	has = bpf_map_lookup_elem(&stages, &task);
	if (has != NULL)
		*has |= KILLED;
	return 1;
}

static __always_inline const volatile struct ebpf_zone *
find_zone(__u64 page)
{
	if (pages == 0 && &vmemmap_base != NULL)
		bpf_probe_read_kernel(&pages, sizeof pages, &vmemmap_base);
	page = (page - pages) / bpf_core_type_size(struct page);
	for (__u32 i = 0; i < EBPF_ZONES && i < config.zones; i++)
		if (page >= config.zone[i].from && page < config.zone[i].to)
			return &config.zone[i];
	return NULL;
}

/* Memory that was added since the programs were loaded is in no zone: level 1. */
static __always_inline __u32
level_of_zone(__u64 page)
{
	const volatile struct ebpf_zone *z = config.zones > 0 ?
	    find_zone(page) : NULL;
	__u64 node = (__u64)&contig_page_data, zone;
	unsigned long mark[2] = { 0 }, available = 0;

	if (z == NULL)
		return 0;
	if (&node_data != NULL)
		bpf_probe_read_kernel(&node, sizeof node,
		    (const void *)((__u64)&node_data + z->node * sizeof node));
	zone = node + bpf_core_field_offset(struct pglist_data, node_zones) +
	    z->index * bpf_core_type_size(struct zone);
	bpf_probe_read_kernel(&available, sizeof available, (const void *)(zone +
	    bpf_core_field_offset(struct zone, vm_stat)));
	bpf_probe_read_kernel(mark, sizeof mark, (const void *)(zone +
	    bpf_core_field_offset(struct zone, _watermark)));
	return available < mark[0] ? 2 : available < mark[1] ? 1 : 0;
}

SEC("raw_tp/mm_page_alloc")
int
request_ends(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 page = ctx->args[0];
	bool waits = (ctx->args[2] & config.may_wait) != 0;
	bool large = (__u32)ctx->args[1] > 3;
	__u32 stage = waits && tasks != 0 ? take_stages() : 0, level;
	struct ebpf_counts *c = own_counts();

	if (c == NULL)
		return 1;
	if (page == 0) {
		__sync_fetch_and_add(&c->failed[(waits ? 0 : 2) + large], 1);
		level = 5;
	} else if ((stage & KILLED) != 0) {
		level = 4;
	} else if ((stage & RECLAIMED) != 0) {
		level = 3;
	} else {
		level = level_of_zone(page);
	}
	if (level < EBPF_LEVELS)
		__sync_fetch_and_add(&c->level[level], 1);
	return 1;
}

/* Tracepoints and ksyms are for programs under the kernel's own licence. */
char licence[] SEC("license") = "GPL";
