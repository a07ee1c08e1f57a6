/*
 * config_edit: settings into a file that a person has written, of which all
 * that is not meant stays as it is, byte for byte.
 *
 * A setting that stands there gets its new value, and keeps its blanks and the
 * comment behind it; another one comes behind the last setting.
 *
 * Example
 *	const char *value[OPTIONS] = { [OPTION_SORT] = "address" };
 *	config_save(path, value);
 */
#ifndef PAGEK_CONFIG_EDIT_H
#define PAGEK_CONFIG_EDIT_H

#include "config.h"

/* False: as a line it would be too long, or a '#' in it would begin a comment. */
bool config_can_hold(const char *value);

/*
 * The text with that setting, of a value that a file can hold,
 * in place of the old one, which is freed.  -ENOMEM: the old one.
 */
int config_edit(char **bytes, size_t *len, const char *key,
    const char *value);

/*
 * The same of the file, for each value that is not NULL.  It is made, with its
 * folders, if it is not there; a link to it stays.  -EINVAL: a line of the file
 * would hide one of the settings; or what reading and writing say.  It is as it
 * was then.
 */
int config_save(const char *path, const char *const value[OPTIONS]);

#endif
