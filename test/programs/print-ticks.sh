#!/bin/sh
# Prints a numbered line twenty times a second: `print-ticks.sh NAME`.
tick=0
while :; do
  tick=$((tick + 1))
  echo "$1 $tick"
  sleep 0.05
done
