# Memory debug data of a program under gdb, into files mddout.0, mddout.1, ...:
# mdd_dump(1) describes the commands mdd_dump, mdd_dumpnow and mdd_reset.
#
#	source /usr/local/share/pagek/mdd.gdb
#
# It reads the tables of src/mdd/target/layout.def from the target's memory, with
# any word size and in either byte order, and writes files as mddout(5) says.
python
import bisect
import datetime
import os
import re
import struct
import time
import zlib

import gdb


class Mdd:
    """One dump of the target as it is now."""

    MAGIC = b"PAGEKMDD"
    ORDER = 0x01020304
    VERSION = 1
    SLABS = 21
    LEVELS = 8
    SHARDS_MAX = 65536
    FIRST_MAX = 1 << 24
    THREADS_MAX = 1 << 22
    PIECE = 1 << 20             # bytes that are read at once, at most
    FIRST_PIECE = 4096
    HEAD = 4096                 # bytes of a mapped ELF file
    BOARD_MAX = 64 << 20        # bytes of tables where no mappings are known

    # layout.def: 4 a number of 32 bits, w a word, others bytes.
    ROOT = (
        ("order", 4), ("version", 4), ("word_bytes", 4), ("run", 4),
        ("process", 4), ("options", 4), ("levels", 4), ("tick_hz", 4),
        ("record_bytes", 4), ("event_bytes", 4), ("shard_bytes", 4),
        ("thread_bytes", 4), ("shards", 4), ("slabs", 4), ("slab_first", 4),
        ("history_records", 4), ("seqno", 4), ("history_next", 4),
        ("history_start", 4), ("history_called", 4), ("threads", 4),
        ("missed", 4), ("unknown", 4), ("replaced", 4), ("shard", "w"),
        ("history", "w"), ("heap_low", "w"), ("heap_high", "w"),
        ("static_bytes", "w"), ("thread_slab", SLABS))
    SHARD = (
        ("busy", 4), ("stuck", 4), ("used", 4), ("current", 4),
        ("free_slot", 4), ("buckets", 4), ("pending", 4), ("moving", 4),
        ("owner", "w"), ("allocs", "w"), ("frees", "w"),
        ("dynamic_bytes", "w"), ("bucket", "w"), ("slab", SLABS))
    THREAD_BYTES = {4: 2 * 4 + 4 + 24, 8: 2 * 4 + 8 + 24}
    ACTUAL_SIZE, TIMESTAMP, THREAD, BACKTRACE, HISTORY = 1, 2, 4, 8, 16

    def __init__(self):
        self.inferior = gdb.selected_inferior()
        self.problems = []
        self.chunks = []        # (address, bytes)
        self.taken = []         # (address, end) of tables, in this order
        self.taken_bytes = 0
        self.piece = self.FIRST_PIECE
        self.started = self.told = time.monotonic()
        self.bytes = 0
        self.most = None
        self.core = self.kind() == "core"
        if not self.inferior.is_valid() or not (self.core or
                                                self.inferior.threads()):
            raise gdb.GdbError("the program is not being run, and there is "
                               "no core file")
        thread = gdb.selected_thread()
        if thread is not None and thread.is_running():
            raise gdb.GdbError("the program is running: stop it first, with "
                               "interrupt or Ctrl-C")
        self.maps = self.mappings()

    # --- what the target is ------------------------------------------------

    def kind(self):
        """'native', 'remote', 'core' or ''."""
        connection = getattr(self.inferior, "connection", None)
        if connection is not None:
            return connection.type
        text = gdb.execute("info target", to_string=True)
        if "Local core dump file" in text:
            return "core"
        return "native" if "child process" in text else ""

    def mappings(self):
        """[lo, hi, perms, offset, path], by address; [] for a board."""
        if self.kind() == "native":
            try:
                with open("/proc/%d/maps" % self.inferior.pid,
                          errors="surrogateescape") as f:
                    self.maps_text = f.read()
                return self.parse_maps(self.maps_text)
            except OSError:
                pass
        maps = self.info_mappings()
        if self.core:
            maps = self.add_sections(maps)
        maps.sort()
        self.maps_text = "".join(
            "%08x-%08x %s %08x 00:00 0 %s\n" % tuple(m) for m in maps)
        return maps

    @staticmethod
    def parse_maps(text):
        maps = []
        for line in text.splitlines():
            part = line.split(None, 5)
            if len(part) >= 5 and "-" in part[0]:
                lo, hi = (int(n, 16) for n in part[0].split("-"))
                maps.append([lo, hi, part[1], int(part[2], 16),
                             part[5] if len(part) > 5 else ""])
        return maps

    @staticmethod
    def info_mappings():
        """As gdb knows them: of a core without what they permit."""
        try:
            text = gdb.execute("info proc mappings", to_string=True)
        except gdb.error:
            return []
        maps = []
        for line in text.splitlines():
            m = re.match(r"\s*0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+"
                         r"0x([0-9a-f]+)\s*([r-][w-][x-][ps-])?\s*(.*)$", line)
            if m:
                maps.append([int(m[1], 16), int(m[2], 16), m[4] or "",
                             int(m[3], 16), m[5]])
        return maps

    def add_sections(self, maps):
        """A core's own memory, and what files that it lacks permit."""
        loaded = {}
        text = gdb.execute("maint info sections", to_string=True)
        for line in text[text.find("Core file:"):].splitlines():
            m = re.match(r".*0x([0-9a-f]+)->0x([0-9a-f]+) at .*: load\S* (.*)",
                         line)
            if m:
                loaded[int(m[1], 16)] = [
                    int(m[2], 16), "r%s%sp" % (
                        "-" if "READONLY" in m[3] else "w",
                        "x" if "CODE" in m[3] else "-")]
        head = b""
        for m in maps:
            if m[3] == 0:
                head = self.read_some(m[0], self.HEAD)
            if m[0] in loaded:
                m[2] = loaded.pop(m[0])[1]
            elif not m[2]:
                m[2] = self.permitted(head, m[3])
        known = [(m[0], m[1]) for m in maps]
        for lo, (hi, perms) in loaded.items():
            if not any(a <= lo < b for a, b in known):
                maps.append([lo, hi, perms, 0, ""])
        return maps

    @staticmethod
    def permitted(head, offset):
        """By the segments of an ELF file, of which only the head is known."""
        if len(head) < 64 or head[:4] != b"\x7fELF":
            return "r--p"
        order = ">" if head[5] == 2 else "<"
        if head[4] == 2:
            at, = struct.unpack_from(order + "Q", head, 32)
            size, n = struct.unpack_from(order + "HH", head, 54)
            form = order + "IIQQQQ"
        else:
            at, = struct.unpack_from(order + "I", head, 28)
            size, n = struct.unpack_from(order + "HH", head, 42)
            form = order + "IIIIIII"
        for i in range(n):
            if at + i * size + struct.calcsize(form) > len(head):
                break
            p = struct.unpack_from(form, head, at + i * size)
            if head[4] == 2:
                kind, flags, begin, _, _, length = p
            else:
                kind, begin, _, _, length, _, flags = p
            if kind == 1 and begin & ~4095 <= offset < begin + length:
                return "%s-%sp" % ("r" if flags & 4 else "-",
                                   "x" if flags & 1 else "-")
        return "r--p"

    # --- memory --------------------------------------------------------------

    def read(self, address, n):
        """Exactly n bytes, or None."""
        try:
            return self.inferior.read_memory(address, n).tobytes()
        except (gdb.error, OverflowError, MemoryError, ValueError):
            return None

    def read_some(self, address, n):
        """As many of n bytes as there are: whole pages, at the end."""
        data = self.read(address, n)
        while data is None and n > 0:
            page = 4096 - address % 4096
            n = min(n // 2 // 4096 * 4096 + page, n - 1) if n > page else 0
            data = self.read(address, n) if n > 0 else b""
        return data or b""

    def progress(self):
        """Now and then, from the first second on."""
        now = time.monotonic()
        if now - self.started > 1 and now - self.told > 1:
            self.told = now
            gdb.write("%d bytes so far ...\n" % self.bytes)
            gdb.flush()

    def take(self, address, n):
        """Takes n bytes up to where they cannot be read, in larger pieces
        while these come fast."""
        done = 0
        while done < n:
            want = min(self.piece, n - done)
            before = time.monotonic()
            data = self.read_some(address + done, want)
            if data:
                self.chunks.append((address + done, data))
                self.bytes += len(data)
                done += len(data)
                self.progress()
            if len(data) < want:
                break
            if time.monotonic() - before < 0.2:
                self.piece = min(2 * self.piece, self.PIECE)
            else:
                self.piece = max(self.piece // 2, self.FIRST_PIECE)
        return done

    def take_table(self, address, n):
        """A table: no two of them have memory in common."""
        at = bisect.bisect(self.taken, (address, 0))
        if (at > 0 and self.taken[at - 1][1] > address) or \
                (at < len(self.taken) and self.taken[at][0] < address + n):
            self.problem("memory at 0x%x: it belongs to two tables", address)
            return
        if self.taken_bytes + n > self.limit():
            self.problem("memory at 0x%x: with %d bytes there the tables are "
                         "larger than the target's memory", address, n)
            return
        self.taken.insert(at, (address, address + n))
        self.taken_bytes += n
        got = self.take(address, n)
        if got < n:
            self.problem("memory at 0x%x: %d of %d bytes can be read",
                         address, got, n)

    def problem(self, text, *values):
        self.problems.append(text % values)

    # --- numbers ---------------------------------------------------------------

    def word(self, data, at):
        return struct.unpack_from(self.order + ("I" if self.word_bytes == 4
                                                else "Q"), data, at)[0]

    def u32(self, data, at):
        return struct.unpack_from(self.order + "I", data, at)[0]

    def offsets(self, fields, at):
        where = {}
        for name, size in fields:
            where[name] = at
            at += (4 if size == 4 else self.word_bytes if size == "w" else
                   self.word_bytes * size)
        return where, at

    def fields(self, fields, data, at):
        where, _ = self.offsets(fields, at)
        out = {}
        for name, size in fields:
            if size == 4:
                out[name] = self.u32(data, where[name])
            elif size == "w":
                out[name] = self.word(data, where[name])
            else:
                out[name] = [self.word(data, where[name] + i * self.word_bytes)
                             for i in range(size)]
        return out

    # --- the root -----------------------------------------------------------------

    def find_root(self):
        """By its symbol; else by its magic, in what can be written."""
        address = None
        try:
            address = int(gdb.parse_and_eval("&mdd_root").cast(
                gdb.lookup_type("unsigned long long")))
        except gdb.error:
            pass
        off = address is not None and self.read(address, 8) == bytes(8)
        if address is not None and not off:
            return address
        for lo, hi, perms, _, _ in self.maps:
            at = lo
            while "w" in perms and at < hi:
                try:
                    found = self.inferior.search_memory(at, hi - at,
                                                        self.MAGIC)
                except gdb.error:
                    break
                if found is None:
                    break
                if found % 4 == 0 and self.probe(found) is None:
                    return found
                at = found + 1
        raise gdb.GdbError(
            "nothing is collected: start the program with PAGEK_DEBUGDATA=on, "
            "or call mdd_start()" if off else
            "no debug data: the program has no mdd_root; see libmdd(3)")

    def probe(self, address):
        """None, or what is wrong with a root's first words."""
        data = self.read(address, 20)
        if data is None:
            return "it cannot be read"
        if data[:8] != self.MAGIC:
            return "no debug data is there"
        self.order = "<"
        if self.u32(data, 8) != self.ORDER:
            self.order = ">"
        if self.u32(data, 8) != self.ORDER:
            return "its byte order is unknown"
        if self.u32(data, 12) != self.VERSION:
            return "its tables are of another version"
        self.word_bytes = self.u32(data, 16)
        if self.word_bytes not in (4, 8):
            return "its word size is neither 4 nor 8"
        _, size = self.offsets(self.ROOT, 8)
        data = self.read(address, size)
        if data is None:
            return "its end cannot be read"
        self.root_bytes = data
        return None

    def read_root(self):
        """False after a problem: only the root itself is taken."""
        self.address = self.find_root()
        wrong = self.probe(self.address)
        if wrong:
            self.problem("root at 0x%x: %s", self.address, wrong)
            return False
        self.root = self.fields(self.ROOT, self.root_bytes, 8)
        r, word = self.root, self.word_bytes
        moment = (8 if r["options"] & self.TIMESTAMP else 0) + \
            (word if r["options"] & self.THREAD else 0) + r["levels"] * word
        record = 2 * word + 8 + moment + \
            (word if r["options"] & self.ACTUAL_SIZE else 0)
        _, shard = self.offsets(self.SHARD, 0)
        for name, expected in (("record_bytes", record),
                               ("event_bytes", record + 8 + moment),
                               ("shard_bytes", shard), ("slabs", self.SLABS),
                               ("thread_bytes", self.THREAD_BYTES[word])):
            if r["levels"] > self.LEVELS or r[name] != expected:
                self.problem("root at 0x%x: %s is %d, and its options make "
                             "%d", self.address, name, r[name], expected)
                return False
        if not 0 < r["slab_first"] <= self.FIRST_MAX:
            self.problem("root at 0x%x: %d records in the first slab",
                         self.address, r["slab_first"])
            return False
        self.read_shards()
        return True

    def read_shards(self):
        """The shards themselves, before anything is written."""
        r = self.root
        n = r["shards"]
        if not 0 < n <= self.SHARDS_MAX:
            self.problem("root at 0x%x: %d shards", self.address, n)
            n = min(n, 1)
        size = r["shard_bytes"]
        data = self.read_some(r["shard"], n * size)
        if len(data) < n * size:
            self.problem("shards at 0x%x: %d of %d bytes can be read",
                         r["shard"], len(data), n * size)
        self.shards = [self.fields(self.SHARD, data, i * size)
                       for i in range(len(data) // size)]

    def busy(self):
        return [i for i, s in enumerate(self.shards) if s["busy"]]

    # --- tables ---------------------------------------------------------------------

    def limit(self):
        """All tables together are not larger."""
        if self.most is None:
            self.most = sum(m[1] - m[0] for m in self.maps
                            if "w" in m[2]) or self.BOARD_MAX
        return self.most

    def slabs(self, slabs, used, size, has, what):
        """Slots of slabs: each next one has twice as many."""
        n, first = self.root["slab_first"], 0
        for address in slabs:
            if first >= used:
                return
            if n * size > has or address == 0:
                break
            has -= n * size
            self.take_table(address, min(n, used - first) * size)
            first += n
            n *= 2
        if first < used:
            self.problem("%s: it counts %d slots, and has memory for %d",
                         what, used, first)

    def take_history(self):
        """The records that no dump has."""
        r = self.root
        records, size = r["history_records"], r["event_bytes"]
        at, end = r["history_start"], r["history_next"]
        left = (end - at) & 0xffffffff
        if not r["history"] or not records or \
                records * size > r["static_bytes"]:
            self.problem("root at 0x%x: a history of %d records at 0x%x is "
                         "larger than its memory", self.address, records,
                         r["history"])
            r["history_records"] = 0
            return
        if left > records:
            at = (end - records) & 0xffffffff
            left = records
        while left > 0:
            place = at % records
            run = min(left, records - place, (1 << 32) - at)
            self.take_table(r["history"] + place * size, run * size)
            at = (at + run) & 0xffffffff
            left -= run

    def take_tables(self):
        r = self.root
        self.take_table(r["shard"], len(self.shards) * r["shard_bytes"])
        for i, s in enumerate(self.shards):
            what = "shard %d at 0x%x" % (i, r["shard"] + i * r["shard_bytes"])
            has = s["dynamic_bytes"]
            has = min(has, self.limit())
            self.slabs(s["slab"], s["used"], r["record_bytes"], has, what)
        if r["options"] & self.THREAD:
            threads = r["threads"]
            if threads > self.THREADS_MAX:
                self.problem("root at 0x%x: %d threads; %d are taken",
                             self.address, threads, self.THREADS_MAX)
                threads = self.THREADS_MAX
            self.slabs(r["thread_slab"], threads, r["thread_bytes"],
                       self.limit(), "table of threads")
        if r["options"] & self.HISTORY:
            self.take_history()

    def take_heads(self):
        for lo, hi, _, offset, path in self.maps:
            if offset == 0 and path.startswith("/") and \
                    self.read(lo, 4) == b"\x7fELF":
                self.take(lo, min(hi - lo, self.HEAD))
        if not self.maps:
            self.take_build_id()

    def take_build_id(self):
        """A board's own, where its executable has it."""
        text = gdb.execute("maint info sections .note.gnu.build-id",
                           to_string=True)
        m = re.search(r"0x([0-9a-f]+)->0x([0-9a-f]+) at .*: "
                      r"\.note\.gnu\.build-id .*ALLOC", text)
        if m:
            lo, hi = int(m[1], 16), int(m[2], 16)
            self.take(lo, min(hi - lo, self.HEAD))

    # --- the history of a live target -------------------------------------------------

    def next_start(self):
        """Where the next dump goes on: no record that is half written is lost,
        unless it is in the oldest eighth: it may never be written."""
        r = self.root
        records, size, word = r["history_records"], r["event_bytes"], \
            self.word_bytes
        end = r["history_next"]
        left = min((end - r["history_start"]) & 0xffffffff,
                   records - records // 8)
        for i in range(left, 0, -1):
            index = (end - i) & 0xffffffff
            data = self.taken_memory(r["history"] + index % records * size,
                                     2 * word + 4)
            if data is None or self.word(data, 0) == 0 or \
                    self.u32(data, 2 * word) >> 5 != (index + 1) & 0x7ffffff:
                return index
        return end

    def taken_memory(self, address, n):
        """Out of what was taken; None: it was not."""
        at = bisect.bisect(self.starts, address) - 1
        if at < 0:
            return None
        lo, data = self.sorted[at]
        part = data[address - lo:address - lo + n]
        if len(part) < n and at + 1 < len(self.sorted) and \
                self.starts[at + 1] == lo + len(data):
            part += self.sorted[at + 1][1][:n - len(part)]
        return part if len(part) == n else None

    def reset_history(self):
        where, _ = self.offsets(self.ROOT, 8)
        self.sorted = sorted(self.chunks)
        self.starts = [lo for lo, _ in self.sorted]
        self.inferior.write_memory(
            self.address + where["history_start"],
            struct.pack(self.order + "I", self.next_start()))

    # --- the file -----------------------------------------------------------------------

    def info(self, maker, number, reset):
        program = gdb.current_progspace().filename or ""
        now = datetime.datetime.now(datetime.timezone.utc).strftime(
            "%Y-%m-%dT%H:%M:%SZ")
        lines = ["maker gdb " + maker, "number %d" % number, "time " + now,
                 "reset " + ("yes" if reset else "no"),
                 "from " + ("core" if self.core else "live")]
        if self.maps and self.inferior.pid:
            lines.append("pid %d" % self.inferior.pid)
        if program:
            lines.append("program " + program.replace("\n", "?"))
        return "".join(line + "\n" for line in lines)

    def write(self, name, info):
        parts = [(b"INFO", info.encode(errors="surrogateescape"))]
        if self.maps_text:
            parts.append((b"MAPS",
                          self.maps_text.encode(errors="surrogateescape")))
        parts.append((b"ROOT", struct.pack("<Q", self.address)))
        n = len(parts) + len(self.chunks)
        with open(name, "wb") as f:
            f.write(b"\x7fMDDOUT\n" + struct.pack("<II", 1, 0))
            for kind, payload in parts:
                self.write_chunk(f, kind, payload)
            for address, data in self.chunks:
                self.write_chunk(f, b"MEMO",
                                 struct.pack("<Q", address) + data)
            self.write_chunk(f, b"ENDF", struct.pack("<I", n))

    @staticmethod
    def write_chunk(f, kind, payload):
        f.write(kind + struct.pack("<IQ", zlib.crc32(payload), len(payload)) +
                payload)


class MddSession:
    """What the three commands share: the number of the next file."""

    number = 0

    @classmethod
    def dump(cls, maker, arg, regardless):
        if arg.strip():
            raise gdb.GdbError("%s takes no argument" % maker)
        try:
            d = Mdd()
            whole = d.read_root()
            if whole and not regardless:
                cls.refuse_busy(d)
            cls.write(d, maker, whole)
        except gdb.error as e:
            raise gdb.GdbError("%s: %s" % (maker, e))

    @staticmethod
    def refuse_busy(d):
        busy = d.busy()
        if not busy:
            return
        names = ", ".join(str(i) for i in busy[:8])
        raise gdb.GdbError(
            "the program was stopped while it changed shard%s %s%s: a dump "
            "may be unsafe now. Go on with\n  tbreak cyg_memalloc_dd_done\n"
            "  continue\n  mdd_dump\nor use mdd_dumpnow." %
            ("" if len(busy) == 1 else "s", names,
             " and more" if len(busy) > 8 else ""))

    @classmethod
    def write(cls, d, maker, whole):
        name = "mddout.%d" % cls.number
        d.take_heads()
        size = len(d.root_bytes) if hasattr(d, "root_bytes") else 64
        d.take_table(d.address, size)
        history = False
        if whole:
            d.take_tables()
            history = bool(d.root["options"] & d.HISTORY) and \
                d.root["history_records"] > 0
        reset = history and not d.core
        try:
            d.write(name, d.info(maker, cls.number, reset))
        except OSError as e:
            raise gdb.GdbError("cannot write '%s': %s" % (name, e.strerror))
        cls.number += 1
        # What a file has may go from the target.
        if reset:
            d.reset_history()
        for p in d.problems[:8]:
            gdb.write("damaged: %s\n" % p, gdb.STDERR)
        if len(d.problems) > 8:
            gdb.write("damaged: %d more such places\n" %
                      (len(d.problems) - 8), gdb.STDERR)
        gdb.write("%s: %d bytes of debug data%s\n" % (
            name, d.bytes, "; the core file's history stays as it is" if
            history and d.core else ""))


class MddDump(gdb.Command):
    """Write the memory debug data of the program into mddout.0, mddout.1, ...

It refuses while the program is in the middle of an update.  The history of a
live program is emptied: the next dump has what comes after.  See mdd_dump(1)."""

    def __init__(self):
        super().__init__("mdd_dump", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        MddSession.dump("mdd_dump", arg, False)


class MddDumpNow(gdb.Command):
    """As mdd_dump, also while the program is in the middle of an update.

Events that are in progress are then not in the file, or are marked unsure."""

    def __init__(self):
        super().__init__("mdd_dumpnow", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        MddSession.dump("mdd_dumpnow", arg, True)


class MddReset(gdb.Command):
    """Begin the numbers of mddout files again with 0."""

    def __init__(self):
        super().__init__("mdd_reset", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        MddSession.number = 0


MddDump()
MddDumpNow()
MddReset()
end
