"""The rooms of the house: who imports whom, without cycles, by the front door, and none too large."""

from graphlib import CycleError
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LARGE = 400  # lines that somebody reads in one go
TOOL = spec_from_file_location("rooms", ROOT / "tools/rooms.py")
rooms = module_from_spec(TOOL)
TOOL.loader.exec_module(rooms)


def test_the_picture_of_the_rooms_is_up_to_date():
    assert rooms.page() == rooms.PAGE.read_text(), "run `make refresh`"


def test_only_who_follows_and_what_is_forgotten_know_the_fast_roads():
    asks = {
        room for room, (_, others) in rooms.rooms().items() if "hmlib/fast" in others
    }
    assert asks <= {"hmlib/attention", "hmlib/runs"}


def test_what_readers_meet_does_not_ask_what_they_do_not():
    for room, (_, others) in rooms.rooms().items():
        if room.startswith("hmlib/"):
            assert not any(other.startswith("studies/") for other in others), room


def test_nobody_uses_a_private_name_of_somebody_else():
    assert rooms.back_doors() == []


@pytest.mark.parametrize("package", ["hmlib", "studies"])
def test_no_file_is_too_long_to_be_read(package):
    files = [p for end in ("py", "js") for p in (ROOT / package).rglob(f"*.{end}")]
    long = {p.name: n for p in files if (n := len(p.read_text().splitlines())) > LARGE}
    assert not long


def made(tmp_path, **files):
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)
    return tmp_path


def test_a_cycle_and_a_back_door_are_noticed(tmp_path):
    house = made(
        tmp_path,
        hmlib__a='"""A."""\nfrom hmlib import b',
        hmlib__b='"""B."""\ndef later():\n    from hmlib.a import x',
        studies__c='"""C."""\nfrom hmlib import a\na._hidden()',
        tools__d="class D:\n    def _own(self):\n        return self._own",
    )
    with pytest.raises(CycleError):
        rooms.rooms(house)
    assert rooms.back_doors(house) == ["studies/c.py:3: _hidden"]
    (tmp_path / "hmlib/b.py").write_text('"""B, the ground. And more."""')
    assert rooms.rooms(house) == {
        "hmlib/b": ("B, the ground", []),
        "hmlib/a": ("A", ["hmlib/b"]),
        "studies/c": ("C", ["hmlib/a"]),
    }
