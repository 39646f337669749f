#!/bin/sh
# Measure how well dances are found and keep the figures in eval/results.
#   sh eval/run.sh AISTPP_FOLDER [MODEL_FOLDER...]
# The shipped models, and further ones by their words. Three more scripts need more than AIST++:
# network.sh (a model trained without some genres), search.sh (strangers, rendered views), real.py (real clips).
set -eu
data=$1
shift
cd "$(dirname "$0")/.."
keep() { sh eval/keep.sh eval/results "$@"; }

words="--method kmeans --method kmeans-cosine --method kmeans-whole"
keep aist-genre .venv/bin/dancematch eval aist-genre --data "$data" --json $words
keep aist-cross-dancer .venv/bin/dancematch eval aist-cross-dancer --data "$data" --json
for genres in LH,PO KR,LO BR,JB,JS; do
  keep "aist-cross-dancer-unseen-$genres" \
    .venv/bin/dancematch eval aist-cross-dancer --data "$data" --query-genres "$genres" --refit --json \
    --method kmeans --method kmeans-whole
done
keep network-genre-seen .venv/bin/dancematch eval aist-genre --data "$data" --json --model network
keep network-cross-dancer-seen \
  .venv/bin/dancematch eval aist-cross-dancer --data "$data" --json --model network
keep words .venv/bin/python eval/words.py floor floor-whole network "$@" --data "$data"
keep choices .venv/bin/python eval/choices.py "$data"
keep strangers .venv/bin/python eval/strangers.py
keep open-set .venv/bin/python eval/calibration.py "$data"
.venv/bin/python eval/tables.py
