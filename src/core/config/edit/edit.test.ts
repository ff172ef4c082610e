import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "jsonc-parser";
import { ProcmanError } from "../../base/errors.ts";
import { appendProcess, removeProcess } from "./edit.ts";

const NEW = { id: "new", cmd: "node new.js" };

const FILE = `{
  // The shop.
  "name": "shop", // short
  "processes": [
    // Serves the pages.
    // Restarted every night.
    {
      "id": "web",
      "cmd": "node web.js" // no build
    }, // behind nginx

    // --- jobs ---

    /* Empties the queue. */
    { "id": "queue", "cmd": "node queue.js" }, /* slow */
    { "id": "mail", "cmd": "node mail.js" } // last
    // { "id": "old", "cmd": "node old.js" }
  ],
  "logger": { "console": true }
}
`;

test("append: a process goes behind the last one, comments and the style of its neighbour are kept", () => {
  const result = appendProcess(FILE, NEW);
  assert.equal(result, FILE.replace('" } // last\n', '" }, // last\n    { "id": "new", "cmd": "node new.js" }\n'));
});

test("append: a process over several lines takes the file's indentation and line ends", () => {
  const source = '{\r\n\t"processes": [\r\n\t\t{\r\n\t\t\t"id": "a"\r\n\t\t}\r\n\t]\r\n}\r\n';
  assert.equal(
    appendProcess(source, NEW),
    source.replace(
      "\t\t}\r\n\t]",
      '\t\t},\r\n\t\t{\r\n\t\t\t"id": "new",\r\n\t\t\t"cmd": "node new.js"\r\n\t\t}\r\n\t]',
    ),
  );
});

test("append: a trailing comma stays in use", () => {
  const source = '{\n  "processes": [\n    { "id": "a" },\n  ],\n}\n';
  assert.equal(
    appendProcess(source, NEW),
    source.replace('{ "id": "a" },\n', '{ "id": "a" },\n    { "id": "new", "cmd": "node new.js" },\n'),
  );
});

test("append: an empty list opens over several lines in a file of several lines", () => {
  assert.equal(
    appendProcess('{\n  "processes": []\n}', { id: "a" }),
    '{\n  "processes": [\n    {\n      "id": "a"\n    }\n  ]\n}',
  );
});

test("append: a list in one line stays in one line", () => {
  assert.equal(
    appendProcess('{ "processes": [{ "id": "a" }] }', NEW),
    '{ "processes": [{ "id": "a" }, { "id": "new", "cmd": "node new.js" }] }',
  );
  assert.equal(
    appendProcess('{"processes":[{"id":"a"}]}', NEW),
    '{"processes":[{"id":"a"},{"id":"new","cmd":"node new.js"}]}',
  );
  assert.equal(appendProcess('{"processes":[]}', { id: "a" }), '{"processes":[{"id":"a"}]}');
});

test("append: brackets and spaces in strings stay as they are", () => {
  assert.equal(
    appendProcess('{ "processes": [] }', { id: "a", worker: ["[ x ]"], env: {} }),
    '{ "processes": [{ "id": "a", "worker": ["[ x ]"], "env": {} }] }',
  );
});

test("append: a file without a list of processes is refused", () => {
  for (const source of ["", "5", "{}", '{ "processes": {} }', `{ "a": ${"[".repeat(20_000)}`]) {
    assert.throws(
      () => appendProcess(source, NEW),
      (error) => error instanceof ProcmanError && error.code === "configuration-invalid",
    );
  }
});

test("remove: the comments directly above a process and on its line go with it", () => {
  const result = removeProcess(FILE, "web");
  assert.equal(result, FILE.replace(/\n {4}\/\/ Serves[\s\S]*behind nginx/, ""));
});

