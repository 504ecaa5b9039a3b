"""Colours of curves, and palettes for values from 0 to 1; all can be told apart by colour-blind readers."""

from plotly.colors import convert_colors_to_same_type, sequential, unlabel_rgb

BLUE, ORANGE, TEAL, GREY = "#2b7af6", "#d97706", "#0d9488", "#9ca3af"  # of curves and bars

Stop = tuple[int, int, int, float]  # red, green, blue (0 to 255), opacity (0 to 1)


def _plotlys(name: str) -> list[Stop]:
    """The stops of one of plotly's sequential palettes."""
    colours, _ = convert_colors_to_same_type(getattr(sequential, name), "rgb")
    return [(*(round(part) for part in unlabel_rgb(colour)), 1.0) for colour in colours]


# Evenly spaced stops; the browser draws the colours between them. From transparent to one hue is quiet on any page,
# light or dark; the others come from matplotlib, through plotly.
PALETTES: dict[str, list[Stop]] = {
    "blue": [(43, 122, 246, 0.0), (43, 122, 246, 1.0)],
    "grey": [(128, 128, 128, 0.0), (128, 128, 128, 1.0)],
    "viridis": _plotlys("Viridis"),
    "cividis": _plotlys("Cividis"),
    "magma": _plotlys("Magma"),
}
