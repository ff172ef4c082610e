/** `npm run words`: writes the list of the texts that users may read. */
import { writeFileSync } from "node:fs";
import { wordList } from "./word-list.ts";

writeFileSync("generated/words.txt", wordList("src"));
