"""One party of a secure sum by MPyC: reads its vector by its party number and prints the opened sum."""

import json
import sys


async def main(path):
    with open(path, encoding="utf-8") as file:
        vectors = json.load(file)
    number = mpc.SecInt(64)
    await mpc.start()
    inputs = mpc.input([number(value) for value in vectors[mpc.pid]])
    sums = [mpc.sum(list(column)) for column in zip(*inputs, strict=True)]
    opened = [int(value) for value in await mpc.output(sums)]
    await mpc.shutdown()
    if mpc.pid == 0:
        print("SUM " + json.dumps(opened))


if __name__ == "__main__":
    from mpyc.runtime import mpc

    mpc.run(main(sys.argv[1]))
