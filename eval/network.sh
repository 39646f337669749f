#!/bin/sh
# Measure a trained model against the floor on genres that it has not seen; the figures go to eval/results.
#   sh eval/network.sh AISTPP_FOLDER GENRES MODEL_FOLDER [VIEWS_FOLDER]
# GENRES, such as LH,PO, are those that the model was trained without; the views must be others than it saw:
#   dancematch train AISTPP CMU VIEWS -o runs/without-LH-PO --without-genres LH,PO
#   python eval/studies/make_views.py LH_AND_PO_FOLDER TEST_VIEWS --count 60 --seed 1
#   sh eval/network.sh AISTPP LH,PO runs/without-LH-PO/model TEST_VIEWS
set -eu
data=$1
genres=$2
model=$3
views=${4:-}
cd "$(dirname "$0")/.."
measure() {
  name=$1
  suite=$2
  shift 2
  sh eval/keep.sh eval/results "network-$name" .venv/bin/dancematch eval "$suite" --data "$data" \
    --query-genres "$genres" --model "$model" --method kmeans --refit --json "$@"
}

measure "cross-dancer-$genres" aist-cross-dancer --method kmeans-whole --method dtw --method late-interaction
measure "cross-dancer-$genres-order" aist-cross-dancer --search two-stage
measure "cross-dancer-$genres-query" aist-cross-dancer --phases 2 --soft
measure "genre-$genres" aist-genre
measure "excerpt-$genres" excerpt
if [ -n "$views" ]; then
  temporary=$(mktemp -d)
  segments=$temporary/true-skeletons # the results name the last part of a path
  .venv/bin/python eval/studies/cut_true_segments.py "$views" "$data" "$segments"
  measure "video-$genres" video --views "$views"
  measure "video-$genres-order" video --views "$views" --search two-stage
  measure "video-$genres-true" video --views "$segments"
  rm -r "$temporary"
fi
sh eval/keep.sh eval/results misses-by-dancer \
  .venv/bin/python eval/studies/misses_by_dancer.py "$data" --model "$model" --query-genres "$genres"
.venv/bin/python eval/tables.py
