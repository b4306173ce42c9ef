"""Makes two AOTInductor packages, loads one, drops it, loads the other, and checks both. In a process of its own: what
ends badly in torch's loader ends the process.

    python aoti_packages.py FOLDER DEVICE sparse|dense
"""

import faulthandler
import sys
from pathlib import Path

import torch
from cases import assert_close, layer


def main(folder, device, kind):
    faulthandler.enable()
    torch.manual_seed(1)
    x = torch.randn(4, 24, device=device)
    paths, expected = [], []
    for number in range(2):
        sparse, dense = layer(16, 24, device=device)
        model = (sparse if kind == "sparse" else dense).eval()
        paths.append(str(Path(folder) / f"model{number}.pt2"))
        torch._inductor.aoti_compile_and_package(torch.export.export(model, (x,)), package_path=paths[-1])
        expected.append(model(x))
    for number, (path, y) in enumerate(zip(paths, expected)):
        print("loads", number, flush=True)
        loaded = torch._inductor.aoti_load_package(path)
        assert_close(loaded(x), y.double())
        del loaded
    print("right")


if __name__ == "__main__":
    main(*sys.argv[1:])
