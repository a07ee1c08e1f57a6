/*
 * config: defaults of options from settings files, and the origin of each
 * value.
 *
 * /etc/pagek/config, and over it the user's file, hold lines `key = value`; a
 * key is the name of a long option of the group FILE.  Behind them come the
 * sections `[keys]` and `[colors]`: see pagek.conf(5).  Only config_save()
 * writes a file, for :save.
 *
 * Example
 *	options_parse(&o, argc, argv, ...);
 *	config_load(&config, &o, say, NULL);
 *	config_apply(&config, &o);
 *	...
 *	config_fini(&config);		when the options are no longer used
 */
#ifndef PAGEK_CONFIG_H
#define PAGEK_CONFIG_H

#include <limits.h>

#include "../picture/keys.h"
#include "options.h"

#define CONFIG_FILE_MAX (1u << 18)	/* bytes */
#define CONFIG_SAID_MAX 16		/* sentences about one file */

/* Each overrides those above it. */
enum config_origin {
	CONFIG_BUILT_IN,
	CONFIG_SYSTEM,
	CONFIG_USER,
	CONFIG_ENVIRONMENT,
	CONFIG_OPTION,
	CONFIG_PAGE,		/* :set on a page that is shown */
};

/* Position of a setting; line 0: no file has it. */
struct config_at {
	enum config_origin file;
	unsigned line;
};

#define CONFIG_KEYS PAGE_KEYS_BOUND

struct config_key {
	int code;
	enum page_action action;	/* PAGE_DO_NOTHING: none */
	struct config_at at;
};

struct config_color {
	struct page_style style;
	struct config_at at;
};

struct config {
	struct {
		char *text;		/* NULL: no file has it */
		struct config_at at;
	} value[OPTIONS];
	char *path[CONFIG_USER + 1];	/* of the files that were looked for; NULL */
	struct config_key key[CONFIG_KEYS];
	unsigned keys;
	struct config_color color[PAGE_MARKS];
};

/* The value in effect. */
struct config_value {
	const char *text;	/* NULL: there is none, and no default */
	enum config_origin origin;
	const char *from;	/* the file, or the variable; NULL */
	unsigned line;
};

typedef void (*config_say_cb)(void *arg, const char *sentence);

/*
 * Reads the files that the options name. Bad lines are reported, as safe text,
 * and skipped; a missing file is empty unless it was asked for. -ENOMEM; call
 * config_fini() also then.
 */
int config_load(struct config *, const struct options *, config_say_cb say,
    void *arg);
void config_fini(struct config *);

/* The same for bytes in memory, as if read from path[origin]. */
int config_parse(struct config *, enum config_origin, const char *bytes,
    size_t len, config_say_cb say, void *arg);

/* Sets options, unless the command line or the environment overrides them. */
void config_apply(const struct config *, struct options *);

/* The user's file, which may not exist.  Fails as base_config_path(). */
int config_user_path(const struct config *, char path[PATH_MAX]);

/* The option may stand in a settings file. */
bool config_has(enum option_id);
/* The option of that name, whether or not config_has(); OPTIONS: none. */
unsigned config_find(const char *key);
/* The setting with the nearest name; NULL: none is near. */
const char *config_nearest(const char *key);

/* The value in effect, borrowed from the configuration and the options. */
struct config_value config_value(const struct config *,
    const struct options *, enum option_id);

/* Binds the keys of the files; other keys keep their action. */
void config_bind_keys(const struct config *);
void config_styles(const struct config *, struct page_style out[PAGE_MARKS]);

#define CONFIG_SHOW_TEXT 1280

/* A line of safe text; argument: shown in a comment if there is no value. */
void config_show(char out[CONFIG_SHOW_TEXT], const char *key,
    const char *argument, const struct config_value *);

/*
 * All other bytes stay.  A setting that stands there gets its new value, and
 * keeps its blanks and its comment; another one comes behind the last setting.
 */

/* False: the line would be too long, or a '#' would begin a comment. */
bool config_can_hold(const char *value);

/* Edits the text; config_can_hold() is true.  -ENOMEM: it is unchanged. */
int config_edit(char **bytes, size_t *len, const char *key,
    const char *value);

/*
 * Edits a file for each value that is not NULL. A missing file is created, with
 * its folders; a symbolic link stays. -EINVAL: a line of the file would hide one
 * of the settings; or errors of reading and writing. The file is unchanged then.
 */
int config_save(const char *path, const char *const value[OPTIONS]);

#endif
