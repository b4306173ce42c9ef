"""Python programs that write results, at small sizes, each in a process of its own."""

import json
import subprocess
import sys


def run(words, folder):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=900, cwd=folder)


def output_of(program, folder, *more):
    done = run([str(program), "--tiny", *more], folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def results_of(program, folder, *more):
    output_of(program, folder, "--json", str(folder / "results.json"), "--commit", "abc123", *more)
    return json.loads((folder / "results.json").read_text())
