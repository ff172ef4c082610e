/** `procman send`: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment, eventually, type ProcessConfig } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

/** Writes what it reads into the file `got`. */
const SINK = { id: "sink", cmd: "exec cat > got", stdin: true, autostart: true, minUptimeMs: 50 } as const;

async function running(context: TestContext, processes: readonly ProcessConfig[]): Promise<string> {
  const { folder } = homeOf(context, processes);
  const { code, err } = await procman(folder, ["run", "--detach"]);
  assert.equal(code, 0, err);
  return folder;
}

async function waitForText(file: string, text: string): Promise<void> {
  await eventually(() => (existsSync(file) && readFileSync(file, "utf8") === text ? true : undefined));
}

test("send types words as a line, --raw without a line end, -- words that look like options; --json prints the record", async (context) => {
  const folder = await running(context, [SINK]);
  const said = await procman(folder, ["send", "sink", "say", "grüß", "dich"]);
  assert.deepEqual([said.out, said.err, said.code], ["sink: got 16 bytes\n", "", 0]);
  assert.equal((await procman(folder, ["send", "sink", "y", "--raw"])).out, "sink: got 1 byte\n");
  assert.equal((await procman(folder, ["send", "sink", ""])).out, "sink: got 1 byte\n");
  const json = await procman(folder, ["send", "sink", "--json", "--", "--help", "-v"]);
  assert.deepEqual(JSON.parse(json.out), { process: "sink", bytes: 10 });
  await waitForText(join(folder, "got"), "say grüß dich\ny\n--help -v\n");
});

test("send --stdin waits while the program doesn't read, so that every byte arrives", async (context) => {
  const cmd = "until [ -e go ]; do sleep 0.05; done; exec cat > got";
  const folder = await running(context, [{ ...SINK, cmd }]);
  const input = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  const sending = spawn(process.execPath, [BIN, "send", "sink", "--stdin"], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["pipe", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  sending.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  sending.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  sending.stdin.end(input);
  // The pipe is full.
  await eventually(async () => {
    const { out: lines } = await procman(folder, ["logs", "sink", "--category", "api"]);
    return /refused: .* the pipe to it is full: \d+ of 65536 bytes were taken/.test(lines) ? true : undefined;
  });
  await eventually(() => err !== "" || undefined);
  assert.equal(err, "procman: sink doesn't read its input; the rest waits until it does\n");
  assert.equal(sending.exitCode, null);
  writeFileSync(join(folder, "go"), "");
  const [code] = (await once(sending, "close")) as [number];
  assert.deepEqual([code, out], [0, `sink: got ${input.length} bytes\n`]);
  const got = join(folder, "got");
  await eventually(() => (existsSync(got) && statSync(got).size >= input.length ? true : undefined));
  assert.deepEqual(readFileSync(got), input);
});

test("send --key presses keys, one after the other, at the terminal of a process", async (context) => {
  const cmd = "stty raw -echo; exec cat > got";
  const folder = await running(context, [{ ...SINK, stdin: undefined, tty: true, cmd }]);
  const got = join(folder, "got");
  // It has set up its terminal.
  await eventually(() => existsSync(got) || undefined);
  const keys = await procman(folder, ["send", "sink", "--key", "Ctrl-C", "up", "enter"]);
  assert.deepEqual([keys.out, keys.err, keys.code], ["sink: got 5 bytes\n", "", 0]);
  await waitForText(got, "\u0003\u001b[A\r");
  for (const [args, message] of [
    [["--key", "entr"], /^procman: Cannot send it: there is no key "entr"\. Did you mean "enter"\? Keys: enter, tab,/],
    [["text", "--key", "enter"], /^procman: Cannot send to "sink": "--key" takes neither a text nor "--raw"/],
    [["--stdin", "--key", "enter"], /"--stdin" takes neither a text nor "--raw" or "--key"/],
  ] as const) {
    const refused = await procman(folder, ["send", "sink", ...args]);
    assert.match(refused.err, message);
    assert.deepEqual([refused.code, refused.out], [64, ""]);
  }
  const { err } = await procman(folder, ["send", "--key", "enter", "sink"]);
  assert.match(err, /missing required argument 'id': the id of a process, before the keys of --key; see/);
});

test("send is refused with the reason and the remedy, and says how much a full pipe has taken", async (context) => {
  const folder = await running(context, [
    { ...SINK, cmd: "sleep 1000" },
    { id: "plain", ...SLEEPER },
    { id: "down", cmd: "cat", stdin: true },
    { ...SLEEPER, id: "web", stdin: true, cluster: { instances: 2 } },
  ]);
  for (const [args, code, message] of [
    [["plain", "x"], 1, /^procman: Cannot send to "plain": it takes no input; set "stdin": true for it, and run/],
    [
      ["down", "x"],
      1,
      /^procman: Cannot send to "down": it has not been started yet; "procman start down" starts it$/m,
    ],
    [
      ["plain", "--key", "ctrl-c"],
      1,
      /^procman: Cannot press keys of "plain": it has no terminal; set "tty": true for it, or send a signal: "procman signal INT plain"$/m,
    ],
    [["web", "x"], 1, /^procman: Cannot send to "web": it is not one process; name one, such as "web-1"$/m],
    [["snik", "x"], 1, /Did you mean "sink"\?/],
    [
      ["sink"],
      64,
      /^procman: Cannot send to "sink": no text is given; "" sends an empty line, "--stdin" what comes from/,
    ],
    [["sink", "x", "--stdin"], 64, /"--stdin" takes neither a text nor "--raw"/],
    [["plain", "--stdin"], 1, /it takes no input/],
  ] as const) {
    const refused = await procman(folder, ["send", ...args]);
    assert.match(refused.err, message);
    assert.deepEqual([refused.code, refused.out], [code, ""], args.join(" "));
  }
  assert.equal((await procman(folder, ["send", "web-2", "x"])).out, "web-2: got 2 bytes\n");
  const line = "z".repeat(50_000);
  assert.equal((await procman(folder, ["send", "sink", line])).out, "sink: got 50001 bytes\n");
  const full = await procman(folder, ["send", "sink", line, "--json"]);
  const { error } = JSON.parse(full.err) as { readonly error: { readonly code: string; readonly taken: number } };
  assert.deepEqual([full.code, error.code, error.taken % 4_096], [1, "input-full", 0]);
});
