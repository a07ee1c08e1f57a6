/*
 * Where text goes, and what is said when it cannot.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../base/base.h"
#include "commands.h"

void
complain(const char *fmt, ...)
{
	char line[1024], safe[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	base_safe_text(safe, sizeof safe, line, strlen(line), false);
	fprintf(stderr, "pagek: %s\n", safe);
}

FILE *
output_open(const char *path)
{
	FILE *out;

	if (path == NULL || strcmp(path, "-") == 0)
		return stdout;
	out = fopen(path, "we");
	if (out == NULL)
		complain("cannot write '%s': %s", path, strerror(errno));
	return out;
}

int
output_close(FILE *out, const char *path, int status)
{
	bool failed = ferror(out) != 0;
	int why = EIO;

	errno = 0;
	if (fflush(out) != 0) {
		failed = true;
		why = errno;
	} else if (failed && errno != 0) {
		why = errno;
	}
	if (out != stdout && out != stderr && fclose(out) != 0 && !failed) {
		failed = true;
		why = errno;
	}
	if (!failed || why == EPIPE)
		return failed ? PAGEK_OK : status;
	complain("cannot write '%s': %s", path != NULL ? path : "-",
	    strerror(why));
	return PAGEK_FAILED;
}
