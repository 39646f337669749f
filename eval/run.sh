#!/bin/sh
# Measure how well dances are found and keep the figures in eval/results.
#   sh eval/run.sh AISTPP_FOLDER [MODEL_FOLDER...]
# The models are judged by their words; how well they search is measured by eval/network.sh.
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
keep words .venv/bin/python eval/words.py floor floor-whole "$@" --data "$data"
keep choices .venv/bin/python eval/choices.py "$data"
keep strangers .venv/bin/python eval/strangers.py
keep open-set .venv/bin/python eval/calibration.py "$data"
.venv/bin/python eval/tables.py
