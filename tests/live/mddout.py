"""mddout.py: writes mddout files, as a target of any word size and byte order
would be dumped.

	d = Dump(word=4, order='<', options=ACTUAL | TIME | THREAD | TRACE)
	d.thread('main', 0x93af8)
	d.block(0x97d78, 256, actual=272, seqno=0, time=0, thread=1, stack=[0x4da74])
	d.past(...)
	d.write('mddout.0')
"""
import binascii
import os
import re
import struct

ACTUAL, TIME, THREAD, TRACE, HISTORY = 1, 2, 4, 8, 16
FUNCTIONS = {'unknown': 0, 'malloc()': 1, 'calloc()': 2, 'realloc()': 3,
             'memalign()': 4, 'posix_memalign()': 5, 'aligned_alloc()': 6,
             'valloc()': 7, 'pvalloc()': 8, 'new': 9, 'new[]': 10,
             'new(nothrow)': 11, 'new(nothrow)[]': 12, 'pool': 13,
             'free()': 16, 'delete': 17, 'delete[]': 18}
SLABS, NAME = 21, 24
LAYOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      '../../src/mdd/target/layout.def')


def fields(struct_name):
    """Of a struct of the target: (kind, name, how many), from its own table."""
    for kind, args in re.findall(r'^%s_(\w+)\(([^)]*)\)' % struct_name,
                                 open(LAYOUT).read(), re.M):
        name, n = (args.split(', ') + ['1'])[:2]
        yield kind, name, {'MDD_SLABS': SLABS, 'MDD_NAME': NAME}.get(n) or int(n)


def chunk(kind, payload):
    return (kind + struct.pack('<IQ', binascii.crc32(payload), len(payload))
            + payload)


