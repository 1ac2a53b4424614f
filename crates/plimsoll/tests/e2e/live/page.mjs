// Looks at a page in Chromium and prints what it found as one JSON object:
// node page.mjs URL ROWS [--pictures FOLDER] [--act] [--everybody] [--history] [--ticks COUNT]
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const [url, rows, ...flags] = process.argv.slice(2);
const flag = (name) => flags.includes(name);
const value = (name) => (flag(name) ? flags[flags.indexOf(name) + 1] : null);
const pictures = value('--pictures');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const found = { requests: [], errors: [], axe: [], unmarked: [], pages: [] };
// A4 less the margins that browsers leave, in pixels.
const PAPER = 717;

const browser = await chromium.launch({
  executablePath: ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((path) => { try { readFileSync(path); return true; } catch { return false; } }),
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
// Its own worlds are not bound by the page's policy, so that axe can be put in.
const open = async (scheme, width, more = {}) => {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 900 }, ...more });
  const page = await context.newPage();
  page.on('request', (request) => found.requests.push(request.url()));
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) found.errors.push(message.text()); });
  page.on('pageerror', (error) => found.errors.push(String(error)));
  const began = Date.now();
  await page.goto(url);
  await page.waitForFunction((count) => Number(document.documentElement.dataset.rows ?? -1) >= count, Number(rows));
  return { page, readyMs: Date.now() - began };
};
const check = async (page, name) => {
  const session = await page.context().newCDPSession(page);
  const tree = await session.send('Page.getFrameTree');
  const world = await session.send('Page.createIsolatedWorld', { frameId: tree.frameTree.frame.id, worldName: 'axe' });
  const run = async (expression) => {
    const result = await session.send('Runtime.evaluate', { expression, contextId: world.executionContextId, awaitPromise: true, returnByValue: true });
    if (result.exceptionDetails) throw new Error(JSON.stringify(result.exceptionDetails));
    return result.result.value;
  };
  await run(`${axe}; true`);
  const violations = await run(`axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    .then((it) => it.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 120) + ' ' + node.any.map((it) => it.message).join()).join(' | ')))`);
  found.axe.push(...violations.map((text) => `${name}: ${text}`));
};
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
// Every place that the tabulator key reaches, in order; those without a ring around them are unmarked.
const walk = async (page) => {
  const stops = [];
  for (let count = 0; count < 120; count += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => {
      const it = document.activeElement;
      if (!it || it === document.body || it.dataset.walked) return null;
      it.dataset.walked = 'yes';
      return { name: it.id || it.getAttribute('aria-label') || it.textContent.slice(0, 40), isMarked: getComputedStyle(it).outlineStyle !== 'none' };
    });
    if (!stop) break;
    stops.push(stop);
  }
  found.stops = stops.map(({ name }) => name);
  found.unmarked = stops.filter(({ isMarked }) => !isMarked).map(({ name }) => name);
};
// On paper: dark on white under a dark scheme too, nothing to press, and nothing wider than the sheet.
const paper = async () => {
  const { page } = await open('dark', 1280);
  await page.emulateMedia({ media: 'print' });
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  found.paper = await page.evaluate((width) => {
    const all = (selector) => [...document.querySelectorAll(selector)].filter((it) => it.checkVisibility());
    const style = getComputedStyle(document.body);
    return {
      background: style.backgroundColor, ink: style.color,
      canvases: all('canvas').filter((it) => it.clientWidth > 0).length,
      tooWide: all('canvas, table').filter((it) => it.getBoundingClientRect().width > width).map((it) => it.id || it.tagName),
      toPress: all('main button, main input').map((it) => it.id || it.textContent),
    };
  }, PAPER);
  if (pictures) await page.pdf({ path: `${pictures}/paper.pdf`, format: 'A4' });
  await page.context().close();
};

const LOOKS = [['light', 'light', 1280], ['dark', 'dark', 1280], ['phone', 'light', 360, { hasTouch: true }]];
if (flag('--everybody')) LOOKS.push(['dark phone', 'dark', 360, { hasTouch: true }]);
for (const [name, scheme, width, more] of LOOKS) {
  const { page, readyMs } = await open(scheme, width, more);
  // Charts draw when somebody scrolls to them.
  await page.evaluate(async () => {
    const frame = () => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); });
    for (let y = 0; y < document.body.scrollHeight; y += 600) { scrollTo(0, y); await frame(); }
    scrollTo(0, 0);
    await frame();
  });
  await check(page, name);
  const seen = await page.evaluate(() => ({
    title: document.getElementById('title')?.textContent ?? document.title,
    canvases: document.querySelectorAll('canvas').length,
    tickMs: Number(document.documentElement.dataset.tickMs),
  }));
  found.pages.push({ name, readyMs, overflow: await overflow(page), ...seen });
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  }
  if (name === 'phone' && await page.locator('#charts .u-over').count()) {
    await page.locator('#charts .u-over').first().tap();
    found.tapped = await page.textContent('#readout');
  }
  if (name === 'light') {
    if (flag('--everybody')) await walk(page);
    // The keyboard: one cursor over all charts.
    if (await page.locator('#charts').count()) {
      await page.focus('#charts');
      await page.keyboard.press('End');
      await page.keyboard.press('ArrowLeft');
      found.readout = await page.textContent('#readout');
      found.cursors = await page.locator('.u-cursor-x').evaluateAll((all) => all.filter((it) => !it.classList.contains('u-off')).length);
      await page.keyboard.press('+');
      await page.keyboard.press('Escape');
      found.isLetGo = await page.isHidden('#readout');
    }
    if (flag('--ticks')) {
      // Time that the page takes for each of the next seconds, ms.
      found.ticks = await page.evaluate((wanted) => new Promise((resolve) => {
        const ticks = [];
        const root = document.documentElement;
        const observer = new MutationObserver(() => {
          ticks.push(Number(root.dataset.tickMs));
          if (ticks.length >= wanted) { observer.disconnect(); resolve(ticks); }
        });
        observer.observe(root, { attributes: true, attributeFilter: ['data-tick-ms'] });
      }), Number(value('--ticks')));
    }
    if (flag('--history')) {
      found.history = {
        bars: await page.locator('#history-chart .interval').count(), sentence: await page.textContent('#history-lead'),
      };
    }
    if (flag('--act')) {
      await page.fill('#change-to', '80');
      await page.press('#change-to', 'Enter');
      await page.waitForFunction(() => document.getElementById('notes').textContent.includes('80 req/s'));
      await page.fill('#mark-text', 'a mark <b>from</b> the page');
      await page.press('#mark-text', 'Enter');
      await page.waitForFunction(() => document.getElementById('act-result').textContent === 'Marked.');
      await page.waitForFunction(() => document.getElementById('notes').textContent.includes('a mark <b>from</b> the page'));
      await page.click('#stop');
      found.sure = await page.textContent('#stop');
      await page.click('#stop');
      await page.waitForFunction(() => document.getElementById('connection').textContent === 'ended');
      found.ended = await page.textContent('#title');
      if (pictures) await page.screenshot({ path: `${pictures}/ended.png`, fullPage: true });
      break;
    }
  }
  await page.context().close();
}
if (flag('--everybody')) await paper();
await browser.close();
process.stdout.write(JSON.stringify(found));
