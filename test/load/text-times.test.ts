/** A megabyte of anything takes linear time: every text that another user, program or machine can write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { timeOf } from "../../src/cli/output/format.ts";
import { table } from "../../src/cli/output/table.ts";
import { LogFormatter } from "../../src/client/connection/log-format.ts";
import { EventParser } from "../../src/client/sse-parser.ts";
import { parseCommandLine } from "../../src/core/base/command-line.ts";
import { readEnvFile } from "../../src/core/base/env-file.ts";
import { globTest } from "../../src/core/base/glob.ts";
import { expand, malformedReferenceIn, referencesIn } from "../../src/core/base/interpolate.ts";
import { JsonLines } from "../../src/core/base/json-lines.ts";
import { printable, printableBytes, printableLine, printableOutput } from "../../src/core/base/printable.ts";
import { RunMarkers } from "../../src/core/base/run-marker.ts";
import { matches } from "../../src/core/base/schema-check.ts";
import { suggest } from "../../src/core/base/suggest.ts";
import { cronProblem } from "../../src/core/config/checks/cron.ts";
import { fastParse } from "../../src/core/config/fast-parse.ts";
import { withoutSecretArguments, withoutSecretWords } from "../../src/core/config/hidden-values.ts";
import { LOG_SUBMISSION, TELEMETRY_REPORT } from "../../src/core/contract/input-schemas.ts";
import { readQuery } from "../../src/core/contract/query.ts";
import { verifyToken } from "../../src/core/contract/token.ts";
import { OriginCheck } from "../../src/core/http/origin.ts";
import { isOpen, matchRoute } from "../../src/core/http/router.ts";
import { TextMatcher } from "../../src/core/log-store/text-matcher.ts";
import { LineSplitter } from "../../src/core/logger/line-splitter.ts";
import { versionedPlace } from "../../src/core/os/package-place.ts";
import { hardLimitsIn } from "../../src/core/os/process-rights.ts";
import { titledIn } from "../../src/core/os/running-keepers.ts";
import { locationOf } from "../../src/core/plugins/error-location.ts";
import { lineWriter } from "../../src/core/plugins/log-limiter.ts";
import { TokenView } from "../../src/core/service/view.ts";
import { plainText } from "../../src/satellites/dashboard/parts/ansi.ts";
import { OPEN_CHARACTERS, piecesOf } from "../../src/satellites/dashboard/parts/line-pieces.ts";
import { cronFields } from "../../src/satellites/export/cron-pattern.ts";
import { ConfigurationDraft, idOf } from "../../src/satellites/import/configuration-draft.ts";
import { importCrontab } from "../../src/satellites/import/crontab.ts";
import { pathFields } from "../../src/satellites/import/foreign-text.ts";
import { readIni } from "../../src/satellites/import/ini-file.ts";
import { cronOf } from "../../src/satellites/import/on-calendar.ts";
import { importProcfile } from "../../src/satellites/import/procfile.ts";
import { splitWords } from "../../src/satellites/import/shell-words.ts";
import { recognised } from "../../src/satellites/import/source-kinds.ts";
import { environmentIn } from "../../src/satellites/import/supervisord-environment.ts";
import { readUnit, systemdVariables, unitWords } from "../../src/satellites/import/unit-file.ts";
import { coloredText } from "../../src/satellites/monitor/colored-text.ts";
import { wrappedTo } from "../../src/satellites/monitor/text-clusters.ts";

const SIZE = 1_048_576;
/** CPU time on a machine that needs `REFERENCE_MS` for a million replacements. Milliseconds. */
const LIMIT_MS = 100;
const REFERENCE_MS = 60;
/** The parser of YAML is linear, too, but slow; a command of the user waits for it, no service. */
const YAML = "files of an unknown kind, which may be YAML";
const YAML_LIMIT_MS = 1_000;

const markers = new RunMarkers("/state", "0".repeat(32));
const specs: readonly never[] = [];
const view = new TokenView({ processes: ["a"], groups: [] }, { all: specs });
const foreign = (text: string) => ({ file: "/nowhere/f", shownAs: "f", text });
const nothing = (): void => undefined;

