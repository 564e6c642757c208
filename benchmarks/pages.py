"""How long the pages take in a real browser, beside the bare computation of what they show.

The first view of a page, from the request to the last chart; and a drag of the slider on a closed form at n = 50, from
the event to the redrawn charts.

    python benchmarks/pages.py            # the table of this file alone
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from discreet.checking import check
from discreet.optimise.design.designing import design
from discreet.plots import error, heatmap
from measure import Line

#: The largest count of the design that is dragged, and how often.
LARGEST, DRAGS = 50, 12

#: Wanted: the first view in so many seconds, a drag in so many.
FIRST_VIEW, DRAG = 1.0, 0.1

#: Moves the slider, and waits until both charts are drawn again.
_DRAG = """async (steps) => {
  const slider = document.getElementById("epsilon-slider"), taken = [];
  for (let k = 0; k < steps; k++) {
    const began = performance.now();
    let left = 2;
    const drawn = new Promise((done) => {
      const count = () => { if (--left === 0) { document.removeEventListener("drawn", count); done(); } };
      document.addEventListener("drawn", count);
    });
    slider.value = String(-0.5 + 0.04 * k);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn;
    taken.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, 150));
  }
  return taken;
}"""


@contextmanager
def opened() -> Iterator[tuple[Page, str]]:
    """A browser that was let in, and the address of the pages."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        log = Path(folder) / "log"
        with open(log, "wb") as file:
            server = subprocess.Popen(
                [sys.executable, "-m", "discreet.cli", "serve", f"{folder}/reports.db", "--port", "0", "--pages"],
                stdout=file, stderr=subprocess.STDOUT, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        try:
            link = ""
            while not link or "startup complete" not in log.read_text():
                time.sleep(0.1)
                link = (re.findall(r"^pages\s+(\S+)$", log.read_text(), flags=re.MULTILINE) or [""])[0]
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(link)
            page.get_by_role("navigation").wait_for()
            yield page, link.partition("/enter")[0]
            browser.close()
        finally:
            server.terminate()
            server.wait()


def lines() -> list[Line]:
    """The lines of the table."""
    with opened() as (page, origin):
        views = []
        for _ in range(5):
            began = time.perf_counter()
            page.goto(f"{origin}/design?n={LARGEST}&epsilon=1")
            for place in page.locator("[data-chart]").all():
                place.locator("canvas").wait_for(state="attached")
            views.append(time.perf_counter() - began)
        taken = [one / 1000 for one in page.evaluate(_DRAG, DRAGS)][2:]
    began = time.perf_counter()
    for k in range(10):
        mechanism = design(LARGEST, epsilon=f"1.{k + 1}")
        check(mechanism)
        heatmap(mechanism)
        error({"this design": mechanism})
    bare = (time.perf_counter() - began) / 10
    view, drag = statistics.median(views), statistics.median(taken)
    return [
        Line(f"first view of a design, n = {LARGEST}", f"{view:.2f} s", f"{bare * 1000:.0f} ms, bare", view / bare,
             f"within {FIRST_VIEW:g} s", view <= FIRST_VIEW),
        Line(f"a drag on a closed form, n = {LARGEST}", f"{drag * 1000:.0f} ms", f"{bare * 1000:.0f} ms, bare",
             drag / bare, f"within {DRAG * 1000:.0f} ms", drag <= DRAG),
    ]  # fmt: skip


if __name__ == "__main__":
    for line in lines():
        print(f"{line.what:50} {line.ours:>16} {line.theirs:>16} {line.ratio:8.3f} {line.wanted:>14} {line.holds}")
