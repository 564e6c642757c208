"""Response times of the pages in a real browser, against the bare computation of their content.

The first view of a page, from the request to the last chart; and a drag of the slider on a closed form at n = 50, from
the event to the redrawn charts.
"""

from __future__ import annotations

import os
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
from discreet.optimise.design.design import design
from discreet.plots import error, heatmap
from measure import FULL, Line, Scale

#: Targets in seconds.
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


#: Seconds after which a server that has not started is given up.
START_SECONDS = 60


@contextmanager
def opened() -> Iterator[tuple[Page, str]]:
    """Open a browser that was let in, and give its page and the address of the pages."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        log, link_file = Path(folder) / "log", Path(folder) / "link"
        with open(log, "wb") as file:
            server = subprocess.Popen(
                [sys.executable, "-m", "discreet.cli", "serve", f"{folder}/reports.db", "--port", "0", "--pages",
                 "--link-file", link_file],
                stdout=file, stderr=subprocess.STDOUT, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        try:
            end = time.monotonic() + START_SECONDS
            while not link_file.exists() or "startup complete" not in log.read_text():
                if server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the pages did not start: {log.read_text()}")
                time.sleep(0.1)
            link = link_file.read_text().strip()
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(link)
            page.get_by_role("navigation").wait_for()
            yield page, link.partition("/enter")[0]
            browser.close()
        finally:
            server.terminate()
            server.wait()


def lines(scale: Scale = FULL) -> Iterator[Line]:
    n, rounds, drags = scale.pick((50, 5, 12), (4, 1, 3))
    with opened() as (page, origin):
        views = []
        for _ in range(rounds):
            began = time.perf_counter()
            page.goto(f"{origin}/design?n={n}&epsilon=1")
            for place in page.locator("[data-chart]").all():
                place.locator("canvas").wait_for(state="attached")
            views.append(time.perf_counter() - began)
        taken = [one / 1000 for one in page.evaluate(_DRAG, drags)][2:]
    began = time.perf_counter()
    for k in range(10):
        mechanism = design(n, epsilon=f"1.{k + 1}")
        check(mechanism)
        heatmap(mechanism)
        error({"this design": mechanism})
    bare = (time.perf_counter() - began) / 10
    view, drag = statistics.median(views), statistics.median(taken)
    for what, took, target in (
        (f"first view of a design, n = {n}", view, FIRST_VIEW),
        (f"a drag on a closed form, n = {n}", drag, DRAG),
    ):
        ours, theirs = f"{took * 1000:.0f} ms", f"{bare * 1000:.0f} ms, bare"
        yield Line(what, ours, theirs, took / bare, f"<= {target * 1000:g} ms", took <= target)
