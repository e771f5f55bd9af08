"""Guards of the classifier: each test dies with bugs that training well and explaining plausibly let through."""

import json

import numpy as np
import pytest
import torch
from test_classifier import a_model, some_ids
from test_dynamics import EMERGING

from hmlib import (
    HardmaxClassifier,
    Plan,
    ReviewExplorer,
    Vocabulary,
    Weights,
    classifier,
    evaluate,
    explain,
    train,
)
from hmlib.explanation import Calibration
from studies import checkpoints
from studies.provenance import ROOT

STILL = {"rate": 1e-12}  # nothing moves


def a_problem(rows=70, length=40):
    ids = torch.randint(
        1, 30, (rows, length), generator=torch.Generator().manual_seed(0)
    )
    return ids, (ids < 15).sum(1) > length // 3


def test_the_numbers_of_an_epoch_are_means_over_all_rows():
    """Bugs: the loss of the last batch, a short batch that weighs like a long one, errors for hits, batches for rows."""
    model, (ids, labels) = a_model(0), a_problem()
    (row,) = train(
        model, (ids, labels), plan=Plan(epochs=1, batch=32, **STILL)
    ).epochs  # batches of 32, 32 and 6
    loss, accuracy = evaluate(model, ids, labels)
    assert row["loss"] == pytest.approx(loss, rel=1e-6) and row[
        "accuracy"
    ] == pytest.approx(accuracy)
    assert accuracy not in (0, 0.5, 1)


def test_a_verdict_of_zero_is_negative():
    """Bug: it counts as positive for one half of the question."""
    model = a_model(0)
    with torch.no_grad():
        model.decoder.weight.zero_()
        model.decoder.bias.zero_()
    ids, labels = a_problem()
    assert evaluate(model, ids, labels)[1] == pytest.approx(
        float((~labels).float().mean())
    )


def test_the_plan_of_the_chapters():
    """The stored results are those of these numbers, where a study names none."""
    plan = Plan()
    assert (plan.rate, plan.dropout) == (0.01, 0.0)


@pytest.mark.parametrize(
    "ids",
    [
        torch.ones(2, 3).to_sparse(),
        torch.ones(2, 3, dtype=torch.complex64),
        torch.ones(2, 3, device="meta"),
    ],
)
def test_tensors_that_are_not_plain_are_refused(ids):
    """Bug: only those that are all of it at once."""
    with pytest.raises(ValueError, match="a dense one of real numbers"):
        classifier.tensor(ids, "ids")


def test_a_padding_that_is_none_is_refused():
    """Bug: weights are taken whatever they say of padding."""
    with pytest.raises(ValueError, match="padding is 'none'"):
        Weights([[0.0], [1.0]], 1.0, 1, [1.0], 0.0, padding="none")


@pytest.mark.parametrize("dropout", [0, 0.2, 0.7])
def test_dropout_is_the_share_left_out(dropout, monkeypatch):
    """Bugs: the share that is kept, or twice as much is left out."""
    kept, forward, (ids, labels) = [], HardmaxClassifier.forward, a_problem()

    def seen(self, ids, keep=None):
        kept.append(1.0 if keep is None else float(keep.float().mean()))
        return forward(self, ids, keep)

    monkeypatch.setattr(HardmaxClassifier, "forward", seen)
    plan = Plan(epochs=2, dropout=dropout, **STILL)
    train(a_model(0), (ids, labels), plan=plan)
    assert np.mean(kept) == pytest.approx(1 - dropout, abs=0.02)


def test_equally_good_epochs():
    """Bug: the last of equally good ones is the best."""
    data = a_problem()
    assert train(a_model(0), data, data, Plan(epochs=4, **STILL)).best == 0