class Dump:
    def __init__(self, word=4, order='<', options=ACTUAL | TIME | THREAD | TRACE,
                 levels=1, root=0x20000000, first=4, shards=2, **set_):
        self.word, self.order, self.options = word, order, options
        self.levels = levels if options & TRACE else 0
        self.root, self.first, self.nshards = root, first, shards
        self.set = {'order': 0x01020304, 'version': 1, 'word_bytes': word,
                    'run': 77, 'process': 42, 'tick_hz': 100, 'seqno': None,
                    'history_records': 16, 'history_start': None,
                    'static_bytes': 110280, 'heap_low': 0, 'heap_high': 0}
        self.set.update(set_)
        self.threads, self.blocks, self.pasts = [], [], []
        self.info = {'maker': 'mddout.py', 'number': 0, 'from': 'live',
                     'reset': 'no'}
        self.maps, self.memory, self.end = None, [], True
        self.allocs = self.frees = None
        self.index = None       # of the first past record, if not history_start
        self.busy = self.pending = 0

    def thread(self, name, handle, number=0, ended=0):
        self.threads.append((name, handle, number, ended))
        return len(self.threads)

    def block(self, address, size, **k):
        self.blocks.append(dict(k, address=address, size=size))

    def past(self, address, size, free, **k):
        """free: a dict of the same keys for the free."""
        self.pasts.append((dict(k, address=address, size=size), free))

    def w(self, n):
        return struct.pack(self.order + ('I' if self.word == 4 else 'Q'),
                           n & ((1 << 8 * self.word) - 1))

    def u(self, *n):
        return b''.join(struct.pack(self.order + 'I', x & 0xffffffff)
                        for x in n)

    def moment(self, k):
        out = b''
        if self.options & TIME:
            t = k.get('time', 0)
            out += self.u(t, t >> 32)
        if self.options & THREAD:
            out += self.u(k.get('thread', 1)) + (self.u(0) if self.word == 8
                                                 else b'')
        stack = list(k.get('stack', [])) + [0] * self.levels
        return out + b''.join(self.w(a) for a in stack[:self.levels])

    def record(self, k, link):
        f = k.get('function', 'malloc()')
        f = FUNCTIONS[f] if isinstance(f, str) else f
        out = (self.w(k['address']) + self.w(k['size']) +
               self.u(k.get('link', link) << 5 | f, k['seqno']))
        if self.options & ACTUAL:
            out += self.w(k.get('actual', k['size'] + 8))
        return out + self.moment(k)

    def past_record(self, index, block, free):
        f = FUNCTIONS[free.get('function', 'free()')]
        return (self.record(block, block.get('link', index + 1 & 0x7ffffff))
                + self.u(free['seqno'], f) + self.moment(free))

    def struct(self, struct_name, values):
        """Fields that have no value are 0."""
        out = b''
        for kind, name, n in fields(struct_name):
            v = values.get(name, 0)
            if kind == 'U32':
                out += self.u(v)
            elif kind == 'TEXT':
                out += v.encode()[:n].ljust(n, b'\0')
            else:
                v = v if isinstance(v, list) else [v] * n
                out += b''.join(map(self.w, v))
        return out

    def slabs(self, at, records, size):
        """Slabs from `at` on; the addresses, and where they end."""
        addresses, k = [], 0
        while records:
            n = self.first << k
            self.memory.append((at, b''.join(records[:n])))
            addresses.append(at)
            records = records[n:]
            at += n * size + 64
            k += 1
        return addresses + [0] * (SLABS - len(addresses)), at

    def bytes(self):
        blank = self.record({'address': 0, 'size': 0, 'seqno': 0}, 0)
        record_bytes = len(blank)
        past_bytes = record_bytes + 8 + len(self.moment({}))
        thread_bytes = len(self.struct('THREAD', {'name': ''}))
        shard_bytes = len(self.struct('SHARD', {}))
        keep = self.memory
        self.memory = list(keep)
        s, at = self.set, self.root + 0x1000
        seqnos = [b['seqno'] for b in self.blocks] + [
            p['seqno'] for pair in self.pasts for p in pair]
        if s['seqno'] is None:
            s['seqno'] = max(seqnos, default=-1) + 1
        shard_at, shards = at, b''
        at += self.nshards * shard_bytes + 64
        for i in range(self.nshards):
            mine = [self.record(b, 0) if b.get('address') else blank
                    for b in self.blocks[i::self.nshards]]
            live = sum(bool(b['address']) for b in self.blocks[i::self.nshards])
            slabs, at = self.slabs(at, mine, record_bytes)
            allocs = len(self.blocks) + len(self.pasts) \
                if self.allocs is None else self.allocs
            frees = len(self.pasts) if self.frees is None else self.frees
            shards += self.struct('SHARD', {
                'busy': self.busy if i == 0 else 0, 'used': len(mine),
                'current': live, 'buckets': 16,
                'pending': self.pending if i == 0 else 0,
                'allocs': allocs if i == 0 else 0,
                'frees': frees if i == 0 else 0,
                'dynamic_bytes': 94628 if i == 0 else 0, 'slab': slabs})
        self.memory.insert(0, (shard_at, shards))
        threads = [self.struct('THREAD', {'number': n, 'ended': e, 'handle': h,
                                          'name': name})
                   for name, h, n, e in self.threads]
        thread_slabs, at = self.slabs(at, threads, thread_bytes)
        history, n = 0, s['history_records']
        start = s['history_start'] or 0
        index = start if self.index is None else self.index
        if self.options & HISTORY:
            history, room = at, [b'\0' * past_bytes] * n
            for i, (b, f) in enumerate(self.pasts):
                room[(index + i & 0xffffffff) % n] = self.past_record(
                    index + i, b, f)
            self.memory.append((history, b''.join(room)))
        values = dict({
            'options': self.options, 'levels': self.levels,
            'record_bytes': record_bytes, 'event_bytes': past_bytes,
            'shard_bytes': shard_bytes, 'thread_bytes': thread_bytes,
            'shards': self.nshards, 'slabs': SLABS, 'slab_first': self.first,
            'history_next': index + len(self.pasts), 'shard': shard_at,
            'threads': len(self.threads), 'history': history,
            'thread_slab': thread_slabs}, **s)
        values['history_start'] = start
        root = b'PAGEKMDD' + self.struct('ROOT', values)
        self.memory.insert(0, (self.root, root))
        out = [chunk(b'INFO', ''.join('%s %s\n' % i for i in
                                      self.info.items()).encode())]
        if self.maps is not None:
            out.append(chunk(b'MAPS', self.maps.encode()))
        out.append(chunk(b'ROOT', struct.pack('<Q', self.root)))
        out += [chunk(b'MEMO', struct.pack('<Q', a) + m)
                for a, m in self.memory]
        self.memory = keep
        if self.end:
            out.append(chunk(b'ENDF', struct.pack('<I', len(out))))
        return b'\x7fMDDOUT\n' + struct.pack('<II', 1, 0) + b''.join(out)

    def write(self, path):
        with open(path, 'wb') as f:
            f.write(self.bytes())
