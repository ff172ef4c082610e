/** `api.tls`: the API's port speaks TLS. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect, type PeerCertificate, type TLSSocket } from "node:tls";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { certificateIn } from "../support/certificate.ts";
import { procman as command } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { eventually, folderWith, type ProcessConfig, Procman } from "../support/procman-process.ts";
import { DIST } from "../support/product.ts";

const sleeper = { id: "sleeper", cmd: "sleep 1000", autostart: true } as const;
const tls = { certificate: "own.pem", key: "own.key" } as const;

function publishedIn(folder: string, before?: number): Promise<Endpoint> {
  const file = join(folder, ".procman/procman/endpoint.json");
  return eventually(() => {
    const endpoint = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
    return endpoint !== undefined && endpoint.pid !== before && endpoint.problem === undefined ? endpoint : undefined;
  });
}

/** Status and text of an answer. */
function answer(
  port: number,
  path: string,
  ca: string,
  token = "",
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, ca, agent: false, headers: { authorization: `Bearer ${token}` } };
    get(options, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
      resolve({ status: response.statusCode ?? 0, text });
    }).on("error", reject);
  });
}

/** Whose certificate the port shows. */
function nameAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const { subject }: PeerCertificate = socket.getPeerCertificate();
      socket.destroy();
      resolve(String(subject.CN));
    });
    socket.on("error", reject);
  });
}

/** The files are looked at once a second. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}

type TlsRig = { readonly folder: string; readonly port: number; readonly ca: string };

async function rigOf(context: TestContext, processes: readonly ProcessConfig[] = [sleeper]): Promise<TlsRig> {
  const port = await freePort();
  const folder = folderWith(context, { api: { port, tls }, processes });
  const { certificate } = certificateIn(folder, {});
  return { folder, port, ca: readFileSync(certificate, "utf8") };
}

test("the port answers by https alone, also after a kill of the service; commands and programs reach it", async (context) => {
  const telemetry = JSON.stringify(join(DIST, "telemetry.cjs"));
  const program = { id: "program", cmd: `${process.execPath} program.cjs`, autostart: true, logger: { console: true } };
  const { folder, port, ca } = await rigOf(context, [sleeper, program]);
  const report = `require(${telemetry}).log("hello").then((ok) => console.log("accepted", ok, process.env.PROCMAN_API_PROTOCOL))`;
  writeFileSync(join(folder, "program.cjs"), `${report}; setInterval(() => 0, 1e6);`);
  const procman = new Procman(folder);
  const { pid, tls: isTls } = await publishedIn(folder);
  assert.equal(isTls, true);
  await procman.line(/accepted true https$/);
  const token = (await command(folder, ["token", "--consumer", "me"])).out.trim();
  const processes = await answer(port, "/processes", ca, token);
  assert.equal(processes.status, 200);
  assert.deepEqual(
    (JSON.parse(processes.text) as { id: string }[]).map(({ id }) => id),
    ["sleeper", "program"],
  );
  assert.equal((await answer(port, "/processes", ca)).status, 401);
  await assert.rejects(fetch(`http://127.0.0.1:${port}/health`));
  process.kill(pid, "SIGKILL");
  await publishedIn(folder, pid);
  assert.equal((await answer(port, "/health", ca)).status, 200);
  // Without the socket, commands use the port.
  rmSync(join(procman.stateDir, "run/api.sock"));
  assert.match((await command(folder, ["status"])).out, /sleeper +running/);
});

test("a program that can't open the socket reports by https", async (context) => {
  const telemetry = JSON.stringify(join(DIST, "telemetry.cjs"));
  const { folder } = await rigOf(context, [
    { id: "program", cmd: "./program.sh", autostart: true, logger: { console: true } },
  ]);
  const report = `require(${telemetry}).log("hello").then((ok) => console.log("accepted", ok))`;
  // As another user's: neither socket nor state folder.
  const script = `#!/bin/sh\nunset PROCMAN_API_SOCKET PROCMAN_DATA_DIR\nwhile ! ${process.execPath} -e '${report}' | grep "accepted true"; do sleep 0.1; done\nexec sleep 1000\n`;
  writeFileSync(join(folder, "program.sh"), script, { mode: 0o755 });
  await new Procman(folder).line(/program .*accepted true$/);
});

test("a changed certificate is used by the next connection; one that can't be used is reported, and the last one stays", async (context) => {
  const { folder, port } = await rigOf(context);
  const procman = new Procman(folder);
  await publishedIn(folder);
  assert.equal(await nameAt(port), "own");
  const next = certificateIn(folder, { name: "next" });
  copyFileSync(next.key, join(folder, "own.key"));
  renameSync(next.certificate, join(folder, "own.pem"));
  while ((await nameAt(port)) !== "next") await pause();
  await procman.line(/the API uses the changed certificate now/);
  writeFileSync(join(folder, "own.pem"), "half a certif");
  let isReported = false;
  const reported = procman.line(
    /the certificate of the API can't be used: .*own\.pem is not a certificate in PEM; the one before stays in use/,
  );
  void reported.then(() => {
    isReported = true;
  });
  for (; !isReported; await pause()) assert.equal(await nameAt(port), "next");
});

test("without its certificate the API has no port, which commands say; it is served when the certificate is there", async (context) => {
  const { folder, port, ca } = await rigOf(context);
  renameSync(join(folder, "own.pem"), join(folder, "later.pem"));
  const procman = new Procman(folder);
  await procman.line(/Cannot serve the API at 127\.0\.0\.1:\d+: .*own\.pem can't be read: there is no such file/);
  assert.match((await command(folder, ["status"])).out, /sleeper +running/);
  assert.match(
    (await command(folder, ["dashboard", "--no-open"])).err,
    /own\.pem can't be read: there is no such file/,
  );
  renameSync(join(folder, "later.pem"), join(folder, "own.pem"));
  await procman.line(/the API is served at 127\.0\.0\.1:\d+ now/);
  assert.equal((await answer(port, "/health", ca)).status, 200);
  assert.match(
    (await command(folder, ["dashboard", "--no-open"])).out,
    new RegExp(`https://127\\.0\\.0\\.1:${port}/#code=`),
  );
});

test("connections that never begin their handshake lock nobody out", async (context) => {
  const { folder, port, ca } = await rigOf(context);
  const procman = new Procman(folder);
  context.after(() => procman.close());
  await publishedIn(folder);
  const silent = await Promise.all(
    Array.from({ length: 1_024 }, async () => {
      const socket = connectPlain(port, "127.0.0.1");
      context.after(() => void socket.destroy());
      await once(
        socket.on("error", () => undefined),
        "connect",
      );
      return socket;
    }),
  );
  for (let count = 0; count < 18; count += 1) assert.equal((await answer(port, "/health", ca)).status, 200);
  const began = performance.now();
  await Promise.all(silent.map((socket) => (socket.closed ? undefined : once(socket.resume(), "close"))));
  assertWithin(5_000, performance.now() - began, "the end of all connections without a handshake");
});
