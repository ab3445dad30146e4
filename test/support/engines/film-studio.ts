import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../../../local/network.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { createKeyframeClient } from "../../../client/index.ts";
import { startOwnStack } from "../stack/own-stack.ts";
import { killAndAwaitRestart } from "../stack/restarts.ts";
import { runProgram } from "../tools/run-command.ts";
import { runCrashing } from "./crashing.ts";
import { openGate, type Pass } from "./gate.ts";

export const EXAMPLE = join(PROJECT_ROOT, "examples/film-workflow");

const FUNCTIONS = ["api", "keyframe-generate", "keyframe-replicate-webhook", "keyframe-deliver"];

/** Restate's status for a workflow that has no output yet. */
const NOT_READY = 470;

export type Victim = "the workflow's server" | "Restate" | "Keyframe's functions";

/** Runs a program of npm, and throws what it said when it fails. */
export async function npm(args: string[], cwd: string): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command("npm", { args, cwd }).output();
  const said = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  if (!success) throw new Error(`npm ${args.join(" ")} in ${cwd}: ${said}`);
}

export type FilmStudio = Awaited<ReturnType<typeof openFilmStudio>>;

/** Keyframe, Restate and the example's server, each of which can be killed, with gates between them. */
export async function openFilmStudio() {
  const ends: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    const stack = await startOwnStack({ ownServer: true });
    ends.push(stack.stop);
    // A delivery that failed is sent again soon, however often.
    await stack.sql`
      update keyframe_private.settings
      set webhook_retry_schedule = array_fill('300 milliseconds'::interval, array[500]) where only_row`;

    const { restate, restateUrl, adminUrl } = await startRestate(ends);
    let onPass: (pass: Pass) => Promise<void> = async () => undefined;
    const pass = (one: Pass) => onPass(one);
    const [workflowPort, webhookPort] = [freePort(), freePort()];
    const webhookUrl = `http://127.0.0.1:${webhookPort}`;
    const api = openGate(stack.url, pass);
    ends.push(api.stop);
    const events = openGate(webhookUrl, pass);
    ends.push(events.stop);

    const { secretKey } = stack;
    const { webhooks } = createKeyframeClient({ url: stack.url, getToken: () => secretKey });
    const eventTypes = ["generation.succeeded" as const, "generation.failed" as const];
    const webhook = await webhooks.create({ url: `${events.url}/`, eventTypes });
    const server = await runCrashing("the workflow's server", webhookUrl, (env) =>
      runProgram(
        Deno.execPath(),
        ["run", "-A", ...(env.PRELOAD ? ["--preload", env.PRELOAD] : []), "server.ts"],
        {
          ...{ KEYFRAME_URL: api.url, KEYFRAME_SECRET_KEY: secretKey, WEBHOOK_SECRET: webhook.secret },
          ...{
            RESTATE_URL: restateUrl,
            WORKFLOW_PORT: String(workflowPort),
            WEBHOOK_PORT: String(webhookPort),
            ...env,
          },
        },
        EXAMPLE,
      ),
    );
    ends.push(server.stop);
    const deployment = { uri: `http://127.0.0.1:${workflowPort}`, use_http_11: true };
    await post(`${adminUrl}/deployments`, deployment);

    return {
      stack,
      webhook,
      server,
      eventsUrl: webhookUrl,
      crash: {
        "the workflow's server": server.crash,
        Restate: restate.crash,
        "Keyframe's functions": () => killAndAwaitRestart(stack, ...FUNCTIONS),
      } satisfies Record<Victim, () => Promise<void>>,
      /** From now on, called before and after each request between them. */
      watch: (watcher: (pass: Pass) => Promise<void>) => {
        onPass = watcher;
      },
      /** Calls the workflow of a film, as an app's backend does. */
      call: (filmId: string, handler: string, body?: unknown) => post(`${restateUrl}/film/${filmId}/${handler}`, body),
      /** What the workflow of a film has returned; null while it runs. Throws when it failed. */
      output: async (filmId: string): Promise<string[] | null> => {
        const response = await fetch(`${restateUrl}/restate/workflow/film/${filmId}/output`);
        const text = await response.text();
        if (response.ok) return JSON.parse(text);
        if (response.status !== NOT_READY) throw new Error(`The film failed: ${response.status} ${text}`);
        return null;
      },
      /** Rows of Restate's own tables. */
      query: async (query: string): Promise<Record<string, unknown>[]> =>
        (await post(`${adminUrl}/query`, { query }, { accept: "application/json" })).rows,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startRestate(ends: (() => Promise<unknown>)[]) {
  const require = createRequire(join(EXAMPLE, "server.ts"));
  const { platform, arch } = process;
  const program = require.resolve(`@restatedev/restate-server-${platform}-${arch}/bin/restate-server`);
  const folder = await Deno.makeTempDir({ prefix: "keyframe-restate-" });
  ends.push(() => Deno.remove(folder, { recursive: true }));
  const at = (port: number) => `127.0.0.1:${port}`;
  const [ingress, admin, node] = [at(freePort()), at(freePort()), at(freePort())];
  const restate = await runCrashing("Restate", `http://${ingress}/restate/health`, () =>
    runProgram(program, ["--no-logo"], {
      RESTATE_BASE_DIR: folder,
      RESTATE_NODE_NAME: "test",
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_ADDRESS: node,
      RESTATE_INGRESS__BIND_ADDRESS: ingress,
      RESTATE_ADMIN__BIND_ADDRESS: admin,
      RESTATE_LOG_FILTER: "warn",
      DO_NOT_TRACK: "1",
    }),
  );
  ends.push(restate.stop);
  return { restate, restateUrl: `http://${ingress}`, adminUrl: `http://${admin}` };
}

// biome-ignore lint/suspicious/noExplicitAny: the caller knows which handler answers
async function post(url: string, body?: unknown, headers: Record<string, string> = {}): Promise<any> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const json = { "content-type": "application/json", ...headers };
  const response = await fetch(url, { method: "POST", ...init, headers: body === undefined ? headers : json });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
