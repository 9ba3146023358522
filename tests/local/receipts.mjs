// Reads cases as JSON, answers what the page's script says of each report.
import { readFileSync } from "node:fs";
import { receipt } from "../../src/discreet/local/js/page.mjs";

const cases = JSON.parse(readFileSync(0, "utf-8"));
const answers = cases.map(({ config, campaign, report }) => receipt(config, campaign, Buffer.from(report, "base64")));
process.stdout.write(JSON.stringify(answers));
