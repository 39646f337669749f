"""Writes the operations of the REST service, from its OpenAPI document, into the page that asks for them."""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi.openapi.utils import get_openapi
from sphinx.application import Sphinx

from dancematch.server.routes import ROUTES
from dancematch.server.routes.openapi import errors
from markdown_tables import table_lines

MARK = "<!-- operations -->"
_ALWAYS = frozenset(map(str, errors()))  # told once, at the head of the page
_METHODS = ("get", "post", "put", "patch", "delete")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the writing of operations."""
    app.connect("source-read", write_operations)
    return {"parallel_read_safe": True}


def write_operations(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Put all operations, in place, where a page has the mark."""
    if MARK in source[0]:
        source[0] = source[0].replace(MARK, "\n".join(describe_service(read_schema())))


def read_schema() -> dict[str, Any]:
    """The OpenAPI document of the service, of which none needs to run."""
    routes = [route for module in ROUTES for route in module.router.routes]
    return get_openapi(title="DanceMatch", version="1", routes=routes)


def describe_service(schema: Mapping[str, Any]) -> Iterator[str]:
    """The lines of all operations, one section per tag."""
    operations = [
        (operation["tags"][0], method, path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if method in _METHODS
    ]
    always = [(status, answer["description"]) for status, answer in errors().items()]
    yield from ("Any operation may answer with one of these, and a sentence that says why:", "")
    yield from table_lines(("answer", ""), [(str(status), said) for status, said in always])
    for tag in dict.fromkeys(tag for tag, *_ in operations):
        yield from (f"## {tag.capitalize()}", "")
        for own, method, path, operation in operations:
            if own == tag:
                yield from _describe_operation(method, path, operation)
    yield from ("## Shapes", "", "What the answers and bodies are made of.", "")
    for name, shape in sorted(schema["components"]["schemas"].items()):
        yield from _describe_shape(name, shape)


def _describe_operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"### {method.upper()} {path}", "", operation.get("description", ""), "")
    rows = [
        (f"`{one['name']}` ({one['in']})", _type_of(one["schema"]), _explain(one, one["schema"]))
        for one in operation.get("parameters", [])
    ]
    if body := operation.get("requestBody"):
        rows.append(("the body", _type_of_content(body["content"]), body.get("description", "")))
    yield from table_lines(("parameter", "type", ""), rows)
    answers = [
        (
            status,
            _type_of_content(answer.get("content", {})),
            answer["description"].replace("Successful Response", "done"),
        )
        for status, answer in sorted(operation["responses"].items())
        if status not in _ALWAYS
    ]
    yield from table_lines(("answer", "type", ""), answers)


def _describe_shape(name: str, shape: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"({_anchor(name)})=", f"### {name}", "", shape.get("description", ""), "")
    rows = [
        (f"`{field}`", _type_of(one), _explain(one, one))
        for field, one in shape.get("properties", {}).items()
    ]
    yield from table_lines(("field", "type", ""), rows)


def _explain(described: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What is said of a value, its default and its bounds."""
    said = [described.get("description", "")]
    said += ["Needed."] if described.get("required") is True else []
    said += [f"Default: `{schema['default']}`."] if schema.get("default") is not None else []
    bounds = {"minimum": "at least", "maximum": "at most", "maxLength": "characters at most"}
    said += [f"{words.capitalize()} {schema[key]}." for key, words in bounds.items() if key in schema]
    return " ".join(filter(None, said))


def _type_of_content(content: Mapping[str, Any]) -> str:
    """The shape of a JSON answer, else its media types."""
    if "application/json" in content:
        return _type_of(content["application/json"].get("schema", {})) or "JSON"
    return ", ".join(f"`{media}`" for media in content)


def _type_of(schema: Mapping[str, Any]) -> str:
    """A schema's type in a few words, with links to shapes."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(_type_of(one) for one in schema[key])
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type_of(schema.get('items', {})) or 'anything'}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type_of(schema['additionalProperties'])}"
    return str(schema.get("type", ""))


def _anchor(name: str) -> str:
    """Where a shape stands on the page."""
    return f"shape-{name.lower()}"
