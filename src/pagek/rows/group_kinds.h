/*
 * group_kinds: what blocks can be grouped by.
 *
 * Vocabulary
 *	kind	what makes a group: one row of the table of kinds, from 1 on in
 *		the order in which `b` goes through them; 0 is no groups.
 *	tag	a number that all blocks of a group have, where it is the block
 *		itself that says where it belongs: its type, its thread ...
 *		Other kinds group by the caller's stack; mdd.h has those.
 *
 * Example
 *	k = page_group_kind(page_group_kind_called("thread"));
 *	key = profile_tag_key(k->tag(v, now_ms, &b));
 */
#ifndef PAGEK_GROUP_KINDS_H
#define PAGEK_GROUP_KINDS_H

#include "../../mdd/mdd.h"
#include "../page/calls.h"

struct page_group_words {
	char name[PAGE_NAME_MAX];	/* outside text, both */
	char where[PAGE_NAME_MAX];
};

struct page_group_kind {
	const char *word;	/* as `:group` and --group take it */
	const char *name;	/* as `b` says it */
	const char *title;	/* of the column with the names */
	const char *one;	/* "function": what a group of them is */
	enum profile_by by;	/* PROFILE_TAG: by a tag ... */
	/* ... which is this, at that time of the node's clock; NULL for others. */
	uint64_t (*tag)(const struct page_view *, int64_t now_ms,
	    const struct blk *);
	void (*say)(const struct page *, const struct page_view *,
	    const struct profile_group *, struct page_group_words *);
	bool ages;		/* a block's group changes by time alone */
	bool by_time;		/* the tag is of when the block was allocated */
};

/* NULL for 0 and behind the last. */
const struct page_group_kind *page_group_kind(unsigned kind);
/* 0: none is called so. */
unsigned page_group_kind_called(const char *word);
/*
 * "type", or "site>thread" with a second level, into both; "none" is 0.
 * -EINVAL, and nothing is changed.
 */
int page_group_kinds_parse(const char *text, unsigned *kind, unsigned *below);
/* "function, site, ... and born", for messages. */
void page_group_kinds_list(char *out, size_t cap);

/* The place behind the name: what is no function's is cut as one text. */
void page_group_join(struct page_group_words *);
/* The group's name and place, as they are shown. */
void page_group_say(const struct page *, const struct page_view *,
    const struct page_group_kind *, const struct profile_group *,
    struct page_group_words *);

#endif
