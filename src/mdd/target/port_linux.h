/* Settings of libmdd.a: the core for Linux programs.  MDD_CONFIG names it. */
#define MDD_DEBUGDATA 1
#define MDD_PORT_TICKS 1
#define MDD_PORT_THREADS 1
#define MDD_PORT_STACK 1
#define MDD_SHARDS 64
