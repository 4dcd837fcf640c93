"use strict";
// The decomposition over the scale, with a range that can be dragged, and what is averaged over it.

// --- Means over a range of scales: the same as Decomposition.over(lo, hi) -------------------------------

function over(parts, lo, hi) {
  const inside = [...parts.eps.keys()].filter((i) => parts.eps[i] >= lo && parts.eps[i] <= hi);
  if (!inside.length) return null;
  const pick = (name) => inside.map((i) => parts[name][i]);
  const x = pick("eps").map(Math.log);
  const terms = new Set(inside.map((i) => `${parts.m_l[i]} to ${parts.m_u[i]}`));
  const result = {
    lo: parts.eps[inside.at(-1)], hi: parts.eps[inside[0]], n: inside.length,
    D: -slope(x, pick("E_raw")), terms: terms.size === 1 ? [...terms][0] : null,
  };
  for (const name of ["E_state", "E_mem", "E_core"]) {
    result[name] = mean(pick(name));
    result[`${name}_sd`] = sd(pick(name));
    result[`${name}_drift`] = slope(x, pick(name));
  }
  // The ± of the paper's tables; the spread of the sum would be smaller.
  result.E_core_sd = result.E_state_sd + result.E_mem_sd;
  for (const name of ["kappa", "deterministic", "no_fit", "extrapolated", "negative"]) result[name] = mean(pick(name));
  return result;
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

function sd(values) {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, v) => sum + (v - centre) ** 2, 0) / (values.length - 1));
}

// Of the least-squares line through the finite points; NaN with fewer than two.
function slope(x, y) {
  const ok = [...y.keys()].filter((i) => Number.isFinite(y[i]));
  if (ok.length < 2) return NaN;
  const mx = mean(ok.map((i) => x[i])), my = mean(ok.map((i) => y[i]));
  let above = 0, below = 0;
  for (const i of ok) { above += (x[i] - mx) * (y[i] - my); below += (x[i] - mx) ** 2; }
  return above / below;
}

// --- Decomposition, with the range that can be dragged ---------------------------------------------------

const margin = { l: 58, r: 44, t: 16, b: 44 };
const logs = (eps) => widen([Math.log10(eps.at(-1)), Math.log10(eps[0])], 0.015);

limits.decomposition = (b) => {
  if (!b.parts) return null;
  const p = b.parts, sum = p.E_core.map((v, i) => v + p.E_eps[i]);
  return { xaxis: logs(p.eps), yaxis: [Math.min(0, extent([p.E_mem])[0]), 1.05 * Math.max(extent([sum, p.E_raw])[1], 1e-6)],
    yaxis2: [Math.min(-0.05, extent([p.kappa])[0] - 0.02), 1.1], yaxis3: [-0.05 * (p.m_max - 1), 1.1 * (p.m_max - 1)] };
};

// One key for all panels, in words that wrap; Plotly's own would take half of a narrow plot.
function decompositionKey() {
  const c = data.colours;
  const entry = (look, name) => make("span", { class: "entry" }, make("i", { style: look }), name);
  const line = (colour, dash = "solid") => `height:0;border-top:2px ${dash} ${dressed(colour)}`;
  return make("p", { class: "key" }, make("b", {}, "Below: "), entry(`background:${dressed(c.scale)}`, "grows as ε shrinks"), entry(`background:${dressed(c.state)}`, "state"), entry(`background:${dressed(c.memory)}`, "memory"),
    entry(line("#000"), "excess entropy before fitting lines"), make("b", {}, "Above: "), entry(line("#000"), "noise κ (0 deterministic, 1 noise)"),
    entry(line("#777", "dashed"), "terms on no line"), entry(line("#777", "dotted"), "continued from a line"), entry(line("#b07aa1", "dashed"), "negative terms"),
    entry(line(c.state), "m_l, the first term that depends on ε"), entry(line(c.memory), "m_u, the last one"), entry(`background:${c.stochastic};opacity:.4`, "scales like noise"));
}

