// The engine's workers: a request has one from its begin to its end, and waits until one is free.

const { workers } = require('./settings');

/** What begins the requests that wait, in their order. */
const waiting = [];

let busy = 0;

/** Continues with a worker, which is free again when the response has ended or the client has left. */
function take(request, response, next) {
  let state = 'waiting';
  const begin = () => {
    if (state === 'waiting') {
      state = 'working';
      busy += 1;
      next();
    }
  };
  response.once('close', () => {
    busy -= state === 'working' ? 1 : 0;
    state = 'gone';
    while (busy < workers && waiting.length > 0) {
      waiting.shift()();
    }
  });
  if (busy < workers) {
    begin();
  } else {
    waiting.push(begin);
  }
}

module.exports = { take };
