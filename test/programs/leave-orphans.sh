# Leaves 20 short-lived orphans to PID 1; each writes a line before it ends.
n=0
while [ $n -lt 20 ]; do
  n=$((n + 1))
  (setsid sh -c "sleep 0.05; echo $n >> orphans.ended" &)
done
exec sleep 1000
