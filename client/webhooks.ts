import { type Api, type CallOptions, eachRow, type StartOptions } from "./operate.ts";
import type { BodyOf, QueryOf } from "./types.ts";

export function webhookMethods({ call }: Api) {
  const deliveries = (webhookId: string, query: QueryOf<"listDeliveries"> = {}, options: CallOptions = {}) =>
    call("listDeliveries", { webhookId }, { ...options, query });

  return {
    /** The result contains the signing secret. */
    create: (json: BodyOf<"createWebhook">, options: StartOptions = {}) =>
      call("createWebhook", {}, { ...options, json }),

    list: (options: CallOptions = {}) => call("listWebhooks", {}, options),

    read: (webhookId: string, options: CallOptions = {}) => call("readWebhook", { webhookId }, options),

    change: (webhookId: string, json: BodyOf<"changeWebhook">, options: CallOptions = {}) =>
      call("changeWebhook", { webhookId }, { ...options, json }),

    /** Deletes an endpoint, its secrets and deliveries. Cannot be undone. */
    delete: (webhookId: string, options: CallOptions = {}) => call("deleteWebhook", { webhookId }, options),

    /** The current signing secret. */
    secret: (webhookId: string, options: CallOptions = {}) => call("revealSecret", { webhookId }, options),

    /** The new secret signs at once; the old one also signs for overlapHours (default 24). */
    rotate: (webhookId: string, json: BodyOf<"rotateSecret"> = {}, options: StartOptions = {}) =>
      call("rotateSecret", { webhookId }, { ...options, json }),

    /** Sends `webhook.test` to the endpoint. */
    test: (webhookId: string, options: StartOptions = {}) =>
      call("testWebhook", { webhookId }, { ...options, json: {} }),

    /** One page with every attempt, newest first. */
    deliveries,

    eachDelivery: (webhookId: string, query: QueryOf<"listDeliveries"> = {}, options: CallOptions = {}) =>
      eachRow(
        (...args) => deliveries(webhookId, ...args),
        (page) => page.deliveries,
        query,
        options,
      ),

    readDelivery: (deliveryId: string, options: CallOptions = {}) => call("readDelivery", { deliveryId }, options),

    /** Sends a delivery again, whatever its outcome. */
    redeliver: (deliveryId: string, options: StartOptions = {}) =>
      call("redeliver", { deliveryId }, { ...options, json: {} }),

    /** Resends the events that failed or were missed since a time. */
    recover: (webhookId: string, json: BodyOf<"recoverWebhook">, options: StartOptions = {}) =>
      call("recoverWebhook", { webhookId }, { ...options, json }),
  };
}
