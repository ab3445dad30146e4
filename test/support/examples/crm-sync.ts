import { freePort } from "../../../local/network.ts";
import { HUBSPOT_TOKEN } from "./hubspot.ts";
import { until } from "../until.ts";

const FOLDER = new URL("../../../examples/crm-sync/", import.meta.url).pathname;

type Process = { child: Deno.ChildProcess; log: string[]; read: Promise<void> };

/** The example as its own process, which keeps its port and its file however often it is started. Stop it in the end. */
export type CrmSync = {
  url: string;
  folder: string;
  /** What it has logged since it was started last. */
  log(): readonly string[];
  start(environment: Record<string, string>): Promise<void>;
  /** Runs it to its end: for what it refuses to start with. */
  run(environment: Record<string, string>): Promise<{ code: number; error: string }>;
  /** As a crash would. */
  kill(): Promise<void>;
  stop(): Promise<void>;
};

export async function newCrmSync(): Promise<CrmSync> {
  const folder = await Deno.makeTempDir({ prefix: "kf-crm-sync-" });
  const port = freePort();
  let running: Process | undefined;
  const end = async (signal: Deno.Signal) => {
    const ended = running;
    running = undefined;
    ended?.child.kill(signal);
    await ended?.child.status;
    await ended?.read;
  };
  return {
    url: `http://127.0.0.1:${port}/`,
    folder,
    log: () => running?.log ?? [],
    start: async (environment) => {
      const env = { PORT: String(port), STORE_FILE: `${folder}/store.sqlite`, ...environment };
      const child = spawn("main.ts", env);
      const log: string[] = [];
      running = { child, log, read: readLines(child.stderr, log) };
      await until("crm-sync listens", () => log.some((line) => line.includes("listening on")));
    },
    run: async (environment) => {
      const { code, stderr } = await spawn("main.ts", { PORT: String(port), ...environment }).output();
      return { code, error: new TextDecoder().decode(stderr) };
    },
    kill: () => end("SIGKILL"),
    stop: async () => {
      await end("SIGTERM");
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Runs set-up-hubspot.ts. Returns what it printed; throws what it complained of. */
export async function setUpHubSpot(url: string, token = HUBSPOT_TOKEN): Promise<string> {
  const child = spawn("set-up-hubspot.ts", { HUBSPOT_API_URL: url, HUBSPOT_TOKEN: token });
  const { code, stdout, stderr } = await child.output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

function spawn(file: string, environment: Record<string, string>): Deno.ChildProcess {
  const env = { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "", ...environment };
  const args = ["run", "-A", FOLDER + file];
  return new Deno.Command(Deno.execPath(), { args, env, clearEnv: true, stdout: "piped", stderr: "piped" }).spawn();
}

async function readLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>, lines: string[]): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  }
}
