"""A tab, or a part of one, while it is laid out: its controls and its other components,
each under one name.

By these names a handler is given its inputs and answers: `part.listener(draw,
"picture")` gives `draw` what its parameters name, and lets it set the picture.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter, signature
from typing import Any

import gradio as gr

from xformer.ui import components, frames, places
from xformer.ui.controls import Controls, Kind, OneOf, Values
from xformer.ui.handlers import ANNOTATED, DEFAULTS, QUIET, Ask
from xformer.ui.pictures import Pictures
from xformer.ui.tabs import Listener, Page, View

_open_fold: ContextVar[Any] = ContextVar("the fold being laid out", default=None)


def wide(**how: Any) -> gr.Column:
    """Begin the wider of two columns, a picture's; the other is `narrow`."""
    return gr.Column(scale=7, min_width=300, **how)


def narrow(**how: Any) -> gr.Column:
    """Begin the column of what belongs to a picture. Columns that stand beside each
    other are these two or share the width alike, so that the eye finds them where it
    found them before."""
    return gr.Column(scale=5, min_width=280, **how)


class Layout(dict[str, Any]):
    """Components by name: those laid out here, and what the page shares with all its
    tabs."""

    def __init__(
        self, page: Page, tab: str | None = None, ask: Ask | None = None
    ) -> None:
        """tab: the id of the tab that it stands in. ask: makes its listeners,
        `page.ask` if not given."""
        super().__init__(
            trace=page.trace,
            translation=page.translation,
            lock=page.lock,
            spanish=page.spanish,
        )
        self.page = page
        self.tab = tab
        self.ask = ask or page.ask
        self.language = page.language
        self.say = page.language.say
        self.html = page.language.html
        self.controls = Controls(page.service)
        # a box whose text changes when it comes into sight
        self.opened: Any = page.opened.get(tab or "")
        self.views: dict[str, View] = {}
        # by the key of a fold, the modules of parts that stand in it as sections
        self.within: Mapping[str, Sequence[Any]] = {}

    def control(
        self,
        key: str,
        kind: Kind | Callable[[Any, Values], Kind],
        make: Callable[..., Any],
        text: str = "",
        info: str = "",
        **how: Any,
    ) -> Any:
        """Declare a control, as `Controls.add` does; -> its component. text: the key of
        its label, if that is not its own. info: the key of what is said below the
        label."""
        said = {
            "label": self.say(text or key),
            **({"info": self.say(info)} if info else {}),
        }
        self[key] = self.controls.add(key, kind, make, **{**said, **how})
        return self[key]

    def choice(
        self,
        key: str,
        options: Iterable[str],
        default: str,
        each: str,
        text: str = "",
        make: Callable[..., Any] = gr.Radio,
        **how: Any,
    ) -> Any:
        """Declare a control that holds one of some names. each: the key of the text of
        a name, with {} for the name."""
        labels = self.language.choices(each, options)
        return self.control(
            key, OneOf((*options,), default), make, text, choices=labels, **how
        )

    def number(
        self,
        key: str,
        kind: Kind | Callable[[Any, Values], Kind],
        text: str = "",
        **how: Any,
    ) -> Any:
        """Declare a control that holds a number as it was typed. It has no limits of
        its own: Gradio refuses what is beyond a minimum or maximum with words of its
        own."""
        return self.control(
            key,
            kind,
            gr.Number,
            text,
            **{"precision": 0, "minimum": None, "maximum": None, **how},
        )

    def hidden(
        self,
        key: str,
        kind: Kind | Callable[[Any, Values], Kind],
        make: Callable[..., Any] = gr.Number,
    ) -> Any:
        """Declare a control that nobody sees, for the address."""
        whole: dict[str, Any] = {"precision": 0} if make is gr.Number else {}
        self[key] = self.controls.add(key, kind, make, **components.WIRE, **whole)
        return self[key]

    def inner(self, ask: Ask | None = None, opened: Any = None) -> "Layout":
        """Begin a part of this one that has controls and names of its own."""
        made = Layout(self.page, self.tab, ask or self.ask)
        made.opened = made.opened if opened is None else opened
        return made

    def include(self, other: "Layout", name: str = "") -> None:
        """Add the controls and views of another part after the own ones. name: what
        those of its views begin with."""
        self.controls.include(other.controls)
        self.update(other.controls.named())
        self.views.update(
            {
                f"{name}.{view}" if name else view: made
                for view, made in other.views.items()
            }
        )

    def canvas(
        self, script: str, template: str, name: str, value: Any = None, **how: Any
    ) -> gr.HTML:
        """Lay out what a script draws, as `components.canvas` does, with a toolbar that
        saves it."""
        return components.canvas(
            script, template, name, value, save=self.language, **how
        )

    def table(self, name: str) -> gr.HTML:
        """Lay out HTML with a toolbar that saves it."""
        return self.canvas("part.js", "${value}", name, frame="rows")

    def plot(self, name: str) -> gr.HTML:
        """Lay out a Plotly figure, sent as `components.figure` makes it. gr.Plot draws
        each figure twice and from nothing, which is seen when a slider moves; this one
        draws what changed."""
        return self.canvas(
            "plot.js",
            '<p class="caption"></p><div class="plot"></div>',
            f"picture {name}",
        )

    def map(self, name: str) -> gr.HTML:
        """Lay out the map of one head."""
        return self.canvas(
            "head_view.js", '<div class="drawing"></div>', f"view {name}"
        )

    def beside(
        self,
        make: Callable[[str], gr.HTML],
        classes: Mapping[str, str],
        of: str = "detail",
        min_width: int = 300,
    ) -> dict[str, Any]:
        """Lay out components side by side, each named and of its class; -> them. of:
        the class of the row, if any."""
        with gr.Row(elem_classes=of or None):
            for name, its_own in classes.items():
                with gr.Column(min_width=min_width):
                    self[name] = make(its_own)
        return {name: self[name] for name in classes}

    def status(self) -> gr.HTML:
        """Lay out where problems are said."""
        self["problem"] = gr.HTML(elem_classes="status")
        return self["problem"]

    def note(self, key: str, heading: str = "", /, **values: object) -> None:
        """Explain something, as `places.note` does. heading: the key of what stands
        above it, if anything."""
        above = f"<h3>{self.html(heading)}</h3>" if heading else ""
        gr.HTML(f"{above}{places.note(self.language, key, **values)}")

    def look(self, key: str) -> None:
        """Say at the beginning of a part what to look at."""
        gr.HTML(places.note(self.language, key, ""), elem_classes="summary")

    @contextmanager
    def folded(
        self,
        key: str,
        pictures: Pictures | None = None,
        name: str = "",
        closed: bool = False,
    ) -> Iterator[gr.Accordion]:
        """Lay out a part that is closed at first, with its question; or a section,
        inside such a part, for which -> that part, or inside one that is always open.
        pictures: get an input, "{name or key}_open", that tells whether it is open.
        closed: a section, too, is closed at first."""
        said = self.say(places.names()[key])
        is_section = key in places.sections() and not closed
        outer = _open_fold.get() if is_section else None
        with (
            gr.Column(elem_classes=["section", f"at-{key}"])
            if is_section
            else gr.Accordion(said, open=False, elem_classes=f"at-{key}")
        ) as laid_out:
            fold = laid_out if outer is None else outer
            before = _open_fold.set(fold)
            places.question(self.language, key)
            try:
                yield fold
                for module in self.within.get(key, ()):
                    self._hold(module, fold)
            finally:
                _open_fold.reset(before)
        frames.give(laid_out, said)
        if pictures is not None:
            pictures.opens(f"{name or key}_open", fold)

    def _hold(self, module: Any, fold: gr.Accordion) -> None:
        """Lay a part out as a section of a fold: it is opened with that, and again
        with the part that has it."""
        opened = gr.Textbox("0", **components.WIRE)
        is_open = gr.Textbox("", **components.WIRE)
        with self.folded(module.ID):
            part = self.inner(opened=opened)
            module.build(part)
        self.include(part, module.ID)
        more = "String(Number(times) + 1)"
        fold.expand(
            None,
            opened,
            [is_open, opened],
            js=f"times => ['open', {more}]",
            **QUIET,
        )
        fold.collapse(None, None, is_open, js="() => ''", **QUIET)
        self.opened.change(
            None,
            [is_open, opened],
            opened,
            js=f"(open, times) => open ? {more} : times",
            **QUIET,
        )

    def changes(self) -> list[Any]:
        """List the events of its controls that tell of a change, by the visitor or by
        the page."""
        return [control.component.change for control in self.controls.values()]

    def pictures(self, name: str, **how: Any) -> Pictures:
        """Begin the `Pictures` of this part."""
        return Pictures(
            self.page, self.controls, name, **{"tab": self.tab, "ask": self.ask, **how}
        )

    def listener(
        self,
        handler: Callable[..., Any],
        *outputs: str,
        problem: str | None = None,
        only_here: bool = False,
        ask: Ask | None = None,
        **fixed: Any,
    ) -> Listener:
        """Make a listener, as `Ask` does: the parameters of the handler that are not
        `fixed` are the names of its inputs; one that takes more by ** is given all
        controls.

        outputs: names of what its answer may set. problem: the name of where a refusal
        is said. only_here: nothing is done unless the tab is open.
        """
        names = dict[str, None]()
        for one in signature(handler).parameters.values():
            if one.kind is Parameter.VAR_KEYWORD:
                names |= dict.fromkeys(self.controls)
            elif one.kind is Parameter.KEYWORD_ONLY and (
                one.default is Parameter.empty or one.name in self
            ):
                names[one.name] = None
        inputs = {
            name: self[name]
            for name in names
            if name not in (*fixed, *ANNOTATED, *DEFAULTS)
        }
        return (ask or self.ask)(
            handler,
            inputs,
            {name: self[name] for name in outputs},
            self[problem] if problem else None,
            self.tab if only_here else None,
            **fixed,
        )
