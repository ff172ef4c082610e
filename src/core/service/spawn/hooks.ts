/** Runs the hooks of processes, beforeStart and afterStop: as the process itself, within a time limit, with their output in its log. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { duration } from "../../base/quantity.ts";
import { RunMarkers } from "../../base/run-marker.ts";
import { howItEnded } from "../../contract/words.ts";
import type { RunKey } from "../../ipc/keeper-protocol.ts";
import { monotonicMs } from "../../os/clock.ts";
import { failpoint } from "../../os/failpoint.ts";
import { signalIfThere } from "../../os/process-signal.ts";
import type { HookCall, RunReports } from "../../supervisor/ports.ts";
import type { Hook } from "../../supervisor/restart-policy.ts";
import type { ExitInfo } from "../../supervisor/states.ts";
import { info, type LogLine, warn } from "../log-line.ts";
import { programEnd } from "../reporting/run-ends.ts";
import type { Services } from "../services.ts";
import type { AccessOfProcess } from "./environment.ts";
import { wrapWithLimits } from "./exec-wrapper.ts";
import { type PassedOutput, passLines } from "./hook-output.ts";
import { execContextOf } from "./probing.ts";
import { credentialsOf } from "./run-identity.ts";
import { accessAs, unreachableFolder } from "./spawn-request.ts";
import { Sweeper } from "./sweeper.ts";

/** Streams of a hook of which nothing is left are at their end within this time. Milliseconds. */
const CLOSED_MS = 5_000;
/** Shorter hooks that succeed get no line. Milliseconds. */
const LONG_MS = 1_000;

type HookProcess = ChildProcessByStdio<null, Readable, Readable>;

type RunningHook = RunKey & {
  readonly call: HookCall;
  /** Its leader, until that has ended. */
  child?: HookProcess;
  /** Why it is being ended. */
  cut?: "limit" | "stop";
};

type HookExit = { readonly code: number | null; readonly signal: string | null };

type StartedHook = {
  readonly hook: RunningHook;
  readonly child: HookProcess;
  readonly pid: number;
  readonly exit: Promise<HookExit>;
};

/** `problem`: absent: it has succeeded. */
type HookResult = { readonly problem?: string; readonly code?: number };

export class HookRunner {
  readonly #services: Pick<Services, "link" | "log" | "specs">;
  readonly #accessOf: AccessOfProcess;
  readonly #markers: RunMarkers;
  readonly #sweeper: Sweeper;
  /** By slot: one at a time. */
  readonly #running = new Map<string, RunningHook>();
  #isRetired = false;

  constructor(services: Pick<Services, "link" | "log" | "specs">, accessOf: AccessOfProcess) {
    this.#services = services;
    this.#accessOf = accessOf;
    this.#markers = new RunMarkers(services.specs.config.stateDir, "", "PROCMAN_HOOK_ID");
    this.#sweeper = new Sweeper(this.#markers);
  }

  /** `key`: of the markers of runs. */
  load(key: string): void {
    this.#markers.key = key;
  }

