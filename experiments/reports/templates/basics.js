"use strict";
// What every plot of the page shares: data, panels, axes. Nothing is loaded from elsewhere.

const data = lazily(JSON.parse(document.getElementById("data").textContent));
const nats = "nats";
const range = (n) => Array.from({ length: n }, (_, i) => i);

function decode(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Little-endian arrays in base64; two-dimensional ones become an array of rows.
function unpack({ base64, type, shape }) {
  const bytes = decode(base64);
  const flat = type === "f8" ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
  if (shape.length === 1) return flat;
  return Array.from({ length: shape[0] }, (_, i) => flat.subarray(i * shape[1], (i + 1) * shape[1]));
}

// Arrays are unpacked when they are first looked at: a long page opens quickly.
function lazily(node) {
  for (const [key, value] of Object.entries(node)) {
    if (value === null || typeof value !== "object") continue;
    if (value.base64 === undefined) { lazily(value); continue; }
    Object.defineProperty(node, key, { configurable: true, enumerable: true, get() {
      const array = unpack(value);
      Object.defineProperty(node, key, { value: array });
      return array;
    } });
  }
  return node;
}

// --- Small helpers --------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const fixed = (value, digits = 3) => Number.isFinite(value) ? value.toFixed(digits).replace(/^-(0\.0*)$/, "$1").replace("-", "−") : "–";
const short = (value) => Number(value.toPrecision(3)).toString();
const percent = (share) => `${(100 * share).toFixed(0)} %`;

function extent(arrays) {
  let low = Infinity, high = -Infinity;
  for (const array of arrays) for (const v of array) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
  return low <= high ? [low, high] : [0, 1];
}
const widen = ([low, high], by = 0.04) => [low - by * (high - low || 1), high + by * (high - low || 1)];
const join = (ranges) => [Math.min(...ranges.map((r) => r[0])), Math.max(...ranges.map((r) => r[1]))];

// --- Panels: drawn when they come near the screen, so that long pages open quickly -----------------------

const plots = [];
// What is watched once the whole page is there: until then the table has the processor for itself.
const whenLoaded = [];
const config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  toImageButtonOptions: { format: "svg" } };
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) entry.target.draw();
}, { rootMargin: "600px" });

// --- Light and dark: plots are described for white paper, and dressed when they are drawn ----------------

const darkness = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => darkness.matches && document.documentElement.dataset.look !== "light";

// A colour as it is seen on dark paper: greys the other way round, dark colours lighter, pale ones darker.
function onDark(hex) {
  const full = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  const rgb = [1, 3, 5].map((i) => parseInt(full.slice(i, i + 2), 16));
  const light = (0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]) / 255;
  const grey = Math.max(...rgb) - Math.min(...rgb) < 48 && (light < 0.5 || light > 0.9);
  // White becomes the paper of the page, black its ink.
  if (!grey && light > 0.85) return "#" + rgb.map((v) => Math.round(0.5 * v).toString(16).padStart(2, "0")).join("");
  const turned = grey ? rgb.map((v, i) => [228, 232, 236][i] - ([207, 207, 207][i] * v) / 255) : rgb.map((v) => v + (255 - v) * Math.max(0, 1.6 * (0.35 - light)));
  return "#" + turned.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("");
}

function dressed(node) {
  if (!isDark()) return node;
  if (typeof node === "string") return /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(node) ? onDark(node) : node;
  if (node === null || typeof node !== "object" || ArrayBuffer.isView(node)) return node;
  if (Array.isArray(node)) return typeof node.at(-1) === "number" ? node : node.map(dressed);
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, dressed(value)]));
}

const show = (box, traces, l) => Plotly.newPlot(box, dressed(traces), dressed(l), config);

function redraw() {
  for (const key of document.querySelectorAll(".key")) key.replaceWith(decompositionKey());
  for (const box of plots.filter((one) => one.drawn)) {
    Plotly.purge(box);
    box.replaceChildren();
    box.drawn = false;
    box.draw();
  }
}
darkness.addEventListener("change", redraw);

