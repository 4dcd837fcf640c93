"use strict";
// The plane of behaviours: axes, colours and filters are chosen, a click shows one behaviour.

const rows = data.rows;
const life = (row) => data.lives[`${row.setting}/${row.seed}`];
const nameOf = (row) => `${row.setting}/${row.seed}/${short(row.minutes)}`;
const KINDS = { common: "scales common to all", relative: "scales relative to the spread", auto: "scales of its own" };
const WORDS = { D: "dimension D", E_state: "state complexity [nats]", E_mem: "memory complexity [nats]",
  E_core: "core complexity [nats]", kappa: "noise κ (0 deterministic, 1 stochastic)", std: "amplitude (std of the sensor)",
  PI: "predictive information [nats]", minutes: "minutes of learning", growth: "rise of core complexity [nats]",
  growth_relative: "rise of core complexity, relative scales [nats]" };
const COLOURS = ["#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860", "#da8bc3", "#8c8c8c"];

function wordsFor(name) {
  const [, base, kind] = name.match(/^(.*?)_(common|relative|auto)$/) || [null, name, null];
  return (WORDS[base] || base.replaceAll("_", " ")) + (kind ? `, ${KINDS[kind]}` : "");
}

const numeric = Object.keys(rows[0] || {}).filter((name) => !["setting", "seed"].includes(name)
  && rows.some((row) => typeof row[name] === "number"));
const whole = [...numeric, "mode"];
const times = [...new Set(rows.map((row) => row.minutes))].sort((a, b) => a - b);
const modes = [...new Set(rows.map((row) => row.mode ?? "–"))].sort();
const start = (name, other) => numeric.find((one) => one === `${name}_common` || one === name) ?? other;
const chosen = { x: start(data.measures[0], numeric[0]), y: start(data.measures[1], numeric[1]),
  colour: "mode", filter: numeric[0], low: "", high: "", times: new Set(times), modes: new Set(modes) };

// --- Choosing ---------------------------------------------------------------------------------------------

function select(id, label, names) {
  const node = make("select", { id, onchange: () => { chosen[id] = node.value; draw(); } },
    ...names.map((name) => make("option", { value: name }, name === "mode" ? "what it does" : wordsFor(name))));
  node.value = chosen[id];
  return make("label", {}, `${label} `, node);
}

const limit = (id, label) => make("input", { type: "number", step: "any", id, placeholder: label, "aria-label": label,
  oninput: (event) => { chosen[id] = event.target.value; draw(); } });

function box(set, value, label) {
  const node = make("input", { type: "checkbox", onchange: () => { set[node.checked ? "add" : "delete"](value); draw(); } });
  node.checked = true;
  return make("label", {}, node, ` ${label}`);
}

document.getElementById("choose").append(
  select("x", "across", numeric), select("y", "up", numeric), select("colour", "colour", whole),
  ...times.map((t) => box(chosen.times, t, `${t} min`)), ...modes.map((mode) => box(chosen.modes, mode, mode)),
  make("span", {}, select("filter", "only", numeric), " ", limit("low", "from"), " ", limit("high", "to")));

function shownRows() {
  const { filter, low, high } = chosen;
  return rows.map((row, i) => ({ row, i })).filter(({ row }) => chosen.times.has(row.minutes) && chosen.modes.has(row.mode ?? "–")
    && typeof row[chosen.x] === "number" && typeof row[chosen.y] === "number"
    && (low === "" || row[filter] >= Number(low)) && (high === "" || (row[filter] !== null && row[filter] <= Number(high))));
}

// --- Drawing ----------------------------------------------------------------------------------------------

const plane = document.getElementById("plane");

function trace(some, more) {
  return { type: "scatter", mode: "markers", x: some.map(({ row }) => row[chosen.x]), y: some.map(({ row }) => row[chosen.y]),
    customdata: some.map(({ i }) => i), text: some.map(({ row }) => `setting ${row.setting}, seed ${row.seed}, ${row.minutes} min`
      + (row.mode ? `: ${row.mode}` : "") + (nameOf(row) in data.films ? " (film)" : "")), hovertemplate: "%{text}<br>%{x:.3g}, %{y:.3g}<extra></extra>", ...more };
}

