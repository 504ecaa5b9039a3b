"""What stands where a picture will come: its frame, grey, in the form of what comes.

Every component that is laid out empty, and of a form, has one. Its form is among the
classes that it is declared with: "frame-chart" and so on, or one of `FORMS`.
assets/waiting.js shows the frame while an answer is awaited, and says what is computed.
"""

from collections.abc import Iterator, Mapping

import gradio as gr

from xformer.figures.templates import fill
from xformer.strings import Language
from xformer.ui.server.gradio_private import number_of

KINDS = ("chart", "map", "rows", "text")
# The forms of what is declared by its class alone.
FORMS = {"picture": "chart", "view": "map", "tables": "rows", "summary": "text"}
LAYING = "laying"  # the class of what stands in a tab or sheet that has not come
# how the class of a sheet begins that comes when it is chosen; then follows its id
LATER = "later-"
MOST = 4  # frames of a tab that has not come: a window holds no more


def form_of(classes: list[str] | None) -> str | None:
    """Find the form of the frame among the classes of a component; None for none."""
    names = " ".join(classes or []).split()
    own = [kind for kind in KINDS if f"frame-{kind}" in names]
    return next(iter(own + [FORMS[name] for name in names if name in FORMS]), None)


def give(block: gr.blocks.BlockContext, name: str) -> None:
    """Give the empty pictures in a block their frames. name: of the part, by which the
    page says what is computed; a part inside has had its own before."""
    for one in _inside(block):
        form = form_of(one.elem_classes)
        if isinstance(one, gr.HTML) and form and not one.value and not one.label:
            named = (*one.elem_classes, "framed", f"frame-{form}")
            one.elem_classes = [*dict.fromkeys(named)]
            one.elem_id = f"frame-{number_of(one)}"
            one.label = name


def lay(
    sheet: gr.blocks.BlockContext,
    name: str,
    language: Language,
    said: str,
    parts: Mapping[str, gr.Column] | None = None,
) -> None:
    """Lay out what stands in a tab or a sheet until it comes, called inside it at its
    end: the frames of what is seen first. name: its id. said: how it is called. parts:
    by the query of an address, what is seen there, where it is one of several; without
    that, the whole."""
    blocks: Mapping[str, gr.blocks.BlockContext] = parts or {"": sheet}
    seen = {where: _forms(one) for where, one in blocks.items()}
    gr.HTML(
        fill("page.laying", language, name=said, parts=seen),
        elem_classes=LAYING,
        elem_id=f"{LAYING}-{name}",
    )


def _forms(block: gr.blocks.BlockContext) -> list[str]:
    """The forms of what is seen first in a block; of what is folded in it where nothing
    that is seen has one."""
    for seen in (True, False):
        forms = [
            form
            for one in _inside(block, seen)
            if isinstance(one, gr.HTML) and (form := form_of(one.elem_classes))
        ]
        if forms:
            break
    return forms[:MOST]


def _inside(block: gr.blocks.Block, seen: bool = False) -> Iterator[gr.blocks.Block]:
    """The components below a block. seen: only those that are not hidden or folded."""
    for child in getattr(block, "children", ()):
        is_folded = isinstance(child, gr.Accordion) and not child.open
        if not seen or (child.visible is True and not is_folded):
            yield child
            yield from _inside(child, seen)
