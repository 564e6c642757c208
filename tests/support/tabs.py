"""A page of a browser, with everything that left it and everything it complained of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, Request

#: Replaces the browser's generator by a seeded one, and keeps what it gave.
SEEDED = """
(() => {
  let state = SEED;
  globalThis.reseed = (seed) => { state = seed; };
  globalThis.given = [];
  Object.defineProperty(Crypto.prototype, "getRandomValues", { value: (array) => {
    for (let k = 0; k < array.length; k++) {
      state = (state + 0x6D2B79F5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      array[k] = ((t ^ (t >>> 14)) >>> 0) & 255;
    }
    globalThis.given.push(Array.from(array));
    return array;
  }});
})();
"""


def wait_for_either(page: Page, name: str) -> None:
    """Wait until a part of the page is shown, or a refusal (without eval, which the policy forbids)."""
    page.locator(f"#{name}:not([hidden]), #alert:not(:empty)").first.wait_for(state="attached")


@dataclass(eq=False)
class Tab:
    """A page of the browser, with everything that left it and everything it complained of."""

    page: Page
    requests: list[Request] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def sent(self) -> list[Request]:
        """Requests that carry something."""
        return [one for one in self.requests if one.method != "GET"]

    def agree(self, mechanism: str | None = None) -> None:
        """Choose the protection and agree."""
        if mechanism is not None:
            self.page.get_by_role("radio", name=mechanism).check()
        self.page.get_by_role("button", name="I agree").click()

    def send(self) -> str:
        """Send what was entered; gives what the page says then."""
        self.page.get_by_role("button", name="Draw the report").click()
        wait_for_either(self.page, "kept")
        return self.page.locator("#status").inner_text()


def open_page(browser: Browser, url: str, seed: int | None = None, **options: Any) -> Tab:
    """Open a page in a browser that remembers nothing, with a seeded generator or its own."""
    context = browser.new_context(**options)
    if seed is not None:
        context.add_init_script(SEEDED.replace("SEED", str(seed)))
    tab = Tab(context.new_page())
    tab.page.on("request", lambda request: tab.requests.append(request))
    tab.page.on("console", lambda message: tab.complaints.append(message.text))
    tab.page.on("pageerror", lambda problem: tab.complaints.append(str(problem)))

    def dismiss(dialog: Dialog) -> None:
        tab.complaints.append(dialog.message)
        dialog.dismiss()

    tab.page.on("dialog", dismiss)
    tab.page.goto(url)
    wait_for_either(tab.page, "agree")
    return tab
