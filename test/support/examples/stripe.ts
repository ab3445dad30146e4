import { createHmac } from "node:crypto";
import { serveHttp } from "../../../local/simulator/serve-http.ts";

export const STRIPE_KEY = "sk_test_of_a_test";
export const STRIPE_WEBHOOK_SECRET = "whsec_of_a_test";

/**
 * Answers as Stripe's API does, as far as examples/stripe-credits meets it: a checkout session, whose payment intent then keeps its
 * metadata; a key, and ids that exist. `away` answers 500, as in an outage; `hangs` does not answer.
 */
export async function startStripe() {
  const intents = new Map<string, { id: string; object: string; metadata: Record<string, string> }>();
  const sessions: URLSearchParams[] = [];
  const state = { away: false, hangs: false };
  const refuse = (status: number, type: string, message: string) =>
    Response.json({ error: { type, message } }, { status });

  const addIntent = (metadata: Record<string, string>) => {
    const id = `pi_${crypto.randomUUID().replaceAll("-", "")}`;
    intents.set(id, { id, object: "payment_intent", metadata });
    return id;
  };

  const server = await serveHttp(async (request) => {
    const { pathname } = new URL(request.url);
    if (request.headers.get("authorization") !== `Bearer ${STRIPE_KEY}`)
      return refuse(401, "invalid_request_error", "Invalid API Key provided.");
    if (state.away) return refuse(500, "api_error", "Something went wrong on Stripe's end.");
    if (state.hangs) await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
    if (request.method === "POST" && pathname === "/v1/checkout/sessions") {
      sessions.push(new URLSearchParams(await request.text()));
      const id = `cs_test_${sessions.length}`;
      return Response.json({ id, object: "checkout.session", url: `https://checkout.stripe.com/c/pay/${id}` });
    }
    const intent = intents.get(pathname.replace("/v1/payment_intents/", ""));
    return intent ? Response.json(intent) : refuse(404, "invalid_request_error", `No such payment_intent: ${pathname}`);
  }, 0);

  return {
    url: `http://127.0.0.1:${server.port}`,
    /** The checkouts that were asked for, as forms. */
    sessions: sessions as readonly URLSearchParams[],
    state,
    /** Somebody pays: the payment intent keeps the metadata of its checkout. */
    addIntent,
    stop: server.stop,
  };
}

let lastEvent = 0;

/** An event of Stripe's as it is sent: https://docs.stripe.com/webhooks#verify-manually. */
export function signedEvent(
  type: string,
  object: object,
  { secret = STRIPE_WEBHOOK_SECRET, at = new Date(), id = `evt_${++lastEvent}` } = {},
) {
  const body = JSON.stringify({ id, object: "event", api_version: "2026-10-28.endive", type, data: { object } });
  const timestamp = Math.floor(at.getTime() / 1000);
  const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
  return { method: "POST", headers: { "stripe-signature": `t=${timestamp},v1=${signature}` }, body };
}
