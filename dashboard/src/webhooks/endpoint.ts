import type { Webhook } from "../../../client/index.ts";
import type { Config } from "../config.ts";
import type { HealthSums } from "./health.ts";

const LONGEST = 60;

/** The endpoint's name: a short description, else the host. */
export function endpointName({ url, description }: Pick<Webhook, "url" | "description">): string {
  const text = description.trim();
  if (text !== "" && text.length <= LONGEST && !text.includes("\n")) return text;
  return URL.canParse(url) ? new URL(url).host : url;
}

export type EndpointStateKind = "off" | "disabled" | "failing" | "troubled" | "healthy" | "quiet";

/** The endpoint's state. Without `sums`, only the endpoint decides it. */
export function endpointState(
  webhook: Webhook,
  sums: HealthSums | undefined,
): { kind: EndpointStateKind; label: string } {
  if (webhook.disabledReason === "by_owner") return { kind: "off", label: "Off" };
  if (!webhook.enabled) return { kind: "disabled", label: "Disabled" };
  if (webhook.failingSince !== null) return { kind: "failing", label: "Failing" };
  if (sums === undefined) return { kind: "quiet", label: "Enabled" };
  if (sums.retrying + sums.exhausted > 0) return { kind: "troubled", label: "Some failures" };
  if (sums.delivered > 0) return { kind: "healthy", label: "Healthy" };
  return { kind: "quiet", label: "No recent deliveries" };
}

type Trouble = { title: string; whatToDo: string };

const DISABLED: Record<NonNullable<Webhook["disabledReason"]>, Trouble> = {
  by_owner: {
    title: "This endpoint is turned off",
    whatToDo: "It receives no events. Enable it, then recover what it missed.",
  },
  gone: {
    title: "Disabled: your server answered 410 Gone",
    whatToDo: "Correct the URL or fix your server, enable the endpoint, then recover what it missed.",
  },
  failing: {
    title: "Disabled: every attempt failed for too long",
    whatToDo: "See the answers under Deliveries. Fix your server, enable the endpoint, then recover what it missed.",
  },
};

const FAILING: Trouble = {
  title: "Every attempt is failing",
  whatToDo:
    "See the answers under Deliveries. Failed deliveries are retried at growing intervals. If every attempt keeps failing, the endpoint is disabled.",
};

/** One or two failures pass by themselves. After this time, the third attempt has failed too. */
const WORTH_TELLING_MS = 10 * 60_000;

export function troubleWords({ disabledReason, enabled, failingSince }: Webhook, now: number): Trouble | null {
  if (!enabled) return DISABLED[disabledReason ?? "by_owner"];
  return failingSince !== null && now - Date.parse(failingSince) > WORTH_TELLING_MS ? FAILING : null;
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/** Whether the service runs on this machine, where http receivers on loopback are allowed. */
export const isLocalStack = ({ demoUser, supabaseUrl }: Config): boolean =>
  demoUser !== null || LOOPBACK.includes(new URL(supabaseUrl).hostname);
