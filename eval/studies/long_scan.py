"""Memory of a long scan: programmes of the suite medley, one after the other, as one video of hours.

    python eval/studies/long_scan.py CATALOGUE OUTPUT.mp4 PROGRAMMES.mp4 ... [--hours 3]

Joins the videos that `dancematch eval medley --videos FOLDER` made, again and again, without encoding them
anew, and scans the result in a process of its own. One JSON object: hours, peak memory, real-time
factor, share of the searches, segments found. A video that is there is not made again.
"""

import argparse
import json
from itertools import cycle
from pathlib import Path

import av

from dancematch.evaluation.medley.scanning import scan_apart
from dancematch.pose.video import probe


def join_videos(files: list[Path], seconds: float, target: Path) -> None:
    """Write the packets of videos of one size and codec, file after file, until it is long enough."""
    unfinished = target.with_name(f".{target.name}.part")
    now = 0.0
    with av.open(str(unfinished), "w", format="mp4") as output:
        stream = None
        for file in cycle(files):
            with av.open(str(file)) as source:
                own = source.streams.video[0]
                stream = stream or output.add_stream_from_template(own)
                shift = round(now / own.time_base)
                for packet in source.demux(own):
                    if packet.dts is None:
                        continue
                    packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                    packet.stream = stream
                    output.mux(packet)
                now += float(own.duration * own.time_base)
            if now >= seconds:
                break
    unfinished.rename(target)


def main() -> None:
    """Join, scan, and say what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("catalogue", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("programmes", type=Path, nargs="+")
    parser.add_argument("--hours", type=float, default=3.0)
    arguments = parser.parse_args()
    if not arguments.output.exists():
        join_videos(arguments.programmes, 3600 * arguments.hours, arguments.output)
    seconds = probe(arguments.output).seconds
    outcome = scan_apart(arguments.catalogue, arguments.output)
    cost = outcome.cost
    print(json.dumps({
        "study": "long scan", "hours": round(seconds / 3600, 3),
        "peak_megabytes": round((cost.peak_bytes or 0) / 1e6, 1),
        "realtime_factor": round(cost.seconds / seconds, 4),
        "cpu_factor": round(cost.cpu_seconds / seconds, 4),
        "search_share": round(cost.search_seconds / cost.seconds, 4), "segments": len(outcome.found),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
