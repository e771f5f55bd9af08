"""What shows numbers: lines with bands, rows of dots, and tables of a page."""

import re
from collections.abc import Iterable

import numpy as np

from hmlib import inputs
from hmlib.figures import style
from hmlib.figures.style import INK, SERIES, plt

with inputs.extra("book"):
    from IPython.display import Markdown

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def lines(
    panels: dict, xlabel="", ylabel="", log="", ticks=None, size=(7.5, 3.4), share=False
):
    """Lines with bands, {title: {label: (x, values)}}, a panel for each title.

    Values are numbers; of three for each x the middle one is drawn, with a band between
    the others. An x of None draws them across the panel, values of None a line down it.
    Each label has a colour and a marker, which all lines of a list share (an empty list
    keeps them for another panel). A third entry of a line is its style, as in
    `plt.plot`, "o-" if there is none: "o" is the label's marker, hollow where it is not
    joined; "k--" is dashed, in the colour of the text.

    log    "x", "y" or "xy" for logarithmic axes; a list has one for each panel
    ticks  where the x-axis has marks, or {where: the number there}
    share  whether the panels have their y-axis in common, with a grid
    """
    logs = [log] * len(panels) if isinstance(log, str) else log
    labels = [tuple(series) for series in panels.values()]
    for k, (ax, series) in enumerate(style.panels(panels, size=size, sharey=share)):
        ax.set(xlabel=xlabel, ylabel="" if k else ylabel)
        ax.set(**{f"{axis}scale": "log" for axis in logs[k]})
        _draw(ax, series)
        if ticks is not None:
            where = ticks if isinstance(ticks, dict) else {t: t for t in ticks}
            ax.set_xticks([*where], [f"{number:g}" for number in where.values()])
            ax.minorticks_off()
        elif "x" in logs[k] and np.ptp(np.log10(ax.get_xlim())) > 5:
            ax.xaxis.set_major_locator(plt.LogLocator(base=100))
        low, high = ax.get_ylim()
        if "y" in logs[k] and high < 1e4 * low:
            ax.yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
            ax.yaxis.minorticks_off()
        for axis in (getattr(ax, f"{name}axis") for name in logs[k]):
            if axis is ax.yaxis or ticks is None:  # no small print: .001, no power
                axis.set_major_formatter(_told)
                axis.set_minor_formatter(plt.NullFormatter())
        if share:
            ax.grid(axis="y", lw=0.3)
        # A legend stands in the last panel of those with the same labels.
        if any(ax.get_legend_handles_labels()) and labels[k] not in labels[k + 1 :]:
            ax.legend(facecolor="white", edgecolor="none", framealpha=0.75)


def _told(number, place=None):
    """A mark of a logarithmic axis: 0.001, and 10⁻⁶ for what has more zeros."""
    shown = f"{number:g}"
    if "e" not in shown:
        return shown
    digits, power = shown.split("e")
    tens = "10" + str(int(power)).translate(RAISED)
    return tens if digits == "1" else f"{digits}·{tens}"


def _draw(ax, series):
    looks = iter(SERIES)
    for label, entry in series.items():
        several = entry if isinstance(entry, list) else [entry]
        black = several and "k" in "".join(several[0][2:])
        look = (INK, "o") if black else next(looks)
        for line in several:
            _line(ax, *line, look=look, label=label)
            label = ""


def _line(ax, x, values, form="o-", *, look, label):
    """One of the lines, with its band."""
    colour, marker = look
    dash = form.lstrip("kox.")
    if values is None:
        ax.axvline(x, ls=dash, color=colour, lw=1.5, label=label)
        return
    values = np.asarray(values, float)
    if x is None:
        ax.axhspan(values.min(), values.max(), color=colour, alpha=0.15, lw=0)
        ax.axhline(values.mean(), ls=dash, color=colour, lw=1, label=label)
        return
    order = np.argsort(x, kind="stable")
    x, values = np.asarray(x, float)[order], values[order]
    low, middle, high = np.sort(values, 1).T if values.ndim == 2 else [values] * 3
    if dash:
        ax.fill_between(x, low, high, color=colour, alpha=0.14, lw=0)
    else:
        ax.vlines(x, low, high, color=colour, lw=1)
    size, inside = (5, colour) if dash else (6, "none")
    look = {"color": colour, "ms": size, "lw": 1.1, "mfc": inside}
    ax.plot(x, middle, form.replace("k", "").replace("o", marker), label=label, **look)


