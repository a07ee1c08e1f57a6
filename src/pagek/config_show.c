/* See config_show.h. */
#include <string.h>

#include "../base/base.h"
#include "config_show.h"

#define SETTING_COLUMNS 32

static void
put_origin(char *out, size_t *len, const struct config_value *v)
{
	static const char *const words[] = {
		[CONFIG_BUILT_IN] = "built-in",
		[CONFIG_SYSTEM] = "system file",
		[CONFIG_USER] = "user file",
		[CONFIG_ENVIRONMENT] = "environment",
		[CONFIG_OPTION] = "option",
		[CONFIG_PAGE] = "set on this page",
	};
	char from[512];

	base_append(out, CONFIG_SHOW_TEXT, len, "# %s", words[v->origin]);
	if (v->from != NULL) {
		base_safe_text(from, sizeof from, v->from, strlen(v->from),
		    false);
		base_append(out, CONFIG_SHOW_TEXT, len, " %s", from);
	}
	if (v->line > 0)
		base_append(out, CONFIG_SHOW_TEXT, len, ":%u", v->line);
}

void
config_show(char out[CONFIG_SHOW_TEXT], const char *key, const char *argument,
    const struct config_value *v)
{
	char left[512], text[256] = "";
	size_t len = 0;

	if (v->text != NULL)
		base_safe_text(text, sizeof text, v->text, strlen(v->text),
		    false);
	/* Where nothing holds the line is none of the file's. */
	base_append(left, sizeof left, &len, "%s%s = %s",
	    v->text == NULL ? "# " : "", key,
	    v->text == NULL ? argument : text);
	len = 0;
	base_append(out, CONFIG_SHOW_TEXT, &len, "%-*s ", SETTING_COLUMNS,
	    left);
	put_origin(out, &len, v);
}
