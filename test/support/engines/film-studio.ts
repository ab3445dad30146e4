import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../../../local/network.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { createKeyframeClient } from "../../../client/index.ts";
import { startOwnStack } from "../stack/own-stack.ts";
import { killAndAwaitRestart } from "../stack/restarts.ts";
import { until } from "../until.ts";
import { runCrashing } from "./crashing.ts";
import { openGate, type Pass } from "./gate.ts";

export const EXAMPLE = join(PROJECT_ROOT, "examples/film-workflow");

/** The functions that serve a request: a start, another call, an event; without a request all. */
function functionsFor(request?: string): string[] {
  if (request === undefined) return ["api", "keyframe-generate", "keyframe-replicate-webhook", "keyframe-deliver"];
  if (!request.includes("/functions/v1/api/")) return ["keyframe-deliver", "keyframe-replicate-webhook"];
  return request.includes("/generate/") ? ["api", "keyframe-generate"] : ["api"];
}

export type Victim = "the workflow's server" | "Restate" | "one of Keyframe's functions";

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

    let turn = 0;
    /** Of the functions that serve the request one, in turn: the stack pauses for ten seconds before it restarts one that ends too often. */
    const killFunction = async (request?: string) => {
      const names = functionsFor(request);
      const name = names[turn++ % names.length] ?? "";
      const restarted = killAndAwaitRestart(stack, name);
      // The leases of a killed worker end at once, not in a minute.
      const ago = stack.sql`now() - interval '1 second'`;
      if (name === "keyframe-generate")
        await stack.sql`update keyframe_private.work set due_at = ${ago} where state = 'leased'`;
      if (name === "keyframe-deliver") await restarted;
    };
    let functions: Promise<void> = Promise.resolve();
    const crashFunction = (request?: string) => {
      functions = functions.then(() => killFunction(request));
      return functions;
    };
    const { secretKey } = stack;
    const { webhooks } = createKeyframeClient({ url: stack.url, getToken: () => secretKey });
    const eventTypes = ["generation.succeeded" as const, "generation.failed" as const];
    const webhook = await webhooks.create({ url: `${events.url}/`, eventTypes });
    const serverWith = ({ preload, ...env }: { preload?: string; LOOK_AFTER_SECONDS?: string } = {}) => ({
      program: Deno.execPath(),
      args: ["run", "-A", ...(preload ? ["--preload", preload] : []), "server.ts"],
      env: {
        ...{ KEYFRAME_URL: api.url, KEYFRAME_SECRET_KEY: secretKey, WEBHOOK_SECRET: webhook.secret },
        ...{ RESTATE_URL: restateUrl, WORKFLOW_PORT: String(workflowPort), WEBHOOK_PORT: String(webhookPort), ...env },
      },
      cwd: EXAMPLE,
    });
    const server = await runCrashing("the workflow's server", webhookUrl, serverWith());
    ends.push(server.stop);
    const deployment = { uri: `http://127.0.0.1:${workflowPort}`, use_http_11: true };
    await post(`${adminUrl}/deployments`, deployment);

    return {
      stack,
      webhook,
      /** Kills the server and runs it with these from now on. */
      crashInto: (change?: Parameters<typeof serverWith>[0]) => server.crashInto(serverWith(change)),
      eventsUrl: webhookUrl,
      crash: {
        "the workflow's server": server.crash,
        Restate: restate.crash,
        "one of Keyframe's functions": crashFunction,
      } satisfies Record<Victim, (request?: string) => Promise<void>>,
      /** From now on, called before and after each request between them. */
      watch: (watcher: (pass: Pass) => Promise<void>) => {
        onPass = watcher;
      },
      /** Calls the workflow of a film as an app's backend does: again, while Restate does not answer. */
      call: async (filmId: string, handler: string, body?: unknown) =>
        (
          await until(`${handler} is answered`, () =>
            post(`${restateUrl}/film/${filmId}/${handler}`, body).then(
              (answer) => ({ answer }),
              (error) => {
                if (error instanceof Refused) throw error;
                return null;
              },
            ),
          )
        ).answer,
      /** What the workflow of a film has returned; null while it runs. Throws when it failed. */
      output: async (filmId: string): Promise<string[] | null> => {
        const response = await fetch(`${restateUrl}/restate/workflow/film/${filmId}/output`).catch(() => null);
        const text = await response?.text();
        if (response?.ok) return JSON.parse(text ?? "");
        if (text?.includes('"source":"invocation"')) throw new Error(`The film failed: ${text}`);
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
  const restate = await runCrashing("Restate", `http://${ingress}/restate/health`, {
    program,
    args: ["--no-logo"],
    env: {
      RESTATE_BASE_DIR: folder,
      RESTATE_NODE_NAME: "test",
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_ADDRESS: node,
      RESTATE_INGRESS__BIND_ADDRESS: ingress,
      RESTATE_ADMIN__BIND_ADDRESS: admin,
      RESTATE_LOG_FILTER: "warn",
      DO_NOT_TRACK: "1",
    },
    cwd: folder,
  });
  ends.push(restate.stop);
  return { restate, restateUrl: `http://${ingress}`, adminUrl: `http://${admin}` };
}

class Refused extends Error {}

// biome-ignore lint/suspicious/noExplicitAny: the caller knows which handler answers
async function post(url: string, body?: unknown, headers: Record<string, string> = {}): Promise<any> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const json = { "content-type": "application/json", ...headers };
  const response = await fetch(url, { method: "POST", ...init, headers: body === undefined ? headers : json });
  const text = await response.text();
  const said = `${url} answered ${response.status}: ${text}`;
  if (response.status >= 500) throw new Error(said);
  if (!response.ok) throw new Refused(said);
  return text === "" ? undefined : JSON.parse(text);
}
