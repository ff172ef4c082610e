/** `npm run soak`: procman under a load of everything, for minutes or hours, by a schedule that follows from a seed. */
import { execFile, execFileSync } from "node:child_process";
import { appendFileSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { badUsage, givenOptions } from "../../scripts/given-options.mjs";
import { freePort, freeRange } from "../support/free-ports.ts";
import { KillableProcman } from "../support/killable-procman.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";
import { probedVersion } from "./heap-probe.ts";
import { SoakAccount } from "./soak-account.ts";
import { act, type Soak } from "./soak-actions.ts";
import { SoakClient } from "./soak-client.ts";
import { FIRST_VARIANT, NAME, type Places, soakConfig, soakProcesses, writePlugin } from "./soak-load.ts";
import { endOf, renderReport, type SoakEnd, writeReport } from "./soak-report.ts";
import { SoakSampler } from "./soak-sampler.ts";
import { LEAST_MINUTES, phaseAt, phasesOf, type SoakTime, scheduleOf } from "./soak-schedule.ts";
import { findingsAtEnd } from "./soak-verdict.ts";

const SAMPLE_MS = 5_000;
const INTERRUPTED = 130;
const PROGRESS_MS = 60_000;
/** A small disk for the state folder, so that it can be filled. Bytes, and further ones for each minute. */
const DISK_BYTES = { first: 96e6, minute: 0.5e6 };

process.exitCode = await main();

async function main(): Promise<number> {
  const { minutes, seed, schedule, report } = optionsGiven();
  if (report !== undefined) return renderReport(report);
  const steps = scheduleOf({ minutes, seed });
  console.log(
    `soak of ${minutes} minutes, seed ${seed} (npm run soak -- --minutes ${minutes} --seed ${seed} repeats it), ${steps.length} steps`,
  );
  if (schedule) {
    for (const { at, kind, what = "" } of steps)
      console.log(`${(at / 1_000).toFixed(1).padStart(8)} s  ${kind} ${what}`);
    return 0;
  }
  const out = join(ROOT, "results/soak", `${minutes}-minutes-seed-${seed}`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const end = await soakFor({ minutes, seed }, out);
  return writeReport(out, end);
}

function optionsGiven() {
  const options = {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e6)) },
    schedule: { type: "boolean", default: false },
    report: { type: "string" },
  } as const;
  const { minutes, seed, schedule, report } = givenOptions({ options }).values;
  const time = { minutes: Number(minutes), seed: Number(seed) };
  if (!(time.minutes >= LEAST_MINUTES)) badUsage(`--minutes ${minutes}: give a number from ${LEAST_MINUTES} on`);
  if (!Number.isSafeInteger(time.seed)) badUsage(`--seed ${seed}: give a whole number`);
  return { ...time, schedule, report };
}

async function soakFor(time: SoakTime, out: string): Promise<SoakEnd> {
  const folder = mkdtempSync(join(tmpdir(), "procman-soak-"));
  const disk = join(folder, "disk");
  for (const name of ["progress", "watched", "logs", "disk"]) mkdirSync(join(folder, name));
  const canFill = mountSmallDisk(disk, time.minutes);
  const { installed, read } = probedVersion(folder);
  writePlugin(folder);
  const soak = await soakIn({ folder, disk }, installed.bin, canFill);
  const { procman, account } = soak;
  let isWhole = false;
  console.log(`in ${folder}; samples in ${out}/samples.jsonl`);
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupted(procman));
  try {
    await follow(soak, time, { out, sampler: new SoakSampler(procman.mark, procman.stateDir, read) });
    const left = await procman.end();
    const findings = [...account.findings, ...findingsAtEnd(soak, left)];
    copyFileSync(join(folder, "said.log"), join(out, "said.log"));
    isWhole = findings.length === 0;
    return endOf(soak, time, findings);
  } finally {
    procman.destroy();
    if (!isWhole) cpSync(disk, join(folder, "disk-kept"), { recursive: true });
    if (canFill) execFileSync("umount", ["-l", disk]);
    if (isWhole) rmSync(folder, { recursive: true, force: true });
    else console.log(`kept for a look: ${folder}`);
  }
}

