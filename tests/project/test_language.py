"""One language: a class name stands once, and the words that the glossary replaced are gone."""

import ast
import re
from collections import Counter
from pathlib import Path

import dancematch

ROOT = Path(dancematch.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# Persons for things, and names that the field does not use; in a document, a dancer may be somebody.
REPLACED = re.compile(
    r"\b(whoever|strangers?|crowds?|judges?|poison(ous)?|shel(f|ves)|peers)\b", re.IGNORECASE
)
PERSONS = re.compile(r"\b(nobody|somebody)\b", re.IGNORECASE)


def test_a_class_name_stands_once():
    names = Counter(
        node.name
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )

    assert [] == [name for name, count in names.items() if count > 1]


def test_replaced_words_are_gone():
    """From code, messages, pages and the documents that describe today's state."""
    documents = [ROOT.parents[1] / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    pages = [*ROOT.rglob("*.js"), *ROOT.rglob("*.html")]
    found = [
        f"{file.name}:{number}: {line.strip()}"
        for file in (*FILES, *pages, *documents)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if REPLACED.search(line) or (file.suffix == ".py" and PERSONS.search(line))
    ]

    assert [] == found
