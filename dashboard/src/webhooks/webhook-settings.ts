import { KeyframeError, type Webhook } from "../../../client/index.ts";
import type { EVENT_TYPES } from "../../../shared/contract/webhooks.ts";

type EventType = (typeof EVENT_TYPES)[number];

export const EVENT_WORDS: Record<EventType, string> = {
  "project.created": "A project was saved.",
  "generation.succeeded": "A frame or a video is finished and stored.",
  "generation.failed": "A frame or a video failed.",
  "budget.exhausted": "A budget refused a start.",
  "balance.low": "A balance is low.",
  "balance.exhausted": "A balance refused a start.",
};

/** The events to choose from. Not the contract's own list: its schemas would be most of what this page loads. */
export const EVENT_CHOICES = Object.keys(EVENT_WORDS) as EventType[]; // its keys, which Object.keys forgets

/** An empty `eventTypes` means all events. */
export type WebhookSettings = { url: string; description: string; eventTypes: EventType[] };

/** The form's values. */
export type WebhookValues = WebhookSettings & { isEvery: boolean };

/** Normalized, so that settings can be compared. Types that only SQL can set are left out. */
export const toSettings = ({
  url,
  description,
  eventTypes,
}: Pick<Webhook, keyof WebhookSettings>): WebhookSettings => ({
  url: url.trim(),
  description,
  eventTypes: EVENT_CHOICES.filter((type) => eventTypes.includes(type)),
});

export const toValues = (settings: WebhookSettings): WebhookValues => ({
  ...settings,
  isEvery: settings.eventTypes.length === 0,
});

export const fromValues = ({ isEvery, ...settings }: WebhookValues): WebhookSettings =>
  toSettings({ ...settings, eventTypes: isEvery ? [] : settings.eventTypes });

export const isSame = (one: WebhookSettings, other: WebhookSettings): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

/** Only changed fields, so that a concurrent change elsewhere stays. */
export const changesOf = (before: WebhookSettings, after: WebhookSettings): Partial<WebhookSettings> => ({
  ...(after.url === before.url ? {} : { url: after.url }),
  ...(after.description === before.description ? {} : { description: after.description }),
  ...(after.eventTypes.join() === before.eventTypes.join() ? {} : { eventTypes: after.eventTypes }),
});

const FIELDS = ["url", "description", "eventTypes"];

/** Errors by field; null when an error concerns anything else. */
export function fieldErrors(error: unknown): Record<string, string> | null {
  if (!(error instanceof KeyframeError) || error.details.length === 0) return null;
  const told = error.details.map(({ path, message }) => [path.split(".")[0] ?? "", message] as const);
  return told.every(([field]) => FIELDS.includes(field)) ? Object.fromEntries(told) : null;
}
