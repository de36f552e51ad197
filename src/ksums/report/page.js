"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const MAX_NUMBERED = 40;  // with more clusters, their numbers would overlap in the map
  const colourOf = cluster => `hsl(${(cluster * 137.508) % 360} 65% ${42 + (cluster % 3) * 8}%)`;
  document.querySelectorAll(".dot").forEach(dot => { dot.style.background = colourOf(+dot.dataset.cluster); });

  // The map. Coordinates run from 0 to 10000 in the longer direction, with the same scale in the other one.
  const canvas = document.querySelector("#map canvas"), tooltip = document.getElementById("tooltip");
  const context = canvas.getContext("2d");
  let width = 0, height = 0, selected = -1;
  const maxOf = values => values.reduce((one, two) => Math.max(one, two), 0);
  const xMax = maxOf(data.x), yMax = maxOf(data.y);
  const toCanvas = (x, y) => {
    const scale = Math.min((width - 24) / (xMax || 1), (height - 24) / (yMax || 1));
    return [width / 2 + (x - xMax / 2) * scale, height / 2 - (y - yMax / 2) * scale];
  };
  const positionOf = i => toCanvas(data.x[i], data.y[i]);
  const sums = new Map();  // of the coordinates of each cluster, to find its middle
  data.label.forEach((cluster, i) => {
    const sum = sums.get(cluster) ?? { x: 0, y: 0, count: 0 };
    sum.x += data.x[i]; sum.y += data.y[i]; sum.count++;
    sums.set(cluster, sum);
  });
  const drawNumber = (cluster, style) => {
    const { x, y, count } = sums.get(cluster), middle = toCanvas(x / count, y / count);
    context.font = "bold 13px system-ui, sans-serif"; context.textAlign = "center"; context.textBaseline = "middle";
    context.lineWidth = 4; context.strokeStyle = style.backgroundColor; context.strokeText(cluster, ...middle);
    context.fillStyle = style.color; context.fillText(cluster, ...middle);
  };
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth; height = canvas.clientHeight;
    canvas.width = width * ratio; canvas.height = height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    for (let i = 0; i < data.x.length; i++) {
      const [x, y] = positionOf(i), faded = selected >= 0 && data.label[i] !== selected;
      context.globalAlpha = faded ? 0.08 : 0.75;
      context.fillStyle = colourOf(data.label[i]);
      context.beginPath(); context.arc(x, y, faded ? 2 : 3, 0, 2 * Math.PI); context.fill();
    }
    context.globalAlpha = 1;
    const style = getComputedStyle(document.body);
    const all = sums.size <= MAX_NUMBERED ? [...sums.keys()] : [];
    const numbered = selected < 0 ? all : sums.has(selected) ? [selected] : [];
    numbered.forEach(cluster => drawNumber(cluster, style));
  };
  const nearestPoint = (x, y) => {  // within 15 pixels; -1 if there is none
    let nearest = -1, least = 15 * 15;
    for (let i = 0; i < data.x.length; i++) {
      const [px, py] = positionOf(i), distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < least) { least = distance; nearest = i; }
    }
    return nearest;
  };
  const showTooltip = event => {
    const frame = canvas.getBoundingClientRect();
    const i = nearestPoint(event.clientX - frame.left, event.clientY - frame.top);
    if (i < 0) { tooltip.style.display = "none"; return; }
    const name = data.name ? data.name[i] : "";
    tooltip.textContent = `row ${data.row[i]}, cluster ${data.label[i]}` + (name ? `: ${name}` : "");
    tooltip.style.display = "block";
    const [x, y] = positionOf(i);
    tooltip.style.left = `${Math.min(x + 10, width - tooltip.offsetWidth - 4)}px`;
    tooltip.style.top = `${Math.max(0, y - tooltip.offsetHeight - 6)}px`;
  };
  canvas.addEventListener("pointermove", showTooltip);
  canvas.addEventListener("pointerdown", showTooltip);
  canvas.addEventListener("pointerleave", event => {
    if (event.pointerType !== "touch") tooltip.style.display = "none";  // a finger leaves as soon as it is lifted
  });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();

  // The table. A click on a column header sorts by the column; a click on a row highlights its cluster in the map.
  const table = document.getElementById("clusters"), body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const header = button.parentElement, ascending = header.getAttribute("aria-sort") === "descending";
      table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const cell = row => row.cells[column], number = row => Number(cell(row).dataset.value);
      const compare = "value" in cell(body.rows[0]).dataset
        ? (one, two) => number(one) - number(two)
        : (one, two) => cell(one).textContent.localeCompare(cell(two).textContent);
      const rows = [...body.rows].sort((one, two) => ascending ? compare(one, two) : compare(two, one));
      body.append(...rows);
    });
  });
  body.addEventListener("click", event => {
    const row = event.target.closest("tr");
    if (!row) return;
    const cluster = +row.dataset.cluster;
    selected = selected === cluster ? -1 : cluster;
    [...body.rows].forEach(other => {
      const isSelected = +other.dataset.cluster === selected;
      other.classList.toggle("selected", isSelected);
      other.querySelector(".select").setAttribute("aria-pressed", isSelected);
    });
    draw();
  });
})();
