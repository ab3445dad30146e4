import { type CallOptions, eachRow, operate, type StartOptions } from "./operate.ts";
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
  ): Promise<DeliveryPage> => (await operate("listDeliveries", { webhookId }, { ...options, query }, settings)).data;

  return {
    /** The result contains the signing secret. */
    create: async (json: BodyOf<"createWebhook">, options: StartOptions = {}): Promise<CreatedWebhook> =>
      (await operate("createWebhook", {}, { ...options, json }, settings)).data,

    list: async (options: CallOptions = {}): Promise<AnswerOf<"listWebhooks">> =>
      (await operate("listWebhooks", {}, options, settings)).data,

    read: async (webhookId: string, options: CallOptions = {}): Promise<Webhook> =>
      (await operate("readWebhook", { webhookId }, options, settings)).data,

    change: async (webhookId: string, json: BodyOf<"changeWebhook">, options: CallOptions = {}): Promise<Webhook> =>
      (await operate("changeWebhook", { webhookId }, { ...options, json }, settings)).data,

    /** Also deletes its secrets and deliveries. Cannot be undone. */
    delete: async (webhookId: string, options: CallOptions = {}): Promise<Webhook> =>
      (await operate("deleteWebhook", { webhookId }, options, settings)).data,

    /** The current signing secret. */
    secret: async (webhookId: string, options: CallOptions = {}): Promise<WebhookSecret> =>
      (await operate("revealSecret", { webhookId }, options, settings)).data,

    /** The new secret signs at once; the old one keeps signing for overlapHours (default 24). */
    rotate: async (
      webhookId: string,
      json: BodyOf<"rotateSecret"> = {},
      options: StartOptions = {},
    ): Promise<WebhookSecret> => (await operate("rotateSecret", { webhookId }, { ...options, json }, settings)).data,

    /** Sends `webhook.test` to the endpoint. */
    test: async (webhookId: string, options: StartOptions = {}): Promise<Delivery> =>
      (await operate("testWebhook", { webhookId }, { ...options, json: {} }, settings)).data,

    /** One page with every attempt, newest first. */
    deliveries,

    eachDelivery: (
      webhookId: string,
      query: QueryOf<"listDeliveries"> = {},
      options: CallOptions = {},
    ): AsyncGenerator<Delivery, void, undefined> =>
      eachRow((...page) => deliveries(webhookId, ...page), "deliveries", query, options),

    readDelivery: async (deliveryId: string, options: CallOptions = {}): Promise<Delivery> =>
      (await operate("readDelivery", { deliveryId }, options, settings)).data,

    /** Sends a delivery again, whatever its outcome. */
    redeliver: async (deliveryId: string, options: StartOptions = {}): Promise<Delivery> =>
      (await operate("redeliver", { deliveryId }, { ...options, json: {} }, settings)).data,

    /** Sends again the events that failed or were missed since a time. */
    recover: async (
      webhookId: string,
      json: BodyOf<"recoverWebhook">,
      options: StartOptions = {},
    ): Promise<AnswerOf<"recoverWebhook">> =>
      (await operate("recoverWebhook", { webhookId }, { ...options, json }, settings)).data,
  };
}
