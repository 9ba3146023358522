/**
 * The script of the participants' page: reads the form, lets the client randomise and send, and shows what was sent.
 *
 * Texts, names of answers and the design of the bytes are in the page (`#config`); nothing is fetched but the campaign,
 * from the same server. What a part of a report says is written as `discreet.local.receipt` writes it.
 */

import { BudgetError, LocalClient, SendError } from "./client.mjs";

/** @param {string} text @param {Record<string, unknown>} values */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

// ---- what a report says

/** A whole number, little-endian. @param {Uint8Array} bytes @param {boolean} signed */
function numberOf(bytes, signed) {
  let value = 0n;
  bytes.forEach((byte, i) => { value |= BigInt(byte) << BigInt(8 * i); });
  return signed ? BigInt.asIntN(8 * bytes.length, value) : value;
}

/** Whole numbers that stand side by side. @param {Uint8Array} bytes @param {[number, number, boolean][]} runs */
function numbersOf(bytes, runs) {
  let spot = 0;
  return runs.flatMap(([size, each, signed]) => Array.from({ length: size }, () => {
    spot += each;
    return numberOf(bytes.subarray(spot - each, spot), signed);
  }));
}

const bitsOf = (bytes, d) => [...Array(d).keys()].filter((i) => (bytes[i >> 3] >> (i & 7)) & 1);
const odd = (number) => number.toString(2).replaceAll("0", "").length % 2 === 1;

/** Which of the d answers a report speaks for, by the function that drew it. */
const SETS = {
  grr: (bytes) => [Number(numberOf(bytes, false))],
  unary: bitsOf,
  subset: bitsOf,
  hashing: (bytes, d, c) => {
    const [a, b] = [0, 4].map((at) => Number(numberOf(bytes.subarray(at, at + 4), false)));
    const bucket = Number(numberOf(bytes.subarray(8), false));
    return [...Array(d).keys()].filter((value) => ((a * value + b) % c.prime) % Number(c.buckets) === bucket);
  },
  hadamard: (bytes, d, c) => {
    const [said, blocks, block] = [Number(numberOf(bytes, false)), Number(c.blocks), Number(c.block)];
    const [mine, place] = [Math.floor(said / block), BigInt(said % block)];
    return [...Array(d).keys()].filter((value) =>
      value % blocks === mine && !odd(place & BigInt(Math.floor(value / blocks) + 1)));
  },
};
const MOST = 12;

/** @param {any} config @param {any} asked @param {number} value */
function answerName({ classes, target, labels }, asked, value) {
  if (asked.feature === null) return `${target}: ${classes[value]}`;
  const cells = labels[asked.feature];
  return `${asked.feature}: ${cells[value % cells.length]}, ${target}: ${classes[Math.floor(value / cells.length)]}`;
}

/** What one part says. @param {any} config @param {any} asked @param {any} constants @param {Uint8Array} bytes */
function wordsOf(config, asked, constants, bytes) {
  const { texts } = config;
  if (!Object.hasOwn(SETS, asked.script)) {
    return filled(texts.said_numbers, { numbers: numbersOf(bytes, asked.runs).join(", ") });
  }
  const spoken = SETS[asked.script](bytes, asked.domain, constants);
  if (!spoken.length) return filled(texts.said_none, { all: asked.domain });
  const names = spoken.slice(0, MOST).map((value) => answerName(config, asked, value));
  if (spoken.length === 1) return filled(texts.said_one, { answer: names[0] });
  const rest = spoken.length > MOST ? [filled(texts.said_more, { count: spoken.length - MOST })] : [];
  return filled(texts.said_some, { count: spoken.length, all: asked.domain, answers: [...names, ...rest].join("; ") });
}

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * What a report says: its id, ε in millionths, and its parts in words.
 * @param {any} config  what the page holds @param {any} campaign @param {Uint8Array} frame
 */
export function receipt(config, campaign, frame) {
  let spot = 7 + 8; // marker, version, length; schema
  const take = (size) => frame.subarray(spot, (spot += size));
  const varint = () => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const [group] = take(1);
      value += (group & 127) * scale;
      if (group < 128) return value;
    }
  };
  const [id, epsilon, [count]] = [hexOf(take(16)), varint(), take(1)];
  const parts = Array.from({ length: count }, () => {
    const [input] = [varint(), take(1), varint()];
    const payload = take(varint());
    const asked = config.questions.find((one) => one.input === input);
    const { constants } = campaign.questions.find((one) => one.input === input);
    return { about: asked.about, mechanism: asked.mechanism, words: wordsOf(config, asked, constants, payload) };
  });
  return { epsilon: epsilon / 1e6, id, parts };
}

// ---- the page

const one = (name) => document.getElementById(name);

