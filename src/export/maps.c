#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../mdd/dump/dump.h"
#include "export.h"

#define PATH_BYTES (PATH_MAX + 64)

/* The inode at a path of the process; 0: there is no such file. */
static uint64_t
inode_at(pid_t pid, const char *file, char path[PATH_BYTES])
{
	struct stat st;

	snprintf(path, PATH_BYTES, "/proc/%ld/root%s", (long)pid, file);
	return file[0] == '/' && stat(path, &st) == 0 ? st.st_ino : 0;
}

/* The file that is mapped: a newer one at its path has another build id. */
static void
read_build_id(struct export_module *m, const struct maps_line *l, pid_t pid)
{
	char path[PATH_BYTES];
	struct elf_head elf;

	if (l->deleted || l->inode == 0 || inode_at(pid, l->path, path) !=
	    l->inode || elf_head_read(&elf, path) < 0)
		return;
	m->build_id_len = elf.build_id_len;
	memcpy(m->build_id, elf.build_id, elf.build_id_len);
}

/* A module's path may lead through a link, as /lib does. */
static bool
is_module(const struct export_module *m, const struct maps_line *l, pid_t pid)
{
	char path[PATH_BYTES];

	return strcmp(m->path, l->path) == 0 || (l->inode != 0 &&
	    inode_at(pid, m->path, path) == l->inode);
}

static bool
has_frame_in(const struct export_source *s, uint32_t module,
    const struct maps_line *l)
{
	for (size_t i = 0; i < s->frames; i++)
		if (s->frame[i].module == module &&
		    s->frame[i].address > l->start &&
		    s->frame[i].address <= l->end)
			return true;
	return false;
}

static void
take_mapping(struct export_source *s, const struct maps_line *l,
    const char *program, pid_t pid)
{
	for (uint32_t i = 0; i < s->modules; i++) {
		struct export_module *m = &s->module[i];

		if (m->end != 0 || !has_frame_in(s, i, l) ||
		    !is_module(m, l, pid))
			continue;
		m->start = l->start;
		m->end = l->end;
		m->offset = l->offset;
		read_build_id(m, l, pid);
		if (strcmp(l->path, program) == 0)
			s->program = i;
	}
}

void
export_place_modules(struct export_source *s, pid_t pid)
{
	char path[64], program[PATH_MAX] = "", *line = NULL;
	struct maps_line l;
	size_t cap = 0;
	ssize_t n;
	FILE *in;

	snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
	n = readlink(path, program, sizeof program - 1);
	program[n > 0 ? n : 0] = '\0';
	snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
	in = fopen(path, "re");
	if (in == NULL)
		return;
	while ((n = getline(&line, &cap, in)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (maps_parse(line, &l) == 0 && l.executable)
			take_mapping(s, &l, program, pid);
	}
	free(line);
	fclose(in);
}
