/*
 * access: the peer of a socket and its permissions.
 *
 * A user's node serves that user and root. The system's node serves every user
 * who can connect: each reads the streams of his own processes; root and
 * members of the group `pagek` read all. Only a target's user and root may end
 * or arm it. Roles are limited to the node's.
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
	uid_t owner;			/* user of the node */
	gid_t group;			/* of the system's node; (gid_t)-1: none */
	uint32_t roles;			/* limit */
};

/* The process at the other end, by the kernel. */
struct peer {
	uid_t uid;
	pid_t pid;
	bool member;			/* of the group */
};

/* roles 0: all. */
void access_init(struct access *, bool system, uint32_t roles);

/* The user at the other end; (uid_t)-1 when unknown. */
uid_t access_uid(int fd);

/* -EACCES if it may not connect, or another error. */
int access_peer(const struct access *, int fd, struct peer *);

/* A pidfd of the peer, owned by the caller. Before Linux 6.5 its pid may be reused. */
int access_pidfd(int fd, const struct peer *);

/* Returns the wanted roles that are granted. */
uint32_t access_roles(const struct access *, uint32_t wanted);

/* True if it may read the stream of a process of `uid`; if it may end or arm it. */
bool access_reads(const struct access *, const struct peer *, uid_t uid);
bool access_controls(const struct access *, const struct peer *, uid_t uid);

/* Parses "read,control"; -EINVAL for an unknown role. */
int access_parse_roles(const char *words, uint32_t *roles);

/*
 * Users take turns, however much each of them asks for: the user whose last
 * turn is longest ago is next.  If there are more than ACCESS_TURNS users, that
 * user's turn is forgotten, and the user is still next.  One thread.
 */
#define ACCESS_TURNS 64

struct access_turns {
	uint64_t taken;			/* by all users, ever */
	struct {
		uid_t uid;
		uint64_t last;		/* number of its last turn; 0: no user */
	} user[ACCESS_TURNS];
};

/*
 * The number of the user's last turn, 0: none.  The user with the lowest is
 * next.
 */
uint64_t access_last_turn(const struct access_turns *, uid_t);
void access_take_turn(struct access_turns *, uid_t);

#endif
