/** Records with random damage, made while everything of procman is dead: it runs, starts nothing twice, and shows no line twice. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procman as command } from "../support/cli.ts";
import { folderFor, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const ROUNDS = 8;
const SEED = Number(process.env.PROCMAN_FAULT_SEED ?? Math.floor(Math.random() * 1e9));

type Damage = (bytes: Buffer, random: SeededRandom) => Buffer;
const place = (bytes: Buffer, random: SeededRandom): number => Math.floor(random.between(0, bytes.length));

const DAMAGES: readonly Damage[] = [
  (bytes, random) => {
    for (let flips = 0; flips < 20 && bytes.length > 0; flips += 1)
      bytes.writeUInt8(bytes.readUInt8(place(bytes, random)) ^ 0x15, place(bytes, random));
    return bytes;
  },
  (bytes, random) => bytes.subarray(0, place(bytes, random)),
  (bytes, random) => bytes.fill(0, place(bytes, random), place(bytes, random)),
  (bytes, random) =>
    Buffer.concat([bytes, Buffer.from(Array.from({ length: 300 }, () => Math.floor(random.between(0, 256))))]),
];

/** Files that a killed procman leaves. */
function recordsIn(stateDir: string): readonly string[] {
  const all = readdirSync(stateDir, { recursive: true, encoding: "utf8" });
  return all
    .filter((name) => /^lock\.\d+$|^run\/(journal|handover.*)$|^logs\/|^incidents\/|^endpoint/.test(name))
    .filter((name) => /\.|journal/.test(name));
}

test(`${ROUNDS} times everything is killed and a record damaged: the process keeps its pid, and queries show each line once`, async (context) => {
  context.diagnostic(`PROCMAN_FAULT_SEED=${SEED}`);
  const random = new SeededRandom(SEED);
  const folder = folderFor(context);
  const cmd = "echo $$ >> starts; i=0; while sleep 0.02; do i=$((i+1)); echo line $i; done";
  const rig = await startRig(context, folder, [{ id: "steady", cmd, autostart: true, restart: "always" }]);
  const { pid } = await rig.until("steady", ({ status }) => status === "running");
  for (let round = 0; round < ROUNDS; round += 1) {
    const { keeper } = rig.procman.parts();
    rig.killPart("everything");
    await eventually(() => (rig.procman.parts().keeper.length === 0 ? true : undefined));
    const name = random.of(recordsIn(rig.procman.stateDir));
    const path = join(rig.procman.stateDir, name);
    writeFileSync(path, random.of(DAMAGES)(readFileSync(path), random));
    context.diagnostic(`${name} is damaged, keeper ${keeper}`);
    rig.procman.start();
    assert.equal((await rig.until("steady", ({ status }) => status === "running")).pid, pid, name);
    const { code, out, err } = await command(folder, ["logs", "steady", "-n", "100000"]);
    assert.equal(code, 0, `${name}: ${err}`);
    const lines = out.split("\n").flatMap((line) => /line \d+$/.exec(line)?.[0] ?? []);
    assert.equal(new Set(lines).size, lines.length, `${name}: a line is shown twice`);
  }
  assert.equal(readFileSync(join(folder, "starts"), "utf8"), `${pid}\n`);
});
