"""Faults, one after the other, at each place where something is written or read: full and read-only disks, SIGKILL, damaged
and foreign files, two at once. Nothing is lost, nothing is half-written, and what comes out afterwards is the same."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hmlib import files
from studies.provenance import ROOT, merge

PATHS = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
FULL = OSError(28, "No space left on device")


def refuse(error):
    def function(*_, **__):
        raise error

    return function


def content(folder):
    return {
        file.name: file.read_bytes()
        for file in sorted(folder.iterdir())
        if file.is_file()
    }


# Whole files


@pytest.mark.parametrize(
    "error", [FULL, KeyboardInterrupt()], ids=["full disk", "stopped"]
)
@pytest.mark.parametrize("where", ["open", "fsync", "replace"])
def test_a_write_that_breaks_off_changes_nothing(tmp_path, monkeypatch, where, error):
    """Neither the file nor what stands beside it, and the draft is gone."""
    for before in ({}, {"file": b"before", "other": b"x"}):
        for name, text in before.items():
            (tmp_path / name).write_bytes(text)
        with monkeypatch.context() as patch:
            if where == "open":
                patch.setattr(files, "open", refuse(error), raising=False)
            else:
                patch.setattr(files.os, where, refuse(error))
            with pytest.raises(type(error)):
                files.write_whole(tmp_path / "file", "after")
        assert content(tmp_path) == before
    files.write_whole(tmp_path / "new" / "file", "after, ü")
    assert content(tmp_path / "new") == {"file": "after, ü".encode()}


@pytest.mark.skipif(
    not hasattr(signal, "SIGXFSZ"),
    reason="this system has no limit for the size of a file",
)
def test_a_disk_that_is_really_full(tmp_path):
    """The system itself refuses the second half of the draft."""
    (tmp_path / "file").write_bytes(b"before")
    code = """if True:
        import resource, sys
        from hmlib.files import write_whole
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        write_whole(sys.argv[1], b"x" * 10**4)
    """
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "file"],
        env=PATHS,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "File too large" in done.stderr
    assert content(tmp_path) == {"file": b"before"}


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_bytes(b"before")
    for place in (tmp_path / "file" / "below", "/dev/null/below"):
        with pytest.raises(OSError, match=re.escape(str(Path(place).parent))):
            files.write_whole(place, b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        files.write_whole(tmp_path / "folder", b"")
    assert content(tmp_path) == {"file": b"before"} and not list(
        (tmp_path / "folder").iterdir()
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_writer_that_is_killed(tmp_path):
    """Its draft is no file of anybody's; a later write takes it away, but not the draft of one who is at work."""
    (tmp_path / "file").write_bytes(b"before")
    code = """if True:
        import os, signal, sys
        from hmlib import files
        files.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        files.write_whole(sys.argv[1], b"after")
    """
    for _ in range(2):
        assert (
            subprocess.run(
                [sys.executable, "-c", code, tmp_path / "file"], env=PATHS
            ).returncode
            == -signal.SIGKILL
        )
    assert (tmp_path / "file").read_bytes() == b"before"
    one, other = tmp_path.glob(f".*{files.DRAFT}")
    os.utime(one, (0, 0))
    files.write_whole(tmp_path / "another", b"")
    assert content(tmp_path) == {
        other.name: b"after",
        "another": b"",
        "file": b"before",
    }


