"""The wheel as users install it, offline; the container's files, and their commands without a container."""

import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import tomllib
import zipfile
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import yaml
from dockerfile_parse import DockerfileParser

from dance_samples import write_dance
from dancematch.server.options import Options

ROOT = Path(__file__).parents[2]
# Refuses every connection but those to this machine, in each process of the environment that has OFFLINE set.
GUARD = """
import os, socket
if os.environ.get("OFFLINE"):
    connect = socket.socket.connect
    def guarded(self, address):
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"offline: {address}")
        return connect(self, address)
    socket.socket.connect = guarded
"""
# Two commands in one process, which has to load the libraries only once.
LEARN_AND_SEARCH = """
import sys
from dancematch.cli import dancematch
for command in (["add", "dances.db", *sys.argv[1:]], ["search", "dances.db", sys.argv[-1], "--json"]):
    dancematch(command, standalone_mode=False)
"""


class Environment:
    """A virtual environment that has the wheel, and the libraries of the one that runs the tests."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.bin, self.home = folder / "bin", folder.parent
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        run_pip("--python", self.bin / "python", "install", "--no-deps", "--no-index", "--no-compile", wheel)
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        (packages / "sitecustomize.py").write_text(GUARD)

    @property
    def variables(self) -> dict[str, str]:
        """What a process of it sees: nothing of the sources that are tested elsewhere."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**inherited, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "OFFLINE": "1"}

    def run(self, *command: object, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in a folder without sources."""
        return subprocess.run(
            list(map(str, command)), cwd=self.home, env={**self.variables, **variables}, text=True,
            capture_output=True, timeout=300, check=False,
        )  # fmt: skip


def run_pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


@pytest.fixture(scope="module")
def dockerfile():
    parser = DockerfileParser(fileobj=io.BytesIO((ROOT / "Dockerfile").read_bytes()))
    return [(one["instruction"], one["value"]) for one in parser.structure if one["instruction"] != "COMMENT"]


@pytest.fixture(scope="module")
def service():
    """The one service of compose.yaml."""
    (found,) = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    return found


@pytest.fixture(scope="module")
def wheel(dockerfile, tmp_path_factory):
    """Built from the files that the Dockerfile copies, and from nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    for *names, target in (shlex.split(value) for name, value in dockerfile if name == "COPY"):
        place = folder / target.lstrip("/")
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, place)
    run_pip("wheel", "--no-deps", "--wheel-dir", folder / "made", folder / "source")
    (made,) = (folder / "made").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("installed") / "venv", wheel)


# The wheel


def test_the_wheel_holds_every_file_of_the_package(wheel):
    """Templates, page, models and signatures too; nothing else but what describes it."""
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert {path.relative_to(ROOT / "src").as_posix() for path in files} == held


def test_the_installed_program_learns_and_recognises_offline(environment):
    clips = [write_dance(environment.home / "clips" / f"{name}.npz", seed) for seed, name in enumerate("ab")]
    version = environment.run("dancematch", "--version")
    found = environment.run("python", "-c", LEARN_AND_SEARCH, *clips)
    online = environment.run("python", "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 1)")

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"dancematch, version {project['version']}\n" == version.stdout, version.stderr
    assert 0 == found.returncode, found.stderr
    answer = json.loads(found.stdout.splitlines()[-1])
    assert ("match", "b") == (answer["verdict"], answer["dancers"][0]["candidates"][0]["dance"])
    assert "offline: ('192.0.2.1', 80)" in online.stderr


# The container


