/** Addresses of the dashboard's pages (issue 9, part 1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { addressIn, hashOf, signInLinkIn } from "./page-address.ts";

test("an address that was made is read as it was meant, whatever the id contains", () => {
  for (const id of ["web", "web-2", "a/b", "ä ö", "50%"]) assert.equal(addressIn(hashOf("process", {}, id)).id, id);
  const { page, parameters } = addressIn(hashOf("logs", { process: "web,db", search: "a&b=c?d#e", severity: undefined, only: "" }));
  assert.deepEqual([page, parameters.get("process"), parameters.get("search")], ["logs", "web,db", "a&b=c?d#e"]);
  assert.deepEqual([...parameters.keys()], ["process", "search"]);
});

test("an address that was typed wrongly is the overview", () => {
  for (const hash of ["", "#", "#/", "#/nothing", "#/process/", "#/process/%E0%A4%A", "#code=abc"])
    assert.equal(addressIn(hash).page, "overview", hash);
});

test("the code of a link is found, and nothing else is taken for one", () => {
  assert.deepEqual(signInLinkIn("#code=Ab_-9"), { code: "Ab_-9", hosts: new Map() });
  const several = signInLinkIn("#code=Ab_-9&hosts=web1:Ab_-9,db%201:cd,gone");
  assert.deepEqual(
    [...(several?.hosts ?? [])],
    [
      ["web1", "Ab_-9"],
      ["db 1", "cd"],
      ["gone", undefined],
    ],
  );
  for (const hash of ["", "#code=", "#/logs?code=abc", "#code=<script>", "#xcode=a", "#code=a&hosts=", "#code=a&hosts=<b>"])
    assert.equal(signInLinkIn(hash), undefined, hash);
});
