/*
 * Hidden copies of libc functions that the compiler or we call.  The barriers
 * keep a compiler from turning a loop into a call of its own function.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define BARRIER() __asm__ volatile("" ::: "memory")

typedef uint64_t __attribute__((aligned(1), may_alias)) word;

void *
memcpy(void *restrict to, const void *restrict from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	for (; n >= sizeof(word); n -= sizeof(word)) {
		*(word *)t = *(const word *)f;
		t += sizeof(word);
		f += sizeof(word);
		BARRIER();
	}
	for (; n > 0; n--) {
		*t++ = *f++;
		BARRIER();
	}
	return to;
}

void *
memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	/* Forwards a word is read before it is written over. */
	if ((uintptr_t)t - (uintptr_t)f >= n)
		return memcpy(to, from, n);
	for (; n >= sizeof(word); n -= sizeof(word)) {
		*(word *)(t + n - sizeof(word)) =
		    *(const word *)(f + n - sizeof(word));
		BARRIER();
	}
	while (n-- > 0) {
		t[n] = f[n];
		BARRIER();
	}
	return to;
}

void *
memset(void *to, int byte, size_t n)
{
	const word all = (unsigned char)byte * UINT64_C(0x0101010101010101);
	unsigned char *t = to;

	for (; n >= sizeof(word); n -= sizeof(word)) {
		*(word *)t = all;
		t += sizeof(word);
		BARRIER();
	}
	while (n-- > 0) {
		*t++ = (unsigned char)byte;
		BARRIER();
	}
	return to;
}

int
memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n > 0; n--, x++, y++) {
		if (*x != *y)
			return *x - *y;
		BARRIER();
	}
	return 0;
}

size_t
strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n] != '\0') {
		n++;
		BARRIER();
	}
	return n;
}

size_t
strlen(const char *s)
{
	return strnlen(s, SIZE_MAX);
}

int
strncmp(const char *a, const char *b, size_t n)
{
	const unsigned char *x = (const void *)a, *y = (const void *)b;

	for (; n > 0; n--, x++, y++) {
		if (*x != *y || *x == '\0')
			return *x - *y;
		BARRIER();
	}
	return 0;
}

int
strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

/* Elsewhere it is libc's; see imports. */
#ifdef __x86_64__
long
syscall(long number, ...)
{
	register long r10 __asm__("r10");
	register long r8 __asm__("r8");
	register long r9 __asm__("r9");
	long result, a[6];
	va_list ap;

	/* Those that the call does not have are anything. */
	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	r10 = a[3];
	r8 = a[4];
	r9 = a[5];
	__asm__ volatile("syscall"
	    : "=a"(result)
	    : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8),
	    "r"(r9)
	    : "rcx", "r11", "memory");
	if ((unsigned long)result < -4095UL)
		return result;
	errno = (int)-result;
	return -1;
}
#endif
