// Who is asking: a random number in a cookie, the session behind it in memcached, for all parts alike.

const crypto = require('node:crypto');
const memory = require('./memory');

const COOKIE = 'tutor';
const SECONDS = 7200;

const key = (id) => `session:${id}`;

function idOf(request) {
  const found = /(?:^|;\s*)tutor=([0-9a-f]{32})(?:;|$)/.exec(request.headers.cookie ?? '');
  return found?.[1];
}

/** Sets `request.session` to the session of the cookie, if there is one, and lets it live on. */
async function read(request, response, next) {
  const id = idOf(request);
  if (id) {
    request.session = await memory.get(key(id));
    if (request.session) {
      await memory.touch(key(id), SECONDS);
    }
  }
  next();
}

/** Begins a session and sends its cookie. */
async function begin(response, session) {
  const id = crypto.randomBytes(16).toString('hex');
  await memory.set(key(id), session, SECONDS);
  response.cookie(COOKIE, id, { httpOnly: true, sameSite: 'lax', path: '/' });
}

module.exports = { read, begin };
