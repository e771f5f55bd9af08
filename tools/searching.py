"""What the search of the site knows besides words: boxes by number and by name, and formulas as one reads them."""

import json
import re
from pathlib import Path

TITLE = re.compile(
    r'<div class="proof \w+ admonition" id="([\w-]+)">\s*<p class="admonition-title">'
    r'<span class="caption-number">([^<]*)</span>\s*(.*?)</p>',
    re.S,
)
SYMBOLS = {"S(K)": "def-S", "C_i(Z)": "def-attention-set", "C_i": "def-attention-set"}
SCRIPT = """
{
  // Every object has a "constructor" and a "__proto__", and the search took these for words that it had found.
  const words = Object.create(null, { hasOwnProperty: { value: Object.prototype.hasOwnProperty } });
  const boxes = BOXES; // [what one may ask for, page, id]
  const take = Search.setIndex;
  Search.setIndex = (index) => {
    for (const found of [index.terms, index.titleterms]) Object.setPrototypeOf(found, words);
    for (const [name, page, id] of boxes) {
      const number = index.docnames.indexOf(page);
      if (number >= 0) (index.alltitles[name] ||= []).push([number, id]);
    }
    take(index);
  };
  // A formula as it is typed is hard to read in a snippet.
  const plain = Search.htmlToText;
  Search.htmlToText = (html, anchor) =>
    plain(html, anchor)
      .replace(/\\\\(?:mathcal|mathbb|mathrm|operatorname|text|left|right|big|Big|,|;|!)|\\\\[()[\\]]|[{}$]/g, "")
      .replace(/\\\\(?:langle|lvert|lVert)/g, "<").replace(/\\\\(?:rangle|rvert|rVert)/g, ">")
      .replace(/\\\\([a-zA-Z]+)/g, "$1");
}
"""


def boxes(root):
    """[(what one may ask for, page, id)] of all boxes of the built site."""
    found = []
    for path in sorted(Path(root).rglob("*.html")):
        page = path.relative_to(root).with_suffix("").as_posix()
        for name, number, title in TITLE.findall(path.read_text(encoding="utf-8")):
            title = re.sub(r"<span[^>]*standing.*?</span>|<[^>]+>|\\[()]", "", title)
            title = title.strip().removeprefix("(").removesuffix(")")
            asked = {number.strip(), f"{number.strip()} {title}", title}
            asked |= {symbol for symbol, label in SYMBOLS.items() if label == name}
            found += [(one, page, name) for one in sorted(asked)]
    return found


def script(root):
    """What stands after Sphinx's own script of the search."""
    text = json.dumps(boxes(root), ensure_ascii=False).replace("</", "<\\/")
    return SCRIPT.replace("BOXES", text)