/** An element with texts and other elements in it, never markup. */
function made(name, attributes, ...inside) {
  const element = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  element.append(...inside);
  return element;
}

/** What the form says, as a row; what a person rather does not say is missing. */
function rowOf(form, config) {
  return Object.fromEntries(config.fields.map(({ name, id, values }) => {
    const data = new FormData(form).get(id);
    if (values) return [name, data === null || data === "" || data === "-" ? null : values[Number(data)]];
    return [name, data === null || data === "" ? null : Number(data)];
  }));
}

/** Put a message in the place that screen readers watch, and take the reader there. */
function show(title, ...inside) {
  const heading = made("h2", { tabindex: "-1" }, title);
  one("said").replaceChildren(heading, ...inside);
  heading.focus();
}

/** The report as it was sent, and what it says. */
function shown(config, campaign, frame) {
  const { texts } = config;
  const { epsilon, id, parts } = receipt(config, campaign, frame);
  const list = made("dl", {});
  for (const part of parts) {
    list.append(made("dt", {}, texts.drawn), made("dd", {}, part.about));
    list.append(made("dt", {}, texts.answer), made("dd", { class: "words" }, part.words));
  }
  list.append(made("dt", {}, texts.cost), made("dd", {}, `ε = ${epsilon}`));
  list.append(made("dt", {}, texts.id), made("dd", { class: "code" }, id));
  const codes = [[texts.hex, hexOf(frame).replace(/(..)(?!$)/g, "$1 ")], [texts.base64, btoa(String.fromCharCode(...frame))]];
  return [
    list,
    made("p", { class: "small" }, texts.not_you),
    made("h3", {}, filled(texts.bytes, { count: frame.length })),
    ...codes.map(([name, code]) => made("p", { class: "bytes" }, made("span", {}, name), " ", made("code", { id: `sent-${name}` }, code))),
  ];
}

async function start() {
  const config = JSON.parse(one("config").textContent);
  const { texts } = config;
  const form = one("answers");
  const trouble = (sentence) => {
    form.hidden = true;
    show(texts.trouble, made("p", {}, sentence));
  };
  let campaign;
  let client;
  try {
    const store = globalThis.localStorage; // refused where nothing may be stored
    campaign = await (await fetch("campaign.json", { credentials: "omit", cache: "no-store" })).json();
    const pin = new URLSearchParams(location.hash.slice(1)).get("pin") ?? config.pin;
    client = new LocalClient(campaign, { store, pin });
    if (!client.lastReport.length && client.spent > 0) { // one account for all collections of this site
      const total = Math.round(1e6 * (client.spent + Number(config.epsilon))) / 1e6;
      one("account").textContent = filled(texts.spent, { spent: client.spent, total });
      one("account").hidden = false;
      client = new LocalClient(campaign, { store, pin, budget: String(total) });
    }
  } catch (error) {
    const kept = !(error instanceof DOMException) && error?.name !== "TypeError";
    return trouble(kept ? `${texts.foreign} (${error.message})` : error instanceof DOMException ? texts.no_store : error.message);
  }
  const token = () => one("token")?.value.trim() || new URLSearchParams(location.hash.slice(1)).get("token") || undefined;

  const resend = (title, about) => {
    const button = made("button", { type: "button", id: "resend" }, texts.resend);
    button.addEventListener("click", () => deliver(button, () => client.post("reports", { token: token(), tries: 3 })));
    const field = one("token-field");
    show(title, made("p", {}, about), ...shown(config, campaign, client.lastReport), ...(field ? [field] : []), button);
  };

  async function deliver(button, send) {
    button.disabled = true;
    one("progress").textContent = texts.working;
    try {
      const said = await send();
      form.hidden = true;
      const counted = said.accepted ? texts.counted : texts.counted_before;
      show(texts.sent, made("p", {}, `${texts.sent_all} ${counted}`), ...shown(config, campaign, client.lastReport));
    } catch (error) {
      if (!client.lastReport.length) return trouble(error instanceof BudgetError ? texts.again_about : error.message);
      form.hidden = true;
      const reason = error instanceof SendError ? error.message.replace(/^[^:]*: /, "") : error.message;
      resend(texts.unsent, filled(texts.unsent_about, { reason }));
    } finally {
      one("progress").textContent = "";
    }
  }

  for (const box of form.querySelectorAll("input[data-instead]")) {
    const field = one(box.dataset.instead);
    box.addEventListener("change", () => {
      field.disabled = box.checked;
      field.required = !box.checked;
    });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    deliver(one("send"), () => client.send(rowOf(form, config), "reports", { token: token(), tries: 3 }));
  });
  if (client.lastReport.length) {
    form.hidden = true;
    resend(texts.again, texts.again_about);
  } else {
    one("send").disabled = false;
  }
}

if (globalThis.document) start();
