"use strict";
// One behaviour or several side by side: films, phase plots, sensors, body, curves over the scale.

// --- Curves over the scale, one colour per m --------------------------------------------------------------

function curves(b, rows, first) {
  const kept = b.parts.eps.length;
  return [...rows.keys()].map((i) => ({
    x: b.curves.eps.subarray(0, kept), y: rows[i].subarray(0, kept), name: `m = ${i + first}`, mode: "lines",
    line: { color: data.colours.m[b.parts.m_max][i + first], width: 1.3 }, hovertemplate: "%{y:.3f}<extra>%{fullData.name}, ε = %{x:.3g}</extra>",
  }));
}

function curveLimits(b, kind) {
  if (!b.parts) return null;
  const kept = b.parts.eps.length, rows = b.curves[kind], floor = kinds[kind].floor ?? Infinity;
  const points = kind === "PI" && b.predictive ? b.predictive : { eps: [], value: [] };
  const [low, high] = widen(extent([...rows.map((row) => row.subarray(0, kept)), ...points.value]));
  // The points by nearest neighbours reach to smaller scales than the lines; the first must not touch the axis.
  const x = join([logs(b.parts.eps), ...(points.eps.length ? [widen(logs(points.eps))] : [])]);
  return { xaxis: x, yaxis: [Math.min(low, floor), high] };
}

// A key to the colours of m: an invisible trace with a colour bar.
function colourKey(b) {
  const m = b.parts.m_max;
  return { x: [b.parts.eps[0]], y: [0], mode: "markers", hoverinfo: "skip", marker: { size: 0.001, color: [0], cmin: 0, cmax: m,
    colorscale: data.colours.m[m].map((colour, i) => [i / m, colour]), showscale: true,
    colorbar: { title: { text: "m", side: "top" }, thickness: 10, outlinewidth: 0, len: 1, x: 1.01, nticks: 6 } } };
}

const kinds = {
  delta_h: { title: "What each step of the past adds", y: "δh<sub>m</sub> [nats]", first: 1, words: "Dots: δh_m(ε), by how much the m-th value of the past sharpens the prediction. Lines: its straight segments. Dashes: the constants that terms which depend on ε keep from plateaus on larger scales." },
  h: { title: "Conditional entropies", y: "h<sub>m</sub> [nats]", first: 0, words: "What is left to say about the next value when m values are known. Parallel falling lines: dimension; levelling off: noise." },
  D: { title: "Dimension", y: "D<sub>m</sub>", first: 1, words: "Local slope of the entropies of m values in a row. Where the lines for large m meet and are flat, they give the dimension.", floor: 0 },
  E: { title: "Excess entropy", y: "E<sub>m</sub> [nats]", first: 1, words: "What past and future share, seen with m steps. Dashes: straight pieces const − D ln ε of the largest m.", floor: 0 },
  PI: { title: "Predictive information", y: "PI<sub>m</sub> [nats]", first: 1, words: "What m steps of the past say about m steps of the future: points by nearest neighbours (KSG) from the series with noise added, at half the strength of that noise as scale; the bar ends at the value from half the data. Faint lines: from correlation sums.", floor: 0 },
};

for (const kind of Object.keys(kinds)) limits[kind] = (b) => curveLimits(b, kind);

