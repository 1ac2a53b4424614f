'use strict';
// The load line of one target over its runs: a column for each run, from the oldest to the newest, with its interval.
const LineHistory = (() => {
  const { short, make, put } = Format;
  const byId = (id) => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';
  const HEIGHT = 240;
  const MARGIN = { left: 64, right: 16, top: 14, bottom: 30 };

  const shape = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const date = (run) => (run.started_at ? new Date(run.started_at).toLocaleString() : run.name);

  // Of the first and the last: the day, or the time where both are of one day.
  const ends = (runs) => {
    const [first, last] = [runs[0], runs.at(-1)].map((run) => new Date(run.started_at));
    const days = [first, last].map((at) => at.toLocaleDateString());
    return days[0] === days[1] ? [first, last].map((at) => at.toLocaleTimeString()) : days;
  };

  // Lines can be compared where target, objective and unit are the same.
  const series = (runs) => {
    const all = new Map();
    for (const run of runs) {
      if (!run.line) continue;
      const name = [run.target, run.line.objective].filter(Boolean).join(', ');
      const key = `${name}, ${run.line.unit}`;
      const one = all.get(key) ?? { key, name, unit: run.line.unit, runs: [] };
      one.runs.push(run);
      all.set(key, one);
    }
    const many = [...all.values()].filter((one) => one.runs.length > 1);
    for (const one of many) one.runs.sort((a, b) => a.started_at.localeCompare(b.started_at));
    return many.toSorted((a, b) => b.runs.length - a.runs.length);
  };

  // Round numbers from 0 to above the highest.
  const ticks = (most) => {
    const rough = most / 4;
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * size).find((wide) => wide >= rough);
    return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
  };

  const picture = (holder, { runs, unit, name }) => {
    const width = Math.max(280, holder.clientWidth);
    const steps = ticks(Math.max(...runs.map((run) => run.line.high)));
    const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
    const x = (index) => MARGIN.left + ((index + 0.5) / runs.length) * inner.width;
    const y = (load) => MARGIN.top + (1 - load / steps.at(-1)) * inner.height;
    const svg = shape('svg', { width, height: HEIGHT, role: 'img', 'aria-label': `Load line of ${name} over ${runs.length} runs; the table below has each` });
    for (const load of steps) {
      svg.append(shape('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: y(load), y2: y(load) }),
        shape('text', { x: MARGIN.left - 8, y: y(load) + 4, 'text-anchor': 'end' }, short(load)));
    }
    const bar = Math.min(14, (inner.width / runs.length) * 0.6);
    svg.append(shape('polyline', { class: 'path', points: runs.map((run, index) => `${x(index)},${y(run.line.median)}`).join(' ') }));
    runs.forEach((run, index) => {
      const { low, median, high } = run.line;
      const mark = shape('g', {});
      mark.append(shape('title', {}, `${date(run)}: ${short(median)} ${unit} (${short(low)} to ${short(high)})`),
        shape('rect', { class: 'interval', x: x(index) - bar / 2, y: y(high), width: bar, height: Math.max(2, y(low) - y(high)) }),
        shape('circle', { class: 'median', cx: x(index), cy: y(median), r: 4 }));
      svg.append(mark);
    });
    const [first, last] = ends(runs);
    svg.append(shape('text', { x: MARGIN.left, y: HEIGHT - 8 }, first),
      shape('text', { x: width - MARGIN.right, y: HEIGHT - 8, 'text-anchor': 'end' }, last));
    holder.replaceChildren(svg);
  };

  // What the newest run says against the one before it.
  const sentence = ({ runs, unit }) => {
    const [before, after] = runs.slice(-2).map((run) => run.line);
    const change = after.median / before.median - 1;
    const apart = after.low > before.high || after.high < before.low;
    const size = `${Math.abs(change * 100).toFixed(0)} %`;
    const way = Math.abs(change) < 0.005 ? 'as high as' : `${size} ${change > 0 ? 'above' : 'below'}`;
    return `The newest line, ${short(after.median)} ${unit}, is ${way} the one before it; the intervals ${apart ? 'do not overlap' : 'overlap, so it may be chance'}.`;
  };

  let all = [];
  const draw = () => {
    const one = all.find(({ key }) => key === byId('history-of').value) ?? all[0];
    if (!one) return;
    put(byId('history-lead'), sentence(one));
    picture(byId('history-chart'), one);
    const heading = (text) => make('th', { scope: 'col', class: 'text' }, text);
    const rows = one.runs.toReversed().map((run) => make('tr', {}, make('th', { scope: 'row', class: 'text' }, date(run)),
      make('td', {}, `${short(run.line.median)} ${one.unit}`), make('td', {}, `${short(run.line.low)} to ${short(run.line.high)}`),
      make('td', { class: 'text' }, make('a', { href: `run/${encodeURIComponent(run.name)}/?recorded` }, run.name))));
    byId('history-table').replaceChildren(make('thead', {}, make('tr', {}, heading('Began'), make('th', { scope: 'col' }, 'Line'),
      make('th', { scope: 'col' }, 'Interval, 90 %'), heading('File'))), make('tbody', {}, ...rows));
  };
  const show = (runs) => {
    all = series(runs);
    byId('history').hidden = all.length === 0;
    const select = byId('history-of');
    if ([...select.options].map((option) => option.value).join('\n') !== all.map(({ key }) => key).join('\n')) {
      const chosen = select.value;
      select.replaceChildren(...all.map(({ key, name, runs: { length } }) => make('option', { value: key }, `${name} (${length} runs)`)));
      if (all.some(({ key }) => key === chosen)) select.value = chosen;
    }
    draw();
  };
  byId('history-of').addEventListener('change', draw);
  addEventListener('resize', draw);
  return { show };
})();
