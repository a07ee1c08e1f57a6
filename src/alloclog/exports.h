/*
 * exports: what of this object others find by name.  Private to the target side.
 */
#ifndef ALLOCLOG_EXPORTS_H
#define ALLOCLOG_EXPORTS_H

#pragma GCC visibility push(hidden)

#define EXPORTS_MAX 32

/*
 * Nobody who is bound from now on finds these n functions of ours: the loader
 * passes over a symbol without an address.  Once in a process; all or none, and
 * none where there are more than EXPORTS_MAX or the table cannot be written.
 */
void exports_take_back(const void *const fns[], unsigned n);

#pragma GCC visibility pop

#endif