def test_alphas_rate_is_its_own():
    """Bug: all learn at the rate that is alpha's."""
    model, data = a_model(0), a_problem()
    model.set_alpha(1.0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    checkpoints.train(model, data, epochs=1, rate=1e-12, alpha_rate=0.5)
    for name, value in model.state_dict().items():
        assert bool((value - before[name]).abs().max() > 1e-3) == (name == "raw_alpha")


def test_a_checkpoint_knows_every_setting(tmp_path):
    """Bug: a run that goes on from a checkpoint of another rate, seed, data, model, ... as if it were its own."""
    ids, labels = a_problem(12, 6)
    held = a_problem(8, 5)

    def run(change=(), model=None, data=(ids, labels), validation=held):
        options = {"epochs": 1, "folder": tmp_path, "batch": 4} | dict(change)
        model = a_model(0) if model is None else model
        return checkpoints.train(model, data, validation, **options)

    def other(**options):
        temperature = options.pop("temperature", 1e-3)
        model = a_model(0, **options)
        model.load_state_dict(a_model(0).state_dict())
        model.temperature = temperature
        return model

    fixed = a_model(0)
    fixed.decoder.bias.requires_grad_(False)
    run()
    for name, value in {
        "rate": {"change": {"rate": 0.02}},
        "alpha_rate": {"change": {"alpha_rate": 0.1}},
        "batch": {"change": {"batch": 5}},
        "seed": {"change": {"seed": 1}},
        "dropout": {"change": {"dropout": 0.5}},
        "data": {"data": (ids.flip(0), labels.flip(0))},
        "data ": {"data": (ids, ~labels)},
        "data  ": {"validation": (held[0], ~held[1])},
        "data   ": {"validation": (held[0].flip(1), held[1])},
        "start": {"model": a_model(1)},
        "learned": {"model": fixed},
        "model": {"model": other(depth=3)},
        "model ": {"model": other(padding="token")},
        "model  ": {"model": other(attention="pass-through")},
        "model   ": {"model": other(temperature=0.5)},
    }.items():
        with pytest.raises(
            ValueError,
            match=rf"holds a run with other settings or data \({name.strip()}[,)]",
        ):
            run(**value)
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(ValueError, match=r"settings or data \(clip[,)]"),
    ):
        patch.setattr(checkpoints, "CLIP", 1.0)
        run()
    assert len(run().epochs) == 1


def test_a_digest_knows_shapes():
    """Bug: the same bytes in another shape are taken for the same data."""
    two, three = torch.zeros(2, 3), torch.zeros(3, 2)
    assert checkpoints.digest(two) != checkpoints.digest(three)


@pytest.mark.parametrize("A", [None, [[2.0, 0.5], [0.5, 1.0]]])
def test_weights_are_all_of_a_verdict(A, tmp_path):
    """Bugs: numbers are rounded on the way to a file and back, A or padding is forgotten, alpha is another."""
    for kind in ("float32", "float64"):
        for padding in ("mask", "token"):
            model = a_model(1, 2, 12, A, padding=padding, depth=3, alpha=0.7)
            model = model.to(getattr(torch, kind))
            model.vocabulary = Vocabulary([[f"w{i}" for i in range(1, 12)]])
            weights, words = model.weights(), model.vocabulary.words[2:9]
            weights.save(tmp_path / "model.safetensors", depth_of_something=7)
            again = Weights.load(tmp_path / "model.safetensors")
            assert again.words == weights.words == model.vocabulary.words
            for name in ("embedding", "alpha", "depth", "v", "bias", "A", "padding"):
                one, other = getattr(weights, name), getattr(again, name)
                assert np.array_equal(one, other) and type(one) is type(other), name
            rebuilt = HardmaxClassifier.from_weights(again).to(model.alpha.dtype)
            logits = [explain(x, words).logit for x in (model, weights, again, rebuilt)]
            assert logits == pytest.approx([logits[0]] * 4, abs=1e-6)
            assert logits[1] == logits[2] == logits[0]
            why = explain(again, words)
            assert why.bias == weights.bias and (why.v == weights.v).all()


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"bias": np.nan}, "bias has NaN"),
        ({"alpha": 0}, "alpha is 0.0: expected a number > 0."),
        ({"v": [1.0, 2.0, 3.0]}, r"embedding has shape \(3, 2\): expected points as"),
        ({"depth": -1}, "depth is -1: expected a whole number from 0 to 1000000000."),
        (
            {"vocabulary": Vocabulary([["a"]])},
            "vocabulary has 2 rows, padding included",
        ),
        ({"A": [[1.0, 2.0], [2.0, 1.0]]}, "A is not positive definite"),
    ],
)
def test_weights_are_checked_when_they_are_made(wrong, message):
    """Bugs: what is no number, or belongs to another table, comes to light in the midst of an explanation."""
    right = {"embedding": np.ones((3, 2)), "alpha": 1, "depth": 2, "v": [1, 2]}
    right |= {"bias": 0.0, "vocabulary": Vocabulary([["a", "b"]])}
    assert Weights(**right).words == ["<PAD>", "a", "b"]
    with pytest.raises(ValueError, match=message):
        Weights(**right | wrong)


