"""Studies: graphs that go on where they were, and give the same whoever runs them; measures against hmlib's own account."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from inspect import signature
from pathlib import Path

import chores
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="studies need torch")
pytest.importorskip("distributed", reason="studies need dask.distributed")

from dask.distributed import LocalCluster  # noqa: E402

from hmlib import (  # noqa: E402
    HardmaxClassifier,
    Vocabulary,
    evaluate,
    explain,
    leaders,
)
from hmlib.text import Reviews  # noqa: E402
from studies import __main__ as command  # noqa: E402
from studies import (  # noqa: E402
    classifiers,
    departures,
    graph,
    ledger,
    measures,
    models,
    protocol,
    real_text,
    sentiment,
    texts,
    variations,
)
from studies.graph import Task  # noqa: E402

ROOT = Path(__file__).parents[1]
SUM = [
    Task("one", chores.constant, {"value": 1}),
    Task("two", chores.constant, {"value": 2}),
    Task("sum", chores.total, needs={"one": "one", "other": "two"}),
    Task("twice", chores.total, needs={"one": "sum", "other": "sum"}),
]


def ran(folder):
    return {
        task.name: sum(len(file.read_text()) for file in task.glob("*/ran"))
        for task in (folder / "running").iterdir()
    }


def facts(done):
    return {name: found.facts for name, found in done.items()}


# The graph


def test_a_study_is_run_once(tmp_path):
    done = graph.run(SUM, tmp_path, workers=0, progress=False)
    assert facts(done) == {
        "one": {"value": 1},
        "two": {"value": 2},
        "sum": {"value": 3},
        "twice": {"value": 6},
    }
    assert done["twice"][1]["tensor"].tolist() == [6, 6, 6]
    again = graph.run(SUM, tmp_path, workers=0, progress=False)
    assert facts(again) == facts(done) and ran(tmp_path) == dict.fromkeys(
        ("one", "two", "sum", "twice"), 1
    )
    assert facts(graph.finished(SUM, tmp_path)) == facts(done)


def test_what_changes_is_run_again_with_all_that_needs_it(tmp_path):
    graph.run(SUM, tmp_path, workers=0, progress=False)
    changed = [
        Task("two", chores.constant, {"value": 5}) if task.name == "two" else task
        for task in SUM
    ]
    done = graph.run(changed, tmp_path, workers=0, progress=False)
    assert facts(done)["twice"] == {"value": 12}
    assert ran(tmp_path) == {"one": 1, "two": 2, "sum": 2, "twice": 2}


def test_a_damaged_result_is_made_anew(tmp_path):
    graph.run(SUM, tmp_path, workers=0, progress=False)
    for k, (file, content) in enumerate(
        (
            ("sum.json", b""),
            ("sum.json", b"{}"),
            ("sum.json", b"[]"),
            ("sum.safetensors", b"x"),
            ("sum.safetensors", None),
        )
    ):
        path = tmp_path / "done" / file
        path.unlink() if content is None else path.write_bytes(content)
        assert facts(graph.run(SUM, tmp_path, workers=0, progress=False))["sum"] == {
            "value": 3
        }
        assert ran(tmp_path)["sum"] == k + 2


def test_a_run_leaves_no_thread_behind(tmp_path):
    """A cluster that outlived its run went on measuring itself, for ever: fifty of them
    took most of a core."""
    before = threading.active_count()
    graph.run(SUM, tmp_path, workers=0, progress=False)
    graph.run(SUM, tmp_path / "more", workers=0, progress=False)
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("IO loop") <= 1 and threading.active_count() <= before + 2


def test_only_what_is_wanted():
    assert [task.name for task in graph.wanted(SUM, ["sum"])] == ["one", "two", "sum"]
    with pytest.raises(ValueError, match=re.escape("Two tasks have the same name.")):
        graph.keys(SUM + SUM[:1])


def test_a_task_that_fails_says_so_and_the_others_are_kept(tmp_path):
    with pytest.raises(ZeroDivisionError, match="as it must"):
        graph.run(
            [*SUM, Task("broken", chores.broken, needs={})],
            tmp_path,
            workers=0,
            progress=False,
        )
    assert facts(graph.run(SUM, tmp_path, workers=0, progress=False))["twice"] == {
        "value": 6
    }


def test_a_cluster_of_two_with_a_worker_killed_gives_the_same_as_one_process(tmp_path):
    """By the address of its scheduler. The task goes on from the checkpoint of the one that was killed."""
    tasks = [Task(f"train {seed}", chores.trained, {"seed": seed}) for seed in range(3)]
    alone = graph.run(tasks, tmp_path / "alone", workers=0, progress=False)
    mark = str(tmp_path / "killed")
    deadly = [
        Task(task.name, chores.trained, task.given | {"deadly": mark})
        for task in tasks[:1]
    ] + tasks[1:]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        done = graph.run(
            deadly,
            tmp_path / "two",
            scheduler=cluster.scheduler_address,
            progress=False,
        )
    assert Path(mark).exists()
    assert facts(done) == facts(alone)
    for name, found in alone.items():
        assert all(
            torch.equal(value, done[name].arrays[key])
            for key, value in found.arrays.items()
        )


def test_a_killed_study_goes_on(tmp_path):
    """SIGKILL between tasks or within one; what was done is not done again."""
    code = (
        "import chores; from studies import graph; from studies.graph import Task;"
        "graph.run([Task(f'train {k}', chores.trained, {'seed': k}) for k in range(40)],"
        f" {str(tmp_path)!r}, workers=0, progress=False)"
    )
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    }
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path
    )
    try:
        patience = time.monotonic() + 120
        while len(list((tmp_path / "done").glob("*.json"))) < 3:
            assert process.poll() is None and time.monotonic() < patience
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    tasks = [Task(f"train {k}", chores.trained, {"seed": k}) for k in range(5)]
    before = {file: file.read_bytes() for file in (tmp_path / "done").glob("*.json")}
    done = graph.run(tasks, tmp_path, workers=0, progress=False)
    assert all(file.read_bytes() == content for file, content in before.items())
    assert facts(done) == facts(
        graph.run(tasks, tmp_path / "anew", workers=0, progress=False)
    )


def test_the_command(tmp_path, capsys, monkeypatch):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    said = capsys.readouterr().out
    assert (
        all(name in said for name in command.STUDIES) and "goes on where it was" in said
    )
    monkeypatch.setattr(sentiment, "tasks", lambda: SUM)
    monkeypatch.setattr(sentiment, "TABLES", {"all": lambda facts: facts["twice"]})
    folder = ["sentiment", "--folder", str(tmp_path), "--workers", "0"]
    command.main([*folder, "--tasks", "o*"])
    assert "1 of the study's 4 tasks are done." in capsys.readouterr().out
    command.main([*folder, "--list"])
    assert capsys.readouterr().out.splitlines() == [
        "done   one",
        "to do  two",
        "to do  sum",
        "to do  twice",
    ]
    command.main([*folder, "--results", str(tmp_path)])
    assert "wrote" in capsys.readouterr().out
    made = json.loads((tmp_path / "sentiment.json").read_text())
    assert made["all"] == {"value": 6}
    assert made["provenance"]["command"].startswith("python -m studies sentiment")
    with pytest.raises(SystemExit, match="No task is called x"):
        command.main([*folder, "--tasks", "x"])


# The texts


TEXTS = [
    "The film was not good. Not good at all!",
    "A good film, a really good film.",
    "Bad bad film<br />with the worst plot.",
    "Really good, I like it",
    "The worst film, really bad",
    "good good good",
    "A plot. bad, bad",
    "I like the plot really",
    "bad film",
    "good film unheard-of",
]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Ten reviews instead of 50,000."""
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
    train = np.arange(10) < 7
    monkeypatch.setattr(
        texts,
        "load_reviews",
        lambda split: Reviews(TEXTS, labels, train if split == "kaggle" else ~train),
    )
    monkeypatch.setattr(texts, "HOME", str(tmp_path))
    for way, about in texts.WAYS.items():
        monkeypatch.setitem(
            texts.WAYS,
            way,
            about | {"length": 5} | ({"least": 1} if "least" in about else {}),
        )
    texts.encoded.cache_clear()
    yield
    texts.encoded.cache_clear()


