"""Everything that can go wrong by expectation, as one tree.

    DanceMatchError
    ├── InputError             a value or file that was given cannot be used
    │   ├── FormatError        not a motion file that can be read
    │   ├── VideoError         not a video that can be decoded, or beyond the limits
    │   └── NoDancerError      a readable file with nobody dancing in it
    ├── CatalogueError         the catalogue is missing, damaged or busy
    │   ├── UnknownDanceError  no dance of that name
    │   └── DanceExistsError   that name is taken by another dance
    ├── ModelError             a tokeniser is missing or damaged
    │   └── ModelMismatchError words of another tokeniser
    ├── ClusterError           the machines that are to help cannot be reached, or are lost
    ├── WeightsError           the pose estimator's weights cannot be had
    └── MissingExtraError      an optional part is not installed

Every message says what was expected, what came, and what to do. The command line
prints the message alone and exits with 1; a traceback is always a bug of ours.
"""


class DanceMatchError(Exception):
    """Base of every expected error."""


class InputError(DanceMatchError):
    """A value or file that was given cannot be used."""


class FormatError(InputError):
    """Not a motion file that can be read."""


class VideoError(InputError):
    """Not a video that can be decoded, or beyond the limits."""


class NoDancerError(InputError):
    """A readable file with nobody dancing in it."""


class CatalogueError(DanceMatchError):
    """The catalogue is missing, damaged or busy."""


class UnknownDanceError(CatalogueError):
    """No dance of that name."""


class DanceExistsError(CatalogueError):
    """That name is taken by another dance."""


class ModelError(DanceMatchError):
    """A tokeniser is missing or damaged."""


class ModelMismatchError(ModelError):
    """Words of another tokeniser."""


class ClusterError(DanceMatchError):
    """The machines that are to help cannot be reached, or are lost."""


class WeightsError(DanceMatchError):
    """The pose estimator's weights cannot be had."""


class MissingExtraError(DanceMatchError):
    """An optional part is not installed."""
