import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import process from "node:process";
import postgres from "postgres";
import { parseOptions, runMain } from "../command-line/run-main.ts";
import { findRunningStack } from "../local/stack/data-folder.ts";
import { loadStackKeys } from "../local/stack/stack-keys.ts";
import { STACK_OPTIONS } from "../local/stack/stack-settings.ts";
import { describeResults, runStatements } from "./sql/run-statements.ts";

const HELP = `npm run sql -- [options] ["statement"]   runs SQL on the stack that npm start runs, like Studio's SQL editor, as the role postgres

  Without a statement it reads them from standard input; on a terminal each runs when its line ends with a semicolon.

  --data DIR    the data of the stack (default .keyframe)`;

const MAX_COLUMNS = 160;

async function main(): Promise<number> {
  const { values, positionals } = parseOptions({
    options: { data: STACK_OPTIONS.data },
    allowPositionals: true,
  });
  const sql = postgres(await databaseUrl(resolve(values.data)), {
    max: 1,
    connection: { role: "postgres" },
    onnotice: ({ message }) => console.error(message),
  });
  const width = Deno.stdout.isTerminal() ? Deno.consoleSize().columns : MAX_COLUMNS;
  const run = async (text: string) => console.log(describeResults(await runStatements(sql, text), width));
  try {
    if (positionals.length > 0) await run(positionals.join(" "));
    else if (process.stdin.isTTY) await converse(run);
    else await run(await new Response(Deno.stdin.readable).text());
    return 0;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** The lock file names the running stack; the password is in keys.json, which only its owner can read. */
async function databaseUrl(dataDir: string): Promise<string> {
  const given = Deno.env.get("KEYFRAME_DATABASE_URL");
  if (given) return given;
  const running = findRunningStack(dataDir);
  if (running?.database === undefined)
    throw new Error(`No stack runs on ${dataDir}. Run npm start, or name its data folder with --data.`);
  return `postgres://postgres:${(await loadStackKeys(dataDir)).postgresPassword}@${running.database}`;
}

/** An error is printed, and the next statement is read. Ends at the end of input (Ctrl-D). */
async function converse(run: (text: string) => Promise<void>): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: "sql> " });
  let text = "";
  lines.prompt();
  for await (const line of lines) {
    text += `${line}\n`;
    if (/;\s*$/.test(text)) {
      await run(text).catch((error: unknown) => console.error(error instanceof Error ? error.message : error));
      text = "";
    }
    lines.setPrompt(text.trim() === "" ? "sql> " : "...> ");
    lines.prompt();
  }
}

runMain(HELP, main);