def test_texts(small):
    """Each way: its words, its rows; the second time from what was kept."""
    for way in texts.WAYS:
        some = texts.encoded(way)
        assert [len(rows) for rows in (some.fit, some.held, some.test)] == (
            [2, 1, 7] if way in ("official", "sentences") else [6, 1, 3]
        )
        assert torch.equal(some.labels, torch.tensor([0.0, 1] * 5))
        assert some.ids.max() < len(some.words) and some.ids.dtype == torch.int32
        ids, labels = some.of("train")
        assert len(ids) == len(labels) == len(some.fit) + len(some.held)
        texts.encoded.cache_clear()
        again = texts.encoded(way)
        assert all(
            torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y
            for x, y in zip(some, again, strict=True)
        )
    known = {way: set(texts.encoded(way).words) for way in texts.WAYS}
    assert (
        "unheard" in known["paper"]
        and "unheard" not in known["paper, training words"] | known["128"]
    )
    assert "The" in known["paper"] and "The" not in known["paper, plain words"]


def test_pairs(small):
    some, plain = texts.encoded("pairs"), texts.encoded("full")
    assert some.words[: len(plain.words)] == plain.words and torch.equal(
        some.ids[:, :5], plain.ids
    )
    pairs = [[some.words[i] for i in row[5:] if i] for row in some.ids]
    assert pairs[0] == [
        "the_film",
        "film_was",
        "was_not",
        "not_good",
        "good_not",
        "not_good",
        "good_at",
        "at_all",
    ]
    assert pairs[1][:3] == ["a_good", "good_film", "film_a"] and pairs[2][:3] == [
        "bad_bad",
        "bad_film",
        "film_with",
    ]
    assert "film_unheard" not in some.words and pairs[9] == ["good_film"]


