/*
 * The page in which children of targets leave a word if they cannot say hello;
 * see struct ring_unseen in stream/ring.h.  Targets write its content: only
 * counts and rows depend on it, and these may be wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../keeper/node.h"
#include "../keeper/takeover_memory.h"
#include "arrivals.h"

#define STORED_UNSEEN FDSTORE_OURS "unseen"

static const char *const whys[RING_UNSEEN_WHYS] = {
	[RING_UNSEEN_NOT] = "it could not register with the node",
	[RING_UNSEEN_DESCRIPTORS] =
	    "it had no free descriptor to register with the node",
	[RING_UNSEEN_SOCKET] = "it could not open a socket to the node",
	[RING_UNSEEN_CONNECT] =
	    "it could not connect to the node's socket (another root folder?)",
	[RING_UNSEEN_BUSY] = "the node did not accept its connection within 50 ms",
	[RING_UNSEEN_PEER] = "the node's socket belongs to another user",
	[RING_UNSEEN_MEMORY] = "it had no memory left to register with the node",
	[RING_UNSEEN_SANDBOX] =
	    "it is sandboxed (seccomp): opening a socket might kill it",
	[RING_UNSEEN_USER] =
	    "it runs as another user, who cannot reach the node",
	[RING_UNSEEN_SPACE] =
	    "its address space is limited (RLIMIT_AS): the rings found no room",
	[RING_UNSEEN_FOREIGN] =
	    "it has a malloc of its own, or that of another preloaded library",
	[RING_UNSEEN_PARENT] =
	    "its parent could not register with the node either",
};

const char *
unseen_why(unsigned why)
{
	return whys[why < RING_UNSEEN_WHYS ? why : RING_UNSEEN_NOT];
}

static int
make_page(void)
{
	int fd = memfd_create(RING_UNSEEN_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct ring_unseen)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ==
	    0)
		return fd;
	close(fd);
	return -EIO;
}

void
unseen_open(struct unseen *u, struct node *node)
{
	bool stores = takeover_is_wanted(node);
	int fd = stores ? fdstore_take(&node->store.fds, STORED_UNSEEN) : -1;
	bool made = fd < 0;
	void *page;

	if (made)
		fd = make_page();
	if (fd < 0)
		return;
	page = mmap(NULL, sizeof *u->page, PROT_READ | PROT_WRITE, MAP_SHARED,
	    fd, 0);
	if (page == MAP_FAILED) {
		close(fd);
		return;
	}
	if (made && stores)
		fdstore_put(&node->store.fds, STORED_UNSEEN, fd);
	u->page = page;
	u->fd = fd;
}

void
unseen_close(struct unseen *u)
{
	if (u->page == NULL)
		return;
	munmap(u->page, sizeof *u->page);
	close(u->fd);
	u->page = NULL;
	u->fd = -1;
}

bool
unseen_changed(struct unseen *u)
{
	uint32_t was = u->changes;

	if (u->page == NULL)
		return false;
	u->changes = atomic_load(&u->page->changes);
	u->next = 0;
	return u->changes != was;
}

bool
unseen_take(struct unseen *u, struct unseen_process *out)
{
	uint64_t word;

	while (u->next < RING_UNSEEN_WORDS) {
		word = atomic_exchange(&u->page->word[u->next++], 0);
		if (word == 0)
			continue;
		out->pid = (pid_t)ring_unseen_pid(word);
		out->ppid = (pid_t)ring_unseen_parent(word);
		out->why = unseen_why(ring_unseen_why(word));
		return true;
	}
	return false;
}

const char *
unseen_pair(struct unseen *u)
{
	for (unsigned i = 0; u->page != NULL && i < RING_UNSEEN_WHYS; i++) {
		if (atomic_load(&u->page->counted[i]) <= u->paired[i])
			continue;
		u->paired[i]++;
		return unseen_why(i);
	}
	return NULL;
}

uint64_t
unseen_counted(const struct unseen *u, const char **why)
{
	uint64_t sum = 0, n;

	for (unsigned i = 0; u->page != NULL && i < RING_UNSEEN_WHYS; i++) {
		n = atomic_load(&u->page->counted[i]);
		if (n <= u->paired[i])
			continue;
		sum += n - u->paired[i];
		if (why != NULL)
			*why = unseen_why(i);
	}
	return sum;
}
