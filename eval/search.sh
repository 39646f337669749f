#!/bin/sh
# Measure the shipped model's search: both stages, places, strangers; the figures go to eval/results.
#   sh eval/search.sh AISTPP_FOLDER STRANGERS_FOLDER [VIEWS_FOLDER]
# STRANGERS are motions that AIST++ does not have, such as CMU's; VIEWS must be others than the model saw.
set -eu
data=$1
strangers=$2
views=${3:-}
cd "$(dirname "$0")/.."
keep() { sh eval/keep.sh eval/results "$@"; }
both() { # NAME SUITE OPTIONS...: by histogram and in two stages
  name=$1 suite=$2
  shift 2
  keep "search-$name" .venv/bin/dancematch eval "$suite" --data "$data" --model network --json "$@"
  keep "search-$name-order" \
    .venv/bin/dancematch eval "$suite" --data "$data" --model network --search two-stage --json "$@"
}

both cross-dancer aist-cross-dancer
for search in brute-force paper; do
  keep "search-cross-dancer-$search" \
    .venv/bin/dancematch eval aist-cross-dancer --data "$data" --model network --search $search --json
done
both genre aist-genre
both excerpt excerpt --max-queries 300
if [ -n "$views" ]; then both video video --views "$views"; fi
keep places .venv/bin/python eval/places.py "$data" --seed 3
keep open-set-strangers .venv/bin/python eval/open_set.py "$data" "$strangers" ${views:+--views "$views"} \
  --seed 5 --plot eval/calibration.png
.venv/bin/python eval/tables.py
