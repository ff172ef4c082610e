/** Entry of a plugin's thread: loads the module, sets it up with its context, and answers the service. */
import { type MessagePort, workerData } from "node:worker_threads";
import type { FromPlugin, PluginStart, ToPlugin } from "../ipc/plugin-protocol.ts";
import { makeFolder } from "../os/files.ts";
import { ControlProxy } from "./control-proxy.ts";
import { locationOf } from "./error-location.ts";
import { EventListeners } from "./event-listeners.ts";
import { load } from "./loader.ts";
import { LogLimiter, lineWriter } from "./log-limiter.ts";
import type { Dispose } from "./plugin.ts";
import { OptionsError, optionsFor, pluginIn } from "./plugin-definition.ts";
import { filledIn } from "./plugin-variables.ts";

const FLUSH_MS = 1_000;

const { port, start } = workerData as { readonly port: MessagePort; readonly start: PluginStart };
const send = (message: FromPlugin): void => port.postMessage(message);
const limiter = new LogLimiter((severity, text) => send({ t: "log", severity, text }));
setInterval(() => limiter.flush(), FLUSH_MS).unref();
const stop = new AbortController();
const proxy = new ControlProxy(send);
const listeners = new EventListeners(
  (types) => send({ t: "listen", types }),
  (text) => limiter.log("error", text),
);
let dispose: Dispose | undefined;

stayUntilEnded();
captureOutput();
// Before the plugin is loaded: if it hangs, pings stay unanswered.
port.on("message", receive);
await begin().catch((error: Error) => {
  const { faults = [] } = error instanceof OptionsError ? error : {};
  limiter.flush();
  send({ t: "refused", message: error instanceof OptionsError ? error.message : thrown(error), faults });
});

async function begin(): Promise<void> {
  await trustCertificates(start.certificates);
  const { value: options, faults } = filledIn(start.spec.options, process.env);
  if (faults.length > 0) throw new OptionsError("its options are incomplete", faults);
  const plugin = pluginIn(await load(start, (text) => limiter.log("info", text)));
  const checked = await optionsFor(plugin, options);
  makeFolder(start.folder, 0o700);
  const { folder, name, stateDir } = start;
  const context = {
    control: proxy.control(stateDir),
    events: listeners,
    options: checked,
    log: pluginLog(),
    signal: stop.signal,
    folder,
    name,
  };
  dispose = (await plugin.setup(context as never)) ?? undefined;
  send({ t: "up", name: plugin.name, version: plugin.version });
  send({ t: "more" });
}

/** A failure is only logged: the plugin may not need the certificates. */
async function trustCertificates(file: string | undefined): Promise<void> {
  if (file === undefined) return;
  try {
    (await import("./thread-certificates.ts")).trust(file);
  } catch (error) {
    limiter.log("warn", `Cannot use the certificates of NODE_EXTRA_CA_CERTS: ${(error as Error).message}`);
  }
}

function receive(message: ToPlugin): void {
  switch (message.t) {
    case "events":
      return void listeners.deliver(message.events).then(() => send({ t: "more" }));
    case "answer":
      return proxy.answer(message);
    case "ping": {
      const { heapUsed, external } = process.memoryUsage();
      return send({ t: "pong", heap: heapUsed, buffers: external });
    }
    case "close":
      return void close();
    default:
      return message satisfies never;
  }
}

async function close(): Promise<void> {
  stop.abort();
  try {
    await dispose?.();
  } catch (error) {
    limiter.log("error", `its dispose failed: ${thrown(error)}`);
  }
  limiter.flush();
  send({ t: "closed" });
}

function pluginLog() {
  const line = (severity: "debug" | "info" | "warn" | "error") => (text: string) => limiter.log(severity, text);
  return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
}

/**
 * The service ends this thread when its processes have ended: only the thread that has started a process awaits it, so
 * those of a thread that is gone would be zombies of the service.
 */
function stayUntilEnded(): void {
  const refused = (message: string): void => {
    limiter.flush();
    send({ t: "refused", message, faults: [] });
  };
  const exit = new Error("the plugin ends its thread");
  process.on("uncaughtException", (error) => {
    if (error !== exit) refused(`it threw ${thrown(error)}`);
  });
  process.exit = (code = process.exitCode ?? 0): never => {
    refused(`it has ended its thread itself (process.exit(${code}))`);
    throw exit;
  };
}

/** Output of a plugin, as by `console.log`, goes to its log and not to procman's console. */
function captureOutput(): void {
  for (const [stream, severity] of [[process.stdout, "info"] as const, [process.stderr, "warn"] as const]) {
    const write = lineWriter((line) => limiter.log(severity, line));
    stream.write = (chunk: unknown, ...rest: unknown[]): boolean => {
      write(chunk);
      const done = rest.find((each) => typeof each === "function") as (() => void) | undefined;
      done?.();
      return true;
    };
  }
}

function thrown(error: unknown): string {
  return error instanceof Error ? `${error.message}${locationOf(error)}` : String(error);
}
