// The web part: login, home, codebook, editor, save. Several of these processes run behind HAProxy.

const path = require('node:path');
const bcrypt = require('bcrypt');
const ejs = require('ejs');
const express = require('express');
const database = require('./database');
const memory = require('./memory');
const session = require('./session');
const shown = require('./shown');
const { faults, port } = require('./settings');

const CONSTANT_SECONDS = 600;
const CODE_BYTES_MAX = '64kb';
const VERSIONS_SHOWN = 20;

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.set('views', path.join(__dirname, 'views'));
app.set('view engine', 'ejs');
// Without the cache each page reads its template and the ones it includes again, and compiles them.
const areTemplatesKept = !faults.has('templates-per-request');
app.engine('ejs', (file, data, done) => ejs.renderFile(file, data, { cache: areTemplatesKept }, done));
app.set('view cache', areTemplatesKept);
Object.assign(app.locals, shown);

app.get('/health', async (request, response) => {
  await database.row('SELECT 1');
  response.type('text').send('ok\n');
});

app.use(express.urlencoded({ extended: false, limit: CODE_BYTES_MAX }));

/** What every page shows and nobody changes during an exam. */
function constants() {
  return memory.remembered('settings', CONSTANT_SECONDS, async () => {
    const found = await database.rows('SELECT name, value FROM setting');
    return Object.fromEntries(found.map(({ name, value }) => [name, value]));
  });
}

async function page(response, view, data) {
  response.render(view, { ...data, settings: await constants() });
}

app.get('/login', (request, response) => page(response, 'login', { name: undefined }));

app.post('/login', async (request, response) => {
  const { username = '', password = '' } = request.body ?? {};
  const account = await database.row(
    'SELECT account.id, account.name, password_hash, section.zone FROM account'
      + ' JOIN section ON section.id = account.section_id WHERE account.name = ?',
    [username],
  );
  if (!account || !(await isRight(password, account.password_hash))) {
    response.redirect('/login');
    return;
  }
  await session.begin(response, { account: account.id, name: account.name, zone: account.zone });
  response.redirect('/home');
});

/** Compares beside the event loop or, as the fault has it, on it: nobody else is served meanwhile. */
async function isRight(password, hash) {
  return faults.has('sync-bcrypt') ? bcrypt.compareSync(password, hash) : bcrypt.compare(password, hash);
}

app.use(session.read, (request, response, next) => {
  if (request.session) {
    next();
  } else {
    response.redirect('/login');
  }
});

app.get(['/', '/home'], async (request, response) => {
  const { account, name, zone } = request.session;
  const schedule = await memory.remembered('schedule', CONSTANT_SECONDS, () =>
    database.rows(
      'SELECT event.title, schedule.opens, schedule.closes, section.title AS section FROM schedule'
        + ' JOIN event ON event.id = schedule.event_id JOIN section ON section.id = schedule.section_id'
        + ' ORDER BY schedule.opens',
    ),
  );
  const assignments = await assignmentsOf(account);
  for (const assignment of assignments) {
    assignment.saved = (await latest(assignment.id))?.save_time;
  }
  await page(response, 'home', { name, zone, schedule, assignments });
});

function assignmentsOf(account) {
  return database.rows(
    'SELECT assignment.id, problem.title, event.title AS event FROM assignment'
      + ' JOIN problem ON problem.id = assignment.problem_id JOIN event ON event.id = problem.event_id'
      + ' WHERE assignment.account_id = ? ORDER BY assignment.id',
    [account],
  );
}

app.get('/codebook', async (request, response) => {
  const { account, name } = request.session;
  const assignments = await assignmentsOf(account);
  for (const assignment of assignments) {
    assignment.versions = await database.rows(
      'SELECT id, save_time, contents FROM code WHERE assignment_id = ?'
        + ` ORDER BY save_time DESC LIMIT ${VERSIONS_SHOWN}`,
      [assignment.id],
    );
  }
  await page(response, 'codebook', { name, assignments });
});

app.get('/editor/:assignment', async (request, response) => {
  const { account, name } = request.session;
  const assignment = await database.row(
    'SELECT assignment.id, problem.title, problem.statement FROM assignment'
      + ' JOIN problem ON problem.id = assignment.problem_id WHERE assignment.id = ? AND assignment.account_id = ?',
    [request.params.assignment, account],
  );
  if (!assignment) {
    response.status(404).type('text').send('no such assignment\n');
    return;
  }
  await page(response, 'editor', { name, assignment, code: await latest(assignment.id) });
});

/** The last version that was saved. */
function latest(assignment) {
  return database.row(
    'SELECT id, save_time, contents FROM code WHERE assignment_id = ? ORDER BY save_time DESC, id DESC LIMIT 1',
    [assignment],
  );
}

app.post('/editor/save', async (request, response) => {
  const { assignment, code } = request.body ?? {};
  const owned = await database.row('SELECT id FROM assignment WHERE id = ? AND account_id = ?', [
    assignment ?? 0,
    request.session.account,
  ]);
  if (!owned || typeof code !== 'string') {
    response.status(400).json({ error: 'send an assignment of yours and its code' });
    return;
  }
  const before = await latest(owned.id);
  const saved = await database.insert(
    'INSERT INTO code (assignment_id, save_time, contents) VALUES (?, NOW(6), ?)',
    [owned.id, code],
  );
  response.json({ saved, before: before?.id ?? null, listing: shown.listing(code) });
});

app.listen(port, '127.0.0.1', 1024);
