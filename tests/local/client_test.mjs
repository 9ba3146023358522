// What the JavaScript client promises besides its bytes: one report, remembered, sent until it is taken.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  BudgetError, CampaignError, DataError, DiscreetError, LocalClient, SendError, fingerprint, givenWords, systemWords, text,
} from "../../src/discreet/local/js/client.mjs";

const vectors = JSON.parse(readFileSync(new URL("vectors/oracles.json", import.meta.url), "utf8"));
const campaign = vectors.campaigns[0];
const row = { sex: "f", age: 30, ill: "no" };

class Shelf {
  kept = {};
  getItem(key) { return Object.hasOwn(this.kept, key) ? this.kept[key] : null; }
  setItem(key, value) { this.kept[key] = String(value); }
}

test("a client makes one report and refuses a second", () => {
  const client = new LocalClient(campaign);
  assert.equal(client.spent, 0);
  assert.equal(client.lastReport.length, 0);
  const first = client.report(row);
  assert.ok(first instanceof Uint8Array);
  assert.equal(client.spent, 0.5);
  assert.deepEqual(client.lastReport, first);
  assert.throws(() => client.report(row), /0\.5 of its 0\.5/);
  assert.throws(() => client.report(row), BudgetError);
  assert.deepEqual(client.lastReport, first);
});

for (const [name, make] of [["a map", () => new Map()], ["a store like localStorage", () => new Shelf()]]) {
  test(`${name} remembers for the next client`, () => {
    const store = make();
    const first = new LocalClient(campaign, { store }).report(row);
    const again = new LocalClient(campaign, { store });
    assert.deepEqual(again.lastReport, first);
    assert.throws(() => again.report(row), BudgetError);
    assert.ok(new LocalClient(campaign, { store, key: "another person" }).report(row).length);
  });
}

test("two clients with one store have one budget, even if both were made before the first report", () => {
  const store = new Map();
  const [one, two] = [new LocalClient(campaign, { store }), new LocalClient(campaign, { store })];
  one.report(row);
  assert.throws(() => two.report(row), BudgetError);
});

test("a larger budget is spent exactly", () => {
  const client = new LocalClient(campaign, { budget: 1.6 });
  for (let i = 0; i < 3; i += 1) client.report(row);
  assert.equal(client.spent, 1.5);
  assert.throws(() => client.report(row), BudgetError);
  assert.throws(() => new LocalClient(campaign, { budget: 0.499999 }), BudgetError);
  for (const budget of ["much", -1, NaN, Infinity, 31, "", null]) {
    assert.throws(() => new LocalClient(campaign, { budget }), BudgetError);
  }
  assert.equal(new LocalClient(campaign, { budget: "1/2" }).spent, 0);
});

test("nothing is handed out that the store did not keep", () => {
  const forgets = { get: () => null, set: () => undefined };
  assert.throws(() => new LocalClient(campaign, { store: forgets }).report(row), DiscreetError);
  const full = { getItem: () => null, setItem: () => { throw new Error("quota"); } };
  assert.throws(() => new LocalClient(campaign, { store: full }).report(row), /quota/);
  const slow = { get: async () => null, set: async () => undefined };
  assert.throws(() => new LocalClient(campaign, { store: slow }), /at once/);
});

test("a damaged memory is no fresh start", () => {
  for (const damaged of ["", "{", "null", "{}", '{"format":"discreet/client","spent":"-1","last":""}',
    '{"format":"discreet/client","spent":"0","last":"?"}']) {
    const store = new Map([["discreet/client", damaged]]);
    assert.throws(() => new LocalClient(campaign, { store }), /damaged/);
    assert.equal(store.get("discreet/client"), damaged);
  }
});

test("no content of a row keeps a report back", () => {
  for (const strange of [{}, { sex: "f", age: 1 }, { ...row, age: "30" }, { ...row, age: Infinity },
    { ...row, ill: "perhaps" }, { ...row, ill: null }, { ...row, sex: {} }, { ...row, age: [30] },
    { ...row, ill: Symbol("x") }, { ...row, ill: () => 1 }]) {
    const client = new LocalClient(campaign);
    assert.ok(client.report(strange).length);
    assert.equal(client.spent, 0.5);
    assert.throws(() => client.report(strange), BudgetError);
  }
  const client = new LocalClient(campaign);
  for (const none of [null, 3, undefined, "row"]) assert.throws(() => client.report(none), DataError);
  assert.equal(client.spent, 0);
});

test("a campaign that leaves out a class gets a report and a charge, not an answer", () => {
  const codes = vectors.campaigns[1];
  const probing = structuredClone(codes);
  delete probing.target.codes["2"];
  const store = new Map();
  const client = new LocalClient(probing, { store });
  const person = { grade: 1, smokes: true, dose: "0.5", fever: 5, group: 2 };
  assert.equal(client.placeless(person).length, 1);
  assert.equal(client.report(person).length > 0, true);
  assert.equal(client.spent, 7);
  assert.throws(() => new LocalClient(probing, { store }).report(person), BudgetError);
});

test("a pinned client reports about one schema only", () => {
  const { schema, columns, target } = campaign;
  const pin = fingerprint({ schema, columns, target });
  assert.ok(new LocalClient(campaign, { pin }).report(row).length);
  const other = structuredClone(campaign);
  other.target.name = "sick";
  assert.throws(() => new LocalClient(other, { pin }), /pinned/);
  assert.throws(() => new LocalClient(campaign, { pin: "" }), CampaignError);
});

