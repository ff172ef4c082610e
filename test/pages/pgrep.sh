#!/bin/sh
# pgrep and pkill of tests of pages: as `-f PATTERN`, but only for processes that were started in this folder.
name=$(basename "$0")
signal=
for pattern; do case $pattern in -[0-9]*) signal=$pattern ;; esac; done
here=$(cd "$(dirname "$0")/.." && pwd)
for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  [ "$pid" != $$ ] && tr '\0' '\n' <"$folder/environ" | grep -qxF "PWD=$here" || continue
  tr '\0' ' ' <"$folder/cmdline" 2>/dev/null | grep -q -- "$pattern" || continue
  case $name in pgrep) echo "$pid" ;; pkill) kill $signal "$pid" ;; esac
done 2>/dev/null