function draw() {
  startLibrary();
  const some = shownRows();
  const symbols = (part) => part.map(({ row }) => (nameOf(row) in data.films ? "star" : "circle"));
  let traces;
  if (chosen.colour === "mode") {
    traces = modes.map((mode, k) => [mode, some.filter(({ row }) => (row.mode ?? "–") === mode), k]).filter(([, part]) => part.length)
      .map(([mode, part, k]) => trace(part, { name: mode, marker: { color: COLOURS[k % COLOURS.length], size: 8, opacity: 0.75, symbol: symbols(part) } }));
  } else {
    const known = some.filter(({ row }) => typeof row[chosen.colour] === "number");
    traces = [trace(known, { name: "", marker: { size: 8, opacity: 0.8, symbol: symbols(known), color: known.map(({ row }) => row[chosen.colour]),
      colorscale: "Viridis", colorbar: { title: { text: wordsFor(chosen.colour), side: "right" }, thickness: 12, len: 0.9 } } })];
  }
  const l = layout(axis(wordsFor(chosen.x)), axis(wordsFor(chosen.y)), { showlegend: chosen.colour === "mode", uirevision: chosen.x + chosen.y,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, margin: { l: 58, r: 14, t: 40, b: 46 } });
  Plotly.react(plane, dressed(traces), dressed(l), config);
  document.getElementById("count").textContent = `${some.length} of ${rows.length} behaviours; stars have a film.`;
  if (!plane.listens) { plane.on("plotly_click", (event) => tell(event.points[0].customdata)); plane.listens = true; }
}
darkness.addEventListener("change", () => { draw(); if (told !== null) tell(told); });

// --- One behaviour ----------------------------------------------------------------------------------------

let told = null;
const detail = document.getElementById("detail");

function copied(text) {
  const button = make("button", { type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(text); button.textContent = "copied"; } catch { button.textContent = "select it"; }
  } }, "copy");
  return make("div", { class: "copy" }, make("code", {}, text), button);
}

function smallPlot(title, traces, x, y) {
  const node = make("div", { class: "plot", role: "img", "aria-label": title });
  detail.append(node);
  const l = layout(x, y, { showlegend: true, legend: { orientation: "h", y: 1.02, yanchor: "bottom", font: { size: 11 } }, margin: { l: 48, r: 8, t: 26, b: 40 } });
  Plotly.newPlot(node, dressed(traces), dressed(l), { ...config, displayModeBar: false });
}

function tell(i) {
  told = i;
  const row = rows[i], mine = rows.filter((one) => one.setting === row.setting && one.seed === row.seed), curves = data.curves[i];
  detail.replaceChildren(make("h2", {}, `Setting ${row.setting}, seed ${row.seed}, frozen at ${row.minutes} min: ${row.mode ?? row.reason ?? ""}`));
  const film = data.films[nameOf(row)], store = life(row).key;
  if (film) {
    const source = `data:video/mp4;base64,${document.getElementById(film).textContent}`;
    detail.append(make("video", { controls: "", loop: "", muted: "", playsinline: "", autoplay: "", src: source }));
  } else {
    detail.append(make("p", { class: "soft" }, "Its film, in the folder of this page:"),
      copied(`selforg video store/${store}/kept/behaviour.h5 film.mp4 --freeze ${row.minutes}`));
  }
  const line = (name, label, color) => ({ name: label, x: mine.map((one) => one.minutes), y: mine.map((one) => one[name]), mode: "lines+markers", line: { color } });
  smallPlot("Core complexity over learning time", [line("E_core_common", "common scales", "#1c2127"), line("E_core_relative", "relative", "#4c72b0"),
    line("D_common", "dimension", "#dd8452")], axis("minutes of learning"), axis("E_core [nats], D"));
  if (curves) {
    const over = (name, label, color, fill) => ({ name: label, x: curves.eps, y: curves[name], stackgroup: fill ? "core" : undefined, mode: "lines", line: { color } });
    smallPlot("Complexity over scale", [over("E_mem", "memory", "#8172b3", true), over("E_state", "state", "#55a868", true), over("kappa", "κ", "#8c8c8c", false)],
      logAxis("scale ε"), axis("nats"));
  }
  const numbers = numeric.filter((name) => !data.axes.includes(name) && typeof row[name] === "number");
  const table = (title, names) => make("details", {}, make("summary", {}, title), make("table", {}, make("tbody", {},
    ...names.map((name) => make("tr", {}, make("td", {}, data.axes.includes(name) ? name : wordsFor(name)), make("td", {}, typeof row[name] === "number" ? short(row[name]) : String(row[name])))))));
  const drawn = table("Settings that were drawn", data.axes.filter((name) => name in row));
  drawn.open = true;
  detail.append(drawn, table("All numbers", numbers), make("p", { class: "soft" }, "The command that makes it again:"), copied(life(row).command));
}

draw();
