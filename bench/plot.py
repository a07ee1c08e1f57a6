"""Plots as SVG, with nothing but text: readable on light and on dark paper.

A picture is panels below each other; a panel has two axes and series.  An axis
is logarithmic, by decades, unless its values forbid it.

    write("growth.svg", [Panel("Block list", "live blocks", "events per second",
        [Series("mix", [(10, 1e8), (1000, 6e7)])])])
"""
import collections
import math
from xml.sax.saxutils import escape

Panel = collections.namedtuple("Panel", "title x y series ticks", defaults=(None,))
Series = collections.namedtuple("Series", "name points")

WIDTH, HEIGHT = 760, 330			# of a panel
LEFT, RIGHT, TOP, BOTTOM = 78, 170, 40, 52
MARKS = ("circle", "square", "diamond", "triangle", "ring")

# Colours that stand apart on white and on black, and for the colour-blind; the
# marks tell the series apart where there is no colour.
STYLE = """
svg { background: #ffffff; font: 13px sans-serif; }
text { fill: #24292f; } .title { font-size: 15px; font-weight: bold; }
.axis { stroke: #57606a; fill: none; } .grid { stroke: #d0d7de; stroke-width: 0.7; }
.line { fill: none; stroke-width: 2; }
.s0 { stroke: #0969da; } .s1 { stroke: #bc4c00; } .s2 { stroke: #1a7f37; } .s3 { stroke: #8250df; } .s4 { stroke: #57606a; }
.f0 { fill: #0969da; } .f1 { fill: #bc4c00; } .f2 { fill: #1a7f37; } .f3 { fill: #8250df; } .f4 { fill: #57606a; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; } text { fill: #e6edf3; } .axis { stroke: #9198a1; } .grid { stroke: #30363d; }
.s0 { stroke: #58a6ff; } .s1 { stroke: #f0883e; } .s2 { stroke: #3fb950; } .s3 { stroke: #bc8cff; } .s4 { stroke: #9198a1; }
.f0 { fill: #58a6ff; } .f1 { fill: #f0883e; } .f2 { fill: #3fb950; } .f3 { fill: #bc8cff; } .f4 { fill: #9198a1; }
}
"""


def short(v):
    """1k, 10M, 0.5"""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(v) >= limit:
            return "%g%s" % (round(v / limit, 3), unit)
    return "%g" % round(v, 6)


class Axis:
    """Values to a span of the picture, and where its ticks are."""

    def __init__(self, values, begin, end, ticks=None):
        self.begin, self.end = begin, end
        self.log = min(values) > 0
        self.low, self.high = (self.decades if self.log else self.even)(min(values), max(values))
        if ticks:
            self.low, self.high = ticks[0], ticks[-1]
        self.ticks = ticks or self.usual()

    @staticmethod
    def decades(low, high):
        """Whole decades, or the nearest 1, 2, 5 where that is all there is."""
        a, b = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return 10.0 ** a, 10.0 ** max(b, a + 1)

    @staticmethod
    def even(low, high):
        step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
        return math.floor(low / step) * step, math.ceil(high / step) * step

    def usual(self):
        if not self.log:
            return [self.low + (self.high - self.low) * i / 5 for i in range(6)]
        ticks = [10.0 ** e for e in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]
        return ticks if len(ticks) > 3 else sorted(t * k for t in ticks for k in (1, 2, 5) if t * k <= self.high)

    def at(self, v):
        scale = math.log if self.log else float
        part = (scale(v) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.begin + part * (self.end - self.begin)


def mark(k, x, y):
    kind = MARKS[k % len(MARKS)]
    if kind == "circle":
        return '<circle class="f%d" cx="%.1f" cy="%.1f" r="3.5"/>' % (k, x, y)
    if kind == "ring":
        return '<circle class="s%d" fill="none" cx="%.1f" cy="%.1f" r="3.5"/>' % (k, x, y)
    corners = {"square": ((-3, -3), (3, -3), (3, 3), (-3, 3)), "diamond": ((0, -5), (5, 0), (0, 5), (-5, 0)),
               "triangle": ((0, -4.5), (4.5, 3.5), (-4.5, 3.5))}[kind]
    return '<polygon class="f%d" points="%s"/>' % (k, " ".join("%.1f,%.1f" % (x + dx, y + dy) for dx, dy in corners))


def axes(panel, x, y):
    out = []
    for t in x.ticks:
        out.append('<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>' % (x.at(t), y.begin, x.at(t), y.end))
        out.append('<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>' % (x.at(t), y.begin + 18, short(t)))
    for t in y.ticks:
        out.append('<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>' % (x.begin, y.at(t), x.end, y.at(t)))
        out.append('<text x="%.1f" y="%.1f" text-anchor="end">%s</text>' % (x.begin - 8, y.at(t) + 4, short(t)))
    out.append('<path class="axis" d="M%.1f %.1fV%.1fH%.1f"/>' % (x.begin, y.end, y.begin, x.end))
    out.append('<text class="title" x="%.1f" y="%.1f">%s</text>' % (x.begin, y.end - 16, escape(panel.title)))
    out.append('<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>' % (
        (x.begin + x.end) / 2, y.begin + 40, escape(panel.x)))
    out.append('<text transform="translate(18 %.1f) rotate(-90)" text-anchor="middle">%s</text>' % (
        (y.begin + y.end) / 2, escape(panel.y)))
    return out


def draw(panel, top):
    points = [p for s in panel.series for p in s.points]
    x = Axis([p[0] for p in points], LEFT, WIDTH - RIGHT, panel.ticks)
    y = Axis([p[1] for p in points], top + HEIGHT - BOTTOM, top + TOP)
    out = axes(panel, x, y)
    for k, s in enumerate(panel.series):
        way = [(x.at(a), y.at(b)) for a, b in s.points]
        out.append('<polyline class="line s%d" points="%s"/>' % (k, " ".join("%.1f,%.1f" % p for p in way)))
        out += [mark(k, *p) for p in way]
        key = top + TOP + 12 + 20 * k
        out.append(mark(k, WIDTH - RIGHT + 18, key - 4))
        out.append('<text x="%d" y="%d">%s</text>' % (WIDTH - RIGHT + 30, key, escape(s.name)))
    return out


def write(path, panels):
    """Panels without a point are left out; says whether there was a picture."""
    panels = [p._replace(series=[s for s in p.series if s.points]) for p in panels]
    panels = [p for p in panels if p.series]
    if not panels:
        return False
    height = HEIGHT * len(panels)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">' % (
        WIDTH, height, WIDTH, height), "<title>%s</title>" % escape("; ".join(p.title for p in panels)),
        "<style>%s</style>" % STYLE]
    for i, panel in enumerate(panels):
        out += draw(panel, i * HEIGHT)
    with open(path, "w") as f:
        f.write("\n".join(out + ["</svg>"]) + "\n")
    return True
