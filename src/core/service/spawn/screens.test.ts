/** What is seen on terminals, with real FIFOs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Caller } from "../../contract/control.ts";
import type { ScreenItem } from "../../contract/screen.ts";
import type { Process } from "../../supervisor/process.ts";
import { ProcessBus, type ReportedTransition } from "../process-bus.ts";
import { Screens, screenFile } from "./screens.ts";

const CALLER: Caller = { consumer: "cli" };
const MEBIBYTE = 1_048_576;

class Rig {
  readonly #stateDir: string;
  readonly #stop = new AbortController();
  readonly bus = new ProcessBus(assert.fail);
  readonly screens: Screens;
  #runs: readonly object[] = [];
  #fd: number | undefined;

  constructor(context: TestContext, spec: object = { tty: true }) {
    this.#stateDir = mkdtempSync(join(tmpdir(), "procman-screens-"));
    mkdirSync(join(this.#stateDir, "run"));
    context.after(() => {
      this.#stop.abort();
      this.end();
      rmSync(this.#stateDir, { recursive: true });
    });
    const services = {
      bus: this.bus,
      specs: { of: () => spec, config: { stateDir: this.#stateDir } },
      supervisor: { find: () => this.process },
    };
    this.screens = new Screens(services as unknown as ConstructorParameters<typeof Screens>[0]);
  }

  get process(): Process {
    return { id: "vim", runs: this.#runs } as unknown as Process;
  }

  /** A run begins, and holds a new FIFO. */
  begin(run: number): void {
    const file = screenFile(this.#stateDir, "vim");
    rmSync(file, { force: true });
    execFileSync("mkfifo", [file]);
    this.#fd = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
    this.#runs = [{ slot: "vim", run, state: { status: "running", pid: process.pid } }];
    this.bus.transitions.publish({ id: "vim" } as ReportedTransition);
  }

  print(text: string): number {
    return writeSync(this.#fd ?? 0, text);
  }

  end(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  watch(caller: Caller = CALLER, signal = this.#stop.signal): AsyncIterator<ScreenItem> {
    return this.screens.watch("vim", caller, signal)[Symbol.asyncIterator]();
  }
}

/** The next item; of output its text. */
async function next(items: AsyncIterator<ScreenItem>): Promise<string | undefined> {
  const { done, value } = (await items.next()) as IteratorResult<ScreenItem, undefined>;
  if (done === true) return undefined;
  return value.type === "output" ? Buffer.from(value.data, "base64").toString() : `${value.type} ${value.run}`;
}

test("who looks sees what is printed from then on, the end of the run, and the next run", async (context) => {
  const rig = new Rig(context);
  const items = rig.watch();
  const first = next(items);
  rig.begin(3);
  assert.equal(await first, "begun 3");
  const output = next(items);
  await new Promise(setImmediate);
  rig.print("\u001b[2Jhello");
  assert.equal(await output, "\u001b[2Jhello");
  rig.end();
  assert.equal(await next(items), "over 3");
  const later = next(items);
  rig.begin(4);
  // Before anybody asks for it.
  rig.print("first");
  assert.deepEqual([await later, await next(items)], ["begun 4", "first"]);
});

test("several see the same; each leaves without the others, and the last one closes the FIFO", async (context) => {
  const rig = new Rig(context);
  rig.begin(1);
  const stop = new AbortController();
  const [one, other] = [rig.watch(CALLER, stop.signal), rig.watch({ consumer: "panel" })];
  assert.deepEqual([await next(one), await next(other)], ["begun 1", "begun 1"]);
  const both = [next(one), next(other)];
  await new Promise(setImmediate);
  rig.print("x");
  assert.deepEqual(await Promise.all(both), ["x", "x"]);
  assert.ok(rig.screens.isWatching("vim", CALLER) && rig.screens.isWatching("vim", { consumer: "panel" }));
  stop.abort();
  assert.equal(await next(one), undefined);
  assert.ok(!rig.screens.isWatching("vim", CALLER));
  const still = next(other);
  rig.print("y");
  assert.equal(await still, "y");
  await other.return?.();
  assert.ok(!rig.screens.isWatching("vim", { consumer: "panel" }));
});

test("who doesn't read holds the program up for a second, and is told then; the service keeps little", async (context) => {
  const rig = new Rig(context);
  rig.begin(1);
  const [slow, quick] = [rig.watch(), rig.watch({ consumer: "panel" })];
  await Promise.all([next(slow), next(quick)]);
  const started = next(slow);
  let seen = 0;
  let printed = 0;
  const reading = (async () => {
    while (seen < 2 * MEBIBYTE) seen += ((await next(quick)) ?? assert.fail("it was left out")).length;
  })();
  await new Promise(setImmediate);
  while (seen < 2 * MEBIBYTE) {
    try {
      printed += rig.print("x".repeat(4_096));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
    assert.ok(printed - seen < MEBIBYTE, `${printed} bytes are printed, and ${seen} seen`);
  }
  await reading;
  await started;
  await assert.rejects(
    async () => {
      while ((await next(slow)) !== undefined);
    },
    { code: "events-lost" },
  );
});

test("a process without a terminal is refused, and so is the size of one that isn't running", async (context) => {
  const plain = new Rig(context, {});
  await assert.rejects(next(plain.watch()), { code: "input-refused", message: /it has none; set "tty": true/ });
  const stopped = new Rig(context);
  await assert.rejects(stopped.screens.resize(stopped.process, { rows: 1, columns: 1 }), {
    code: "process-not-running",
  });
});
