/** Whatever a foreign file contains: a valid configuration, or an error that names the file. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ProcmanError } from "../../core/base/errors.ts";
import { parseDocument } from "../../core/config/document.ts";
import { check } from "../../core/config/load.ts";
import { commentedText } from "./commented-jsonc.ts";
import { importCompose } from "./compose.ts";
import { ConfigurationDraft } from "./configuration-draft.ts";
import { importCrontab } from "./crontab.ts";
import { cronOf } from "./on-calendar.ts";
import { importPm2 } from "./pm2.ts";
import { appsOfDump } from "./pm2-dump.ts";
import { importProcessCompose } from "./process-compose.ts";
import { importProcfile } from "./procfile.ts";
import { configurationOf, makeValid } from "./repair.ts";
import { splitWords, UnclosedQuote } from "./shell-words.ts";
import { type ForeignFile, withPlace } from "./source-file.ts";
import { importSupervisord } from "./supervisord.ts";
import { importUnits } from "./systemd.ts";
import { readYaml } from "./yaml-text.ts";

const FOLDER = "/nowhere";
const RUNS = 100;

/** Imports, makes valid and writes; the text must be valid, and have the same content. */
function assertValid(run: (configuration: ConfigurationDraft) => void): void {
  const configuration = new ConfigurationDraft(FOLDER);
  try {
    run(configuration);
  } catch (error) {
    assert.ok(error instanceof ProcmanError, error instanceof Error ? error.stack : String(error));
    assert.match(error.message, /^Cannot import foreign:/);
    return;
  }
  const file = `${FOLDER}/procman.jsonc`;
  makeValid(configuration, file);
  const text = commentedText(configuration, ["foreign"]);
  check({ file, shownAs: "procman.jsonc", text }, { checksAccounts: false });
  assert.deepEqual(parseDocument(text).data, JSON.parse(JSON.stringify(configurationOf(configuration))));
}

function fileOf(text: string): ForeignFile {
  return { file: `${FOLDER}/web.service`, shownAs: "foreign", text };
}

const word = fc.oneof(
  fc.constantFrom(
    "web",
    "node server.js",
    "true",
    "0",
    "-1",
    "5s",
    "1h30m",
    "max",
    "~",
    "~x/y",
    "${A",
    "${A:?b}",
    "$$",
    "%",
    "%(process_num)d",
    "{port}",
    "valueOf",
    "constructor",
    "__proto__",
  ),
  fc.constantFrom(
    "../x",
    "/",
    "\0",
    "'",
    '"',
    "\\",
    "*/5 * * * *",
    "0 0 30 2 *",
    "root",
    "SIGKILL",
    "INT",
    "300M",
    "1..3",
    "\u2028",
    "*/",
    "//",
    "\n",
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: word },
  {
    weight: 3,
    arbitrary: fc.oneof(fc.integer({ min: -2, max: 70_000 }), fc.double(), fc.boolean(), fc.constant(null)),
  },
  { weight: 2, arbitrary: fc.array(word, { maxLength: 3 }) },
  {
    weight: 2,
    arbitrary: fc.dictionary(
      word,
      fc.oneof(
        word,
        fc.integer(),
        fc.constant({ condition: "service_healthy" }),
        fc.constant({ toString: 1, valueOf: 2 }),
      ),
      { maxKeys: 3 },
    ),
  },
);
const recordOf = (names: string): fc.Arbitrary<Readonly<Record<string, unknown>>> =>
  fc.dictionary(
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names.split(" ")) }, { weight: 1, arbitrary: word }),
    value,
    {
      maxKeys: 10,
    },
  );
const named = (
  record: fc.Arbitrary<Readonly<Record<string, unknown>>>,
): fc.Arbitrary<Readonly<Record<string, unknown>>> =>
  fc.dictionary(
    fc.oneof(fc.constantFrom("web", "web-1", "Web", "all", "..", "b"), word),
    fc.oneof({ weight: 9, arbitrary: record }, { weight: 1, arbitrary: value }),
    { maxKeys: 4 },
  );

const APP =
  "name script args interpreter node_args cwd env env_production env_ instances exec_mode increment_var instance_var port autorestart stop_exit_codes max_restarts min_uptime restart_delay kill_timeout wait_ready listen_timeout shutdown_with_message cron_restart watch ignore_watch watch_delay out_file error_file log_file merge_logs time pid_file uid gid user namespace filter_env treekill env_file autostart max_memory_restart exp_backoff_restart_delay";
const SERVICE =
  "command entrypoint image build ports environment env_file depends_on healthcheck restart stop_signal stop_grace_period deploy scale mem_limit cpus ulimits user working_dir profiles extends develop logging oom_score_adj volumes";
const PROCESS =
  "command entrypoint working_dir environment env_file availability shutdown depends_on readiness_probe liveness_probe ready_log_line schedule replicas namespace disabled log_location success_exit_codes watch vars";
const PROGRAM =
  "command numprocs numprocs_start directory autostart autorestart exitcodes startsecs startretries stopsignal stopwaitsecs stopasgroup environment user umask stdout_logfile stderr_logfile redirect_stderr stdout_logfile_maxbytes stdout_logfile_backups process_name";
