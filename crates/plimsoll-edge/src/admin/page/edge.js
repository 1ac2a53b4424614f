'use strict';
// The page of an edge: receives the last hour, then a second at a time, and draws it.
(() => {
  const { short, micros, bytes, percent, duration, make, put, oncePerFrame } = Format;
  const byId = (id) => document.getElementById(id);
  const HOUR = 3600;

  // Columns of which the latest rows are kept.
  class Columns {
    constructor(rowsMax) { Object.assign(this, { rowsMax, first: 0, rows: 0, columns: {} }); }

    apply(part, isFull) {
      if (isFull) Object.assign(this, { columns: {}, first: part.first });
      for (const [key, values] of Object.entries(part.columns)) {
        const column = (this.columns[key] ??= []);
        values.forEach((value, index) => { column[part.from - this.first + index] = value; });
      }
      const first = Math.max(this.first, part.rows - this.rowsMax);
      if (first > this.first) for (const column of Object.values(this.columns)) column.splice(0, first - this.first);
      Object.assign(this, { first, rows: part.rows - first });
    }
  }

  const hour = new Columns(HOUR);
  const sparks = new Columns(HOUR / 15);
  const edge = {
    status: null, routes: { rows: [] }, servers: { rows: [] }, cache: null, hub: null, channels: null, own: {}, started: 0,
    // What the charts read.
    step: 1, trials: [], marks: [], offset: 0,
    get columns() { return hour.columns; },
    get rows() { return hour.rows; },
    voids() { return []; },
    lastRow() { return hour.rows - 1; },
    last(key) { return hour.columns[key]?.[hour.rows - 1] ?? null; },
    timeText(seconds) {
      const at = new Date(edge.midnight + seconds * 1000);
      const two = (value) => String(value).padStart(2, '0');
      const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
      return at.getSeconds() ? `${clock}:${two(at.getSeconds())}` : clock;
    },
    midnight: 0,

    apply(part) {
      hour.apply(part.hour, part.full);
      sparks.apply(part.sparks, part.full);
      for (const name of ['status', 'routes', 'servers', 'cache', 'hub', 'channels', 'own', 'started']) if (part[name] !== undefined) this[name] = part[name];
      // Seconds since midnight, so that the axis has whole minutes of the clock.
      const begin = (this.started + hour.first) * 1000;
      this.midnight = new Date(begin).setHours(0, 0, 0, 0);
      this.offset = (begin - this.midnight) / 1000;
    },
  };

  const axis = new Charts.Axis(edge);
  const charts = byId('charts');
  const line = (key, name, more) => ({ key, name, merge: 'mean', ...more });
  const highest = (key, name, more) => line(key, name, { merge: 'max', ...more });
  const some = (lines) => lines.filter(({ key, always }) => always || hour.columns[key]?.some(Boolean));
  axis.add(charts, { title: 'Requests per second, and who answered them', text: short, height: 210, lines: () => some([
    line('offered', 'offered', { colour: 'offered', dash: [6, 4], always: true }), line('server', 'servers', { colour: 'accent', fill: true, always: true }),
    line('cache', 'cache', { colour: 'pass' }), highest('fallback', 'fallback', { colour: 'warn', dash: [5, 3] }),
    highest('refused', 'turned away', { colour: 'fail' }), highest('failed', 'failed at servers', { colour: 'line-4', dash: [2, 2] }),
    line('edge', 'edge itself', { colour: 'line-8', dash: [8, 3, 2, 3] })]) });
  axis.add(charts, { title: 'Response time of the last minute, logarithmic', text: micros, height: 170, log: true, lines: () => [
    highest('p99', 'p99', { colour: 'p99', dash: [5, 3] }), highest('p50', 'p50', { colour: 'p50' })] });
  axis.add(charts, { title: 'In flight at servers, and its limit', text: short, lines: () => [
    highest('in_flight', 'in flight', { colour: 'accent', fill: true }), highest('limit', 'limit', { colour: 'fail', dash: [6, 4] })] });
  axis.add(charts, { title: 'Queue', text: short, hidesZeros: true, height: 120, lines: () => [highest('waiting', 'waiting', { colour: 'p99', fill: true })] });

  // The server's sentence has moments in UTC; here they are of the browser's zone.
  const local = (text) => text.replace(/(?:(\d{4})-(\d\d)-(\d\d) )?(\d\d):(\d\d) UTC/g, (_, year, month, day, hours, minutes) => {
    const now = new Date();
    const [y, m, d] = year ? [Number(year), Number(month) - 1, Number(day)] : [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
    return moment(Date.UTC(y, m, d, Number(hours), Number(minutes)) / 1000, Boolean(year));
  });
  const moment = (seconds, isDated = Date.now() / 1000 - seconds > 86400) => {
    const at = new Date(seconds * 1000);
    const clock = `${String(at.getHours()).padStart(2, '0')}:${String(at.getMinutes()).padStart(2, '0')}`;
    return isDated ? `${at.toLocaleDateString()} ${clock}` : clock;
  };

  // Keys and commands stand between backquotes.
  const marked = (text) => text.split('`').map((part, index) => (index % 2 ? make('code', {}, part) : part));

  // Facts that are not zero, or that matter even then.
  const facts = (list, entries) => {
    const shown = entries.filter(([, , value, always]) => always || value);
    if (list.childElementCount !== shown.length) list.replaceChildren(...shown.map(() => make('div', {}, make('dt', {}), make('dd', {}))));
    shown.forEach(([name, text], index) => {
      put(list.children[index].firstChild, name);
      put(list.children[index].lastChild, text);
    });
    return shown.length;
  };
  const rate = (value) => (value === null || value === undefined ? '–' : `${short(value)}/s`);

  const header = () => {
    const { status } = edge;
    if (!status) return;
    put(byId('title'), local(status.sentence.replaceAll('`', '')));
    document.title = status.wrong.length ? `${status.wrong.length} wrong – Plimsoll edge` : 'Plimsoll edge';
    put(byId('target'), location.host);
    const age = Math.max(0, status.at - status.started);
    put(byId('lead'), `Runs since ${moment(status.started)} (${duration(age)}).`);
    const { now, capacity } = status;
    const ms = (value) => (value === null ? '–' : micros(value * 1000));
    facts(byId('facts'), [
      ['Offered', rate(now.offered), 1, true], ['Carried', rate(now.carried), 1, true],
      ...capacity.map(({ pool, requests_per_second: most }) => [`Most that ${pool} carries, about`, rate(Number(most.toPrecision(2))), 1, true]),
      ['p99, last minute', ms(now.p99_ms), 1, true], ['p50, last minute', ms(now.p50_ms), 1, true],
      ['In flight, of limit', `${short(now.in_flight)} of ${short(now.limit)}`, now.limit], ['In queue', short(now.waiting), now.waiting],
      ['From the cache', rate(now.by_cache), now.by_cache], ['Fallback', rate(now.by_fallback), now.by_fallback],
      ['Turned away', rate(now.refused), now.refused], ['Failed at servers', rate(now.failed), now.failed],
      ['Connections', short(now.connections), now.connections],
    ]);
    wrong(status);
  };

  // Built anew only when it changes, so that a screen reader is left in peace.
  const wrong = ({ wrong: list, past }) => {
    byId('wrong-section').hidden = list.length + past.length === 0;
    byId('past-box').hidden = past.length === 0;
    put(byId('wrong-title'), list.length ? 'Wrong now' : 'Nothing is wrong now');
    const items = byId('wrong');
    const signature = list.map((one) => one.kind + one.subject).join('\n');
    if (items.dataset.signature !== signature) {
      items.dataset.signature = signature;
      // The sentence changes each second; a screen reader speaks only of what begins and ends.
      put(byId('announced'), list.length ? `Wrong now: ${list.map((one) => one.text.replaceAll('`', '')).join('; ')}` : 'Nothing is wrong now');
      items.replaceChildren(...list.map((one) => make('li', { class: one.is_failure ? 'failure' : 'warning' },
        make('p', {}, make('strong', {}), ' ', make('span', { class: 'since' })), make('p', { class: 'remedy' }, ...marked(one.remedy)))));
    }
    list.forEach((one, index) => {
      put(items.children[index].querySelector('strong'), `${one.text.replaceAll('`', '')}.`);
      put(items.children[index].querySelector('.since'), `Since ${moment(one.since)} (${duration(Math.max(0, edge.status.at - one.since))}).`);
    });
    const texts = past.map((one) => `${moment(one.since)} to ${moment(one.until)}: ${one.text.replaceAll('`', '')}`);
    if (byId('past').dataset.signature === texts.join('\n')) return;
    byId('past').dataset.signature = texts.join('\n');
    byId('past').replaceChildren(...texts.map((text) => make('li', {}, text)));
  };

  // A line of a column, without an axis; the number is beside it.
  const SVG = 'http://www.w3.org/2000/svg';
  const spark = (column, width = 120, height = 26) => {
    const values = column ?? [];
    const top = Math.max(1e-9, ...values.map((value) => value ?? 0));
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('class', 'spark');
    svg.setAttribute('aria-hidden', 'true');
    const count = Math.max(2, values.length);
    let path = '';
    values.forEach((value, index) => {
      if (value === null || value === undefined) return;
      const before = values[index - 1];
      const x = ((index / (count - 1)) * width).toFixed(1);
      const y = (height - 1.5 - (value / top) * (height - 3)).toFixed(1);
      path += `${index && before !== null && before !== undefined ? 'L' : 'M'}${x} ${y}`;
    });
    const drawn = document.createElementNS(SVG, 'path');
    drawn.setAttribute('d', path || 'M0 0');
    svg.append(drawn);
    return svg;
  };
  const cell = (content, className) => make('td', { class: className }, content);
  const row = (...cells) => make('tr', {}, ...cells.filter(Boolean));
  const rows = (table, headings, list) => {
    const head = make('tr', {}, ...headings.map((text) => make('th', { scope: 'col' }, text)));
    table.replaceChildren(make('thead', {}, head), make('tbody', {}, ...list));
  };
  const more = (id, count) => {
    byId(id).hidden = !count;
    put(byId(id), `${count} more are in the metrics.`);
  };

  const routes = () => {
    const { rows: list, more: left } = edge.routes;
    byId('routes-section').hidden = list.length === 0;
    const [inLine, cached, unusual] = [list.some((route) => route.in_line !== null), list.some((route) => route.hit_share !== null), list.some((route) => route.unusual)];
    rows(byId('routes'), ['Route', 'Requests', 'Last hour', ...(cached ? ['From the cache'] : []), ...(inLine ? ['In line'] : []), ...(unusual ? ['Rate'] : [])],
      list.map((route) => row(make('th', { scope: 'row' }, route.name), cell(rate(route.rate)), cell(spark(sparks.columns[route.spark])),
        cached && cell(percent(route.hit_share)), inLine && cell(short(route.in_line)),
        unusual && (route.unusual ? cell('unusual', 'fail') : cell('usual')))));
    more('routes-more', left);
  };

  const servers = () => {
    const { rows: list, more: left } = edge.servers;
    byId('servers-section').hidden = list.length === 0;
    const [failed, latency] = [list.some((server) => server.failed), list.some((server) => server.latency_ms !== null)];
    const state = (server) => (server.state === 'in' ? cell('in') : cell(server.state, server.state === 'drained' ? 'void' : 'fail'));
    rows(byId('servers'), ['Server', 'State', 'Responses', 'Last hour', 'In flight', ...(failed ? ['Failed', 'Last hour'] : []), ...(latency ? ['Recent peak latency'] : [])],
      list.map((server) => row(make('th', { scope: 'row' }, `${server.pool} ${server.name}`), state(server), cell(rate(server.rate)),
        cell(spark(sparks.columns[server.spark])), cell(`${short(server.in_flight)} of ${short(server.limit)}`),
        failed && cell(rate(server.failed), server.failed ? 'fail' : null), failed && cell(spark(sparks.columns[`${server.spark} failed`])),
        latency && cell(server.latency_ms === null ? '–' : micros(server.latency_ms * 1000)))));
    more('servers-more', left);
  };

  const sparkLine = (name, key, text) => make('figure', { class: 'spark-box' },
    make('figcaption', {}, `${name} `, make('strong', {}, text(edge.last(key)))), spark(thin(hour.columns[key]), 240, 40));
  // A quarter of a minute becomes one point, by the highest.
  const thin = (column = []) => {
    const points = [];
    for (let row = 0; row < hour.rows; row += 15) {
      const values = column.slice(row, row + 15).filter((value) => value !== null && value !== undefined);
      points.push(values.length ? Math.max(...values) : null);
    }
    return points;
  };

  const cache = () => {
    const { cache: held } = edge;
    byId('cache-section').hidden = !held;
    if (!held) return;
    const found = held.hits + held.stale;
    const all = found + held.misses;
    byId('cache-sparks').replaceChildren(sparkLine('Share from the cache', 'cache.hit_share', percent), sparkLine('Held', 'cache.bytes', bytes));
    facts(byId('cache'), [
      ['From the cache', all > 0 ? percent(found / all) : '–', 1, true], ['Hits', rate(held.hits), held.hits], ['Stale hits', rate(held.stale), held.stale],
      ['Misses', rate(held.misses), held.misses], ['Collapsed', rate(held.collapsed), held.collapsed], ['Bypassed', rate(held.passed), held.passed],
      ['Stored responses', short(held.objects), 1, true], ['Memory, of limit', `${bytes(held.bytes)} of ${bytes(held.size)}`, 1, true],
      ['Evicted', rate(held.evicted), held.evicted], ['On disk, of limit', held.disk && `${bytes(held.disk.bytes)} of ${bytes(held.disk.size)}`, held.disk],
    ]);
  };

  const hub = () => {
    const { hub: live } = edge;
    byId('hub-section').hidden = !live;
    if (!live) return;
    byId('hub-sparks').replaceChildren(sparkLine('Clients', 'hub.clients', short), sparkLine('Deliveries per second', 'hub.delivered', short));
    facts(byId('hub'), [
      ['WebSockets', short(live.websockets), 1, true], ['Event streams', short(live.sse + live.mercure), live.sse + live.mercure],
      ['Channels', short(live.channels), 1, true], ['Published', rate(live.published), live.published], ['Deliveries', rate(live.deliveries), live.deliveries],
      ['Lag, p99', micros((live.lag_p99_ms ?? 0) * 1000), live.lag_p99_ms], ['Histories', bytes(live.history_bytes), live.history_bytes],
      ['Dropped', rate(live.dropped), live.dropped], ['Disconnected', rate(live.disconnected), live.disconnected],
      ['Recovered', rate(live.recovered), live.recovered], ['Not recovered', rate(live.unrecovered), live.unrecovered],
      ['Waiting for the application', short(live.hooks_waiting), live.hooks_waiting],
      ['Shared backend', live.shared ? 'connected' : 'lost', live.shared !== null],
    ]);
    const channels = edge.channels ?? [];
    byId('channels-box').hidden = channels.length === 0;
    rows(byId('channels'), ['Channel', 'Subscribers', 'Messages', 'Deliveries', 'History'], channels.map((channel) => row(
      make('th', { scope: 'row' }, channel.channel), cell(short(channel.subscribers)), cell(rate(channel.messages)), cell(rate(channel.deliveries)), cell(bytes(channel.history_bytes)))));
    byId('sources-box').hidden = live.sources.length === 0;
    rows(byId('sources'), ['Source', 'State', 'Refused', 'Losses'], live.sources.map((source) => row(make('th', { scope: 'row' }, source.name),
      source.connected ? cell('connected') : cell('not connected', 'fail'), cell(short(source.refused)), cell(short(source.losses)))));
  };

  const own = () => {
    const list = Object.entries(edge.own).map(([name, value]) => [name[0].toUpperCase() + name.slice(1).replaceAll('-', ' '), rate(value), value]);
    byId('own-section').hidden = facts(byId('own'), list) === 0;
  };

  const draw = () => {
    const began = performance.now();
    header();
    axis.draw();
    routes();
    servers();
    cache();
    hub();
    own();
    document.documentElement.dataset.rows = edge.rows;
    document.documentElement.dataset.tickMs = Math.ceil(performance.now() - began);
  };
  const drawSoon = oncePerFrame(draw);

  axis.moved = (row) => {
    byId('readout').hidden = row === null;
    if (row === null) return;
    const of = (key) => hour.columns[key]?.[row] ?? null;
    const parts = [['servers', 'server'], ['cache', 'cache'], ['fallback', 'fallback'], ['turned away', 'refused']]
      .filter(([, key]) => of(key)).map(([name, key]) => `${name} ${rate(of(key))}`);
    put(byId('readout'), `At ${edge.timeText(edge.offset + row)}: offered ${rate(of('offered'))}, ${[...parts, `p99 ${micros(of('p99'))}`].join(', ')}, in flight ${short(of('in_flight'))} of ${short(of('limit'))}`);
  };
  charts.addEventListener('keydown', (event) => axis.key(event));
  charts.addEventListener('pointerleave', () => axis.point(null));
  for (const button of document.querySelectorAll('[data-span]')) {
    button.addEventListener('click', () => {
      for (const other of document.querySelectorAll('[data-span]')) other.setAttribute('aria-pressed', String(other === button));
      axis.span = Number(button.dataset.span);
      axis.show(null);
      axis.place(null);
    });
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => axis.rebuild());
  addEventListener('beforeprint', () => { document.documentElement.classList.add('print'); axis.rebuild(true); });
  addEventListener('afterprint', () => { document.documentElement.classList.remove('print'); axis.rebuild(); });
  addEventListener('resize', drawSoon);

  // The stream is read by fetch, because EventSource sends no token. One that ends begins again, with the whole hour.
  const connection = byId('connection');
  const form = byId('token-form');
  let token = sessionStorage.getItem('edge-token') ?? '';
  const follow = async () => {
    try {
      const response = await fetch('events', { cache: 'no-store', headers: token ? { authorization: `Bearer ${token}` } : {} });
      if (response.status === 401) {
        put(connection, token ? 'the token is wrong' : 'waiting for the token');
        put(byId('title'), 'This edge asks for its token');
        form.hidden = false;
        return;
      }
      if (!response.ok) throw new Error((await response.text()).trim());
      form.hidden = true;
      // A browser sends no token with a link.
      byId('links').hidden = Boolean(token);
      put(connection, 'live');
      await read(response.body.pipeThrough(new TextDecoderStream()).getReader());
      put(connection, 'connection lost; trying again');
    } catch {
      put(connection, edge.status ? 'connection lost; trying again' : 'the edge does not answer; trying again');
    }
    setTimeout(follow, 1000);
  };
  const read = async (reader) => {
    let pieces = [];
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      pieces.push(value);
      // A document may come in many pieces; they are joined once.
      if (!value.includes('\n')) continue;
      const messages = pieces.join('').split('\n\n');
      pieces = [messages.pop()];
      for (const message of messages) edge.apply(JSON.parse(message.slice('data: '.length)));
      if (messages.length) drawSoon();
    }
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    token = byId('token').value;
    sessionStorage.setItem('edge-token', token);
    follow();
  });
  follow();
})();
