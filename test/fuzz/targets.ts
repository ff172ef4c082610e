/** All targets by name, loaded on use. */
import type { FuzzTarget } from "./fuzz-target.ts";

export const TARGETS: Readonly<Record<string, () => Promise<FuzzTarget>>> = {
  configuration: async () => (await import("./configuration-target.ts")).openConfiguration(),
  "log-store": async () => (await import("./log-store-target.ts")).openLogStore(),
  records: async () => (await import("./records-target.ts")).openRecords(),
  answers: async () => (await import("./answers-target.ts")).openAnswers(),
  api: async () => (await import("./api-target.ts")).openApi(),
  imports: async () => (await import("./imports-target.ts")).openImports(),
  "import-words": async () => (await import("./import-words-target.ts")).openImportWords(),
  messages: async () => (await import("./messages-target.ts")).openMessages(),
};
