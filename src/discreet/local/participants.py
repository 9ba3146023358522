"""The participants' page: what is asked, how answers are kept private, a form, and what was sent as it was sent."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cached_property
from html import escape
from importlib.resources import files
from typing import Any

from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign, domain_of
from discreet.local.javascript import client_module
from discreet.local.picture import bar, facts, percent, picture, rows
from discreet.local.texts import TEXTS, told
from discreet.schema import Numeric

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}
FEW = 6  # categories that are shown side by side; more are a list to choose from
_SENT = (
    "sent",
    "unsent",
    "again",
    "said",
    "bytes",
    "hex",
    "base64",
    "id",
    "cost",
    "not_you",
    "counted",
    "resend",
    "drawn",
    "answer",
)
_TOLD = (*_SENT, "working", "trouble", "no_store", "foreign", "spent")  # the script's texts begin with these


def asset(name: str) -> str:
    """A file that the page loads, as servers hand it out."""
    if name == "client.mjs":
        return client_module()
    return files("discreet.local").joinpath("js", name).read_text("utf-8")


def hashes() -> dict[str, str]:
    """The subresource hashes of all that the page loads."""
    try:
        return {name: integrity(asset(name)) for name in ("client.mjs", "page.mjs", "page.css")}
    except OSError as error:
        raise DiscreetError(f"this installation lacks a file of the participants' page: {error}") from None


def integrity(text: str) -> str:
    """The hash of a text, as subresource integrity writes it."""
    return "sha384-" + base64.b64encode(hashlib.sha384(text.encode()).digest()).decode()


def head(title: str, path: str = "") -> str:
    """The beginning of every page for people, up to its main part; `path` leads to where the style lies."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title>"
        f'<link rel="stylesheet" href="{path}page.css" integrity="{integrity(asset("page.css"))}">'
    )


class Page:
    """The page of one campaign; `title` and `about` are the words of whoever asks, shown as plain text."""

    def __init__(self, campaign: Campaign, *, title: str = "", about: str = "", tokens: bool = False) -> None:
        self.campaign, self.title, self.about, self.tokens = campaign, title.strip() or TEXTS["title"], about, tokens
        self.hashes = hashes()

    @cached_property
    def html(self) -> str:
        """The whole page."""
        scripts = "".join(
            f'<script type="module" src="{name}" integrity="{self.hashes[name]}"></script>'
            for name in ("client.mjs", "page.mjs")  # in this order: the second imports the first, checked by then
        )
        about = "".join(f"<p>{escape(one)}</p>" for one in self.about.split("\n\n") if one.strip())
        config = json.dumps(self.config, ensure_ascii=False).replace("<", "\\u003c")
        return (
            f'{head(self.title)}<script type="application/json" id="config">{config}</script>{scripts}</head>'
            "<body><main>"
            f'<h1>{escape(self.title)}</h1><p class="lead">{escape(TEXTS["lead"])}</p>{about}'
            f"{self._kept}{self._form}"
            f'<div id="said" aria-live="polite"></div><noscript><p>{escape(TEXTS["noscript"])}</p></noscript>'
            f"{self._check}</main></body></html>\n"
        )

    @cached_property
    def config(self) -> dict[str, Any]:
        """What the script needs: texts, names of answers, how bytes are laid out, and the form's fields."""
        campaign, schema = self.campaign, self.campaign.schema
        return {
            "texts": {name: text for name, text in TEXTS.items() if name.startswith(_TOLD)},
            "pin": campaign.pin,
            "epsilon": str(float(campaign.epsilon)),
            "target": schema.target,
            "classes": schema.label.labels,
            "labels": {one.name: one.labels for one in schema.features},
            "questions": [
                {
                    "input": asked.index,
                    "feature": None if asked.feature is None else asked.feature.name,
                    "about": asked.label(schema),
                    "mechanism": mechanism.name,
                    "script": mechanism.script,
                    "domain": None if asked.numeric else domain_of(schema, asked),
                    "runs": [[run.size, run.each, run.low < 0] for run in mechanism.runs],
                }
                for asked, mechanism in campaign.questions
            ],
            "fields": [
                {"name": one.name, "id": f"q{place}", **_values(one)}
                for place, one in enumerate((*schema.features, schema.label))
            ],
        }

    @property
    def _kept(self) -> str:
        campaign = self.campaign
        cells = []
        for row in rows(campaign):
            if row.own is None or row.other is None:
                kept = f'<td colspan="2">{escape(told("each_number", times=f"{row.noise:.1f}"))}</td>'
            else:
                kept = f'<td class="number">{bar(row.own)}</td><td class="number">{bar(row.other)}</td>'
            cells.append(
                f'<tr><th scope="row">{escape(row.about)}</th><td class="number">{percent(row.drawn)}</td>{kept}'
                f'<td class="number">{row.bytes}</td></tr>'
            )
        heads = "".join(f'<th scope="col">{escape(one)}</th>' for one in TEXTS["each_head"].split("|"))
        return (
            f"<h2>{escape(TEXTS['kept'])}</h2><p>{escape(told('epsilon', **facts(campaign)))}</p>{picture(campaign)}"
            f'<details><summary>{escape(TEXTS["each"])}</summary><div class="wide" tabindex="0" role="region" '
            f'aria-label="{escape(TEXTS["each"])}"><table><thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(cells)}</tbody></table></div></details>"
        )

    @property
    def _form(self) -> str:
        campaign, schema = self.campaign, self.campaign.schema
        asked = len(campaign.questions)
        some = "asked_some" if campaign.reports < asked else "asked_all"
        together = told("together", target=schema.target)
        fields = "".join(_field(one, f"q{place}") for place, one in enumerate((*schema.features, schema.label)))
        token = (
            f'<div class="field" id="token-field"><label for="token">{escape(TEXTS["token"])}</label>'
            f'<p class="hint" id="token-hint">{escape(TEXTS["token_hint"])}</p><input id="token" type="text" '
            'autocomplete="off" spellcheck="false" aria-describedby="token-hint"></div>'
        )
        return (
            f'<form id="answers" autocomplete="off"><h2>{escape(TEXTS["asked"])}</h2>'
            f"<p>{escape(told(some, reports=campaign.reports, all=asked))} {escape(together)}</p>{fields}"
            f'{token if self.tokens else ""}<p id="account" hidden></p>'
            f'<button id="send" type="submit" disabled>{escape(TEXTS["button"])}</button>'
            '<p id="progress" role="status"></p></form>'
        )

    @property
    def _check(self) -> str:
        pinned = {TEXTS["pin"]: self.campaign.pin, **self.hashes}
        facts = "".join(f'<dt>{escape(name)}</dt><dd class="code">{escape(code)}</dd>' for name, code in pinned.items())
        links = "".join(
            f'<li><a href="{escape(one.split(":")[0])}">{escape(one)}</a></li>' for one in TEXTS["links"].split("|")
        )
        return (
            f"<details><summary>{escape(TEXTS['check'])}</summary><p>{escape(TEXTS['check_about'])}</p>"
            f"<dl>{facts}</dl><ul>{links}</ul></details>"
        )


