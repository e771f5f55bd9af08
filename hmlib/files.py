"""Files that are whole: written all or nothing."""

import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

DRAFT = ".hmlib-draft"
FORGOTTEN = 3600  # seconds after which a draft is nobody's: its writer was killed


def write_whole(path: str | Path, content: bytes | str) -> None:
    """Whoever reads the file finds the old content or the new one; so after a crash.

    Each writer has a draft of its own beside the file, so two of them do not meet; the
    last one stays.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".*{DRAFT}"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > FORGOTTEN:
                left.unlink()
    draft = path.with_name(f".{uuid4().hex}{DRAFT}")
    try:
        with open(draft, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            # Or a name may outlive a loss of power, and its content not.
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        with suppress(OSError):  # it is gone, if all went well
            draft.unlink()
