/** Runs tests of the balancer over both of its TCP implementations: the handles of Node, and `node:net`. */
import { type TestContext, test } from "node:test";

const NAMES = ["binding", "net"] as const;

type Name = (typeof NAMES)[number];

const names = new WeakMap<object, Name>();

export function testBoth(title: string, run: (context: TestContext, name: Name) => Promise<void>): void {
  for (const name of NAMES)
    test(`${title} [${name}]`, async (context) => {
      names.set(context, name);
      await run(context, name);
    });
}

/** Environment of the balancer in this test. */
export function tcpEnvironment(context: object): Readonly<Record<string, string>> {
  return names.get(context) === "net" ? { PROCMAN_BALANCER_TCP: "net" } : {};
}