function stochastic(parts) {
  const x = parts.eps, found = [];
  const middle = (i, j) => Math.sqrt(x[i] * x[Math.min(Math.max(j, 0), x.length - 1)]);
  for (let i = 0; i < x.length; i++) {
    if (parts.deterministic[i]) continue;
    let j = i;
    while (j + 1 < x.length && !parts.deterministic[j + 1]) j++;
    for (const [low, high] of [[0, 0.62], [0.68, 1]]) {
      found.push({ type: "rect", xref: "x", yref: "paper", x0: middle(j, j + 1), x1: middle(i, i - 1), y0: low, y1: high,
        fillcolor: data.colours.stochastic, opacity: 0.3, line: { width: 0 }, layer: "above" });
    }
    i = j;
  }
  return found;
}

function drawDecomposition(box, b) {
  const p = b.parts, c = data.colours;
  const area = (y, name, colour) => ({ x: p.eps, y, name, stackgroup: "E", mode: "lines", line: { width: 0.5, color: colour },
    fillcolor: colour, hovertemplate: `%{y:.3f} ${nats}` });
  const line = (y, name, more, place = "y2") => ({ x: p.eps, y, name, mode: "lines", yaxis: place, hovertemplate: "%{y:.2f}", ...more });
  const traces = [
    area(p.E_mem, "memory", c.memory), area(p.E_state, "state", c.state), area(p.E_eps, "grows as ε shrinks", c.scale),
    { x: p.eps, y: p.E_raw, name: `E<sub>${p.m_max}</sub> before fitting`, mode: "lines", line: { color: "#000", width: 1.2 },
      hovertemplate: `%{y:.3f} ${nats}` },
    line(p.kappa, "noise κ", { line: { color: "#000", width: 1.5 } }),
    line(p.no_fit, "terms on no line", { line: { color: "#777", dash: "dash", width: 1.3 } }),
    line(p.extrapolated, "continued from a line", { line: { color: "#777", dash: "dot", width: 1.3 } }),
    line(p.negative, "negative terms", { line: { color: "#b07aa1", dash: "dashdot", width: 1.3 } }),
    line(p.m_l, "m<sub>l</sub>", { line: { color: c.state, shape: "hvh", width: 1.3 }, hovertemplate: "%{y}" }, "y3"),
    line(p.m_u, "m<sub>u</sub>", { line: { color: c.memory, shape: "hvh", width: 1.3 }, hovertemplate: "%{y}" }, "y3"),
  ];
  const l = layout(logAxis(scaleOf(b), { anchor: "y" }), axis("excess entropy [nats]", { domain: [0, 0.62] }), {
    margin, hovermode: "x unified", shapes: stochastic(p),
    yaxis2: axis("κ, shares", { domain: [0.68, 1], tickvals: [0, 0.5, 1] }),
    yaxis3: axis("m<sub>l</sub>, m<sub>u</sub>", { domain: [0.68, 1], overlaying: "y2", side: "right", showgrid: false, tick0: 0, dtick: Math.ceil((p.m_max - 1) / 3) }),
  });
  place(l, "decomposition", b);
  show(box, traces, l);
  addHandles(box, b);
}

