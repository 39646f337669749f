#!/bin/sh
# Keep a command's JSON lines as FOLDER/NAME.jsonl, behind a line that says where they come from.
#   sh eval/keep.sh FOLDER NAME COMMAND...
set -eu
folder=$1
name=$2
shift 2
mkdir -p "$folder"
.venv/bin/python eval/header.py "$@" >"$folder/$name.part"
"$@" >>"$folder/$name.part"
mv "$folder/$name.part" "$folder/$name.jsonl"
echo "$folder/$name.jsonl"
