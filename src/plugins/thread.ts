/** Entry of a plugin's thread: loads the module, gives it what it may use, answers the service. */
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

const TALK_MS = 1_000;

const { port, start } = workerData as { readonly port: MessagePort; readonly start: PluginStart };
const send = (message: FromPlugin): void => port.postMessage(message);
const talk = new LogLimiter((severity, text) => send({ t: "log", severity, text }));
setInterval(() => talk.flush(), TALK_MS).unref();
const stop = new AbortController();
const remote = new ControlProxy(send);
const listeners = new EventListeners(
  (types) => send({ t: "listen", types }),
  (text) => talk.say("error", text),
);
let dispose: Dispose | undefined;

captureOutput();
// Before anything of the plugin is loaded: it may hang, and that shows by its silence here.
port.on("message", receive);
await begin().catch((error: Error) => {
  const { faults = [] } = error instanceof OptionsError ? error : {};
  talk.flush();
  send({ t: "refused", message: error instanceof OptionsError ? error.message : thrown(error), faults });
});

async function begin(): Promise<void> {
  await trustOwn(start.certificates);
  const { value: options, faults } = filledIn(start.spec.options, process.env);
  if (faults.length > 0) throw new OptionsError("its options are not complete", faults);
  const plugin = pluginIn(await load(start, (text) => talk.say("info", text)));
  const checked = await optionsFor(plugin, options);
  makeFolder(start.folder, 0o700);
  const { folder, name, stateDir } = start;
  const context = {
    control: remote.control(stateDir),
    events: listeners,
    options: checked,
    log: logOf(),
    signal: stop.signal,
    folder,
    name,
  };
  dispose = (await plugin.setup(context as never)) ?? undefined;
  send({ t: "up", name: plugin.name, version: plugin.version });
  send({ t: "more" });
}

/** Without them a plugin that needs none runs all the same. */
async function trustOwn(file: string | undefined): Promise<void> {
  if (file === undefined) return;
  try {
    (await import("./thread-certificates.ts")).trust(file);
  } catch (error) {
    talk.say("warn", `Cannot use the certificates of NODE_EXTRA_CA_CERTS: ${(error as Error).message}`);
  }
}

function receive(message: ToPlugin): void {
  switch (message.t) {
    case "events":
      return void listeners.deliver(message.events).then(() => send({ t: "more" }));
    case "answer":
      return remote.answer(message);
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
    talk.say("error", `its dispose has failed: ${thrown(error)}`);
  }
  talk.flush();
  send({ t: "closed" });
}

function logOf() {
  const say = (severity: "debug" | "info" | "warn" | "error") => (text: string) => talk.say(severity, text);
  return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
}

/** `console.log` in a plugin is a line of its log, not of the console that belongs to somebody else. */
function captureOutput(): void {
  for (const [stream, severity] of [[process.stdout, "info"] as const, [process.stderr, "warn"] as const]) {
    const write = lineWriter((line) => talk.say(severity, line));
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