function addHandles(box, b) {
  const eps = b.parts.eps, top = margin.t;
  const band = make("div", { class: "band" });
  const grip = make("div", { class: "grip", title: "drag to move the range" });
  const handles = ["lo", "hi"].map((end) => make("div", { class: "handle", role: "slider", tabindex: "0", "data-end": end,
    "aria-label": `${end === "lo" ? "lower" : "upper"} end of the range of scales`, "aria-valuemin": eps.at(-1), "aria-valuemax": eps[0],
    title: "drag, or use the arrow keys" }));
  box.append(band, grip, ...handles);

  const span = () => box.layout.xaxis.range;
  const width = () => box.clientWidth - margin.l - margin.r;
  const toPixel = (value) => margin.l + ((Math.log10(value) - span()[0]) / (span()[1] - span()[0])) * width();
  const toIndex = (pixel) => {
    const wanted = span()[0] + ((pixel - margin.l) / width()) * (span()[1] - span()[0]);
    return eps.reduce((best, v, i) => Math.abs(Math.log10(v) - wanted) < Math.abs(Math.log10(eps[best]) - wanted) ? i : best, 0);
  };
  const indexOf = (value) => eps.reduce((best, v, i) => Math.abs(v - value) < Math.abs(eps[best] - value) ? i : best, 0);
  const move = (end, index) => {
    const value = eps[Math.min(Math.max(index, 0), eps.length - 1)];
    if (end === "lo") b.choose(Math.min(value, b.chosen.hi), b.chosen.hi);
    else b.choose(b.chosen.lo, Math.max(value, b.chosen.lo));
  };

  box.placeHandles = () => {
    const clip = (x) => Math.min(Math.max(x, margin.l), margin.l + width());
    const height = box.clientHeight - top - margin.b;
    const at = { lo: toPixel(b.chosen.lo), hi: toPixel(b.chosen.hi) };
    for (const node of [band, grip]) Object.assign(node.style, { left: `${clip(at.lo)}px`, width: `${Math.max(0, clip(at.hi) - clip(at.lo))}px`, top: `${top}px` });
    band.style.height = `${height}px`;
    for (const handle of handles) {
      const end = handle.dataset.end;
      Object.assign(handle.style, { left: `${at[end]}px`, top: `${top}px`, height: `${height}px`,
        display: at[end] < margin.l - 1 || at[end] > margin.l + width() + 1 ? "none" : "block" });
      handle.setAttribute("aria-valuenow", b.chosen[end]);
      handle.setAttribute("aria-valuetext", `ε = ${short(b.chosen[end])}`);
    }
  };
  const drag = (node, start, step) => node.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    node.setPointerCapture(event.pointerId);
    node.focus();
    const x = (e) => e.clientX - box.getBoundingClientRect().left;
    const begin = start(x(event));
    const onMove = (e) => step(x(e), begin);
    node.addEventListener("pointermove", onMove);
    for (const end of ["pointerup", "pointercancel"]) node.addEventListener(end, () => node.removeEventListener("pointermove", onMove), { once: true });
  });
  for (const handle of handles) {
    drag(handle, () => null, (x) => move(handle.dataset.end, toIndex(x)));
    handle.addEventListener("keydown", (event) => {
      const end = handle.dataset.end, now = indexOf(b.chosen[end]);
      // Scales descend: the next smaller one has the next index.
      const steps = { ArrowLeft: 1, ArrowDown: 1, ArrowRight: -1, ArrowUp: -1, PageDown: 4, PageUp: -4, Home: eps.length, End: -eps.length };
      if (!(event.key in steps)) return;
      event.preventDefault();
      move(end, now + steps[event.key]);
    });
  }
  drag(grip, (x) => ({ at: toIndex(x), hi: indexOf(b.chosen.hi), lo: indexOf(b.chosen.lo) }), (x, from) => {
    const by = Math.min(Math.max(toIndex(x) - from.at, -from.hi), eps.length - 1 - from.lo);
    b.choose(eps[from.lo + by], eps[from.hi + by]);
  });
  box.on("plotly_relayout", box.placeHandles);
  box.on("plotly_afterplot", box.placeHandles);
  box.placeHandles();
}

// Four digits, rounded away from the range: the same scales of the grid lie in it.
function outwards(value, up) {
  const near = Number(value.toPrecision(4));
  if (up ? near >= value : near <= value) return near;
  const last = 10 ** (Math.floor(Math.log10(value)) - 3);
  return Number((near + (up ? last : -last)).toPrecision(4));
}

