/* Settings of the core for Linux: libmdd.a and liballoclog.  MDD_CONFIG names it. */
#define MDD_DEBUGDATA 1
#define MDD_PORT_TICKS 1
#define MDD_PORT_THREADS 1
#define MDD_PORT_STACK 1
#define MDD_SHARDS 64
/* A debugger finds them in a stripped library too. */
#define MDD_PUBLIC __attribute__((visibility("protected")))
