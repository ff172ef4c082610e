/** procman's commands on another machine, by the user's own `ssh`. */
import { type ChildProcess, spawn } from "node:child_process";
import { addressIn, type SshAddress } from "../../client/connection/host-address.ts";
import type { NamedHost } from "../../client/connection/host-file.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printable } from "../../core/base/printable.ts";
import {
  boolean,
  enumeration,
  integer,
  list,
  number,
  openObject,
  optional,
  type Schema,
  string,
  type TypeOf,
} from "../../core/base/schema.ts";
import { faultsOf, matches } from "../../core/base/schema-check.ts";
import { OWNER_SCOPES } from "../../core/contract/token-claims.ts";
import { signalCode } from "../../core/os/signal-name.ts";
import { terminalFilter } from "./terminal-filter.ts";

/** ssh's own exit code when there is no connection (ssh(1)); a command may end with it, too. */
export const NO_CONNECTION = 255;
/** Exit code of shells and of `env` for a program that isn't there. */
const NO_PROGRAM = 127;
/** Seconds. */
const CONNECT_SECONDS = 10;
/** For a command whose output is read, with the connection. Milliseconds. */
const ANSWER_MS = 20_000;
/** Longest output of such a command. Bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** `~.` is for attach; ssh itself notices that the other machine is gone. */
const OWN_ESCAPES = ["-e", "none", "-o", "ServerAliveInterval=15"];
const CONTROLS = "\\u0000-\\u001f\\u007f-\\u009f";
/** What a machine may name as a path. */
const ABSOLUTE = string({ pattern: `^/[^${CONTROLS}]*$` });

/** Output of `procman list --json` and `procman dashboard --json`. */
const RUNNING = list(
  openObject({
    name: string(),
    status: enumeration(["running", "terminating", "service-down", "no-keeper"]),
    configFile: optional(ABSOLUTE),
    stateDir: ABSOLUTE,
    user: string(),
    keeper: optional(integer()),
    service: optional(integer()),
    uptimeSeconds: optional(number()),
    processes: optional(openObject({ total: integer(), attention: integer() })),
    api: optional(openObject({ hostname: string(), port: integer() })),
  }),
);
const SIGN_IN = openObject({ code: string({ pattern: "^[\\w-]{20,100}$" }), socket: optional(ABSOLUTE) });

/** Output of `procman releases --json`. */
const RELEASES = list(openObject({ path: ABSOLUTE, current: optional(boolean()) }));
const TOKEN = openObject({ token: string({ pattern: "^[\\w.-]{20,8000}$" }) });
/** As the commands that run there. Seconds. */
const TOKEN_SECONDS = 86_400;

export type SshHost = NamedHost & { readonly address: SshAddress };

/** undefined: its API is asked from here. */
export function sshHost(host: NamedHost): SshHost | undefined {
  const address = addressIn(host.url);
  return address.kind === "ssh" ? { ...host, address } : undefined;
}

/** Runs a command there, on this terminal. Resolves with its exit code. @throws {ProcmanError} `service-down` */
export async function runRemote(host: SshHost, words: readonly string[]): Promise<number> {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY && process.stderr.isTTY;
  const { stdout, stderr } = process;
  const [name] = words;
  const isExec = name === "exec";
  const isAttached = name === "attach" && isTerminal;
  // The monitor draws the whole terminal, attach its last lines, and what a command of exec writes is meant for it.
  const isDrawn = name === "monitor" || isExec || isAttached;
  const isShown = (stream: NodeJS.WriteStream): boolean => stream.isTTY && !isDrawn;
  const stdio = ["inherit", ...[stdout, stderr].map((stream) => (isShown(stream) ? "pipe" : "inherit"))] as const;
  const all = isExec ? ["exec", "--with-caller", ...words.slice(1)] : words;
  const options = [isTerminal ? "-t" : "-T", ...(isAttached ? OWN_ESCAPES : [])];
  const child = startSsh(host, options, { command: remoteCommand(host, all), stdio });
  child.stdout?.pipe(terminalFilter()).pipe(stdout);
  child.stderr?.pipe(terminalFilter()).pipe(stderr);
  // The terminal sends Ctrl-C to ssh, too, which ends, or passes it on.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  const code = await endOf(child, host);
  // The command of exec may end with any code.
  if (!isExec && (code === NO_CONNECTION || code === NO_PROGRAM)) throw failed(host, code, "ssh has said above why");
  return code;
}

export type SshOutput = { readonly code: number; readonly out: string; readonly err: string };

/** `mayPrompt`: ssh may ask for a password on the terminal, without a limit of time. */
type CaptureOptions = { readonly mayPrompt?: boolean; readonly timeoutMs?: number };