# Measures, against explain and hmlib.leaders


def a_model(seed=0, padding="mask", depth=5, words=40):
    torch.manual_seed(seed)
    model = HardmaxClassifier(words, 2, depth, padding, alpha=0.8)
    model.vocabulary = Vocabulary([[f"w{i}" for i in range(1, words)]])
    ids = torch.randint(1, words, (30, 14))
    ids[torch.arange(14) >= torch.randint(2, 15, (30, 1))] = 0
    return model, ids


@pytest.mark.parametrize("padding", ["mask", "token"])
def test_leaders_are_those_of_hmlib(padding):
    model, ids = a_model(1, padding)
    n, first, last, distinct = [], [], [], []
    for row in ids:
        e = explain(
            model, [model.vocabulary.words[i] for i in row.tolist() if i], length=14
        )
        distinct.append(len(e.words))
        n.append(len(e.leaders))
        row = torch.unique(row if padding == "token" else row[row != 0])
        Z = model.embedding.weight[row].detach().double().numpy()
        first.append(len(e.path.leaders(0)))
        last.append(len(leaders(Z, float(model.alpha.detach()))))
    found = measures.how_many_lead(model, ids)
    assert (
        found["leaders"] == np.mean(n)
        and found["words"] == np.mean(distinct)
        and 0 < found["settled"] <= 1
    )
    table = measures.table_1(model, ids)
    for counting in table.values():  # here nobody comes to lead later
        assert counting["average"] == pytest.approx(np.mean(last)) and counting[
            "least"
        ] == min(last)
        assert counting["deviation"] == pytest.approx(np.std(last)) and counting[
            "most"
        ] == max(last)
        assert counting["initial"] == pytest.approx(np.mean(np.divide(first, last)))
    assert table["paper"]["layers"] == model.depth + 2


def test_deep_layers_do_not_take_followers_for_leaders():
    """Nearly equal lengths, large alpha: after twelve layers float32 confuses what has met; float64 does not."""
    torch.manual_seed(0)
    model, ids = a_model(depth=12)
    model.set_alpha(4.0)
    with torch.no_grad():
        angle, length = 3 * torch.rand(40), 1 + 0.003 * torch.rand(40)
        model.embedding.weight.copy_(
            length[:, None] * torch.stack([angle.cos(), angle.sin()], 1)
        )
    clouds = [
        model.embedding.weight[torch.unique(row[row != 0])].detach().double().numpy()
        for row in ids
    ]
    n = np.mean([len(leaders(Z, 4.0)) for Z in clouds])
    found = measures.how_many_lead(model, ids)
    assert found["leaders"] == pytest.approx(n) and found["settled"] == 1
    kinds = (torch.float32, torch.float64)
    lead = [
        sum(
            int(measures.leading(f, w).sum())
            for _, _, _, w, f, _ in measures.runs(model, ids, dtype=k)
        )
        for k in kinds
    ]
    assert lead[0] > lead[1]


def test_leader_words():
    model, ids = a_model(2)
    labels = (model(ids) > 0).float()
    labels[::3] = 1 - labels[::3]
    counts, anyhow = {}, {}
    for row, label in zip(ids, labels, strict=True):
        e = explain(model, [model.vocabulary.words[i] for i in row.tolist() if i])
        v, b = model.decoder.weight[0].detach().double().numpy(), e.bias
        for i in e.leaders:
            anyhow[e.words[i]] = anyhow.get(e.words[i], 0) + 1
        if (e.logit > 0) == bool(label) and max(
            e.probability, 1 - e.probability
        ) > 0.55:
            for i in e.leaders:
                if abs(e.path.tokens[-1][i] @ v + b) > 0.3:
                    counts[e.words[i]] = counts.get(e.words[i], 0) + 1
    found = measures.leader_words(
        model, ids, labels, model.vocabulary.words, 0.55, 0.3, 39
    )
    assert {row["word"]: row["reviews"] for row in found if row["reviews"]} == counts
    assert [row["reviews"] for row in found] == sorted(
        (row["reviews"] for row in found), reverse=True
    )
    assert {row["word"]: row["anyhow"] for row in found if row["anyhow"]} == anyhow
    assert all(model.vocabulary.words[row["id"]] == row["word"] for row in found)
    own = (model.embedding.weight @ model.decoder.weight[0]).tolist()
    assert [row["score"] for row in found] == pytest.approx(
        [own[row["id"]] for row in found], abs=1e-6
    )


