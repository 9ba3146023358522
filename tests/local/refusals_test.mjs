// A campaign that lies about its ε is refused, already if one chance is off by one in 2⁶⁴.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CampaignError, LocalClient } from "../../src/discreet/local/js/client.mjs";

const files = ["oracles", "numbers", "texts"].map((name) => new URL(`vectors/${name}.json`, import.meta.url));
const campaigns = files.flatMap((file) => JSON.parse(readFileSync(file, "utf8")).campaigns);
const plus = (text, more) => String(BigInt(text) + BigInt(more));

/** A copy of a campaign, changed. */
function changed(campaign, change) {
  const copy = structuredClone(campaign);
  change(copy);
  return copy;
}

function refused(campaign, message = /./) {
  const right = (error) => error instanceof CampaignError && message.test(error.message);
  assert.throws(() => new LocalClient(campaign), right);
}

/** The domain of a question about a list of values. */
function domain(campaign, { feature }) {
  const cells = campaign.columns.find((one) => one.name === feature)?.cells ?? 1;
  return campaign.target.cells * cells;
}

const direct = (c, values) => { c.other = plus(c.other, -1); c.true = plus(c.true, values - 1); };
const piecewise = (c) => {
  c.lo = plus(c.lo, -1);
  [c.outside, c.total] = [plus(c.outside, -2 * c.centre), plus(c.total, -2 * c.centre)];
};
const oneMore = (list) => { list[0] = plus(list[0], 1); };
const dropped = (list) => { list.pop(); };

/** For each code, changes that tell too much; the first one adds up, and is about the least that there is. */
const lies = {
  1: [direct],
  2: [(c) => { c.other = plus(c.other, -1); c.true = plus(c.true, 1); }],
  3: [(c) => { c.other = plus(c.other, -1); }, (c) => { c.true = plus(c.true, 4096); }],
  4: [(c) => oneMore(c.thresholds), (c) => dropped(c.thresholds), (c) => { c.high += 1; }, (c) => { c.unit = 17; }],
  5: [(c) => { c.other = plus(BigInt(c.other) / 4n, 0); }, (c) => { c.other = "0"; }],
  6: [(c) => direct(c, c.buckets)],
  7: [(c) => { c.true = plus(c.true, 1); }],
  8: [(c) => { c.low = plus(c.low, -1); c.high = plus(c.high, 2 * c.blocks - 1); }],
  16: [(c) => oneMore(c.thresholds), (c) => dropped(c.thresholds), (c) => { c.limit = plus(c.limit, 1); },
    (c) => { c.half = plus(c.half, 1); }],
  17: [(c, _, classes) => direct(c, 2 * classes), (c) => { c.oracle = 4; },
    (c) => { c.half = plus(c.half, 1); }],
  18: [piecewise, (c) => { c.lo = "0"; c.outside = "0"; c.total = plus(BigInt(c.hi) * BigInt(2 * c.spread + 1), 0); }],
  19: [(c) => piecewise(c.piecewise), (c) => direct(c.one_bit, 2), (c) => { delete c.one_bit; }],
  20: [(c) => oneMore(c.numbers[0].thresholds), (c) => { c.numbers[0].limit = plus(c.numbers[0].limit, 1); },
    (c) => { c.numbers.pop(); }],
  21: [(c) => direct(c, 2)],
};

test("every campaign of the vectors is accepted as it is", () => {
  for (const campaign of campaigns) assert.ok(new LocalClient(campaign));
});

test("chances that tell more than ε are refused", () => {
  const tried = new Set();
  for (const campaign of campaigns) {
    campaign.questions.forEach((question, i) => {
      const [values, classes] = [domain(campaign, question), campaign.target.cells];
      lies[question.code].forEach((lie, place) => {
        const copy = changed(campaign, (one) => lie(one.questions[i].constants, values, classes));
        refused(copy, place ? /./ : /do(es)? not keep its epsilon/);
        tried.add(question.code);
      });
    });
  }
  assert.deepEqual([...tried].map(Number).sort((a, b) => a - b), Object.keys(lies).map(Number));
});

test("the same chances under a smaller promise are refused", () => {
  for (const campaign of campaigns) {
    const [top, bottom = 1] = campaign.epsilon.split("/").map(Number);
    refused(changed(campaign, (copy) => { copy.epsilon = `${(top * 1e6) / bottom / 2}/1000000`; }), /epsilon/);
    if (campaign.reports < campaign.questions.length) {
      refused(changed(campaign, (copy) => { copy.reports *= 3; }));
    }
  }
});

test("one millionth less is refused where chances are tight", () => {
  for (const campaign of campaigns) {
    if (campaign.questions.every((one) => one.code === 5)) continue;
    const [top, bottom = 1] = campaign.epsilon.split("/").map(Number);
    refused(changed(campaign, (copy) => { copy.epsilon = `${(top * 1e6) / bottom - 1}/1000000`; }), /epsilon/);
  }
});

test("no value may fall outside its domain, where no chance protects it", () => {
  for (const campaign of campaigns) {
    for (const place of [...campaign.columns.keys(), -1]) {
      const column = (copy) => (place < 0 ? copy.target : copy.columns[place]);
      const { cells, codes, cuts } = column(campaign);
      refused(changed(campaign, (copy) => { column(copy).missing = cells; }));
      if (codes) refused(changed(campaign, (copy) => { column(copy).other = cells; }));
      if (codes) refused(changed(campaign, (copy) => { column(copy).codes.more = cells; }));
      if (cuts?.length) refused(changed(campaign, (copy) => { column(copy).cells = cuts.length; }));
      if (cuts) refused(changed(campaign, (copy) => { column(copy).half = 2 ** 21; }));
      if (cuts) refused(changed(campaign, (copy) => { column(copy).inverse = null; }));
    }
  }
});

test("questions fit their inputs, and none is asked twice", () => {
  for (const campaign of campaigns) {
    refused(changed(campaign, (copy) => { copy.questions.push(copy.questions[0]); }), /twice/);
    refused(changed(campaign, (copy) => { copy.questions[0].code = 16; }), /does not fit/);
    refused(changed(campaign, (copy) => { copy.questions[0].code = 99; }), /does not fit/);
    refused(changed(campaign, (copy) => { copy.questions[0].input = 1; }));
    refused(changed(campaign, (copy) => { copy.questions.at(-1).input = 3 * copy.columns.length + 3; }));
    refused(changed(campaign, (copy) => { copy.questions.at(-1).kind = "class"; }));
  }
});
