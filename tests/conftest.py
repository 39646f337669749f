import shutil

import pytest

from databases import BINARIES, Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser():
    """A real Chromium, driven by Playwright; tests that need one are skipped, aloud, where there is none."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
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
