/** A machine with systemd and cron, in which programs write down what they see under each manager. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Seen } from "./peer-rig.ts";
import { ROOT } from "./product.ts";
import { SystemdBox } from "./systemd-box.ts";

export const FOLDER = "/srv/units";
export const PROGRAM: string = `${FOLDER}/write-down.cjs`;
export const WRITTEN: string = `${FOLDER}/written`;

/** With a user `procman-deploy`. */
export async function bootForeign(): Promise<SystemdBox> {
  const box = await SystemdBox.boot();
  await box.must("useradd --create-home --shell /bin/sh procman-deploy");
  await box.must(`mkdir -p ${FOLDER}/sub`);
  // The same variable for all: how each of them passes it on is not a subject here.
  const text = readFileSync(join(ROOT, "test/programs/write-down.cjs"), "utf8");
  await box.write(PROGRAM, text.replaceAll("process.env.WRITTEN_DOWN", JSON.stringify(WRITTEN)));
  return box;
}

/** Removes what was written before. */
export async function fresh(box: SystemdBox): Promise<void> {
  await box.must(`rm -rf ${WRITTEN} && mkdir -m 777 ${WRITTEN}`);
}

export async function seenIn(box: SystemdBox, name: string): Promise<readonly Seen[]> {
  const text = await box.must(`cat ${WRITTEN}/${name}.jsonl`);
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Seen);
}

/** Waits until each program has written so many of these, or more. */
export async function written(
  box: SystemdBox,
  counts: Readonly<Record<string, number>>,
  what: "args" | "signal",
): Promise<void> {
  for (const [name, count] of Object.entries(counts))
    await box.eventually(`[ "$(grep -c '"${what}":' ${WRITTEN}/${name}.jsonl)" -ge ${count} ]`);
}
