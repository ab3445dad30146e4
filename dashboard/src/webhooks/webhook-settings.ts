import type { Webhook } from "../../../client/index.ts";
import { EVENT_TYPES } from "../../../shared/contract/webhooks.ts";

export type EventType = (typeof EVENT_TYPES)[number];

/** What its owner says about an endpoint. An empty `eventTypes` means all events. */
export type WebhookSettings = { url: string; description: string; eventTypes: EventType[] };

/** The same as a form holds it. */
export type WebhookValues = WebhookSettings & { isEvery: boolean };

/** An endpoint's settings in one order, so that they can be compared. Types that only SQL can set are left out. */
export const toSettings = ({
  url,
  description,
  eventTypes,
}: Pick<Webhook, keyof WebhookSettings>): WebhookSettings => ({
  url: url.trim(),
  description,
  eventTypes: EVENT_TYPES.filter((type) => eventTypes.includes(type)),
});

export const toValues = (settings: WebhookSettings): WebhookValues => ({
  ...settings,
  isEvery: settings.eventTypes.length === 0,
});

export const fromValues = ({ isEvery, ...settings }: WebhookValues): WebhookSettings =>
  toSettings({ ...settings, eventTypes: isEvery ? [] : settings.eventTypes });

export const isSame = (one: WebhookSettings, other: WebhookSettings): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Only what is other than before, so that a change made elsewhere meanwhile stays. */
export const changesOf = (before: WebhookSettings, after: WebhookSettings): Partial<WebhookSettings> => ({
  ...(after.url === before.url ? {} : { url: after.url }),
  ...(after.description === before.description ? {} : { description: after.description }),
  ...(after.eventTypes.join() === before.eventTypes.join() ? {} : { eventTypes: after.eventTypes }),
});
