"""Prints numbered lines, unbuffered, to both streams; then waits for a signal."""
import signal
import sys

for number in range(1, int(sys.argv[1]) + 1):
    print(f"python {number}", flush=True)
    print(f"python error {number}", file=sys.stderr, flush=True)
sys.stdout.buffer.write("grüße, python is done\n".encode())
sys.stdout.flush()
signal.pause()
