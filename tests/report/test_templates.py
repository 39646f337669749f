import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from dancematch.report.page import render_page

HOSTILE = "</title></script><script>alert(1)</script>{{ 7 * 7 }}'\"&"


def test_names_on_a_page_are_text_and_its_data_cannot_end_the_script():
    names = {"clip": HOSTILE, "reference": HOSTILE}
    page = render_page("compare.html", **names, same=False, data={"facts": HOSTILE})
    data = json.loads(re.search(r'application/json">(.*?)</script>', page).group(1))

    assert HOSTILE == data["facts"]
    assert 2 == page.count("<script") == page.count("</script>")  # the data and the page's own
    assert "<script>alert" not in page
    assert 6 == page.count("&lt;script&gt;alert(1)")  # both names in title, heading and figures


def test_no_template_lifts_the_escaping():
    """What stands in a template as it is would be markup of whatever name a file has."""
    for template in Path(str(files("dancematch.report"))).rglob("templates/**/*.*"):
        text = template.read_text(encoding="utf-8")

        assert not re.search(r"\|\s*safe|autoescape|Markup", text), template.name


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError, match="clip"):
        render_page("compare.html", reference="it", data={})
