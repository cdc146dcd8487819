# Python's requests: a session on a kept connection for each thread, as many threads as requests in flight.
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import requests

url, in_flight, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
headers = {"Authorization": "Bearer a-token", "Accept": "application/json"}


def worker(share):
    with requests.Session() as session:
        session.trust_env = False
        for _ in range(share):
            reply = session.get(url, headers=headers)
            assert reply.status_code == 200 and reply.json()["count"] == 8


worker(1)
print("begun", flush=True)
before = time.process_time()
with ThreadPoolExecutor(in_flight) as pool:
    list(pool.map(worker, [count // in_flight] * in_flight))
done = count // in_flight * in_flight
print("%.9f" % ((time.process_time() - before) / done))
