/** One rule only: biome's noFloatingPromises misses promises whose type comes from elsewhere (node:fs/promises, once, inferred returns). */
import { parser, plugin } from "typescript-eslint";

/** node:test waits for its tests itself. */
const WAITED_FOR = { from: "package", package: "node:test", name: ["test", "it", "describe", "suite"] };

export default [
  {
    files: ["src/**/*.{ts,tsx}", "scripts/**/*.ts", "test/**/*.ts"],
    languageOptions: { parser, parserOptions: { project: "./tsconfig.json" } },
    plugins: { "@typescript-eslint": plugin },
    rules: { "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: [WAITED_FOR] }] },
  },
];
