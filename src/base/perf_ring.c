#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf_ring.h"

static size_t
page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int
open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1,
	    PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int
perf_ring_join(const struct perf_ring *r, struct perf_event_attr *attr, pid_t pid,
    int cpu)
{
	int fd = open_event(attr, pid, cpu), err;

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
perf_ring_open(struct perf_ring *r, struct perf_event_attr *attr, pid_t pid, int cpu,
    size_t bytes)
{
	int fd = open_event(attr, pid, cpu), err;
	void *at;

	if (fd < 0)
		return fd;
	bytes = bytes > page_bytes() ? bytes : page_bytes();
	at = mmap(NULL, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	if (at == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	*r = (struct perf_ring){ .fd = fd, .head = at, .bytes = bytes };
	return 0;
}

void
perf_ring_close(struct perf_ring *r)
{
	if (r->head != NULL)
		munmap(r->head, page_bytes() + r->bytes);
	if (r->fd >= 0)
		close(r->fd);
	*r = PERF_RING_NONE;
}

uint64_t
perf_ring_head(const struct perf_ring *r)
{
	return r->head == NULL ? 0 :
	    __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
}

void
perf_ring_read(struct perf_ring *r, uint64_t head,
    void (*take)(void *arg, const struct perf_event_header *), void *arg)
{
	const unsigned char *ring = (const unsigned char *)r->head + page_bytes();
	uint64_t tail;

	if (r->head == NULL)
		return;
	for (tail = r->head->data_tail; tail < head;) {
		union {
			struct perf_event_header head;
			unsigned char bytes[PERF_RING_RECORD];
			uint64_t aligned;
		} record = { .bytes = { 0 } };
		size_t size = sizeof record.head;

		for (size_t i = 0; i < size; i++) {
			record.bytes[i] = ring[(tail + i) % r->bytes];
			if (i + 1 == sizeof record.head &&
			    record.head.size <= sizeof record)
				size = record.head.size;
		}
		take(arg, &record.head);
		tail += record.head.size >= sizeof record.head ?
		    record.head.size : head - tail;
	}
	__atomic_store_n(&r->head->data_tail, tail, __ATOMIC_RELEASE);
}
