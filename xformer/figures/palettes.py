"""Colours for values from 0 to 1, all of them legible to the colour-blind; the browser draws between their stops."""

from __future__ import annotations

from plotly.colors import convert_colors_to_same_type, sequential, unlabel_rgb

Stop = tuple[int, int, int, float]  # red, green, blue (0 to 255), opacity (0 to 1)


def _plotlys(name: str) -> list[Stop]:
    colours, _ = convert_colors_to_same_type(getattr(sequential, name), "rgb")
    return [(*(round(part) for part in unlabel_rgb(colour)), 1.0) for colour in colours]


# From transparent to one hue is quiet on any page, light or dark; the others come from matplotlib, through plotly.
PALETTES: dict[str, list[Stop]] = {
    "blue": [(43, 122, 246, 0.0), (43, 122, 246, 1.0)],
    "grey": [(128, 128, 128, 0.0), (128, 128, 128, 1.0)],
    "viridis": _plotlys("Viridis"),
    "cividis": _plotlys("Cividis"),
    "magma": _plotlys("Magma"),
}
