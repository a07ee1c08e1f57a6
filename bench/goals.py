"""The goals of the bench, and the reasons of missed ones.

A goal is met or missed by its figure.  A run cannot find out the reason, so the
reason stands here; it is printed only while the goal is missed.
"""
import collections

# what: the row's title.  limit: None: reported only.  unit: as printed.
# least: the figure is to be at least the limit, not at most.
Goal = collections.namedtuple("Goal", "what limit unit least peer", defaults=(False, ""))

GOALS = {
    "lost": Goal("runs of ours that lost a record", 0, ""),
    "churn": Goal("churn, caller only, added per event", 6, "ns"),
    "churn2": Goal("churn2, caller only, added per event", 20, "ns"),
    "grow": Goal("grow, caller only, ratio", 1.18, "x"),
    "larson": Goal("larson, caller only, ratio", 1.5, "x"),
    "jsonm": Goal("jsonm, caller only, wall", 1.10, "x"),
    "redis": Goal("redis, caller only, wall", 1.15, "x"),
    "sqlite": Goal("sqlite, caller only, wall", 1.03, "x"),
    "cc1": Goal("cc1, caller only, wall", 1.05, "x"),
    "stack churn": Goal("churn, stacks of 16 over caller only", 5, "ns"),
    "stack sqlite": Goal("sqlite, stacks of 16 over caller only, user time per event", 10, "ns"),
    "stack redis": Goal("redis, stacks of 16 over caller only, user time per event", 10, "ns"),
    "stack jsonm": Goal("jsonm, stacks of 16 over caller only, user time per event", 30, "ns"),
    "stack cc1": Goal("cc1, stacks of 16 over caller only, user time per event", 50, "ns"),
    "record churn": Goal("churn, recorded with stacks of 16, added per event, over what heaptrack's recording adds", 1, "x"),
    "record jsonm": Goal("jsonm, recorded with stacks of 16, wall", 1.5, "x"),
    "record redis": Goal("redis, recorded with stacks of 16, wall", None, "x"),
    "record bytes": Goal("capture with stacks of 16, bytes per event, the most", 3, "bytes"),
    "record bytes, heaptrack": Goal("heaptrack's file, recording only, bytes per event of the same", None, "bytes"),
    "sampled load": Goal("sampled, loads, added per event, the most", 3, "ns"),
    "sampled program": Goal("sampled, programs, wall, the most", 1.03, "x"),
    "dormant load": Goal("dormant, loads, added per event, the most", 1.5, "ns"),
    "list mix 1000": Goal("block list, mix, 1,000 live", 50, "M events/s", True),
    "list mix 100000": Goal("block list, mix, 100,000 live", 33, "M events/s", True),
    "list mix 1000000": Goal("block list, mix, 1M live", 27, "M events/s", True),
    "list mix 10000000": Goal("block list, mix, 10M live", 16, "M events/s", True),
    "list rand 10000000": Goal("block list, random, 10M live", 8, "M events/s", True),
    "keeper few": Goal("keeper with order and list, few live", 60, "M records/s", True),
    "keeper mix": Goal("keeper with order and list, 1M live", 20, "M records/s", True),
    "keeper range": Goal("keeper, an arena of a million blocks ends by one record", 66.7, "ms"),
    "window address": Goal("window of 50 rows by address, most live", 20, "us"),
    "window age": Goal("window of 50 rows by age, most live", 3, "us"),
    "bytes": Goal("memory per live block, all in", 64, "bytes"),
    "growth keeper": Goal("keeper's longest cycle, 1M events/s, growing to most live", 15, "ms"),
    "growth page": Goal("page's longest cycle, 1M events/s, while growing", 15, "ms"),
    "usage macros": Goal("xalloc and xfree, added per pair", 6, "ns"),
    "usage macros2": Goal("xalloc and xfree, two threads, added per pair", 6, "ns"),
    "usage functions": Goal("usage counted by name, added per pair", 40, "ns"),
    "usage functions2": Goal("usage counted by name, two threads, added per pair", 40, "ns"),
    "usage note": Goal("usage counted by the list of the xmemory note, added per pair", None, "ns"),
    "capture read": Goal("capture, events read on a core", 10, "M events/s", True),
    "capture replay": Goal("capture, events applied to its list on a core", 10, "M events/s", True),
    "capture at": Goal("capture of 100M events, list at a random moment, beyond loading its state, the longest of 21", 500, "ms"),
    "page cpu": Goal("page, 1M live at 1M events/s, of a core", 10, "%"),
    "page bytes": Goal("page, 1M live at 1M events/s, to the terminal", 8, "kB/s"),
    "page echo": Goal("page, 1M live at 1M events/s, from a key to what it writes, the longest of 40", 50, "ms"),
    "page step": Goal("page's longest turn of a step, 1M live at 1M events/s", 66.7, "ms"),
    "socket lost": Goal("page over the socket at 1M events/s, records lost", 0, ""),
    "socket bytes": Goal("page over the socket at 1M events/s, read", 5, "MB/s"),
    "ring": Goal("memory added per allocating thread, 8 threads", 4.5, "MB"),
    "ring idle": Goal("the same of threads that allocate next to nothing", None, "MB"),
    "start": Goal("start of pagek run to the first picture", None, "ms"),
    "exec": Goal("fork and exec of a small program, added", 0.5, "ms"),
    "exec fork": Goal("fork and exec of a small program", 1.3, "x"),
    "exec spawn": Goal("posix_spawn of a small program", 1.3, "x"),
    "exec make": Goal("make -j2 of 30 small C files", 1.15, "x"),
    "exec configure": Goal("a configure script of autoconf's kind", 1.2, "x"),
    "exec node": Goal("the node's processor time for an image of a small program", None, "us"),
    "page median": Goal("page, 8 live blocks, cycle, median", 80, "us"),
    "page p99": Goal("page, 8 live blocks, cycle, 99 of 100", 1000, "us"),
    "stress ebpf": Goal("heap stress by eBPF, added per request of the kernel", 250, "ns"),
    "refcnt refs": Goal("a loop over 10,000 pages, counted by refs at 1 Hz", 1.1, "x"),
    "refcnt guard": Goal("a loop over 1 MiB, counted by guard at 15 Hz", 1.1, "x"),
    "names": Goal("page's longest turn while 10,000 stacks get their names", 66.7, "ms"),
}

