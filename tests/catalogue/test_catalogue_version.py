import numpy as np
import pytest

from dance_samples import digest, recorded, save_small_model, write_dance
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.store import Store
from dancematch.errors import CatalogueError
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.types import Fingerprint
from databases import PASSWORD, fetch, run_sql


@pytest.fixture
def empty(address) -> str:
    """A catalogue without dances."""
    Store(address, "toy").close()
    return address


@pytest.mark.parametrize("version", ["2", "4", "99", "two", "0", "-1"])
def test_a_catalogue_of_another_version_is_refused_in_one_sentence(empty, version):
    run_sql(empty, f"UPDATE facts SET value = '{version}' WHERE name = 'version'")  # noqa: S608  (our own)
    with pytest.raises(CatalogueError) as caught:
        Store(empty, None)

    assert (
        f"{empty.replace(PASSWORD, '***')} has catalogue version {version}, this dancematch reads version 1 "
        f"only; open it with the dancematch that made it, or add its recordings to a new catalogue"
        == str(caught.value)
    )
    assert [(version,)] == fetch(empty, "SELECT value FROM facts WHERE name = 'version'")


def test_a_catalogue_that_becomes_another_version_is_not_written_any_more(address):
    """A process that still has it open stops instead of writing rows of its own version."""
    store = Store(address, "toy")
    run_sql(address, "UPDATE facts SET value = '5' WHERE name = 'version'")
    words = Fingerprint(np.zeros((4, 2), int), 4, 0.5, "toy")
    with pytest.raises(CatalogueError, match="has become catalogue version 5, this dancematch writes 1 only"):
        store.add(recorded("new", "new", digest("cc33"), 3.0), [StoredTrack(words)])

    store.close()


def test_a_catalogue_that_lacks_a_table_is_damaged(empty):
    run_sql(empty, "DROP TABLE exclusions")
    with pytest.raises(CatalogueError, match="is damaged: its table 'exclusions' is missing"):
        Store(empty, "toy")


def test_every_catalogue_has_an_identity_that_stays(empty, tmp_path):
    first, other = Store(empty, None), Store(tmp_path / "other.db", "toy")
    identity = first.identity
    first.close()

    again = Store(empty, None)
    assert 32 == len(identity)
    assert identity == again.identity != other.identity
    again.close()
    other.close()


def test_opening_a_catalogue_and_searching_it_writes_nothing(tmp_path):
    """The period is measured when a dance is added: opened later, the file keeps every byte."""
    path, model = tmp_path / "dances.db", tmp_path / "model"
    save_small_model(model)
    clip = write_dance(tmp_path / "clip.npz", 1)
    with open_catalogue(path, model=model) as known:
        known.add(clip)
    before = path.read_bytes()
    with open_catalogue(path, model=model, create=False) as known:
        known.search(clip)

    assert before == path.read_bytes()
