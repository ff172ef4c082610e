/** The service understands what the keeper writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceProgram } from "../keeper/programs.ts";
import { NO_DEBUGGER } from "../os/no-debugger.ts";
import { parseArgs } from "./service-arguments.ts";

const installation = { node: "/node", folder: "/dist" };
const none = { console: false, guarded: false, detached: false, keep: false, watchConfig: false, once: false };

test("the options of run reach the service as they were given", () => {
  const all = {
    config: "a=b --c\n.json",
    profile: "p",
    exitWith: "e",
    console: true,
    detached: true,
    watchConfig: true,
    once: true,
    ids: ["a", "b"],
    front: "terminal" as const,
    except: ["c"],
    watch: ["d", "e"],
  };
  const [node, flag, bundle, ...args] = serviceProgram(
    installation,
    { ...all, guarded: true, keep: false },
    "/state dir",
  );
  assert.deepEqual([node, flag, bundle], ["/node", NO_DEBUGGER, "/dist/service.cjs"]);
  assert.deepEqual(parseArgs(args), { ...all, stateDir: "/state dir" });
  const { config, profile, exitWith, ids, stateDir, ...flags } = parseArgs(
    serviceProgram(installation, none, undefined).slice(3),
  );
  assert.deepEqual([config, profile, exitWith, ids, stateDir], [undefined, undefined, undefined, undefined, undefined]);
  assert.deepEqual(flags, { console: false, detached: false, watchConfig: false, once: false });
});
