"""A pool of two processes: on SIGTERM it finishes the jobs under way, and says whether their results came."""
import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor


def job(gate):
    while not os.path.exists(gate):
        time.sleep(0.01)
    return "done"


def main(gate):
    asked = []
    # Children are forked before: they end by SIGTERM, as the workers of every pool.
    with ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(job, gate) for _ in range(2)]
        signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
        print("working", flush=True)
        while not asked:
            time.sleep(0.01)
        print("finishing", flush=True)
        for each in jobs:
            try:
                print(f"result {each.result()}", flush=True)
            except Exception as error:
                print(f"lost {type(error).__name__}", flush=True)
                sys.exit(1)
    print("ended in order", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
