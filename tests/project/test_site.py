"""The documents as a site: built without a warning, no broken link, nothing loaded from the network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import dancematch
from dancematch.cli import VERBS
from dancematch.server.routes import ROUTES

ROOT = Path(__file__).parents[2]
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
FROM_AFAR = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^"')]*""")


class Page(HTMLParser):
    """One page: its ids, its links, and what a browser loads with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element."""
        said = {name: value for name, value in attrs if value}
        self.ids |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        if tag in LOADS and LOADS[tag] in said:
            self.loads.append(said[LOADS[tag]].partition("#")[0])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, ROOT / "docs", folder], capture_output=True, text=True
    )
    assert (0, "") == (built.returncode, built.stderr)
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    """The pages by path."""
    found = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    assert len(found) > 20
    return found


def test_every_link_within_the_site_leads_somewhere(pages):
    broken = [
        f"{page.path.name}: {link}"
        for page in pages.values()
        for link in page.links
        if not urlsplit(link).scheme and not _leads(page, link, pages)
    ]

    assert [] == broken


def _leads(page: Page, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path.resolve()
    if target not in pages:
        return target.is_file()
    return not parts.fragment or unquote(parts.fragment) in pages[target].ids


def test_reading_needs_no_network(site, pages):
    """Scripts, styles, pictures and fonts are files of the site."""
    loads = {(page.path, name) for page in pages.values() for name in page.loads if name}
    styles = [path.read_text(encoding="utf-8") for path in (*site.rglob("*.css"), *site.rglob("*.html"))]

    assert [] == [name for _, name in loads if urlsplit(name).scheme or name.startswith("//")]
    assert [] == [name for path, name in loads if not (path.parent / unquote(urlsplit(name).path)).is_file()]
    assert [] == [found for style in styles for found in FROM_AFAR.findall(style)]


def test_the_reference_has_every_command_every_public_name_and_every_operation(site, pages):
    """Commands by their headings, names by their anchors, operations by method and path."""
    reference = {
        name: pages[(site / "reference" / name).resolve()] for name in ("python.html", "command-line.html")
    }
    operations = (site / "reference" / "rest.html").read_text(encoding="utf-8")
    routes = [route for module in ROUTES for route in module.router.routes if route.include_in_schema]

    assert set(VERBS) <= reference["command-line.html"].ids
    assert {f"dancematch.{name}" for name in dancematch.__all__} <= reference["python.html"].ids
    assert [] == [
        route.path
        for route in routes
        for method in route.methods
        if f">{method} {route.path}<" not in operations
    ]
