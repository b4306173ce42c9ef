"""A decoder of Llama-2-7B's sizes, pruned by magnitude: tokens per second and GB, sparse beside dense, in one run.

    python decoder.py --json decoder.json    # an H100 or H200: 32 layers of 4096, 1,024 tokens of context
    python decoder.py --layers 4 --batch 1 8 --sparsity 0.7
    python decoder.py --tiny                 # sizes for the emulator

Weights are made on the device and pruned per row. For each share of zeros the dense model of these weights is measured
first, then its layers are frozen, a few at a time, and the sparse model is measured. Both decode one token a step with
a static cache of keys and values, as CUDA graphs on a GPU. Logits of both are compared with those in float32: the
sparse model's may be half as far again from them as the dense one's.

On a GPU of 80 GB: 13 GB of dense weights, 34 GB of cache for 64 sequences.
"""

import argparse
import statistics
import time

import measured
import torch
from decoder_model import Decoder, Glue

import vostok.torch as vt

SIZES = (
    *("layers", "hidden", "intermediate", "heads", "vocabulary", "context"),
    *("distinct", "formats", "few_tokens", "glue"),
)
ALLOWED = 1.5  # times the dense model's error
TOGETHER = 8  # layers frozen at a time; their indices take memory beside both weights until they are packed


