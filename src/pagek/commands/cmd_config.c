#include <string.h>

#include "../../base/base.h"
#include "../cli/cli.h"
#include "../cli/config.h"
#include "../picture/picture.h"

static void
put_setting(FILE *out, const char *key, const char *argument,
    const struct config_value *v)
{
	char text[CONFIG_SHOW_TEXT];

	config_show(text, key, argument, v);
	fprintf(out, "%s\n", text);
}

static void
put_line(FILE *out, const struct config *c, const char *key,
    const char *text, struct config_at at)
{
	struct config_value v = { .text = text, .origin = at.file,
	    .from = c->path[at.file], .line = at.line };

	put_setting(out, key, NULL, &v);
}

static void
put_keys(FILE *out, const struct config *c)
{
	char word[PAGE_ACTION_WORD], name[16];
	enum page_action action;
	unsigned i;
	size_t k;

	if (c->keys > 0)
		fprintf(out, "\n[keys]\n");
	for (i = 0; i < c->keys; i++) {
		for (k = 0; page_action_word(k, &action, word); k++)
			if (action == c->key[i].action)
				break;
		/* '#' would begin a comment. */
		page_key_name(c->key[i].code, name);
		put_line(out, c, strcmp(name, "#") == 0 ? "U+0023" : name,
		    c->key[i].action == PAGE_DO_NOTHING ? "none" : word,
		    c->key[i].at);
	}
}

static void
put_colors(FILE *out, const struct config *c)
{
	char text[PAGE_STYLE_TEXT];
	bool headed = false;
	unsigned i;

	for (i = 0; i < PAGE_MARKS; i++) {
		if (c->color[i].at.line == 0)
			continue;
		if (!headed)
			fprintf(out, "\n[colors]\n");
		headed = true;
		page_style_text(c->color[i].style, text);
		put_line(out, c, page_mark_word((enum page_mark)i), text,
		    c->color[i].at);
	}
}

int
cmd_config_check(struct parse *p)
{
	if (!option_given(p->o, OPTION_SHOW))
		return option_fail(p, "'pagek config' needs --show; settings "
		    "are changed in the file");
	return 0;
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
		v = config_value(o->config.values, o, id);
		put_setting(stdout, option_name(id),
		    option_argument(id), &v);
	}
	put_keys(stdout, o->config.values);
	put_colors(stdout, o->config.values);
	return output_close(stdout, NULL, PAGEK_OK);
}
