"""formats.py FORMAT FILE... : compares exports with pagek list --format json."""
import datetime
import json
import os
import re
import subprocess
import sys


def listed(path):
    blocks = json.load(open(path))["blocks"]
    assert blocks, "an empty list shows nothing"
    return len(blocks), sum(b["size"] for b in blocks)


def same(what, sums, path):
    assert sums == listed(path), f"{what} {sums}, list {listed(path)}"


# protoc's text: messages of names, numbers and strings.
def messages(text):
    top = {}
    open_ = [top]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            new = {}
            open_[-1].setdefault(line[:-2], []).append(new)
            open_.append(new)
        elif line == "}":
            open_.pop()
        else:
            key, value = line.split(": ", 1)
            open_[-1].setdefault(key, []).append(
                json.loads(value.replace("\\'", "'")) if value[0] == '"' else
                value == "true" if value in ("true", "false") else int(value))
    return top


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True,
                           text=True).stdout
    found = re.search(r"Build ID: (\w+)", notes)
    return found.group(1) if found else ""


# What is mapped with code: (start, end, offset).
def mapped(pid):
    for line in open(f"/proc/{pid}/maps"):
        field = line.split()
        if "x" in field[1]:
            lo, hi = (int(x, 16) for x in field[0].split("-"))
            yield lo, hi, int(field[2], 16)


def pprof(decoded, listing, pid):
    p = messages(open(decoded).read())
    text = p["string_table"]
    assert text[0] == "" and len(set(text)) == len(text)
    types = [(text[t["type"][0]], text[t["unit"][0]]) for t in p["sample_type"]]
    assert types == [("inuse_objects", "count"), ("inuse_space", "bytes")], types
    assert text[p["default_sample_type"][0]] == "inuse_space"
    sums = [0, 0]
    places = {x["id"][0]: x for x in p["location"]}
    functions = {x["id"][0]: x for x in p["function"]}
    mappings = {x["id"][0]: x for x in p["mapping"]}
    for s in p["sample"]:
        assert len(s["value"]) == 2 and s["value"][0] > 0, s
        assert s["location_id"] and all(x in places for x in s["location_id"])
        sums = [a + b for a, b in zip(sums, s["value"])]
    same("pprof", tuple(sums), listing)
    for x in places.values():
        assert all(l["function_id"][0] in functions for l in x.get("line", []))
        if x.get("mapping_id"):
            m = mappings[x["mapping_id"][0]]
            assert "memory_limit" not in m or m["memory_start"][0] <= \
                x["address"][0] < m["memory_limit"][0], (x, m)
    assert any(l.get("line") for x in places.values() for l in x.get("line", []))
    # The program comes first, where the kernel says that it lies.
    first = mappings[1]
    path = text[first["filename"][0]]
    program = os.readlink(f"/proc/{pid}/exe")
    assert os.path.samefile(path, program), (path, program)
    assert text[first["build_id"][0]] == build_id(program) if \
        "build_id" in first else build_id(program) == ""
    place = (first["memory_start"][0], first["memory_limit"][0],
             first.get("file_offset", [0])[0])
    assert place in set(mapped(pid)), first


# The total is in the line "Showing nodes accounting for N, 99% of N total".
def go(objects, space, listing):
    sums = tuple(int(re.search(r"of (\d+)B? total", open(f).read()).group(1))
                 for f in (objects, space))
    same("go tool pprof", sums, listing)


# Each line of a flame graph ends with a weight.
def weight(path):
    return sum(int(line.rsplit(" ", 1)[1]) for line in open(path))


def heaptrack(printed, allocations, leaked, peak, listing):
    same("heaptrack's leaks", (weight(allocations), weight(leaked)), listing)
    same("heaptrack's peak", (weight(allocations), weight(peak)), listing)
    said = open(printed).read()
    calls = re.search(r"calls to allocation functions: (\d+)", said)
    assert int(calls.group(1)) == listed(listing)[0], said
    # Times are those of birth: the oldest block is at 0.
    ms = [b["age_ms"] for b in json.load(open(listing))["blocks"]]
    ran = float(re.search(r"total runtime: ([\d.]+)s", said).group(1))
    assert ran * 1000 + 20 > max(ms) - min(ms), (ran, max(ms))


def ctf(events, listing):
    event = re.compile(r"\[([\d.]+)\] \S+ (lttng_ust_libc:malloc|pagek:alloc): "
                       r"\{ vtid = 0 \}, \{ size = (\d+), ptr = (0x\w+), type = \( \"([^\"]*)\" .*"
                       r"caller = (0x\w+), function = .* "
                       r"_callstack_user_length = (\d+)")
    rows = {}
    for line in open(events):
        found = event.match(line)
        assert found or " pagek:module: " in line, line
        if found:
            when, name, size, ptr, kind, caller, depth = found.groups()
            assert (name == "pagek:alloc") != (kind in (
                "malloc", "new", "new[]", "newnt", "new[]nt")), line
            rows[int(ptr, 16)] = (int(size), kind, int(caller, 16), float(when))
            assert int(depth) > 0, line
    same("CTF", (len(rows), sum(r[0] for r in rows.values())), listing)
    # The node's two clocks are read anew for each command.
    for b in json.load(open(listing))["blocks"]:
        size, kind, caller, when = rows[int(b["address"], 16)]
        born = datetime.datetime.fromisoformat(b["time"].replace("Z", "+00:00"))
        assert (size, kind) == (b["size"], b["type_name"]), b
        assert abs(born.timestamp() - when) < 1, (b, when)


