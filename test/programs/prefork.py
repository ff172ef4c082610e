"""A prefork master on PROCMAN_CLUSTER_PORT: on SIGTERM it asks its two workers through a pipe to finish, and awaits them. A third child ignores that."""
import os
import select
import signal
import socket
import time


def say(line):
    """In one write: those of several processes don't mix."""
    os.write(1, f"{line}\n".encode())


def worker(listener, read, number):
    while read not in (ready := select.select([read, listener], [], [])[0]):
        if listener in ready:
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                pass
    time.sleep(0.05)
    say(f"worker {number} ended in order")
    os._exit(0)


def main():
    listener = socket.create_server(("127.0.0.1", int(os.environ["PROCMAN_CLUSTER_PORT"])), backlog=100)
    listener.setblocking(False)
    read, write = os.pipe()
    pids = []
    for number in (1, 2):
        pid = os.fork()
        if pid == 0:
            worker(listener, read, number)
        pids.append(pid)
    left = os.fork()
    if left == 0:
        listener.close()
        signal.pause()
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    say(f"workers are up, beside {left}")
    while not asked:
        time.sleep(0.01)
    os.write(write, b"ee")
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    say(f"master: workers ended with {codes}")


if __name__ == "__main__":
    main()
