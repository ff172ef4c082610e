/** `procman init` on a terminal: what it asks, and what it writes. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, procman } from "../support/cli.ts";
import { RunningCommand, TERMINAL } from "../support/running-command.ts";

test("where an image is built, init keeps .procman out of it, if the answer is yes", async (context) => {
  const { folder } = homeOf(context, []);
  writeFileSync(join(folder, "Dockerfile"), "FROM node\nCOPY . .\n");
  const [file, ignored] = [join(folder, "procman.json"), join(folder, ".dockerignore")];
  for (const [answer, text] of [
    ["n", undefined],
    ["", "**/.procman\n"],
  ] as const) {
    rmSync(file, { force: true });
    const command = new RunningCommand(folder, ["init", "--config", file], TERMINAL);
    for (const [question, reply] of [
      [/Name of this procman/, "shop"],
      [/Id of the first process/, "web"],
      [/command line/, "node server.js"],
      [/Start it whenever procman starts, y or n \(y\)/, ""],
      [/out of images with \.dockerignore, y or n \(y\)/, answer],
    ] as const) {
      await command.shows(question);
      command.child.stdin?.write(`${reply}\n`);
    }
    assert.equal(await command.exitCode(), 0, command.out);
    assert.match(readFileSync(file, "utf8"), /"cmd": "node server\.js",\s+"autostart": true/);
    assert.equal(existsSync(ignored) ? readFileSync(ignored, "utf8") : undefined, text);
  }
});

test("where an image is built, init without questions says what is missing in .dockerignore, and writes nothing there", async (context) => {
  const { folder } = homeOf(context, []);
  const init = (): ReturnType<typeof procman> =>
    procman(folder, ["init", "--force", "--id", "web", "--cmd", "node server.js"]);
  assert.equal((await init()).err, "");
  writeFileSync(join(folder, ".dockerignore"), "node_modules");
  assert.match(
    (await init()).err,
    /^procman: \.dockerignore has no line \*\*\/\.procman: "COPY \. \." copies procman's secret/,
  );
  for (const line of [".procman", "/.procman/", "**/.procman/**", "*"]) {
    writeFileSync(join(folder, ".dockerignore"), `node_modules\n${line}\n`);
    assert.equal((await init()).err, "", line);
  }
});
