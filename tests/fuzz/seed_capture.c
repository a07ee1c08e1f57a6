/*
 * seed_capture FOLDER: writes the stored corpus of fuzz_capture: small captures
 * as they are written, and the same to be sealed anew (the first byte).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/capture/capture.h"

#define EVENTS 700
#define LARGEST 65536

static const struct seed {
	const char *name;
	struct capture_opts opts;
	unsigned parts;
	bool stress;
} seeds[] = {
	{ "empty", { .plain = true }, 0, false },
	{ "plain", { .plain = true }, 1, false },
	{ "packed", { .keep_free = 0 }, 1, false },
	{ "segments", { .plain = true, .segment_bytes = 2000,
	    .checkpoint_events = 300 }, 1, false },
	{ "parts", { .segment_bytes = 2000, .checkpoint_events = 300 }, 3,
	    false },
	{ "stress", { .plain = true }, 0, true },
};

static struct rec
event(unsigned i)
{
	static const unsigned ops[] = { REC_ALLOC, REC_ALLOC, REC_FREE,
		REC_FREE, REC_UNDO, REC_RANGE };
	unsigned op = ops[(i * 7 + i / 5) % 6], api = i % 11 == 0;
	unsigned type = op == REC_FREE && i % 3 == 0 ? TYPE_BY_REALLOC :
	    TYPE_MALLOC;

	return (struct rec){ {
	    rec_w0(0x5000 + i * 5 % 17 * 16, REC_FLAGS(op,
		api || op == REC_RANGE ? REC_LAYER_API : i % 13 == 0 ? 6 : 1),
		type),
	    rec_w1(i * 3 % 50, 1 + i / 100), rec_w2(0, 1000 + i / 20),
	    rec_w3(rec_site_caller(1 + i % 3), i % 2) } };
}

static void
write_part(struct capture_writer *w, const char *comm)
{
	static struct rec all[EVENTS];
	uint64_t frame[2] = { 0x401000, 0x402000 };
	struct blk row = { .addr = 0x5000, .size = 9, .seq = 0,
		.flags = REC_FLAGS(REC_ALLOC, 1) };
	struct blklist_batch_info info = { .at = 3, .info = { .node = 7 } };
	struct blklist_batch b = { .rec = all, .n = EVENTS, .seq = 1,
		.near_ms = 5000, .info = &info, .ninfo = 1 };
	uint32_t no;

	for (unsigned i = 0; i < EVENTS; i++)
		all[i] = event(i);
	if (capture_writer_part(w, &(struct capture_part){ .comm = comm,
	    .first = 1, .ms = 999 }, &no) < 0)
		exit(EXIT_FAILURE);
	capture_writer_blocks(w, no, &row, 1);
	capture_writer_state(w, no, 1, 999, NULL);
	for (uint32_t i = 1; i <= 3; i++)
		capture_writer_site(w, no, i, &(struct stream_site){
		    .frame = frame, .depth = 1 + i % 2, .end = RING_END_DEPTH });
	capture_writer_module(w, no, 1, &(struct stream_module){
	    .start = 0x400000, .end = 0x500000, .path = "/bin/program" });
	capture_writer_thread(w, no, 1, 4711, "main");
	capture_writer_type(w, no, &(struct stream_type){
	    .code = TYPE_API_FIRST, .name = "PV" });
	capture_writer_records(w, no, &b);
	capture_writer_lost(w, no, EVENTS + 1, STREAM_RING_FULL, 9);
	capture_writer_mark(w, no, 5, 1001, "mark");
	capture_writer_clock(w, 1002, 5000000);
	capture_writer_end_part(w, no, 1100, 0, "exited");
}

static void
write_stress(struct capture_writer *w)
{
	for (unsigned i = 0; i < 3; i++)
		capture_writer_stress(w, &(struct capture_stress){
		    .ms = 1000 * i, .kernel = "6.1.0", .why = "because",
		    .sample = { .source = STRESS_VMSTAT, .known = { true },
			.level = { 300 * i }, .pressure_known = true,
			.some_us = i, .full_us = UINT64_MAX } });
}

static void
copy_to(const char *folder, const char *name, int fd, char first)
{
	static char bytes[LARGEST];
	ssize_t n = pread(fd, bytes + 1, sizeof bytes - 1, 0);
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s-%s", folder, name,
	    first == 1 ? "sealed" : "asis");
	f = fopen(path, "w");
	bytes[0] = first;
	if (f == NULL || n < 0 ||
	    fwrite(bytes, 1, (size_t)n + 1, f) != (size_t)n + 1 ||
	    fclose(f) != 0)
		exit(EXIT_FAILURE);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return EXIT_FAILURE;
	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
		struct capture_opts opts = seeds[i].opts;
		char path[] = "/tmp/seed-capture-XXXXXX";
		struct capture_writer *w;
		int fd = mkstemp(path);

		opts.fd = dup(fd);
		if (fd < 0 || capture_writer_new(&w, &opts) < 0)
			return EXIT_FAILURE;
		for (unsigned p = 0; p < seeds[i].parts; p++)
			write_part(w, "program");
		if (seeds[i].stress)
			write_stress(w);
		if (capture_writer_finish(w, "done", 10000, NULL) < 0)
			return EXIT_FAILURE;
		copy_to(argv[1], seeds[i].name, fd, 0);
		copy_to(argv[1], seeds[i].name, fd, 1);
		close(fd);
		unlink(path);
	}
	return EXIT_SUCCESS;
}
