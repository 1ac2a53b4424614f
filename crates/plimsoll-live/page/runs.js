'use strict';
// The runs of a folder: a list, a search, two of them compared, and the form of a new one.
(() => {
  const { make, put } = Format;
  const byId = (id) => document.getElementById(id);
  let listing = { runs: [], allowed: [] };
  const chosen = new Set();

  const row = (run) => {
    const box = run.fault ? '' : make('input', { type: 'checkbox', 'aria-label': `Compare ${run.name}`, checked: chosen.has(run.name) });
    if (box) {
      box.addEventListener('change', () => {
        if (box.checked) chosen.add(run.name);
        else chosen.delete(run.name);
        choice();
      });
    }
    const link = run.fault ? run.name : make('a', { href: `run/${encodeURIComponent(run.name)}/?recorded` }, run.name);
    const answer = run.fault ? `Cannot be read: ${run.fault}` : run.answer ?? 'reading …';
    return make('tr', {}, make('td', {}, box), make('th', { scope: 'row', class: 'text' }, link),
      make('td', { class: 'text' }, run.kind ?? ''), make('td', { class: 'text' }, run.target ?? ''),
      make('td', { class: 'text' }, run.started_at ? new Date(run.started_at).toLocaleString() : ''),
      make('td', { class: run.fault ? 'text fail' : 'text' }, answer));
  };
  const draw = () => {
    const words = byId('search').value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (run) => {
      const text = Object.values(run).filter((value) => typeof value === 'string').join(' ').toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const shown = listing.runs.filter(matches);
    const headings = ['', 'File', 'Kind', 'Target', 'Began', 'Result'].map((text) => (text
      ? make('th', { scope: 'col', class: 'text' }, text) : make('td', {})));
    byId('runs-table').replaceChildren(make('thead', {}, make('tr', {}, ...headings)), make('tbody', {}, ...shown.map(row)));
    const more = listing.left_out ? `, the newest of ${listing.runs.length + listing.left_out}` : '';
    put(byId('lead'), `${shown.length} of ${listing.runs.length} runs in ${listing.folder}${more}.`);
    document.documentElement.dataset.rows = listing.runs.length;
  };
  const choice = () => {
    byId('compare').disabled = chosen.size !== 2;
    const left = 2 - chosen.size;
    put(byId('compare-hint'), left > 0 ? `Choose ${left === 2 ? 'two runs' : 'one more run'} to compare; the older one is the baseline.`
      : left < 0 ? 'Choose two runs only.' : 'The older one is the baseline.');
  };
  byId('search').addEventListener('input', draw);
  byId('compare').addEventListener('click', () => {
    // The list is from new to old.
    const [after, before] = listing.runs.filter((run) => chosen.has(run.name));
    const query = new URLSearchParams({ before: before.name, after: after.name });
    location.assign(`compare?${query}`);
  });

  const load = async () => {
    try {
      const response = await fetch('runs.json');
      listing = await response.json();
    } catch {
      put(byId('connection'), 'Plimsoll does not answer');
      return;
    }
    put(byId('target'), listing.folder);
    draw();
    LineHistory.show(listing.runs);
    command();
    started();
    if (!listing.is_complete) load();
  };

  // The run that was started here: while it goes on, the list is read again; its end has a code, and what it printed.
  let isAwaited = false;
  const started = () => {
    const run = listing.started;
    if (!run || !isAwaited) return;
    if (run.is_running) { setTimeout(load, 2000); return; }
    isAwaited = false;
    const said = run.messages.length ? `: ${run.messages.join(' ')}` : '.';
    put(byId('start-result'), `The run has ended with exit code ${run.exit ?? 'unknown'}${said}`);
  };

  // The command line that does the same, as a shell takes it.
  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const fields = () => ({ kind: byId('kind').value, url: byId('url').value.trim(), rate: byId('rate').value.trim(), lasting: byId('lasting').value.trim(), objective: byId('objective').value.trim() });
  const command = () => {
    const { kind, url, rate, lasting, objective } = fields();
    const isRun = kind === 'run';
    byId('rate').disabled = byId('lasting').disabled = !isRun;
    const words = ['plimsoll', kind, url, ...(isRun ? ['--rate', rate, '--for', lasting] : []), ...(objective ? ['--objective', objective] : [])];
    put(byId('command'), words.map(quoted).join(' '));
    const isAllowed = listing.allowed.includes(url);
    byId('start-button').disabled = !isAllowed;
    put(byId('start-lead'), listing.allowed.length === 0
      ? 'The form shows the command line. To start runs from here, start this page with --allow-run=TARGET.'
      : `Runs may be started against ${listing.allowed.join(', ')}.`);
    if (byId('targets').childElementCount !== listing.allowed.length) {
      byId('targets').replaceChildren(...listing.allowed.map((target) => make('option', { value: target })));
      byId('url').value = listing.allowed[0] ?? byId('url').value;
      command();
    }
  };
  byId('start').addEventListener('input', command);
  byId('start').addEventListener('submit', async (event) => {
    event.preventDefault();
    put(byId('start-result'), 'Starting …');
    try {
      const response = await fetch('start', { method: 'POST', body: JSON.stringify(fields()) });
      const text = (await response.text()).trim();
      if (response.ok) byId('start-result').replaceChildren('It runs: ', make('a', { href: text, rel: 'noreferrer' }, 'see it live'), '. Its file appears in the list.');
      else put(byId('start-result'), text);
      isAwaited = response.ok;
      if (response.ok) load();
    } catch {
      put(byId('start-result'), 'Plimsoll does not answer.');
    }
  });
  load();
})();
