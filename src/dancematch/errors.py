"""Every expected error, as one tree.

    DanceMatchError
    ├── InputError             a value or file that was given cannot be used
    │   ├── FormatError        a motion file that cannot be read
    │   ├── VideoError         a video that cannot be decoded, or is beyond the limits
    │   └── NoDancerError      a readable file without a dancer
    ├── CatalogueError         the catalogue is missing, damaged or busy
    │   ├── UnknownDanceError  no dance of that name
    │   ├── UnknownReviewError no review of that id
    │   ├── DanceExistsError   that name is taken by another dance
    │   ├── ChangedMeanwhileError  another change came before this one
    │   ├── AlreadyDecidedError    a review is decided already
    │   ├── ServerAwayError    its server cannot be reached for the moment
    │   └── DiskFullError      the disk that holds it has no room left
    ├── ModelError             a tokeniser is missing or damaged
    │   └── ModelMismatchError words of another tokeniser
    ├── ClusterError           the nodes of a cluster cannot be reached, or are lost
    ├── WeightsError           the pose estimator's weights are missing or damaged
    └── MissingExtraError      an optional part is not installed

Every message says what was expected, what came, and what to do. The command line
prints the message alone and exits with 1; a traceback is always a bug of ours.
"""


class DanceMatchError(Exception):
    """Base of every expected error."""


class InputError(DanceMatchError):
    """A value or file that was given cannot be used."""


class FormatError(InputError):
    """A motion file that cannot be read."""


class VideoError(InputError):
    """A video that cannot be decoded, or is beyond the limits."""


class NoDancerError(InputError):
    """A readable file without a dancer."""


class CatalogueError(DanceMatchError):
    """The catalogue is missing, damaged or busy."""


class UnknownDanceError(CatalogueError, KeyError):
    """No dance of that name; a KeyError too, as `catalogue[name]` raises it."""

    __str__ = Exception.__str__  # a KeyError would show the message in quotes


class UnknownReviewError(CatalogueError):
    """No review of that id."""


class DanceExistsError(CatalogueError):
    """That name is taken by another dance."""


class ChangedMeanwhileError(CatalogueError):
    """Another change came before this one."""


class AlreadyDecidedError(CatalogueError):
    """A review is decided already."""


class ServerAwayError(CatalogueError):
    """The catalogue's server cannot be reached for the moment."""


class DiskFullError(CatalogueError):
    """The disk that holds the catalogue has no room left."""


class ModelError(DanceMatchError):
    """A tokeniser is missing or damaged."""


class ModelMismatchError(ModelError):
    """Words of another tokeniser."""


class ClusterError(DanceMatchError):
    """The nodes of a cluster cannot be reached, or are lost."""


class WeightsError(DanceMatchError):
    """The pose estimator's weights are missing or damaged."""


class MissingExtraError(DanceMatchError):
    """An optional part is not installed."""
