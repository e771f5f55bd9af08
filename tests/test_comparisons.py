"""The studies that compare: a ladder, ways out of the circle, equal budgets, what starts
make. Each in miniature; their measures against loops, and by hand."""

import doctest
import json
from inspect import signature
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch", reason="studies need torch")
pytest.importorskip("distributed", reason="studies need dask.distributed")

import chores  # noqa: E402
from test_studies import small_study  # noqa: E402, F401

from hmlib import HardmaxClassifier, evaluate  # noqa: E402
from studies import (  # noqa: E402
    baselines,
    budgets,
    checkpoints,
    circle,
    classifiers,
    graph,
    ladder,
    leading,
    ledger,
    measures,
    models,
    paired,
    starts,
)

# Differences of pairs


def test_which_reviews_are_right_survives_being_kept():
    for n in (0, 1, 7, 8, 9, 100):
        right = np.random.default_rng(n).random(n) < 0.5
        kept = json.loads(json.dumps(paired.packed(right)))
        assert (paired.unpacked(kept) == right).all()
    assert len(paired.packed(np.ones(15_000, bool))[1]) < 2600


def test_a_difference_by_hand():
    """Two seeds, four reviews: the intervals of the textbook."""
    one = np.array([[1, 1, 1, 0], [1, 1, 0, 1]])
    other = np.array([[1, 0, 0, 0], [0, 1, 1, 1]])
    found, D = paired.difference(one, other), one - other
    assert found["difference"] == D.mean() == 0.25
    by_seed, by_review = D.mean(1), D.mean(0)
    expected = stats.ttest_1samp(by_seed, 0).confidence_interval(0.95)
    assert found["over_seeds"] == pytest.approx(expected.high - 0.25)
    half = stats.t.ppf(0.975, 3) * by_review.std(ddof=1) / 2
    assert found["over_reviews"] == pytest.approx(half)
    both = np.hypot(found["over_seeds"], half)
    assert found["over_both"] == pytest.approx(both)
    assert found["seeds"] == 2 and found["reviews"] == 4
    assert paired.difference(other, one)["difference"] == -0.25


def test_the_example_of_its_docstring():
    assert doctest.testmod(paired) == (0, 4)


def test_one_seed_has_no_interval_over_seeds():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 1, 400)) < 0.6
    found = paired.difference(one, other)
    assert found["over_seeds"] is None
    D = (one.astype(float) - other)[0]
    expected = stats.ttest_1samp(D, 0)
    assert found["p"] == pytest.approx(expected.pvalue)
    half = expected.confidence_interval(0.95).high - D.mean()
    assert found["over_both"] == pytest.approx(half)
    same = paired.difference(one, one)
    assert same["difference"] == 0 and same["p"] == 1


def test_an_interval_holds_as_often_as_it_says():
    """Seeds and reviews both vary; the interval for both is rather too wide."""
    rng, held, runs = np.random.default_rng(1), 0, 300
    for _ in range(runs):
        seeds, reviews = rng.normal(0, 0.1, (5, 1)), rng.normal(0, 0.5, (1, 100))
        D = 0.02 + seeds + reviews + rng.normal(0, 0.3, (5, 100))
        found = paired.difference(D, np.zeros_like(D))
        held += abs(found["difference"] - 0.02) < found["over_both"]
    assert held / runs >= 0.93


def test_p_is_the_level_at_which_the_interval_ends_at_0():
    D = np.random.default_rng(2).normal(0.05, 0.2, (4, 50))
    found = paired.difference(D, 0 * D)
    level = found["p"] / 2
    seeds = stats.t.isf(level, 3) * stats.sem(D.mean(1))
    reviews = stats.t.isf(level, 49) * stats.sem(D.mean(0))
    assert np.hypot(seeds, reviews) == pytest.approx(D.mean())
    wide = [[1.0, 1.0, 1.0]] * 2, [[0.0] * 3] * 2  # no doubt at all
    assert paired.difference(*wide)["p"] == paired.LEAST


