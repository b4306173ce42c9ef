"""The tests of vostok.torch run on a GPU where there is one that torch can use, else on the CPU, over the emulator."""

import os
import secrets

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="torch 2.10 or later is not installed")


@pytest.fixture(scope="session")
def device():
    return "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(scope="session")
def gpu():
    """Tests that ask for it need a GPU."""
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU that torch can use")
    return "cuda"


@pytest.fixture(autouse=True)
def seed():
    """A printed seed, which VOSTOK_TEST_SEED can set."""
    chosen = int(os.environ.get("VOSTOK_TEST_SEED") or secrets.randbits(31))
    print("seed", chosen)
    torch.manual_seed(chosen)
    return chosen


@pytest.fixture(autouse=True)
def poison():
    """Memory that is not initialised holds NaN or the largest integer."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def fresh():
    """A look-up without entries; counts misses from here on."""
    import vostok.torch as vt
    from vostok.torch._lookup import LOOKUP

    vt.clear()
    start = LOOKUP.misses

    class Fresh:
        @property
        def misses(self):
            return LOOKUP.misses - start

        lookup = LOOKUP

    return Fresh()
