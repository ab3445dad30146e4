import { freePort } from "../../../local/network.ts";
import { type Running, runCommand } from "../tools/run-command.ts";
import { HUBSPOT_TOKEN } from "./hubspot.ts";

/** examples/crm-sync as its own process, which keeps its port and its file however often it is started. Stop it in the end. */
export async function newCrmSync() {
  const folder = await Deno.makeTempDir({ prefix: "kf-crm-sync-" });
  const port = freePort();
  let running: Running | undefined;
  const run = (environment: Record<string, string>) =>
    runCommand("examples/crm-sync/main.ts", [], { PORT: String(port), ...environment });
  const end = async (signal: Deno.Signal) => {
    running?.kill(signal);
    await running?.ended;
  };
  return {
    url: `http://127.0.0.1:${port}/`,
    folder,
    /** What it has logged since it was started last. */
    log: () => running?.output() ?? "",
    start: async (environment: Record<string, string>) => {
      running = run({ STORE_FILE: `${folder}/store.sqlite`, ...environment });
      await running.printed("listening on");
    },
    /** Runs it to its end: for what it refuses to start with. */
    run: (environment: Record<string, string>) => run(environment).ended,
    /** As a crash would. */
    kill: () => end("SIGKILL"),
    stop: async () => {
      await end("SIGTERM");
      await Deno.remove(folder, { recursive: true });
    },
  };
}

export type CrmSync = Awaited<ReturnType<typeof newCrmSync>>;

/** Runs set-up-hubspot.ts. */
export const setUpHubSpot = (url: string, token = HUBSPOT_TOKEN) =>
  runCommand("examples/crm-sync/set-up-hubspot.ts", [], { HUBSPOT_API_URL: url, HUBSPOT_TOKEN: token }).ended;
