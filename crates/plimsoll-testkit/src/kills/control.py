"""Makes a program read its configuration, and returns when it runs with it.

The number that the configuration has must be that of the running program: an earlier request that is still under way is
not taken for this one.
"""
import json
import os
import re
import signal
import socket
import sys
import time
import urllib.request

PAUSE = 0.02


def haproxy(configuration, admin, pid):
    wanted = re.search(r"server app .* maxconn (\d+)", open(configuration).read()).group(1)
    before = worker(admin)
    os.kill(int(pid), signal.SIGUSR2)
    while worker(admin) in (None, before) or limit(admin) != wanted:
        time.sleep(PAUSE)


def told(admin, command):
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(admin)
            client.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: client.recv(4096), b"")).decode()
    except OSError:
        return ""


def worker(admin):
    found = re.search(r"^Pid: (\d+)", told(admin, "show info"), re.M)
    return found and found.group(1)


def limit(admin):
    rows = [line.split(",") for line in told(admin, "show stat").splitlines()]
    slim = rows[0].index("slim") if rows else 0
    return next((row[slim] for row in rows if row[:2] == ["app", "app"]), None)


def puma_ready(configuration, control, before=None):
    """Its worker has told its threads, which it does some time after it listens."""
    wanted = re.search(r"threads (\d+)", open(configuration).read()).group(1)
    while started(control) in (None, before) or threads(control) != int(wanted):
        time.sleep(PAUSE)


def puma(configuration, control, pid_file):
    before = started(control)
    try:
        os.kill(int(open(pid_file).read()), signal.SIGTERM)
    except (OSError, ValueError):
        pass
    puma_ready(configuration, control, before)


def stats(control):
    try:
        with urllib.request.urlopen(control, timeout=2) as response:
            return json.load(response)
    except (OSError, ValueError):
        return {}


def started(control):
    return stats(control).get("started_at")


def threads(control):
    workers = stats(control).get("worker_status", [])
    return next((it["last_status"].get("max_threads") for it in workers), None)


{"haproxy": haproxy, "puma": puma, "puma_ready": puma_ready}[sys.argv[1]](*sys.argv[2:])