function drawCurves(box, b, kind) {
  const k = kinds[kind], rows = b.curves[kind];
  const traces = curves(b, rows, k.first);
  if (kind === "delta_h") {
    for (const trace of traces) Object.assign(trace, { mode: "markers", marker: { size: 3, color: trace.line.color, opacity: 0.6 } });
    const line = (m, x, y, dash) => traces.push({ x, y, mode: "lines", hoverinfo: "skip", line: { color: data.colours.m[b.parts.m_max][m], width: 1.7, dash } });
    for (const [m, x0, x1, y0, y1] of b.segments) line(m, [x0, x1], [y0, y1], "solid");
    for (const [i, values] of b.plateaus.entries()) if (values.some(Number.isFinite)) line(i + 1, b.parts.eps, values, "dash");
  }
  if (kind === "E") {
    for (const f of b.scaling) traces.push({ x: f.eps, y: f.eps.map((e) => f.const - f.D * Math.log(e)), mode: "lines",
      name: `${fixed(f.const, 2)} − ${fixed(f.D, 2)} ln ε`, line: { color: "#000", dash: "dash", width: 2 }, hovertemplate: "%{fullData.name}<extra></extra>" });
  }
  if (kind === "PI") {
    const p = b.predictive;
    // The estimates by nearest neighbours carry the panel; those from correlation sums stand behind them.
    if (p) for (const trace of traces) Object.assign(trace, { opacity: 0.4 });
    for (const [i, m] of (p?.m ?? []).entries()) {
      const away = p.value[i].map((value, j) => (Number.isFinite(p.half[i][j]) ? p.half[i][j] - value : 0));
      traces.push({ x: p.eps, y: p.value[i], mode: "lines+markers", cliponaxis: false, name: `KSG, m = ${m}`, customdata: p.eps.map((eps) => 2 * eps), hovertemplate: "%{y:.3f}<extra>%{fullData.name}, noise of %{customdata:.3g} added</extra>",
        line: { color: data.colours.m[b.parts.m_max][m], width: 1.3 }, marker: { size: 6, color: data.colours.m[b.parts.m_max][m], line: { color: "#000", width: 0.7 } },
        error_y: { type: "data", symmetric: false, array: away.map((d) => Math.max(d, 0)), arrayminus: away.map((d) => Math.max(-d, 0)), color: "#555", thickness: 1, width: 3 } });
    }
  }
  traces.push(colourKey(b));
  const l = layout(logAxis(scaleOf(b)), axis(k.y), { margin: { l: 58, r: 56, t: 10, b: 44 } });
  place(l, kind, b);
  show(box, traces, l);
}

// --- The behaviour itself ---------------------------------------------------------------------------------

