"""Where pytest finds the fixtures of all tests: those in tests/, and those beside the
parts of the page."""

pytest_plugins = ["tests.chromium", "tests.fixtures", "tests.bench_fixtures"]
