// Runs a program that nobody trusts: a process of its own with limits on CPU, memory, files, processes, output and
// time, as a user without rights and without a network where the system lets us.

const { spawn, spawnSync } = require('node:child_process');

// Debian's `nobody` and `nogroup`.
const UID = 65534;

const isRoot = process.getuid() === 0;
let namespace;

/** Makes the one network namespace, without any network, that all programs are put into. */
function prepare() {
  if (!isRoot || spawnSync('unshare', ['--net', 'true']).status !== 0) {
    return false;
  }
  const keeper = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', '--net', 'sleep', 'infinity'], {
    stdio: 'ignore',
  });
  namespace = `/proc/${keeper.pid}/ns/net`;
  return true;
}

function words(limits) {
  const enter = namespace ? ['nsenter', `--net=${namespace}`] : [];
  const bound = [
    'prlimit',
    // A signal at the limit, the end a second later for those who do not hear it.
    `--cpu=${limits.cpuSeconds}:${limits.cpuSeconds + 1}`,
    `--as=${limits.memoryBytes}`,
    `--fsize=${limits.fileBytes}`,
    `--nproc=${limits.processes}`,
    '--nofile=64',
    '--core=0',
  ];
  const user = isRoot ? [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups'] : [];
  return [...enter, ...bound, 'setpriv', ...user, '--no-new-privs', '--pdeathsig', 'KILL', '--'];
}

/** Ends a program and all it has started; it leads a session of its own. */
function end(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') {
      throw error;
    }
  }
}

/**
 * Runs a command in a folder; resolves with how it ended, never rejects for what the program does.
 * `limits`: cpuSeconds, wallMs, memoryBytes, fileBytes, outputBytes, processes.
 */
function run(command, { folder, input = '', limits }) {
  const [program, ...rest] = [...words(limits), ...command];
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TMPDIR: folder },
      detached: true,
      stdio: 'pipe',
    });
    const kept = { output: [], errors: [] };
    let size = 0;
    let why = null;
    const stop = (reason) => {
      why ??= reason;
      end(child);
    };
    const clock = setTimeout(() => stop('time'), limits.wallMs);
    const take = (into) => (chunk) => {
      size += chunk.length;
      if (size > limits.outputBytes) {
        stop('output');
      } else {
        into.push(chunk);
      }
    };
    child.stdout.on('data', take(kept.output));
    child.stderr.on('data', take(kept.errors));
    // A program that reads nothing closes its end before we have written.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.on('error', (error) => {
      clearTimeout(clock);
      reject(error);
    });
    child.on('exit', () => end(child));
    child.on('close', (code, signal) => {
      clearTimeout(clock);
      if (signal === 'SIGXCPU') {
        why ??= 'time';
      }
      resolve({
        code,
        signal,
        stopped: why,
        output: Buffer.concat(kept.output).toString(),
        errors: Buffer.concat(kept.errors).toString(),
      });
    });
  });
}

/** Gives a folder to the user that programs run as. */
function give(fs, path) {
  return isRoot ? fs.chown(path, UID, UID) : Promise.resolve();
}

module.exports = { prepare, run, give };
