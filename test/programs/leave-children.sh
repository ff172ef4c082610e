#!/bin/sh
# Leaves children in every way of a shell: in the background, below a subshell, in a separate session, ignoring signals.
sleep 1000 &
echo "child $!"
(
  sleep 1000 &
  echo "child $!"
)
setsid sleep 1000 &
echo "child $!"
nohup sh -c 'sleep 1000; true' >/dev/null 2>&1 &
echo "child $!"
sh -c 'trap "" TERM; echo "child $$"; echo "children are up"; while :; do sleep 1; done' &
wait
