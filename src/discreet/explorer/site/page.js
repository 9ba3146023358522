// The explorer's page: asks its own server for each step, and shows what comes back.
const $ = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.search);
let token = asked.get("token") ?? sessionStorage.getItem("token") ?? "";
const state = { declared: false, rows: false, questions: [] };

async function ask(step, given = {}) {
  const answer = await fetch(`/api/${step}`, {
    method: "POST",
    headers: { "X-Token": token, "Content-Type": "application/json" },
    body: JSON.stringify(given),
  });
  return taken(await answer.json());
}

function taken(told) {
  if (told.error) throw new Error(told.error);
  $("error").hidden = true;
  return told;
}

function guarded(work) {
  return async (...given) => {
    try {
      await work(...given);
    } catch (error) {
      $("error").textContent = error.message;
      $("error").hidden = false;
    }
  };
}

const busy = (button, work) => guarded(async (...given) => {
  button.disabled = true;
  try { await work(...given); } finally { button.disabled = false; ready(); }
});

const epsilon = () => Number((10 ** Number($("epsilon").value)).toPrecision(2));
const wanted = () => ({
  schema: $("schema").value, epsilon: epsilon(), delta: Number($("delta").value) || 0, rows: Number($("count").value),
  model: $("model").value, measure: $("measure").checked, total: Number($("total").value),
});

function ready() {
  $("fit").disabled = !(state.rows && state.declared);
}

function cells(row, values) {
  for (const [place, value] of values.entries()) {
    const cell = row.insertCell();
    cell.textContent = value;
    if (place) cell.className = "n";
  }
}

function menu(select, values, chosen) {
  select.replaceChildren(...values.map((value) => new Option(value, value, value === chosen, value === chosen)));
}

// ---- rows and schema

async function showRows(told) {
  state.rows = true;
  $("rows-said").textContent = `Rows: ${told.rows}, ${told.columns.length} columns that can be used.`;
  const guess = told.target ?? (await ask("columns")).target;
  menu($("target"), told.columns, guess ?? told.columns.at(-1));
  $("target-row").hidden = false;
  ready();
}

const upload = guarded(async (file) => {
  if (!file) return;
  $("rows-said").textContent = `Reading ${file.name} …`;
  const answer = await fetch("/api/upload", {
    method: "POST",
    headers: { "X-Token": token, "X-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" },
    body: file,
  });
  await showRows(taken(await answer.json()));
});

$("file").addEventListener("change", () => upload($("file").files[0]));
for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  $("drop").addEventListener(name, (event) => {
    event.preventDefault();
    $("drop").classList.toggle("over", over);
    if (name === "drop") upload(event.dataTransfer.files[0]);
  });
}
$("demo").addEventListener("click", busy($("demo"), async () => showRows(await ask("demo"))));
$("draft").addEventListener("click", busy($("draft"), async () => {
  const told = await ask("draft", { target: $("target").value });
  $("schema").value = told.schema;
  const left = Object.entries(told.left_out).map(([name, why]) => `${name} (${why})`);
  $("schema-said").textContent = left.length ? `Left out: ${left.join("; ")}` : "";
  changed();
}));

function changed() {
  state.declared = false;
  ready();
  plan();
}
$("schema").addEventListener("input", changed);
$("declare").addEventListener("click", busy($("declare"), async () => {
  const told = await ask("declare", { schema: $("schema").value });
  $("schema").value = told.schema;
  $("schema-said").textContent =
    `Declared: ${told.features.length} features predict ${told.target} (${told.classes.join(", ")}).` +
    (told.inferred ? " You changed nothing: the certificate will say that the schema was read off the rows." : "");
  state.declared = true;
  ready();
  plan();
}));

// ---- before anything is spent

let waiting;
function plan() {
  clearTimeout(waiting);
  waiting = setTimeout(guarded(async () => {
    $("epsilon-said").textContent = epsilon();
    if (!$("schema").value.trim()) return;
    const told = await ask("plan", wanted());
    const even = told.odds.find((one) => one.before === 0.5);
    $("odds").textContent =
      `Anyone's odds that a given person is in the data change by a factor of ${Math.exp(epsilon()).toPrecision(3)} ` +
      `at most: a guess that was even is right in at most ${(100 * even.after).toPrecision(3)} % of cases.`;
    $("choice").textContent = told.chosen ? `With so many rows: ${told.chosen.model}. ${told.chosen.reason}` : "";
    $("tables-of").textContent = told.tables_of;
    const body = $("tables").tBodies[0];
    body.replaceChildren();
    for (const one of told.tables) {
      cells(body.insertRow(), [one.statistic, one.rows.toFixed(0), one.noise?.toPrecision(3) ?? "private",
        one.error === null ? "" : `${(100 * one.error).toPrecision(2)} %`]);
    }
    $("command").textContent = told.command;
    $("python").textContent = told.python;
  }), 150);
}
for (const id of ["epsilon", "count", "model", "delta", "measure"]) $(id).addEventListener("input", plan);

$("expect").addEventListener("click", busy($("expect"), async () => {
  $("curve").textContent = "Fitting to made-up rows …";
  try {
    $("curve").replaceChildren(picture((await ask("accuracy", wanted())).curve));
  } catch (error) {
    $("curve").textContent = "";
    throw error;
  }
}));

