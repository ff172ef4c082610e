/** `procman dev` without a terminal: what it runs, its lines, its end, and the procman behind it. */
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { keeperIn, procman } from "../support/cli.ts";
import { DevProject, ended } from "../support/dev-rig.ts";
import { eventually, processExit } from "../support/procman-process.ts";

const PROCFILE = "web: echo hello; exec sleep 1000\nmail: echo oops >&2; exec sleep 1000\n";

// Most of the time they wait.
describe("dev", { concurrency: 4 }, () => {
  test("a Procfile runs as it is: the first line says what and why, lines have their process in front, nothing else is written", async (context) => {
    const project = new DevProject(context, { Procfile: PROCFILE });
    const dev = project.start();
    await dev.shows(/^procman \| runs Procfile \(web, mail\): there is no procman\.jsonc, no Procfile\.dev$/m);
    await dev.shows(/^web {5}\| hello$/m);
    await dev.shows(/^mail {4}! oops$/m);
    assert.ok(dev.out.startsWith("procman | runs Procfile"), dev.out);
    assert.doesNotMatch(dev.out, /\u001b/, "no colors, and no line of keys");
    assert.deepEqual(readdirSync(project.folder).sort(), [".procman", "Procfile"]);
    assert.equal(readFileSync(join(project.folder, ".procman/.gitignore"), "utf8"), "*\n");
    assert.equal(await ended(dev), 0);
    assert.match(dev.out, /^web {5}\| stopped \(SIGTERM\)$/m);
    assert.equal(keeperIn(project.state), 0);
  });

  test("a second Ctrl-C kills what doesn't end", async (context) => {
    const project = new DevProject(context, {
      "procman.jsonc": JSON.stringify({
        name: "shop",
        processes: [
          {
            id: "web",
            cmd: "trap '' TERM INT; echo up; while :; do sleep 0.05; done",
            autostart: true,
            terminateTimeout: 600,
          },
        ],
      }),
    });
    const dev = project.start();
    await dev.shows(/^web {5}\| up$/m);
    dev.child.kill("SIGINT");
    await dev.shows(/^procman \| stopping everything /m);
    assert.equal(await ended(dev, "SIGINT"), 0);
    assert.match(dev.out, /^procman \| SIGINT while everything is being stopped: killing what still runs$/m);
  });

  test("the profile dev of procman's own file is merged, another one by --profile; --exit-with gives the exit code", async (context) => {
    const job = (env: string): object => ({ processes: [{ id: "job", env: { MODE: env } }] });
    const project = new DevProject(context, {
      "procman.jsonc": JSON.stringify({
        processes: [{ id: "job", cmd: 'echo "mode $MODE"; exit 7', autostart: true, env: { MODE: "none" } }],
        profiles: { dev: job("development"), staging: job("staging") },
      }),
      Procfile: PROCFILE,
    });
    const dev = project.start(["--exit-with", "job"]);
    assert.equal(await dev.exitCode(), 7);
    assert.match(dev.out, /^procman \| runs procman\.jsonc with its profile "dev"$/m);
    assert.match(dev.out, /^job {5}\| mode development$/m);
    const staging = project.start(["--exit-with=job", "--profile", "staging"]);
    assert.equal(await staging.exitCode(), 7);
    assert.match(staging.out, /^job {5}\| mode staging$/m);
  });

  test("ids choose processes, -ID leaves one out; an unknown one is an error", async (context) => {
    const files = { "Procfile.dev": `${PROCFILE}api: echo ready; exec sleep 1000\n` };
    const some = new DevProject(context, files).start(["web", "api"]);
    await some.shows(/^web {5}\| hello$/m);
    await some.shows(/^api {5}\| ready$/m);
    assert.doesNotMatch(some.out, /^mail/m);
    const others = new DevProject(context, files).start(["-mail"]);
    await others.shows(/^procman \| runs Procfile\.dev \(web, api\): /m);
    await others.shows(/^web {5}\| hello$/m);
    await others.shows(/^api {5}\| ready$/m);
    assert.doesNotMatch(others.out, /^mail/m);
    const unknown = new DevProject(context, files).start(["-mial"]);
    assert.equal(await unknown.exitCode(), 64);
    assert.match(unknown.out, /Cannot leave out "mial": .*Did you mean "mail"\?/);
    assert.doesNotMatch(unknown.out, /runs Procfile\.dev \(/);
    const nothing = new DevProject(context, files).start(["-web", "-mail", "-api"]);
    assert.equal(await nothing.exitCode(), 64);
    assert.match(nothing.out, /Cannot run all but web, mail, api: nothing else starts$/m);
  });

  test("what depends on a process that is left out starts without it", async (context) => {
    const project = new DevProject(context, {
      "procman.jsonc": JSON.stringify({
        processes: [
          { id: "db", cmd: "echo db; exec sleep 1000", autostart: true },
          { id: "web", cmd: "echo web; exec sleep 1000", autostart: true, dependsOn: ["db"] },
        ],
      }),
    });
    const dev = project.start(["-db"]);
    await dev.shows(/^web {5}\| web$/m);
    assert.doesNotMatch(dev.out, /^db/m);
  });

  test("a changed Procfile is applied at once; a wrong line is shown with its place, and all runs on", async (context) => {
    const project = new DevProject(context, { Procfile: PROCFILE });
    const file = join(project.folder, "Procfile");
    const dev = project.start();
    await dev.shows(/^web {5}\| hello$/m);
    await dev.shows(/^mail {4}! oops$/m);
    appendFileSync(file, "api: echo ready; exec sleep 1000\n");
    await dev.shows(/^api {5}\| ready$/m);
    assert.match(dev.out, /^procman \| reload \(Procfile has changed\): api starts, 2 unchanged$/m);
    appendFileSync(file, "this is no line\n");
    await dev.shows(/^procman \| .*Procfile:4:1/m);
    await dev.shows(/^procman \| The processes run as before\.$/m);
    const { out } = await procman(project.folder, ["status", "--json"]);
    assert.deepEqual(
      (JSON.parse(out) as readonly { readonly status: string }[]).map(({ status }) => status),
      ["running", "running", "running"],
    );
    writeFileSync(file, "web: echo hello; exec sleep 1000\n");
    await dev.shows(/^mail {4}\| stopped \(SIGTERM\)$/m);
    assert.equal(dev.out.match(/^web {5}\| hello$/gm)?.length, 1, "web was not restarted");
  });

  test("a second dev shows the lines of the first one, and leaves it running; the other commands find it, too", async (context) => {
    const project = new DevProject(context, { Procfile: PROCFILE, "sub/x": "" });
    const first = project.start();
    await first.shows(/^mail {4}! oops$/m);
    const second = project.start();
    await second.shows(/^procman \| \S+ is already running: these are its lines; Ctrl-C leaves it running, /m);
    await second.shows(/^web {5}\| hello$/m);
    assert.equal(await ended(second, "SIGINT"), 0);
    assert.match(second.out, /^procman \| left; \S+ goes on$/m);
    const some = project.start(["-mail", "--watch"]);
    await some.shows(/^procman \| .* these are its lines; it runs as it was started, without --watch; Ctrl-C /m);
    await some.shows(/^web {5}\| hello$/m);
    assert.equal(await ended(some, "SIGINT"), 0);
    assert.doesNotMatch(some.out, /^mail/m);
    for (const { out } of [second, some]) assert.doesNotMatch(out, /\u001b/, "the screen isn't cleared");
    const unknown = project.start(["wbe"]);
    assert.equal(await unknown.exitCode(), 1);
    assert.match(unknown.out, /Cannot find process "wbe": .* Did you mean "web"\?$/m);
    const last = project.start(["--exit-with", "web"]);
    assert.equal(await last.exitCode(), 1);
    assert.match(last.out, /Cannot exit with process "web": \S+ is already running; "procman terminate" ends it$/m);
    writeFileSync(join(project.folder, "x.procfile"), "x: true\n");
    const refused = project.start(["--file", "x.procfile"]);
    assert.equal(await refused.exitCode(), 1);
    assert.match(
      refused.out,
      /Cannot run: procman runs \S+Procfile\.jsonc as "\S+" here \(pid \d+\); end that one first/,
    );
    const { code, out } = await procman(join(project.folder, "sub"), ["logs", "web", "--category", "stdout", "--raw"]);
    assert.deepEqual([code, out], [0, "hello\n"]);
    assert.equal((await procman(project.folder, ["restart", "web"])).code, 0);
    await first.shows(/^web {5}\| hello\n[\s\S]*^web {5}\| hello$/m);
    assert.equal(await ended(first), 0);
    assert.equal((await procman(project.folder, ["status"])).code, 78);
  });

  test("of two that are started at once, one runs the project, and both show its lines", async (context) => {
    const project = new DevProject(context, { Procfile: PROCFILE });
    const both = [project.start(), project.start()];
    for (const dev of both) await dev.shows(/^web {5}\| hello$/m);
    const late = both.find(({ out }) => out.includes("these are its lines"));
    assert.ok(late !== undefined);
    assert.equal(await ended(late, "SIGINT"), 0);
    assert.match(late.out, /^procman \| left; \S+ goes on$/m);
    for (const dev of both.filter((each) => each !== late)) {
      assert.equal(await ended(dev), 0);
      assert.match(dev.out, /^procman \| everything is stopped$/m);
    }
  });

  test("a file that can't be read as JSON is shown with its fault alone", async (context) => {
    const dev = new DevProject(context, { "procman.jsonc": "{ bad" }).start();
    assert.equal(await dev.exitCode(), 78);
    assert.match(dev.out, /^procman \| runs procman\.jsonc\n/);
  });

  test("a killed keeper comes back with the same processes, and dev goes on with their lines", async (context) => {
    const project = new DevProject(context, {
      Procfile: "web: echo up; trap 'echo again' USR1; while :; do sleep 0.05; done\n",
    });
    const dev = project.start();
    await dev.shows(/^web {5}\| up$/m);
    const keeper = keeperIn(project.state);
    process.kill(keeper, "SIGKILL");
    await eventually(() => ([0, keeper].includes(keeperIn(project.state)) ? undefined : true));
    assert.equal((await procman(project.folder, ["signal", "USR1", "web"])).code, 0);
    await dev.shows(/^web {5}\| again$/m);
    assert.doesNotMatch(dev.out, /up\n[\s\S]*up\n/);
    assert.equal(await ended(dev, "SIGINT"), 0);
    assert.equal(keeperIn(project.state), 0);
  });

  test("a killed dev leaves nothing running", async (context) => {
    const project = new DevProject(context, { Procfile: "web: echo pid $$; exec sleep 1000\n" });
    const dev = project.start();
    await dev.shows(/^web {5}\| pid \d+$/m);
    const web = Number(/pid (\d+)$/m.exec(dev.out)?.[1]);
    dev.child.kill("SIGKILL");
    await processExit(web);
    await eventually(() => keeperIn(project.state) === 0 || undefined);
  });

  test("after a failure its last lines are repeated, if others have written meanwhile", async (context) => {
    const project = new DevProject(context, {
      Procfile:
        "bad: echo cause >&2; until [ -e go ]; do sleep 0.02; done; exit 3\ngood: sleep 0.1; echo fine; exec sleep 1000\n",
    });
    const dev = project.start();
    await dev.shows(/^bad {5}! cause$/m);
    await dev.shows(/^good {4}\| fine$/m);
    writeFileSync(join(project.folder, "go"), "");
    await dev.shows(/^bad {5}\| exited with code 3 .*\n(?:.*\n)*procman \| last lines of bad:\nbad {5}! cause$/m);
  });

  test("--watch restarts on changes what doesn't reload by itself", async (context) => {
    const project = new DevProject(context, {
      Procfile: "web: sh server.sh\nvite: sh vite-like.sh --watch\n",
      "server.sh": "cat text.json; exec sleep 1000\n",
      "vite-like.sh": "echo vite; exec sleep 1000\n",
      "text.json": "one\n",
      "node_modules/x.json": "",
    });
    const dev = project.start(["--watch"]);
    await dev.shows(/^procman \| runs Procfile .*; restarted on changes: web; by themselves: vite$/m);
    await dev.shows(/^web {5}\| one$/m);
    await dev.shows(/^vite {4}\| vite$/m);
    writeFileSync(join(project.folder, "node_modules/x.json"), "{}");
    writeFileSync(join(project.folder, "text.json"), "two\n");
    await dev.shows(/^web {5}\| two$/m);
    assert.match(dev.out, /^web {5}\| restarts: .*text\.json has changed$/m);
    assert.equal(dev.out.match(/^vite {4}\| vite$/gm)?.length, 1);
  });

  test("the scripts of workspaces, by npm", async (context) => {
    const member = (name: string): string =>
      JSON.stringify({ name, scripts: { dev: `echo I am ${name}; sleep 1000` } });
    const project = new DevProject(context, {
      "package.json": JSON.stringify({ name: "root", private: true, workspaces: ["packages/*"] }),
      "packages/api/package.json": member("api"),
      "packages/web/package.json": member("web"),
    });
    const dev = project.start();
    await dev.shows(
      /^procman \| runs package\.json \(api, web\): there is no procman\.jsonc, no Procfile\.dev, no Procfile$/m,
    );
    await dev.shows(/^api {5}\| I am api$/m);
    await dev.shows(/^web {5}\| I am web$/m);
    assert.equal(await ended(dev), 0);
  });

  for (const [name, text] of Object.entries({
    "ecosystem.config.js": 'module.exports = { apps: [{ name: "web", script: "./up.sh" }] };\n',
    "supervisord.conf": "[program:web]\ncommand=/bin/sh up.sh\n",
    "process-compose.yaml": 'processes:\n  web:\n    command: "sh up.sh"\n',
    "other.procfile": "web: sh up.sh\n",
    "compose.yaml": "services:\n  web:\n    build: .\n    command: sh up.sh\n",
  }))
    test(`--file ${name} runs what the import makes of it, in the folder of the file`, async (context) => {
      const project = new DevProject(context, {
        [name]: text,
        "up.sh": "echo up in $(basename $PWD); exec sleep 1000\n",
        Dockerfile: "FROM scratch\n",
      });
      const dev = project.start(name === "supervisord.conf" ? [`-f${name}`] : ["-f", name]);
      await dev.shows(/^procman \| runs \S+ \(web\): --file names it/m);
      await dev.shows(/^web {5}[|!] up in procman-import-/m);
      assert.equal(await ended(dev), 0);
      assert.deepEqual(readdirSync(project.folder).sort(), [".procman", "Dockerfile", name, "up.sh"].sort());
    });

  test("run --file runs a Procfile, in the foreground and in the background, and writes nothing beside it", async (context) => {
    const project = new DevProject(context, { Procfile: PROCFILE });
    for (const args of [["--file", "Procfile"], ["-fProcfile"], ["web", "--file=Procfile"]]) {
      const run = project.start([...args, "--console"], "run");
      await run.shows(/^web {5}\| hello$/m);
      assert.equal(await ended(run), 0);
    }
    const { code, out } = await procman(project.folder, ["run", "--detach", "--file", "Procfile"]);
    assert.equal(code, 0);
    assert.match(out, /^web +running/m);
    assert.equal((await procman(project.folder, ["terminate"])).code, 0);
    assert.deepEqual(readdirSync(project.folder).sort(), [".procman", "Procfile"]);
    writeFileSync(join(project.folder, "twice.procfile"), "web: true\nweb: true\n");
    const twice = await procman(project.folder, ["run", "--once", "--file", "twice.procfile"]);
    assert.match(
      twice.err,
      /^procman: twice\.procfile: the name "web" occurs more than once; this one is called web_2$/m,
    );
    const both = await procman(project.folder, ["run", "--file", "Procfile", "--config", "x.json"]);
    assert.deepEqual([both.code, both.err.includes("leave one of them out")], [64, true]);
    const missing = await procman(project.folder, ["run", "--file", "absent"]);
    assert.deepEqual([missing.code, missing.err], [78, "procman: Cannot import absent: there is no such file\n"]);
  });

  test("what can't be run is an error with a remedy", async (context) => {
    for (const [files, message] of [
      [{}, /^procman: Cannot find what to run in .*: there is no procman\.jsonc, .*"procman add PROGRAM"/],
      [{ Procfile: "web node server.js\n" }, /Procfile:1:1[\s\S]*expected a line such as `web: node server\.js`/],
      [{ "package.json": '{ "scripts": { "build": "x" } }' }, /found no script "dev" or "start"; it has build/],
      [{ "compose.yaml": "services: { web: { image: nginx } }\n" }, /its services \(web\) are made for containers/],
      [{ "procman.jsonc": '{ "processes": [ { "id": "web" } ] }' }, /procman\.jsonc:1:/],
    ] as const) {
      const dev = new DevProject(context, files).start();
      assert.equal(await dev.exitCode(), 78, dev.out);
      assert.match(dev.out, message);
    }
  });

  test("--init writes the file that would be run; then it is there already", async (context) => {
    const project = new DevProject(context, { "package.json": '{ "name": "shop", "scripts": { "dev": "vite" } }' });
    const { code, out } = await procman(project.folder, ["dev", "--init"]);
    assert.equal(code, 0);
    assert.match(out, /^procman\.jsonc: created with 1 process of package\.json/);
    assert.match(readFileSync(join(project.folder, "procman.jsonc"), "utf8"), /"cmd": "npm run dev"/);
    const again = await procman(project.folder, ["dev", "--init"]);
    assert.deepEqual(
      [again.code, again.err],
      [1, "procman: Cannot write a configuration: procman.jsonc is one already\n"],
    );
    assert.equal(existsSync(join(project.folder, ".procman")), false);
  });
});
