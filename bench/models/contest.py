"""What the models of this folder share: sides that compute the same, each checked, and timed in turns, case by case."""

import argparse
import contextlib
import functools
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import torch

import vostok
import vostok.torch as vt

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "python" / "examples"))
import measured  # noqa: E402

OURS = "vostok"
REPLAY_US = 3000  # a sample lasts about so long, where a call is shorter
RACE_SECONDS = 4.0  # fewer rounds where they would take longer
FEWEST_ROUNDS = 3


@dataclass
class Side:
    """One way to compute what a case asks for."""

    call: Callable  # () -> a tuple of tensors
    judge: Callable  # these tensors -> how wrong they are
    tolerance: float
    own_bytes: int = 0  # of weights and inputs, which are there before the call
    compiled: bool = False  # by torch.compile, which the mode that poisons memory would have compile once more
    plain: Callable | None = None  # the same without what is compiled, for that mode
    facts: dict = field(default_factory=dict)  # for its row
    parts: dict = field(default_factory=dict)  # name -> a call of a part, timed apart


def fastest(ways, device):
    """The name of the call that takes the shortest time as a CUDA graph; those that PyTorch refuses are passed over. On
    the emulator the first one."""
    took = {}
    for name, call in ways.items():
        try:
            call()
            graph = None if device == "cpu" else measured.captured(call)[0]
            took[name] = len(took) if graph is None else min(measured.replayed(graph, 20) for _ in range(5))
        except (RuntimeError, NotImplementedError):
            continue
    return min(took, key=took.get)


class LeftOut(Exception):
    """Why a side is not measured."""


def _rest(words):
    """Of --rest."""
    try:
        seconds = float(words)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{words}' is no number of seconds from 0 up")
    return seconds


def parser_of(doc):
    """A parser with the options that all models have."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="samples of each side; fewer where they take long")
    parser.add_argument("--without", nargs="+", default=[], metavar="SIDE", help="sides to leave out, by name")
    words = "idle before each sample, so that no side runs at the lower clocks that the power of the one before left"
    parser.add_argument("--rest", type=_rest, default=0.0, metavar="SECONDS", help=words)
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator, where times say nothing")
    measured.add_options(parser)
    measured.add_resume(parser)
    return parser


def fill_lists(options, full, tiny):
    """Gives options that were not given their lists: those of the paper, or few for --tiny."""
    for name, value in (full | tiny if options.tiny else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)


def device_here():
    """What torch computes on."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def stream():
    """What plans are executed on, as a capture wants it: the current stream."""
    return 0 if device_here() == "cpu" else torch.cuda.current_stream().cuda_stream


@functools.cache
def context():
    """The library's, for plans made here and for vostok.torch's."""
    made = vostok.Context("emulator" if device_here() == "cpu" else "cuda:0")
    vt.set_context(device_here(), made)
    return made


def add_effort(parser):
    """For models whose plans may be tuned first."""
    parser.add_argument(
        "--effort",
        choices=("cached", "quick", "full"),
        default="cached",
        help="cached: choices as they are stored; else kernels are measured first, and the winners stored",
    )
    parser.add_argument("--effort-seconds", type=float, default=5.0, help="for each kernel that is tuned")


@contextlib.contextmanager
def precision(tf32):
    """Whether PyTorch's products and convolutions of float32 may use TF32 meanwhile."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def worst_line(y, exact):
    """The largest ||line - exact|| / ||exact|| over the lines of the last axis; infinite where y has a hole."""
    y, exact = (tensor.reshape(-1, tensor.shape[-1]) for tensor in (y, exact))
    worst = 0.0
    for first in range(0, y.shape[0], 1 << 14):
        part, wide = y[first : first + (1 << 14)].double(), exact[first : first + (1 << 14)].double()
        error = float(((part - wide).norm(dim=1) / wide.norm(dim=1).clamp(min=1e-300)).max())
        worst = max(worst, error) if error == error else float("inf")
    return worst


def bytes_of(*tensors):
    """What tensors take in memory."""
    return sum(tensor.nbytes for tensor in tensors)


def outside_bytes(device):
    """Device memory in use that is none of PyTorch's."""
    return None if device == "cpu" else measured.used_bytes(device) - torch.cuda.memory_allocated()


