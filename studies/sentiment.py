"""The sentiment experiment in full, on the 50,000 reviews."""

import torch

from hmlib.classifier import HardmaxClassifier, evaluate, train
from studies.graph import Task
from studies.texts import encoded


def paper_protocol(folder, dim, way="paper", padding="token", epochs=101, seed=0):
    """Softmax at temperature 1e-3, eight layers, Adam at 1e-3 on all training reviews; test numbers after each epoch."""
    texts = encoded(way)
    torch.manual_seed(seed)
    model = HardmaxClassifier(len(texts.words), dim, padding=padding, attention="softmax")

    def measure(model, number):
        row = dict(zip(("test_loss", "test_accuracy"), evaluate(model, *texts.of("test")), strict=True))
        if number % 10 == 0:  # the same weights, judged with softmax and with hardmax
            for kind in ("softmax", "hardmax"):
                model.attention = kind
                row[f"train_loss_{kind}"], _ = evaluate(model, *texts.of("train"))
            row["test_loss_hardmax"], row["test_accuracy_hardmax"] = evaluate(model, *texts.of("test"))
            model.attention = "softmax"
        return row

    history = train(
        model, *texts.of("train"), None, epochs, 1e-3, seed=seed, measure=measure, folder=folder, progress=False
    )
    return {"epochs": history.epochs}, model.state_dict()


def tasks():
    return [Task(f"paper d={dim}", paper_protocol, {"dim": dim}) for dim in (16, 2, 8, 4)]
