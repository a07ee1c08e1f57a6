/*
 * demangle: names of C++ as their programs write them.
 *
 * The C++ runtime does it, if the machine has one; it is loaded when the
 * first such name is met and pagek is not linked with it.  Names that it does
 * not know, and those of programs in other languages, stay as they are.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

/* A demangled name, to be freed with free(), or NULL to show it as it is. */
char *demangle(const char *name);

#endif
