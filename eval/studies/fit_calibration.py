"""Fit the calibration of likelihood ratios: from pairs of recordings to search/confidence/calibration.json.

    python eval/studies/fit_calibration.py CLIPS AISTPP_FOLDER [--skeletons FOLDER] [--people FOLDER]
        [--plot FILE] [--write]

CLIPS is a folder with an index.csv, as for `dancematch eval real`. Every dancer of it, and some basic clips
of AIST++, are scored against every recording of both but copies of their own performance; the genres LH and
PO are held out of all choices. The scores of words and synchrony are added by fixed weights (`WEIGHTS`,
relative to synchrony's: chosen once on these pairs so that real dances are separated and AIST++ is ranked
well); a logistic regression of two parameters turns the sum into log likelihood ratios. People, game
characters and AIST++ have fixed shares, within them every dance the same. Prints JSON lines: quality
cross-validated by real dance and AIST++ genre, for each basis and ablation.

With --people (`people_motions.py`) short motions by several people are scored too, each set against itself:
by the shipped calibration, which never saw them, and by fits in which they have a share.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from people_motions import PersonMotion, load_people
from tqdm import tqdm

from dancematch.evaluation.measures.likelihood_ratios import cllr, cllr_min, equal_error_rate
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.evaluation.real.clip_index import IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_distractors, load_recordings
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.search.confidence import verdict
from dancematch.search.engine import Engine, Query
from dancematch.search.stage2.ranking import VariantScores
from dancematch.types import Fingerprint

WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "both": {"synchrony": 1.0, "histogram": 20.0, "order": 5.0, "tempo": -2.0},
    "words": {"histogram": 20.0, "order": 10.0},
    "synchrony": {"synchrony": 1.0, "tempo": -2.0},
    # Ablations, which are measured and not shipped.
    "without amount": {"synchrony": 1.0, "all of histogram": 20.0, "all of order": 5.0, "tempo": -2.0},
    "without cohort": {"strength": 5.0, "plain histogram": 20.0, "plain order": 5.0, "tempo": -2.0},
}
SHIPPED = ("both", "words", "synchrony")
SHARES = {"people": 0.54, "game characters": 0.36, "aist": 0.10}  # of what each kind of pairs counts
HELD_OUT_GENRES = ("LH", "PO")
AIST_QUERIES = 240
PEOPLE_QUERIES = 240  # of each set
PEOPLE_SHARES = (0.0, 0.05, 0.1, 0.2)  # that are tried, of all three sets together
REAL = ("people", "game characters", "unknown")  # parts of the clips
BOUNDS = (-4.0, 8.0)  # log10
TARGET = Path(__file__).parents[2] / "src" / "dancematch" / "search" / "confidence" / "calibration.json"


@dataclass(frozen=True)
class CalibrationQuery:
    """One dancer of a recording that is a query, and which recordings are copies of it or the same dance."""

    recording: MotionRecording
    part: str  # people, game characters, aist, or unknown
    copies: frozenset[str]
    same: frozenset[str]


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of recordings: [pairs] each."""

    evidence: Mapping[str, np.ndarray]
    same: np.ndarray
    part: np.ndarray
    dance: np.ndarray

    def score(self, basis: str, chosen: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The weighted sum of a basis."""
        return sum(weight * self.evidence[name][chosen] for name, weight in WEIGHTS[basis].items())


def main() -> None:
    """Score all pairs, fit, print, and write if asked to."""
    options = parse_options()
    clips = read_index(options.clips)
    real = load_recordings(options.clips, clips, options.skeletons, jobs=2)
    aist = [one for one in load_distractors(options.aistpp) if genre_of(one.dance_id) not in HELD_OUT_GENRES]
    pairs = score_pairs([*real, *aist], [*ask_real(clips, real), *ask_aist(aist)])
    fits = {}
    for basis in WEIGHTS:
        fits[basis] = fit(pairs, basis, np.ones(len(pairs.same), bool))
        ratios = cross_validate(pairs, basis)
        if basis == "both" and options.plot:
            draw(pairs, ratios, options.plot)
        for part, figures in describe(pairs, ratios).items():
            print(json.dumps({"basis": basis, "part": part, **figures}), flush=True)
    if options.people:
        measure_people(pairs, load_people(options.people))
    if options.write:
        write(fits, pairs)


def parse_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("aistpp", type=Path)
    parser.add_argument("--skeletons", type=Path)
    parser.add_argument("--people", type=Path, help="A folder of short motions by several people.")
    parser.add_argument("--plot", type=Path, help="Draw Tippett and reliability plots: a .png file.")
    parser.add_argument("--write", action="store_true", help="Replace the shipped calibration.")
    return parser.parse_args()


def measure_people(pairs: ScoredPairs, sets: Mapping[str, Sequence[PersonMotion]]) -> None:
    """Print each set by the shipped calibration; then everything by fits in which the sets have a share."""
    own = {name: score_pairs([one.recording for one in s], ask_people(name, s)) for name, s in sets.items()}
    shipped = verdict.shipped_calibration()
    for name, scored in own.items():
        ratios = shipped.log_ratios(scored.evidence)
        line = {"check": "people", "calibration": "shipped", **describe(scored, ratios)[name]}
        print(json.dumps({**line, "part": name}), flush=True)
    every = join([pairs, *own.values()])
    for share in PEOPLE_SHARES:
        shares = {name: (1 - share) * old for name, old in SHARES.items()}
        shares |= {name: share / len(own) for name in own}
        ratios = cross_validate(every, "both", shares)
        for part, figures in describe(every, ratios).items():
            print(json.dumps({"check": "people", "share": share, "part": part, **figures}), flush=True)


def ask_real(clips: Sequence[IndexedClip], recordings: Sequence[MotionRecording]) -> list[CalibrationQuery]:
    """Every clip as a query."""
    by_id = {one.recording_id: one for one in recordings}
    return [
        CalibrationQuery(
            by_id[clip.file], clip.part,
            frozenset(other.file for other in clips if other.is_copy_of(clip) or
                      (clip.kind != "dance" and other.dance == clip.dance)),
            frozenset(other.file for other in clips if clip.kind == "dance" and other.dance == clip.dance),
        )
        for clip in clips
    ]  # fmt: skip


def ask_aist(recordings: Sequence[MotionRecording]) -> list[CalibrationQuery]:
    """Some basic clips; other recordings by the same dancer are neither the same nor another dance."""
    basic = [one for one in recordings if "/BM/" in one.recording_id]
    chosen = np.random.default_rng(0).permutation(len(basic))[:AIST_QUERIES]
    asked = []
    for one in (basic[place] for place in sorted(chosen.tolist())):
        same = [other for other in recordings if other.dance_id == one.dance_id]
        own = frozenset(other.recording_id for other in same if _dancer(other) == _dancer(one))
        asked.append(CalibrationQuery(one, "aist", own, frozenset(other.recording_id for other in same)))
    return asked


def ask_people(name: str, performed: Sequence[PersonMotion]) -> list[CalibrationQuery]:
    """Some of a set; the same person's, and what differs in side or effort alone, is left out."""
    chosen = np.random.default_rng(0).permutation(len(performed))[:PEOPLE_QUERIES]
    asked = []
    for one in (performed[place] for place in sorted(chosen.tolist())):
        motion = one.recording.dance_id
        alike = [other for other in performed if other.family == one.family]
        same = frozenset(
            other.recording.recording_id for other in alike if other.recording.dance_id == motion
        )
        copies = frozenset(
            other.recording.recording_id
            for other in alike
            if other.person == one.person or other.recording.dance_id != motion
        )
        asked.append(CalibrationQuery(one.recording, name, copies, same))
    return asked


def genre_of(dance_id: str) -> str:
    """The genre of an AIST++ dance."""
    return dance_id.split("/")[1]


def _dancer(recording: MotionRecording) -> str:
    return recording.recording_id.split("/")[-2]


def score_pairs(recordings: Sequence[MotionRecording], asked: Sequence[CalibrationQuery]) -> ScoredPairs:
    """The scores of each pair, by the variant and track with the highest sum."""
    model = load_model()
    known = [(one.recording_id, model.fingerprint(m)) for one in recordings for m in one.motions]
    engine = Engine(model.codebook, known, background=load_background(model))
    names = np.array([name for name, _ in known])
    rows: list[dict[str, np.ndarray]] = []
    facts: list[tuple[bool, str, str]] = []
    for one in tqdm(asked, desc="queries"):
        for motion in one.recording.motions:
            variants = [model.fingerprint(motion), model.fingerprint(mirror(motion))]
            kept = np.flatnonzero(~np.isin(names, list(one.copies)))
            kept, evidence = _best(engine, variants, names, kept)
            rows.append(evidence)
            same = np.isin(names[kept], list(one.same))
            facts += [(bool(flag), one.part, one.recording.dance_id) for flag in same]
    evidence = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
    same, part, dance = map(np.array, zip(*facts, strict=True))
    return ScoredPairs(evidence, same, part, dance)


def join(several: Sequence[ScoredPairs]) -> ScoredPairs:
    """All pairs in one set."""
    return ScoredPairs(
        {name: np.concatenate([one.evidence[name] for one in several]) for name in several[0].evidence},
        *(np.concatenate([getattr(one, name) for one in several]) for name in ("same", "part", "dance")),
    )


def _best(
    engine: Engine, variants: Sequence[Fingerprint], names: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The best track of each recording, by its best variant."""
    asked = [Query(one) for one in variants]
    scored = [_evidence(one) for one in engine.score_tracks(asked, np.arange(len(names)))]
    sums = np.stack([sum(w * one[name] for name, w in WEIGHTS["both"].items()) for one in scored])
    variant = sums.argmax(axis=0)
    order = kept[np.argsort(-sums.max(axis=0)[kept], kind="stable")]
    _, firsts = np.unique(names[order], return_index=True)
    chosen = order[firsts]
    picked = {
        name: np.stack([one[name] for one in scored])[variant, np.arange(len(names))][chosen]
        for name in scored[0]
    }
    return chosen, picked


def _evidence(scored: VariantScores) -> dict[str, np.ndarray]:
    """The scores that are shipped, and those of the ablations."""
    parts = scored.words.parts
    relative = scored.null.normalise(parts["histogram"], parts["order"], scored.synchrony.strengths)
    return {
        **scored.evidence,
        "all of histogram": relative["histogram"],
        "all of order": relative["order"],
        "plain histogram": parts["histogram"],
        "plain order": parts["order"],
        "strength": scored.synchrony.strengths,
    }


def fit(
    pairs: ScoredPairs, basis: str, chosen: np.ndarray, shares: Mapping[str, float] = SHARES
) -> tuple[float, float]:
    """Intercept and scale of a weighted logistic regression, by Newton's method."""
    score, same = pairs.score(basis, chosen), pairs.same[chosen]
    weights = _weights(pairs, chosen, shares)
    columns, beta = np.stack([np.ones_like(score), score], axis=1), np.array([-3.0, 0.5])
    for _ in range(100):
        odds = 1 / (1 + np.exp(-np.clip(columns @ beta, -50, 50)))
        slope = columns.T @ (weights * (same - odds))
        bend = (columns * (weights * odds * (1 - odds))[:, None]).T @ columns + 1e-9 * np.eye(2)
        step = np.linalg.solve(bend, slope)
        beta = beta + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-8:
            break
    return float(beta[0]), float(beta[1])


def _weights(pairs: ScoredPairs, chosen: np.ndarray, shares: Mapping[str, float]) -> np.ndarray:
    """The weight of each pair: same and different sum to one each, parts have shares, dances are equal.

    Different pairs of real clips, of whatever part, have the shares of people and game characters together.
    """
    same, part = pairs.same[chosen], pairs.part[chosen]
    places = np.arange(len(pairs.same))[chosen]
    weights = np.zeros(len(same))
    for name, share in shares.items():
        own = same & (part == name)
        _, dance, counts = np.unique(pairs.dance[places[own]], return_inverse=True, return_counts=True)
        weights[own] = share / max(1, len(counts)) / counts[dance]
        members = ~same & (part == name)
        if name not in REAL and members.any():
            weights[members] = share / members.sum()
    members = ~same & np.isin(part, REAL)
    weights[members] = sum(shares[name] for name in REAL if name in shares) / members.sum()
    return weights


def cross_validate(pairs: ScoredPairs, basis: str, shares: Mapping[str, float] = SHARES) -> np.ndarray:
    """Log10 ratios, those of each real dance, genre of AIST++ or set of people by a fit without it.

    Clips of no known dance are in every fit: they have no same pairs, and are many.
    """
    folds = np.array([_fold(*one) for one in zip(pairs.part.tolist(), pairs.dance.tolist(), strict=True)])
    intercept, scale = fit(pairs, basis, np.ones(len(folds), bool), shares)
    ratios = intercept + scale * pairs.score(basis)
    for fold in np.unique(folds[folds != "unknown"]):
        own = folds == fold
        intercept, scale = fit(pairs, basis, ~own, shares)
        ratios[own] = intercept + scale * pairs.score(basis, own)
    return np.clip(ratios / np.log(10), *BOUNDS)


def _fold(part: str, dance: str) -> str:
    if part == "aist":
        return genre_of(dance)
    return dance if part in ("people", "game characters") else part


def describe(pairs: ScoredPairs, ratios: np.ndarray) -> dict[str, dict[str, object]]:
    """Quality of the ratios on real clips, on AIST++, and on each set of people."""
    result = {}
    parts = np.where(np.isin(pairs.part, REAL), "real", pairs.part)
    for name in dict.fromkeys(parts.tolist()):
        own = parts == name
        same, different = ratios[own & pairs.same], ratios[own & ~pairs.same]
        result[name] = {
            "same": len(same), "different": len(different),
            "cllr": round(cllr(same, different), 4), "cllr_min": round(cllr_min(same, different), 4),
            "equal_error_rate": round(equal_error_rate(same, different), 4),
            "different_beyond": {  # at most 1 for ratios that are what they say
                str(x): round(float((different >= x).mean() * 10**x), 4) for x in (1, 2, 3, 4, 5)
            },
            "largest_different": round(float(different.max()), 2),
            "quantiles_same": [round(float(q), 2) for q in np.quantile(same, (0, 0.05, 0.25, 0.5, 0.75))],
        }  # fmt: skip
    return result


def draw(pairs: ScoredPairs, ratios: np.ndarray, path: Path) -> None:
    """Tippett plots (which share of pairs has at least a ratio) and reliability (how often it is right)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for name, own, colour in (
        ("real clips", pairs.part != "aist", "C0"),
        ("AIST++", pairs.part == "aist", "C1"),
    ):
        for flags, style in ((pairs.same, "-"), (~pairs.same, "--")):
            values = np.sort(ratios[own & flags])
            share = 1 - np.arange(len(values)) / len(values)
            kind = "one dance" if style == "-" else "two dances"
            axes[0].plot(values, share, style, color=colour, label=f"{name}, {kind}")
        same, different = ratios[own & pairs.same], ratios[own & ~pairs.same]
        edges = np.arange(-4, 8.5, 1.0)
        ones, others = (np.histogram(kind, edges)[0] / len(kind) for kind in (same, different))
        known = (ones > 0) & (others > 0)
        middle = (edges[:-1] + edges[1:]) / 2
        axes[1].plot(middle[known], np.log10(ones[known] / others[known]), "o-", color=colour, label=name)
    axes[0].set(xlabel="log10 likelihood ratio", ylabel="share of pairs with at least it", ylim=(0, 1.02))
    axes[1].plot([-4, 8], [-4, 8], ":", color="grey", label="as stated")
    axes[1].set(xlabel="log10 likelihood ratio, stated", ylabel="found in the pairs")
    for axis in axes:
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def write(fits: Mapping[str, tuple[float, float]], pairs: ScoredPairs) -> None:
    """Replace the shipped calibration."""
    found = {
        basis: {
            "intercept": round(fits[basis][0], 4),
            "weights": {name: round(fits[basis][1] * w, 4) for name, w in WEIGHTS[basis].items()},
        }
        for basis in SHIPPED
    }
    counts = {
        part: [
            int((pairs.same & (pairs.part == part)).sum()),
            int((~pairs.same & (pairs.part == part)).sum()),
        ]
        for part in np.unique(pairs.part).tolist()
    }
    source = {
        "command": "eval/studies/fit_calibration.py",
        "model_id": load_model().model_id,
        "pairs": counts,
    }
    made = {"format": verdict.FORMAT, "bounds": list(BOUNDS), "fits": found, "source": source}
    TARGET.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
