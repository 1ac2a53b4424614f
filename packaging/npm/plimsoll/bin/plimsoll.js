#!/usr/bin/env node
// Starts the binary of the package for this platform. Nothing is downloaded, and no script runs at installation.
'use strict';
const { spawn } = require('node:child_process');
const os = require('node:os');

const packages = { 'linux-x64': '@plimsoll/linux-x64' };
const platform = `${process.platform}-${process.arch}`;

function binary() {
  const name = packages[platform];
  if (!name) {
    throw new Error(`no binary for ${platform}; valid: ${Object.keys(packages).join(', ')}; build it from source instead`);
  }
  try {
    return require.resolve(`${name}/bin/plimsoll`);
  } catch {
    throw new Error(`the package ${name} is missing; install plimsoll again without --omit=optional`);
  }
}

let program;
try {
  program = binary();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A signal of the terminal reaches both processes; one that was sent to this process alone is passed on.
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']) {
  process.on(signal, () => child.kill(signal));
}
process.on('SIGINT', () => {});
child.on('error', (error) => {
  console.error(`error: cannot run ${program}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
