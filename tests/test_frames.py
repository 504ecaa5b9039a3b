"""What stands where a picture will come: every part of the table has its frame, and so
has a tab that has not come."""

import re

import gradio as gr
import pytest
from gradio.context import Context

from tests.pages import laid_out
from xformer import parts
from xformer.parts import TABS
from xformer.serve.writer import Writer
from xformer.ui.frames import KINDS, LATER, LAYING, form_of

PARTS = [name for tab in TABS.values() for name in tab.parts]


@pytest.fixture(scope="module")
def made(running, reader, tiny_writer):
    """A page, and by the folder of a part what is laid out in it, but for other
    parts."""
    blocks = {}
    open_parts = []

    def noting(name, build):
        def noted(*given):
            before = {*Context.root_block.blocks}
            open_parts.append(set())
            answer = build(*given)
            others = open_parts.pop()
            new = {*Context.root_block.blocks} - before
            blocks[name] = new - others
            for outer in open_parts:
                outer |= new
            return answer

        return noted

    with pytest.MonkeyPatch.context() as patch:
        for tab in TABS.values():
            for name, module in zip(tab.parts, tab.modules(), strict=True):
                patch.setattr(module, "build", noting(name, module.build))
        page = laid_out(running, reader, writer=Writer.open(tiny_writer, "cpu"))
    found = {
        name: [page.demo.blocks[one] for one in sorted(ids)]
        for name, ids in blocks.items()
    }
    return page, found


def framed(blocks):
    return [one for one in blocks if "framed" in (one.elem_classes or [])]


@pytest.mark.parametrize("name", PARTS)
def test_every_part_has_a_frame_until_it_has_a_picture(made, name):
    """So that it is never white, and the page can say by its name what is computed."""
    found = framed(made[1][name])
    assert found
    for one in found:
        assert form_of(one.elem_classes) in KINDS and one.label
        assert one.elem_id == f"frame-{one._id}"


@pytest.mark.parametrize("name", PARTS)
def test_what_a_picture_sets_has_a_frame_unless_it_is_said_or_there(made, name):
    page, found = made
    own = {one._id for one in found[name]}
    pictures = [
        picture.component
        for pictures in page.pictures.values()
        for picture in pictures.pictures.values()
        if picture.component._id in own
    ]
    without = [
        one
        for one in pictures
        if isinstance(one, gr.HTML) and not one.value and one not in framed(pictures)
    ]
    unseen = "all-heads"  # what is kept for a picture
    of_edit = {"stale", "sentiment moves"}  # what is said of one
    names = {" ".join(one.elem_classes) for one in without}
    assert names <= {"", "status", "went", unseen, *of_edit}


def sheet_of(block):
    """The id of a tab, or of a further sheet of one."""
    if isinstance(block, gr.Tab):
        return block.id
    (later,) = [one for one in block.elem_classes if one.startswith(LATER)]
    return later.removeprefix(LATER)


def test_a_tab_that_has_not_come_shows_the_frames_of_what_it_begins_with(made):
    page, found = made
    laying = {
        sheet_of(one.parent): one.value
        for one in page.demo.blocks.values()
        if LAYING in (one.elem_classes or [])
    }
    assert {*laying} == {*TABS}  # the first until the page is laid out
    for tab, html in laying.items():
        name = f"sheet_{tab}" if TABS[tab].of else f"tab_{tab}"
        assert page.language.html(name) in html
        sheets = parts.sheets().get(tab, (tab,))
        if len(sheets) > 1:
            names = [TABS[sheet].parts[0] for sheet in sheets]
        elif TABS[tab].choice:
            names = [
                name
                for name, module in zip(
                    TABS[tab].parts, TABS[tab].modules(), strict=True
                )
                if not hasattr(module, "WITHIN")
            ]
        else:
            names = TABS[tab].parts[:1]
        laid = re.findall(r'class="frames"(.*?)>(.*?)</div></div>', html)
        assert len(laid) == len(names)
        for number, (name, (opened_by, frames)) in enumerate(
            zip(names, laid, strict=True)
        ):
            forms = re.findall(r'class="frame-(\w+)"', frames)
            own = [form_of(one.elem_classes) for one in found[name]]
            assert 1 <= len(forms) <= 4 and {*forms} & {*own}, name
            assert opened_by.endswith(" hidden") == (number > 0), name
