/** The test of a campaign. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { LogEntry } from "../../../src/core/contract/records.ts";
import { KillableProcman } from "../../support/killable-procman.ts";
import { Collector, SyslogServer } from "../../support/receivers.ts";
import { type Campaign, type CampaignOptions, runCampaign } from "./campaign.ts";
import { SHIPPED } from "./campaign-load.ts";
import { command } from "./campaign-operator.ts";

/** Less would mean that the campaign misses its purpose. */
const LEAST = {
  kills: 12,
  rests: 4,
  done: 8,
  runs: 150,
  lines: 20_000,
  visits: 200,
  wakes: 8,
  "typed lines": 10,
  comparisons: 60,
  "log records": 10,
  "syslog messages": 10,
  messages: 1,
};

/** Of what was done, for machines that keep no folder. */
const SHOWN_NOTES = 100;

type Context = {
  readonly after: (call: () => void | Promise<void>) => void;
  readonly diagnostic: (text: string) => void;
};
type Result = { readonly findings: readonly string[]; readonly counts: Readonly<Record<string, number>> };

export function testCampaign(seed: number): void {
  test(`campaign of seed ${seed}: what was acknowledged holds, and nothing is lost, doubled or left behind`, async (context) => {
    const { findings, counts } = await resultOf(context, seed);
    assert.deepEqual(findings, []);
    for (const [what, least] of Object.entries(LEAST))
      assert.ok((counts[what] ?? 0) >= least, `${what}: ${counts[what]}, at least ${least}`);
  });
}

export async function resultOf(
  context: Context,
  seed: number,
  {
    make = (options) => new KillableProcman(options),
    isGuarded = false,
  }: Partial<Pick<CampaignOptions, "make" | "isGuarded">> = {},
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), `procman-campaign-${seed}-`));
  context.diagnostic(`seed ${seed} (PROCMAN_FAULT_SEED=${seed} repeats it), ${folder}`);
  const [collector, syslog, webhook] = [
    await new Collector().listen(context),
    await new SyslogServer().listen(context),
    await listen(context),
  ];
  const receivers = { otlp: collector.url, syslog: syslog.port, webhook: webhook.url };
  const making: CampaignOptions["make"] = (options) => {
    const procman = make(options);
    context.after(() => procman.destroy());
    return procman;
  };
  const campaign = await runCampaign({ folder, seed, receivers, make: making, isGuarded });
  const { account, model } = campaign;
  for (const fault of [...collector.faults, ...syslog.faults, ...webhook.faults]) account.find("plugin", fault);
  account.count("comparisons", model.compared);
  account.count("wakes", campaign.woken.size);
  account.count("log records", collector.records.length);
  account.count("metrics", collector.metrics.length);
  account.count("syslog messages", syslog.messages.length);
  account.count("messages", webhook.count());
  for (const line of await unsent(campaign, syslog)) account.find("plugin", line);
  return concluded(campaign, folder, context);
}

/** Lines before the last one that has arrived must have arrived, too: the plugin continues where it was killed. */
async function unsent(campaign: Campaign, { messages }: SyslogServer): Promise<readonly string[]> {
  const nameOf = (text: string): string => text.split(" ", 3).join(" ");
  const sent = new Set(messages.map(({ text }) => nameOf(text)));
  const { output } = await command(campaign, [
    "logs",
    SHIPPED,
    "--json",
    "--category",
    "stdout",
    "--since",
    campaign.start,
  ]);
  const stored = output
    .split("\n")
    .filter(Boolean)
    .map((line) => nameOf((JSON.parse(line) as LogEntry).text));
  const last = stored.findLastIndex((name) => sent.has(name));
  return stored.slice(0, last).flatMap((name) => (sent.has(name) ? [] : [`logship has not sent ${name}`]));
}

function concluded({ account, notes }: Campaign, folder: string, context: Context): Result {
  const { findings, counts } = account;
  context.diagnostic(JSON.stringify(counts));
  if (findings.length === 0) rmSync(folder, { recursive: true, force: true });
  else {
    writeFileSync(join(folder, "notes"), notes.map((line) => `${line}\n`).join(""));
    writeFileSync(join(folder, "findings"), findings.map((line) => `${line}\n`).join(""));
    console.error(`kept in ${folder}:\n${findings.join("\n")}\n${notes.slice(-SHOWN_NOTES).join("\n")}`);
  }
  return { findings, counts };
}

/** What `procman/notify` posts its messages to. */
async function listen(context: Context) {
  const faults: string[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    request.on("end", () => {
      count += 1;
      if (!text.includes("crash-slow")) faults.push(`message ${text.slice(0, 200)}`);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, faults, count: () => count };
}
