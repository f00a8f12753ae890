"""An event loop's example frees what it allocated, its histograms hold every event, and plot.py draws them.

usage: event_loop_test.py PROGRAM [ARGUMENT...]"""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PLOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plot.py")


def main():
    rows = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE, text=True, timeout=600).stdout
    counts, pages = {}, []
    for line in rows.splitlines():
        what, *numbers = line.split()
        first, second, third = map(int, numbers)
        if what == "pages":
            pages.append(second)
        elif what == "total":
            allocated, freed = first, second
        else:
            counts[what] = counts.get(what, 0) + third
    assert allocated > 1000, allocated
    assert freed == allocated, (freed, allocated)
    assert {"size_bytes", "lifetime_ns"} <= counts.keys() and set(counts.values()) == {allocated}, (counts, allocated)
    assert len(pages) > 1 and max(pages) >= 1, pages

    with tempfile.TemporaryDirectory() as folder:
        drawing = os.path.join(folder, "events.svg")
        subprocess.run([sys.executable, "-B", PLOT, drawing], check=True, input=rows, text=True)
        drawn = xml.etree.ElementTree.parse(drawing).getroot()
        panels = drawn.findall("{*}g")
        assert len(panels) == 3 and len(panels[2].findall("{*}polyline")) == 2, panels
        assert all(panel.findall("{*}rect") for panel in panels[:2]), "no bars"


if __name__ == "__main__":
    main()
