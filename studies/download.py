"""Downloads that may be broken off: what has come stays, only the rest is asked for.

Nothing of a server is believed: what a file holds is known beforehand, by its sha256.
"""

import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

TRIES = 5  # that bring nothing
PAUSE = 1  # second, before another one
TIMEOUT = 60  # seconds without a byte
CHUNK = 2**18
PASSING = 408, 429  # answers that may be others soon, as all from 500 on


class Unreachable(OSError):
    """A server does not give what is wanted; what has come so far is kept."""


class Wanted(NamedTuple):
    """A file to be got: its name, its bytes, and their sha256."""

    name: str
    size: int
    sha256: str


# Where from


def index() -> str:
    """The address of the package index that pip is set up to ask."""
    from pip._internal.models.index import PyPI

    config = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    known = subprocess.run(config, capture_output=True, text=True).stdout.strip()
    return os.environ.get("PIP_INDEX_URL") or known or PyPI.simple_url


def page(address: str, project: str) -> tuple[str, str]:
    """The page of a project on the index, and its address."""
    normal = re.sub(r"[-_.]+", "-", project).lower()
    with urlopen(f"{address.rstrip('/')}/{normal}/", timeout=TIMEOUT) as answer:
        return answer.read().decode(), answer.geturl()


def listed(project: str, name: str) -> str:
    """The address of a file, from the project's page on the index."""
    try:
        text, at = page(index(), project)
    except (OSError, HTTPException, ImportError) as error:
        raise Unreachable(f"The package index does not answer ({error}).") from None
    for link in map(html.unescape, re.findall(r'href="([^"#]+)', text)):
        if link.rpartition("/")[2] == name:
            return urljoin(at, link)
    raise Unreachable(f"{at} does not have {name}.")


# What has come so far


@contextmanager
def held(part: Path) -> Iterator[BinaryIO]:
    """The file for what has come, open, and nobody else's as long as it is held.

    It is removed at the end, unless that is an error and something has come.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    file = _locked(part)
    try:
        yield file
    except BaseException:
        if file.seek(0, os.SEEK_END) == 0:
            part.unlink(missing_ok=True)
        raise
    else:
        part.unlink(missing_ok=True)
    finally:
        file.close()


def _locked(part):
    while True:
        file = open(part, "a+b", buffering=0)  # noqa: SIM115, who holds it closes it
        _wait(file)
        with suppress(FileNotFoundError):  # another one is done, and has removed it
            if os.path.samestat(os.fstat(file.fileno()), os.stat(part)):
                return file
        file.close()


def _wait(file):
    """Until nobody else has it; where a system cannot tell, there is no waiting."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another run is getting it: waiting for that one.", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)


# Getting it


def fill(part: BinaryIO, address: str, wanted: Wanted, besides: int = 0) -> None:
    """Ask for what the part lacks, until it is complete and is what is wanted.

    besides  how many bytes more are needed on the disk afterwards
    """
    have, failed = part.seek(0, os.SEEK_END), 0
    _room(os.path.dirname(part.name), wanted.size - have + besides)
    while have < wanted.size:
        why = _more(part, address, wanted)
        before, have = have, part.seek(0, os.SEEK_END)
        failed = 0 if have > before else failed + 1
        if failed == TRIES:
            so_far = (
                f"{have / 1e6:.1f} of {wanted.size / 1e6:.1f} MB are here, and stay"
            )
            raise Unreachable(f"{address} broke off: {why}. {so_far}.")
        if have < wanted.size:
            time.sleep(PAUSE * failed)
    part.seek(0)
    found = hashlib.file_digest(part, "sha256").hexdigest()
    if found != wanted.sha256:
        part.truncate(0)
        what = f"{wanted.name} is damaged, or another file: its sha256 is {found}"
        raise ValueError(f"{what}, expected {wanted.sha256}. Nothing of it is kept.")


def _room(folder, lacking):
    free = shutil.disk_usage(folder).free
    if free < lacking:
        need = f"{free / 1e6:.1f} MB are free, {lacking / 1e6:.1f} MB are needed"
        raise OSError(f"{folder} has too little room: {need}.")


class _Broken(Exception):
    """A connection that broke: not to be taken for a disk that is full."""


def _more(part, address, wanted):
    """Append what one answer brings. Why it ended, in a word or two."""
    have = part.seek(0, os.SEEK_END)
    ranged = {"Range": f"bytes={have}-"} if have else {}
    try:
        with _answer(Request(address, headers=ranged)) as answer:
            _begin(part, answer, wanted)
            while chunk := _read(answer.read1, CHUNK):
                _append(part, chunk)
                if part.tell() > wanted.size:
                    return "too many bytes"  # which the sha256 will tell
    except _Broken as error:
        return str(error)
    return "too few bytes came"


def _answer(request):
    try:
        return _read(urlopen, request, timeout=TIMEOUT)
    except HTTPError as error:
        why = f"{error.code}, {error.reason}"
        if error.code < 500 and error.code not in PASSING:
            raise Unreachable(f"{request.full_url} answers {why}.") from None
        raise _Broken(why) from None


def _read(function, *given, **how):
    """What the network gives: all that goes wrong there is of one kind."""
    try:
        return function(*given, **how)
    except HTTPError:
        raise
    except (OSError, HTTPException) as error:
        raise _Broken(str(error) or type(error).__name__) from None


def _append(part, chunk):
    rest = memoryview(chunk)
    while rest:
        rest = rest[part.write(rest) :]


def _begin(part, answer, wanted):
    """Go on where the answer begins; refuse one of another size before it is read."""
    have = part.tell()
    ranged = answer.headers.get("Content-Range", "")
    if answer.status != 206 or not ranged.startswith(f"bytes {have}-"):
        part.truncate(0)
        if answer.status == 206:
            raise _Broken("another part came than was asked for")
        have = 0  # all of it comes again
    length = answer.headers.get("Content-Length")
    if length is not None and have + int(length) != wanted.size:
        what = f"it has {have + int(length):,} bytes, expected {wanted.size:,}"
        raise Unreachable(f"{answer.geturl()} is another file: {what}.")
