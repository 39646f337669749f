#!/bin/sh
# Measure how fast everything is and keep the figures in bench/results.
#   sh bench/run.sh MOTIONS_FOLDER VIDEO...
# MOTIONS_FOLDER: a few recorded dances to render and read back, beside procedural ones.
set -eu
motions=$1
shift
cd "$(dirname "$0")/.."
out=bench/results
mkdir -p "$out"

keep() { # keep NAME COMMAND...: the command's JSON lines, behind a line that says where they come from
  name=$1
  shift
  .venv/bin/python eval/header.py "$@" >"$out/$name.part"
  "$@" >>"$out/$name.part"
  mv "$out/$name.part" "$out/$name.jsonl"
  echo "$out/$name.jsonl"
}

keep search .venv/bin/python bench/search.py
keep render .venv/bin/python bench/render.py --json
keep render-check .venv/bin/python bench/render.py --check --json --dances 6 --seed 500 --motions "$motions"
keep pose .venv/bin/python bench/pose.py --json "$@"
