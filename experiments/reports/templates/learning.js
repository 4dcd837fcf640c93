"use strict";
// Learning: progress over time, controller matrices, spectrum of the loop, the body.

// `members`: behaviours of one robot under one rule; runs that differ in their seed share a median.
function drawProgress(box, names, members, ends) {
  const looks = { E_state: ["state", data.colours.state, "circle", 6], E_mem: ["memory", data.colours.memory, "square", 6],
    E_core: ["core = state + memory", "#000", "triangle-up", 14], D: ["dimension", data.colours.sections[1], "circle", 7] };
  const runs = Map.groupBy(members, (b) => b.run);
  const several = runs.size > 1, traces = [];
  for (const name of names) {
    const [words, colour, symbol, size] = looks[name], at = new Map();
    for (const [run, list] of runs) {
      const sorted = [...list].sort((a, b) => a.minutes - b.minutes);
      for (const b of sorted) if (b.estimates[name].value !== null) at.set(b.minutes, [...(at.get(b.minutes) || []), b.estimates[name].value]);
      traces.push({ x: sorted.map((b) => b.minutes), y: sorted.map((b) => b.estimates[name].value), name: words, showlegend: !several, mode: "lines+markers",
        opacity: several ? 0.4 : 1, line: { color: colour, width: (several ? 1 : 2) * (name === "E_core" ? 3 : 1) }, marker: { symbol, size, color: "#fff", line: { color: colour, width: 1.5 } },
        error_y: { type: "data", array: sorted.map((b) => b.estimates[name].sampling ?? 0), color: colour, thickness: 1, width: 3 },
        hovertemplate: `%{y:.3f}<extra>${words}, ${run}</extra>` });
    }
    if (several) {
      const times = [...at.keys()].sort((a, b) => a - b);
      const median = (v) => { const w = [...v].sort((a, b) => a - b), k = w.length >> 1; return w.length % 2 ? w[k] : (w[k - 1] + w[k]) / 2; };
      traces.push({ x: times, y: times.map((t) => median(at.get(t))), name: `${words} (median)`, mode: "lines+markers",
        line: { color: colour, width: name === "E_core" ? 8 : 2.5 }, marker: { symbol, size: size + 1, color: colour }, hovertemplate: `%{y:.3f}<extra>${words}, median</extra>` });
    }
  }
  show(box, traces, layout(axis("learning time [min]", { range: ends.x }), axis(names[0] === "D" ? "dimension D" : "complexity [nats]", { range: ends.y }),
    { showlegend: true, legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", font: { size: 11 } }, margin: { l: 58, r: 14, t: 46, b: 44 } }));
}

function drawMatrix(box, run, name) {
  const limit = Math.max(...Object.values(run.C).map((C) => Math.max(...extent(C).map(Math.abs)))) || 1;
  show(box, [{ type: "heatmap", z: run.C[name], zmin: -limit, zmax: limit, colorscale: [[0, "#2166ac"], [0.25, "#92c5de"], [0.5, "#f7f7f7"], [0.75, "#f4a582"], [1, "#b2182b"]], xgap: 0.5, ygap: 0.5,
    customdata: run.C[name], hovertext: run.motors.map((motor) => run.sensors.map((sensor) => `${motor} ← ${sensor}`)), hovertemplate: "%{z:.3f}<extra>%{hovertext}</extra>",
    colorbar: { thickness: 10, outlinewidth: 0, nticks: 5 } }],
  layout(axis("sensor", { dtick: 3, showgrid: false, constrain: "domain" }), axis("motor", { dtick: 3, showgrid: false, autorange: "reversed", scaleanchor: "x", constrain: "domain" }),
    { margin: { l: 48, r: 14, t: 10, b: 40 } }));
}

const later = (i, n) => data.colours.time[n][i];

function drawSpectrum(box, run) {
  const names = Object.keys(run.eigenvalues), circle = range(181).map((i) => (2 * Math.PI * i) / 180);
  const traces = [{ x: circle.map(Math.cos), y: circle.map(Math.sin), mode: "lines", line: { color: "#999", width: 1 }, hoverinfo: "skip", showlegend: false }];
  names.forEach((name, i) => traces.push({ x: run.eigenvalues[name][0], y: run.eigenvalues[name][1], name, mode: "markers",
    marker: { size: 8, color: later(i, names.length), line: { color: "#fff", width: 0.5 }, symbol: ["circle", "square", "diamond", "triangle-up", "star"][i % 5] }, hovertemplate: "%{x:.2f} + %{y:.2f} i<extra>" + name + "</extra>" }));
  show(box, traces, layout(axis("real part"), axis("imaginary part", { scaleanchor: "x" }),
    { showlegend: true, legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom" }, margin: { l: 58, r: 14, t: 30, b: 44 } }));
}

function drawModuli(box, run) {
  const traces = run.moduli.map((row, i) => ({ x: run.minutes, y: row, mode: "lines", line: { width: 1.2, color: i < 2 ? "#2b6cb0" : "#9db4cc" }, hovertemplate: `%{y:.2f}<extra>eigenvalue ${i + 1}</extra>` }));
  const mark = (more) => ({ type: "line", line: { color: "#777", width: 1, dash: "dot" }, ...more });
  show(box, traces, layout(axis("learning time [min]"), axis("modulus", { rangemode: "tozero" }), {
    shapes: [mark({ xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1 }), ...run.freezes.map((t) => mark({ x0: t, x1: t, yref: "paper", y0: 0, y1: 1 }))] }));
}

function drawLearningBody(box, run) {
  const p = run.body, t = p.t.map((s) => s / 60);
  const edge = (y, fill) => ({ x: t, y, mode: "lines", line: { width: 0 }, fill, fillcolor: "rgba(43,108,176,.25)", hoverinfo: "skip" });
  const traces = [edge(p.low, "none"), edge(p.high, "tonexty"),
    { x: t, y: p.height, mode: "lines", line: { color: "#2b6cb0", width: 1.5 }, hovertemplate: "%{y:.3f} m<extra>mean height</extra>" },
    { x: t, y: p.airtime, mode: "lines", yaxis: "y2", line: { color: "#8a6d00", width: 1.2 }, hovertemplate: "%{y:.0%}<extra>airtime</extra>" },
    { x: t, y: p.displacement, mode: "lines", yaxis: "y3", line: { color: "#33475b", width: 1.5 }, hovertemplate: "%{y:.2f} m<extra>from the start</extra>" }];
  const l = layout(axis("learning time [min]", { anchor: "y3" }), axis("height [m]", { domain: [0.7, 1], rangemode: "tozero", nticks: 4 }), {
    yaxis2: axis("airtime", { domain: [0.35, 0.65], tickformat: ".0%", rangemode: "tozero", nticks: 4 }), yaxis3: axis("distance [m]", { domain: [0, 0.3], rangemode: "tozero", nticks: 4 }) });
  for (const name of ["yaxis", "yaxis2", "yaxis3"]) l[name].title.standoff = 14;
  l.margin.l = 74;
  l.shapes = run.freezes.map((m) => ({ type: "line", x0: m, x1: m, yref: "paper", y0: 0, y1: 1, line: { color: "#777", width: 1, dash: "dot" } }));
  show(box, traces, l);
}

function drawProgressSection() {
  const learned = data.behaviours.filter((b) => b.parts && b.minutes !== null);
  if (!learned.length) return;
  const panels = section(document.getElementById("learning"), "progress", "Learning progress", "Bars: sampling error. Each behaviour is averaged over its own range of scales, as in the table.");
  // The same axes for every robot and rule.
  const ends = (names) => ({ x: [0, 1.05 * Math.max(...learned.map((b) => b.minutes))], y: widen(join([[0, 0], extent(learned.flatMap((b) => names.map((name) => {
    const { value, sampling } = b.estimates[name];
    return [value - (sampling ?? 0), value + (sampling ?? 0)];
  })))]), 0.05) });
  for (const [title, names] of [["Complexity", ["E_core", "E_mem", "E_state"]], ["Dimension", ["D"]]]) {
    for (const [group, members] of Map.groupBy(learned, (b) => b.group)) {
      plot(panel(panels, title, group), "progress", "", `${title} of the ${group} against learning time`, (box) => drawProgress(box, names, members, ends(names)));
    }
  }
}

function drawLearning() {
  const root = document.getElementById("behaviours");
  for (const [i, run] of data.learning.entries()) {
    const panels = section(root, `run-${i}`, data.learning.length > 1 ? run.name : "Controller and body while learning", run.label);
    if (run.problem) panels.before(make("p", { class: "warn" }, run.problem));
    for (const name of Object.keys(run.C)) {
      const figure = panel(panels, `C at ${name}`);
      if (extent(run.C[name]).every((v) => v === 0)) say(figure, "C is zero: this controller does not listen to its sensors.");
      else plot(figure, "C", "square", `Controller matrix C at ${name}`, (box) => drawMatrix(box, run, name));
    }
    if (Object.keys(run.eigenvalues).length) plot(panel(panels, "Spectrum of the loop", "at rest; outside the circle motion grows"), "spectrum", "square", "Eigenvalues of the loop", (box) => drawSpectrum(box, run));
    if (run.moduli.length) plot(panel(panels, "Eigenvalues while learning", "at rest; dotted: freezes, and modulus 1"), "moduli", "square", "Moduli of the eigenvalues against learning time", (box) => drawModuli(box, run));
    if (run.body) plot(panel(panels, "Body while learning", "shaded: lowest to highest"), "learning body", "square", "Height, airtime and displacement while learning", (box) => drawLearningBody(box, run));
    if (!panels.children.length) say(panels, "Nothing was recorded of this learning phase.");
  }
}
