/*
 * pagek config --show: every setting and its origin, in the form of the file.
 */
#include <string.h>

#include "../base/base.h"
#include "commands.h"
#include "config.h"
#include "options_table.h"

#define SETTING_COLUMNS 32

static void
put_origin(FILE *out, const struct config_value *v)
{
	static const char *const words[] = {
		[CONFIG_BUILT_IN] = "built-in",
		[CONFIG_SYSTEM] = "system file",
		[CONFIG_USER] = "user file",
		[CONFIG_ENVIRONMENT] = "environment",
		[CONFIG_OPTION] = "option",
	};
	char from[512];

	fprintf(out, "# %s", words[v->origin]);
	if (v->from != NULL) {
		base_safe_text(from, sizeof from, v->from, strlen(v->from),
		    false);
		fprintf(out, " %s", from);
	}
	if (v->line > 0)
		fprintf(out, ":%u", v->line);
	fputc('\n', out);
}

static void
put_setting(FILE *out, const char *key, const char *argument,
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
	fprintf(out, "%-*s ", SETTING_COLUMNS, left);
	put_origin(out, v);
}

int
cmd_config(const struct options *o, uv_loop_t *loop)
{
	struct config_value v;
	unsigned id;

	(void)loop;
	for (id = 0; id < OPTIONS; id++) {
		if (!config_has(id))
			continue;
		v = config_value(o->config, o, id);
		put_setting(stdout, option_rows[id].name,
		    option_rows[id].argument, &v);
	}
	return output_close(stdout, NULL, PAGEK_OK);
}
