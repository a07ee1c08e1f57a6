"""How a command runs under each of the others, and why one cannot be run here."""
import glob
import os
import shutil
import signal
import subprocess

from job import B, TOP, Failed, simply

def first_of(*patterns):
    for pattern in patterns:
        found = sorted(glob.glob(pattern))
        if found:
            return found[0]
    return None


def library(name):
    return first_of("/usr/lib/*/" + name, "/usr/lib/" + name, "/lib/*/" + name)


def heaptrack_file(name):
    return first_of("/usr/lib/heaptrack/" + name, "/usr/lib/*/heaptrack/" + name,
                    "/usr/lib/heaptrack/libexec/" + name, "/usr/lib/*/heaptrack/libexec/" + name)


def heaptrack(job, raw=False):
    """As the script `heaptrack` does it, interpreter and compressor beside."""
    fifo = job.tmp + "/fifo"
    os.mkfifo(fifo)
    pack = "zstd -c" if shutil.which("zstd") else "gzip -c"
    reader = subprocess.Popen("%s < %s %s > %s/h.out" % (
        pack if raw else heaptrack_file("heaptrack_interpret"), fifo, "" if raw else "| " + pack, job.tmp), shell=True,
        stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        got = simply(job, job.timed({"LD_PRELOAD": heaptrack_file("libheaptrack_preload.so"),
                                     "DUMP_HEAPTRACK_OUTPUT": fifo}))
        reader.wait(30)
    except subprocess.TimeoutExpired:
        raise Failed("its interpreter did not end") from None
    finally:
        if reader.poll() is None:
            os.killpg(reader.pid, signal.SIGKILL)
            reader.wait()
    return got._replace(file_bytes=os.path.getsize(job.tmp + "/h.out"))


def jemalloc(job, conf):
    return simply(job, job.timed({"LD_PRELOAD": library("libjemalloc.so.2"), "MALLOC_CONF": conf}))


def gperftools(job):
    return simply(job, job.timed({"LD_PRELOAD": library("libtcmalloc.so.4"), "HEAPPROFILE": job.tmp + "/hp"}))


def valgrind(job, tool, *options):
    return simply(job, job.timed(prefix=["valgrind", "-q", "--tool=" + tool] + [o % job.tmp for o in options]))


def in_front(job, name):
    """Nothing but a function in front of the real one, empty or idle."""
    return simply(job, job.timed({"LD_PRELOAD": "%s/bench/%s" % (B, name)}))


def no_front(name):
    return None if os.path.exists("%s/bench/%s" % (B, name)) else "not built"


def mtrace(job):
    return simply(job, job.timed({"LD_PRELOAD": B + "/bench/libmtrace.so:" + library("libc_malloc_debug.so.0"),
                                  "MALLOC_TRACE": job.tmp + "/m"}))


def probed(job, argv):
    """The command as a script: what starts it splits its words at spaces."""
    script = job.tmp + "/command"
    with open(script, "w") as f:
        f.write("exec " + " ".join("'%s'" % word for word in job.timed()) + "\n")
    return simply(job, [word.replace("COMMAND", shutil.which("sh") + " " + script) for word in argv],
                  {"BPFTRACE_MAP_KEYS_MAX": "2097152"})


def uprobes(job):
    with open(TOP + "/bench/peers/held.bt") as f:
        text = f.read().replace("LIBRARY", library(job.allocator))
    with open(job.tmp + "/held.bt", "w") as f:
        f.write(text)
    return probed(job, ["bpftrace", "-c", "COMMAND", job.tmp + "/held.bt"])


def memleak(job):
    return probed(job, ["memleak-bpfcc", "-O", library(job.allocator), "-c", "COMMAND", "1", str(job.limit)])


# --- what is there ---------------------------------------------------------------

def needs_programs(*names):
    lacking = [name for name in names if not shutil.which(name)]
    return "%s is not installed" % lacking[0] if lacking else None


def needs_library(name):
    return None if library(name) else name + " is not installed"


def no_heaptrack():
    return None if heaptrack_file("libheaptrack_preload.so") and heaptrack_file("heaptrack_interpret") else \
        "heaptrack is not installed"


def no_uprobes():
    if os.geteuid() != 0:
        return "uprobes need root"
    if not os.path.exists("/sys/bus/event_source/devices/uprobe"):
        return "the kernel has no uprobes"
    return needs_programs("bpftrace")


def no_memleak():
    lacking = needs_programs("memleak-bpfcc")
    if lacking or os.geteuid() != 0:
        return lacking or "bcc needs root"
    if not any(os.path.exists(path) for path in ("/sys/kernel/kheaders.tar.xz",
                                                 "/lib/modules/%s/build" % os.uname().release)):
        return "bcc needs the headers of the running kernel, which has none"
    return None