test("remove: comments separated from the process by an empty line stay", () => {
  assert.equal(removeProcess(FILE, "queue"), FILE.replace(/\n {4}\/\* Empties[\s\S]*slow \*\//, ""));
});

test("remove: the last process takes the comma before it, what follows stays", () => {
  assert.equal(
    removeProcess(FILE, "mail"),
    FILE.replace('" }, /* slow */\n    { "id": "mail", "cmd": "node mail.js" } // last', '" } /* slow */'),
  );
});

test("remove: in one line", () => {
  const source = '{ "processes": [{ "id": "a" }, /* two */ { "id": "b" }, { "id": "c" } /* three */] }';
  assert.equal(removeProcess(source, "a"), '{ "processes": [/* two */ { "id": "b" }, { "id": "c" } /* three */] }');
  assert.equal(removeProcess(source, "b"), '{ "processes": [{ "id": "a" }, { "id": "c" } /* three */] }');
  assert.equal(removeProcess(source, "c"), '{ "processes": [{ "id": "a" }, /* two */ { "id": "b" }] }');
});

test("remove: nothing moves into a comment", () => {
  const source = '{ "processes": [ // all\n  { "id": "a" }, { "id": "b" } ] }';
  assert.deepEqual(parse(removeProcess(source, "a")), { processes: [{ id: "b" }] });
  assert.deepEqual(parse(removeProcess('{ "processes": [ // all\n  { "id": "a" } ] }', "a")), { processes: [] });
});

test("remove: the last of all leaves an empty list", () => {
  assert.equal(
    removeProcess('{\n  "processes": [\n    // web\n    { "id": "a" },\n  ]\n}', "a"),
    '{\n  "processes": []\n}',
  );
});

test("remove: an unknown id is refused, and a similar one is named", () => {
  assert.throws(
    () => removeProcess(FILE, "wbe"),
    (error) =>
      error instanceof ProcmanError &&
      error.code === "process-unknown" &&
      error.message === 'Cannot remove "wbe": no such process. Did you mean "web"?',
  );
});

// Random documents, with anything that JSONC allows between two tokens.
const EOL = fc.constantFrom("\n", "\r\n");
const trivia = (eol: string) => {
  const piece = fc.constantFrom(
    " ",
    "\t",
    eol,
    `// c "x", ]${eol}`,
    "/* d , */",
    `/* e${eol} // f */`,
    `${eol}    `,
    `${eol}${eol}`,
  );
  return fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(""));
};
const element = (eol: string, id: string) =>
  fc.tuple(trivia(eol), trivia(eol), fc.constantFrom('"x"', "[1, 2]", '"// http://x"', "{}")).map(([a, b, value]) => ({
    text: `{${a}"id": "${id}",${b}"v": ${value}}`,
    data: { id, v: parse(value) as unknown },
  }));

type Sample = {
  readonly source: string;
  readonly elements: readonly { readonly text: string; readonly data: { readonly id: string } }[];
  readonly head: string;
  readonly foot: string;
};

const sample: fc.Arbitrary<Sample> = fc.tuple(EOL, fc.nat(4)).chain(([eol, count]) =>
  fc
    .record({
      elements: fc.tuple(...Array.from({ length: count }, (_, index) => element(eol, `p${index}`))),
      gaps: fc.array(trivia(eol), { minLength: 2 * count + 2, maxLength: 2 * count + 2 }),
      trailing: fc.boolean(),
      rest: fc.tuple(trivia(eol), trivia(eol), trivia(eol)),
      bom: fc.constantFrom("", "\uFEFF"),
    })
    .map(({ elements, gaps, trailing, rest, bom }) => {
      const head = `${bom}${rest[0]}{${rest[1]}"processes":${rest[2]}[`;
      const foot = `],${rest[1]}"name": "x"${rest[2]}}${rest[0]}`;
      const inner = elements
        .map(
          ({ text }, index) =>
            (gaps[2 * index] ?? "") + text + (gaps[2 * index + 1] ?? "") + (index < count - 1 || trailing ? "," : ""),
        )
        .join("");
      return { source: `${head}${inner}${gaps.at(-1) ?? ""}${foot}`, elements, head, foot };
    }),
);

const data = (text: string): unknown => {
  const errors: never[] = [];
  const value: unknown = parse(text.replace(/^\uFEFF/, ""), errors, { allowTrailingComma: true });
  assert.deepEqual(errors, [], text);
  return value;
};

const inOrder = (text: string, parts: readonly string[]): void => {
  let at = 0;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    assert.notEqual(found, -1, `${part} is not in ${text}`);
    at = found + part.length;
  }
};

test("property: append adds one process to the data and takes no byte away", () => {
  fc.assert(
    fc.property(sample, ({ source, elements, head, foot }) => {
      const result = appendProcess(source, NEW);
      assert.deepEqual(data(result), { processes: [...elements.map(({ data }) => data), NEW], name: "x" });
      assert.ok(result.startsWith(head) && result.endsWith(foot));
      let at = 0;
      for (const byte of result) if (byte === source[at]) at += 1;
      assert.equal(at, source.length);
    }),
    { numRuns: 2000 },
  );
});

test("property: remove takes one process out of the data, other processes and all around the list stay byte for byte", () => {
  fc.assert(
    fc.property(sample, fc.nat(), ({ source, elements, head, foot }, pick) => {
      const gone = elements[pick % elements.length];
      if (gone === undefined) return;
      const result = removeProcess(source, gone.data.id);
      const kept = elements.filter((candidate) => candidate !== gone);
      assert.deepEqual(data(result), { processes: kept.map(({ data }) => data), name: "x" });
      assert.ok(result.startsWith(head) && result.endsWith(foot));
      inOrder(
        result,
        kept.map(({ text }) => text),
      );
    }),
    { numRuns: 2000 },
  );
});

test("property: append, then remove gives back the same bytes", () => {
  fc.assert(
    fc.property(sample, ({ source }) => {
      assert.equal(removeProcess(appendProcess(source, NEW), "new"), source);
    }),
    { numRuns: 5000 },
  );
});
