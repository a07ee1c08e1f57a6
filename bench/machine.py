"""What the figures were measured on, and how quiet it was."""
import os
import platform
import re
import subprocess

PACKAGES = ("heaptrack", "libjemalloc2", "libgoogle-perftools4", "valgrind", "libc6", "bpftrace", "bpfcc-tools",
            "redis-tools", "sqlite3", "python3", "gcc-12", "libjudy-dev")


def text(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def first(pattern, where, otherwise):
    m = re.search(pattern, where, re.M)
    return m[1].strip() if m else otherwise


def versions():
    """{package: version} of those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            p = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", package],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            break
        state, _, version = p.stdout.partition(" ")
        if state == "installed":
            found[package] = version
    return found


def latency(program):
    """{"hand_ns": of a cache line from core to core, "read_ns": of a read from memory}: what of it is known."""
    try:
        p = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return {key: int(ns) for key, ns in re.findall(r"(\w+)=(\d+)", p.stdout)}


def span(ns):
    return "%d" % ns[0] if ns[0] == ns[-1] else "%d to %d" % (ns[0], ns[-1])


def describe(latencies):
    """latencies: what latency() said, at several times: a hypervisor moves what it runs."""
    cpuinfo = text("/proc/cpuinfo")
    kib = int(first(r"^MemTotal:\s*(\d+)", text("/proc/meminfo"), "0"))
    return {
        "cpu": first(r"^model name\s*: (.*)", cpuinfo, platform.machine()),
        "cores": os.cpu_count(),
        "memory_gib": round(kib / 1048576, 1),
        "kernel": platform.release(),
        "virtual": "hypervisor" in first(r"^flags\s*: (.*)", cpuinfo, "").split(),
        "distribution": first(r'^PRETTY_NAME="?([^"\n]*)', text("/etc/os-release"), "unknown"),
        "huge_pages": first(r"\[(\w+)\]", text("/sys/kernel/mm/transparent_hugepage/enabled"), "unknown"),
        "latency": {key: sorted(found[key] for found in latencies if key in found)
                    for key in ("hand_ns", "read_ns") if any(key in found for found in latencies)},
        "versions": versions(),
    }


def sentence(m):
    far = [form % span(m["latency"][key]) for key, form in
           (("hand_ns", "a cache line from one core to the other %s ns"), ("read_ns", "a read from memory %s ns"))
           if key in m["latency"]]
    return "%s, %d cores%s, %.1f GiB, Linux %s, %s%s" % (
        m["cpu"], m["cores"], " of a virtual machine" if m["virtual"] else "", m["memory_gib"], m["kernel"],
        m["distribution"], "".join(", " + f for f in far))


def ticks():
    """(all, stolen by the hypervisor), in ticks of all cores since the boot."""
    values = [int(v) for v in text("/proc/stat").splitlines()[0].split()[1:]]
    return sum(values[:8]), values[7]


class Quiet:
    """What others took from the machine while it was measured."""

    def __init__(self):
        self.begun = ticks()

    def stolen(self):
        """Percent of the processor time."""
        total, steal = (b - a for a, b in zip(self.begun, ticks()))
        return 100.0 * steal / total if total else 0.0
