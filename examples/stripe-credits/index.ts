import { createClient } from "@supabase/supabase-js";
import Stripe from "stripe";
import { type Credit, creditOf } from "./credit.ts";

/** The amounts that a user may buy, in US cents. */
const PACKS = [500, 2_000, 10_000];
/** Stripe's events are smaller, and so is the body of a checkout. */
const MAX_BYTES = 256 * 1024;

const given = (name: string, standard?: string) => {
  const value = Deno.env.get(name) || standard;
  if (value === undefined) throw new Error(`Set ${name}: README.md says where it comes from.`);
  return value;
};
const platformUrl = given("SUPABASE_URL");
const secretKey: string = JSON.parse(given("SUPABASE_SECRET_KEYS")).default;
const appUrl = given("APP_URL");
const webhookSecret = given("STRIPE_WEBHOOK_SECRET");
const api = new URL(given("STRIPE_API_URL", "https://api.stripe.com"));
const stripe = new Stripe(given("STRIPE_SECRET_KEY"), {
  host: api.hostname,
  port: api.port || (api.protocol === "https:" ? 443 : 80),
  protocol: api.protocol === "https:" ? "https" : "http",
  timeout: 5_000, // twice: Stripe waits for the answer to its event
  maxNetworkRetries: 1,
});
const signatures = Stripe.createSubtleCryptoProvider();
const { auth } = createClient(platformUrl, secretKey, { auth: { persistSession: false } });

Deno.serve(async (request) => {
  const path = new URL(request.url).pathname;
  try {
    if (request.method === "OPTIONS") return answer(204);
    if (request.method !== "POST") return answer(405, "Send a POST.");
    const body = await read(request);
    if (body === null) return answer(413, "The body is too large.");
    if (path.endsWith("/checkout")) return await checkout(request, body);
    if (path.endsWith("/webhook")) return await receive(request, body);
    return answer(404, "There is /checkout for users and /webhook for Stripe.");
  } catch (error) {
    // Stripe sends the event again, for three days.
    console.error(`not done: ${error}`);
    return answer(503, "This did not work. Try again later.");
  }
});

/** Answers `{ url }` of a page of Stripe's where the signed-in user pays. Body: `{ "cents": 2000 }`. */
async function checkout(request: Request, body: string): Promise<Response> {
  const token = request.headers.get("authorization")?.replace(/^Bearer /i, "") ?? "";
  const { data } = await auth.getUser(token);
  if (data.user === null) return answer(401, "Sign in first.");
  const cents = PACKS.find((pack) => body.replaceAll(/\s/g, "") === `{"cents":${pack}}`);
  if (cents === undefined) return answer(422, `Send {"cents":N}, where N is one of ${PACKS.join(", ")}.`);
  const session = await stripe.checkout.sessions.create({
    mode: "payment",
    adaptive_pricing: { enabled: false }, // paid in dollars
    line_items: [
      { quantity: 1, price_data: { currency: "usd", unit_amount: cents, product_data: { name: "Film credit" } } },
    ],
    // Stripe copies it to the charge, so that a refund names the user too.
    payment_intent_data: { metadata: { keyframe_user: data.user.id } },
    success_url: `${appUrl}?paid=1`,
    cancel_url: appUrl,
  });
  return answer(200, undefined, { url: session.url });
}

/** 204 once the credit is recorded, or when the event is about none. */
async function receive(request: Request, body: string): Promise<Response> {
  const signature = request.headers.get("stripe-signature") ?? "";
  const event = await stripe.webhooks
    .constructEventAsync(body, signature, webhookSecret, undefined, signatures)
    .catch(() => null);
  if (event === null) return answer(400, "The signature is wrong or more than five minutes old.");
  const credit = await creditOf(event, stripe);
  if (credit !== null) await record(credit, event.id);
  return answer(204);
}

/** Repeats, and other events of the same money, have the same key: they change nothing. */
async function record({ userId, ...credit }: Credit, eventId: string): Promise<void> {
  const response = await fetch(`${platformUrl}/functions/v1/api/credits`, {
    method: "POST",
    headers: { apikey: secretKey, "keyframe-user": userId, "content-type": "application/json" },
    body: JSON.stringify(credit),
    signal: AbortSignal.timeout(10_000),
  });
  if (response.ok) return console.log(`${credit.key}: ${credit.amountMicros} micro-dollars for ${userId}`);
  const { error } = await response.json();
  // The account is gone, and with it what the credit was for. Sending it again would not help.
  if (error.code === "user_not_found") return console.error(`${eventId}: ${userId} has no account. Refund it by hand.`);
  throw new Error(`${eventId}: ${response.status} ${error.code}: ${error.message}`);
}

async function read(request: Request): Promise<string | null> {
  let text = "";
  for await (const part of request.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (text.length > MAX_BYTES) return null;
  }
  return text;
}

function answer(status: number, error?: string, body?: object): Response {
  const headers = {
    "access-control-allow-origin": new URL(appUrl).origin,
    "access-control-allow-headers": "authorization, content-type, apikey, x-client-info",
  };
  return new Response(status === 204 ? null : JSON.stringify(body ?? { error }), {
    status,
    headers: { ...headers, "content-type": "application/json" },
  });
}
