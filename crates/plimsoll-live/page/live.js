'use strict';
// The page of a run: receives documents, keeps the columns, and draws once a second.
(() => {
  const { short, micros, bytes, percent, clock, duration, make, put, ofUnit, oncePerFrame } = Format;
  const byId = (id) => document.getElementById(id);
  const LISTS = ['trials', 'notes', 'marks', 'steps', 'series', 'experiment_trials'];
  const PARTS = ['head', 'trial', 'progress', 'findings', 'search', 'gate', 'ending', 'result', 'page', 'recorded', 'experiment', 'experiment_trial', 'workers'];

  // All that is known of the run.
  const run = {
    columns: {}, rows: 0, step: 1, head: {}, isKnown: false,
    trials: [], notes: [], marks: [], steps: [], series: [], experiment_trials: [],

    apply(part) {
      this.isKnown = true;
      if (part.full) {
        this.columns = {};
        for (const name of LISTS) this[name] = [];
        for (const name of PARTS) this[name] = name === 'head' ? {} : null;
      }
      Object.assign(this, { rows: part.rows, step: part.step_s });
      for (const [key, values] of Object.entries(part.columns)) {
        const column = (this.columns[key] ??= []);
        while (column.length < part.from) column.push(null);
        values.forEach((value, index) => { column[part.from + index] = value; });
      }
      for (const name of [...LISTS, ...PARTS]) if (part[name] !== undefined) this[name] = part[name];
    },
    lastRow(key) {
      const column = this.columns[key] ?? [];
      let row = column.length - 1;
      while (row > 0 && row > this.rows - 8 && (column[row] === null || column[row] === undefined)) row -= 1;
      return row;
    },
    last(key) { return this.columns[key]?.[this.lastRow(key)] ?? null; },
    tail(key, count) { return (this.columns[key] ?? []).slice(Math.max(0, this.rows - count), this.rows); },
    // Spans of void seconds, and of void trials.
    voids() {
      const spans = this.trials.filter((trial) => trial.verdict === 'void').map((trial) => [trial.from, trial.to]);
      const column = this.columns.void ?? [];
      let start = null;
      for (let row = 0; row <= column.length; row += 1) {
        if (column[row] && start === null) start = row;
        if (!column[row] && start !== null) {
          spans.push([start * this.step, row * this.step]);
          start = null;
        }
      }
      return spans;
    },
  };

  const axis = new Charts.Axis(run);
  const picture = new Sections.LoadPicture(run);
  const charts = byId('charts');

  const line = (key, name, more) => ({ key, name, merge: 'mean', ...more });
  const highest = (key, name, more) => line(key, name, { merge: 'max', ...more });
  const keys = (prefix) => Object.keys(run.columns).filter((key) => key.startsWith(prefix)).toSorted();
  axis.add(charts, { title: 'Offered and completed per second', text: short, height: 190, lines: () => [
    line('offered', 'offered', { colour: 'offered', dash: [6, 4] }), line('completed', 'completed', { colour: 'accent', fill: true }),
    line('failed', 'failed', { colour: 'fail', dash: [2, 2] })] });
  axis.add(charts, { title: 'Response time, logarithmic', text: micros, height: 190, log: true, bound: () => run.head.bound?.us, lines: () => [
    highest('p99', 'p99', { colour: 'p99', dash: [5, 3] }), highest('p95', 'p95', { colour: 'p95' }), highest('p90', 'p90', { colour: 'p90', dash: [2, 2] }),
    highest('p50', 'p50', { colour: 'p50' })] });
  axis.add(charts, { title: 'Pages in browsers, from the beginning of a visit', text: micros, lines: () => [
    highest('page.ready', 'page ready', { colour: 'accent', isRare: true }),
    highest('page.largest_paint', 'largest paint', { colour: 'p95', dash: [5, 3], isRare: true }),
    highest('page.first_paint', 'first paint', { colour: 'p50', dash: [2, 2], isRare: true })] });
  axis.add(charts, { title: 'Cumulative layout shift of pages, a score', text: short, hidesZeros: true, lines: () => [
    highest('page.layout_shift', 'layout shift', { colour: 'accent', isRare: true })] });
  axis.add(charts, { title: 'Seconds in which a visit failed', text: short, hidesZeros: true, lines: () => [
    highest('page.failed', 'a page that was not ready', { colour: 'fail' })] });
  axis.add(charts, { title: 'Where the time of an answer goes, means', text: micros, lines: () => [
    line('phase.before', 'until it was sent', { colour: 'p99', dash: [5, 3] }), line('phase.first_byte', 'first byte', { colour: 'accent' }),
    line('phase.transfer', 'transfer', { colour: 'p50' }), line('phase.connect', 'connecting', { colour: 'offered', dash: [6, 4], isRare: true }),
    line('phase.tls', 'TLS handshake', { colour: 'p90', dash: [2, 2], isRare: true })] });
  axis.add(charts, { title: 'Failures per second by kind', text: short, hidesZeros: true,
    lines: () => keys('fail.').map((key) => line(key, key.slice(5).replaceAll('_', ' '))) });
  axis.add(charts, { title: 'Load line so far', text: short, lines: () => [
    line('line.high', 'upper end', { dash: [4, 3], colour: 'p90', isRare: true }), line('line.median', 'median', { colour: 'accent', isRare: true }),
    line('line.low', 'lower end', { dash: [4, 3], colour: 'p50', isRare: true })] });
  axis.add(charts, { title: 'Requests in flight', text: short, lines: () => [
    highest('in_flight', 'in flight', { colour: 'accent' }), highest('waiting', 'waiting for a connection', { colour: 'p99', dash: [5, 3] }),
    highest('connections', 'connections', { colour: 'offered', dash: [6, 4] })] });
  axis.add(charts, { title: 'Users', text: short, lines: () => [highest('users', 'users', { colour: 'accent' })] });
  axis.add(charts, { title: 'WebSocket messages per second', text: short, lines: () => [
    line('ws.in', 'received', { colour: 'accent' }), line('ws.out', 'sent', { colour: 'p99', dash: [5, 3] })] });
  axis.add(charts, { title: 'p95 by step', text: micros, log: true,
    lines: () => run.steps.map(({ id, label }) => highest(`step.${id}.p95`, label)) });
  axis.add(charts, { title: 'Failures per second by step', text: short, hidesZeros: true,
    lines: () => run.steps.map(({ id, label }) => line(`step.${id}.failed`, label)) });
  axis.add(charts, { title: 'Bytes per second', text: bytes, lines: () => [
    line('bytes_in', 'received', { colour: 'accent' }), line('bytes_out', 'sent', { colour: 'p99', dash: [5, 3] })] });
  axis.add(charts, { title: 'Lag of the generator, p99', text: micros, lines: () => [highest('lag_p99', 'lag', { colour: 'offered' })] });
  // Of several machines, the load of all on one picture; the groups below have each.
  const OWN = 'this machine';
  axis.add(charts, { title: 'CPU in use by machine', text: percent, lines: () => {
    const busy = run.series.filter((series) => series.name.split('{')[0] === 'plimsoll.cpu.busy');
    return busy.some((series) => series.machine) ? busy.map((series) => line(`series.${series.id}`, series.machine ?? OWN)) : [];
  } });

  // Readings: a chart for each group and unit, in a part that can be folded.
  let grouped = 0;
  const groupReadings = () => {
    if (run.series.length === grouped) return;
    grouped = run.series.length;
    const groups = new Map();
    for (const series of run.series) {
      const name = series.machine ? `${series.machine}: ${series.group}` : series.group;
      const of = groups.get(name) ?? { group: series.group, machine: series.machine ?? '', units: new Map() };
      const unit = series.unit + (series.delta ? '/s' : '');
      of.units.set(unit, [...(of.units.get(unit) ?? []), series]);
      groups.set(name, of);
    }
    axis.charts.filter((chart) => chart.definition.isReading).forEach((chart) => chart.remove());
    const ORDER = ['CPU', 'Memory', 'TCP states', 'Queues', 'TCP events', 'Processes'];
    // This machine first, and of each machine its components before the host.
    const rank = ({ group }) => ORDER.indexOf(group);
    const sorted = [...groups].toSorted(([a, one], [b, other]) => one.machine.localeCompare(other.machine) || rank(one) - rank(other) || a.localeCompare(b));
    const folded = new Set([...byId('groups').querySelectorAll('details:not([open])')].map((it) => it.dataset.group));
    byId('groups').replaceChildren(...sorted.map(([name, { group, units }]) => {
      const isOpen = !folded.has(name) && group !== 'TCP events' && group !== 'Processes';
      const box = make('details', { open: isOpen, 'data-group': name }, make('summary', {}, name));
      for (const [unit, list] of units) {
        const about = unit.replace('By', 'bytes').replace(/^1$/, 'share').replace(/[{}]/g, '');
        axis.add(box, { title: `${name}, ${about}`, isReading: true, hidesZeros: true, height: 120,
          text: ofUnit(list[0].unit), lines: () => list.map((series) => line(`series.${series.id}`, shown(series.name))) });
      }
      return box;
    }));
    byId('readings').hidden = groups.size === 0;
  };
  // `a.b.count{state=x}` reads as `count x`; the machine is in the title.
  const shown = (name) => {
    const [metric, labels] = name.split(/\{(.*)\}$/);
    const values = (labels ?? '').split(',').filter((label) => label && !label.startsWith('host.name=')).map((label) => label.split('=').at(-1));
    const short = metric.replace(/^plimsoll\./, '').split('.').slice(1).join(' ') || metric;
    return [short.replaceAll('_', ' '), ...values].join(' ');
  };

  // The sentence on top, and what matters beside it.
  const header = () => {
    const { head, progress, ending, result, trial, recorded } = run;
    const KINDS = { limit: 'Search for the load line', run: 'Load', watch: 'Readings without load' };
    const about = `${KINDS[head.kind] ?? head.kind ?? 'Experiment'}${head.target ? ` of ${head.target}` : ''}`;
    const VERDICTS = { met: 'The objective is met', missed: 'The objective is missed', undecided: 'Undecided', unreachable: 'The target is unreachable', void: 'The measurement is void', interrupted: 'Stopped early; results so far are kept' };
    let title = progress ? progress.stage : 'Starting';
    if (ending) title = VERDICTS[ending.verdict] ?? ending.verdict;
    else if (recorded) title = 'The recording has no end: the run was cut off';
    if (head.kind === 'watch' && !ending) title = recorded ? 'Recorded readings' : 'Watching';
    if (ending && head.kind === 'run' && !head.objective && ending.verdict === 'met') title = 'The load has ended';
    put(byId('title'), result ? `${title}. ${result}` : title);
    put(byId('target'), head.target ?? '');
    document.title = `${title} – Plimsoll`;
    const objective = head.objective ? `; objective ${head.objective}` : '';
    put(byId('lead'), `${about}${objective}${head.started_at ? `; began ${new Date(head.started_at).toLocaleString()}` : ''}`);
    const share = run.last('completed') ? run.last('failed') / run.last('completed') : null;
    const left = progress?.remaining_s;
    const facts = [['Elapsed', clock(run.rows * run.step)]];
    if (!recorded && !ending && left !== undefined && left !== null) facts.push(['Left, about', duration(left)]);
    if (run.columns.offered) {
      facts.push(['Offered', `${short(run.last('offered'))}/s`], ['Completed', `${short(run.last('completed'))}/s`],
        ['p95', micros(run.last('p95'))], ['Failed', percent(share)]);
    }
    if (run.columns.users) facts.push(['Users', short(run.last('users'))]);
    if (trial) facts.push(['Trial', `${trial.kind.replaceAll('_', ' ')} at ${short(trial.load)} ${trial.unit}`]);
    const list = byId('facts');
    if (list.childElementCount !== facts.length) list.replaceChildren(...facts.map(() => make('div', {}, make('dt', {}), make('dd', {}))));
    facts.forEach(([name, value], index) => {
      put(list.children[index].firstChild, name);
      put(list.children[index].lastChild, value);
    });
    const notices = [...(ending?.void ?? []).map((reason) => `Void: ${reason}`)];
    if (run.page?.dropped) notices.push(`${run.page.dropped} updates did not reach this page in time; the run file has them.`);
    if (recorded?.cut) notices.push(`The file was cut off: ${recorded.cut}.`);
    if (run.step > 1) notices.push(`A point is ${run.step} s.`);
    if (byId('notices').childElementCount !== notices.length) byId('notices').replaceChildren(...notices.map((text) => make('li', {}, text)));
    byId('acts').hidden = Boolean(recorded || ending || result);
    byId('mark').hidden = head.kind === 'watch';
    byId('change').hidden = !head.changes;
    put(byId('change-unit'), head.changes ?? '');
  };

  const draw = () => {
    const began = performance.now();
    groupReadings();
    header();
    Sections.finding(run);
    Sections.experiment(run);
    picture.draw();
    axis.draw();
    Sections.steps(run);
    Sections.workers(run);
    Sections.numbers(run);
    Sections.notes(run);
    document.documentElement.dataset.rows = run.rows;
    document.documentElement.dataset.tickMs = Math.ceil(performance.now() - began);
  };
  const drawSoon = oncePerFrame(draw);

  axis.moved = (row) => {
    byId('readout').hidden = row === null;
    if (row === null) return;
    const of = (key) => run.columns[key]?.[row] ?? null;
    const parts = [`At ${clock(row * run.step)}`];
    if (run.columns.offered) parts.push(`offered ${short(of('offered'))}/s, completed ${short(of('completed'))}/s, failed ${short(of('failed'))}/s, p95 ${micros(of('p95'))}`);
    put(byId('readout'), parts.join(': '));
  };
  charts.addEventListener('keydown', (event) => axis.key(event));
  byId('groups').addEventListener('keydown', (event) => { if (event.target.tagName !== 'SUMMARY') axis.key(event); });
  charts.addEventListener('pointerleave', () => axis.point(null));
  for (const button of document.querySelectorAll('[data-span]')) {
    button.addEventListener('click', () => {
      for (const other of document.querySelectorAll('[data-span]')) other.setAttribute('aria-pressed', String(other === button));
      axis.span = Number(button.dataset.span);
      axis.show(null);
      // A finger cannot point elsewhere, nor press Escape.
      axis.place(null);
    });
  }
  byId('numbers').addEventListener('toggle', drawSoon);
  const repaint = (isPrint = false) => { picture.signature = ''; axis.rebuild(isPrint); picture.draw(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => repaint());
  addEventListener('beforeprint', () => { document.documentElement.classList.add('print'); repaint(true); });
  addEventListener('afterprint', () => { document.documentElement.classList.remove('print'); repaint(); });
  addEventListener('resize', drawSoon);

  // Acts: each is an event of the run file.
  const act = async (path, body) => {
    try {
      const response = await fetch(path, { method: 'POST', body });
      const DONE = { mark: 'Marked.', stop: 'Stopping; results so far are kept.', load: 'The load changes within two seconds, up to its end.' };
      put(byId('act-result'), response.ok ? DONE[path] : (await response.text()).trim());
      return response.ok;
    } catch {
      put(byId('act-result'), 'Plimsoll does not answer.');
      return false;
    }
  };
  byId('acts').addEventListener('submit', async (event) => {
    event.preventDefault();
    const input = byId('mark-text');
    if (await act('mark', input.value || 'mark')) input.value = '';
  });
  const level = byId('change-to');
  const change = async () => { if (await act('load', level.value)) level.value = ''; };
  byId('change-button').addEventListener('click', change);
  level.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    // The form itself marks a moment.
    event.preventDefault();
    change();
  });
  const stop = byId('stop');
  const ask = (isAsked) => {
    stop.dataset.sure = isAsked ? '1' : '';
    put(stop, isAsked ? 'Stop now, and keep the results so far' : 'Stop the run');
    byId('stop-cancel').hidden = !isAsked;
  };
  stop.addEventListener('click', () => {
    if (!stop.dataset.sure) { ask(true); return; }
    ask(false);
    act('stop', '');
  });
  byId('stop-cancel').addEventListener('click', () => { ask(false); stop.focus(); });

  const connection = byId('connection');
  const receive = (part) => { run.apply(part); drawSoon(); };
  const follow = () => {
    const source = new EventSource('events');
    source.onopen = () => put(connection, 'live');
    source.onmessage = (event) => {
      receive(JSON.parse(event.data));
      if (run.result) { source.close(); put(connection, 'ended'); }
    };
    source.onerror = () => {
      if (run.result) return;
      put(connection, run.isKnown ? 'connection lost; trying again' : 'Plimsoll does not answer');
    };
  };
  const isRecorded = new URLSearchParams(location.search).has('recorded');
  if (!isRecorded) follow();
  else {
    put(connection, 'recorded');
    fetch('run.json').then(async (response) => {
      if (response.ok) receive(await response.json());
      else put(byId('title'), (await response.text()).trim());
    }, () => put(byId('title'), 'Plimsoll does not answer.'));
  }
})();
