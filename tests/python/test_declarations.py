"""The ctypes declarations against the C header, which is parsed, and against the library."""

import ctypes
import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

import vostok
from vostok import _c, _structures

pycparser = pytest.importorskip("pycparser", reason="pycparser is not installed")
from pycparser import c_ast, c_parser  # noqa: E402

HEADER = Path(__file__).resolve().parents[2] / "include" / "vostok" / "vostok.h"
NUMBERS = {
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "vostok_status": ctypes.c_int32,
}


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    """The header's syntax tree, without what it includes."""
    compiler = shutil.which("c++") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to preprocess the header")
    folder = tmp_path_factory.mktemp("headers")
    for name in ("stddef.h", "stdint.h"):
        (folder / name).touch()
    command = [compiler, "-E", "-P", "-x", "c", "-D__attribute__(x)=", "-I", str(folder), str(HEADER)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [name for name in NUMBERS if name.endswith("_t")]
    return c_parser.CParser().parse("".join(f"typedef int {name};\n" for name in names) + text)


def typedefs(header):
    return {node.name: node.type for node in header.ext if isinstance(node, c_ast.Typedef)}


def structures(header):
    """Name -> fields, of those that are defined."""
    found = {}
    for name, node in typedefs(header).items():
        if isinstance(node, c_ast.TypeDecl) and isinstance(node.type, c_ast.Struct):
            found[name] = node.type.decls
    return found


def functions(header):
    declarations = (node for node in header.ext if isinstance(node, c_ast.Decl))
    return {node.name: node.type for node in declarations if isinstance(node.type, c_ast.FuncDecl)}


def ctype(node, opaque):
    """The ctypes type that is declared for a C type; all pointers to what is no number are addresses."""
    if not isinstance(node, c_ast.PtrDecl):
        name = " ".join(node.type.names)
        return None if name == "void" else NUMBERS[name]
    target = node.type
    if isinstance(target, c_ast.FuncDecl):
        parameters = [ctype(parameter.type, opaque) for parameter in target.args.params]
        return ctypes.CFUNCTYPE(ctype(target.type, opaque), *parameters)
    if isinstance(target, c_ast.PtrDecl):
        return ctypes.c_void_p
    name = " ".join(target.type.names)
    return ctypes.c_char_p if name == "char" else ctypes.c_void_p


def same(declared, found):
    """Whether a declared type passes what the header says: a pointer to a number or structure is an address."""
    if declared is found:
        return True
    is_pointer = isinstance(declared, type) and issubclass(declared, ctypes._Pointer)
    return found is ctypes.c_void_p and is_pointer


def test_every_structure_has_the_headers_fields_in_its_order(header):
    found = {name: fields for name, fields in structures(header).items() if fields is not None}
    assert set(_structures.STRUCTURES) == set(found)
    for name, fields in found.items():
        declared = _structures.STRUCTURES[name]._fields_
        assert [field[0] for field in declared] == [field.name for field in fields], name
        for (field, kind), node in zip(declared, fields):
            expected = ctype(node.type, ())
            assert kind is expected, f"{name}.{field}: {kind} and {expected}"


def test_every_function_has_the_headers_result_and_parameters(header):
    found = functions(header)
    assert {f"vostok_{name}" for name in _c.FUNCTIONS} == set(found)
    for name, node in found.items():
        result, parameters = _c.FUNCTIONS[name.removeprefix("vostok_")]
        assert same(result, ctype(node.type, ())), name
        given = [ctype(parameter.type, ()) for parameter in node.args.params] if node.args else []
        given = [kind for kind in given if kind is not None]
        assert len(parameters) == len(given), name
        for declared, expected in zip(parameters, given):
            assert same(declared, expected), f"{name}: {declared} and {expected}"


def test_a_pointer_to_a_structure_is_one_to_that_structure(header):
    for name, node in functions(header).items():
        parameters = _c.FUNCTIONS[name.removeprefix("vostok_")][1]
        for declared, parameter in zip(parameters, node.args.params if node.args else []):
            if isinstance(declared, type) and issubclass(declared, ctypes._Pointer):
                target = declared._type_
                if issubclass(target, ctypes.Structure):
                    assert target.__name__ == " ".join(parameter.type.type.type.names), name


def constants(header):
    """Every enumerator."""
    found = {}
    for node in header.ext:
        kind = node.type if isinstance(node, c_ast.Decl) else None
        if isinstance(kind, c_ast.Enum):
            for entry in kind.values.enumerators:
                found[entry.name] = int(entry.value.value) if isinstance(entry.value, c_ast.Constant) else -1
    return found


def test_every_constant_is_the_headers(header):
    declared = {"VOSTOK_DTYPE_DEFAULT": _c.DTYPE_DEFAULT}
    for enumeration, names in _c.ENUMERATIONS.items():
        declared |= {f"VOSTOK_{enumeration}_{name}".upper(): number for number, name in enumerate(names)}
    declared |= {f"VOSTOK_{name}".upper(): number for number, name in enumerate(_c.STATUSES)}
    assert constants(header) == declared
    text = HEADER.read_text()
    assert f"#define VOSTOK_ABI_VERSION {_c.ABI_VERSION}\n" in text
    assert f"#define VOSTOK_STREAM_LEGACY ((void*){_c.STREAM_LEGACY:#x})\n" in text
    assert f"#define VOSTOK_STREAM_PER_THREAD ((void*){_c.STREAM_PER_THREAD:#x})\n" in text


def test_the_library_names_every_constant_alike():
    for number, name in enumerate(_c.STATUSES):
        assert _c.text(_c.library.vostok_status_name(number)) == name
    assert _c.library.vostok_status_name(len(_c.STATUSES)) is None
    for enumeration, names in _c.ENUMERATIONS.items():
        found = [_c.text(_c.library.vostok_enum_name(enumeration.encode(), number)) for number in range(len(names))]
        assert found == list(names)
        assert _c.library.vostok_enum_name(enumeration.encode(), len(names)) is None, enumeration


PROBLEMS = (
    vostok.Spmm,
    vostok.Sddmm,
    vostok.Softmax,
    vostok.SoftmaxBackward,
    vostok.SparseAttention,
    vostok.DepthwiseConvolution,
    vostok.BiasActivation,
    vostok.Im2col,
)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_problem_has_the_fields_and_the_defaults_of_its_structure(problem):
    from vostok._problems import problem_structure

    structure = _structures.STRUCTURES["vostok_" + problem.operation]
    defaults = structure()
    getattr(_c.library, f"vostok_{problem.operation}_init")(ctypes.byref(defaults), ctypes.sizeof(defaults))
    made = problem_structure(problem())
    internal = {"size", "reserved", "n_value_count"}
    assert {name for name, _ in structure._fields_} - internal == {field.name for field in dataclasses.fields(problem)}
    for name, _ in structure._fields_:
        assert getattr(made, name) == getattr(defaults, name), name


def test_what_executes_packs_bytes_as_the_structures_are(context):
    from vostok._plans import _packer

    for name, structure in _structures.STRUCTURES.items():
        if name.endswith("_arguments"):
            size, pack = _packer(structure)
            values = [size, *range(1, len(structure._fields_))]
            found = structure.from_buffer_copy(pack(*values))
            assert [getattr(found, field) for field, _ in structure._fields_] == values
