/** Log files that are emptied while a program writes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LoggerRig } from "../../../test/support/logger-rig.ts";

const COUNT = 2_000_000;

test("flushes under load leave whole lines, none is missing after the last flush, and other files stay", async (context) => {
  const rig = new LoggerRig();
  context.after(() => rig.end());
  rig.start();
  const [web, other] = [rig.run("web"), rig.run("other")];
  const [stdout, kept] = [join(rig.dir, "web.log"), join(rig.dir, "other.log")];
  rig.send(rig.open(web, { stdout }), rig.open(other, { stdout: kept }));
  await once(rig.child(other, "echo stays"), "exit");
  await rig.drained(other);
  const written = join(rig.dir, "written");
  const program = rig.child(
    web,
    `seq -f 'line %.0f of the program' 1 ${COUNT - 1}; : > ${written}; read _; echo 'line ${COUNT} of the program'`,
  );
  const exited = once(program, "exit");
  const isOver = (): boolean => existsSync(written);
  let receipt = 0;
  let emptied = 0;
  while (!isOver() && receipt < 200) {
    while (!isOver() && (statSync(stdout, { throwIfNoEntry: false })?.size ?? 0) < 1_000)
      await new Promise(setImmediate);
    receipt += 1;
    rig.send({ t: "flush", receipt, files: [stdout, join(rig.dir, "none.log")], store: false });
    while (!rig.received.some((each) => each.t === "flushed" && each.receipt === receipt))
      await new Promise(setImmediate);
  }
  for (const message of rig.received)
    if (message.t === "flushed") {
      assert.deepEqual([message.files, message.store, message.problems], [[stdout], false, []]);
      emptied += 1;
    }
  program.stdin?.end("\n");
  await exited;
  await rig.drained(web);
  assert.ok(emptied > 1, `${emptied} flushes`);
  const lines = readFileSync(stdout, "utf8").split("\n");
  const first = Number(/^line (\d+) /.exec(lines[0] ?? "")?.[1]);
  assert.ok(first > 1, lines[0]);
  const expected = Array.from({ length: COUNT - first + 1 }, (_, index) => `line ${first + index} of the program`);
  assert.deepEqual(lines, [...expected, ""]);
  assert.equal(readFileSync(kept, "utf8"), "stays\n");
  assert.equal(await rig.close(), 0);
});
