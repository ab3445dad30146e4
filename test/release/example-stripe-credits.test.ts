import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { freePort } from "../../local/network.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { usage } from "../../shared/contract/costs.ts";
import { STRIPE_KEY, STRIPE_WEBHOOK_SECRET, signedEvent, startStripe } from "../support/examples/stripe.ts";
import { type FilmMaker, newFilmMaker } from "../support/film/film-maker.ts";
import { connect } from "../support/stack/own-stack.ts";
import { type Running, runProgram } from "../support/tools/run-command.ts";

// examples/stripe-credits as its own process, between a server that answers as Stripe does and the real stack.

const OFFLINE = ["--cached-only", "--no-lock", "--node-modules-dir=manual"];
const stack = inject("stack");
const sql = connect(stack.databaseUrl);
const port = freePort();
const url = `http://127.0.0.1:${port}/stripe-credits`;
let stripe: Awaited<ReturnType<typeof startStripe>>;
let credits: Running;

let folder: string;

beforeAll(async () => {
  // A copy beside the packages of this folder: nothing is downloaded.
  folder = await Deno.makeTempDir({ prefix: "keyframe-stripe-credits-" });
  for (const name of ["index.ts", "credit.ts", "deno.json"])
    await Deno.copyFile(join(PROJECT_ROOT, "examples/stripe-credits", name), join(folder, name));
  for (const name of ["package.json", "node_modules"])
    await Deno.symlink(join(PROJECT_ROOT, "test/release", name), join(folder, name));
  stripe = await startStripe();
  const env = {
    DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
    SUPABASE_URL: stack.url,
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: stack.secretKey }),
    APP_URL: "http://app.test/credit",
    STRIPE_SECRET_KEY: STRIPE_KEY,
    STRIPE_WEBHOOK_SECRET,
    STRIPE_API_URL: stripe.url,
  };
  credits = runProgram(Deno.execPath(), ["run", "-A", "--check", ...OFFLINE, "index.ts"], env, folder);
  await credits.printed("Listening on");
});
afterAll(async () => {
  credits.kill("SIGTERM");
  await credits.ended;
  await stripe.stop();
  await Deno.remove(folder, { recursive: true });
  await sql.end({ timeout: 1 });
});

const send = async (...event: Parameters<typeof signedEvent>) =>
  (await fetch(`${url}/webhook`, signedEvent(...event))).status;
const balanceOf = async (maker: FilmMaker) =>
  (await maker.call(usage, "GET", "/api/usage")).balance?.availableMicros ?? null;

/** What Stripe sends when a checkout of 20 dollars is paid, and its payment intent. */
function paid(userId: string) {
  const payment_intent = stripe.addIntent({ keyframe_user: userId });
  const session = {
    ...{ object: "checkout.session", payment_status: "paid", payment_intent, amount_total: 2_000, currency: "usd" },
  };
  return { payment_intent, session };
}
const refund = (payment_intent: string, amount: number, number = 1, status = "succeeded") => ({
  ...{ id: `re_${number}_${payment_intent}`, object: "refund", payment_intent, amount, currency: "usd", status },
});

