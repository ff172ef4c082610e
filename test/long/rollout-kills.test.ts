/** Rollouts whose client is killed, or loses a host, at each message to a host; then another user ends them. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { RolloutRecord } from "../../src/core/contract/rollout-record.ts";
import type { Outcome } from "../support/cli.ts";
import { gateTo, type HostMessage, type Verdict } from "../support/host-gate.ts";
import { hostsFolder } from "../support/odd-host.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { type Host, hostsWith, NAMES } from "../support/three-hosts.ts";

/** No new instance of it comes up where there is a file `bad`. */
const WEB = {
  id: "web",
  cmd: "test ! -e bad && exec sleep 1000",
  autostart: true,
  minUptimeMs: 50,
  cluster: { instances: 1 },
};
const ENDS = ["continue", "abort"] as const;
/** No rollout here has more messages. */
const MOST = 100;

class KillRig {
  /** How the gates judge. */
  judge: (message: HostMessage) => Verdict | Promise<Verdict> = () => "pass";
  /** What was said to hosts since the last start of a client. */
  said: string[] = [];
  readonly #hosts: readonly Host[];
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;
  /** As another user, whose list of hosts leads to them by another way. */
  readonly other: (...args: readonly string[]) => Promise<Outcome>;

  private constructor(
    hosts: readonly Host[],
    own: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
    other: KillRig["other"],
  ) {
    this.#hosts = hosts;
    this.#folder = own.folder;
    this.#env = own.env;
    this.other = other;
  }