class Runner:
    """A side that is ready: checked once in poisoned memory, and, on a GPU, captured."""

    def __init__(self, make, device):
        before = outside_bytes(device)
        side = make()
        self.side, self.device = side, device
        self.found = dict(side.facts)
        self._note_memory(before)
        with contextlib.nullcontext() if side.compiled and not side.plain else measured.poisoned():
            self.error = side.judge(*(side.plain or side.call)())
        self.calls = {"": self._ready(side.call)}
        for name, part in side.parts.items():
            part()
            self.calls[name] = self._ready(part)

    def _note_memory(self, before):
        """What a call needs: of PyTorch's memory, and, with what was made for it, of the device beside that."""
        self.side.call()
        if self.device == "cpu":
            return
        outside = outside_bytes(self.device) - before
        allocated = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        self.side.call()
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated() - allocated + self.side.own_bytes
        self.found |= {"peak_bytes": peak, "outside_bytes": max(outside, 0)}

    def _ready(self, call):
        if self.device == "cpu":
            return call, None
        return measured.captured(call)

    def sample(self, name, count):
        """Microseconds of a call, the mean of so many."""
        call, outputs = self.calls[name]
        if self.device == "cuda":
            call.replay()  # not timed: what is timed waits in the queue by its end, so that no launch is waited for
            return measured.replayed(call, count)
        times = []
        with measured.timed(times, self.device):
            outputs = call()
        self.calls[name] = call, outputs
        return times[0]

    def settle(self, times):
        """What is known of the side now that it was timed: its last call is checked as the first one was."""
        call, outputs = self.calls[""]
        if self.device == "cuda":
            for output in outputs:
                output.detach().fill_(float("nan"))
            call.replay()
            torch.cuda.synchronize()
        self.error = max(self.error, self.side.judge(*outputs))
        self.found |= measured.summary(times[""]) | {"error": self.error, "tolerance": self.side.tolerance}
        self.found["verified"] = self.error <= self.side.tolerance
        for name in self.side.parts:
            self.found[name] = measured.summary(times[name])
        return self.found


def _counts(runners):
    """How many calls a sample of each is of, and how long a round takes in microseconds."""
    counts, whole = {}, 0.0
    for side, runner in runners.items():
        for name in runner.calls:
            once = runner.sample(name, 1)
            counts[side, name] = max(1, min(50, round(REPLAY_US / once)))
            whole += counts[side, name] * once
    return counts, whole


def raced(sides, options, device):
    """What a row tells: every side that could be measured, in turns, and why others were not. sides: functions by name,
    each of which makes a Side or raises LeftOut. A dense side that PyTorch refuses is left out; ours must run."""
    runners, left_out = {}, {}
    for name, make in sides.items():
        if name in options.without:
            left_out[name] = "--without says so"
            continue
        try:
            runners[name] = Runner(make, device)
        except LeftOut as reason:
            left_out[name] = str(reason)
        except (RuntimeError, NotImplementedError) as error:
            if name.startswith(OURS):
                raise
            left_out[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
    counts, round_us = _counts(runners)
    rounds = max(FEWEST_ROUNDS, min(options.rounds, int(RACE_SECONDS * 1e6 / round_us)))
    times = {side: {name: [] for name in runner.calls} for side, runner in runners.items()}
    turns, shuffle = list(counts.items()), random.Random(1).shuffle
    for _ in range(1 if options.tiny else rounds):
        shuffle(turns)  # nobody always follows the side that makes the GPU hottest
        for (side, name), count in turns:
            time.sleep(options.rest)
            times[side][name].append(runners[side].sample(name, count))
    clocks = measured.clocks()
    found = {side: runner.settle(times[side]) for side, runner in runners.items()}
    return {
        "clocks": clocks,
        "sides": found,
        "left_out": left_out,
        "speedups": speedups(found),
        "verified": all(side["verified"] for side in found.values()),
    }


def speedups(found):
    """The time of each other side over ours."""
    ours = found[OURS]["median_us"]
    return {name: side["median_us"] / ours for name, side in found.items() if name != OURS}


def line_of(case, row):
    """A row as text."""
    lines = [" ".join(f"{name} {value}" for name, value in case.items())]
    if "failure" in row:
        return f"{lines[0]}\n  FAILED: {row['failure']}"
    for name, side in row["sides"].items():
        text = f"  {name}: {side['median_us'] / 1e3:.3f} ms +- {side['spread_us'] / 1e3:.3f}"
        text += "" if name == OURS else f", {row['speedups'][name]:.2f} of ours"
        if "peak_bytes" in side:
            text += f", peak {(side['peak_bytes'] + side['outside_bytes']) / 1e9:.2f} GB"
        lines.append(text + f", error {side['error']:.1e}" + ("" if side["verified"] else ": WRONG"))
    return "\n".join(lines + [f"  {name}: left out, {reason}" for name, reason in row["left_out"].items()])


def drive(benchmark, options, problem, cases, measure, keeps_compiled=False):
    """Measures the cases that are not there yet, each a dictionary of a row's first fields, by measure(case). Fails in
    the end where a row is wrong. keeps_compiled: cases share what torch.compile made."""
    results = measured.Results(benchmark, options, problem)
    progress = measured.Progress(len(cases), options.seconds)
    context()
    try:
        for case in cases:
            if not results.has(case):
                row = case | _measured(measure, case)
                results.add(row)
                print(line_of(case, row), flush=True)
                vt.clear()
                if not keeps_compiled:
                    torch._dynamo.reset()  # of one function so many versions are compiled, and no more
            progress.step(" ".join(map(str, case.values())))
        results.finish()
    except measured.OutOfTime as end:
        print(f"stopped early: {end}; {len(results.whole['rows'])} of {len(cases)} rows are there")
    wrong = [row for row in results.whole["rows"] if not row["verified"]]
    if wrong:
        raise SystemExit(f"{len(wrong)} rows are wrong or failed")


def _measured(measure, case):
    """A row, or why there is none: the other cases are measured all the same."""
    try:
        return measure(case)
    except RuntimeError as error:
        return {"failure": f"{type(error).__name__}: {str(error).strip()[:500]}", "verified": False}
