#include <errno.h>
#include <string.h>

#include "capture.h"

int
capture_writer_new(struct capture_writer **out, const struct capture_opts *opts)
{
	(void)out, (void)opts;
	return -ENOSYS;
}

int
capture_writer_part(struct capture_writer *w, const struct capture_part *part,
    uint32_t *no)
{
	(void)w, (void)part, (void)no;
	return -ENOSYS;
}

int
capture_writer_blocks(struct capture_writer *w, uint32_t part,
    const struct blk *b, size_t n)
{
	(void)w, (void)part, (void)b, (void)n;
	return -ENOSYS;
}

int
capture_writer_state(struct capture_writer *w, uint32_t part, uint64_t seq,
    int64_t ms, const struct capture_totals *t)
{
	(void)w, (void)part, (void)seq, (void)ms, (void)t;
	return -ENOSYS;
}

bool
capture_writer_wants_state(const struct capture_writer *w, uint32_t part)
{
	(void)w, (void)part;
	return false;
}

int
capture_writer_records(struct capture_writer *w, uint32_t part,
    const struct blklist_batch *b)
{
	(void)w, (void)part, (void)b;
	return -ENOSYS;
}

void
capture_writer_lost(struct capture_writer *w, uint32_t part, uint64_t seq,
    unsigned cause, uint64_t count)
{
	(void)w, (void)part, (void)seq, (void)cause, (void)count;
}

void
capture_writer_site(struct capture_writer *w, uint32_t part, uint32_t no,
    const struct stream_site *s)
{
	(void)w, (void)part, (void)no, (void)s;
}

void
capture_writer_module(struct capture_writer *w, uint32_t part, unsigned no,
    const struct stream_module *m)
{
	(void)w, (void)part, (void)no, (void)m;
}

void
capture_writer_thread(struct capture_writer *w, uint32_t part, unsigned index,
    uint32_t tid, const char *name)
{
	(void)w, (void)part, (void)index, (void)tid, (void)name;
}

void
capture_writer_type(struct capture_writer *w, uint32_t part,
    const struct stream_type *t)
{
	(void)w, (void)part, (void)t;
}

void
capture_writer_requester(struct capture_writer *w, uint32_t part,
    uint16_t info, const struct blklist_info *i)
{
	(void)w, (void)part, (void)info, (void)i;
}

void
capture_writer_mark(struct capture_writer *w, uint32_t part, uint64_t seq,
    int64_t ms, const char *text)
{
	(void)w, (void)part, (void)seq, (void)ms, (void)text;
}

void
capture_writer_clock(struct capture_writer *w, int64_t ms, int64_t wall_ns)
{
	(void)w, (void)ms, (void)wall_ns;
}

void
capture_writer_end_part(struct capture_writer *w, uint32_t part, int64_t ms,
    int status, const char *reason)
{
	(void)w, (void)part, (void)ms, (void)status, (void)reason;
}

int
capture_writer_finish(struct capture_writer *w, const char *reason,
    int wait_ms)
{
	(void)w, (void)reason, (void)wait_ms;
	return -ENOSYS;
}

void
capture_writer_look(const struct capture_writer *w,
    struct capture_progress *p)
{
	(void)w;
	memset(p, 0, sizeof *p);
}