/** Runs a command there, and reads its output. @throws {ProcmanError} `service-down` */
export async function captureRemote(
  host: SshHost,
  words: readonly string[],
  { mayPrompt = false, timeoutMs = ANSWER_MS }: CaptureOptions = {},
): Promise<SshOutput> {
  const child = startSsh(host, mayPrompt ? ["-T"] : ["-T", "-o", "BatchMode=yes"], {
    command: remoteCommand(host, words),
    stdio: PIPES,
  });
  let problem: string | undefined;
  const give = (why: string): void => {
    problem = why;
    child.kill();
    // What it has started may hold them open.
    child.stdout?.destroy();
    child.stderr?.destroy();
  };
  const timer = mayPrompt ? undefined : setTimeout(() => give(`no answer within ${timeoutMs / 1_000} s`), timeoutMs);
  const tooLong = (): void => give(`its answer has more than ${MAX_OUTPUT_BYTES} bytes`);
  const out = textOf(child.stdout, tooLong);
  const err = textOf(child.stderr, tooLong);
  const code = await endOf(child, host).finally(() => clearTimeout(timer));
  const output = { code, out: out(), err: printable(err().trim()) };
  if (problem !== undefined) throw new ProcmanError("service-down", `Cannot ask ${host.name}: ${problem}`);
  if (code === NO_CONNECTION || code === NO_PROGRAM) throw failed(host, code, output.err);
  return output;
}

export type RemoteInstance = TypeOf<typeof RUNNING>[number];

/** Whether a machine has printed a list of procmans. @throws {ProcmanError} `service-down` */
export function checkListed(value: unknown): void {
  const [fault] = matches(value, RUNNING) ? [] : faultsOf(value, RUNNING, "its answer");
  if (fault !== undefined)
    throw new ProcmanError("service-down", `Cannot understand the answer: ${fault.place} ${fault.message}`);
}

/** The procmans that run there. @throws {ProcmanError} `service-down` */
export async function listRemote(host: SshHost, mayPrompt: boolean): Promise<readonly RemoteInstance[]> {
  return checked(host, jsonOf(host, await captureRemote(host, ["list", "--json"], { mayPrompt })), RUNNING);
}

/** Folder of the release in use there. undefined: there is none, or procman isn't running. @throws {ProcmanError} `service-down` */
export async function presentReleaseThere(host: SshHost, mayPrompt: boolean): Promise<string | undefined> {
  const output = await captureRemote(host, ["releases", "--json"], { mayPrompt });
  if (output.code !== EXIT.done) return undefined;
  return checked(host, jsonOf(host, output), RELEASES).find(({ current }) => current === true)?.path;
}

/** A code for the API there, and its Unix socket. @throws {ProcmanError} `service-down` */
export async function signInThere(host: SshHost, scope: string | undefined): Promise<TypeOf<typeof SIGN_IN>> {
  const words = ["dashboard", "--json", ...(scope === undefined ? [] : ["--scope", scope])];
  return checked(host, jsonOf(host, await captureRemote(host, words)), SIGN_IN);
}

/** A token with the rights of that account. @throws {ProcmanError} `service-down` */
export async function tokenThere(host: SshHost): Promise<string> {
  const scopes = OWNER_SCOPES.join(",");
  const words = ["token", "--consumer", "cli", "--scope", scopes, "--expire-in", String(TOKEN_SECONDS), "--json"];
  return checked(host, jsonOf(host, await captureRemote(host, words)), TOKEN).token;
}

function checked<Value>({ name }: SshHost, value: unknown, schema: Schema<Value>): Value {
  if (matches(value, schema)) return value;
  const [fault] = faultsOf(value, schema, "its answer");
  throw new ProcmanError("service-down", `Cannot understand ${name}: ${fault?.place} ${fault?.message}`);
}

/** The JSON that a command has printed; it may still end with a code for "not running". @throws {ProcmanError} `service-down` */
export function jsonOf({ name }: SshHost, { code, out, err }: SshOutput): unknown {
  try {
    return JSON.parse(out);
  } catch (cause) {
    const why = err === "" ? `it answered with code ${code} and no JSON` : errorText(err);
    throw new ProcmanError("service-down", `Cannot ask ${name}: ${why}`, { cause });
  }
}

/** What a command with `--json` has said, or any other program. */
function errorText(said: string): string {
  try {
    const { error } = JSON.parse(said) as { readonly error?: { readonly message?: unknown } };
    return typeof error?.message === "string" ? error.message : said;
  } catch {
    return said.replace(/^procman: /, "");
  }
}

/** Lasts as long as its input, which ends also with a client that was killed; any login shell can run it. */
const UNTIL_END = "cat >/dev/null";

