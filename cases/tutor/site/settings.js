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

module.exports = {
  faults: faults(),
  port: Number(required('TUTOR_PORT')),
  database: required('TUTOR_DATABASE'),
  memcached: required('TUTOR_MEMCACHED'),
};
