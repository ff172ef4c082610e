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

test("a line that is no message fails the upgrade of the balancer, and does the keeper no harm", async (context) => {
  for (const line of ["", "null", "5", "{", '{"t":"hello"', "\u0000"])
    await assert.rejects(
      upgradeBalancer(await answering(context, line), PROGRAM),
      /the running balancer can't be understood: a line is no/,
      line,
    );
});

test("a refusal whose reason is no text, and a hello without a version, are taken as such", async (context) => {
  for (const reason of ["{}", '{"toString":1}', "[[]]", "null"]) {
    const path = await answering(context, '{"t":"hello","version":5}', `{"t":"unsucceeded","problem":${reason}}`);
    await assert.rejects(upgradeBalancer(path, PROGRAM), (error: Error & { readonly from?: unknown }) => error.from === "", reason);
  }
});
