"""A page by hand, for tests of the node's limits.

hello SOCKET                one HELLO; prints what was answered
many N SOCKET               N connections at once; prints how many were
                            welcomed, refused politely, and neither
mute N SOCKET               asks N times and reads nothing; prints what the
                            node did about it
crowd N SOCKET              N targets that never say hello, and come again when
                            they are sent away; until its input ends
pass PAGES TARGETS COMMAND  runs the command with two listening sockets, as
                            systemd does
"""
import os
import select
import socket
import struct
import sys

WELCOME, ERR = 1, 12


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for size, more in ((1, 24), (2, 25), (4, 26)):
        if n < 1 << 8 * size:
            return bytes([major << 5 | more]) + n.to_bytes(size, "big")
    raise ValueError(n)


def encode(v):
    if isinstance(v, bool):
        return bytes([7 << 5 | (21 if v else 20)])
    if isinstance(v, int):
        return head(0, v)
    if isinstance(v, bytes):
        return head(2, len(v)) + v
    if isinstance(v, str):
        return head(3, len(v.encode())) + v.encode()
    if isinstance(v, list):
        return head(4, len(v)) + b"".join(map(encode, v))
    return head(5, len(v)) + b"".join(
        encode(k) + encode(x) for k, x in v.items())


def decode(b, at=0):
    major, n = b[at] >> 5, b[at] & 31
    at += 1
    if major == 7:
        return {20: False, 21: True, 22: None}[n], at
    if n >= 24:
        size = 1 << n - 24
        n, at = int.from_bytes(b[at:at + size], "big"), at + size
    if major < 2:
        return (n if major == 0 else -1 - n), at
    if major < 4:
        return (b[at:at + n] if major == 2 else
                b[at:at + n].decode()), at + n
    items = []
    for _ in range(n * (major - 3)):
        v, at = decode(b, at)
        items.append(v)
    if major == 5:
        return dict(zip(items[::2], items[1::2])), at
    return items, at


def frame(m):
    b = encode(m)
    return struct.pack(">I", len(b)) + b


HELLO = frame({0: 0, 1: 1, 2: [1, 1], 3: "test", 4: 1})


def read_frame(s):
    b = b""
    while len(b) < 4 or len(b) < 4 + int.from_bytes(b[:4], "big"):
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            return None
        b += more
    return decode(b, 4)[0]


def dial(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(60)
    s.connect(path)
    return s


def say(s, b):
    try:
        s.sendall(b)
    except BrokenPipeError:
        pass        # its last word is still to be read


def hello(path):
    s = dial(path)
    say(s, HELLO)
    m = read_frame(s)
    if m and m[0] == ERR:
        print("ERR", m[2], m[3])
    else:
        print("WELCOME", m[7]) if m else print("closed")


def many(n, path):
    open_ones = []
    welcomed = refused = neither = 0
    for _ in range(n):
        s = dial(path)
        say(s, HELLO)
        open_ones.append(s)
    for s in open_ones:
        m = read_frame(s)
        if m and m[0] == WELCOME:
            welcomed += 1
        elif m and m[0] == ERR and m[2] == 6 and m[3]:
            refused += 1
        else:
            neither += 1
    print(welcomed, refused, neither)


def mute(n, path):
    s = dial(path)
    say(s, HELLO)
    if read_frame(s)[0] != WELCOME:
        sys.exit("not welcomed")
    s.setblocking(False)
    ask = frame({0: 15, 1: 2, 4: 0})
    sent = 0
    while sent < n:
        if not select.select([], [s], [], 1)[1]:
            print("waits", sent)
            break
        try:
            sent += s.send(ask) // len(ask)
        except BrokenPipeError:
            print("closed", sent)
            break
    sys.stdout.flush()
    sys.stdin.read()


def crowd(n, path):
    def silent():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(path)
        poll.register(s, select.POLLIN)
        return s

    poll = select.poll()
    poll.register(0, select.POLLIN)
    there = {s.fileno(): s for s in (silent() for _ in range(n))}
    print("there")
    sys.stdout.flush()
    while True:
        for fd, _ in poll.poll():
            if fd == 0:
                return
            poll.unregister(fd)
            there.pop(fd).close()
            s = silent()
            there[s.fileno()] = s


def pass_on(pages, targets, command):
    kinds = ((pages, socket.SOCK_STREAM), (targets, socket.SOCK_SEQPACKET))
    keep = []
    for fd, (path, kind) in enumerate(kinds, 3):
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(path)
        s.listen(64)
        keep.append(s)
    fds = [os.dup2(os.dup(s.fileno()), 20 + i) for i, s in enumerate(keep)]
    for i, fd in enumerate(fds):
        os.dup2(fd, 3 + i, inheritable=True)
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2")
    os.execv(command[0], command)


if __name__ == "__main__":
    what, rest = sys.argv[1], sys.argv[2:]
    if what == "hello":
        hello(rest[0])
    elif what == "many":
        many(int(rest[0]), rest[1])
    elif what == "mute":
        mute(int(rest[0]), rest[1])
    elif what == "crowd":
        crowd(int(rest[0]), rest[1])
    elif what == "pass":
        pass_on(rest[0], rest[1], rest[2:])