# --- captures ---------------------------------------------------------------------


# Allocations, frees, blocks and bytes that are held.
def numbers(path):
    s = json.load(open(path))
    assert s["complete"] and s["replaced"] == 0, s
    return (s["allocations"], s["frees"], s["current_blocks"],
            s["current_bytes"])


# Each event as (freed?, address, size, stack of the allocation, thread).
def history(path):
    held = {}
    for line in open(path):
        e = json.loads(line)
        if "event" not in e:
            continue
        if e["event"] == "alloc":
            stack = tuple(a["address"] for a in e["stack"])
            held[e["address"]] = stack
            yield False, e["address"], e["size"], stack, e["thread"]
        else:
            yield (True, e["address"], e["size"], held.pop(e["address"], None),
                   e["thread"])


# All bytes, the peak, and how many blocks were freed by the next event: at least,
# and at most, for heaptrack counts by size and stack.
def history_sums(path):
    total = live = peak = least = most = 0
    last = None
    for freed, address, size, stack, thread in history(path):
        if freed:
            live -= size or 0
            least += last is not None and last == (address, size)
            most += last is not None and last[1] == size
            last = None
        else:
            total += size
            live += size
            peak = max(peak, live)
            last = (address, size)
    return total, peak, least, most


def captured_pprof(decoded, stats, events):
    p = messages(open(decoded).read())
    text = p["string_table"]
    types = [text[t["type"][0]] for t in p["sample_type"]]
    assert types == ["inuse_objects", "inuse_space", "alloc_objects",
                     "alloc_space"], types
    sums = [0] * 4
    for s in p["sample"]:
        assert len(s["value"]) == 4 and s["location_id"], s
        sums = [a + b for a, b in zip(sums, s["value"])]
    allocs, frees, blocks, held = numbers(stats)
    assert sums == [blocks, held, allocs, history_sums(events)[0]], sums
    mappings = {x["id"][0]: x for x in p["mapping"]}
    for x in p["location"]:
        m = mappings.get(x.get("mapping_id", [0])[0], {})
        assert "memory_limit" not in m or m["memory_start"][0] <= \
            x["address"][0] < m["memory_limit"][0], (x, m)
    first = mappings[1]
    path = text[first["filename"][0]]
    assert text[first["build_id"][0]] == build_id(path) if \
        "build_id" in first else build_id(path) == "", path


def captured_heaptrack(printed, allocations, leaked, peak, stats, events):
    allocs, frees, blocks, held = numbers(stats)
    total, most, temporary, at_most = history_sums(events)
    got = weight(allocations), weight(leaked), weight(peak)
    assert got == (allocs, held, most), (got, allocs, held, most)
    said = open(printed).read()
    calls = re.search(r"calls to allocation functions: (\d+)", said)
    assert int(calls.group(1)) == allocs, said
    short = re.search(r"temporary memory allocations: (\d+)", said)
    assert temporary <= int(short.group(1)) <= at_most, (temporary, said)


def captured_peak(leaked, peak, stats):
    held = json.load(open(stats))["current_bytes"]
    assert weight(leaked) == weight(peak) == held, held


def captured_leaks(leaked, stats):
    held = json.load(open(stats))["current_bytes"]
    assert weight(leaked) == held, (weight(leaked), held)


def captured_folded(blocks, held, stats):
    s = json.load(open(stats))
    got = weight(blocks), weight(held)
    assert got == (s["current_blocks"], s["current_bytes"]), got


def captured_go(objects, space, allocs, stats):
    a, frees, blocks, held = numbers(stats)
    sums = tuple(int(re.search(r"of (\d+)B? total", open(f).read()).group(1))
                 for f in (objects, space, allocs))
    assert sums == (blocks, held, a), sums


def captured_ctf(events, stats, told):
    event = re.compile(r"\[([\d.]+)\] \S+ (\S+): \{ vtid = (\d+) \}, "
                       r"\{ (?:size = (\d+), )?ptr = (0x\w+), .* thread = (\d+), "
                       r".*_callstack_user_length = (\d+)")
    counts = [0, 0]
    before = 0
    tids = {}
    want = history(told)
    for line in open(events):
        found = event.match(line)
        assert found or " pagek:module: " in line, line
        if not found:
            continue
        when, name, tid, size, ptr, thread, depth = found.groups()
        freed = name == "lttng_ust_libc:free"
        is_freed, address, is_size, stack, is_thread = next(want)
        assert (freed, int(ptr, 16), int(thread)) == \
            (is_freed, int(address, 16), is_thread), (line, address)
        assert freed or int(size) == is_size, line
        assert int(depth) > 0 or freed, line
        assert float(when) >= before and int(tid) > 0, line
        assert tids.setdefault(thread, tid) == tid, line
        before = float(when)
        counts[freed] += 1
    assert next(want, None) is None
    assert tuple(counts) == numbers(stats)[:2], counts


if sys.argv[1].startswith("captured_"):
    globals()[sys.argv[1]](*sys.argv[2:])
    sys.exit()
{"pprof": pprof, "ctf": ctf, "go": go, "heaptrack": heaptrack}[sys.argv[1]](*sys.argv[2:])
