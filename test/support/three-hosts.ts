/** Three procmans of this machine as hosts, each by the port of its API. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { homeOf, procman } from "./cli.ts";
import { freeRange } from "./free-ports.ts";
import { hostsFolder } from "./odd-host.ts";

export type Host = { readonly folder: string; readonly state: string; readonly port: number };

export const NAMES = ["a", "b", "c"] as const;

/** The hosts a, b and c in the group `web`; `run` is a command of a user who has nothing but their list. */
export async function hostsWith(context: TestContext, processes: readonly object[], config: object = {}) {
  const here = hostsFolder(context, {});
  const ports = await freeRange(NAMES.length);
  const hosts = await Promise.all(
    NAMES.map(async (name, index): Promise<Host> => {
      const port = ports + index;
      const { folder, state } = homeOf(context, []);
      writeFileSync(
        join(folder, "procman.json"),
        JSON.stringify({ name: "test", api: { port, exec: true }, processes, ...config }),
      );
      const started = await procman(folder, ["run", "--detach"]);
      // Without a release, its processes can't start.
      if (!("releases" in config)) assert.equal(started.code, 0, started.err);
      const tokenFile = join(here.folder, `${name}.token`);
      writeFileSync(tokenFile, (await procman(folder, ["token", "--consumer", "ops"])).out, { mode: 0o600 });
      return { folder, state, port };
    }),
  );
  for (const [index, name] of NAMES.entries()) {
    const url = `http://127.0.0.1:${ports + index}`;
    const added = await here.add(name, url, "--token-file", join(here.folder, `${name}.token`), "--group", "web");
    assert.equal(added.code, 0, added.err);
  }
  const [a, b, c] = hosts as [Host, Host, Host];
  return { ...here, a, b, c, hosts };
}
