/*
 * packet: messages between a node and its reader of files.
 *
 * Vocabulary
 *	packet		a length (u32, of what follows) and its bytes, in the
 *			machine's own order.
 *	request		one file, and some addresses in it.
 *	answer		how the file was found, and the words of each address,
 *			in the order of the request.
 *
 * Neither end trusts the other, for the reader has read hostile files.  The
 * writer clips texts to PACKET_TEXT_MAX bytes; the reader refuses longer ones.
 *
 * Example
 *	packet_put_request(&out, &request);
 *	write(fd, out.byte, out.len);
 *	...
 *	packet_get_answer(bytes, len, &answer);
 *	packet_answer_fini(&answer);
 */
#ifndef SYMBOL_PACKET_H
#define SYMBOL_PACKET_H

#include "symbol.h"

#define PACKET_ADDRESSES_MAX 64
#define PACKET_TEXT_MAX 1024
#define PACKET_PATH_MAX 4096
/* More than 64 times 16 lines of two longest texts. */
#define PACKET_MAX (4u << 20)

struct packet_out {
	uint8_t *byte;
	size_t len, cap;
	bool failed;		/* out of memory, or too long */
};

struct packet_request {
	struct symbol_place place;	/* without its address */
	const char *debug;	/* a fetched debug file; NULL none */
	unsigned n;
	uint64_t address[PACKET_ADDRESSES_MAX];
};

struct packet_answer {
	/* SYMBOL_LINE: the file could be read; else why not. */
	enum symbol_known file;
	bool bare;		/* has no debug information */
	unsigned build_id_len;
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
	unsigned n;		/* 0: the file could not be read */
	struct symbol_words words[PACKET_ADDRESSES_MAX];
};

/* Begin a new packet in `out`; -ENOMEM, -EMSGSIZE. */
int packet_put_request(struct packet_out *, const struct packet_request *);
int packet_put_answer(struct packet_out *, const struct packet_answer *);
void packet_out_fini(struct packet_out *);

/*
 * Take the bytes after the length.  -EBADMSG: nothing to be freed.  The
 * request's texts stay in `bytes`, the answer's are heap.
 */
int packet_get_request(const uint8_t *bytes, size_t len,
    struct packet_request *);
int packet_get_answer(const uint8_t *bytes, size_t len,
    struct packet_answer *);
void packet_answer_fini(struct packet_answer *);

#endif