@pytest.mark.parametrize("together", [False, True])
def test_few_seeds_are_not_sure_by_luck(together):
    """Three seeds of which reviews hardly differ: p below .0045 as rarely as it says,
    by each comparison's own seeds and by those of ten comparisons together."""
    rng, sure, runs = np.random.default_rng(3), 0, 2000
    none = np.zeros((3, 20))
    for _ in range(runs):
        several = [
            rng.normal(0, 1, (3, 1)) + rng.normal(0, 2, (1, 20))
            for _ in range(10 if together else 1)
        ]
        pairs = [(D, none) for D in several]
        spread = paired.pooled(pairs) if together else None
        sure += paired.difference(*pairs[0], spread)["p"] < 0.0045
    assert sure / runs < 0.0075  # the freedom of Welch and Satterthwaite has .02


def test_what_seeds_say_together():
    """The mean of the variances, weighted by freedom; one seed says nothing, and takes
    what the others say."""
    rng = np.random.default_rng(4)
    sizes = 3, 5, 1
    pairs = [(rng.random((n, 30)), rng.random((n, 30))) for n in sizes]
    means = [(one - other).mean(1) for one, other in pairs]
    by_hand = (2 * means[0].var(ddof=1) + 4 * means[1].var(ddof=1)) / 6
    variance, freedom = paired.pooled(pairs)
    assert variance == pytest.approx(by_hand) and freedom == 6
    alone = paired.difference(*pairs[2])
    told = paired.difference(*pairs[2], (variance, freedom))
    assert alone["over_seeds"] is None
    assert told["over_seeds"] == pytest.approx(stats.t.ppf(0.975, 6) * by_hand**0.5)
    assert told["over_both"] > alone["over_both"] and told["p"] > alone["p"]


