/*
 * steady LIVE RATE SECONDS [SHORT [STACKS]]: a program at work, for a page to
 * look at.
 *
 * LIVE blocks of 16 to 512 bytes come to life as fast as they can, "ready" is
 * printed, and for SECONDS, or without an end when they are 0, RATE mallocs
 * and frees a second follow, in portions of a millisecond.  SHORT in a hundred
 * of them (90) are of a pool of 256 young blocks, most of these the last one
 * over and over; the others replace a random one of all.  With SHORT -1
 * nothing is freed: the list grows by RATE blocks a second, from LIVE on.
 *
 * The old blocks come from STACKS (16) different stacks, up to 65,536, as a
 * page's groups have to cope with.
 *
 * At the end the rate is printed that was reached.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define YOUNG 256
#define LATEST 60		/* in a hundred: the last young block */
#define SECOND INT64_C(1000000000)
#define PORTION 1000000		/* ns */
#define LEVELS 16

static uint64_t state = 1;
static uint32_t stacks = 16;

/* splitmix64: cheap beside a malloc. */
static uint64_t
draw(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ (z >> 31);
}

/*
 * A stack for each number: at each level one of two calls leads on.  The empty
 * asm keeps the calls calls of their own, not tail jumps, and two.
 */
static __attribute__((noinline)) char *
below(unsigned level, uint32_t path, size_t size)
{
	char *p;

	if (level == 0) {
		p = malloc(size);
	} else if (path & 1) {
		p = below(level - 1, path >> 1, size);
		__asm__ volatile("" : "+r"(p));
	} else {
		p = below(level - 1, path >> 1, size);
		__asm__ volatile("nop" : "+r"(p));
	}
	__asm__ volatile("" : "+r"(p));
	return p;
}

static char *
allocate(uint64_t r)
{
	uint32_t path = (uint32_t)((r >> 24) % stacks);
	unsigned levels = 0;
	char *p;

	while (stacks > UINT32_C(1) << levels)
		levels++;
	p = below(levels, path, 16 + (r >> 8) % 497);
	*p = (char)r;
	return p;
}

static int64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static void
sleep_until(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void
replace(char **block, uint64_t r)
{
	free(*block);
	*block = allocate(r);
}

/* Two events, or without frees one. */
static unsigned
work(char **live, uint64_t nlive, int in_hundred)
{
	static char *young[YOUNG];
	static unsigned latest;
	uint64_t r = draw();

	if (in_hundred < 0) {
		/* Without an owner: all that it is for is to be there. */
		char *volatile kept = allocate(r);

		(void)kept;
		return 1;
	}
	if (nlive > 0 && r % 100 >= (unsigned)in_hundred) {
		replace(&live[draw() % nlive], r);
		return 2;
	}
	if (draw() % 100 >= LATEST)
		latest = (unsigned)(r >> 40) % YOUNG;
	replace(&young[latest], r & 0xffffff);
	return 2;
}

int
main(int argc, char **argv)
{
	uint64_t nlive = argc > 3 ? strtoull(argv[1], NULL, 10) : 0, done = 0;
	uint64_t rate = argc > 3 ? strtoull(argv[2], NULL, 10) : 0, due;
	int64_t seconds = argc > 3 ? atoll(argv[3]) : -1, began, t;
	int in_hundred = argc > 4 ? atoi(argv[4]) : 90;
	char **live;

	if (argc > 5)
		stacks = (uint32_t)strtoul(argv[5], NULL, 10);
	if (seconds < 0 || in_hundred > 100 || stacks < 1 ||
	    stacks > UINT32_C(1) << LEVELS) {
		fprintf(stderr,
		    "usage: steady LIVE RATE SECONDS [SHORT [STACKS]]\n");
		return 2;
	}
	live = calloc(nlive + 1, sizeof *live);
	for (uint64_t i = 0; i < nlive; i++)
		live[i] = allocate(draw());
	printf("ready\n");
	fflush(stdout);
	began = t = now();
	while (seconds == 0 || t - began < seconds * SECOND) {
		sleep_until(t + PORTION);
		t = now();
		due = (uint64_t)((double)(t - began) / 1e9 * (double)rate);
		while (done < due)
			done += work(live, nlive, in_hundred);
	}
	printf("events_per_s=%.0f\n", (double)done * 1e9 /
	    (double)(now() - began));
	return 0;
}
