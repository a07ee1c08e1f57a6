#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../base/base.h"
#include "access.h"

/* Missing in older headers; other values on sparc and parisc. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define GROUPS_MAX 1024		/* a peer with more is no member */

static const struct {
	const char *word;
	uint32_t role;
} words[] = {
	{ "read", WIRE_ROLE_READ },
	{ "list-put", WIRE_ROLE_LIST_PUT },
	{ "control", WIRE_ROLE_CONTROL },
};

void
access_init(struct access *a, bool system, uint32_t roles)
{
	const struct group *group = system ? getgrnam(ACCESS_GROUP) : NULL;

	*a = (struct access){
		.system = system,
		.owner = geteuid(),
		.group = group != NULL ? group->gr_gid : (gid_t)-1,
		.roles = roles != 0 ? roles : ACCESS_ROLES,
	};
}

/* By its groups when it connected, not by the group file. */
static bool
is_member(int fd, gid_t primary, gid_t group)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof groups;

	if (group == (gid_t)-1)
		return false;
	if (primary == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof groups[0]; i++)
		if (groups[i] == group)
			return true;
	return false;
}

static int
peer_cred(int fd, struct ucred *cred)
{
	socklen_t len = sizeof *cred;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, cred, &len) < 0 ?
	    -errno : 0;
}

uid_t
access_uid(int fd)
{
	struct ucred cred;

	return peer_cred(fd, &cred) == 0 ? cred.uid : (uid_t)-1;
}

int
access_peer(const struct access *a, int fd, struct peer *peer)
{
	struct ucred cred;
	int r = peer_cred(fd, &cred);

	if (r < 0)
		return r;
	if (!a->system && cred.uid != a->owner && cred.uid != 0)
		return -EACCES;
	*peer = (struct peer){
		.uid = cred.uid,
		.pid = cred.pid,
		.member = is_member(fd, cred.gid, a->group),
	};
	return 0;
}

int
access_pidfd(int fd, const struct peer *peer)
{
	int pidfd = -1;
	socklen_t len = sizeof pidfd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	if (errno == ENOPROTOOPT)
		pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
	return pidfd >= 0 ? pidfd : -errno;
}

uint32_t
access_roles(const struct access *a, uint32_t wanted)
{
	return wanted & a->roles;
}

bool
access_reads(const struct access *a, const struct peer *peer, uid_t uid)
{
	return peer->uid == 0 || peer->uid == uid || peer->member ||
	    (!a->system && peer->uid == a->owner);
}

bool
access_controls(const struct access *a, const struct peer *peer, uid_t uid)
{
	return peer->uid == 0 || peer->uid == uid ||
	    (!a->system && peer->uid == a->owner);
}

int
access_parse_roles(const char *list, uint32_t *out)
{
	uint32_t roles = 0;

	for (;;) {
		size_t len = strcspn(list, ","), i;

		for (i = 0; i < BASE_NELEM(words); i++)
			if (strlen(words[i].word) == len &&
			    memcmp(words[i].word, list, len) == 0)
				break;
		if (i == BASE_NELEM(words))
			return -EINVAL;
		roles |= words[i].role;
		if (list[len] == '\0')
			break;
		list += len + 1;
	}
	*out = roles;
	return 0;
}

uint64_t
access_last_turn(const struct access_turns *t, uid_t uid)
{
	for (size_t i = 0; i < ACCESS_TURNS; i++)
		if (t->user[i].last != 0 && t->user[i].uid == uid)
			return t->user[i].last;
	return 0;
}

void
access_take_turn(struct access_turns *t, uid_t uid)
{
	size_t at = 0;

	for (size_t i = 0; i < ACCESS_TURNS; i++) {
		if (t->user[i].last != 0 && t->user[i].uid == uid) {
			at = i;
			break;
		}
		if (t->user[i].last < t->user[at].last)
			at = i;
	}
	t->user[at].uid = uid;
	t->user[at].last = ++t->taken;
}