def test_interpretability_is_what_it_says():
    """Leaders, strongest words and votes by loops over reviews, with `explain`."""
    model, ids = a_model(3)
    labels, scores, bias = (torch.arange(30) % 2).float(), torch.randn(40), 0.1
    found = measures.interpretability(model, ids, labels, scores, bias, batch=7)
    right = {kind: [] for kind in ("nothing", "leaders", "top", "all but leaders")}
    control, votes, popular = [], [], []

    def says(words):
        """By the model; by its bias, if no word is left."""
        return (
            explain(model, words).logit > 0
            if words
            else float(model.decoder.bias.detach()) > 0
        )

    for row, label in zip(ids.tolist(), labels.tolist(), strict=True):
        words = [model.vocabulary.words[i] for i in row if i]
        e = explain(model, words)
        lead = {e.words[i] for i in e.leaders}
        by_score = sorted(
            set(words), key=lambda w: -abs(float(scores[model.vocabulary.index[w]]))
        )
        left = {
            "nothing": words,
            "leaders": [w for w in words if w not in lead],
            "top": [w for w in words if w not in by_score[: len(lead)]],
            "all but leaders": [w for w in words if w in lead],
        }
        for kind, some in left.items():
            right[kind].append(says(some) == bool(label))
        mean = np.mean(
            [float(scores[model.vocabulary.index[w]]) for w in left["leaders"]] or [0]
        )
        control.append((mean + bias > 0) == bool(label))
        v = model.decoder.weight[0].detach().double().numpy()
        table = (
            e.counts * (e.path.tokens[-1][e.root] @ v)
        ).sum() / e.counts.sum() + e.bias
        votes.append((table > 0) == (e.logit > 0))
        popular.append(
            max(e.counts[e.root == i].sum() for i in set(e.root)) / e.counts.sum()
        )
    for kind, marks in right.items():
        assert found[kind]["accuracy"] == pytest.approx(np.mean(marks)), kind
    assert found["nothing"]["accuracy"] == pytest.approx(
        evaluate(model, ids, labels)[1]
    )
    assert found["nothing"]["same"] == found["nothing"]["control_same"] == 1
    assert found["leaders"]["control_accuracy"] == pytest.approx(np.mean(control))
    assert found["votes"] == pytest.approx(np.mean(votes)) and found[
        "most_popular"
    ] == pytest.approx(np.mean(popular))
    assert 0 < found["random"]["same"] < 1 and 0 < found["random others"]["same"] < 1


# Models


def test_on_the_unit_circle_everybody_leads_and_nothing_moves():
    """The notes' P2: the model without attention is in the family; and lengths make leaders."""
    scores = torch.linspace(-2, 2, 40)[:, None]
    ids = a_model()[1]
    flat = models.free(
        models.on_circle(scores.clone(), torch.ones(40, 1), (3.0, 0.2), 3, "hardmax")
    )
    mean = (scores.tanh()[ids][..., 0] * (ids != 0)).sum(1) / (ids != 0).sum(1)
    torch.testing.assert_close(flat(ids), 3 * mean + 0.2, rtol=0, atol=1e-5)
    found = measures.how_many_lead(flat, ids)
    assert found["leaders"] == found["words"] and found["settled"] == 1
    assert (
        flat.embedding.weight.requires_grad
        and type(flat.embedding).__name__ == "Embedding"
    )
    some = models.on_circle(
        scores.clone(), 1 + torch.rand(40, 1), (3.0, 0.2), 3, "hardmax"
    )
    assert measures.how_many_lead(some, ids)["leaders"] < found["leaders"] / 2


def test_stored_weights_are_rebuilt():
    model, ids = a_model(4)
    again = models.rebuilt(models.stored(model), 5)
    torch.testing.assert_close(again(ids), model(ids), rtol=0, atol=1e-6)


def test_random_attention_goes_on_with_the_same_draws():
    torch.manual_seed(0)
    model = models.RandomAttention(40, 2, 3, alpha=1.0)
    ids = a_model()[1]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    first, second = model(ids), model(ids)
    assert not torch.equal(first, second)
    model.load_state_dict(state)
    assert torch.equal(model(ids), first) and torch.equal(model(ids), second)


# Variants


def a_variant(seed=0, dim=2, **options):
    torch.manual_seed(seed)
    return models.Variant(40, dim, **options)


