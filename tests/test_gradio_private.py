"""What rests on private parts of Gradio stands in one file, and was tried on the installed version."""

import re
from pathlib import Path

import gradio
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import xformer.ui
from tests.harness import ROOT
from xformer.ui import gradio_private

PRIVATE = re.compile(r"LocalContext|\._queue|state_holder|_api_info|get_function_description|session_data|"
                     r"event_ids_to_events|\.fns\b|get_api_info|GRADIO_ANALYTICS|gradio_api/|\.default_config|\._id\b")


def test_gradio_is_a_version_that_the_private_parts_were_tried_on():
    oldest, newest = gradio_private.TRIED
    assert Version(oldest) <= Version(gradio.__version__) <= Version(newest), (
        f"Gradio {gradio.__version__} is installed, and xformer/ui/gradio_private.py was tried on {oldest} to {newest} "
        f"only. Run all tests on the new version, compare what each function there rests on, then widen TRIED.")


def test_the_requirements_take_the_versions_that_were_tried():
    wanted = next(Requirement(line.partition("#")[0]) for line in (ROOT / "requirements.txt").read_text().splitlines()
                  if line.startswith("gradio"))
    assert all(wanted.specifier.contains(version) for version in gradio_private.TRIED)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path
                                  in sorted(Path(xformer.ui.__file__).parent.glob("*.py"))])
def test_only_one_file_knows_private_parts(path):
    named = PRIVATE.findall(path.read_text(encoding="utf-8"))
    assert (named != []) == (path.name == "gradio_private.py"), f"{path.name} uses {named}"
