"""A Chromium for all tests that need one; what a failed test leaves of its pages."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests import harness
from tests.browser import evidence
from tests.gate import folder_of

CHROMIUM = next(
    (
        path
        for name in (
            "chromium-headless-shell",  # less to start than a browser with windows
            "chromium",
            "chromium-browser",
            "google-chrome",
        )
        if (path := shutil.which(name))
    ),
    None,
)
BROWSER = pytest.StashKey()  # where the running tests find their Chromium
# What a browser of tests does not need: the lists of the address bar, two pages of a
# second's work for each window that opens; and, as the last such list counts, what
# Playwright switches off itself.
UNUSED = [
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(UNUSED)}",
]


def patience():
    """Milliseconds to wait for what a page is to show: a minute, and more where the
    machine is busy."""
    return 1000 * harness.patience(60, 4)


def pytest_collection_modifyitems(items):
    for item in items:
        if "chromium" in item.fixturenames:
            item.add_marker(pytest.mark.browser)


def pytest_runtest_setup(item):
    if BROWSER in item.config.stash:
        evidence.begin(item.config.stash[BROWSER])


def pytest_runtest_call():
    # the app of the test has started by now, which tells how busy it is
    expect.set_options(timeout=patience())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and BROWSER in item.config.stash:
        evidence.leave(
            item.config.stash[BROWSER], folder_of(item.nodeid, item.config.rootpath)
        )
    return report


@pytest.fixture(scope="session")
def chromium(request):
    if CHROMIUM is None:
        pytest.fail("the browser tests need Chromium: apt-get install chromium")
    expect.set_options(timeout=patience())
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        request.config.stash[BROWSER] = browser
        yield browser
        del request.config.stash[BROWSER]
        browser.close()


def counting(context):
    """A browser whose pages count what they have begun and not ended, for `idle`."""
    context.add_init_script(path=Path(__file__).parent / "browser" / "idle.js")
    return context
