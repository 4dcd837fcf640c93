"use strict";
// Puts the page together: the table sorts, sections are filled, the page prints.

function sortable() {
  const table = document.getElementById("summary");
  if (!table) return;
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (body) => body.rows[0].cells[column]?.dataset.sort ?? "";
    const numeric = head.dataset.type === "number";
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === ""); // what is missing goes last, both ways
      return (numeric ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true })) * (down ? -1 : 1);
    };
    table.append(...[...table.tBodies].sort(order));
  }));
}

function printable() {
  window.addEventListener("beforeprint", () => {
    document.body.classList.add("printing");
    document.documentElement.dataset.look = "light";
    for (const node of document.querySelectorAll("details")) node.open = true;
    if (darkness.matches) redraw();
    for (const box of plots) {
      box.draw();
      Plotly.relayout(box, { width: box.clientWidth, height: box.clientHeight });
    }
  });
  window.addEventListener("afterprint", () => {
    document.body.classList.remove("printing");
    delete document.documentElement.dataset.look;
    if (darkness.matches) redraw();
    for (const box of plots) Plotly.relayout(box, { width: null, height: null, autosize: true });
  });
}

sortable();
drawProgressSection();
drawBehaviours();
drawLearning();
printable();
for (const link of document.querySelectorAll("a[href='#reading']")) link.addEventListener("click", () => { document.getElementById("reading").open = true; });
window.addEventListener("load", () => setTimeout(() => { for (const node of whenLoaded) watcher.observe(node); }));
