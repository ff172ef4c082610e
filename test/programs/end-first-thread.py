"""Ends its first thread, so that it looks like a zombie while another thread goes on: `end-first-thread.py LOCK STARTS`."""
import ctypes
import fcntl
import os
import sys
import threading
import time

lock = open(sys.argv[1], "w")
with open(sys.argv[2], "a") as starts:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        starts.write(f"{os.getpid()}\n")
    except BlockingIOError:
        starts.write(f"{os.getpid()} is a second copy\n")
threading.Thread(target=lambda: time.sleep(1000)).start()
ctypes.CDLL(None).pthread_exit(None)
