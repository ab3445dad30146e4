import type Stripe from "stripe";

/** The change of a payment, applied once for each key. */
export type Credit = {
  userId: string;
  key: string;
  kind: "purchase" | "refund" | "adjustment";
  /** Negative where money went back. */
  amountMicros: number;
};

const MICROS_OF_A_CENT = 10_000;

/**
 * The change of a Stripe event; null when it is not about our credit. Each event stands for itself, so the order in which they
 * come does not matter: a refund before its purchase makes the balance negative for a moment.
 */
export async function creditOf(event: Stripe.Event, stripe: Stripe): Promise<Credit | null> {
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded": {
      const { payment_status, payment_intent, amount_total, currency } = event.data.object;
      if (payment_status !== "paid" || payment_intent === null) return null;
      const what = `payment:${idOf(payment_intent)}`;
      return await credit("purchase", what, payment_intent, amount_total ?? 0, currency, stripe);
    }
    // Not charge.refunded: it has the sum of all refunds, which is the same again when one that failed is made again.
    case "refund.created": {
      const { id, payment_intent, amount, currency } = event.data.object;
      return await credit("refund", `refund:${id}`, payment_intent, -amount, currency, stripe);
    }
    // A refund that fails has both events; one that you cancel, or that the payer never completes, may only have the second.
    case "refund.failed":
    case "refund.updated": {
      const { id, payment_intent, amount, currency, status } = event.data.object;
      if (status !== "failed" && status !== "canceled") return null;
      return await credit("adjustment", `refund-undone:${id}`, payment_intent, amount, currency, stripe);
    }
    case "charge.dispute.funds_withdrawn": {
      const { id, payment_intent, amount, currency } = event.data.object;
      return await credit("refund", `dispute:${id}`, payment_intent, -amount, currency, stripe);
    }
    case "charge.dispute.funds_reinstated": {
      const { id, payment_intent, amount, currency } = event.data.object;
      return await credit("adjustment", `dispute-won:${id}`, payment_intent, amount, currency, stripe);
    }
    default:
      return null;
  }
}

type Payment = string | { id: string } | null;

async function credit(
  kind: Credit["kind"],
  what: string,
  payment: Payment,
  cents: number,
  currency: string | null,
  stripe: Stripe,
) {
  if (payment === null || cents === 0) return null;
  const { metadata } = await stripe.paymentIntents.retrieve(idOf(payment));
  const userId = metadata.keyframe_user;
  if (userId === undefined) return null;
  if (currency !== "usd") {
    // The amount of a dispute can be in the currency of the card.
    console.error(`${what} is in ${currency}: add the credit of ${userId} by hand.`);
    return null;
  }
  return { userId, key: `stripe:${what}`, kind, amountMicros: cents * MICROS_OF_A_CENT };
}

const idOf = (payment: string | { id: string }) => (typeof payment === "string" ? payment : payment.id);
