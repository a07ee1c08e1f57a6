"""The tools that are measured, and what part of the events each is given."""
import collections

import ours
import peers
from job import simply


def there():
    return None


# title: as the table has it.  share: a dictionary, the part of the events that
# a load gets, by load or "" for the others.  quick: part of the short bench.
Tool = collections.namedtuple("Tool", "title ours quick share run missing")

SLOW = {"": 25, "grow": 10, "program": 10}
SLOWER = {"": 100, "grow": 10, "program": 10}

TOOLS = {
    "plain": Tool("plain", False, True, {}, lambda job: simply(job, job.timed()), there),
    "caller": Tool("caller only", True, True, {}, lambda job: ours.pagek(job, "--stack", "0"), there),
    "stack": Tool("stacks of 16", True, True, {}, lambda job: ours.pagek(job, "--stack", "16"), there),
    "record": Tool("recorded, stacks of 16", True, True, {}, ours.record, there),
    "sampled": Tool("sampled, " + ours.SAMPLE, True, True, {},
                    lambda job: ours.pagek(job, "--stack", "16", "--sample", ours.SAMPLE), ours.no_sample),
    "dormant": Tool("dormant", True, True, {}, ours.dormant, ours.no_dormant),
    "debugdata": Tool("memory debug data, one caller", False, True, {"": 10, "grow": 4, "program": 4}, ours.debugdata,
                      ours.no_debugdata),
    "bare": Tool("an empty function in front", False, True, {}, lambda job: peers.in_front(job, "libbare.so"),
                 lambda: peers.no_front("libbare.so")),
    "idle": Tool("one of 23 instructions that do nothing", False, True, {},
                 lambda job: peers.in_front(job, "libidle.so"), lambda: peers.no_front("libidle.so")),
    "beside": Tool("plain, other core as busy", False, True, {}, ours.as_busy, ours.no_burn),
    "heaptrack": Tool("heaptrack", False, True, {"": 25, "grow": 1}, peers.heaptrack, peers.no_heaptrack),
    "heaptrack-raw": Tool("heaptrack, recording only", False, True, {"": 25, "grow": 1},
                          lambda job: peers.heaptrack(job, raw=True), peers.no_heaptrack),
    "jemalloc-19": Tool("jemalloc profiler, 2^19", False, True, {},
                        lambda job: peers.jemalloc(job, "prof:true,lg_prof_sample:19"),
                        lambda: peers.needs_library("libjemalloc.so.2")),
    "jemalloc-off": Tool("jemalloc, no profiler", False, False, {}, lambda job: peers.jemalloc(job, "prof:false"),
                         lambda: peers.needs_library("libjemalloc.so.2")),
    "jemalloc-0": Tool("jemalloc profiler, every allocation", False, False, SLOW,
                       lambda job: peers.jemalloc(job, "prof:true,lg_prof_sample:0"),
                       lambda: peers.needs_library("libjemalloc.so.2")),
    "gperftools": Tool("gperftools heap profiler", False, False, SLOWER, peers.gperftools,
                       lambda: peers.needs_library("libtcmalloc.so.4")),
    "memcheck": Tool("valgrind memcheck", False, False, SLOW, lambda job: peers.valgrind(job, "memcheck"),
                     lambda: peers.needs_programs("valgrind")),
    "dhat": Tool("valgrind DHAT", False, False, SLOW, lambda job: peers.valgrind(job, "dhat", "--dhat-out-file=%s/d"),
                 lambda: peers.needs_programs("valgrind")),
    "mtrace": Tool("glibc mtrace", False, False, SLOW, peers.mtrace, lambda: peers.needs_library("libc_malloc_debug.so.0")),
    "uprobes": Tool("uprobes, bpftrace", False, False, SLOWER, peers.uprobes, peers.no_uprobes),
    "memleak": Tool("bcc memleak", False, False, SLOWER, peers.memleak, peers.no_memleak),
}


def share(tool, load, is_program):
    s = TOOLS[tool].share
    return s.get(load) or (s.get("program", 1) if is_program else s.get("", 1))