/** A connection that makes `socket` of that machine reachable by the path `local`; ends when the child ends, or this process. */
export function forwardSocket(host: SshHost, local: string, socket: string): ChildProcess {
  const options = [
    "ExitOnForwardFailure=yes",
    "StreamLocalBindMask=0177",
    "StreamLocalBindUnlink=yes",
    "ServerAliveInterval=15",
  ];
  const forward = [
    "-T",
    "-L",
    `${local}:${socket}`,
    "-o",
    "BatchMode=yes",
    ...options.flatMap((option) => ["-o", option]),
  ];
  return startSsh(host, forward, { command: UNTIL_END, stdio: ["pipe", "pipe", "pipe"] });
}

/** As `sh` of that machine runs it, whatever the login shell is. */
export type RemoteScript = {
  /** One line. */
  readonly script: string;
  /** `$1` and those that follow. */
  readonly words: readonly string[];
  readonly mayPrompt: boolean;
};

/** Starts a script there; its input and output are pipes. */
export function startScript(host: SshHost, { script, words, mayPrompt }: RemoteScript): ChildProcess {
  const command = ["sh", "-c", script, "sh", ...words].map(quoted).join(" ");
  return startSsh(host, ["-T", ...transferOptions(mayPrompt)], { command, stdio: ["pipe", "pipe", "pipe"] });
}

/** The start of a command line of ssh, for a program that adds the rest, such as `rsync -e`. */
export function sshWords({ address: { port } }: SshHost, mayPrompt: boolean): readonly string[] {
  return [...sshProgram(), ...connectionOptions(port), ...transferOptions(mayPrompt)];
}

/** A machine that is gone while data is on the way is noticed within 20 s. */
function transferOptions(mayPrompt: boolean): readonly string[] {
  const options = ["ServerAliveInterval=5", "ServerAliveCountMax=3", ...(mayPrompt ? [] : ["BatchMode=yes"])];
  return options.flatMap((option) => ["-o", option]);
}

const PIPES = ["ignore", "pipe", "pipe"] as const;

type SshStart = { readonly command?: string; readonly stdio: readonly ("inherit" | "ignore" | "pipe")[] };

/** `PROCMAN_SSH`: the program and its first arguments, separated by spaces, as `GIT_SSH_COMMAND`. */
function sshProgram(): readonly [program: string, ...first: readonly string[]] {
  const [program = "ssh", ...first] = (process.env.PROCMAN_SSH ?? "").split(" ").filter((word) => word !== "");
  return [program, ...first];
}

function connectionOptions(port: number | undefined): readonly string[] {
  return ["-o", `ConnectTimeout=${CONNECT_SECONDS}`, ...(port === undefined ? [] : ["-p", String(port)])];
}

function startSsh(
  { address: { destination, port } }: SshHost,
  options: readonly string[],
  { command, stdio }: SshStart,
): ChildProcess {
  const [program, ...first] = sshProgram();
  const all = [...first, ...connectionOptions(port), ...options, "--", destination];
  return spawn(program, [...all, ...(command === undefined ? [] : [command])], { stdio: [...stdio] });
}

/** For a login shell of any kind: each word is quoted, and `env` sets the variables. */
function remoteCommand({ address: { config }, program = "procman" }: SshHost, words: readonly string[]): string {
  const variables = [
    ...(config === undefined ? [] : [`PROCMAN_CONFIG=${config}`]),
    ...(process.env.NO_COLOR ? [`NO_COLOR=${process.env.NO_COLOR}`] : []),
  ];
  return ["env", ...variables.map(quoted), quoted(program), ...words.map(quoted)].join(" ");
}

/** @example quoted("it's") // "'it'\\''s'" */
function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export async function endOf(child: ChildProcess, host: SshHost): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => reject(withoutSsh(host, cause)));
    child.once("close", (code, signal) => resolve(code ?? signalCode(signal)));
  });
}

/** Keeps what the stream has, up to the limit. */
export function textOf(stream: ChildProcess["stdout"], tooLong: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_OUTPUT_BYTES) chunks.push(chunk);
    else tooLong();
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function withoutSsh({ name }: SshHost, cause: Error): ProcmanError {
  return new ProcmanError("service-down", `Cannot reach ${name}: ssh can't be started: ${cause.message}`, { cause });
}

function failed(host: SshHost, code: number, said: string): ProcmanError {
  const { name, url, program = "procman", address } = host;
  const why =
    code === NO_PROGRAM
      ? `${address.destination} has no program "${program}" in the PATH of a shell without login; name it: procman host add ${name} ${url} --program /path/to/procman`
      : said === ""
        ? `"ssh ${address.destination}" shows why`
        : said.split("\n").at(-1);
  return new ProcmanError("service-down", `Cannot reach ${name}: ${why}`);
}
