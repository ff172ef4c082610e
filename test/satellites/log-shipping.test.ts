/** Spec 2.5: plugins that send logs and metrics over real connections, across restarts of either side. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { withPlugins } from "../support/plugin-rig.ts";
import { eventually, type ProcessConfig, processExit } from "../support/procman-process.ts";
import { Collector, SyslogServer } from "../support/receivers.ts";

/** Prints numbers, so that missing, doubled and misplaced lines are found. */
const COUNTING: ProcessConfig = {
  id: "count",
  cmd: "i=0; while :; do i=$((i+1)); echo number $i; sleep 0.02; done",
  autostart: true,
};

/** The received numbers, in order. */
function numbers(texts: readonly string[]): readonly number[] {
  return texts.flatMap((text) => (/^number \d+$/.test(text) ? [Number(text.slice(7))] : []));
}

/** None is missing; one may be repeated. */
function assertComplete(seen: readonly number[]): void {
  const all = new Set(seen);
  for (let number = 1; number <= Math.max(...seen); number += 1)
    assert.ok(all.has(number), `${number} of ${Math.max(...seen)} is missing`);
}

test("2.5 otlp: lines and metrics of each process arrive in the standard format, despite an absent collector and a killed service", async (context) => {
  const collector = await new Collector().listen(context);
  const plugins = [
    { url: "procman/otlp", options: { endpoint: collector.url, intervalSeconds: 1, resource: { stage: "test" } } },
  ];
  const procman = withPlugins(context, {}, { plugins, processes: [COUNTING] });
  const receivedNumbers = (): readonly number[] => numbers(collector.records.map(({ body }) => body));
  await eventually(() => (receivedNumbers().length > 20 ? true : undefined));
  collector.status = 503;
  await procman.line(
    /plugin otlp: Cannot send log lines to http:\/\/127\.0\.0\.1:\d+: it answered with 503.*they stay on disk/,
  );
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await processExit(service);
  const before = Math.max(...receivedNumbers());
  collector.status = 200;
  await eventually(() => (Math.max(...receivedNumbers()) > before + 20 ? true : undefined));
  assertComplete(receivedNumbers());
  assert.deepEqual(collector.faults, []);
  assert.ok(
    collector.records.some(({ service, body }) => service === "count" && /^started \(pid/.test(body)),
    "also procman's own lines about it",
  );
  const metric = (name: string): true | undefined =>
    collector.metrics.some((each) => each.service === "count" && each.name === name) || undefined;
  for (const name of ["process.cpu.utilization", "process.memory.usage", "process.uptime", "procman.process.up"])
    await eventually(() => metric(name));
});

test("2.5 logship: syslog over TCP, framed by length; a server that disconnects gets everything it has missed", async (context) => {
  const server = await new SyslogServer().listen(context);
  const options = { to: `tcp://127.0.0.1:${server.port}`, facility: "local3", hostname: "here", processes: ["count"] };
  const procman = withPlugins(context, {}, { plugins: [{ url: "procman/logship", options }], processes: [COUNTING] });
  const receivedNumbers = (): readonly number[] => numbers(server.messages.map(({ text }) => text));
  await eventually(() => (receivedNumbers().length > 20 ? true : undefined));
  server.close();
  await procman.line(/plugin logship: Cannot send log lines to tcp:\/\/127\.0\.0\.1:\d+: .*they stay on disk/);
  const before = Math.max(...receivedNumbers());
  await server.reopen();
  await eventually(() => (Math.max(...receivedNumbers()) > before + 30 ? true : undefined));
  await procman.line(/plugin logship: send log lines to .*: it works again/);
  assertComplete(receivedNumbers());
  assert.deepEqual(server.faults, []);
  const line = server.messages.find(({ text }) => text === "number 1");
  assert.deepEqual([line?.priority, line?.host, line?.app, line?.id], [19 * 8 + 6, "here", "count", "stdout"]);
  assert.match(line?.data ?? "", /^\[procman@32473 name="procman" process="count" run="1"\]$/);
  await procman.stop();
  assert.ok(
    server.messages.some(({ text, id }) => id === "lifecycle" && text.startsWith("stopped (")),
    "the last line came before the end",
  );
});

test("2.5 logship: syslog over UDP, one message in each datagram", async (context) => {
  const server = await new SyslogServer().datagrams(context);
  const options = { to: `udp://127.0.0.1:${server.port}`, categories: ["stdout"], severity: "info" };
  withPlugins(context, {}, { plugins: [{ url: "procman/logship", options }], processes: [COUNTING] });
  await eventually(() => (server.messages.length > 10 ? true : undefined));
  assert.deepEqual(server.faults, []);
  assert.ok(server.messages.every(({ id }) => id === "stdout"));
});

test("2.5 logship: JSON lines over HTTP, with the configured headers", async (context) => {
  const lines: { readonly text: string; readonly process: string; readonly host: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      assert.deepEqual([request.headers["content-type"], request.headers["x-key"]], ["application/x-ndjson", "secret"]);
      lines.push(
        ...body
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line)),
      );
      response.end();
    });
  }).listen(0, "127.0.0.1");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const options = {
    to: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`,
    headers: { "x-key": "${KEY}" },
    hostname: "here",
  };
  withPlugins(
    context,
    {},
    { plugins: [{ url: "procman/logship", options }], processes: [COUNTING], env: { KEY: "secret" } },
  );
  await eventually(() => (lines.length > 10 ? true : undefined));
  const [first] = lines.filter(({ text }) => text === "number 1");
  assert.deepEqual([first?.process, first?.host], ["count", "here"]);
});
