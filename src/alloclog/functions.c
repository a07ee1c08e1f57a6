/*
 * Hidden copies of libc functions that the compiler or we call.  The barriers
 * keep a compiler from turning a loop into a call of its own function.
 */
#include <errno.h>
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

/*
 * On other processors syscall() is libc's; see imports.  Written in C it would
 * take 112 bytes more of a handler's stack in each call.  Unused arguments may
 * have any value.
 */
#ifdef __x86_64__
long syscall_failed(long result);

__attribute__((visibility("hidden"), used)) long
syscall_failed(long result)
{
	errno = (int)-result;
	return -1;
}

__asm__(".pushsection .text, \"ax\", @progbits\n"
    ".globl syscall\n"
    ".hidden syscall\n"
    ".type syscall, @function\n"
    "syscall:\n"
    ".cfi_startproc\n"
    "	mov %rdi, %rax\n"
    "	mov %rsi, %rdi\n"
    "	mov %rdx, %rsi\n"
    "	mov %rcx, %rdx\n"
    "	mov %r8, %r10\n"
    "	mov %r9, %r8\n"
    "	mov 8(%rsp), %r9\n"
    "	syscall\n"
    "	cmp $-4095, %rax\n"
    "	jae 1f\n"
    "	ret\n"
    "1:	mov %rax, %rdi\n"
    "	jmp syscall_failed\n"
    ".cfi_endproc\n"
    ".size syscall, . - syscall\n"
    ".popsection");
#endif
