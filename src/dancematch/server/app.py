"""The service as an ASGI application and as a process."""

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
from dancematch.server import limits
from dancematch.server.access.capacity import ConcurrencyLimit, WorkThreads
from dancematch.server.access.connections import Connections
from dancematch.server.access.guard import RequestGuard
from dancematch.server.options import Options
from dancematch.server.problems import ErrorAnswer, RefusedError
from dancematch.server.routes import ROUTES
from dancematch.server.schemas.requests import PATTERN_MEANINGS
from dancematch.server.service import READERS, THREADS, Service

log = logging.getLogger(__name__)

STATIC = Path(str(files("dancematch.server"))) / "static"
STYLE = Path(str(files("dancematch.report"))) / "templates" / "style"  # what the page shares with reports
_ERROR_NAMES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def make_app(service: Service) -> FastAPI:
    """The application for a service that is opened when the application starts."""
    app = FastAPI(
        title="DanceMatch",
        description="Which known dance is this clip, where in it, how was it changed, and how sure is that?",
        version=version("dancematch"),
        lifespan=_lifespan,
        docs_url=None,  # their pages load scripts from other sites
        redoc_url=None,
    )
    app.state.service = service
    app.state.uploads = ConcurrencyLimit(limits.MAX_UPLOADS, limits.MAX_UPLOADS_PER_ADDRESS, "requests")
    app.state.streams = ConcurrencyLimit(
        limits.MAX_STREAMS, limits.MAX_STREAMS_PER_ADDRESS, "streams of events"
    )
    app.state.long_videos = ConcurrencyLimit(
        limits.MAX_SCAN_UPLOADS, limits.MAX_SCAN_UPLOADS_PER_ADDRESS, "long videos"
    )
    for routes in ROUTES:
        app.include_router(routes.router)
    _handle_errors(app, service)
    _serve_page(app)
    app.add_middleware(GZipMiddleware, minimum_size=limits.GZIP_FROM_BYTES, compresslevel=limits.GZIP_LEVEL)
    if service.options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=service.options.cors_origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "If-Match"],
            expose_headers=["ETag"],
        )
    app.add_middleware(RequestGuard, options=service.options, metrics=service.metrics)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the service while requests are already answered with 503; close it at the end."""
    service: Service = app.state.service
    app.state.threads = WorkThreads(THREADS, READERS)
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
    except Exception as error:  # raised again by `run`: the process ends
        service.failure = error
        os.kill(os.getpid(), signal.SIGTERM)


def _serve_page(app: FastAPI) -> None:
    """Serve the page's files at every path without a route; a browser asks each time whether one is new."""
    files = StaticFiles(directory=STATIC, html=True, check_dir=False)
    styles = StaticFiles(directory=STYLE, check_dir=False)

    async def respond(folder: StaticFiles, file: str, request: Request) -> Response:
        response = await folder.get_response(file, request.scope)
        response.headers["Cache-Control"] = "no-cache"
        return response

    @app.get("/style/{file}", include_in_schema=False)
    async def style(request: Request, file: str) -> Response:
        return await respond(styles, file, request)

    @app.get("/{file:path}", include_in_schema=False)
    async def page(request: Request, file: str) -> Response:
        return await respond(files, file or ".", request)


def _handle_errors(app: FastAPI, service: Service) -> None:
    """Answer every error in the same shape."""

    async def expected(_request: Request, error: Exception) -> Response:
        assert isinstance(error, DanceMatchError | RefusedError)  # noqa: S101  (for the type checker)
        return _respond(service.redaction.answer_for(error))

    async def invalid(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        return _respond(ErrorAnswer(422, "input", _validation_sentence(error)))

    async def refused(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101
        name = _ERROR_NAMES.get(error.status_code, "bad_request")
        answer = _respond(ErrorAnswer(error.status_code, name, f"{error.detail}".rstrip(".").lower()))
        answer.headers.update(error.headers or {})
        return answer

    async def disconnected(_request: Request, _error: Exception) -> Response:
        return _respond(ErrorAnswer(400, "bad_request", "the upload broke off"))

    async def unexpected(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return _respond(
            ErrorAnswer(500, "internal", "something went wrong here; the service's log says what")
        )

    app.add_exception_handler(DanceMatchError, expected)
    app.add_exception_handler(RefusedError, expected)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(ClientDisconnect, disconnected)
    app.add_exception_handler(Exception, unexpected)


def _respond(answer: ErrorAnswer) -> JSONResponse:
    return JSONResponse(answer.body(), answer.status, headers=answer.headers())


def _validation_sentence(error: RequestValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return f"{where}: {PATTERN_MEANINGS.get(first.get('ctx', {}).get('pattern'), first['msg'])}"


class StoppableServer(uvicorn.Server):
    """Ends streams of events as soon as the service is asked to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, _frame: FrameType | None) -> None:
        """Start no more jobs and shut down; a requested stop ends the process with 0."""
        self._service.runner.request_stop()
        self.force_exit = self.should_exit and sig == signal.SIGINT  # the second Ctrl-C
        self.should_exit = True


def run(options: Options, on_start: Callable[[str], None]) -> None:
    """Serve until stopped; `on_start` is called with the address before."""
    with open_catalogue(options.catalogue, model=options.model) as catalogue:
        service = Service(options, catalogue)
        connections = Connections(limits.MAX_CONNECTIONS, options.connections_per_address)
        allow_open_files()
        config = uvicorn.Config(
            make_app(service),
            log_config=None,  # the command line sets up logging
            log_level="error",  # a line per wrong request would let anybody fill the disk
            access_log=False,
            server_header=False,
            date_header=True,
            timeout_graceful_shutdown=limits.SHUTDOWN_SECONDS,
            timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
            http=connections.protocol,  # type: ignore[arg-type]  # makes one as the class would
            ws="none",
        )
        with _listen(options) as listener:
            host = f"[{options.host}]" if ":" in options.host else options.host
            on_start(f"http://{host}:{listener.getsockname()[1]}")
            StoppableServer(config, service).run(sockets=[listener])
    if service.failure is not None:
        raise service.failure


def allow_open_files() -> None:
    """Let this process have as many files open as its connections need, if the operating system agrees."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(limits.MAX_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listen(options: Options) -> socket.socket:
    """A listening socket; port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server(
            (options.host, options.port), family=family, backlog=limits.CONNECTION_BACKLOG
        )
    except OSError as error:
        raise InputError(
            f"cannot listen on port {options.port} of {options.host}: {error.strerror}; "
            "choose another with --port or --host"
        ) from None
