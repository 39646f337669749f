"""The true skeletons of a pose estimator's views: each view's segment, cut from its source.

    python eval/studies/cut_true_segments.py VIEWS_FOLDER AISTPP_FOLDER OUTPUT_FOLDER

Writes a view_<sequence>.npz beside each one that can be placed in its source, so that
`dancematch eval video --views OUTPUT_FOLDER` says what the search reaches with an estimator
without errors. Views that cannot be located in their source are left out.
"""

import argparse
from pathlib import Path

from tqdm import tqdm

from dancematch import formats
from dancematch.evaluation.suites.retrieval_tasks import VIEW
from dancematch.formats import npz
from dancematch.formats.motion_capture.aist_names import list_sequences
from dancematch.motion import FPS, canonicalise, excerpt
from dancematch.training.data.pairs import find_segment


def main() -> None:
    """Locate every view in its source, and write that segment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("views", type=Path)
    parser.add_argument("aistpp", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    sources = {path.stem: path for path in list_sequences(options.aistpp)}
    options.output.mkdir(parents=True, exist_ok=True)
    for path in tqdm(sorted(options.views.glob(f"{VIEW}*.npz"))):
        name = path.stem.removeprefix(VIEW)
        if name not in sources or (options.output / path.name).exists():
            continue
        seen = canonicalise(formats.read(path)[0])
        source = formats.read(sources[name])[0]
        first = find_segment(seen.joints, canonicalise(source).joints)
        if first is None:
            tqdm.write(f"{path}: cannot be located in its source")
            continue
        end = min(source.seconds, (first + len(seen.joints)) / FPS)
        npz.write(options.output / path.name, [excerpt(source, first / FPS, end)], source={"name": name})


if __name__ == "__main__":
    main()
