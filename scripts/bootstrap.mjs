/** What a fresh clone lacks: npm's packages, dist/, and programs the tests talk to. Plain JavaScript, nothing but Node and npm. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ROOT, runCommand } from "./run-command.mjs";

/** Programs that integration tests start, and the Debian package that has each. */
const PROGRAMS = {
  nginx: "nginx-light",
  "redis-server": "redis-server",
  python3: "python3",
  gcc: "gcc",
  make: "make",
  supervisord: "supervisor",
  tini: "tini",
  promtool: "prometheus",
  faketime: "faketime",
  zsh: "zsh",
  fish: "fish",
  tmux: "tmux",
  haproxy: "haproxy",
  "docker-compose": "docker-compose",
  "systemd-analyze": "systemd",
  chromium: "chromium",
  openssl: "openssl",
  ssh: "openssh-client",
  sshd: "openssh-server",
  rsync: "rsync",
  systemctl: "systemd",
  "dbus-daemon": "dbus",
  cron: "cron",
  runsvdir: "runit",
  "s6-svscan": "s6",
  "openrc-run": "openrc",
  man: "man-db",
  mandoc: "mandoc",
  busybox: "busybox-static",
};

/** Where system programs live though a user's PATH may not say so. */
const SYSTEM_PATHS = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

const MINUTE = 60_000;
const BUILD_INPUTS = [
  "src",
  "generated",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsdown.config.ts",
  "scripts/manual.ts",
  "scripts/roff.ts",
];

/** `npm ci` in the folder, unless what it installed last is as new as the lock file. */
export async function ensurePackages(folder = ".") {
  if (changedAt(join(folder, "node_modules/.package-lock.json")) >= changedAt(join(folder, "package-lock.json")))
    return;
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"];
  await must("npm ci", [...npm, "ci", "--prefix", folder, "--no-audit", "--no-fund"], 5 * MINUTE);
}

export async function build() {
  await must("build", ["npm", "run", "--silent", "build"], 2 * MINUTE);
}

export async function ensureBuild() {
  if (changedAt("dist/procman.cjs") < Math.max(...BUILD_INPUTS.map(newestBelow))) await build();
}

/** Installs what is missing where that is possible; gives the names of the programs that stay missing. `more`: packages by programs. */
export async function ensurePrograms(more = {}) {
  const programs = { ...PROGRAMS, ...more };
  const missing = Object.keys(programs).filter((name) => !isInstalled(name));
  if (missing.length === 0 || !isInstalled("apt-get") || process.getuid?.() !== 0) return missing;
  const packages = missing.map((name) => programs[name]);
  // RUNLEVEL=1: the packages must not start their services here.
  const env = { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  await attempt("apt-get update", ["apt-get", "update", "-q"], 3 * MINUTE, env);
  await attempt(
    `apt-get install ${packages.join(" ")}`,
    ["apt-get", "install", "-y", "-q", "--no-install-recommends", ...packages],
    5 * MINUTE,
    env,
  );
  return missing.filter((name) => !isInstalled(name));
}

function isInstalled(program) {
  return [...(process.env.PATH ?? "").split(delimiter), ...SYSTEM_PATHS].some((folder) =>
    existsSync(join(folder, program)),
  );
}

export async function must(name, argv, timeoutMs) {
  const { ok, why } = await attempt(name, argv, timeoutMs);
  if (!ok) throw new Error(`Cannot ${name}: ${why}.`);
}

async function attempt(name, argv, timeoutMs, env) {
  const result = await runCommand(argv, { timeoutMs, env: { NO_COLOR: "1", ...env } });
  const { ok, ms, output } = result;
  console.log(`${ok ? "ok  " : "FAIL"} ${name.padEnd(16)} ${(ms / 1000).toFixed(1).padStart(5)} s`);
  if (!ok) console.log(output);
  return result;
}

/** 0 for what does not exist: older than everything. */
function changedAt(path) {
  return statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newestBelow(path) {
  const entry = statSync(join(ROOT, path), { throwIfNoEntry: false });
  if (!entry?.isDirectory()) return entry?.mtimeMs ?? 0;
  const files = readdirSync(join(ROOT, path), { recursive: true, encoding: "utf8" }).map((file) =>
    changedAt(join(path, file)),
  );
  return Math.max(entry.mtimeMs, ...files);
}
