// memcached: sessions, and results of queries that hardly change.

const memjs = require('memjs');
const { memcached, faults } = require('./settings');

const OPTIONS = { retries: 1, timeout: 2, conntimeout: 2 };

const shared = memjs.Client.create(memcached, OPTIONS);

/** Lends a connection: the one that is kept or, as the fault has it, one made for this call. */
async function call(work) {
  if (!faults.has('memcached-per-call')) {
    return work(shared);
  }
  const client = memjs.Client.create(memcached, OPTIONS);
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/** The value of a key, or undefined. */
async function get(key) {
  const { value } = await call((client) => client.get(key));
  return value === null ? undefined : JSON.parse(value.toString());
}

/** Keeps a value for some seconds. */
async function set(key, value, seconds) {
  await call((client) => client.set(key, JSON.stringify(value), { expires: seconds }));
}

/** Lets a key live on for some seconds. */
async function touch(key, seconds) {
  await call((client) => client.touch(key, seconds));
}

/** The value of a key, made and kept when it is not there. */
async function remembered(key, seconds, make) {
  const known = await get(key);
  if (known !== undefined) {
    return known;
  }
  const made = await make();
  await set(key, made, seconds);
  return made;
}

module.exports = { get, set, touch, remembered };
