"""Threads, forks, signals, collected handles and the interpreter's end, most of them in processes of their own."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np

import vostok
from harness import assert_close, csr, numbers, sparse

START = """
import gc, os, signal, sys, threading, time
import numpy as np
import vostok
context = vostok.Context("emulator", log=lambda level, line: None)
w = np.random.default_rng(1).standard_normal((16, 24)).astype(np.float32)
x = np.ones((24, 4), np.float32)
a = vostok.csr(w, threshold=0.5, context=context)
y = a @ x
"""


def run(script, timeout=120, silent=True, **options):
    """A Python process: its output, where it ends well and, if it is to be silent, says nothing on stderr."""
    # Python 3.12 and later warn of forks where there are threads, and these tests mean to fork.
    quiet = "ignore:This process (pid=:DeprecationWarning"
    code = textwrap.dedent(START) + textwrap.dedent(script)
    command = [sys.executable, "-X", "faulthandler", "-W", quiet, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    assert (done.returncode, done.stderr if silent else "") == (0, ""), done.stderr
    return done.stdout


def test_threads_share_a_plan_and_a_matrix(context, rng):
    parts = sparse(rng, 32, 32)
    a = csr(context, parts)
    inputs = [numbers(rng, (32, 8)) for _ in range(8)]
    failures = []

    def work(x):
        try:
            for _ in range(20):
                assert_close(a @ x, parts[1] @ x)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_handles_are_given_back_when_the_last_reference_goes(context, rng):
    held = []
    released = threading.Event()

    class Pool:
        def allocate(self, size):
            memory = np.empty(size + 256, np.uint8)
            held.append(memory)
            return memory.ctypes.data + -memory.ctypes.data % 256

        def release(self, address):
            released.set()

    mine = vostok.Context("emulator", allocator=Pool(), log=lambda level, line: None)
    a = csr(mine, sparse(rng, 16, 16))
    topology = weakref.ref(a.topology)
    del a
    gc.collect()
    assert topology() is None and released.is_set() and held


def test_objects_live_as_long_as_what_needs_them():
    assert (
        run("""
    plan = context.plan(vostok.Spmm(n=4), a.topology)
    values, out = a.values, np.full((16, 4), np.nan, np.float32)
    del a, context
    gc.collect()
    plan.execute(0, values=values.ctypes.data, dense=x.ctypes.data, output=out.ctypes.data)
    assert np.array_equal(out, y)
    print("right")
    """)
        == "right\n"
    )


def test_the_interpreter_ends_with_live_plans_threads_and_arrays():
    assert (
        run("""
    plans = [context.plan(vostok.Spmm(n=n), a.topology) for n in (1, 2, 3)]
    array = context.array(x)
    array.stream = 1
    sys.modules["kept"] = plans
    cycle = [plans, array]
    cycle.append(cycle)
    packed = a.pack(4)
    def work():
        while True:
            a @ x
    threading.Thread(target=work, daemon=True).start()
    print("ends")
    """)
        == "ends\n"
    )


def test_objects_of_before_a_fork_are_refused_in_the_child_and_go_on_in_the_parent():
    assert (
        run("""
    plan = context.plan(vostok.Spmm(n=4), a.topology)
    out = np.full((16, 4), np.nan, np.float32)
    def execute():
        plan.execute(0, values=a.values.ctypes.data, dense=x.ctypes.data, output=out.ctypes.data)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            calls = (execute, lambda: a @ x, lambda: context.plan(vostok.Spmm(n=8), a.topology),
                     lambda: vostok.csr(w, context=context), lambda: context.array(x), lambda: context.reload())
            for call in calls:
                try:
                    call()
                except vostok.AfterFork as error:
                    assert error.code == "after_fork" and isinstance(error, RuntimeError)
                else:
                    raise AssertionError(call)
            assert np.isnan(out).all()
            fresh = vostok.Context("emulator", log=lambda level, line: None)
            assert np.array_equal(vostok.csr(w, threshold=0.5, context=fresh) @ x, y)
            del plan, a, context, fresh
            gc.collect()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    execute()
    assert np.array_equal(out, y)
    print("right")
    """)
        == "right\n"
    )


def test_a_child_of_fork_has_a_default_context_of_its_own():
    # No driver, wherever there is one: it would be in the state that fork leaves it in, and the emulator is meant.
    environment = {**os.environ, "VOSTOK_LIBCUDA": "/nowhere/libcuda.so.1"}
    assert (
        run(
            """
    first = vostok.default_context()
    assert first.device.architecture == "emulator"
    vostok.csr(w, threshold=0.5) @ x
    child = os.fork()
    if child == 0:
        assert vostok.default_context() is not first
        found = vostok.csr(w, threshold=0.5) @ x
        assert np.array_equal(found, y), (vostok.default_context(), abs(found - y).max())
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    print("right")
    """,
            silent=False,  # the library tells that the emulator runs
            env=environment,
        )
        == "right\n"
    )


def test_processes_that_share_a_cache_folder_all_compute_right(tmp_path):
    script = textwrap.dedent(START) + textwrap.dedent("""
    for n in (1, 3, 8, 17):
        b = np.random.default_rng(n).standard_normal((24, n)).astype(np.float32)
        assert np.allclose(a @ b, np.where(abs(w) > 0.5, w, 0) @ b, atol=1e-5)
    print("right")
    """)
    environment = own_cache(tmp_path / "cache")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(2)
    ]
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out, err) == (0, "right\n", "")
    counters = vostok.Context("emulator", cache=tmp_path / "cache", log=lambda level, line: None)
    a = vostok.csr(np.eye(4, dtype=np.float32), context=counters)
    assert np.array_equal(a @ np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32))


def own_cache(folder):
    """Variables that name a cache folder: nothing was measured before."""
    return {**os.environ, "VOSTOK_CACHE_DIR": str(folder)}


def test_ctrl_c_while_kernels_are_measured_keeps_what_was_and_is_raised(tmp_path):
    assert (
        run(
            """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background process ignores it
    lines = []
    def progress(line):
        lines.append(line)
        if len(lines) == 2:
            os.kill(os.getpid(), signal.SIGINT)
    began = time.monotonic()
    try:
        context.plan(vostok.Spmm(n=16), a.topology, effort="full", budget_seconds=600, progress=progress)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - began < 300)
    assert context.counters().trials_measured > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    plan = context.plan(vostok.Spmm(n=16), a.topology)
    assert plan.provenance == "tuned_here", plan.provenance
    """,
            timeout=600,
            env=own_cache(tmp_path),
        )
        == "interrupted True\n"
    )


def test_exceptions_of_callbacks_are_raised_by_the_call(tmp_path):
    assert (
        run(
            """
    def progress(line):
        raise LookupError("of the user's")
    try:
        context.plan(vostok.Spmm(n=16), a.topology, effort="quick", budget_seconds=60, progress=progress)
    except LookupError as error:
        print(error)
    """,
            timeout=600,
            env=own_cache(tmp_path),
        )
        == "of the user's\n"
    )


def test_tuning_ends_when_it_is_asked_to(tmp_path, rng):
    asked = []
    context = vostok.Context("emulator", cache=tmp_path, log=lambda level, line: None)
    plan = context.plan(vostok.Spmm(n=8), csr(context, sparse(rng, 16, 16)).topology, effort="quick",
                        stop=lambda: asked.append(1) or len(asked) > 1)  # fmt: skip
    assert asked and plan.family


def test_tuning_of_several_problems_tells_what_became_of_each(tmp_path, rng, capsys):
    context = vostok.Context("emulator", cache=tmp_path, first_run="this_process", log=lambda level, line: None)
    mask = csr(context, sparse(rng, 16, 16)).topology
    lines = []
    problems = [(vostok.Spmm(n=4), mask), (vostok.Spmm(n=-1), mask), (vostok.Softmax(), mask)]
    found = vostok.tuning.tune(problems, effort="quick", seconds=20, progress=lines.append, context=context)
    assert [result.error is None for result in found] == [True, False, True]
    assert found[0].provenance == "tuned_here" and found[0].family and found[0].seconds > 0
    assert lines and "-1" in str(found[1].error)
    again = vostok.Context("emulator", cache=tmp_path, log=lambda level, line: None)
    mask = again.topology(*mask.read(), mask.shape)
    assert again.plan(vostok.Spmm(n=4), mask).provenance == "tuned_here"


def test_progress_is_a_bar_on_a_terminal():
    import io

    from vostok._planning import ProgressLine

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        line = ProgressLine(2, stream)
        line("a candidate " * 40)
        line.finish("Spmm: row_tile")
    assert pipe.getvalue() == "[##########..........] 1/2 Spmm: row_tile\n"
    assert terminal.getvalue().count("\r\x1b[2K") == 2 and "\n" not in terminal.getvalue()[:-1]
