import { createServer, type IncomingMessage } from "node:http";
import process from "node:process";
import { Webhook } from "standardwebhooks";
import { type Change, readChange } from "./change.ts";
import { createAsk, HubSpotError, save } from "./hubspot.ts";
import { openStore } from "./store.ts";

/** An event has at most 20 kB. */
const MAX_BYTES = 64 * 1024;
/** Keyframe waits 15 s for the answer. An event that is not saved by then is sent again. */
const TIMEOUT_MS = 12_000;

// An empty variable counts as missing.
const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ""));
const { WEBHOOK_SECRET, HUBSPOT_TOKEN, HOST = "127.0.0.1", PORT = "54391" } = given;
const { HUBSPOT_API_URL = "https://api.hubapi.com", STORE_FILE = ".keyframe/crm-sync.sqlite" } = given;
const { HUBSPOT_PIPELINE = "default", HUBSPOT_DEAL_STAGE = "appointmentscheduled" } = given;
if (!WEBHOOK_SECRET || !HUBSPOT_TOKEN) {
  console.error("Set WEBHOOK_SECRET and HUBSPOT_TOKEN: README.md says where they come from.");
  process.exit(1);
}
// During a rotation both secrets are live.
const webhooks = WEBHOOK_SECRET.split(",").map((secret) => new Webhook(secret.trim()));
const ask = createAsk(HUBSPOT_API_URL, HUBSPOT_TOKEN);
const newDeal = { pipeline: HUBSPOT_PIPELINE, dealstage: HUBSPOT_DEAL_STAGE };
const store = openStore(STORE_FILE);
const log = (line: string) => console.log(`${new Date().toISOString()} ${line}`);

const server = createServer(async (request, response) => {
  try {
    response.writeHead(await receive(request)).end();
  } catch (error) {
    log(`not saved, it will come again: ${error}`);
    const retryAfter = error instanceof HubSpotError ? error.retryAfter : null;
    response.writeHead(503, retryAfter === null ? {} : { "retry-after": retryAfter }).end();
  }
});
server.listen(Number(PORT), HOST, () => log(`listening on http://${HOST}:${PORT}/`));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.close(() => process.exit(0)));

/** The status: 204 once the event is in HubSpot. Nothing is queued here that a crash could lose. Throws when it has to come again. */
async function receive(request: IncomingMessage): Promise<number> {
  // Counts the wait too: if the event's turn comes late, Keyframe has given up and sends it again.
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  if (request.method !== "POST") return 405;
  let body = "";
  for await (const text of request.setEncoding("utf8")) {
    body += text;
    if (body.length > MAX_BYTES) return 413;
  }
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  // The signature covers these very bytes: parsing comes after it.
  if (!webhooks.some((webhook) => isSigned(webhook, body, headers))) return 401;
  const change = readChange(JSON.parse(body));
  if (change !== null) await inTurn(change.ownerId, () => sync(headers["webhook-id"] ?? "", change, signal));
  return 204;
}

/** Signature and age. */
function isSigned(webhook: Webhook, body: string, headers: Record<string, string>): boolean {
  try {
    webhook.verify(body, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

/**
 * Brings an event into HubSpot, once, in any order. The claim is recorded before HubSpot is called, so that an older event cannot
 * overwrite a newer one, not even after a crash. Done is noted after: a crash in between lets the event come again, which changes nothing.
 */
async function sync(webhookId: string, change: Change, signal: AbortSignal): Promise<void> {
  const about = `${change.part} of project ${change.projectId} at ${change.at}, webhook-id ${webhookId}`;
  if (store.isDone(webhookId)) return log(`repeated: ${about}`);
  const isLatest = store.claim(webhookId, change);
  if (isLatest) await save(ask, change, newDeal, signal);
  store.markDone(webhookId, new Date());
  log(`${isLatest ? "saved" : "overtaken"}: ${about}`);
}

const turns = new Map<string, Promise<void>>();

/** Events of one owner run one after the other, or the request for an older one could end behind that for a newer one. */
async function inTurn(ownerId: string, work: () => Promise<void>): Promise<void> {
  const mine = (turns.get(ownerId) ?? Promise.resolve()).then(work, work);
  turns.set(ownerId, mine);
  await mine.finally(() => turns.get(ownerId) === mine && turns.delete(ownerId));
}