def test_training_takes_one_thread_and_gives_the_others_back():
    """Bugs: sums are added by several threads, in another order each time; they stay with one when it is over."""
    before, inside = torch.get_num_threads(), []
    torch.set_num_threads(3)
    try:
        hook = lambda *_: inside.append(torch.get_num_threads())  # noqa: E731
        train(a_model(0), a_problem(), plan=Plan(epochs=1), hook=hook)
        assert inside == [1, 1] and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_what_is_stored_for_chapter_4_is_short(tmp_path):
    """Bug: numbers that float32 holds take twice the room. The stored model, written anew, is the same file."""
    stored = ROOT / "results" / "sentiment_model.safetensors"
    Weights.load(stored).save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == stored.read_bytes()


def explained(seed, depth=3, A=None, d=2):
    model = a_model(seed, d, rows=12, depth=depth, A=A, alpha=0.7)
    model.vocabulary = Vocabulary([[f"w{i}" for i in range(1, 12)]])
    return model, explain(
        model, [model.vocabulary.words[i] for i in (1, 2, 2, 3, 4, 5, 5, 5, 6)]
    )


@pytest.mark.parametrize("A", [None, [[2.0, 0.5], [0.5, 1.0]]])
def test_the_radius_of_stability_is_the_root_of_its_inequality(A):
    """Bugs: twice the radius, a term of the inequality forgotten, one layer alone, lengths that do not belong to A.

    e (|z_j - z_l| + 2 |z_i|) + 2 e^2 = g, for each token i, whom it follows j, and each other l, in each layer.
    """
    M = np.eye(2) if A is None else np.array(A)

    def length(x):
        return np.sqrt(x @ M @ x)

    for seed in range(6):
        _, e = explained(seed, A=A)
        roots = []
        for Z, to in zip(e.path.tokens, e.follows, strict=False):
            for i, j in enumerate(to):
                for l in set(range(len(Z))) - {j}:  # noqa: E741
                    gap = Z[i] @ M @ (Z[j] - Z[l])
                    roots.append(
                        max(np.roots([2, length(Z[j] - Z[l]) + 2 * length(Z[i]), -gap]))
                    )
        assert e.stable == pytest.approx(
            min(roots), rel=1e-4
        )  # the model keeps A in float32


def test_shares_belong_to_all_that_gather():
    """Bugs: copies count once, a root's own vote alone, roots that are not the end, shares in the order of their signs."""
    by_sign = 0
    for seed in range(4):
        torch.manual_seed(seed)
        model, e = emerging(1, range(8))
        v = model.decoder.weight[0].detach().numpy()
        votes = e.counts / e.counts.sum() * (e.path.tokens[-1] @ v)
        assert e.follows[-1][[1, 3]].tolist() == [3, 0]  # a chain
        end = e.follows[-1][e.follows[-1]]
        by_hand = {f"w{i}": votes[end == i].sum() for i in (0, 2)}
        assert e.shares == pytest.approx(by_hand) and (e.root == end).all()
        sizes = [abs(share) for share in e.shares.values()]
        assert sizes == sorted(sizes, reverse=True)
        by_sign += sorted(e.shares.values(), reverse=True) != list(e.shares.values())
    assert by_sign


def emerging(depth, times):
    """The cloud whose token 1 comes to lead in layer 1, word i so many times more than once."""
    model = HardmaxClassifier(9, 2, depth, alpha=0.5).double()
    with torch.no_grad():
        model.embedding.weight[1:] = torch.tensor(EMERGING.astype(float))
    model.vocabulary = Vocabulary([[f"w{i}" for i in range(8)]])
    words = [f"w{i}" for i in range(8)]
    return model, explain(
        model,
        words + [word for word, k in zip(words, times, strict=True) for _ in range(k)],
    )


