"""What is needed before anything is installed; said in a line, not by a long error later."""

import os
import sys

FROM, TO = (3, 11), (3, 14)  # what requirements.hashes has files for


def missing(version, executable, writable):
    """What stands in the way, and what to do; None, if nothing does."""
    here, last = f"{executable} is {version[0]}.{version[1]}", f"{TO[0]}.{TO[1]}"
    if tuple(version[:2]) < FROM:
        return (
            f"Python 3.11 or later is needed, {here}. Try: make PYTHON=python3.12 book"
        )
    if tuple(version[:2]) > TO:
        return (
            f"{here}, and the versions that this book is pinned to are for Python 3.11 to "
            f"{last}. Try: make PYTHON=python{last} book"
        )
    if not writable:
        return (
            "Nothing can be written here, and .venv and _build are made beside the sources. "
            "Copy them to a folder of your own, and go on there."
        )
    return None


if __name__ == "__main__":
    here = os.access(os.getcwd(), os.W_OK)
    sys.exit(missing(sys.version_info, sys.executable, here))
