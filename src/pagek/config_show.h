/*
 * config_show: a setting as a line of the file, with its origin in a comment;
 * for pagek config --show and the page's :set.
 */
#ifndef PAGEK_CONFIG_SHOW_H
#define PAGEK_CONFIG_SHOW_H

#include "config.h"

#define CONFIG_SHOW_TEXT 1280

/* Safe text; argument: what could stand there when nothing does. */
void config_show(char out[CONFIG_SHOW_TEXT], const char *key,
    const char *argument, const struct config_value *);

#endif
