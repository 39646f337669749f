"""Bodies of requests that are no files: JSON and tables, within limits of size and time.

They are read here and not by the framework, which would take any number of bytes before it asks who sends
them.
"""

from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from dancematch.pipeline.csv_table import decode_table
from dancematch.server.files.upload import receive_text
from dancematch.server.limits import MAX_EDITS_BYTES
from dancematch.server.routes.uploads import address_of
from dancematch.server.service import Service

TABLE = "text/csv"

M = TypeVar("M", bound=BaseModel)


async def read_body(request: Request, service: Service, most: int) -> bytes:
    """The body of a request, of at most so many bytes."""
    declared = request.headers.get("content-length")
    with request.app.state.uploads.admit(address_of(request)):
        body = await receive_text(request.stream(), service.options, declared=declared, most=most)
    service.metrics.count_upload(len(body))
    return body


async def read_json(request: Request, service: Service, model: type[M], most: int) -> M:
    """The body of a request as a model; an empty one is an empty object."""
    body = await read_body(request, service, most)
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**one, "loc": ("body", *one["loc"])} for one in found]) from None


async def read_table(request: Request, service: Service) -> str:
    """The body of a request as the text of a table."""
    return decode_table(await read_body(request, service, MAX_EDITS_BYTES), "the table")


def is_table(request: Request) -> bool:
    """Whether the body is a table by its Content-Type."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == TABLE


def json_body(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """What OpenAPI says of a route with such a body."""
    return _describe({"application/json": {"schema": _inline_schema(model)}}, required)


def table_body(model: type[BaseModel] | None = None) -> dict[str, Any]:
    """What OpenAPI says of a route with a table as its body, or JSON of a model."""
    json_too = {} if model is None else {"application/json": {"schema": _inline_schema(model)}}
    return _describe(json_too | {TABLE: {"schema": {"type": "string"}}}, True)


def _describe(content: dict[str, Any], required: bool) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": content}}


def _inline_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model, with those of models in it at their places: the document has no others."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return inline(parts[node["$ref"].rpartition("/")[2]])
        return {name: inline(value) for name, value in node.items()}

    inlined: dict[str, Any] = inline(schema)
    return inlined
