/** Which program opens the dashboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { programFor } from "./dashboard-link.ts";

test("BROWSER goes before the desktop's own program; without a desktop there is none", () => {
  assert.equal(programFor({ BROWSER: "firefox", DISPLAY: ":0" }, "linux"), "firefox");
  assert.equal(programFor({ DISPLAY: ":0" }, "linux"), "xdg-open");
  assert.equal(programFor({ WAYLAND_DISPLAY: "wayland-0" }, "linux"), "xdg-open");
  assert.equal(programFor({}, "darwin"), "open");
  assert.equal(programFor({ DISPLAY: "", BROWSER: "" }, "linux"), undefined);
});
