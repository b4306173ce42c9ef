"""Runs a function of a test in several processes that form a group: gloo on the CPU, NCCL on GPUs."""

import os
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def _main(rank, size, store, backend, function, failures):
    try:
        torch.manual_seed(1)
        torch.set_num_threads(1)
        if backend == "nccl":
            torch.cuda.set_device(rank)
        dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=size)
        function(rank, size, "cuda" if backend == "nccl" else "cpu")
        dist.barrier()
        dist.destroy_process_group()
        sys.stdout.flush()
        os._exit(0)  # threads of gloo that let tensors go while the interpreter ends would abort the process
    except BaseException:
        failures.put(f"rank {rank}: {traceback.format_exc()}")
        os._exit(1)


def run_ranks(function, size=2, backend="gloo"):
    """Raises with what failed in any of them."""
    context = multiprocessing.get_context("spawn")
    failures = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        arguments = (size, os.path.join(folder, "store"), backend, function, failures)
        processes = [context.Process(target=_main, args=(rank, *arguments)) for rank in range(size)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(300)
        stuck = [process for process in processes if process.is_alive()]
        for process in stuck:
            process.kill()
        texts = []
        while not failures.empty():
            texts.append(failures.get())
        assert not texts, "\n".join(texts)
        assert not stuck and all(process.exitcode == 0 for process in processes)
