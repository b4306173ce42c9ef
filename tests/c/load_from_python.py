"""Uses the shared library from another language: plain ctypes, no compiler and no package.

load_from_python.py LIBRARY: SpMM with a bias on the emulator, as packed values too, and an error. Structures are declared by hand, shorter
than the header's where fields at their ends are of no interest: an older program's.
"""

import array
import ctypes
import sys

int32, int64, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": [("size", ctypes.c_uint32), *fields]})


def fields(kind, *names):
    return [(name, kind) for name in names]


# The first fields of vostok_options only.
Options = structure("Options", *fields(int32, "allow_emulator"), *fields(ctypes.c_char_p, "device"))
Csr = structure(
    "Csr",
    *fields(int32, "row_offset_bytes", "column_index_bytes", "reserved"),
    *fields(int64, "rows", "cols"),
    *fields(pointer, "row_offsets", "column_indices"),
    *fields(int64, "nonzeros"),
)
Spmm = structure(
    "Spmm",
    *fields(int32, "element"),
    *fields(int64, "n"),
    *fields(pointer, "n_values"),
    *fields(int64, "n_value_count", "batch"),
    *fields(int32, "values_per_batch", "output", "index", "sparse_transposed", "dense_layout", "output_layout"),
    *fields(int64, "dense_leading", "output_leading", "value_stride", "dense_stride", "output_stride"),
    *fields(int32, "alignment_bytes", "math", "deterministic", "nonfinite", "value_lifetime", "bias"),
)
Arguments = structure(
    "Arguments",
    *fields(ctypes.c_float, "scale"),
    *fields(pointer, "values", "packed", "dense", "output", "bias", "residual", "device_scale", "workspace"),
)


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name in ("version", "last_error", "plan_family", "packed_format", "status_name"):
            getattr(self.c, f"vostok_{name}").restype = ctypes.c_char_p
        for name in ("array_data", "bytes_data"):
            getattr(self.c, f"vostok_{name}").restype = pointer
        self.c.vostok_bytes_size.restype = ctypes.c_size_t
        self.c.vostok_plan_workspace_bytes.restype = int64

    def call(self, name, *arguments):
        status = getattr(self.c, f"vostok_{name}")(*arguments)
        if status != 0:
            raise RuntimeError(f"{self.c.vostok_status_name(status).decode()}: {self.c.vostok_last_error().decode()}")

    def make(self, name, *arguments):
        handle = pointer()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def initial(self, kind, name, **values):
        made = kind()
        getattr(self.c, f"vostok_{name}_init")(ctypes.byref(made), ctypes.c_size_t(ctypes.sizeof(made)))
        assert made.size == ctypes.sizeof(kind)
        for field, value in values.items():
            setattr(made, field, value)
        return made


class Memory:
    """An array in device memory."""

    def __init__(self, library, context, values):
        self.library, self.context, self.values = library, context, values
        self.bytes = int64(len(values) * values.itemsize)
        self.handle = library.make("array_create", context, self.bytes)
        self.data = pointer(library.c.vostok_array_data(self.handle))
        library.call("copy_to_device", context, self.data, pointer(values.buffer_info()[0]), self.bytes, None)

    def read(self):
        self.library.call("copy_to_host", self.context, pointer(self.values.buffer_info()[0]), self.data, self.bytes, None)
        return list(self.values)

    def release(self):
        self.library.c.vostok_array_release(self.handle)


def main(path):
    library = Library(path)
    print("vostok", library.c.vostok_version().decode())
    options = library.initial(Options, "options", device=b"emulator")
    context = library.make("context_create", ctypes.byref(options))

    # [[1, 0, 2], [0, 3, 0]] times [[1, 2], [3, 4], [5, 6]], plus a bias for each row.
    offsets, columns = array.array("i", [0, 2, 3]), array.array("q", [0, 2, 1])
    csr = library.initial(
        Csr, "csr", rows=2, cols=3, column_index_bytes=8, row_offsets=offsets.buffer_info()[0], column_indices=columns.buffer_info()[0]
    )
    topology = library.make("topology_create", context, ctypes.byref(csr), None)
    memory = {
        name: Memory(library, context, array.array("f", values))
        for name, values in {"values": [1, 2, 3], "dense": [1, 2, 3, 4, 5, 6], "output": [0] * 4, "bias": [10, 20]}.items()
    }
    expected = [1 + 10 + 10, 2 + 12 + 10, 9 + 20, 12 + 20]

    def product(persistent):
        problem = library.initial(Spmm, "spmm", n=2, bias=1, value_lifetime=persistent)
        plan = library.make("plan_spmm", context, topology, ctypes.byref(problem), None)
        assert library.c.vostok_plan_family(plan)
        given = {name: one.data for name, one in memory.items()}
        arguments = library.initial(Arguments, "spmm_arguments", **given)
        packed = None
        if persistent:
            packed = library.make("plan_pack", plan, None, memory["values"].data)
            print("packed as", library.c.vostok_packed_format(packed).decode())
            saved = library.make("packed_save", packed)
            library.c.vostok_packed_release(packed)
            data, size = library.c.vostok_bytes_data(saved), ctypes.c_size_t(library.c.vostok_bytes_size(saved))
            packed = library.make("packed_load", context, topology, pointer(data), size)
            library.c.vostok_bytes_release(saved)
            arguments.values, arguments.packed = None, packed
        assert library.c.vostok_plan_workspace_bytes(plan) == 0
        library.call("execute_spmm", plan, None, ctypes.byref(arguments))
        result = memory["output"].read()
        library.c.vostok_packed_release(packed)
        library.c.vostok_plan_release(plan)
        return result

    for persistent in (0, 1):
        result = product(persistent)
        assert result == expected, (persistent, result)

    wrong = library.initial(Spmm, "spmm", n=-1)
    try:
        library.make("plan_spmm", context, topology, ctypes.byref(wrong), None)
        raise AssertionError("a negative n was planned")
    except RuntimeError as error:
        assert str(error).startswith("invalid_argument: cannot plan SpMM: n = -1"), error

    # Releasing the context first is legal: what was made from it keeps it.
    library.c.vostok_context_release(context)
    for one in memory.values():
        one.release()
    library.c.vostok_topology_release(topology)
    print("ok")


main(sys.argv[1])
