"""What is needed before anything is installed; said in a line, in place of a long error.

It runs on whatever Python there is, so it is written for old ones, too.
"""

import os
import sys

FROM, TO = (3, 11), (3, 14)  # what requirements.hashes has files for


def missing(version, executable, writable):
    """What stands in the way, and what to do; None, if nothing does."""
    here = "%s is %d.%d" % (executable, version[0], version[1])
    if tuple(version[:2]) < FROM:
        return "Python 3.11 or later is needed, %s. Try: make PYTHON=python3.12 book" % here
    if tuple(version[:2]) > TO:
        return (
            "%s, and the versions that this book is pinned to are for Python 3.11 to %d.%d. "
            "Try: make PYTHON=python%d.%d book" % ((here,) + TO + TO)
        )
    if not writable:
        return (
            "Nothing can be written here, and .venv and _build are made beside the sources. "
            "Copy them to a folder of your own, and go on there."
        )
    return None


if __name__ == "__main__":
    writable = os.access(os.getcwd(), os.W_OK)
    sys.exit(missing(sys.version_info, sys.executable, writable))