def dots(panels: dict, xlabel="", reference: dict | None = None):
    """Numbers in rows, {title: {row: {series: values}}}, and a bar at the mean of each.

    reference  {title: where a dotted line goes down the panel}
    """
    rows = list(dict.fromkeys(row for panel in panels.values() for row in panel))
    size = 7.5, 0.33 * len(rows) + 1.1
    drawn = style.panels(panels, size=size, sharey=True)
    for (ax, panel), title in zip(drawn, panels, strict=True):
        names = dict.fromkeys(name for row in panel.values() for name in row)
        for name, (colour, marker) in zip(names, SERIES, strict=False):
            hollow = {"marker": marker, "color": colour, "mfc": "none", "ls": "none"}
            ax.plot([], [], label=name, **hollow)
            for row, values in panel.items():
                x, y = np.atleast_1d(values.get(name, [])), -rows.index(row)
                if len(x):
                    ax.vlines(x.mean(), y - 0.3, y + 0.3, color=colour, lw=1.6)
                    ax.plot(x, np.full(len(x), y), ms=5, **hollow)
        if reference is not None:
            ax.axvline(reference[title], color=INK, ls=":", lw=1)
        ax.set(xlabel=xlabel, yticks=-np.arange(len(rows)), yticklabels=rows)
        ax.grid(axis="x", lw=0.3)
        if len(names) > 1:
            below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
            ax.legend(frameon=False, ncols=2, borderaxespad=3.8, **below)


def quartiles(rows) -> np.ndarray:
    """The lower quartile, the median and the upper quartile of each row.

    >>> quartiles([[1, 2, 3, 4, 5]])
    array([[2., 3., 4.]])
    """
    return np.quantile(rows, [0.25, 0.5, 0.75], axis=1).T


def extremes(rows) -> np.ndarray:
    """The least, the mean and the largest of each row.

    >>> extremes([[0, 1, 5]])
    array([[0., 2., 5.]])
    """
    rows = np.asarray(rows, float)
    return np.stack([rows.min(1), rows.mean(1), rows.max(1)], 1)


def table(rows: Iterable[Iterable]) -> Markdown:
    """A table for the page; its first row is its head.

    Numbers stand as in print: with a minus, not a hyphen, and with a power of ten.

    >>> rows = [[2, "-4.10"], [4, "8e-07"], [8, "1.1e+01"], [16, "-"]]
    >>> print(table([["$d$", "leaders"], *rows]).data)
    | $d$ | leaders |
    |--|--|
    | 2 | −4.10 |
    | 4 | $8 \\cdot 10^{-7}$ |
    | 8 | 11 |
    | 16 | – |
    """
    rows = [[_printed(str(cell)) for cell in row] for row in rows]
    lines = ["| " + " ".join(f"{cell} |".lstrip() for cell in row) for row in rows]
    return Markdown("\n".join([lines[0], "|--" * len(rows[0]) + "|", *lines[1:]]))


MARKED = re.compile(r"(\$[^$]*\$|`[^`]*`)")  # formulas and code stay as they are
HYPHEN = re.compile(r"(?<![\w.-])-(?=[.\d])")
POWER = re.compile(r"(?<![\w.])(−?[\d.]+)e([+-])0*(\d*)(?!\w)")


def _printed(cell):
    """A cell as it is printed; a lone hyphen says that there is nothing."""
    parts = MARKED.split("–" if cell == "-" else cell)
    parts[::2] = [POWER.sub(_power, HYPHEN.sub("−", part)) for part in parts[::2]]
    return "".join(parts)


def _power(found):
    """1e-05 is $10^{-5}$; tens and hundreds need no power."""
    number, sign, power = found[1].replace("−", "-"), found[2].strip("+"), found[3]
    if not power:
        return found[1]
    if not sign and power in ("1", "2"):
        return f"{float(f'{number}e{power}'):g}".replace("-", "−")
    factor = "" if number == "1" else f"{number} \\cdot "
    return f"${factor}10^{{{sign}{power}}}$"
