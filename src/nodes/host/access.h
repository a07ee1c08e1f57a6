/*
 * access: the peer of a socket, and what it may do.
 *
 * A node is a user's, or the system's.  A user's node serves that user and
 * root; whoever else got past the socket's mode is turned away.  A system's
 * node serves everybody whom its socket lets in, each with the streams of its
 * own processes; root and the members of the group `pagek` read all streams.
 * To end a target or to arm it is for its own user and for root.  Above that
 * nobody is granted more than the node's roles.
 */
#ifndef NODES_HOST_ACCESS_H
#define NODES_HOST_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../stream/wire/wire.h"

#define ACCESS_GROUP "pagek"
#define ACCESS_ROLES (WIRE_ROLE_READ | WIRE_ROLE_LIST_PUT | WIRE_ROLE_CONTROL)

struct access {
	bool system;
	uid_t owner;			/* whom the node runs as */
	gid_t group;			/* of the system's node; (gid_t)-1: there is none */
	uint32_t roles;			/* the most that is granted */
};

/* The process at the other end, as the kernel says. */
struct peer {
	uid_t uid;
	pid_t pid;
	bool member;			/* of the node's group */
};

/* roles 0: all. */
void access_init(struct access *, bool system, uint32_t roles);

/* The user at the other end; (uid_t)-1 when unknown. */
uid_t access_uid(int fd);

/* -EACCES for one that has no business here; or why it cannot be known. */
int access_peer(const struct access *, int fd, struct peer *);

/*
 * A descriptor of that process, for the caller to close; -errno.  Where the kernel
 * (Linux 6.5) says itself who connected, the number cannot be another's by now.
 */
int access_pidfd(int fd, const struct peer *);

/* Returns the wanted roles that are granted. */
uint32_t access_roles(const struct access *, uint32_t wanted);

/* May it see the stream of a process of `uid`; may it end or arm it? */
bool access_reads(const struct access *, const struct peer *, uid_t uid);
bool access_controls(const struct access *, const struct peer *, uid_t uid);

/* Words for roles, as "read,control"; -EINVAL for a word that is none. */
int access_parse_roles(const char *words, uint32_t *roles);

#endif
