"""What is true of listings of tests/targets/parade.

listing.py moment BLOCKS FILE...    each is the list after one record, and their
                                    numbers differ by as many as they should
listing.py rows FILE                the rows of one, or of `pagek list`, without ages
"""
import sys

SIZES = 509


def number(text):
    return int(text.replace(",", ""))


def read(path):
    lines = open(path).read().split("\n")
    blank = lines.index("")
    head = {}
    for line in lines[1:blank]:
        head[line[:9].strip()] = line[10:]
    assert lines[0] == "K MEMORY BLOCKS", lines[0]
    assert lines[blank + 1].startswith("ADDRESS "), lines[blank + 1]
    assert lines[-1] == "", "it does not end in a newline"
    return head, lines[blank + 2:-1]


def moment(path, blocks):
    head, rows = read(path)
    assert head["list"] == "whole", head
    assert head["complete"] == "yes" and head["lost"] == "0", head
    assert head["order"] == "age, oldest first", head
    assert number(head["blocks"]) == len(rows), (head, len(rows))
    sizes = [number(r.split()[1]) - 16 for r in rows]
    assert number(head["bytes"]) == sum(sizes) + 16 * len(sizes), head
    # Older ones are the program's own from before it began.
    n = 1
    while n < len(sizes) and sizes[-n - 1] == (sizes[-n] - 1) % SIZES:
        n += 1
    assert n in (blocks, blocks - 1), "%d of %d in a row" % (n, blocks)
    record = number(head["as of"].split()[1])
    return record - (n == blocks - 1), sizes[-1]


def main():
    if sys.argv[1] == "rows":
        lines = open(sys.argv[2]).read().split("\n")
        while not lines[0].startswith("ADDRESS "):
            lines.pop(0)
        for row in lines:
            print(row[:60] + row[65:])
        return
    blocks = int(sys.argv[2])
    found = [moment(path, blocks) for path in sys.argv[3:]]
    for (a, x), (b, y) in zip(found, found[1:]):
        assert b > a and (b - a) % 2 == 0, (a, b)
        assert (b - a) // 2 % SIZES == (y - x) % SIZES, (a, x, b, y)


main()
