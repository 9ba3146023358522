"""Pages: the dossier for an officer, chapter by chapter, and the label for everybody."""

from __future__ import annotations

from html import escape
from typing import Any

from discreet.domain import text
from discreet.dossier import pictures
from discreet.dossier.facts import TRUST, Facts
from discreet.dossier.pictures import percent
from discreet.dossier.questions import QUESTIONS, Answers
from discreet.dossier.style import document, listed, rows

WORDS = {one.key: one.words for one in QUESTIONS}
CHAPTERS = (
    ("summary", "In short"),
    ("epsilon", "Epsilon and the unit of privacy"),
    ("neighbours", "Which tables are compared"),
    ("algorithm", "Algorithm and utility"),
    ("bias", "Bias"),
    ("security", "Security and trust"),
    ("collection", "Data collection"),
    ("limits", "Assumptions and limits"),
    ("anonymity", "Annex A: the claim of anonymity"),
    ("ledger", "Annex B: the ledger"),
    ("open", "Annex C: what nobody has answered"),
    ("identity", "Annex D: which files this is about"),
)


class Page:
    """What a dossier says, from facts and answers."""

    def __init__(self, facts: Facts, answers: Answers) -> None:
        self.facts, self.answers = facts, answers
        self.name = answers.get("product.name") or f"a model of {facts.model.schema.target}"

    def answer(self, key: str) -> str:
        """An answer as a paragraph, or the question, marked as open."""
        given = self.answers.get(key)
        if given is None:
            return f'<p class="open">Not answered ({escape(key)}): {escape(WORDS[key])}</p>'
        return f"<p>{escape(str(given))}</p>"

    # ---- the officer's document

    def dossier(self) -> str:
        """The whole document."""
        toc = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title in CHAPTERS)
        parts = [
            f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{escape(title)}</h2>'
            f"{getattr(self, key)()}</section>"
            for key, title in CHAPTERS
        ]
        curator = self.answers.get("product.curator")
        head = (
            f"<header><h1>Privacy dossier: {escape(self.name)}</h1>"
            f'<p class="soft">{escape(curator) if curator else "Organisation not named yet"} · '
            f"{escape(self.facts.certificate.library)} · {escape(self.facts.budget)}</p></header>"
        )
        body = (
            f'<a class="skip" href="#summary">To the summary</a>{head}<main><nav aria-label="Chapters"><ul>{toc}</ul>'
            f"</nav>{''.join(parts)}</main>"
            '<footer><p class="soft">What is computed here follows from the certificate inside the model file. What is '
            "answered here is the word of whoever answered it.</p></footer>"
        )
        return document(f"Privacy dossier: {self.name}", body)

    def summary(self) -> str:
        """Who is protected from what, on one screen, and where to sign."""
        facts = self.facts
        missing = self.answers.missing(known=["release.utility"] if facts.model.evaluation is not None else [])
        told = [
            ("Released", f"{escape(facts.model.NAME)} that says {escape(facts.columns)}"),
            ("Who is protected", f"{escape(facts.unit)}. {escape(facts.neighbours)}"),
            ("From what", escape(self._from_what())),
            ("How well", f"<strong>{escape(facts.budget)}</strong>: {escape(self._odds())}"),
            ("Who was trusted with rows", escape(TRUST[facts.trust])),
            ("Budget spent on", f"{len(facts.charges)} noisy release(s), all listed in annex B"),
        ]
        warn = ""
        if facts.model.schema.inferred:
            warn = (
                '<div class="panel warn"><p><strong>The schema was read off the private rows.</strong> Its classes, '
                "categories and limits are not protected. Let a person declare them, and fit again.</p></div>"
            )
        state = (
            "<p>Every question has an answer.</p>"
            if not missing
            else f'<p class="open">{len(missing)} question(s) have no answer yet: annex C lists them. Nothing was made '
            "up in their place.</p>"
        )
        return (
            warn
            + rows(told, "The guarantee in six lines")
            + rows(self._product(), "The release")
            + state
            + '<div class="sign"><div>Responsible for the release: name, date</div>'
            "<div>Data-protection officer: name, date</div></div>"
        )

    def _product(self) -> list[tuple[str, str]]:
        """What was answered about the product as a whole."""
        named = {
            "What it is": "description", "Organisation": "curator", "Kind of organisation": "curator_type",
            "Region and law": "region", "Sector": "sector", "Published": "publication_date", "Described at": "sources",
            "Questions and objections": "contact", "Answered by": "authors",
        }  # fmt: skip
        return [(title, _or_open(self.answers.get(f"product.{name}"))) for title, name in named.items()]

    def _from_what(self) -> str:
        hidden = "whether this person's data were used, or what they say"
        if not self.facts.presence:
            hidden = "what this person's data say (that the person is among them is not hidden)"
        return (
            "From anyone who studies the released model, however clever, whatever they know already, now or later: "
            f"they cannot tell well {hidden}."
        )

    def _odds(self) -> str:
        facts = self.facts
        factor = 2.718281828459045 ** min(facts.epsilon, 700.0)
        times = f"{factor:.3g}" if factor < 1e6 else f"e^{facts.epsilon:g}"
        but = f", except in a case that has a chance of about {facts.delta:g}" if facts.delta else ""
        more = ""
        if facts.presence:  # two tables with different rows of this person are two steps apart
            squared = f"{factor**2:.3g}" if factor < 1e6 else f"e^{2 * facts.epsilon:g}"
            more = f" Odds about what this person's row says change by a factor of {squared} at most."
        return (
            f"anyone's odds {facts.about} change by a factor of {times} at most{but}. A guess that "
            f"was even before is right in at most {percent(facts.even)} of cases.{more}"
        )

    def epsilon(self) -> str:
        """ε in odds and in pictures."""
        facts = self.facts
        table = "".join(
            f"<tr><td class='n'>{percent(one)}</td><td class='n'>{percent(facts.after(one))}</td></tr>"
            for one in pictures.GUESSES
        )
        delta = (
            f"<p>δ = {facts.delta:g} is the chance that the promise of ε alone fails; it is to be far below one in the "
            "number of people.</p>"
            if facts.delta
            else "<p>There is no δ: the promise holds in every case.</p>"
        )
        return (
            f'<p class="lead">{escape(facts.budget)} for each {escape(facts.unit.lower())}. Guides of the field would '
            f"call this {escape(facts.strength)}.</p>"
            f"{delta}{pictures.guesses(facts)}"
            '<div class="scroll"><table><caption class="soft">How sure anyone can become</caption><tr><th scope="col" '
            f'class="n">sure before</th><th scope="col" class="n">at most afterwards</th></tr>{table}</table></div>'
            f"<h3>The best attack there is</h3><p>Someone who knows every other row, the program and its settings, and "
            f"tests a guess {facts.about}, stays below this curve.</p>"
            f"{pictures.detection(facts)}"
            f"<h3>Why this value</h3>{self.answer('release.justification')}"
        )

    def neighbours(self) -> str:
        """Adjacency, and what is therefore not hidden."""
        facts = self.facts
        protects = facts.certificate.protects
        return (
            f"<p>{escape(facts.neighbours)} The released model has almost the same chances under both.</p>"
            f"<p>{escape(protects[:1].upper() + protects[1:])}.</p>"
            f"<h3>Not protected</h3>{listed(facts.unprotected)}"
            "<p>The guarantee is about one person's part. What the rows say about people in general is what the model "
            "is for, and is learned by everybody: a person may be judged by it who was never in the table.</p>"
        )

    def algorithm(self) -> str:
        """What was done, and how good the result is."""
        facts = self.facts
        certificate = facts.certificate
        measured = facts.model.evaluation
        figures, said = "", self.answer("release.utility")
        if measured is not None:
            said = said if self.answers.get("release.utility") else ""
            lines = [(name, f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})") for name, one in measured.lines()]
            figures = (
                "<p>Measured with noise, under the same guarantee, on rows that the fit did not see; the ranges hold "
                f"the truth with {measured.confidence:.0%} confidence.</p>" + rows(lines, "Measured figures")
            )
        return (
            f"<p>{escape(facts.model.NAME[:1].upper() + facts.model.NAME[1:])}. Noise was added by: "
            f"{escape(', '.join(facts.mechanisms))}. Drawn by: {escape(certificate.sampler)}. Accounting: "
            f"{escape(certificate.accounting)}.</p>"
            f"<p>The guarantee covers {escape(certificate.covers)}.</p>"
            f"<h3>Where the budget went</h3>{pictures.spending(facts)}"
            f"<h3>Is it good enough?</h3>{figures}{said}"
        )

    def bias(self) -> str:
        """What noise does to few, and what the rows may carry already."""
        classes = ", ".join(text(label) for label in self.facts.model.schema.classes)
        return (
            "<p>Noise is the same for large and small groups, so that small ones are described worse: rare classes, "
            f"rare categories and people in them get less accurate answers. Classes here: {escape(classes)}. Clamping "
            "noisy counts at zero lifts rare cells a little. A private model also repeats whatever unfairness the rows "
            f"hold.</p>{self.answer('data.bias')}<h3>If it is wrong about someone</h3>{self.answer('release.harm')}"
        )

    def security(self) -> str:
        """Whom one has to trust, and what was done against leaks beside the mathematics."""
        facts = self.facts
        return (
            f"<p>{escape(TRUST[facts.trust])}</p>"
            "<p>Counts are whole numbers and costs exact fractions, noise is drawn from bits of the operating "
            "system as the chapter on the algorithm says, and every fit is charged before it reads a row. Time, memory "
            "and power used while fitting are not part of the guarantee: fit where nobody else watches the machine.</p>"
            f"<h3>Who sees what</h3>{self.answer('release.actors')}<h3>The rows themselves</h3>"
            f"{self.answer('release.access')}{self.answer('data.retention')}"
        )

    def collection(self) -> str:
        """Where the rows came from: no mathematics mends a wrong collection."""
        return (
            f"<h3>How, and on which basis</h3>{self.answer('data.collection')}<h3>Whose rows</h3>"
            f"{self.answer('data.domain')}<h3>About how many people</h3>{self.answer('data.people')}"
            f"<h3>Before the fit</h3>{self.answer('data.preprocessing')}<h3>What it is for</h3>"
            f"{self.answer('product.intended_use')}"
        )

    def limits(self) -> str:
        """What the guarantee rests on, and what it does not say."""
        certificate = self.facts.certificate
        further = (
            "Every further release from the same people's data adds its cost to this one. A total that nobody keeps is "
            "no total."
        )
        return (
            f"<h3>It rests on this</h3>{listed(list(certificate.assumptions)) or '<p>Nothing beyond the above.</p>'}"
            f"<h3>More releases</h3><p>{further}</p>{self.answer('release.future')}"
            "<h3>It does not say</h3>"
            + listed([
                "that nothing is learned: patterns of the whole table are, and may concern people who are not in it",
                "that the rows were collected lawfully, or that the model is fair or accurate",
                "anything about copies of the rows, backups and logs, which need protection of their own",
                "anything about groups: several people who decide together, or relatives, are protected less, each "
                "added person adding its cost",
            ])
        )  # fmt: skip

    def anonymity(self) -> str:
        """What a claim of anonymity has to show under European law."""
        claim = self.answers.get("anonymity.claim")
        facts = self.facts
        if claim is False:
            return "<p>No claim of anonymity is made for this model. Treat it as personal data.</p>"
        return (
            "<p>The European Data Protection Board (opinion 28/2024) asks that both be insignificant, with all means "
            "reasonably likely to be used: the chance that personal data of those whose rows were used are extracted "
            "from the model, and the chance that they are obtained by querying it. A claim that is not documented "
            "fails accountability; each case is judged by itself. This annex is the documentation, not the verdict.</p>"
            f"<h3>Is the claim made?</h3>{self.answer('anonymity.claim')}"
            f"<h3>Extraction from the model</h3><p>Whatever is computed from the parameters, by any means: of the "
            f"people in the data at most {percent(facts.power(0.05))} are found by a test that accuses 5 % of "
            f"others, and at most {percent(facts.power(0.01))} by one that accuses 1 %.</p>"
            "<h3>Answers to queries</h3><p>Answers are computed from the released parameters alone, so that no number "
            "of queries adds anything to the above.</p>"
            f"<h3>Means considered</h3>{self.answer('anonymity.means')}<h3>Assessment</h3>"
            f"{self.answer('anonymity.assessment')}<h3>Opinion of the officer</h3>{self.answer('anonymity.opinion')}"
        )

    def ledger(self) -> str:
        """Every charge."""
        body = "".join(
            f"<tr><td>{escape(one['what'])}</td><td>{escape(one['mechanism'])}</td><td class='n'>{_scale(one)}</td>"
            f"<td class='n'>{escape(one['measure'])} {one['cost']:.4g}</td></tr>"
            for one in self.facts.charges
        )
        return (
            "<p>Costs of one line after the other add up; lines about different people, or dealt to different parts, "
            "do not. The certificate has the exact fractions and how they compose.</p>"
            '<div class="scroll" tabindex="0" role="region" aria-label="Ledger"><table><tr><th scope="col">what</th>'
            '<th scope="col">mechanism</th><th scope="col" class="n">scale or variance of the noise</th>'
            f'<th scope="col" class="n">cost</th></tr>{body}</table></div>'
        )

    def open(self) -> str:
        """What is missing."""
        known = ["release.utility"] if self.facts.model.evaluation is not None else []
        missing = self.answers.missing(known=known)
        if not missing:
            return "<p>Nothing.</p>"
        return "<ul>" + "".join(
            f'<li><span class="open">{escape(one.key)}</span>: {escape(one.words)}</li>' for one in missing
        ) + "</ul>"  # fmt: skip

    def identity(self) -> str:
        """Fingerprints."""
        certificate = self.facts.certificate
        return rows(
            [
                ("Certificate", f'<span class="hash">{certificate.hash}</span>'),
                ("Schema", f'<span class="hash">{certificate.schema_hash}</span>'),
                ("Made by", escape(certificate.library)),
                *([("Follows from", escape("; ".join(one.what for one in certificate.elsewhere)))]
                  if certificate.elsewhere else []),
            ],
            "Fingerprints",
        )  # fmt: skip

    # ---- the label

    def label(self) -> str:
        """One page for everybody."""
        facts = self.facts
        told: list[tuple[str, str]] = [
            ("What was released", escape(self.answers.get("product.description") or facts.model.NAME)),
            ("By whom", _or_open(self.answers.get("product.curator"))),
            ("For what", _or_open(self.answers.get("product.intended_use"))),
            ("Whose data", _or_open(self.answers.get("data.domain"))),
            ("Who is protected", escape(facts.unit)),
            ("Privacy loss", f"<strong>{escape(facts.budget)}</strong>"),
            ("In words", escape(self._odds()[:1].upper() + self._odds()[1:])),
            ("Who saw the rows", escape(TRUST[facts.trust])),
            ("In the clear", escape(" ".join(facts.unprotected))),
            ("More releases of the same data", _or_open(self.answers.get("release.future"))),
            ("Questions and objections", _or_open(self.answers.get("product.contact"))),
        ]
        body = (
            f"<header><h1>Privacy label: {escape(self.name)}</h1></header><main>"
            + rows(told, "What this release means for a person in the data")
            + pictures.guesses(facts)
            + f'<p class="soft">Certificate <span class="hash">{facts.certificate.hash}</span></p></main>'
        )
        return document(f"Privacy label: {self.name}", body, extra="@media print{body{font-size:9.5pt}}")


def _or_open(given: Any) -> str:
    return '<span class="open">not stated</span>' if given is None else escape(str(given))


def _scale(one: dict[str, Any]) -> str:
    if one["private_scale"]:
        return "private"
    return "–" if one["scale"] is None else f"{one['scale']:.4g}"
