"""The service as an application and as a process."""

import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from types import FrameType

import anyio
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.staticfiles import StaticFiles

from dancematch.errors import DanceMatchError, InputError
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.server.access.dependencies import EXPECTED, MOST_AT_ONCE, MOST_STREAMS, Gate, Lanes
from dancematch.server.access.guard import Guard
from dancematch.server.options import Options
from dancematch.server.problems import Problem, RefusedError
from dancematch.server.routes import about, dances, jobs, searches
from dancematch.server.service import Service

log = logging.getLogger(__name__)

STATIC = Path(str(files("dancematch.server"))) / "static"
_GRACE_SECONDS = 10  # for answers under way when the service is stopped
_MOST_CONNECTIONS = 1000
_BACKLOG = 1024  # connections that may wait to be taken
_PACKED_FROM = 2000  # bytes
_PACKED_HOW_WELL = 4  # of 9: the rest costs more time than it saves
_NAMES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def make_app(service: Service) -> FastAPI:
    """The application for a service that is opened when the application starts."""
    app = FastAPI(
        title="DanceMatch",
        description="Which known dance is this clip, where in it, how was it changed, and how sure is that?",
        version=version("dancematch"),
        lifespan=_lifespan,
        docs_url=None,  # their pages come from elsewhere: nothing here does
        redoc_url=None,
    )
    app.state.service = service
    app.state.uploads = Gate(MOST_AT_ONCE, "requests")
    app.state.streams = Gate(MOST_STREAMS, "streams of events")
    for routes in (about, dances, searches, jobs):
        app.include_router(routes.router)
    _tell_errors(app, service)
    _show_page(app)
    app.add_middleware(GZipMiddleware, minimum_size=_PACKED_FROM, compresslevel=_PACKED_HOW_WELL)
    if service.options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=service.options.cors_origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(Guard, options=service.options, metrics=service.metrics)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the service while answers (503) are given already; close it at the end."""
    service: Service = app.state.service
    app.state.lanes = Lanes(max(2, os.cpu_count() or 1))
    opening = threading.Thread(target=_open, args=(service,), name="dancematch-opening")
    opening.start()
    try:
        yield
    finally:
        await anyio.to_thread.run_sync(opening.join)
        await anyio.to_thread.run_sync(service.close)


def _open(service: Service) -> None:
    try:
        service.open()
    except Exception as error:  # raised again by `run`: nothing can be answered
        service.failure = error
        os.kill(os.getpid(), signal.SIGTERM)


def _show_page(app: FastAPI) -> None:
    """Give whatever no other route has from the page's files; a browser asks each time whether it is new."""
    files = StaticFiles(directory=STATIC, html=True, check_dir=False)

    @app.get("/{file:path}", include_in_schema=False)
    async def page(request: Request, file: str) -> Response:
        response = await files.get_response(file or ".", request.scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _tell_errors(app: FastAPI, service: Service) -> None:
    """Every error in the one shape."""

    async def expected(_request: Request, error: Exception) -> Response:
        assert isinstance(error, DanceMatchError | RefusedError)  # noqa: S101  (for the type checker)
        return _told(service.discretion.problem_of(error))

    async def invalid(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        return _told(Problem(422, "input", _sentence(error)))

    async def refused(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        name = _NAMES.get(error.status_code, "bad_request")
        answer = _told(Problem(error.status_code, name, f"{error.detail}".rstrip(".").lower()))
        answer.headers.update(error.headers or {})
        return answer

    async def gone(_request: Request, _error: Exception) -> Response:
        return _told(Problem(400, "bad_request", "the upload broke off"))

    async def unexpected(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return _told(Problem(500, "internal", "something went wrong here; the service's log says what"))

    app.add_exception_handler(DanceMatchError, expected)
    app.add_exception_handler(RefusedError, expected)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, unexpected)


def _told(problem: Problem) -> JSONResponse:
    return JSONResponse(problem.body(), problem.status, headers=problem.headers())


def _sentence(error: RequestValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return f"{where}: {EXPECTED.get(first.get('ctx', {}).get('pattern'), first['msg'])}"


class Server(uvicorn.Server):
    """Lets streams of events end as soon as the service is asked to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Take no more jobs, and end in order: a stop that was asked for is no failure."""
        self._service.runner.begin_to_stop()
        self.force_exit = self.should_exit and sig == signal.SIGINT  # asked twice
        self.should_exit = True


def run(options: Options, on_start: Callable[[str], None]) -> None:
    """Serve until told to stop; `on_start` is told the address before."""
    with open_catalogue(options.catalogue, model=options.model) as catalogue:
        service = Service(options, catalogue)
        config = uvicorn.Config(
            make_app(service),
            log_config=None,  # whoever starts the process decides how it logs
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=True,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            timeout_keep_alive=30,
            limit_concurrency=_MOST_CONNECTIONS,
        )
        with _listening(options) as address:
            shown = f"[{options.host}]" if ":" in options.host else options.host
            on_start(f"http://{shown}:{address.getsockname()[1]}")
            Server(config, service).run(sockets=[address])
    if service.failure is not None:
        raise service.failure


def _listening(options: Options) -> socket.socket:
    """The address, taken; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise InputError(
            f"cannot listen on port {options.port} of {options.host}: {error.strerror}; "
            "choose another with --port or --host"
        ) from None
