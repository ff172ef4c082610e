import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TextMatcher } from "./text-matcher.ts";

/** Common characters make long texts; the last ones are rare or absent in them. */
const common = fc.string({ unit: fc.constantFrom("a", "E", "t", " ", "\n", "ö"), maxLength: 40 });
const needle = fc.string({
  unit: fc.constantFrom("A", "e", "t", " ", "Ö", "x", "€", "😀"),
  minLength: 1,
  maxLength: 5,
});

test("a text is found where a search of the characters finds it, in any case, in few and in many bytes", () => {
  fc.assert(
    fc.property(
      needle,
      fc.array(common, { maxLength: 4 }),
      fc.nat(400),
      fc.boolean(),
      (text, parts, times, isThere) => {
        const before = parts.join("").repeat(times);
        const all = isThere ? `${before}${text.toLowerCase()}${parts.join("")}` : before;
        const [bytes, matcher] = [Buffer.from(all), new TextMatcher(text)];
        const at = all.toLowerCase().indexOf(text.toLowerCase());
        const expected = at === -1 ? -1 : Buffer.byteLength(all.slice(0, at));
        assert.equal(matcher.find(bytes, 0, bytes.length), expected);
        assert.equal(matcher.isIn(bytes), at !== -1);
      },
    ),
    { numRuns: 300 },
  );
});

test("an end that cuts the text is not a match", () => {
  const bytes = Buffer.from("one needle");
  assert.equal(new TextMatcher("needle").find(bytes, 0, bytes.length - 1), -1);
  assert.equal(new TextMatcher("needle").isIn(bytes.subarray(0, -1)), false);
  assert.equal(new TextMatcher("needle").isIn(bytes), true);
});