@pytest.mark.parametrize("kind", ["hardmax", "pass-through", "softmax"])
def test_a_variant_of_nothing_is_the_classifier(kind):
    """Its verdicts and gradients; with a matrix, too; whatever the leaders."""
    ids = a_model()[1]
    for heads in (1, 2):
        variant = a_variant(1, attention=kind, heads=heads)
        A = None
        if heads == 2:  # of random heads, the first twice
            with torch.no_grad():
                variant.L[1] = variant.L[0]
            A = variant.A[0].detach().double().numpy()
        model = HardmaxClassifier(40, 2, 3, attention=kind, alpha=1.0, A=A)
        model.temperature = 1.0
        model.load_state_dict(
            {
                **model.state_dict(),
                **{k: v for k, v in variant.state_dict().items() if k != "L"},
            }
        )
        torch.testing.assert_close(variant(ids), model(ids), rtol=0, atol=1e-5)
        for some in (variant, model):
            (some(ids) ** 2).sum().backward()
        grads = variant.embedding.weight.grad, model.embedding.weight.grad
        torch.testing.assert_close(*grads, rtol=0, atol=1e-4)
        if (
            kind != "softmax"
        ):  # measures run the plain classifier with hardmax, and a variant as it is
            assert measures.how_many_lead(variant, ids) == measures.how_many_lead(
                model, ids
            )


def by_loops(model, row):
    """A review through the layers, word by word: positions, and whom each follows in each head of the last layer."""
    words, counts = torch.unique(row[row != 0], return_counts=True)
    z = model.embedding.weight[words].detach().double().numpy()
    for _ in range(model.depth):
        A = np.eye(2)[None] if model.A is None else model.A.detach().double().numpy()
        to = [
            [max(range(len(z)), key=lambda j: (M @ z[i]) @ z[j]) for i in range(len(z))]
            for M in A
        ]
        z = (z + np.mean([z[whom] for whom in to], axis=0)) / 2
    return words.tolist(), counts.double().numpy(), z, np.array(to)


@pytest.mark.parametrize(
    "options",
    [{"heads": 3}, {"heads": 2, "learn": "any"}, {"heads": 4, "learn": "positive"}],
)
def test_several_heads_by_loops(options):
    """Verdicts, leaders (in all heads), settled reviews, and votes that are shared by the heads."""
    model, ids = a_variant(6, **options), a_model(6)[1]  # no two words of a review meet
    lead, still, votes = [], [], []
    v, b = (
        model.decoder.weight[0].detach().double().numpy(),
        float(model.decoder.bias.detach()),
    )
    for row, logit in zip(ids, model(ids).tolist(), strict=True):
        _, counts, z, to = by_loops(model, row)
        assert logit == pytest.approx(counts @ z @ v / counts.sum() + b, abs=1e-4)
        alone = [all(whom[i] == i for whom in to) for i in range(len(z))]
        lead.append(sum(alone))
        still.append(all(alone[j] for whom in to for j in whom))
        passed = counts
        for _ in range(2**model.depth):  # a vote walks to one of those it follows
            walked = np.zeros(len(z))
            for whom in to:
                np.add.at(walked, whom, passed / len(to))
            passed = walked
        votes.append((passed @ z @ v / counts.sum() + b > 0) == (logit > 0))
    found = measures.how_many_lead(model, ids)
    assert found["leaders"] == np.mean(lead) and found["settled"] == np.mean(still)
    worth = measures.interpretability(model, ids, torch.ones(30), torch.randn(40), 0.0)
    assert (
        worth["votes"] == pytest.approx(np.mean(votes))
        and worth["nothing"]["same"] == 1
    )


