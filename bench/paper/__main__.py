"""Measures everything of the paper, in pieces that go on where they stopped.

    ./run bench --paper                      all of it, on this machine's GPU
    ./run bench --paper --smoke              every piece at toy size on the emulator: whether it runs, not how fast
    ./run bench --paper --only spmm_rnn --seconds 100
    ./run bench --paper --more               the paper's models at sizes, masks and types of which it has no figure
    python bench/paper --bin FOLDER ...      from executables that were built elsewhere

A piece has a result file in --out. One that is complete is not measured again (--again does). One that is not goes on:
a model from its file, a benchmark with the problems that are missing, in a file of its own beside it (NAME_rest.json).
Where outputs were wrong the file is NAME.failed, and the piece is measured again.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from pieces import MORE, PIECES

ROOT = Path(__file__).resolve().parents[2]
LEAST_SECONDS = 15  # less is not worth a start
SMOKE_SECONDS = 600


def parse():
    """Options of the command line."""
    names = [piece.name for piece in PIECES + MORE]
    parser = argparse.ArgumentParser(
        prog="paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the pieces, and what each of them is")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, help="these pieces alone")
    parser.add_argument("--more", action="store_true", help="the pieces that are not the paper's in place of its own")
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="folder of result files (build/paper)")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="folder of the executables")
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data/dlmc", help="folder of DLMC's matrices")
    parser.add_argument("--seconds", type=float, default=1200, help="in all; what is not reached is measured next time")
    parser.add_argument("--smoke", action="store_true", help="toy sizes on the emulator")
    parser.add_argument("--again", action="store_true", help="measure complete pieces, too")
    parser.add_argument("--commit", help="that results name (default: what the programs were built from)")
    return parser.parse_args()


def read(path):
    """A result file; None where there is none yet, or half of one."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def files_of(piece, out):
    """Its result files so far, in their order."""
    return [path for path in (out / f"{name}.json" for name in _names(piece)) if path.exists()]


def _names(piece):
    yield piece.name
    yield f"{piece.name}_rest"
    for number in range(2, 100):
        yield f"{piece.name}_rest{number}"


class Progress:
    """Pieces behind it and ahead, so that it can say how long the rest will take."""

    def __init__(self, pieces, seconds):
        self.pieces, self.seconds, self.start = pieces, seconds, time.monotonic()

    def left(self):
        """Seconds of the budget."""
        return self.seconds - (time.monotonic() - self.start)

    def tell(self, number, text):
        """A line before a piece."""
        ahead = sum(piece.seconds for piece in self.pieces[number:])
        elapsed = time.monotonic() - self.start
        print(
            f"[{number + 1}/{len(self.pieces)}, {elapsed:.0f} s, about {ahead} s for the rest] {text}",
            file=sys.stderr,
            flush=True,
        )


def command_of(piece, options, seconds, out, done):
    """The command line of a piece that has `done` problems behind it, and the file it writes."""
    arguments = list(piece.smoke if options.smoke else piece.arguments)
    commit = ["--commit", options.commit] if options.commit else []
    if piece.is_model:
        target = out / f"{piece.name}.json"
        resume = ["--resume"] if target.exists() else []
        program = [sys.executable, str(ROOT / "bench/models" / piece.program)]
        return [*program, *arguments, "--json", str(target), "--seconds", f"{seconds:.0f}", *resume, *commit], target
    target = out / f"{list(_names(piece))[len(files_of(piece, out))]}.json"
    if "--set" not in arguments:
        arguments += ["--data", str(data_of(options))]
    arguments += ["--device", "emulator"] if options.smoke else []
    arguments += ["--skip", str(done)] if done else []
    return [
        *(str(options.bin / piece.program), *arguments),
        *("--deadline", f"{seconds:.0f}", "--out", str(target), *commit),
    ], target


def data_of(options):
    """Tiny matrices of the tests where it is only tried."""
    return ROOT / "tests/unit/bench/data" if options.smoke else options.data


@functools.cache
def without_torch():
    """Why models cannot run here, or None: asked once, since importing takes seconds."""
    probe = subprocess.run([sys.executable, "-c", "import torch, vostok.torch"], capture_output=True, text=True)
    return None if probe.returncode == 0 else probe.stderr.strip().splitlines()[-1]


def unavailable(piece, options):
    """Why a piece cannot run here, or None."""
    if piece.is_model:
        if not (ROOT / "bench/models" / piece.program).exists():
            return f"there is no bench/models/{piece.program}"
        return without_torch()
    if not (options.bin / piece.program).exists():
        return f"{options.bin / piece.program} was not built"
    if "--set" not in piece.arguments and not (data_of(options) / "problems.txt").exists():
        return f"{data_of(options)} has no problems.txt"
    return None


def measure(piece, options, seconds):
    """Runs a piece for at most so long. "complete", "cut short", "failed (STATUS)" or "left out: REASON"."""
    files = files_of(piece, options.out)
    if options.again:
        for path in files:
            path.unlink()
        files = []
    results = [read(path) for path in files]
    if results and results[-1] and results[-1].get("complete"):
        return "complete already"
    if reason := unavailable(piece, options):
        return f"left out: {reason}"
    done = sum(len(result["rows"]) for result in results if result)
    command, target = command_of(piece, options, seconds, options.out, done)
    with open(options.out / f"{piece.name}.log", "a") as log:
        log.write("$ " + " ".join(command) + "\n")
        log.flush()
        try:
            status = subprocess.run(command, stdout=log, stderr=log, timeout=seconds + 120).returncode
        except subprocess.TimeoutExpired:
            status = "time-out"
    result = read(target)
    if result and result.get("complete") and status == 0:
        return "complete"
    if result and not result.get("complete"):
        return "cut short"
    if result:  # whole, and wrong: not to be taken for a result
        target.replace(target.with_suffix(".failed"))
    return f"failed ({status}): see {options.out / piece.name}.log"


def main():
    options = parse()
    if options.list:
        for piece in PIECES + MORE:
            print(f"{piece.name:24} {piece.seconds:4} s  {piece.what}")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    if options.smoke:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # models take a GPU where there is one
    chosen = MORE if options.more else PIECES
    if options.only:
        chosen = [piece for piece in PIECES + MORE if piece.name in options.only]
    progress = Progress(chosen, options.seconds)
    outcomes = {}
    for number, piece in enumerate(chosen):
        progress.tell(number, f"{piece.name}: {piece.what}")
        seconds = SMOKE_SECONDS if options.smoke else min(progress.left(), 2 * piece.seconds)
        enough = seconds >= LEAST_SECONDS
        outcomes[piece.name] = measure(piece, options, seconds) if enough else "not reached"
        print(f"{piece.name:24} {outcomes[piece.name]}", flush=True)
    bad = [name for name, outcome in outcomes.items() if outcome.startswith("failed")]
    rest = [name for name, outcome in outcomes.items() if outcome in ("cut short", "not reached")]
    if rest:
        print(f"the same command goes on with: {' '.join(rest)}")
    return 1 if bad or rest else 0


if __name__ == "__main__":
    sys.exit(main())
