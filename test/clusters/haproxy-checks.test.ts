/** The HAProxy of docs/guide/sleep.md, whose checks neither wake a process nor keep it awake. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { api, ask, DRAINING_SERVER, waitForRecord } from "../support/cluster-rig.ts";
import { freePort } from "../support/free-ports.ts";
import { eventually, startProcman } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

const CHECKER = "127.0.0.5";

type Proxy = { readonly port: number; readonly checked: (status: "UP" | "DOWN") => Promise<unknown> };

/** `checked`: resolves once its check has found this. */
async function haproxy(context: TestContext, server: number): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), "procman-haproxy-"));
  const [file, socket, port] = [join(folder, "haproxy.cfg"), join(folder, "stats"), await freePort()];
  const page = readFileSync(join(ROOT, "docs/guide/sleep.md"), "utf8");
  const [, config = ""] = /```haproxy\n([\s\S]*?)```/.exec(page) ?? [];
  assert.match(config, /:8000[\s\S]*10\.0\.0\.9:3000 check source 10\.0\.0\.5/);
  const changed = config
    .replace(":8000", `127.0.0.1:${port}`)
    .replaceAll("10.0.0.9:3000", `127.0.0.1:${server}`)
    .replace("check source 10.0.0.5", `check inter 100ms source ${CHECKER}`);
  writeFileSync(file, `global\n    stats socket ${socket}\n${changed}`);
  const program = spawn("haproxy", ["-db", "-f", file], { stdio: "ignore" });
  context.after(async () => {
    program.kill("SIGKILL");
    await once(program, "exit");
    rmSync(folder, { recursive: true, force: true });
  });
  const isChecked = async (status: string): Promise<true | undefined> => {
    const control = connect(socket).on("error", () => undefined);
    control.end("show stat\n");
    const answer = await text(control).catch(() => "");
    return new RegExp(`^checks,web,.*,${status},`, "m").test(answer) ? true : undefined;
  };
  return { port, checked: (status) => eventually(() => isChecked(status)) };
}

test("checks of HAProxy don't wake a process, clients through it do, and then it falls asleep again", async (context) => {
  if (isMissing(context, "haproxy")) return;
  const server = await freePort();
  const idle = { port: server, after: 1, ignore: [CHECKER] };
  const web = { id: "web", cmd: `exec node ${DRAINING_SERVER}`, autostart: true, idle };
  const client = await api({ procman: await startProcman(context, [web]) });
  const { port, checked } = await haproxy(context, server);
  await checked("DOWN");
  assert.equal((await client.process("web")).sleep?.wakes, 0);
  const pid = await ask(port);
  assert.equal((await client.process("web")).pid, pid);
  await checked("UP");
  await waitForRecord(client, "web", ({ status }) => status === "asleep");
  await checked("DOWN");
  assert.equal((await client.process("web")).sleep?.wakes, 1);
});
