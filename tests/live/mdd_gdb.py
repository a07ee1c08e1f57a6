#!/usr/bin/env python3
"""mdd_gdb.py COMMAND ARGUMENT...: helps mdd_gdb.sh.

fields FILE         the lists of mdd.gdb are those of layout.def
current LOG DUMP    the live blocks after the LOG's first events, as the DUMP
                    (of 'pagek dump -f') was taken: but for one event in flight
room DUMP...        none of them has lost a record that was overwritten
cores FOLDER        small cores of both word sizes and byte orders, with the dumps
                    that have the same memory
cut CORE OUT SEED   a copy of the core with some bytes changed, or its end cut
word CORE ADDRESS N OUT   a copy with the number of 32 or 64 bits at that
                    address set to N
"""
import os
import random
import re
import struct
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')


def fields(path):
    table = open(os.path.join(TOP, 'src/mdd/target/layout.def')).read()
    script = open(path).read()
    for name in 'ROOT', 'SHARD':
        expected = [
            (field, {'U32': '4', 'WORD': '"w"'}.get(kind) or
             n.strip(', ').replace('MDD_', ''))
            for kind, field, n in re.findall(
                r'^%s_(\w+)\((\w+)(, \w+)?\)' % name, table, re.M)]
        block = re.search(r'^    %s = \((.*?)\)\)' % name, script,
                          re.M | re.S).group(1) + ')'
        found = re.findall(r'\("(\w+)", ("w"|\w+)\)', block)
        if found != expected:
            sys.exit('%s of mdd.gdb differs from layout.def: %s' % (
                name, set(found) ^ set(expected)))


def current(log, dump):
    """seqno is the last column of both."""
    rows = [line.split() for line in open(dump)]
    events = [line.split() for line in open(log)]
    if not rows:
        sys.exit('the dump is empty')
    last = max(int(r[-1]) for r in rows)
    best = None
    # Frees behind the last allocation of the dump are not seen in it.
    for n in range(last, len(events) + 1):
        live = {}
        for function, address, size, seqno in events[:n]:
            if address in live and (function == 'free()' or
                                    live[address][0] != 'gone'):
                del live[address]
            else:
                live[address] = (function, address, size, seqno)
        differ = set(live.values()) ^ set(map(tuple, rows))
        best = min(len(differ), best if best is not None else len(differ))
        if len(differ) <= 1:
            return
        if n > last + 200:
            break
    sys.exit('%d blocks differ' % best)


def room(*dumps):
    for path in dumps:
        data = open(path, 'rb').read()
        memory = {struct.unpack('<Q', p[:8])[0]: p[8:] for kind, p in
                  chunks(data) if kind == b'MEMO'}
        root = next(memory[struct.unpack('<Q', p)[0]] for kind, p in
                    chunks(data) if kind == b'ROOT')
        # order is the first of the numbers, behind the magic.
        records, _, end, start = struct.unpack_from('<4I', root, 8 + 15 * 4)
        if (end - start) & 0xffffffff > records:
            sys.exit('%s: %d records in room for %d' % (path, end - start,
                                                        records))


def note(kind, data, order):
    return struct.pack(order + 'III', 5, len(data), kind) + b'CORE\0\0\0\0' + \
        data + bytes(-len(data) % 4)


def file_note(files, word, order):
    """NT_FILE: (lo, hi, offset in pages, path)."""
    one = order + ('III' if word == 4 else 'QQQ')
    return note(0x46494c45, struct.pack(one[:3], len(files), 4096) + b''.join(
        struct.pack(one, *f[:3]) for f in files) + b''.join(
        f[3].encode() + b'\0' for f in files), order)


def make_core(memory, word, order, notes=b''):
    """An ELF core file of that memory: (address, bytes)."""
    if word == 8:
        ehdr, phdr = 'HHIQQQIHHHHHH', 'IIQQQQQQ'
    else:
        ehdr, phdr = 'HHIIIIIHHHHHH', 'IIIIIIII'
    segments = ([(4, 0, notes)] if notes else []) + [(1, *m) for m in memory]
    head_size = 16 + struct.calcsize(order + ehdr)
    size = struct.calcsize(order + phdr)
    at = head_size + size * len(segments)
    out = b'\x7fELF' + bytes([word // 4, 1 if order == '<' else 2, 1]) + \
        bytes(9) + struct.pack(order + ehdr, 4, 0, 1, 0, head_size, 0, 0,
                               head_size, size, len(segments), 0, 0, 0)
    for kind, address, data in segments:
        values = (kind, 6, at, address, 0, len(data), len(data), 1) \
            if word == 8 else (kind, at, address, 0, len(data), len(data), 6, 1)
        out += struct.pack(order + phdr, *values)
        at += len(data)
    return out + b''.join(data for _, _, data in segments)


def chunks(data):
    at = 16
    while at + 16 <= len(data):
        kind, n = data[at:at + 4], struct.unpack_from('<Q', data, at + 8)[0]
        yield kind, data[at + 16:at + 16 + n]
        at += 16 + n


def cores(folder):
    import mddout
    for word in 4, 8:
        for order in '<', '>':
            d = mddout.Dump(word=word, order=order, shards=1,
                            options=31, levels=2, history_records=64)
            d.thread('main', 0x1000, number=7)
            for i in range(30):
                d.block(0x40000 + 64 * i, 10 + i, seqno=2 * i, time=i,
                        thread=1, stack=[0x5000 + i, 0x6000])
                d.past(0x80000 + 64 * i, 5, dict(seqno=2 * i + 61, time=i),
                       seqno=2 * i + 1)
            name = os.path.join(folder, '%d%s' % (
                word, 'little' if order == '<' else 'big'))
            d.write(name + '.mddout')
            memory = [(struct.unpack('<Q', p[:8])[0], p[8:]) for kind, p in
                      chunks(open(name + '.mddout', 'rb').read())
                      if kind == b'MEMO']
            with open(name + '.core', 'wb') as f:
                f.write(make_core(memory, word, order))


def cut(core, out, seed):
    data = bytearray(open(core, 'rb').read())
    r = random.Random(int(seed))
    for _ in range(r.randrange(1, 20)):
        data[r.randrange(min(len(data), 1 << r.randrange(6, 13)))] = \
            r.choice([0, 1, 0x7f, 0xff, r.randrange(256)])
    if r.random() < 0.3:
        del data[r.randrange(len(data)):]
    open(out, 'wb').write(data)


def word(core, address, n, out):
    """Of a little-endian core of 64 bits."""
    data = bytearray(open(core, 'rb').read())
    address = int(address, 0)
    at, = struct.unpack_from('<Q', data, 32)
    size, count = struct.unpack_from('<HH', data, 54)
    for i in range(count):
        kind, _, offset, lo, _, length = struct.unpack_from(
            '<IIQQQQ', data, at + i * size)
        if kind == 1 and lo <= address < lo + length:
            n = int(n, 0)
            struct.pack_into('<I' if n < 1 << 32 else '<Q', data,
                             offset + address - lo, n)
            open(out, 'wb').write(data)
            return
    sys.exit('the core does not have that address')


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
