# Each target makes what it needs in .venv first. PYTHON=python3.12 chooses another interpreter.
PYTHON ?= python3
BIN = .venv/bin
PIP = $(BIN)/pip install --quiet --disable-pip-version-check --no-compile  # what is never imported is not compiled
CHROMIUM ?= $(shell command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome)
HAPROXY ?= $(shell PATH=$$PATH:/usr/sbin command -v haproxy)
SCRIPTS = $(wildcard assets/*.js assets/*.html assets/html/*.html xformer/parts/*/*.js xformer/parts/*/*.html tests/*/*.js benchmarks/*.js)

# Three processes, so that two cores have no rest; the tests of a file share its servers and pages.
IN_THREE = -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: demo test full night quick page pythons bench weight screenshots lint style clean
demo: .venv/app
	$(BIN)/python app.py

# What every change passes, with the types looked through beside it; a journey that fails is tried once more.
test: .venv/dev .venv/chromium style
	$(BIN)/python -m tests.gate --beside $(BIN)/mypy $(IN_THREE)

# All of that, and what trains or searches for long, packs the project, floods it or plays lessons to their end.
full: .venv/dev .venv/chromium .venv/haproxy style
	$(BIN)/python -m tests.gate --beside $(BIN)/mypy $(IN_THREE) -m "not night"

# What need not be known before the next morning, and whether ten thousand requests leave memory, threads or files behind.
night: .venv/dev .venv/chromium .venv/haproxy
	$(BIN)/python -m pytest $(IN_THREE) -m night
	$(BIN)/python -m benchmarks --only soak

# After each change: style, and the tests that concern what has changed since the last commit, but for the slow ones.
quick: .venv/dev style
	$(BIN)/python -m tests.quick $(IN_THREE)

# The page of the tests, kept for a file of journeys: TEST_SERVER=<its address> .venv/bin/python -m pytest <the file>
page: .venv/dev
	$(BIN)/python -m pytest -s tests/keep.py

# Style, types and the quick tests on each Python that is here, in .venv-3.10 to .venv-3.14.
pythons:
	tests/pythons.sh

lint: style
	$(BIN)/mypy

style: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/oxlint assets benchmarks tests xformer
	@if LC_ALL=C.UTF-8 grep -nE '.{121}' $(SCRIPTS); then echo "Lines longer than 120 characters"; exit 1; fi

bench: .venv/bench .venv/chromium
	$(BIN)/python -m benchmarks

# What each part of the page weighs: nodes of syntax, bytes, texts, seconds of tests.
weight: .venv/dev
	$(BIN)/python -m benchmarks.weight

# The README's pictures of the page, taken again into assets/.
screenshots: .venv/dev .venv/chromium
	$(BIN)/python -m benchmarks.screenshots

.venv/python:
	@$(PYTHON) -m venv --help >/dev/null 2>&1 && $(PYTHON) -c 'import ensurepip' 2>/dev/null || \
		{ echo "Python's venv is missing; installing it"; $(call install,python3-venv); }
	$(PYTHON) -m venv .venv
	touch $@

.venv/app: requirements.txt | .venv/python
	$(PIP) -r requirements.txt
	touch $@

.venv/dev: requirements-dev.txt requirements.txt | .venv/python
	$(PIP) -r requirements-dev.txt
	touch $@ .venv/app

.venv/bench: requirements-bench.txt .venv/dev
	$(PIP) -r requirements-bench.txt
	touch $@

# The browser tests need a Chromium; Debian has one without windows, which does a fifth less for the same tests, and where it
# is not, another. As root it is installed, else the command to do it is said.
.venv/chromium: | .venv/python
	@if [ -z "$(CHROMIUM)" ]; then ($(call install,chromium-headless-shell)) || ($(call install,chromium)); fi
	touch $@

# Some tests run copies of the page behind a proxy; they are skipped where that cannot be installed.
.venv/haproxy: | .venv/python
	@if [ -z "$(HAPROXY)" ] && [ "$$(id -u)" = 0 ]; then ($(call install,haproxy)) || true; fi
	touch $@

clean:
	rm -rf .venv .venv-3.*

install = if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq $(1) >/dev/null; \
	elif command -v sudo >/dev/null; then sudo apt-get update -qq && sudo apt-get install -y -qq $(1) >/dev/null; \
	else echo "Install it first: apt-get install $(1)"; exit 1; fi