/** The samples so far stay: `--report` reads them. */
function interrupted(procman: KillableProcman): void {
  procman.destroy();
  process.exit(INTERRUPTED);
}

async function soakIn(places: Places, bin: string, canFill: boolean): Promise<Soak> {
  const ports = { web: await freePort(), webStart: await freeRange(), checked: await freePort() };
  const env = { PROCMAN_STATE_DIR: places.disk };
  const processes = soakProcesses(places, ports, FIRST_VARIANT);
  const procman = new KillableProcman({ folder: places.folder, bin, env, config: soakConfig(places), processes });
  return {
    ...{ procman, places, canFill, ports, kills: [], variant: FIRST_VARIANT, calm: Promise.resolve() },
    client: new SoakClient(procman.stateDir, NAME),
    account: new SoakAccount(),
    command: (args) =>
      new Promise((resolve) => {
        execFile(
          process.execPath,
          [bin, ...args],
          { cwd: places.folder, env: cleanEnvironment(env) },
          (error, output, errors) =>
            resolve({ code: error === null ? 0 : Number(error.code), output: output + errors }),
        );
      }),
  };
}

/** Only in a mount namespace that `scripts/soak.mjs` has made, so that no mount stays behind. */
function mountSmallDisk(folder: string, minutes: number): boolean {
  if (process.env.PROCMAN_SOAK_NAMESPACE === undefined) {
    console.log("!!! NOT ROOT: no disk becomes full");
    return false;
  }
  const size = Math.round(DISK_BYTES.first + DISK_BYTES.minute * minutes);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
  return true;
}

/** Carries out the schedule, and samples meanwhile. */
async function follow(
  soak: Soak,
  time: SoakTime,
  { out, sampler }: { readonly out: string; readonly sampler: SoakSampler },
): Promise<void> {
  const { procman, account } = soak;
  const started = account.begin("start");
  procman.start();
  if ((await procman.answered()) === undefined) throw new Error("procman does not start");
  started();
  const start = performance.now();
  const spans = phasesOf(time.minutes);
  const note = (): void => appendFileSync(join(out, "samples.jsonl"), `${JSON.stringify(sampler.sample())}\n`);
  const tell = (): void =>
    console.log(progressOf(phaseAt(spans, performance.now() - start), performance.now() - start, account));
  const timers = [
    setInterval(note, SAMPLE_MS),
    setInterval(tell, PROGRESS_MS),
    setInterval(() => procman.journal.notes.clear(), PROGRESS_MS),
  ];
  const underWay = new Set<Promise<void>>();
  const until = (at: number): Promise<unknown> => sleep(Math.max(0, at - (performance.now() - start)));
  for (const step of scheduleOf(time)) {
    await until(step.at);
    const action = act(soak, step).catch((error: Error) => account.find("step", `${step.kind}: ${error.stack}`));
    underWay.add(action);
    void action.finally(() => underWay.delete(action));
  }
  await until(spans.at(-1)?.to ?? 0);
  await Promise.all(underWay);
  for (const timer of timers) clearInterval(timer);
  note();
}

function progressOf(phase: string, ms: number, { counts, findings }: SoakAccount): string {
  const { requests = 0, kills = 0, upgrade = 0, disk = 0 } = counts;
  const minute = `minute ${Math.round(ms / 60_000)}, ${phase}`;
  const last = findings.length === 0 ? "" : `; the last: ${findings.at(-1)?.slice(0, 300)}`;
  return `${minute}: ${requests} requests, ${kills} kills, ${upgrade} upgrades, ${disk} full disks, ${findings.length} findings${last}`;
}
