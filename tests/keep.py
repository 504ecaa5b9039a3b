"""What `make page` runs: the page of the tests, until it is interrupted."""

import pytest


@pytest.mark.timeout(0)
def test_the_page_is_kept(served):
    print(
        f"""
    The page is kept at {served.address}. For a file of journeys that should not start their own:

        TEST_SERVER={served.address} .venv/bin/python -m pytest tests/browser/test_page.py
""",
        flush=True,
    )
    served.process.wait()
