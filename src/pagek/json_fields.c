/*
 * --fields: which keys of a row are wanted, by name and with commas between.
 */
#include <stdio.h>
#include <string.h>

#include "../base/base.h"
#include "json.h"

/* The next name of the list into out; what is left, NULL at the end. */
static const char *
next_name(const char *list, char out[JSON_FIELD])
{
	size_t n;

	if (*list == '\0')
		return NULL;
	n = strcspn(list, ",");
	snprintf(out, JSON_FIELD, "%.*s", (int)(n < JSON_FIELD ? n :
	    JSON_FIELD - 1), list);
	return list + n + (list[n] == ',');
}

bool
json_field_wanted(const char *list, const char *key)
{
	char name[JSON_FIELD];

	while ((list = next_name(list, name)) != NULL)
		if (strcmp(name, key) == 0)
			return true;
	return false;
}

size_t
json_fields_take(const char *list, const struct json_column *column, size_t n,
    struct json_column out[JSON_COLUMNS])
{
	char name[JSON_FIELD];
	size_t taken = 0, i;

	while ((list = next_name(list, name)) != NULL)
		for (i = 0; i < n && taken < JSON_COLUMNS; i++)
			if (strcmp(column[i].name, name) == 0)
				out[taken++] = column[i];
	return taken;
}

/* A name that was meant, or all of them. */
static void
tell_known(const char *name, const char *const *known, size_t k, char *why,
    size_t cap)
{
	const char *near = *name != '\0' ? base_nearest(name, known, k) : NULL;
	size_t len = strlen(why);

	if (near != NULL) {
		base_append(why, cap, &len, ": did you mean '%s'?", near);
		return;
	}
	for (size_t i = 0; i < k; i++)
		base_append(why, cap, &len, "%s%s", i == 0 ? "; there are " :
		    i + 1 < k ? ", " : " and ", known[i]);
}

bool
json_fields_good(const char *list, const struct json_column *column, size_t n,
    const char *more, char *why, size_t cap)
{
	const char *known[JSON_COLUMNS + 1], *rest;
	char name[JSON_FIELD], safe[JSON_FIELD * 4];
	size_t k = 0, i;

	for (i = 0; i < n; i++)
		known[k++] = column[i].name;
	if (more != NULL)
		known[k++] = more;
	if (*list == '\0') {
		snprintf(why, cap, "--fields= names none");
		tell_known("", known, k, why, cap);
		return false;
	}
	for (; (rest = next_name(list, name)) != NULL; list = rest) {
		for (i = 0; i < k && strcmp(known[i], name) != 0; i++)
			;
		base_safe_text(safe, sizeof safe, name, strlen(name), false);
		if (i == k) {
			snprintf(why, cap, "--fields: no field '%s'", safe);
			tell_known(name, known, k, why, cap);
			return false;
		}
		if (json_field_wanted(rest, name)) {
			snprintf(why, cap, "--fields: '%s' is named twice",
			    safe);
			return false;
		}
	}
	return true;
}
