"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const colour = r => `hsl(${(r * 137.508) % 360} 65% ${42 + (r % 3) * 8}%)`;
  document.querySelectorAll(".dot").forEach(dot => { dot.style.background = colour(+dot.dataset.cluster); });

  // The map: points are in 0 … 10000 the longer way, and in the same scale the other way.
  const box = document.getElementById("map"), canvas = box.querySelector("canvas"), tip = document.getElementById("tip");
  const pen = canvas.getContext("2d");
  let width = 0, height = 0, picked = -1;
  const most = values => values.reduce((one, two) => Math.max(one, two), 0);
  const wide = most(data.x), high = most(data.y);
  const at = (x, y) => {
    const scale = Math.min((width - 24) / (wide || 1), (height - 24) / (high || 1));
    return [width / 2 + (x - wide / 2) * scale, height / 2 - (y - high / 2) * scale];
  };
  const place = i => at(data.x[i], data.y[i]);
  const middles = new Map();
  data.label.forEach((r, i) => {
    const middle = middles.get(r) ?? { x: 0, y: 0, count: 0 };
    middle.x += data.x[i]; middle.y += data.y[i]; middle.count++;
    middles.set(r, middle);
  });
  const name = (r, ink) => {
    const { x, y, count } = middles.get(r), middle = at(x / count, y / count);
    pen.font = "bold 13px system-ui, sans-serif"; pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.lineWidth = 4; pen.strokeStyle = ink.backgroundColor; pen.strokeText(r, ...middle);
    pen.fillStyle = ink.color; pen.fillText(r, ...middle);
  };
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth; height = canvas.clientHeight;
    canvas.width = width * ratio; canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    for (let i = 0; i < data.x.length; i++) {
      const [x, y] = place(i), other = picked >= 0 && data.label[i] !== picked;
      pen.globalAlpha = other ? 0.08 : 0.75;
      pen.fillStyle = colour(data.label[i]);
      pen.beginPath(); pen.arc(x, y, other ? 2 : 3, 0, 2 * Math.PI); pen.fill();
    }
    pen.globalAlpha = 1;
    const ink = getComputedStyle(document.body);
    if (picked >= 0 ? middles.has(picked) : middles.size <= 40)
      (picked >= 0 ? [picked] : [...middles.keys()]).forEach(r => name(r, ink));
  };
  const nearest = (x, y) => {
    let best = -1, least = 15 * 15;
    for (let i = 0; i < data.x.length; i++) {
      const [px, py] = place(i), far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) { least = far; best = i; }
    }
    return best;
  };
  const show = event => {
    const frame = canvas.getBoundingClientRect(), x = event.clientX - frame.left, y = event.clientY - frame.top;
    const i = nearest(x, y);
    if (i < 0) { tip.style.display = "none"; return; }
    const name = data.name ? data.name[i] : "";
    tip.textContent = `row ${data.row[i]}, cluster ${data.label[i]}` + (name ? `: ${name}` : "");
    tip.style.display = "block";
    const [px, py] = place(i);
    tip.style.left = `${Math.min(px + 10, width - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.max(0, py - tip.offsetHeight - 6)}px`;
  };
  canvas.addEventListener("pointermove", show);
  canvas.addEventListener("pointerdown", show);
  canvas.addEventListener("pointerleave", event => {
    if (event.pointerType !== "touch") tip.style.display = "none";  // a finger leaves as soon as it is lifted
  });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();

  // The table: sorted by a click on the name of a column; a click on a row shows its cluster alone in the map.
  const table = document.getElementById("clusters"), body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const head = button.parentElement, rising = head.getAttribute("aria-sort") === "descending";
      table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const cell = row => row.cells[column], number = row => Number(cell(row).dataset.value);
      const by = "value" in cell(body.rows[0]).dataset
        ? (one, two) => number(one) - number(two)
        : (one, two) => cell(one).textContent.localeCompare(cell(two).textContent);
      const rows = [...body.rows].sort((one, two) => rising ? by(one, two) : by(two, one));
      body.append(...rows);
    });
  });
  body.addEventListener("click", event => {
    const row = event.target.closest("tr");
    if (!row) return;
    const r = +row.dataset.cluster;
    picked = picked === r ? -1 : r;
    [...body.rows].forEach(other => {
      const own = +other.dataset.cluster === picked;
      other.classList.toggle("picked", own);
      other.querySelector(".pick").setAttribute("aria-pressed", own);
    });
    draw();
  });
})();
