/*
 * The instructions that are exempt from dispatch, in one piece.  They use no
 * thread-local memory.
 *
 * Unwinders and debuggers recognise a signal frame by the bytes of the restorer.  The nop
 * before it separates it from the function before.
 */
#include "guard.h"

#ifdef GUARD_BUILT

__asm__(".pushsection .text, \"ax\", @progbits\n"
    ".balign 64\n"
    ".globl guard_text\n"
    ".hidden guard_text\n"
    "guard_text:\n"

    ".globl guard_call\n"
    ".hidden guard_call\n"
    ".type guard_call, @function\n"
    "guard_call:\n"
    ".cfi_startproc\n"
    "	mov %rdi, %rax\n"
    "	mov %rsi, %rcx\n"
    "	mov (%rcx), %rdi\n"
    "	mov 8(%rcx), %rsi\n"
    "	mov 16(%rcx), %rdx\n"
    "	mov 24(%rcx), %r10\n"
    "	mov 32(%rcx), %r8\n"
    "	mov 40(%rcx), %r9\n"
    "	syscall\n"
    "	ret\n"
    ".cfi_endproc\n"
    ".size guard_call, . - guard_call\n"

    "	.balign 16, 0x90\n"
    "	nop\n"
    ".globl guard_restorer\n"
    ".hidden guard_restorer\n"
    ".type guard_restorer, @function\n"
    "guard_restorer:\n"
    "	.byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0\n" /* mov $15, %rax */
    "	syscall\n"
    ".size guard_restorer, . - guard_restorer\n"
    "	ud2\n"

    ".globl guard_sigreturn\n"
    ".hidden guard_sigreturn\n"
    ".type guard_sigreturn, @function\n"
    "guard_sigreturn:\n"
    "	mov %rdi, %rsp\n"
    "	mov $15, %eax\n"
    "	syscall\n"
    "	ud2\n"
    ".size guard_sigreturn, . - guard_sigreturn\n"

    /* The new thread's stack holds a function's address and, above it, its argument. */
    ".globl guard_spawn\n"
    ".hidden guard_spawn\n"
    ".type guard_spawn, @function\n"
    "guard_spawn:\n"
    "	mov %rcx, %r8\n"
    "	mov %rdx, %r10\n"
    "	mov $56, %eax\n"
    "	syscall\n"
    "	test %eax, %eax\n"
    "	jz 1f\n"
    "	ret\n"
    "1:	xor %ebp, %ebp\n"
    "	pop %rax\n"
    "	pop %rdi\n"
    "	call *%rax\n"
    "	xor %edi, %edi\n"
    "	mov $60, %eax\n"
    "	syscall\n"
    "	ud2\n"
    ".size guard_spawn, . - guard_spawn\n"

    ".globl guard_text_end\n"
    ".hidden guard_text_end\n"
    "guard_text_end:\n"
    ".popsection");

#endif