  static async create(context: TestContext): Promise<KillRig> {
    const { folder, env, add, hosts } = await hostsWith(context, [WEB]);
    const other = hostsFolder(context, {});
    const rig = new KillRig(hosts, { folder, env }, other.run);
    for (const [index, { port }] of hosts.entries()) {
      const name = NAMES[index] as string;
      const words = ["--token-file", join(folder, `${name}.token`), "--group", "web"];
      await other.add(name, `http://127.0.0.1:${port}`, ...words);
      const gate = await gateTo(context, { host: name, port }, (message) => rig.#judged(message));
      const added = await add(name, `http://127.0.0.1:${gate}`, ...words);
      assert.equal(added.code, 0, added.err);
    }
    return rig;
  }

  start(...args: readonly string[]): ChildProcess {
    this.said = [];
    return spawn(process.execPath, [BIN, ...args], {
      cwd: this.#folder,
      env: cleanEnvironment(this.#env),
      stdio: "ignore",
    });
  }

  get drainCommand(): string {
    return `echo "$PROCMAN_HOST_STATE" > '${this.#folder}'/"$PROCMAN_HOST".drain`;
  }

  bad(name: (typeof NAMES)[number], isBad: boolean): void {
    const file = join(this.#hosts[NAMES.indexOf(name)]?.folder ?? "", "bad");
    if (isBad) writeFileSync(file, "");
    else rmSync(file, { force: true });
  }

  /** The number of instances, the same on all hosts, none of which is held or drained any more. */
  async count(when: string): Promise<number> {
    const counts = await Promise.all(
      this.#hosts.map(async (_, index) => {
        const record = await this.#ask<ProcessRecord>(index, "/processes/web");
        return record?.instances?.filter(({ status }) => status === "running").length;
      }),
    );
    const rollouts = await Promise.all(this.#hosts.map((_, index) => this.#ask<RolloutRecord>(index, "/rollout")));
    assert.equal(new Set(counts).size, 1, `${when}: ${counts} instances`);
    const held = rollouts.flatMap((each) => (each === undefined || each.ended !== undefined ? [] : [each.host]));
    assert.deepEqual(held, [], `${when}: hosts that are held`);
    for (const name of NAMES) {
      const file = join(this.#folder, `${name}.drain`);
      assert.equal(existsSync(file) ? readFileSync(file, "utf8") : "ready\n", "ready\n", `${when}: ${name}`);
    }
    return counts[0] as number;
  }

  /** undefined: there is none. */
  async #ask<Body>(index: number, path: string): Promise<Body | undefined> {
    const token = readFileSync(join(this.#folder, `${NAMES[index]}.token`), "utf8").trim();
    const url = `http://127.0.0.1:${this.#hosts[index]?.port}${path}`;
    const reply = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    if (reply.status === 404) return undefined;
    assert.equal(reply.status, 200);
    return (await reply.json()) as Body;
  }

  async #judged(message: HostMessage): Promise<Verdict> {
    if (message.what !== undefined) this.said.push(`${message.host} ${message.what}`);
    return this.judge(message);
  }
}

/** Kills the client before a host gets this message. Resolves with what it was, or undefined if the client has said less. */
async function killedAt(rig: KillRig, number: number, args: readonly string[]): Promise<string | undefined> {
  let last: string | undefined;
  rig.judge = async ({ what }) => {
    if (last !== undefined) return "lost";
    if (what === undefined || rig.said.length < number) return "pass";
    last = rig.said[number - 1];
    client.kill("SIGKILL");
    await ended;
    return "lost";
  };
  const client = rig.start(...args);
  const ended = once(client, "exit");
  await ended;
  rig.judge = () => "pass";
  return last;
}

/** Another user ends what a client has left; `rollout continue` refuses what never began on all hosts. */
async function endedByOther(rig: KillRig, end: (typeof ENDS)[number], when: string): Promise<Outcome> {
  const drain = ["--drain-command", rig.drainCommand];
  const shown = await rig.other("rollout", "status");
  assert.ok(shown.code === 0 || /Cannot find a rollout/.test(shown.err), `${when}: ${shown.err}`);
  const ended = await rig.other("rollout", end, ...drain);
  if (!/Cannot continue: .* no part in it/s.test(ended.err)) return ended;
  return rig.other("rollout", "abort", ...drain);
}

const NEVER = /Cannot find a rollout: none is under way/;

for (const end of ENDS)
  test(`the client is killed before each of its messages, and another user says ${end}`, async (context) => {
    const rig = await KillRig.create(context);
    const walked: string[] = [];
    let count = await rig.count("at first");
    for (let number = 1; number < MOST; number += 1) {
      const to = 3 - count;
      const words = ["scale", "web", `${to}`, "--host", "@web", "--on-failure", "rollback"];
      const at = await killedAt(rig, number, [...words, "--drain-command", rig.drainCommand]);
      if (at === undefined) break;
      walked.push(at);
      const when = `${number}, ${at}`;
      const ended = await endedByOther(rig, end, when);
      assert.ok(ended.code === 0 || NEVER.test(ended.err), `${when}: ${ended.out}${ended.err}`);
      const isBegun = !at.endsWith(" hold");
      // The first host that is let go shows that all are done.
      const isDecided = at.endsWith(" release") && at !== "a release";
      const expected = isDecided || (isBegun && end === "continue") ? to : count;
      count = await rig.count(when);
      assert.equal(count, expected, `${when}: ${ended.out}${ended.err}`);
    }
    const each = ["hold", "drain", "run", "watch", "ready", "release"];
    const expected = NAMES.flatMap((name) => each.map((step) => `${name} ${step}`));
    assert.deepEqual([...new Set(walked)].sort(), expected.sort());
    context.diagnostic(`${walked.length} messages`);
  });

test("the client is killed before each of its messages while a rollout goes back, and another user ends it", async (context) => {
  const rig = await KillRig.create(context);
  rig.bad("c", true);
  const walked: string[] = [];
  const words = ["scale", "web", "2", "--host", "@web", "--batch", "2", "--on-failure", "rollback"];
  // What is before the first run is the same as without a failure.
  for (let number = 4; number < MOST; number += 1) {
    const at = await killedAt(rig, number, [...words, "--drain-command", rig.drainCommand]);
    if (at === undefined) break;
    walked.push(at);
    const when = `${number}, ${at}`;
    const ended = await endedByOther(rig, ENDS[number % 2] as (typeof ENDS)[number], when);
    assert.match(`${ended.out}${ended.err}`, /Rollout \S+ (?:is over|was taken back)/, when);
    assert.equal(await rig.count(when), 1, `${when}: ${ended.out}${ended.err}`);
  }
  // Two hosts at a time: which one says it first differs.
  const steps = new Set(walked.map((at) => at.split(" ")[1]));
  assert.deepEqual([...steps].sort(), ["back-drain", "back-run", "drain", "ready", "release", "run", "watch"]);
  context.diagnostic(`${walked.length} messages`);
});

/** Pulls the plug of a host at its message with this number, until the client has ended. Resolves with what it was. */
async function cutAt(
  rig: KillRig,
  host: string,
  { number, verdict }: { readonly number: number; readonly verdict: Verdict },
  args: readonly string[],
): Promise<string | undefined> {
  let last: string | undefined;
  rig.judge = ({ host: name, what }) => {
    if (name !== host) return "pass";
    if (last !== undefined) return "lost";
    const said = rig.said.filter((message) => message.startsWith(`${host} `));
    if (what === undefined || said.length < number) return "pass";
    last = said[number - 1];
    return verdict;
  };
  const client = rig.start(...args, "--host-timeout", "1");
  await once(client, "exit");
  rig.judge = () => "pass";
  return last;
}

for (const [index, verdict] of (["lost", "unanswered"] as const).entries())
  test(`a host is cut off at each message to it, which is ${verdict}, and another user ends it`, async (context) => {
    const rig = await KillRig.create(context);
    const walked: string[] = [];
    let count = await rig.count("at first");
    for (let number = 1; number < MOST; number += 1) {
      const to = 3 - count;
      const words = ["scale", "web", `${to}`, "--host", "@web", "--on-failure", "rollback"];
      const at = await cutAt(rig, "b", { number, verdict }, [...words, "--drain-command", rig.drainCommand]);
      if (at === undefined) break;
      walked.push(at);
      const when = `${number}, ${at}`;
      const ended = await endedByOther(rig, ENDS[(number + index) % 2] as (typeof ENDS)[number], when);
      const after = await rig.count(when);
      assert.equal(after, at === "b release" ? to : count, `${when}: ${ended.out}${ended.err}`);
      count = after;
    }
    for (const step of ["hold", "drain", "run", "watch", "ready", "release"])
      assert.ok(walked.includes(`b ${step}`), `${step} of ${walked}`);
  });
