import assert from "node:assert/strict";
import { test } from "node:test";
import { EventListeners } from "./event-listeners.ts";
import { type OptionsError, optionsFor, pluginIn } from "./plugin-definition.ts";
import { filledIn } from "./plugin-variables.ts";

const PLUGIN = { name: "x", version: "1.0.0", setup: () => undefined };

test("a plugin is the default export, with name, version and setup, of an ES module or a CommonJS module", () => {
  assert.equal(pluginIn({ default: PLUGIN }), PLUGIN);
  assert.equal(pluginIn({ default: { default: PLUGIN } }.default), PLUGIN);
  assert.equal(pluginIn(PLUGIN), PLUGIN);
  assert.throws(
    () => pluginIn({ default: undefined }),
    /its default export is missing; a plugin's module ends with `export default definePlugin/,
  );
  assert.throws(() => pluginIn({ default: { ...PLUGIN, name: "" } }), /has no "name"/);
  assert.throws(() => pluginIn({ default: { ...PLUGIN, setup: 1 } }), /no function "setup"/);
});

test("options are checked by a JSON schema, each fault with its place", async () => {
  const schema = {
    type: "object",
    properties: { to: { type: "string" } },
    required: ["to"],
    additionalProperties: false,
  } as const;
  assert.deepEqual(await optionsFor({ schema }, { to: "x" }), { to: "x" });
  await assert.rejects(optionsFor({ schema }, { too: 1 }), ({ faults }: OptionsError) => {
    assert.deepEqual(
      faults.map(({ place }) => place),
      ["options.to", "options.too"],
    );
    return true;
  });
});

test("options are checked by a schema of zod or a similar library, which may fill in values", async () => {
  const validate = (value: unknown) =>
    (value as { readonly port?: number }).port === 0
      ? { issues: [{ message: "too small", path: ["port", { key: 3 }] }] }
      : { value: { port: 1, ...(value as object) } };
  const schema = { "~standard": { validate } } as const;
  assert.deepEqual(await optionsFor({ schema: schema as never }, {}), { port: 1 });
  await assert.rejects(optionsFor({ schema: schema as never }, { port: 0 }), ({ faults }: OptionsError) => {
    assert.deepEqual(faults, [{ place: "options.port[3]", message: "too small" }]);
    return true;
  });
});

test("variables are filled in at any depth; a missing variable is a fault with its place", () => {
  const env = { HOST: "here", EMPTY: "" };
  const { value, faults } = filledIn(
    { to: "tcp://${HOST}:${PORT:-514}", list: ["${EMPTY:-x}", 5], deep: { secret: "${TOKEN}" } },
    env,
  );
  assert.deepEqual(value, { to: "tcp://here:514", list: ["x", 5], deep: { secret: "${TOKEN}" } });
  assert.deepEqual(
    faults.map(({ place, message }) => [place, message.split(",")[0]]),
    [["options.deep.secret", "needs the variable TOKEN"]],
  );
});

test("an error of a listener is logged and stops no other listener; the next event waits for a slow listener", async () => {
  const [errors, received, types]: [string[], string[], string[]] = [[], [], []];
  const listeners = new EventListeners(
    (each) => types.push(each.join()),
    (text) => errors.push(text),
  );
  const stop = listeners.on("gap", () => {
    throw new Error("boom");
  });
  listeners.on("gap", async (event: never) => {
    await new Promise((resolve) => setImmediate(resolve));
    received.push(String((event as { readonly lost: number }).lost));
  });
  await listeners.deliver([
    { type: "gap", lost: 1 },
    { type: "gap", lost: 2 },
  ]);
  assert.deepEqual(received, ["1", "2"]);
  assert.equal(errors.length, 2);
  assert.match(errors[0] ?? "", /its listener for gap failed: Error: boom/);
  stop();
  assert.deepEqual(types, ["gap"]);
});
