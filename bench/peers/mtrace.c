/*
 * A preload that turns glibc's mtrace on, for libc_malloc_debug.so.0 behind it;
 * MALLOC_TRACE names the file.
 */
#include <mcheck.h>

__attribute__((constructor)) static void
begin(void)
{
	mtrace();
}