def _values(feature: Any) -> dict[str, Any]:
    """What the choices of a field stand for, as plain values; a number has none."""
    if isinstance(feature, Numeric):
        return {}
    other = [] if feature.other is None else [feature.other]
    return {"values": [*feature.categories, *other]}


def _field(feature: Any, name: str) -> str:
    """One question of the form: every person finds an answer that fits."""
    title, hint = escape(feature.name), _hint(feature)
    described = f' aria-describedby="{name}-hint"' if hint else ""
    hinted = f'<p class="hint" id="{name}-hint">{escape(hint)}</p>' if hint else ""
    if isinstance(feature, Numeric):
        step = 'step="1" inputmode="numeric"' if feature.integer else 'step="any" inputmode="decimal"'
        return (
            f'<div class="field"><label for="{name}">{title}</label>{hinted}'
            f'<input id="{name}" name="{name}" type="number" {step} required{described}>'
            f'<div class="choice"><input id="{name}-none" type="checkbox" data-instead="{name}">'
            f'<label for="{name}-none">{escape(TEXTS["nothing_number"])}</label></div></div>'
        )
    shown = [*(feature.labels[: len(feature.categories)]), *([] if feature.other is None else [feature.other])]
    choices = [*((str(place), one) for place, one in enumerate(shown)), ("-", TEXTS["nothing"])]
    if len(shown) <= FEW:
        radios = "".join(
            f'<div class="choice"><input type="radio" id="{name}-{value}" name="{name}" value="{value}" required>'
            f'<label for="{name}-{value}">{escape(text)}</label></div>'
            for value, text in choices
        )
        return f'<fieldset id="{name}"{described}><legend>{title}</legend>{hinted}{radios}</fieldset>'
    options = "".join(f'<option value="{value}">{escape(text)}</option>' for value, text in choices)
    return (
        f'<div class="field"><label for="{name}">{title}</label>{hinted}<select id="{name}" name="{name}" required'
        f'{described}><option value="">{escape(TEXTS["choose"])}</option>{options}</select></div>'
    )


def _hint(feature: Any) -> str:
    """What a person should know about a question."""
    other = getattr(feature, "other", None)
    if feature.missing_code is not None:
        nothing = TEXTS["nothing_missing"]
    else:
        nothing = TEXTS["nothing_drawn"] if other is None else told("nothing_other", other=other)
    if not isinstance(feature, Numeric):
        return nothing
    name = "whole_hint" if feature.integer else "number_hint"
    return f"{told(name, lower=f'{feature.lower:g}', upper=f'{feature.upper:g}')} {nothing}"
