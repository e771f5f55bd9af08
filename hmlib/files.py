"""Files that are whole: written all or nothing, and believed only with the digest of what they hold."""

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from hmlib import inputs

DRAFT = ".hmlib-draft"
FORGOTTEN = 3600  # seconds after which a draft is nobody's: its writer was killed


def write_whole(path, content):
    """Bytes or text into a file: whoever reads it finds the old content or the new one, and so after a crash.

    Each writer has a draft of its own beside the file, so two of them do not meet; the last one stays.
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
            os.fsync(
                file.fileno()
            )  # or a name may outlive a loss of power, and its content not
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def write_sealed(path, record, tensors):
    """A dict as path.json and tensors by name as path.safetensors; the JSON, written last, has the sha256 of both."""
    with inputs.extra("torch"):
        from safetensors.torch import save

    content = save({name: tensor.contiguous() for name, tensor in tensors.items()})
    write_whole(f"{path}.safetensors", content)
    write_whole(
        f"{path}.json",
        json.dumps(record | {"sha256": _sha256(record, content)}, indent=1) + "\n",
    )


def read_sealed(path):
    """(record, tensors) as they were written; None if they are not there, or are not what was written."""
    with inputs.extra("torch"):
        from safetensors.torch import load

    for file in (Path(f"{path}.json"), Path(f"{path}.safetensors")):
        if file.is_dir():  # not ours, and in the way of what is to be written
            raise ValueError(
                f"{file} is a folder: expected a file. Remove it, or choose another place."
            )
    try:
        record = json.loads(Path(f"{path}.json").read_bytes())
        content = Path(f"{path}.safetensors").read_bytes()
        if record.pop("sha256") == _sha256(record, content):
            return record, load(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # as good as none
    return None


def _sha256(record, content):
    return hashlib.sha256(json.dumps(record).encode() + content).hexdigest()