const font = { family: 'system-ui, "Segoe UI", Helvetica, Arial, sans-serif', size: 12, color: "#1c2127" };
const axis = (title, more = {}) => ({
  title: { text: title, standoff: 6 }, showline: true, linecolor: "#8a939c", ticks: "outside", ticklen: 4,
  gridcolor: "#eceff2", zeroline: false, automargin: false, ...more,
});
// 1, 2 and 5 of every decade, fewer of many decades, written out: bare digits between powers of ten are easily
// misread, and labels that do not fit side by side are turned and cut.
const marks = (decades) => range(25).flatMap((i) => (decades < 2.3 ? [1, 2, 5] : decades < 3.4 ? [1, 3] : [1]).map((digit) => Number(`${digit}e${i - 15}`)));
const ticks = marks(0);
const scaleOf = (b) => `scale ε${b.channel.match(/ \[[^\]]+\]$/)?.[0] ?? ""}`;
const logAxis = (title, more = {}) => axis(title, { type: "log", tickvals: ticks, ticktext: ticks.map(String), ...more });
const layout = (x, y, more = {}) => ({
  font, xaxis: x, yaxis: y, margin: { l: 58, r: 14, t: 10, b: 44 }, showlegend: false, hovermode: "closest",
  paper_bgcolor: "#fff", plot_bgcolor: "#fff", ...more,
});

// The library is stored as text and started with the first plot, so that the table is there at once.
function startLibrary() {
  if (window.Plotly) return;
  document.head.append(make("script", {}, document.getElementById("plotly").textContent));
}

function plot(figure, kind, height, describe, draw, b = null) {
  const box = make("div", { class: `plot ${height}`, role: "img", "aria-label": describe });
  figure.append(box);
  Object.assign(box, { kind, behaviour: b });
  box.draw = () => {
    watcher.unobserve(box);
    if (box.drawn) return;
    box.drawn = true;
    startLibrary();
    draw(box);
  };
  plots.push(box);
  whenLoaded.push(box);
  return box;
}

// One behaviour: all its figures flow in one grid, each under its own title. Several: a row per kind of figure.
const single = data.behaviours.length === 1;

function section(parent, id, title, words) {
  const node = make("section", { "aria-label": title });
  const panels = make("div", { class: "panels" });
  if (single && parent.classList.contains("flow")) Object.assign(panels, { anchor: id, words: [title, words] });
  else node.append(make("h2", { id }, title), words ? make("p", { class: "soft lead" }, words) : "");
  node.append(panels);
  parent.append(node);
  document.getElementById("contents").append(make("a", { href: `#${id}` }, title), " ");
  return panels;
}

function panel(parent, label, note = "") {
  const [title, words] = parent.words || [label, ""];
  const figure = make("figure", { class: "panel" }, make("figcaption", {}, title,
    note ? make("small", {}, ` ${note}`) : "", words ? make("small", { class: "block" }, words) : ""));
  if (parent.anchor) figure.id = parent.anchor;
  parent.append(figure);
  return figure;
}

const say = (figure, words) => figure.append(make("p", { class: "none" }, words));

// --- The same axes for every behaviour, or each its own --------------------------------------------------

// By kind of plot: limits of one behaviour, {xaxis: [low, high], ...} as Plotly wants them (logarithms on log
// axes), or null where there is nothing to draw.
const limits = {};
const common = {};
let together = true;

function shared(kind) {
  if (!(kind in common)) {
    const all = data.behaviours.map(limits[kind]).filter(Boolean);
    common[kind] = Object.fromEntries(Object.keys(all[0]).map((name) => [name, join(all.map((each) => each[name]))]));
  }
  return common[kind];
}

function fit(kind, b) {
  const found = together ? shared(kind) : limits[kind](b);
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [`${name}.range`, [...value]]));
}

function refit() {
  for (const box of plots) if (box.drawn && limits[box.kind]) Plotly.relayout(box, fit(box.kind, box.behaviour));
}

function place(l, kind, b) {
  for (const [name, value] of Object.entries(fit(kind, b))) {
    const one = l[name.split(".")[0]];
    one.range = value;
    if (one.type === "log") Object.assign(one, { tickvals: marks(value[1] - value[0]), ticktext: marks(value[1] - value[0]).map(String), tickangle: 0 });
  }
  return l;
}
