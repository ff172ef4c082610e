/** Brings a folder or an archive to another machine by the user's own ssh, for a release there. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createReadStream, lstatSync, readlinkSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isNotFound, ProcmanError, reasonOf } from "../../core/base/errors.ts";
import { printable } from "../../core/base/printable.ts";
import { checkContents, type Entry } from "../../core/releases/release-contents.ts";
import { contentsOf } from "../../core/releases/release-copy.ts";
import { isUpload, UPLOADS } from "../../core/releases/upload-path.ts";
import { endOf, NO_CONNECTION, presentReleaseThere, type SshHost, sshWords, startScript, textOf } from "./ssh.ts";

/** Absolute paths on this machine. */
export type UploadSource = { readonly folder: string } | { readonly tarball: string };

export type UploadOptions = {
  /** ssh may ask for a password on the terminal. */
  readonly mayPrompt?: boolean;
  /** Ends the upload, and removes what is there of it. */
  readonly signal?: AbortSignal;
};

/** What has left an upload behind was killed; a rollout that stands still may need it for days. */
const LEFTOVER_DAYS = 7;

const PLACE = `\${XDG_STATE_HOME:-$HOME/.local/state}/${UPLOADS}`;

/** `$1` the id, `$2` whether rsync is here. Prints the place, its room in KiB, and the program. */
const MAKE_PLACE = [
  "umask 077",
  `place="${PLACE}"`,
  'mkdir -p "$place" && chmod 700 "$place" && cd "$place" || exit 1',
  `find . -mindepth 1 -maxdepth 1 -mtime +${LEFTOVER_DAYS} -exec rm -rf {} +`,
  'rm -rf "$1" && mkdir "$1" && cd "$1" && pwd || exit 1',
  "df -Pk . | awk 'END { print $4 }'",
  '[ "$2" = yes ] && command -v rsync >/dev/null && echo rsync || echo tar',
].join("; ");
/** `$1` the place. */
const UNPACK = 'mkdir "$1" && cd "$1" && tar -x -p -o -f -';
const STORE = 'umask 077; cat > "$1"';
const REMOVE = 'rm -rf -- "$1"';
/** `$1` the id. */
const REMOVE_ID = `cd "${PLACE}" 2>/dev/null || exit 0; rm -rf -- "$1"`;

type UploadPlace = { readonly path: string; readonly roomBytes: number; readonly hasRsync: boolean };

/** What is to be sent. */
type UploadLoad = UploadSource & { readonly entries: readonly Entry[]; readonly bytes: number };

type Sending = {
  readonly host: SshHost;
  readonly load: UploadLoad;
  readonly path: string;
  readonly options: UploadOptions;
};

/**
 * Copies the source to a new private folder of the user there, with the contents that a release of it would have.
 * Resolves with its absolute path there, for `DeployOrder.uploaded` or `removeUpload`. What remains of an upload that
 * has failed is removed.
 *
 * @param id of the upload: letters, digits, dots, underscores and hyphens. One with the same id is replaced.
 * @throws {ProcmanError} `service-down`: no connection; `deploy-refused`: it can't be read here, or not be kept there;
 * `interrupted`
 */
export async function uploadTo(
  host: SshHost,
  source: UploadSource,
  id: string,
  options: UploadOptions = {},
): Promise<string> {
  const load = await loadOf(source);
  const place = await makePlace(host, id, options);
  const path = join(place.path, "folder" in source ? "folder" : "archive");
  if (!isUpload(path)) throw refused(host, `${place.path} is no place for uploads`);
  try {
    if (load.bytes > place.roomBytes)
      throw refused(
        host,
        `it needs ${megabytes(load.bytes)}, and ${place.path} has room for ${megabytes(place.roomBytes)}; make room there, or set XDG_STATE_HOME there to a folder on another disk`,
      );
    if ("folder" in load && place.hasRsync) await sendByRsync({ host, load, path, options }, load.folder);
    else await sendByPipe({ host, load, path, options });
    return path;
  } catch (error) {
    // Without a connection it can't be removed; a later upload does it.
    if (error instanceof ProcmanError && error.code === "service-down") throw error;
    await removeUpload(host, path, options.mayPrompt).catch((problem: Error) => {
      throw new ProcmanError("deploy-refused", `${reasonOf(error)}; ${path} is left there: ${problem.message}`);
    });
    throw error;
  }
}

