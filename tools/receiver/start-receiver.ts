import { Webhook } from "standardwebhooks";
import { type WebhookEvent, webhookEvent } from "../../shared/contract/events.ts";
import { jsonText } from "../../shared/platform/json-text.ts";
import { pause } from "../../shared/platform/retry.ts";

/** Three times the limit of an event. */
const MAX_LENGTH = 64 * 1024;
/** These two limit the memory. */
const REMEMBERED_IDS = 10_000;
const KEPT_EVENTS = 1_000;

/** A verified event, with headers and body as received. `duplicate`: its `webhook-id` was answered 2xx before. */
export type ReceivedEvent = {
  id: string;
  event: WebhookEvent;
  headers: Record<string, string>;
  body: string;
  receivedAt: Date;
  duplicate: boolean;
};

/** A request that was not answered 2xx, and why. */
export type RefusedRequest = { receivedAt: Date; status: number; reason: string };

export type ReceiverOptions = {
  /** The port on 127.0.0.1; 0 for a free one. */
  port: number;
  /**
   * `whsec_…`: any one of them may match. Empty before the endpoint is registered: every request is then answered 401.
   */
  secrets: readonly string[];
  /** Called for every verified event, duplicates included. When it throws, the answer is 500 and the sender retries. */
  onEvent?: (received: ReceivedEvent) => void;
  onRefusal?: (refused: RefusedRequest) => void;
  /** How many verified requests are answered 500 first, to see the retries. */
  failFirst?: number;
  /** The delay before each 2xx, in ms. The event counts as received. */
  hangMs?: number;
  /** How many of the latest events `events` holds; 1,000 by default. */
  keep?: number;
};

type Receiver = {
  url: string;
  /** The latest events, oldest first, duplicates included. */
  events: readonly ReceivedEvent[];
  /** Replaces the secrets: once the endpoint is registered, and in a rotation. Throws when one is not a `whsec_…`. */
  setSecrets(secrets: readonly string[]): void;
  /** Stops the server and hanging requests; may be called twice. */
  stop(): Promise<void>;
};

/** A request that is not an event: the status to answer, and why. */
class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Starts a receiver of webhooks. Throws when the port is taken or a secret is invalid. */
export function startReceiver(options: ReceiverOptions): Receiver {
  const stopping = new AbortController();
  const seen = new Set<string>();
  const events: ReceivedEvent[] = [];
  let webhooks = options.secrets.map(readSecret);
  let toFail = options.failFirst ?? 0;

  const receive = async (request: Request): Promise<void> => {
    const signed = await readSigned(request, webhooks);
    if (toFail > 0) {
      toFail--;
      throw new Refused(500, `Failing on purpose; ${toFail} more.`);
    }
    const received = { ...signed, receivedAt: new Date(), duplicate: seen.has(signed.id) };
    options.onEvent?.(received);
    seen.add(signed.id);
    if (seen.size > REMEMBERED_IDS) seen.delete(seen.values().next().value ?? ""); // the oldest
    events.push(received);
    if (events.length > (options.keep ?? KEPT_EVENTS)) events.shift();
    if (options.hangMs) await pause(options.hangMs, stopping.signal);
  };

  const answer = async (request: Request): Promise<Response> => {
    try {
      await receive(request);
      return new Response(null, { status: 204 });
    } catch (error) {
      const { status, message: reason } =
        error instanceof Refused ? error : new Refused(500, `The receiver failed: ${String(error)}`);
      options.onRefusal?.({ receivedAt: new Date(), status, reason });
      return new Response(`${reason}\n`, { status, headers: status === 405 ? { allow: "POST" } : {} });
    }
  };

  const server = listen(options.port, answer);
  let stopped: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    events,
    setSecrets: (secrets) => {
      webhooks = secrets.map(readSecret);
    },
    stop: () => {
      stopping.abort();
      stopped ??= server.shutdown();
      return stopped;
    },
  };
}

/** Reads a webhook as a receiver should: method, size, raw body, signature and age, and then JSON. Throws Refused. */
async function readSigned(request: Request, webhooks: readonly Webhook[]) {
  if (request.method !== "POST") throw new Refused(405, "Events are sent by POST.");
  let body = "";
  for await (const text of request.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    body += text;
    if (body.length > MAX_LENGTH) throw new Refused(413, `An event has at most ${MAX_LENGTH} characters.`);
  }
  const headers = Object.fromEntries(request.headers);
  checkSignature(webhooks, headers, body);
  const parsed = jsonText.pipe(webhookEvent).safeParse(body);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Refused(400, `Signed, but not an event: ${issue?.path.join(".") || "body"}: ${issue?.message}`);
  }
  return { id: headers["webhook-id"] ?? "", event: parsed.data, headers, body };
}

/** One matching secret is enough: in a rotation the sender signs with each live secret, and a receiver may hold several. */
function checkSignature(webhooks: readonly Webhook[], headers: Record<string, string>, body: string): void {
  let reason = "This receiver has no secret.";
  for (const webhook of webhooks) {
    try {
      webhook.verify(body, headers, { jsonParse: false });
      return;
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  throw new Refused(401, reason);
}

function readSecret(secret: string): Webhook {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) throw new Error("A webhook secret is whsec_ and base64.");
  return new Webhook(secret);
}

function listen(port: number, answer: (request: Request) => Promise<Response>): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, answer);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    throw new Error(`Port ${port} is in use. Choose another one, or 0 for a free one.`, { cause: error });
  }
}
