"""How many times faster than real time a motion is put into words, on one core.

    python bench/tokenise.py [--networks 48x2 64x3] [--models FOLDER ...]

Fresh networks (dim x layers; their weights do not matter for the time) or trained ones, and in the
same run the k-means tokeniser. `words`: from the canonical frame to words; `fingerprint`: with the
way into the canonical frame. Processor time, all threads added up. One JSON object per tokeniser.
"""

import argparse
import json
import time
from dataclasses import replace

import numpy as np

from dancematch.model.config import NetworkConfig
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_model
from dancematch.motion import canonicalise
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.types import Motion


def fresh_network(size: str) -> PatchTokeniser:
    import torch

    from dancematch.model.network import MotionModel
    from dancematch.training.network.export import export_model

    dim, layers = map(int, size.split("x"))
    torch.manual_seed(0)
    return export_model(MotionModel(replace(NetworkConfig(), dim=dim, layers=layers)), trained_on={})


def median_seconds(work, repeats: int) -> float:
    work()  # whatever is made at the first call is not counted
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return float(np.median(times))


def measure(name: str, model: PatchTokeniser, motion: Motion, repeats: int) -> dict:
    canonical = canonicalise(motion)
    words = median_seconds(lambda: model.words(canonical), repeats)
    whole = median_seconds(lambda: model.fingerprint(motion), repeats)
    return {
        "bench": "tokenise",
        "model": name,
        "kind": model.kind,
        "motion_seconds": round(motion.seconds, 1),
        "words_ms": round(1000 * words, 2),
        "words_times_real_time": round(motion.seconds / words),
        "fingerprint_ms": round(1000 * whole, 2),
        "fingerprint_times_real_time": round(motion.seconds / whole),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="*", default=["48x2", "64x3"])
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    motion = perform(compose_dance(options.seed, eight_counts=15), Dancer())
    tokenisers = {"kmeans": load_model("floor")}
    tokenisers |= {folder: load_model(folder) for folder in options.models}
    tokenisers |= {f"network {size}": fresh_network(size) for size in options.networks}
    for name, model in tokenisers.items():
        print(json.dumps(measure(name, model, motion, options.repeats)), flush=True)


if __name__ == "__main__":
    main()
