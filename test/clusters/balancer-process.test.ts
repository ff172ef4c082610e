/** The balancer's processes between small clients and backends. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { processStat } from "../../src/core/os/process-stat.ts";
import { attemptsAt, echo, FullBackend, received, TestBackend, TestBalancer } from "../support/balancer-rig.ts";
import { testBoth } from "../support/both-tcp.ts";
import { freePort, isFree } from "../support/free-ports.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { eventually } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";

const residentKb = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
const gone = (pid: number): Promise<true> =>
  eventually(() => (existsSync(`/proc/${pid}`) && !isZombie(pid) ? undefined : true));
const isZombie = (pid: number): boolean => /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));

testBoth("2.2 connections go to the backends in turn, with one process and with several", async (context) => {
  for (const processes of [1, 2]) {
    const balancer = await TestBalancer.start(context, {}, processes);
    const backends = [await TestBackend.start(context, "a"), await TestBackend.start(context, "b")];
    await balancer.serveUp(backends);
    const counts = { a: 0, b: 0 };
    for (let turn = 0; turn < 40; turn++) counts[(await balancer.who()) as "a" | "b"] += 1;
    assert.ok(Math.abs(counts.a - counts.b) <= processes, JSON.stringify(counts));
    await eventually(() =>
      balancer.backend("a")?.connections === 0 && balancer.backend("a")?.total === counts.a ? true : undefined,
    );
  }
});

testBoth("2.2 least connections: a backend with open connections gets fewer new ones", async (context) => {
  const balancer = await TestBalancer.start(context, { strategy: "least-connections" });
  const backends = [await TestBackend.start(context, "a"), await TestBackend.start(context, "b")];
  await balancer.serveUp(backends);
  const clients = await Promise.all(Array.from({ length: 10 }, () => balancer.client()));
  const ids = await Promise.all(clients.map(received));
  assert.equal(ids.filter((id) => id === "a").length, 5);
  for (const [index, client] of clients.entries()) if (ids[index] === "a") client.destroy();
  await eventually(() =>
    balancer.backend("a")?.connections === 0 && balancer.backend("b")?.connections === 5 ? true : undefined,
  );
  const next = await Promise.all((await Promise.all(Array.from({ length: 5 }, () => balancer.client()))).map(received));
  assert.deepEqual(next, ["a", "a", "a", "a", "a"]);
});

testBoth(
  "a backend that refuses is skipped without the client noticing, and is back within a second of accepting again",
  async (context) => {
    const balancer = await TestBalancer.start(context);
    const backends = [await TestBackend.start(context, "a"), await TestBackend.start(context, "b")];
    await balancer.serveUp(backends);
    backends[0]?.stop();
    for (let turn = 0; turn < 10; turn++) assert.equal(await balancer.who(), "b");
    await eventually(() =>
      (balancer.backend("a")?.refused ?? 0) >= 1 && !balancer.backend("a")?.accepting ? true : undefined,
    );
    await backends[0]?.listen();
    const start = performance.now();
    await eventually(() => (balancer.backend("a")?.accepting ? true : undefined));
    assertWithin(1_000, performance.now() - start, "the return of the backend");
    assert.deepEqual(new Set([await balancer.who(), await balancer.who()]), new Set(["a", "b"]));
  },
);

testBoth("a backend whose accept queue was full gets connections soon after it accepts again", async (context) => {
  const balancer = await TestBalancer.start(context);
  const backend = await FullBackend.start(context);
  await balancer.serve([{ id: "a", port: backend.port, state: "up" }]);
  const attempts = new Set<string>();
  // Each attempt has another local port; the kernel repeats one at growing intervals.
  await eventually(() => {
    for (const attempt of attemptsAt(backend.port)) attempts.add(attempt);
    return attempts.size >= 12 ? true : undefined;
  });
  backend.accept();
  const start = performance.now();
  await eventually(() => (balancer.backend("a")?.accepting ? true : undefined));
  assertWithin(1_000, performance.now() - start, "the return of the backend");
});

testBoth("a backend whose port an older program has gets no client, until that program ends", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  const stranger = await TestBackend.start(context, "stranger");
  const own = spawn("sleep", ["600"], { stdio: "ignore" });
  context.after(() => own.kill("SIGKILL"));
  const { pid = 0 } = own;
  const other = await TestBackend.start(context, "b");
  await balancer.serve([{ ...stranger.spec, pid }, other.spec]);
  await eventually(() =>
    balancer.backend("stranger")?.foreign && balancer.backend("b")?.accepting ? true : undefined,
  );
  for (let turn = 0; turn < 10; turn++) assert.equal(await balancer.who(), "b");
  await balancer.serve([{ ...stranger.spec, pid: process.pid }, other.spec]);
  await eventually(() => (balancer.backend("stranger")?.accepting ? true : undefined));
  assert.equal(balancer.backend("stranger")?.foreign, undefined);
});

testBoth("while all backends are down clients wait, and are served when one comes up", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  const backend = await TestBackend.start(context, "a");
  await balancer.serve([{ ...backend.spec, state: "down" }]);
  const waiting = await Promise.all(Array.from({ length: 20 }, () => balancer.client()));
  const answers = Promise.all(waiting.map(received));
  await eventually(() => (balancer.report?.waiting === 20 ? true : undefined));
  await balancer.serve([backend.spec]);
  assert.deepEqual(new Set(await answers), new Set(["a"]));
});

testBoth("a client that gets no backend is reset after ten seconds", async (context) => {
  const balancer = await TestBalancer.start(context);
  await balancer.serve([{ id: "a", port: await freePort(), state: "up" }]);
  const client = await balancer.client();
  const start = performance.now();
  await assert.rejects(once(client, "close"), { code: "ECONNRESET" });
  assert.ok(performance.now() - start > 9_000);
  await eventually(() => (balancer.report?.rejected === 1 ? true : undefined));
});

testBoth("each side may end its half of a connection and still read from the other", async (context) => {
  const balancer = await TestBalancer.start(context);
  const backend = await TestBackend.start(context, "a", (socket) => {
    let text = "";
    socket.on("data", (bytes: Buffer) => {
      text += bytes;
    });
    socket.on("end", () => socket.end(`got ${text}`));
  });
  await balancer.serveUp([backend]);
  const client = await balancer.client();
  client.end("all of it");
  assert.equal(await received(client), "got all of it");
  await eventually(() => (balancer.backend("a")?.connections === 0 ? true : undefined));
});

testBoth("a reset of the backend reaches the client as a reset, and the other way round", async (context) => {
  const balancer = await TestBalancer.start(context);
  const errors: (string | undefined)[] = [];
  const backend = await TestBackend.start(context, "a", (socket) => {
    socket.on("error", (error: NodeJS.ErrnoException) => errors.push(error.code));
    socket.on("data", (bytes) => (bytes.toString() === "reset me" ? socket.resetAndDestroy() : socket.write("here")));
  });
  await balancer.serveUp([backend]);
  const first = await balancer.client();
  const failed = once(first, "error").then(([error]) => (error as NodeJS.ErrnoException).code);
  first.on("data", () => undefined).write("reset me");
  assert.equal(await failed, "ECONNRESET");
  const second = await balancer.client();
  second.write("hello");
  assert.equal(await received(second), "here");
  second.resetAndDestroy();
  await eventually(() => (errors.includes("ECONNRESET") ? true : undefined));
});

testBoth("every byte arrives, in order, in both directions at once", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
  const bytes = Buffer.from(Uint32Array.from({ length: 2_000_000 }, (_, index) => index).buffer);
  await Promise.all(
    [1, 2, 3].map(async (number) => {
      const client = await balancer.client();
      const chunks: Buffer[] = [];
      client.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        // Pauses and resumes now and then.
        if (chunks.length % (number * 20) === 0) client.pause();
        if (client.isPaused()) setImmediate(() => client.resume());
      });
      client.end(bytes);
      await once(client, "end");
      assert.ok(Buffer.concat(chunks).equals(bytes));
    }),
  );
});

testBoth("a client that doesn't read slows its backend down, and costs no memory", async (context, name) => {
  const balancer = await TestBalancer.start(context);
  let written = 0;
  const backend = await TestBackend.start(context, "a", (socket) => {
    const chunk = Buffer.alloc(65_536);
    const more = (): void => {
      while (!socket.destroyed && written < 2_000_000_000) {
        written += chunk.length;
        if (!socket.write(chunk)) break;
      }
    };
    socket.on("drain", more);
    more();
  });
  await balancer.serveUp([backend]);
  const before = residentKb(balancer.pid);
  const clients = await Promise.all(Array.from({ length: 20 }, () => balancer.client()));
  for (const client of clients) client.pause();
  let last = -1;
  await eventually(() => {
    const isStill = written === last;
    last = written;
    return isStill && written > 1_000_000 ? true : undefined;
  });
  // On node:net what was read is garbage until the next collection; unbounded it would be 2 GB.
  assert.ok(
    residentKb(balancer.pid) - before < (name === "net" ? 100_000 : 30_000),
    `${residentKb(balancer.pid) - before} kB more`,
  );
  for (const client of clients) client.destroy();
});

testBoth("a draining backend keeps its connections and gets no new one", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  const backends = [await TestBackend.start(context, "a", echo), await TestBackend.start(context, "b")];
  await balancer.serveUp([backends[0] as TestBackend]);
  const old = await balancer.client();
  old.write("one");
  assert.equal(await received(old), "one");
  await balancer.serve([
    { ...(backends[0] as TestBackend).spec, state: "draining" },
    (backends[1] as TestBackend).spec,
  ]);
  for (let turn = 0; turn < 6; turn++) assert.equal(await balancer.who(), "b");
  old.write("two");
  assert.equal(await received(old), "two");
});

testBoth(
  "a connection without traffic is closed after its idle time, a connection with traffic isn't",
  async (context) => {
    const balancer = await TestBalancer.start(context, { idleMs: 600 });
    await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
    const [quiet, busy] = [await balancer.client(), await balancer.client()];
    busy.on("data", () => undefined);
    const talk = setInterval(() => busy.write("."), 100);
    context.after(() => clearInterval(talk));
    assert.equal(await received(quiet), "");
    assert.equal(busy.readableEnded, false);
  },
);

testBoth(
  "no backend has more than maxConnections connections; further clients wait in the order of their arrival",
  async (context) => {
    const balancer = await TestBalancer.start(context, { maxConnections: 2 }, 2);
    const backends = [await TestBackend.start(context, "a", echo), await TestBackend.start(context, "b", echo)];
    await balancer.serveUp(backends);
    const clients = [];
    for (let count = 0; count < 6; count++) {
      const client = await balancer.client();
      client.write(String(count));
      clients.push(client);
      if (count < 4) assert.equal(await received(client), String(count));
    }
    await eventually(() => (balancer.report?.waiting === 2 ? true : undefined));
    assert.deepEqual([balancer.backend("a")?.connections, balancer.backend("b")?.connections], [2, 2]);
    const [first, second, , , fifth, sixth] = clients;
    assert.ok(first && second && fifth && sixth);
    const answers = [received(fifth), received(sixth)];
    first.end();
    assert.equal(await answers[0], "4");
    assert.equal(balancer.report?.rejected, 0);
    second.end();
    assert.equal(await answers[1], "5");
    assert.ok(backends.every(({ sockets }) => sockets.size <= 2));
    for (const client of clients) client.destroy();
  },
);

testBoth(
  "with the PROXY protocol a backend gets the client's address, and a health check is marked as such",
  async (context) => {
    const balancer = await TestBalancer.start(context, { proxyProtocol: true });
    const heads: Buffer[] = [];
    const backend = await TestBackend.start(context, "a", (socket) => {
      socket.once("data", (head: Buffer) => {
        heads.push(head);
        socket.end("ok");
      });
    });
    await balancer.serveUp([backend]);
    const client = await balancer.client();
    client.write("hello");
    assert.equal(await received(client), "ok");
    assert.equal(heads[0]?.[12], 0x20);
    const head = heads.find((each) => each[12] === 0x21) as Buffer;
    assert.equal(head.readUInt16BE(24), client.localPort);
    assert.equal(head.readUInt16BE(26), balancer.port);
  },
);

testBoth(
  "a port in use: the report names its holder, and the port is served as soon as it is free",
  async (context) => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const { port } = holder.address() as { readonly port: number };
    const balancer = await TestBalancer.start(context, { port });
    await balancer.serve([(await TestBackend.start(context, "a")).spec]);
    const problem = await eventually(() => balancer.report?.problem);
    assert.match(problem, new RegExp(`^the port is in use by .+ \\(pid ${process.pid}\\)$`));
    holder.close();
    await eventually(() => (balancer.report?.problem === undefined ? true : undefined));
    assert.equal(await balancer.who(), "a");
  },
);

testBoth(
  "without a service and a keeper connections go on and new ones are accepted, and the next service finds all of them",
  async (context) => {
    const balancer = await TestBalancer.start(context, {}, 2);
    await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
    const client = await balancer.client();
    balancer.serviceGoes();
    balancer.process.disconnect();
    client.write("one");
    assert.equal(await received(client), "one");
    await balancer.serviceComes();
    await eventually(() => (balancer.backend("a")?.connections === 1 ? true : undefined));
    const other = await balancer.client();
    other.write("two");
    assert.equal(await received(other), "two");
  },
);

testBoth("a killed balancer frees its port at once, with all its processes", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
  const client = await balancer.client();
  const ended = once(client.resume(), "end");
  balancer.process.kill("SIGKILL");
  await ended;
  const start = performance.now();
  for (let isOpen = true; isOpen && performance.now() - start < 10_000; ) isOpen = !(await isFree(balancer.port));
  assertWithin(1_000, performance.now() - start, "the release of the port");
});

testBoth("where the balancer leads a session, each of its processes leads one", async (context) => {
  if (isMissing(context, "setsid")) return;
  const balancer = await TestBalancer.start(context, {}, 2, { launcher: ["setsid"] });
  const second = Number(readFileSync(`/proc/${balancer.pid}/task/${balancer.pid}/children`, "utf8").trim());
  assert.ok(second > 1);
  assert.equal(processStat(second)?.session, second);
});

testBoth("of two balancers for one state folder the second ends and names the first", async (context) => {
  const balancer = await TestBalancer.start(context);
  await balancer.serveUp([await TestBackend.start(context, "a")]);
  const { spawn } = await import("node:child_process");
  const second = spawn(process.execPath, [...balancer.process.spawnargs.slice(1)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [[word]] = await once(second, "message");
  assert.equal(word.t, "other");
  assert.equal(word.pid, balancer.pid);
  await once(second, "exit");
  assert.equal(await balancer.who(), "a");
});

testBoth("SIGTERM: no new client is served, connections may end, then the balancer ends", async (context) => {
  const balancer = await TestBalancer.start(context, {}, 2);
  await balancer.serveUp([await TestBackend.start(context, "a", echo)]);
  // The second process then accepts the connection, and has not reported it yet when SIGTERM arrives.
  balancer.process.kill("SIGSTOP");
  const client = await balancer.client();
  client.write("one");
  assert.equal(await received(client), "one");
  const ended = once(balancer.process, "exit");
  balancer.process.kill("SIGTERM");
  balancer.process.kill("SIGCONT");
  await eventually(() => (existsSync(balancer.socket) ? undefined : true));
  client.write("two");
  assert.equal(await received(client), "two");
  client.end();
  const [code] = await ended;
  assert.equal(code, 0);
  assert.deepEqual(readdirSync(balancer.folder), [], "its files are removed");
});

testBoth("a balancer whose state folder is gone ends when no service is connected", async (context) => {
  const balancer = await TestBalancer.start(context);
  balancer.serviceGoes();
  rmSync(balancer.socket.replace(/\/[^/]+$/, ""), { recursive: true, force: true });
  await gone(balancer.pid);
});
