/* Settings of src/mdd/target for this firmware; the Makefile may change them. */
#ifndef MDD_PORT_TICKS
#define MDD_PORT_TICKS 1
#endif
#ifndef MDD_PORT_THREADS
#define MDD_PORT_THREADS 1
#endif
#ifndef MDD_DEBUGDATA
#define MDD_DEBUGDATA 1
#endif
#ifndef MDD_HISTORY
#define MDD_HISTORY 1
#endif
#define MDD_HISTORY_RECORDS 64
