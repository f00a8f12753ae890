#!/usr/bin/env python3
"""Draws what event_loop and qt_event_loop print: sizes, lifetimes, and pages in use over time.

usage: event_loop | plot.py FILE.svg"""

import sys

WIDTH, HEIGHT, LEFT, BOTTOM = 360, 220, 50, 46


def human(value, unit):
    if unit == "ns":
        for limit, factor, name in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (1e99, 1e9, "s")):
            if value < limit:
                return f"{value / factor:.0f} {name}"
    return f"{value:.0f}"


def text(x, y, words, anchor="middle", size=10):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def bars(rows, title, unit):
    yield text(WIDTH / 2, 14, title, size=12)
    if not rows:
        return
    most = max(count for _, _, count in rows)
    width = (WIDTH - LEFT - 10) / len(rows)
    for i, (low, _, count) in enumerate(rows):
        height = (HEIGHT - BOTTOM - 30) * count / most
        x, y = LEFT + i * width, HEIGHT - BOTTOM - height
        yield f'<rect x="{x + 1:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{height:.1f}" fill="#4878a8"/>'
        if len(rows) <= 12 or i % 2 == 0:
            yield text(x, HEIGHT - BOTTOM + 14, human(low, unit))
    yield text(LEFT - 4, 34, f"{most:,}", "end")
    yield text(LEFT - 4, HEIGHT - BOTTOM, "0", "end")


def lines(rows, title):
    yield text(WIDTH / 2, 14, title, size=12)
    if not rows:
        return
    end = max(time for time, _, _ in rows) or 1
    for column, colour, name, y in ((1, "#c05030", "pages", 34), (2, "#4878a8", "chunks", 48)):
        most = max(row[column] for row in rows) or 1
        points = " ".join(f"{LEFT + (WIDTH - LEFT - 10) * row[0] / end:.1f},"
                          f"{HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 60) * row[column] / most:.1f}" for row in rows)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        yield f'<g fill="{colour}">' + text(WIDTH - 10, y, f"{name}, at most {most:,}", "end") + "</g>"
    yield text(LEFT, HEIGHT - BOTTOM + 14, "0 s", "start")
    yield text(WIDTH - 10, HEIGHT - BOTTOM + 14, f"{end / 1e6:.2f} s", "end")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: event_loop | plot.py FILE.svg")
    rows = {"chunk_bytes": [], "size_bytes": [], "lifetime_ns": [], "pages": []}
    for number, line in enumerate(sys.stdin, 1):
        words = line.split()
        try:
            what, values = words[0], tuple(int(word) for word in words[1:4])
        except (IndexError, ValueError):
            sys.exit(f"plot.py: line {number} is not what an event loop prints: {line.strip()}")
        if what in rows and len(values) == 3:
            rows[what].append(values)
    chunks = rows["chunk_bytes"]  # says it more finely
    panels = [bars(chunks, "chunks, of bytes", "") if chunks else bars(rows["size_bytes"], "sizes, bytes from", ""),
              bars(rows["lifetime_ns"], "lifetimes, from", "ns"),
              lines(rows["pages"], "in use over time")]
    with open(sys.argv[1], "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{3 * WIDTH}" height="{HEIGHT}" font-family="sans-serif">\n'
                  f'<rect width="100%" height="100%" fill="white"/>\n')
        for i, panel in enumerate(panels):
            out.write(f'<g transform="translate({i * WIDTH},0)">\n' + "\n".join(panel) + "\n</g>\n")
        out.write("</svg>\n")


if __name__ == "__main__":
    main()
