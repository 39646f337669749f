import gc
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dancematch.search.kernels.kernel_folder import FOLDER_VARIABLE, kernel_folder
from databases import BINARIES, Server, share_compiled_statements
from shared_models import share_shipped_models

# Tests that name a cache folder of their own use the compiled kernels of all others; so do their processes.
os.environ.setdefault(FOLDER_VARIABLE, str(kernel_folder().parent))

# A busy machine is no reason to fail: what is slow is seen in the durations.
settings.register_profile(
    "dancematch",
    deadline=None,
    derandomize="CI" in os.environ,  # a failure there is one of the change, not of the day
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dancematch")

share_compiled_statements()
share_shipped_models()

# The shell is the same engine without a browser's window around it: a page costs a tenth.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)

# Without a sandbox, which needs rights, and in few processes: to start one for each visit costs more than
# most visits do.
BROWSER_OPTIONS = ("--no-sandbox", "--disable-gpu", "--in-process-gpu", "--renderer-process-limit=1")

# Files that share a server: they run in one process.
STUDIO = tuple(f"page/test_page_{name}.py" for name in ("adding", "answer", "editing", "reviews"))
# Files whose tests take longest in all, in this order: what begins last should end soon.
LONGEST = (
    "cluster/test_cluster_ray.py",
    *STUDIO,
    "page/test_page.py",
    "project/test_packaging.py",
    "synthetic/test_demo.py",
    "server/test_server.py",
    "server/test_server_attacks.py",
    "page/test_page_scan.py",
    "search/test_kernels.py",
    "catalogue/test_catalogue.py",
    "catalogue/test_copy.py",
    "catalogue/test_catalogue_changes.py",
    "catalogue/test_editing.py",
    "catalogue/test_catalogue_crash.py",
    "page/test_page_journey.py",
    "report/test_evidence.py",
    "catalogue/test_restart.py",
    "training/test_run.py",
    "training/test_train_command.py",
    "server/test_server_connections.py",
    "server/test_server_jobs.py",
    "server/test_server_edits.py",
    "formats/test_fuzzing.py",
    "formats/test_hostile_files.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """A scheduler that gives a process whole files, and all of those that share a server."""
    from xdist.scheduler import LoadFileScheduling

    class SharedFiles(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "studio" if file.endswith(STUDIO) else file

    return SharedFiles(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files; the order within a file stays."""
    rank = {Path(__file__).parent / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def pytest_collection_finish() -> None:
    """Keep what was imported out of garbage collection, which would traverse all of it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def browser():
    """A real Chromium, driven by Playwright; tests that need one are skipped, aloud, where there is none."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium-headless-shell)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=BROWSER_OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgresql():
    """A PostgreSQL server of these tests' own; those that need it are skipped, aloud, where there is none."""
    if BINARIES is None:
        pytest.skip("needs PostgreSQL (Debian: apt-get install postgresql)")
    server = Server()
    yield server
    server.stop()


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_address(request, tmp_path_factory):
    """Gives addresses where a catalogue can be made: files, and then places on a server."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").new_schema
    return lambda: str(tmp_path_factory.mktemp("catalogue") / "dances.db")


@pytest.fixture
def address(new_address):
    """Where a catalogue can be made, on one engine and then on the other."""
    return new_address()