describe.concurrent("a user who buys credit", () => {
  test("checkout with a session → Stripe's page, whose payment names the user; a made-up price or no session is refused", async () => {
    const { userId, accessToken } = await newFilmMaker(stack);
    const ask = (body: unknown, token = accessToken) =>
      fetch(`${url}/checkout`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
    expect((await ask({ cents: 1 })).status).toBe(422);
    expect((await ask({ cents: 2_000 }, "x")).status).toBe(401);
    const answer = await ask({ cents: 2_000 });
    expect(z.object({ url: z.url() }).parse(await answer.json()).url).toContain("checkout.stripe.com");
    const form = stripe.sessions.find((each) => each.get("payment_intent_data[metadata][keyframe_user]") === userId);
    expect(form?.get("line_items[0][price_data][unit_amount]")).toBe("2000");
    expect(form?.get("adaptive_pricing[enabled]")).toBe("false"); // paid in dollars, whatever the account's setting
    expect(answer.headers.get("access-control-allow-origin")).toBe("http://app.test");
  });

  test("a checkout paid ten times at once, and again as another event → the credit once", async () => {
    const maker = await newFilmMaker(stack);
    const { session } = paid(maker.userId);
    expect(await balanceOf(maker)).toBeNull();
    const statuses = await Promise.all(
      Array.from({ length: 10 }, () => send("checkout.session.completed", session, { id: "evt_same" })),
    );
    expect(new Set(statuses)).toEqual(new Set([204]));
    expect(await send("checkout.session.async_payment_succeeded", session)).toBe(204);
    expect(await balanceOf(maker)).toBe(20_000_000);
  });

  test("a checkout that is not paid yet → no credit until it is", async () => {
    const maker = await newFilmMaker(stack);
    const { session } = paid(maker.userId);
    expect(await send("checkout.session.completed", { ...session, payment_status: "unpaid" })).toBe(204);
    expect(await balanceOf(maker)).toBeNull();
    expect(await send("checkout.session.async_payment_succeeded", session)).toBe(204);
    expect(await balanceOf(maker)).toBe(20_000_000);
  });

  test("two partial refunds, sent twice and before the payment → the right credit is left", async () => {
    const maker = await newFilmMaker(stack);
    const { session, payment_intent } = paid(maker.userId);
    const second = () => send("refund.created", refund(payment_intent, 1_500, 2));
    expect(await second()).toBe(204);
    expect(await balanceOf(maker)).toBe(-15_000_000);
    expect(await send("checkout.session.completed", session)).toBe(204);
    expect(await send("refund.created", refund(payment_intent, 500))).toBe(204);
    expect(await second()).toBe(204);
    expect(await balanceOf(maker)).toBe(0);
  });

  test("a refund fails or is canceled, and is made again → credit taken away, given back once, taken away again", async () => {
    const maker = await newFilmMaker(stack);
    const { session, payment_intent } = paid(maker.userId);
    await send("checkout.session.completed", session);
    for (const [type, number, status, dollars] of [
      ["refund.created", 1, "pending", 15],
      ["refund.updated", 1, "failed", 20],
      ["refund.failed", 1, "failed", 20],
      ["refund.created", 2, "requires_action", 15],
      ["refund.updated", 2, "requires_action", 15],
      ["refund.updated", 2, "canceled", 20],
      ["refund.created", 3, "pending", 15],
      ["refund.updated", 3, "succeeded", 15],
    ] as const) {
      expect(await send(type, refund(payment_intent, 500, number, status))).toBe(204);
      expect(await balanceOf(maker)).toBe(dollars * 1_000_000);
    }
  });

  test("a dispute takes credit away, and a won one gives it back; an inquiry changes nothing", async () => {
    const maker = await newFilmMaker(stack);
    const { session, payment_intent } = paid(maker.userId);
    const dispute = { id: `dp_${payment_intent}`, object: "dispute", payment_intent, amount: 2_000, currency: "usd" };
    await send("checkout.session.completed", session);
    expect(await send("charge.dispute.created", { ...dispute, status: "warning_needs_response" })).toBe(204);
    expect(await balanceOf(maker)).toBe(20_000_000);
    expect(await send("charge.dispute.funds_withdrawn", dispute)).toBe(204);
    expect(await balanceOf(maker)).toBe(0);
    expect(await send("charge.dispute.funds_reinstated", dispute)).toBe(204);
    expect(await balanceOf(maker)).toBe(20_000_000);
  });

  test("a refund for a deleted user → recorded; a payment for a user without any credit → answered, and named in the log", async () => {
    const [one, other] = [await newFilmMaker(stack), await newFilmMaker(stack)];
    const { session, payment_intent } = paid(one.userId);
    await send("checkout.session.completed", session);
    await sql`delete from auth.users where id in (${one.userId}, ${other.userId})`;
    expect(await send("refund.created", refund(payment_intent, 2_000))).toBe(204);
    const rows = await sql`select micros::int from keyframe_private.credits where owner_id = ${one.userId} order by id`;
    expect(rows.map(({ micros }) => micros)).toEqual([20_000_000, -20_000_000]);
    expect(await send("checkout.session.completed", paid(other.userId).session)).toBe(204);
    expect(credits.output()).toContain(`${other.userId} has no account. Refund it by hand.`);
  });

  test("an event with a wrong or old signature, without one, or with too long a body → refused, no credit", async () => {
    const maker = await newFilmMaker(stack);
    const { session } = paid(maker.userId);
    const type = "checkout.session.completed";
    expect(await send(type, session, { secret: "whsec_another" })).toBe(400);
    expect(await send(type, session, { at: new Date(Date.now() - 7 * 86_400_000) })).toBe(400);
    expect(
      (await fetch(`${url}/webhook`, { method: "POST", body: JSON.stringify({ type, data: session }) })).status,
    ).toBe(400);
    expect((await fetch(`${url}/webhook`, { method: "POST", body: "x".repeat(300_000) })).status).toBe(413);
    expect(await balanceOf(maker)).toBeNull();
  });

  test("a payment for something else → no credit; a payment or dispute in another currency → named in the log", async () => {
    const maker = await newFilmMaker(stack);
    const { session, payment_intent } = paid(maker.userId);
    const other = { ...session, payment_intent: stripe.addIntent({}) };
    expect(await send("checkout.session.completed", other)).toBe(204);
    expect(await send("checkout.session.completed", { ...session, currency: "jpy" })).toBe(204);
    const dispute = { id: `dp_${payment_intent}`, object: "dispute", payment_intent, amount: 2_000, currency: "eur" };
    expect(await send("charge.dispute.funds_withdrawn", dispute)).toBe(204);
    expect(await balanceOf(maker)).toBeNull();
    for (const what of [`payment:${payment_intent} is in jpy`, `dispute:dp_${payment_intent} is in eur`])
      expect(credits.output()).toContain(what);
  });
});

test("Stripe's API is down → 503 and no credit; the event sent again adds it", async () => {
  const maker = await newFilmMaker(stack);
  const { session } = paid(maker.userId);
  stripe.state.away = true;
  expect(await send("checkout.session.completed", session)).toBe(503);
  stripe.state.away = false;
  expect(await send("checkout.session.completed", session)).toBe(204);
  expect(await balanceOf(maker)).toBe(20_000_000);
});

test("Stripe's API does not answer → 503 soon, so that Stripe sends the event again", async () => {
  const maker = await newFilmMaker(stack);
  stripe.state.hangs = true;
  expect(await send("checkout.session.completed", paid(maker.userId).session)).toBe(503);
  stripe.state.hangs = false;
});
