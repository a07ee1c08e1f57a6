/*
 * places: where nodes are, and what they are called.
 *
 * Vocabulary
 *	node	a process (pageknode) that serves data streams; it has a
 *		16-bit number, a name and an address.
 *	folder	of a user's sockets: each node has one for pages, and one for
 *		targets beside it.
 *	table	the nodes that have a number and a name here, and where they
 *		are: see nodes(5).
 *	word	how a person names a place or a target: "unix:/run/x",
 *		"ssh:anna@linac-b", "pid:4711".
 *
 * Both the page and the node stand on this room.
 *
 * Example: all nodes of this user, newest first
 *	char **paths;
 *	size_t n;
 *	nodes_find(&paths, &n);
 *	...
 *	free(paths);
 */
#ifndef NODES_PLACES_H
#define NODES_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- sockets and programs ------------------------------------------------ */

/* Names of sockets in nodes_folder(). */
#define DAEMON_SYSTEM_FOLDER "/run/pagek"
#define DAEMON_SOCKET "node"		/* pages' socket of a daemon */
#define DAEMON_HELLO ".hello"		/* behind a node's path: its targets' socket */
#define RUN_SOCKET "run"		/* with a pid: node with its command's targets */
#define RUN_SOCKET_ALONE "cmd"		/* likewise, whose command's targets another has */

/*
 * The folder of this user's nodes ($XDG_RUNTIME_DIR/pagek, else
 * /tmp/pagek-UID), made if need be with mode 0700; -EPERM when its owner or
 * mode is not ours.
 */
int nodes_folder(char *path, size_t cap);

/*
 * Sockets of the nodes in that folder that answer, newest first, and then the
 * system's if that lets this user in; frees with free().
 */
int nodes_find(char ***paths, size_t *n);

/*
 * The program of ours with that name: beside the running one or in the folder
 * above, else where it was installed.  -ENOENT and its like.
 */
int nodes_program(const char *name, char *path, size_t cap);

/* --- the table ------------------------------------------------------------ */

#define NODES_NAME_MAX 63
#define NODES_TABLE_MAX 4096	/* entries */

enum nodes_at {
	NODES_AT_LOCAL,		/* this user's nodes on this machine */
	NODES_AT_UNIX,
	NODES_AT_SSH,
};

/*
 * The port of the protocol that a node speaks with its like: a friendly
 * number's first digit.
 */
enum nodes_port {
	NODES_PORT_NONE = 0,
	NODES_PORT_ACNET = 0xa,
	NODES_PORT_CLASSIC = 0xc,
};

enum nodes_file {
	NODES_FILE_USER,
	NODES_FILE_SYSTEM,
	NODES_FILES
};

struct nodes_entry {
	uint16_t number;		/* not 0 */
	char name[NODES_NAME_MAX + 1];	/* safe text, no digits only, nothing that is a number */
	enum nodes_at at;
	char place[256];		/* path of a socket, or [USER@]HOST; "" */
	char remote[64];		/* of ssh: the path of pageknode there; "" in its PATH */
	enum nodes_port port;
	uint8_t trunk, node;		/* of Acnet */
	uint16_t classic;		/* the Classic port */
	enum nodes_file file;
	unsigned line;
};

struct nodes_table {
	struct nodes_entry *entry;	/* by ascending number; no number and no name twice */
	size_t n;
	char *path[NODES_FILES];	/* of each file that was looked for; NULL */
};

/* A sentence about what was left out of the table, safe text. */
typedef void (*nodes_say_cb)(void *arg, const char *sentence);

/*
 * Reads this user's file, unless `user` is false, and the system's; entries of
 * the first hide those of the second that have their number or name.  Files
 * that are not there are empty ones; what cannot be read is said, unless `say`
 * is NULL, and left out.  -ENOMEM.
 */
int nodes_table_load(struct nodes_table **, bool user, nodes_say_cb say,
    void *arg);
void nodes_table_free(struct nodes_table *);

/* Borrowed; NULL: there is none. */
const struct nodes_entry *nodes_table_number(const struct nodes_table *,
    uint16_t number);
const struct nodes_entry *nodes_table_name(const struct nodes_table *,
    const char *name);
const struct nodes_entry *nodes_table_local(const struct nodes_table *);
/* The one whose name, or whose number in four digits, is nearest to the word. */
const struct nodes_entry *nodes_table_nearest(const struct nodes_table *,
    const char *word);

/* Four hexadecimal digits and nothing else are a number. */
bool nodes_parse_number(const char *text, size_t len, uint16_t *number);

/*
 * Parses "local", "unix:PATH" or "ssh:[USER@]HOST"; *place is the text behind
 * the colon, unchecked. False: it is none of them.
 */
bool nodes_parse_place(const char *word, enum nodes_at *, const char **place);
/* Writes such a word. */
void nodes_entry_where(const struct nodes_entry *, char *out, size_t cap);

/* Parses the digits of a process id, which is not 0. */
bool nodes_parse_pid(const char *text, pid_t *);
/*
 * Parses a target on a node: "pid:N", or the name of a stream, for which *pid
 * is 0. False: neither.
 */
bool nodes_parse_target(const char *word, pid_t *pid);
/* Writes such a word; NULL if pid is 0 and stream is "". */
#define NODES_PID_WORD 24
const char *nodes_target_word(pid_t, const char *stream,
    char word[NODES_PID_WORD]);

/* AB86 for trunk 11, node 134; 0 where the entry has neither port. */
uint16_t nodes_entry_friendly(const struct nodes_entry *);

/* --- the command line of ssh ---------------------------------------------- */

#define SSH_WORD_MAX 256	/* of a host's name, with its NUL */
#define SSH_PROGRAM_MAX 64	/* of a path at the other end, likewise */

/* The node of another machine. */
struct nodes_ssh {
	const char *host;		/* [USER@]HOST, as ssh takes it */
	const char *program;		/* pageknode at the other end; NULL: in its PATH */
	const char *target;		/* pid:N or a stream: of several nodes there, the one that has it; NULL */
	/*
	 * ssh has the terminal to itself, for passwords and keys of hosts, until
	 * the node has welcomed this page; never later.
	 */
	bool may_ask;
};

/* NULL, or the sentence why no ssh is started with such words. */
const char *nodes_ssh_check(const struct nodes_ssh *);

/*
 * One word for the other end's shell, whichever it is (words.c).  A leading ~/ is
 * left for it to expand; of the rest what is not plain stands between quotes.
 */
void link_ssh_quote(char *out, size_t cap, const char *path);

#endif
