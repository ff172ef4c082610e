import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { balancerSocket } from "../os/balancer-socket.ts";
import { upgradeBalancer } from "./balancer-upgrade.ts";

/** The socket of a program that answers everybody with these lines. */
async function answering(context: TestContext, ...lines: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "procman-balancer-"));
  const path = balancerSocket(folder);
  mkdirSync(dirname(path));
  const server = createServer((client) => {
    client.on("error", () => client.destroy()).resume();
    client.end(lines.map((line) => `${line}\n`).join(""));
  }).listen(path);
  await once(server, "listening");
  context.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  return path;
}

const PROGRAM = { argv: ["nothing"], env: {} };

test("a line that is not a message fails the upgrade of the balancer, and does the keeper no harm", async (context) => {
  for (const line of ["", "null", "5", "{", '{"t":"hello"', "\u0000"])
    await assert.rejects(
      upgradeBalancer(await answering(context, line), PROGRAM),
      /the running balancer can't be understood: a line is no/,
      line,
    );
});

test("a message that hasn't what its type says fails it, too", async (context) => {
  const lines = [
    '{"t":"hello","version":5}',
    '{"t":"unsucceeded","problem":{"toString":1}}',
    '{"t":"succeeded","version":[]}',
    '{"t":"report","fronts":[{}]}',
  ];
  for (const line of lines)
    await assert.rejects(
      upgradeBalancer(await answering(context, line), PROGRAM),
      /can't be understood: a message .* is damaged/,
      line,
    );
});
