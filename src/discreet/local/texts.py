"""What people read about a collection, on the participants' page and at the command: all of it in one place."""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, str] = {
    # the page
    "title": "Answer in private",
    "lead": "Your device randomises your answer before anything leaves it. Nobody, not even whoever asks, can be "
    "sure of what you truly answered.",
    "asked": "What is asked",
    "asked_some": "Of {all} questions about what you answer below, your device draws {reports} by lot and reports "
    "about nothing else. The others are never sent, so answer all of them: which are drawn does not depend on "
    "what you say.",
    "asked_all": "Your device reports about each of {all} questions about what you answer below.",
    "together": "Questions other than “{target}” are reported together with “{target}”.",
    "choose": "please choose",
    "number_hint": "A number from {lower} to {upper}; what lies outside counts as the nearer end.",
    "whole_hint": "A whole number from {lower} to {upper}; what lies outside counts as the nearer end.",
    "nothing": "none of these, or rather not say",
    "nothing_number": "rather not say",
    "nothing_missing": "“Rather not say” counts as a missing answer.",
    "nothing_other": "“Rather not say” counts as “{other}”.",
    "nothing_drawn": "If you rather not say, your device draws an answer by lot.",
    "token": "Your token",
    "token_hint": "It lets one report in. It is not kept beside the report.",
    "kept": "How your answer is protected",
    "epsilon": "The promise is ε = {epsilon}: whatever you answer, no report becomes more than {ratio} times as likely "
    "as under any other answer. Who thinks it is fifty-fifty whether something holds for you can be at most {sure} "
    "sure after reading your report.",
    "picture": "How often people who are asked “{about}” send their true answer",
    "picture_own": "Of 100 people whose answer is “{answer}”, {count} send a report that speaks for “{answer}”.",
    "picture_other": "Of 100 people with another answer, {count} send a report that speaks for “{answer}”, too.",
    "each": "The same for every question",
    "each_head": "question|drawn|speaks for your answer|speaks for another one|bytes",
    "each_number": "the number with noise, about {times} times as wide as half its range",
    "button": "Randomise and send",
    "working": "Your device randomises your answer and sends it …",
    "noscript": "This page randomises your answer with JavaScript, on your own device. Without it nothing can be sent.",
    # after sending
    "sent": "Sent. Thank you",
    "sent_all": "This is all that left your device.",
    "again": "You have answered already",
    "again_about": "This browser has made its one report for this collection. A second one would tell more about you "
    "than was promised. This is what it said.",
    "unsent": "Not sent yet",
    "unsent_about": "Your report is made and kept in this browser, but the collector did not take it ({reason}). "
    "Sending it again tells nothing more: the same bytes are sent.",
    "resend": "Send the same report again",
    "counted": "The collector has counted it.",
    "counted_before": "The collector had counted it before; it counts once.",
    "trouble": "Nothing was sent",
    "no_store": "This browser keeps nothing for this page, so it could not remember that you have answered. Allow it "
    "to store data, and load the page again.",
    "foreign": "The questions on this page are not those that the collector publishes. Nothing can be sent: tell "
    "whoever gave you the address.",
    "spent": "At this site, answers to other collections have cost ε = {spent} so far; with this one it is {total}.",
    "drawn": "question drawn",
    "answer": "randomised answer",
    "said_one": "“{answer}”",
    "said_some": "one of these {count} of {all}: {answers}",
    "said_none": "none of the {all} possible answers",
    "said_more": "and {count} more",
    "said_numbers": "the noisy numbers {numbers}",
    "not_you": "What was said was drawn by lot, and may or may not be your answer.",
    "id": "report number (drawn by lot)",
    "cost": "cost",
    "bytes": "{count} bytes as they were sent",
    "hex": "hexadecimal",
    "base64": "base64",
    # checking
    "check": "Check this page",
    "check_about": "Everything on this page comes from this server, and nothing from any other. Its scripts and style "
    "are pinned by these hashes (subresource integrity); whoever invited you can tell you the right ones, and the "
    "fingerprint of the questions.",
    "pin": "questions",
    "links": "campaign.json: the design|client.mjs: the program that randomises|status: how the collection is going",
    # the index of several collections
    "index": "Collections",
    "index_about": "Each of these asks something else. What you send is randomised on your device before.",
}


def told(name: str, **values: object) -> str:
    """A text with its values in their places."""
    return TEXTS[name].format(**values)
