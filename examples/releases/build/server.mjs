// Says which release answers.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
createServer((_request, response) => response.end(`${version}\n`)).listen(process.env.PORT, "127.0.0.1");