const DIRECTIVES =
  "ExecStart ExecStartPre ExecStopPost ExecReload WorkingDirectory Environment EnvironmentFile PassEnvironment Type Restart RestartSec SuccessExitStatus KillMode KillSignal TimeoutStopSec RuntimeMaxSec User Group UMask Nice OOMScoreAdjust IOSchedulingClass LimitNOFILE LimitCPU MemoryMax CPUQuota PIDFile StandardOutput OnCalendar Persistent RandomizedDelaySec PathChanged After Requires StartLimitBurst StartLimitIntervalSec";

test("pm2: any apps give a valid configuration", () => {
  const data = fc.oneof(
    fc.record({ apps: fc.array(recordOf(APP), { maxLength: 4 }) }),
    recordOf(APP),
    value,
    fc.array(value, { maxLength: 3 }),
  );
  const check = fc.property(data, (given) =>
    assertValid((draft) => importPm2(given, { file: "foreign", folder: FOLDER }, draft)),
  );
  fc.assert(check, { numRuns: RUNS });
});

test("pm2: any dump gives a valid configuration", () => {
  const entry = recordOf(
    "name pm2_env pm_exec_path pm_cwd exec_interpreter exec_mode args node_args env pm_out_log_path pm_err_log_path watch instances pmx_module kill_timeout",
  );
  const check = fc.property(
    fc.array(fc.oneof(entry, fc.record({ name: word, pm2_env: entry })), { maxLength: 4 }),
    (list) =>
      assertValid((draft) => importPm2(appsOfDump(list, {}) ?? list, { file: "foreign", folder: FOLDER }, draft)),
  );
  fc.assert(check, { numRuns: RUNS });
});

test("compose and process-compose: any content gives a valid configuration", () => {
  const read = (): string => 'CMD ["x"]';
  const source = { file: `${FOLDER}/compose.yaml`, shownAs: "foreign" };
  const compose = fc.property(named(recordOf(SERVICE)), recordOf("name version volumes"), (services, top) =>
    assertValid((draft) => importCompose({ ...top, services }, source, draft, read)),
  );
  fc.assert(compose, { numRuns: RUNS });
  const other = fc.property(
    named(recordOf(PROCESS)),
    recordOf("environment vars log_location name"),
    (processes, top) => assertValid((draft) => importProcessCompose({ ...top, processes }, source, draft, read)),
  );
  fc.assert(other, { numRuns: RUNS });
});

/** Lines `NAME=value` in sections. */
const sections = (names: string, heads: readonly string[]): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom(...heads),
        fc.array(fc.tuple(fc.constantFrom(...names.split(" ")), word), { maxLength: 8 }),
      ),
      {
        maxLength: 4,
      },
    )
    .map((list) =>
      list.map(([head, pairs]) => `[${head}]\n${pairs.map(([name, text]) => `${name}=${text}\n`).join("")}`).join(""),
    );

test("supervisord and systemd: any text gives a valid configuration, or an error with its place", () => {
  const ini = fc.oneof(
    sections(PROGRAM, ["program:web", "program:a b", "group:g", "supervisord", "include", "eventlistener:x"]),
    fc.string({ unit: "binary" }),
  );
  fc.assert(
    fc.property(ini, (text) =>
      assertValid((draft) => withPlace(fileOf(text), () => importSupervisord(fileOf(text), draft, () => []))),
    ),
    { numRuns: RUNS },
  );
  const unit = fc.oneof(
    sections(DIRECTIVES, ["Unit", "Service", "Timer", "Path", "Install"]),
    fc.string({ unit: "binary" }),
  );
  const timer = (text: string): ForeignFile => ({ ...fileOf(text), file: `${FOLDER}/web.timer` });
  fc.assert(
    fc.property(unit, unit, (text, other) =>
      assertValid((draft) => withPlace(fileOf(text), () => importUnits([fileOf(text), timer(other)], draft, () => []))),
    ),
    { numRuns: RUNS },
  );
});

test("Procfile, crontab and YAML: any text gives a valid configuration, or an error with its place", () => {
  const line = fc.oneof(
    word,
    fc.tuple(word, word).map(([name, rest]) => `${name}: ${rest}`),
    word.map((rest) => `*/5 * * * * ${rest}`),
    word.map((rest) => `A=${rest}`),
    word.map((rest) => `@reboot ${rest}`),
  );
  const text = fc.array(line, { maxLength: 5 }).map((lines) => lines.join("\n"));
  const read = (): string => "";
  fc.assert(
    fc.property(text, (lines) =>
      assertValid((draft) => withPlace(fileOf(lines), () => importProcfile(fileOf(lines), draft, read))),
    ),
    { numRuns: RUNS },
  );
  fc.assert(
    fc.property(text, fc.boolean(), (lines, hasUser) =>
      assertValid((draft) => withPlace(fileOf(lines), () => importCrontab(fileOf(lines), draft, hasUser))),
    ),
    { numRuns: RUNS },
  );
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: "binary" })), (lines) =>
      assertValid(() => withPlace(fileOf(lines), () => readYaml(lines))),
    ),
    { numRuns: RUNS },
  );
});

test("splitting into words: what is quoted comes back as it was, anything else is split or refused", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 5 }), (words) => {
      const line = words.map((each) => `'${each.replaceAll("'", "'\\''")}'`).join(" ");
      assert.deepEqual(splitWords(line), words);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (line) => {
      try {
        splitWords(line);
      } catch (error) {
        assert.ok(error instanceof UnclosedQuote);
      }
    }),
  );
  fc.assert(fc.property(word, (text) => void cronOf(text)));
});
