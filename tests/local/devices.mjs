// People with JavaScript clients: node devices.mjs ADDRESS COUNT reports about that many, each one twice.
import { writeFileSync } from "node:fs";

const [address, count] = process.argv.slice(2);
writeFileSync("client.mjs", await (await fetch(`${address}/client.mjs`)).text());
const { LocalClient } = await import(`${process.cwd()}/client.mjs`);
const campaign = await (await fetch(`${address}/campaign.json`)).json();

const total = { accepted: 0, replayed: 0 };
for (let i = 0; i < Number(count); i += 1) {
  const store = new Map();
  const row = { sex: i % 2 ? "f" : "m", warmth: 36 + (i % 50) / 10, ill: i % 3 ? "no" : "yes" };
  for (let time = 0; time < 2; time += 1) {
    const said = await new LocalClient(campaign, { store }).send(row, `${address}/reports`);
    for (const fate of Object.keys(total)) total[fate] += said[fate];
  }
}
console.log(JSON.stringify(total));
