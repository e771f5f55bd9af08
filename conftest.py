"""Every test and every notebook kernel starts from the same reproducible surroundings."""

import os

import hypothesis

# Kernels are children of this process and inherit its environment.
os.environ |= {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "SOURCE_DATE_EPOCH": "1767225600",  # zip files know no 1970
    "JUPYTER_PLATFORM_DIRS": "1",
}

# The same examples on every run. HYPOTHESIS_PROFILE=search looks for new ones.
hypothesis.settings.register_profile(
    "repeat", derandomize=True, deadline=None, database=None
)
hypothesis.settings.register_profile(
    "quick", derandomize=True, deadline=None, database=None, max_examples=50
)
hypothesis.settings.register_profile("search", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


def pytest_collectstart(collector):
    """Pictures are looked at, not compared: everything else in a stored output has to come out the same."""
    if getattr(collector, "path", None) and collector.path.suffix == ".ipynb":
        collector.skip_compare += (
            "image/svg+xml",
            "image/png",
            "image/gif",
            "application/papermill.record/image/png",
            "application/papermill.record/image/svg+xml",
        )
