"""A trained network at work, without torch: motion -> words -> motion through onnxruntime.

Long motions go through in overlapping chunks. A word depends on the steps within the network's
reach and on nothing else, so it does not matter where chunks end. A network without bounds (the
paper's) has no such reach: its words depend on their chunk, so that chunks of `chunk` steps
(config) do not overlap.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import ModelError
from dancematch.model.config import NetworkConfig
from dancematch.model.kmeans import require_words_of
from dancematch.model.parts import LAYOUTS, joint_places
from dancematch.model.patches import PatchTokeniser
from dancematch.motion import CANONICAL, CANONICAL_VERSION, FPS, on_standard_body
from dancematch.types import Fingerprint, FloatArray, Motion, WordArray

CHUNK_STEPS = 128  # of a network with a reach: enough to be quick, little enough to stay in the cache
CODEBOOK = "quantiser.codebook"
ONNX_FILES = ("encoder.onnx", "decoder.onnx")


class Chunk(NamedTuple):
    """Steps to show to a network, and those whose output is kept."""

    shown: slice
    kept: slice  # within what is shown


def split_chunks(steps: int, size: int, reach: int) -> Iterator[Chunk]:
    """Cover `steps` by chunks of `size` new ones, each shown with up to `reach` more to both sides."""
    for first in range(0, steps, size):
        last = min(first + size, steps)
        shown = slice(max(0, first - reach), min(steps, last + reach))
        yield Chunk(shown, slice(first - shown.start, last - shown.start))


class NetworkTokeniser(PatchTokeniser):
    """Motion -> Fingerprint by a trained encoder, and back by its decoder.

    `files` are the ONNX files that `training.export` makes of `arrays`.
    """

    kind = "network"

    def __init__(
        self,
        network: NetworkConfig,
        arrays: Mapping[str, FloatArray],
        files: Mapping[str, bytes],
        *,
        trained_on: Mapping[str, object],
        chunk_steps: int = CHUNK_STEPS,
        threads: int = 1,
    ) -> None:
        self.network = network
        self.layout = network.layout
        self.patch_frames = network.patch_frames
        self.trained_on = dict(trained_on)
        self.files = {name: files[name] for name in ONNX_FILES}
        self._arrays = dict(arrays)
        self._chunk_steps = chunk_steps if network.reach is not None else network.chunk
        self._threads = threads
        expected = (len(network.channels), network.vocabulary, network.code_dim)
        if CODEBOOK not in self._arrays or self._arrays[CODEBOOK].shape != expected:
            raise ModelError(
                f"the tokeniser's weights lack {CODEBOOK} of {expected}; train or install it again"
            )

    @property
    def config(self) -> dict[str, object]:
        """Everything but the arrays."""
        return {
            "kind": self.kind,
            **asdict(self.network),
            "channels": list(self.channels),
            "fps": FPS,
            "canonical": CANONICAL_VERSION,
        }

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """The weights of encoder, decoder and codebook, by name."""
        return self._arrays

    @property
    def vocabulary(self) -> int:
        """Words per channel."""
        return self.network.vocabulary

    @property
    def vectors(self) -> FloatArray:
        """The codebook."""
        return self._arrays[CODEBOOK]

    def words(self, canonical: Motion) -> WordArray:
        """Return the encoder's word of each patch."""
        return self._encode(canonical)[0].astype(np.uint16)

    def latents(self, canonical: Motion) -> FloatArray:
        """Return the encoder's latent of each patch."""
        return self._encode(canonical)[1]

    def _encode(self, canonical: Motion) -> tuple[NDArray[np.int64], FloatArray]:
        frames = self.patch_frames
        steps = len(canonical.joints) // frames
        outputs = []
        for shown, kept in split_chunks(steps, self._chunk_steps, self.network.reach or 0):
            motion = canonical.joints[None, shown.start * frames : shown.stop * frames]
            tokens, latents = self._encoder.run(["tokens", "latents"], {"motion": motion})
            outputs.append((tokens[kept], latents[kept]))
        tokens, latents = (np.concatenate(each) for each in zip(*outputs, strict=True))
        return tokens, latents

    def decode(self, fingerprint: Fingerprint) -> Motion:
        """Return the motion that the words describe, on the canonical skeleton; its root travels.

        A joint is unseen where no word of it was seen.
        """
        require_words_of(self, fingerprint)
        frames, words = self.patch_frames, fingerprint.words.astype(np.int64)
        decoded = []
        for shown, kept in split_chunks(len(words), self._chunk_steps, self.network.reach or 0):
            (motion,) = self._decoder.run(["motion"], {"tokens": words[shown]})
            decoded.append(motion[kept.start * frames : kept.stop * frames])
        joints = np.concatenate(decoded)
        joints[:, 1:] = on_standard_body(joints[:, 1:])
        visibility = self._joint_visibility(fingerprint)
        joints[visibility == 0] = np.nan
        return Motion(joints, FPS, CANONICAL, visibility, start=fingerprint.start)

    def _joint_visibility(self, fingerprint: Fingerprint) -> FloatArray:
        """Return how well joints are seen: as the best word of theirs, [frames, joints]."""
        seen = np.ones((len(fingerprint), len(CANONICAL.joints)), dtype=np.float32)
        parts = [joint_places(joints) for joints in LAYOUTS[self.layout].values()]
        seen[:, sorted({place for places in parts for place in places})] = 0
        for channel, places in enumerate(parts):
            seen[:, places] = np.maximum(seen[:, places], fingerprint.visibility[:, [channel]])
        return np.repeat(seen, self.patch_frames, axis=0)

    @cached_property
    def _encoder(self) -> Any:
        return open_session(self.files["encoder.onnx"], self._threads)

    @cached_property
    def _decoder(self) -> Any:
        return open_session(self.files["decoder.onnx"], self._threads)


def open_session(onnx: bytes, threads: int) -> Any:
    """Open a network, on the CPU alone so that words are the same everywhere."""
    try:
        # Otherwise it notes what machine this is, and for how long it works, to send it to its makers.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime
    except ImportError as error:
        raise ModelError(
            f"a network needs onnxruntime, which cannot be imported ({error}); install it with "
            f"'pip install onnxruntime', or use a model without a network, such as 'floor'"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: failures are reported as ModelError
    try:
        return onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no other base
        reason = str(error).splitlines()[0]
        raise ModelError(f"the network cannot be run ({reason}); train or install it again") from None
