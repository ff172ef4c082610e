/** A campaign whose procman is a unit of systemd, which starts its killed keepers: `under-systemd.ts SEED`, in the box of `test/support/systemd-box.ts` alone. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KillableProcman } from "../../support/killable-procman.ts";
import { MARK, marked } from "../../support/marked-processes.ts";
import { within } from "../../support/procman-process.ts";
import { BIN } from "../../support/product.ts";
import { PROFILE } from "./campaign-load.ts";
import { resultOf } from "./campaign-test.ts";

const UNIT = "procman-load.service";
const SYSTEMD_MS = 10_000;

class UnitProcman extends KillableProcman {
  readonly #folder: string;

  constructor(options: ConstructorParameters<typeof KillableProcman>[0]) {
    super(options);
    this.#folder = options.folder;
    const variables = Object.entries({ ...options.env, [MARK]: this.mark }).map(
      ([name, value]) => `Environment="${name}=${value}"\n`,
    );
    const dropIn = `/run/systemd/system/${UNIT}.d`;
    mkdirSync(dropIn, { recursive: true });
    // As many kills as a campaign has would otherwise make systemd give up.
    writeFileSync(join(dropIn, "campaign.conf"), `[Unit]\nStartLimitIntervalSec=0\n[Service]\n${variables.join("")}`);
    execFileSync(process.execPath, [BIN, "install", "--no-start", "--profile", PROFILE], { cwd: this.#folder });
  }

  override start(): ChildProcess {
    return spawn("systemctl", ["start", UNIT], { stdio: "inherit" });
  }

  /** The command that the unit runs when procman has ended is over, too. */
  override async end(): Promise<ReturnType<typeof marked>> {
    await super.end();
    const state = (): string =>
      execFileSync("systemctl", ["show", "--property=ActiveState", "--value", UNIT], { encoding: "utf8" }).trim();
    await within(SYSTEMD_MS, () => ["inactive", "failed"].includes(state()));
    return marked(this.mark);
  }
}

const afterwards: (() => void | Promise<void>)[] = [];
const context = { after: (call: () => void | Promise<void>) => afterwards.push(call), diagnostic: console.log };
const { findings } = await resultOf(context, Number(process.argv[2]), {
  make: (options) => new UnitProcman(options),
  isGuarded: true,
});
for (const call of afterwards) await call();
process.exitCode = findings.length === 0 ? 0 : 1;
