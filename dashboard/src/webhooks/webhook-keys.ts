import type { Delivery } from "../../../client/index.ts";

export type DeliveryStatus = Delivery["status"];

/** Under which names the queries of webhooks are kept. What begins alike is brought up to date together. */
export const webhookKeys = {
  list: ["webhooks"] as const,
  one: (webhookId: string) => ["webhook", webhookId] as const,
  /** Of one endpoint, or, without a name, of all. */
  health: (webhookId: string | null) => ["webhook-health", webhookId] as const,
  everyHealth: ["webhook-health"] as const,
  deliveries: (webhookId: string, status: DeliveryStatus | null) => ["deliveries", webhookId, status] as const,
  everyDelivery: (webhookId: string) => ["deliveries", webhookId] as const,
  watch: (deliveryId: string) => ["watch-delivery", deliveryId] as const,
};
