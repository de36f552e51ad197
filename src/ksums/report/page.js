"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const colour = r => `hsl(${(r * 137.508) % 360} 65% ${42 + (r % 3) * 8}%)`;
  document.querySelectorAll(".dot").forEach(dot => { dot.style.background = colour(+dot.dataset.cluster); });

  // The map: points are in 0 … 10000 both ways.
  const box = document.getElementById("map"), canvas = box.querySelector("canvas"), tip = document.getElementById("tip");
  const pen = canvas.getContext("2d");
  let width = 0, height = 0, picked = -1;
  const place = i => [12 + (width - 24) * data.x[i] / 10000, 12 + (height - 24) * (1 - data.y[i] / 10000)];
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
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  window.addEventListener("resize", draw);
  draw();

  // The table: sorted by a click on the name of a column; a click on a row shows its cluster alone in the map.
  const table = document.getElementById("clusters"), body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const head = button.parentElement, rising = head.getAttribute("aria-sort") === "descending";
      table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const value = row => { const cell = row.cells[column]; return cell.dataset.value ?? cell.textContent; };
      const rows = [...body.rows].sort((one, two) => {
        const a = value(one), b = value(two), order = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
        return rising ? order : -order;
      });
      body.append(...rows);
    });
  });
  body.addEventListener("click", event => {
    const row = event.target.closest("tr");
    if (!row) return;
    const r = +row.dataset.cluster;
    picked = picked === r ? -1 : r;
    [...body.rows].forEach(other => other.classList.toggle("picked", +other.dataset.cluster === picked));
    draw();
  });
})();
