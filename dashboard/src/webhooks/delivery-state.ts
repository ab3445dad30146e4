import type { Delivery } from "../../../client/index.ts";

export type DeliveryStateKind = "waiting" | "retrying" | "delivered" | "exhausted";
export type DeliveryState = { kind: DeliveryStateKind; label: string };

/** How a delivery stands, in a word. */
export function deliveryState({ status, lastError }: Delivery): DeliveryState {
  if (status === "delivered") return { kind: "delivered", label: "Delivered" };
  if (status === "exhausted") return { kind: "exhausted", label: "Given up" };
  return lastError === null ? { kind: "waiting", label: "Pending" } : { kind: "retrying", label: "Retrying" };
}