// What is averaged over the chosen range, the buttons, and the command that repeats it.
function addReadout(figure, b) {
  const cell = () => make("data", {});
  const rows = { mean: "in this range [nats]", sd: "spread over ε", drift: "drift per e-fold of ε" };
  const names = ["E_state", "E_mem", "E_core", "D"];
  const cells = {};
  const body = make("tbody");
  for (const [row, words] of Object.entries(rows)) {
    body.append(make("tr", {}, make("th", { scope: "row" }, words), ...names.map((name) => {
      if (name === "D" && row !== "mean") return make("td");
      cells[`${name}.${row}`] = cell();
      cells[`${name}.${row}`].dataset.name = `${name}.${row}`;
      return make("td", {}, cells[`${name}.${row}`]);
    })));
  }
  const kept = (words, text) => body.append(make("tr", { class: "before" }, make("th", { scope: "row" }, words), ...names.map((name) => make("td", {}, text(b.estimates[name])))));
  kept(b.given ? "in the file" : "in the file, over all ranges", (estimate) => estimate.value === null ? "none" : fixed(estimate.value));
  kept("sampling error", (estimate) => estimate.sampling === null ? "–" : `± ${fixed(estimate.sampling)}`);
  const table = make("table", { class: "readout" }, make("thead", {}, make("tr", {}, make("td", {}),
    ...["state", "memory", "core", "D"].map((word) => make("th", { scope: "col" }, word)))), body);
  const note = make("p", { class: "soft", "aria-live": "polite" });
  const command = make("code", {});
  const inputs = {};
  for (const end of ["lo", "hi"]) inputs[end] = make("input", { type: "text", inputmode: "decimal", "data-end": end,
    "aria-label": `${end === "lo" ? "smallest" : "largest"} scale of the range`, onchange: () => {
      const value = Number(inputs[end].value);
      if (!(value > 0)) { note.textContent = `${inputs[end].value} is no scale; give a positive number.`; return; }
      b.choose(end === "lo" ? value : b.chosen.lo, end === "hi" ? value : b.chosen.hi);
    } });
  const buttons = [make("button", { type: "button", class: "automatic", onclick: () => b.choose(...b.automatic) }, "Automatic range")];
  if (b.given) buttons.push(make("button", { type: "button", onclick: () => b.choose(...b.given) }, "Range of the file"));
  if (data.behaviours.filter((other) => other.parts).length > 1) {
    buttons.push(make("button", { type: "button", class: "everywhere", onclick: () => {
      for (const other of data.behaviours) if (other.parts) other.choose(b.chosen.lo, b.chosen.hi);
    } }, "Use for all"));
  }
  const copied = make("button", { type: "button", class: "clip", onclick: async () => {
    try { await navigator.clipboard.writeText(command.textContent); } catch {
      getSelection().selectAllChildren(command);
      document.execCommand("copy");
    }
    copied.textContent = "Copied";
    setTimeout(() => { copied.textContent = "Copy"; }, 1500);
  } }, "Copy");
  figure.append(
    make("div", { class: "range controls" }, "ε from ", inputs.lo, " to ", inputs.hi, ...buttons), table, note,
    make("div", { class: "copy" }, command, copied));

  b.choose = (lo, hi) => {
    b.chosen = { lo, hi };
    const r = over(b.parts, lo, hi);
    for (const end of ["lo", "hi"]) inputs[end].value = Number(b.chosen[end].toPrecision(6));
    // Noise has no dimension, whatever the slope of its curve.
    if (r !== null && r.kappa > data.kappa_max) r.D = NaN;
    for (const name of names) {
      for (const row of Object.keys(rows)) {
        if (!cells[`${name}.${row}`]) continue;
        const value = r === null ? NaN : r[row === "mean" ? name : `${name}_${row}`];
        cells[`${name}.${row}`].value = String(value);
        cells[`${name}.${row}`].textContent = row === "sd" ? `± ${fixed(value)}` : row === "drift" && value > 0 ? `+${fixed(value)}` : fixed(value);
      }
    }
    const which = r && r.terms === "0 to 0" ? "no terms depend on ε" : r && r.terms ? `terms ${r.terms} depend on ε` : "varying terms depend on ε";
    note.textContent = r === null
      ? `No scale of the grid lies in [${short(lo)}, ${short(hi)}]; the grid has ${b.parts.eps.length} scales from ${short(b.parts.eps.at(-1))} to ${short(b.parts.eps[0])}.`
      : `${r.n} scales, ${fixed(Math.log2(r.hi / r.lo), 1)} octaves; ${Number.isFinite(r.D) ? "" : "stochastic: no dimension; "}noise κ ${fixed(r.kappa, 2)}, ${percent(r.deterministic)} of them deterministic; ${which}; ${percent(r.no_fit)} of the terms on no line.`;
    const automatic = lo === b.automatic[0] && hi === b.automatic[1];
    command.textContent = automatic ? b.command : `${b.command} --eps-range ${outwards(lo, false)} ${outwards(hi, true)}`;
    if (b.box.placeHandles) b.box.placeHandles();
  };
}
