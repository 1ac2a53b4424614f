'use strict';
// The parts of the page beside the charts over time.
const Sections = (() => {
  const { short, micros, clock, percent, make, put, table, ofUnit } = Format;
  const byId = (id) => document.getElementById(id);
  const nice = (name) => name.replaceAll('_', ' ');

  // Trials by load and response time, and the interval in which the line lies.
  class LoadPicture {
    constructor(run) { Object.assign(this, { run, plot: null, signature: '' }); }

    trials() {
      return this.run.trials.filter((trial) => trial.load > 0 && trial.kind !== 'self_test');
    }

    // The response time that the objective judges; a failure of it is above all others.
    time(trial) {
      const known = trial.objective_us ?? trial[this.run.head.bound?.quantile] ?? trial.p95;
      return known || null;
    }

    data() {
      const trials = this.trials().toSorted((a, b) => a.load - b.load);
      const of = (verdict) => trials.map((trial) => (trial.verdict === verdict ? this.time(trial) : null));
      return [trials.map((trial) => trial.load), of('pass'), of('fail'), of('void')];
    }

    interval() {
      const { columns } = this.run;
      const last = (key) => columns[key]?.findLast((value) => value !== null && value !== undefined);
      const line = this.run.search?.line?.Ok;
      if (line) return [line.low, line.median, line.high];
      return last('line.low') === undefined ? null : ['low', 'median', 'high'].map((end) => last(`line.${end}`));
    }

    draw() {
      const trials = this.trials();
      const section = byId('line');
      section.hidden = trials.length === 0;
      if (section.hidden) return;
      const { unit, bound } = this.run.head;
      const interval = this.interval();
      const upto = (value) => (value > 1e12 ? 'no bound' : short(value));
      put(byId('line-lead'), interval
        ? `The load line is between ${short(interval[0])} and ${upto(interval[2])} ${unit}, most likely near ${upto(interval[1])} (90 % credible interval after ${trials.length} trials).`
        : `No interval yet: ${trials.length} ${trials.length === 1 ? 'trial' : 'trials'} so far.`);
      const holder = byId('line-chart');
      const signature = JSON.stringify([trials.length, interval, holder.clientWidth]);
      if (signature === this.signature || holder.clientWidth === 0) return;
      this.signature = signature;
      this.build(holder, unit, bound, interval);
      this.table(trials);
    }

    build(holder, unit, bound, interval) {
      this.plot?.destroy();
      const paint = Charts.colours();
      const axis = { stroke: paint.text, font: '12px system-ui, sans-serif', grid: { stroke: paint.grid, width: 1 }, ticks: { stroke: paint.grid, width: 1 } };
      const points = (label, colour, shape) => ({
        label, stroke: paint.of(colour), paths: () => null,
        points: { show: true, size: 9, width: 2, stroke: paint.of(colour), fill: shape === 'full' ? paint.of(colour) : paint.card },
      });
      this.plot = new uPlot({
        width: holder.clientWidth, height: 300, legend: { show: false }, padding: [12, 16, 0, 0],
        scales: { x: { time: false, range: (_, least, most) => [0, most * 1.08] }, y: { distr: 3 } },
        axes: [
          { ...axis, size: 44, label: `load, ${unit}`, labelSize: 18, labelFont: '12px system-ui, sans-serif', values: (_, splits) => splits.map(short) },
          { ...axis, size: 62, values: (_, splits) => splits.map((at) => (at === null ? '' : micros(at))) },
        ],
        series: [{}, points('passed', 'pass', 'full'), points('failed', 'fail', 'open'), points('void', 'void', 'open')],
        cursor: { show: false },
        hooks: {
          drawClear: [(plot) => {
            if (!interval) return;
            const { ctx, bbox } = plot;
            const x = (load) => Math.min(plot.valToPos(load, 'x', true), bbox.left + bbox.width);
            ctx.save();
            ctx.fillStyle = paint.of('band');
            ctx.fillRect(x(interval[0]), bbox.top, Math.max(2, x(interval[2]) - x(interval[0])), bbox.height);
            ctx.fillStyle = paint.of('accent');
            if (interval[1] < 1e12) ctx.fillRect(x(interval[1]) - 1, bbox.top, 2, bbox.height);
            ctx.restore();
          }],
          draw: [(plot) => {
            if (!bound) return;
            const { ctx, bbox } = plot;
            const y = plot.valToPos(bound.us, 'y', true);
            if (y < bbox.top || y > bbox.top + bbox.height) return;
            ctx.save();
            ctx.strokeStyle = paint.fail;
            ctx.lineWidth = 1.5 * devicePixelRatio;
            ctx.setLineDash([8 * devicePixelRatio, 4 * devicePixelRatio]);
            ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
            ctx.restore();
          }],
        },
      }, this.data(), holder);
    }

    table(trials) {
      const rows = trials.toReversed().slice(0, 40).map((trial) => [
        `${trial.index + 1} ${nice(trial.kind)}`, `${short(trial.load)} ${trial.unit}`,
        { text: trial.verdict, class: trial.verdict }, `${short(trial.throughput)}/s`, micros(trial.p50), micros(trial.p95), micros(trial.p99),
        short(trial.errors), { text: trial.why.map(nice).join('; '), class: 'text' },
      ]);
      table(byId('trials'), ['Trial', 'Load', 'Verdict', 'Completed', 'p50', 'p95', 'p99', 'Failed', 'Why'], rows);
    }
  }

  // What the rules have found so far, with its evidence.
  const finding = (run) => {
    const found = run.findings;
    const section = byId('finding');
    section.hidden = !found || found.list.length === 0;
    if (section.hidden || section.shown === found) return;
    section.shown = found;
    put(byId('finding-title'), found.is_final ? 'Finding' : 'Finding so far');
    const shown = found.list.slice(0, 3).map((one) => {
      const format = (unit) => (value) => (value === null || value === undefined ? '–' : ofUnit(unit)(value));
      const evidence = make('table', {});
      table(evidence, ['Evidence', 'low load', 'passing', 'failing'], one.evidence.slice(0, 6).map((row) => {
        const text = format(row.unit);
        return [row.label, text(row.base), text(row.passing), text(row.failing)];
      }));
      return make('article', {},
        make('h3', {}, `${one.limit} `, make('small', {}, `(${one.certainty})`)),
        make('p', {}, one.sentence), make('p', {}, make('strong', {}, 'What to do: '), one.remedy),
        make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Evidence for ${one.limit}` }, evidence));
    });
    byId('finding-list').replaceChildren(...shown);
  };

  // The last ten seconds of each step.
  const steps = (run) => {
    const section = byId('steps-section');
    section.hidden = run.steps.length === 0;
    if (section.hidden) return;
    const last = Math.max(1, Math.ceil(10 / run.step));
    const sum = (key) => run.tail(key, last).reduce((total, value) => total + (value ?? 0), 0);
    const most = (key) => Math.max(...run.tail(key, last).map((value) => value ?? -1));
    const time = (key) => (most(key) < 0 ? '–' : micros(most(key)));
    const rows = run.steps.map(({ id, label, journey }) => {
      const [done, failed] = [sum(`step.${id}.completed`), sum(`step.${id}.failed`)];
      const name = run.head.journeys?.length > 1 ? `${run.head.journeys[journey]}: ${label}` : label;
      return [name, `${short(done / last)}/s`, { text: done ? percent(failed / done) : '–', class: failed ? 'fail' : '' },
        time(`step.${id}.p50`), time(`step.${id}.p95`), time(`step.${id}.p99`)];
    });
    table(byId('steps'), ['Step', 'Completed', 'Failed', 'p50', 'p95', 'p99'], rows);
  };

  // What each worker of a load carried; known at its end.
  const workers = (run) => {
    const list = run.workers ?? [];
    byId('workers-section').hidden = list.length === 0;
    if (list.length === 0 || byId('workers').list === list) return;
    byId('workers').list = list;
    table(byId('workers'), ['Worker', 'Region', 'Offered', 'Completed', 'Failed', 'p50', 'p95', 'p99', 'Lag p99', 'Lost at'], list.map((one) => [
      one.name, { text: one.region ?? '', class: 'text' }, short(one.offered), short(one.completed),
      { text: one.completed ? percent(one.failed / one.completed) : '–', class: one.failed ? 'fail' : '' },
      micros(one.p50), micros(one.p95), micros(one.p99), micros(one.lag_p99),
      one.lost_at === null ? '' : { text: clock(one.lost_at), class: 'fail' }]));
  };

  const numbers = (run) => {
    if (!byId('numbers').open) return;
    const { columns } = run;
    const of = (key, row) => columns[key]?.[row] ?? null;
    const rows = [];
    for (let row = run.rows - 1; row >= Math.max(0, run.rows - 30); row -= 1) {
      rows.push([clock(row * run.step), short(of('offered', row)), short(of('completed', row)), short(of('failed', row)),
        micros(of('p50', row)), micros(of('p95', row)), micros(of('p99', row)), short(of('in_flight', row))]);
    }
    table(byId('numbers-table'), ['Time', 'Offered/s', 'Completed/s', 'Failed/s', 'p50', 'p95', 'p99', 'In flight'], rows);
  };

  const notes = (run) => {
    const all = [...run.notes.map((note) => ({ ...note, kind: '' })), ...run.marks.map((mark) => ({ ...mark, kind: 'marked: ' }))];
    byId('notes-box').hidden = all.length === 0;
    if (byId('notes').childElementCount === all.length) return;
    const shown = all.toSorted((a, b) => a.second - b.second);
    byId('notes').replaceChildren(...shown.map(({ second, text, kind }) => make('li', {}, `${clock(second)} ${kind}${text}`)));
  };

  // Trials of a matrix, a comparison, a search for settings.
  const experiment = (run) => {
    const { experiment: about, experiment_trials: trials = [], experiment_trial: current } = run;
    byId('experiment').hidden = !about;
    if (!about) return;
    const now = current ? ` Now: block ${current.block + 1}, cell ${current.cell}.` : '';
    put(byId('experiment-lead'), `${about.command} of ${about.source}: ${trials.length} trials have ended.${now}`);
    if (byId('experiment-table').count === trials.length) return;
    byId('experiment-table').count = trials.length;
    const rows = trials.toReversed().slice(0, 60).map((record) => {
      const { trial, outcome } = record;
      const [kind, content] = typeof outcome === 'string' ? [outcome, null] : Object.entries(outcome)[0];
      const values = kind === 'measured' ? Object.entries(content).slice(0, 6).map(([name, value]) => `${name} ${short(value)}`).join(', ') : String(content ?? '');
      return [String(trial.index + 1), String(trial.block + 1), String(trial.cell), nice(trial.role),
        { text: nice(kind), class: kind === 'measured' ? '' : 'fail' }, { text: values, class: 'text' }];
    });
    table(byId('experiment-table'), ['Trial', 'Block', 'Cell', 'Role', 'Outcome', 'Metrics'], rows);
  };

  return { LoadPicture, finding, steps, workers, numbers, notes, experiment };
})();
