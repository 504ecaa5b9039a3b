#!/usr/bin/env bash
# Style, types and the quick tests on every Python of these versions that is on the path or among pyenv's, each in an
# environment of its own, as .venv-3.12; a line for each at the end. What pip reads (PIP_EXTRA_INDEX_URL, PIP_CONSTRAINT)
# counts here too.
set -uo pipefail
cd "$(dirname "$0")/.."

said=() status=0
for version in 3.10 3.11 3.12 3.13 3.14; do
    bin=.venv-$version/bin
    for python in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python ""; do
        [ -z "$python" ] || "$python" -c "import ensurepip, sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null && break
    done
    if [ -z "$python" ]; then
        said+=("$version: not on this machine, or without venv")
        continue
    fi
    echo "Python $version"
    failed=
    for step in \
        "$python -m venv .venv-$version" \
        "$bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt" \
        "$bin/ruff check ." \
        "$bin/mypy --python-version $version" \
        "$bin/python -m pytest -n 2 --dist loadfile -m 'not browser and not server and not slow and not full and not night'"; do
        eval "$step" || { failed=$step status=1; break; }
    done
    said+=("$version: ${failed:+failed: }${failed:-all passed}")
done
printf '%s\n' "${said[@]}"
exit $status
