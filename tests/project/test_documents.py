"""What the documents say is what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dancematch.cli import VERBS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]


def test_the_readme_names_every_verb():
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [] == [verb for verb in VERBS if f"`{verb}" not in text]


def test_commands_in_documents_and_scripts_are_verbs():
    """Those that stand in code, at the start of a line or of a span."""
    shown = re.compile(r"(?:`|^ *(?:keep \S+ )?)(?:\.venv/bin/)?dancematch ([a-z][\w-]*)", re.MULTILINE)
    files = [*PAGES, *ROOT.glob("eval/*.sh"), *ROOT.glob("bench/*.sh"), ROOT / "Makefile"]
    named = {verb for file in files for verb in shown.findall(file.read_text(encoding="utf-8"))}

    assert named <= set(VERBS)
    assert {"search", "copy", "doctor"} <= named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page):
    """Links, and paths into the folders that hold figures."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(
        r"(?:eval|bench)/[\w/,-]+\.(?:jsonl|py|md)", text
    )

    assert [] == [name for name in named if not (page.parent / name).exists() and not (ROOT / name).exists()]


def test_the_tables_are_those_of_the_results():
    subprocess.run([sys.executable, ROOT / "eval" / "tables.py", "--check"], check=True)
