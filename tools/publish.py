"""Give the project its address: python tools/publish.py OWNER REPO

Wherever the placeholder stands, in the book's settings, the first cells of the chapters,
the paper and the citation, the address of the repository takes its place; codemeta.json
and .zenodo.json follow. Said again with another name, it moves the project there. At the
end no placeholder is left, or this fails; what only the owner can write is listed.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = "OWNER/REPO"
ABOUT_IT = "tools", "tests"  # code that speaks of the placeholder itself
UNTIL_THEN = re.compile(
    r"\n.*`OWNER/REPO`\) until the project is published.*\n"
)  # README
FOR_THE_OWNER = re.compile(r"to be completed by the owner", re.I)

ADDED = {  # {file: (after this line, this one)}: there is none before the address is known
    "CITATION.cff": ("license: MIT\n", "repository-code: {home}\n"),
    "pyproject.toml": (
        'readme = "README.md"\n',
        'urls = {{ Repository = "{home}", Documentation = "{site}" }}\n',
    ),
    "codecheck.yml": ("/spec/config/1.0/\n", "repository: {home}\n"),
}


def home():
    """The address of the repository, as _config.yml has it; None for the placeholder."""
    url = re.search(r"^  url: (\S+)$", (ROOT / "_config.yml").read_text(), re.M)[1]
    return None if url.endswith(PLACEHOLDER) else url


def placed(text, before, after):
    """The text with another address of the repository; its pages follow.

    >>> placed("github.com/OWNER/REPO", PLACEHOLDER, "a/b")
    'github.com/a/b'
    >>> placed("github.com/a/b, a.github.io/b/, github.com/a/book", "a/b", "C/d")
    'github.com/C/d, c.github.io/d/, github.com/a/book'
    """
    if before == PLACEHOLDER:
        site = f"\nThe book stands at <https://{pages(*after.split('/'))}>.\n"
        return UNTIL_THEN.sub(site, text).replace(before, after)
    for find in (lambda x: f"github.com/{x}", lambda x: pages(*x.split("/"))):
        text = re.sub(re.escape(find(before)) + r"(?!\.?[\w-])", find(after), text)
    return text


def pages(owner, name):
    """Where the pages of a repository stand.

    >>> pages("A-Name", "the.book"), pages("a", "a.github.io")
    ('a-name.github.io/the.book/', 'a.github.io/')
    """
    host = f"{owner.lower()}.github.io"
    return f"{host}/" if name.lower() == host else f"{host}/{name}/"


def places(wanted):
    """[(path, text)] of the files, of those that git knows, in which something stands."""
    git = ["git", "ls-files", "-z"]
    try:
        names = subprocess.run(git, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("This is no clone: the address is set in the files that git knows.")
    found = []
    for name in filter(None, names.stdout.decode().split("\0")):
        path = ROOT / name
        if path.relative_to(ROOT).parts[0] not in ABOUT_IT and path.is_file():
            text = path.read_bytes().decode(errors="ignore")
            if wanted(text):
                found.append((path, text))
    return found


def main(arguments):
    name = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
    right = len(arguments) == 2 and all(re.fullmatch(name, part) for part in arguments)
    if not right or arguments[1].endswith(".git"):
        sys.exit(
            f"Given: {' '.join(arguments) or 'nothing'}. Expected the owner and the name "
            "of a repository: make publishable OWNER=... REPO=..."
        )
    sys.path.insert(0, str(ROOT / "tools"))
    import metadata

    from hmlib.files import write_whole

    before = (home() or PLACEHOLDER).removeprefix("https://github.com/")
    after = "/".join(arguments)
    links = {
        "home": f"https://github.com/{after}",
        "site": f"https://{pages(*arguments)}",
    }
    for path, text in places(lambda text: before in text or "github.io" in text):
        if (moved := placed(text, before, after)) != text:
            write_whole(path, moved)
    for name, (line, added) in ADDED.items():
        text, added = (ROOT / name).read_text(), added.format(**links)
        if added.partition(" ")[0] not in text.split():
            write_whole(ROOT / name, text.replace(line, line + added, 1))
    for path, text in metadata.files().items():
        write_whole(path, text)
    if left := places(lambda text: PLACEHOLDER in text):
        sys.exit(
            f"{PLACEHOLDER} is left in {', '.join(path.name for path, _ in left)}."
        )
    print(f"The project's address is {after}. Look at `git diff`, then commit it.")
    print(
        "What only its owner can do is in .github/PUBLISHING.md; what waits for that:"
    )
    for path, text in places(FOR_THE_OWNER.search):
        for k, line in enumerate(text.splitlines(), 1):
            if FOR_THE_OWNER.search(line):
                print(f"  {path.relative_to(ROOT)}:{k}: {line.strip(' #')[:70]}")


if __name__ == "__main__":
    main(sys.argv[1:])