test("A, B, A sends A's one report twice", async () => {
  const [store, sent] = [new Map(), []];
  const fetch = async (_, { body }) => (sent.push(Buffer.from(body).toString("hex")), Response.json({ accepted: 1 }));
  const other = vectors.campaigns[2];
  assert.notDeepEqual(other, campaign);
  for (const one of [campaign, other, campaign]) {
    await new LocalClient(one, { store, budget: 1.5 }).send(row, "/", { fetch });
  }
  assert.equal(sent[2], sent[0]);
  assert.notEqual(sent[1], sent[0]);
  assert.equal(new LocalClient(campaign, { store, budget: 1.5 }).spent, 1);
});

test("a memory from before campaigns were told apart is still one", () => {
  const store = new Map();
  const first = new LocalClient(campaign, { store }).report(row);
  const { reports, ...old } = JSON.parse(store.get("discreet/client"));
  store.set("discreet/client", JSON.stringify(old));
  const again = new LocalClient(campaign, { store });
  assert.deepEqual([again.lastReport, again.spent], [first, 0.5]);
});

test("what is asked is drawn before the row is looked at", () => {
  let words = 0;
  const client = new LocalClient(campaign, { words: () => ((words += 1), systemWords()) });
  const seen = [];
  const watched = Object.defineProperty({ sex: "f", ill: "no" }, "age", { get: () => (seen.push(words), 30) });
  client.report(watched);
  assert.ok(seen.length && seen.every((count) => count >= 3), String(seen));
});

test("reports differ: their ids and noise are fresh", () => {
  const made = Array.from({ length: 50 }, () => Buffer.from(new LocalClient(campaign).report(row)).toString("hex"));
  assert.equal(new Set(made.map((one) => one.slice(30, 62))).size, 50);
  assert.throws(() => new LocalClient(campaign, { words: givenWords(new Uint8Array(8)) }).report(row), /used up/);
});

test("sending: again after failures, not after a refusal, and without cookies", async () => {
  const store = new Map();
  const client = new LocalClient(campaign, { store });
  await assert.rejects(client.post("https://collector.example/"), SendError);
  const calls = [];
  const answers = [new Error("no network"), 503, 429, { accepted: 1, replayed: 0 }];
  const fetch = async (url, request) => {
    calls.push([url, request]);
    const next = answers.shift();
    if (next instanceof Error) throw next;
    if (typeof next === "number") return new Response("", { status: next });
    return Response.json(next);
  };
  const said = await client.send(row, "https://collector.example/reports", { fetch, wait: 1 });
  assert.deepEqual(said, { accepted: 1, replayed: 0 });
  assert.equal(calls.length, 4);
  for (const [url, request] of calls) {
    assert.equal(url, "https://collector.example/reports");
    assert.deepEqual(request.body, client.lastReport);
    assert.equal(request.credentials, "omit");
  }
  answers.push({ accepted: 0, replayed: 1 });
  await new LocalClient(campaign, { store }).send({ ...row, ill: "yes" }, "https://collector.example/", { fetch });
  assert.deepEqual(calls[4][1].body, calls[0][1].body);
  answers.push(400, 400);
  await assert.rejects(client.post("/", { fetch, wait: 1 }), /it answered 400/);
  assert.equal(answers.length, 1);
  answers.splice(0, 1, { accepted: 0, foreign: 1 }, 200);
  await assert.rejects(client.post("/", { fetch, wait: 1 }), /it is foreign/);
  assert.deepEqual(await client.post("/", { fetch, wait: 1 }), {});
  answers.push(500, 500);
  await assert.rejects(client.post("/", { fetch, wait: 1, tries: 2 }), /it answered 500/);
});

test("another campaign's report is not sent in place of this one's", async () => {
  const store = new Map();
  new LocalClient(vectors.campaigns[1], { store }).report(vectors.cases.find((one) => one.campaign === 1).row);
  const fetch = async () => assert.fail("nothing may be sent");
  await assert.rejects(new LocalClient(campaign, { store, budget: 7 }).send(row, "/", { fetch }), BudgetError);
});

test("texts are written as Python writes them", () => {
  const pairs = [[1, "1"], [1n, "1"], [-0, "0"], [true, "true"], [0.1, "0.1"], [1e-5, "1e-05"], [1.5e-7, "1.5e-07"],
    [1e-100, "1e-100"], [1e21, "1000000000000000000000"], [0.0001, "0.0001"], [-Infinity, "-inf"], ["x", "x"]];
  for (const [value, written] of pairs) assert.equal(text(value), written);
  assert.throws(() => text({}), DataError);
});

test("what is no campaign is refused", () => {
  for (const bad of [null, 3, "campaign", {}, [], { ...campaign, format: "other" }, { ...campaign, version: 2 },
    { ...campaign, schema_hash: "12" }, { ...campaign, columns: [] }, { ...campaign, questions: [] },
    { ...campaign, target: null }, { ...campaign, epsilon: "0" }, { ...campaign, epsilon: 0.5 },
    { ...campaign, epsilon: "31" }, { ...campaign, epsilon: "1/3" }, { ...campaign, reports: 4 },
    { ...campaign, reports: 1.5 }, { ...campaign, questions: [null] }, { ...campaign, columns: [null, null] }]) {
    assert.throws(() => new LocalClient(bad), CampaignError, JSON.stringify(bad)?.slice(0, 80));
  }
});
