/** Tables of small programs that run under the real manager and, imported, under procman: what files leave out is the same in both. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { procman } from "../support/cli.ts";
import { ecosystemOf, folderOfFiles } from "../support/import-rig.ts";
import { comparable, PeerRig, pm2Command, WRITE_DOWN } from "../support/peer-rig.ts";
import { skip } from "../support/skip.ts";
import { isMissing } from "../support/system-programs.ts";

/** What a program is called, how it is written for the manager, and how often it starts there. */
type Row<Fields> = { readonly fields: Fields; readonly starts: number; readonly stopped?: boolean };

/** Of each row: the starts, and, where it still runs at the end, the signal of the stop. */
function countsOf<Fields>(rows: Readonly<Record<string, Row<Fields>>>): {
  readonly starts: Readonly<Record<string, number>>;
  readonly signals: Readonly<Record<string, number>>;
} {
  const entries = Object.entries(rows);
  return {
    starts: Object.fromEntries(entries.map(([name, { starts }]) => [name, starts])),
    signals: Object.fromEntries(
      entries.flatMap(([name, { starts, stopped }]) => (stopped === true ? [[name, starts] as const] : [])),
    ),
  };
}

function assertSame(rig: PeerRig, peer: string, names: readonly string[], variables: readonly string[]): void {
  for (const name of names)
    assert.deepEqual(
      comparable(rig.seen("procman", name), variables),
      comparable(rig.seen(peer, name), variables),
      `${name} under ${peer}`,
    );
}

/** Runs for longer than pm2 and supervisord count as a failed start. */
const SLOW = `setTimeout(() => process.exit(1), 1500);\nrequire(${JSON.stringify(WRITE_DOWN)});\n`;

test("pm2: limits of restarts, words of a shell, PATH and port", async (context) => {
  const pm2 = pm2Command();
  if (pm2 === undefined) return skip(context, "pm2 can't be installed");
  const script = WRITE_DOWN;
  const rows: Readonly<Record<string, Row<object>>> = {
    crash: { fields: { script, args: "crash exit 3" }, starts: 16 },
    few: { fields: { script, args: "few exit 3", max_restarts: 4 }, starts: 4 },
    one: { fields: { script, args: "one exit 3", max_restarts: 1 }, starts: 1 },
    never: { fields: { script, args: "never exit 3", autorestart: false }, starts: 1 },
    shell: { fields: { script: `node ${WRITE_DOWN} shell "a b"`, interpreter: "none" }, starts: 1, stopped: true },
    path: {
      fields: { script: "tool", args: "path", env: { PATH: "FOLDER/bin:/usr/bin:/bin" } },
      starts: 1,
      stopped: true,
    },
    port: { fields: { script, args: "port", port: 4001, env: { PORT: 4000 } }, starts: 1, stopped: true },
  };
  const { starts, signals } = countsOf(rows);
  const slow = { name: "slow", script: "slow.js", args: "slow", max_restarts: 2 };
  const rig: PeerRig = new PeerRig(
    folderOfFiles(context, { "slow.js": SLOW, tool: `require(${JSON.stringify(WRITE_DOWN)});\n` }, async () => {
      await rig.command("pm2", [pm2, "kill"], own);
      await rig.end();
    }),
  );
  const own = { PM2_HOME: `${rig.folder}/pm2-home` };
  const apps = [...Object.entries(rows).map(([name, { fields }]) => ({ name, ...fields })), slow];
  writeFileSync(join(rig.folder, "ecosystem.config.js"), ecosystemOf(apps).replaceAll("FOLDER", rig.folder));
  await rig.command("pm2", [pm2, "start", "ecosystem.config.js"], own);
  await rig.wait("pm2", { ...starts, slow: 4 });
  await rig.command("pm2", [pm2, "stop", "all"], own);
  await rig.wait("pm2", signals, true);
  await imported(rig, "ecosystem.config.js");
  await rig.underProcman({ ...starts, slow: 4 }, signals);
  assertSame(rig, "pm2", Object.keys(rows), ["PORT"]);
  assert.equal(rig.seen("procman", "path")[0]?.env?.PATH?.split(":")[0], `${rig.folder}/bin`);
});

test("supervisord: retries, numbers of instances, PATH, variables of all, signals as numbers", async (context) => {
  if (isMissing(context, "supervisord")) return;
  const rows: Readonly<Record<string, Row<readonly string[]>>> = {
    crash: { fields: [`command=node ${WRITE_DOWN} crash exit 3`], starts: 4 },
    retried: { fields: [`command=node ${WRITE_DOWN} retried exit 3`, "startretries=1"], starts: 2 },
    path: {
      fields: ["command=tool path", 'environment=PATH="%(here)s/bin:/usr/bin:/bin"'],
      starts: 1,
      stopped: true,
    },
    many: {
      fields: [
        `command=node ${WRITE_DOWN} many n%(process_num)02d of-%(numprocs)d`,
        'environment=N="%(process_num)03d",GROUP="%(group_name)s",C="%(ENV_COMMON)s"',
        "process_name=%(program_name)s_%(process_num)d",
        "numprocs=2",
        "numprocs_start=7",
        "stopsignal=2",
      ],
      starts: 2,
      stopped: true,
    },
    counted: {
      fields: [
        `command=node ${WRITE_DOWN} counted`,
        "process_name=%(program_name)s_%(process_num)d",
        "numprocs=%(ENV_WORKERS)s",
      ],
      starts: 3,
      stopped: true,
    },
  };
  const { starts, signals } = countsOf(rows);
  const text = [
    '[supervisord]\nlogfile=%(here)s/supervisord.log\npidfile=%(here)s/supervisord.pid\nchildlogdir=%(here)s\nenvironment=COMMON="c d"',
    "[unix_http_server]\nfile=%(here)s/s.sock\n[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n[supervisorctl]\nserverurl=unix://%(here)s/s.sock",
    "[group:back]\nprograms=many",
    ...Object.entries(rows).map(([name, { fields }]) => `[program:${name}]\n${fields.join("\n")}`),
  ].join("\n");
  const rig: PeerRig = new PeerRig(folderOfFiles(context, { "supervisord.conf": `${text}\n` }, () => rig.end()));
  mkdirSync(join(rig.folder, "bin"));
  writeFileSync(join(rig.folder, "bin/tool"), `#!/bin/sh\nexec ${process.execPath} ${WRITE_DOWN} "$@"\n`);
  chmodSync(join(rig.folder, "bin/tool"), 0o755);
  const outer = { WORKERS: "3" };
  const control = (...args: readonly string[]): Promise<string> =>
    rig.command("supervisord", ["supervisorctl", "-c", "supervisord.conf", ...args], outer);
  await rig.command("supervisord", ["supervisord", "-c", "supervisord.conf"], outer);
  try {
    await rig.wait("supervisord", starts);
  } finally {
    await control("shutdown");
  }
  await rig.wait("supervisord", signals, true);
  setVariables(context, outer);
  await imported(rig, "supervisord.conf");
  await rig.underProcman(starts, signals);
  assertSame(rig, "supervisord", Object.keys(rows), ["N", "GROUP", "C", "COMMON"]);
});

function setVariables(context: TestContext, variables: Readonly<Record<string, string>>): void {
  Object.assign(process.env, variables);
  context.after(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
  });
}

async function imported(rig: PeerRig, file: string): Promise<void> {
  const { code, out, err } = await procman(rig.folder, ["import", file]);
  assert.equal(code, 0, `${out}${err}`);
}
