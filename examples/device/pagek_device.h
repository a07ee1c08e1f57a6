/*
 * pagek_device.h: lets firmware tell pagek of the blocks that it allocates and
 * frees.  C99, no allocation, nothing else needed; either byte order.
 *
 * Each event is a record of 16 bytes, most significant byte first:
 *
 *	address 4, size 2, flags 1 (A0 allocation, F0 free), type 1,
 *	time 8 in BCD: year month day hour minute second cycle millisecond
 *
 * A second has 15 cycles; the millisecond is that of the cycle.  The firmware
 * gives two functions: one knows the time, the other sends 16 bytes.  Call
 * pagek_alloc() behind each allocation and pagek_free() before each free, with
 * interrupts or the scheduler held, so that records are whole and in order.
 *
 *	static const struct pagek_device dev = { now, send, 0 };
 *
 * With FreeRTOS, in FreeRTOSConfig.h; heap_4 and its like call both with the
 * scheduler suspended:
 *
 *	#define traceMALLOC(p, n) do { if ((p) != NULL) \
 *		pagek_alloc(&dev, (p), (n), 0x80); } while (0)
 *	#define traceFREE(p, n) pagek_free(&dev, (p), (n), 0x90)
 *
 * On the other side: pagek raw:/dev/ttyUSB0 --baud 115200
 */
#ifndef PAGEK_DEVICE_H
#define PAGEK_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#define PAGEK_RECORD 16

/* Years are 1970 to 2069.  Without a clock count from any date. */
struct pagek_time {
	unsigned year, month, day, hour, minute, second, ms;
};

struct pagek_device {
	void (*now)(void *arg, struct pagek_time *);
	void (*send)(void *arg, const uint8_t record[PAGEK_RECORD]);
	void *arg;
};

static inline uint8_t
pagek_bcd(unsigned n)
{
	return (uint8_t)(n / 10 % 10 << 4 | n % 10);
}

static inline void
pagek_record(const struct pagek_device *d, const void *p, size_t size,
    unsigned flags, unsigned type)
{
	uint32_t addr = (uint32_t)(uintptr_t)p;
	/* Larger ones are told as the largest that there is room for. */
	unsigned n = size > 0xffff ? 0xffff : (unsigned)size, cycle, i;
	uint8_t r[PAGEK_RECORD];
	struct pagek_time t;

	d->now(d->arg, &t);
	cycle = (t.ms * 15 + 14) / 1000;
	for (i = 0; i < 4; i++)
		r[i] = (uint8_t)(addr >> (24 - 8 * i));
	r[4] = (uint8_t)(n >> 8);
	r[5] = (uint8_t)n;
	r[6] = (uint8_t)flags;
	r[7] = (uint8_t)type;
	r[8] = pagek_bcd(t.year % 100);
	r[9] = pagek_bcd(t.month);
	r[10] = pagek_bcd(t.day);
	r[11] = pagek_bcd(t.hour);
	r[12] = pagek_bcd(t.minute);
	r[13] = pagek_bcd(t.second);
	r[14] = pagek_bcd(cycle);
	r[15] = pagek_bcd(t.ms - cycle * 1000 / 15);
	d->send(d->arg, r);
}

static inline void
pagek_alloc(const struct pagek_device *d, const void *p, size_t size,
    unsigned type)
{
	pagek_record(d, p, size, 0xa0, type);
}

static inline void
pagek_free(const struct pagek_device *d, const void *p, size_t size,
    unsigned type)
{
	pagek_record(d, p, size, 0xf0, type);
}

#endif
