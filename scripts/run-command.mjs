/** Runs one command to its end, whatever it does: in a process group of its own, with a deadline, its output kept. */
import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const POSIX = process.platform !== "win32";
const GRACE_MS = 5_000;
/** A grandchild that was left behind can hold our pipes open after the command's own end. */
const LEFT_OPEN_MS = 2_000;

/** Signals that end us, and the exit code that says so. */
const FATAL = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

const live = new Set();

/**
 * @param {readonly string[]} argv
 * @param {{ timeoutMs: number, env?: Record<string, string>, show?: boolean }} options
 * @returns {Promise<{ ok: boolean, output: string, ms: number, why: string }>}
 */
export function runCommand([file, ...rest], { timeoutMs, env = {}, show = false }) {
  const began = performance.now();
  const child = spawn(file, rest, {
    cwd: ROOT,
    detached: POSIX,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  guard(child);
  const output = collect(child, show);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    signalGroup(child, "SIGTERM");
    setTimeout(() => signalGroup(child, "SIGKILL"), GRACE_MS).unref();
  }, timeoutMs);
  return ending(child).then(({ code, reason }) => {
    clearTimeout(timer);
    unguard(child);
    const why = timedOut ? `no end within ${timeoutMs / 1000} s` : reason;
    return { ok: code === 0 && !timedOut, output: output.join(""), ms: performance.now() - began, why };
  });
}

function collect(child, show) {
  const output = [];
  for (const [stream, target] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    stream.setEncoding("utf8");
    stream.on("data", (text) => {
      output.push(text);
      if (show) target.write(text);
    });
  }
  return output;
}

function ending(child) {
  return new Promise((resolve) => {
    let end = { code: 1, reason: "" };
    child.once("error", (error) => resolve({ code: 1, reason: error.message }));
    child.once("close", () => resolve(end));
    child.once("exit", (code, signal) => {
      end = { code, reason: signal ? `ended by ${signal}` : `exit code ${code}` };
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        resolve(end);
      }, LEFT_OPEN_MS).unref();
    });
  });
}

function signalGroup(child, signal) {
  try {
    process.kill(POSIX ? -child.pid : child.pid, signal);
  } catch {
    // It has ended already.
  }
}

/** While a command runs, what would end us ends it too. */
function guard(child) {
  if (live.size === 0) for (const signal of Object.keys(FATAL)) process.on(signal, endAll);
  live.add(child);
}

function unguard(child) {
  live.delete(child);
  if (live.size === 0) for (const signal of Object.keys(FATAL)) process.off(signal, endAll);
}

function endAll(signal) {
  for (const child of live) signalGroup(child, "SIGTERM");
  process.exit(FATAL[signal]);
}
