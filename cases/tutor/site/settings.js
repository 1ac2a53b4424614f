// What a part is told when it starts, all of it in the environment.

const KNOWN = [
  'sync-bcrypt',
  'memcached-per-call',
  'orm-queries',
  'templates-per-request',
];

/** The value of a variable that must be there. */
function required(name) {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set; start the tutor with \`cargo xtask case tutor --serve\``);
  }
  return value;
}

/** Faults that are switched on in this process. */
function faults() {
  const names = (process.env.TUTOR_FAULTS ?? '').split(',').filter(Boolean);
  const unknown = names.find((name) => !KNOWN.includes(name));
  if (unknown) {
    throw new Error(`no fault ${unknown}; there are ${KNOWN.join(', ')}`);
  }
  return new Set(names);
}

/** A whole number from 1 up, or what it is without the variable. */
function count(name, fallback) {
  const text = process.env[name];
  if (!text) {
    return fallback;
  }
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`${name} is ${text}; valid is a whole number from 1 up`);
  }
  return value;
}

module.exports = {
  faults: faults(),
  /** Processes that Plimsoll numbers, from 0, listen beside each other. */
  port: Number(required('TUTOR_PORT')) + Number(process.env.PLIMSOLL_PROCESS ?? 0),
  /** Connections to the database. */
  connections: count('TUTOR_CONNECTIONS', 10),
  /** Programs that the engine compiles, runs or judges at a time; all by default. */
  workers: count('TUTOR_WORKERS', Infinity),
  database: required('TUTOR_DATABASE'),
  memcached: required('TUTOR_MEMCACHED'),
};
