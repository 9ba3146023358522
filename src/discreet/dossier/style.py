"""Style: one sheet for screens, phones, dark rooms and paper; pages carry it inside them and ask nobody for more."""

from __future__ import annotations

from html import escape

SHEET = """
:root{--ink:#1b1f24;--soft:#59636e;--line:#c9d1d9;--paper:#fff;--panel:#f4f6f8;
--mark:#0b5cad;--before:#8a96a3;--warn:#8f2d00}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a7b1bb;--line:#424a53;
--paper:#14181c;--panel:#1e242a;--mark:#78b4ff;--before:#7d8894;--warn:#ffb08a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main,header,footer{max-width:52rem;margin:0 auto;padding:0 1rem}
h1{font-size:1.7rem;line-height:1.25;margin:1.6rem 0 .4rem}
h2{font-size:1.25rem;margin:2.2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}
h3{font-size:1.02rem;margin:1.2rem 0 .2rem}
a{color:var(--mark)}
table{border-collapse:collapse;width:100%;margin:.6rem 0;font-size:.94rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
caption{text-align:left}
.scroll{overflow-x:auto}
.lead{font-size:1.08rem}
.panel{background:var(--panel);border-left:4px solid var(--mark);padding:.7rem 1rem;margin:1rem 0}
.warn{border-left-color:var(--warn)}
.open{color:var(--warn);font-style:italic}
.soft{color:var(--soft);font-size:.9rem}
.hash{overflow-wrap:anywhere;font:.82rem ui-monospace,monospace}
.picture{width:100%;max-width:36rem;height:auto;display:block;margin:.6rem 0}
.picture text{fill:var(--ink);font-size:12.5px}
.picture text.head{font-weight:600}
.picture rect.before,.picture text.before{fill:var(--before)}
.picture text.before{fill:var(--soft)}
.picture rect.after,.picture circle.after{fill:var(--mark)}
.picture text.after{fill:var(--mark)}
.picture .frame{fill:none;stroke:var(--line)}
.picture .reach{fill:var(--mark);opacity:.14}
.picture .limit{fill:none;stroke:var(--mark);stroke-width:2}
.picture .chance{stroke:var(--before);stroke-dasharray:5 4}
.sign{display:grid;grid-template-columns:1fr 1fr;gap:2.2rem;margin:2.5rem 0}
.sign div{border-top:1px solid var(--ink);padding-top:.3rem;color:var(--soft);font-size:.9rem}
nav ul{columns:2;padding-left:1.1rem}
.skip{position:absolute;left:-999px}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.4rem}
@media (max-width:480px){nav ul{columns:1}.sign{grid-template-columns:1fr}h1{font-size:1.4rem}}
@page{size:A4;margin:18mm 16mm}
@media print{:root{--ink:#000;--soft:#444;--line:#999;--paper:#fff;--panel:#f4f4f4;
--mark:#0b5cad;--before:#888;--warn:#7a2600}
body{font-size:10.5pt}h2{break-after:avoid}table,.picture,.panel,.sign{break-inside:avoid}nav,.skip{display:none}
a{color:inherit;text-decoration:none}}
"""


def document(title: str, body: str, *, extra: str = "") -> str:
    """A whole page that stands by itself: no script, no font, no address of anybody."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        'img-src data:">'
        f"<title>{escape(title)}</title><style>{SHEET}{extra}</style></head><body>{body}</body></html>\n"
    )


def rows(pairs: list[tuple[str, str]], caption: str) -> str:
    """A table of names and what is said of them; the second column is HTML."""
    body = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{value}</td></tr>' for name, value in pairs)
    return f'<div class="scroll"><table><caption class="soft">{escape(caption)}</caption>{body}</table></div>'


def listed(items: list[str]) -> str:
    """A list of plain sentences."""
    return "<ul>" + "".join(f"<li>{escape(one[:1].upper() + one[1:])}</li>" for one in items) + "</ul>"