def test_leaders_are_those_of_the_layers_there_are():
    """Bug: a leader that emerges one layer after the last."""
    for depth, leaders in ((1, [0, 2]), (2, [0, 1, 2])):
        assert emerging(depth, [0] * 8)[1].leaders.tolist() == leaders


def test_a_word_left_out_is_out():
    """Bugs: it is still heard, or still has its weight. By running the classifier without it."""
    model, e = explained(2)
    words = [w for w, k in zip(e.words, e.counts, strict=True) for _ in range(k)]
    for word, logit in zip(e.words, e.without, strict=True):
        assert explain(model, [w for w in words if w != word]).logit == pytest.approx(
            logit, abs=1e-9
        )


def test_some_ids_are_what_they_are():
    """Bug: weights that do not move with the ids when these are sorted; words of no weight merged with others."""
    ids = some_ids(0)
    weights = torch.rand(ids.shape, dtype=torch.float64) * (ids != 0)
    weights[:, 1] = 0
    words, sums = classifier.merged(ids, weights)
    for row, w, said, total in zip(
        ids.tolist(), weights.tolist(), words.tolist(), sums.tolist(), strict=True
    ):
        by_hand = {}
        for i, x in zip(row, w, strict=True):
            if x:
                by_hand[i] = by_hand.get(i, 0) + x
        assert {i: x for i, x in zip(said, total, strict=True) if x} == pytest.approx(
            by_hand
        )


# How sure a verdict should be


def test_nobody_is_sure_of_a_few_words():
    """Of one word, hardly more than chance, however loud; and never less than that."""
    calibration = Calibration(scale=1.75, few=60)
    words = Vocabulary([["good", "bad"]])
    loud = Weights([[0, 0], [1, 0], [-1, 0]], 1, 0, [99, 0], 0, vocabulary=words)
    why = explain(loud, ["good"])
    assert why.probability > 1 - 1e-9 and calibration.sure(why) == pytest.approx(
        1 / (1 + np.exp(-1.75 / 61 * 99))
    )
    why = explain(loud, ["bad"] * 20 + ["good"] * 10)
    assert why.logit == pytest.approx(-33)
    assert calibration.sure(why) == pytest.approx(1 / (1 + np.exp(-1.75 / 3 * 33)))
    many = explain(loud, ["good"] * 60 + ["bad"] * 60)
    assert calibration.sure(many) == 0.5


@pytest.mark.parametrize("bad", [{"scale": -1, "few": 1}, {"scale": 1, "few": "x"}])
def test_bad_calibrations_are_refused(bad, tmp_path):
    with pytest.raises(ValueError, match=r"(scale|few) is .*: expected"):
        Calibration(**bad)
    file = tmp_path / "calibration.json"
    for text in ("{}", "[]", "{", json.dumps({"fit": bad})):
        file.write_text(text)
        with pytest.raises(ValueError, match="is damaged, or no calibration"):
            Calibration.load(file)
    with pytest.raises(ValueError, match="calibration is of type float"):
        ReviewExplorer(calibration=1.0)


def test_explanations_have_no_scale():
    """Bugs: squares of coordinates that overflow, a logit that is no number, a radius that rounding has made."""
    words = Vocabulary([["a", "b"]])

    def why(scale, v=1.0):
        table = np.array([[0, 0], [1, 0], [0.5, 1]]) * scale
        w = Weights(table, 1.0, 2, [v, v], 0.0, vocabulary=words)
        return explain(w, ["a", "b"])

    one = why(1).stable
    assert 0.1 < one < 1
    for scale in (1e-100, 1e100, 1e154, 1e200):
        assert why(scale).stable / scale == pytest.approx(one)
    with pytest.raises(ValueError, match="the logit leaves the range of floats"):
        why(1e10, 1e300)
    close = [np.nextafter(0.2, 1), np.nextafter(0.4, 0)]  # 1.7e-17 decides, not 5.6e-17
    table = [[0, 0], [0.2, 0.4], close, [0.4, 0.2]]
    near = Weights(table, 1.0, 1, [1, 1], 0.0, vocabulary=Vocabulary([[*"abc"]]))
    assert explain(near, [*"abc"]).stable == 0
