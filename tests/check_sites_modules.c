/*
 * Modules as the target writes them down: the loader's paths and build ids, and
 * nothing read outside what is there.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "sites_rig.h"

/* --- modules ------------------------------------------------------------- */

/* An object as the loader knows it. */
static struct cfi_object
object_of(void *addr)
{
	struct dl_find_object found;

	ck_assert_int_eq(_dl_find_object(addr, &found), 0);
	return (struct cfi_object){
		.start = (uintptr_t)found.dlfo_map_start,
		.end = (uintptr_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map->l_addr,
		.map = found.dlfo_link_map,
	};
}

/* The oracle: the build id as libc's own list has it. */
struct wanted_id {
	uintptr_t bias;
	uint8_t id[64];
	size_t len;
};

static int
look_for_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted_id *w = arg;

	(void)size;
	if (info->dlpi_addr != w->bias)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr +
		    ph->p_vaddr);

		if (ph->p_type != PT_NOTE || ph->p_align != 4)
			continue;
		for (size_t off = 0; off + 16 < ph->p_memsz;) {
			uint32_t h[3];

			memcpy(h, at + off, sizeof(h));
			if (h[2] == NT_GNU_BUILD_ID && h[0] == 4) {
				w->len = h[1];
				memcpy(w->id, at + off + 16, w->len);
				return 1;
			}
			off += 12 + ((h[0] + 3) & ~3u) + ((h[1] + 3) & ~3u);
		}
	}
	return 1;
}

static void
check_loaded(struct ring_area *area, void *addr, unsigned no)
{
	struct cfi_object o = object_of(addr);
	struct wanted_id w = { .bias = o.bias };
	struct ring_module *m = module_of(area, no);

	ck_assert_uint_eq(sites_module(&o), no);
	ck_assert_uint_eq(sites_module(&o), no);
	dl_iterate_phdr(look_for_id, &w);
	ck_assert_uint_eq(atomic_load(&m->valid), 1);
	ck_assert_uint_eq(m->start, o.start);
	ck_assert_uint_eq(m->end, o.end);
	ck_assert_uint_eq(m->bias, o.bias);
	ck_assert_str_eq(m->path, o.map->l_name);
	ck_assert_uint_gt(w.len, 0);
	ck_assert_uint_eq(m->build_id_len, w.len);
	ck_assert_mem_eq(m->build_id, w.id, w.len);
}

CASE("modules");

TEST(loaded_objects_have_the_loaders_path_and_build_id)
{
	struct ring_area *area = area_joined();

	check_loaded(area, (void *)(uintptr_t)&area_map, 1);
	ck_assert_str_eq(module_of(area, 1)->path, "");
	check_loaded(area, dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), 2);
	ck_assert_ptr_nonnull(strstr(module_of(area, 2)->path, "libc.so"));
}

/*
 * An object made by hand: one page, inaccessible memory before and behind, and
 * notes that end where the page does.
 */
struct fake {
	uint8_t *page;
	struct link_map map;
	struct cfi_object o;
};

#define FAKE_NOTE 4036	/* with 60 bytes of notes */

static void
fake_init(struct fake *f, char *path, uint8_t id)
{
	ElfW(Ehdr) eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3 },
		.e_phoff = sizeof(eh),
		.e_phentsize = sizeof(ElfW(Phdr)),
		.e_phnum = 2,
	};
	const ElfW(Phdr) ph[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 4096,
		    .p_memsz = 4096 },
		{ .p_type = PT_NOTE, .p_vaddr = FAKE_NOTE, .p_filesz = 60,
		    .p_memsz = 60, .p_align = 4 },
	};
	const uint32_t note[] = { 4, 8, 1, 0x554e47, 0, 0, 4, 20,
		NT_GNU_BUILD_ID, 0x554e47 };
	uint8_t *p = mmap(NULL, 3 * 4096, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(p != MAP_FAILED);
	memset(f, 0, sizeof(*f));
	f->page = p + 4096;
	ck_assert_int_eq(mprotect(f->page, 4096, PROT_READ | PROT_WRITE), 0);
	memcpy(f->page, &eh, sizeof(eh));
	memcpy(f->page + sizeof(eh), ph, sizeof(ph));
	memcpy(f->page + FAKE_NOTE, note, sizeof(note));
	memset(f->page + FAKE_NOTE + sizeof(note), id, 20);
	f->map.l_name = path;
	f->o.start = f->o.bias = (uintptr_t)f->page;
	f->o.end = f->o.start + 4096;
	f->o.map = &f->map;
}

static void
fake_fini(struct fake *f)
{
	munmap(f->page - 4096, 3 * 4096);
}

TEST(another_object_in_the_same_place_is_another_module)
{
	struct ring_area *area = area_joined();
	char path[] = "/a.so", other[] = "/b.so";
	struct fake f;
	unsigned no;

	fake_init(&f, path, 0x11);
	no = sites_module(&f.o);
	ck_assert_uint_eq(no, 1);
	ck_assert_uint_eq(module_of(area, no)->build_id_len, 20);
	ck_assert_uint_eq(module_of(area, no)->build_id[19], 0x11);
	/* Same link_map, same place: only what is there has changed. */
	f.page[4095] = 0x22;
	ck_assert_uint_eq(sites_module(&f.o), 2);
	f.page[4095] = 0x11;
	ck_assert_uint_eq(sites_module(&f.o), 1);
	f.map.l_name = other;
	ck_assert_uint_eq(sites_module(&f.o), 3);
	f.o.end -= 16;
	ck_assert_uint_eq(sites_module(&f.o), 4);
	f.o.bias -= 16;
	ck_assert_uint_eq(sites_module(&f.o), 5);
	fake_fini(&f);
}

