"""Write eval/README.md's tables from eval/results, or check that they match (--check)."""

import sys
from pathlib import Path

import study_tables as studies
import suite_tables as suites
from result_files import read_results, source_line

PAGE = Path(__file__).parent / "README.md"
MARK = "<!-- tables: written by eval/tables.py from eval/results -->"


def make_tables() -> str:
    """All tables and pictures, as Markdown."""
    shown = f"{read_results('map')[0]['shown']:.0%} of the variance between clips lies in this plane."
    files = (*suites.FILES, "leave-out", "unseen", "excerpt", "excerpt-strength", "video", "open-set", "map")
    lines = [
        *(line for suite in suites.SUITES for line in suites.suite_table(suite)),
        *suites.scale_parts(),
        *suites.leave_out_table(),
        *suites.unseen_table(),
        *suites.folds_table(),
        *suites.likelihood_folds_table(),
        "![rank distribution](pictures/ranks.png) ![confusion between genres](pictures/confusion.png)\n",
        *suites.excerpt_table(),
        "![accuracy against excerpt length](pictures/length.png)\n",
        *suites.strength_table(),
        "![accuracy against strength of change](pictures/strength.png)\n",
        *suites.video_table(),
        *suites.benchmark_table(),
        *suites.real_tables(),
        *suites.medley_tables(),
        *studies.calibration_table(),
        *studies.same_performance_table(),
        *suites.open_set_table(),
        "![accepted against the E-value](pictures/calibration.png)\n",
        "![2-D map of the catalogue](pictures/map.png)\n",
        f"Stage one's similarity as a map: {shown}\n",
        *map(source_line, files),
        "\n## Further figures\n",
        *suites.network_table(),
        *studies.misses_by_dancer_line(),
        *suites.floor_unseen_table(),
        *studies.ablations_table(),
        *studies.word_features_table(),
        *studies.real_folds_table(),
        *studies.learning_curve_table(),
        *suites.movement_folds_table(),
        *studies.word_quality_table(),
        *studies.camera_angles_table(),
        *studies.small_catalogues_table(),
        *studies.pooling_tables(),
        *studies.compare_pairs_table(),
        *studies.tempo_tables(),
        *studies.diff_table(),
        *studies.twins_line(),
        *studies.patch_difference_table(),
    ]
    return "\n".join(lines)


def main() -> None:
    """Put the tables behind the mark in the README."""
    try:
        text = PAGE.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n\n" + make_tables()
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing; 'make eval' measures it")
    if "--check" in sys.argv[1:]:
        if text != PAGE.read_text(encoding="utf-8"):
            sys.exit("eval/README.md does not match eval/results; run python eval/tables.py")
        return
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
