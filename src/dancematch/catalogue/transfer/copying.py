"""All dances of one catalogue into another: SQLite files, PostgreSQL databases and plain folders alike.

Before rows go their checksums are compared, and names and values checked as those of any new dance are: what
does not pass is reported, and the rest is copied. Afterwards rows are read back and compared again. What is
in the target already is left alone but compared too, in what people say of it also: an interrupted copy goes
on, a repeated one is a check.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path

from dancematch.catalogue.transfer.database_rows import DatabaseTarget, open_database
from dancematch.catalogue.transfer.plain_folder import FolderTarget, open_folder
from dancematch.catalogue.transfer.recording_rows import (
    Copied,
    CopySource,
    CopyTarget,
    RecordingBatch,
    name_recordings,
)
from dancematch.errors import InputError


def is_folder(where: str | Path) -> bool:
    """Whether an address names a catalogue's plain form: a folder that exists, or a path that ends with /."""
    text = str(where)
    return "://" not in text and (text.endswith(("/", os.sep)) or Path(text).is_dir())


def _is_same_place(source: str, target: str) -> bool:
    """Whether both are one catalogue, however its file is spelt."""
    if "://" in source or "://" in target:
        return source == target
    return Path(source).resolve() == Path(target).resolve()


def copy_catalogue(source: str | Path, target: str | Path, *, force: bool = False) -> Iterator[Copied]:
    """Copy every dance of `source` into `target`, made if it is not there, and report after each batch.

    Each is a file's path, a database URL or a folder (`is_folder`). All that is known of dances and their
    recordings goes along, but no edit to undo. What is added to the source meanwhile is
    left to the next copy. A folder that holds another catalogue, or this one as it was before it changed, is
    replaced only with `force`.
    """
    with _open_source(source) as opened, closing(_open_target(target, opened, force)) as into:
        if _is_same_place(opened.where, into.where):
            raise InputError(f"{opened.where} cannot be copied into itself; name another target")
        yield Copied(opened.total)
        # While a batch is written the next one is read.
        with ThreadPoolExecutor(1, "dancematch-copy") as writer:
            writing: Future[Copied] | None = None
            for batch in opened.batches(into.batch_size):
                if writing is not None:
                    yield writing.result()
                writing = writer.submit(_put_batch, into, batch, opened)
            if writing is not None:
                yield writing.result()
        into.finish()


def _open_source(where: str | Path) -> AbstractContextManager[CopySource]:
    return open_folder(Path(where)) if is_folder(where) else open_database(where)


def _open_target(where: str | Path, source: CopySource, force: bool) -> CopyTarget:
    if is_folder(where):
        return FolderTarget(Path(where), source.model_id, force=force)
    return DatabaseTarget(where, source)


def _put_batch(target: CopyTarget, batch: RecordingBatch, source: CopySource) -> Copied:
    kind = target.kind or source.kind
    refused = {one: why for one in batch.recordings if (why := one.find_problem(kind)) is not None}
    done = target.put([one for one in batch.recordings if one not in refused])
    failed = batch.unreadable | name_recordings(refused) | done.failed
    return replace(done, total=source.total, failed=failed)