/* By their build ids, or by their paths: each has a number, however many. */
LOOP_TEST(hundreds_of_plugins_in_one_place_are_modules_each, 0, 2)
{
	char path[] = "/a000.so";
	struct fake f;

	area_joined();
	fake_init(&f, path, 0);
	for (unsigned n = 1; n < RING_MODULES; n++) {
		unsigned differs = n / (_i == 0 ? 1 : 10);

		f.page[4094] = (uint8_t)(_i == 0 ? n >> 8 : 0);
		f.page[4095] = (uint8_t)(_i == 0 ? n : n % 10);
		path[2] = (char)('0' + (_i == 0 ? 0 : differs / 100));
		path[3] = (char)('0' + (_i == 0 ? 0 : differs / 10 % 10));
		path[4] = (char)('0' + (_i == 0 ? 0 : differs % 10));
		ck_assert_uint_eq(sites_module(&f.o), n);
		ck_assert_uint_eq(sites_module(&f.o), n);
	}
	fake_fini(&f);
}

TEST(a_long_path_is_cut_and_known_again)
{
	struct ring_area *area = area_joined();
	char path[2 * RING_PATH];
	struct fake f;

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	fake_init(&f, path, 1);
	ck_assert_uint_eq(sites_module(&f.o), 1);
	ck_assert_uint_eq(sites_module(&f.o), 1);
	ck_assert_ptr_null(memchr(module_of(area, 1)->path, '\0', RING_PATH));
	fake_fini(&f);
}

TEST(an_object_without_link_map_or_area_is_not_known)
{
	char path[] = "/a.so";
	struct fake f;

	fake_init(&f, path, 1);
	ck_assert_uint_eq(sites_module(&f.o), 0);
	area_joined();
	f.o.map = NULL;
	ck_assert_uint_eq(sites_module(&f.o), 0);
	fake_fini(&f);
}

TEST(more_modules_than_numbers_are_not_known)
{
	char path[] = "/a.so";
	struct fake f;

	area_joined();
	fake_init(&f, path, 1);
	for (unsigned n = 1; n < RING_MODULES; n++) {
		f.o.end = f.o.start + 4096 + n;
		ck_assert_uint_eq(sites_module(&f.o), n);
	}
	f.o.end++;
	ck_assert_uint_eq(sites_module(&f.o), 0);
	f.o.end--;
	ck_assert_uint_eq(sites_module(&f.o), RING_MODULES - 1);
	fake_fini(&f);
}

LOOP_TEST(a_build_id_that_is_too_long_is_none, 0, 2)
{
	struct ring_area *area = area_joined();
	char path[] = "/a.so";
	struct fake f;
	uint32_t *note;
	ElfW(Phdr) *ph;

	fake_init(&f, path, 1);
	ph = (ElfW(Phdr) *)(void *)(f.page + sizeof(ElfW(Ehdr)));
	ph[1].p_vaddr = 3072;
	ph[1].p_filesz = ph[1].p_memsz = 64;
	note = (uint32_t *)(void *)(f.page + 3072);
	note[0] = 4;
	note[1] = 32 + (uint32_t)_i;
	note[2] = NT_GNU_BUILD_ID;
	note[3] = 0x554e47;
	ck_assert_uint_eq(sites_module(&f.o), 1);
	ck_assert_uint_eq(module_of(area, 1)->build_id_len, _i == 0 ? 32 : 0);
	ck_assert_str_eq(module_of(area, 1)->path, path);
	fake_fini(&f);
}

LOOP_TEST(segments_outside_the_object_are_not_read, 0, 6)
{
	static const uint64_t where[] = { 4096, 8192, 4096 - 16,
		(uint64_t)-4096, (uint64_t)-16, UINT64_C(1) << 40 };
	char path[] = "/a.so";
	struct fake f;
	ElfW(Phdr) *ph;

	area_joined();
	fake_init(&f, path, 1);
	ph = (ElfW(Phdr) *)(void *)(f.page + sizeof(ElfW(Ehdr)));
	ph[0].p_vaddr = where[_i] & ~UINT64_C(4095);
	ph[0].p_filesz = ph[0].p_memsz = UINT64_C(1) << 41;
	ph[1].p_vaddr = where[_i];
	ck_assert_uint_eq(sites_module(&f.o), 1);
	fake_fini(&f);
}

/* Values that a length or an offset is wrong with. */
static const uint64_t wrong[] = {
	0, 1, 3, 4, 5, 19, 21, 33, 63, 65, 4080, 4095, 4096, 4097, 65535,
	UINT32_MAX - 3, UINT32_MAX, INT64_MAX, UINT64_MAX - 4095,
	UINT64_MAX - 15, UINT64_MAX,
};

LOOP_TEST(damaged_headers_and_notes_are_not_followed, 0,
    (int)(sizeof(wrong) / sizeof(wrong[0])))
{
	char path[] = "/damaged.so";

	/* Every word of the headers and of the notes, with every value. */
	for (unsigned at = 0; at < 4096; at += 4) {
		if (at >= sizeof(ElfW(Ehdr)) + 2 * sizeof(ElfW(Phdr)) &&
		    at < FAKE_NOTE)
			continue;
		for (unsigned size = 2; size <= 8; size *= 2) {
			struct ring_area *area;
			struct fake f;

			if (at + size > 4096)
				continue;
			area = area_joined();
			fake_init(&f, path, 1);
			memcpy(f.page + at, &wrong[_i], size);
			ck_assert_uint_eq(sites_module(&f.o), 1);
			ck_assert_uint_le(module_of(area, 1)->build_id_len,
			    sizeof(module_of(area, 1)->build_id));
			sites_detach();
			munmap(area, ring_area_size());
			fake_fini(&f);
		}
	}
}
