"""Machine code is built by one thread for all."""

import threading
import time

from discreet.loops import machine_code, once
from discreet.sources import sweep


def test_whoever_comes_while_it_is_built_waits():
    built, together = [], threading.Barrier(4)

    @once
    def build(name):
        built.append(name)
        time.sleep(0.05)  # the others are here by now, and a second builder would be among them
        return object()

    found = []

    def ask():
        together.wait()
        found.append(build("a"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["a"] and len(set(map(id, found))) == 1
    assert build("b") is not found[0]


def test_what_sets_names_for_the_compiler_is_built_once():
    """Another thread would change them under the first one, which is then refused by numba after the charge."""
    one_lock = type(once(dict)).__qualname__, once(dict).__code__
    for builder in (machine_code, sweep.compiled_sweep):
        assert (type(builder).__qualname__, builder.__code__) == one_lock
