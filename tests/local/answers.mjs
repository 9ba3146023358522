// Answers cases from standard input with the JavaScript client: bytes in hexadecimal, words used and what had no place, or the error.
import { readFileSync } from "node:fs";
import { LocalClient, givenWords } from "../../src/discreet/local/js/client.mjs";

const special = { nan: NaN, inf: Infinity, "-inf": -Infinity, undefined };

/** JSON has no NaN, no infinity and no large whole numbers: {"$": "nan"} and {"$": "12345678901234567890"} do. */
export function row(fields) {
  const value = (one) =>
    one !== null && typeof one === "object" ? (one.$ in special ? special[one.$] : BigInt(one.$)) : one;
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, value(one)]));
}

export function answer(campaign, { row: fields, random }) {
  const given = givenWords(Buffer.from(random, "hex"));
  let words = 0;
  try {
    const client = new LocalClient(campaign, { words: () => ((words += 1), given()) });
    const report = Buffer.from(client.report(row(fields))).toString("hex");
    return { report, words, placeless: client.placeless(row(fields)) };
  } catch (error) {
    return { error: error.name, message: error.message };
  }
}

if (process.argv[1]?.endsWith("answers.mjs")) {
  const { campaigns, cases, random } = JSON.parse(readFileSync(0, "utf8"));
  process.stdout.write(JSON.stringify(cases.map((one) => answer(campaigns[one.campaign], { random, ...one }))));
}
