import { createServer, type IncomingMessage } from "node:http";
import process from "node:process";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { connect, rpc } from "@restatedev/restate-sdk-clients";
import { createKeyframeClient } from "keyframe-client";
import { Webhook } from "standardwebhooks";
import { type Ended, type FilmWorkflow, filmWorkflow } from "./film.ts";

/** An event has at most 20 kB. */
const MAX_BYTES = 64 * 1024;
/** Keyframe waits 15 s for the answer. An event that Restate has not taken by then comes again. */
const TIMEOUT_MS = 10_000;

const { KEYFRAME_URL: url, KEYFRAME_SECRET_KEY: secretKey, WEBHOOK_SECRET: secret, RESTATE_URL } = process.env;
const { HOST = "127.0.0.1", WORKFLOW_PORT = "9080", WEBHOOK_PORT = "9081", RESTATE_IDENTITY_KEY } = process.env;
const lookAfterSeconds = Number(process.env.LOOK_AFTER_SECONDS ?? 3600);
if (!url || !secretKey || !secret || !RESTATE_URL) {
  console.error("Set KEYFRAME_URL, KEYFRAME_SECRET_KEY, WEBHOOK_SECRET and RESTATE_URL: README.md says what they are.");
  process.exit(1);
}

// Restate calls the workflow on its own port, which must not be reachable from elsewhere. Restate repeats failures, so the client does not.
const clientFor = (userId: string) => createKeyframeClient({ url, secretKey, userId, retries: 0 });
const film = filmWorkflow(clientFor, lookAfterSeconds);
const identityKeys = RESTATE_IDENTITY_KEY ? [RESTATE_IDENTITY_KEY] : [];
const workflows = createEndpointHandler({ services: [film], identityKeys });
createServer(workflows).listen(Number(WORKFLOW_PORT), HOST);

// Keyframe posts its events to the other port.
const webhook = new Webhook(secret);
const restate = connect({ url: RESTATE_URL });
createServer(async (request, response) => {
  const status = await receive(request).catch((error) => {
    console.error(`not taken, it comes again: ${error}`);
    return 503;
  });
  response.writeHead(status).end();
}).listen(Number(WEBHOOK_PORT), HOST, () => console.log(`listening on http://${HOST}:${WEBHOOK_PORT}/`));

/** The parts of an event that are used. */
type Event = { type: string; data: { predictionId: string; filmId?: string }; error?: Ended["error"] };

/** The status: 204 once Restate has recorded the event. Nothing is queued here that a crash could lose. */
async function receive(request: IncomingMessage): Promise<number> {
  if (request.method !== "POST") return 405;
  let body = "";
  for await (const text of request.setEncoding("utf8")) {
    body += text;
    if (body.length > MAX_BYTES) return 413;
  }
  const event = verify(body, request.headers as Record<string, string>);
  if (event === null) return 401;
  const { type, data, error = null } = event;
  const { predictionId, filmId } = data;
  if ((type !== "generation.succeeded" && type !== "generation.failed") || filmId === undefined) return 204;
  const status = type === "generation.succeeded" ? "succeeded" : "failed";
  const workflow = restate.workflowClient<FilmWorkflow>({ name: "film" }, filmId);
  await workflow.ended({ predictionId, status, error }, rpc.opts({ timeout: TIMEOUT_MS }));
  return 204;
}

/** The event, if its signature and age are right. Who can sign is Keyframe, so its form needs no check. */
function verify(body: string, headers: Record<string, string>): Event | null {
  try {
    return webhook.verify(body, headers) as Event;
  } catch {
    return null;
  }
}
