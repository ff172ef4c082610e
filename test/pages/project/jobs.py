import time

print("waits for jobs", flush=True)
time.sleep(3600)
