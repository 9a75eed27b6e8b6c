"""One look for every picture: colours, type sizes, and how a figure is made and saved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.style import context
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from taut.diagnose.drift import Drift

# Okabe & Ito 2008: told apart by readers with any colour vision, and in grey.
BLUE, ORANGE, GREEN, PINK, AMBER, SKY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
COLOURS = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY)
LINES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)))
INK, FAINT, PALE = "#222222", "#8A8A8A", "#DDDDDD"

WIDTH, COLUMN = 7.2, 3.5  # inches: two columns of a journal, and one
TAIL = 4  # letters of the end of a name that is cut
LETTERS, ROWS = 16, 3  # of a legend above a panel: letters for each inch, and lines
DENSE, BINS = 500, 300  # turns of a curve that can be seen, and pieces of the band of any other
FEW = 20  # stored states: so few are marked on curves
RC: Any = {
    "font.size": 8,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 0.9,
    "lines.solid_joinstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 7,
    "legend.handlelength": 1.6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.bbox": None,
    "svg.fonttype": "path",
    "svg.hashsalt": "taut",
    "path.simplify": True,
    "path.simplify_threshold": 0.1,
}


class Picture(Figure):
    """A Matplotlib figure that shows itself in Jupyter and that pyplot does not hold on to.

    It is an ordinary `matplotlib.figure.Figure` in every other respect; the same figure always
    gives the same file.
    """

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the figure; the ending of the name chooses the format."""
        kind = str(options.get("format") or str(fname).rpartition(".")[2]).lower()
        if kind in ("svg", "pdf"):
            stamp = "Date" if kind == "svg" else "CreationDate"
            options["metadata"] = {stamp: None, **(options.get("metadata") or {})}
        options.setdefault("dpi", 200)
        with styled():
            super().savefig(fname, **options)

    def bytes(self, kind: str = "png", **options: Any) -> bytes:
        """The figure as the content of a PNG, SVG or PDF file."""
        buffer = BytesIO()
        self.savefig(buffer, format=kind, **options)
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self.bytes("png", dpi=130)


@contextmanager
def styled() -> Iterator[None]:
    """The look of taut's pictures, whatever the user's own settings are."""
    with context(["default", RC]):
        yield


def picture(height: float, width: float = WIDTH) -> Picture:
    """An empty figure; width and height in inches."""
    return Picture(figsize=(width, height), layout="constrained")


def title(axes: Any, text: str, note: str = "", above: int = 0) -> None:
    """A heading on the left and, in grey, a remark on the right, above some lines of a legend."""
    pad = {"pad": 5 + 9.5 * above} if above else {}
    axes.set_title(text, loc="left", fontweight="bold", fontsize=8, **pad)
    if note:
        axes.set_title(note, loc="right", color=FAINT, fontsize=7, **pad)


