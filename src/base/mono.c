/*
 * The clocks: CLOCK_MONOTONIC for everything that is measured or waited for,
 * the wall clock only for what people read.
 */
#include "base.h"

#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

struct mono
mono_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (struct mono) { .ns = ts.tv_sec * NS_PER_S + ts.tv_nsec };
}

int64_t
mono_ms(struct mono t)
{
	return t.ns / NS_PER_MS;
}

int64_t
mono_diff_ns(struct mono later, struct mono earlier)
{
	return later.ns - earlier.ns;
}

int64_t
mono_ms_since(struct mono t)
{
	return mono_diff_ns(mono_now(), t) / NS_PER_MS;
}

int64_t
base_wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int64_t
base_wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / NS_PER_MS;
}
