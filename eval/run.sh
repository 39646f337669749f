#!/bin/sh
# Measure how well dances are found, keep the figures in eval/results, write the tables and pictures.
#   sh eval/run.sh AISTPP [UNKNOWN [VIEWS [MODEL GENRES [CLIPS [MEDLEYS]]]]]
# AISTPP is a folder in the public layout. UNKNOWN holds motions that it does not have, such as CMU's; VIEWS a
# pose estimator's views of rendered clips (studies/make_views.py), other views than the model was trained on.
# MODEL was trained without GENRES; MEDLEYS is a folder for programmes as videos, which need CLIPS. CLIPS holds videos and an index.csv (README.md). What is not given, or given
# as "", is not measured again. network.sh, folds.sh and ablations.sh measure trained models.
set -eu
data=$1 unknown=${2:-} views=${3:-} model=${4:-} genres=${5:-} clips=${6:-} medleys=${7:-}
if [ -z "$data" ]; then
  echo "say where AIST++ is: make eval AISTPP=FOLDER" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
.venv/bin/python eval/tables.py --check # what is there must be whole before it is replaced
keep() { sh eval/keep.sh eval/results "$@"; }
measure() { # NAME SUITE... OPTIONS...
  name=$1
  shift
  keep "$name" .venv/bin/dancematch eval "$@" --data "$data" --json
}
words="--method stage1 --method two-stage --method kmeans"
ours="--method stage1 --method two-stage --method likelihood --method kmeans"
aist="aist-genre aist-choreography aist-cross-dancer"

measure aist $aist --method stage1 --method two-stage --method brute-force --method paper --method kmeans --method dtw
measure aist-likelihood aist-choreography aist-cross-dancer --method likelihood
measure floor $aist --method kmeans-two-stage --method kmeans-cosine --method kmeans-whole
measure leave-out aist-choreography $words --leave-out 10
measure scale scale $words
measure scale-sample scale --method brute-force --method paper --max-queries 400
measure scale-dtw scale --method dtw --max-queries 200
measure excerpt excerpt $ours --seconds 2 --seconds 5 --seconds 10 --max-queries 400
measure excerpt-strength excerpt $words --strength 0 --strength 0.5 --strength 1 --strength 1.5 \
  --strength 2 --strength 3 --max-queries 200
for fold in LH,PO KR,LO BR,JB,JS; do
  measure "aist-cross-dancer-unseen-$fold" aist-cross-dancer --query-genres "$fold" --refit \
    --method kmeans --method kmeans-whole
done
if [ -n "$views" ]; then measure video video $ours --method kmeans-two-stage --views "$views"; fi
if [ -n "$unknown" ]; then
  measure open-set open-set --unknown "$unknown" ${views:+--views "$views"}
fi
measure medley-motions medley --kind motions ${unknown:+--unknown "$unknown"} --programmes 8
if [ -n "$model" ]; then
  measure unseen $aist --query-genres "$genres" --model "$model" --method kmeans --refit \
    --search histogram --search two-stage
fi
if [ -n "$clips" ]; then
  keep real .venv/bin/dancematch eval real --data "$clips" --distractors "$data" --json
  measure medley-skeletons medley --kind skeletons --clips "$clips" --programmes 8
  if [ -n "$medleys" ]; then
    measure medley-videos medley --kind videos --clips "$clips" --videos "$medleys" --programmes 1
  fi
  keep pooling-real .venv/bin/python eval/studies/pooling.py real "$clips"
fi
keep map .venv/bin/python eval/studies/similarity_map.py "$data"
keep words .venv/bin/python eval/studies/word_quality.py floor floor-whole network ${model:+"$model"} --data "$data"
keep patch-difference-weight .venv/bin/python eval/studies/patch_difference_weight.py "$data"
keep small-catalogues .venv/bin/python eval/studies/small_catalogues.py
keep pooling .venv/bin/python eval/studies/pooling.py aist "$data"
keep twins .venv/bin/python eval/studies/twins.py "$data"
.venv/bin/python eval/tables.py
.venv/bin/python eval/draw_pictures.py