  run(slot: string, run: number, call: HookCall, on: RunReports): void {
    const hook: RunningHook = { slot, run, call };
    this.#running.set(slot, hook);
    void this.#complete(hook).then((result) => {
      if (this.#isRetired) return;
      this.#running.delete(slot);
      if (call.hook === "afterStop") return on.hookEnded();
      return result.problem === undefined ? on.hookEnded() : on.ended(unstartable(result), false);
    });
  }

  end(slot: string, run: number, on: RunReports): void {
    const hook = this.#running.get(slot);
    if (hook?.run === run) return this.#cut(hook, "stop");
    void this.#sweep({ slot, run, pid: 0 }).then(() =>
      on.ended(unstartable({ problem: "its hook beforeStart was ended" }), false),
    );
  }

  /** Another service takes over: it ends the hooks of this one and runs them again. */
  retire(): void {
    this.#isRetired = true;
    this.#sweeper.stop();
  }

  async #complete(hook: RunningHook): Promise<HookResult> {
    const { slot, run, call } = hook;
    // What is to be run is recorded first: the next service finds it.
    await nextTurn();
    await this.#services.link.commit();
    failpoint("service.hook-noted");
    if (call.isRepeated) await this.#sweep({ slot, run, pid: 0 });
    const begun = performance.now();
    const command = this.#services.specs.of(slot).policy[call.hook];
    // A reload has removed it.
    if (command === undefined || this.#isRetired) return {};
    if (call.isRepeated)
      this.#say(hook, info(`its hook ${call.hook} is run again, as the service was replaced during it`));
    const result = hook.cut === undefined ? await this.#execute(hook, command) : {};
    return this.#report(hook, result, performance.now() - begun);
  }

  /** Logs what is worth a line; that a process can't be started has its own. */
  #report(hook: RunningHook, { problem, code }: HookResult, ms: number): HookResult {
    const { hook: name } = hook.call;
    const after = `after ${duration(ms)}`;
    if (hook.cut === "stop") {
      this.#say(hook, info(`its hook ${name} was ended ${after}`));
      return { problem: `its hook ${name} was ended` };
    }
    const failure = hook.cut === "limit" ? "did not end within its time limit and was ended" : problem;
    if (failure === undefined) {
      if (ms >= LONG_MS) this.#say(hook, info(`its hook ${name} took ${duration(ms)}`));
      return {};
    }
    const what = `its hook ${name} ${failure} ${after}`;
    if (name === "afterStop") this.#say(hook, warn(what));
    return { problem: what, ...(code !== undefined && { code }) };
  }

  async #execute(hook: RunningHook, command: Hook): Promise<HookResult> {
    try {
      const child = this.#spawn(hook, command);
      const exit = exitOf(child);
      const { code, signal } =
        child.pid === undefined ? await exit : await this.#follow({ hook, child, pid: child.pid, exit }, command);
      return code === 0
        ? {}
        : { problem: howItEnded(programEnd({ kind: "exited", code, signal })), ...(code !== null && { code }) };
    } catch (error) {
      return { problem: `can't be executed: ${(error as Error).message}` };
    }
  }

  /** Resolves when nothing of it is left. */
  async #follow({ hook, child, pid, exit }: StartedHook, { timeoutMs }: Hook): Promise<HookExit> {
    hook.child = child;
    failpoint("service.hook-begun");
    const closed = once(child, "close");
    const outputs = this.#capture(hook, child);
    const limit = timeoutMs === 0 ? undefined : setTimeout(() => this.#cut(hook, "limit"), timeoutMs);
    const end = await exit;
    clearTimeout(limit);
    delete hook.child;
    await this.#sweep({ ...hook, pid });
    const passed = closed.then(() => Promise.all(outputs.map((output) => output.passed())));
    await Promise.race([passed, sleep(CLOSED_MS, undefined, { ref: false })]);
    for (const output of outputs) output.end();
    return end;
  }

  #spawn(hook: RunningHook, { line }: Hook): HookProcess {
    const { slot, run, call } = hook;
    const { specs } = this.#services;
    const spec = specs.of(slot);
    const api = accessAs(credentialsOf(spec), this.#accessOf(spec.id));
    const { cwd, env, as = {} } = execContextOf(spec, specs.config, api);
    if (!existsSync(cwd)) throw new Error(unreachableFolder(cwd, specs.config));
    const { share: _, ...limits } = spec;
    const [program = "", ...args] = wrapWithLimits(["/bin/sh", "-c", line], limits);
    return spawn(program, args, {
      cwd,
      env: { ...env, PROCMAN_HOOK_ID: this.#markers.of(slot, run), ...exitVariables(call.ending) },
      ...as,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Passes its lines to the log of the process. */
  #capture({ slot, run, call }: RunningHook, { stdout, stderr }: HookProcess): readonly PassedOutput[] {
    const isQuiet = this.#services.specs.of(slot).log.console ? {} : { isQuiet: true as const };
    return [
      { stream: stdout, category: "stdout", severity: "info" } as const,
      { stream: stderr, category: "stderr", severity: "error" } as const,
    ].map(({ stream, category, severity }) => {
      const line = (text: string): void =>
        this.#services.log.add({
          at: Date.now(),
          severity,
          category,
          id: slot,
          run,
          text: `${call.hook}: ${text}`,
          ...isQuiet,
        });
      return passLines(stream, line, () => this.#services.link.commit());
    });
  }

  /** SIGTERM to its process group, and SIGKILL after the time that the process itself would have. */
  #cut(hook: RunningHook, why: "limit" | "stop"): void {
    if (hook.cut !== undefined) return;
    hook.cut = why;
    const { child, slot, call } = hook;
    const { terminateMs, [call.hook]: { timeoutMs = 0 } = {} } = this.#services.specs.of(slot).policy;
    if (why === "limit")
      this.#say(hook, warn(`its hook ${call.hook} did not end within ${duration(timeoutMs)}; ending it`));
    if (child?.pid === undefined) return;
    signalIfThere(-child.pid, "SIGTERM");
    const timer = setTimeout(() => child.pid !== undefined && signalIfThere(-child.pid, "SIGKILL"), terminateMs);
    child.once("exit", () => clearTimeout(timer));
  }

  /** Ends what is left of a hook: members of its process group, and carriers of its marker. */
  #sweep({ slot, run, pid }: RunKey & { readonly pid: number }): Promise<void> {
    const { user, policy } = this.#services.specs.of(slot);
    const target = { slot, run, pid, ...(user && { uid: user.uid }) };
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(
        () => !this.#isRetired && this.#sweeper.sweep(target, "SIGKILL", done),
        policy.terminateMs,
      );
      this.#sweeper.sweep(target, "SIGTERM", done);
    });
  }

  #say({ slot, run }: RunKey, line: LogLine): void {
    this.#services.log.write(slot, line, run);
  }
}

function exitOf(child: HookProcess): Promise<HookExit> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // Not `close`: what it leaves behind may keep the pipes open.
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
}

function unstartable({ problem = "", code }: HookResult): ExitInfo {
  return {
    kind: "unstartable",
    message: problem,
    permanent: false,
    at: monotonicMs(),
    ...(code !== undefined && { exitCode: code }),
  };
}

/** How the run has ended, as far as it is known: for the environment of `afterStop`. */
export function exitVariables(ending: ExitInfo | undefined): Record<string, string> {
  if (ending?.kind !== "exited") return {};
  const { code, signal } = ending;
  return {
    ...(code !== null && { PROCMAN_EXIT_CODE: String(code) }),
    ...(signal !== null && { PROCMAN_EXIT_SIGNAL: signal }),
  };
}
