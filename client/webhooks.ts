import { call, type CallOptions, eachRow, type StartOptions } from "./operate.ts";
import type { Settings } from "./settings.ts";
import type {
  AnswerOf,
  BodyOf,
  CreatedWebhook,
  Delivery,
  DeliveryPage,
  QueryOf,
  Webhook,
  WebhookSecret,
} from "./types.ts";

export function webhookMethods(settings: Settings) {
  const deliveries = async (
    webhookId: string,
    query: QueryOf<"listDeliveries"> = {},
    options: CallOptions = {},
  ): Promise<DeliveryPage> => call("listDeliveries", { webhookId }, { ...options, query }, settings);

  return {
    /** The result contains the signing secret. */
    create: async (json: BodyOf<"createWebhook">, options: StartOptions = {}): Promise<CreatedWebhook> =>
      call("createWebhook", {}, { ...options, json }, settings),

    list: async (options: CallOptions = {}): Promise<AnswerOf<"listWebhooks">> =>
      call("listWebhooks", {}, options, settings),

    read: async (webhookId: string, options: CallOptions = {}): Promise<Webhook> =>
      call("readWebhook", { webhookId }, options, settings),

    change: async (webhookId: string, json: BodyOf<"changeWebhook">, options: CallOptions = {}): Promise<Webhook> =>
      call("changeWebhook", { webhookId }, { ...options, json }, settings),

    /** Also deletes its secrets and deliveries. Cannot be undone. */
    delete: async (webhookId: string, options: CallOptions = {}): Promise<Webhook> =>
      call("deleteWebhook", { webhookId }, options, settings),

    /** The current signing secret. */
    secret: async (webhookId: string, options: CallOptions = {}): Promise<WebhookSecret> =>
      call("revealSecret", { webhookId }, options, settings),

    /** The new secret signs at once; the old one also signs for overlapHours (default 24). */
    rotate: async (
      webhookId: string,
      json: BodyOf<"rotateSecret"> = {},
      options: StartOptions = {},
    ): Promise<WebhookSecret> => call("rotateSecret", { webhookId }, { ...options, json }, settings),

    /** Sends `webhook.test` to the endpoint. */
    test: async (webhookId: string, options: StartOptions = {}): Promise<Delivery> =>
      call("testWebhook", { webhookId }, { ...options, json: {} }, settings),

    /** One page with every attempt, newest first. */
    deliveries,

    eachDelivery: (
      webhookId: string,
      query: QueryOf<"listDeliveries"> = {},
      options: CallOptions = {},
    ): AsyncGenerator<Delivery, void, undefined> =>
      eachRow((...page) => deliveries(webhookId, ...page), "deliveries", query, options),

    readDelivery: async (deliveryId: string, options: CallOptions = {}): Promise<Delivery> =>
      call("readDelivery", { deliveryId }, options, settings),

    /** Sends a delivery again, whatever its outcome. */
    redeliver: async (deliveryId: string, options: StartOptions = {}): Promise<Delivery> =>
      call("redeliver", { deliveryId }, { ...options, json: {} }, settings),

    /** Resends the events that failed or were missed since a time. */
    recover: async (
      webhookId: string,
      json: BodyOf<"recoverWebhook">,
      options: StartOptions = {},
    ): Promise<AnswerOf<"recoverWebhook">> => call("recoverWebhook", { webhookId }, { ...options, json }, settings),
  };
}
