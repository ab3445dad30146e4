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

/** The events to choose from. The contract's own list would load its schemas, most of what this page loads. */
export const EVENT_CHOICES = Object.keys(EVENT_WORDS) as EventType[]; // Object.keys loses the type

/** An empty `eventTypes` means all events. */
export type SavedSettings = Pick<Webhook, "url" | "description" | "eventTypes">;
export type WebhookSettings = Omit<SavedSettings, "eventTypes"> & { eventTypes: EventType[] };

/** The changed fields only, so that a concurrent change elsewhere stays. */
export function changesOf(saved: SavedSettings, typed: Partial<WebhookSettings>): Partial<WebhookSettings> {
  const trimmed = { ...typed, ...(typed.url !== undefined && { url: typed.url.trim() }) };
  const isChanged = ([name, value]: [string, unknown]) => String(value) !== String(saved[name as keyof SavedSettings]); // one of its fields
  return Object.fromEntries(Object.entries(trimmed).filter(isChanged));
}

const FIELDS = ["url", "description", "eventTypes"];

/** Errors by field. Null when an error concerns anything else. */
export function fieldErrors(error: unknown): Record<string, string> | null {
  if (!(error instanceof KeyframeError) || error.details.length === 0) return null;
  const problems = error.details.map(({ path, message }) => [path.split(".")[0] ?? "", message] as const);
  return problems.every(([field]) => FIELDS.includes(field)) ? Object.fromEntries(problems) : null;
}
