"""What examples and bench/models share that measure: times, memory, errors, progress with the time left, and result
files like the benchmarks'."""

import contextlib
import json
import math
import os
import platform
import subprocess
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import torch

import vostok

SCHEMA = 3  # of bench/results/README.md
TOLD_EVERY = 5.0  # seconds


class OutOfTime(Exception):
    """The budget is spent."""


def add_options(parser):
    """The options of an example that measures."""
    parser.add_argument("--json", help="a file for the results, written again after every row")
    parser.add_argument("--commit", help="what the package was built from, for the results")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stops after so long, with what is there")


def add_resume(parser):
    """For a program whose rows may be measured by several runs."""
    parser.add_argument("--resume", action="store_true", help="keeps the rows of --json's file and measures the others")


class Progress:
    """Tells how much is done and how long the rest will take. step() raises OutOfTime where the budget is spent."""

    def __init__(self, total, seconds=float("inf")):
        self.total = total
        self.done = 0
        self.start = self.told = time.monotonic()
        self.seconds = seconds

    @property
    def elapsed(self):
        """Seconds since the start."""
        return time.monotonic() - self.start

    def step(self, what, parts=1):
        """More parts are done."""
        self.done += parts
        now = time.monotonic()
        if now - self.told >= TOLD_EVERY:
            self.told = now
            left = self.elapsed / self.done * max(self.total - self.done, 0)
            print(f"[{self.done}/{self.total}] {what}: {self.elapsed:.0f} s, about {left:.0f} s left", file=sys.stderr)
        if self.elapsed > self.seconds:
            raise OutOfTime(f"{self.seconds:.0f} s are over")


def summary(microseconds):
    """Median, and spread: half the distance between the 10th and the 90th percentile."""
    ordered = sorted(microseconds)
    at = lambda share: ordered[round(share * (len(ordered) - 1))]  # noqa: E731
    return {"median_us": at(0.5), "spread_us": (at(0.9) - at(0.1)) / 2, "rounds": len(ordered)}


def wait(device):
    """Until the device is done."""
    if device == "cuda":
        torch.cuda.synchronize()


@contextlib.contextmanager
def timed(times, device):
    """Appends the microseconds that a block takes, the device's work included."""
    wait(device)
    start = time.perf_counter()
    yield
    wait(device)
    times.append((time.perf_counter() - start) * 1e6)


@contextlib.contextmanager
def poisoned():
    """Memory that nobody writes holds NaN meanwhile, so that an output with holes is seen."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def captured(function):
    """A CUDA graph of a call, and what the call returned, which each replay writes again."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = function()
    return graph, output


def replayed(graph, count):
    """Microseconds a replay takes, as the device's events tell of so many."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(count):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / count


def used_bytes(device):
    """Device memory of this process and of others, without what PyTorch holds back for later; None on the CPU."""
    if device == "cpu":
        return None
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    return total - free - (torch.cuda.memory_reserved() - torch.cuda.memory_allocated())


def distance(y, exact):
    """||y - exact|| / ||exact||, infinite where y has a hole."""
    error = float((y.double() - exact.double()).norm() / exact.double().norm())
    return error if error == error else float("inf")


def _asked(query):
    """What nvidia-smi says of the current device, as a list; None where it says nothing."""
    if not torch.cuda.is_available():
        return None
    uuid = torch.cuda.get_device_properties().uuid
    command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "-i", f"GPU-{uuid}"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return [word.strip() for word in text.split(",")]


def clocks():
    """What the device runs at now; None on the emulator."""
    found = _asked("clocks.sm,clocks.mem")
    try:
        return {"sm_mhz": int(found[0]), "memory_mhz": int(found[1])}
    except (TypeError, ValueError, IndexError):
        return None


def _device():
    if not torch.cuda.is_available():
        return {"name": "emulator", "gpu": False}
    found = torch.cuda.get_device_properties()
    driver = _asked("driver_version")
    return {
        "name": found.name,
        "architecture": f"sm_{found.major}{found.minor}",
        "gpu": True,
        "multiprocessors": found.multi_processor_count,
        "memory_bytes": found.total_memory,
        "l2_bytes": found.L2_cache_size,
        "driver": driver and driver[0],
    }


class Results:
    """Rows with the conditions that they were measured under."""

    def __init__(self, benchmark, options, problem, **versions):
        self.path = options.json and Path(options.json)
        self.start = time.monotonic()
        words = [os.path.basename(sys.argv[0]), *map(_without_folder, sys.argv[1:])]
        self.whole = {
            "schema": SCHEMA,
            "benchmark": benchmark,
            "complete": False,
            "command": " ".join(words),
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "seconds": 0.0,
            "commit": options.commit,
            "library_version": vostok.__version__,
            "versions": {"torch": torch.__version__, "python": platform.python_version(), **versions},
            "device": _device(),
            "host": {"processor": _processor(), "cores": os.cpu_count()},
            "clocks": {"before": clocks(), "after": None},
            "problem": problem,
            "rows": [],
        }
        if getattr(options, "resume", False):
            self._resume()
        self.write()

    def _resume(self):
        """Takes the rows of the file, but those that failed. Errors: SystemExit where their conditions are others."""
        if not self.path:
            raise SystemExit("cannot resume: --json is not given")
        if not self.path.exists():
            return
        before = json.loads(self.path.read_text())
        now = json.loads(json.dumps(_finite(self.whole)))
        differ = [name for name in ("schema", "benchmark", "commit", "device", "problem") if before[name] != now[name]]
        if differ:
            raise SystemExit(f"cannot resume {self.path.name}: {', '.join(differ)} differ")
        self.whole["rows"] = [row for row in before["rows"] if "failure" not in row]
        self.start -= before["seconds"]

    def has(self, case):
        """Whether there is a row of these values."""
        return any(all(row.get(name) == value for name, value in case.items()) for row in self.whole["rows"])

    def add(self, row):
        """Writes one more row at once: what is there outlives an interruption."""
        self.whole["rows"].append(row)
        self.whole["clocks"]["after"] = row.get("clocks")
        self.write()

    def finish(self):
        """Everything that was asked for is there."""
        self.whole["complete"] = True
        self.write()

    def write(self):
        """Writes the file, whole or not at all."""
        self.whole["seconds"] = round(time.monotonic() - self.start, 3)
        if not self.path:
            return
        partial = self.path.with_name(self.path.name + ".part")
        partial.write_text(json.dumps(_finite(self.whole), indent=1, allow_nan=False) + "\n")
        partial.replace(self.path)


def _finite(value):
    """Null for numbers that are none, which JSON has not."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _without_folder(word):
    return os.path.basename(word) if os.path.isabs(word) else word


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)
