"""Listings sent by hand, for tests of the node that stores them.

send SOCKET FILE TITLE      sends a file; prints the name that it was given, or
                            "refused: " and the node's sentence
many SOCKET N SALT          sends N that each differ; prints their names
check SOCKET NAMES...       fetches what `many` sent, and compares; the SALT is
                            what the file's name ends in
half SOCKET                 sends one and a half of two parts; prints the name
late SOCKET PATH SECONDS    the node as it is seen from far away: what comes to
                            PATH goes to it, and its answers back so much later
"""
import hashlib
import select
import socket
import sys
import time

from daemon import ERR, dial, frame, read_frame, say

LPUT, LACK, LGET, LGOT = 8, 9, 30, 31
PART, PIECE = 1 << 20, 61440


def meet(path):
    s = dial(path)
    say(s, frame({0: 0, 1: 1, 2: [1, 1], 3: "test", 4: 3}))
    assert read_frame(s)[0] == 1
    return s


def ask(s, m):
    say(s, frame(m))
    return read_frame(s)


def pieces(data):
    """Part, parts, offset, bytes, the part's size, its sum or None."""
    parts = max(1, (len(data) + PART - 1) // PART)
    for part in range(1, parts + 1):
        b = data[(part - 1) * PART:part * PART]
        at = 0
        # The first is short, as a page's is.
        step = 2048 if part == 1 else PIECE
        while True:
            piece = b[at:at + step]
            last = at + len(piece) == len(b)
            yield (part, parts, at, piece, len(b),
                   hashlib.sha256(b).digest() if last else None)
            at += len(piece)
            step = PIECE
            if last:
                break


def put(s, data, title, most=None):
    name = ""
    for n, (part, parts, at, piece, size, digest) in enumerate(pieces(data)):
        if n == most:
            break
        m = {0: LPUT, 1: n + 2, 3: title, 4: size, 5: part, 6: piece,
             8: parts, 9: at}
        if name:
            m[10] = name
        if digest:
            m[7] = digest
        got = ask(s, m)
        if got[0] == ERR:
            return None, got[3]
        assert got[0] == LACK, got
        name = got[4]
    return name, None


def content(salt, i):
    return f"listing {salt} {i}\n".encode() * (1 + i * 7)


def get(s, name):
    out, at = b"", 0
    while True:
        got = ask(s, {0: LGET, 1: 7, 5: 1, 7: PIECE, 9: at, 10: name})
        assert got[0] == LGOT, got
        out += got[6]
        at += len(got[6])
        if at == got[4]:
            return out


def late(path, near, seconds):
    s = socket.socket(socket.AF_UNIX)
    s.bind(near)
    s.listen(1)
    page, node = s.accept()[0], dial(path)
    while True:
        for ready in select.select([page, node], [], [])[0]:
            b = ready.recv(1 << 16)
            if not b:
                return
            if ready is node:
                time.sleep(seconds)
            (page if ready is node else node).sendall(b)


def main():
    verb, path, *rest = sys.argv[1:]
    if verb == "late":
        late(path, rest[0], float(rest[1]))
        return
    s = meet(path)
    if verb == "send":
        name, why = put(s, open(rest[0], "rb").read(), rest[1])
        print(name if name else f"refused: {why}")
        sys.exit(0 if name else 1)
    elif verb == "many":
        for i in range(int(rest[0])):
            name, why = put(s, content(rest[1], i), f"listing {i}")
            if not name:
                sys.exit(why)
            print(name)
    elif verb == "check":
        for file in rest:
            salt = file.rsplit(".", 1)[1]
            for i, name in enumerate(open(file)):
                assert get(s, name.strip()) == content(salt, i), (file, i)
    elif verb == "half":
        name, _ = put(s, bytes(2 * PART), "half", most=25)
        print(name)


main()
