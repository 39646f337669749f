"""The house rules: who may import whom, what stays unloaded, what every verb's help must show."""

import ast
import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import dancematch
from dancematch.cli import VERBS

ROOT = Path(dancematch.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ROWS = (
    {"__main__"},
    {"cli"},
    {"server"},
    {"evaluation"},
    {"cluster", "training", "benchmark"},
    {"synthetic"},
    {"report"},
    {"pipeline"},
    {"pose", "model", "search", "catalogue"},
    {"formats", "directions"},
    {"motion"},
    {"skeletons"},
    {"tracks"},
    {"types"},
    {"errors", "cache_folder", "temporary_folder", "control_characters"},
)
ROW_OF = {unit: number for number, row in enumerate(ROWS) for unit in row}

# library -> the places (files or rooms) that may import it
HOMES = {
    "torch": ("model/network.py", "model/quantiser.py", "training/", "formats/motion_capture/comotion.py"),
    "onnx": ("training/network/onnx_graph.py",),
    "onnxruntime": ("model/runtime.py",),
    "av": (
        "pose/video.py",
        "pose/live_video.py",
        "pose/picture.py",
        "pose/references.py",
        "pipeline/counts/sound.py",
        "synthetic/rendering/renderer.py",
        "evaluation/medley/video_programmes.py",
    ),
    "cv2": ("pose/", "synthetic/"),
    "ai_edge_litert": ("pose/",),
    "click": ("cli/",),
    "tqdm": ("cli/",),
    "numba": ("search/kernels/",),
    "sqlalchemy": ("catalogue/",),
    "psycopg": ("catalogue/sql/postgresql.py",),
    "rapidfuzz": ("benchmark/labels.py", "evaluation/measures/word_quality.py"),
    "jinja2": ("report/page.py",),
    "matplotlib": (
        "report/plots.py",
        "report/scan_plot.py",
        "report/diff_plot.py",
        "report/lineage_plot.py",
        "training/run/curves.py",
    ),
    "fastapi": ("server/",),
    "pydantic": ("server/",),
    "starlette": ("server/",),
    "prometheus_client": ("server/metrics.py", "server/routes/about.py"),
    "uvicorn": ("server/app.py", "server/access/connections.py"),
    "ray": ("cluster/",),
    "pandas": ("pipeline/", "report/compare.py"),
    "pyarrow": ("pipeline/",),
}
HEAVY = ("torch", "onnxruntime", "av", "cv2", "ai_edge_litert", "numba", "scipy", "sqlalchemy", "ray")
PATIENCE = 5  # processes that import numpy


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def unit_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """The full name of each thing that a file imports, wherever in it that stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def breaks_the_rows(importer: str, imported: str) -> bool:
    return importer not in ("__init__", imported) and ROW_OF[imported] <= ROW_OF[importer]


def test_rows_are_judged_rightly():
    """The rule itself: downwards is allowed, upwards and sideways is not, within a room everything is."""
    assert not breaks_the_rows("cli", "pipeline")
    assert not breaks_the_rows("pose", "pose")
    assert breaks_the_rows("pipeline", "cli")
    assert breaks_the_rows("pose", "model")
    assert breaks_the_rows("formats", "directions")


def test_imports_go_down():
    """A unit imports lower rows and itself only, and never the package's front door."""
    every = [(path, name.split(".")) for path in FILES for name in imports(path)]
    own = [(path, name) for path, name in every if name[0] == "dancematch"]
    wrong = [
        f"{where(path)} imports {'.'.join(name)}"
        for path, name in own
        if len(name) < 2 or name[1] not in ROW_OF or breaks_the_rows(unit_of(path), name[1])
    ]

    assert set() == {unit_of(path) for path in FILES} - {"__init__"} - set(ROW_OF)
    assert [] == wrong


def test_libraries_stay_at_home():
    away = [
        f"{where(path)} imports {name}"
        for path in FILES
        for name in imports(path)
        if (homes := HOMES.get(name.split(".")[0])) and not where(path).startswith(homes)
    ]

    assert [] == away


def test_files_are_read_without_torch_unless_they_need_it():
    """The one format that needs torch imports it inside a function."""
    tree = ast.parse((ROOT / "formats/motion_capture/comotion.py").read_text(encoding="utf-8"))
    at_the_top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]

    assert "torch" not in " ".join(map(ast.unparse, at_the_top))
    assert "import torch" in ast.unparse(tree)


