/*
 * group_kinds: what blocks can be grouped by.
 *
 * Vocabulary
 *	kind	a row of the table of kinds, from 1 on in the order in which `b`
 *		goes through them; 0: no groups.
 *	tag	a number that the block itself has, such as its type or thread.
 *		Kinds without a tag group by the stack (profile.h).
 *
 * Example
 *	k = page_group_kind(page_group_kind_called("thread"));
 *	key = profile_tag_key(k->tag(v, now_ms, &b));
 */
#ifndef PAGEK_GROUP_KINDS_H
#define PAGEK_GROUP_KINDS_H

#include "../../profile/profile.h"
#include "../page/calls.h"

struct page_group_words {
	char name[PAGE_NAME_MAX];	/* outside text */
	char where[PAGE_NAME_MAX];	/* outside text; "" unknown */
};

struct page_group_kind {
	const char *word;	/* of `:group` and --group */
	const char *name;	/* in the message of `b` */
	const char *title;	/* of the column of names */
	const char *one;	/* what one group is: "function" */
	enum profile_by by;
	/* The tag at that time of the node's clock; NULL unless PROFILE_TAG. */
	uint64_t (*tag)(const struct page_view *, int64_t now_ms,
	    const struct blk *);
	void (*say)(const struct page *, const struct page_view *,
	    const struct profile_group *, struct page_group_words *);
	bool ages;		/* a block's group changes by time alone */
	bool by_time;		/* the tag depends on when the block was allocated */
};

/* NULL for 0, and for numbers beyond the table. */
const struct page_group_kind *page_group_kind(unsigned kind);
/* 0: no kind has that word. */
unsigned page_group_kind_called(const char *word);
/* Parses "type", or "site>thread" with a second level; "none" is 0.  -EINVAL. */
int page_group_kinds_parse(const char *text, unsigned *kind, unsigned *below);
/* "function, site, ... and born", for messages. */
void page_group_kinds_list(char *out, size_t cap);

/* Appends the place to the name, so that they are cut as one text. */
void page_group_join(struct page_group_words *);
/* The group's name and place as they are shown. */
void page_group_say(const struct page *, const struct page_view *,
    const struct page_group_kind *, const struct profile_group *,
    struct page_group_words *);

#endif
