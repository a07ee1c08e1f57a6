"""mdd_cmd.py FOLDER PROGRAM...: writes the dumps of mdd_cmd.sh.

Return addresses are those of calls in the programs, by their disassembly.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from mddout import ACTUAL, HISTORY, THREAD, TIME, TRACE, Dump

os.chdir(sys.argv[1])
ALL = ACTUAL | TIME | THREAD | TRACE


def calls(program, function, objdump='objdump'):
    """Addresses behind the calls of a function."""
    text = subprocess.run([objdump, '-dC', program], capture_output=True,
                          text=True, check=True).stdout
    body = text[text.index('<%s>:' % function):].split('\n\n')[0].split('\n')
    return [int(body[i + 1].split(':')[0], 16) for i, line in enumerate(body)
            if re.search(r'\t(call|bl)\b', line)]


BUFFER = calls('consume', 'Cyg_StdioStreamBuffer::set_buffer(unsigned int, '
               'unsigned char*)')[0]
SMALL, LARGE, INLINED, FREED = calls('consume', 'worker1(int)')
THREADS = [('Idle Thread', 0x75670), ('main', 0x93af8), ('thread_0', 0x739b0),
           ('thread_1', 0x73a50), ('thread_2', 0x73af0), ('thread_3', 0x73b90)]


def begin(**k):
    k.setdefault('options', ALL)
    d = Dump(run=k.pop('run', 77), heap_low=0x97d68, heap_high=0x2000000, **k)
    for name, handle in THREADS:
        d.thread(name, handle)
    return d


FIRST = dict(address=0x97d78, size=256, actual=272, seqno=0, time=0, thread=1,
             stack=[BUFFER])
SECOND = dict(address=0xc0f50, size=13, actual=32, seqno=229605, time=3960,
              thread=3, stack=[SMALL])
THIRD = dict(address=0xc0f70, size=1024, actual=1040, seqno=251083, time=4329,
             thread=5, stack=[LARGE], function='new(nothrow)')


# Sums of the text's statistics, in blocks of their own sizes.
def statistics():
    d = begin(options=ALL | HISTORY, history_records=2048, first=128)
    counts = (('malloc()', 1009), ('new(nothrow)', 788),
              ('new(nothrow)[]', 451), ('calloc()', 251), ('realloc()', 17))
    n = sum(c for _, c in counts)
    sizes = [1298850 // n] * n
    sizes[0] += 1298850 - sum(sizes)
    more = [245934 // n] * n
    more[0] += 245934 - sum(more)
    i = 0
    for function, count in counts:
        for _ in range(count):
            d.block(0x98000 + 0x1000 * i, sizes[i], actual=sizes[i] + more[i],
                    seqno=i, time=i, thread=1 + i % 6, stack=[SMALL],
                    function=function)
            i += 1
    for i in range(2048):
        d.past(0x1900000 + 64 * i, 40, dict(seqno=200001 + 2 * i, thread=2),
               actual=48, seqno=200000 + 2 * i, thread=2, stack=[SMALL])
    d.index = 130257 - 2048
    d.set['history_start'] = 0
    d.set['seqno'] = 263030
    d.allocs, d.frees = 132773, 130257
    return d


def three(**k):
    d = begin(**k)
    for b in FIRST, SECOND, THIRD:
        d.block(**b)
    return d


statistics().write('stats.0')
three().write('mddout.0')
three(run=78).write('other-run.0')
three(options=0).write('least.0')
three(tick_hz=0).write('no-clock.0')
three(options=ACTUAL | TRACE, levels=2).write('two-levels.0')

d = begin()
for i, (address, size, time) in enumerate((
        (0x2a43e8, 1553, 4079), (0x0f9308, 1139, 4149), (0x275678, 128, 4013),
        (0x0c2a80, 1024, 4104), (0x23f7a8, 128, 4194), (0x238c40, 128, 4104),
        (0x131fa0, 8, 3999), (0x15d1a8, 8, 4201))):
    d.block(address, size, seqno=time, time=time, thread=4, stack=[SMALL],
            function='malloc()' if size > 1100 else 'new(nothrow)')
d.block(0x300000, 9999, seqno=4100, time=4100, thread=3)
d.write('sorted.0')

d = begin(options=ALL | HISTORY, history_records=64)
d.block(**FIRST)
d.past(0x97e88, 131072, dict(seqno=263029, time=4999, thread=2, stack=[SMALL]),
       actual=131088, seqno=1, time=0, thread=2, stack=[SMALL])
d.past(0x319270, 16, dict(seqno=258950, time=4461, thread=5, stack=[FREED],
                          function='delete'),
       actual=32, seqno=223425, time=3851, thread=3, stack=[LARGE],
       function='new(nothrow)')
d.set['seqno'] = 263030
d.allocs, d.frees = 132773, 130257
d.write('history.0')

# A program that logs itself: dumped and emptied after each six frees.
log, live, seqno = [], [], 0
d, index, number = None, 0, 0
for i in range(40):
    b = dict(address=0x100000 + 64 * i, size=i + 1, seqno=seqno, time=i,
             thread=2, stack=[SMALL])
    log.append(('malloc()', b['address'], seqno))
    live.append(b)
    seqno += 1
    if i % 2:
        if d is None:
            d = begin(options=ALL | HISTORY, history_records=8,
                      history_start=index)
        b = live.pop(i // 3 % len(live))
        d.past(free=dict(seqno=seqno, time=i, thread=3, stack=[FREED]), **b)
        log.append(('free()', b['address'], seqno))
        seqno += 1
        index += 1
    if d is not None and len(d.pasts) == 6 or i == 39:
        for b in live:
            d.block(**b)
        d.allocs, d.frees, d.set['seqno'] = i + 1, index, seqno
        d.info['number'] = number
        d.write('log.%d' % number)
        d, number = None, number + 1
with open('log', 'w') as f:
    for entry in log:
        f.write('%s 0x%08x %d\n' % entry)

d = begin()
d.block(**dict(FIRST, size=1532048 - 128, actual=1532000))
d.block(0xba9a8, 128, actual=144, seqno=8213, time=162, thread=5,
        stack=[LARGE], function='new(nothrow)')
d.write('diff.1')
d = begin()
d.block(**dict(FIRST, size=1532048 - 128, actual=1532000))
d.block(0xba8a8, 228, actual=256, seqno=11001, time=214, thread=3,
        stack=[SMALL], function='new(nothrow)[]')
d.block(0xba9a8, 128, actual=144, seqno=11528, time=222, thread=5,
        stack=[LARGE], function='new(nothrow)')
d.write('diff.2')

# Stopped in a realloc(), and while a signal handler's event waited.
d = begin()
d.block(**dict(FIRST, link=0x7ffffff))
d.block(**SECOND)
d.busy = d.pending = 1
d.write('busy.0')

d = begin()
d.block(0x98000, 8, actual=16, seqno=0, time=0, thread=1, stack=[INLINED])
d.write('inlined.0')

whole = open('mddout.0', 'rb').read()
open('cut.0', 'wb').write(whole[:-20])
open('truncated.0', 'wb').write(whole[:whole.index(b'Idle') + 20])
at = whole.index(b'thread_2')
open('flipped.0', 'wb').write(whole[:at] + b'T' + whole[at + 1:])
open('empty.0', 'wb').write(b'')
open('header.0', 'wb').write(whole[:9])


def flip(whole, at, name):
    open(name, 'wb').write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])


# Fields of the root.
at = whole.index(b'PAGEKMDD') + 8
flip(whole, at + 3 * 4, 'flipped-run.0')
flip(whole, at + 5 * 4, 'flipped-options.0')

if os.path.exists('thumb'):
    d = begin()
    for i, address in enumerate(calls('thumb', 'worker2', 'llvm-objdump')):
        d.block(0x97d78 + 64 * i, 17 + i, actual=24, seqno=i, time=0, thread=1,
                stack=[address | 1])
    d.write('thumb.0')
if os.path.exists('pie'):
    where = calls('pie', 'worker3(int)')
    base = 0x555555554000
    for name, build in ('pie.0', 'pie'), ('other-pie.0', 'pie2'):
        d = Dump(word=8)
        d.thread('main', 0x7ffff7d8a740)
        d.memory.append((base, open(build, 'rb').read(4096)))
        path = os.path.abspath('pie')
        d.maps = ('%x-%x r--p 00000000 08:01 1 %s\n'
                  '%x-%x r-xp 00001000 08:01 1 %s\n'
                  '%x-%x rw-p 00000000 00:00 0 [heap]\n' % (
                      base, base + 0x1000, path, base + 0x1000, base + 0x2000,
                      path, base + 0x8000, base + 0x29000))
        d.block(base + 0x8010, 99, seqno=0, time=0, thread=1,
                stack=[base + where[0]])
        d.write(name)
    whole = open('pie.0', 'rb').read()
    flip(whole, whole.index(b'MAPS'), 'flipped-type.0')
    flip(whole, whole.index(b'GNU\0', whole.index(b'\3\0\0\0GNU\0')) + 4,
         'flipped-id.0')
