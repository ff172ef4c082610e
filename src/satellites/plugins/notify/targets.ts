/** Targets of messages: a webhook, a command. */
import { spawn } from "node:child_process";
import { hostname } from "node:os";
import { statIfSeen } from "../../../core/os/files.ts";
import { signalIfThere } from "../../../core/os/process-signal.ts";
import type { PluginLog } from "../../../core/plugins/plugin.ts";
import { type PostOutcome, post, retry } from "../shared/http-retry.ts";
import type { Message } from "./message-batcher.ts";

const TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 30_000;
/** Time for the rest of the output of a command that has ended. Milliseconds. */
const OUTPUT_MS = 200;
/** After this many failures of the command its message is dropped. */
const MAX_RUNS = 5;

export type Delivery = { readonly log: PluginLog; readonly signal: AbortSignal; readonly name: string };

export type MessageTarget = (message: Message) => Promise<boolean>;

type Webhook = {
  readonly webhook: string;
  readonly format: "json" | "slack";
  readonly headers: Readonly<Record<string, string>>;
};

/** Resolves with false if the signal was aborted before the message arrived. */
export function webhook({ webhook: url, format, headers }: Webhook, { log, signal, name }: Delivery): MessageTarget {
  return async (message) => {
    const body = JSON.stringify(
      format === "slack" ? slack(message) : { source: "procman", name, host: hostname(), ...message },
    );
    const request = { body, headers: { "content-type": "application/json", ...headers }, timeoutMs: TIMEOUT_MS };
    // Without the signal: an attempt that is under way is not aborted.
    const attempt = (): Promise<PostOutcome> => post(url, request);
    const on = { log, signal, what: "post to the webhook", note: "events are collected meanwhile" };
    return (await retry(attempt, on)) !== "stopped";
  };
}

export function command(line: string, { log, signal }: Delivery, timeoutMs = COMMAND_TIMEOUT_MS): MessageTarget {
  return async (message) => {
    const on = { log, signal, what: "run the command", note: "events are collected meanwhile", maxTries: MAX_RUNS };
    return (await retry(() => run(line, message, timeoutMs), on)) !== "stopped";
  };
}

/** https://api.slack.com/reference/surfaces/formatting: three characters are special. */
export function slack({ title, text }: Message): { readonly text: string } {
  const escaped = (raw: string): string => raw.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const lines = text.split("\n").map((line) => `• ${escaped(line)}`);
  return { text: `*${escaped(title)}*\n${lines.join("\n")}` };
}

/** When the command has ended or takes too long, everything that it has started is killed with it. */
function run(line: string, { title, text }: Message, timeoutMs: number): Promise<PostOutcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, PROCMAN_NOTIFY_TITLE: title, PROCMAN_NOTIFY_TEXT: text };
    const { PWD: called = "/" } = process.env;
    const cwd = statIfSeen(called)?.isDirectory() ? called : "/";
    const child = spawn("/bin/sh", ["-c", line], { cwd, env, stdio: ["pipe", "ignore", "pipe"], detached: true });
    const { pid = 0 } = child;
    const killGroup = (): void => void (pid > 1 && signalIfThere(-pid, "SIGKILL"));
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup();
    }, timeoutMs);
    let errorOutput = "";
    child.stderr.setEncoding("utf8").on("data", (part: string) => {
      errorOutput = (errorOutput + part).slice(-500);
    });
    // The command need not read its standard input.
    child.stdin.on("error", () => undefined).end(`${title}\n\n${text}\n`);
    child.once("error", ({ message }) => {
      clearTimeout(timer);
      resolve({ kind: "later", reason: message });
    });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      killGroup();
      const settle = (): void => {
        clearTimeout(rest);
        child.stderr.destroy();
        const how = isLate ? `was killed after ${timeoutMs / 1_000} s` : endOf(code, signal);
        resolve(
          code === 0 ? { kind: "done", body: "" } : { kind: "later", reason: `it ${how}${detailOf(errorOutput)}` },
        );
      };
      // A process that has left the group may keep the pipe open.
      const rest = setTimeout(settle, OUTPUT_MS);
      child.once("close", settle);
    });
  });
}

function endOf(code: number | null, signal: string | null): string {
  return `ended ${signal === null ? `with code ${code}` : `by ${signal}`}`;
}

function detailOf(output: string): string {
  return output.trim() === "" ? "" : `: ${output.trim()}`;
}
