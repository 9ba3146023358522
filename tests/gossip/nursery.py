"""A warm process that forks node processes, so that twenty of them need not import everything twenty times.

Reads one JSON line per node to start: {"argv": [...], "log": file, "code": file}; answers with its process id. Each
child runs the console command just as the script would, and writes its exit code before it ends.
"""

import asyncio  # noqa: F401
import encodings.idna  # noqa: F401
import json
import os
import signal
import ssl  # noqa: F401
import sys

import duckdb  # noqa: F401
import opendp.measurements  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow.parquet  # noqa: F401
import rich.progress
import rich.table  # noqa: F401

import discreet.cli
import discreet.cli.gossip
import discreet.gossip.keys
import discreet.gossip.result
import discreet.gossip.sharing
import discreet.mechanisms.noise  # grpc is left to the children: it does not stand a fork


def child(order):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    sys.argv = ["discreet", *order["argv"]]
    code = 1
    try:
        discreet.cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
    sys.stdout.flush()
    with open(order["code"], "w") as file:
        file.write(str(code))
    os._exit(0)


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            child(json.loads(line))
        print(pid, flush=True)


if __name__ == "__main__":
    main()
