/*
 * places: where nodes are, and their names.
 *
 * Vocabulary
 *	node	a process (pageknode) that serves data streams; it has a
 *		16-bit number, a name and an address.
 *	folder	of a user's sockets: one of each node for pages, and one for
 *		targets.
 *	table	nodes with number, name and place: see nodes(5).
 *	word	text for a place or a target: "unix:/run/x", "ssh:anna@linac-b",
 *		"pid:4711".
 *
 *	folder.c	sockets and programs
 *	watcher.c	nodes of other users
 *	table.h		the table's files
 *	words.c		words, and ssh's command line
 *	friendly.h	friendly numbers of nodes
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

/* Names of sockets in nodes_folder(). */
#define DAEMON_SYSTEM_FOLDER "/run/pagek"
#define DAEMON_SOCKET "node"		/* pages' socket of a daemon */
#define DAEMON_HELLO ".hello"		/* suffix: its targets' socket */
#define RUN_SOCKET "run"		/* with a pid: node of a command and its targets */
#define RUN_SOCKET_ALONE "cmd"		/* with a pid: node of a command without its targets */

/*
 * The folder of this user's nodes, $XDG_RUNTIME_DIR/pagek or else /tmp/pagek-
 * UID; made with mode 0700 if missing. -EPERM if it has another owner or mode.
 */
int nodes_folder(char *path, size_t cap);

/*
 * Makes DAEMON_SYSTEM_FOLDER with mode 0755 if it is missing: all users' programs find
 * the system's node there.  -EPERM if it is neither root's nor ours, or others may write.
 */
int nodes_system_folder(void);

/*
 * Sockets of the nodes that answer: those in the folder, newest first, then the
 * system's if this user may connect. Free with one free().
 */
int nodes_find(char ***paths, size_t *n);

/* True for the name of a node's socket for pages. */
bool nodes_is_socket_name(const char *name);

/* A node that nodes_find() does not reach, and that watches a process. */
struct nodes_watcher {
	bool sure;		/* false: only the process's user may see who watches it */
	uid_t uid;		/* user of the node, or if not sure of the process */
	pid_t node;		/* the node's process; 0: unknown */
	char socket[108];	/* for pages; "": unknown */
};

/* Finds it by /proc. False: nobody watches the process, as far as can be seen. */
bool nodes_watcher(pid_t, struct nodes_watcher *);

/*
 * Path of a program of ours: beside the running one, in the folder above, or
 * where it is installed. Negative errno such as -ENOENT.
 */
int nodes_program(const char *name, char *path, size_t cap);

#define NODES_NAME_MAX 63
#define NODES_TABLE_MAX 4096	/* entries */

enum nodes_at {
	NODES_AT_LOCAL,		/* this user's nodes on this machine */
	NODES_AT_UNIX,
	NODES_AT_SSH,
};

/* Protocol between nodes: first digit of the friendly number. */
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
	char remote[64];		/* ssh: path of pageknode there; "" in its PATH */
	enum nodes_port port;
	uint8_t trunk, node;		/* of Acnet */
	uint16_t classic;		/* the Classic port */
	enum nodes_file file;
	unsigned line;
};

struct nodes_table {
	struct nodes_entry *entry;	/* by ascending number; no number and no name twice */
	size_t n;
	char *path[NODES_FILES];	/* of each file; NULL if not wanted */
};

/* Reports a mistake in the table; safe text. */
typedef void (*nodes_say_cb)(void *arg, const char *sentence);

/*
 * Reads the system's file and, if `user`, this user's, whose entries hide
 * others with the same number or name. Missing files are empty; lines that
 * cannot be read are skipped and reported to `say` unless NULL. -ENOMEM.
 */
int nodes_table_load(struct nodes_table **, bool user, nodes_say_cb say,
    void *arg);
void nodes_table_free(struct nodes_table *);

/* Borrowed; NULL: none. */
const struct nodes_entry *nodes_table_number(const struct nodes_table *,
    uint16_t number);
const struct nodes_entry *nodes_table_name(const struct nodes_table *,
    const char *name);
const struct nodes_entry *nodes_table_local(const struct nodes_table *);
/* The entry whose name, or number in four digits, is nearest to the word. */
const struct nodes_entry *nodes_table_nearest(const struct nodes_table *,
    const char *word);

/* Parses four hexadecimal digits. */
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

/* ", for a process write pid:N" if the name is a number; else "". */
#define NODES_PID_HINT 64
const char *nodes_pid_hint(const char *name, char hint[NODES_PID_HINT]);

/* AB86 for trunk 11, node 134; 0 without a port. */
uint16_t nodes_entry_friendly(const struct nodes_entry *);

#define SSH_WORD_MAX 256	/* bytes of a host, with its NUL */
#define SSH_PROGRAM_MAX 64	/* bytes of a remote path, with its NUL */

/* The node of another machine. */
struct nodes_ssh {
	const char *host;		/* [USER@]HOST, as ssh takes it */
	const char *program;		/* remote pageknode; NULL: in its PATH */
	const char *target;		/* pid:N or a stream, to choose among several nodes; NULL */
	bool may_ask;			/* ssh may ask on the terminal until WELCOME */
};

/* NULL, or the reason why ssh is not started with these words. */
const char *nodes_ssh_check(const struct nodes_ssh *);

/* Quotes a path for any remote shell; a leading ~/ is left for it to expand. */
void nodes_ssh_quote(char *out, size_t cap, const char *path);

#endif
