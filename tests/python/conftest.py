"""What the Python tests share: an emulator's context, seeded numbers, and a cache folder of their own."""

import dataclasses
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
    """A GPU where there is one, else the emulator, without a word about it. VOSTOK_TEST_DEVICE names another device;
    "pretended" is an emulator that is taken for a GPU, to which everything is copied."""
    device = os.environ.get("VOSTOK_TEST_DEVICE") or "auto"
    made = vostok.Context("emulator" if device == "pretended" else device, log=lambda level, line: None)
    if device == "pretended":
        made.device = dataclasses.replace(made.device, gpu=True)
    return made


@pytest.fixture(scope="session")
def emulator():
    """The emulator."""
    return vostok.Context("emulator", log=lambda level, line: None)


@pytest.fixture
def rng():
    """Numbers of a seed that is printed, and that VOSTOK_TEST_SEED can set."""
    seed = int(os.environ.get("VOSTOK_TEST_SEED") or secrets.randbits(32))
    print("seed", seed)
    return np.random.default_rng(seed)


class Count:
    """How many cases ended, and why some were left out: `./run test` shows both, and fewer than were collected fail."""

    def __init__(self):
        self.ended = set()
        self.reasons = set()

    def pytest_runtest_logreport(self, report):
        if report.when == "teardown":
            self.ended.add(report.nodeid)
        if report.skipped and isinstance(report.longrepr, tuple):
            self.reasons.add(report.longrepr[2].removeprefix("Skipped: "))

    def pytest_collectreport(self, report):
        if report.skipped and isinstance(report.longrepr, tuple):
            self.reasons.add(report.longrepr[2].removeprefix("Skipped: "))

    def pytest_sessionfinish(self, session, exitstatus):
        missing = session.testscollected - len(self.ended)
        if exitstatus == 0 and missing:
            print(f"{missing} of {session.testscollected} test cases did not run")
            session.exitstatus = 1
        notes = os.environ.get("VOSTOK_TEST_NOTES")
        if notes:
            with open(notes, "a") as file:
                file.write(f"cases {len(self.ended)}\n")
                file.writelines(f"skipped: {reason}\n" for reason in sorted(self.reasons))

    def pytest_terminal_summary(self, terminalreporter):
        for reason in sorted(self.reasons):
            terminalreporter.write_line(f"skipped: {reason}")


def pytest_configure(config):
    config.pluginmanager.register(Count(), "vostok-count")
