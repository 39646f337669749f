#!/bin/sh
# Measure how fast everything is and keep the figures in bench/results.
#   sh bench/run.sh MOTIONS_FOLDER VIDEO...
# MOTIONS_FOLDER: a few recorded dances to render and read back, beside procedural ones.
set -eu
motions=$1
shift
cd "$(dirname "$0")/.."
keep() { sh eval/keep.sh bench/results "$@"; }

sizes="10000 100000 1000000" # a million takes 8 GB of memory and as much on disk
# shellcheck disable=SC2086
keep search .venv/bin/python bench/search.py --queries 30 --entries $sizes
# shellcheck disable=SC2086
keep search-whole .venv/bin/python bench/search.py --words whole --queries 30 --entries $sizes
# shellcheck disable=SC2086
keep opening .venv/bin/python bench/opening.py --entries $sizes
keep recordings .venv/bin/python bench/search.py --entries 9000
keep shortlisted .venv/bin/python bench/shortlisted.py --queries 100
keep metrics .venv/bin/python bench/metrics.py # needs the extra `bench`
keep catalogue .venv/bin/python bench/catalogue.py
keep tokenise .venv/bin/python bench/tokenise.py
keep render .venv/bin/python bench/render.py --json
keep cold .venv/bin/python bench/cold.py --repeats 7 --compile
keep render-check .venv/bin/python bench/render.py --check --json --dances 6 --seed 500 --motions "$motions"
keep pose .venv/bin/python bench/pose.py --json "$@"
keep serve .venv/bin/python bench/serve.py --entries 100000 --seconds 10
keep page .venv/bin/python bench/page.py --repeats 5 # needs Chromium and the extra `dev`
keep scale .venv/bin/python bench/scale.py --entries 50000
# What eval/studies/make_views.py rendered, and the folder of all data sets:
# keep recall .venv/bin/python bench/recall.py DATA VIEWS --tracks 100000 1000000 --cache FOLDER
keep scale-million .venv/bin/python bench/scale.py --entries 1000000 --clips 0
