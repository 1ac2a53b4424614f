'use strict';
// Numbers and elements. Text is only ever set as text: what comes from services cannot become markup.
const Format = (() => {
  const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
  const short = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return '–';
    const size = Math.abs(value);
    if (size >= 1e9) return `${(value / 1e9).toPrecision(3)} G`;
    if (size >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
    if (size >= 100 || Number.isInteger(value)) return plain.format(value);
    return String(Number(value.toPrecision(3)));
  };
  const micros = (us) => {
    if (us === null || us === undefined || Number.isNaN(us)) return '–';
    if (us >= 999500) return `${Number((us / 1e6).toPrecision(3))} s`;
    if (us >= 1000) return `${Number((us / 1e3).toPrecision(3))} ms`;
    return `${Math.round(us)} µs`;
  };
  const bytes = (count) => {
    if (count === null || count === undefined) return '–';
    for (const [size, unit] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]) {
      if (Math.abs(count) >= size) return `${Number((count / size).toPrecision(3))} ${unit}`;
    }
    return `${Math.round(count)} B`;
  };
  const percent = (share) => (share === null || share === undefined ? '–' : `${Number((share * 100).toPrecision(3))} %`);
  const clock = (seconds) => {
    const whole = Math.max(0, Math.round(seconds));
    const two = (value) => String(value).padStart(2, '0');
    const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
  };
  const duration = (seconds) => {
    if (seconds < 90) return `${Math.round(seconds)} s`;
    if (seconds < 5400) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  };
  // Units are UCUM, as in OpenTelemetry.
  const ofUnit = (unit) => {
    if (unit === '1') return percent;
    if (unit === 'By') return bytes;
    if (unit === 's') return (value) => (value === null || value === undefined ? '–' : micros(value * 1e6));
    return short;
  };
  // An element with attributes and children; children are elements or text.
  const make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === true) element.setAttribute(key, '');
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  // Sets a text only where it differs, so that screen readers and layout are left in peace.
  const put = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };
  // A table from headings and rows of cells: texts, or a text with a class; the first cell of a row is its heading.
  const table = (element, headings, rows) => {
    const head = make('tr', {}, ...headings.map((text, index) => make('th', { scope: 'col', class: rows[0]?.[index]?.class === 'text' ? 'text' : null }, text)));
    const body = rows.map((cells) => {
      const [first, ...rest] = cells.map((cell) => (typeof cell === 'object' ? cell : { text: cell }));
      return make('tr', {}, make('th', { scope: 'row', class: first.class }, first.text),
        ...rest.map((cell) => make('td', { class: cell.class }, cell.text)));
    });
    element.replaceChildren(make('thead', {}, head), make('tbody', {}, ...body));
  };
  // Draws with the next picture of the browser, once for all calls until then.
  const oncePerFrame = (draw) => {
    let isDue = false;
    return () => {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => { isDue = false; draw(); });
    };
  };
  return { short, micros, bytes, percent, clock, duration, ofUnit, make, put, table, oncePerFrame };
})();
