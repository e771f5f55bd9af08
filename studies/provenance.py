"""Where a result comes from."""

import json
import os
import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hmlib.files import write_whole

ROOT = Path(__file__).parents[1]
CHANGES = ("status", "--porcelain", "--", ":/", ":(top,exclude)results")
PACKAGES = ("numpy", "scipy", "torch", "scikit-learn", "dask", "hmlib")


def record(data=None, seeds=None):
    """Where something was made, by what, and when: a dict that says it in JSON.

    data   sha256 of what it was made from, by name, or of one file
    seeds  of what was drawn
    """
    packages = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {
        "data": data,
        "seeds": seeds,
        "versions": {"python": platform.python_version()} | packages,
        "machine": {"cpu": _cpu(), "cores": os.cpu_count()},
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def provenance(command, data, seeds):
    """The record of a result, and the command that made it."""
    return {"command": command} | record(data, seeds)


def write(result, path):
    write_whole(path, json.dumps(result, indent=1) + "\n")


def read(path):
    """What is in the file; nothing, if there is none."""
    path = Path(path)
    try:
        return dict(json.loads(path.read_bytes())) if path.exists() else {}
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path} is damaged, or another file: restore it, or remove it. ({error})"
        ) from error


def merge(parts, path):
    """Write the parts into the file; what else is in it stays."""
    write(read(path) | parts, path)


def _cpu():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def commit():
    """The commit of this checkout, marked if there are changes on top, but for results,
    to which runs add; None outside git."""

    def git(*command):
        command = ["git", "--no-optional-locks", *command]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    try:
        commit, changes = git("rev-parse", "HEAD"), git(*CHANGES)
    except FileNotFoundError:
        return None
    return commit and commit + ("+changes" if changes else "")