function picture(curve) {
  const known = curve.filter((one) => one.epsilon !== null);
  const all = curve.map((one) => one.accuracy);
  const low = Math.min(...all) - 0.02, high = Math.max(...all) + 0.02;
  const x = (e) => 50 + (Math.log10(e) + 1) / 2 * 380;
  const y = (a) => 10 + (high - a) / (high - low) * 160;
  const exact = curve.find((one) => one.epsilon === null);
  const drawn = new DOMParser().parseFromString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 215" role="img"
    class="picture" aria-label="Accuracy expected at several epsilon on made-up rows">
    <polyline class="limit" points="${known.map((one) => `${x(one.epsilon)},${y(one.accuracy)}`).join(" ")}"/>
    ${known.map((one) => `<circle class="after" r="3.5" cx="${x(one.epsilon)}" cy="${y(one.accuracy)}"/>
      <text text-anchor="middle" x="${x(one.epsilon)}" y="${y(one.accuracy) - 8}">${one.accuracy.toFixed(3)}</text>
      <text text-anchor="middle" x="${x(one.epsilon)}" y="192">${one.epsilon}</text>`).join("")}
    ${exact ? `<line class="chance" x1="50" x2="430" y1="${y(exact.accuracy)}" y2="${y(exact.accuracy)}"/>` : ""}
    <text x="240" y="210" text-anchor="middle">ε (dashed: without privacy)</text></svg>`, "image/svg+xml");
  return document.importNode(drawn.documentElement, true);
}

// ---- for real

$("fit").addEventListener("click", busy($("fit"), async () => {
  $("fit-said").textContent = "Fitting …";
  $("bar").hidden = false;
  const watch = setInterval(async () => {
    const told = await (await fetch("/api/progress", { headers: { "X-Token": token } })).json();
    if (told.progress?.[1]) { $("bar").max = told.progress[1]; $("bar").value = told.progress[0]; }
  }, 500);
  try {
    const told = await ask("fit", wanted());
    $("fit-said").textContent = `Done: ${told.budget} were charged; left in the account: ${told.left}.`;
    $("total-row").hidden = true;
    showModel(told);
  } catch (error) {
    $("fit-said").textContent = "";
    throw error;
  } finally {
    clearInterval(watch);
    $("bar").hidden = true;
  }
}));

function showModel(told) {
  $("model-said").textContent = `This is ${told.kind} with ${told.budget}. It protects ${told.protects}.`;
  const body = $("figures").tBodies[0];
  body.replaceChildren();
  for (const one of told.figures) {
    cells(body.insertRow(), [one.name, one.value.toFixed(3), one.low.toFixed(3), one.high.toFixed(3)]);
  }
  $("figures").hidden = !told.figures.length;
  $("model-file").href = `/files/${told.file}?token=${encodeURIComponent(token)}`;
  $("model-file").setAttribute("download", told.file);
  $("shapes").replaceChildren(...told.shapes.map((one) => {
    const box = document.createElement("div"), head = document.createElement("h3");
    head.textContent = one.feature;
    const drawn = new DOMParser().parseFromString(
      one.picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '), "image/svg+xml");
    box.append(head, document.importNode(drawn.documentElement, true));
    return box;
  }));
  $("model-step").hidden = $("dossier-step").hidden = false;
}

function questions(list) {
  $("questions").replaceChildren(...list.map((one) => {
    const box = document.createElement("div"), label = document.createElement("label");
    label.textContent = one.words;
    label.htmlFor = `q-${one.key}`;
    const choices = one.kind === "bool" ? ["true", "false"] : one.choices;
    const field = document.createElement(choices.length ? "select" : "input");
    if (choices.length) menu(field, ["", ...choices], "");
    field.id = `q-${one.key}`;
    field.dataset.key = one.key;
    if (one.kind === "date") field.type = "date";
    box.append(label, field);
    return box;
  }));
}

$("dossier").addEventListener("click", busy($("dossier"), async () => {
  const answers = Object.fromEntries([...document.querySelectorAll("[data-key]")].map((one) => [one.dataset.key, one.value]));
  const told = await ask("dossier", { answers });
  const open = told.missing.length ? `${told.missing.length} questions stand open in it` : "no question is open";
  $("dossier-said").textContent = `Written; ${open}. The registry's entry is of tier ${told.tier}.`;
  $("documents").replaceChildren(...told.files.map((name) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `/files/${encodeURIComponent(name)}?token=${encodeURIComponent(token)}`;
    link.textContent = name;
    link.target = "_blank";
    link.rel = "noreferrer";
    item.append(link);
    return item;
  }));
}));

guarded(async () => {
  if (asked.get("launch")) {
    const answer = await fetch("/api/launch", { method: "POST", headers: { "X-Launch": asked.get("launch") } });
    token = taken(await answer.json()).token;
  }
  sessionStorage.setItem("token", token);
  if (location.search) history.replaceState(null, "", "/");
  const told = await ask("start");
  menu($("model"), told.models, "auto");
  questions(told.questions);
  $("folder").textContent = told.folder;
  $("total-row").hidden = told.account !== null;
  if (told.schema) $("schema").value = told.schema;
  if (told.rows) await showRows({ rows: told.rows, ...(await ask("columns")) });
  document.body.dataset.ready = "yes";
  plan();
})();
