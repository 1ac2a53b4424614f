// Makes chromium.har: a visit of headless Chromium to the small site below, recorded over the DevTools protocol as the
// browser's own "Save all as HAR" has it: requests with the headers that were really sent, cookies included, redirects
// apart, bodies, moments. Needs `chromium` and Node 18 or later.
//
//   node record.mjs > chromium.har
//
// Trimmed: headers that only tell of the browser are left out. Nothing else is changed.
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// A login with a token, a form with a token that is good once, a page that names things here and elsewhere.
let logged = 0;
let saved = '';
const server = createServer((request, response) => {
  const html = { 'Content-Type': 'text/html; charset=utf-8' };
  const path = request.url.split('?')[0];
  const answer = (status, headers, body = '') => response.writeHead(status, headers).end(body);
  request.resume();
  if (request.method === 'POST' && path === '/login') return answer(302, { Location: '/home', 'Set-Cookie': `sid=s${++logged}; Path=/; HttpOnly` });
  if (request.method === 'POST' && path === '/save') return answer(200, { 'Content-Type': 'application/json' }, '{"saved":1}');
  const form = (token) => `<!doctype html><form><input name="csrf" type="hidden" value="${token}"></form>`;
  const pages = {
    '/login': () => answer(200, { ...html, 'Set-Cookie': 'visit=1; Path=/login' }, form('t0k&amp;n-5b1f')),
    '/home': () => answer(200, html, '<!doctype html><p>Hello ada</p>'),
    '/page': () => answer(200, html, '<!doctype html><link rel="stylesheet" href="/a.css"><script src="/b.js"></script><img src="http://other.example/d.png">'),
    '/form': () => answer(200, html, form((saved = `tok-${Math.random().toString(16).slice(2, 14)}`))),
    '/a.css': () => answer(200, { 'Content-Type': 'text/css' }, 'p { color: navy }'),
    '/b.js': () => answer(200, { 'Content-Type': 'text/javascript' }, '"use strict";'),
  };
  return (pages[path] ?? (() => answer(404, html, 'nothing here')))();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const site = `http://127.0.0.1:${server.address().port}`;
const profile = mkdtempSync(join(tmpdir(), 'har-'));
const third = new URL(site);
const browser = spawn('chromium', [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run',
  `--user-data-dir=${profile}`, '--remote-debugging-pipe',
  // The page names an image of a third party.
  `--host-resolver-rules=MAP other.example:80 ${third.host}`,
  'about:blank',
], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });

let next = 1;
const waiting = new Map();
const listeners = [];
let rest = '';
browser.stdio[4].on('data', (bytes) => {
  rest += bytes;
  for (let end = rest.indexOf('\0'); end >= 0; end = rest.indexOf('\0')) {
    const message = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    if (message.id) waiting.get(message.id)(message);
    else listeners.forEach((listener) => listener(message));
  }
});
let session;
function call(method, params = {}) {
  const id = next++;
  browser.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
  return new Promise((resolve, reject) => waiting.set(id, (answer) => (answer.error ? reject(new Error(answer.error.message)) : resolve(answer.result))));
}
function event(name) {
  return new Promise((resolve) => {
    const listener = (message) => {
      if (message.method !== name) return;
      listeners.splice(listeners.indexOf(listener), 1);
      resolve(message.params);
    };
    listeners.push(listener);
  });
}

// Requests in the order of being sent; a redirect begins another one under the same id.
const entries = [];
const current = new Map();
const sent = new Map();
const got = new Map();
const shift = (map, id) => map.get(id)?.shift();
const put = (map, id, value) => map.set(id, [...(map.get(id) ?? []), value]);
const bodies = [];
listeners.push(({ method, params }) => {
  if (method === 'Network.requestWillBeSent') {
    if (params.redirectResponse) finish(current.get(params.requestId), params.redirectResponse, params.timestamp);
    const entry = { id: params.requestId, params };
    entries.push(entry);
    current.set(params.requestId, entry);
  } else if (method === 'Network.requestWillBeSentExtraInfo') put(sent, params.requestId, params.headers);
  else if (method === 'Network.responseReceivedExtraInfo') put(got, params.requestId, params);
  else if (method === 'Network.responseReceived') current.get(params.requestId).response = params.response;
  else if (method === 'Network.loadingFinished') {
    const entry = current.get(params.requestId);
    finish(entry, entry.response, params.timestamp);
    bodies.push(call('Network.getResponseBody', { requestId: params.requestId }).then((body) => { entry.body = body; }, () => {}));
  } else if (method === 'Network.loadingFailed') finish(current.get(params.requestId), current.get(params.requestId).response, params.timestamp);
});
function finish(entry, response, timestamp) {
  entry.response = response;
  entry.time = (timestamp - entry.params.timestamp) * 1000;
}

const LEFT_OUT = /^(sec-|user-agent|upgrade-insecure|accept-encoding|accept-language|connection|cache-control|pragma|keep-alive)/i;
const list = (headers = {}) => Object.entries(headers)
  .filter(([name]) => !LEFT_OUT.test(name) && !name.startsWith(':'))
  .flatMap(([name, value]) => value.split('\n').map((one) => ({ name, value: one })));

function har() {
  const whole = entries.filter(({ params }) => params.request.url.startsWith('http')).map(({ id, params, response, body, time }) => {
    const extra = shift(got, id);
    const headers = list(shift(sent, id) ?? params.request.headers);
    return {
      _resourceType: params.type.toLowerCase(),
      startedDateTime: new Date(params.wallTime * 1000).toISOString(),
      time,
      request: {
        method: params.request.method, url: params.request.url, httpVersion: 'http/1.1', headers, queryString: [], cookies: [], headersSize: -1, bodySize: (params.request.postData ?? '').length,
        ...(params.request.postData && { postData: { mimeType: params.request.headers['Content-Type'], text: params.request.postData } }),
      },
      response: {
        status: extra?.statusCode ?? response?.status ?? 0, statusText: response?.statusText ?? '', httpVersion: 'http/1.1', headers: list(extra?.headers ?? response?.headers), cookies: [], redirectURL: extra?.headers?.Location ?? '', headersSize: -1, bodySize: -1,
        content: { size: body?.body.length ?? 0, mimeType: response?.mimeType ?? 'x-unknown', ...(body && { text: body.body, ...(body.base64Encoded && { encoding: 'base64' }) }) },
      },
      cache: {},
      timings: { send: 0, wait: time, receive: 0 },
    };
  });
  return { log: { version: '1.2', creator: { name: 'Chromium', version: version.product.split('/')[1] }, pages: [], entries: whole } };
}

const version = await call('Browser.getVersion');
const { targetInfos } = await call('Target.getTargets');
const page = targetInfos.find((target) => target.type === 'page');
session = (await call('Target.attachToTarget', { targetId: page.targetId, flatten: true })).sessionId;
await call('Network.enable');
await call('Page.enable');
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function visit(path, think) {
  const loaded = event('Page.loadEventFired');
  await call('Page.navigate', { url: site + path });
  await loaded;
  await pause(think);
}
async function submit(action, fields, think) {
  const loaded = event('Page.loadEventFired');
  const expression = `{ const form = document.forms[0]; form.method = 'post'; form.action = ${JSON.stringify(action)};
    for (const [name, value] of Object.entries(${JSON.stringify(fields)})) { const input = document.createElement('input'); input.name = name; input.value = value; form.append(input); }
    form.submit(); }`;
  await call('Runtime.evaluate', { expression });
  await loaded;
  await pause(think);
}
await visit('/login', 1500);
await submit('/login', { username: 'ada', password: 'secret' }, 2000);
await visit('/page', 1000);
await visit('/form', 2500);
await submit('/save', { text: 'hull and keel' }, 500);
await Promise.all(bodies);
process.stdout.write(`${JSON.stringify(har(), null, 1)}\n`);
server.close();
browser.kill();
browser.on('exit', () => rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
