#!/usr/bin/env node
// Users of an editor, driven step by step: they log in once, then write and save until they are done.
//
// Steps of a plan cannot express this: reading time depends on the text, and the next step on the response.
// Run it with `plimsoll run editor-node.yaml`.
'use strict';

const readline = require('node:readline');

const WORDS = ['buoy', 'draught', 'freeboard', 'hull', 'keel', 'load', 'tide'];

/** Ends an iteration, with a reason. */
class Failed extends Error {}

/** Sends a request after a think time; returns the response. */
function* ask(path, { think_ms = 0, ...rest } = {}) {
  const answer = yield { think_ms, request: { path, ...rest } };
  if (answer.outcome !== 'ok') throw new Failed(`${path}: ${answer.reason ?? answer.outcome}`);
  return answer;
}

/** The token of the form on a page. */
function token(page) {
  const found = /name="csrf" value="([^"]+)"/.exec(page.body);
  if (!found) throw new Failed('the page has no token');
  return found[1].replaceAll('&amp;', '&');
}

/** Numbers from 0 to 1 that follow from the seed (a linear congruential generator). */
function dice(seed) {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

/** One iteration of one user: yields what it does, and is handed what came of it. */
function* journey(start) {
  const roll = dice(start.seed);
  const word = () => WORDS[Math.floor(roll() * WORDS.length)];
  if (start.iteration === 1) {
    const page = yield* ask('/login', { once: true });
    const form = { username: start.row.account.name, password: 'secret', csrf: token(page) };
    const expect = { status: 302, location: '/home' };
    yield* ask('/login', { once: true, method: 'POST', form, expect });
  }
  let text = word();
  let saved = 0;
  while (saved < 20 && roll() < 0.8) {
    text += ` ${word()}`;
    const page = yield* ask('/form', { think_ms: 2 * text.length });
    const form = { csrf: token(page), text };
    const answer = yield* ask('/save', { method: 'POST', form, expect: { status: 200 } });
    saved = JSON.parse(answer.body).saved;
  }
  yield { think_ms: 5 };
}

const users = new Map();

/** What a user does next. */
function next(event) {
  try {
    if (event.event === 'start') users.set(event.user, journey(event));
    const step = users.get(event.user).next(event.answer);
    return step.done ? { end: 'ok' } : step.value;
  } catch (fault) {
    if (!(fault instanceof Failed)) throw fault;
    return { end: 'fail', reason: fault.message };
  }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const event = JSON.parse(line);
  if (event.event === 'stop') users.delete(event.user);
  else process.stdout.write(`${JSON.stringify({ user: event.user, ...next(event) })}\n`);
});