class Inputs:
    """Tokens, and a cache for the largest batch, of which smaller ones use a part."""

    def __init__(self, options, device, dtype):
        generator = torch.Generator(device).manual_seed(1)
        shape = (2, max(options.batch), options.heads, options.context, options.hidden // options.heads)
        self.caches = [
            torch.empty(shape, device=device, dtype=dtype).normal_(generator=generator) for _ in range(options.layers)
        ]
        count = max(options.batch)
        self.tokens = torch.randint(options.vocabulary, (count,), device=device, generator=generator)

    def of(self, batch):
        """Arguments of the model."""
        return self.tokens[:batch], [cache[:, :batch] for cache in self.caches]


def measure(model, arguments, options, device):
    """Logits of a call whose memory was poisoned, logits of the last that was timed, and microseconds a step."""
    glue, model.glue = model.glue, Glue()  # the mode that poisons would have it compiled once more
    with measured.poisoned():
        checked = model(*arguments)
    model.glue = glue
    if device == "cpu":
        times = []
        for _ in range(options.runs):
            with measured.timed(times, device):
                logits = model(*arguments)
        return checked, logits, times
    graph, captured = measured.captured(lambda: model(*arguments))
    times = [measured.replayed(graph, options.steps) for _ in range(options.runs + 1)][1:]  # the first warms up
    captured.fill_(float("nan"))
    graph.replay()
    logits = captured.clone()
    torch.cuda.synchronize()
    return checked, logits, times


def described(model, batch, options, device, inputs, exact):
    """What a row tells of one side."""
    checked, logits, times = measure(model, inputs.of(batch), options, device)
    found = measured.summary(times)
    found["tokens_s"] = batch / (found["median_us"] / 1e6)
    found["error"] = max(measured.distance(checked, exact), measured.distance(logits, exact))
    return found


def measure_sparsity(sparsity, batches, model, inputs, options, device, dtype, results, progress):
    """A row for each batch: the dense model, then the same weights frozen for the largest of these batches."""
    where = f"{sparsity:.0%} zeros"
    without = measured.used_bytes(device)
    for index in range(options.layers):
        model.fill(index, sparsity, device, dtype)
        progress.step(f"{where}: made layer {index + 1} of {options.layers}")
    dense, exact = {}, {}
    dense_bytes = {"linear_bytes": sum(model.linear_bytes()), "device_bytes": since(without, device)}
    for batch in batches:
        exact[batch] = model.exact(*inputs.of(batch))
        dense[batch] = described(model, batch, options, device, inputs, exact[batch]) | dense_bytes
        progress.step(f"{where}: dense, batch {batch}")
    few = options.few_tokens if 0 < options.few_tokens < max(batches) else None
    start = time.monotonic()
    for first in range(0, options.layers, TOGETHER):
        some = range(first, min(first + TOGETHER, options.layers))
        model.freeze(some, max(batches), few)
        progress.step(f"{where}: froze layer {some[-1] + 1} of {options.layers}", len(some))
    frozen = time.monotonic()
    vt.prepare(model, batches, progress=False)
    seconds = {
        "freeze_seconds": round(frozen - start, 3),
        "prepare_seconds": round(time.monotonic() - frozen, 3),
    }
    for_many, for_few = model.linear_bytes()
    sparse_bytes = {"linear_bytes": for_many + for_few, "device_bytes": since(without, device)}
    for batch in batches:
        sparse = described(model, batch, options, device, inputs, exact[batch]) | sparse_bytes
        sparse["read_bytes"] = for_few if few is not None and batch <= few else for_many
        sparse["tolerance"] = ALLOWED * dense[batch]["error"]
        sparse["verified"] = sparse["error"] <= sparse["tolerance"]
        row = {
            "sparsity": sparsity,
            "batch": batch,
            "max_tokens": max(batches),
            "few_tokens": few,
            "clocks": measured.clocks(),
            **seconds,
            "dense": dense[batch],
            "sparse": sparse,
            "speedup": dense[batch]["median_us"] / sparse["median_us"],
        }
        results.add(row)
        print(line_of(row), flush=True)
        progress.step(f"{where}: sparse, batch {batch}")


def since(before, device):
    """Device memory that was taken since."""
    return None if before is None else measured.used_bytes(device) - before


def line_of(row):
    """A row as text."""
    dense, sparse = row["dense"], row["sparse"]
    share = sparse["read_bytes"] / dense["linear_bytes"]
    text = (
        f"{row['sparsity']:.0%} batch {row['batch']}: {dense['tokens_s']:.1f} -> {sparse['tokens_s']:.1f} tokens/s "
        f"({row['speedup']:.2f}x), linear layers {dense['linear_bytes'] / 1e9:.3f} -> "
        f"{sparse['read_bytes'] / 1e9:.3f} GB ({share:.2f}x) of {sparse['linear_bytes'] / 1e9:.3f} GB"
    )
    if sparse["device_bytes"] is not None:
        text += f" (on the device {dense['device_bytes'] / 1e9:.2f} -> {sparse['device_bytes'] / 1e9:.2f} GB)"
    return text + (
        f", logits differ from float32 by {sparse['error']:.1e}, dense by {dense['error']:.1e}"
        + ("" if sparse["verified"] else ": WRONG")
    )


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--distinct", type=int, default=0, help="layers with weights of their own, which others copy")
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--intermediate", type=int, default=11008)
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--sparsity", type=float, nargs="+", default=[0.5, 0.7, 0.9])
    parser.add_argument(
        "--formats", choices=("one", "each"), default="one", help="weights packed once for all batches, or for each"
    )
    parser.add_argument(
        "--few-tokens",
        type=int,
        default=1,
        help="weights packed a second time, for batches of at most so many; 0: once",
    )
    parser.add_argument(
        "--glue",
        choices=("eager", "inductor", "aot_eager"),
        default="eager",
        help="what is between products: as PyTorch's kernels, or compiled, for both models",
    )
    parser.add_argument("--steps", type=int, default=20, help="steps of a run")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--tiny", action="store_true", help="sizes for the emulator")
    measured.add_options(parser)
    options = parser.parse_args()
    if options.tiny:
        options.layers, options.hidden, options.intermediate, options.heads = 2, 32, 48, 2
        options.vocabulary, options.context, options.batch, options.sparsity = 64, 16, [1, 2], [0.7]
        options.runs = 1
    return options


def summarise(rows):
    """A line for each batch, once all is over."""
    for batch in dict.fromkeys(row["batch"] for row in rows):
        mine = [row for row in rows if row["batch"] == batch]
        dense = statistics.median(row["dense"]["tokens_s"] for row in mine)
        parts = ", ".join(f"{row['sparsity']:.0%} {row['speedup']:.2f}x" for row in mine)
        print(f"batch {batch}: dense {dense:.0f} tokens/s; {parts}")


@torch.no_grad()
def main():
    options = parse()
    device, dtype = ("cuda" if torch.cuda.is_available() else "cpu"), torch.bfloat16
    problem = {"element": "bf16"} | {name: getattr(options, name) for name in SIZES}
    results = measured.Results("decoder", options, problem)
    name = results.whole["device"]["name"] + ("" if device == "cuda" else ", whose times say nothing")
    print(f"{options.layers} layers of {options.hidden}, {options.context} tokens of context, bf16, on {name}")
    groups = [options.batch] if options.formats == "one" else [[batch] for batch in options.batch]
    parts = len(options.sparsity) * (2 * options.layers * len(groups) + 2 * len(options.batch))
    progress = measured.Progress(parts, options.seconds)
    try:
        model = Decoder(options, device, dtype)
        if options.glue != "eager":
            model.glue = model.glue.compiled(options.glue)
        inputs = Inputs(options, device, dtype)
        for sparsity in options.sparsity:
            for batches in groups:
                measure_sparsity(sparsity, batches, model, inputs, options, device, dtype, results, progress)
                model.drop()
                vt.clear()
        results.finish()
    except measured.OutOfTime as end:
        print(f"stopped early: {end}; {len(results.whole['rows'])} rows are there")
    summarise(results.whole["rows"])
    wrong = [row for row in results.whole["rows"] if not row["sparse"]["verified"]]
    assert not wrong, f"logits are wrong in {len(wrong)} rows"


if __name__ == "__main__":
    main()
