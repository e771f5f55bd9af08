"""What a piece of code depends on in this project, as one digest: the definitions that
it names, what they name in turn, and the files they speak of.

Comments, docstrings, layout, and what is not named do not count. So a task is run
again, or a chapter executed again, when something changes that it computes with, and
not for an edit beside it. Versions of other packages are not part of it.
"""

import ast
import hashlib
import symtable
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("hmlib", "studies")
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
STORED = ("hmlib/**/*", "results/*")  # what code may read, and says so by names


class Module:
    """The statements of a file, by the names they bind."""

    def __init__(self, name, package, text):
        self.name, self.package = name, package
        self.bound, self.imports, self.always = {}, {}, []
        for node in ast.parse(text).body:
            self.add(plain(node))

    def add(self, node):
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imports |= dict(imported(node, self.package))
            return
        if isinstance(node, DEFINITION):
            names = [node.name]
        else:
            names = [
                s.get_name()
                for s in tables(node)[0].get_symbols()
                if s.is_assigned() or s.is_imported()
            ]
        for name in names:
            self.bound.setdefault(name, []).append(node)
        if not names and not isinstance(node, ast.Pass):
            self.always.append(node)
        if names == ["LATER"]:  # what a package imports when it is first asked for
            for module, there in ast.literal_eval(node.value).items():
                place = f"{self.name}.{module}"
                self.imports |= {name: (place, name) for name in there}


class Project:
    """All modules, read when they are first reached; a new edit needs a new Project."""

    def __init__(self, root=ROOT):
        self.root, self.modules, self.looked_at, self.stored = Path(root), {}, {}, {}
        for file in sorted(chain.from_iterable(map(self.root.glob, STORED))):
            if file.is_file() and file.suffix not in (".py", ".pyc"):
                self.stored.setdefault(file.stem, []).append(file)

    def of_function(self, function):
        """The digest of a function in a module."""
        name = function.__module__
        self.module(name, Path(function.__code__.co_filename))
        top = function.__qualname__.split(".")[0]
        return self.digest([(name, top if self.follow(name, top) else None)])

    def of_text(self, text):
        """The digest of all statements of a text: the cells of a notebook."""
        module = self.modules["<text>"] = Module("<text>", "", text)
        return self.digest([("<text>", name) for name in (*module.bound, "<others>")])

    def digest(self, start):
        seen, texts, todo = set(), set(), list(start)
        while todo:
            target = todo.pop()
            if target in seen:
                continue
            seen.add(target)
            module, name = self.module(target[0]), target[1]
            if name:
                nodes = module.bound.get(name, [])
            else:  # all of the module
                nodes = chain.from_iterable(module.bound.values())
                imports = (self.follow(*where) for where in module.imports.values())
                todo += filter(None, imports)
            for node in [*nodes, *module.always]:
                if node not in self.looked_at:
                    looks = self.texts(module, node), self.named(module, node)
                    self.looked_at[node] = looks
                texts |= self.looked_at[node][0]
                todo += self.looked_at[node][1]
        return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()

    def module(self, name, file=None):
        """The module of this name; None, if it is not one of the project's."""
        if name not in self.modules:
            path = self.root / name.replace(".", "/")
            if file is None and name.partition(".")[0] in PACKAGES:
                places = path / "__init__.py", path.with_suffix(".py")
                file = next(filter(Path.exists, places), None)
            is_package = file and file.stem == "__init__"
            package = name if is_package else name.rpartition(".")[0]
            self.modules[name] = file and Module(name, package, file.read_bytes())
        return self.modules[name]

    def follow(self, module, name):
        """Where module.name is defined: (module, name), or (module, None) for a module;
        None, if it is not ours."""
        there = self.module(module)
        if there is None or name is None:
            return there and (module, None)
        if name in there.bound:
            return module, name
        if there.imports.get(name, (module, name)) != (module, name):
            return self.follow(*there.imports[name])  # not a package's own module
        return self.follow(f"{module}.{name}", None)

    def named(self, module, node):
        """Every (module, name) of the project that a statement of the module names."""
        local = {}
        for n in ast.walk(node):
            if isinstance(n, ast.Import | ast.ImportFrom):
                local |= dict(imported(n, module.package))
        free, out = unbound(node) | set(local), []

        def target(n):
            if isinstance(n, ast.Name) and n.id in free:
                return self.follow(*local.get(n.id, (module.name, n.id)))
            if isinstance(n, ast.Attribute) and (base := target(n.value)):
                return base if base[1] else self.follow(base[0], n.attr) or base
            return None

        def visit(n):
            if isinstance(n, ast.Name | ast.Attribute) and (where := target(n)):
                out.append(where)
            else:
                for child in ast.iter_child_nodes(n):
                    visit(child)

        visit(node)
        return out

    def texts(self, module, node):
        """A statement, and the digests of the files it speaks of."""
        texts = {f"{module.name}: {ast.unparse(node)}"}
        for n in ast.walk(node):
            said = n.value if isinstance(n, ast.Constant) else None
            if isinstance(said, str) and "." in said[-20:]:
                for file in self.stored.get(Path(said[-200:]).stem, []):
                    digest = hashlib.sha256(file.read_bytes()).hexdigest()
                    texts.add(f"{file.relative_to(self.root)}: {digest}")
        return texts


def plain(node):
    """The statement without its docstrings."""
    for n in ast.walk(node):
        if isinstance(n, DEFINITION) and ast.get_docstring(n) is not None:
            n.body = n.body[1:] or [ast.Pass()]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node if not isinstance(node.value.value, str) else ast.Pass()
    return node


def imported(node, package):
    """(name, (module, name there or None)) of what an import binds."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            module = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or module, (module, None)
        return
    above = (
        package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
    )
    module = ".".join([*above, *filter(None, [node.module])])
    for alias in node.names:
        yield alias.asname or alias.name, (module, alias.name)


def tables(node):
    """The scopes of a statement, the outermost first."""
    out = [symtable.symtable(ast.unparse(node), "<statement>", "exec")]
    for table in out:
        out += table.get_children()
    return out


def unbound(node):
    """The names that a statement takes from its module."""
    top, *inner = tables(node)
    names = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    return names | {
        s.get_name() for table in inner for s in table.get_symbols() if s.is_global()
    }
