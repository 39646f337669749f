#!/bin/sh
# What each choice of the network is worth, on two genres that nothing was trained on (KR, LO).
#   sh eval/ablations.sh AISTPP_FOLDER VIEWS_FOLDER RUNS_FOLDER
# PO and LH are left out as well: they are kept for the figures that are reported. Each run is short,
# 80 steps, so that all fit into an hour; figures compare with each other, not with the shipped model's.
set -eu
data=$1 views=$2 runs=$3
cd "$(dirname "$0")/.."
mkdir -p "$runs"
: >"$runs/results.jsonl"

measure() { # MODEL NAME
  .venv/bin/dancematch eval aist-cross-dancer --data "$data" --query-genres KR,LO --json --model "$1" |
    sed "s/^{/{\"choice\": \"$2\", /" >>"$runs/results.jsonl"
}

try() { # NAME TABLE KEY=VALUE...
  name=$1 table=$2
  shift 2
  printf '[%s]\n' "$table" >"$runs/$name.toml"
  for change in "$@"; do echo "$change" >>"$runs/$name.toml"; done
  .venv/bin/dancematch train "$data" "$views" -o "$runs/$name" --without-genres KR,LO,PO,LH \
    --config "$runs/$name.toml" --steps "$steps"
  measure "$runs/$name/model" "$name"
}

for layout in parts7 parts14; do
  .venv/bin/dancematch train "$data" "$views" -o "$runs/kmeans-$layout" --without-genres KR,LO,PO,LH \
    --tokeniser kmeans --layout $layout
  measure "$runs/kmeans-$layout" "kmeans-$layout"
done
steps=1
try discriminant-only training
steps=80
try default training
try seven-parts network 'layout = "parts7"'
try joints-look-at-all-joints network "limbs_apart = false"
try limbs-from-the-pelvis network "hung = false"
try random-heads training 'heads = "random"' "encoder_rate = 1.0"
try no-other-dancers training "share_itself = 1.0"
try no-contrast weights "contrastive = 0.0"
try swapped-prediction weights "swapped = 0.3"
try descriptor weights "descriptor = 0.3"
try codebook-attention network "codebook_attention = true"
try unbalanced-commitment training "balanced_commitment = false"
try no-warm-up training "warm_up = 0.0" "blend_in = 0.0"
cat "$runs/results.jsonl"
