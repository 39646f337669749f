"""Give a model the background cohort of shipped models: unrelated dances of four kinds.

    python eval/studies/make_background.py RUN/model OUTPUT AISTPP CMU VIEWS

Sixty motions each of AIST++, of other motion capture, of a pose estimator's views (`make_views.py`, of
which the rest may be asked by the suite `video`) and of procedural dances; OUTPUT is a new model folder.
"""

import argparse
from pathlib import Path

from tqdm import tqdm

from dancematch.errors import DanceMatchError
from dancematch.model.tokeniser import load_model, save_model
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.training.background import pick_background
from dancematch.training.data.files import find_motion_files, read_motions
from dancematch.types import Motion

KINDS = 4
PER_KIND = 60
FIRST = 20_000  # procedural dances that no test or study asks for


def main() -> None:
    """Read, draw by a fixed seed, and save the model anew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("folders", type=Path, nargs=KINDS - 1, help="AIST++, CMU and views.")
    options = parser.parse_args()
    model = load_model(options.model)
    groups = [read_folder(folder) for folder in options.folders]
    groups.append([perform_dance(FIRST + number) for number in range(PER_KIND)])
    save_model(model, options.output, pick_background(model, groups, count=KINDS * PER_KIND))
    print(f"{options.output}: {model.model_id}")


def read_folder(folder: Path) -> list[Motion]:
    """Every motion below a folder."""
    files = find_motion_files([folder])
    read = tqdm(read_motions(files), f"reading {folder.name}", total=len(files))
    return [motion for _, found in read if not isinstance(found, DanceMatchError) for motion in found]


def perform_dance(number: int) -> Motion:
    """A performance of three eight-counts by a dancer of its own."""
    return perform(compose_dance(number, eight_counts=3), Dancer.random(number))


if __name__ == "__main__":
    main()
