/** Ports for tests that run side by side. */
import { createServer } from "node:net";

/** Below the ports that procman chooses for its API and that the kernel gives to clients, so that no other program takes one before its test. Above 10080, the highest that `fetch` refuses. */
const SINGLE = { from: 10_081, count: 4_919 } as const;
const ROWS = { from: 15_000, count: 4_990, ports: 5 } as const;

/** Each test process begins at another port. */
let next = (process.pid * 97) % SINGLE.count;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = SINGLE.from + next;
    next = (next + 1) % SINGLE.count;
    if (await isFree(port)) return port;
  }
}

/** Consecutive ports, most likely free until the test needs them. */
export async function freeRange(count: number = ROWS.ports): Promise<number> {
  for (;;) {
    const first = ROWS.from + Math.floor(Math.random() * (ROWS.count + ROWS.ports - count));
    const ports = Array.from({ length: count }, (_, index) => first + index);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first;
  }
}

/** Whether nothing listens on this port. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
