/** `procman upgrade`: replaces the running procman with the version of this command. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { keeperOf } from "../../client/connection/endpoint-file.ts";
import { packageRoot } from "../../client/connection/package-root.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import type { UpgradeReport, UpgradeRequest, UpgradeStep } from "../../core/ipc/upgrade-protocol.ts";
import { writeWhole } from "../../core/os/careful-files.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import type { Holder } from "../../core/os/lock.ts";
import { isAlive } from "../../core/os/process-stat.ts";
import type { RolloutOptions } from "../../satellites/hosts/ongoing-rollout.ts";
import { withTarget } from "../options.ts";
import { waitFor } from "../output/progress.ts";
import { rolledOut, withRollout } from "../rollout-options.ts";
import { type TargetOptions, targetLocation } from "../target.ts";

/** Time for each part to become ready, or for the old one to come back. Milliseconds. */
const TIMEOUT_MS = 60_000;
const POLL_MS = 20;

export function define(parent: Command): void {
  const command = parent
    .command("upgrade")
    .description(
      "Replaces service, logger and load balancer of the running procman with those of this version, one by one; if a new one isn't ready in time, the old one comes back. No process is restarted, and no line or connection is lost. Also restarts a service that is down.",
    );
  withRollout(withTarget(command))
    .option("--json", "print the keeper's report")
    .action(async ({ json = false, ...target }: TargetOptions & RolloutOptions) => {
      if (await rolledOut({ ...target, json }, { kind: "upgrade" })) return;
      const { stateDir } = targetLocation(target);
      const report = await waitFor(
        {
          doing: () => "upgrading",
          continues: () =>
            "the upgrade continues; procman writes its steps to standard error, or to daemon.log in the state folder",
        },
        upgrade(stateDir, await keeperOf(stateDir)),
      );
      process.stdout.write(json ? `${printableJson(report, 2)}\n` : table(report));
      if (report.notice !== undefined) process.stderr.write(`procman: ${report.notice}\n`);
      if (!report.ok) throw failed(report);
    });
}

/** @throws {ProcmanError} `upgrade-failed` if the keeper has ended or doesn't answer. */
async function upgrade(stateDir: string, keeper: Holder): Promise<UpgradeReport> {
  const request: UpgradeRequest = {
    id: process.getBuiltinModule("node:crypto").randomBytes(8).toString("hex"),
    node: process.execPath,
    folder: join(packageRoot(), "dist"),
  };
  const requestFile = join(stateDir, "upgrade.json");
  const answerFile = join(stateDir, "upgraded.json");
  writeWhole(requestFile, JSON.stringify(request));
  try {
    process.kill(keeper.pid, "SIGUSR1");
    return await answer(answerFile, request, keeper);
  } finally {
    for (const path of [requestFile, answerFile]) if (idIn(path) === request.id) rmSync(path, { force: true });
  }
}

async function answer(path: string, { id }: UpgradeRequest, { pid, startTime }: Holder): Promise<UpgradeReport> {
  for (const deadline = monotonicMs() + TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const isOver = !isAlive(pid, startTime);
    const report = jsonIn(path);
    if (report?.id === id) return report as UpgradeReport;
    if (isOver)
      throw new ProcmanError(
        "upgrade-failed",
        `Cannot upgrade: the keeper (pid ${pid}) has ended; "procman run" starts it again`,
      );
    if (monotonicMs() > deadline)
      throw new ProcmanError(
        "upgrade-failed",
        `Cannot upgrade: the keeper (pid ${pid}) has not answered within ${TIMEOUT_MS / 1_000} s; "procman status" shows what is running`,
      );
  }
}

function idIn(path: string): string | undefined {
  return jsonIn(path)?.id;
}

function jsonIn(path: string): { readonly id?: string } | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as { readonly id?: string };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function table({ steps, keeper }: UpgradeReport): string {
  const rows = steps.map(({ part, from, to, ok, ms }) => [
    part,
    `${from} → ${to}`,
    ok ? `replaced in ${ms} ms` : "not replaced; the old one keeps running",
  ]);
  const all = [...rows, ["keeper", keeper, "stays"]];
  const [first, second] = [0, 1].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map(([part = "", versions = "", what]) => `${part.padEnd(first ?? 0)}  ${versions.padEnd(second ?? 0)}  ${what}\n`)
    .join("");
}

function failed({ steps }: UpgradeReport): ProcmanError {
  const step: UpgradeStep | undefined = steps.find(({ ok }) => !ok);
  return new ProcmanError(
    "upgrade-failed",
    step === undefined
      ? "Cannot upgrade: the keeper refused it"
      : `Cannot upgrade the ${step.part} to ${step.to}: ${step.problem ?? "it did not become ready"}; the old one keeps running`,
  );
}
