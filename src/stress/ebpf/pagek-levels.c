/*
 * Loads programs.c and keeps the programs while its starter lives.  No
 * argument, variable or input; descriptor 0 is a socket.  It has CAP_BPF and
 * CAP_PERFMON as its file's capabilities, or root runs it, and gives them up
 * when the programs run.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "ebpf.h"

/* The bit in kernels that do not name it: until Linux 6.8. */
#define MAY_WAIT 0x400u

/* The object of programs.c. */
__asm__(".section .rodata\n"
    ".balign 16\n"
    "programs:\n"
    ".incbin \"" PAGEK_EBPF_OBJECT "\"\n"
    "programs_end:\n"
    ".previous\n");
extern const char programs[], programs_end[];

static struct ebpf_config config;
static struct ebpf_reply reply;

static int
say(int err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static int
say(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reply.why, sizeof reply.why, fmt, ap);
	va_end(ap);
	return err;
}

/* All zones are listed, and one without pages has no first page. */
static void
read_zones(void)
{
	FILE *f = fopen("/proc/zoneinfo", "re");
	struct ebpf_zone z = { 0 };
	unsigned last = ~0u, index = 0;
	unsigned long long spanned = 0, start;
	char line[256], name[32];

	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "Node %u, zone %31s", &z.node, name) == 2) {
			index = z.node == last ? index + 1 : 0;
			last = z.node;
			spanned = 0;
		} else if (sscanf(line, " spanned %llu", &spanned) != 1 &&
		    sscanf(line, " start_pfn: %llu", &start) == 1 &&
		    spanned > 0 && config.zones < EBPF_ZONES) {
			z.from = start;
			z.to = start + spanned;
			z.index = index;
			config.zone[config.zones++] = z;
		}
	}
	if (f != NULL)
		fclose(f);
}

static bool
has_symbol(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[512], symbol[256], type;
	bool found = false;

	while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
		found = sscanf(line, "%llx %c %255s", &address, &type,
		    symbol) == 3 && address != 0 && strcmp(symbol, name) == 0;
	if (f != NULL)
		fclose(f);
	return found;
}

static void
read_config(const struct btf *kernel)
{
	static const char bit[] = "___GFP_DIRECT_RECLAIM_BIT";

	config.may_wait = MAY_WAIT;
	for (unsigned i = 1; i < btf__type_cnt(kernel); i++) {
		const struct btf_type *t = btf__type_by_id(kernel, i);

		for (unsigned k = 0; btf_is_enum(t) && k < btf_vlen(t); k++)
			if (strcmp(btf__name_by_offset(kernel,
			    btf_enum(t)[k].name_off), bit) == 0)
				config.may_wait = 1u <<
				    (btf_enum(t)[k].val & 31);
	}
	if (has_symbol("vmemmap_base") && (has_symbol("node_data") ||
	    has_symbol("contig_page_data")))
		read_zones();
	if (config.zones == 0)
		say(0, "the kernel does not say where its zones are: levels 2 and "
		    "3 are counted as level 1");
}

static int
quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static int
set_sizes(struct bpf_object *o, int processors)
{
	struct bpf_map *m;
	int err = 0;

	bpf_object__for_each_map(m, o) {
		if (strcmp(bpf_map__name(m), "counts") == 0)
			err = bpf_map__set_max_entries(m, (unsigned)processors);
		else if (strstr(bpf_map__name(m), ".rodata") != NULL)
			err = bpf_map__set_initial_value(m, &config,
			    sizeof config);
		if (err < 0)
			return err;
	}
	return 0;
}

/*
 * The program that ends stages runs before those that begin some: none is left
 * behind.
 */
static int
attach_all(struct bpf_object *o)
{
	struct bpf_program *first = bpf_object__find_program_by_name(o,
	    "request_ends"), *p;
	int err = bpf_program__attach(first) == NULL ? -errno : 0;

	bpf_object__for_each_program(p, o)
		if (err == 0 && p != first && bpf_program__attach(p) == NULL)
			err = -errno;
	return err;
}

/* Without the right it is found out at once. */
static int
try_bpf(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, NULL, 4, 4, 1, NULL);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int
refuse(int err)
{
	if (err == -EPERM || err == -EACCES)
		return say(err, "eBPF is refused: pagek-levels needs CAP_BPF and "
		    "CAP_PERFMON, and no lockdown for confidentiality");
	return say(err, "no eBPF: the kernel refuses the programs: %s",
	    strerror(-err));
}

static int
load(void)
{
	int processors = libbpf_num_possible_cpus(), err = try_bpf();
	struct bpf_object *o;
	struct btf *kernel;

	if (err < 0)
		return refuse(err);
	kernel = btf__load_vmlinux_btf();
	if (kernel == NULL)
		return say(-errno, "no eBPF: the kernel does not describe itself "
		    "(/sys/kernel/btf/vmlinux): %s", strerror(errno));
	read_config(kernel);
	btf__free(kernel);
	o = bpf_object__open_mem(programs, (size_t)(programs_end - programs), NULL);
	if (o == NULL || processors <= 0)
		return say(-EINVAL, "no eBPF: %s", strerror(errno));
	err = set_sizes(o, processors);
	if (err == 0)
		err = bpf_object__load(o);
	if (err == 0)
		err = attach_all(o);
	if (err < 0)
		return refuse(err);
	reply.processors = (unsigned)processors;
	reply.zones = config.zones;
	return bpf_object__find_map_fd_by_name(o, "counts");
}

static int
send_reply(int counts)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof counts)];
	} control = { 0 };
	struct iovec data = { &reply, sizeof reply };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (counts >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof counts);
		memcpy(CMSG_DATA(c), &counts, sizeof counts);
	}
	return sendmsg(0, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void
drop_capabilities(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	syscall(SYS_capset, &head, none);
}

int
main(void)
{
	struct pollfd end = { .fd = 0, .events = POLLIN };
	int counts;

	prctl(PR_SET_NAME, "pagek-levels");
	clearenv();
	libbpf_set_print(quiet);
	counts = load();
	drop_capabilities();
	if (send_reply(counts) < 0 || counts < 0)
		return 1;
	/* Nothing is ever sent: it is readable when the other end is closed. */
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	return 0;
}
