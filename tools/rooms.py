"""Who imports whom, and that nobody goes in by the back door.

python tools/rooms.py    write the picture of the rooms in CONTRIBUTING.md anew; `make
                         refresh` does it, and the suite checks that it is up to date
"""

import ast
import json
import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- rooms -->\n", "<!-- end of rooms -->"
PACKAGES = "hmlib", "studies"
OURS_BY_RIGHT = {"_replace", "_asdict", "_fields", "_make", "_exit"}  # public, by name


def rooms(root=ROOT):
    """{room: (what it is about, the rooms that it asks)}, from the ground up.

    A room is a module, or a folder of modules that stand together. A cycle is refused.
    """
    about, asks = {}, {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            room = _room(path.relative_to(root))
            if room is None:  # the front door, which opens on all of them
                continue
            tree = ast.parse(path.read_text())
            if path.stem == "__init__" or room not in about:
                about[room] = _first_sentence(ast.get_docstring(tree))
            named = (name for node in ast.walk(tree) for name in _imports(node))
            asks.setdefault(room, set()).update(
                other
                for name in named
                if (other := _named(name, root)) != room and other
            )
    order = TopologicalSorter(asks)
    order.prepare()  # raises a CycleError, which names the rooms
    level = {}
    while order.is_active():
        ready = sorted(order.get_ready())
        for room in ready:
            level[room] = 1 + max((level[other] for other in asks[room]), default=-1)
        order.done(*ready)
    ranked = sorted(asks, key=lambda room: (room.split("/")[0], level[room], room))
    return {room: (about[room], sorted(asks[room])) for room in ranked}


def _room(path):
    """hmlib/fast/plane.py stands in the room hmlib/fast, hmlib/limits.py is one."""
    parts = path.with_suffix("").parts
    return None if parts[1] == "__init__" else "/".join(parts[:2])


def _named(name, root):
    """The room of a dotted name, None if it is none of ours or the front door."""
    package, _, rest = name.partition(".")
    first = rest.split(".")[0]
    place = root / package / first
    if package not in PACKAGES or not first:
        return None
    is_room = place.with_suffix(".py").exists() or (place / "__init__.py").exists()
    return f"{package}/{first}" if is_room else None


def _imports(node):
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _first_sentence(docstring):
    return re.split(r"(?<=[^.])\.(?:\s|$)|\n\n", docstring)[0].replace("\n", " ")


def picture():
    """The rooms as a table of Markdown, those at the bottom first."""
    lines = ["| room | what it is about | asks |", "|---|---|---|"]
    for room, (about, asks) in rooms().items():
        package = room.split("/")[0]
        near = [other.removeprefix(f"{package}/") for other in asks]
        lines.append(f"| `{room}` | {about.replace('|', 'or')} | {', '.join(near)} |")
    return "\n".join(lines) + "\n"


def back_doors(root=ROOT):
    """Where a private name of somebody else is used: ["file:line: name", ...]."""
    places = [
        path
        for package in (*PACKAGES, "tools")
        for path in (root / package).rglob("*.py")
    ]
    found = []
    for path in sorted(places) + sorted((root / "notebooks").glob("*.ipynb")):
        tree = ast.parse(_code(path))
        own = {node.name for node in ast.walk(tree) if hasattr(node, "name")}
        own |= {
            n.attr
            for n in ast.walk(tree)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        }
        own |= {
            n.target.id
            for n in ast.walk(tree)
            if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        }
        own |= {
            n.id
            for n in ast.walk(tree)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Attribute):
                names = [node.attr]
            elif isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names]
            for name in names:
                private = name.startswith("_") and not name.startswith("__")
                if private and name not in own | OURS_BY_RIGHT:
                    found.append(f"{path.relative_to(root)}:{node.lineno}: {name}")
    return found


def _code(path):
    """The Python of a module, or of a notebook without its magics."""
    if path.suffix == ".py":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", "\n".join(code), flags=re.M)


def page():
    """CONTRIBUTING.md with the picture of today."""
    before, rest = PAGE.read_text().split(BEGIN)
    return before + BEGIN + picture() + END + rest.split(END)[1]


if __name__ == "__main__":
    from hmlib.files import write_whole

    write_whole(PAGE, page())
