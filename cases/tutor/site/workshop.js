// Where programs are compiled and kept: one private folder each, under a name nobody can guess.

const crypto = require('node:crypto');
const fs = require('node:fs/promises');
const path = require('node:path');
const sandbox = require('./sandbox');

const KEPT_MAX = 2000;
const MIB = 1024 * 1024;

const COMPILER = {
  cpuSeconds: 5,
  wallMs: 10_000,
  memoryBytes: 1024 * MIB,
  fileBytes: 16 * MIB,
  outputBytes: 64 * 1024,
  processes: 512,
};

const PROGRAM = {
  cpuSeconds: 1,
  wallMs: 3_000,
  memoryBytes: 128 * MIB,
  fileBytes: MIB,
  outputBytes: 64 * 1024,
  processes: 512,
};

/** Folders by compilation, oldest first. */
const kept = new Map();

let root;

async function open(folder) {
  root = folder;
  await fs.mkdir(root, { recursive: true, mode: 0o711 });
  // Names are secret; the folder can be passed through and not be listed.
  await fs.chmod(root, 0o711);
}

/** Compiles a C program; `{ folder, isGood, messages }`. */
async function compile(source) {
  const folder = path.join(root, crypto.randomBytes(16).toString('hex'));
  await fs.mkdir(folder, { mode: 0o700 });
  await fs.writeFile(path.join(folder, 'answer.c'), source, { mode: 0o644 });
  await sandbox.give(fs, folder);
  const gcc = ['gcc', '-std=c17', '-Wall', '-O0', '-pipe', '-o', 'answer', 'answer.c', '-lm'];
  const ended = await sandbox.run(gcc, { folder, limits: COMPILER });
  const isGood = ended.code === 0 && ended.stopped === null;
  return { folder, isGood, messages: ended.errors };
}

/** Keeps the folder of a compilation for later runs; the oldest ones go. */
async function keep(compilation, folder) {
  kept.set(compilation, folder);
  if (kept.size > KEPT_MAX) {
    const [oldest, gone] = kept.entries().next().value;
    kept.delete(oldest);
    await discard(gone);
  }
}

function discard(folder) {
  return fs.rm(folder, { recursive: true, force: true });
}

/** Runs the program of a compilation on an input; undefined if it is not kept here any more. */
async function execute(compilation, input) {
  const folder = kept.get(compilation);
  return folder && sandbox.run(['./answer'], { folder, input, limits: PROGRAM });
}

module.exports = { open, compile, keep, discard, execute };
