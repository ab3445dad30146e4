import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

export type ScriptSettings = {
  url: string;
  secretKey: string;
  provider: string;
  token: string;
  model: `${string}/${string}`;
  input: Record<string, unknown>;
  bucket: string;
  table: string;
};

/** The single script, in a process of its own. */
export type Script = {
  /** Has so many frames made at once and stores them, and resolves when the last is stored. Without `store`: when it is made. */
  run(atOnce: number, store?: boolean): Promise<void>;
  close(): Promise<void>;
};

export function startScript(settings: ScriptSettings): Script {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", fileURLToPath(new URL("script-process.ts", import.meta.url))],
    env: { SCRIPT: JSON.stringify(settings) },
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines = createInterface({ input: Readable.from(child.stdout) });
  const answers = lines[Symbol.asyncIterator]();
  return {
    async run(atOnce, store = true) {
      await writer.write(new TextEncoder().encode(`${JSON.stringify({ atOnce, store })}\n`));
      const { value = '{"error":"it ended"}' } = await answers.next();
      const answer: { error?: string } = JSON.parse(value);
      if (answer.error !== undefined) throw new Error(`The script: ${answer.error}`);
    },
    async close() {
      await writer.close();
      lines.close();
      await child.status;
    },
  };
}
