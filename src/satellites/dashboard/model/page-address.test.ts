/** Addresses of the dashboard's pages (issue 9, part 1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressIn, hashOf, signInLinkIn } from "./page-address.ts";

test("an address that was made is read as it was meant, whatever the id contains", () => {
  for (const id of ["web", "web-2", "a/b", "ä ö", "50%"]) assert.equal(addressIn(hashOf("process", {}, id)).id, id);
  const { page, parameters } = addressIn(
    hashOf("logs", { process: "web,db", search: "a&b=c?d#e", severity: undefined, only: "" }),
  );
  assert.deepEqual([page, parameters.get("process"), parameters.get("search")], ["logs", "web,db", "a&b=c?d#e"]);
  assert.deepEqual([...parameters.keys()], ["process", "search"]);
});

test("an address that was typed wrongly is the overview", () => {
  for (const hash of ["", "#", "#/", "#/nothing", "#/process/", "#/process/%E0%A4%A", "#code=abc"])
    assert.equal(addressIn(hash).page, "overview", hash);
});

test("the code of a link is found, and nothing else is taken for one", () => {
  assert.deepEqual(signInLinkIn("#code=Ab_-9"), { code: "Ab_-9", page: "" });
  assert.deepEqual(signInLinkIn("#code=Ab_-9&page=%23%2Flogs%3Fprocess%3Dweb"), {
    code: "Ab_-9",
    page: "#/logs?process=web",
  });
  for (const hash of [
    "",
    "#code=",
    "#/logs?code=abc",
    "#code=<script>",
    "#xcode=a",
    "#code=a&page=",
    "#code=a&page=<b>",
    "#code=a&hosts=web1:a",
  ])
    assert.equal(signInLinkIn(hash), undefined, hash);
});