function drawPhase(box, b) {
  const p = b.phase;
  const section = (at, name, colour) => ({ x: at[0], y: at[1], name, mode: "markers", marker: { size: 3, color: colour }, hoverinfo: "name" });
  const traces = [
    { x: p.now, y: p.before, mode: "markers", name: "x(t), x(t−τ)", showlegend: false, hovertemplate: "%{x:.3f}, %{y:.3f}<extra></extra>",
      marker: { size: 2.2, color: p.third, colorscale: [[0, "#a9c9ea"], [0.5, "#2b6cb0"], [1, "#08111c"]], showscale: true,
        colorbar: { title: { text: "x(t−2τ)", side: "right" }, thickness: 10, outlinewidth: 0, nticks: 5 } } },
    section(p.sections[0], "extrema of x(t)", data.colours.sections[0]), section(p.sections[1], "extrema of x(t−τ)", data.colours.sections[1]),
  ];
  const l = layout(axis("x(t)"), axis(`x(t−τ), τ = ${p.tau}`), { showlegend: true, margin: { l: 58, r: 14, t: 30, b: 44 },
    legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", font: { size: 11 }, itemsizing: "constant" } });
  place(l, "phase", b);
  show(box, traces, l);
}
limits.phase = (b) => {
  if (!b.phase) return null;
  const both = widen(extent([b.phase.now, b.phase.before]));
  return { xaxis: both, yaxis: [...both] };
};

function drawTraces(box, b) {
  const s = b.sensors, n = s.names.length;
  // One lane per sensor; half a lane is the largest value of all sensors of the same unit.
  const same = (i) => s.values.filter((_, j) => s.units[j] === s.units[i]);
  const largest = range(n).map((i) => Math.max(...extent(same(i)).map(Math.abs)) || 1);
  const traces = range(n).map((i) => ({ x: s.t, y: s.values[i].map((v) => n - i + v / (2.1 * largest[i])), customdata: s.values[i], mode: "lines",
    line: { width: 1, color: s.names[i] === s.quantified ? data.colours.state : "#33475b" }, hovertemplate: "%{customdata:.3f}<extra>" + s.names[i] + "</extra>" }));
  const l = layout(axis("time [s]"), axis("", { tickvals: range(n).map((i) => n - i), ticktext: s.names, tickfont: { size: 9 }, range: [0.3, n + 0.7], ticks: "", showgrid: true }),
    { margin: { l: 138, r: 14, t: 10, b: 44 } });
  l.xaxis.range = [s.t[0], s.t.at(-1)];
  show(box, traces, l);
}

function drawBody(box, b) {
  const p = b.body;
  const l = layout(axis("time [s]", { anchor: "y2" }), axis("height [m]", { domain: [0.45, 1], rangemode: "tozero" }),
    { yaxis2: axis("contacts", { domain: [0, 0.36], rangemode: "tozero" }), margin: { l: 58, r: 14, t: 10, b: 44 } });
  const traces = [{ x: p.t, y: p.height, mode: "lines", line: { color: "#33475b", width: 1.5 }, hovertemplate: "%{y:.3f} m<extra></extra>" },
    { x: p.t, y: p.contacts, mode: "lines", yaxis: "y2", line: { color: "#8a6d00", width: 1, shape: "hv" }, hovertemplate: "%{y} points<extra></extra>" }];
  place(l, "body", b);
  show(box, traces, l);
}
limits.body = (b) => b.body && { xaxis: [b.body.t[0], b.body.t.at(-1)], yaxis: [0, widen(extent([b.body.height]))[1]], yaxis2: [0, 1.05 * Math.max(1, extent([b.body.contacts])[1])] };

function addFilm(figure, b) {
  const video = make("video", { controls: "", loop: "", muted: "", playsinline: "", preload: "metadata", poster: b.poster, "aria-label": `film of ${b.label}` });
  video.muted = true;
  video.draw = () => {
    watcher.unobserve(video);
    video.src = URL.createObjectURL(new Blob([decode(document.getElementById(b.film).textContent)], { type: "video/mp4" }));
  };
  whenLoaded.push(video);
  figure.append(video);
}

function drawBehaviours() {
  const root = make("div", { class: "flow" });
  document.getElementById("behaviours").append(root);
  const all = data.behaviours, quantified = all.filter((b) => b.parts);
  if (all.some((b) => b.run)) {
    const films = section(root, "films", "Films", all.some((b) => b.film) ? "Each begins ten seconds after the controller was frozen." : "");
    for (const b of all) {
      const figure = panel(films, b.label, Object.entries(b.motion).map(([name, words]) => `${name} ${words}`).join(", "));
      if (b.film) addFilm(figure, b); else say(figure, b.no_film);
    }
  }
  if (quantified.length) {
    const decomposition = section(root, "decomposition", "Decomposition",
      "Excess entropy split into memory, state and the part that grows as the scale shrinks; above it the quality of the split. Drag the two handles (or focus them and use the arrow keys) to choose other scales to average over.");
    if (quantified.length > 1) {
      const box = make("input", { type: "checkbox", id: "same", checked: "", style: "width:auto", onchange: (event) => { together = event.target.checked; refit(); } });
      decomposition.before(make("p", { class: "controls" }, box, make("label", { for: "same" }, " the same axes for all behaviours")));
    }
    if (!single) decomposition.before(decompositionKey());
    for (const b of all) {
      const figure = panel(decomposition, b.label);
      figure.classList.add("main");
      if (single) figure.append(decompositionKey());
      if (!b.parts) { say(figure, b.problem); continue; }
      b.box = plot(figure, "decomposition", "tall", `Decomposition of the excess entropy of ${b.label} over the scale`, (box) => drawDecomposition(box, b), b);
      addReadout(figure, b);
      b.choose(...b.start);
    }
  }
  if (all.some((b) => b.phase)) {
    const phases = section(root, "phase", "Phase plot", "Delay embedding of the quantified series; orange and green points are Poincaré sections, shade is the third coordinate.");
    for (const b of all) {
      const figure = panel(phases, b.label, b.channel);
      if (b.phase) plot(figure, "phase", "square", `Phase plot of ${b.label}`, (box) => drawPhase(box, b), b);
      else say(figure, b.parts ? "The series is not at hand, only its result." : b.problem);
    }
  }
  if (all.some((b) => b.sensors)) {
    const sensors = section(root, "sensors", "Sensors", "The first ten seconds after the transient; the quantified one is red.");
    for (const b of all) if (b.sensors) plot(panel(sensors, b.label), "sensors", "trace", `Sensor values of ${b.label}`, (box) => drawTraces(box, b), b);
  }
  if (all.some((b) => b.body)) {
    const bodies = section(root, "body", "Body", "Height of the trunk, and the number of points that touch the ground (0: in the air).");
    for (const b of all) if (b.body) plot(panel(bodies, b.label), "body", "", `Height and ground contacts of ${b.label}`, (box) => drawBody(box, b), b);
  }
  for (const [kind, k] of Object.entries(kinds)) {
    if (!quantified.length) break;
    const panels = section(root, kind, k.title, k.words);
    for (const b of quantified) plot(panel(panels, b.label), kind, "", `${k.title} of ${b.label} over the scale`, (box) => drawCurves(box, b, kind), b);
  }
}