def test_a_control_whose_seeds_agree_makes_nobody_sure():
    """Ten models beside one control, three seeds each, no difference but the seeds':
    among the controls that agree best, too, p is below .01 as rarely as it says."""
    rng, found, runs = np.random.default_rng(5), [], 1000
    for _ in range(runs):
        models = [rng.normal(0, 1, (3, 1)) + np.zeros((1, 5)) for _ in range(11)]
        control, *others = models
        pairs = paired.pooled([(one, control) for one in others])
        together = paired.any_two(models)
        ways = [
            paired.difference(others[0], control, x)["p"] for x in (together, pairs)
        ]
        found.append((control[:, 0].std(ddof=1), *ways))
    agree = np.array(sorted(found))[: runs // 4]
    by_models, by_pairs = (agree[:, 1:] < 0.01).mean(0)
    assert by_models < 0.03 < by_pairs
    assert together[1] == 22


# Training to the peak


def test_training_stops_after_the_peak_and_keeps_it(tmp_path):
    """Whatever the scores are, it is the unbroken run up to then, and goes on after an
    interruption."""
    ids = torch.randint(1, 20, (60, 8), generator=torch.Generator().manual_seed(0))
    labels = (ids < 10).sum(1) > 4

    def model():
        torch.manual_seed(1)
        return HardmaxClassifier(20, 2, depth=2)

    data = (ids[:40], labels[:40]), (ids[40:], labels[40:])
    whole = checkpoints.train(model(), *data, epochs=40, seed=3)
    scores = [row["validation_accuracy"] for row in whole.epochs]

    def end(patience, most):
        best = 0
        for k in range(most):
            best = k if scores[k] > scores[best] else best
            if k == best + patience:
                return k + 1, best
        return most, best

    for patience, most in ((1, 40), (3, 40), (6, 9), (4, 4)):
        place = tmp_path / f"{patience} {most}"
        options = {"patience": patience, "most": most, "seed": 3, "folder": place}
        found = model()
        history = checkpoints.train_to_peak(found, *data, **options)
        assert (len(history.epochs), history.best) == end(patience, most)
        assert history.epochs == whole.epochs[: len(history.epochs)]
        best = model()
        checkpoints.train(best, *data, epochs=history.best + 1, seed=3)
        assert all(map(torch.equal, found.parameters(), best.parameters()))
        again = model()  # all is there
        assert checkpoints.train_to_peak(again, *data, **options).best == history.best
        assert all(map(torch.equal, again.parameters(), best.parameters()))


# Baselines


def test_ordinary_attention_by_loops():
    torch.manual_seed(0)
    model = baselines.Ordinary(12, 3, depth=2)
    torch.nn.init.normal_(model.V)
    ids = torch.randint(1, 12, (5, 6))
    ids[1, 4:], keep = 0, torch.rand(5, 6) > 0.2
    with torch.no_grad():
        said = model(ids, keep)
        for row, left, logit in zip(ids, keep, said, strict=True):
            there = [i for i in range(6) if row[i] != 0 and left[i]]
            z = model.embedding(row) + model.positions.weight[:6]
            for Q, K, V in zip(model.Q, model.K, model.V, strict=True):
                new = z.clone()
                for i in range(6):
                    score = torch.stack([z[i] @ Q @ (z[j] @ K) / 3**0.5 for j in there])
                    share = score.softmax(0)
                    new[i] += sum(
                        s * (z[j] @ V) for s, j in zip(share, there, strict=1)
                    )
                z = new
            by_hand = model.decoder(z[there].mean(0))
            assert float(logit) == pytest.approx(float(by_hand), abs=1e-5)


def test_attention_pooling_by_loops():
    torch.manual_seed(0)
    model = baselines.Pooling(12, 3)
    torch.nn.init.normal_(model.q)
    ids = torch.randint(1, 12, (5, 6))
    ids[1, 4:], keep = 0, torch.rand(5, 6) > 0.2
    with torch.no_grad():
        for row, left, logit in zip(ids, keep, model(ids, keep), strict=True):
            z = model.embedding(row[(row != 0) & left])
            by_hand = model.decoder((z @ model.q).softmax(0) @ z)
            assert float(logit) == pytest.approx(float(by_hand), abs=1e-5)


@pytest.mark.parametrize("kind", ["ordinary", "pooling"])
def test_baselines_start_without_attention_and_learn_it(kind):
    torch.manual_seed(0)
    model = baselines.built(12, kind, dim=3)
    if kind == "ordinary":
        torch.nn.init.zeros_(model.positions.weight)
    ids = torch.randint(1, 12, (9, 6))
    mean = HardmaxClassifier(12, 3, depth=0)
    with torch.no_grad():
        mean.embedding.weight.copy_(model.embedding.weight)
        mean.decoder.load_state_dict(model.decoder.state_dict())
        assert torch.allclose(model(ids), mean(ids), atol=1e-6)
    model(ids).sum().backward()
    learned = model.V if kind == "ordinary" else model.q
    assert float(learned.grad.abs().sum()) > 0


def test_what_is_built_and_how_many_numbers_it_learns():
    count = baselines.parameters
    assert count(baselines.built(10, dim=2, depth=0, alpha=1.0)) == 23
    assert count(baselines.built(10, dim=2)) == 24  # alpha
    warm = baselines.built(10, dim=2, temperature=0.5)
    assert (warm.temperature, HardmaxClassifier.temperature) == (0.5, 1e-3)
    zero = baselines.built(10, dim=1, depth=0, zero=True)
    assert not zero.embedding.weight.any() and not zero.decoder.bias.any()
    assert zero.decoder.weight.item() == 1
    other = baselines.built(10, "variant", dim=2, random_matrix=True)
    assert count(other) == 23 and not torch.equal(other.A[0], torch.eye(2))
    assert torch.linalg.eigvalsh(other.A[0])[0] > 0
    assert count(baselines.built(10, "pooling", dim=2)) == 25
    several = count(baselines.built(10, "ordinary", dim=2))
    assert several == 23 + 2 * baselines.LONGEST + 12


# Who leads by accident


def a_run(seed=0):
    torch.manual_seed(seed)
    model = HardmaxClassifier(30, 2, 4, "token", alpha=1.0)
    ids = torch.randint(0, 30, (400, 9))
    return model, model.embedding.weight.detach().clone(), ids


def test_parts_along_and_across():
    X, v = torch.randn(7, 3), torch.tensor([0.0, 2.0, 0.0])
    along, across = leading.split(X, v)
    assert torch.allclose(along, X[:, 1]) and float(across[:, 1].abs().max()) < 1e-6
    assert torch.allclose(across[:, [0, 2]], X[:, [0, 2]])


def test_leaders_of_reviews_are_those_of_measures():
    model, _, ids = a_run()
    lead = leading.leading(model, ids)
    many = sum(
        int((measures.leading(follows, w) & (words != 0)).sum())
        for _, _, words, w, follows, _ in measures.runs(model, ids)
    )
    assert len(lead) == many and len(lead.unique()) == many
    assert all(int(k) % 30 in ids[int(k) // 30] for k in lead)
    counts = torch.bincount(lead % 30, minlength=30)
    top = leading.most_often(lead, 30, 5)
    assert counts[top].tolist() == sorted(counts.tolist(), reverse=True)[:5]


def test_shuffled_within_bands():
    bands = leading.in_bands(torch.tensor([1, 2, 3, 4, 7, 8, 15, 0]))
    assert bands.tolist() == [0, 1, 1, 2, 2, 3, 3, 0]
    x = torch.arange(16.0).reshape(8, 2)
    out = leading.shuffled(x, bands, torch.Generator().manual_seed(3))
    for band in range(4):
        some = bands == band
        assert sorted(out[some].tolist()) == sorted(x[some].tolist())
    assert not torch.equal(out, x)


def test_a_run_that_did_not_move_has_no_accident():
    """Nothing moved: all lead that led, and selection shows nothing."""
    model, start, ids = a_run()
    found = leading.moved(model, start, ids, many=5, draws=2)
    assert found["led"] == 5 and found["lead_also"]["at the start"] == 1
    assert found["lead_also"]["nobody across"] == 1
    assert found["lead_also"]["across drawn anew"] < 1
    assert found["all"]["across"] == found["leaders"]["longer"] == 0
    assert found["by_selection"]["across"][0] == pytest.approx(0, abs=1e-6)


def test_chance_alone_looks_like_selection():
    """Words that moved across v at random: their leaders went outward, and so they do
    where others' displacements are theirs. That is the null, and it is not 0."""
    model, start, ids = a_run()
    v = model.decoder.weight[0].detach()
    anyhow = leading.split(torch.randn(30, 2), v)[1]
    with torch.no_grad():
        model.embedding.weight.add_(anyhow)
    found = leading.moved(model, start, ids, many=6, draws=30)
    mean, deviation = found["by_selection"]["outward"]
    assert found["leaders"]["outward"] > found["all"]["outward"] + 0.1
    assert mean > found["all"]["outward"]
    assert abs(found["leaders"]["outward"] - mean) < 3 * deviation
    assert found["all"]["along"] == pytest.approx(0, abs=1e-6)


def test_displacements_by_hand():
    v = torch.tensor([0.0, 3.0])
    start = torch.tensor([[1.0, 0.0], [-2.0, 1.0]])
    end = torch.tensor([[4.0, 2.0], [-1.0, 1.0]])
    found = leading.displaced(torch.tensor([0, 1]), start, end, v)
    assert found["across"] == pytest.approx(5**0.5)
    assert found["along"] == pytest.approx(2**0.5) and found["outward"] == 1
    longer = (20**0.5 - 1 + 2**0.5 - 5**0.5) / 2
    assert found["longer"] == pytest.approx(longer)


def test_against_the_normal_law():
    """Normal numbers pass, and each departure is seen where it is."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    tests = ("mean", "deviation", "kurtosis", "far")
    found = leading.against_normal(x)
    assert all(found[name][-1] > 0.01 for name in tests) and found["whole"] > 0.01
    assert found["words"] == 4000 and found["far"][1] == pytest.approx(49.7, abs=0.1)
    assert leading.against_normal(x + 0.1)["mean"][-1] < 1e-6
    assert leading.against_normal(1.1 * x)["deviation"][-1] < 1e-6
    heavy = leading.against_normal(rng.standard_t(5, 4000) * 0.6**0.5)
    assert heavy["kurtosis"][0] > 4 and heavy["kurtosis"][-1] < 1e-6
    assert heavy["far"][-1] < 1e-3
    rows = leading.by_frequency(x, x[::-1], ranks=(1, 11, 1001, 10_001))
    assert [row["ranks"] for row in rows] == [[1, 10], [11, 1000], [1001, 3999]]


# The studies in miniature


@pytest.fixture
def small(small_study, monkeypatch):  # noqa: F811
    for study in (budgets, ladder, starts):
        monkeypatch.setattr(study, "encoded", lambda way: small_study)
    return small_study


def in_miniature(study, folder, short, alike=()):
    """All tasks; those that differ in their seed, or what is alike, stand in for each
    other. Then results, of all and of seed 0 alone."""
    tasks, of_kind, done = study.tasks(), {}, {}
    assert len({task.name for task in tasks}) == len(tasks)
    for task in graph.wanted(tasks, [task.name for task in tasks]):
        given = {k: v for k, v in task.given.items() if k not in ("seed", *alike)}
        kind = json.dumps([task.run.__name__, given, len(task.needs)])
        if kind not in of_kind:
            needs = {argument: done[other] for argument, other in task.needs.items()}
            more = {
                k: v for k, v in short.items() if k in signature(task.run).parameters
            }
            if "folder" in signature(task.run).parameters:
                more["folder"] = str(folder / "run" / str(len(of_kind)))
            found, arrays = task.run(**task.given | more, **needs)
            of_kind[kind] = json.loads(json.dumps(found)), arrays
        done[task.name] = of_kind[kind]
    done = chores.as_done(study, done)
    ledger.write(study, done, folder / "all", "x")
    result = json.loads((folder / "all" / f"{ledger.name_of(study)}.json").read_text())
    assert set(study.TABLES) == set(result) - {"provenance"}
    first = {name: found for name, found in done.items() if name.endswith(" 0")}
    ledger.write(study, first, folder / "first", "x")
    return result


def test_the_ladder_in_miniature(small, tmp_path):
    result = in_miniature(ladder, tmp_path, {"patience": 1, "most": 2})
    up = [*result["up"].values()]
    assert len(up) == 12 and len(result["away"]) == 11
    assert (
        up[0]["difference"] == 0
        and up[3]["against"] == "up, words of the fitted reviews"
    )
    assert all(len(row["alphas"]) == 3 for row in up)
    settings = result["settings"]
    (end,) = (v for k, v in settings.items() if k == f"up, {[*ladder.STEPS][-1]}")
    for what, change in ladder.AWAY.items():
        there = settings[f"away, {what}"]
        assert {k for k in end if end[k] != there[k]} == set(change)
    rungs = [v for k, v in settings.items() if k.startswith("up, ")]
    steps = [*ladder.STEPS.values()][1:]
    for (one, other), change in zip(pairwise(rungs), steps, strict=True):
        assert {k for k in one if one[k] != other[k]} == set(change)


def test_the_ladders_ends(small):
    """The first is the paper's model; the last is trained like `one_stage`."""
    torch.manual_seed(3)
    first = {
        k: v for k, v in ladder.PAPER.items() if k not in ("way", "rate", "dropout")
    }
    model = ladder.starting(small, **first)
    torch.manual_seed(3)
    paper = HardmaxClassifier(60, 2, padding="token", attention="softmax")
    assert all(map(torch.equal, model.parameters(), paper.parameters()))
    assert (model.temperature, model.depth) == (1e-3, 8)
    last = ladder.set_ups()[f"up, {[*ladder.STEPS][-1]}"]
    last = {k: v for k, v in last.items() if k not in ("way", "rate", "dropout")}
    model = ladder.starting(small, **last)
    stage, _ = models.one_stage(small, ladder.DELTA, epochs=0)
    ids = small.of("test")[0]
    assert torch.allclose(model.embedding.weight, stage.embedding.weight)
    assert torch.equal(model.decoder.weight, stage.decoder.weight)
    assert float(model.alpha) == float(stage.alpha) and model.depth == stage.depth
    assert torch.equal(model(ids), stage(ids)) and model.attention == "pass-through"
    free = ladder.starting(small, **last | {"place": "free"})
    assert torch.allclose(free.embedding.weight, model.embedding.weight)
    assert isinstance(free.embedding.weight, torch.nn.Parameter)


def test_leaving_the_circle_in_miniature(small, tmp_path):
    result = in_miniature(circle, tmp_path, {"epochs": 1}, alike=("delta", "scale"))
    assert set(result["curve"]) == set(circle.CURVE)
    assert result["curve"][circle.CONTROL]["against"]["difference"] == 0
    assert len(result["left"]) == 12
    row = result["left"]["hardmax, 1e-05"]
    assert len(row["test"]) == row["against"]["seeds"] == 5 and "leaders" in row
    assert np.shape(row["path"]) == (5, 1, 2)
    assert np.shape(result["back"]["hardmax, 1e-05"]["lengths put back"]) == (5,)
    assert set(result["order"]) == {
        f"{kind}, {rate:g}"
        for kind in ("hardmax", "pass-through")
        for rate in circle.LOSING
    }
    settings = {task.name: task.given for task in circle.tasks()}
    for name, alike in circle.ALIKE.items():  # but for the layers all is the same
        one, other = (settings[f"circle {x}, 0"] for x in (name, alike))
        assert other["depth"] == 0 and other == one | {"depth": 0}


def test_whoever_leaves_trains_all_but_alpha(small, tmp_path):
    """From where the circle ended; at a rate of almost nothing it stays there."""
    first = classifiers.circle(tmp_path, "128", 0, delta=0.01, epochs=1)
    left = {
        rate: classifiers.leave(
            tmp_path / f"{rate}", "128", 0, first, "hardmax", rate, epochs=1
        )
        for rate in (1e-12, 0.1)
    }
    there, far = (found["epochs"][0] for found, _ in left.values())
    assert there["gone"] < 1e-6 < 0.01 < far["gone"] and far["longer"] > 0.001
    assert left[0.1][1]["alpha"] == first[1]["alpha"]
    for name in ("held", "test", "leaders"):
        assert left[1e-12][0][name] == pytest.approx(first[0][name])


def test_lengths_and_directions_are_put_back_apart(small):
    """Words at other lengths are as before with these put back, and as they are with
    the directions; words turned round, the other way about. Alike without layers."""
    torch.manual_seed(0)
    ids, start = small.of("test")[0], torch.randn(len(small.words), 2)
    about = {"alpha": torch.tensor(2.0), "weight": torch.tensor([0.3, -1])}
    about["bias"] = torch.tensor(0.1)

    def judged(table, depth=3):
        model = models.rebuilt(about | {"embedding": table}, depth)
        return evaluate(model, ids, small.of("test")[1])[1]

    first = {"depth": 3}, about | {"embedding": start}
    longer = start * torch.rand(len(start), 1).add(0.5)
    for after in (longer, start.flip(1)):
        left = {}, about | {"embedding": after}
        found, _ = classifiers.put_back("128", first, left)
        as_before = judged(start)
        if after is longer:
            assert found["lengths put back"] == as_before
            assert found["directions put back"] == found["as it is"]
        else:
            assert found["directions put back"] == as_before
            assert found["lengths put back"] == found["as it is"]
        assert found["as it is"] == judged(after)
        assert found["without layers"] == judged(after, 0)
    assert judged(longer) != judged(start) != judged(start.flip(1))


def test_which_lengths_there_are_and_who_has_which(small):
    """Lengths of after, in the order of before, and the other way about: by hand."""
    torch.manual_seed(0)
    rows = len(small.words)
    used = (models.document_frequency(small) > 0).numpy()
    words = torch.nn.functional.normalize(torch.randn(rows, 2))
    old, new = 1 + torch.rand(rows), torch.rand(rows) + 0.5
    about = {"alpha": torch.tensor(2.0), "weight": torch.tensor([0.3, -1])}
    about["bias"] = torch.tensor(0.1)
    first = {"depth": 3}, about | {"embedding": torch.randn(rows, 2)}
    first[1]["embedding"] *= (old / first[1]["embedding"].norm(dim=1))[:, None]
    left = {}, about | {"embedding": words * new[:, None]}

    def judged(lengths):
        table = about | {"embedding": words * torch.as_tensor(lengths)[:, None]}
        return evaluate(models.rebuilt(table, 3), *small.of("test"))[1]

    def exchanged(lengths, order):
        out = np.array(lengths)
        for rank, word in enumerate(
            sorted(np.flatnonzero(used), key=lambda w: order[w])
        ):
            out[word] = np.sort(lengths[used])[rank]
        return out

    old, new = old.numpy(), new.numpy()
    found, _ = classifiers.in_order("128", first, left)
    assert found == {
        "old lengths, old order": judged(old),
        "new lengths, new order": judged(new),
        "old lengths, new order": judged(exchanged(old, new)),
        "new lengths, old order": judged(exchanged(new, old)),
    }
    assert len(set(found.values())) > 1


def test_equal_budgets_in_miniature(small, tmp_path, monkeypatch):
    monkeypatch.setattr(budgets, "RATES", (1e-3, 1e-2))
    monkeypatch.setattr(budgets, "DROPOUTS", (0.3,))
    short = {"patience": 1, "most": 2}
    monkeypatch.setattr(
        budgets,
        "train_to_peak",
        lambda *a, **o: checkpoints.train_to_peak(*a, **o | short),
    )
    result = in_miniature(budgets, tmp_path, {}, alike=("way",))
    for way in budgets.SEEDS:
        assert set(result[way]) == set(budgets.kinds(way))
        row = result[way]["hardmax"]
        assert len(row["grid"]) == 2 and max(row["grid"]) == row["held"][0]
        assert row["parameters"][0] <= 60 * 2 + 4
        on_sentences = set(result["random"]["sentences"])
        assert set(result["random"][way]) == on_sentences & set(result[way])
        kind = "pass-through, 3 layers"
        followed = result["random"][way][kind]["difference"]
        alike = (result[way][k]["test"] for k in (kind, f"random, {kind}"))
        assert followed == pytest.approx(np.subtract(*alike).mean(), abs=1e-6)
    assert {*budgets.kinds("official")} < {*budgets.kinds("128")} == {*budgets.KINDS}
    assert set(result["random"]["sentences"]) == set(budgets.AT_RANDOM)
    assert set(result["in 16"]["128"]) == set(budgets.IN_16)
    assert {way: tuple(x) for way, x in result["beyond"].items()} == budgets.BEYOND
    assert len(result["TF-IDF"]["128"]["grid"]) == len(classifiers.STRENGTHS)


def test_the_best_point_of_the_grid_is_run_with_other_seeds(monkeypatch):
    asked = []
    monkeypatch.setattr(budgets, "trained", lambda *a, **how: asked.append((a, how)))
    tried = {
        f"at{i}": ({"held": held, "rate": i, "dropout": held}, {})
        for i, held in enumerate((0.1, 0.3, 0.3, 0.2))
    }
    assert budgets.again(None, "128", {}, 0, **tried)[0] == tried["at1"][0]
    budgets.again("here", "128", {}, 2, **tried)
    assert asked == [(("here", "128", {}, 2), {"rate": 1, "dropout": 0.3})]


def test_a_rate_beyond_the_grid_is_told_by_what_it_gains():
    way, facts = "128", {}
    for at, kind in enumerate(budgets.BEYOND[way]):
        names = [*budgets.points(kind, way).values(), *budgets._beyond(kind, way)]
        held = np.array([5, 6, 2, 3, 1, 0, 4 + at, 1]) / 16
        facts |= {name: {"held": x} for name, x in zip(names, held, strict=True)}
    gains = budgets.beyond(facts, way)
    assert [*gains.values()] == [(at - 2) / 16 for at in range(len(gains))]


def test_starts_in_miniature(small, tmp_path, monkeypatch):
    monkeypatch.setattr(starts, "MILESTONES", (1, 3))
    monkeypatch.setattr(starts, "PROTOCOL", {2: range(2), 4: range(1)})
    options = next(iter(starts.SWITCHES.items()))
    monkeypatch.setattr(starts, "SWITCHES", dict([options]))
    rng = np.random.default_rng(0)
    published = {"embedding": rng.normal(size=(20_000, 2)), "weight": np.ones(2)}
    monkeypatch.setattr(starts, "load_published", lambda: published)
    monkeypatch.setattr(starts, "SHORTS", dict(list(starts.SHORTS.items())[:2]))
    result = in_miniature(starts, tmp_path, {})
    assert len(result["protocol"]["d = 2, seed 0"]["alpha"]) == 4
    assert set(result["twice"]["d = 2, seed 0"]) == {"1", "3"}
    assert set(result["leaders"]) == {"2", "4"} and set(result["by_heart"]) == {
        *starts.BY_HEART
    }
    assert set(result["accidents"]) == {
        f"seed {s}, epoch {e}" for s in (0, 1) for e in (1, 3)
    }
    assert len(result["published"]) == 4


def test_a_milestone_is_a_stop_of_one_run(small, tmp_path):
    """In two parts, or in one: the same weights, and the same epochs."""
    whole = starts.protocol(tmp_path / "whole", 2, 1, 4)
    part = starts.protocol(tmp_path / "part", 2, 1, 2)
    more = starts.protocol(tmp_path / "more", 2, 1, 4, before=part)
    assert more[0] == whole[0] and len(part[0]["epochs"]) == 2
    assert all(torch.equal(x, more[1][name]) for name, x in whole[1].items())
    assert more[0]["alpha_before"] == part[0]["alpha_before"]
    found, _ = starts.by_accident(more)
    assert found["words"] >= 0
    for done in (part, more):
        told, _ = starts.judged_twice(done)
        last = done[0]["epochs"][-1]
        soft = {k: told["softmax"][k] for k in ("test_loss", "test_accuracy")}
        assert soft == {k: pytest.approx(last[k]) for k in soft}
        assert told["hardmax"]["train_loss"] != told["softmax"]["train_loss"]


def test_what_is_changed_in_the_protocol(small, tmp_path):
    """Labels of others: as many of each kind, for other reviews; all the rest stays."""
    options = {"as it is": {}, **starts.BY_HEART, "masked": {"padding": "mask"}}
    runs = {
        what: starts.protocol(tmp_path / what, 4, 0, 2, **changed)
        for what, changed in options.items()
    }
    (first, *_), *others = (facts["epochs"] for facts, _ in runs.values())
    starts_alike = [arrays["start"] for _, arrays in runs.values()]
    assert all(torch.equal(start, starts_alike[0]) for start in starts_alike)
    assert len({first["loss"], *(rows[0]["loss"] for rows in others)}) == len(runs)
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts, "train", lambda model, data, **how: asked.append(data))
        patch.setattr(starts, "read_sealed", lambda file: ({}, {}))
        for shuffled in (False, True):
            starts.protocol(tmp_path, 4, 0, 2, shuffled=shuffled)
    (ids, labels), (same, other) = asked
    assert torch.equal(ids, same) and not torch.equal(labels, other)
    assert torch.equal(labels.sort().values, other.sort().values)


def test_verdicts_are_what_evaluate_counts(small):
    torch.manual_seed(0)
    model = HardmaxClassifier(60, 2)
    right = measures.verdicts(model, *small.of("test"), batch=7)
    assert float(right.float().mean()) == pytest.approx(
        evaluate(model, *small.of("test"))[1]
    )
