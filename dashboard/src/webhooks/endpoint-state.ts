import type { Webhook } from "../../../client/index.ts";
import type { HealthSums } from "./sum-hours.ts";

export type EndpointStateKind = "off" | "disabled" | "failing" | "troubled" | "healthy" | "quiet";
export type EndpointState = { kind: EndpointStateKind; label: string };

/** How an endpoint stands, in a word or two; without numbers as far as the endpoint itself tells. */
export function endpointState(webhook: Webhook, sums: HealthSums | undefined): EndpointState {
  if (webhook.disabledReason === "by_owner") return { kind: "off", label: "Switched off" };
  if (!webhook.enabled) return { kind: "disabled", label: "Disabled" };
  if (webhook.failingSince !== null) return { kind: "failing", label: "Failing" };
  if (sums === undefined) return { kind: "quiet", label: "Enabled" };
  if (sums.retrying + sums.exhausted > 0) return { kind: "troubled", label: "Delivers, with failures" };
  if (sums.delivered > 0) return { kind: "healthy", label: "Delivers" };
  return { kind: "quiet", label: "Nothing sent lately" };
}
