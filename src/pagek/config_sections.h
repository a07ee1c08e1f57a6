/*
 * config_sections: what stands in a settings file behind [keys] and [colors].
 * Private to config.c, which has the lines, and to who obeys them.
 *
 *	[keys]
 *	F5 = pause
 *	x = none
 *	[colors]
 *	cursor = white on blue
 */
#ifndef PAGEK_CONFIG_SECTIONS_H
#define PAGEK_CONFIG_SECTIONS_H

#include "config.h"

enum config_section {
	CONFIG_KEYS_SECTION,
	CONFIG_COLORS_SECTION,
};

/* The section that the line "[keys]" begins, or -1. */
int config_section(const char *line);
/*
 * A line of it.  What the user's file says goes before what the system's does.
 * False, with a sentence: it is not taken.
 */
bool config_section_take(struct config *, int section, struct config_at,
    const char *name, const char *text, char *why, size_t cap);

/* Keys do what the files say, and else what they always do. */
void config_bind_keys(const struct config *);
void config_styles(const struct config *, struct page_style out[PAGE_MARKS]);

#endif
