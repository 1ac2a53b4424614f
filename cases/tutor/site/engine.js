// The engine part: compiles, executes and evaluates C programs in a sandbox.

const express = require('express');
const database = require('./database');
const sandbox = require('./sandbox');
const session = require('./session');
const workshop = require('./workshop');
const workers = require('./workers');
const { port } = require('./settings');

const CODE_BYTES_MAX = '64kb';

const app = express();
app.disable('x-powered-by');
app.disable('etag');

app.get('/health', async (request, response) => {
  await database.row('SELECT 1');
  response.type('text').send('ok\n');
});

app.use(express.urlencoded({ extended: false, limit: CODE_BYTES_MAX }));

app.use(session.read, (request, response, next) => {
  if (request.session) {
    next();
  } else {
    response.status(403).json({ error: 'log in first' });
  }
});

// As a server with a process for each request, of which there are so many.
app.use(workers.take);

/** Three queries: whose assignment it is, the version of the code, the compilation. */
app.post('/compile', async (request, response) => {
  const { assignment, code } = request.body ?? {};
  await database.mapped('assignment');
  const owned = await database.row('SELECT id FROM assignment WHERE id = ? AND account_id = ?', [
    assignment ?? 0,
    request.session.account,
  ]);
  if (!owned || typeof code !== 'string') {
    response.status(400).json({ error: 'send an assignment of yours and its code' });
    return;
  }
  const { folder, isGood, messages } = await workshop.compile(code);
  await database.mapped('code');
  const version = await database.insert(
    'INSERT INTO code (assignment_id, save_time, contents) VALUES (?, NOW(6), ?)',
    [owned.id, code],
  );
  await database.mapped('compilation');
  const compilation = await database.insert(
    'INSERT INTO compilation (code_id, made, is_good, messages) VALUES (?, NOW(6), ?, ?)',
    [version, isGood, messages],
  );
  await (isGood ? workshop.keep(compilation, folder) : workshop.discard(folder));
  response.json({ compilation, good: isGood, messages });
});

/** The compilation that a request names, with its problem, if the program is this account's. */
function compilationOf(request) {
  return database.row(
    'SELECT compilation.id, assignment.problem_id FROM compilation JOIN code ON code.id = compilation.code_id'
      + ' JOIN assignment ON assignment.id = code.assignment_id WHERE compilation.id = ? AND assignment.account_id = ?',
    [request.body?.compilation ?? 0, request.session.account],
  );
}

const gone = (response) =>
  response.status(404).json({ error: 'no such program of yours is kept; compile it again' });

app.post('/execute', async (request, response) => {
  const compilation = await compilationOf(request);
  const ended = compilation && (await workshop.execute(compilation.id, request.body.input ?? ''));
  if (!ended) {
    gone(response);
    return;
  }
  await database.insert(
    'INSERT INTO execution (compilation_id, made, exit_code, stopped) VALUES (?, NOW(6), ?, ?)',
    [compilation.id, ended.code, ended.stopped],
  );
  const { code, signal, stopped, output, errors } = ended;
  response.json({ code, signal, stopped, output, errors });
});

app.post('/evaluate', async (request, response) => {
  const compilation = await compilationOf(request);
  if (!compilation) {
    gone(response);
    return;
  }
  const tests = await database.rows('SELECT id, input, expected, is_visible FROM test_case WHERE problem_id = ?', [
    compilation.problem_id,
  ]);
  const ended = await Promise.all(tests.map((test) => workshop.execute(compilation.id, test.input)));
  if (ended.includes(undefined)) {
    gone(response);
    return;
  }
  const results = tests.map((test, place) => ended[place].output.trim() === test.expected.trim());
  const passed = results.filter(Boolean).length;
  await database.insert(
    'INSERT INTO evaluation (compilation_id, made, passed, tests) VALUES (?, NOW(6), ?, ?)',
    [compilation.id, passed, tests.length],
  );
  response.json({ passed, tests: tests.length });
});

workshop.open(process.env.TUTOR_WORKSHOP ?? 'workshop').then(() => {
  if (!sandbox.prepare()) {
    console.error('programs keep the network: a namespace of their own is not permitted here');
  }
  app.listen(port, '127.0.0.1', 1024);
});
