/** Where messages go: a webhook, a command. */
import { spawn } from "node:child_process";
import { hostname } from "node:os";
import type { PluginLog } from "../../plugin.ts";
import { type PostOutcome, post, retry } from "../shared/http-retry.ts";
import type { Message } from "./message-batcher.ts";

const TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 30_000;
/** A command that fails so often gets another message the next time. */
const MOST_RUNS = 5;

export type Delivery = { readonly log: PluginLog; readonly signal: AbortSignal; readonly name: string };

export type MessageTarget = (message: Message) => Promise<boolean>;

type Webhook = { readonly webhook: string; readonly format: "json" | "slack"; readonly headers: Readonly<Record<string, string>> };

/** Resolves with false: it had to stop before the message arrived. */
export function webhook({ webhook: url, format, headers }: Webhook, { log, signal, name }: Delivery): MessageTarget {
  return async (message) => {
    const body = JSON.stringify(format === "slack" ? slack(message) : { source: "procman", name, host: hostname(), ...message });
    const request = { body, headers: { "content-type": "application/json", ...headers }, timeoutMs: TIMEOUT_MS };
    // The last attempt may be under way when the signal comes: it is not broken off.
    const attempt = (): Promise<PostOutcome> => post(url, request);
    const on = { log, signal, what: "post to the webhook", meanwhile: "what happens is gathered" };
    return (await retry(attempt, on)) !== "stopped";
  };
}

export function command(line: string, { log, signal }: Delivery): MessageTarget {
  return async (message) => {
    const on = { log, signal, what: "run the command", meanwhile: "what happens is gathered", most: MOST_RUNS };
    return (await retry(() => run(line, message), on)) !== "stopped";
  };
}

/** https://api.slack.com/reference/surfaces/formatting: three characters are special. */
export function slack({ title, text }: Message): { readonly text: string } {
  const escaped = (words: string): string => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const lines = text.split("\n").map((line) => `• ${escaped(line)}`);
  return { text: `*${escaped(title)}*\n${lines.join("\n")}` };
}

function run(line: string, { title, text }: Message): Promise<PostOutcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, PROCMAN_NOTIFY_TITLE: title, PROCMAN_NOTIFY_TEXT: text };
    const child = spawn("/bin/sh", ["-c", line], { env, stdio: ["pipe", "ignore", "pipe"], timeout: COMMAND_TIMEOUT_MS });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => {
      said = (said + part).slice(-500);
    });
    // One that doesn't read it is none the worse.
    child.stdin.on("error", () => undefined).end(`${title}\n\n${text}\n`);
    child.once("error", ({ message }) => resolve({ kind: "later", why: message }));
    child.once("close", (code, signal) => {
      const words = said.trim() === "" ? "" : `: ${said.trim()}`;
      if (code === 0) resolve({ kind: "done", body: "" });
      else resolve({ kind: "later", why: `it ended ${signal === null ? `with code ${code}` : `by ${signal}`}${words}` });
    });
  });
}
