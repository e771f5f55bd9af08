"""Figures inside the page: vector graphics whose colours follow the theme, and whose text is text.

Matplotlib draws dark on light. Here each colour becomes a custom property of the page
(book.css has them for light and for dark), with what was drawn as its fallback.
"""

import html
import re
from collections import Counter
from itertools import count
from pathlib import Path
from xml.etree import ElementTree

NAMES = {
    "#000000": "ink",
    "#333333": "ink",
    "#ffffff": "paper",
    "#b0b0b0": "faint",
    "#bbbbbb": "faint",
    "#999999": "grey",
    "#0072b2": "blue",
    "#e69f00": "orange",
    "#009e73": "green",
    "#d55e00": "red",
    "#56b4e9": "sky",
    "#cc79a7": "purple",
    "#f0e442": "yellow",
}
IMAGE = re.compile(r'<img [^>]*?src="([^"]*_images/[\w.-]+\.svg)"[^>]*?/?>')
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
FONT = re.compile(r"font(?:-size)?: (?:\w+ )*([\d.]+)px")
LINK = re.compile(r"(?<=#)[\w.-]+(?=\)|$)")
POINT = 4 / 3  # CSS pixels
NARROW, LETTER = 325, 9  # pixels: a column of text on a phone, its smallest letters


def with_pictures(page, path):
    """The page at this path, each of its SVG figures written into it."""
    numbers = count(1)

    def drawn(found):
        source = (Path(path).parent / found[1]).resolve()
        alt = re.search(r'alt="([^"]*)"', found[0])
        text = html.unescape(alt[1]) if alt else ""
        return inline(source.read_text(encoding="utf-8"), f"p{next(numbers)}", text)

    return IMAGE.sub(drawn, page)


def inline(svg, name, alt):
    """An SVG file as an element of a page: names of its own, no more digits than one sees."""
    root = ElementTree.fromstring(svg)
    width = float(root.get("width").removesuffix("pt"))
    columns = take_columns(root)
    linked = {
        link
        for node in root.iter()
        for key, value in node.attrib.items()
        if key.endswith("href") or "url(#" in value
        for link in LINK.findall(value)
    }
    used = {link: f"{name}.{k}" for k, link in enumerate(sorted(linked))}
    styles = Counter(node.get("style") for node in root.iter() if node.get("style"))
    often = (style for style, times in styles.items() if times > 1)
    classes = {style: f"{name}-{k}" for k, style in enumerate(often)}
    for node in root.iter():
        node.tag = node.tag.split("}")[-1]
        for key, value in list(node.attrib.items()):
            del node.attrib[key]
            key, value = tidied(key.split("}")[-1], value, used, classes)
            if key:
                node.set(key, value)
    strip(root)
    root.attrib = {
        "class": "picture",
        "viewBox": root.get("viewBox"),
        "role": "img",
        "aria-label": alt,
        "style": f"max-width: {width * POINT:.0f}px",
    }
    rules = "".join(f".{kind}{{{coloured(s)}}}" for s, kind in classes.items())
    letters = min(map(float, FONT.findall(svg)), default=10)
    stacked = windows(columns, NARROW * letters / LETTER)
    if stacked:
        whole = made("g", None)
        whole.set("id", f"{name}.all")
        whole[:], root[:] = root[:], [whole]
    root.insert(0, made("style", rules))
    text = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    widest = max((wide(spans) for spans in stacked), default=0)
    strips = "".join(strip_of(f"{name}.all", spans, root, widest) for spans in stacked)
    return f'<div class="pictures">{text}{strips}</div>' if strips else text


def take_columns(root):
    """{name: (left, right)} of the columns that `hmlib.figures` has marked in a drawing.

    The marks are taken out of it: nothing is to be seen of them.
    """
    columns = {}
    for parent in [*root.iter()]:
        for node in [*parent]:
            if re.fullmatch(r"column-\d+|shared", node.get("id", "")):
                parent.remove(node)
                xs = [float(x) for x in NUMBER.findall(node[0].get("d"))[::2]]
                columns[node.get("id")] = min(xs), max(xs)
    return columns