MISSES = ("where every free misses the cache, as in grow, each instruction before the real function lets fewer "
          "misses overlap: see the row of 23 instructions that do nothing")

FAR = "the old blocks that it reads are in no cache, so the time depends on how far the memory is"
APART = ("the old blocks that it reads, 7 MB in all, are not in the near caches, so the time depends on how far the "
         "next one is")
NEAR = "all its data is in the caches, so the time depends on the speed of the processor"
RATE = "at this rate of events, the cost of each (see the table of programs) adds up to more than the goal"
COLD = ("the data of a cycle has left the caches when the next cycle comes: 500 cycles a second instead of 15 "
        "(NODES_HZ in nodes.h) take half as long each on an EPYC, and cores that are kept awake change nothing")
RECOGNISED = "recognising a stack takes 101 more instructions for each event (make regress, gcc 12)"
IMAGES = ("a forked child is an image of its own, so there are two; loading the library takes a third of the goal, "
          "and what the node sets up and removes for an image takes more of a core than the program itself: with "
          "two cores, programs that follow each other wait for that")
UNDECIDED = "its rounds lie on both sides of the goal"

REASONS = {
    "lost": "usually a ring was full for longer than a target waits for the keeper",
    "churn": "a malloc or free executes 107 instructions of ours (make regress, gcc 12)",
    "churn2": "with two cores, the keeper takes time from the two threads; tickets without their lock were no faster "
              "on a busy EPYC",
    "grow": "a million frees in random order miss every cache; without pagek the misses overlap, and the "
            "instructions of a record in between let fewer overlap",
    "larson": "half of the frees are of the other thread's blocks, whose tickets are usually in the cache of the "
              "other core; with two cores, the keeper also takes time from the two threads",
    "cc1": RATE,
    "stack churn": RECOGNISED,
    "stack sqlite": RECOGNISED,
    "stack redis": RECOGNISED,
    "stack jsonm": RECOGNISED,
    "stack cc1": "three of four of its stacks differ from the last one at the same place and are partly unwound",
    "jsonm": "while its million blocks are allocated, a record takes the keeper twice as long, because memory is "
             "used for the first time: the ring gets full, and the target sleeps",
    "redis": "server, clients, keeper and page share the cores: with two cores, most of the slowdown is there "
             "without us, next to something that takes as much of a core (see the table of programs)",
    "sqlite": RATE,
    "record churn": "the program makes events faster than they are encoded, and waits for the writer's thread",
    "record jsonm": "the writer's thread takes 70 to 110 ns for an event (build/bench/capturebench), and with two cores "
                    "it shares one with keeper or program",
    "sampled load": MISSES,
    "sampled program": "an event that is not logged executes 18 instructions of ours (make regress, gcc 12); jsonm, "
                       "run by hand with --sample 1T, which samples nothing, was as slow",
    "dormant load": MISSES,
    "list mix 1000": NEAR,
    "list mix 100000": APART,
    "list mix 1000000": FAR,
    "list mix 10000000": FAR,
    "list rand 10000000": FAR,
    "keeper few": NEAR,
    "keeper mix": FAR,
    "keeper range": FAR,
    "capture replay": FAR,
    "window age": FAR,
    "bytes": "at 1M the last huge page of the records is nearly empty, and a table that has just grown has room for "
             "a quarter more keys; at 10M it is 60 to 62",
    "growth keeper": "while the hash table grows, each new block also moves most of a bucket; another thread "
                     "provides the memory",
    "exec": IMAGES,
    "exec fork": IMAGES,
    "exec spawn": IMAGES,
    "exec make": IMAGES,
    "exec configure": IMAGES,
    "page median": COLD,
}


def form(value, unit):
    if unit == "x":
        return "x%.2f" % value
    if unit == "":
        return "%d" % value
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 1 else 2
    return "%.*f %s" % (digits, value, unit)


def reason(key, spread):
    """Of a missed one."""
    said = [REASONS[key]] if key in REASONS else []
    if spread and spread["low"] <= GOALS[key].limit <= spread["high"]:
        said.append(UNDECIDED)
    return "; ".join(said) or "not known yet"


def verdict(key, value, why=None, spread=None):
    """One row: what, goal, measured, met (None: not decided) and reason.  value
    None: it could not be measured, and why says why.  spread: {low, high} of it."""
    g = GOALS[key]
    row = {"goal": key, "what": g.what, "unit": g.unit, "limit": g.limit, "least": g.least, "value": value,
           "met": None, "reason": ""}
    if value is None:
        row["reason"] = why or "not measured in this run"
    elif g.limit is not None:
        row["met"] = value >= g.limit if g.least else value <= g.limit
        if not row["met"]:
            row["reason"] = reason(key, spread)
    return row
