/** What a user who comes from pm2, supervisord, systemd or compose types first: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { SUMMARIES } from "../../src/cli/commands.ts";
import { processIn } from "../../src/core/config/edit/edit.ts";
import { homeOf, keeperIn, procman, SLEEPER } from "../support/cli.ts";

test("commands of other process managers are answered with procman's word, and -v prints the version", async (context) => {
  const { folder } = homeOf(context, []);
  const answers = [
    ["ls", /"procman status" shows the processes/],
    ["ps", /"procman status" shows the processes/],
    ["kill", /"procman stop ID" .*"procman signal KILL ID" .*"procman terminate"/],
    ["delete", /"procman remove ID --apply"/],
    ["top", /"procman monitor" shows CPU and memory/],
    ["monit", /"procman monitor" shows processes, CPU and memory/],
    ["startup", /"procman install" starts procman when the machine boots/],
    ["save", /nothing needs saving/],
    ["connect", /"procman attach ID" follows a process/],
    ["serve", /"procman add -- npx serve FOLDER"/],
    ["reset", /"procman restart ID" begins its count of restarts at 0/],
    ["down", /"procman terminate" stops all processes/],
    ["jlist", /"procman status --json"/],
    ["maintail", /"procman logs --category lifecycle,service"/],
    ["daemon-reload", /"procman reload" applies/],
    ["is-active", /ends with 0 if the process is running, else with 3/],
    ["mask", /"procman block ID" .*"procman disable ID"/],
    ["sendSignal", /"procman signal HUP ID"/],
    ["build", /not needed: the programs run on this host/],
  ] as const;
  for (const [word, answer] of answers) {
    const { code, out, err } = await procman(folder, [word, "web"]);
    assert.deepEqual([code, out], [64, ""]);
    assert.match(err, answer);
    assert.match(err, new RegExp(`^procman: Cannot run "${word}": there is no such command; `));
    assert.doesNotMatch(err, /Did you mean/);
  }
  const { out } = await procman(folder, ["-v"]);
  assert.equal(out, (await procman(folder, ["version"])).out);
});

test("restart names all, and the remedy for an option of pm2; the overview names the options of most commands", async (context) => {
  const { folder } = homeOf(context, []);
  const none = await procman(folder, ["restart"]);
  assert.deepEqual([none.code, none.out], [64, ""]);
  assert.match(none.err, /missing required argument 'id': the id of a process, or "all"; see "procman help restart"/);
  const foreign = await procman(folder, ["restart", "web", "--update-env"]);
  assert.match(
    foreign.err,
    /unknown option '--update-env'; env files are read at each start, and "procman reload" applies/,
  );
  const { out } = await procman(folder, ["help"]);
  for (const option of ["-c, --config PATH", "--name NAME", "--host NAME", "--json"])
    assert.match(out, new RegExp(`^  ${option}  `, "m"));
});

test("called by npx, messages name commands that can be typed", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  const npx = { npm_command: "exec", npm_config_user_agent: "npm/11.19.1 node/v22.0.0 linux x64" };
  const started = await procman(folder, ["run", "--detach"], npx);
  assert.match(started.out, /"npx procman terminate" stops it/);
  for (const args of [["run"], ["run", "--detach"]])
    assert.match(
      (await procman(folder, args, npx)).err,
      /"npx procman logs -f" follows .*"npx procman reload" applies/,
    );
  assert.match((await procman(folder, ["ls"], npx)).err, /"npx procman status" shows/);
  assert.match((await procman(folder, ["help"], npx)).out, /See "npx procman help COMMAND"/);
  assert.doesNotMatch((await procman(folder, ["schema"], npx)).out, /npx/);
  assert.match((await procman(folder, ["ls"])).err, /"procman status" shows/);
});

test("the help of each command ends with examples of it", async (context) => {
  const { folder } = homeOf(context, []);
  for (const name of Object.keys(SUMMARIES).filter((each) => each !== "version" && each !== "help")) {
    const { code, out } = await procman(folder, [name, "--help"]);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`\\nExamples?:\\n(  procman ${name}( .*)?\\n)+$`), name);
  }
  for (const name of ["help", "version"]) {
    const { code, out } = await procman(folder, ["help", name]);
    assert.deepEqual([code, out], [0, (await procman(folder, ["help"])).out], name);
  }
});

test("an unknown id is answered with the cluster that is meant", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true, cluster: { instances: 2 } }]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  for (const command of ["stop", "why", "logs", "status"]) {
    const { code, err } = await procman(folder, [command, "wbe"]);
    assert.equal(code, 1, command);
    assert.match(err, /Did you mean "web"\?/, command);
  }
});

test("add: file, process and procman with one command; then into the running procman; an id that is taken is refused", async (context) => {
  let started = "";
  // Before the hook of `homeOf`, which removes the folder.
  context.after(async () => void (started === "" || (await procman(started, ["terminate"]))));
  const { folder } = homeOf(context, []);
  started = folder;
  rmSync(join(folder, "procman.json"));
  const name =
    folder
      .split("/")
      .at(-1)
      ?.toLowerCase()
      .replace(/[^a-z0-9._-]+/g, "-") ?? "";
  for (const file of ["server.js", "mail.cjs"])
    writeFileSync(join(folder, file), "console.log(process.argv[2]); setInterval(() => {}, 1000);");

  const first = await procman(folder, ["add", "--", "node", "server.js", "it's $HOME"]);
  assert.deepEqual([first.code, first.err], [0, ""], first.out);
  assert.match(first.out, /^procman\.jsonc: created with "server": node server\.js 'it.*\nID .*\nserver +running /);
  assert.match(first.out, /"restart": "always".*\n"procman logs server" shows its output; --stdout /);
  assert.ok(keeperIn(join(folder, ".procman", name)) > 0);
  assert.match((await procman(folder, ["logs", "server"])).out, /it's \$HOME$/m);

  const second = await procman(folder, ["add", "node mail.cjs"]);
  assert.deepEqual([second.code, second.err], [0, ""]);
  assert.match(
    second.out,
    /^procman\.jsonc: added "mail": node mail\.cjs\nID .*\nserver +running .*\nmail +running .*\n$/,
  );
  assert.equal((await procman(folder, ["status", "server", "mail"])).code, 0);

  const text = readFileSync(join(folder, "procman.jsonc"), "utf8");
  const taken = await procman(folder, ["add", "--", "node", "server.js"]);
  assert.equal(taken.code, 64);
  assert.match(taken.err, /Cannot add "server": procman\.jsonc has another process with this id; choose one with --id/);
  assert.equal(readFileSync(join(folder, "procman.jsonc"), "utf8"), text);
  const again = await procman(folder, ["add", "node mail.cjs"]);
  assert.match(
    again.out,
    /^procman\.jsonc: already has this "mail", so nothing is changed\nID .*\nserver +running .*\nmail +running /,
  );
});

test("add of a script runs it by its interpreter, with the settings of its options", async (context) => {
  const { folder } = homeOf(context, []);
  mkdirSync(join(folder, "app"));
  writeFileSync(join(folder, "app/server.js"), "setInterval(() => console.log(process.env.NAME), 100);");
  const options = ["--restart", "always", "--stdout", "logs/{id}.log", "--env", "NAME=shop", "--cwd", "app"];
  const { code, out, err } = await procman(folder, ["add", ...options, "server.js"]);
  assert.deepEqual([code, err], [0, ""], out);
  assert.match(out, /^procman\.json: added "server": node server\.js\n/);
  const { processes } = JSON.parse(readFileSync(join(folder, "procman.json"), "utf8")) as {
    readonly processes: unknown;
  };
  assert.deepEqual(processes, [
    {
      id: "server",
      cmd: "node server.js",
      cwd: "app",
      env: { NAME: "shop" },
      autostart: true,
      restart: "always",
      logger: { stdout: "logs/{id}.log" },
    },
  ]);
  assert.match(readFileSync(join(folder, "logs/server.log"), "utf8"), /^shop$/m);
});

test("an add that fails leaves nothing: no file, no folder, no procman", async (context) => {
  const { folder } = homeOf(context, []);
  rmSync(join(folder, "procman.json"));
  writeFileSync(join(folder, "server.js"), "console.error('no database'); process.exit(2)");
  for (const args of [["nosuch"], ["npm:dev"], ["./nosuch.js"]])
    assert.equal((await procman(folder, ["add", ...args])).code, 64);
  assert.deepEqual(readdirSync(folder), ["server.js"]);
  const { code, err } = await procman(folder, ["add", "--stdout", "logs/{id}.log", "server.js"]);
  assert.equal(code, 1);
  assert.match(err, /^procman: Cannot start "server": it exited with code 2.*\n {2}server \| no database\n/);
  assert.match(err, /\nprocman: Cannot add "server": it doesn't start, so no file is written\n$/);
  assert.deepEqual(readdirSync(folder), ["server.js"]);
});

test("an add that fails leaves an existing file and the processes of a running procman as they are", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  const text = readFileSync(join(folder, "procman.json"), "utf8");
  writeFileSync(join(folder, "bad.js"), "process.exit(2)");
  const failed = async (): Promise<void> => {
    const { code, err } = await procman(folder, ["add", "bad.js"]);
    assert.equal(code, 1);
    assert.match(err, /\nprocman: Cannot add "bad": it doesn't start, so it is not added to procman\.json\n$/);
    assert.equal(readFileSync(join(folder, "procman.json"), "utf8"), text);
  };
  await failed();
  assert.deepEqual([keeperIn(state), existsSync(join(folder, ".procman"))], [0, false]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const pid = async (): Promise<unknown> => JSON.parse((await procman(folder, ["status", "web", "--json"])).out)[0].pid;
  const before = await pid();
  await failed();
  assert.equal((await procman(folder, ["status", "bad"])).code, 1);
  assert.equal(await pid(), before);
  writeFileSync(join(folder, "bad.js"), "setInterval(() => {}, 1000)");
  assert.equal((await procman(folder, ["add", "bad.js"])).code, 0);
});

test("an add that fails keeps what the user has changed in the file meanwhile", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  const file = join(folder, "procman.json");
  const text = readFileSync(file, "utf8");
  writeFileSync(
    join(folder, "bad.js"),
    `const fs = require("node:fs");
    const text = fs.readFileSync("procman.json", "utf8");
    if (!text.includes("mine")) fs.writeFileSync("procman.json", text + "// mine\\n");
    process.exit(2);`,
  );
  const { code, err } = await procman(folder, ["add", "bad.js"]);
  assert.equal(code, 1);
  assert.match(err, /\nprocman: Cannot add "bad": it doesn't start, so it is not added to procman\.json\n$/);
  const after = readFileSync(file, "utf8");
  assert.match(after, /\/\/ mine\n$/);
  assert.deepEqual(processIn(after, "web"), processIn(text, "web"));
  assert.equal(processIn(after, "bad"), undefined);
});

test("start of a file without a configuration names add", async (context) => {
  const { folder } = homeOf(context, []);
  writeFileSync(join(folder, "server.js"), "");
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  assert.match(
    (await procman(folder, ["start", "server.js"])).err,
    /no process has this id.*"procman add server\.js" adds this file/,
  );
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  rmSync(join(folder, "procman.json"));
  assert.match(
    (await procman(folder, ["start", "server.js"])).err,
    /`procman add PROGRAM` or `procman init` makes one/,
  );
});

test("init and add create the file that --config or PROCMAN_CONFIG names, or one in the folder that they name", async (context) => {
  // Before the hook of `homeOf`, which removes the folder.
  const folders: string[] = [];
  context.after(async () => {
    for (const folder of folders) await procman(folder, ["terminate"]);
  });
  const { folder } = homeOf(context, [{ id: "other", cmd: "true", autostart: true }]);
  for (const name of ["one", "two", "three"]) mkdirSync(join(folder, name));
  const init = ["init", "--id", "web", "--cmd", "true", "--autostart"];
  assert.equal((await procman(folder, init, { PROCMAN_CONFIG: "one/mine.json" })).code, 0);
  assert.ok(existsSync(join(folder, "one/mine.json")));
  assert.equal((await procman(folder, [...init, "--config", "two"])).code, 0);
  assert.ok(existsSync(join(folder, "two/procman.jsonc")));
  folders.push(join(folder, "three"));
  const added = await procman(folder, ["add", "--", "sleep", "1000"], { PROCMAN_CONFIG: join(folder, "three") });
  assert.deepEqual([added.code, added.err], [0, ""], added.out);
  assert.ok(existsSync(join(folder, "three/procman.jsonc")));
});

test("append and remove with a running procman say that reload applies it, or apply it; so do commands with such an id", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  const append = ["append", "--id", "mail", "--cmd", "sleep 1001"];
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const said = await procman(folder, append);
  assert.match(said.out, /added "mail"\nprocman is running without this change; "procman reload" applies it\n$/);
  for (const command of ["start", "logs", "status", "why"]) {
    const { code, err } = await procman(folder, [command, "mail"]);
    assert.equal(code, 1, command);
    assert.match(
      err,
      /Cannot find process "mail": the configuration file has it, but procman runs without it; "procman reload" applies the file\n$/,
      command,
    );
  }
  assert.match((await procman(folder, ["start", "mial"])).err, /no process has this id/);

  const applied = await procman(folder, [...append, "--apply"]);
  assert.match(applied.out, /already has this "mail", so nothing is changed\n(.*\n)*mail +start /);
  assert.equal((await procman(folder, ["status", "mail"])).code, 0);
  const removed = await procman(folder, ["remove", "mail", "--apply"]);
  assert.match(removed.out, /removed "mail"\n(.*\n)*mail +stop /);
  assert.match((await procman(folder, ["remove", "web"])).out, /removed "web"\nprocman is running without this change/);
  const replaced = await procman(folder, ["init", "--force", "--name", "test", "--id", "web", "--cmd", "sleep 1000"]);
  assert.match(replaced.out, /created\nprocman is running without this change; "procman reload" applies it\n$/);
});

test("an npm package has nothing of .procman, whatever its own ignore files say", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  writeFileSync(join(folder, "package.json"), '{ "name": "shop", "version": "1.0.0" }');
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  assert.ok(existsSync(join(folder, ".procman/test/secret")));
  for (const ignored of [undefined, ".gitignore", ".npmignore"]) {
    if (ignored !== undefined) writeFileSync(join(folder, ignored), "node_modules\n");
    const { stdout } = await promisify(execFile)("npm", ["pack", "--dry-run", "--json", "--offline"], { cwd: folder });
    assert.match(stdout, /procman\.json/);
    assert.doesNotMatch(stdout, /\.procman\//, ignored);
  }
});
