// Adds a shared cursor and zoom to the time series. The report says everything without it.
(() => {
  "use strict";
  const root = document.getElementById("timeline");
  const holder = document.getElementById("timeline-data");
  if (!root || !holder) return;
  const data = JSON.parse(holder.textContent);
  const seconds = data.seconds;
  if (seconds.length === 0) return;
  const SVG = "http://www.w3.org/2000/svg";
  const boxes = [...root.querySelectorAll("svg.stretch")];
  const charts = [...root.querySelectorAll(".panel > svg.chart")];
  const grids = [...root.querySelectorAll(".x-grid")];
  const labels = root.querySelector(".x-labels");
  const outputs = [...root.querySelectorAll("output[data-line]")];
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];
  let view = [0, data.end];
  let at = -1;

  const clock = (second) => {
    const two = (value) => String(value).padStart(2, "0");
    const [h, m, s] = [Math.floor(second / 3600), Math.floor(second / 60) % 60, Math.floor(second) % 60];
    return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
  };
  const make = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const percent = (second) => `${(((second - view[0]) / (view[1] - view[0])) * 100).toFixed(3)}%`;

  function drawView() {
    const [from, to] = view;
    for (const box of boxes) {
      const parts = box.getAttribute("viewBox").split(" ");
      box.setAttribute("viewBox", `${from} 0 ${to - from} ${parts[3]}`);
    }
    const step = STEPS.find((candidate) => (to - from) / candidate <= 8) || 86400;
    const ticks = [];
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) ticks.push(tick);
    for (const grid of grids) {
      grid.replaceChildren(...ticks.map((tick) => make("line", { x1: percent(tick), x2: percent(tick), y1: 0, y2: "100%" })));
    }
    labels.replaceChildren(...ticks.map((tick) => make("text", { class: "x-label", x: percent(tick), y: 14 }, clock(tick))));
    drawCursor(false);
  }

  function drawCursor(speak) {
    const second = at < 0 ? null : seconds[at] + data.step / 2;
    const inside = second !== null && second >= view[0] && second <= view[1];
    for (const chart of charts) {
      const line = chart.querySelector(".cursor");
      line.setAttribute("visibility", inside ? "visible" : "hidden");
      if (inside) {
        line.setAttribute("x1", percent(second));
        line.setAttribute("x2", percent(second));
      }
    }
    for (const output of outputs) {
      output.textContent = inside ? data.texts[Number(output.dataset.line)][at] : "";
    }
    moment.textContent = inside ? `at ${clock(seconds[at])}` : "";
    if (speak && inside) {
      const values = outputs.map((output) => `${output.previousSibling.textContent.trim()} ${output.textContent}`);
      spoken.textContent = `${clock(seconds[at])}: ${values.join(", ")}`;
    }
  }

  function nearest(second) {
    let low = 0;
    let high = seconds.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (seconds[middle] + data.step <= second) low = middle + 1;
      else high = middle;
    }
    const before = Math.max(0, low - 1);
    return Math.abs(seconds[before] + data.step / 2 - second) < Math.abs(seconds[low] + data.step / 2 - second) ? before : low;
  }
  const secondAt = (event, chart) => {
    const box = chart.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return view[0] + share * (view[1] - view[0]);
  };
  function zoom(from, to) {
    const least = Math.min(data.end, Math.max(data.step * 4, 4));
    const length = Math.min(data.end, Math.max(least, to - from));
    const start = Math.min(Math.max(0, from), data.end - length);
    view = [start, start + length];
    drawView();
  }
  function zoomBy(factor) {
    const middle = at >= 0 ? seconds[at] : (view[0] + view[1]) / 2;
    const length = (view[1] - view[0]) * factor;
    zoom(middle - length / 2, middle + length / 2);
  }

  const tools = document.createElement("div");
  tools.className = "tools";
  for (const [text, act] of [["Zoom in", () => zoomBy(0.5)], ["Zoom out", () => zoomBy(2)], ["Whole run", () => zoom(0, data.end)]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", act);
    tools.append(button);
  }
  const moment = document.createElement("p");
  const spoken = document.createElement("p");
  spoken.className = "skip";
  spoken.setAttribute("aria-live", "polite");
  tools.append(moment, spoken);
  root.before(tools);
  root.classList.add("live");
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Time series. Arrow keys move the cursor, plus and minus zoom, Escape shows the whole run.");

  let drag = null;
  for (const chart of charts) {
    const hit = make("rect", { x: 0, y: 0, width: "100%", height: "100%", fill: "transparent" });
    const selection = make("rect", { class: "selection", y: 0, height: "100%", visibility: "hidden" });
    chart.append(selection, hit);
    hit.addEventListener("pointermove", (event) => {
      const second = secondAt(event, chart);
      at = nearest(second);
      drawCursor(false);
      if (drag && drag.chart === chart) {
        const [from, to] = [Math.min(drag.from, second), Math.max(drag.from, second)];
        const width = ((to - from) / (view[1] - view[0])) * 100;
        selection.setAttribute("visibility", "visible");
        selection.setAttribute("x", percent(from));
        selection.setAttribute("width", `${width}%`);
      }
    });
    hit.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0) return;
      drag = { chart, from: secondAt(event, chart) };
      hit.setPointerCapture(event.pointerId);
    });
    const release = (event) => {
      selection.setAttribute("visibility", "hidden");
      if (!drag) return;
      const to = secondAt(event, chart);
      const [from, until] = [Math.min(drag.from, to), Math.max(drag.from, to)];
      drag = null;
      if ((until - from) / (view[1] - view[0]) > 0.02) zoom(from, until);
    };
    hit.addEventListener("pointerup", release);
    hit.addEventListener("pointercancel", () => { drag = null; selection.setAttribute("visibility", "hidden"); });
    hit.addEventListener("dblclick", () => zoom(0, data.end));
  }
  root.addEventListener("pointerleave", () => { if (!drag) { at = -1; drawCursor(false); } });
  root.addEventListener("keydown", (event) => {
    const last = seconds.length - 1;
    const moves = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -last, End: last };
    if (event.key in moves) {
      const move = moves[event.key];
      const start = at < 0 && Math.abs(move) < last;
      at = start ? nearest(view[0]) : Math.min(last, Math.max(0, Math.max(0, at) + move));
      const second = seconds[at];
      const length = view[1] - view[0];
      if (second < view[0] || second >= view[1]) zoom(second - length / 2, second + length / 2);
      drawCursor(true);
    } else if (event.key === "+" || event.key === "=") zoomBy(0.5);
    else if (event.key === "-") zoomBy(2);
    else if (event.key === "Escape") { at = -1; zoom(0, data.end); }
    else return;
    event.preventDefault();
  });
  drawView();
})();
