#!/usr/bin/env python3
"""Lines with a terminal's attributes, as `tmux capture-pane -pe` has them, as
an SVG: pictures.py COLUMNS ROWS <LINES >SVG.

Each run of cells that look alike is one text element of a given length, so
that columns stay where they are in any font."""
import html
import re
import sys
import unicodedata

CELL_W, CELL_H, PAD = 8, 17, 8
GROUND, INK = "#1c1c1c", "#d0d0d0"
BASE = ["#000000", "#d75f5f", "#5faf5f", "#d7af5f", "#5f87d7", "#af5faf",
        "#5fafaf", "#d0d0d0"]


def colour(n):
    """Of the 256: the base, the cube, the greys."""
    if n < 16:
        return BASE[n % 8]
    if n < 232:
        n -= 16
        return "#%02x%02x%02x" % tuple(
            0 if v == 0 else 55 + 40 * v for v in (n // 36, n // 6 % 6, n % 6))
    return "#%02x%02x%02x" % ((8 + 10 * (n - 232),) * 3)


class Look:
    """What the next cells look like."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.bold = self.dim = self.reverse = False
        self.ink = self.ground = None

    def take(self, codes):
        codes = [int(c or 0) for c in codes.split(";")]
        while codes:
            c = codes.pop(0)
            if c == 0:
                self.reset()
            elif c == 1:
                self.bold = True
            elif c == 2:
                self.dim = True
            elif c == 7:
                self.reverse = True
            elif c == 22:
                self.bold = self.dim = False
            elif c == 27:
                self.reverse = False
            elif c in (38, 48) and codes[:1] == [5]:
                name = "ink" if c == 38 else "ground"
                setattr(self, name, colour(codes[1]))
                codes = codes[2:]
            elif 30 <= c <= 37:
                self.ink = BASE[c - 30]
            elif 40 <= c <= 47:
                self.ground = BASE[c - 40]
            elif c == 39:
                self.ink = None
            elif c == 49:
                self.ground = None

    def key(self):
        ink, ground = self.ink or INK, self.ground or GROUND
        if self.reverse:
            ink, ground = ground, ink
        return ink, ground, self.bold, self.dim


def runs(line):
    """(column, columns, text, look) of all that is not blank."""
    look, col, out = Look(), 0, []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            look.take(part[2:-1])
        elif part:
            wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1
                       for c in part)
            out.append((col, wide, part, look.key()))
            col += wide
    return out


def draw(row, run):
    col, cols, text, (ink, ground, bold, dim) = run
    x, y = PAD + col * CELL_W, PAD + row * CELL_H
    if ground != GROUND:
        yield (f'<rect x="{x}" y="{y}" width="{cols * CELL_W}" '
               f'height="{CELL_H}" fill="{ground}"/>')
    bare = text.rstrip()
    lead = len(bare) - len(bare.lstrip())
    bare = bare.lstrip()
    if not bare:
        return
    cols -= lead + len(text) - lead - len(bare)
    style = ' font-weight="bold"' if bold else ""
    style += ' fill-opacity="0.55"' if dim else ""
    yield (f'<text x="{x + lead * CELL_W}" y="{y + 13}" fill="{ink}"{style} '
           f'textLength="{cols * CELL_W}" xml:space="preserve">'
           f'{html.escape(bare)}</text>')


def main():
    cols, rows = int(sys.argv[1]), int(sys.argv[2])
    width, height = cols * CELL_W + 2 * PAD, rows * CELL_H + 2 * PAD
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
          f'height="{height}" viewBox="0 0 {width} {height}" '
          f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
          f'font-size="13">')
    print(f'<rect width="{width}" height="{height}" fill="{GROUND}"/>')
    for row, line in enumerate(sys.stdin.read().split("\n")[:rows]):
        for run in runs(line):
            print("\n".join(draw(row, run)) or "", end="\n" if run else "")
    print("</svg>")


main()
