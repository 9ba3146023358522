"""Drafts as files: TOML with a comment per feature that says what was seen and what to decide."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from discreet.schema import Feature
from discreet.sources.draft import Draft

_USUAL = {"integer": False, "bins": 16, "missing": "error"}
WIDTH = 110
TOGETHER = 3  # features in a row with one declaration, from which on they are written together


def as_toml(draft: Draft, comment: str) -> str:
    """The text of a draft; loading it gives the drafted schema."""
    fields = draft.schema.to_dict()
    features = fields.pop("features")
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines += ["", *(f"{key} = {_toml(value)}" for key, value in fields.items())]
    for name in draft.ids:
        lines.append(f"# id = {_toml(name)}  # if it names a person: nobody may then have more rows than a fit allows")
    for name, reason in draft.left_out.items():
        lines.append(f"# left out {_shown(name)}: {_shown(reason)}")
    pairs = zip(draft.schema.features, (_short(one) for one in features), strict=True)
    for _, group in groupby(pairs, key=lambda pair: _same(pair, draft)):
        members = list(group)
        together = len(members) >= TOGETHER
        for feature, block in [members[0]] if together else members:
            lines.append("")
            lines += [f"# {_shown(line)}" for line in draft.seen.get(feature.name, ())]
            if together:
                names = [one.name for one, _ in members]
                block = {"columns": names, **{key: value for key, value in block.items() if key != "name"}}
            lines += ["[[features]]", *(f"{key} = {_toml(value)}" for key, value in block.items())]
    return "\n".join(lines) + "\n"


def _short(block: dict[str, Any]) -> dict[str, Any]:
    """A declaration without what goes without saying."""
    return {key: value for key, value in block.items() if key != "kind" and _USUAL.get(key, ...) != value}


def _same(pair: tuple[Feature, dict[str, Any]], draft: Draft) -> str:
    """What features that are written together have in common; a name that looks like a pattern stands alone."""
    feature, block = pair
    plain = {key: value for key, value in block.items() if key != "name"}
    alone = feature.name if any(letter in feature.name for letter in "*?[") else ""
    return repr((plain, draft.seen.get(feature.name), alone))


def _toml(value: Any) -> str:
    """A value in TOML; a long list is folded."""
    import tomli_w

    if not isinstance(value, list | tuple):
        return tomli_w.dumps({"x": value})[4:].strip()
    parts = [_toml(one) for one in value]
    line = f"[{', '.join(parts)}]"
    if len(line) <= WIDTH:
        return line
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else '    '}{part},"
    return "\n".join(["[", *lines, "]"])


def _shown(line: str) -> str:
    """Words of the data in a comment of one line."""
    return "".join(letter if letter.isprintable() else "�" for letter in line)
