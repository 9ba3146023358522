"""The one list of blocks that no test runs: page by page the reasons that the pages give, in their order."""

from discreet.peers import CASES

_CHECKED = "tests/federated/flower/test_commands.py checks commands and options"
_DEPLOY = "tests/test_deploy.py checks commands"

UNRUN: dict[str, list[str]] = {
    "README.md": ["it sets up the environment that the tests stand in"],
    "architecture.md": ["a drawing"],
    "clusters.md": ["addresses of a cluster", "addresses of a cluster"],
    "deployment.md": [
        f"files of a deployment; {_DEPLOY}, options and keys",
        "it builds and starts containers; tests/test_deploy.py checks files and profiles",
        "it starts a service of the machine",
        f"servers of a deployment; {_DEPLOY} and options",
    ],
    "explorer.md": ["it serves a page until it is stopped; tests/explorer uses it in a browser"],
    "federated-deployment.md": [
        "it sets up an environment",
        f"a site after a crash; {_CHECKED}",
        f"keys and codes of a consortium; {_CHECKED}",
        f"three machines; {_CHECKED}",
        f"shortened; {_CHECKED}",
        "shortened, for a Flower network that exists",
        f"a stream at sites; {_CHECKED}",
    ],
    "federated.md": ["shortened, for sites that exist"],
    "gossip.md": [
        "a site that is running elsewhere; tests/gossip/test_cli.py checks the options, test_node.py the leave"
    ],
    "mutants.md": ["faults are planted in copies of the tree, which takes long; tests/mutants runs parts of it"],
    "peers.md": ["it needs the library's own environment; `discreet audit --peers` runs it there"] * len(CASES),
    "shuffling.md": ["it serves until it is stopped; tests/local shuffles by HTTP"],
    "speed.md": ["it measures for hours; tests/benchmarks runs parts of it"],
    "studies.md": [
        "minutes to hours on the reference data; tests/studies runs parts of each",
        "hours on the reference data; tests/studies runs parts of each",
    ],
    "utility.md": ["it measures for hours; tests/benchmarks runs parts of it"],
}