def test_words_that_meet_are_one():
    """Under an indefinite A two words may follow each other and meet. In coordinates
    that are exact, by loops: a leader is whose own score is the largest, ties or not."""
    generator = torch.Generator().manual_seed(0)
    model = real_text.Met(40, 2, learn="any").double()
    table = torch.randint(-(2**12), 2**12, (40, 2), generator=generator) / 2.0**8
    ids = torch.randint(1, 40, (200, 9), generator=generator)
    with torch.no_grad():
        model.embedding.weight.copy_(table)
        model.L.copy_(torch.tensor([[[1.0, 0.5], [0.25, -1.5]]]))
    lead, still, met = [], [], 0
    for row in ids:
        z, A = table[row.unique()].double().numpy(), model.L[0].detach().numpy()
        for _ in range(model.depth):
            scores, before = z @ A.T @ z.T, z
            alone = scores.diagonal() == scores.max(1)
            to = scores.argmax(1)
            z = (z + z[to]) / 2
        lead.append(alone.sum())
        still.append(alone[to].all())
        met += len(np.unique(before, axis=0)) < len(before) and still[-1]
    assert met > 20
    found = measures.how_many_lead(model, ids)
    assert found["leaders"] == np.mean(lead) and found["settled"] == np.mean(still)
    # Whom rounding finds first is another matter.
    two = torch.tensor([[[1.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)
    to, _ = model.layer(two, weights := torch.ones(1, 2, dtype=torch.float64))
    assert to.tolist() == [[[0, 1]]]
    assert models.Variant.layer(model, two, weights)[0].tolist() == [[[0, 0]]]


def test_what_softmax_would_say_reaches_the_matrices():
    """In one layer, the learned matrices of hardmax get softmax's gradient; words get that of no layer at all."""
    ids = a_model()[1]
    for options in (
        {"learn": "any"},
        {"learn": "positive"},
        {"heads": 3, "learn": "positive"},
    ):
        hard, soft = (
            a_variant(2, depth=1, attention=kind, **options)
            for kind in ("pass-through", "softmax")
        )
        assert not torch.allclose(hard(ids), soft(ids))
        for model in (hard, soft, flat := HardmaxClassifier(40, 2, 0)):
            model.load_state_dict(
                model.state_dict()
                | {k: v for k, v in hard.state_dict().items() if k != "L"},
                False,
            )
            model(ids).sum().backward()
        assert hard.L.grad.abs().max() > 0.01
        torch.testing.assert_close(hard.L.grad, soft.L.grad, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            hard.embedding.weight.grad, flat.embedding.weight.grad, rtol=0, atol=1e-5
        )
    native = a_variant(2, attention="hardmax", learn="any")
    native(ids).sum().backward()
    assert native.L.grad is None
    with torch.no_grad():
        asymmetric = a_variant(2, heads=2, learn="any").A
        assert not torch.allclose(asymmetric, asymmetric.transpose(1, 2))
        assert (
            torch.linalg.eigvalsh(a_variant(2, heads=2, learn="positive").A) > 0
        ).all()


def test_norms_end_the_clustering():
    """On a sphere everybody follows himself, so that layers after the first move nobody; in the plane, layer norm leaves
    two points."""
    z, w = (
        torch.randn(20, 12, 8, dtype=torch.float64),
        torch.ones(20, 12, dtype=torch.float64),
    )
    for norm in ("rms", "layer"):
        model = a_variant(dim=8, norm=norm).double()
        first, z1 = model.layer(z, w)
        second, z2 = model.layer(z1, w)
        torch.testing.assert_close(
            z1.norm(dim=-1), torch.full((20, 12), 8**0.5, dtype=torch.float64)
        )
        assert (second == torch.arange(12)).all() and not (
            first == torch.arange(12)
        ).all()
        torch.testing.assert_close(z2, z1)
        if norm == "layer":
            torch.testing.assert_close(
                z1.mean(-1), torch.zeros(20, 12, dtype=torch.float64)
            )
            torch.testing.assert_close(
                z1, torch.nn.functional.layer_norm(model.attended(z, w)[1], (8,), eps=0)
            )
    plane = models.normalised(z[..., :2], "layer")
    torch.testing.assert_close(plane.abs(), torch.ones_like(plane))
    assert (plane.sum(-1).abs() < 1e-12).all()


def test_feed_forward():
    """It starts as nothing; alone, it is a score for each word, as the control has; with attention, it is not."""
    ids = a_model()[1]
    start, none = a_variant(3, width=7), a_variant(3)
    none.load_state_dict(
        {k: v for k, v in start.state_dict().items() if "forth" not in k}
    )
    assert torch.equal(start(ids), none(ids))
    z, w = torch.randn(3, 5, 2), torch.ones(3, 5)
    for attend in (True, False):
        model = a_variant(3, width=7, attend=attend)
        torch.nn.init.normal_(model.forth[2].weight)
        word = model(torch.arange(40)[:, None])[ids]
        mean = (word * (ids != 0)).sum(1) / (ids != 0).sum(1)
        assert torch.allclose(model(ids), mean, atol=1e-4) == (not attend)
        after = model.layer(z, w)[1]
        moved = model.attended(z, w)[1] if attend else z
        hidden = (moved @ model.forth[0].weight.T + model.forth[0].bias).clamp_min(0)
        torch.testing.assert_close(after, moved + hidden @ model.forth[2].weight.T)


def test_the_study_of_variants_in_miniature(small_study, tmp_path):
    """Every kind; the same in another order; a kind with a seed that is missing is left out."""
    tasks = [t for t in real_text.tasks() if t.given["way"] == "128"]
    tasks = [
        graph.Task(t.name, t.run, t.given | {"epochs": 1, "asked": 20}, t.needs)
        for t in tasks
    ]
    done = graph.run(tasks, tmp_path / "one", workers=0, progress=False)
    other = graph.run(tasks[5::-1], tmp_path / "two", workers=0, progress=False)
    assert facts(other).items() <= facts(done).items()
    done = chores.as_done(real_text, {k: found[:2] for k, found in done.items()})
    one = {"two heads 128 1": done.pop("two heads 128 1")}
    (_, file) = ledger.write(real_text, done, tmp_path, "python -m studies real_text")
    assert set(json.loads(file.read_text())) == {"options", "provenance"}
    ledger.write(real_text, one, tmp_path, "python -m studies real_text")
    result = json.loads(file.read_text())
    assert set(result) == {"options", "128", "provenance"}
    assert set(result["128"]) == set(real_text.KINDS)
    assert set(result["provenance"]) >= {
        "command",
        "data",
        "seeds",
        "versions",
        "commit",
        "tables",
    }
    about = {kind: set(row) for kind, row in result["128"].items()}
    accuracy, without = (
        {"best", "held", "test"},
        {f"without {what}" for what in real_text.REMOVED},
    )
    asked = accuracy | without | {"leaders", "words", "settled", "votes", "kept"}
    assert (
        about["no attention"]
        == about["feed-forward alone"]
        == about["layer norm"]
        == accuracy
    )
    assert about["one head"] == about["layer norm, d = 8"] == asked and about[
        "any A learned"
    ] == asked | {"A"}
    assert all(
        len(values) == 3 for row in result["128"].values() for values in row.values()
    )
    assert (
        result["128"]["one head"]["words"][0] > 5
        and len(result["128"]["two heads, learned"]["A"][0]) == 2
    )


# The study of chapters 4 to 6, in miniature


@pytest.fixture
def small_study(monkeypatch):
    """Synthetic reviews for the two studies."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, 60, (120, 20), generator=generator, dtype=torch.int32)
    ids[:, 15:] = 0
    labels = ((ids < 30).sum(1) > (ids >= 30).sum(1)).float()
    rows = torch.arange(120)
    some = texts.Texts(
        ids,
        labels,
        ["<PAD>"] + [f"w{i}" for i in range(1, 60)],
        rows[:70],
        rows[70:90],
        rows[90:],
    )
    for study in (sentiment, classifiers, protocol, real_text):
        monkeypatch.setattr(study, "encoded", lambda way: some)
    return some


def test_the_sentiment_study_in_miniature(monkeypatch, small_study, tmp_path):
    """Every kind of task, on synthetic reviews, in one process; and what goes to results/."""
    labels = small_study.labels
    torch.manual_seed(0)
    published = {
        name: value.numpy()
        for name, value in models.stored(
            HardmaxClassifier(60, 2, 8, "token", alpha=2.3)
        ).items()
    }
    for room in (classifiers, protocol):
        monkeypatch.setattr(room, "load_published", lambda: published)
    monkeypatch.setattr(
        protocol,
        "load_reviews",
        lambda split: Reviews([f"{i % 100}" for i in range(120)], labels, None),
    )
    done, tasks, of_kind = {}, sentiment.tasks(), {}
    assert set(graph.keys(tasks)) == {task.name for task in tasks}
    for task in tasks:
        assert all(other in graph.keys(tasks) for other in task.needs.values())
    for task in graph.wanted(tasks, [task.name for task in tasks]):
        # Tasks that differ in their seed, their way or a number alone stand in for each other.
        options = {
            k: v
            for k, v in task.given.items()
            if k not in ("seed", "way", "dim", "delta", "scale", "epochs", "rate")
        }
        kind = json.dumps(
            [
                task.run.__name__,
                options,
                list(task.needs),
                task.given.get("depth", 1) == 0,
            ]
        )
        if task.name.startswith(("depth", "circle, depth")) and kind not in of_kind:
            kind = kind.replace(str(task.given["depth"]), "1")
        if kind not in of_kind:
            takes, short = signature(task.run).parameters, {}
            if "epochs" in takes or task.run is classifiers.circle:
                short = {"epochs": 2}
            if task.run is protocol.random_start:
                short = {"draws": 2}
            if "folder" in takes:
                short["folder"] = str(tmp_path / "run" / str(len(of_kind)))
            needs = {argument: done[other] for argument, other in task.needs.items()}
            found, arrays = task.run(**task.given | short, **needs)
            json.dumps(found)
            of_kind[kind] = (found, arrays)
        done[task.name] = of_kind[kind]
    fewer = {
        name: found
        for name, found in done.items()
        if not name.startswith(("published", "circle .003 128"))
    }
    fewer, done = (chores.as_done(sentiment, some) for some in (fewer, done))
    (_, file) = ledger.write(sentiment, fewer, tmp_path / "fewer", "x")
    assert sentiment.write(fewer, tmp_path / "fewer", "x") == []
    assert set(json.loads(file.read_text())) == set(sentiment.TABLES) - {
        "published",
        "better",
    } | {"provenance"}
    files = ledger.write(sentiment, done, tmp_path, "python -m studies sentiment")
    files += sentiment.write(done, tmp_path, "python -m studies sentiment")
    assert len(files) == 4
    assert all(file.stat().st_size < 2e6 for file in files)
    result = json.loads((tmp_path / "sentiment.json").read_text())
    assert set(result["provenance"]) >= {
        "command",
        "data",
        "seeds",
        "versions",
        "commit",
        "tables",
    }
    assert (
        len(result["better"]["pairs"]["circle .001"]["test"]) == 5
        and len(result["depth"]["free"]) == 12
    )


# The study of chapter 8, in miniature


SMALL = {
    "which_matrix": {"clouds": 3, "n": 6, "layers": 60},
    "several_heads": {"clouds": 2, "n": 6},
    "restless": {"draws": 10_000},
    "softmax_life": {"clouds": 3, "n": 6, "layers": 200},
    "feed_forward": {"sets": 40, "steps": 20},
    "one_dial": {"clouds": 1, "n": 6, "layers": 30},
}


def test_the_variations_study_in_miniature(monkeypatch, tmp_path):
    """Each kind of task, with the fewest settings; the same whoever runs it; and what goes to results/."""
    monkeypatch.setattr(variations, "SIGNATURES", [(4, 0), (0, 4)])
    monkeypatch.setattr(variations, "LOW_RANK", [(1, 1)])
    monkeypatch.setattr(variations, "TURNS", (0, 2))
    monkeypatch.setattr(variations, "HEADS", (1, 3))
    monkeypatch.setattr(variations, "DISAGREEMENTS", (0, 1))
    monkeypatch.setattr(variations, "GAMES", [(2, 3, 3)])
    monkeypatch.setattr(variations, "INVERSES", (5, 6, 7))
    monkeypatch.setattr(variations, "SEEDS", (0,))
    tasks = [
        Task(task.name, task.run, task.given | SMALL[task.run.__name__], task.needs)
        for task in variations.tasks()
    ]
    assert set(graph.keys(variations.tasks())) == {task.name for task in tasks}
    done = {task.name: task.run(**task.given) for task in tasks}
    chosen = next(task for task in tasks if task.name == "matrix +4 -0 turn 2")
    again, _ = chosen.run(**chosen.given)
    assert again == done[chosen.name][0]
    done = chores.as_done(variations, done)
    _, file = ledger.write(variations, done, tmp_path, "python -m studies variations")
    result = json.loads(file.read_text())
    assert set(result["provenance"]) >= {
        "command",
        "data",
        "seeds",
        "versions",
        "commit",
        "tables",
    }
    assert {len(result[part]) for part in ("matrices", "heads")} == {5, 8}
    assert all(
        row["point"][0] + row["clusters"][0] + row["undecided"][0] == 1
        for row in result["matrices"]
    )
    assert [row["point"][0] for row in result["matrices"] if row["minus"] == 4] == [
        1,
        1,
    ]
    one = [
        row for row in result["heads"] if row["heads"] == 1 or row["disagreement"] == 0
    ]
    assert all(
        row["leaders"] == row["places"] and row["between"][0] == 0 for row in one
    )
    assert (
        result["dials"]["no normalisation"]["I"]["same"][0]
        == result["dials"]["self in a tie"]["any"]["same"][0]
        == 1
    )
    fewer = {
        name: found
        for name, found in done.items()
        if not name.startswith(("softmax", "feed"))
    }
    _, file = ledger.write(variations, fewer, tmp_path / "fewer", "x")
    fewer = json.loads(file.read_text())
    assert set(fewer) == {"matrices", "heads", "restless", "dials", "provenance"}


def test_a_stored_point_again():
    """One task of the study, from its own code and seed, is what results/ says of it."""
    (task,) = (t for t in variations.tasks() if t.name == "matrix +1 -1 turn 0")
    stored = json.loads((ROOT / "results" / "variations.json").read_text())
    (row,) = (r for r in stored["matrices"] if (r["plus"], r["minus"]) == (1, 1))
    again = ledger.rounded(task.run(**task.given)[0])
    assert {"plus": 1, "minus": 1, "turn": 0} | again == row


def test_intervals_and_places():
    share, low, high = departures.interval(8, 20)
    assert share == 0.4 and (low, high) == pytest.approx((0.2188, 0.6134), abs=1e-4)
    assert departures.interval(0, 200)[1:] == pytest.approx(
        [0, 1.96**2 / (200 + 1.96**2)]
    )
    assert departures.mean_of([1, 2, 3]) == pytest.approx(
        [2, 2 - 1.96 / 3**0.5, 2 + 1.96 / 3**0.5]
    )
    assert departures.places(np.array([[0.0, 1], [0, 1 + 1e-9], [1, 0]])) == 2
    Z = departures.whole(np.array([[8, 0], [-4, 7], [-4, -7]]) / 100)
    assert departures.in_circles(
        Z, np.array([[1, -4], [4, 1]])
    ) and not departures.in_circles(Z, np.eye(2))


@pytest.mark.parametrize("signature", [(3, 0), (2, 1), (0, 2), (1, 1)])
def test_random_matrices_have_their_signature(signature):
    for seed in range(5):
        A = departures.random_matrix(
            np.random.default_rng(seed), 3, signature, turn=0.5
        )
        values = np.linalg.eigvalsh(A + A.T) / abs(A).max()
        assert ((values > 1e-9).sum(), (values < -1e-9).sum()) == signature
        size = np.linalg.norm(A - A.T) / np.linalg.norm(A + A.T)
        assert size == pytest.approx(0.5, rel=0.02)