def windows(columns, widest):
    """The columns of a drawing one below the other, for a page that is narrow: for each
    strip the spans [(left, right)] of the drawing that it shows; none if one is enough.

    As many columns share a strip as are not wider together than that. The marks of a
    y-axis that all share stand beside each.
    """
    shared = columns.pop("shared", None)
    aside = shared[1] - shared[0] if shared else 0
    spans = []
    for left, right in columns.values():
        room = widest - aside if len(spans) > 1 else widest
        if spans and right - spans[-1][0] <= room:
            spans[-1] = spans[-1][0], right
        else:
            spans.append((left, right))
    if len(spans) < 2:
        return []
    beside = [shared] if shared else []
    return [spans[:1], *([*beside, span] for span in spans[1:])]


def wide(spans):
    return sum(right - left for left, right in spans)


def strip_of(name, spans, root, widest):
    """Windows on the drawing of this name, side by side; all strips on one scale."""
    height, x, parts = float(root.get("viewBox").split()[3]), 0, []
    for left, right in spans:
        size = f'width="{rounded(right - left)}" height="{rounded(height)}"'
        view = f"{rounded(left)} 0 {rounded(right - left)} {rounded(height)}"
        parts.append(
            f'<svg x="{rounded(x)}" {size} viewBox="{view}"><use href="#{name}"/></svg>'
        )
        x += right - left
    return (
        f'<svg class="picture strip" viewBox="0 0 {rounded(x)} {rounded(height)}" '
        f'style="width: {rounded(100 * x / widest)}%" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def made(tag, text):
    node = ElementTree.Element(tag)
    node.text = text
    return node


def tidied(key, value, used, classes):
    """An attribute as the page has it; (None, None) if nothing refers to it."""
    if key == "id":
        return (key, used[value]) if value in used else (None, None)
    if key == "transform" and value.startswith("rotate(-0 "):
        return None, None
    if key == "style" and value in classes:
        return "class", classes[value]
    if key == "d":
        return key, short(value)
    if key in ("x", "y"):
        return key, rounded(value)
    value = LINK.sub(lambda m: used.get(m[0], m[0]), value)
    return key, coloured(value) if key == "style" else value


def strip(node):
    """Take away what draws nothing, and groups that say nothing."""
    kept = []
    for child in node:
        strip(child)
        if child.tag in ("metadata", "style"):
            continue
        twice = child.tag == "use" and kept and kept[-1].attrib == child.attrib
        unseen = child.tag == "path" and child.get("style") == "fill: none"
        if child.tag == "g" and not child.attrib:
            kept += list(child)
        elif not (twice or unseen) and not (
            child.tag in ("g", "defs") and not len(child)
        ):
            kept.append(child)
    if node.tag not in ("tspan", "style") and not (node.text or "").strip():
        node.text = None
    for child in kept:
        child.tail = (child.tail or "").strip() or None
    node[:] = kept


def coloured(style):
    def named(found):
        colour = found[0].lower()
        name = NAMES.get(colour)
        return f"var(--picture-{name}, {colour})" if name else colour

    style = re.sub(r"'DejaVu Sans',.*?sans-serif", "'DejaVu Sans', sans-serif", style)
    return re.sub(r"#[0-9a-fA-F]{6}\b", named, style)


def short(path):
    """A path with a tenth of a point; small shapes, markers among them, with a thousandth.

    Where a line stays on the spot, it is there once.
    """
    large = max((abs(float(x)) for x in NUMBER.findall(path)), default=0)
    path = NUMBER.sub(lambda m: rounded(m[0], 3 if large < 20 else 1), path)
    path = re.sub(r"\s*([A-Za-z])\s*|\s+", lambda m: m[1] or " ", path).strip()
    parts = re.findall("[A-Za-z][^A-Za-z]*", path)
    pairs = zip(["", *parts], parts, strict=False)
    return "".join(new for old, new in pairs if new[0] != "L" or new[1:] != old[1:])


def rounded(number, digits=1):
    text = f"{float(number):.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
