/*
 * A firmware of the smallest kind, to be run on this machine: a pool of blocks
 * of its own, and each that is taken or given back told on standard output.
 *
 *	cc -o firmware examples/device/firmware.c
 *	./firmware | pagek list raw:-
 *
 * At its end it holds KEPT blocks, the multiples of 64 bytes up to KEPT * 64.
 */
#include <stdio.h>

#include "pagek_device.h"

#define KEPT 10
#define ROUNDS 200

static union {
	unsigned char byte[32 * 1024];
	uint64_t align;
} pool;
static size_t top;

/* It has no clock: time begins with a date of its own, 20 ms a look. */
static void
now(void *arg, struct pagek_time *t)
{
	static unsigned long ms;

	(void)arg;
	ms += 20;
	*t = (struct pagek_time){ .year = 2026, .month = 11, .day = 21,
		.hour = 8, .minute = (unsigned)(ms / 60000 % 60),
		.second = (unsigned)(ms / 1000 % 60),
		.ms = (unsigned)(ms % 1000) };
}

static void
to_output(void *arg, const uint8_t record[PAGEK_RECORD])
{
	fwrite(record, 1, PAGEK_RECORD, arg);
}

static struct pagek_device dev = { now, to_output, NULL };

/* What stands in FreeRTOSConfig.h of a firmware that has one. */
#define traceMALLOC(p, n) do { if ((p) != NULL) \
	pagek_alloc(&dev, (p), (n), 0x80); } while (0)
#define traceFREE(p, n) pagek_free(&dev, (p), (n), 0x90)

static void *
take(size_t size)
{
	void *p = size <= sizeof pool.byte - top ? &pool.byte[top] : NULL;

	if (p != NULL)
		top += size;
	traceMALLOC(p, size);
	return p;
}

/* The last one taken is the first to go. */
static void
give(void *p, size_t size)
{
	traceFREE(p, size);
	top -= size;
}

int
main(void)
{
	unsigned i;

	dev.arg = stdout;
	for (i = 1; i <= KEPT; i++)
		take(64 * i);
	for (i = 0; i < ROUNDS; i++) {
		void *a = take(24), *b = take(1 + i);

		give(b, 1 + i);
		give(a, 24);
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
