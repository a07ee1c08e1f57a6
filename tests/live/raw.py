"""What goes down a line: records of a made-up firmware, sound or damaged.

raw.py make SEED RECORDS BYTES EXPECTED	sound records into the file BYTES; the
	blocks that are held at the end, as lines of list, into EXPECTED
raw.py damage SEED BYTES OUT		the same with noise, cuts and doubles
raw.py pty IN LINK BAUD			plays IN to a pty, linked at LINK, at the
	pace of the speed, and says what its reader did to the settings
raw.py vanish IN LINK BYTES	plays so many bytes of IN to a pty when
	LINK.go is there, and closes it when LINK.end is
raw.py errors BYTES	of ten records three are of no type that is known, two are
	of listed addresses, one frees what was not there
raw.py trickle FIFO SECONDS keep|open	writes a record each 0.1 s, and keeps the
	FIFO open, or opens it for each of them
raw.py check SENT LIST.json BYTES HELD	no block of the list was not sent, and
	bytes, records and skipped bytes add up, but for HELD bytes of a line
	that has not ended
"""
import json, os, random, signal, struct, sys, termios, time, tty


def bcd(n):
    return n // 10 << 4 | n % 10


def record(op, addr, size, ms, kind=1):
    s = ms // 1000
    cycle = (ms % 1000 * 15 + 14) // 1000
    date = [26, 11, 21, 8 + s // 3600, s // 60 % 60, s % 60, cycle,
            ms % 1000 - cycle * 1000 // 15]
    return struct.pack('>IHBB', addr, size, op, kind) + bytes(map(bcd, date))


def make(seed, records, out, expected):
    rnd = random.Random(seed)
    held, ms, data = {}, 0, b''
    for _ in range(records):
        ms += rnd.randrange(40)
        addr = 0x20000000 + 0x48 * rnd.randrange(200)
        if addr in held:
            data += record(0xf0, addr, held.pop(addr), ms)
        else:
            held[addr] = rnd.randrange(1, 0x48)
            data += record(0xa0, addr, held[addr], ms)
    open(out, 'wb').write(data)
    with open(expected, 'w') as f:
        for addr in sorted(held):
            f.write('%08x %d\n' % (addr, held[addr]))


def errors(out):
    base = 0x20000000
    events = [(0xa0, 0, 1), (0xa0, 1, 0x42), (0xa0, 0, 1), (0xa0, 2, 0x7f),
              (0xf0, 9, 1), (0xa0, 3, 0x80), (0xa0, 4, 0xfe), (0xa0, 3, 0x81),
              (0xa0, 5, 0x0c), (0xf0, 5, 0x0c)]
    open(out, 'wb').write(b''.join(
        record(op, base + 64 * at, 16 + n, 100 + n, kind)
        for n, (op, at, kind) in enumerate(events)))


def trickle(fifo, seconds, how):
    ms, f = 0, None
    for n in range(int(float(seconds) * 10)):
        ms += 100
        f = f or open(fifo, 'wb', buffering=0)
        f.write(record(0xa0, 0x20000000 + 64 * n, 16, ms))
        if how == 'open':
            f.close()
            f = None
        time.sleep(0.1)


def damage(seed, sent, out):
    rnd = random.Random(seed)
    data = open(sent, 'rb').read()
    bad = bytearray()
    fresh = True
    for i in range(0, len(data), 16):
        r = data[i:i + 16]
        if not fresh or rnd.randrange(12):
            bad += r
            fresh = True
            continue
        fresh = False
        at, n = rnd.randrange(16), rnd.randrange(1, 16)
        noise = rnd.randbytes(rnd.randrange(1, 60))
        bad += [r[:at] + noise + r[at:], noise + r, r[:n], r + r,
                r[:n] + r][rnd.randrange(5)]
    open(out, 'wb').write(bad)


def pty(path, link, baud):
    data = open(path, 'rb').read()
    master, slave = os.openpty()
    before = termios.tcgetattr(slave)
    os.symlink(os.ttyname(slave), link)
    while not termios.tcgetattr(slave)[3] & termios.ICANON == 0:
        time.sleep(0.02)
    speed = termios.tcgetattr(slave)[5]
    begun = time.monotonic()
    for i in range(0, len(data), 64):
        os.write(master, data[i:i + 64])
        ahead = i * 10 / baud - (time.monotonic() - begun)
        if ahead > 0:
            time.sleep(ahead)
    # Read to the last byte, and then set back when its reader goes.
    signal.alarm(60)
    while termios.tcgetattr(slave)[3] & termios.ICANON == 0:
        time.sleep(0.02)
    print('speed', speed == termios.B115200)
    print('restored', termios.tcgetattr(slave)[:4] == before[:4])


def vanish(path, link, count):
    master, slave = os.openpty()
    tty.setraw(slave)
    os.symlink(os.ttyname(slave), link)
    while not os.path.exists(link + '.go'):
        time.sleep(0.02)
    os.write(master, open(path, 'rb').read(int(count)))
    while not os.path.exists(link + '.end'):
        time.sleep(0.02)


def check(sent, listed, size, held):
    data = open(sent, 'rb').read()
    known = {}
    for i in range(0, len(data), 16):
        addr, length, op = struct.unpack('>IHB', data[i:i + 7])
        if op == 0xa0:
            known.setdefault(addr, set()).add(length)
    d = json.load(open(listed))
    for b in d['blocks']:
        assert b['size'] in known[int(b['address'], 16)], b
    assert len(d['blocks']) > 20, len(d['blocks'])
    skipped = d['counts']['skipped_bytes']
    assert skipped > 0 and d['counts']['bad_records'] > 0
    assert d['complete'] is False
    left = int(size) - 16 * d['keeper']['records'] - skipped
    assert 0 <= left <= int(held), (d['keeper']['records'], skipped, size)


what, args = sys.argv[1], sys.argv[2:]
if what == 'make':
    make(int(args[0]), int(args[1]), args[2], args[3])
elif what == 'damage':
    damage(int(args[0]), args[1], args[2])
elif what == 'pty':
    pty(args[0], args[1], int(args[2]))
elif what == 'vanish':
    vanish(*args)
elif what == 'errors':
    errors(*args)
elif what == 'trickle':
    trickle(*args)
elif what == 'check':
    check(*args)