def test_the_dockerfile_is_well_formed(dockerfile):
    """Its base has a version that the project runs on; it serves as a user without rights, by exec forms."""
    one = {name: value for name, value in dockerfile if name not in ("RUN", "COPY")}
    names = [name for name, _ in dockerfile]
    command = json.loads(one["ENTRYPOINT"]) + json.loads(one["CMD"])
    version = re.fullmatch(r"python:3\.(\d+)-slim", one["FROM"])

    assert {"FROM", "RUN", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"} == set(names)
    assert ("FROM", 1) == (names[0], names.count("FROM"))
    assert int(version[1]) >= 11
    assert "1000" == one["USER"]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert str(Options(catalogue="x").port) == one["EXPOSE"]
    assert [one["VOLUME"]] * 2 == [str(Path(value).parent) for value in command if value.startswith("/")]


def test_what_the_dockerfile_copies_is_there_and_all_else_is_left_out(dockerfile):
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = {name for kind, value in dockerfile if kind == "COPY" for name in shlex.split(value)[:-1]}

    assert "*" in ignored
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    assert [] == [name for name in copied if not (ROOT / name).exists()]


def test_the_commands_of_the_dockerfile_run(dockerfile, environment):
    """Those that use the program as they are; of the others, that they are the ones that are known."""
    commands = [value for name, value in dockerfile if name == "RUN"]
    ours = [value for value in commands if re.match("(python|dancematch) ", value)]
    done = [environment.run("sh", "-c", value, OFFLINE="") for value in ours]

    expected = [
        "useradd --create-home --uid 1000 dancematch",
        "pip install --no-cache-dir '/source[serve]'",
        'mkdir "$DANCEMATCH_CACHE" /data && chown dancematch "$DANCEMATCH_CACHE" /data',
    ]
    assert expected == [value for value in commands if value not in ours]
    assert [0, 0] == [one.returncode for one in done], [one.stderr for one in done]


def test_the_container_serves_and_is_healthy(dockerfile, service, environment, tmp_path):
    """Its command, on a folder and port of this test's own, answers the check of compose.yaml."""
    one = dict(dockerfile)
    (tmp_path / "tokens.txt").write_text("write 0123456789abcdef-token\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = json.loads(one["ENTRYPOINT"]) + json.loads(one["CMD"]) + ["--port", str(port)]
    command = [value.replace(one["VOLUME"], str(tmp_path)) for value in command]
    kind, *check = service["healthcheck"]["test"]
    check = [value.replace(one["EXPOSE"], str(port)) for value in check]
    before = environment.run(*check)
    running = subprocess.Popen(
        [environment.bin / command[0], *command[1:]],
        env=environment.variables, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        started = next(line for line in iter(running.stderr.readline, "") if " serves " in line)
        wait_until_ready(f"http://127.0.0.1:{port}/health")
        after = environment.run(*check)
    finally:
        running.terminate()
        running.stderr.close()
        stopped = running.wait(timeout=60)

    assert f"dancematch serves {tmp_path / 'dances.db'} at http://0.0.0.0:{port} " in started
    assert "CMD" == kind
    assert "Connection refused" in before.stderr
    assert (0, 0) == (after.returncode, stopped), after.stderr


def wait_until_ready(address: str, seconds: float = 60) -> None:
    """Wait until a service has loaded its catalogue: before, it answers 503."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(HTTPError):
            urlopen(address).close()  # noqa: S310  (this machine's)
            return
        time.sleep(0.1)


def test_compose_says_what_the_dockerfile_says(dockerfile, service):
    """Ports, folders and the one user of the image; all that is written lies in volumes."""
    one = dict(dockerfile)
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    mounted = dict(reversed(value.split(":")) for value in service["volumes"])
    cache = one["ENV"].removeprefix("DANCEMATCH_CACHE=")

    known = {"build", "ports", "volumes", "read_only", "tmpfs", "cap_drop", "security_opt", "restart"}
    assert known | {"stop_grace_period", "healthcheck"} == set(service)
    assert (".", True, ["/tmp"]) == (service["build"], service["read_only"], service["tmpfs"])  # noqa: S108
    assert [f"127.0.0.1:{one['EXPOSE']}:{one['EXPOSE']}"] == service["ports"]
    assert {one["VOLUME"], cache} == set(mounted)
    assert {name for name in mounted.values() if "/" not in name} == set(compose["volumes"])
    assert {"services", "volumes"} == set(compose)
