"""What is measured, piece by piece: "Sparse GPU Kernels for Deep Learning" (SC20), and its models at other sizes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """One command, one result file. `program`: a benchmark's executable, or a model's Python file."""

    name: str
    what: str  # place in the paper, and what is measured
    program: str
    arguments: tuple[str, ...]
    smoke: tuple[str, ...]  # in place of these where it is only tried
    seconds: int  # that it takes on an H100 from a warm kernel cache

    @property
    def is_model(self):
        """Whether PyTorch runs it."""
        return self.program.endswith(".py")


_TINY = ("--effort", "heuristic", "--rounds", "7")
_LISTED = ("--effort", "cached")


def _listed(name, what, program, *arguments, seconds):
    """Over the problem list."""
    return Piece(name, what, program, (*arguments, *_LISTED), (*arguments, *_TINY, "--max-problems", "2"), seconds)


def _made(name, what, program, *arguments, seconds):
    """Over a made set, of which the first problems are shrunk to be tried."""
    smoke = (*arguments, *_TINY, "--shrink", "64", "--max-problems", "2")
    return Piece(name, what, program, (*arguments, *_LISTED), smoke, seconds)


def _model(name, what, program, *arguments, seconds):
    return Piece(name, what, program, arguments, (*arguments, "--tiny"), seconds)


PIECES = (
    _made(
        "spmm_crossover",
        "Fig. 1: from which sparsity on sparse is faster",
        "bench_spmm",
        "--set",
        "crossover",
        seconds=25,
    ),
    _made(
        "ablation_row_variation",
        "Fig. 6: rows of different lengths, with and without row swizzle",
        "bench_ablation",
        *("--set", "row_variation"),
        seconds=10,
    ),
    _listed("spmm_dlmc_f32", "Fig. 9, Table I: SpMM f32", "bench_spmm", "--dtype", "f32", seconds=150),
    _listed("spmm_dlmc_f16", "Fig. 9, Table I: SpMM, mixed precision", "bench_spmm", "--dtype", "f16", seconds=105),
    _listed("sddmm_dlmc_f32", "Fig. 9, Table I: SDDMM f32", "bench_sddmm", "--dtype", "f32", seconds=50),
    _made("spmm_rnn", "Fig. 10: SpMM of recurrent layers", "bench_spmm", "--set", "rnn", seconds=110),
    _made("sddmm_rnn", "Fig. 10: SDDMM of recurrent layers", "bench_sddmm", "--set", "rnn", seconds=125),
    _listed("ablation", "Table II: techniques of SpMM switched off", "bench_ablation", seconds=120),
    _listed(
        "ablation_sddmm",
        "Table II: techniques of SDDMM switched off",
        "bench_ablation",
        *("--operation", "sddmm"),
        seconds=100,
    ),
    # The programs' own defaults, which take ten minutes each, also have what the paper has not.
    _model(
        "transformer",
        "Section VII-C: the sparse Transformer",
        "transformer.py",
        *("--mask", "paper", "--batch", "1"),
        seconds=80,
    ),
    _model(
        "transformer_train",
        "the same: a training step",
        "transformer.py",
        *("--train", "--mask", "paper", "--batch", "1", "--numbers", "tf32", "bf16"),
        seconds=60,
    ),
    _model("mobilenet", "Section VII-D: sparse MobileNetV1", "mobilenet.py", "--batch", "1", seconds=140),
    _model(
        "recurrent",
        "Section VII: recurrent cells, weights that stay",
        "recurrent.py",
        *("--cell", "lstm", "rnn", "--states", "1024", "2048", "4096", "--sparsity", "0.9", "--element", "f32"),
        seconds=105,
    ),
)

# The models of the paper where it has no figure: --more measures these.
MORE = (
    _model(
        "transformer_masks",
        "the sparse Transformer with fewer elements, and with a window and global tokens",
        "transformer.py",
        *("--mask", "random-98", "random-99", "random-99.5", "window", "--batch", "1"),
        seconds=125,
    ),
    _model(
        "transformer_batch",
        "the sparse Transformer, eight sequences",
        "transformer.py",
        *("--mask", "paper", "--batch", "8"),
        seconds=150,
    ),
    _model(
        "transformer_train_fp32",
        "a training step of it in the other types",
        "transformer.py",
        *("--train", "--mask", "paper", "--batch", "1", "--numbers", "fp32", "f16"),
        seconds=60,
    ),
    _model(
        "mobilenet_batches",
        "sparse MobileNetV1, 8 and 64 images",
        "mobilenet.py",
        *("--batch", "8", "64"),
        seconds=240,
    ),
    _model(
        "recurrent_gru",
        "the GRU",
        "recurrent.py",
        *("--cell", "gru", "--states", "1024", "2048", "4096", "--sparsity", "0.9", "--element", "f32"),
        seconds=70,
    ),
    _model(
        "recurrent_sparsity",
        "the LSTM with 70 and 80 % zeros",
        "recurrent.py",
        *("--cell", "lstm", "--states", "1024", "2048", "4096", "--sparsity", "0.8", "0.7", "--element", "f32"),
        *("--without", "torch.sparse"),
        seconds=120,
    ),
    _model(
        "recurrent_8192",
        "cells of 8192 states",
        "recurrent.py",
        *("--states", "8192", "--sparsity", "0.9", "--element", "f32", "--without", "torch.sparse"),
        seconds=120,
    ),
    _model(
        "recurrent_f16",
        "cells in f16",
        "recurrent.py",
        *("--cell", "lstm", "rnn", "--states", "1024", "2048", "4096", "--sparsity", "0.9", "--element", "f16"),
        *("--without", "torch.sparse"),
        seconds=110,
    ),
)
