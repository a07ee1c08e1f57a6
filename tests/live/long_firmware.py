"""The log of examples/firmware against what pagek says of it.  Blocks of a kernel's
heap, as many as KERNEL in the environment says, are not in the log.

long_firmware.py history LOG HISTORY.json	each event of the log is one event of
	the history, the same in every field, and no event is left
long_firmware.py dump LOG HISTORY.json DUMP.json	the blocks that the log leaves
long_firmware.py stats LOG STATS
long_firmware.py held LOG	prints them: address, size and type as list has them
"""
import json
import os
import re
import sys

TYPES = {'malloc()': '80', 'calloc()': '81', 'realloc()': '82',
         'memalign()': '83', 'new': '84', 'new[]': '85',
         'new(nothrow)': '86', 'new(nothrow)[]': '87'}
BY = (r' by (\w+) 0x(\w+) in (\w+) (\d+) at (\d+) (\d+) seqno (\d+) (\d+)$')


def read_log(path):
    events = []
    for line in open(path):
        m = re.match(r'(alloc|free) 0x(\w+) (?:(\d+) (\d+) )?(\S+)' + BY, line)
        if m is None:
            assert line.startswith(('record ', 'end')), line
            continue
        e = dict(event=m[1], address=int(m[2], 16), function=m[5], by=m[6],
                 handle=int(m[7], 16), caller=m[8], line=int(m[9]),
                 time=(int(m[10]), int(m[11])), seqno=(int(m[12]), int(m[13])))
        if e['event'] == 'alloc':
            e['size'], e['used'] = int(m[3]), int(m[4])
        events.append(e)
    assert len(events) > 500, len(events)
    return events


def same_call(e, r):
    """The log's event is the record, by what identifies it."""
    return (e['event'] == r['event'] and
            e['address'] == int(r['address'], 16) and
            e['seqno'][0] <= r['seqno'] < e['seqno'][1])


def same_fields(e, r, first):
    library = e['function'] == 'strdup'
    allocator = {'strdup': 'malloc()', 'realloc_free': 'realloc()'}.get(
        e['function'], e['function'])
    assert r['allocator'] == allocator, (e, r)
    if e['event'] == 'alloc':
        assert (r['size'], r['actual']) == (e['size'], e['used']), (e, r)
        assert r['overhead'] == e['used'] - e['size'], (e, r)
    assert e['time'][0] <= r['ticks'] <= e['time'][1], (e, r)
    assert r['time_ms'] == 10 * r['ticks'], (e, r)
    by = first if e['handle'] == 0 else (e['by'], e['handle'])
    assert (r['thread_name'], int(r['handle'], 16)) == by, (e, r)
    assert r['thread'] == (1 if by == first else 2), (e, r)
    assert not r['unsure'], (e, r)
    if library:
        assert 'strdup' in r['function'], (e, r)
        return
    assert r['function'].split('(')[0] == e['caller'], (e, r)
    assert r['file'].endswith('examples/firmware/main.cc'), (e, r)
    assert r['line'] == e['line'], (e, r)
    assert len(r['stack']) == 1 and int(r['caller'], 16) % 2 == 1, (e, r)


KERNEL = int(os.environ.get('KERNEL', '0'))


def without_kernel(records):
    """Those of the log alone; the kernel's have its lines."""
    kernel = [r for r in records if r['allocator'] == 'pool']
    assert len(kernel) == KERNEL, kernel
    for r in kernel:
        assert r['file'].endswith('/tasks.c') and r['line'] > 0, r
        assert r['function'] is not None and r['size'] > 0, r
    return [r for r in records if r['allocator'] != 'pool']


def pair_up(log, path):
    """[(event of the log, record)] in the order of sequence numbers."""
    d = json.load(open(path))
    assert d['complete'] and d['history_complete'], path
    numbers = [r['seqno'] for r in d['events']]
    assert numbers == list(range(len(numbers))), numbers[:9]
    left = list(log)
    pairs = []
    for r in without_kernel(d['events']):
        e = next((e for e in left if same_call(e, r)), None)
        assert e is not None, ('not in the log', r)
        left.remove(e)
        pairs.append((e, r))
    assert left == [], ('not in the history', left[:3])
    return pairs


def held(pairs):
    blocks = {}
    for e, r in pairs:
        if e['event'] == 'alloc':
            assert e['address'] not in blocks, e
            blocks[e['address']] = e, r
        else:
            assert e['address'] in blocks, e
            del blocks[e['address']]
    return blocks


def first_thread(pairs):
    """What is allocated before there is a task counts as this one's."""
    e = next(e for e, _ in pairs if e['handle'] != 0)
    return e['by'], e['handle']


def check_history(log, path):
    pairs = pair_up(log, path)
    first = first_thread(pairs)
    assert {e['function'] for e in log} == set(TYPES) | {
        'strdup', 'realloc_free', 'free()', 'delete', 'delete[]'}
    freed = {}
    for e, r in reversed(pairs):
        same_fields(e, r, first)
        if e['event'] == 'free':
            freed[e['address']] = True
        else:
            assert r['freed'] == freed.pop(e['address'], False), (e, r)
    # Tasks were interrupted in calls, else the locks had nothing to do.
    assert any(e['seqno'][1] - e['seqno'][0] > 2 for e in log)
    assert len({e['by'] for e in log}) == 3


def check_dump(log, history, path):
    pairs = pair_up(log, history)
    left = held(pairs)
    for r in without_kernel(json.load(open(path))['allocations']):
        e, _ = left.pop(int(r['address'], 16))
        same_fields(e, r, first_thread(pairs))
    assert left == {}, left


def check_stats(log, path):
    text = open(path).read()
    allocs = [e for e in log if e['event'] == 'alloc']
    frees = len(log) - len(allocs)
    assert 'History   : %d memory allocations, %d frees\n' % (
        len(allocs) + KERNEL, frees) in text
    assert 'used in %d allocations\n' % (
        len(allocs) + KERNEL - frees) in text
    for name in 'writer', 'reader':
        handle = next(e['handle'] for e in log if e['by'] == name)
        assert re.search('\n        [12] : handle 0x%08x, %s\n' % (
            handle, name), text), text
    assert 'backtrace enabled, 1 levels' in text
    assert 'Heap      : 0x2' in text


def print_held(log):
    """Without the exact numbers: an address is one block's at a time."""
    last = {}
    for e in log:
        n = last.setdefault(e['address'], [])
        n.append(e)
    for address in sorted(last):
        events = last[address]
        allocs = [e for e in events if e['event'] == 'alloc']
        if 2 * len(allocs) == len(events):
            continue
        e = max(allocs, key=lambda e: e['seqno'])
        kind = TYPES.get(e['function'], '80')
        print('%08x %d %s' % (address, e['size'], kind))


what, log = sys.argv[1], read_log(sys.argv[2])
if what == 'history':
    check_history(log, sys.argv[3])
elif what == 'dump':
    check_dump(log, *sys.argv[3:])
elif what == 'stats':
    check_stats(log, sys.argv[3])
elif what == 'held':
    print_held(log)
