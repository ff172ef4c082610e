/**
 * Files of other process managers: the import of each is a valid configuration, or an error that names the file; and
 * nothing that a file says is lost without a word: without any of its parts, something else is written.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { stringify } from "yaml";
import { ProcmanError } from "../../src/core/base/errors.ts";
import { check as checkText } from "../../src/core/config/load.ts";
import { importFiles } from "../../src/satellites/import/importer.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { withFiles } from "./file-set.ts";
import { damaged, type FuzzTarget, whole } from "./fuzz-target.ts";
import { anyGrammarFile, type GrammarFile } from "./import-grammar.ts";

type Part = GrammarFile["parts"][number];

const NAMES = {
  pm2: "ecosystem.json",
  supervisord: "supervisord.conf",
  systemd: "web.service",
  compose: "compose.yaml",
  "process-compose": "process-compose.yaml",
  crontab: "crontab",
  procfile: "Procfile",
} as const;
/** Other files that some of them name. */
const BESIDE = { "more.env": Buffer.from("MORE=1\n") };
const WORDS = [
  "\n",
  "%(here)s",
  "${",
  "{{.X}}",
  "- ",
  ": ",
  "[x]",
  "=",
  '"',
  "'",
  "\\",
  "\u0000",
  "&a",
  "*a",
  "!!js",
  "<<:",
];

type Said = ReadonlyMap<string, unknown>;

/** What means nothing where something else is said, also to its own manager. `said`: by kind and path. */
const IDLE: Readonly<Record<string, (said: Said) => boolean>> = {
  "pm2.restart_delay": (said) => said.has("pm2.exp_backoff_restart_delay") || said.get("pm2.autorestart") === false,
  "pm2.exp_backoff_restart_delay": (said) => said.get("pm2.autorestart") === false,
  "pm2.max_restarts": (said) => said.get("pm2.autorestart") === false,
  "pm2.stop_exit_codes": (said) => said.get("pm2.autorestart") === false,
  "pm2.autostart": (said) => said.get("pm2.autorestart") === false && said.has("pm2.cron_restart"),
  "pm2.env": (said) => said.has("pm2.port"),
  "supervisord.program:web.redirect_stderr": (said) =>
    [undefined, "syslog"].includes(said.get("supervisord.program:web.stdout_logfile") as string | undefined),
  "supervisord.program:web.startretries": (said) =>
    said.get("supervisord.program:web.autorestart") === "false" &&
    said.get("supervisord.program:web.startsecs") === "0",
  "supervisord.program:web.stderr_logfile": (said) => said.has("supervisord.program:web.redirect_stderr"),
  "supervisord.program:web.stopwaitsecs": (said) => said.get("supervisord.program:web.stopsignal") === "KILL",
  "supervisord.supervisord.umask": (said) => said.has("supervisord.program:web.umask"),
  "supervisord.supervisord.directory": (said) => said.has("supervisord.program:web.directory"),
  "supervisord.supervisord.environment": (said) => said.has("supervisord.program:web.environment"),
  "systemd.Unit.After": (said) => said.has("systemd.Unit.Requires"),
  "systemd.Unit.Requires": (said) => said.has("systemd.Unit.After"),
  "systemd.Unit.StartLimitBurst": (said) =>
    !said.has("systemd.Service.Restart") || said.get("systemd.Unit.StartLimitIntervalSec") === "0",
  "systemd.Unit.StartLimitIntervalSec": (said) => !said.has("systemd.Service.Restart"),
  "systemd.Service.Type": (said) => said.get("systemd.Service.Type") === "oneshot",
  "systemd.Service.KillSignal": (said) => said.has("systemd.Service.ExecStop"),
  "systemd.Service.ExecStop": (said) => said.get("systemd.Service.KillSignal") === "SIGQUIT",
  "compose.services.web.restart": (said) => said.has("compose.services.web.deploy"),
  "compose.services.web.scale": (said) => said.has("compose.services.web.deploy"),
  "compose.services.web.mem_limit": (said) => said.has("compose.services.web.deploy"),
  // The same port on the same addresses.
  "compose.services.web.ports": (said) =>
    JSON.stringify(said.get("compose.services.web.ports")) === '["3000:3000"]' &&
    !said.has("compose.services.web.scale") &&
    !said.has("compose.services.web.deploy"),
};

