import type { Webhook } from "../../../client/index.ts";

export type Trouble = { title: string; whatToDo: string };

const DISABLED: Record<NonNullable<Webhook["disabledReason"]>, Trouble> = {
  by_owner: {
    title: "You switched this endpoint off",
    whatToDo: "Nothing is sent to it. Enable it when you want events again; what happened meanwhile can be recovered.",
  },
  gone: {
    title: "Disabled: your server answered 410 Gone",
    whatToDo:
      "That says that nobody lives at this address any more. Correct the address or mend your server, enable the endpoint, then recover what it missed.",
  },
  failing: {
    title: "Disabled: every attempt failed for five days",
    whatToDo: "The answers are in the deliveries. Mend your server, enable the endpoint, then recover what it missed.",
  },
};

const FAILING: Trouble = {
  title: "Every attempt fails at present",
  whatToDo:
    "The answers are in the deliveries. What failed is tried again, ten times over about 76 hours; after five days of failures the endpoint is disabled.",
};

/** A failure or two in a row pass by themselves; after these the third attempt has failed too. */
const WORTH_TELLING_MS = 10 * 60_000;

/** What is wrong with an endpoint as a whole, and what to do about it. */
export function troubleWords({ disabledReason, enabled, failingSince }: Webhook, now: number): Trouble | null {
  if (!enabled) return DISABLED[disabledReason ?? "by_owner"];
  return failingSince !== null && now - Date.parse(failingSince) > WORTH_TELLING_MS ? FAILING : null;
}
