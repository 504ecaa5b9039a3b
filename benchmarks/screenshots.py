"""`make screenshots`: take the README's pictures of the page again, from the models
that ship, and write to assets/."""

from __future__ import annotations

from playwright.sync_api import sync_playwright

from benchmarks.pictures import PATIENCE, served
from tests.browser.acts import PICTURES, wait_until_settled
from tests.chromium import CHROMIUM, FLAGS
from tests.harness import ROOT

SIZE = {"width": 1280, "height": 800}
# By file: the address, and what tells that the picture is there.
SHOTS = {
    "page.png": ("/?whole_step=9", ".whole-pass svg"),
    "attention.png": ("/?tab=attention", PICTURES["attention"]),
}


def main() -> None:
    with served(ROOT / "checkpoints" / "en-es") as address, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, (path, there) in SHOTS.items():
            page = browser.new_context(
                viewport=SIZE, reduced_motion="reduce"
            ).new_page()
            page.set_default_timeout(1000 * PATIENCE)
            page.goto(address + path)
            wait_until_settled(page)
            page.locator(there).filter(visible=True).first.wait_for()
            page.evaluate("() => document.activeElement.blur()")
            page.screenshot(path=ROOT / "assets" / name)
            page.context.close()
            print(f"assets/{name}: {(ROOT / 'assets' / name).stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