def test_nothing_is_left_for_later():
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

    assert [] == [where(path) for path in FILES if marks.search(path.read_text(encoding="utf-8"))]


def test_every_file_says_what_it_is_for():
    assert [] == [
        where(path) for path in FILES if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]


def loaded_after(code: str) -> tuple[str, list[str]]:
    """What a fresh interpreter prints on running `code`, and the heavy libraries it holds then."""
    report = f"\nimport sys\nprint('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    printed, _, loaded = done.stdout.rpartition("LOADED")
    return printed, loaded.split()


# The command line is imported once; for each verb a fork of that process shows its help.
ALL_HELP = """
import contextlib, io, json, os, sys
from dancematch.cli import dancematch
for verb in {verbs!r}:
    if not os.fork():
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            dancematch([*verb.split(), "--help"], standalone_mode=False)
        loaded = [name for name in {heavy!r} if name in sys.modules]
        print(json.dumps([verb, shown.getvalue(), loaded]), flush=True)
        os._exit(0)
    assert 0 == os.wait()[1], verb
"""


@cache
def all_help() -> dict[str, tuple[str, list[str]]]:
    """What each verb's help shows, and the heavy libraries that are loaded then."""
    code = ALL_HELP.format(verbs=["", *VERBS], heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {verb: (shown, loaded) for verb, shown, loaded in map(json.loads, done.stdout.splitlines())}


def test_importing_the_package_loads_nothing_heavy():
    assert [] == loaded_after("import dancematch")[1]
    assert ["sqlalchemy"] == loaded_after("import dancematch\ndancematch.open_catalogue")[1]  # it shows


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_loads_nothing_heavy_and_has_an_example(verb):
    shown, loaded = all_help()[verb]

    assert [] == loaded
    assert f"dancematch {verb}".strip() in shown.partition("Example:")[2]


def test_the_list_of_verbs_says_what_each_does():
    """The group's own table is written by hand so that it needs no import: nothing may be missing."""
    shown = re.sub(r"\s+", " ", all_help()[""][0])

    assert [] == [verb for verb, (_, summary) in VERBS.items() if f"{verb} {summary}" not in shown]


@pytest.mark.parametrize(
    "command",
    [[sys.executable, "-c", "import dancematch"], [str(Path(sys.executable).with_name("dancematch")), "-h"]],
    ids=["import", "help"],
)
def test_the_front_door_opens_at_once(command):
    """Processor time, over that of a process that imports numpy, in turn: a busy machine delays both."""
    pairs = [(_seconds(command), _seconds([sys.executable, "-c", "import numpy"])) for _ in range(3)]

    assert min(own for own, _ in pairs) < PATIENCE * min(peer for _, peer in pairs)


def _seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_public_names_are_all_there():
    """`__all__` is sorted, complete, and every name in it can be had."""
    here = {
        name
        for name, value in vars(dancematch).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("dancematch.")
    }

    assert sorted(dancematch.__all__) == dancematch.__all__
    assert set(dancematch.__all__) <= set(dir(dancematch))
    assert set(dancematch.__all__) == here | set(dancematch._LAZY)
    assert all(getattr(dancematch, name) is not None for name in dancematch.__all__)


def test_lazy_names_are_what_the_type_checker_is_told():
    """The table and the imports under TYPE_CHECKING name the same things."""
    guard = next(
        node
        for node in ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8")).body
        if isinstance(node, ast.If)
    )
    told = {
        alias.asname or alias.name: (node.module, alias.name) for node in guard.body for alias in node.names
    }

    assert told == dancematch._LAZY


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'moonwalk'"):
        dancematch.moonwalk  # noqa: B018  (the looking-up is the test)