def look(k: int) -> dict[str, Any]:
    """Colour and line of the k-th of many curves: six colours, then the same with other lines."""
    return {"color": COLOURS[k % len(COLOURS)], "ls": LINES[k // len(COLOURS) % len(LINES)]}


def key(axes: Any, columns: int = 6) -> None:
    """The legend, in the line of the heading where it covers nothing."""
    made = axes.legend(
        loc="lower right", bbox_to_anchor=(1, 0.97), ncols=columns, borderaxespad=0,
        columnspacing=1.2, handletextpad=0.5,
    )  # fmt: skip
    for line in made.get_lines():  # a short thin line is paler than the curve it stands for
        line.set_linewidth(max(line.get_linewidth(), 1.2))


def fits_beside(axes: Any) -> bool:
    """Whether the legend has room in the line of the heading; the layout widens panels a little."""
    names = axes.get_legend_handles_labels()[1]
    taken = 0.068 * len(axes.get_title(loc="left")) + sum(0.27 + 0.054 * letters(x) for x in names)
    return taken <= 1.1 * axes.get_position().width * axes.figure.get_figwidth()


def key_above(axes: Any) -> None:
    """The legend between heading and panel, where it covers nothing; long names are cut."""
    handles, labels = axes.get_legend_handles_labels()
    many = len(labels)
    wide = max(int(LETTERS * axes.get_position().width * axes.figure.get_figwidth()), 20)
    columns = max(1, min(many, wide // (5 + max(map(letters, labels)))))
    rows = -(-many // columns)
    if rows > ROWS:
        columns = -(-many // ROWS)
        rows = -(-many // columns)
    labels = [_cut(x, wide // columns - 5) for x in labels]
    made = axes.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, fontsize=6.5,
        borderaxespad=0, borderpad=0.2, columnspacing=1.0, handlelength=1.4, handletextpad=0.5,
        labelspacing=0.25,
    )  # fmt: skip
    for line in made.get_lines():
        line.set_linewidth(max(line.get_linewidth(), 1.2))
    title(axes, axes.get_title(loc="left"), axes.get_title(loc="right"), rows)


def _cut(text: str, most: int) -> str:
    """A label of so many letters; a formula that is too long becomes text."""
    if letters(text) <= most:
        return text
    plain = re.sub(r"[${}\\]", "", text)
    end = min(TAIL, most // 3)  # where names that begin alike differ
    return plain[: most - 1 - end].rstrip() + "…" + plain[len(plain) - end :]


def letters(text: str) -> int:
    """About how wide a label is; of a formula without its markup."""
    return (
        len(re.sub(r"[${}_^ ]", "", re.sub(r"\\[A-Za-z]+", "x", text)))
        if "$" in text
        else len(text)
    )


def ticks(many: int, **options: Any) -> MaxNLocator:
    """At most so many intervals, at round numbers."""
    return MaxNLocator(many, steps=[1, 2, 2.5, 5, 10], **options)


def with_unit(label: str, unit: str) -> str:
    """A label with its unit, where that is known."""
    return f"{label} [{unit}]" if unit else label


def powers(axes: Axes, label: str, largest: float, unit: str = "") -> None:
    """Label the y axis with unit and one common power of ten in the label, not above the axis."""
    exponent = 0
    if largest > 0 and np.isfinite(largest) and not 1e-2 <= largest < 1e4:
        exponent = int(np.floor(np.log10(largest)))
    scale = 10.0**exponent
    axes.yaxis.set_major_locator(ticks(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / scale:.6g}".replace("-", "−")))
    scaled = " ".join(filter(None, (rf"$10^{{{exponent}}}$" if exponent else "", unit)))
    axes.set_ylabel(label + (f"  [{scaled}]" if scaled else ""), labelpad=6)


def calm(axes: Axes, low: float, high: float) -> None:
    """Limits of y around what is constant but for rounding, so that rounding is not enlarged."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or size == 0.0:
        middle, half = (low + high) / 2, 0.5 * size or 1.0
        axes.set_ylim(middle - half, middle + half)


def decades(axes: Axes) -> None:
    """A logarithmic y axis with few ticks."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()


def number(x: float, digits: int = 2) -> str:
    """A number for a caption: 1.2×10⁻⁷."""
    if x == 0 or not np.isfinite(x):
        return f"{x:g}"
    mantissa, _, exponent = f"{x:.{digits - 1}e}".partition("e")
    if -3 <= int(exponent) < 4:
        rounded, decimals = float(f"{x:.{digits - 1}e}"), max(digits - 1 - int(exponent), 0)
        return f"{rounded:.{decimals}f}".replace("-", "−")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}×10{raised}".replace("-", "−")


def percent(drift: Drift) -> str:
    """A drift as a share of its band: +0.73 ± 11 %."""
    share, doubt = 100 * drift.relative, 100 * drift.relative_half_width
    signed = f"{share:+.0f}" if abs(share) >= 10 else f"{share:+.2g}"
    around = f"{doubt:.0f}" if doubt >= 10 else f"{doubt:.2g}"
    return f"{signed} ± {around} %".replace("-", "−")


def envelope(t: np.ndarray, y: np.ndarray, points: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    """At most `points` samples that keep every extreme: lowest and highest of each interval.

    Parameters
    ----------
    t, y : ndarray, shape (N,)
    points : int

    Returns
    -------
    t, y : ndarray, shape (≤ points,)
        In the order of time; unchanged if they are few.
    """
    if len(t) <= points:
        return t, y
    bins = max((points - 2) // 2, 1)
    edges = np.linspace(0, len(t), bins + 1).astype(int)
    chosen = [0, len(t) - 1]
    for a, b in pairwise(edges):
        part = np.nan_to_num(y[a:b], nan=0.0, posinf=0.0, neginf=0.0)
        chosen += [a + int(part.argmin()), a + int(part.argmax())]
    rows = np.unique(chosen)
    return t[rows], y[rows]


def draw(axes: Axes, t: np.ndarray, y: np.ndarray, points: int, **look: Any) -> None:
    """A curve; where it turns more often than one can see, the outline of the band it fills."""
    if turns(y) <= DENSE:
        axes.plot(*envelope(t, y, points), **{**marks(len(t)), **look})
        return
    bins = min(BINS, max(points // 2, 5))
    edges = np.linspace(0, len(t), bins + 1).astype(int)
    low, high = (f.reduceat(y, edges[:-1]) for f in (np.fmin, np.fmax))
    middle = (t[edges[:-1]] + t[edges[1:] - 1]) / 2
    middle[[0, -1]] = t[[0, -1]]
    colour = look.get("color")
    axes.fill_between(middle, low, high, color=colour, alpha=0.3, lw=0, label="_band")
    around = np.concatenate([middle, middle[::-1], middle[:1]])
    outline = np.concatenate([high, low[::-1], high[:1]])
    axes.plot(around, outline, **{**look, "lw": 0.4})


def turns(y: np.ndarray) -> int:
    """How often a curve goes up and then down, or down and then up."""
    steps = np.diff(y[np.isfinite(y)])
    steps = steps[steps != 0]
    return int(np.count_nonzero(steps[1:] * steps[:-1] < 0))


def highest(t: np.ndarray, y: np.ndarray, points: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """The largest |y| of each of at most `points` intervals, at the interval's end."""
    y = np.abs(y)
    if len(t) <= points:
        return t, y
    edges = np.linspace(0, len(t), points + 1).astype(int)
    return t[edges[1:] - 1], np.fmax.reduceat(y, edges[:-1])


def marks(many: int) -> dict[str, Any]:
    """Dots on a curve of few states."""
    return {"marker": "o", "ms": 2.5} if many <= FEW else {}


def widest_behind(lines: list[Any]) -> None:
    """Curves that fill bands: the widest is drawn first, so that it hides none."""

    def band(line: Any) -> float:
        y = np.asarray(line.get_ydata())
        return float(np.ptp(y[np.isfinite(y)])) if np.isfinite(y).any() else 0.0

    for rank, line in enumerate(sorted(lines, key=band, reverse=True)):
        line.set_zorder(2 + rank / (len(lines) + 1))


def clear_corner(axes: Any, letter: str, many: int) -> None:
    """Ticks in space; the last of x and the first of y would stand at the same corner."""
    low, high = sorted(getattr(axes, f"get_{letter}lim")())
    at = np.array([x for x in ticks(many).tick_values(low, high) if low <= x <= high])
    share = (at - low) / (high - low)
    clear = {"x": share < 0.85, "y": share > 0.15, "z": share >= 0}[letter]
    kept = at[clear] if clear.any() else at
    getattr(axes, f"{letter}axis").set_major_locator(FixedLocator(kept.tolist()))


def above(axes: Any, label: str) -> None:
    """Name the z axis at its upper end: where Matplotlib puts it, it lies on the numbers."""
    axes.set_zlabel("")
    corner = (getattr(axes, f"get_{k}lim")()[1] for k in "xyz")
    top = axes.text(*corner, f"{label}\n", ha="center")
    top.set_in_layout(False)


def space(axes: Any) -> None:
    """Three-dimensional axes with white walls and a pale grid."""
    for axis, letter in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", strict=True):
        clear_corner(axes, letter, 4)
        axis.set_pane_color((1, 1, 1, 0))
        axis._axinfo["grid"].update(color=PALE, linewidth=0.4)
        axis.line.set_linewidth(0.6)
        axis.set_tick_params(pad=-2 if axis is not axes.zaxis else 1)
    axes.zaxis.set_rotate_label(False)
    axes.set_box_aspect((1, 1, 1), zoom=0.88)
