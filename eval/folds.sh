#!/bin/sh
# Every genre never seen once: networks trained without each group of genres, on that group; to eval/results.
#   dancematch train AISTPP CMU VIEWS -o runs/without-KR-LO --without-genres KR,LO    (and so on)
#   sh eval/folds.sh AISTPP_FOLDER RUNS_FOLDER
# LH and PO are measured by run.sh.
set -eu
data=$1
runs=$2
cd "$(dirname "$0")/.."
for genres in KR,LO BR,JB,JS; do
  sh eval/keep.sh eval/results "unseen-$genres" .venv/bin/dancematch eval aist-cross-dancer --data "$data" --json \
    --query-genres "$genres" --model "$runs/without-$(echo "$genres" | tr , -)/model" --method kmeans --refit \
    --search histogram --search two-stage
done
# By likelihood ratio, as `search` ranks: the network alone, since a refitted floor brings no cohort.
for genres in LH,PO KR,LO BR,JB,JS; do
  sh eval/keep.sh eval/results "unseen-likelihood-$genres" .venv/bin/dancematch eval aist-cross-dancer --data "$data" --json \
    --query-genres "$genres" --model "$runs/without-$(echo "$genres" | tr , -)/model" \
    --search histogram --search two-stage --search likelihood
done
.venv/bin/python eval/tables.py
