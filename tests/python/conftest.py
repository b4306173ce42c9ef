"""What the Python tests share: an emulator's context, seeded numbers, and a cache folder of their own."""

import os
import secrets
import tempfile

_folder = tempfile.TemporaryDirectory(prefix="vostok-python-")
if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = _folder.name
for _name in ("VOSTOK_CACHE_DIR", "VOSTOK_READ_ONLY_CACHE"):
    os.environ.pop(_name, None)

import numpy as np  # noqa: E402
import pytest  # noqa: E402

import vostok  # noqa: E402


@pytest.fixture(scope="session")
def context():
    """The emulator, without a word about it."""
    return vostok.Context("emulator", log=lambda level, line: None)


@pytest.fixture
def rng():
    """Numbers of a seed that is printed, and that VOSTOK_TEST_SEED can set."""
    seed = int(os.environ.get("VOSTOK_TEST_SEED") or secrets.randbits(32))
    print("seed", seed)
    return np.random.default_rng(seed)


def pytest_terminal_summary(terminalreporter):
    """Says why tests are left out, one line for each reason: `./run test` collects these lines."""
    reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", [])}
    for reason in sorted(reasons):
        terminalreporter.write_line(f"skipped: {reason}")