def test_many_who_write_and_read_one_file(tmp_path):
    """Each reader finds what one of the writers wrote, from the first byte to the last; nobody fails."""
    texts, failed, over = (
        [bytes([65 + k]) * (100_000 + k) for k in range(4)],
        [],
        threading.Event(),
    )
    files.write_whole(tmp_path / "file", texts[0])

    def write(text):
        try:
            for _ in range(25):
                files.write_whole(tmp_path / "file", text)
        except BaseException as error:
            failed.append(error)

    def read():
        while not over.is_set():
            if (found := (tmp_path / "file").read_bytes()) not in texts:
                failed.append(found[:20])

    reader, writers = (
        threading.Thread(target=read),
        [threading.Thread(target=write, args=[text]) for text in texts],
    )
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    reader.join()
    assert not failed and [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[1, 2]", b"7", b"[" * 10**5, b"\xff\xfe", None]
)
def test_measurements_are_not_merged_into_a_damaged_file(tmp_path, damage):
    path = tmp_path / "benchmarks.json"
    path.mkdir() if damage is None else path.write_bytes(damage)
    with pytest.raises(
        ValueError,
        match=re.escape(
            f"{path} is damaged, or another file: restore it, or remove it."
        ),
    ):
        merge({"attention": 1}, path)
    assert path.is_dir() if damage is None else path.read_bytes() == damage


# Notebooks


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_refresh_is_killed(tmp_path):
    """By the notebook itself, in its second cell: the file is as it was; the next run stores all outputs."""
    nbformat = pytest.importorskip("nbformat")
    kill = "import os, signal\nif not os.path.exists('killed'):\n    open('killed', 'w').close()\n    os.kill(os.getppid(), 9)"
    cells = [
        nbformat.v4.new_code_cell(source) for source in ("print(1)", kill, "print(2)")
    ]
    path = tmp_path / "chapter.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    before = path.read_bytes()
    refresh = [sys.executable, ROOT / "tools" / "refresh_notebooks.py", path]
    for code, same in ((-signal.SIGKILL, True), (0, False)):
        assert (
            subprocess.run(refresh, env=PATHS, capture_output=True).returncode == code
        )
        assert (path.read_bytes() == before) == same and set(content(tmp_path)) == {
            "chapter.ipynb",
            "killed",
        }
    stored = [
        output["text"]
        for cell in json.loads(path.read_text())["cells"]
        for output in cell["outputs"]
    ]
    assert stored == [["1\n"], ["2\n"]]


# Sealed results, and what is kept in them


torch = pytest.importorskip("torch", reason="what follows needs torch")

from studies import checkpoints  # noqa: E402


def damages(path, rng):
    """(what, how) for a sealed pair: after `how`, it is not what was written."""
    for file in (Path(f"{path}.json"), Path(f"{path}.safetensors")):
        whole = file.read_bytes()
        for cut in (0, 1, len(whole) // 2, len(whole) - 2):
            yield (
                f"{file.suffix} cut to {cut}",
                lambda file=file, cut=cut, whole=whole: file.write_bytes(whole[:cut]),
            )
        for _ in range(4):
            at, bit = rng.randrange(len(whole)), 1 << rng.randrange(8)
            flipped = whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :]
            if file.suffix == ".safetensors" or not blank(
                whole[at : at + 1] + flipped[at : at + 1]
            ):
                yield (
                    f"{file.suffix} flipped at {at}",
                    lambda file=file, flipped=flipped: file.write_bytes(flipped),
                )
        for text in (
            b"[]",
            b"{}",
            b"null",
            b"7",
            b'"sha256"',
            b'{"sha256": 1}',
            b"[" * 10**5,
            b"\xff\xfe",
        ):
            yield (
                f"{file.suffix} is {text[:20]}",
                lambda file=file, text=text: file.write_bytes(text),
            )
        yield f"no {file.suffix}", file.unlink
    record = json.loads(Path(f"{path}.json").read_text())
    for name in record:
        changed = json.dumps(record | {name: "other"})
        yield (
            f"other {name}",
            lambda changed=changed: Path(f"{path}.json").write_text(changed),
        )


def blank(pair):
    return not pair.strip()


def test_a_sealed_pair_is_believed_only_as_it_was_written(tmp_path):
    path, record = (
        tmp_path / "a, .5 b",
        {"facts": [1, 0.1, None, {"x": float("inf")}], "name": "ü"},
    )
    tensors = {
        "x": torch.arange(6.0).reshape(2, 3).T,
        "none": torch.zeros(0, 2, dtype=torch.int32),
    }
    assert checkpoints.read_sealed(path) is None
    checkpoints.write_sealed(path, record, tensors)
    stored = content(tmp_path)
    assert set(stored) == {"a, .5 b.json", "a, .5 b.safetensors"}
    for what, damage in damages(path, random.Random(0)):
        damage()
        assert checkpoints.read_sealed(path) is None, what
        for name, whole in stored.items():
            (tmp_path / name).write_bytes(whole)
        found, arrays = checkpoints.read_sealed(path)
        assert found == record and all(
            torch.equal(arrays[name], value) for name, value in tensors.items()
        )
    checkpoints.write_sealed(tmp_path / "other", record, {"x": torch.zeros(1)})
    shutil.copy(tmp_path / "other.safetensors", f"{path}.safetensors")
    assert checkpoints.read_sealed(path) is None
    for kind in ("json", "safetensors"):
        Path(f"{path}.{kind}").unlink()
        Path(f"{path}.{kind}").mkdir()
        with pytest.raises(
            ValueError,
            match=re.escape(
                f"{path}.{kind} is a folder: expected a file. Remove it, or"
            ),
        ):
            checkpoints.read_sealed(path)
        Path(f"{path}.{kind}").rmdir()


pytest.importorskip("distributed", reason="what follows needs dask.distributed")

import chores  # noqa: E402

from hmlib.text import Reviews  # noqa: E402
from studies import __main__ as command  # noqa: E402
from studies import check, graph, provenance, texts, variations  # noqa: E402
from studies.graph import Task  # noqa: E402


@pytest.fixture
def reviews(monkeypatch, tmp_path):
    """Ten reviews; encoded() gives them anew from what is kept, `made` counts how often they were encoded."""
    some = [f"A {'good' if i % 2 else 'bad'} film, number{'x' * i}" for i in range(10)]
    labels, made, encode = np.arange(10) % 2, [], texts._encode
    monkeypatch.setattr(
        texts, "load_reviews", lambda split: Reviews(some, labels, np.arange(10) < 7)
    )
    monkeypatch.setattr(texts, "HOME", str(tmp_path))
    monkeypatch.setitem(
        texts.WAYS, "full", texts.WAYS["full"] | {"length": 5, "least": 1}
    )
    monkeypatch.setattr(
        texts, "_encode", lambda **given: (made.append(1), encode(**given))[1]
    )
    monkeypatch.setattr(texts, "code_of", lambda _: code[0])
    code = ["code"]

    def encoded():
        return texts.encoded.__wrapped__("full")

    encoded.made, encoded.code = made, code
    return encoded


def same(one, other):
    return all(
        torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y
        for x, y in zip(one, other, strict=True)
    )


def test_damaged_reviews_are_encoded_anew(reviews, tmp_path):
    first, path = reviews(), tmp_path / "studies" / "texts" / "full"
    assert same(first, reviews()) and len(reviews.made) == 1
    for k, (what, damage) in enumerate(damages(path, random.Random(1))):
        damage()
        assert same(first, reviews()) and same(first, reviews()), what
        assert len(reviews.made) == k + 2, what
    Path(f"{path}.json").unlink()
    Path(f"{path}.json").mkdir()
    with pytest.raises(ValueError, match=r"full\.json is a folder: expected a file"):
        reviews()


def test_reviews_of_another_making_are_encoded_anew(reviews, monkeypatch):
    """By other code, from other data, in another way, all whole and sealed."""
    first = reviews()
    for k, change in enumerate((
        lambda: reviews.code.__setitem__(0, "other code"),
        lambda: monkeypatch.setitem(texts.SHA256, "kaggle", "0"),
        lambda: monkeypatch.setitem(texts.WAYS, "full", texts.WAYS["full"] | {"length": 4}),
    )):  # fmt: skip
        change()
        found = reviews()
        assert len(reviews.made) == k + 2 and same(found, reviews())
    assert found.ids.shape == (10, 4) and torch.equal(found.ids, first.ids[:, :4])


def test_reviews_where_nothing_can_be_kept(reviews, tmp_path, monkeypatch):
    """A cache that cannot be written, or is full: said, and all goes on."""
    first = reviews()
    (tmp_path / "file").touch()
    monkeypatch.setattr(texts, "HOME", str(tmp_path / "file"))
    with pytest.warns(
        UserWarning, match="The encoded reviews are not kept for the next time: .*file"
    ):
        assert same(first, reviews())
    monkeypatch.setattr(texts, "HOME", str(tmp_path / "full"))
    with (
        monkeypatch.context() as patch,
        pytest.warns(UserWarning, match="No space left on device"),
    ):
        patch.setattr(files.os, "fsync", refuse(FULL))
        assert same(first, reviews())
    assert content(tmp_path / "full" / "studies" / "texts") == {}
    assert same(first, reviews()) and same(first, reviews()) and len(reviews.made) == 4


def test_two_who_share_a_cache(reviews, tmp_path):
    """Both encode at once, and each ends with the same; so does whoever comes later."""
    found, first = [], reviews()
    shutil.rmtree(tmp_path / "studies")
    together = [
        threading.Thread(target=lambda: found.append(reviews())) for _ in range(4)
    ]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert len(found) == 4 and all(same(first, one) for one in [*found, reviews()])


# Studies

SUM = [
    Task("one", chores.constant, {"value": 1}),
    Task("sum", chores.total, needs={"one": "one", "other": "one"}),
]


def run(folder, tasks=SUM, **options):
    return graph.run(tasks, folder, workers=0, progress=False, **options)


def values(done):
    return {
        name: (found.facts["value"], found.arrays["tensor"].tolist())
        for name, found in done.items()
    }


def test_damaged_tasks_are_done_anew(tmp_path):
    """Each kind of damage, also of facts that JSON can read; all else stays as it is."""
    first, path = values(run(tmp_path)), tmp_path / "done" / "sum"
    stored = content(path.parent)
    for what, damage in damages(path, random.Random(2)):
        damage()
        assert list(graph.finished(SUM, tmp_path)) == ["one"], what
        if "cut" in what or "other" in what:
            assert values(run(tmp_path)) == first
        for name, whole in stored.items():
            (tmp_path / "done" / name).write_bytes(whole)
    Path(f"{path}.json").unlink()
    Path(f"{path}.json").mkdir()
    with pytest.raises(ValueError, match=r"sum\.json is a folder: expected a file"):
        run(tmp_path)


def test_a_shelf_that_cannot_be_written_is_known_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        run(tmp_path / "file")
    monkeypatch.setattr(
        graph, "TemporaryFile", refuse(OSError(30, "Read-only file system"))
    )
    with pytest.raises(OSError, match="Read-only file system"):
        run(tmp_path)
    assert not (tmp_path / "running").exists()


def test_a_disk_that_fills_up_within_a_study(tmp_path, monkeypatch):
    """What was done before is kept; with room again, the end is the same."""
    fsync, calls = os.fsync, []

    def full(file):
        calls.append(1)
        return (
            fsync(file) if len(calls) < 4 else refuse(FULL)()
        )  # the facts of the second task

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(files.os, "fsync", full)
        run(tmp_path)
    assert list(graph.finished(SUM, tmp_path)) == ["one"]
    assert values(run(tmp_path)) == values(run(tmp_path / "anew"))


def test_what_other_code_has_done_is_stale(tmp_path, monkeypatch, capsys):
    """It is done again with all that needs it, or taken on request; then results say so, and it stays stale."""
    monkeypatch.setattr(provenance, "commit", lambda: "abc")
    monkeypatch.setattr(command, "import_module", lambda _: study)
    study = SimpleNamespace(
        __name__="studies.sums",
        tasks=lambda: SUM,
        DATA={"numbers": "their sha256"},
        TABLES={"sum": lambda facts: facts["sum"]["value"]},
    )
    results = tmp_path / "results"
    arguments = ["variations", "--folder", str(tmp_path), "--workers", "0"]
    arguments += ["--results", str(results)]

    def entries():
        return json.loads((results / "tasks" / "sums.json").read_text())

    def states():
        command.main([*arguments, "--list"])
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    run(tmp_path)
    assert states() == [["done", "one"], ["done", "sum"]]
    code = {chores.constant: "1", chores.total: "2"}
    monkeypatch.setattr(graph, "code_of", lambda function: code[function])
    assert (
        states() == [["stale", "one"], ["stale", "sum"]]
        and graph.finished(SUM, tmp_path) == {}
    )
    run(tmp_path)
    code[chores.total] = "3"
    assert states() == [["done", "one"], ["stale", "sum"]]
    code[chores.constant] = "4"
    assert states() == [["stale", "one"], ["stale", "sum"]]
    command.main([*arguments, "--keep-stale"])
    said = capsys.readouterr().out
    assert "Other code than this did 2 of the tasks: taken as it is." in said
    key = graph.keys(SUM)
    assert "2 of the study's 2 tasks are done" in said
    assert all(entries()[name]["code"] != key[name].code for name in key)
    rests_on = check.of_tables(study, entries(), {"sum": 2})
    assert rests_on == {"sum": "1 of its 1 tasks would be computed again"}
    (tmp_path / "done" / "sum.json").unlink()
    done = run(tmp_path, stale=True)  # made anew, of what is stale
    assert done["sum"].facts["value"] == 2
    assert done["sum"].made["code"] == f"not {key['sum'].code}"
    assert states() == [["stale", "one"], ["stale", "sum"]]
    command.main(arguments)
    said = capsys.readouterr().out
    assert (
        "Other code than this did 2 of the tasks: done again (--keep-stale takes it as it is)."
        in said
    )
    assert states() == [["done", "one"], ["done", "sum"]]
    assert all(entries()[name]["code"] == key[name].code for name in key)
    assert {kept["commit"] for kept in entries().values()} == {"abc"}
    assert entries()["sum"]["data"] == {"numbers": "their sha256"}
    assert check.of_tables(study, entries(), {"sum": 2}) == {"sum": "today's"}
    assert check.of_tables(study, entries(), {"sum": 3}) == {
        "sum": "is not what its entries give"
    }


def test_a_task_s_checkpoints_are_of_its_code_and_of_what_was_asked(
    tmp_path, monkeypatch
):
    """A run that was killed does not go on from what other code, or another question, left behind."""

    def ran():
        return sorted(
            file.read_text() for file in (tmp_path / "running" / "one").glob("*/ran")
        )

    def again(tasks=SUM[:1]):
        shutil.rmtree(tmp_path / "done", ignore_errors=True)
        run(tmp_path, tasks)
        return ran()

    assert again() == ["x"] and again() == ["xx"]
    assert again([Task("one", chores.constant, {"value": 2})]) == ["x", "xx"]
    monkeypatch.setattr(graph, "code_of", lambda _: "other")
    assert again() == ["x", "x", "xx"]


@pytest.mark.parametrize("study", command.STUDIES)
def test_a_part_of_a_study_leaves_results_alone(tmp_path, monkeypatch, capsys, study):
    """What there is of it goes beside the tasks, into a folder that says so; where it
    is asked to go to results, it is added, and all tables stand."""
    module = command.import_module(f"studies.{study}")
    names = [task.name for task in module.tasks()]
    folder, results = tmp_path / "study", tmp_path / "results"
    results.mkdir()
    for file in (ROOT / "results").glob(f"**/{study}*"):
        copy = results / file.relative_to(ROOT / "results")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    before = content(results)
    shipped = content(ROOT / "results")
    monkeypatch.setattr(graph, "run", lambda *_, **__: None)
    monkeypatch.setattr(graph, "finished", lambda *_: {})
    command.main([study, "--tasks", names[0], "--folder", str(folder)])
    said = capsys.readouterr().out
    assert f"0 of the study's {len(names)} tasks are done." in said
    assert "results/ stays as it was" in said
    assert content(results) == before and content(ROOT / "results") == shipped
    partial = folder / "partial" / f"{study}.json"
    assert f"wrote {partial}" in said and json.loads(partial.read_text())
    line = [study, "--tasks", names[0], "--folder", str(folder)]
    command.main([*line, "--results", str(results)])
    for name, whole in before.items():
        if name.endswith("json"):
            old, new = json.loads(whole), json.loads((results / name).read_text())
            assert old.keys() <= new.keys()
            assert all(new[k] == old[k] for k in old.keys() - {"provenance"})


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_study_is_killed_while_it_writes_its_results(tmp_path, monkeypatch, capsys):
    """The old results stand until the new ones are whole, and the same command ends with them."""
    code = """if True:
        import os, signal, sys
        import test_faults as t
        replace = t.files.os.replace
        def deadly(draft, path):
            if str(path).endswith("variations.json"):
                os.kill(os.getpid(), signal.SIGKILL)
            replace(draft, path)
        t.files.os.replace = deadly
        t.small_study(sys.argv[1])
    """
    results = tmp_path / "results"
    results.mkdir()
    (results / "variations.json").write_bytes(b'{"heads": 1}')
    line = [sys.executable, "-c", code, tmp_path]
    assert (
        subprocess.run(line, env=PATHS, capture_output=True).returncode
        == -signal.SIGKILL
    )
    assert (results / "variations.json").read_bytes() == b'{"heads": 1}'
    done = content(tmp_path / "study" / "done")
    assert set(done) == {"feed-forward 0.json", "feed-forward 0.safetensors"}
    with monkeypatch.context() as patch:
        small_study(tmp_path, patch.setattr)
    assert "1 of the study's 1 tasks are done." in capsys.readouterr().out
    assert content(tmp_path / "study" / "done") == done
    assert (
        len(json.loads((results / "variations.json").read_text())["feed_forward"]) == 1
    )


def small_study(folder, change=setattr):
    """One task of chapter 8's study, with its results."""
    given = {"seed": 0, "sets": 40, "steps": 5}
    change(variations, "SEEDS", [0])
    change(
        variations,
        "tasks",
        lambda: [Task("feed-forward 0", variations.feed_forward, given)],
    )
    command.main(
        [
            "variations",
            "--workers",
            "0",
            "--folder",
            f"{folder}/study",
            "--results",
            f"{folder}/results",
        ]
    )
