/** Targets of messages: a webhook, a command. */
import { spawn } from "node:child_process";
import { hostname } from "node:os";
import type { PluginLog } from "../../plugin.ts";
import { type PostOutcome, post, retry } from "../shared/http-retry.ts";
import type { Message } from "./message-batcher.ts";

const TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 30_000;
/** After this many failures of the command its message is dropped. */
const MAX_RUNS = 5;

export type Delivery = { readonly log: PluginLog; readonly signal: AbortSignal; readonly name: string };

export type MessageTarget = (message: Message) => Promise<boolean>;

type Webhook = { readonly webhook: string; readonly format: "json" | "slack"; readonly headers: Readonly<Record<string, string>> };

/** Resolves with false if the signal was aborted before the message arrived. */
export function webhook({ webhook: url, format, headers }: Webhook, { log, signal, name }: Delivery): MessageTarget {
  return async (message) => {
    const body = JSON.stringify(format === "slack" ? slack(message) : { source: "procman", name, host: hostname(), ...message });
    const request = { body, headers: { "content-type": "application/json", ...headers }, timeoutMs: TIMEOUT_MS };
    // Without the signal: an attempt that is under way is not aborted.
    const attempt = (): Promise<PostOutcome> => post(url, request);
    const on = { log, signal, what: "post to the webhook", note: "events are collected meanwhile" };
    return (await retry(attempt, on)) !== "stopped";
  };
}

export function command(line: string, { log, signal }: Delivery): MessageTarget {
  return async (message) => {
    const on = { log, signal, what: "run the command", note: "events are collected meanwhile", maxTries: MAX_RUNS };
    return (await retry(() => run(line, message), on)) !== "stopped";
  };
}

/** https://api.slack.com/reference/surfaces/formatting: three characters are special. */
export function slack({ title, text }: Message): { readonly text: string } {
  const escaped = (raw: string): string => raw.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const lines = text.split("\n").map((line) => `• ${escaped(line)}`);
  return { text: `*${escaped(title)}*\n${lines.join("\n")}` };
}

function run(line: string, { title, text }: Message): Promise<PostOutcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, PROCMAN_NOTIFY_TITLE: title, PROCMAN_NOTIFY_TEXT: text };
    const child = spawn("/bin/sh", ["-c", line], { env, stdio: ["pipe", "ignore", "pipe"], timeout: COMMAND_TIMEOUT_MS });
    let errorOutput = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => {
      errorOutput = (errorOutput + part).slice(-500);
    });
    // The command need not read its standard input.
    child.stdin.on("error", () => undefined).end(`${title}\n\n${text}\n`);
    child.once("error", ({ message }) => resolve({ kind: "later", reason: message }));
    child.once("close", (code, signal) => {
      const detail = errorOutput.trim() === "" ? "" : `: ${errorOutput.trim()}`;
      if (code === 0) resolve({ kind: "done", body: "" });
      else resolve({ kind: "later", reason: `it ended ${signal === null ? `with code ${code}` : `by ${signal}`}${detail}` });
    });
  });
}
