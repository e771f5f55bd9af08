"""Give the project its address: python tools/publish.py OWNER REPO

Wherever the placeholder stands, in the book's settings, the first cells of the chapters,
the paper and the citation, the address of the repository takes its place; codemeta.json
and .zenodo.json follow. At the end no placeholder is left, or this fails.
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

ADDED = {  # {file: (after this line, this one)}: there is none before the address is known
    "CITATION.cff": ("license: MIT\n", "repository-code: {}\n"),
    "pyproject.toml": ('readme = "README.md"\n', 'urls = {{ Repository = "{}" }}\n'),
    "codecheck.yml": ("/spec/config/1.0/\n", "repository: {}\n"),
}


def placed(text, address):
    """The text with the address of the repository."""
    return UNTIL_THEN.sub("", text).replace(PLACEHOLDER, address)


def waiting(root=ROOT):
    """{path: text} of the files in which the placeholder stands."""
    git = ["git", "ls-files", "-z"]
    names = subprocess.run(git, cwd=root, capture_output=True, check=True, text=True)
    paths = (root / name for name in names.stdout.split("\0") if name)
    texts = {}
    for path in paths:
        if path.relative_to(root).parts[0] not in ABOUT_IT and path.is_file():
            text = path.read_bytes().decode(errors="ignore")
            if PLACEHOLDER in text:
                texts[path] = text
    return texts


def main(arguments):
    name = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
    if len(arguments) != 2 or not all(re.fullmatch(name, part) for part in arguments):
        sys.exit(
            f"Given: {' '.join(arguments) or 'nothing'}. Expected the owner and the name "
            "of a repository: make publishable OWNER=... REPO=..."
        )
    address = "/".join(arguments)
    home = f"https://github.com/{address}"
    sys.path.insert(0, str(ROOT / "tools"))
    import metadata

    from hmlib.files import write_whole

    for path, text in waiting().items():
        write_whole(path, placed(text, address))
    for name, (after, line) in ADDED.items():
        text, line = (ROOT / name).read_text(), line.format(home)
        if line.partition(" ")[0] not in text.split():
            write_whole(ROOT / name, text.replace(after, after + line, 1))
    for path, text in metadata.files().items():
        write_whole(path, text)
    if left := waiting():
        sys.exit(f"{PLACEHOLDER} is left in {', '.join(path.name for path in left)}.")
    print(f"The project's address is {address}. Look at `git diff`, then commit it.")


if __name__ == "__main__":
    main(sys.argv[1:])