/** What reads a text of others. An error that refuses it is an answer, too. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  "env files": readEnvFile,
  "an env file with a name": (text) => readEnvFile(`A=a${text}b`),
  "output in a terminal": (text) => printableBytes(`${text}\n`, true),
  "output in logs": (text) => printableOutput(`${text}x`, false),
  "output in logs -f with colors": (text) => new LogFormatter(true).line({ ...entry, text }),
  "output as JSON": (text) => JSON.stringify({ text }),
  "output in the dashboard": (text) => piecesOf(text, "a", OPEN_CHARACTERS),
  "output that the dashboard searches": plainText,
  "output in the monitor": coloredText,
  messages: (text) => [printable(text), printableLine(text)],
  tables: (text) => table(["a", "b"], [["x", text]], { width: 80 }),
  "lines of processes": (text) => new LineSplitter(nothing).push(Buffer.from(text), 0, text.length),
  "lines of hooks and plugins": (text) => lineWriter(nothing)(text),
  "a search in logs": (text) => new TextMatcher(text.slice(0, 200)),
  "POST /log": (text) => matches({ text, severity: text, data: { [text]: text } }, LOG_SUBMISSION),
  telemetry: (text) => matches({ cwd: text, process: text, memory: text, metrics: { [text]: 1 } }, TELEMETRY_REPORT),
  "cron patterns": (text) => [cronFields(text), cronOf(text), cronProblem(text, new Date(0))],
  times: (text) => timeOf("--since", text, 0),
  "paths of requests": (text) => [isOpen(text), matchRoute("GET", `/${text}`)],
  "queries of requests": (text) => readQuery(text, {}),
  "headers of requests": (text) =>
    new OriginCheck({ hostname: "127.0.0.1", port: () => 80, origins: [] } as never).check({
      host: text,
      origin: text,
    }),
  tokens: (text) => verifyToken(`${text}.${text}.${text}`, "a", new Uint8Array(32)).catch(nothing),
  "answers of another procman": (text) => new EventParser().read(Buffer.from(text)),
  "messages of parts": (text) =>
    new JsonLines({ message: nothing, refused: nothing }).push(`${text.replaceAll("\n", " ")}\n`),
  "texts for limited tokens": (text) => view.text(text),
  "unknown ids": (text) => suggest(text, ["web", text.slice(0, 64)]),
  "environments in /proc": (text) => [markers.in(`PROCMAN_RUN_ID=${text}\0`), markers.in(`A=${text}`)],
  "limits in /proc": (text) => hardLimitsIn(`Max ${text}`),
  "lists of processes": (text) => titledIn(`1 2 ${text}`),
  paths: (text) => [versionedPlace(`/${text}`), globTest(["**/*.{ts,js}", "!**/.git/**"])(text)],
  "stacks of plugins": (text) => locationOf({ name: "", message: "", stack: `E\n    at f (${text}.js:1:2)` }),
  "references in values": (text) => [expand(text, () => ""), referencesIn(text), malformedReferenceIn(text)],
  "command lines": (text) => parseCommandLine(text.slice(0, SIZE / 8)),
  "secrets in command lines": (text) => [withoutSecretWords(text), withoutSecretArguments([text, text])],
  "configuration files": fastParse,
  "names in foreign files": (text) => idOf(text),
  "words in foreign files": splitWords,
  "words in units": unitWords,
  units: (text) => readUnit([`[Unit]\n${text}`]),
  "continued lines of units": (text) => readUnit([`[Unit]\nA=${text}`]),
  "env files of systemd": systemdVariables,
  "folders of PATH": pathFields,
  "files of supervisord": (text) => readIni(`[a]\nb=${text}`),
  "environments of supervisord": (text) => environmentIn(text, (plain) => [plain], nothing),
  crontabs: (text) => importCrontab(foreign(text), new ConfigurationDraft("/nowhere")),
  Procfiles: (text) => importProcfile(foreign(text), new ConfigurationDraft("/nowhere"), new Map() as never),
  [YAML]: (text) => recognised(foreign(text)),
  "words in lines": (text) => wrappedTo(text.slice(0, SIZE / 8), 80),
};

const entry = { time: "2026-01-01T00:00:00.000Z", process: "web", severity: "info", category: "stdout" } as const;

/** Characters with a meaning somewhere, and one without; pairs of them; a random mixture. */
const SINGLE = [...' \r\n\0\x1b"\\#=./{a1'];
const PAIRS = ["${", "/*", '\\"', "a=", "\r ", "1.", "a='b'\n", "\\\n", "A=b\n", " x\n"];

function mixed(): string {
  let [text, state] = ["", 1];
  while (text.length < SIZE) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += SINGLE[(state >>> 16) % SINGLE.length];
  }
  return text;
}

const TEXTS = [...[...SINGLE, ...PAIRS].map((each) => each.repeat(Math.floor(SIZE / each.length))), mixed()];

async function cpuMs(work: () => unknown): Promise<number> {
  const began = process.cpuUsage();
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof Error);
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}

/** How slow this machine is at present: CPU time of a linear replacement, by that of the machine for which the limit is promised. */
async function slowness(): Promise<number> {
  const tries = [];
  for (let count = 0; count < 2; count += 1)
    tries.push(await cpuMs(() => "a".repeat(SIZE).replace(/a/g, (found) => `${found}b`)));
  return Math.max(1, Math.min(...tries) / REFERENCE_MS);
}

for (const [what, read] of Object.entries(READERS)) {
  const limit = what === YAML ? YAML_LIMIT_MS : LIMIT_MS;
  test(`${what}: a megabyte of anything is read within ${limit} ms`, { timeout: 120_000 }, async () => {
    for (const text of TEXTS) {
      let took = Number.POSITIVE_INFINITY;
      // Not the collection of garbage of earlier texts.
      for (let tries = 0; tries < 3 && took > limit; tries += 1) took = Math.min(took, await cpuMs(() => read(text)));
      if (took > limit)
        assert.ok(
          took <= limit * (await slowness()),
          `${JSON.stringify(text.slice(0, 6))}… takes ${Math.round(took)} ms`,
        );
    }
  });
}