function dataOf(parts: readonly Part[]): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  for (const [path, value] of parts) {
    let place = data;
    for (const key of path.slice(0, -1)) {
      place[key] ??= {};
      place = place[key] as Record<string, unknown>;
    }
    place[path.at(-1) ?? ""] = value;
  }
  return data;
}

function sectionsOf(data: Readonly<Record<string, unknown>>): string {
  return Object.entries(data)
    .map(
      ([head, values]) =>
        `[${head}]\n${Object.entries(values as object)
          .map(([key, value]) => `${key}=${value}\n`)
          .join("")}`,
    )
    .join("");
}

function textOf({ kind, fixed }: GrammarFile, parts: readonly Part[]): string {
  // The variables of a crontab are those of the lines below.
  if (kind === "crontab" || kind === "procfile") return [...parts, ...fixed].map(([, line]) => `${line}\n`).join("");
  const data = dataOf([...fixed, ...parts]);
  if (kind === "pm2") return JSON.stringify({ apps: Object.values(data) });
  return kind === "compose" || kind === "process-compose" ? stringify(data) : sectionsOf(data);
}

/** What is written; undefined: the file is refused. */
async function written(kind: GrammarFile["kind"], text: string): Promise<string | undefined> {
  const name = NAMES[kind];
  return withFiles({ [name]: Buffer.from(text), ...BESIDE }, async (folder) => {
    const file = join(folder, "procman.jsonc");
    try {
      const { text: result } = await importFiles([name], { file, cwd: folder, kind });
      checkText({ file, shownAs: "procman.jsonc", text: result }, { checksAccounts: false });
      return result.replaceAll(folder, "FOLDER");
    } catch (error) {
      if (!(error instanceof ProcmanError) || !error.message.startsWith("Cannot import ")) throw error;
      return undefined;
    }
  });
}

/** pm2's apps have no name here. */
function keyOf(kind: string, path: readonly string[]): string {
  return [kind, ...(kind === "pm2" ? path.slice(1) : path)].join(".");
}

async function checkParts(file: GrammarFile): Promise<void> {
  const { kind, parts } = file;
  const all = await written(kind, textOf(file, parts));
  assert.ok(all !== undefined, `refused: ${textOf(file, parts)}`);
  const said: Said = new Map(parts.map(([path, value]) => [keyOf(kind, path), value]));
  for (const part of parts) {
    const [path, value] = part;
    if (IDLE[keyOf(kind, path)]?.(said) === true) continue;
    const without = await written(
      kind,
      textOf(
        file,
        parts.filter((each) => each !== part),
      ),
    );
    assert.notEqual(
      without,
      all,
      `${path.join(".")} = ${JSON.stringify(value)} is lost without a word:\n${textOf(file, parts)}\n${all}`,
    );
  }
}

function input(random: SeededRandom): Buffer {
  const [file] = fc.sample(anyGrammarFile, { seed: whole(random, 2 ** 31), numRuns: 1 });
  assert.ok(file !== undefined);
  if (random.next() < 0.7) return Buffer.from(JSON.stringify(file));
  const text = damaged(Buffer.from(textOf(file, file.parts)), random, { words: WORDS });
  return Buffer.from(JSON.stringify({ kind: file.kind, text: text.toString("latin1") }));
}

async function check(given: Buffer): Promise<void> {
  const file = JSON.parse(given.toString("utf8")) as GrammarFile & { readonly text?: string };
  if (file.text === undefined) await checkParts(file);
  else await written(file.kind, Buffer.from(file.text, "latin1").toString("utf8"));
}

export async function openImports(): Promise<FuzzTarget> {
  return { input, check };
}
