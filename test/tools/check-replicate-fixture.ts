import { serveHttp } from "../../local/simulator/serve-http.ts";
import { startSimulator } from "../../local/simulator/start-simulator.ts";
import { createProvider } from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import { imageRow, videoRow } from "./models-check-fixture.ts";

const COMMAND = new URL("../../tools/check-replicate.ts", import.meta.url).pathname;

/** The simulator, a project whose table has these rows, and the environment that leads the command to both. */
export async function startScene() {
  const simulator = await startSimulator({ token: "r8_right" });
  const rows = [imageRow({ step: "last-frame" }), imageRow(), videoRow()];
  const project = await serveHttp(async () => Response.json(rows), 0);
  const folder = await Deno.makeTempDir({ prefix: "kf-check-replicate-" });
  const provider = createProvider({ token: simulator.token, baseUrl: simulator.apiUrl, fetch, now: Date.now });
  return {
    simulator,
    /** Every run there has been, newest first. */
    runs: async () => (await provider.list(new Date(0), null, new AbortController().signal)).runs,
    environment: {
      TMPDIR: folder,
      KEYFRAME_REPLICATE_API_TOKEN: "r8_right",
      KEYFRAME_REPLICATE_API_BASE_URL: simulator.apiUrl,
      KEYFRAME_REPLICATE_OUTPUT_HOSTS: simulator.url,
      SUPABASE_URL: `http://127.0.0.1:${project.port}`,
      SUPABASE_SECRET_KEYS: '{"default":"sb_secret_right"}',
    },
    stop: async () => {
      await project.stop();
      await simulator.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Starts the command. Its standard input is no terminal, as in CI. */
export function startCheck(args: string[], environment: Record<string, string>): Deno.ChildProcess {
  const env = { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "", ...environment };
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", COMMAND, ...args],
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** How it ended and what it said. */
export async function outcome(child: Deno.ChildProcess): Promise<{ code: number; said: string; error: string }> {
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, said: decoder.decode(stdout), error: decoder.decode(stderr) };
}

/** Stops the command as Ctrl-C does, once it has said that its run is started. Returns how it ended and what it complained of. */
export async function stopOnceStarted(child: Deno.ChildProcess): Promise<{ code: number; error: string }> {
  let said = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    const before = said.includes("Started");
    said += text;
    if (!before && said.includes("Started")) child.kill("SIGINT");
  }
  const error = await new Response(child.stderr).text();
  return { code: (await child.status).code, error };
}
