'use strict';
// Charts over one time axis with one cursor. A chart has at most POINTS points, whatever the length of the run: more rows
// become one point, by their mean, or by the highest where a mean would hide something. Rows begin at `run.offset` seconds, and
// `run.timeText` writes a moment where it is not the time since the start.
const Charts = (() => {
  const POINTS = 1000;
  const SYNC = 'time';
  // Steps of an axis of bytes.
  const BINARY = Array.from({ length: 48 }, (_, index) => 2 ** index);
  const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    const lines = [1, 2, 3, 4, 5, 6, 7, 8].map((index) => of(`line-${index}`));
    return { of, lines, text: of('muted'), grid: of('grid'), card: of('card'), fail: of('fail'), hatch: of('hatch') };
  };

  // Diagonal lines, made once per colour.
  let hatch = null;
  const hatched = (context, colour) => {
    if (hatch?.colour === colour) return hatch.pattern;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 12;
    const pen = tile.getContext('2d');
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.beginPath();
    for (const at of [-12, 0, 12]) { pen.moveTo(at, 12); pen.lineTo(at + 12, 0); }
    pen.stroke();
    hatch = { colour, pattern: context.createPattern(tile, 'repeat') };
    return hatch.pattern;
  };

  class Axis {
    constructor(run) {
      this.run = run;
      this.charts = [];
      this.span = 0; // s to show up to now; 0 for all
      this.zoom = null; // [from, to] in rows
      this.row = null; // of the cursor
      this.observer = new ResizeObserver((entries) => entries.forEach(({ target }) => target.chart?.resize()));
      this.visible = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
        target.chart.isVisible = isIntersecting;
        if (isIntersecting) target.chart.draw();
      }), { rootMargin: '200px' });
    }

    view() {
      const { rows, step } = this.run;
      if (this.zoom) return this.zoom;
      const from = this.span ? Math.max(0, rows - Math.ceil(this.span / step)) : 0;
      return [from, Math.max(rows, from + 2)];
    }

    add(holder, definition) {
      const chart = new Chart(this, holder, definition);
      this.charts.push(chart);
      return chart;
    }

    draw() { this.charts.forEach((chart) => chart.draw()); }

    // Draws all again; also those that nobody has scrolled to, for paper.
    rebuild(isPrint) {
      hatch = null;
      for (const chart of this.charts) {
        chart.isVisible ||= isPrint;
        chart.signature = '';
        chart.draw();
      }
    }

    // Moves the cursor of all charts.
    point(row) {
      const [from, to] = this.view();
      this.row = row === null ? null : Math.min(Math.max(row, from), to - 1);
      this.charts.forEach((chart) => chart.legend());
      this.moved?.(this.row);
    }

    show(zoom) {
      const { rows } = this.run;
      if (zoom) {
        const from = Math.max(0, Math.floor(zoom[0]));
        const to = Math.min(rows, Math.max(from + 5, Math.ceil(zoom[1])));
        this.zoom = to - from >= rows ? null : [Math.max(0, Math.min(from, to - 5)), to];
      } else this.zoom = null;
      this.draw();
    }

    key(event) {
      const [from, to] = this.view();
      const stride = Math.max(1, Math.ceil((to - from) / POINTS));
      const at = this.row ?? to - 1;
      const width = to - from;
      const acts = {
        ArrowLeft: () => this.place(at - (event.shiftKey ? 10 * stride : stride)),
        ArrowRight: () => this.place(at + (event.shiftKey ? 10 * stride : stride)),
        Home: () => this.place(from),
        End: () => this.place(to - 1),
        '+': () => this.show([at - width / 4, at + width / 4]),
        '=': () => this.show([at - width / 4, at + width / 4]),
        '-': () => this.show([from - width / 2, to + width / 2]),
        Escape: () => { this.show(null); this.place(null); },
      };
      if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    }

    // The cursor by the keyboard: the lines of all charts go there.
    place(row) {
      this.point(row);
      for (const { plot } of this.charts) {
        if (!plot) continue;
        const left = this.row === null ? -10 : plot.valToPos((this.run.offset ?? 0) + this.row * this.run.step, 'x');
        plot.setCursor({ left, top: this.row === null ? -10 : 10 }, false);
      }
    }
  }

  class Chart {
    // definition: { title, text, lines: () => [{ key, name, merge, dash, colour, fill }], log, bound }
    constructor(axis, holder, definition) {
      Object.assign(this, { axis, definition, isVisible: true, signature: '', plot: null, items: [] });
      this.list = Format.make('ul', { class: 'legend' });
      this.canvas = Format.make('div', { class: 'plot', 'aria-hidden': 'true' });
      this.box = Format.make('div', { class: 'panel' }, Format.make('h3', {}, definition.title), this.list, this.canvas);
      this.canvas.style.minHeight = `${definition.height ?? 150}px`;
      this.box.chart = this;
      this.canvas.chart = this;
      holder.append(this.box);
      axis.observer.observe(this.canvas);
      axis.visible.observe(this.box);
    }

    remove() {
      this.axis.observer.unobserve(this.canvas);
      this.axis.visible.unobserve(this.box);
      this.axis.charts = this.axis.charts.filter((chart) => chart !== this);
      this.plot?.destroy();
      this.box.remove();
    }

    // Lines that have any value but zero; a first chart is never empty.
    lines() {
      const { columns } = this.axis.run;
      const lines = this.definition.lines().filter((line) => columns[line.key]);
      if (!this.definition.hidesZeros) return lines;
      return lines.filter((line) => columns[line.key].some((value) => value));
    }

    draw() {
      const lines = this.lines();
      this.box.hidden = lines.length === 0;
      if (lines.length === 0 || !this.isVisible) return;
      const signature = lines.map((line) => line.key + line.name).join();
      if (signature !== this.signature || !this.plot) {
        this.signature = signature;
        this.build();
        return;
      }
      this.plot.batch(() => {
        this.plot.setData(this.data(lines), false);
        this.scale();
      });
      this.legend();
    }

    scale() {
      const { run } = this.axis;
      const [from, to] = this.axis.view();
      const offset = run.offset ?? 0;
      this.plot.setScale('x', { min: offset + from * run.step, max: offset + (to - 1) * run.step });
    }

    data(lines) {
      const { columns, step, offset = 0 } = this.axis.run;
      const [from, to] = this.axis.view();
      const stride = Math.max(1, Math.ceil((to - from) / POINTS));
      const first = Math.floor(from / stride) * stride;
      const count = Math.ceil((to - first) / stride);
      const xs = Array.from({ length: count }, (_, index) => offset + (first + index * stride) * step);
      return [xs, ...lines.map(({ key, merge }) => {
        const column = columns[key];
        if (stride === 1) return Array.from({ length: count }, (_, index) => column[first + index] ?? null);
        const values = new Array(count);
        for (let index = 0; index < count; index += 1) {
          let sum = 0; let most = -Infinity; let some = 0;
          const start = first + index * stride;
          for (let row = start; row < start + stride && row < column.length; row += 1) {
            const value = column[row];
            if (value === null || value === undefined) continue;
            sum += value; some += 1;
            if (value > most) most = value;
          }
          if (some === 0) values[index] = null;
          else values[index] = merge === 'max' ? most : sum / some;
        }
        return values;
      })];
    }

    build() {
      const lines = this.lines();
      if (lines.length === 0 || !this.isVisible || this.canvas.clientWidth === 0) return;
      this.plot?.destroy();
      const paint = colours();
      const { text, log, bound, height } = this.definition;
      lines.forEach((line, index) => {
        line.stroke = line.colour ? paint.of(line.colour) : paint.lines[index % paint.lines.length];
        line.pattern = line.dash ?? DASHES[Math.floor(index / paint.lines.length) % DASHES.length];
      });
      this.items = lines.map((line) => {
        const value = Format.make('span', { class: 'value' });
        const swatch = Format.make('i', { class: 'key' });
        swatch.style.borderTopColor = line.stroke;
        swatch.style.borderTopStyle = line.pattern.length ? 'dashed' : 'solid';
        return { line, value, item: Format.make('li', {}, swatch, `${line.name} `, value) };
      });
      this.list.replaceChildren(...this.items.map(({ item }) => item));
      const axisOf = (more) => ({
        stroke: paint.text, font: '12px system-ui, sans-serif', grid: { stroke: paint.grid, width: 1 },
        ticks: { stroke: paint.grid, width: 1 }, ...more,
      });
      const top = bound?.();
      const { step, offset = 0 } = this.axis.run;
      const [from, to] = this.axis.view();
      this.plot = new uPlot({
        width: this.canvas.clientWidth, height: height ?? 150, legend: { show: false }, padding: [8, 22, 0, 0],
        scales: {
          x: { time: false, min: offset + from * step, max: offset + to * step },
          y: log ? { distr: 3 } : { range: (_, __, most) => [0, Math.max(most ?? 0, top ?? 0, 1e-9) * 1.08] },
        },
        axes: [
          axisOf({ size: 28, space: this.axis.run.timeText ? 76 : 50, values: (_, splits) => splits.map((at) => (this.axis.run.timeText ?? Format.clock)(at)),
            incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400] }),
          axisOf({ size: 68, incrs: text === Format.bytes ? BINARY : undefined, values: (_, splits) => splits.map((at) => (at === null ? '' : text(at))),
            filter: log ? (_, splits) => splits.map((at) => (Number.isInteger(Math.log10(at)) || splits.length < 12 ? at : null)) : undefined }),
        ],
        series: [{}, ...lines.map((line) => ({
          label: line.name, stroke: line.stroke, width: 1.6, dash: line.pattern.length ? line.pattern : undefined,
          points: { show: Boolean(line.isRare), size: 6, fill: line.stroke }, spanGaps: Boolean(line.isRare), fill: line.fill ? `${line.stroke}22` : undefined,
        }))],
        cursor: {
          sync: { key: SYNC, setSeries: false }, y: false, points: { size: 6 },
          drag: { x: true, y: false, setScale: false },
        },
        hooks: {
          drawClear: [(plot) => this.backdrop(plot, paint)],
          draw: [(plot) => this.overlay(plot, paint, top)],
          setCursor: [(plot) => this.cursor(plot)],
          setSelect: [(plot) => this.select(plot)],
        },
      }, this.data(lines), this.canvas);
      this.plot.over.addEventListener('dblclick', () => this.axis.show(null));
      this.legend();
    }

    // Trials that failed are tinted, void seconds hatched.
    backdrop(plot, paint) {
      const { ctx, bbox } = plot;
      const { run } = this.axis;
      const x = (second) => Math.min(Math.max(plot.valToPos(second, 'x', true), bbox.left), bbox.left + bbox.width);
      ctx.save();
      ctx.fillStyle = paint.of('fail-tint');
      for (const trial of run.trials) {
        if (trial.verdict === 'fail') ctx.fillRect(x(trial.from), bbox.top, x(trial.to) - x(trial.from), bbox.height);
      }
      ctx.fillStyle = hatched(ctx, paint.hatch);
      for (const [from, to] of run.voids()) ctx.fillRect(x(from), bbox.top, Math.max(2, x(to) - x(from)), bbox.height);
      ctx.restore();
    }

    // The objective's bound, and what people marked.
    overlay(plot, paint, top) {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.lineWidth = 1.5 * devicePixelRatio;
      if (top !== undefined && top !== null) {
        const y = plot.valToPos(top, 'y', true);
        if (y >= bbox.top && y <= bbox.top + bbox.height) {
          ctx.strokeStyle = paint.fail;
          ctx.setLineDash([8 * devicePixelRatio, 4 * devicePixelRatio]);
          ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
        }
      }
      ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.strokeStyle = ctx.fillStyle = paint.text;
      ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      for (const mark of this.axis.run.marks) {
        const x = plot.valToPos(mark.second, 'x', true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
        if (this === this.axis.charts[0]) ctx.fillText(mark.text.slice(0, 24), x + 4, bbox.top + 11 * devicePixelRatio);
      }
      ctx.restore();
    }

    cursor(plot) {
      // Only the chart under the pointer moves the others.
      if (!plot.over.matches(':hover')) return;
      const { left } = plot.cursor;
      const row = left < 0 ? null : Math.round((plot.posToVal(left, 'x') - (this.axis.run.offset ?? 0)) / this.axis.run.step);
      if (row !== this.axis.row) this.axis.point(row);
    }

    select(plot) {
      const { left, width } = plot.select;
      if (width < 6 || !plot.over.matches(':hover')) return;
      const { step, offset = 0 } = this.axis.run;
      const rows = [left, left + width].map((at) => (plot.posToVal(at, 'x') - offset) / step);
      plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      this.axis.show(rows);
    }

    // Values at the cursor, or the newest.
    legend() {
      const { run, row } = this.axis;
      for (const { line, value } of this.items) {
        const column = run.columns[line.key] ?? [];
        Format.put(value, this.definition.text(column[row ?? run.lastRow(line.key)] ?? null));
      }
    }

    resize() {
      const width = this.canvas.clientWidth;
      if (width === 0) return;
      if (!this.plot) this.draw();
      else if (Math.abs(this.plot.width - width) > 1) this.plot.setSize({ width, height: this.plot.height });
    }
  }

  return { Axis, colours };
})();
