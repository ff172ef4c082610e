import assert from "node:assert/strict";
import { test } from "node:test";
import { asCalled } from "./called-as.ts";

test("messages name commands as they were called: by npx, pnpm, or the shell", () => {
  const text = 'procman: Cannot run; "procman reload" applies it, `procman init` makes one';
  assert.equal(asCalled(text, {}), text);
  assert.equal(asCalled(text, { npm_command: "run-script" }), text);
  assert.equal(
    asCalled(text, { npm_command: "exec", npm_config_user_agent: "npm/11.19.1 node/v20.20.2 linux x64" }),
    'procman: Cannot run; "npx procman reload" applies it, `npx procman init` makes one',
  );
  assert.equal(
    asCalled('"procman stop web"', { npm_command: "exec", npm_config_user_agent: "pnpm/10.1.0 npm/? node/v22" }),
    '"pnpm exec procman stop web"',
  );
});
