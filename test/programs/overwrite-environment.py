"""Overwrites its environment, as programs do that write a title: `overwrite-environment.py STARTS`."""
import ctypes
import os
import signal
import sys

variables = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
addresses = ctypes.cast(variables, ctypes.POINTER(ctypes.c_void_p))
index = 0
while addresses[index]:
    address = addresses[index]
    ctypes.memset(address, 32, len(ctypes.string_at(address)))
    index += 1
with open(sys.argv[1], "a") as starts:
    starts.write(f"{os.getpid()}\n")
signal.pause()
