/** The folder where a user called, also after it was removed. Each case in its own process. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const MODULE = JSON.stringify(new URL("./start-folder.ts", import.meta.url).href);

/** What the script prints, in a folder that it removes. */
function inRemoved(
  script: string,
  env: NodeJS.ProcessEnv = {},
): { readonly folder: string; readonly lines: readonly string[] } {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "procman-start-folder-"));
  const program = `import { leaveFolder, startFolder } from ${MODULE}; import { rmdirSync } from "node:fs"; process.chdir(${JSON.stringify(folder)}); rmdirSync(${JSON.stringify(folder)}); ${script}`;
  const args = ["--import", "tsx", "--input-type=module", "-e", program];
  const out = execFileSync(process.execPath, args, {
    encoding: "utf8",
    env: { ...process.env, PROCMAN_CONFIG: "", ...env },
  });
  return { folder, lines: out.trim().split("\n") };
}

test("in a removed folder only an absolute path means anything, also that of PROCMAN_CONFIG", () => {
  const look = (path: string): string =>
    `try { console.log(startFolder(${path})); } catch ({ code, message }) { console.log(code, message); }`;
  const message = /^configuration-missing Cannot use the current folder: it was removed/;
  const { lines } = inRemoved(`${look("")}\n${look('"a.json"')}\n${look('"/srv/a.json"')}`);
  assert.match(lines[0] ?? "", message);
  assert.match(
    lines[1] ?? "",
    /it was removed, so a\.json leads nowhere\. Change to another folder, or name the file by its absolute path/,
  );
  assert.equal(lines[2], "/dev/null");
  assert.deepEqual(inRemoved(look(""), { PROCMAN_CONFIG: "/srv/a.json" }).lines, ["/dev/null"]);
});

test("a part is in / from then on, and knows where the user called: by the keeper, or by its own folder, removed or not", {
  skip: process.platform !== "linux",
}, () => {
  const leave = "leaveFolder(); console.log(startFolder(), process.cwd(), process.env.PROCMAN_CALLED_IN);";
  const { folder, lines } = inRemoved(leave);
  assert.deepEqual(lines, [`${folder} / undefined`]);
  assert.deepEqual(inRemoved(leave, { PROCMAN_CALLED_IN: "/srv/shop" }).lines, ["/srv/shop / undefined"]);
});