/** `path`: what `uploadTo` has given. @throws {ProcmanError} `service-down`, `deploy-refused` */
export async function removeUpload(host: SshHost, path: string, mayPrompt = false): Promise<void> {
  if (!isUpload(path)) throw new Error(`${path} is no upload`);
  await runScript(host, { script: REMOVE, words: [dirname(path)], mayPrompt });
}

/** Removes an upload whose path isn't known. @throws {ProcmanError} `service-down`, `deploy-refused` */
export async function removeUploadOf(host: SshHost, id: string): Promise<void> {
  await runScript(host, { script: REMOVE_ID, words: [id], mayPrompt: false });
}

/** @throws {ProcmanError} `deploy-refused` */
async function loadOf(source: UploadSource): Promise<UploadLoad> {
  const path = "folder" in source ? source.folder : source.tarball;
  try {
    if ("tarball" in source) return { ...source, entries: [], bytes: statSync(path).size };
    const entries = await contentsOf(path, ownPlacesIn(path));
    return { ...source, entries, bytes: checkContents(entries) };
  } catch (error) {
    throw new ProcmanError("deploy-refused", `Cannot deploy: ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/** What procman has made in a project: states, the link to the present release, and the releases. */
function ownPlacesIn(folder: string): readonly string[] {
  const current = join(folder, "current");
  const target = linkIn(current);
  const releases = target === undefined ? [] : [current, dirname(resolve(folder, target))];
  return [join(folder, ".procman"), ...releases.filter((path) => path !== folder)];
}

function linkIn(path: string): string | undefined {
  try {
    const target = lstatSync(path).isSymbolicLink() ? readlinkSync(path) : "";
    return /\/\d{8}-\d{6}[\w-]*$/.test(target) ? target : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** @throws {ProcmanError} `service-down`, `deploy-refused` */
async function makePlace(host: SshHost, id: string, { mayPrompt = false }: UploadOptions): Promise<UploadPlace> {
  if (!/^\w[\w.-]{0,99}$/.test(id)) throw new Error(`${id} is no id of an upload`);
  const words = [id, hasRsync() ? "yes" : "no"];
  const lines = (await runScript(host, { script: MAKE_PLACE, words, mayPrompt })).trimEnd().split("\n");
  // A login shell may have said something before.
  const [path = "", room, program] = lines.slice(-3);
  return { path, roomBytes: Number(room) * 1_024, hasRsync: program === "rsync" };
}

function hasRsync(): boolean {
  try {
    return /^rsync +version 3/.test(
      execFileSync("rsync", ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    );
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Sends what differs from the present release there. */
async function sendByRsync({ host, load, path, options }: Sending, folder: string): Promise<void> {
  const { mayPrompt = false, signal } = options;
  const { destination } = host.address;
  const at = destination.lastIndexOf("@") + 1;
  const name = destination.slice(at);
  const target = `${destination.slice(0, at)}${name.includes(":") ? `[${name}]` : name}`;
  const base = await presentReleaseThere(host, mayPrompt);
  const words = [
    ...[
      "--links",
      "--perms",
      "--times",
      "--executability",
      "--protect-args",
      "--ignore-times",
      "--from0",
      "--files-from=-",
    ],
    ...(base === undefined ? [] : [`--copy-dest=${base}`]),
    ...["-e", sshWords(host, mayPrompt).join(" "), "--", `${folder}/`, `${target}:${path}/`],
  ];
  const child = spawn("rsync", words, { stdio: ["pipe", "pipe", "pipe"] });
  // Without the folder in front, rsync takes a line that begins with "#" or ";" as a comment.
  const list = Readable.from(load.entries.map((entry) => `./${entry.path}\0`));
  await sent(child, { host, path, signal, input: list });
}

async function sendByPipe({ host, load, path, options }: Sending): Promise<void> {
  const { mayPrompt = false, signal } = options;
  const isFolder = "folder" in load;
  const input = isFolder
    ? (await import("../../core/releases/archive.ts")).pack(load.folder, load.entries)
    : createReadStream(load.tarball);
  const child = startScript(host, { script: isFolder ? UNPACK : STORE, words: [path], mayPrompt });
  await sent(child, { host, path, signal, input });
}

type Transfer = {
  readonly host: SshHost;
  readonly path: string;
  readonly input: Readable;
  readonly signal: AbortSignal | undefined;
};

/** @throws {ProcmanError} */
async function sent(child: ChildProcess, { host, path, input, signal }: Transfer): Promise<void> {
  const { stdin } = child;
  if (stdin === null) throw new Error("the input is no pipe");
  const leave = (): void => void child.kill();
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted) leave();
  const said = textOf(child.stderr, leave);
  child.stdout?.resume();
  const [code, problem] = await Promise.all([
    endOf(child, host),
    pipeline(input, stdin).then(() => undefined, problemHere),
  ]);
  signal?.removeEventListener("abort", leave);
  if (signal?.aborted)
    throw new ProcmanError("interrupted", `Cannot upload to ${host.name}: it was stopped; nothing has changed there`);
  if (code === 0 && problem === undefined) return;
  throw uploadFailed(host, { code, path, said: printable(said().trim()), problem });
}

/** The other end says itself why it has closed its input. */
function problemHere(error: Error & { readonly code?: string }): string | undefined {
  return ["EPIPE", "ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"].includes(error.code ?? "") ? undefined : reasonOf(error);
}

type Failure = {
  readonly code: number;
  readonly path: string;
  readonly said: string;
  /** What has failed here, with the input. */
  readonly problem: string | undefined;
};

/** rsync's own codes for a connection that breaks (rsync(1)): 10 socket, 12 protocol stream, 30 and 35 timeouts. */
const BROKEN: ReadonlySet<number> = new Set([NO_CONNECTION, 10, 12, 30, 35]);
/** And for files that could not be transferred, or have vanished. */
const PARTIAL: ReadonlySet<number> = new Set([23, 24]);
/** And for a file that could not be written there; what the other end has said of it may be lost. */
const UNWRITTEN = 11;

function uploadFailed(host: SshHost, { code, path, said, problem }: Failure): ProcmanError {
  const lines = said.split("\n");
  const about = (pattern: RegExp): string | undefined => lines.find((line) => pattern.test(line));
  const full = about(/no space left|quota exceeded/i);
  if (full !== undefined)
    return refused(
      host,
      `${dirname(path)} has no room for it (${full}); make room there, or set XDG_STATE_HOME there to a folder on another disk`,
    );
  const unread = problem ?? (PARTIAL.has(code) ? about(/^rsync: \[sender\]|^file has vanished/) : undefined);
  if (unread !== undefined) return refused(host, `a file can't be read here: ${unread}`);
  if (code === UNWRITTEN && said === "")
    return refused(
      host,
      `${dirname(path)} can't be written to, mostly because it has no room; make room there, or set XDG_STATE_HOME there to a folder on another disk`,
    );
  if (BROKEN.has(code))
    return new ProcmanError(
      "service-down",
      `Cannot upload to ${host.name}: the connection broke: ${about(/^(?!rsync)./) ?? `"ssh ${host.address.destination}" shows why`}; nothing has changed there, so repeat it when ${host.name} can be reached`,
    );
  return refused(host, lines.at(-1) || `it ended with code ${code}`);
}

/** @throws {ProcmanError} `service-down`, `deploy-refused` */
async function runScript(host: SshHost, script: Parameters<typeof startScript>[1]): Promise<string> {
  const child = startScript(host, script);
  child.stdin?.end();
  const leave = (): void => void child.kill();
  const [out, said] = [textOf(child.stdout, leave), textOf(child.stderr, leave)];
  const code = await endOf(child, host);
  if (code === 0) return out();
  const lines = printable(said().trim()).split("\n");
  if (code === NO_CONNECTION)
    throw new ProcmanError(
      "service-down",
      `Cannot reach ${host.name}: ${lines.at(-1) || `"ssh ${host.address.destination}" shows why`}`,
    );
  const denied = lines.find((line) => /permission denied|read-only/i.test(line));
  throw refused(
    host,
    denied === undefined
      ? lines.at(-1) || `sh ended there with code ${code}`
      : `its user may not write there (${denied}); give the folder to that user, or set XDG_STATE_HOME there to one of that user`,
  );
}

function refused({ name }: SshHost, why: string): ProcmanError {
  return new ProcmanError("deploy-refused", `Cannot upload to ${name}: ${why}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
