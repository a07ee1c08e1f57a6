#include "base.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define THREAD_STACK ((size_t)64 << 10)
#define GROW_FIRST 8	/* elements of an array's first allocation */

static int64_t
clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

struct mono
mono_now(void)
{
	return (struct mono){ .ns = clock_ns(CLOCK_MONOTONIC) };
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
	return clock_ns(CLOCK_REALTIME);
}

int64_t
base_wall_ms(void)
{
	return clock_ns(CLOCK_REALTIME) / NS_PER_MS;
}

bool
base_proc_is_ours(void)
{
	static _Atomic int known;	/* 0 not yet, 1 ours, -1 another's */
	char self[24];
	ssize_t n;

	if (known == 0) {
		n = readlink("/proc/self", self, sizeof self - 1);
		self[n > 0 ? n : 0] = '\0';
		known = n > 0 && atol(self) == (long)getpid() ? 1 : -1;
	}
	return known > 0;
}

int
base_thread_start(void *(*run)(void *), void *arg)
{
	size_t least = (size_t)PTHREAD_STACK_MIN;
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr,
	    THREAD_STACK > least ? THREAD_STACK : least);
	/* A new thread inherits the signal mask. */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

int
base_grow(void **array, size_t *cap, size_t want, size_t size)
{
	size_t bytes, grown;
	void *p;

	assert(size > 0);
	if (want <= *cap)
		return 0;
	if (__builtin_mul_overflow(want, size, &bytes))
		return -EOVERFLOW;

	/* By half; if that overflows, exactly what is wanted. */
	if (__builtin_add_overflow(*cap, *cap / 2, &grown) || grown < want)
		grown = want;
	if (grown < GROW_FIRST)
		grown = GROW_FIRST;
	if (__builtin_mul_overflow(grown, size, &bytes)) {
		grown = want;
		bytes = want * size;
	}

	if ((p = realloc(*array, bytes)) == NULL)
		return -ENOMEM;
	*array = p;
	*cap = grown;
	return 0;
}

/* The length without a UTF-8 character that the buffer's end cut in two. */
static size_t
whole_characters(const char *buf, size_t len)
{
	size_t start = len;

	while (start > 0 && len - start < 4) {
		unsigned char c = (unsigned char)buf[--start];

		if (c < 0x80)
			return len;
		if (c >= 0xc0)
			return base_utf8_char(buf + start, len - start, NULL) ?
			    len : start;
	}
	return len;
}

void
base_append_text(char *buf, size_t cap, size_t *len, const char *text)
{
	size_t n = strlen(text);

	if (cap == 0)
		return;
	assert(*len < cap);
	if (n < cap - *len) {
		memcpy(buf + *len, text, n);
		*len += n;
	} else {
		memcpy(buf + *len, text, cap - 1 - *len);
		*len = whole_characters(buf, cap - 1);
	}
	buf[*len] = '\0';
}

void
base_copy_text(char *buf, size_t cap, const char *text)
{
	size_t len = 0;

	base_append_text(buf, cap, &len, text);
}

void
base_append(char *buf, size_t cap, size_t *len, const char *fmt, ...)
{
	va_list ap;
	size_t room;
	int n;

	if (cap == 0)
		return;
	assert(*len < cap);
	room = cap - *len;
	va_start(ap, fmt);
	n = vsnprintf(buf + *len, room, fmt, ap);
	va_end(ap);

	if (n > 0 && (size_t)n < room)
		*len += (size_t)n;
	else if (n > 0)
		*len = whole_characters(buf, cap - 1);
	buf[*len] = '\0';
}
